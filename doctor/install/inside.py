"""Writes into an environment what it needs in addition to packages: links to libraries, and the setting for
memory growth. Everything can be undone."""

from __future__ import annotations

import os
from pathlib import Path

from doctor.compat.workarounds import Link
from doctor.files import write_whole

MEMORY_GROWTH = "tfgpu_doctor_memory_growth.pth"
"""A .pth file in site-packages. Python runs the line in it, which begins with `import`, at every start
(module site). So the setting applies in every shell, notebook and service; a value that is already set takes
precedence."""
MEMORY_GROWTH_LINE = "import os; os.environ.setdefault('TF_FORCE_GPU_ALLOW_GROWTH', 'true')\n"


def write_links(site_packages: Path, links: tuple[Link, ...]) -> list[Path]:
    """Create the relative links that do not exist yet, and return their paths. Raises OSError, and
    FileNotFoundError if pip did not install one of the libraries."""
    made: list[Path] = []
    for link in links:
        target, into = site_packages / link.folder / link.library, site_packages / link.into
        if not target.exists():
            raise FileNotFoundError(2, "pip did not install this library", str(target))
        place = into / link.library
        if place.is_symlink() and place.resolve() == target.resolve():
            continue
        place.symlink_to(os.path.relpath(target, into))
        made.append(place)
    return made


def write_memory_growth(site_packages: Path) -> Path:
    """Make TensorFlow in this environment allocate GPU memory only as it needs it. Returns the path of the
    .pth file."""
    path = site_packages / MEMORY_GROWTH
    write_whole(path, MEMORY_GROWTH_LINE.encode())
    return path
