"""Signatures that recognise the bindings, programs and hosted notebooks in the tables by their names in
sentences and paths."""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.facts import Fact, Source, Symptom
from doctor.logs.signatures.signature import Signature, sig
from doctor.tables import Tables
from doctor.tables.named import own_builds, written

NAMES = written(Tables.bundled().store)
_ANY = "|".join(re.escape(word) for word in sorted(NAMES, key=len, reverse=True))
_VERSION = (
    r"(?:(?:</artifactId>\s{0,80}<version>|[ \t\"'`*)\]]{0,3}(?:version|ver\.|release|==|[@:=(_-])?["
    r" \t\"'`*:=^]{0,3})v?(?P<version>\d{1,3}(?:\.\d{1,4}){1,3})(?![\w.]*\w))?"
)


def named(match: re.Match[str], source: Source) -> Iterator[Fact]:
    """Create the Symptom with the product's name from the tables and the version that follows it; add the
    Symptom own-build if the product comes with its own TensorFlow build."""
    name, version = NAMES[match["name"].lower()], match["version"]
    yield Symptom(source, "named", (("name", name), *((("version", version),) if version else ())))
    if name in own_builds(Tables.bundled().store):
        yield Symptom(source, "own-build")


SIGNATURES: tuple[Signature, ...] = (
    sig(
        "named",
        tuple(NAMES),
        rf"(?<![\w-])(?P<name>{_ANY})(?!\w){_VERSION}",
        "@tensorflow/tfjs-node-gpu@3.8.0",
        named,
        lines=2,
    ),
)
