"""The HTTP server of the page: access control, routes, and startup."""

from __future__ import annotations

import contextlib
import hmac
import json
import secrets
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
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
from s2oct.app.jobs import StoredJob
from s2oct.app.store import LIMIT, StoredSession, copy_table, receive_table, receive_totals
from s2oct.app.workspace import FILES, Busy, Workspace
from s2oct.errors import InvalidProblem, S2OCTError
from s2oct.tables.formats import TooLarge

HOSTS = ("127.0.0.1", "localhost")
"""Host names of this machine for the page."""

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
)
"""The page only uses its own scripts and styles, and connects only to its server."""

HEADERS: Mapping[str, str] = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
"""Headers of every response, including refusals."""


MOST_JSON = 2**22
"""Maximum number of bytes of a JSON request; the totals of thousands of domains need less."""

KINDS = {"html": "text/html", "css": "text/css", "js": "text/javascript", "json": "application/json"}
"""Media types of the page's files, by suffix."""

STATUSES: Mapping[type[Exception], int] = {
    Malformed: 400,
    TooLarge: 413,
    Busy: 429,
    S2OCTError: 422,
    ClientDisconnect: 422,
    KeyError: 404,
    FileNotFoundError: 404,
    Exception: 500,
}
"""HTTP status of each error; the first that fits counts."""

MESSAGES = {
    404: "There is no such thing here; perhaps it was deleted.",
    500: "The program ended with an error of its own.",
}
"""Messages of errors that have none for users, by status."""

DOWNLOAD_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox"
"""Policy for files that a browser may show: no scripts, and no access to this server."""

Endpoint = Callable[[Request], Awaitable[Response]]


def serve(folder: Path, table: Path | None, port: int, announce: Callable[[str], None]) -> None:
    """Serve the page until Ctrl-C.

    Parameters
    ----------
    folder : Path
        Folder of the sessions.
    table : Path, optional
        A table to open first.
    port : int
        Port of this machine; 0 for any free port.
    announce : callable
        Called with the address of the page once the server listens.
    """
    workspace = Workspace(folder)
    workspace.sweep()
    first = None if table is None else copy_table(folder, table)
    with _listening(port) as listener:
        guard = Guard(make_app(workspace), listener.getsockname()[1])
        # From here on, requests wait until the server answers them.
        announce(guard.address + ("" if first is None else f"#{first.id}"))
        config = uvicorn.Config(
            guard,
            log_config=None,
            access_log=False,
            timeout_graceful_shutdown=1,  # event streams last as long as a page is open
            server_header=False,
            date_header=False,
            ws="none",
            h11_max_incomplete_event_size=2**16,
        )
        uvicorn.Server(config).run(sockets=[listener])


@dataclass(frozen=True)
class Guard:
    """Accepts only requests with the token, a host name of this machine and no foreign origin.

    The token is the first part of every path. So the addresses of events, pictures and downloads include it, and the
    browser does not have to store it.

    Attributes
    ----------
    app : ASGI application
        Receives the rest of the path.
    port : int
        The port of the server.
    token : str
        The first part of every path.
    """

    app: ASGIApp
    port: int
    token: str = field(default_factory=lambda: secrets.token_urlsafe(24), repr=False)

    @property
    def address(self) -> str:
        """The address of the page."""
        return f"http://{HOSTS[0]}:{self.port}/{self.token}/"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer or refuse a request."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":  # WebSocket is not supported
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                present = {name for name, _ in message["headers"]}
                added = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
                message["headers"] = [*message["headers"], *(pair for pair in added if pair[0] not in present)]
            await send(message)

        refusal = self.refusal({name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]})
        rest = self._without_token(scope["path"])
        if refusal or rest is None:
            answer = PlainTextResponse(refusal or "Use the address that s2oct app has printed.\n", 403)
            await answer(scope, receive, send_with_headers)
            return
        await self.app({**scope, "path": rest, "raw_path": rest.encode()}, receive, send_with_headers)

    def refusal(self, headers: Mapping[str, str]) -> str:
        """Return the reason for refusing a request with these headers; empty if it is accepted."""
        if headers.get("host") not in {f"{host}:{self.port}" for host in HOSTS}:
            return "Expected the name of this machine as host.\n"
        origin = headers.get("origin")
        if origin is not None and origin != f"http://{headers['host']}":
            return "Expected a request of the page itself, got one of another page.\n"
        if headers.get("sec-fetch-site", "none") not in ("same-origin", "none"):
            return "Expected a request of the page itself, got one of another page.\n"
        return ""

    def _without_token(self, path: str) -> str | None:
        """Return the path without the token; None if it does not start with the token."""
        first, _, rest = path.removeprefix("/").partition("/")
        return f"/{rest}" if hmac.compare_digest(first.encode(), self.token.encode()) else None


def make_app(workspace: Workspace) -> Starlette:
    """Make the application; the guard around it controls access."""
    handlers: dict[Any, Any] = dict.fromkeys((HTTPException, *STATUSES), _error)

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        yield
        await run_in_threadpool(workspace.workforce.close)

    app = Starlette(routes=_routes(), exception_handlers=handlers, lifespan=lifespan)
    app.state.workspace = workspace
    return app


