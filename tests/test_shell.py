"""Tests commands that are built as data: real shells read the printed text as the intended command, and so do
the documented rules of shells that are not available here."""

from __future__ import annotations

import ast
import itertools
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

from doctor import shell, validated
from doctor.backports import removeprefix
from doctor.findings import shell as step
from doctor.shell import (
    Chain,
    Export,
    Joined,
    Literal,
    Output,
    RefusedError,
    comment,
    one_line,
    piped,
    run,
    sequence,
    sh,
    windows,
)
from tests.sampling import each, examples
from tests.shell_readers import PAYLOADS, cmd_words, executed, held, powershell_words
from tests.sources import imports_and_calls

ROOT = Path(__file__).resolve().parent.parent
TEXTS = [
    "tensorflow==2.20.0",
    "tensorflow[and-cuda]==2.20.0",
    "numpy<2",
    "it's here",
    'print("x")',
    "print(tf.list('GPU'))",
    "a b",
    "",
    "~",
    "=x",
    "$HOME",
    "a`b`",
    "back\\slash",
    "!1",
    "%PATH%",
    "*",
    "#",
    "protobuf!=4.21.0,<5",
    "{a,b}",
    "a;b",
    "^x^y",
]
PRINTABLE = [text for text in (*TEXTS, *PAYLOADS) if text.isprintable()]


@pytest.mark.parametrize("name", ["sh", "bash", "dash", "zsh", "fish"])
def test_shell_reads_each_quoted_text_as_one_argument(name: str) -> None:
    if shutil.which(name) is None:
        pytest.skip(f"{name} is not here")
    for text in PRINTABLE:
        line = sh(run("printf", "[%s]", text))
        done = subprocess.run([name, "-c", line], capture_output=True, text=True, check=True, timeout=20)
        assert done.stdout == f"[{text}]", line


@given(st.text(st.characters(codec="ascii", categories=("L", "N", "P", "S", "Zs")), max_size=20))
@settings(max_examples=examples(60), deadline=None)
def test_any_text_is_one_argument_or_part_of_an_argument_for_sh(text: str) -> None:
    parts = sh(run("printf", "[%s][%s]", text, Joined(("a", text, Literal("${NOTHING}"), text))))
    done = subprocess.run(["sh", "-c", parts], capture_output=True, text=True, check=True, timeout=20)
    assert done.stdout == f"[{text}][a{text}{text}]"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("tensorflow==2.10.1", "tensorflow==2.10.1"),
        ("numpy<2", '"numpy<2"'),
        ("protobuf!=4.21.0,<5", '"protobuf!=4.21.0,<5"'),
        (r"C:\Users\a b", r'"C:\Users\a b"'),
        ("it's", '"it\'s"'),
        ("@scope/x", '"@scope/x"'),
        ("C:\\a b\\", '"C:\\a b\\\\"'),
    ],
)
def test_windows_quoting_is_read_in_the_same_way_by_cmd_and_powershell(text: str, expected: str) -> None:
    line = windows(run("x", text))
    assert line == f"x {expected}"
    assert cmd_words(line) == powershell_words(line) == ["x", text]


@given(st.text(max_size=20))
@settings(max_examples=examples(300), deadline=None)
def test_any_text_is_one_argument_for_cmd_and_powershell_or_refused(text: str) -> None:
    try:
        line = windows(run("x", text))
    except RefusedError:
        assert not text.isprintable() or set(text) & set('"%$`\u201c\u201d\u201e')
    else:
        assert cmd_words(line) == powershell_words(line) == ["x", text]


@pytest.mark.parametrize("text", ["100%", "a%PATH%", "$x", "a`b", 'a"b', "a\u201db", "a\nb"])
def test_windows_refuses_values_that_cmd_and_powershell_read_differently(text: str) -> None:
    with pytest.raises(RefusedError):
        windows(run("x", text))


