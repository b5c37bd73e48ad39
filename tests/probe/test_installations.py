"""Tests that TensorFlow is found where the Python in use would find it, and that each installation counts
once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from doctor.facts import Package, PythonVersion, TensorFlowVersion
from scripts.machines.skeleton import skeleton
from tests.probe.machines import Folder
from tests.probe.test_verdicts import codes
from tests.sampling import sampled

RELEASE = "2.15.1"


def system_python(
    machine: Folder, version: str = "3.10", site: str = "/usr/lib/python3/dist-packages"
) -> Folder:
    """A Python in /usr. Nothing shows which environment is in use."""
    for name in (f"python{version}", "python3"):
        machine.write(f"/usr/bin/{name}", skeleton(needed=("libc.so.6",)))
    (machine.root / "usr/bin/python3").unlink()
    machine.link("/usr/bin/python3", f"python{version}")
    machine.write("/usr/lib/python3/dist-packages/README", "").write(f"/usr/lib/python{version}/os.py", "")
    machine.site = site
    (machine.root / site.lstrip("/")).mkdir(parents=True, exist_ok=True)
    return machine.env(PATH="/usr/local/bin:/usr/bin:/bin")


def venv(machine: Folder, prefix: str, home: str, version: str = "3.10", *, system: bool = False) -> Folder:
    """A virtual environment whose interpreter is a link to the interpreter in `home`."""
    text = f"home = {home}\ninclude-system-site-packages = {str(system).lower()}\nversion = {version}.4\n"
    machine.write(f"{prefix}/pyvenv.cfg", text).link(f"{prefix}/bin/python", f"{home}/python{version}")
    machine.link(f"{prefix}/bin/python3", "python")
    machine.site = f"{prefix}/lib/python{version}/site-packages"
    (machine.root / machine.site.lstrip("/")).mkdir(parents=True)
    return machine


def whole(machine: Folder, release: str = RELEASE) -> Folder:
    """Add TensorFlow and its libraries to the current site-packages folder."""
    return machine.tensorflow(release).cuda_wheels("12.2").cudnn_wheel("8.9.4.25")


def in_site(site: str, version: str = "3.10") -> Callable[[Folder], Folder]:
    return lambda m: whole(system_python(m, version, site))


def from_source(machine: Folder) -> Folder:
    """An editable installation: setuptools' finder names the folder."""
    system_python(machine, site="/usr/local/lib/python3.10/dist-packages")
    site, machine.site = machine.site, "/home/me/src/build"
    whole(machine)
    info = f"tensorflow-{RELEASE}.dist-info"
    (machine.root / f"home/me/src/build/{info}").rename(machine.root / f"{site}/{info}".lstrip("/"))
    machine.write(
        f"{site}/__editable__.tensorflow-2.15.1.pth",
        "import __editable___tensorflow_2_15_1_finder; x.install()\n",
    )
    mapping = "MAPPING: dict[str, str] = {'tensorflow': '/home/me/src/build/tensorflow'}\nNAMESPACES = {}\n"
    return machine.write(f"{site}/__editable___tensorflow_2_15_1_finder.py", mapping)


def pyenv(machine: Folder) -> Folder:
    """pyenv's shims are first on PATH; the project names the Python version to use."""
    machine.write("/home/me/.pyenv/shims/python3", "#!/usr/bin/env bash\n").write(
        "/home/me/.pyenv/version", "3.9.1\n"
    )
    for version in ("3.9.1", "3.11.9"):
        machine.write(f"/home/me/.pyenv/versions/{version}/bin/python3", skeleton())
    machine.write("/home/me/project/.python-version", "3.11.9\n").record["cwd"] = "/home/me/project/src"
    machine.write("/home/me/project/src/train.py", "")
    machine.site = "/home/me/.pyenv/versions/3.11.9/lib/python3.11/site-packages"
    return whole(machine.env(PATH="/home/me/.pyenv/shims:/usr/bin"))


def standalone(machine: Folder, prefix: str = "/home/me/project/.venv") -> Folder:
    """An environment that uv made with python-build-standalone. It is not activated."""
    home = "/home/me/.local/share/uv/python/cpython-3.12.4-linux-x86_64-gnu/bin"
    machine.write(f"{home}/python3.12", skeleton(needed=("libc.so.6",)))
    return whole(venv(machine, prefix, home, "3.12"))


