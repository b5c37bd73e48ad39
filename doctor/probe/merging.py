"""Merges the facts from several probes about one GPU, and makes the facts safe to print and to save."""

from __future__ import annotations

from doctor.facts import (
    EVIDENCE_LIMIT,
    Absent,
    EnvVar,
    Fact,
    Gpu,
    LibraryLoaded,
    LibraryNotLoaded,
    Source,
    Unreadable,
)
from doctor.values import replace

OF_DRIVER = {"libcuda.so.1": ("libcuda", "nvidia driver"), "libnvidia-ml.so.1": ("nvml",)}
"""The driver's libraries, each with the values of `Absent.what` that it disproves."""


def printable(fact: Fact) -> Fact:
    """A copy of the fact with undecodable bytes in file names escaped, and long evidence shortened."""
    changes: dict[str, object] = {}
    for name in type(fact).__match_args__:
        value = getattr(fact, name)
        if isinstance(value, str) and not value.isascii():
            text = _spelt(value)
            if text != value:
                changes[name] = text
    source = fact.source
    if not (source.where.isascii() and source.text.isascii()) or len(source.text) > EVIDENCE_LIMIT:
        changes["source"] = Source(_spelt(source.where), source.line, _spelt(source.text)[:EVIDENCE_LIMIT])
    return replace(fact, **changes) if changes else fact  # type: ignore[arg-type]


def _spelt(text: str) -> str:
    """The text with its undecodable bytes (surrogates) written as escapes."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def merged(facts: list[Fact]) -> list[Fact]:
    """The facts with one Gpu for each device, merged from the bus, the kernel module, NVML and libcuda."""
    result: list[Fact] = []
    # what one search does not find, another may find, for example through TensorFlow's own RUNPATH
    loaded = {fact.name for fact in facts if isinstance(fact, LibraryLoaded)} & set(OF_DRIVER)
    found = {what for name in loaded for what in OF_DRIVER[name]}
    facts = [
        fact
        for fact in facts
        if not (isinstance(fact, LibraryNotLoaded) and fact.name in loaded)
        and not (isinstance(fact, (Absent, Unreadable)) and fact.what in found)
    ]
    where: dict[str, int] = {}
    gpus = [fact for fact in facts if isinstance(fact, Gpu)]
    bare = [gpu for gpu in gpus if not (gpu.name or gpu.bus_id or gpu.uuid)]
    if len(bare) < len(gpus):  # a bare device node adds nothing to the other facts
        facts = [fact for fact in facts if fact not in bare]
    if gpus:  # a container may hide the bus and show the GPU
        facts = [fact for fact in facts if not (isinstance(fact, Absent) and fact.what == "nvidia gpu")]
    hidden = any(isinstance(f, EnvVar) and f.name == "CUDA_VISIBLE_DEVICES" for f in facts)
    for fact in facts:
        if not isinstance(fact, Gpu) or (fact.bus_id is None and fact.uuid is None):
            result.append(fact)
            continue
        keys = [key for key in (fact.bus_id, fact.uuid) if key is not None]
        at = next((where[key] for key in keys if key in where), None)
        if at is None:
            at = len(result)
            result.append(fact)
        else:
            known = result[at]
            assert isinstance(known, Gpu)
            # libcuda, which reports no UUID, numbers only the visible GPUs; NVML numbers all of them
            visible_only = hidden and fact.uuid is None
            index = known.index if known.index is not None or visible_only else fact.index
            result[at] = replace(
                known,
                source=fact.source,
                name=fact.name or known.name,
                compute_capability=fact.compute_capability or known.compute_capability,
                memory_mib=known.memory_mib or fact.memory_mib,
                pci_id=known.pci_id or fact.pci_id,
                index=index,
                bus_id=known.bus_id or fact.bus_id,
                uuid=known.uuid or fact.uuid,
                multiprocessors=known.multiprocessors or fact.multiprocessors,
            )
        for key in keys:
            where[key] = at
    return result
