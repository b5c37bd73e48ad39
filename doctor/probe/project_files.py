"""Reads the files in a project's folder that set environment variables for work in that folder: the files of
direnv, Nix shells and pixi.

Only literal values are read; values that Nix would compute stay unknown. Sources: direnv(1); nixpkgs manual,
pkgs.mkShell and addDriverRunpath; pixi's manifest, table `activation`.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator

from doctor import lazy
from doctor.probe.start_files import SIZE, UNKNOWN, StartFiles

LEVELS = 4
"""How far above its environment a project's folder may be: .pixi/envs/default is three levels below it."""
NIX = ("shell.nix", "flake.nix", "default.nix", "devenv.nix")
PIXI = (("pixi.toml", "activation.env"), ("pyproject.toml", "tool.pixi.activation.env"))
READ = {".envrc", *NIX, *dict(PIXI)}
UNREAD = "/unknown"
"""Stands for a folder whose path Nix would compute."""
_DRIVER_LINK = lazy.compile(r"\$\{[\w.]{0,80}driverLink\}")
_FILLED = lazy.compile(r"\$\{([^{}$]{0,500})\}")
_NIX_TEXT = lazy.compile(
    r'\b(LD_LIBRARY_PATH|LD_PRELOAD|CUDA_VISIBLE_DEVICES)\s{0,9}=\s{0,9}"([^"]{0,4000})"'
)
_NIX_LIST = lazy.compile(
    r'\b(LD_LIBRARY_PATH)\s{0,9}=[^\[\]"=]{0,200}?makeLibraryPath\s{0,9}\[([^\]]{0,4000})\]'
)
_HOOK = lazy.compile(
    r"\b(?:shellHook|enterShell|profile)\s{0,9}=\s{0,9}''(.{0,20000}?)(?<!')''(?![$'\\])", re.DOTALL
)


def follow(files: StartFiles, prefix: str) -> None:
    """Apply the variables from project files in the folders above an environment, from the outermost folder
    inwards."""
    for folder in reversed(list(_above(prefix))):
        for name in sorted(READ & set(files.machine.names_seen(folder))):
            path = f"{folder}/{name}"
            if name == ".envrc":
                files.source(path)
                continue
            text = files.machine.text_seen(path, SIZE)
            if name in NIX:
                _nix(files, text, path)
            else:
                _pixi(files, text, path, dict(PIXI)[name])


def _above(prefix: str) -> Iterator[str]:
    """The folders above an environment that may be its project's folder. Home folders and top-level folders
    are not."""
    folder = posixpath.dirname(prefix)
    for _ in range(LEVELS):
        if folder.count("/") < 2 or re.fullmatch(r"/home/[^/]+|/root|/usr/local|/opt/[^/]+", folder):
            return
        yield folder
        folder = posixpath.dirname(folder)


def _nix(files: StartFiles, text: str, path: str) -> None:
    text = _DRIVER_LINK.sub(
        "/run/opengl-driver", "\n".join(line.partition("#")[0] for line in text.splitlines())
    )
    for match in _NIX_LIST.finditer(text):
        folders = [f"{folder}/lib" for folder in re.findall(r'"(/[^"$]{0,400})"', match[2])]
        files.set(match[1], ":".join((*folders, UNREAD)), path)
    for match in _NIX_TEXT.finditer(text):
        files.set(match[1], _FILLED.sub(UNREAD if match[1].endswith("PATH") else UNKNOWN, match[2]), path)
    for match in _HOOK.finditer(text):
        shell = _FILLED.sub(lambda m: m[0] if m[1].isidentifier() else UNREAD, match[1]).replace("''${", "${")
        files.follow(shell, path)


def _pixi(files: StartFiles, text: str, path: str, table: str) -> None:
    inside = False
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("["):
            inside = line.partition("#")[0].strip() == f"[{table}]"
        elif inside and (
            match := re.match(r"\s{0,9}(\w{1,80})\s{0,9}=\s{0,9}[\"'](.{0,4000})[\"']\s{0,9}(?:#.*)?$", line)
        ):
            files.set(match[1], files.filled(match[2]), path, number)
