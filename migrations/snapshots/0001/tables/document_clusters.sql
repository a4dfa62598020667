-- Clusters of near-duplicates over the whole tenant, for those who write. Readers are told of pairs they may see, never of clusters.
CREATE TABLE sift.document_clusters (
    tenant_id      integer NOT NULL,
    document_id    bigint NOT NULL,
    cluster_id     bigint NOT NULL,
    similarity     double precision NOT NULL,
    representative boolean NOT NULL,
    relation       text,
    CONSTRAINT document_clusters_pkey PRIMARY KEY (tenant_id, document_id),
    CONSTRAINT document_clusters_document_id_fkey FOREIGN KEY (tenant_id, document_id)
        REFERENCES sift.documents (tenant_id, document_id),
    CONSTRAINT document_clusters_relation_check CHECK (relation IN ('copy', 'revision', 'syndicated')),
    CONSTRAINT document_clusters_representative_check CHECK (representative = (relation IS NULL))
);
-- Does not begin with tenant_id, for the reason given in documents.
CREATE INDEX document_clusters_cluster_id_idx ON sift.document_clusters (cluster_id, tenant_id);
COMMENT ON TABLE sift.document_clusters IS 'Documents that have near-duplicates, in clusters of a representative and what resembles it; as of the last run of sift.cluster_documents.';
COMMENT ON COLUMN sift.document_clusters.cluster_id IS 'document_id of the representative: the first observed, of these the smallest number.';
COMMENT ON COLUMN sift.document_clusters.similarity IS 'To the representative; 1 of the representative itself.';
COMMENT ON COLUMN sift.document_clusters.relation IS 'To the representative: copy, revision or syndicated (sift._relation); NULL of the representative itself.';
REVOKE ALL ON TABLE sift.document_clusters FROM PUBLIC;
ALTER TABLE sift.document_clusters ENABLE ROW LEVEL SECURITY;
ALTER TABLE sift.document_clusters ALTER COLUMN tenant_id SET STATISTICS 0;
