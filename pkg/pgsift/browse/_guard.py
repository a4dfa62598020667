"""Who may talk to the page: a browser that was given its address, and no other page in it.

The address holds 256 random bits, so there is no cookie that another page could make use of, or that a server on
another port would be sent. Names of the host other than the loopback's are refused, as they are those of a page
that had its name point here (DNS rebinding). What changes something must say that it comes from this page.
"""

from __future__ import annotations

import secrets
import sys
import traceback
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from starlette.responses import PlainTextResponse
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    # The address goes to no other page; with "no-referrer" the page's own forms would say they come from nowhere.
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Cache-Control": "no-store",
}

NOT_HERE = (
    "Nothing is here for this address. Open the one that pgsift browse printed: it holds a key that changes "
    "with every start.\n"
)


class Guard:
    """Refuses strangers, sets the headers of every answer, and takes the key off the path."""

    def __init__(self, app: ASGIApp, token: str, hosts: frozenset[str], close: Callable[[], None]) -> None:
        self.app = app
        self.close = close
        self.token = token
        self.hosts = hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        from starlette.datastructures import MutableHeaders
        from starlette.responses import PlainTextResponse

        if scope["type"] != "http":
            return
        started = False

        async def send_guarded(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers[name] = value
            await send(message)

        refusal = self._refusal(scope)
        if refusal is not None:
            await refusal(scope, receive, send_guarded)
            return
        prefix = f"/{self.token}"
        inner = dict(scope, path=scope["path"][len(prefix) :], root_path="")
        inner["raw_path"] = inner["path"].encode()
        try:
            await self.app(inner, receive, send_guarded)
        except Exception as error:
            # Where it went wrong, and not with what: messages of errors may hold queries and texts.
            frames = traceback.extract_tb(error.__traceback__)
            where = "; ".join(f"{frame.filename}:{frame.lineno} in {frame.name}" for frame in frames[-6:])
            sys.stderr.write(f"pgsift browse: {type(error).__name__} at {where}\n")
            if not started:
                fault = PlainTextResponse("A fault in pgsift; where it is stands in the terminal.\n", 500)
                await fault(scope, receive, send_guarded)

    def _refusal(self, scope: Scope) -> PlainTextResponse | None:
        from starlette.datastructures import Headers
        from starlette.responses import PlainTextResponse

        headers = Headers(scope=scope)
        hosts = headers.getlist("host")
        if len(hosts) != 1 or hosts[0].lower() not in self.hosts:
            return PlainTextResponse("This page answers under the name of the loopback alone.\n", 421)
        given = scope["path"].split("/")
        if len(given) < 3 or not secrets.compare_digest(given[1].encode(), self.token.encode()):
            return PlainTextResponse(NOT_HERE, 404)
        opened = headers.get("sec-fetch-mode") == "navigate" and headers.get("sec-fetch-dest") == "document"
        if headers.get("sec-fetch-site", "none") not in ("none", "same-origin") and not opened:
            # A frame, an image or a script of another page that has the address.
            return PlainTextResponse("Another page may open this one, and not be made of it.\n", 403)
        if scope["method"] not in ("GET", "HEAD"):
            origins = headers.getlist("origin")
            own = len(origins) == 1 and origins[0].lower() == f"http://{hosts[0].lower()}"
            if not own:
                return PlainTextResponse("What changes something is taken from this page alone.\n", 403)
        return None