def micromamba(machine: Folder, prefix: str) -> Folder:
    whole(machine.conda("3.11", prefix))
    machine.record["env"] = {}
    return machine


def user_site_over_system(machine: Folder) -> Folder:
    """A complete TensorFlow installation in the user's folder, which takes precedence over one in the
    system's folder that lacks libraries."""
    system_python(machine, site="/usr/local/lib/python3.10/dist-packages").tensorflow("2.18.1")
    machine.site = "/home/me/.local/lib/python3.10/site-packages"
    return whole(machine.env(HOME="/home/me"))


def eggs(machine: Folder) -> Folder:
    """NumPy as easy_install installs it: a zip file that a .pth file names."""
    system_python(machine, site="/usr/local/lib/python3.10/dist-packages")
    machine.write(f"{machine.site}/numpy-1.26.4-py3.10-linux-x86_64.egg", b"PK\x03\x04")
    machine.write(f"{machine.site}/easy-install.pth", "./numpy-1.26.4-py3.10-linux-x86_64.egg\n")
    return whole(machine)


HEALTHY: dict[str, Callable[[Folder], Folder]] = {
    "Debian's dist-packages": in_site("/usr/lib/python3/dist-packages"),
    "pip for everybody on Debian": in_site("/usr/local/lib/python3.10/dist-packages"),
    "the user's own site": lambda m: in_site("/home/me/.local/lib/python3.10/site-packages")(m).env(
        HOME="/home/me"
    ),
    "the site of a user whom nothing names": in_site("/home/me/.local/lib/python3.10/site-packages"),
    "the site of a container's user beside a root without one": lambda m: in_site(
        "/home/vscode/.local/lib/python3.10/site-packages"
    )(m).env(HOME="/root"),
    "PYTHONUSERBASE": lambda m: in_site("/data/base/lib/python3.10/site-packages")(m).env(
        PYTHONUSERBASE="/data/base"
    ),
    "PYTHONPATH": lambda m: in_site("/opt/software/TensorFlow/lib/python3.10/site-packages")(m).env(
        PYTHONPATH="/opt/software/TensorFlow/lib/python3.10/site-packages"
    ),
    "a user's site over the system's": user_site_over_system,
    "an environment over the system's packages": lambda m: venv(
        in_site("/usr/lib/python3/dist-packages")(m), "/home/me/env", "/usr/bin", system=True
    ).env(VIRTUAL_ENV="/home/me/env"),
    "the interpreter's links": lambda m: whole(
        venv(m.write("/opt/py/bin/python3.10", skeleton()), "/home/me/env", "/opt/py/bin")
    ).env(PATH="/home/me/env/bin"),
    "an editable installation": from_source,
    "pyenv": pyenv,
    "uv": standalone,
    "poetry": lambda m: standalone(m, "/home/me/.cache/pypoetry/virtualenvs/project-x1Y2-py3.12"),
    "pixi": lambda m: micromamba(m, "/home/me/project/.pixi/envs/default"),
    "micromamba": lambda m: micromamba(m, "/home/me/micromamba/envs/tf2.15"),
    "eggs": eggs,
}


@pytest.mark.parametrize("name", sampled(HEALTHY, 6))
def test_tensorflow_is_found_where_its_python_finds_it(name: str, tmp_path: Path) -> None:
    machine = HEALTHY[name](Folder(tmp_path / "machine").working_gpu())
    diagnosis = machine.diagnosis()
    found = diagnosis.facts.of(TensorFlowVersion)
    assert found
    assert found[0].version == RELEASE
    assert diagnosis.verdict.code == "healthy", codes(diagnosis)


NOT_FOUND: dict[str, Callable[[Folder], Folder]] = {
    "an environment does not look into the system": lambda m: venv(
        in_site("/usr/lib/python3/dist-packages")(m), "/home/me/env", "/usr/bin"
    ).env(VIRTUAL_ENV="/home/me/env"),
    "PYTHONNOUSERSITE": lambda m: in_site("/home/me/.local/lib/python3.10/site-packages")(m).env(
        HOME="/home/me", PYTHONNOUSERSITE="1"
    ),
    "the user's site of another Python": lambda m: in_site("/home/me/.local/lib/python3.9/site-packages")(
        m
    ).env(HOME="/home/me"),
    "an older Python's packages beside the one in use": in_site(
        "/usr/local/lib/python3.8/dist-packages", "3.10"
    ),
    "Debian's folder in a Python of one's own": lambda m: in_site("/usr/local/lib/python3.10/dist-packages")(
        m.write("/usr/local/bin/python3", skeleton()).write(
            "/usr/local/lib/python3.10/site-packages/README", ""
        )
    ),
}


