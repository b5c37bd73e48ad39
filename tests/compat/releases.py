"""Shorthand for the tests: a release of the bundled table that must be there."""

from __future__ import annotations

from doctor.tables import Tables, TensorFlowRelease


def release(
    tables: Tables, version: str, package: str | None = None, platform: str = "linux-x86_64"
) -> TensorFlowRelease:
    """The row, or a failed test."""
    row = tables.tensorflow(version, package, platform)
    assert row is not None, f"{package or 'tensorflow'} {version} {platform} is not in the table"
    return row
