"""The pages as a browser gets them, and what is refused: other names of the host, other pages, other paths."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from typing import Any
from urllib.parse import urlencode

import psycopg
import pytest

pytest.importorskip("starlette")
pytest.importorskip("httpx2")

from browse_site import ATTACK, HOSTILE_KEY, Site, Toy
from hypothesis import given, settings
from hypothesis import strategies as st
from starlette.testclient import TestClient

from pgsift import Store
from pgsift.browse import Settings, create_app
from pgsift.browse._text import LONGEST, link, marked, shown

TOKEN, PORT = "k" * 43, 8765
OWN = f"http://127.0.0.1:{PORT}"


class Reading(HTMLParser):
    """The elements of a page: what a browser would make of it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data

    def all(self, tag: str, **attributes: str) -> list[dict[str, str | None]]:
        return [a for t, a in self.tags if t == tag and all(a.get(n.rstrip("_")) == v for n, v in attributes.items())]


Make = Callable[..., TestClient]


@pytest.fixture
def make(site: Site) -> Iterator[Make]:
    """``make(read_only=True)``: a client of a page with those settings."""
    opened: list[Any] = []

    def create(**given: Any) -> TestClient:
        given = {"dsn": site.dsn, "tenant": site.tenant, "embedder_of": lambda _store, _tenant: (Toy(), None), "connections": 2} | given
        app = create_app(Settings(**given), token=TOKEN, port=PORT)
        opened.append(app)
        return TestClient(app, base_url=OWN, follow_redirects=False)

    yield create
    for app in opened:
        app.close()


@pytest.fixture
def client(make: Make) -> TestClient:
    return make(judged_by="anna")


def get(client: TestClient, path: str = "", status: int = 200, **given: Any) -> Reading:
    pairs = [(name.rstrip("_"), item) for name, value in given.items() for item in (value if isinstance(value, list) else [value])]
    answer = client.get(f"/{TOKEN}/{path}", params=pairs)
    assert answer.status_code == status, answer.text
    return Reading(answer.text)


def post(client: TestClient, status: int, headers: dict[str, str] | None = None, **given: Any) -> Any:
    pairs = [(name.rstrip("_"), str(item)) for name, value in given.items() for item in (value if isinstance(value, list) else [value])]
    answer = client.post(
        f"/{TOKEN}/judge", content=urlencode(pairs),
        headers={"Origin": OWN, "Content-Type": "application/x-www-form-urlencoded"} | (headers or {}),
    )  # fmt: skip
    assert answer.status_code == status, answer.text
    return answer


def keys(page: Reading) -> list[str]:
    """Keys of the fused hits."""
    return [a["value"] or "" for a in page.all("input", type="hidden", name="key")]


