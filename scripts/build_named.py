#!/usr/bin/env python3
"""Makes rows of compat_tables/bindings.json, programs.json and hosted.json, which say which TensorFlow
release each release of a product contains.

build_named.py packages                 reads the METADATA of the packages in PACKAGES, by range requests
                                        (takes some minutes)
build_named.py bindings tfjs CLONE      reads a git clone of tensorflow/tfjs, tensorflow/java (java),
                                        tensorflow/rust (rust) or malmaud/TensorFlow.jl (julia), with its tags
build_named.py hosted colab CLONE       reads a git clone of googlecolab/backend-info or
                                        Kaggle/docker-python (kaggle), with its history

Then run signature_index.py, because a signature searches for the names in these tables.

Each row that a job made has the name of the job under `made`. A job replaces its own rows and keeps all other
rows.
"""

from __future__ import annotations

import argparse
import itertools
import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from packaging.requirements import Requirement  # noqa: E402
from packaging.version import Version  # noqa: E402

from doctor.tables.reading.table import replace_rows  # noqa: E402

if TYPE_CHECKING:
    from typing import TypeAlias

Stated: TypeAlias = "tuple[Version, dict[str, str], str]"
"""A release of a product, the framework that it contains or requires, and the source of that statement."""

TABLES = ROOT / "compat_tables"
PACKAGES = (
    "autokeras", "basic-pitch", "cellpose", "coqui-tts", "demucs", "easyocr", "magenta", "medaka", "mlagents",
    "opennmt-tf", "rasa", "sleap", "spleeter", "ultralytics",
)  # fmt: skip
"""Programs whose METADATA is read from the package index, because it requires the framework with which they
compute. DeepLabCut is not among them, and its rows are kept by hand: DeepLabCut 2.3 requires PyTorch for one
part and TensorFlow only as an extra.
"""
FRAMEWORKS = {"torch": "PyTorch", "jax": "JAX", "onnxruntime": "ONNX Runtime"}
TENSORFLOW = ("tensorflow", "tensorflow-gpu", "tensorflow-cpu")


# --- programs --------------------------------------------------------------------------------------


def packages() -> Iterator[dict[str, Any]]:
    """Yield a row for each range of releases that require the same TensorFlow releases or compute with the
    same other framework."""
    from doctor.tables.reading.cache import Cache, default_folder
    from doctor.tables.reading.frameworks import read_release, releases
    from doctor.tables.reading.registry import pip_settings, project_files, remote_for

    settings = pip_settings()
    remote = remote_for(settings)
    cache = Cache(default_folder())
    for project in PACKAGES:
        found = releases(project_files(project, settings.indexes, remote), "0")

        def stated(version: Version, project: str = project, found: dict[Version, Any] = found) -> Stated:
            row = read_release(project, found[version], remote, cache)
            return version, _content(row["requires"]), f"METADATA of {row['source']}"

        for range_, content, source in _runs(_where_it_changes([*found], stated)):
            if content:
                yield {"name": project, "versions": range_, **content, "made": "packages", "source": source}


def _where_it_changes(versions: list[Version], stated: Callable[[Version], Stated]) -> Iterator[Stated]:
    """Yield the requirements of the releases. If the first and the last release of a minor version declare
    the same requirements, the releases between them are not read."""
    for _, several in itertools.groupby(versions, lambda version: version.release[:2]):
        minor = [*several]
        first, last = stated(minor[0]), stated(minor[-1])
        yield first
        if first[1] != last[1]:
            yield from map(stated, minor[1:-1])
        if len(minor) > 1:
            yield last


def _content(requires: list[str]) -> dict[str, str]:
    """Return the TensorFlow releases, or otherwise the other framework, that these requirements name. Returns
    {} if they do not clearly name one of these."""
    parsed = [Requirement(line) for line in requires]
    tensorflow = [one for one in parsed if one.name in TENSORFLOW]
    others = [FRAMEWORKS[one.name] for one in parsed if one.name in FRAMEWORKS]
    if len(tensorflow) == 1 and tensorflow[0].marker is None and not others:
        package = "" if tensorflow[0].name == "tensorflow" else tensorflow[0].name
        range_ = ",".join(map(_plain, sorted(map(str, tensorflow[0].specifier))))
        return {"tensorflow": range_, **({"package": package} if package else {})} if range_ else {}
    return {"computes": others[0]} if others and not tensorflow else {}


