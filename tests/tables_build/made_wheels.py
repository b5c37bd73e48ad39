"""Makes wheels, libraries and a package index for the tests, in the same form as for TensorFlow."""

from __future__ import annotations

import hashlib
import http.server
import io
import json
import re
import shutil
import struct
import subprocess
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

HAVE_COMPILER = shutil.which("gcc") is not None

LOADER = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
static void *open_library(const char *name, int version) {
  char file[64];
  snprintf(file, sizeof file, "lib%s.so.%d", name, version);
  return dlopen(file, RTLD_NOW);
}
__attribute__((constructor)) static void at_load(void) { open_library("cudart", 12); }
void *_ZN3tsl8internal9DsoLoader17GetCudnnDsoHandleEv(void *out) { open_library("cudnn", 9); return out; }
void *_ZN3tsl8internal9DsoLoader17GetCuptiDsoHandleEv(void *out) {
  if (!open_library("cupti", 12)) dlopen("libcupti.so", RTLD_NOW);
  return out;
}
void *_ZN3tsl8internal9DsoLoader19GetRocblasDsoHandleEv(void *out) { dlopen("librocblas.so", 1); return out; }
void *_ZN3tsl8internal9DsoLoader26MaybeTryDlopenGPULibrariesEv(void *out) {
  open_library("cudart", 12); open_library("cublas", 12); open_library("cudnn", 9);
  return out;
}
"""


def compile_library(folder: Path, name: str, source: str, *options: str) -> Path:
    """Compile the C code `source` to the library folder/name."""
    file = folder / f"{name}.c"
    file.write_text(source)
    command = ["gcc", "-shared", "-fPIC", "-o", str(folder / name), str(file), *options, "-ldl"]
    subprocess.run(command, check=True, timeout=60)
    return folder / name


def fatbin_section(folder: Path, *entries: bytes) -> str:
    """C source code that puts one fatbin with these entries into a library, as nvcc does."""
    blob = folder / "kernels.fatbin"
    blob.write_bytes(fatbin(*entries))
    return f'__asm__(".section .nv_fatbin, \\"a\\"\\n.balign 8\\n.incbin \\"{blob}\\"\\n.previous");\n'


def fatbin(*entries: bytes) -> bytes:
    """Return a fatbin, with its header and its entries."""
    return struct.pack("<IHHQ", 0xBA55ED50, 1, 16, sum(map(len, entries))) + b"".join(entries)


def fatbin_entry(
    kind: int, arch: int, content: bytes, flags: int = 0, version: tuple[int, int] = (8, 1)
) -> bytes:
    """Return an entry of a fatbin. kind: 1 for PTX, 2 for a cubin. arch: 90 for sm_90. version: the version
    of the code (for PTX, the ISA version)."""
    padded = content + bytes(-len(content) % 8)
    packed = len(content) if flags else 0
    return (
        struct.pack("<HHIQII", kind, 0x101, 64, len(padded), packed, 0)
        + struct.pack("<HHIII", version[1], version[0], arch, 64, 0)
        + struct.pack("<QQQ", flags, 0, 0)
        + padded
    )


def lz4_literals(content: bytes) -> bytes:
    """Return an LZ4 block that contains `content` uncompressed."""
    length = len(content) - 15
    return b"\xf0" + b"\xff" * (length // 255) + bytes([length % 255]) + content


def metadata(version: str, *lines: str) -> str:
    return "\n".join(
        ["Metadata-Version: 2.1", "Name: tensorflow", f"Version: {version}", *lines, "", "About it."]
    )


def make_wheel(path: Path, members: dict[str, str | bytes]) -> Path:
    """Make a wheel with these members, compressed with deflate."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


