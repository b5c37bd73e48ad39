"""Makes Windows registry hives for the tests: a base block, and one bin with keys and their lists of subkeys
and values."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import TypeAlias

Tree: TypeAlias = "dict[str, Tree | str | int]"


def hive(tree: Tree, *, listing: str = "lh", wide: bool = False) -> bytes:
    """Return a hive that contains these keys (mappings), texts (REG_EXPAND_SZ) and numbers (REG_DWORD).
    listing: the kind of subkey lists: lf, lh, li or ri. wide: whether names are in UTF-16.
    """
    cells = bytearray(b"hbin" + struct.pack("<II", 0, 4096) + bytes(20))

    def cell(data: bytes) -> int:
        at = len(cells)
        size = (len(data) + 4 + 7) // 8 * 8
        cells.extend(struct.pack("<i", -size) + data.ljust(size - 4, b"\0"))
        return at

    def name_of(text: str) -> bytes:
        return text.encode("utf-16-le" if wide else "latin-1")

    def value(name: str, content: str | int) -> int:
        shown = name_of(name)
        data = (
            struct.pack("<I", content) if isinstance(content, int) else (content + "\0").encode("utf-16-le")
        )
        inline = len(data) <= 4
        place = struct.unpack("<I", data.ljust(4, b"\0"))[0] if inline else cell(data)
        size = len(data) | (1 << 31 if inline else 0)
        kind = 4 if isinstance(content, int) else 2
        return cell(
            b"vk" + struct.pack("<HIIIHH", len(shown), size, place, kind, 0 if wide else 1, 0) + shown
        )

    def entries(found: list[int]) -> int:
        if listing == "ri":
            parts = [cell(b"li" + struct.pack("<H", 1) + struct.pack("<I", at)) for at in found]
            return cell(b"ri" + struct.pack("<H", len(parts)) + struct.pack(f"<{len(parts)}I", *parts))
        body = b"".join(struct.pack("<I", at) + (b"" if listing == "li" else bytes(4)) for at in found)
        return cell(listing.encode() + struct.pack("<H", len(found)) + body)

    def key(name: str, content: Tree, flags: int = 0) -> int:
        below = [key(n, c) for n, c in sorted(content.items()) if isinstance(c, dict)]
        given = [value(n, c) for n, c in content.items() if not isinstance(c, dict)]
        listed = entries(below) if below else 0xFFFFFFFF
        held = cell(struct.pack(f"<{len(given)}I", *given)) if given else 0xFFFFFFFF
        shown = name_of(name)
        head = b"nk" + struct.pack("<H", flags | (0 if wide else 0x20)) + bytes(16)
        counts = struct.pack("<IIIIII", len(below), 0, listed, 0xFFFFFFFF, len(given), held)
        rest = struct.pack("<II", 0xFFFFFFFF, 0xFFFFFFFF) + bytes(20) + struct.pack("<HH", len(shown), 0)
        return cell(head + counts + rest + shown)

    root = key("ROOT", tree, 4)
    size = (len(cells) + 4095) // 4096 * 4096
    free = size - len(cells)
    if free:
        cells.extend(struct.pack("<i", free).ljust(free, b"\0"))
    struct.pack_into("<I", cells, 8, size)
    base = b"regf" + struct.pack("<IIQIIIIIII", 1, 1, 0, 1, 5, 0, 1, root, size, 1)
    base = base.ljust(508, b"\0")
    check = 0
    for (word,) in struct.iter_unpack("<I", base):
        check ^= word
    return (base + struct.pack("<I", check)).ljust(4096, b"\0") + bytes(cells)