class TestSearching:
    def test_an_empty_page_says_what_to_do(self, client: TestClient) -> None:
        page = get(client)
        assert "Write a query above" in page.text
        assert page.all("input", type="search", name="q") and not page.all("li")

    def test_three_columns(self, client: TestClient, site: Site) -> None:
        page = get(client, q="winch brake")
        with Store(site.dsn) as store:
            fused = store.search(site.tenant, "winch brake", principals=["public"], embedder=Toy())
            words = store.search(site.tenant, "winch brake", principals=["public"], mode="lexical", per_document=None, collapse=False)
        assert keys(page) == [hit.key for hit in fused]
        at = {a["id"]: a for a in page.all("li") if a.get("id")}
        assert [int(i.removeprefix("lexical-")) for i in at if i.startswith("lexical-")] == [hit.chunk_id for hit in words]
        assert sum(i.startswith("dense-") for i in at) >= len(fused) - 1
        for hit in fused:
            # The same hit is marked alike in all columns.
            tints = {re.findall(r"\bp\d\b", a["class"] or "")[0] for i, a in at.items() if i.endswith(f"-{hit.chunk_id}") or i == f"c{hit.chunk_id}"}
            assert len(tints) == 1
            assert f"{hit.score:.5f}" in page.text
        first = fused[0]
        assert f"1 / (60 + {first.lexical_rank}) + 1 / (60 + {first.dense_rank}) = {first.score:.5f}" in page.text
        assert {"mark"} <= {tag for tag, _ in page.tags}

    def test_one_query_is_embedded_once(self, make: Make) -> None:
        client = make()
        get(client, q="harbour log")
        before = Toy.asked
        get(client, q="harbour log", page="2")
        get(client, q="a drum of grease")
        assert Toy.asked - before == 1

    @pytest.mark.parametrize(("mode", "left_out"), [("lexical", "dense"), ("dense", "lexical")])
    def test_one_ranking(self, client: TestClient, mode: str, left_out: str) -> None:
        page = get(client, q="winch", mode=mode)
        assert f"Does not take part: the mode is {mode}." in page.text
        assert keys(page) and not [a for a in page.all("li") if (a.get("id") or "").startswith(left_out)]

    def test_without_an_embedder_the_words_alone(self, make: Make) -> None:
        page = get(make(embedder_of=lambda _store, _tenant: (None, "the query is not embedded: no such model")), q="winch")
        assert "no such model" in page.text and "Does not take part: searched by words alone" in page.text
        assert keys(page)

    def test_whom_one_searches_as(self, client: TestClient) -> None:
        assert "hidden.md" not in keys(get(client, q="winch"))
        assert "hidden.md" in keys(get(client, q="winch", as_=["public", "group:mine"]))
        assert keys(get(client, q="winch", as_=["group:mine", " "])) == ["hidden.md"]
        nobody = get(client, q="winch", as_=[""])
        assert keys(nobody) == [] and "as nobody" in nobody.text and "Look whom you search as" in nobody.text
        everything = get(client, q="winch", as_=["sift:writer"])
        assert "hidden.md" in keys(everything) and "(everything)" in everything.text

    def test_settings(self, client: TestClient) -> None:
        assert len(keys(get(client, q="harbour log", k="5", mode="lexical"))) == 3  # of one document
        assert len(keys(get(client, q="harbour log", k="5", mode="lexical", per_document="0"))) == 5
        assert keys(get(client, q="winch ferry", mode="lexical", filter="metadata.year < 2020")) == ["ferry.md"]
        assert keys(get(client, q="winch ferry", mode="lexical", filter='{"metadata.year": {"$gt": 2020}}')) == ["guide.pdf"] * 3

    def test_pages(self, client: TestClient) -> None:
        given = {"q": "harbour log", "per_document": "0", "mode": "lexical"}
        seen: list[str | None] = []
        for number in (1, 2, 3):
            page = get(client, page=str(number), **given)
            seen += [a["id"] for a in page.all("li") if (a.get("id") or "").startswith("c")]
            assert bool(page.all("a", rel="next")) is (number < 3) and bool(page.all("a", rel="prev")) is (number > 1)
        assert len(seen) == len(set(seen)) == 25
        assert "There is no page 4" in get(client, page="4", **given).text

    def test_links_lead_where_they_say(self, client: TestClient) -> None:
        page = get(client, q='winch "brake" +a -b', as_=["public"], k="3")
        assert page.all("a")
        for a in page.all("a"):
            where = a["href"] or ""
            if not where.startswith("#"):
                assert client.get(f"/{TOKEN}/{where}").status_code == 200, where

    def test_why_not(self, client: TestClient) -> None:
        assert "no term of the query" in get(client, q="drum", mode="lexical", why="ferry.md").text.lower()
        absent, hidden = (get(client, q="winch", why=key).text for key in ("absent.md", "hidden.md"))
        assert absent.replace("absent.md", "…") == hidden.replace("hidden.md", "…")


