"""The server: routes from requests to what the desk answers."""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncIterator, Callable, Mapping
from importlib.resources import files
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from s2oct.app.choices import Malformed
from s2oct.app.desk import FILES, Busy, Desk
from s2oct.app.jobs import StoredJob
from s2oct.app.store import StoredSession
from s2oct.app.uploads import LIMIT, receive_table, receive_totals
from s2oct.errors import S2OCTError
from s2oct.tables.reading_limit import TooLarge

MOST_JSON = 2**22
"""Bytes of a question; the totals of thousands of domains need less."""

KINDS = {"html": "text/html", "css": "text/css", "js": "text/javascript", "json": "application/json"}
"""The page's own files by their endings."""

STATUSES: Mapping[type[Exception], int] = {Malformed: 400, TooLarge: 413, Busy: 429}
"""What HTTP calls some refusals; the others are 422."""

DOWNLOAD_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox"
"""For files that a browser may show: no scripts, and nothing of this server."""


def make_app(desk: Desk) -> Starlette:
    """Make the application; who may ask it is decided by the guard around it."""
    at = Reception(desk)
    session, job = "/api/sessions/{session}", "/api/sessions/{session}/jobs/{job}"
    routes = [
        Route("/", at.page),
        Route("/static/{name}", at.static),
        Route("/texts/{name}", at.texts),
        Route("/api/sessions", at.sessions),
        Route("/api/sessions", at.upload, methods=["PUT"]),
        Route(session, at.session),
        Route(session, at.delete, methods=["DELETE"]),
        Route(f"{session}/totals", at.totals, methods=["PUT"]),
        Route(f"{session}/look", at.look, methods=["POST"]),
        Route(f"{session}/fits", at.fit, methods=["POST"]),
        Route(job, at.job),
        Route(f"{job}/more", at.more, methods=["POST"]),
        Route(f"{job}/result", at.result),
        Route(f"{job}/rows", at.rows, methods=["POST"]),
        Route(f"{job}/path", at.path, methods=["POST"]),
        Route(f"{job}/events", at.events),
        Route(f"{job}/stop", at.stop, methods=["POST"]),
        Route(f"{job}/files/{{name}}", at.download),
    ]
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

    return Starlette(routes=routes, exception_handlers=handlers, lifespan=lifespan)


class Reception:
    """The endpoints; work on tables happens in threads, so that nobody waits for another page."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    async def page(self, request: Request) -> Response:
        """The page."""
        return _own_file("static", "page.html")

    async def static(self, request: Request) -> Response:
        """A style or script of the page; the style that all pages share comes from their room."""
        name = request.path_params["name"]
        return _own_file("static", name) if name != "base.css" else _own_file("templates", name, room="s2oct.pages")

    async def texts(self, request: Request) -> Response:
        """The texts of the page in one language."""
        return _own_file("texts", request.path_params["name"])

    async def sessions(self, request: Request) -> Response:
        """All sessions."""
        return await _worked(self._desk.list)

    async def upload(self, request: Request) -> Response:
        """Make a session of a table."""
        _refuse_length(request)
        session = await receive_table(self._desk.store, request.query_params.get("name", ""), request.stream())
        return await _worked(self._desk.open, session)

    async def totals(self, request: Request) -> Response:
        """Take a file of totals."""
        _refuse_length(request)
        session = self._session(request)
        await receive_totals(session, request.query_params.get("name", ""), request.stream())
        return await _worked(self._desk.open, session)

    async def session(self, request: Request) -> Response:
        """One session."""
        return await _worked(self._desk.open, self._session(request))

    async def delete(self, request: Request) -> Response:
        """Delete a session."""
        return await _worked(self._desk.delete, self._session(request))

    async def look(self, request: Request) -> Response:
        """Look at the table in the light of choices."""
        return await _worked(self._desk.look, self._session(request), await _question(request))

    async def fit(self, request: Request) -> Response:
        """Start a fit."""
        return await _worked(self._desk.start_fit, self._session(request), await _question(request))

    async def more(self, request: Request) -> Response:
        """Start estimates or a comparison."""
        session, number = self._session(request), request.path_params["job"]
        return await _worked(self._desk.start_more, session, number, await _question(request))

    async def job(self, request: Request) -> Response:
        """The state of a job."""
        return await _worked(self._desk.job_state, self._job(request))

    async def result(self, request: Request) -> Response:
        """The result of a job."""
        return await _worked(self._desk.result, self._job(request))

    async def rows(self, request: Request) -> Response:
        """Rows of a leaf."""
        session = self._session(request)
        return await _worked(self._desk.leaf_rows, session, self._job(request), await _question(request))

    async def path(self, request: Request) -> Response:
        """The way of a row."""
        session = self._session(request)
        return await _worked(self._desk.row_path, session, self._job(request), await _question(request))

    async def stop(self, request: Request) -> Response:
        """Stop a job."""
        return await _worked(self._desk.workforce.stop, self._job(request))

    async def events(self, request: Request) -> Response:
        """The events of a job from some event on, as they come."""
        job, said = self._job(request), request.headers.get("last-event-id", "")
        last = int(said) if said.isascii() and said.isdigit() and len(said) < 10 else 0
        workforce = self._desk.workforce
        stream = job.log.stream(last, lambda: workforce.notice_death(job))
        return StreamingResponse(stream, media_type="text/event-stream")

    async def download(self, request: Request) -> Response:
        """A file of a job, to be kept and not to be shown."""
        name = request.path_params["name"]
        file = self._job(request).folder / FILES[name]
        if not file.is_file():
            raise KeyError(name)
        headers = {"content-security-policy": DOWNLOAD_POLICY}
        return FileResponse(file, filename=name, media_type="application/octet-stream", headers=headers)

    def _session(self, request: Request) -> StoredSession:
        return self._desk.store.get(request.path_params["session"])

    def _job(self, request: Request) -> StoredJob:
        return StoredJob(self._session(request).job(request.path_params["job"]))


def _own_file(folder: str, name: str, room: str = "s2oct.app") -> Response:
    """A file of the package; names are looked up among those that are there and never joined to a path."""
    found = {entry.name: entry for entry in files(room).joinpath(folder).iterdir()}
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


async def _worked(work: Callable[..., Any], *arguments: Any) -> Response:
    """What some work returns, as JSON."""
    return JSONResponse(await run_in_threadpool(work, *arguments))


def _not_there(request: Request, error: Exception) -> Response:
    return JSONResponse({"message": "There is no such thing here; perhaps it was deleted."}, 404)


def _refused(request: Request, error: Exception) -> Response:
    status = next((code for kind, code in STATUSES.items() if isinstance(error, kind)), 422)
    return JSONResponse({"message": str(error)}, status)


def _as_json(request: Request, error: HTTPException) -> Response:
    return JSONResponse({"message": error.detail}, error.status_code)


def _broken(request: Request, error: Exception) -> Response:
    return JSONResponse({"message": "The program ended with an error of its own."}, 500)
