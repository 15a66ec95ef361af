"""From a folder and a port to a running server on this machine."""

from __future__ import annotations

import socket
from collections.abc import Callable
from pathlib import Path

import uvicorn

from s2oct.app.desk import Desk
from s2oct.app.security import HOSTS, Guard
from s2oct.app.server import make_app
from s2oct.app.store import SessionStore
from s2oct.app.uploads import copy_table
from s2oct.errors import InvalidProblem


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