class TestErrors:
    @pytest.mark.parametrize(
        ("given", "status", "says"),
        [
            ({"q": "...", "mode": "lexical"}, 400, "Add a word that can be searched for"),
            ({"q": "winch", "filter": "nonsense ==="}, 400, "Mend the filter"),
            ({"q": "winch", "filter": "{"}, 400, "Mend the filter"),
            ({"q": "winch", "filter": "{" + '"a":{' * 1900}, 400, "Mend the filter"),
            ({"q": "winch", "filter": "(" * 3000 + "kind = 'x'" + ")" * 3000}, 400, "Mend the filter"),
            ({"q": "winch", "filter": "kind = 'x'; DROP TABLE sift.chunks"}, 400, "Mend the filter"),
            ({"q": "winch", "filter": "pg_sleep(9) = 1"}, 400, "Mend the filter"),
            ({"q": "winch", "filter": "year(1) = 'x' OR 1=1 --"}, 400, "Mend the filter"),
            ({"q": "winch", "tenant": "nowhere"}, 404, "Choose another tenant"),
            ({"q": "winch", "tenant": "'; DROP SCHEMA sift CASCADE; --"}, 404, "Choose another tenant"),
            ({"q": "winch", "tenant": "x\x00"}, 400, ""),
            ({"q": "winch", "as": "a\x00"}, 400, ""),
            ({"q": "winch", "k": "101"}, 400, "k must be a number between 1 and 100"),
            ({"q": "winch", "k": "-1"}, 400, "k must be a number"),
            ({"q": "winch", "k": "9" * 5000}, 400, "k must be a number"),
            ({"q": "winch", "page": "١"}, 400, "page must be a number"),
            ({"q": "winch", "mode": "<b>"}, 400, "unknown mode"),
        ],
    )  # fmt: skip
    def test_what_is_wrong_is_said(self, client: TestClient, given: dict[str, str], status: int, says: str) -> None:
        answer = client.get(f"/{TOKEN}/", params=given)
        page = Reading(answer.text)
        assert answer.status_code == status, answer.text[:2000]
        assert page.all("div", role="alert") and says in page.text
        assert page.all("input", type="search")[0]["value"] == given["q"]

    def test_a_server_that_is_not_there(self, make: Make) -> None:
        client = make(dsn="host=127.0.0.1 port=1 user=nobody connect_timeout=1", connections=1, wait=0.5)
        page = get(client, q="winch", status=503)
        assert "Check that the server runs" in page.text and page.all("div", role="alert")
        assert page.all("input", type="search")[0]["value"] == "winch"

    def test_a_reader(self, make: Make, site: Site, role_dsn: Callable[[str], str]) -> None:
        dsn = role_dsn("sift_reader")
        with Store(site.dsn) as store:
            store.map_role(site.tenant, psycopg.conninfo.conninfo_to_dict(dsn)["user"], ["public"])  # type: ignore[arg-type]
        reader = make(dsn=dsn, principals=None)
        page = get(reader, q="winch brake")
        assert "this login may not judge" in page.text and "as the database login is mapped" in page.text
        assert not page.all("form", action="judge") and page.all("li")
        chosen = get(reader, q="winch", as_=["group:mine"], status=403)
        assert "this login may not choose whom to search as" in chosen.text
        with Store(site.dsn) as store:
            store.map_role(site.tenant, psycopg.conninfo.conninfo_to_dict(dsn)["user"], None)  # type: ignore[arg-type]


class TestEvidence:
    def test_of_a_hit(self, client: TestClient, site: Site) -> None:
        page = get(client, q="worn linings")
        where = next(a["href"] for a in page.all("a") if "guide.pdf" in (a.get("href") or "") and (a["href"] or "").startswith("evidence"))
        page = Reading(client.get(f"/{TOKEN}/{where}").text)
        text = " ".join(page.text.split())
        assert "page 12" in text and "Repair > Brake" in text
        assert "worn linings are replaced in pairs. The drum is greased twice a year" in text  # with what follows
        assert page.all("a", href="https://docs.example/guide.pdf#page=10", rel="noopener noreferrer nofollow")
        with Store(site.dsn) as store:
            hit = store.search(site.tenant, "worn linings", principals=["public"], embedder=Toy())[0]
        contributions = [float(a["data-value"] or 0) for a in page.all("td", class_="n contribution")]
        assert contributions and sum(contributions) == float(page.all("td", id="lexical-score")[0]["data-value"] or 0)
        added = [float(a["data-value"] or 0) for a in page.all("td", class_="n fusion")]
        assert sum(added) == float(page.all("td", id="score")[0]["data-value"] or 0) == pytest.approx(hit.score, abs=1e-15)

    def test_hidden_is_as_absent(self, client: TestClient) -> None:
        told = [
            get(client, "evidence", q="winch", key=key, chunk="1", status=400).text.replace(key, "…") for key in ("hidden.md", "absent.md")
        ]
        assert told[0] == told[1] and "go back and search again" in told[0]

    def test_addresses_that_deceive(self) -> None:
        assert link("https://example.org/a?b#c") == "https://example.org/a?b#c"
        for other in (None, "", "javascript:alert(1)", "JaVaScRiPt://x/%0aalert(1)", "data:text/html,x", "file:///etc/passwd", "/srv/a.md",
                      "http://", "https://ex ample.org", "https://a\u202e.example", "http://[", "vbscript:x", " https://x.example", "//x.example"):
            assert link(other) is None, other

    def test_a_span_that_is_none(self, client: TestClient) -> None:
        for start, end in (("5", "2"), ("0", "99999999"), ("-1", "4"), ("a", "b"), ("9" * 40, "9" * 41)):
            answer = client.get(f"/{TOKEN}/evidence", params={"q": "winch", "key": "ferry.md", "from": start, "to": end})
            assert answer.status_code in (200, 400) and "The chunk that was ranked" not in answer.text


