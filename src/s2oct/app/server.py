"""The HTTP server of the page: who may ask, the routes, and starting it."""

from __future__ import annotations

import contextlib
import hmac
import json
import secrets
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from s2oct.app.choices import Malformed
from s2oct.app.desk import FILES, Busy, Desk
from s2oct.app.jobs import StoredJob
from s2oct.app.store import LIMIT, SessionStore, StoredSession, copy_table, receive_table, receive_totals
from s2oct.errors import InvalidProblem, S2OCTError
from s2oct.tables.formats import TooLarge

HOSTS = ("127.0.0.1", "localhost")
"""Names of this machine under which the page may be opened."""

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
)
"""The page runs no script and shows no style but its own files, and talks to nobody but its server."""

HEADERS: Mapping[str, str] = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
"""What every answer says, refusals included."""


MOST_JSON = 2**22
"""Bytes of a question; the totals of thousands of domains need less."""

KINDS = {"html": "text/html", "css": "text/css", "js": "text/javascript", "json": "application/json"}
"""The page's own files by their endings."""

STATUSES: Mapping[type[Exception], int] = {Malformed: 400, TooLarge: 413, Busy: 429}
"""What HTTP calls some refusals; the others are 422."""

DOWNLOAD_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox"
"""For files that a browser may show: no scripts, and nothing of this server."""

Endpoint = Callable[[Request], Awaitable[Response]]


def serve(folder: Path, table: Path | None, port: int, announce: Callable[[str], None]) -> None:
    """Serve the page until Ctrl-C.

    Parameters
    ----------
    folder : Path
        Keeps the sessions.
    table : Path, optional
        A table to begin with.
    port : int
        Port of this machine; 0 for any that is free.
    announce : callable
        Is called with the address of the page once the server listens.
    """
    desk = Desk(SessionStore(folder))
    desk.store.sweep()
    first = None if table is None else copy_table(desk.store, table)
    with _listening(port) as listener:
        guard = Guard(make_app(desk), listener.getsockname()[1])
        server = _Announcing(guard, guard.address + ("" if first is None else f"#{first.id}"), announce)
        server.run(sockets=[listener])


@dataclass(frozen=True)
class Guard:
    """Lets requests through that have the token, a host of this machine and no foreign origin.

    The token is the first part of every path, so that addresses of events, pictures and downloads have it, too, and
    nothing has to be kept in the browser.

    Attributes
    ----------
    app : ASGI application
        Sees the rest of the path.
    port : int
        The port of the server.
    token : str
        What the address of the page begins with.
    """

    app: ASGIApp
    port: int
    token: str = field(default_factory=lambda: secrets.token_urlsafe(24), repr=False)

    @property
    def address(self) -> str:
        """The address of the page."""
        return f"http://{HOSTS[0]}:{self.port}/{self.token}/"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":  # nothing here speaks WebSocket
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                said = {name for name, _ in message["headers"]}
                added = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
                message["headers"] = [*message["headers"], *(pair for pair in added if pair[0] not in said)]
            await send(message)

        refusal = self.refusal({name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]})
        rest = self._without_token(scope["path"])
        if refusal or rest is None:
            answer = PlainTextResponse(refusal or "Use the address that s2oct app has printed.\n", 403)
            await answer(scope, receive, send_with_headers)
            return
        await self.app({**scope, "path": rest, "raw_path": rest.encode()}, receive, send_with_headers)

    def refusal(self, headers: Mapping[str, str]) -> str:
        """Say why a request with these headers is refused; empty if it is not."""
        if headers.get("host") not in {f"{host}:{self.port}" for host in HOSTS}:
            return "Expected the name of this machine as host.\n"
        origin = headers.get("origin")
        if origin is not None and origin != f"http://{headers['host']}":
            return "Expected a request of the page itself, got one of another page.\n"
        if headers.get("sec-fetch-site", "none") not in ("same-origin", "none"):
            return "Expected a request of the page itself, got one of another page.\n"
        return ""

    def _without_token(self, path: str) -> str | None:
        """The rest of a path that begins with the token; None if it does not."""
        first, _, rest = path.removeprefix("/").partition("/")
        return f"/{rest}" if hmac.compare_digest(first.encode(), self.token.encode()) else None


