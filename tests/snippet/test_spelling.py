"""Tests that snippets for releases that cannot run here use only names that exist in those releases.
shipped_names.json contains the names, which were read from the wheels that it lists.
"""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path

import pytest

from doctor.remedies import code
from doctor.remedies.snippets import SNIPPETS, Options
from tests.sampling import each, sampled

WHEELS = {
    wheel["wheel"].split("-")[1]: wheel
    for wheel in json.loads(Path(__file__).with_name("shipped_names.json").read_text())["wheels"]
}
WISHES = ({}, {"gpus": (0, 1)}, {"gpus": (1,)}, {"fraction": 0.3}, {"gpus": (0, 1), "fraction": 0.3})


def names_in(program: str) -> set[str]:
    """Return the dotted names in a text that begin with `tf.`."""
    nodes = (node for node in ast.walk(ast.parse(program)) if isinstance(node, ast.Attribute))
    names = (ast.get_source_segment(program, node) or "" for node in nodes)
    return {name for name in names if re.fullmatch(r"tf(\.\w+)+", name)}


def programs(version: str) -> list[tuple[str, str]]:
    snippets = [
        (name, make(Options(version, **wish)).code) for name, make in SNIPPETS.items() for wish in WISHES
    ]
    return [*snippets, ("multi-gpu without NCCL", code.multi_gpu(version or None, nccl=False))]


@pytest.mark.parametrize("version", sampled(["1.15.5", "2.0.0", "2.3.0"], 1))
def test_every_name_of_a_snippet_is_in_the_releases_api(version):
    shipped = set(WHEELS[version]["names"])
    for name, program in programs(version):
        longest = {n for n in names_in(program) if not any(m.startswith(n + ".") for m in names_in(program))}
        assert longest <= shipped, f"{name} in {version}: {longest - shipped}"


def test_a_name_of_another_era_would_be_noticed():
    assert not names_in(code.memory_limit("2.15")) <= set(WHEELS["2.0.0"]["names"])
    assert not names_in(code.memory_growth("1.15")) <= set(WHEELS["2.3.0"]["names"])


def test_every_option_of_a_session_is_a_field_of_its_message():
    fields = {field.split(".")[-1] for field in WHEELS["1.15.5"]["fields"]}
    used = set()
    for _, program in programs("1.15.5"):
        used |= set(re.findall(r"gpu_options\.(?:experimental\.)?(\w+)", program)) - {"experimental"}
        used |= set(
            re.findall(
                r"(\w+)=", " ".join(re.findall(r"(?:ConfigProto|virtual_devices\.add)\(.*\)", program))
            )
        )
    used -= {"config"}
    assert used <= fields
    assert {
        "allow_growth",
        "visible_device_list",
        "virtual_devices",
        "memory_limit_mb",
        "device_count",
    } <= used


@each("version", ["1.4", "1.15.5", "2.0.0", "2.3.1", "2.4", "2.15", "2.16.1", "2.21.0", None])
def test_every_snippet_is_python_in_every_era(version):
    for _, program in programs(version or ""):
        compile(program, "snippet", "exec")


@each(
    "version, era",
    [
        ("1.15", "1"),
        ("0.12", "1"),
        ("2.3.4", "2.0"),
        ("2.4", "2.4"),
        ("2.15.1", "2.4"),
        ("2.16", "keras-3"),
        (None, "keras-3"),
        ("2", "keras-3"),
    ],
)
def test_a_release_belongs_to_its_era(version, era):
    assert code.era(version) == era
