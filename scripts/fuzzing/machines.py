"""Makes recorded machines and saved records with changed parts, each from a seed."""

from __future__ import annotations

import json
import os
import random
import shutil
from pathlib import Path
from typing import Any

from scripts.fuzzing.checks import check, judged

ROOT = Path(__file__).resolve().parent.parent.parent
RECORDS: dict[str, str] = {}
"""The records of the machines under tests/data/machines, by name. Filled at the first use."""


class Tree:
    """A recorded machine with changed parts, made in a folder from a seed."""

    def __init__(self, seed: int, folder: Path) -> None:
        rng = random.Random(seed)
        record = rng.choice(
            sorted(path for path in (ROOT / "tests/data/machines").iterdir() if path.is_dir())
        )
        self.root = folder / "machine"
        shutil.rmtree(self.root, ignore_errors=True)
        shutil.copytree(record, self.root, symlinks=True)
        paths = sorted(self.root.rglob("*"))
        self.changes = [f"{seed}: {record.name}"]
        for path in rng.sample(paths, rng.choice((1, 1, 3, 10, 40))):
            if os.path.lexists(path):
                self.changes.append(self._change(rng, path))

    def _change(self, rng: random.Random, path: Path) -> str:
        from tests.shell_readers import PAYLOADS

        regular = path.is_file() and not path.is_symlink()
        data = path.read_bytes() if regular else b""
        at = rng.randrange(len(data) + 1)
        kind = rng.choice(
            ("cut", "noise", "grown", "payload", "digits")
            if regular and rng.randrange(3)
            else ("link", "pipe", "folder", "empty", "loop")
        )
        if kind in ("cut", "noise", "grown", "payload", "digits"):
            more = {
                "cut": b"",
                "noise": rng.randbytes(rng.choice((1, 8, 4_000))) + data[at:],
                "grown": data[at : at + 300] * 20_000,
                "payload": rng.choice(PAYLOADS).encode() + data[at:],
                "digits": b"9" * rng.choice((1, 5, 5_000)) + data[at:],
            }
            path.chmod(0o644)
            path.write_bytes(data[:at] + more[kind])
        else:
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink()
            if kind == "link":
                path.symlink_to(
                    rng.choice(
                        ("/etc/passwd", "../" * 40 + "etc/passwd", "/dev/zero", "/proc/self/mem", "x" * 250)
                    )
                )
            elif kind == "pipe":
                os.mkfifo(path)
            elif kind == "folder":
                path.mkdir()
            elif kind == "loop":
                path.symlink_to(path.name)
            else:
                path.touch()
        return f"{kind} at {path.relative_to(self.root)}"

    def check(self) -> None:
        """Examine and judge the machine. Raises AssertionError, or whatever the code under test raises."""
        from doctor.probe import examine
        from doctor.probe.machine import Machine

        try:
            machine = Machine.at(self.root)
        except ValueError:  # the record of the machine cannot be read, and the answer says so
            return
        judged(examine(machine))

    def __str__(self) -> str:
        return "\n".join(self.changes)


class Saved:
    """A saved record of a machine with changed parts, or a report that contains a payload; made from a
    seed."""

    def __init__(self, seed: int, folder: Path) -> None:
        rng = random.Random(seed)
        self.file = folder / "saved.json"
        self.text = rng.choice((self._record, self._report))(rng)

    @staticmethod
    def _record(rng: random.Random) -> str:
        from doctor.probe import examine, record
        from doctor.probe.machine import Machine
        from tests.shell_readers import PAYLOADS

        machine = rng.choice(
            sorted(path for path in (ROOT / "tests/data/machines").iterdir() if path.is_dir())
        )
        whole = RECORDS.setdefault(
            machine.name, json.dumps(record.to_record(examine(Machine.at(machine)), "1", "2026-01-01"))
        )
        value = json.loads(whole)
        for _ in range(rng.choice((1, 2, 8))):
            inner: Any = value
            key: Any = None
            while isinstance(inner, (dict, list)) and inner and (key is None or rng.randrange(8)):
                outer, key = inner, rng.choice(list(inner) if isinstance(inner, dict) else range(len(inner)))
                inner = outer[key]
            if key is not None:
                outer[key] = rng.choice(
                    (
                        None,
                        True,
                        -1,
                        10**400,
                        1.5,
                        "",
                        rng.choice(PAYLOADS),
                        f"{inner}{rng.choice(PAYLOADS)}",
                        [],
                        {},
                        [[{}]],
                    )
                )
        return json.dumps(value)

    @staticmethod
    def _report(rng: random.Random) -> str:
        from doctor.logs.signatures import catalogue
        from tests.shell_readers import PAYLOADS

        lines = [rng.choice(catalogue()).example for _ in range(rng.choice((1, 3, 12)))]
        for _ in range(rng.choice((1, 2, 6))):
            which = rng.randrange(len(lines))
            at = rng.randrange(len(lines[which]) + 1)
            lines[which] = (
                lines[which][:at] + rng.choice(PAYLOADS) + lines[which][at + rng.choice((0, 0, 4)) :]
            )
        return "\n".join(lines)

    def check(self) -> None:
        """Read and judge the record or report. Raises AssertionError, or whatever the code under test
        raises."""
        from doctor.errors import InputError
        from doctor.plan.described import machine_file
        from doctor.probe import record
        from doctor.tables import Tables

        if not self.text.startswith("{"):
            check(self.text.encode("utf-8", "replace"))
            return
        self.file.write_text(self.text, encoding="utf-8", errors="surrogateescape")
        for load in (
            lambda: record.load(str(self.file)),
            lambda: machine_file(str(self.file), Tables.bundled()),
        ):
            try:
                facts = load()
            except (InputError, record.NotRecordError):
                continue
            judged(facts)

    def __str__(self) -> str:
        return self.text
