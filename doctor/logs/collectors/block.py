"""The types for readers of collectors' reports, and the functions that several readers share."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from doctor import lazy
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
    """One report that was read. It ends before the line with the index `end`. The signatures still read the
    lines with the indexes `keep`."""

    end: int
    facts: list[Fact]
    keep: frozenset[int] = frozenset()


class Collector(NamedTuple):
    """The reader for one collector's reports. mark: a string that every report contains. begins: matches
    the first line of a report (match, not search). read: a function that takes all lines of the input, the
    index of the report's first line, and the input's name; it returns None if the lines are not a report of
    this kind."""

    mark: str
    begins: re.Pattern[str]
    read: Callable[[Sequence[Line], int, str], Block | None]


def source(name: str, line: Line) -> Source:
    """Return one line as evidence."""
    return Source(name, line[0], line[1].strip()[:400])


_GPU_LIBRARY = lazy.compile(
    r"lib(?:cuda|cudart|cudnn|cublas|cufft|cupti|curand"
    r"|cusolver|cusparse|nccl|nvinfer|nvrtc|nvjitlink|nvidia-ml)[\w+-]{0,40}\.so(?:\.\d{1,6}){0,4}$",
    re.IGNORECASE,
)
_VERSIONED = lazy.compile(r"lib(cudart|cudnn)\.so\.(\d{1,2}(?:\.\d{1,4}){1,3})$")


def gpu_library(path: str) -> str:
    """Return the file name if the path is that of a library needed to use a GPU; otherwise return ""."""
    name = path[path.rfind("/") + 1 :]
    return name if len(name) < 80 and _GPU_LIBRARY.match(name) else ""


def stated_version(path: str, where: Source) -> Iterator[Fact]:
    """Yield the CUDA or cuDNN version in the name of a library file."""
    found = _VERSIONED.match(path[path.rfind("/") + 1 :][:80])
    if found:
        # every CUDA 11 has a libcudart.so.11.0
        version = "11" if found[1] == "cudart" and found[2] == "11.0" else found[2]
        yield (CudaVersion if found[1] == "cudart" else CudnnVersion)(where, version, path[:300], FORM)


def searched(begins: Source, tried: dict[str, Source], opened: dict[str, tuple[str, Source]]) -> list[Fact]:
    """Return the facts from a trace of the Linux loader. tried: the libraries for which the loader searched.
    opened: the paths of the loaded libraries, by name."""
    facts: list[Fact] = [Platform(begins, "linux", rank=INFERRED)]
    facts += [LibraryLoaded(where, name, path) for name, (path, where) in opened.items()]
    error = "not found in any folder of the loader's search path"
    facts += [LibraryNotLoaded(where, name, error) for name, where in tried.items() if name not in opened]
    return facts


def cuda(version: str, where: Source, rank: int = MEASURED) -> Iterator[Fact]:
    """Yield the fact that this CUDA version is installed, if there can be such a release (5 to 19)."""
    number = re.match(r"\d{1,2}(?:\.\d{1,3}){1,2}(?![\d.])", version)
    if number and 5 <= int(number[0].split(".")[0]) <= 19:
        yield CudaVersion(where, number[0], rank=rank)


def after(line: str, label: str) -> str:
    """Return the value after a label and its colon, or "" if the line does not begin with the label."""
    head, colon, rest = line.partition(":")
    return rest.strip() if colon and head.strip() == label else ""


def until(lines: Sequence[Line], at: int, ends: Callable[[str], object]) -> int:
    """Return the index of the first line, from `at` on, that ends a report, or the number of lines if no line
    does. A blank line ends none. ends: whether a line is not part of the report."""
    following = (i for i in range(at, len(lines)) if lines[i][1].strip() and ends(lines[i][1]))
    return next(following, len(lines))


def rows_end(lines: Sequence[Line], at: int, row: re.Pattern[str]) -> int:
    """Return the index of the first line, from `at` on, that is not a row of a list, or the number of lines
    if all are rows."""
    return next((i for i in range(at, len(lines)) if row.match(lines[i][1][:700]) is None), len(lines))


def fence(line: str) -> bool:
    """Whether a line is a code fence or a heading, which ends any pasted block before it."""
    return line.startswith(("```", "~~~", "</details>", "</pre>", "#", "**"))


def kept(lines: Sequence[Line], start: int, end: int, wanted: Callable[[str], object]) -> Iterable[int]:
    """Return the indexes of the lines that the signatures should still read."""
    return (i for i in range(start, end) if wanted(lines[i][1]))
