#!/usr/bin/env python3
"""Builds compat_tables/tensorflow.json from the wheels in the package index that pip is configured to use.

By default, METADATA, build_info.py and the file list of each wheel are read by range requests. For all
releases, this takes a minute and 0.4 GB. With --full, the libraries of each wheel are streamed as well, to
find the CUDA libraries that they load, the GPU code that they contain, their RUNPATH and the glibc that they
need. This takes half an hour or more and about 90 GB of traffic, and leaves no large files on disk. Both
kinds of run can be interrupted and repeated: the data read so far are kept in the user's cache folder. The
script needs pip, packaging and requests. With --full, it also needs Linux on x86-64, to find out which
libraries a build loads.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import signal
import struct
import sys
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import TYPE_CHECKING, Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from doctor.files import write_whole  # noqa: E402
from doctor.tables.index import PACKAGES  # noqa: E402
from doctor.tables.ordering import key_of, table_order  # noqa: E402
from doctor.tables.reading import binaries, table  # noqa: E402
from doctor.tables.reading.archive import ArchiveError  # noqa: E402
from doctor.tables.reading.cache import Cache, default_folder  # noqa: E402
from doctor.tables.reading.elf import ElfError  # noqa: E402
from doctor.tables.reading.pe import PeError  # noqa: E402
from doctor.tables.reading.progress import Progress  # noqa: E402
from doctor.tables.reading.registry import (  # noqa: E402
    IndexFile,
    PipSettings,
    RegistryError,
    pip_settings,
    project_files,
    remote_for,
)
from doctor.tables.reading.releases import Group, group_files  # noqa: E402
from doctor.tables.reading.remote import Remote, RemoteError  # noqa: E402
from doctor.tables.reading.rows import build_row, carry_over, complete_windows  # noqa: E402
from doctor.tables.reading.wheeltexts import WheelTexts, read_texts  # noqa: E402
from doctor.tables.tensorflow import TABLE  # noqa: E402

if TYPE_CHECKING:
    from typing import TypeAlias

THREADS = 8
# The kinds of cache entries; if a number changes, the wheels are read again
TEXTS, BINARY, GLIBC, DLLS = "texts-1", "binary-1", "glibc-1", "dlls-1"
UNREADABLE = (RemoteError, ArchiveError, ElfError, PeError, ValueError, struct.error)


def main(argv: list[str] | None = None) -> int:
    """Run the script. Returns the exit code: 0 if it is done, 2 if the arguments are wrong, 3 if the package
    index could not be read (the table stays as it was)."""
    arguments = _parser().parse_args(argv)
    try:
        return run(arguments)
    except (RegistryError, RemoteError, ArchiveError) as error:
        print(f"build_tables: {error}", file=sys.stderr)
        return 3
    except KeyboardInterrupt:
        print("\nbuild_tables: stopped; run the same command again to continue", file=sys.stderr)
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--full", action="store_true", help="also read the libraries in the wheels")
    parser.add_argument(
        "--only", nargs="+", metavar="VERSION", help="read only these releases; other rows stay as they are"
    )
    parser.add_argument(
        "--pre", action="store_true", help="also read pre-releases (not for the bundled table)"
    )
    parser.add_argument(
        "--processes", type=int, default=3, metavar="N", help="for --full (default: %(default)s)"
    )
    parser.add_argument(
        "--cache", type=Path, default=default_folder(), metavar="DIR", help="default: %(default)s"
    )
    parser.add_argument(
        "--output",
        type=Path,
        default=ROOT / "compat_tables" / "tensorflow.json",
        metavar="FILE",
        help="default: the bundled table",
    )
    return parser


def run(arguments: argparse.Namespace) -> int:
    """Read the missing releases, write the table, and print what changed. Returns the exit code."""
    if arguments.output.is_dir():
        print(f"build_tables: {arguments.output} is a folder; --output takes a file", file=sys.stderr)
        return 2
    settings = pip_settings()
    remote = remote_for(settings)
    groups = [
        group
        for package in PACKAGES
        for group in group_files(package, project_files(package, settings.indexes, remote), pre=arguments.pre)
    ]
    if arguments.only:
        chosen = [group for group in groups if str(group.version) in arguments.only]
        missing = set(arguments.only) - {str(group.version) for group in chosen}
        if missing:
            hint = "" if arguments.pre else " (pre-releases need --pre)"
            print(f"build_tables: no such release: {', '.join(sorted(missing))}{hint}", file=sys.stderr)
            return 2
    else:
        chosen = groups
    cache = Cache(arguments.cache)
    texts = read_all_texts(chosen, cache, remote)
    earlier = table.load_rows(arguments.output)
    facts = read_all_binaries(chosen, texts, cache, settings, arguments) if arguments.full else {}
    rows = dict(earlier) if arguments.only else {}
    for group in chosen:
        sha256 = group.newest.sha256
        row = build_row(group, texts.get(sha256), *facts.get(sha256, (None, None)))
        key = key_of(row)
        if sha256 not in facts:
            carry_over(row, earlier.get(key))
        rows[key] = row
    complete_windows(list(rows.values()))
    ordered = [rows[key] for key in sorted(rows, key=table_order)]
    _report(earlier, rows, remote.bytes_read)
    if list(earlier.values()) != ordered or not arguments.output.exists():
        write_whole(arguments.output, table.dump_table(ordered, TABLE).encode("utf-8"))
        print(f"build_tables: wrote {len(ordered)} rows to {arguments.output}", file=sys.stderr)
    else:
        print(f"build_tables: {arguments.output} is up to date ({len(ordered)} rows)", file=sys.stderr)
    return 0


def read_all_texts(groups: list[Group], cache: Cache, remote: Remote) -> dict[str, WheelTexts]:
    """Return a dictionary from the sha256 of each group's newest wheel to the text files in that wheel."""
    found: dict[str, WheelTexts] = {}
    progress = Progress("reading wheels' texts", len(groups), lambda: remote.bytes_read)
    with progress, ThreadPoolExecutor(THREADS) as pool:
        read = pool.map(lambda group: _texts_of(group.newest, cache, remote), groups)
        for group, texts in zip(groups, read):
            found[group.newest.sha256] = texts
            progress.step(" ".join(group.key))
    return found