def _routes() -> list[Route]:
    session, job = "/api/sessions/{session}", "/api/sessions/{session}/jobs/{job}"
    return [
        Route("/", partial(_page_file, folder="static")),
        Route("/static/{name}", partial(_page_file, folder="static")),
        Route("/texts/{name}", partial(_page_file, folder="texts")),
        Route("/api/sessions", _answer(Workspace.list)),
        Route("/api/sessions", _upload, methods=["PUT"]),
        Route(session, _answer(Workspace.open, _session)),
        Route(session, _answer(Workspace.delete, _session), methods=["DELETE"]),
        Route(f"{session}/totals", _totals, methods=["PUT"]),
        Route(f"{session}/look", _answer(Workspace.look, _session, has_json=True), methods=["POST"]),
        Route(f"{session}/fits", _answer(Workspace.start_fit, _session, has_json=True), methods=["POST"]),
        Route(job, _answer(Workspace.job_state, _job)),
        Route(f"{job}/more", _answer(Workspace.start_more, _session, _job, has_json=True), methods=["POST"]),
        Route(f"{job}/result", _answer(Workspace.result, _job)),
        Route(f"{job}/rows", _answer(Workspace.leaf_rows, _session, _job, has_json=True), methods=["POST"]),
        Route(f"{job}/path", _answer(Workspace.row_path, _session, _job, has_json=True), methods=["POST"]),
        Route(f"{job}/stop", _answer(Workspace.stop, _job), methods=["POST"]),
        Route(f"{job}/events", _events),
        Route(f"{job}/files/{{name}}", _download),
    ]


def _answer(work: Callable[..., Any], *parts: Callable[[Request], Any], has_json: bool = False) -> Endpoint:
    """Make an endpoint that calls the workspace with parts of the request and, if it ``has_json``, with that.

    The workspace runs in a thread, so that pages do not wait for each other.
    """

    async def endpoint(request: Request) -> Response:
        arguments = [part(request) for part in parts]
        if has_json:
            arguments.append(await _read_request(request))
        return JSONResponse(await run_in_threadpool(work, _workspace(request), *arguments))

    return endpoint


def _workspace(request: Request) -> Workspace:
    workspace: Workspace = request.app.state.workspace
    return workspace


def _session(request: Request) -> StoredSession:
    return _workspace(request).session(request.path_params["session"])


def _job(request: Request) -> StoredJob:
    return _session(request).job(request.path_params["job"])


async def _page_file(request: Request, folder: str) -> Response:
    """Return a file of the page; names are looked up among existing files and never joined to a path."""
    name, package = request.path_params.get("name", "page.html"), "s2oct.app"
    if name == "base.css":  # the style shared with reports
        folder, package = "templates", "s2oct.output"
    found = {entry.name: entry for entry in files(package).joinpath(folder).iterdir()}
    kind = KINDS.get(name.rpartition(".")[2])
    if name not in found or kind is None:
        raise KeyError(name)
    return Response(found[name].read_bytes(), media_type=kind)


async def _upload(request: Request) -> Response:
    """Make a session from an uploaded table."""
    _refuse_length(request)
    session = await receive_table(_workspace(request).folder, request.query_params.get("name", ""), request.stream())
    return JSONResponse(await run_in_threadpool(_workspace(request).open, session))


async def _totals(request: Request) -> Response:
    """Receive a file of totals."""
    _refuse_length(request)
    session = _session(request)
    await receive_totals(session, request.query_params.get("name", ""), request.stream())
    return JSONResponse(await run_in_threadpool(_workspace(request).open, session))


async def _events(request: Request) -> Response:
    """Stream the events of a job, starting after a given event."""
    job, seen, workforce = _job(request), request.headers.get("last-event-id", ""), _workspace(request).workforce
    last = int(seen) if seen.isascii() and seen.isdigit() and len(seen) < 10 else 0
    stream = job.stream(last, lambda: workforce.notice_death(job))
    return StreamingResponse(stream, media_type="text/event-stream")


async def _download(request: Request) -> Response:
    """Return a file of a job as a download."""
    name = request.path_params["name"]
    file = _job(request).folder / FILES[name]
    if not file.is_file():
        raise KeyError(name)
    headers = {"content-security-policy": DOWNLOAD_POLICY}
    return FileResponse(file, filename=name, media_type="application/octet-stream", headers=headers)


def _refuse_length(request: Request) -> None:
    """Refuse an upload whose declared length is too large, before it is sent."""
    declared = request.headers.get("content-length", "")
    if declared.isascii() and declared.isdigit() and int(declared) > LIMIT.n_bytes:
        raise TooLarge(f"Expected a file of at most {LIMIT.n_bytes:,} bytes, got {int(declared):,}.")


async def _read_request(request: Request) -> Any:
    """Return the JSON of a request, a mapping of names to values."""
    content = b""
    async for part in request.stream():
        content += part
        if len(content) > MOST_JSON:
            raise TooLarge(f"Expected JSON of at most {MOST_JSON:,} bytes, got more.")
    try:
        found = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise HTTPException(400, "Expected JSON.") from error
    if not isinstance(found, dict):
        raise HTTPException(400, "Expected names and values.")
    return found


def _error(request: Request, error: Exception) -> Response:
    """Answer a request that failed."""
    if isinstance(error, HTTPException):
        return JSONResponse({"message": error.detail}, error.status_code)
    status = next(status for kind, status in STATUSES.items() if isinstance(error, kind))
    return JSONResponse({"message": MESSAGES.get(status, str(error))}, status)


def _listening(port: int) -> socket.socket:
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((HOSTS[0], port))
        listener.listen()
    except (OSError, OverflowError) as error:
        listener.close()
        reason = getattr(error, "strerror", None) or "it is not a port"
        raise InvalidProblem(f"Cannot use port {port}: {reason}.") from error
    return listener
