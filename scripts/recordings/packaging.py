"""Records failures of Python packaging: environments with packages that do not work together, and pip's
messages if it cannot install something."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from scripts.recordings.text import normalised
from tests.tensorflow_envs import package_env


@dataclass(frozen=True)
class Packaging:
    """One failure to record. name, code: as for a Recording. tensorflow: the release to which it belongs.
    packages: the packages in the environment. steps: shell lines to run in the environment, in which "python"
    and "pip" belong to the environment. The log is the output of these lines.
    """

    name: str
    code: str
    tensorflow: str
    packages: tuple[str, ...]
    steps: tuple[str, ...]


_IMPORT = 'python -c "import tensorflow as tf; print(tf.__version__)"'
_BUILT = (
    'python -c "import tensorflow as tf; print(tf.test.is_built_with_cuda(),'
    ' tf.config.list_physical_devices())"'
)
_LIST = "pip list | grep -i -E 'tensor|keras|numpy|protobuf'"

PACKAGING = (
    Packaging("not-installed", "tf-not-installed", "none", (), (_IMPORT,)),
    Packaging("pip-1.15", "tf-no-wheel", "none", (), ("pip install tensorflow==1.15",)),
    Packaging("pip-2.10", "tf-no-wheel", "none", (), ("pip install tensorflow==2.10",)),
    Packaging("pip-gpu", "tf-gpu-package-removed", "none", (), ("pip install tensorflow-gpu",)),
    Packaging("pip-gpu-2.11", "tf-no-wheel", "none", (), ("pip install tensorflow-gpu==2.11.0",)),
    Packaging(
        "numpy-2",
        "python-dependency-conflict",
        "2.15.1",
        ("tensorflow==2.15.1",),
        ("pip install --quiet --no-deps numpy==2.1.3", _LIST, _IMPORT),
    ),
    Packaging(
        "keras-3",
        "python-dependency-conflict",
        "2.15.1",
        ("tensorflow==2.15.1",),
        (
            "pip install --quiet keras==3.5.0",
            _LIST,
            'python -c "import tensorflow as tf; print(tf.keras.Sequential())"',
        ),
    ),
    Packaging(
        "protobuf-6",
        "python-dependency-conflict",
        "2.15.1",
        ("tensorflow==2.15.1",),
        ("pip install --quiet --no-deps protobuf==6.30.0", _LIST, _IMPORT),
    ),
    Packaging("cpu-package", "tf-cpu-only", "2.21.0", ("tensorflow-cpu==2.21.0",), (_LIST, _BUILT)),
    Packaging(
        "two-packages",
        "tf-conflicting-packages",
        "2.15.1",
        ("tensorflow==2.15.1",),
        ("pip install --quiet --no-deps tensorflow-cpu==2.15.1", _LIST, _BUILT),
    ),
    Packaging(
        "one-of-two-removed",
        "tf-conflicting-packages",
        "2.15.1",
        ("tensorflow==2.15.1",),
        (
            "pip install --quiet --no-deps tensorflow-cpu==2.15.1",
            "pip uninstall --quiet --yes tensorflow-cpu",
            _LIST,
            _IMPORT,
        ),
    ),
    Packaging(
        "shadowed",
        "tf-import-failed",
        "2.21.0",
        ("tensorflow==2.21.0",),
        (
            "printf 'import tensorflow as tf\\nprint(tf.__version__)\\n' > tensorflow.py",
            "python tensorflow.py",
        ),
    ),
)


def record_packaging(item: Packaging, work: Path) -> tuple[str, dict[str, Any]]:
    """Make the environment in `work` and run the steps. Returns the normalised text and the content of its
    sidecar."""
    python = package_env(f"recording-{item.name}", item.packages, 11, 11)
    project = work / item.name
    project.mkdir(parents=True, exist_ok=True)
    subprocess.run([str(python), "-m", "ensurepip"], capture_output=True, check=False)
    text, code = "", 0
    for step in item.steps:
        text += f"$ {step}\n"
        done = subprocess.run(
            ["/bin/sh", "-c", re.sub(r"^pip ", "python -m pip --disable-pip-version-check ", step)],
            cwd=project,
            env=_environment(python),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=600,
            check=False,
        )
        text, code = text + done.stdout, done.returncode
    home = str(Path.home())
    replacements = {
        str(python.parent.parent): "/home/user/venv",
        str(project): "/home/user/project",
        home: "/home/user",
    }
    log, what = normalised(text, replacements)
    return log, {
        "command": " && ".join(item.steps),
        "faults": [],
        "code": item.code,
        "exit_code": code,
        "python": f"3.11 ({sys.platform})",
        "simulated": False,
        "recorded": date.today().isoformat(),
        "normalised": what,
    }


def _environment(python: Path) -> dict[str, str]:
    wanted = {
        name: value for name, value in os.environ.items() if name.startswith(("PIP_", "SSL_", "HOME", "LANG"))
    }
    return {**wanted, "PATH": f"{python.parent}:/usr/bin:/bin"}