def make_app(desk: Desk) -> Starlette:
    """Make the application; who may ask it is decided by the guard around it."""
    handlers: dict[Any, Any] = {
        KeyError: _not_there,
        FileNotFoundError: _not_there,
        S2OCTError: _refused,
        ClientDisconnect: _refused,
        HTTPException: _as_json,
        Exception: _broken,
    }

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        yield
        await run_in_threadpool(desk.workforce.close)

    app = Starlette(routes=_routes(), exception_handlers=handlers, lifespan=lifespan)
    app.state.desk = desk
    return app


def _routes() -> list[Route]:
    session, job = "/api/sessions/{session}", "/api/sessions/{session}/jobs/{job}"
    return [
        Route("/", _page),
        Route("/static/{name}", _static),
        Route("/texts/{name}", _texts),
        Route("/api/sessions", _answer(Desk.list)),
        Route("/api/sessions", _upload, methods=["PUT"]),
        Route(session, _answer(Desk.open, _session)),
        Route(session, _answer(Desk.delete, _session), methods=["DELETE"]),
        Route(f"{session}/totals", _totals, methods=["PUT"]),
        Route(f"{session}/look", _answer(Desk.look, _session, asks=True), methods=["POST"]),
        Route(f"{session}/fits", _answer(Desk.start_fit, _session, asks=True), methods=["POST"]),
        Route(job, _answer(Desk.job_state, _job)),
        Route(f"{job}/more", _answer(Desk.start_more, _session, _job, asks=True), methods=["POST"]),
        Route(f"{job}/result", _answer(Desk.result, _job)),
        Route(f"{job}/rows", _answer(Desk.leaf_rows, _session, _job, asks=True), methods=["POST"]),
        Route(f"{job}/path", _answer(Desk.row_path, _session, _job, asks=True), methods=["POST"]),
        Route(f"{job}/stop", _answer(Desk.stop, _job), methods=["POST"]),
        Route(f"{job}/events", _events),
        Route(f"{job}/files/{{name}}", _download),
    ]


def _answer(work: Callable[..., Any], *parts: Callable[[Request], Any], asks: bool = False) -> Endpoint:
    """An endpoint that answers with what the desk says about parts of the request, and about its question if it asks.

    The desk works in a thread, so that no page waits for another.
    """

    async def endpoint(request: Request) -> Response:
        arguments = [part(request) for part in parts]
        if asks:
            arguments.append(await _question(request))
        return JSONResponse(await run_in_threadpool(work, _desk(request), *arguments))

    return endpoint


def _desk(request: Request) -> Desk:
    desk: Desk = request.app.state.desk
    return desk


def _session(request: Request) -> StoredSession:
    return _desk(request).store.get(request.path_params["session"])


def _job(request: Request) -> StoredJob:
    return StoredJob(_session(request).job(request.path_params["job"]))


async def _page(request: Request) -> Response:
    return _own_file("static", "page.html")


async def _static(request: Request) -> Response:
    """A style or script of the page; the style that all pages share is in another package."""
    name = request.path_params["name"]
    return _own_file("static", name) if name != "base.css" else _own_file("templates", name, "s2oct.output")


async def _texts(request: Request) -> Response:
    """The texts of the page in one language."""
    return _own_file("texts", request.path_params["name"])


async def _upload(request: Request) -> Response:
    """Make a session of a table."""
    _refuse_length(request)
    store, name = _desk(request).store, request.query_params.get("name", "")
    session = await receive_table(store, name, request.stream())
    return JSONResponse(await run_in_threadpool(_desk(request).open, session))


