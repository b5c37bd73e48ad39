"""All access to the files of a machine under examination goes through this module. No path leads out of the
machine's root, whatever its files contain.

The functions take `root`, the host's folder that stands for the machine's "/", and `path`, a path below it
with forward slashes. Links are followed as the machine itself would follow them (absolute ones start at the
root), and only regular files are opened. The root "/" is this machine itself, where the kernel resolves paths
as it does for any program.

Linux resolves a path inside a root itself (openat2(2), RESOLVE_IN_ROOT, Linux 5.6). Elsewhere a path is
walked folder by folder, each opened without following links (O_NOFOLLOW), so that a tree that changes
meanwhile cannot lead out of the root either. Python on Windows has no folder handles, so the walk uses path
names there.

All functions raise OSError: FileNotFoundError and NotADirectoryError if nothing is there (`ABSENT`), anything
else if it could not be examined: too many links (ELOOP), no permission, not a regular file, a name that no
file can have.
"""

# ruff: noqa: PTH118, PTH208 (descriptors, and names that pathlib would tidy)
from __future__ import annotations

import contextlib
import errno
import functools
import os
import re
import stat
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

if TYPE_CHECKING:
    import ctypes

ABSENT = (errno.ENOENT, errno.ENOTDIR)
"""Errors that mean that nothing exists at a path; any other error means that the path could not be
examined."""
LINKS_LIMIT = 40
"""More symbolic links than this in one path count as a loop, as in Linux (path_resolution(7))."""
PARTS_LIMIT = 4096
"""The maximum number of names in one path, including those of links on the way; Linux's PATH_MAX allows no
more."""

_CLOSED = getattr(os, "O_CLOEXEC", 0)
_FILE = (
    os.O_RDONLY
    | _CLOSED
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_NOCTTY", 0)
    | getattr(os, "O_BINARY", 0)
)
_NAME = getattr(os, "O_PATH", os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)) | _CLOSED
_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | _CLOSED
_STEP = _NAME | getattr(os, "O_DIRECTORY", 0)
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)
_BY_HANDLE = os.open in os.supports_dir_fd
_OPENAT2 = 437
"""The number of the system call openat2; it is the same on every processor that TensorFlow has a build
for."""
_RESOLVE_IN_ROOT = 0x10
_JUNCTION = 0xA0000003
"""IO_REPARSE_TAG_MOUNT_POINT (winnt.h)."""
_AGAIN = 8
"""How many times to try if the kernel gives up because something was renamed meanwhile (EAGAIN)."""


def reason(problem: OSError) -> str:
    """Why a file could not be examined: the text of the error."""
    return problem.strerror or str(problem)


def open_inside(root: str, path: str) -> BinaryIO:
    """Open a regular file for reading. Anything else is refused before it is opened, because a pipe would
    block."""
    _regular(status_inside(root, path), path)
    handle = _opened(root, path, _FILE)
    try:
        _regular(os.fstat(handle), path)
        return open(handle, "rb")
    except BaseException:
        os.close(handle)
        raise


def status_inside(root: str, path: str, *, follow: bool = True) -> os.stat_result:
    """The result of stat(2) for a path; for a link itself if `follow` is False."""
    if root == "/":
        return _named(os.stat, path, path, follow_symlinks=follow)  # type: ignore[no-any-return]
    if _kernel_resolves():
        handle = _opened(root, path, _NAME if follow else _NAME | _NO_LINK)
        try:
            return os.fstat(handle)
        finally:
            os.close(handle)
    with _walked(root, path, follow=follow) as (folder, name, _):
        return _lstat(folder, name, path)


def names_inside(root: str, path: str) -> list[str]:
    """The names in a folder, sorted."""
    if root == "/":
        return sorted(_named(os.listdir, path, path))
    if _BY_HANDLE:
        handle = _opened(root, path, _FOLDER)
        try:
            return sorted(os.listdir(handle))
        finally:
            os.close(handle)
    with _walked(root, path) as (folder, name, _):
        return sorted(os.listdir(os.path.join(str(folder), name)))


def link_inside(root: str, path: str) -> str:
    """The target of a symbolic link; OSError with EINVAL if the path is not a link."""
    if root == "/":
        return _named(os.readlink, path, path)  # type: ignore[no-any-return]
    with _walked(root, path, follow=False) as (folder, name, _):
        where, handle = _from(folder, name)
        return _named(os.readlink, path, where, dir_fd=handle)  # type: ignore[no-any-return]


def real_inside(root: str, path: str) -> str:
    """The path with its links followed as far as possible; everything after a missing name is unchanged.

    Only the name is computed; nothing is opened. A path with too many links is returned unchanged; opening it
    will fail.
    """
    if root == "/":
        return str(_named(os.path.realpath, path, path))
    try:
        with _walked(root, path, lenient=True) as (_, _, parts):
            return "/" + "/".join(parts)
    except OSError:
        return path


def may_inside(path: str, mode: int) -> bool:
    """Whether this user may access a file on this machine with this mode (os.access)."""
    return bool(_named(os.access, path, path, mode))


def open_device(path: str) -> int:
    """Open a character device of this machine for reading without waiting, and return the descriptor."""
    handle = os.open(path, _FILE)
    if not stat.S_ISCHR(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(errno.EINVAL, "it is not a device", path)
    return handle


def _regular(status: os.stat_result, path: str) -> None:
    """Raise OSError for anything but a regular file."""
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, "it is not a regular file", path)


def _named(call: Callable[..., Any], path: str, *arguments: object, **more: object) -> Any:
    """The result of a call. If the call raises OSError, the error contains the path as the machine sees it. A
    NUL in a name raises OSError too."""
    try:
        return call(*arguments, **more)
    except OSError as problem:
        problem.filename = path
        raise
    except ValueError as problem:  # a NUL, or a character that the file system cannot encode
        raise OSError(errno.EINVAL, "no file can have this name", path) from problem


