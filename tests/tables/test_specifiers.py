"""Tests that a PEP 440 specifier allows the versions that packaging says it allows."""

from __future__ import annotations

import itertools

import pytest
from packaging.specifiers import SpecifierSet

from doctor.tables.ranges import satisfies

VERSIONS = (
    "0",
    "1",
    "1.0",
    "1.2",
    "1.2.0",
    "1.2.3",
    "1.10",
    "1.2.3.4",
    "2",
    "2.0.0",
    "2.0rc1",
    "1.2.post1",
    "1.2+nv1",
)
SIGNS = ("==", "!=", ">=", "<=", ">", "<", "~=")
WANTED = ("1", "1.2", "1.2.3", "2.0", "2.0rc1", "1.2.post1")


@pytest.mark.parametrize("sign", SIGNS)
def test_a_clause_allows_the_same_versions_as_packaging(sign: str) -> None:
    for wanted, version in itertools.product(WANTED, VERSIONS):
        if sign == "~=" and "." not in wanted:
            continue
        specifier = f"{sign}{wanted}"
        assert satisfies(version, specifier) == SpecifierSet(specifier).contains(version, prereleases=True), (
            version,
            specifier,
        )


@pytest.mark.parametrize(
    "specifier",
    ["==1.2.*", "!=1.2.*", "==1.*", " >= 1.0 , < 2 ", "<2.0.0dev,>=1.2", "<1.2.dev0", "~=1.2,!=1.2.3", ""],
)
def test_several_clauses_and_prefixes_agree_with_packaging(specifier: str) -> None:
    for version in VERSIONS:
        assert satisfies(version, specifier) == SpecifierSet(specifier).contains(version, prereleases=True), (
            version
        )


@pytest.mark.parametrize(
    ("version", "specifier"), [("1.2", "=1"), ("1.2", ">=1.*"), ("1.2", "~=1"), ("1.2", "@ file:x")]
)
def test_invalid_version_or_specifier_is_an_error(version: str, specifier: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 (packaging has one class for each error)
        satisfies(version, specifier)
