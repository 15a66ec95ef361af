"""Who may ask the server: pages of its own, on this machine, with the token of its address."""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field

from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

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


def new_token() -> str:
    """A token that nobody can guess."""
    return secrets.token_urlsafe(24)


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
    token: str = field(default_factory=new_token, repr=False)

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
