"""How a program is started so that it finds its libraries: in the words of the activation, module, unit or
kernel.

In: the details of the symptoms start-would-serve and start-needed (doctor.probe.ways). Out: steps.
"""

from __future__ import annotations

from doctor.facts import Symptom
from doctor.findings import Step, manual, shell
from doctor.shell import Path, run

NAMED = {
    "login": "a login shell",
    "container": "the container's first process",
    "modules": "the modules",
}


def enter(start: Symptom) -> list[Step]:
    """What starts the program in the way that serves."""
    kind, name, file, value = (start.get(key) for key in ("kind", "name", "file", "value"))
    given = _give_to(start, value)
    if given:
        return given
    if kind == "activation":
        prefix = name.rpartition(" ")[2]
        conda = "/conda-meta/" in file or "/etc/conda/" in file
        command = (
            run("conda", "activate", Path(prefix)) if conda else run("source", Path(f"{prefix}/bin/activate"))
        )
        return [
            shell(
                command, f"sets the path that {file} holds; start the program in that shell", platform="linux"
            )
        ]
    if kind == "modules":
        names = start.get("modules").split()
        return [
            shell(run("module", "load", *names), "puts their folders on the loader's path", platform="linux"),
            manual(
                f"Put the same line into the job script, before the program: module load {' '.join(names)}"
            ),
        ]
    if kind == "container":
        return [
            manual(
                f"Start the program with the variables of the container's first process: LD_LIBRARY_PATH={value}; "
                "docker exec and kubectl exec give them, a login over ssh does not"
            )
        ]
    return [
        manual(
            f"Start the program from {NAMED.get(kind, name)}, as {file} sets LD_LIBRARY_PATH={value} there"
        )
    ]


def _give_to(start: Symptom, value: str) -> list[Step]:
    """What gives the way that fails the path of the one that serves, where it has a file of its own to hold
    it."""
    of, kind, file = (start.get(key) for key in ("of", "of_kind", "of_file"))
    if kind == "service":
        unit = file.rpartition("/")[2]
        return [
            manual(
                f'In {file}, below [Service], add Environment="LD_LIBRARY_PATH={value}"',
                "a service has none of the variables of shells and environments",
            ),
            shell(
                run("sudo", "systemctl", "daemon-reload"), "reads the unit anew", platform="linux", root=True
            ),
            shell(
                run("sudo", "systemctl", "restart", unit),
                "starts it with the path",
                platform="linux",
                root=True,
            ),
        ]
    if kind == "notebook":
        return [manual(f'In {file} add "env": {{"LD_LIBRARY_PATH": "{value}"}}, then restart the kernel')]
    if kind == "editor":
        return [
            manual(
                f"In {file}, or in the settings of the program that it belongs to, set LD_LIBRARY_PATH={value}"
            )
        ]
    if kind == "job" and start.get("modules"):
        return [manual(f"In {file} add, before the program: module load {start.get('modules')}")]
    if kind == "job":
        return [manual(f"In {file} add, before the program: export LD_LIBRARY_PATH={value}", of)]
    return []


def note(start: Symptom) -> str:
    """The sentence of a machine that works in one way of starting only."""
    return (
        f" This holds for {start.get('name')}, where {start.get('file')} sets the loader's path: a program that is started "
        f"in another way does not find {start.get('missing')}."
    )
