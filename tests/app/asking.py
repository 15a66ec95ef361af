"""Questions to the application without a network: requests as the server hands them on, and what it answers."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlsplit

from s2oct.app.jobs import Workforce
from s2oct.app.server import Guard, make_app
from s2oct.app.workspace import Workspace

PORT = 8765


class NoSpares(Workforce):
    """Starts no process in advance: most tests need none, and each takes seconds."""

    def prepare(self) -> None:
        pass


@dataclass
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Asked:
    """The application behind its guard, for one folder of sessions."""

    def __init__(self, folder: Any) -> None:
        self.workspace = Workspace(folder, NoSpares())
        self.guard = Guard(make_app(self.workspace), PORT)

    def raw(self, method: str, path: str, body: Any = b"", headers: dict[str, str] | None = None) -> Answer:
        """One request with a whole path; the headers of a browser's own page unless others are given."""
        sent: list[dict[str, Any]] = []
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        parts = [content[i : i + 2**16] for i in range(0, len(content), 2**16)] or [b""]

        async def receive() -> dict[str, Any]:
            if not parts:
                return {"type": "http.disconnect"}
            part = parts.pop(0)
            return {"type": "http.request", "body": part, "more_body": bool(parts)}

        async def send(message: Any) -> None:
            sent.append(message)

        given = {"host": f"127.0.0.1:{PORT}"} if headers is None else headers
        split = urlsplit(path)
        scope = {
            "type": "http",
            "method": method,
            "path": split.path,
            "raw_path": split.path.encode(),
            "query_string": split.query.encode(),
            "headers": [(name.encode(), value.encode("latin-1")) for name, value in given.items()],
            "http_version": "1.1",
            "scheme": "http",
            "server": ("127.0.0.1", PORT),
            "client": ("127.0.0.1", 1),
            "root_path": "",
        }
        asyncio.run(self.guard(scope, receive, send))
        start = next(message for message in sent if message["type"] == "http.response.start")
        said = {name.decode(): value.decode() for name, value in start["headers"]}
        return Answer(start["status"], said, b"".join(message.get("body", b"") for message in sent))

    def __call__(self, method: str, path: str, body: Any = b"") -> Answer:
        """One request of the page itself."""
        return self.raw(method, f"/{self.guard.token}/{path}", body)

    def upload(self, content: bytes, name: str = "people.csv") -> Answer:
        """Send a table."""
        return self("PUT", f"api/sessions?name={quote(name, safe='')}", content)

    def look(self, session: str, **choices: Any) -> Any:
        """What the page shows for some choices."""
        return self("POST", f"api/sessions/{session}/look", choices).json
