"""Empty for now."""
from __future__ import annotations
from tests.rules.situation import Fires, NearMiss
FIRES: tuple[Fires, ...] = ()
NEAR_MISSES: tuple[NearMiss, ...] = ()
