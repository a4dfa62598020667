"""The HTTP adapter against a server on this machine."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from pgsift.embed import _http, load_embedder
from pgsift.errors import InvalidArgument, InvalidVector, ModelUnavailable

np = pytest.importorskip("numpy")

Answer = tuple[int, dict[str, str], Any]


def embedding(text: str, dimensions: int = 3) -> list[float]:
    return [float(len(text)), 1.0, 2.0, 3.0, 4.0][:dimensions]


class Server:
    """Answers from a queue; when that is empty, with embeddings, deliberately out of order."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, dict[str, str], dict[str, Any]]] = []
        self.answers: list[Answer | Callable[[], Answer]] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                outer.requests.append((self.path, dict(self.headers), body))
                answer = outer.answers.pop(0) if outer.answers else outer.embeddings(body)
                status, headers, content = answer() if callable(answer) else answer
                data = content if isinstance(content, bytes) else json.dumps(content).encode()
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def do_GET(self) -> None:
                outer.requests.append((self.path, dict(self.headers), {}))
                self.send_error(405)

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_address[1]}/v1"
        self.thread = threading.Thread(target=self.http.serve_forever, kwargs={"poll_interval": 0.01})
        self.thread.start()

    def embeddings(self, body: dict[str, Any]) -> Answer:
        data = [
            {"index": index, "embedding": embedding(text, body.get("dimensions", 3))}
            for index, text in enumerate(body["input"])
        ]
        return 200, {}, {"data": data[::-1]}

    def close(self) -> None:
        self.http.shutdown()
        self.http.server_close()
        self.thread.join()


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    for name in (
        "http_proxy",
        "HTTP_PROXY",
        "all_proxy",
        "ALL_PROXY",
        "PGSIFT_EMBED_URL",
        "PGSIFT_EMBED_KEY",
    ):
        monkeypatch.delenv(name, raising=False)
    server = Server()
    yield server
    server.close()


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Instead of waiting, note for how long one would."""
    noted: list[float] = []
    monkeypatch.setattr(_http.time, "sleep", noted.append)
    return noted


def test_request_and_order(server: Server) -> None:
    embedder = load_embedder("openai:the-model", base_url=server.url, api_key="s3cret", normalize=False)
    vectors = embedder.embed_documents(["a", "bb", "ccc"])
    assert vectors.tolist() == [embedding("a"), embedding("bb"), embedding("ccc")]
    path, headers, body = server.requests[-1]
    assert path == "/v1/embeddings"
    assert headers["Authorization"] == "Bearer s3cret"
    assert body == {"model": "the-model", "input": ["a", "bb", "ccc"], "encoding_format": "float"}
    assert embedder.dimensions == 3
    assert embedder.name == "openai:the-model"


def test_address_and_key_from_the_environment(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGSIFT_EMBED_URL", server.url + "/")
    monkeypatch.setenv("PGSIFT_EMBED_KEY", "from-env")
    load_embedder("openai:m").embed_query("text")
    path, headers, _ = server.requests[-1]
    assert path == "/v1/embeddings"
    assert headers["Authorization"] == "Bearer from-env"


def test_no_key_no_header(server: Server) -> None:
    load_embedder("openai:m", base_url=server.url).embed_query("text")
    assert "Authorization" not in server.requests[-1][1]


def test_batches_prefixes_and_normalization(server: Server) -> None:
    embedder = load_embedder(
        "openai:m", base_url=server.url, batch_size=2, query_prefix="q: ", document_prefix="d: ", dimensions=5
    )
    vectors = embedder.embed_documents(["a", "bb", "ccc", "dddd", "eeeee"])
    assert [body["input"] for _, _, body in server.requests] == [
        ["d: a", "d: bb"],
        ["d: ccc", "d: dddd"],
        ["d: eeeee"],
    ]
    assert all(body["dimensions"] == 5 for _, _, body in server.requests)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1)
    embedder.embed_query("x")
    assert server.requests[-1][2]["input"] == ["q: x"]


@pytest.mark.parametrize("status", [429, 500, 502, 503, 504])
def test_passing_errors_are_tried_again(server: Server, waits: list[float], status: int) -> None:
    server.answers = [(status, {}, "later"), (status, {}, "later")]
    assert load_embedder("openai:m", base_url=server.url, dimensions=3).embed_query("text").shape == (3,)
    assert len(server.requests) == 3
    assert len(waits) == 2
    assert 0.5 <= waits[0] <= 0.625
    assert 1 <= waits[1] <= 1.25


def test_the_servers_wait_is_respected_up_to_a_minute(server: Server, waits: list[float]) -> None:
    server.answers = [(429, {"Retry-After": "7"}, ""), (503, {"Retry-After": "86400"}, "")]
    load_embedder("openai:m", base_url=server.url, dimensions=3).embed_query("text")
    assert 7 <= waits[0] <= 8.75
    assert 60 <= waits[1] <= 75


def test_giving_up(server: Server, waits: list[float]) -> None:
    server.answers = [(503, {}, "still loading")] * 3
    with pytest.raises(ModelUnavailable, match=r"answered 503 .*still loading") as caught:
        load_embedder("openai:m", base_url=server.url, retries=2).embed_query("text")
    assert len(waits) == 2
    assert "'openai:m'" in caught.value.message
    assert "PGSIFT_EMBED_URL" in str(caught.value.hint)


@pytest.mark.parametrize("status", [400, 401, 403, 404, 422])
def test_lasting_errors_are_not_tried_again(server: Server, waits: list[float], status: int) -> None:
    server.answers = [(status, {}, {"error": "the key s3cret is not known"})]
    with pytest.raises(ModelUnavailable, match=f"answered {status}") as caught:
        load_embedder("openai:m", base_url=server.url, api_key="s3cret").embed_query("text")
    assert waits == []
    assert len(server.requests) == 1
    assert "s3cret" not in caught.value.message
    assert "s3cret" not in str(caught.value.hint)


def test_the_key_is_not_in_the_repr(server: Server) -> None:
    embedder = load_embedder("openai:m", base_url=server.url, api_key="s3cret")
    assert "s3cret" not in repr(embedder)
    assert "s3cret" not in embedder.identity


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_redirects_are_not_followed(server: Server, status: int) -> None:
    server.answers = [(status, {"Location": f"{server.url}/elsewhere"}, "")]
    with pytest.raises(ModelUnavailable, match=f"answered {status}"):
        load_embedder("openai:m", base_url=server.url, api_key="s3cret").embed_query("text")
    assert [path for path, _, _ in server.requests] == ["/v1/embeddings"]


def test_nobody_listens(waits: list[float], server: Server) -> None:
    server.close()
    with pytest.raises(ModelUnavailable, match=r"127\.0\.0\.1:\d+ cannot be reached"):
        load_embedder("openai:m", base_url=server.url, retries=1).embed_query("text")
    assert len(waits) == 1
    server.close = lambda: None  # type: ignore[method-assign]


def test_timeout(server: Server) -> None:
    def slow() -> Answer:
        released.wait(30)
        return 200, {}, {"data": []}

    released = threading.Event()
    server.answers = [slow]
    try:
        with pytest.raises(ModelUnavailable, match="timed out"):
            load_embedder("openai:m", base_url=server.url, timeout=0.05, retries=0).embed_query("text")
    finally:
        released.set()


@pytest.mark.parametrize(
    ("content", "error", "message"),
    [
        (b"<html>hello</html>", ModelUnavailable, "no list of embeddings: <html>"),
        ({"data": None}, ModelUnavailable, "no list of embeddings"),
        ({"data": [{"index": 0}]}, ModelUnavailable, "no list of embeddings"),
        ([], ModelUnavailable, "no list of embeddings"),
        ({"data": []}, InvalidVector, "0 vectors for 2 texts"),
        ({"data": [{"index": 0, "embedding": [1, 2, 3]}]}, InvalidVector, "1 vectors for 2 texts"),
        (
            {"data": [{"index": 0, "embedding": [1, 2, 3]}, {"index": 0, "embedding": [1, 2, 3]}]},
            InvalidVector,
            "wrong indexes",
        ),
        (
            {"data": [{"index": 0, "embedding": [1, 2, 3]}, {"index": 1, "embedding": [1, 2]}]},
            InvalidVector,
            "no matrix",
        ),
        (
            {"data": [{"index": 0, "embedding": [1, 2]}, {"index": 1, "embedding": [1, 2]}]},
            InvalidVector,
            r"\(2, 2\), expected \(2, 3\)",
        ),
        (
            {"data": [{"index": 0, "embedding": "AAAA"}, {"index": 1, "embedding": "AAAA"}]},
            InvalidVector,
            "not lists of numbers",
        ),
        (
            b'{"data": [{"embedding": [1, NaN, 3]}, {"embedding": [1, 2, 3]}]}',
            InvalidVector,
            "NaN or infinity",
        ),
    ],
)
def test_wrong_answers_are_refused(
    server: Server, content: Any, error: type[Exception], message: str
) -> None:
    server.answers = [(200, {}, content)]
    with pytest.raises(error, match=message):
        load_embedder("openai:m", base_url=server.url, dimensions=3).embed_documents(["a", "b"])


def test_answers_without_index_are_in_order(server: Server) -> None:
    server.answers = [(200, {}, {"data": [{"embedding": [1, 0, 0]}, {"embedding": [0, 1, 0]}]})]
    vectors = load_embedder("openai:m", base_url=server.url, dimensions=3).embed_documents(["a", "b"])
    assert vectors.tolist() == [[1, 0, 0], [0, 1, 0]]


def test_identity(server: Server) -> None:
    def identity(**options: Any) -> str:
        return load_embedder("openai:m", base_url=server.url, **options).identity

    assert identity() == identity(timeout=1, retries=0, batch_size=1, api_key="other")
    assert len({identity(), identity(revision="2"), identity(dimensions=4), identity(query_prefix="q")}) == 4
    assert server.requests == []


def test_no_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PGSIFT_EMBED_URL", raising=False)
    with pytest.raises(InvalidArgument, match="'openai:m' has no address") as caught:
        load_embedder("openai:m")
    assert "PGSIFT_EMBED_URL" in str(caught.value.hint)


@pytest.mark.parametrize("url", ["ftp://host/v1", "host/v1", "https://", "file:///etc/passwd"])
def test_bad_address(url: str) -> None:
    with pytest.raises(InvalidArgument, match="not an http or https address"):
        load_embedder("openai:m", base_url=url)


@pytest.mark.parametrize("options", [{"batch_size": 0}, {"retries": -1}, {"timeout": 0}, {"dimensions": 0}])
def test_bad_options(options: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgument, match="must be at least"):
        load_embedder("openai:m", base_url="http://127.0.0.1:1", **options)


@pytest.mark.parametrize(
    ("value", "low", "high"),
    [
        (None, 0, 0),
        ("", 0, 0),
        ("3", 3, 3),
        ("-3", 0, 0),
        ("soon", 0, 0),
        ("Wed, 21 Oct 2015 07:28:00 GMT", 0, 0),
    ],
)
def test_retry_after(value: str | None, low: float, high: float) -> None:
    assert low <= _http.retry_after(value) <= high


def test_retry_after_as_a_date() -> None:
    from email.utils import formatdate

    assert 25 <= _http.retry_after(formatdate(time.time() + 30, usegmt=True)) <= 30