async def _totals(request: Request) -> Response:
    """Take a file of totals."""
    _refuse_length(request)
    session = _session(request)
    await receive_totals(session, request.query_params.get("name", ""), request.stream())
    return JSONResponse(await run_in_threadpool(_desk(request).open, session))


async def _events(request: Request) -> Response:
    """The events of a job from some event on, as they come."""
    job, seen, workforce = _job(request), request.headers.get("last-event-id", ""), _desk(request).workforce
    last = int(seen) if seen.isascii() and seen.isdigit() and len(seen) < 10 else 0
    stream = job.stream(last, lambda: workforce.notice_death(job))
    return StreamingResponse(stream, media_type="text/event-stream")


async def _download(request: Request) -> Response:
    """A file of a job, to be kept and not to be shown."""
    name = request.path_params["name"]
    file = _job(request).folder / FILES[name]
    if not file.is_file():
        raise KeyError(name)
    headers = {"content-security-policy": DOWNLOAD_POLICY}
    return FileResponse(file, filename=name, media_type="application/octet-stream", headers=headers)


def _own_file(folder: str, name: str, package: str = "s2oct.app") -> Response:
    """A file of the package; names are looked up among those that are there and never joined to a path."""
    found = {entry.name: entry for entry in files(package).joinpath(folder).iterdir()}
    kind = KINDS.get(name.rpartition(".")[2])
    if name not in found or kind is None:
        raise KeyError(name)
    return Response(found[name].read_bytes(), media_type=kind)


def _refuse_length(request: Request) -> None:
    """Refuse an upload that says itself that it is too large, before it is sent."""
    said = request.headers.get("content-length", "")
    if said.isascii() and said.isdigit() and int(said) > LIMIT.n_bytes:
        raise TooLarge(f"Expected a file of at most {LIMIT.n_bytes:,} bytes, got {int(said):,}.")


async def _question(request: Request) -> Any:
    """The JSON of a request."""
    content = b""
    async for part in request.stream():
        content += part
        if len(content) > MOST_JSON:
            raise TooLarge(f"Expected a question of at most {MOST_JSON:,} bytes, got more.")
    try:
        found = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise HTTPException(400, "Expected JSON.") from error
    if not isinstance(found, dict):
        raise HTTPException(400, "Expected names and values.")
    return found


def _not_there(request: Request, error: Exception) -> Response:
    return JSONResponse({"message": "There is no such thing here; perhaps it was deleted."}, 404)


def _refused(request: Request, error: Exception) -> Response:
    status = next((code for kind, code in STATUSES.items() if isinstance(error, kind)), 422)
    return JSONResponse({"message": str(error)}, status)


def _as_json(request: Request, error: HTTPException) -> Response:
    return JSONResponse({"message": error.detail}, error.status_code)


def _broken(request: Request, error: Exception) -> Response:
    return JSONResponse({"message": "The program ended with an error of its own."}, 500)


class _Announcing(uvicorn.Server):
    """Announces its address as soon as it answers."""

    def __init__(self, guard: Guard, address: str, announce: Callable[[str], None]) -> None:
        # Streams of events last as long as a page is open: they do not keep the server from ending.
        super().__init__(
            uvicorn.Config(
                guard,
                log_config=None,
                access_log=False,
                timeout_graceful_shutdown=1,
                server_header=False,
                date_header=False,
                ws="none",
                h11_max_incomplete_event_size=2**16,
            )
        )
        self._address, self._say = address, announce

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, and say so."""
        await super().startup(sockets)
        self._say(self._address)


def _listening(port: int) -> socket.socket:
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((HOSTS[0], port))
    except (OSError, OverflowError) as error:
        listener.close()
        reason = getattr(error, "strerror", None) or "it is no port"
        raise InvalidProblem(f"Expected a free port, got {port}: {reason}.") from error
    return listener