@dataclass
class Index:
    """A package index on this machine. json_form: whether to serve PEP 691 pages. ranges: whether the server
    obeys Range headers. break_after: the numbers of bytes after which the next responses are cut off, one
    number for each response. stall_on: responses for files whose names contain this text are delayed.
    stalled: an event that ends the delay."""

    folder: Path
    url: str = ""
    json_form: bool = False
    ranges: bool = True
    break_after: list[int] = field(default_factory=list)
    requests: list[tuple[str, str | None]] = field(default_factory=list)
    yanked: dict[str, str] = field(default_factory=dict)
    stall_on: str = "\0"
    stalled: threading.Event = field(default_factory=threading.Event)

    def page(self, project: str) -> str | None:
        files = sorted(
            path
            for path in self.folder.iterdir()
            if path.name.startswith(f"{project.replace('-', '_')}-") or path.name.startswith(f"{project}-")
        )
        if not files:
            return None
        digests = {path: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}
        if self.json_form:
            return json.dumps(
                {
                    "meta": {"api-version": "1.0"},
                    "name": project,
                    "files": [
                        {
                            "filename": path.name,
                            "url": f"../../files/{path.name}",
                            "hashes": {"sha256": digests[path]},
                            "requires-python": ">=3.9",
                            "yanked": self.yanked.get(path.name, False),
                        }
                        for path in files
                    ],
                }
            )
        links = "".join(
            f'<a href="../../files/{path.name}#sha256={digests[path]}" data-requires-python="&gt;=3.9"'
            + (f' data-yanked="{self.yanked[path.name]}"' if path.name in self.yanked else "")
            + f">{path.name}</a><br/>\n"
            for path in files
        )
        return f"<!DOCTYPE html><html><body><h1>Links for {project}</h1>{links}</body></html>"


@contextmanager
def served(index: Index) -> Iterator[Index]:
    """Serve the index while the block runs. index.url is the address for PIP_INDEX_URL."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            index.requests.append((self.path, self.headers.get("Range")))
            if match := re.fullmatch(r"/simple/([^/]+)/", self.path):
                page = index.page(match[1])
                kind = "application/vnd.pypi.simple.v1+json" if index.json_form else "text/html"
                return self.answer(404 if page is None else 200, (page or "").encode(), kind)
            file = index.folder / self.path.rpartition("/")[2]
            if index.stall_on in file.name:
                index.stalled.wait(30)
            if not file.is_file():
                return self.answer(404, b"", "text/plain")
            content = file.read_bytes()
            asked = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range") or "")
            if not asked or not index.ranges:
                return self.answer(200, content, "application/zip")
            start, stop = int(asked[1]), int(asked[2]) + 1
            part = content[start:stop]
            return self.answer(
                206, part, "application/zip", f"bytes {start}-{start + len(part) - 1}/{len(content)}"
            )

        def answer(self, status: int, body: bytes, kind: str, content_range: str = "") -> None:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            if content_range:
                self.send_header("Content-Range", content_range)
            self.end_headers()
            if index.break_after and len(body) > index.break_after[0]:
                body = body[: index.break_after.pop(0)]
                self.close_connection = True
            self.wfile.write(body)

        def log_message(self, *arguments: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        index.url = f"http://127.0.0.1:{server.server_port}/simple"
        yield index
    finally:
        index.stalled.set()
        server.shutdown()
        thread.join()
        server.server_close()


def windows_library(imports: tuple[str, ...], code: bytes = b"", constants: bytes = b"") -> bytes:
    """Return a PE library with an import table. Its .text and .rdata sections begin with `code` and
    `constants`."""
    text = code + bytes(-len(code) % 512)
    rdata_address = 0x1000 + max(0x1000, (len(text) + 0xFFF) // 0x1000 * 0x1000)
    table_at = len(constants) + -len(constants) % 16
    names_at = table_at + 20 * (len(imports) + 1)
    names, table = io.BytesIO(), io.BytesIO()
    for name in imports:
        table.write(struct.pack("<IIIII", 1, 0, 0, rdata_address + names_at + names.tell(), 1))
        names.write(name.encode() + b"\0")
    table.write(bytes(20))
    rdata = constants.ljust(table_at, b"\0") + table.getvalue() + names.getvalue()
    rdata += bytes(-len(rdata) % 512)
    directories = [(0, 0)] * 16
    directories[1] = (rdata_address + table_at, 20 * (len(imports) + 1))
    optional = struct.pack("<H", 0x20B).ljust(112, b"\0") + b"".join(
        struct.pack("<II", *entry) for entry in directories
    )
    sections = b""
    offset = 0x400
    for name, address, content in ((b".text", 0x1000, text), (b".rdata", rdata_address, rdata)):
        sections += struct.pack("<8sIIII16x", name, len(content), address, len(content), offset)
        offset += len(content)
    head = b"MZ".ljust(0x3C, b"\0") + struct.pack("<I", 0x40)
    head += b"PE\0\0" + struct.pack("<HHIIIHH", 0x8664, 2, 0, 0, 0, len(optional), 0) + optional + sections
    return head.ljust(0x400, b"\0") + text + rdata