def _opened(root: str, path: str, flags: int) -> int:
    """Open what a path leads to and return a descriptor; nothing that could block is opened."""
    if root == "/":
        return int(_named(os.open, path, path, flags))
    if _kernel_resolves():
        return _openat2(root, path, flags)
    with _walked(root, path) as (folder, name, _):
        where, handle = _from(folder, name)
        return int(_named(os.open, path, where, flags | _NO_LINK, dir_fd=handle))


# --- the kernel's own resolution ------------------------------------------------------------------


class _Kernel(NamedTuple):
    """The C library's function for system calls, and the ctypes class for openat2's argument `struct
    open_how`."""

    library: Any
    how: type[ctypes.Structure]


@functools.lru_cache(maxsize=None)
def _kernel() -> _Kernel | None:
    """The functions that call the kernel directly; None if this is not Linux, or if Python has no ctypes."""
    if not sys.platform.startswith("linux"):
        return None
    try:
        import ctypes

        class How(ctypes.Structure):
            _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))

        return _Kernel(ctypes.CDLL(None, use_errno=True), How)
    except (ImportError, OSError):
        return None


@functools.lru_cache(maxsize=None)
def _kernel_resolves() -> bool:
    """Whether openat2 works here: old kernels lack it, and a container's filter of system calls may refuse
    it."""
    if _kernel() is None:
        return False
    try:
        os.close(_openat2("/", "/", _NAME))
    except OSError:
        return False
    return True


def _openat2(root: str, path: str, flags: int) -> int:
    import ctypes

    kernel = _kernel()
    assert kernel is not None
    name = _named(os.fsencode, path, path)
    if b"\0" in name:
        raise OSError(errno.EINVAL, "no file can have this name", path)
    how = kernel.how(flags, 0, _RESOLVE_IN_ROOT)
    top = os.open(root, _NAME)
    try:
        for _ in range(_AGAIN):
            size = ctypes.c_size_t(ctypes.sizeof(how))
            handle = int(kernel.library.syscall(_OPENAT2, top, name or b"/", ctypes.byref(how), size))
            if handle >= 0:
                return handle
            number = ctypes.get_errno()
            if number != errno.EAGAIN:
                break
    finally:
        os.close(top)
    raise OSError(number, os.strerror(number), path)


# --- the walk, folder by folder -------------------------------------------------------------------


class _Place(NamedTuple):
    """The end of a walk: the folder (a descriptor, or its path on a host without folder descriptors), the
    name in it, which must not be followed, and all names from the root on."""

    folder: int | str | None
    name: str
    parts: list[str]


def _from(folder: int | str | None, name: str) -> tuple[str, int | None]:
    """A name in a folder, in the form that functions of os accept: (path, dir_fd)."""
    return (os.path.join(folder, name), None) if isinstance(folder, str) else (name, folder)


def _lstat(folder: int | str | None, name: str, path: str) -> os.stat_result:
    where, handle = _from(folder, name)
    return _named(os.stat, path, where, dir_fd=handle, follow_symlinks=False)  # type: ignore[no-any-return]


def _is_link(status: os.stat_result) -> bool:
    """Whether the status belongs to a symbolic link or a Windows junction."""
    return stat.S_ISLNK(status.st_mode) or getattr(status, "st_reparse_tag", 0) == _JUNCTION


@contextlib.contextmanager
def _walked(root: str, path: str, *, follow: bool = True, lenient: bool = False) -> Iterator[_Place]:
    """Walk a path from the root and follow every link; if the last name is a link, follow it only with
    `follow`.

    lenient: only the names are needed: folders are not held open, and everything after a missing name is
    kept.
    """
    by_handle = _BY_HANDLE and not lenient
    folders: list[int | str | None] = [os.open(root, _STEP) if by_handle else root]
    parts: list[str] = []
    todo = [part for part in reversed(path.split("/")) if part not in ("", ".")]
    links = 0
    last = "."

    def leave(depth: int) -> None:
        del parts[depth:]
        while len(folders) > depth + 1:
            folder = folders.pop()
            if isinstance(folder, int):
                os.close(folder)

    try:
        while todo:
            part = todo.pop()
            if part == "..":
                leave(max(0, len(parts) - 1))
                continue
            here = folders[-1]
            if lenient and here is None:
                parts.append(part)
                folders.append(None)
                continue
            try:
                link = _is_link(_lstat(here, part, path))
            except OSError:
                if not lenient:
                    raise
                parts.append(part)
                folders.append(None)
                continue
            if link and (todo or follow):
                links += 1
                where, handle = _from(here, part)
                target = str(_named(os.readlink, path, where, dir_fd=handle))
                if os.name == "nt":  # \\\\?\\C:\\folder
                    target = re.sub(r"^(//\\?/)?[A-Za-z]:/", "/", target.replace("\\", "/"))
                if links > LINKS_LIMIT or len(todo) + target.count("/") > PARTS_LIMIT:
                    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)
                if target.startswith("/"):
                    leave(0)
                todo += [piece for piece in reversed(target.split("/")) if piece not in ("", ".")]
                continue
            if not todo and not lenient:
                last = part
                parts.append(part)
                break
            if by_handle:
                folders.append(int(_named(os.open, path, part, _STEP | _NO_LINK, dir_fd=here)))
            else:
                folders.append(_from(here, part)[0])
            parts.append(part)
        yield _Place(folders[-1], last, parts)
    finally:
        leave(0)
        top = folders[0]
        if isinstance(top, int):
            os.close(top)
