"""The catalogue of signatures, one module a family. Adding one is adding a literal to its family."""

from __future__ import annotations

from functools import lru_cache

from doctor.logs.signatures.signature import Signature

__all__ = ["Signature", "catalogue"]


@lru_cache(maxsize=1)
def catalogue() -> tuple[Signature, ...]:
    """Every signature."""
    from doctor.logs.signatures import (
        builds,
        capability,
        cards,
        circumstances,
        containers,
        dependencies,
        devices,
        driver,
        environments,
        handles,
        imports,
        installers,
        loading,
        machines,
        management,
        memory,
        names,
        noise,
        outcome,
        placement,
        said,
        systems,
        told,
        toolchain,
        usage,
        variables,
        versions,
        words,
    )

    families = (
        *(loading, driver, management, containers, devices, capability, handles, memory, placement),
        *(names, installers, dependencies, imports, builds, toolchain, noise, outcome),
        *(versions.tensorflow, versions.python, versions.cuda, versions.cudnn, versions.driver, versions.rows, versions.fields),
        *(systems, environments, variables, cards, usage, machines, told, words, circumstances),
        *(said.program, said.situations),
    )
    return tuple(signature for family in families for signature in family.SIGNATURES)