class TestMarking:
    def judged(self, site: Site) -> list[tuple[str, str, int, str]]:
        with psycopg.connect(site.dsn) as conn:
            return conn.execute(
                "SELECT j.query, j.key, j.grade, j.judged_by FROM sift.judgments AS j JOIN sift.tenants AS t USING (tenant_id)"
                " WHERE t.name = %s ORDER BY 1, 2, 4", (site.tenant,)
            ).fetchall()

    def chunk(self, site: Site, query: str, key: str) -> int:
        with Store(site.dsn) as store:
            return next(hit.chunk_id for hit in store.search(site.tenant, query, principals=["sift:writer"], k=50) if hit.key == key)

    def test_by_form_and_by_script(self, client: TestClient, site: Site) -> None:
        chunk = self.chunk(site, "ferry", "ferry.md")
        given = {"tenant": site.tenant, "as_": "public", "q": "ferry", "key": "ferry.md", "chunk": chunk}
        answer = post(client, 303, grade="2", back="search", **given)
        assert re.fullmatch(rf"\./\?tenant={site.tenant}&as=public&q=ferry&.*#c{chunk}", answer.headers["location"])
        page = get(client, q=" FERRY")
        pressed = [a["value"] for tag, a in page.tags if tag == "button" and a.get("aria-pressed") == "true"]
        assert pressed == ["2"]
        answer = post(client, 200, {"Accept": "application/json"}, grade="0", **given)
        assert answer.json()["grade"] == "0" and self.judged(site) == [("ferry", "ferry.md", 0, "anna")]
        other = post(client, 303, grade="none", back="evidence", **given, **{"from": "0", "to": "5"})
        assert other.headers["location"].startswith("evidence?") and self.judged(site) == []

    def test_others_marks_are_shown(self, client: TestClient, site: Site) -> None:
        chunk = self.chunk(site, "ferry", "ferry.md")
        with Store(site.dsn) as store:
            number = store.judge(site.tenant, "ferry", "ferry.md", 3, chunk=chunk, principals=["public"], judged_by="<b>berta", note="<i>why")
        page = get(client, q="ferry")
        assert "<b>berta: 3, answers it – <i>why" in " ".join(page.text.split())
        assert not [a for tag, a in page.tags if tag == "button" and a.get("aria-pressed") == "true"]
        with Store(site.dsn) as store:
            store.remove_judgment(site.tenant, number, principals=["public"])

    def test_what_is_hidden_is_not_marked(self, client: TestClient, site: Site) -> None:
        chunk = self.chunk(site, "mine", "hidden.md")
        told = [
            post(client, 400, {"Accept": "application/json"}, tenant=site.tenant, as_="public", q="mine", key=key, chunk=number, grade="1").json()
            for key, number in (("hidden.md", chunk), ("absent.md", 999_999_999))
        ]
        assert told[0] == told[1] and self.judged(site) == []

    @pytest.mark.parametrize("how", ["asked", "standby", "reader"])
    def test_read_only(self, make: Make, site: Site, role_dsn: Callable[[str], str], how: str) -> None:
        if how == "asked":
            client, given = make(read_only=True), {"as_": "public"}
        elif how == "standby":
            client, given = make(dsn=f"{site.dsn} options='-c default_transaction_read_only=on'"), {"as_": "public"}
        else:
            client, given = make(dsn=role_dsn("sift_reader"), principals=None), {"mapped": "1"}
        if how != "reader":
            page = get(client, q="ferry")
            assert "read-only" in page.text and not page.all("form", action="judge") and page.all("li")
        answer = post(client, 403, {"Accept": "application/json"}, tenant=site.tenant, q="ferry", key="ferry.md", chunk="1", grade="1", **given)
        assert "nothing is judged here" in answer.json()["message"] and self.judged(site) == []

    def test_bad_forms(self, client: TestClient, site: Site) -> None:
        given = {"tenant": site.tenant, "as_": "public", "q": "ferry", "key": "ferry.md", "chunk": self.chunk(site, "ferry", "ferry.md")}
        for grade in ("", "4", "-1", "x", "2.5", "9" * 400):
            post(client, 400, {"Accept": "application/json"}, grade=grade, **given)
            assert Reading(post(client, 400, grade=grade, **given).text).all("div", role="alert")
        post(client, 400, grade="1", **(given | {"q": " "}))
        post(client, 413, grade="1", **(given | {"q": "x" * 70_000}))
        post(client, 415, {"Content-Type": "application/json"}, grade="1", **given)
        assert client.post(f"/{TOKEN}/judge", content=b"\xff\xfe", headers={"Origin": OWN, "Content-Type": "application/x-www-form-urlencoded"}).status_code == 400
        many = "&".join(f"a{n}=1" for n in range(500))
        assert client.post(f"/{TOKEN}/judge", content=many, headers={"Origin": OWN, "Content-Type": "application/x-www-form-urlencoded"}).status_code == 400
        assert client.get(f"/{TOKEN}/judge").status_code == 405
        assert self.judged(site) == []


