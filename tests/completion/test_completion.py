"""Tests completion in real shells, the manual page, and the groups in the help. All of them are made from the
options of the commands."""

from __future__ import annotations

import argparse
import importlib.util
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest

from doctor.cli import COMMANDS, GROUPS, filled
from doctor.commands.completion import FILES
from scripts import command_reference, shell_files
from tests.conftest import ROOT
from tests.sampling import each

if TYPE_CHECKING:
    from typing import TypeAlias

FOLDER = ROOT / "doctor" / "shell_files"
Cli: TypeAlias = "Callable[..., subprocess.CompletedProcess[bytes]]"


def shell(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"there is no {name} here (apt install {name})")
    return found


def run(*words: str, **more: Any) -> str:
    done = subprocess.run(words, capture_output=True, text=True, timeout=30, check=False, **more)
    assert done.returncode == 0, done.stderr
    return done.stdout


@each("name", sorted(COMMANDS))
def test_every_option_is_in_every_file(name: str) -> None:
    """This fails if an option was added after the files were made: `python scripts/shell_files.py` makes them
    again."""
    parser = filled(argparse.ArgumentParser(), name)
    options = {
        option for action in parser._actions for option in action.option_strings if option.startswith("--")
    } - {"--help"}
    for file in FILES.values():
        text = (FOLDER / file).read_text(encoding="utf-8").replace("\\-", "-")
        assert name in text, file
        shown = {
            option
            for option in options
            if option in text or (file.endswith(".fish") and f"-l {option[2:]}" in text)
        }
        assert options - shown == set(), file


def test_every_command_is_in_exactly_one_group_of_the_help(cli: Cli) -> None:
    assert sorted(name for names in GROUPS.values() for name in names) == sorted(COMMANDS)
    words = cli("--help").stdout.decode()
    for group in GROUPS:
        assert f"\n{group}:\n" in words
    assert all(re.search(rf"(?m)^  {name} +{re.escape(line)}$", words) for name, line in COMMANDS.items())
    assert max(map(len, words.splitlines())) <= 100


@pytest.mark.parametrize("name", FILES)
def test_completion_prints_the_file(cli: Cli, name: str) -> None:
    assert cli("completion", name).stdout.decode() == (FOLDER / FILES[name]).read_text(encoding="utf-8")


def bash(line: str) -> list[str]:
    """Return the completions that bash offers at the end of a line."""
    script = f"""
source '{FOLDER / FILES["bash"]}'
COMP_LINE='{line}'; COMP_POINT=${{#COMP_LINE}}
read -r -a COMP_WORDS <<<"$COMP_LINE"; [[ "$COMP_LINE" == *' ' ]] && COMP_WORDS+=('')
COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
completer=$(complete -p tfgpu-doctor | sed 's/.*-F \\([^ ]*\\).*/\\1/')
$completer tfgpu-doctor "${{COMP_WORDS[COMP_CWORD]}}" "${{COMP_WORDS[COMP_CWORD-1]}}"
printf '%s\\n' "${{COMPREPLY[@]}}"
"""
    return run(shell("bash"), "--norc", "-c", script).split()


def fish(line: str) -> list[str]:
    script = f"source '{FOLDER / FILES['fish']}'; complete -C '{line}'"
    return [row.split("\t")[0] for row in run(shell("fish"), "--no-config", "-c", script).splitlines()]


@pytest.mark.parametrize("offered", [bash, fish])
def test_shell_completes_commands_options_and_codes(
    offered: Callable[[str], list[str]], tmp_path: Path
) -> None:
    assert {"plan", "check", "explain"} <= set(offered("tfgpu-doctor "))
    assert offered("tfgpu-doctor pl") == ["plan"]
    assert {"--check", "--tensorflow"} <= set(offered("tfgpu-doctor plan --"))
    assert set(offered("tfgpu-doctor plan --format ")) >= {"sarif", "github", "json"}
    assert "cudnn-init-oom" in offered("tfgpu-doctor code cudnn")


