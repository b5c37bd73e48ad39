"""Tests Python installations from Nix and Guix: profiles, wrappers and environments in their stores, on NixOS
and Guix System and on other systems. The layouts are those of nixpkgs (python.withPackages, makeWrapper,
makeCWrapper) and of Guix (profiles with etc/profile and a manifest, its Python's sitecustomize.py)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from scripts.machines.skeleton import skeleton
from tests.probe.machines import CUDA
from tests.probe.test_files_alone import Disk
from tests.probe.test_systems import with_interpreter
from tests.probe.test_unusual_machines import VERSION
from tests.probe.test_verdicts import LIB, codes


class Store(Disk):
    """A machine with Python, TensorFlow, CUDA and cuDNN in a store. store: "/nix/store" or "/gnu/store"."""

    store = "/nix/store"

    def at(self, name: str) -> str:
        return f"{self.store}/0123456789abcdfghijklmnpqrsvwxyz-{name}"

    def own_system(self, name: str) -> Store:
        """Make the machine a NixOS or Guix System machine, with the driver in the store."""
        self.without(LIB).write("/etc/os-release", f'NAME="{name}"\nID={name.split()[0].lower()}\n')
        self.gpu().kernel_module(VERSION).user_driver(VERSION, self.at("nvidia-driver/lib"))
        return self

    def python_in_store(self, *, runpath: str = "") -> Store:
        glibc, self.python_ = self.at("glibc-2.40"), self.at("python3-3.11.10")
        self.library(
            f"{glibc}/lib/libc.so.6", soname="libc.so.6", gives=("GLIBC_2.17", "GLIBC_2.35", "GLIBC_2.40")
        )
        self.interpreter = f"{glibc}/lib/ld-linux-x86-64.so.2"
        self.write(self.interpreter, skeleton())
        self.write(f"{self.python_}/bin/python3.11", with_interpreter(self.interpreter))
        self.link(f"{self.python_}/bin/python3", "python3.11").write(
            f"{self.python_}/lib/python3.11/os.py", ""
        )
        self.write(f"{self.python_}/lib/python3.11/site-packages/sitecustomize.py", "")
        self.site = self.at("python3.11-tensorflow-2.15.1/lib/python3.11/site-packages")
        self.build("2.15.1", "12.1", "8")
        cuda, cudnn = self.at("cuda-12.1/lib"), self.at("cudnn-8.9.7/lib")
        for name in CUDA["12.2"]:
            self.cuda_library(cuda, name, "12.2")
        self.cudnn("8.9.7", cudnn)
        path = f"$ORIGIN:{cuda}:{cudnn}:{glibc}/lib{runpath}"
        self.library(f"{self.site}/tensorflow/libtensorflow_framework.so.2", runpath=path)
        return self

    def with_links(self, folder: str) -> Store:
        """Link TensorFlow into the folder of an environment or profile."""
        for entry in (self.root / self.site.lstrip("/")).iterdir():
            self.link(f"{folder}/lib/python3.11/site-packages/{entry.name}", f"{self.site}/{entry.name}")
        return self


def nixos(machine: Store) -> Store:
    machine.own_system("NixOS").link("/run/opengl-driver", machine.at("graphics-drivers"))
    for name in ("libcuda.so.1", "libnvidia-ml.so.1"):
        machine.link(machine.at(f"graphics-drivers/lib/{name}"), machine.at(f"nvidia-driver/lib/{name}"))
    return machine.python_in_store(runpath=":/run/opengl-driver/lib")


def environment(machine: Store) -> Store:
    """python.withPackages: a compiled wrapper, and links to all packages."""
    folder = machine.at("python3-3.11.10-env")
    real = f"{machine.python_}/bin/python3.11"
    command = f"makeCWrapper '{real}' --inherit-argv0 --set 'NIX_PYTHONPREFIX' '{folder}'"
    machine.write(f"{folder}/bin/python3.11", with_interpreter(machine.interpreter) + command.encode())
    machine.link(f"{folder}/bin/python3", "python3.11")
    machine.link("/run/current-system/sw/bin/python3", f"{folder}/bin/python3")
    return machine.with_links(folder)


def script(machine: Store, *lines: str) -> Store:
    """makeWrapper: a shell script that sets variables and starts the store's Python."""
    text = "\n".join((f"#! {machine.at('bash-5.2/bin/bash')} -e", *lines, ""))
    start = f'exec -a "$0" "{machine.python_}/bin/python3.11"  "$@" \n'
    machine.write(machine.at("my-python/bin/python3"), text + start)
    machine.link("/home/u/.nix-profile/bin", machine.at("my-python/bin"))
    return machine


