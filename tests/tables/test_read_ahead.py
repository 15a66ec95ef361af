"""Reading ahead changes nothing but the time."""

from __future__ import annotations

import threading

import pytest

from s2oct.tables.csv_file import read_ahead


def test_items_come_in_their_order():
    assert list(read_ahead(range(1000))) == list(range(1000))
    assert list(read_ahead([])) == []


def test_error_of_the_reader_is_raised_after_the_items_before_it():
    def items():
        yield 1
        raise ValueError("damaged")

    found = []

    def read():
        for item in read_ahead(items()):
            found.append(item)

    with pytest.raises(ValueError, match="damaged"):
        read()
    assert found == [1]


def test_no_more_is_read_than_a_few_items_ahead():
    read = []

    def items():
        for i in range(1000):
            read.append(i)
            yield i

    ahead = read_ahead(items())
    for i in range(100):
        assert next(ahead) == i
        assert len(read) <= i + 5
    ahead.close()


def test_reader_ends_when_its_consumer_has_gone():
    before = threading.active_count()
    ahead = read_ahead(iter(int, 1))
    assert next(ahead) == 0
    ahead.close()
    assert threading.active_count() == before
