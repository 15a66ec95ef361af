"""Reading ahead: the next batch of a file is read while the last one is worked on."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")

_AHEAD = 2
"""Batches that wait at most, so that memory stays bounded."""

_PATIENCE = 0.1
"""Seconds after which a reader with a full queue looks whether anybody is still waiting."""


def read_ahead(items: Iterable[T]) -> Iterator[T]:
    """The same items in the same order, fetched by a thread of their own; its errors are raised here."""
    waiting: queue.Queue[tuple[T] | BaseException | None] = queue.Queue(_AHEAD)
    abandoned = threading.Event()

    def put(entry: tuple[T] | BaseException | None) -> bool:
        while not abandoned.is_set():
            try:
                waiting.put(entry, timeout=_PATIENCE)
            except queue.Full:
                continue
            return True
        return False

    def fetch() -> None:
        try:
            for item in items:
                if not put((item,)):
                    return
            put(None)
        except BaseException as error:  # whatever it is, it belongs to whoever asked for the items
            put(error)

    reader = threading.Thread(target=fetch, name="s2oct-reader", daemon=True)
    reader.start()
    try:
        while (entry := waiting.get()) is not None:
            if isinstance(entry, BaseException):
                raise entry
            yield entry[0]
    finally:
        abandoned.set()
        reader.join()
