"""Text as one argument: read back by real shells, and by the rules of those that are not here."""

from __future__ import annotations

import shutil
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from doctor.remedies.shells import argument, posix, windows

TEXTS = ["tensorflow==2.20.0", "tensorflow[and-cuda]==2.20.0", "numpy<2", "it's here", 'print("x")', "print(tf.list('GPU'))", "a b", "", "~",
         "=x", "$HOME", "a`b`", "back\\slash", "!1", "%PATH%", "*", "#", "protobuf!=4.21.0,<5"]  # fmt: skip


@pytest.mark.parametrize("shell", ["sh", "bash", "dash", "zsh", "fish"])
def test_shell_reads_each_text_back_as_one_argument(shell: str) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not here")
    for text in TEXTS:
        done = subprocess.run([shell, "-c", f"printf '[%s]' {posix(text)}"], capture_output=True, text=True, check=True, timeout=20)
        assert done.stdout == f"[{text}]", posix(text)


@given(st.text(st.characters(codec="ascii", exclude_characters="\0\n\r"), max_size=20))
@settings(max_examples=60, deadline=None)
def test_any_text_is_one_argument_to_sh(text: str) -> None:
    done = subprocess.run(["sh", "-c", f"printf '[%s]' {posix(text)}"], capture_output=True, text=True, check=True, timeout=20)
    assert done.stdout == f"[{text}]"


@pytest.mark.parametrize(("text", "expected"), [
    ("tensorflow==2.10.1", "tensorflow==2.10.1"), ("numpy<2", '"numpy<2"'), ("protobuf!=4.21.0,<5", '"protobuf!=4.21.0,<5"'),
    (r"C:\Users\a b", r'"C:\Users\a b"'), ("it's", '"it\'s"'), ("100%", "'100%'"), ("$x's", "'$x''s'"), ("a\r\nb", '"a b"'),
])  # fmt: skip
def test_windows_quotes_what_cmd_and_powershell_read_alike(text: str, expected: str) -> None:
    assert windows(text) == argument(text, "windows") == expected
