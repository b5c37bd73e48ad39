"""Replaces the source of the modules in /work/judge and /work/library with bytecode; compile.mjs runs this
script in Pyodide. In the library, only the modules that the judge loads are compiled. To make the download
smaller, docstrings are dropped, except those of the rules, which are the pages of the codes.
"""

import sys
from importlib._bootstrap_external import _code_to_hash_pyc
from pathlib import Path

JUDGE, LIBRARY = Path("/work/judge"), Path("/work/library")


def compiled(source: Path, called: str, optimize: int) -> None:
    code = compile(source.read_bytes(), called, "exec", dont_inherit=True, optimize=optimize)
    source.with_suffix(".pyc").write_bytes(_code_to_hash_pyc(code, bytes(8), False))
    source.unlink()


sys.path.insert(0, str(JUDGE))
from doctor.site.judge import answer  # noqa: E402 its place is known only here

for call, parameters, data in (
    (
        "explain",
        {},
        b"I have tensorflow 2.15 and an RTX 3080. Could not load dynamic library 'libcudart.so.12'",
    ),
    ("plan", {"gpu": "RTX 3080"}, b""),
):
    found = answer(call, parameters, data)
    assert "error" not in found, found
loaded = {str(getattr(module, "__file__", None) or "") for module in list(sys.modules.values())}
for source in sorted(LIBRARY.rglob("*.py")):
    called = f"/lib/python{sys.version_info[0]}{sys.version_info[1]}.zip/{source.relative_to(LIBRARY)}"
    if called in loaded:
        compiled(source, called, 2)
for source in sorted(JUDGE.rglob("*.py")):
    compiled(
        source,
        f"/judge/{source.relative_to(JUDGE)}",
        0 if JUDGE / "doctor" / "rules" in source.parents else 2,
    )
