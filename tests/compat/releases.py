"""Provides a shorthand for the tests: it gets a release that must be in the bundled table."""

from __future__ import annotations

from doctor.tables import Tables, TensorFlowRelease


def release(
    tables: Tables, version: str, package: str | None = None, platform: str = "linux-x86_64"
) -> TensorFlowRelease:
    """Return the row for a release. Fails the test if the table has no such row."""
    row = tables.tensorflow(version, package, platform)
    assert row is not None, f"{package or 'tensorflow'} {version} {platform} is not in the table"
    return row