class TestStrangers:
    @pytest.mark.parametrize("host", ["evil.example", "evil.example:8765", "127.0.0.1", "127.0.0.1:8766", "127.0.0.1.evil.example:8765", "[::1]:8765", "0.0.0.0:8765", ""])
    def test_other_names_of_the_host(self, client: TestClient, host: str) -> None:
        answer = client.get(f"/{TOKEN}/", headers={"Host": host})
        assert answer.status_code == 421 and TOKEN not in answer.text

    def test_localhost_will_do(self, client: TestClient) -> None:
        assert client.get(f"/{TOKEN}/", headers={"Host": f"localhost:{PORT}"}).status_code == 200

    @pytest.mark.parametrize("path", ["/", "/x/", f"/{'k' * 42}/", f"/{TOKEN}", f"/{TOKEN}k/", f"//{TOKEN}/", "/static/browse.css", f"/x/{TOKEN}/", "/favicon.ico", "/judge"])
    def test_without_the_key(self, client: TestClient, path: str) -> None:
        for answer in (client.get(path), client.post(path, headers={"Origin": OWN})):
            assert answer.status_code == 404 and TOKEN not in answer.text

    @pytest.mark.parametrize(
        "headers",
        [{}, {"Origin": "null"}, {"Origin": "http://evil.example"}, {"Origin": "http://127.0.0.1:9999"}, {"Origin": f"https://127.0.0.1:{PORT}"},
         {"Origin": f"{OWN}.evil.example"}, {"Origin": f"http://localhost:{PORT}"}, {"Origin": OWN, "Sec-Fetch-Site": "same-site"}, {"Origin": OWN, "Sec-Fetch-Site": "cross-site"}],
    )  # fmt: skip
    def test_forms_of_other_pages(self, client: TestClient, site: Site, headers: dict[str, str]) -> None:
        body = urlencode({"tenant": site.tenant, "as": "public", "q": "ferry", "key": "ferry.md", "grade": "1"})
        answer = client.post(f"/{TOKEN}/judge", content=body, headers={"Content-Type": "application/x-www-form-urlencoded"} | headers)
        assert answer.status_code == 403

    def test_frames_and_images_of_other_pages(self, client: TestClient) -> None:
        for dest, mode, status in (("iframe", "navigate", 403), ("image", "no-cors", 403), ("script", "no-cors", 403), ("empty", "cors", 403), ("document", "navigate", 200)):
            answer = client.get(f"/{TOKEN}/", headers={"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Dest": dest, "Sec-Fetch-Mode": mode})
            assert answer.status_code == status, dest

    @pytest.mark.parametrize("name", ["../_app.py", "..%2f_app.py", "%2e%2e/%2e%2e/etc/passwd", "....//x", "/etc/passwd", "browse.css%00.txt", "", "BROWSE.CSS", "..\\_app.py"])
    def test_files(self, client: TestClient, name: str) -> None:
        assert client.get(f"/{TOKEN}/static/{name}").status_code == 404

    def test_every_answer_is_guarded(self, client: TestClient) -> None:
        paths = [f"/{TOKEN}/", f"/{TOKEN}/evidence", f"/{TOKEN}/static/browse.js", f"/{TOKEN}/static/x", f"/{TOKEN}/nothing", "/", f"/{TOKEN}/?k=x"]
        for path in paths:
            answer = client.get(path)
            policy = answer.headers["content-security-policy"]
            assert "default-src 'none'" in policy and "unsafe" not in policy and "frame-ancestors 'none'" in policy
            assert answer.headers["x-content-type-options"] == "nosniff" and answer.headers["referrer-policy"] == "same-origin"
            assert answer.headers["cache-control"] == "no-store" and "set-cookie" not in answer.headers and "access-control-allow-origin" not in answer.headers

    def test_nothing_comes_from_elsewhere(self, client: TestClient) -> None:
        for page in (get(client, q="winch"), get(client, "evidence", q="winch", key="guide.pdf")):
            for tag, a in page.tags:
                assert not any(name.startswith("on") or name == "style" for name in a), (tag, a)
                for name in ("src", "href", "action", "srcset", "data"):
                    if a.get(name) and not (tag == "a" and a.get("rel") == "noopener noreferrer nofollow"):
                        assert re.match(r"(static/[a-z.]+$|#|\./|evidence\?|judge$)", a[name] or ""), (tag, a)
            assert [a for a in page.all("script")] == [{"src": "static/browse.js", "defer": None}]

    def test_a_fault_says_nothing_of_the_query(self, make: Make, capsys: pytest.CaptureFixture[str]) -> None:
        def broken(_store: Any, _tenant: str) -> Any:
            raise RuntimeError("the secret query")

        client = make(embedder_of=broken)
        client = TestClient(client.app, base_url=OWN, raise_server_exceptions=False)
        answer = client.get(f"/{TOKEN}/", params={"q": "secretword"})
        assert answer.status_code == 500 and "secret" not in answer.text
        told = capsys.readouterr().err
        assert "RuntimeError" in told and "secret" not in told