def _plain(specifier: str) -> str:
    """Return a specifier with only the operators that the tables know: ~=2.7.0 becomes >=2.7.0,<2.8."""
    match = re.fullmatch(r"~=((?:\d+\.)*)(\d+)\.\d+", specifier)
    return f">={specifier[2:]},<{match[1]}{int(match[2]) + 1}" if match else specifier


def _runs(stated: Iterable[Stated]) -> Iterator[tuple[str, dict[str, str], str]]:
    """Yield (range of releases, their contents, source of the first release) for each run of releases with
    the same contents. The last range ends with the last known release, because nothing is known about later
    ones.
    """
    for _, several in itertools.groupby(_with_next(stated), lambda pair: pair[0][1]):
        run = [*several]
        (first, content, source), ((last, _, _), after) = run[0][0], run[-1]
        yield f">={first}," + (f"<{after[0]}" if after else f"<={last}"), content, source


def _with_next(stated: Iterable[Stated]) -> Iterator[tuple[Stated, Stated | None]]:
    several = [*stated]
    return zip(several, (*several[1:], None))


# --- bindings --------------------------------------------------------------------------------------

BINDINGS = {
    "tfjs": (
        "tfjs-node",
        r"tfjs(?:-node)?-v(\d[\d.]*)",
        "tfjs-node/scripts/deps-constants.js",
        r"LIBTENSORFLOW_VERSION = '([\d.]+)'",
    ),
    "rust": (
        "tensorflow-rust",
        r"v(\d[\d.]*)",
        "tensorflow-sys/build.rs",
        r"const (?:VERSION|TAG): &(?:'static )?str = \"v?([\d.]+)\"",
    ),
    "julia": ("TensorFlow.jl", r"v(\d[\d.]*)", "deps/build.jl", r"cur_version = \"([\d.]+)\""),
    "java": ("tensorflow-java", r"v(\d[\d.]*)", "README.md", r"^\| *{version} *\| *([\d.]+) *\|"),
}
"""For each binding: its name, a pattern for its tags, the file that names the TensorFlow release, and the
pattern that finds the release in the file."""


def bindings(which: str, clone: Path) -> Iterator[dict[str, Any]]:
    """Yield a row for each range of releases of a binding that use the same libtensorflow."""
    name, tags, path, pattern = BINDINGS[which]
    found: dict[Version, tuple[dict[str, str], str]] = {}
    for tag in _git(clone, "tag").split():
        match = re.fullmatch(tags, tag)
        text = _git(clone, "show", f"{tag}:{path}") if match else ""
        if match is None or not text:
            continue
        version = _own_version(clone, tag, match[1]) if which == "tfjs" else match[1]
        release = re.search(pattern.replace("{version}", re.escape(version)), text, re.MULTILINE)
        if release and version != "0.0.0":
            found.setdefault(
                Version(version), ({"tensorflow": f"=={release[1]}"}, f"{path} of the tag {tag}")
            )
    stated = [(version, found[version][0], found[version][1]) for version in sorted(found)]
    for range_, content, source in _runs(stated):
        for kind in ("", "-gpu") if which == "tfjs" else ("",):
            yield {"name": name + kind, "versions": range_, **content, "made": which, "source": source}


def _own_version(clone: Path, tag: str, named: str) -> str:
    """Return the version in the package's own file, because tags from 2019 contain the version of another
    package."""
    match = re.search(r'"version": "([\d.]+)"', _git(clone, "show", f"{tag}:tfjs-node/package.json"))
    return match[1] if match and match[1] != "0.0.0" else named


def _git(clone: Path, *arguments: str) -> str:
    return subprocess.run(
        ["git", "-C", str(clone), *arguments], capture_output=True, text=True, check=False
    ).stdout


# --- hosted ----------------------------------------------------------------------------------------


