"""Makes shared objects that have headers but no code: the parts that a loader reads when it searches for a
library, in a few hundred bytes."""

from __future__ import annotations

import struct


def skeleton(
    *,
    soname: str | None = None,
    needed: tuple[str, ...] = (),
    runpath: str | None = None,
    rpath: str | None = None,
    wants: tuple[tuple[str, str], ...] = (),
    gives: tuple[str, ...] = (),
    machine: int = 62,
    filling: int = 0,
) -> bytes:
    """Return a shared object with headers but no code. ldconfig, and a loader that searches for libraries,
    can read it. `wants`: (library, symbol version) pairs that it needs; `gives`: symbol versions that it
    defines; `filling`: the number of bytes of data to append.
    """
    strings = bytearray(b"\0")

    def string(text: str) -> int:
        strings.extend(text.encode() + b"\0")
        return len(strings) - len(text.encode()) - 1

    entries: list[tuple[int, int]] = [(1, string(name)) for name in needed]
    entries += [(14, string(soname))] if soname else []
    entries += [(29, string(runpath))] if runpath else []
    entries += [(15, string(rpath))] if rpath else []
    need = b""
    libraries: dict[str, list[str]] = {}
    for library, version in wants:
        libraries.setdefault(library, []).append(version)
    for at, (library, versions) in enumerate(libraries.items()):
        aux = b"".join(
            struct.pack("<IHHII", 0, 0, 2, string(version), 16 if n + 1 < len(versions) else 0)
            for n, version in enumerate(versions)
        )
        following = 16 + len(aux) if at + 1 < len(libraries) else 0
        need += struct.pack("<HHIII", 1, len(versions), string(library), 16, following) + aux
    give = b""
    for at, version in enumerate(gives):
        following = 28 if at + 1 < len(gives) else 0
        give += struct.pack("<HHHHIII", 1, 0, at + 1, 1, 0, 20, following) + struct.pack(
            "<II", string(version), 0
        )
    start = 64 + 2 * 56
    need_at, give_at = start, start + len(need)
    strings_at = give_at + len(give)
    entries += [(5, strings_at), (10, len(strings))]
    entries += [(0x6FFFFFFE, need_at), (0x6FFFFFFF, len(libraries))] if need else []
    entries += [(0x6FFFFFFC, give_at), (0x6FFFFFFD, len(gives))] if give else []
    dynamic_at = (strings_at + len(strings) + 15) // 16 * 16
    dynamic = b"".join(struct.pack("<QQ", tag, value) for tag, value in [*entries, (0, 0)])
    size = dynamic_at + len(dynamic) + filling
    header = b"\x7fELF\x02\x01\x01" + bytes(9)
    header += struct.pack("<HHIQQQIHHHHHH", 3, machine, 1, 0, 64, 0, 0, 64, 56, 2, 64, 0, 0)
    load = struct.pack("<IIQQQQQQ", 1, 6, 0, 0, 0, size, size, 4096)
    dyn = struct.pack("<IIQQQQQQ", 2, 6, dynamic_at, dynamic_at, dynamic_at, len(dynamic), len(dynamic), 8)
    body = header + load + dyn + need + give + bytes(strings)
    return body.ljust(dynamic_at, b"\0") + dynamic + bytes(filling)
