"""Steps that start a program so that it finds its libraries: by an environment's activation, an environment
module, a systemd unit or a notebook kernel.

In: the details of the symptoms start-would-serve and start-needed (doctor.probe.ways). Out: steps.
"""

from __future__ import annotations

from doctor.facts import Symptom
from doctor.findings import Step, manual, shell
from doctor.remedies import driver
from doctor.shell import Path, rendered, run

NAMED = {
    "login": "a login shell",
    "container": "the container's first process",
    "modules": "the modules",
}


def enter(start: Symptom) -> list[Step]:
    """Steps that start the program in the way that works."""
    kind, name, file, value = (start.get(key) for key in ("kind", "name", "file", "value"))
    if given := _give_to(start, value):
        return given
    if kind == "activation":
        prefix = name.rpartition(" ")[2]
        conda = "/conda-meta/" in file or "/etc/conda/" in file
        if conda and start.get("of_kind") == "container":  # no shell runs before a container's first process
            again = run("conda", "run", "--no-capture-output", "-p", Path(prefix), "python", "PROGRAM.py")
            why = "make this the CMD or ENTRYPOINT of the image; it activates the environment first"
            return [manual(f"Start the container's program with {rendered(again, '')}", why)]
        command = (
            run("conda", "activate", Path(prefix)) if conda else run("source", Path(f"{prefix}/bin/activate"))
        )
        why = f"sets LD_LIBRARY_PATH from {file}; start the program in that shell"
        return [shell(command, why, platform="linux")]
    if kind == "modules":
        names = start.get("modules").split()
        return [
            shell(run("module", "load", *names), "sets LD_LIBRARY_PATH for the modules", platform="linux"),
            manual(
                "Put the same line into the job script, above the line that starts the program: module load"
                f" {' '.join(names)}"
            ),
        ]
    if kind == "container":
        return [
            manual(
                f"Set LD_LIBRARY_PATH={value} before you start the program, as it is set for the container's"
                " first process; docker exec and kubectl exec set it too, but a login over ssh does not"
            )
        ]
    return [
        manual(f"Start the program from {NAMED.get(kind, name)}, where {file} sets LD_LIBRARY_PATH={value}")
    ]


def _give_to(start: Symptom, value: str) -> list[Step]:
    """Steps that copy LD_LIBRARY_PATH from the way of starting that works to the file that starts the program
    in the way that fails; none if there is no such file."""
    kind, file = start.get("of_kind"), start.get("of_file")
    if kind == "service":
        unit = file.rpartition("/")[2]
        return [
            manual(
                f'In {file}, below [Service], add Environment="LD_LIBRARY_PATH={value}"',
                "a service does not inherit variables that are set in a shell or by activating an"
                " environment",
            ),
            driver.as_root(
                run("sudo", "systemctl", "daemon-reload"), "makes systemd read the unit file again"
            ),
            driver.as_root(
                run("sudo", "systemctl", "restart", unit), "restarts the service with the new LD_LIBRARY_PATH"
            ),
        ]
    if kind == "notebook":
        return [manual(f'In {file}, add "env": {{"LD_LIBRARY_PATH": "{value}"}}, then restart the kernel')]
    if kind == "editor":
        return [
            manual(
                f"In {file}, or in the settings of the program that uses this file, set"
                f" LD_LIBRARY_PATH={value}"
            )
        ]
    if kind == "job":
        modules = start.get("modules")
        line = f"module load {modules}" if modules else f"export LD_LIBRARY_PATH={value}"
        why = "sets LD_LIBRARY_PATH for the modules" if modules else "the loader then searches these folders"
        return [manual(f"In {file}, add this line above the one that starts the program: {line}", why)]
    return []


def note(start: Symptom) -> str:
    """A sentence to add to the verdict if the program works only when it is started in one particular way."""
    return (
        f" This applies to {start.get('name')}, where {start.get('file')} sets LD_LIBRARY_PATH: a program"
        f" that is started in another way does not find {start.get('missing')}."
    )