def colab(clone: Path) -> Iterator[dict[str, Any]]:
    """Yield a row for each range of days on which Colab's GPU runtime had the same content. The last range
    ends on the last known day."""
    last: dict[str, Any] | None = None
    day = ""
    for line in _git(clone, "log", "--reverse", "--format=%h %cs").splitlines():
        commit, day = line.split()
        now = _runtime(clone, commit)
        if "tensorflow" not in now or "cuda" not in now:
            continue
        if last is not None and {key: last[key] for key in now if key in last} == now:
            continue
        if last is not None:
            yield {**last, "to": day}
        source = f"googlecolab/backend-info, commit {commit}"
        last = {"name": "Colab", "from": day, **now, "made": "colab", "source": source}
    if last is not None and last["from"] < day:
        yield {**last, "to": day}


def kaggle(clone: Path) -> Iterator[dict[str, Any]]:
    """Yield a row for each range of days on which Kaggle's GPU image was built from a Google image with the
    same TensorFlow release."""
    last: dict[str, Any] | None = None
    for line in _git(
        clone, "log", "--reverse", "--first-parent", "--format=%h %cs", "--", "config.txt"
    ).splitlines():
        commit, day = line.split()
        base = re.search(
            r"^GPU_BASE_IMAGE_NAME=tf2?-gpu\.2-(\d+)",
            _git(clone, "show", f"{commit}:config.txt"),
            re.MULTILINE,
        )
        now = f">=2.{base[1]},<2.{int(base[1]) + 1}" if base else ""
        if last is not None and last["tensorflow"] == now:
            continue
        if last is not None:
            yield {**last, "to": day}
        source = f"Kaggle/docker-python, config.txt of commit {commit}"
        last = (
            {"name": "Kaggle", "from": day, "tensorflow": now, "made": "kaggle", "source": source}
            if now
            else None
        )


def _runtime(clone: Path, commit: str) -> dict[str, str]:
    def text(name: str) -> str:
        return (
            _git(clone, "show", f"{commit}:{name}.gpu.txt")
            or _git(clone, "show", f"{commit}:{name}-gpu.txt")
            or _git(clone, "show", f"{commit}:{name}.txt")
        )

    freeze, system, packages = text("pip-freeze"), text("os-info"), text("apt-list")
    found: dict[str, str] = {}
    release = re.search(r"^tensorflow(?:==| @ \S*?tensorflow-)(\d+\.\d+\.\d+)", freeze, re.MULTILINE)
    python = re.search(r"[Pp]ython[ =:]*(\d+\.\d+)", system)
    runtimes = re.findall(r"^cuda-cudart-(\d+)-(\d+)/", packages, re.MULTILINE)
    cudnns = re.findall(r"^libcudnn(?:8|9-cuda-12)/\S+ (\d+\.\d+\.\d+)", packages, re.MULTILINE)
    if release:
        found["tensorflow"] = f"=={release[1]}"
    if python:
        found["python"] = python[1]
    if len(runtimes) == 1:  # if there are several, it is not known which one a program loads
        found["cuda"] = ".".join(runtimes[0])
        found.update({"cudnn": cudnns[0]} if len(cudnns) == 1 else {})
    return found


HOSTED = {"colab": colab, "kaggle": kaggle}


# --- tables ----------------------------------------------------------------------------------------


def replace(table: str, made: str, rows: Iterable[dict[str, Any]]) -> None:
    """Replace the rows in a table that the job `made` made earlier with its new rows."""
    path = TABLES / f"{table}.json"
    kept = [row for row in json.loads(path.read_text(encoding="utf-8"))["rows"] if row.get("made") != made]
    replace_rows(path, [*kept, *rows])


def main() -> None:
    """Run one job."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    jobs = parser.add_subparsers(dest="job", required=True)
    jobs.add_parser("packages")
    job = jobs.add_parser("bindings")
    job.add_argument("which", choices=sorted(BINDINGS))
    job.add_argument("clone", type=Path)
    job = jobs.add_parser("hosted")
    job.add_argument("which", choices=sorted(HOSTED))
    job.add_argument("clone", type=Path)
    args = parser.parse_args()
    if args.job == "packages":
        replace("programs", "packages", packages())
    elif args.job == "bindings":
        replace("bindings", args.which, bindings(args.which, args.clone))
    else:
        replace("hosted", args.which, HOSTED[args.which](args.clone))


if __name__ == "__main__":
    main()