@pytest.mark.parametrize("text", ["a\nb", "a\x1bb", "a\u202eb", "a\x00", "a\u2028b", "\x9b2J"])
@pytest.mark.parametrize("render", [sh, windows])
def test_control_and_direction_characters_reach_no_command(text: str, render: object) -> None:
    for line in (
        run("x", text),
        run(shell.Path(text)),
        Export("A", Joined((text, Literal("")))),
        run("x", A=text),
    ):
        with pytest.raises(RefusedError):
            render(line)  # type: ignore[operator]
    assert step(run("x", text)).kind == "manual"
    assert step(run("x", text)).text.isprintable()


def test_step_is_written_for_the_shell_of_the_case() -> None:
    made = step(run("pip", "install", "numpy<2;x", "100%"))
    assert made.text == "pip install 'numpy<2;x' 100%" or made.kind == "shell"
    there = made.on("windows")
    assert (there.kind, there.command) == ("manual", made.command)
    assert step(run("pip", "install", "a b"), platform="linux").on("windows").text == 'pip install "a b"'
    assert made.on(None) == made
    assert there.on("linux") == made


@pytest.mark.parametrize("path", ["-rf", "--help", "~/x y/$(id)", "a b", "/x"])
def test_paths_do_not_become_options_and_the_home_folder_is_expanded(path: str, tmp_path: Path) -> None:
    done = subprocess.run(
        ["bash", "-c", sh(run("printf", "%s", shell.Path(path)))],
        capture_output=True,
        text=True,
        check=True,
        env={"HOME": str(tmp_path)},
        timeout=20,
    )
    assert not done.stdout.startswith("-")
    assert removeprefix(done.stdout, "./") == path.replace("~", str(tmp_path))


def test_shell_syntax_is_evaluated_by_the_shell(tmp_path: Path) -> None:
    listed = Joined((Output(run("printf", "%s:%s", "a b", "it's $HOME")), Literal("${MORE:+:$MORE}"), ":$x"))
    line = sequence(
        Export("LISTED", listed),
        piped(run("printenv", "LISTED"), run("tr", "a", "A")),
        run("sh", "-c", "echo $B", B="c d"),
    )
    done = subprocess.run(
        ["bash", "-c", sh(line)],
        capture_output=True,
        text=True,
        check=True,
        env={"MORE": "m", "PATH": "/usr/bin:/bin"},
        timeout=20,
    )
    assert done.stdout == "A b:it's $HOME:m:$x\nc d\n"


def test_variable_in_cmd_does_not_include_the_space_before_the_next_command() -> None:
    assert windows(run("python", A="1")) == 'set "A=1" && python'
    assert (
        windows(Export("PATH", Joined((shell.Path("C:\\a b"), Literal(";%PATH%")))))
        == 'set "PATH=C:\\a b;%PATH%"'
    )


@pytest.mark.parametrize("text", PAYLOADS)
def test_hostile_value_is_data_in_every_place_of_a_command(text: str, tmp_path: Path) -> None:
    lines = [
        run("printf", text),
        run(shell.Path(text), "-m", "pip"),
        Export("A", text),
        Export("A", Joined((text, Literal("$PATH")))),
        run("printf", A=text),
        sequence(run("printf", text), run("true")),
        piped(run("printf", text), run("true")),
        Export("A", Joined((Output(run("printf", text)), shell.Path(text)))),
        Chain(";", (run("printf", text), run("true"))),
        run("printf", sh(run("printf", text)) if text.isprintable() else ""),
    ]
    texts = []
    for line in lines:
        for platform in ("linux", "windows"):
            made = step(line, platform=platform)
            assert made.text.isprintable()
            if made.kind == "shell":
                held(line, platform)
                texts += [made.text] if platform == "linux" else []
    executed(texts, tmp_path)


