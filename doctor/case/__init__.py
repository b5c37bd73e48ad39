"""Facts reconciled into one answer to each question: `Case`, and `best`, which chooses among several
facts."""

from __future__ import annotations

from doctor.case.best import best
from doctor.case.case import Case

__all__ = ["Case", "best"]
