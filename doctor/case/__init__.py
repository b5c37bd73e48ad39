"""The facts of one machine or report, and one answer to each question about it: `Case`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from doctor import lazy

if TYPE_CHECKING:
    from doctor.case.case import Case as Case

__getattr__ = lazy.names(__name__, {"Case": "case"})
