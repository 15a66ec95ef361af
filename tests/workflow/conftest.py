"""A small table in a file."""

from tests.tables.conftest import table as table
