"""What a reader of one collector's report gives back, and what several of them need."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from doctor.facts import (
    FORM,
    INFERRED,
    MEASURED,
    CudaVersion,
    CudnnVersion,
    Fact,
    LibraryLoaded,
    LibraryNotLoaded,
    Platform,
    Source,
)

if TYPE_CHECKING:
    from typing import TypeAlias

Line: TypeAlias = "tuple[int, str]"
"""The number of a line in the input, and its text."""


class Block(NamedTuple):
    """A report that was read: its lines end before index `end`; `keep` are the indexes that the signatures still read."""

    end: int
    facts: list[Fact]
    keep: frozenset[int] = frozenset()


class Collector(NamedTuple):
    """One collector's report. mark: stands in each; begins: a line with which one may begin (match, not search).

    read: the lines of a text, the index of that line, the text's name; None where it is no such report after all.
    """

    mark: str
    begins: re.Pattern[str]
    read: Callable[[Sequence[Line], int, str], Block | None]


def source(name: str, line: Line) -> Source:
    """One line as evidence."""
    return Source(name, line[0], line[1].strip()[:400])


_GPU_LIBRARY = re.compile(
    r"lib(?:cuda|cudart|cudnn|cublas|cufft|cupti|curand|cusolver|cusparse|nccl|nvinfer|nvrtc|nvjitlink|nvidia-ml)"
    r"[\w+-]{0,40}\.so(?:\.\d{1,6}){0,4}$",
    re.IGNORECASE,
)
_VERSIONED = re.compile(r"lib(cudart|cudnn)\.so\.(\d{1,2}(?:\.\d{1,4}){1,3})$")


def gpu_library(path: str) -> str:
    """The file name of a library that serves a GPU; empty for any other file."""
    name = path[path.rfind("/") + 1 :]
    return name if len(name) < 80 and _GPU_LIBRARY.match(name) else ""


def stated_version(path: str, where: Source) -> Iterator[Fact]:
    """The CUDA or cuDNN that the name of a library file states."""
    found = _VERSIONED.match(path[path.rfind("/") + 1 :][:80])
    if found:
        yield (CudaVersion if found[1] == "cudart" else CudnnVersion)(where, found[2], path[:300], FORM)


def searched(begins: Source, tried: dict[str, Source], opened: dict[str, tuple[str, Source]]) -> list[Fact]:
    """What a trace of Linux's loader shows. tried: libraries that were searched for; opened: name to path."""
    facts: list[Fact] = [Platform(begins, "linux", rank=INFERRED)]
    facts += [LibraryLoaded(where, name, path) for name, (path, where) in opened.items()]
    error = "searched in every folder of the loader and not found"
    facts += [LibraryNotLoaded(where, name, error) for name, where in tried.items() if name not in opened]
    return facts


def cuda(version: str, where: Source, rank: int = MEASURED) -> Iterator[Fact]:
    """An installed CUDA, where there is such a release."""
    number = re.match(r"\d{1,2}(?:\.\d{1,3}){1,2}(?![\d.])", version)
    if number and 5 <= int(number[0].split(".")[0]) <= 19:
        yield CudaVersion(where, number[0], rank=rank)


def after(line: str, label: str) -> str:
    """What follows a label and its colon; empty where the line does not begin with it."""
    head, colon, rest = line.partition(":")
    return rest.strip() if colon and head.strip() == label else ""


def until(lines: Sequence[Line], at: int, ends: Callable[[str], bool]) -> int:
    """The index of the first line from `at` that ends a report, or the number of lines."""
    return next((i for i in range(at, len(lines)) if ends(lines[i][1])), len(lines))


def fence(line: str) -> bool:
    """Whether a line ends whatever was pasted before it."""
    return line.startswith(("```", "~~~", "</details>", "</pre>", "#", "**"))


def kept(lines: Sequence[Line], start: int, end: int, wanted: Callable[[str], object]) -> Iterable[int]:
    """The indexes of the lines that the signatures should still read."""
    return (i for i in range(start, end) if wanted(lines[i][1]))