Binary: TypeAlias = "tuple[dict[str, Any] | None, dict[str, str] | None]"


def read_all_binaries(
    groups: list[Group],
    texts: dict[str, WheelTexts],
    cache: Cache,
    settings: PipSettings,
    arguments: argparse.Namespace,
) -> dict[str, Binary]:
    """Return a dictionary from the sha256 of each group's newest wheel to the facts in its libraries and the
    glibc that the wheel for each Python version needs. Raises RegistryError, with the names of the wheels, if
    any wheel could not be read.
    """
    work = [
        group
        for group in groups
        if group.newest.sha256 in texts
        and binaries.wanted(texts[group.newest.sha256], group.package, group.platform)
    ]
    todo = [group for group in work if _stored(group, cache) is None]
    failed: list[str] = []
    volume = [0]
    with Progress("reading libraries", len(todo), lambda: volume[0]) as progress, ProcessPoolExecutor(
        max(1, arguments.processes), initializer=_quiet_worker
    ) as pool:
        try:
            futures = {pool.submit(_read_binary, group, cache.folder, settings): group for group in todo}
            for future in as_completed(futures):
                try:
                    volume[0] += future.result()
                except UNREADABLE as error:
                    failed.append(f"{' '.join(futures[future].key)}: {error}")
                progress.step(" ".join(futures[future].key))
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            for child in multiprocessing.active_children():
                child.terminate()
            raise
    if failed:
        raise RegistryError(
            f"{len(failed)} wheels could not be read; the table stays as it was. Next: run the same command"
            " again; it reads only the missing wheels\n  " + "\n  ".join(failed)
        )
    found: dict[str, Binary] = {}
    for group in work:
        stored = _stored(group, cache)
        if stored is not None:
            found[group.newest.sha256] = stored
    return found


def _quiet_worker() -> None:
    """Let Ctrl-C end a worker without a traceback, and give the worker a low priority."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    if hasattr(os, "nice"):
        os.nice(10)


def _stored(group: Group, cache: Cache) -> Binary | None:
    """Return the values derived from the cached facts of the group's wheels, or None if the facts of a wheel
    are missing."""
    seen = cache.get(group.newest.sha256, BINARY)
    if seen is None:
        return None
    dlls = cache.get(group.newest.sha256, DLLS)
    if dlls is None and binaries.composes_names(seen, group.platform):
        return None
    by_python: dict[str, str] = {}
    if group.platform.startswith("linux"):
        for name, file in group.wheels:
            stored = cache.get(file.sha256, GLIBC)
            if stored is None:
                return None
            if stored["glibc"]:
                by_python[name.python] = stored["glibc"]
    return binaries.derive(seen, group.platform, dlls), by_python


def _read_binary(group: Group, folder: Path, settings: PipSettings) -> int:
    """Fill the cache for one group. Runs in a worker process. Returns the number of bytes read."""
    cache, remote = Cache(folder), remote_for(settings)
    texts = _texts_of(group.newest, cache, remote)
    seen = cache.get(group.newest.sha256, BINARY)
    if seen is None:
        seen = binaries.scan(remote, group.newest, texts)
        cache.put(group.newest.sha256, BINARY, seen)
    if binaries.composes_names(seen, group.platform) and cache.get(group.newest.sha256, DLLS) is None:
        cache.put(group.newest.sha256, DLLS, binaries.scan_dll_names(remote, group.newest, texts))
    if not group.platform.startswith("linux"):
        return remote.bytes_read
    for _, file in group.wheels:
        if cache.get(file.sha256, GLIBC) is None:
            theirs = _texts_of(file, cache, remote)
            glibc = binaries.glibc_of_other_python(remote, file, theirs, texts, seen)
            cache.put(file.sha256, GLIBC, {"glibc": glibc})
    return remote.bytes_read


def _texts_of(file: IndexFile, cache: Cache, remote: Remote) -> WheelTexts:
    stored = cache.get(file.sha256, TEXTS)
    if stored is not None:
        return WheelTexts.from_json(stored)
    texts = read_texts(remote, file)
    cache.put(file.sha256, TEXTS, texts.to_json())
    return texts


def _report(earlier: dict[Any, Any], rows: dict[Any, Any], bytes_read: int) -> None:
    added = [" ".join(key) for key in rows if key not in earlier]
    gone = [" ".join(key) for key in earlier if key not in rows]
    changed = [
        f"{' '.join(key)}: {', '.join(name for name in row if row[name] != earlier[key].get(name))}"
        for key, row in rows.items()
        if key in earlier and row != earlier[key]
    ]
    print(f"build_tables: {bytes_read / 2**20:,.0f} MiB read", file=sys.stderr)
    for word, names in (("new", added), ("gone", gone), ("changed", changed)):
        for name in names[:20]:
            print(f"  {word}: {name}", file=sys.stderr)
        if len(names) > 20:
            print(f"  ... and {len(names) - 20} more {word}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
