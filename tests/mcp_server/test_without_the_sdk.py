"""Tests the command `mcp` when its extra is not installed."""

from __future__ import annotations

import subprocess
import sys

from tests.conftest import ROOT


def test_a_missing_sdk_is_reported_in_one_line_with_the_next_step() -> None:
    code = "import sys; sys.modules['mcp'] = None; from doctor.cli import main; sys.exit(main(['mcp']))"
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 3
    assert done.stdout == ""
    assert "pip install" in done.stderr
    assert "'.[mcp]'" in done.stderr
    assert len(done.stderr.splitlines()) == 2
