"""The application: what is answered to a browser. Its packages are imported where they are used: the module can be
looked at without them."""

from __future__ import annotations

import importlib.resources
from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

from pgsift.browse import _text
from pgsift.browse._guard import Guard
from pgsift.browse._pages import Pages, Settings, View, advice

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

#: The most that a form may send, in bytes.
BODY_LIMIT = 64 * 1024
#: What the grades of sift.judge say.
GRADES = ((0, "not relevant"), (1, "related"), (2, "relevant"), (3, "answers it"))
STATIC = {
    "browse.css": "text/css; charset=utf-8",
    "browse.js": "text/javascript; charset=utf-8",
    "icon.svg": "image/svg+xml",
}


def create_app(settings: Settings, *, token: str, port: int) -> Guard:
    """The application, under the path ``/TOKEN/``, for a browser that reaches it at ``port`` of the loopback.
    Its ``close()`` gives the connections back."""
    from starlette.applications import Starlette
    from starlette.concurrency import run_in_threadpool
    from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, RedirectResponse, Response
    from starlette.routing import Route

    pages = Pages(settings)
    template = _templates()
    folder = importlib.resources.files("pgsift.browse").joinpath("static")
    files = {name: folder.joinpath(name).read_bytes() for name in STATIC}

    def rendered(name: str, view: View) -> HTMLResponse:
        text = template(
            name,
            view=view,
            params=view.params,
            error=view.error,
            advice=advice(view.error),
            may_mark=pages.may_mark(view.rights),
            judge=pages.judge_name(view.rights) if view.rights is not None else "",
            read_only=settings.read_only,
        )
        # What cannot be said in UTF-8 is half a character, which no database gave.
        return HTMLResponse(text.encode("utf-8", "replace"), status_code=view.status)

    async def search(request: Request) -> Response:
        view = await run_in_threadpool(pages.search, request.query_params.multi_items())
        return await run_in_threadpool(rendered, "search.html", view)

    async def evidence(request: Request) -> Response:
        view = await run_in_threadpool(pages.evidence, request.query_params.multi_items())
        return await run_in_threadpool(rendered, "evidence.html", view)

    async def judge(request: Request) -> Response:
        """A page again, or JSON for the script."""
        kind = request.headers.get("content-type", "").partition(";")[0].strip()
        if kind != "application/x-www-form-urlencoded":
            return PlainTextResponse("A form is what is taken here.\n", 415)
        body = b""
        async for part in request.stream():
            body += part
            if len(body) > BODY_LIMIT:
                return PlainTextResponse("That is more than this page takes.\n", 413)
        try:
            given = parse_qsl(body.decode("ascii"), keep_blank_values=True, max_num_fields=200)
        except ValueError:
            return PlainTextResponse("That is no form.\n", 400)
        view, judgment = await run_in_threadpool(pages.judge, given)
        named = dict(reversed(given))
        if request.headers.get("accept") == "application/json":
            if view.error is not None:
                return JSONResponse({"message": view.error.message, "hint": view.error.hint}, view.status)
            return JSONResponse({"grade": named.get("grade"), "judgment": judgment})
        if view.error is not None:
            return await run_in_threadpool(rendered, "evidence.html", view)
        if named.get("back") == "evidence":
            more = [(name, named[name]) for name in ("key", "chunk", "from", "to") if name in named]
            return RedirectResponse(view.params.url("evidence", *more), 303)
        return RedirectResponse(f"{view.params.url()}#c{view.chunk}", 303)

    async def static(request: Request) -> Response:
        """One of the files that were read at the start: nothing is looked up on the disk."""
        name = request.path_params["name"]
        if name not in STATIC:
            return PlainTextResponse("There is no such file.\n", 404)
        return Response(files[name], media_type=STATIC[name])

    app = Starlette(
        routes=[
            Route("/", search),
            Route("/evidence", evidence),
            Route("/judge", judge, methods=["POST"]),
            Route("/static/{name}", static),
        ]
    )
    app.router.redirect_slashes = False
    return Guard(app, token, frozenset({f"127.0.0.1:{port}", f"localhost:{port}"}), pages.close)


def _templates() -> Callable[..., str]:
    """Makes a page of a template's name and values."""
    import jinja2
    from markupsafe import Markup

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("pgsift.browse"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "shown": lambda *given: Markup(_text.shown(*given)),
        "marked": lambda *given: Markup(_text.marked(*given)),
        "figure": _text.figure,
        "plain": _text.plain,
    }
    environment.globals |= {"grades": GRADES, "link": _text.link}

    def render(name: str, **values: Any) -> str:
        return environment.get_template(name).render(**values)

    return render
