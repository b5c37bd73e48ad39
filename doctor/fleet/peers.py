"""Tests the connections between the nodes of a distributed job. It runs on each node (Python 3.8 or later).

A node listens on its own port and connects to every other node again and again until a deadline, because the
nodes do not all start at the same time. It sends its name and the token of this run, so that it cannot
mistake another program for a peer.
"""

from __future__ import annotations

import json
import os
import socket
import sys
import threading
import time
from typing import Any

PATIENCE = 2.0
"""Time limit of one connection in seconds."""
LONGEST = 65536
"""The maximum number of bytes of TF_CONFIG to print."""


def main(order: dict[str, Any]) -> None:
    """Test the connections and print one line of JSON. order: name (of this node), peers ([name, port] of
    each, including this one), token, seconds."""
    name, token = str(order["name"]), str(order["token"])
    ports = {str(peer): int(port) for peer, port in order["peers"]}
    end = time.monotonic() + float(order["seconds"])
    seen: set[str] = set()
    trouble = ""
    try:
        listener = socket.create_server(("", ports[name]), backlog=128)
        threading.Thread(target=_listen, args=(listener, name, token, seen), daemon=True).start()
    except OSError as error:
        trouble = f"port {ports[name]} cannot be opened: {error.strerror or error}"
    reached: dict[str, dict[str, str]] = {}
    failed = dict.fromkeys((peer for peer in ports if peer != name), "not tried")
    while time.monotonic() < end and (failed or len(seen) < len(ports) - 1):
        for peer in list(failed):
            try:
                reached[peer] = _greet(peer, ports[peer], name, token)
                del failed[peer]
            except OSError as error:
                failed[peer] = f"{error.strerror or error}"
        time.sleep(0.2)
    answer = {
        "listening": trouble,
        "reached": reached,
        "failed": failed,
        "unseen": sorted(set(ports) - seen - {name}),
        "interfaces": [interface for _, interface in socket.if_nameindex()],
        "tf_config": os.environ.get("TF_CONFIG", "")[:LONGEST],
    }
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()


def _listen(listener: socket.socket, name: str, token: str, seen: set[str]) -> None:
    while True:
        connection, _ = listener.accept()
        threading.Thread(target=_answer, args=(connection, name, token, seen), daemon=True).start()


def _answer(connection: socket.socket, name: str, token: str, seen: set[str]) -> None:
    with connection:
        try:
            connection.settimeout(PATIENCE)
            words = _line(connection).split()
            if len(words) == 2 and words[0] == token:
                connection.sendall(f"{token} {name}\n".encode())
                seen.add(words[1])
        except OSError:
            return


def _greet(peer: str, port: int, name: str, token: str) -> dict[str, str]:
    """Connect to a peer. Raises OSError if the peer cannot be reached, or if another program answers."""
    with socket.create_connection((peer, port), timeout=PATIENCE) as connection:
        connection.sendall(f"{token} {name}\n".encode())
        words = _line(connection).split()
        if words != [token, peer]:
            who = words[1] if len(words) == 2 and words[0] == token else "another program"
            raise OSError(f"its name resolves to {connection.getpeername()[0]}, where {who} answers")
        return {"address": connection.getpeername()[0], "from": connection.getsockname()[0]}


def _line(connection: socket.socket) -> str:
    data = b""
    while not data.endswith(b"\n") and len(data) < 1024:
        more = connection.recv(1024)
        if not more:
            break
        data += more
    return data.decode("utf-8", "replace")
