"""One answer to each question about a case: `Picture` over the facts, `best` of several answers."""

from __future__ import annotations

from doctor.picture.picture import Picture, best

__all__ = ["Picture", "best"]
