#!/usr/bin/env python3
"""Measures for each release how many of the GPU messages of TensorFlow and NVIDIA the signatures recognise.

The messages that TensorFlow can print about GPUs are string literals in the libraries of its wheels. Each
literal that reads like a message and mentions a GPU is compared with the catalogue: it is known if a
signature matches it, or if it contains one of a signature's literals (a message is composed of several
literals, so a single literal need not match). The other literals belong to families in
scripts/message_families.json. For each family, that file states why its messages say nothing about the use of
a GPU. The error names of CUDA and its libraries, and the messages of installers, loaders and container
runtimes, are treated in the same way. Messages that are neither known nor in a family are listed.

    python scripts/message_coverage.py
        the error names, and the figures in docs/messages.json
    python scripts/message_coverage.py --release 2.20.0 FILE ...
        a wheel or a library; --write keeps the figures
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from elftools.elf.elffile import ELFFile  # noqa: E402

from doctor.facts import EnvironmentKind, Fact, OperatingSystem, Platform  # noqa: E402
from doctor.logs.cleaning import split  # noqa: E402
from doctor.logs.parse import parse  # noqa: E402
from doctor.logs.signatures import Signature, catalogue  # noqa: E402
from doctor.logs.text import Text  # noqa: E402

FAMILIES = ROOT / "scripts" / "message_families.json"
FIGURES = ROOT / "docs" / "messages.json"
KNOWN = ROOT / "tests" / "data" / "messages.txt"
"""The recognised messages of all releases that were read. The tests use them to check the catalogue without a
wheel."""

PRINTED = re.compile(rb"[\x20-\x7e\n\t]+")
SHORTEST, LONGEST = 12, 600
"""The shortest and longest literal to examine, in letters: shorter ones are names, longer ones are help text
and code."""
SPEAKS = re.compile(
    r"\bGPUs?\b|\bgpu_|cuda|cudnn|cublas|cusolver|cusparse|cufft|curand|nccl|\bnvml|\bptx|libdevice|nvlink"
    r"|nvjitlink|nvidia|compute"
    r" capability|tensorrt"
    r"|\bdso\b|dlopen|dlerror|dynamic library|StreamExecutor|device memory|out of memory|OOM when|no kernel"
    r" image"
    r"|soft.?placement|assign a device|device specification|visible_device|virtual device|physical"
    r" device|memory growth",
    re.IGNORECASE,
)
"""Matches words in messages that concern a GPU."""
WORDS = re.compile(r"(?<![\w:<.-])[A-Za-z][a-z']{1,20}(?![\w:>(])")
LEAST_LITERAL = 12
"""A signature's literal identifies a message on its own if it has at least this many letters."""


def is_message(text: str) -> bool:
    """Whether a literal reads like a sentence: words and spaces, no code, no path and no mangled name."""
    words = WORDS.findall(text)
    return (
        len(words) >= 3
        and " " in text
        and sum(map(len, words)) >= 0.4 * len(text.replace(" ", ""))
        and not text.startswith(("_Z", "/", "#"))
    )


def literals(path: Path) -> Iterator[str]:
    """Yield the messages about GPUs in a library."""
    with path.open("rb") as file:
        section = ELFFile(file).get_section_by_name(".rodata")
        constants = section.data() if section is not None else b""
    for text in set(constants.split(b"\0")):
        if SHORTEST <= len(text) <= LONGEST and PRINTED.fullmatch(text):
            for line in text.decode("ascii").split("\n"):
                if len(line) >= SHORTEST and SPEAKS.search(line) and is_message(line):
                    yield " ".join(line.split())


def libraries(path: Path, folder: Path) -> Iterator[Path]:
    """Yield the path of each of TensorFlow's own libraries in a wheel, unpacked to disk one after the other.
    If `path` is a library, yield `path` itself."""
    if path.suffix != ".whl":
        yield path
        return
    with zipfile.ZipFile(path) as wheel:
        for name in wheel.namelist():
            if re.search(
                r"(?:libtensorflow_(?:cc|framework)\.so[.\d]*|_pywrap_tensorflow_(?:internal|common)\.(?:so"
                r"|pyd))$",
                name,
            ):
                yield (place := Path(wheel.extract(name, folder)))
                place.unlink()


def messages(paths: Iterable[Path]) -> list[str]:
    """Return the messages in wheels or libraries, without duplicates, in alphabetical order."""
    with tempfile.TemporaryDirectory() as folder:
        return sorted(
            {
                text
                for path in paths
                for library in libraries(path, Path(folder))
                for text in literals(library)
            }
        )


# --- what is known -----------------------------------------------------------------------------------


@lru_cache(maxsize=1)
def _examples() -> str:
    return "\n".join(" ".join(signature.example.split()).lower() for signature in catalogue())


@lru_cache(maxsize=1)
def _named() -> re.Pattern[str]:
    """Return a pattern for the literals that are long enough to identify a message, except literals of
    signatures for text that people write."""
    words = {
        literal
        for signature in catalogue()
        if not signature.unlogged
        for literal in signature.literals
        if sum(map(str.isalpha, literal)) >= LEAST_LITERAL
    }
    return re.compile("|".join(map(re.escape, sorted(words, key=len, reverse=True))))


@lru_cache(maxsize=1)
def _printed() -> tuple[Signature, ...]:
    """Return the signatures for text that programs print."""
    return tuple(signature for signature in catalogue() if not signature.unlogged)