@pytest.mark.parametrize("text", PAYLOADS)
def test_comment_is_one_line_that_the_shell_ignores(text: str, tmp_path: Path) -> None:
    assert one_line(text).isprintable()
    assert "\n" not in comment(text)
    executed([comment(text)], tmp_path)
    assert not set(comment(text, "rem")) & set("&|<>^")


PREFIXES = (
    "",
    "numpy",
    "numpy==1.2",
    "numpy==1.*,<2",
    "numpy[a",
    "/usr/local/cuda/lib64",
    "libx.so.1",
    "2.15",
)


@each("text, prefix", list(itertools.product(PAYLOADS, PREFIXES)))
def test_no_hostile_value_passes_validation(text: str, prefix: str) -> None:
    both = prefix + text
    for check in (
        validated.version,
        validated.distribution,
        validated.specifiers,
        validated.requirement,
        validated.soname,
        validated.image_tag,
        validated.gpu,
        validated.cuda,
        validated.library_of_environment,
        validated.library_folder,
    ):
        found = check(both)
        assert found is None or not any(mark in found for mark in ("touch", "evil", "calc", "PWNED", ":")), (
            check,
            both,
            found,
        )


@each(
    "text, expected",
    [
        ("numpy<2.2.0,>=1.26.0", "numpy<2.2.0,>=1.26.0"),
        ("keras >= 2.15, < 2.16 ; python_version > '3'", "keras>=2.15,<2.16"),
        ("protobuf!=4.21.0,<5 (from tensorflow)", None),
        ("h5py (>=3.10)", "h5py>=3.10"),
        ("tensorflow[and-cuda]==2.15.1", "tensorflow[and-cuda]==2.15.1"),
        ("numpy", "numpy"),
        ("git+https://x/y", None),
        ("x @ https://y", None),
        ("-r x", None),
        ("./x", None),
        ("a===https://x", None),
        ("", None),
    ],
)
def test_requirement_is_a_name_and_versions(text: str, expected: str | None) -> None:
    assert validated.requirement(text) == expected


@each(
    "path, own",
    [
        ("/home/e/tf/lib/python3.8/site-packages/scikit_learn.libs/libgomp-d22c30c5.so.1.0.0", True),
        ("/usr/lib/python3/dist-packages/torch/lib/libgomp.so.1", True),
        ("/opt/conda/envs/tf/lib/libgomp.so.1", True),
        ("/usr/lib/aarch64-linux-gnu/libgomp.so.1", False),
        ("/tmp/site-packages/x.libs/libx.so", False),
        ("libgomp.so.1", False),
        ("/a/site-packages/../x/libx.so", False),
        ("/a/site-packages/$(id)/libx.so", False),
        ("/dev/shm/envs/a/lib/libx.so", False),
    ],
)
def test_library_of_an_environment_is_recognised_by_its_path(path: str, own: bool) -> None:
    assert (validated.library_of_environment(path) == path) is own


def test_shell_syntax_is_always_a_constant_in_the_source() -> None:
    """A Literal is made only from string constants, and a shell step only from a typed command, never from
    text."""
    for path in sorted((ROOT / "doctor").rglob("*.py")):
        for node in imports_and_calls(path):
            if not isinstance(node, ast.Call):
                continue
            name = (
                node.func.id
                if isinstance(node.func, ast.Name)
                else node.func.attr
                if isinstance(node.func, ast.Attribute)
                else ""
            )
            at = f"{path.relative_to(ROOT)}:{node.lineno}"
            if name == "Literal":
                (words,) = (*node.args, *(k.value for k in node.keywords))
                assert isinstance(words, ast.Constant), at
            if name == "shell" and node.args:
                assert not isinstance(node.args[0], (ast.Constant, ast.JoinedStr, ast.BinOp)), at
            if name == "Step":
                assert path.name == "findings.py", f"{at}: only shell, python and manual may make a step"


def test_shell_step_without_a_command_is_refused() -> None:
    from doctor.findings import Step

    with pytest.raises(ValueError, match="needs a command"):
        Step("shell", "echo")
