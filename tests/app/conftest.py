"""The application in this process, and named tables."""

from __future__ import annotations

import pytest

from tests.app.asking import Asked
from tests.conftest import require_package


@pytest.fixture
def asked(tmp_path) -> Asked:
    """The application for an empty folder."""
    require_package("starlette")
    return Asked(tmp_path / "sessions")


TABLE = b"""person,region,age,income,weight_kg,employed
a1,north,20,1.5,70,yes
a2,north,30,2.5,71,no
a3,south,40,3.5,72,yes
a4,south,50,4.5,73,
a5,north,60,5.5,74,
a6,south,25,6.5,75,no
a7,south,35,7.5,76,
a8,north,45,8.5,77,
"""


@pytest.fixture
def session(asked) -> str:
    """The id of a session with a small table."""
    return asked.upload(TABLE).json["id"]
