from __future__ import annotations

import pytest

from doctor.tables import Tables
from tests.conftest import BUNDLED


@pytest.fixture(scope="session")
def tables() -> Tables:
    """The tables that ship with the tool, without refreshed tables of the person who runs the tests."""
    return Tables(BUNDLED)
