"""Signatures of versions in the rows of a Markdown table: `| cuDNN | 8.9.7 |`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.facts import PROSE, Fact, Source
from doctor.logs.signatures.signature import Signature, glued, spoken, words
from doctor.logs.signatures.versions.spelling import DRIVER, DRIVERS
from doctor.logs.signatures.versions.stated import LEAST, product_of, version_fact


def row(match: re.Match[str], source: Source) -> Fact | None:
    """Make the fact that one row states. Return None for rows about other things, and for a lower bound."""
    if LEAST.match(match["rest"]):
        return None
    return version_fact(product_of(match["what"].strip()), match["version"], source, PROSE)


def columns(match: re.Match[str], source: Source) -> Iterator[Fact]:
    """Make the facts from a table with one row below a line with the names of the columns."""
    heads, values = (
        [cell.strip() for cell in match[name].strip(" |\t").split("|")] for name in ("heads", "values")
    )
    if len(heads) != len(values) or len(heads) < 2:
        return
    for head, value in zip(heads, values):
        version = re.fullmatch(r"[*_`]*v?(\d{1,3}(?:\.\d{1,5}){1,3})[*_`]*", value)
        fact = version_fact(product_of(head.strip("*_` ")), version[1], source, PROSE) if version else None
        if fact is not None:
            yield fact


SIGNATURES: tuple[Signature, ...] = (
    spoken(
        "version-row",
        (*glued("|*`_ ", ("tf",)), *DRIVERS, *words("tensorflow|cudnn|cuda|python")),
        r"^[\s>]{0,6}\|\s{0,20}(?!\s)[*_`]{0,3}(?P<what>(?:tf|[^|\n*_`]{0,20}?(?: tf"
        rf"|tensorflow|cudnn|cuda|{DRIVER}|python))[^|\n*_`]{{0,20}}?)(?<!\s)[*_`]{{0,3}}\s{{0,30}}"
        r"\|\s{0,20}[*_`]{0,3}v?(?P<version>\d{1,3}(?:\.\d{1,5}){1,3})(?P<rest>[^|\n]{0,60})\|",
        "| CUDA Toolkit | 12.4.1 | installed |",
        row,
        near="|",
    ),
    spoken(  # only one row: several rows are a table of versions that work together
        "version-columns",
        "tensorflow|cudnn",
        r"^[ \t]{0,6}\|(?P<heads>[^\n]{0,160}(?:tensorflow|cudnn)[^\n]{0,160})\|[ \t]{0,8}\n[ \t]{0,6}\|[-:|"
        r" \t]{3,200}\|[ \t]{0,8}\n[ \t]{0,6}\|(?P<values>[^\n]{1,240})\|[ \t]{0,8}(?=\n(?![ \t]{0,6}\|)|\Z)",
        "| python | tensorflow | cudnn |\n| --- | --- | --- |\n| 3.9 | 2.6.0 | 8.1 |",
        columns,
        lines=4,
        at="values",
        near="|",
    ),
)
