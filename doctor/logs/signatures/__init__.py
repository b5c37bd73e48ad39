"""The catalogue of signatures, one module a family. Adding one is adding a literal to its family."""

from __future__ import annotations

from functools import lru_cache

from doctor.logs.signatures.signature import Signature

__all__ = ["Signature", "catalogue"]


@lru_cache(maxsize=1)
def catalogue() -> tuple[Signature, ...]:
    """Every signature."""
    from doctor.logs.signatures import (
        devices,
        driver,
        handles,
        loading,
        memory,
        noise,
        packaging,
        placement,
        surroundings,
        toolchain,
        versions,
        words,
    )

    families = (
        loading, driver, devices, handles, memory, placement, packaging, toolchain, noise, versions, surroundings, words,
    )  # fmt: skip
    return tuple(signature for family in families for signature in family.SIGNATURES)