def _says_little(fact: Fact) -> bool:
    """Whether a fact only shows that a report mentions a GPU, a platform or a version."""
    return (
        isinstance(fact, (Platform, EnvironmentKind, OperatingSystem))
        or getattr(fact, "kind", "") == "mentions-gpu"
    )


def row_of(text: str) -> str:
    """Return what identifies a message: a literal, "example", or the type of the fact in it; "" if no
    signature recognises the message."""
    lower = text.lower()
    named = _named().search(lower)
    if named:
        return named[0]
    piece = re.sub(r"[%{$].*", "", lower).strip(" .,:;'\"")
    if len(piece) >= 24 and piece in _examples():
        return "example"
    facts = parse(Text.of("literal", split(text), 1), _printed())
    return next((type(fact).__name__ for fact in facts if not _says_little(fact)), "")


@lru_cache(maxsize=1)
def families() -> dict[str, Any]:
    """Return the content of scripts/message_families.json."""
    data: dict[str, Any] = json.loads(FAMILIES.read_text(encoding="utf-8"))
    return data


@lru_cache(maxsize=1)
def _reasons() -> list[tuple[re.Pattern[str], str]]:
    return [
        (re.compile(pattern), entry["family"])
        for entry in families()["irrelevant"]
        for pattern in entry["patterns"]
    ]


def reason_of(text: str) -> str:
    """Return the family to which a message belongs, or "" if it belongs to none. A family has messages that
    say nothing about the use of a GPU."""
    return next((family for pattern, family in _reasons() if pattern.search(text)), "")


def coverage(found: Iterable[str]) -> dict[str, Any]:
    """Return how many messages a signature recognises, how many belong to each family, and which messages are
    in neither group."""
    rows = 0
    by_family: Counter[str] = Counter()
    unknown: list[str] = []
    for text in found:
        if row_of(text):
            rows += 1
        elif family := reason_of(text):
            by_family[family] += 1
        else:
            unknown.append(text)
    total = rows + sum(by_family.values()) + len(unknown)
    return {
        "messages": total,
        "rows": rows,
        "irrelevant": dict(sorted(by_family.items())),
        "unknown": unknown,
    }


# --- error names -------------------------------------------------------------------------------------


def error_names() -> Iterator[tuple[str, str]]:
    """Yield (enumeration, a line as programs print it) for each name in the enumerations of error codes."""
    for enumeration in families()["errors"]:
        for name in enumeration["names"].split():
            yield enumeration["enumeration"], enumeration["printed"].replace("NAME", name)


def errors() -> dict[str, dict[str, Any]]:
    """Return the coverage of each enumeration."""
    lines: dict[str, list[str]] = {}
    for enumeration, line in error_names():
        lines.setdefault(enumeration, []).append(line)
    return {enumeration: coverage(found) for enumeration, found in lines.items()}


def programs() -> dict[str, dict[str, Any]]:
    """Return the coverage of the messages of installers, loaders and container runtimes, by program."""
    return {entry["program"]: coverage(entry["messages"]) for entry in families()["programs"]}


def percent(found: dict[str, Any]) -> str:
    """Return the percentage of messages that are recognised or belong to a family, as text."""
    known = found["messages"] - len(found["unknown"])
    share = 100 * known / max(found["messages"], 1)
    return f"{share:.1f} % of {found['messages']}: {found['rows']} by a signature"


def main() -> int:
    """Print the coverage. Returns 1 if a message is neither recognised nor in a family."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument(
        "files", nargs="*", type=Path, metavar="FILE", help="a wheel or a library of TensorFlow"
    )
    parser.add_argument("--release", help="the release to which the files belong")
    parser.add_argument("--write", action="store_true", help="save the figures and the recognised messages")
    parser.add_argument(
        "--list",
        type=Path,
        metavar="FILE",
        help="write all messages that were found; such a list can be used as FILE in another run",
    )
    arguments = parser.parse_args()
    kept: dict[str, Any] = (
        json.loads(FIGURES.read_text(encoding="utf-8"))
        if FIGURES.exists()
        else {"releases": {}, "errors": {}}
    )
    unknown: list[str] = []
    if arguments.files:
        found = (
            messages(arguments.files)
            if arguments.files[0].suffix != ".txt"
            else arguments.files[0].read_text(encoding="utf-8").splitlines()
        )
        if arguments.list:
            arguments.list.write_text("\n".join(found) + "\n", encoding="utf-8")
        kept["releases"][arguments.release or arguments.files[0].name] = coverage(found)
        if arguments.write:
            known = set(KNOWN.read_text(encoding="utf-8").splitlines()) if KNOWN.exists() else set()
            known |= {text for text in found if row_of(text)}
            KNOWN.write_text("\n".join(sorted(known)) + "\n", encoding="utf-8")
    kept["errors"] = errors()
    kept["programs"] = programs()
    for kind in ("releases", "errors", "programs"):
        for name, figures in sorted(kept[kind].items()):
            print(f"{name}: {percent(figures)}")
            unknown += figures["unknown"]
    if arguments.write:
        FIGURES.parent.mkdir(exist_ok=True)
        FIGURES.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    for text in unknown:
        print(f"  {text}")
    return 1 if unknown else 0


if __name__ == "__main__":
    sys.exit(main())