class TestHostileTexts:
    def test_everything_is_escaped(self, client: TestClient) -> None:
        page = get(client, q="winch", k="50", why=HOSTILE_KEY)
        assert HOSTILE_KEY in keys(page)
        where = next(a["href"] for a in page.all("a") if "script" in (a.get("href") or "") and (a["href"] or "").startswith("evidence"))
        for text in (page, Reading(client.get(f"/{TOKEN}/{where}").text)):
            assert len(text.all("script")) == 1
            assert not {"img", "iframe", "svg", "base", "object", "embed"} & {tag for tag, _ in text.tags}
            assert "window.pwned = 1" in text.text and "{{ 7 * 7 }}" in text.text
            assert "U+202E" in text.text and "\u202e" not in text.text and "\x1b" not in text.text
            assert not [a for a in text.all("a") if (a.get("href") or "").startswith("javascript")]

    def test_long_texts_are_cut(self, client: TestClient) -> None:
        answer = client.get(f"/{TOKEN}/evidence", params={"q": "winch", "key": HOSTILE_KEY, "from": "0", "to": "300000"})
        assert "characters more" in answer.text and len(answer.text) < 60_000

    @pytest.mark.parametrize("name", ["q", "tenant", "filter", "as", "mode", "k", "why", "key", "chunk", "from", "page", "per_document"])
    @pytest.mark.parametrize("path", ["", "evidence"])
    def test_reflected(self, client: TestClient, path: str, name: str) -> None:
        given = {"q": "winch", "key": "ferry.md"} | {name: ATTACK.replace("\x00", "")}
        page = Reading(client.get(f"/{TOKEN}/{path}", params=given).text)
        assert len(page.all("script")) == 1
        assert not {"img", "iframe", "svg", "base"} & {tag for tag, _ in page.tags}

    @settings(max_examples=100, deadline=None)
    @given(
        text=st.text(st.sampled_from("<>&\"'ab\u202e\u2066\x00\x1b\u0301é\n\U0001f600\U000e0041"), max_size=30),
        spans=st.lists(st.tuples(st.integers(-3, 35), st.integers(-3, 35)), max_size=5),
        longest=st.integers(0, 40),
    )
    def test_marking_loses_nothing(self, text: str, spans: list[tuple[int, int]], longest: int) -> None:
        page = Reading(marked(text, spans, longest))
        assert {tag for tag, _ in page.tags} <= {"mark", "span"}
        plain = re.sub(r'<span class="cut">.*?</span>', "", marked(text, spans, longest), flags=re.DOTALL)
        expected = shown(text[:longest])
        # A run of tags that is split by a mark is named in two parts.
        if "\U000e0041" not in text:
            assert re.sub(r"</?mark>", "", plain) == expected
        wanted = {n for start, end in spans for n in range(max(0, start), min(end, len(text), longest))}
        inner = "".join(re.findall(r"<mark>(.*?)</mark>", plain, flags=re.DOTALL))
        if not set(text) & set("\u202e\u2066\x00\x1b\U000e0041"):
            assert html.unescape(inner) == "".join(text[n] for n in sorted(wanted))

    def test_the_longest(self) -> None:
        assert len(Reading(marked("a" * 300_000)).text) < LONGEST + 100
        assert json.dumps(shown("x"))