def test_zsh_accepts_the_file(tmp_path: Path) -> None:
    """zsh completes only at a terminal, so this only tests that zsh defines the function from the file
    without an error."""
    folder = tmp_path / "functions"
    folder.mkdir()
    shutil.copy(FOLDER / FILES["zsh"], folder / "_tfgpu-doctor")
    script = (
        f"fpath=({folder} $fpath); autoload -Uz compinit; compinit -u -d {tmp_path}/dump; print"
        " $_comps[tfgpu-doctor]"
    )
    assert run(shell("zsh"), "-f", "-c", script).strip() == "_tfgpu-doctor"
    assert run(shell("zsh"), "-f", "-n", str(folder / "_tfgpu-doctor")) == ""


def test_manual_page_is_read_without_a_warning() -> None:
    done = subprocess.run(
        [shell("groff"), "-man", "-ww", "-Tutf8", str(FOLDER / FILES["man"])],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert done.returncode == 0
    assert "not defined" not in done.stderr
    words = re.sub(r"\x1b\[[0-9;]*m|.\x08", "", done.stdout)
    for title in ("NAME", "SYNOPSIS", "OPTIONS"):
        assert title in words
    assert "Exit codes" in re.sub(r"\s+", " ", words)


def test_files_are_up_to_date(tmp_path: Path) -> None:
    if importlib.util.find_spec("shtab") is None or importlib.util.find_spec("argparse_manpage") is None:
        pytest.skip("needs shtab and argparse-manpage (pip install '.[places]')")
    if sys.version_info[:2] not in ((3, 11), (3, 12)):
        pytest.skip("argparse formats help differently in this Python version")
    run(sys.executable, str(ROOT / "scripts/shell_files.py"), str(tmp_path))
    for file in FILES.values():
        assert (tmp_path / file).read_text(encoding="utf-8") == (FOLDER / file).read_text(encoding="utf-8"), (
            f"python scripts/shell_files.py ({file})"
        )


def test_command_reference_is_up_to_date(tmp_path: Path) -> None:
    if sys.version_info[:2] not in ((3, 11), (3, 12)):
        pytest.skip("argparse formats help differently in this Python version")
    run(sys.executable, str(ROOT / "scripts/command_reference.py"), str(tmp_path / "reference.md"))
    kept = (ROOT / "docs" / "reference.md").read_text(encoding="utf-8")
    assert (tmp_path / "reference.md").read_text(encoding="utf-8") == kept, (
        "python scripts/command_reference.py"
    )


@pytest.mark.parametrize("script", [shell_files, command_reference])
def test_help_of_a_script_writes_no_file_of_that_name(
    script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["script", "--help"])
    with pytest.raises(SystemExit, match="0"):
        script.main()
    assert not any(tmp_path.iterdir())


def test_every_link_between_the_pages_leads_somewhere() -> None:
    for page in (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))):
        for target in re.findall(r"\]\(([^)#\s]+)\)", page.read_text(encoding="utf-8")):
            assert "://" in target or (page.parent / target).exists(), f"{page.name}: {target}"


def test_nothing_installs_the_tool_from_an_index() -> None:
    """The tool is in no package index. It is installed from a clone, as README.md says."""
    by_name = re.compile(
        r"(?:pip install|pipx (?:install|run)|uvx|uv tool (?:install|run))(?: --?\S+)* '?tfgpu-doctor\b"
        r"|tfgpu-doctor\["
    )
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
    pages += [page for folder in ("docs", "examples", "doctor") for page in (ROOT / folder).rglob("*")]
    for page in pages:
        if page.suffix in (".md", ".yml", ".py", ".sh", ".html", ".js", ".ipynb"):
            assert not by_name.search(page.read_text(encoding="utf-8")), page


@pytest.mark.parametrize("command", ["completion", "mcp"])
def test_an_option_with_a_single_value_is_not_offered(command: str) -> None:
    assert "--format" not in filled(argparse.ArgumentParser(), command).format_help()
