"""Validates values from a report that may become part of a command. Each function gets a string, and returns
it if it has the form that the function describes, otherwise None.

Anybody may have written a report. Its text gets into a command line only through one of these functions; all
other text is only displayed. Quoting happens where a command becomes text (`doctor.shell`).
"""

from __future__ import annotations

import re

from doctor import lazy

_NAME = lazy.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,126}[A-Za-z0-9])?", re.ASCII)
_NORMAL = lazy.compile(r"(?:0|[1-9]\d{0,9})(?:\.(?:0|[1-9]\d{0,9})){0,5}", re.ASCII)
"""Matches version numbers of digits and dots in normal form."""
_SONAME = lazy.compile(r"\w[\w.+-]{0,126}\.(?:so(?:\.\d{1,6}){0,4}|dll)", re.ASCII)
_TAG = lazy.compile(r"\w[\w.-]{0,127}", re.ASCII)
_GPU = lazy.compile(
    r"\d{1,3}|(?:GPU|MIG)-[0-9a-f-]{8,64}|(?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}\.\d", re.I | re.ASCII
)
_GROUP = lazy.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,31}", re.ASCII)
_MINOR = lazy.compile(r"\d{1,4}\.\d{1,4}", re.ASCII)


def version(text: str) -> str | None:
    """Return a version as PEP 440 defines it, in normal form."""
    if _NORMAL.fullmatch(text):
        return text  # avoids the import below, which is slow
    from packaging.version import InvalidVersion, Version

    try:
        return str(Version(text))
    except InvalidVersion:
        return None


def distribution(text: str) -> str | None:
    """Return the name of a package as PEP 508 defines it."""
    return text if _NAME.fullmatch(text) else None


def specifiers(text: str) -> str | None:
    """Return version specifiers as PEP 440 defines them (">=1.22,<2"), in the given order. An empty text
    gives ""."""
    from packaging.specifiers import InvalidSpecifier, Specifier

    parts = [part.strip() for part in text.split(",") if part.strip()]
    try:
        parsed = [Specifier(part) for part in parts[:20]]
    except InvalidSpecifier:
        return None
    if any(p.operator == "===" and version(p.version) is None for p in parsed):  # === accepts any text
        return None
    return ",".join(map(str, parsed))


_REQUIREMENT = lazy.compile(
    r"\s{0,9}(?P<name>[A-Za-z0-9][A-Za-z0-9._-]{0,200})\s{0,9}(?:\["
    r"(?P<extras>[A-Za-z0-9._,\s-]{0,500})\])?\s{0,9}"
    r"(?P<specifier>\([^()@;/]{0,500}\)|[^()@;/\[\]]{0,500})(?:;.{0,2000})?",
    re.ASCII,
)


def requirement(text: str) -> str | None:
    """Return a requirement as PEP 508 defines it, without its marker: a name, extras and version specifiers,
    but never a URL, a path or an option of pip."""
    match = _REQUIREMENT.fullmatch(text[:500])
    name = distribution(match["name"]) if match else None
    bounds = specifiers(match["specifier"].strip().strip("()")) if match else None
    if match is None or name is None or bounds is None:
        return None
    extras = [extra.strip() for extra in (match["extras"] or "").split(",") if extra.strip()]
    if any(distribution(extra) is None for extra in extras):
        return None
    return f"{name}{'[' + ','.join(extras) + ']' if extras else ''}{bounds}"


def soname(text: str) -> str | None:
    """Return the file name of a shared library, without a folder."""
    return text if _SONAME.fullmatch(text) else None


def group(text: str) -> str | None:
    """Return the name of a user group (groupadd(8))."""
    return text if _GROUP.fullmatch(text) else None


def image_tag(text: str) -> str | None:
    """Return the tag of a container image (distribution/reference: a word of up to 128 characters)."""
    return text if _TAG.fullmatch(text) else None


def gpu(text: str) -> str | None:
    """Return a GPU identifier that nvidia-smi accepts: a number, a UUID or a PCI address."""
    return text if _GPU.fullmatch(text) else None


def cuda(text: str) -> str | None:
    """Return a CUDA release: two numbers with a dot between them."""
    return text if _MINOR.fullmatch(text) else None


_TEMPORARY = lazy.compile(r"/(?:tmp|var/tmp|dev/shm|run/user|proc)(?:/|$)")
_OF_ENVIRONMENT = lazy.compile(
    r"(?:.{0,500}/(?:site|dist)-packages(?:/[\w.-]{1,100}){1,9}|.{0,500}/(?:envs/[\w.-]{1,100}"
    r"|\w{0,40}(?:conda|forge|mamba)\w{0,40})/lib)"
    r"/[\w.+-]{1,100}\.so(?:\.\d{1,9}){0,4}",
    re.ASCII,
)
_CUDA_FOLDER = lazy.compile(
    r"/usr/(?:local/)?(?:cuda[\w.-]{0,40}/)?(?:targets/[\w-]{1,40}/)?lib(?:32|64)?(?:/[\w.-]{1,100}){0,9}"
    r"|/usr/lib/wsl/lib|/opt/(?:cuda|nvidia)[\w.-]{0,40}(?:/[\w.-]{1,100}){0,9}"
    r"|[A-Za-z]:\\(?:[\w .()-]{1,100}\\){0,9}(?:CUDA|cuDNN|Library)(?:\\[\w.-]{1,100}){0,9}"
    r"|/.{0,500}/(?:site|dist)-packages/nvidia/\w{1,60}/lib"
    r"|/.{0,500}/(?:envs/[^/]{1,100}|\w{0,40}(?:conda|forge|mamba)\w{0,40})/lib",
    re.ASCII,
)


def _plain_path(text: str) -> bool:
    return (
        text.isprintable()
        and text.startswith(("/", "~/"))
        and not re.search(r"(?:^|/)\.\.?(?:/|$)|//", text)
        and not _TEMPORARY.match(text)
    )


def library_of_environment(path: str) -> str | None:
    """Return the path of a library in a Python or conda environment. A path below /tmp, or below another
    folder where everybody may write, always gives None."""
    return path if _plain_path(path) and _OF_ENVIRONMENT.fullmatch(path) else None


def library_folder(path: str) -> str | None:
    """Return the path of a folder into which NVIDIA, a Linux distribution, pip or conda installs CUDA
    libraries."""
    return path if (_plain_path(path) or path[1:2] == ":") and _CUDA_FOLDER.fullmatch(path) else None
