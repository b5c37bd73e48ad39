"""Damages library files of a simulated machine, so that they are missing or cannot be loaded."""

from __future__ import annotations

from pathlib import Path

from doctor.simulate.compilation import link_variant

_ELF_CLASS, _ELF_MACHINE, _AARCH64 = 4, 18, 183  # offsets and e_machine of the ELF header (elf(5))
# damage after which the loader continues its search, as if the file did not exist
PASSED_OVER = frozenset({"missing", "wrong-major", "other-machine", "dangling"})
KINDS = PASSED_OVER | {"empty", "truncated", "text", "32-bit", "needs-missing", "undefined-symbol"}
_GIT_LFS_POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:" + "0" * 64 + "\nsize 731727176\n"


def damage(file: Path, kind: str) -> None:
    """Damage a library's file in one way.

    kind: missing; wrong-major (only a file of another major version exists); empty (zero bytes); truncated;
    text (a git-LFS pointer instead); other-machine (built for aarch64); 32-bit; needs-missing (a library that
    the file needs is missing); undefined-symbol; dangling (a dangling link). Raises ValueError for any other
    kind, and leaves the file as it was.
    """
    if kind not in KINDS:
        raise ValueError(f"there is no kind of damage called {kind!r}")
    if kind == "missing":
        file.unlink()
        return
    content = bytearray(file.read_bytes())
    file.unlink()
    soname = file.name
    if kind == "wrong-major":
        stem, _, version = soname.partition(".so.")
        (file.parent / f"{stem}.so.{int(version.split('.')[0]) - 1}").write_bytes(content)
    elif kind == "empty":
        file.touch()
    elif kind == "truncated":
        file.write_bytes(content[:3000])
    elif kind == "text":
        file.write_text(_GIT_LFS_POINTER)
    elif kind == "other-machine":
        content[_ELF_MACHINE : _ELF_MACHINE + 2] = _AARCH64.to_bytes(2, "little")
        file.write_bytes(content)
    elif kind == "32-bit":
        content[_ELF_CLASS] = 1
        file.write_bytes(content)
    elif kind == "needs-missing":
        link_variant(file, soname, needs="libnvrtc.so.99")
    elif kind == "undefined-symbol":
        call = "cublasLtGoneInThisRelease()"
        link_variant(file, soname, code=f"extern int {call}; int f(void) {{ return {call}; }}")
    elif kind == "dangling":
        file.symlink_to(f"/nonexistent/{soname}")