@pytest.mark.parametrize("name", NOT_FOUND)
def test_tensorflow_is_not_found_where_its_python_does_not_look(name: str, tmp_path: Path) -> None:
    diagnosis = NOT_FOUND[name](Folder(tmp_path / "machine").working_gpu()).diagnosis()
    assert diagnosis.verdict.code == "tf-not-installed", codes(diagnosis)


def test_a_package_in_an_egg_is_listed(tmp_path: Path) -> None:
    facts = eggs(Folder(tmp_path).working_gpu()).facts()
    assert [package.version for package in facts.of(Package) if package.name == "numpy"] == ["1.26.4"]


def test_the_version_is_that_of_the_interpreter_and_not_of_the_newest_folder(tmp_path: Path) -> None:
    machine = system_python(Folder(tmp_path), "3.9").write("/usr/lib/python3.12/os.py", "")
    assert [fact.version for fact in machine.facts().of(PythonVersion)] == ["3.9"]


# --- one installation, several, or the rest of one


def companions(machine: Folder) -> Folder:
    """An empty TensorFlow wheel that requires the package with the code."""
    machine.python().tensorflow(RELEASE, "tensorflow-cpu-aws", gpu=False)
    return machine.package(
        "tensorflow", RELEASE, f"Requires-Dist: tensorflow_cpu_aws =={RELEASE}", "x.dist-info/METADATA,,\n"
    )


def test_an_empty_wheel_and_the_wheel_that_it_requires_are_one_installation(tmp_path: Path) -> None:
    diagnosis = companions(Folder(tmp_path).working_gpu()).diagnosis()
    assert not diagnosis.facts.symptoms("tensorflow-several")
    assert diagnosis.facts.of(TensorFlowVersion)[0].package == "tensorflow-cpu-aws"
    assert diagnosis.verdict.code == "tf-cpu-only", codes(diagnosis)


def without(machine: Folder, name: str) -> Folder:
    """Make a machine, and remove a file from one of its packages."""
    (machine.root / f"{machine.site}/{name}".lstrip("/")).unlink()
    return machine


BROKEN: dict[str, tuple[str, Callable[[Folder], Folder]]] = {
    "two that hold the module": (
        "tf-conflicting-packages",
        lambda m: whole(m.python()).tensorflow(RELEASE, "tensorflow-cpu", gpu=False),
    ),
    "listed, and the module is gone": (
        "tf-conflicting-packages",
        lambda m: m.python().package("tensorflow", RELEASE),
    ),
    "the module without its libraries": (
        "tf-conflicting-packages",
        lambda m: without(whole(m.python()), "tensorflow/libtensorflow_framework.so.2"),
    ),
    "a folder of one's own on PYTHONPATH": (
        "tf-import-failed",
        lambda m: (
            whole(m.python()).write("/home/me/lib/tensorflow/__init__.py", "").env(PYTHONPATH="/home/me/lib")
        ),
    ),
    "a file of one's own in site-packages before it": (
        "tf-import-failed",
        lambda m: user_site_over_system(m).write("/srv/first/tensorflow.py", "").env(PYTHONPATH="/srv/first"),
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_the_fault_of_an_installation_is_named(name: str, tmp_path: Path) -> None:
    code, make = BROKEN[name]
    diagnosis = make(Folder(tmp_path / "machine").working_gpu()).diagnosis()
    assert diagnosis.verdict.code == code, codes(diagnosis)


@pytest.mark.parametrize(
    "spelt", ["nvidia-cudnn-cu12", "nvidia_cudnn_cu12", "nvidia.cudnn.cu12", "NVIDIA_cudnn-Cu12"]
)
def test_the_spelling_of_a_distributions_name_does_not_matter(spelt: str, tmp_path: Path) -> None:
    machine = Folder(tmp_path).python().write("/opt/venv/lib/python3.11/site-packages/x.txt", "")
    info = f"{machine.site}/{spelt.replace('-', '_')}-9.3.0.75.dist-info"
    facts = machine.write(f"{info}/METADATA", f"Name: {spelt}\nVersion: 9.3.0.75\n").facts()
    assert [package.version for package in facts.of(Package) if package.name == "nvidia-cudnn-cu12"] == [
        "9.3.0.75"
    ]