def named(machine: Store) -> str:
    return f"export NIX_PYTHONPATH='{machine.site}'"


def compiled(machine: Store) -> Store:
    """makeCWrapper: a compiled wrapper that names the packages only in an environment variable."""
    command = f"makeCWrapper '{machine.python_}/bin/python3.11' --set 'NIX_PYTHONPATH' '{machine.site}'"
    folder = machine.at("tf-python")
    machine.write(f"{folder}/bin/python3", with_interpreter(machine.interpreter) + command.encode())
    machine.link("/home/u/.nix-profile/bin", f"{folder}/bin")
    return machine


def guix_profile(machine: Store) -> Store:
    profile = machine.at("profile")
    machine.link(f"{profile}/bin/python3", f"{machine.python_}/bin/python3").write(f"{profile}/manifest", "")
    packages = 'GUIX_PYTHONPATH="${GUIX_PROFILE}/lib/python3.11/site-packages"'
    machine.write(f"{profile}/etc/profile", f"export {packages}\n")
    machine.link("/var/guix/profiles/per-user/u/guix-profile", profile)
    machine.link("/home/u/.guix-profile", "/var/guix/profiles/per-user/u/guix-profile")
    return machine.with_links(profile)


def guix(machine: Store) -> Store:
    machine.store = "/gnu/store"
    machine.own_system("Guix System").python_in_store()
    system = machine.at("system/profile")
    machine.link("/run/current-system", machine.at("system"))
    for name in ("libcuda.so.1", "libnvidia-ml.so.1"):
        machine.link(f"{system}/lib/{name}", machine.at(f"nvidia-driver/lib/{name}"))
    machine.write("/home/u/.bash_profile", "export LD_LIBRARY_PATH=/run/current-system/profile/lib\n")
    return guix_profile(machine)


def pip(machine: Store, store: str, *path: str, cpp: bool = True, env: str = "/home/u/tf") -> Store:
    """TensorFlow from pip in a venv made with the store's Python. path: the value of LD_LIBRARY_PATH. cpp:
    whether the copied files include the C++ runtime."""
    machine.store = store
    machine.own_system("NixOS" if "nix" in store else "Guix System")
    glibc, python = machine.at("glibc-2.40"), machine.at("python3-3.11.10")
    machine.library(f"{glibc}/lib/libc.so.6", soname="libc.so.6", gives=("GLIBC_2.17", "GLIBC_2.40"))
    interpreter = f"{glibc}/lib/ld-linux-x86-64.so.2"
    machine.write(interpreter, skeleton()).write(f"{python}/bin/python3.11", with_interpreter(interpreter))
    if cpp:
        machine.library(machine.at("gcc-14.3.0-lib/lib/libstdc++.so.6"))
    machine.venv(env).without(f"{env}/bin/python").link(f"{env}/bin/python", f"{python}/bin/python3.11")
    machine.wheels()
    machine.library(
        f"{machine.site}/tensorflow/python/_pywrap_tensorflow_internal.so",
        needed=("libtensorflow_framework.so.2", "libstdc++.so.6"),
        runpath="$ORIGIN/..",
    )
    if path:
        folders = ":".join(machine.at(f"{name}/lib") for name in path)
        machine.write("/home/u/.bash_profile", f"export LD_LIBRARY_PATH={folders}\n")
    return machine


def elsewhere(machine: Store, store: str) -> Store:
    """Make the machine another Linux system, with its driver in the loader's cache."""
    machine.store = store
    machine.gpu().driver(VERSION)
    return machine.python_in_store()


