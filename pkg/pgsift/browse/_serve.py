"""Runs the page on the loopback."""

from __future__ import annotations

import contextlib
import secrets
import socket
from collections.abc import Callable

from pgsift.browse._app import create_app
from pgsift.browse._pages import Settings
from pgsift.errors import InvalidArgument

ADDRESS = "127.0.0.1"


def serve(settings: Settings, *, port: int = 0, ready: Callable[[str], None]) -> None:
    """Serve until Ctrl-C. ``port`` 0 is any free one; ``ready`` is called with the address once it answers.

    Raises :class:`~pgsift.errors.InvalidArgument` where the port is taken. No request is logged.
    """
    import uvicorn

    class Server(uvicorn.Server):
        """A server that says when it answers."""

        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            if self.started:
                ready(f"http://{ADDRESS}:{port}/{token}/")

    token = secrets.token_urlsafe(32)
    with contextlib.closing(socket.socket(socket.AF_INET, socket.SOCK_STREAM)) as listening:
        # A port that another one of these left a moment ago can be had again; nobody shares it.
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((ADDRESS, port))
            listening.listen(64)
        except OSError as error:
            raise InvalidArgument(
                f"port {port} cannot be listened on: {error.strerror}",
                hint="Leave out --port for one that is free, or name another.",
            ) from error
        port = listening.getsockname()[1]
        app = create_app(settings, token=token, port=port)
        server = Server(
            uvicorn.Config(
                app,
                log_config=None,
                access_log=False,
                lifespan="off",
                http="h11",
                ws="none",
                proxy_headers=False,
                server_header=False,
                timeout_graceful_shutdown=3,
            )
        )
        try:
            server.run(sockets=[listening])
        except KeyboardInterrupt:
            # It was answered by an orderly end; the server hands the signal on to whoever ran it.
            pass
        finally:
            app.close()
