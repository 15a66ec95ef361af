"""Reading ahead: a thread reads the next batch of a file while the last one is worked on."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")

_AHEAD = 2
"""Most batches that wait at a time, so that memory stays bounded."""

_PATIENCE = 0.1
"""Seconds after which a reader with a full queue checks whether its items are still wanted."""


def read_ahead(items: Iterable[T]) -> Iterator[T]:
    """Yield the same items in the same order, fetched by another thread; its errors are raised here."""
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
        except BaseException as error:  # any error must reach the consumer of the items
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