GUIX = "/home/u/.guix-profile/bin/python3"
NIX = "/home/u/.nix-profile/bin/python3"
HEALTHY: dict[str, tuple[str | None, Callable[[Store], Store]]] = {
    "an environment of Nix's that nobody names": (None, lambda m: environment(nixos(m))),
    "the system's Python of NixOS": ("/run/current-system/sw/bin/python3", lambda m: environment(nixos(m))),
    "a shell script of Nix's": (NIX, lambda m: script(nixos(m), named(m))),
    "a compiled wrapper of Nix's": (NIX, lambda m: compiled(nixos(m))),
    "Nix on another system, with a wrapper that names the driver": (
        NIX,
        lambda m: script(
            elsewhere(m, "/nix/store").link("/opt/driver/libcuda.so.1", f"{LIB}/libcuda.so.1"),
            named(m),
            "LD_LIBRARY_PATH=${LD_LIBRARY_PATH:+':'$LD_LIBRARY_PATH':'}",
            "LD_LIBRARY_PATH='/opt/driver'$LD_LIBRARY_PATH",
            "export LD_LIBRARY_PATH",
        ),
    ),
    "Guix System": (None, guix),
    "the Python of a profile of Guix's": (GUIX, guix),
    "a profile of Guix's": ("/home/u/.guix-profile", guix),
    "pip on NixOS, with a path": (None, lambda m: pip(m, "/nix/store", "gcc-14.3.0-lib", "nvidia-driver")),
    "pip on NixOS, in a shell whose path Nix computes": (
        None,
        lambda m: (
            pip(m, "/nix/store", env="/home/u/work/tf")
            .link("/run/opengl-driver/lib", m.at("nvidia-driver/lib"))
            .write(
                "/home/u/work/shell.nix",
                'pkgs.mkShell { LD_LIBRARY_PATH = "${pkgs.stdenv.cc.cc.lib}/lib:/run/opengl-driver/lib"; }\n',
            )
        ),
    ),
}


@pytest.mark.parametrize("name", HEALTHY)
def test_a_healthy_python_from_a_store_is_examined_completely(name: str, tmp_path: Path) -> None:
    python, make = HEALTHY[name]
    machine = make(Store(tmp_path / "machine"))
    diagnosis = diagnosed(machine, python)
    assert diagnosis.verdict.code == "healthy", (codes(diagnosis), diagnosis.verdict.explanation)


def diagnosed(machine: Store, python: str | None):  # type: ignore[no-untyped-def]
    from doctor.diagnose import diagnose
    from doctor.tables import Tables

    return diagnose(machine.facts(python), Tables.bundled())


BROKEN: dict[str, tuple[str | None, str, str, Callable[[Store], Store]]] = {
    "Nix on another system": (
        NIX,
        "driver-libcuda-missing",
        "nixglhost",
        lambda m: script(elsewhere(m, "/nix/store").in_loader_cache(LIB), named(m)),  # type: ignore[arg-type]
    ),
    "Guix on another system": (
        GUIX,
        "driver-libcuda-missing",
        "LD_LIBRARY_PATH",
        lambda m: guix_profile(elsewhere(m, "/gnu/store").in_loader_cache(LIB)),  # type: ignore[arg-type]
    ),
    "pip on Guix System": (None, "tf-import-failed", "gcc-14.3.0-lib/lib", lambda m: pip(m, "/gnu/store")),
    "pip on NixOS": (None, "tf-import-failed", "gcc-14.3.0-lib/lib", lambda m: pip(m, "/nix/store")),
    "pip on NixOS, with a path to the C++ runtime alone": (
        None,
        "driver-libcuda-missing",
        "/run/opengl-driver/lib",
        lambda m: pip(m, "/nix/store", "gcc-14.3.0-lib"),
    ),
    "pip on NixOS, the C++ runtime not copied": (
        None,
        "driver-libcuda-missing",
        "/run/opengl-driver/lib",
        lambda m: pip(m, "/nix/store", cpp=False),
    ),
    "a wrapper that names no packages": (
        NIX,
        "tf-not-installed",
        "",
        lambda m: script(nixos(m)),
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_python_from_a_store_that_finds_no_driver_gets_a_step_for_it(name: str, tmp_path: Path) -> None:
    python, code, cure, make = BROKEN[name]
    diagnosis = diagnosed(make(Store(tmp_path / "machine")), python)
    assert diagnosis.verdict.code == code, (codes(diagnosis), diagnosis.verdict.explanation)
    texts = [step.text for step in diagnosis.verdict.prescription]
    assert any(cure in text for text in texts), texts


def test_a_fault_in_guix_is_not_attributed_to_nix(tmp_path: Path) -> None:
    diagnosis = diagnosed(guix_profile(elsewhere(Store(tmp_path), "/gnu/store")), GUIX)
    whole = " ".join((diagnosis.verdict.title, diagnosis.verdict.explanation))
    assert "Guix" in whole
    assert "Nix" not in whole
