"""Tests that a text is read as if all families of signatures were imported, although only the families whose
words it contains are."""

from __future__ import annotations

import json
import pkgutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from functools import lru_cache
from importlib import import_module

import pytest

from doctor.facts import Fact
from doctor.logs import signatures
from doctor.logs.cleaning import split
from doctor.logs.parse import parse
from doctor.logs.signatures import FAMILIES, Catalogue, Signature, family
from doctor.logs.signatures.indexing import indexed
from doctor.logs.text import Text
from tests.conftest import ROOT

QUICK = 60


@lru_cache(maxsize=1)
def everything() -> tuple[Signature, ...]:
    """Return every signature, from the modules of the families and not from the index file."""
    return tuple(signature for name in FAMILIES for signature in family(name))


def texts() -> Iterator[str]:
    """Recorded logs, labelled reports, and the example of each signature."""
    for path in sorted((ROOT / "tests" / "data" / "logs").rglob("*.log")):
        yield path.read_text(encoding="utf-8", errors="replace")
    with open(ROOT / "scripts" / "training" / "reports.jsonl", encoding="utf-8") as lines:
        yield from (json.loads(line)["text"] for line in lines)
    yield from (signature.example for signature in everything())


def test_the_index_file_matches_the_signatures() -> None:
    """This fails if a signature was added or its words changed after the file was made: `python
    scripts/signature_index.py` updates it."""
    families = {name: len(family(name)) for name in FAMILIES}
    same = Catalogue().leads == indexed(everything(), families)
    assert same, "a signature was added, removed or changed: run python scripts/signature_index.py"


def test_every_module_with_signatures_is_a_family() -> None:
    names = {
        module.name[len(signatures.__name__) + 1 :]
        for module in pkgutil.walk_packages(signatures.__path__, f"{signatures.__name__}.")
        if hasattr(import_module(module.name), "SIGNATURES")
    }
    assert names == set(FAMILIES)


@pytest.mark.parametrize(
    "part", [pytest.param(0, id="a few"), pytest.param(1, marks=pytest.mark.slow, id="every text")]
)
def test_the_index_file_leads_to_the_same_facts_as_the_signatures(part: int) -> None:
    several = list(texts())
    chosen = several if part else several[:: len(several) // QUICK]
    lazily, wholly = Catalogue(), everything()
    assert [found(body, lazily) for body in chosen] == [found(body, wholly) for body in chosen]


def found(body: str, catalogue: Sequence[Signature]) -> tuple[list[Fact], set[int]]:
    """Return the facts in a text, and the numbers of the lines that a program printed."""
    printed: set[int] = set()
    return parse(Text.of("a text", split(body), body.count("\n") + 1), catalogue, printed), printed


def test_only_families_whose_words_a_text_contains_are_imported() -> None:
    code = (
        "import json, sys; from doctor.logs import read; read(b'Could not load dynamic library"
        " libcudnn.so.8'); print(json.dumps(sorted(sys.modules)))"
    )
    out = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, timeout=60, check=True
    )
    imported = {name for name in FAMILIES if f"{signatures.__name__}.{name}" in json.loads(out.stdout)}
    assert "loading" in imported
    assert len(imported) < len(FAMILIES) // 3
