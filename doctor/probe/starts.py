"""Finds the ways to start a program in a Python environment, and the environment variables that each way
sets.

Environment variables belong to a process, not to a machine. A login shell gets them from /etc/environment and
the profile, an activated environment from activate.d and its project, a service from its unit, a notebook
from its kernel's specification, a job from the modules that it loads, and a container from its first process.
Sources: conda, "Managing environments", environment variables; pam_env(8); environment.d(5); systemd.exec(5);
jupyter_client, "Kernel specs"; Apptainer, "Environment and Metadata".
"""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Iterator, Mapping

from doctor import lazy
from doctor.backports import removeprefix
from doctor.facts import Source
from doctor.probe import containers, project_files
from doctor.probe.accounts import home_of, rows
from doctor.probe.machine import Machine
from doctor.probe.module_files import Module, loaded, modules
from doctor.probe.python_paths import named_folders
from doctor.probe.start_files import StartFiles
from doctor.values import dataclass, field, replace

SIZE = 64 << 10
SCRIPTS_LIMIT = 100
RUN_BY = {
    "zsh": (".zshenv", ".zprofile", ".zshrc"),
    "fish": (".config/fish/config.fish",),
    "tcsh": (".tcshrc", ".cshrc"),
    "csh": (".cshrc",),
}
"""Files in the home folder that shells other than bash read when they start (zsh(1), fish(1), tcsh(1))."""
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
UNITS = (
    "/etc/systemd/system",
    "/usr/local/lib/systemd/system",
    "/home/*/.config/systemd/user",
    "/root/.config/systemd/user",
)
KERNELS = (
    "{prefix}/share/jupyter/kernels",
    "/usr/local/share/jupyter/kernels",
    "/usr/share/jupyter/kernels",
    "{home}/.local/share/jupyter/kernels",
)
JOBS = (
    "{home}/*.sh",
    "{home}/*.sbatch",
    "{home}/*.slurm",
    "{home}/*.job",
    "{home}/*.pbs",
    "{home}/*/*.sbatch",
    "{home}/*/*.slurm",
)
EDITORS = (
    "{home}/*/.vscode/launch.json",
    "{home}/*/.vscode/settings.json",
    "{home}/*/.idea/workspace.xml",
    "{home}/*/.idea/runConfigurations/*.xml",
    "{home}/*/*/.vscode/launch.json",
    "{home}/*/*/.idea/workspace.xml",
)
SCHEDULED = lazy.compile(r"^#(?:SBATCH|PBS|BSUB|\$ )", re.MULTILINE)
MATTERS = ("LD_LIBRARY_PATH", "LD_PRELOAD", "CUDA_VISIBLE_DEVICES")
"""The variables that affect the verdict if a notebook kernel or an editor sets them."""


@dataclass(frozen=True, slots=True)
class Start:
    """One way to start a program: its kind, a readable name, its variables, and the files that set them.

    kind: process, container, login, activation, service, notebook, editor, job or modules. names: the
    environment modules to load.
    """

    kind: str
    name: str
    env: Mapping[str, str]
    origins: Mapping[str, Source] = field(default_factory=dict)
    names: tuple[str, ...] = ()

    def origin(self, variable: str) -> Source | None:
        """The file that sets a variable last; None if no file does."""
        return self.origins.get(variable)


def first_process(machine: Machine) -> dict[str, str]:
    """The variables of a container's first process; {} for a host, or if they cannot be read."""
    pairs = (part.partition("=") for part in machine.text_seen("/proc/1/environ", SIZE).split("\0"))
    return {name: value for name, sign, value in pairs if sign}


def of_first_process(env: Mapping[str, str]) -> Start:
    """The way in which a container starts its first process, which has these variables."""
    origins = dict.fromkeys(env, Source("/proc/1/environ"))
    return Start("container", "the container's first process", env, origins)


def first_program(machine: Machine) -> str:
    """The program of a container's first process; "" if it cannot be read."""
    return machine.text_seen("/proc/1/cmdline", SIZE).partition("\0")[0]


def is_python(program: str, prefix: str) -> bool:
    """Whether a program belongs to an environment, or is a bare Python name, which is looked up on PATH."""
    return program.startswith(f"{prefix}/bin/") or re.fullmatch(r"python[\d.]*", program) is not None


def base(machine: Machine, prefix: str | None = None, site: tuple[str, ...] = ()) -> Start:
    """The way to start a program without any activation: with the container's own variables, or on a host
    with the login shell's variables."""
    own = first_process(machine)
    if own and (own.get("container") or containers.inside(machine)):
        return of_first_process(own)
    if machine.exists("/.singularity.d"):
        files = StartFiles(machine, {"PATH": PATH})
        for path in machine.glob("/.singularity.d/env/*.sh"):
            files.source(path)
        if machine.names_seen("/.singularity.d/libs"):
            libs = "/.singularity.d/libs"  # the host's driver libraries, which --nv adds
            files.set("LD_LIBRARY_PATH", f"{files.env.get('LD_LIBRARY_PATH', '')}:{libs}".strip(":"), libs)
        return Start("container", "the container's start files", files.env, files.origins)
    files = _login(machine, prefix, site)
    env: Mapping[str, str] = files.env
    if files.modules:
        env = loaded(modules(machine, files.module_folders), files.modules, env)
    return Start("login", "a login shell", env, files.origins, tuple(files.modules))


def _login(machine: Machine, prefix: str | None, site: tuple[str, ...]) -> StartFiles:
    home = home_of(machine, prefix)
    files = StartFiles(
        machine, {"HOME": home, "PATH": PATH, "PS1": "$", "USER": posixpath.basename(home)}, site
    )
    path = "/etc/environment"
    for number, line in enumerate(machine.text_seen(path, SIZE).splitlines(), 1):
        name, sign, value = removeprefix(line.strip(), "export ").partition("=")
        if sign and re.fullmatch(r"\w+", name):
            files.set(name, value.strip().strip("\"'"), path, number)
    path = "/etc/security/pam_env.conf"
    for number, line in enumerate(machine.text_seen(path, SIZE).splitlines(), 1):
        match = re.match(r"(\w{1,80})\s.{0,2000}?\b(?:OVERRIDE|DEFAULT)=(\"[^\"]{0,4000}\"|\S{1,4000})", line)
        if match and "@{" not in match[2]:
            files.set(match[1], files.filled(match[2].strip('"')), path, number)
    for folder in ("/etc", f"{home}/.config"):
        for path in machine.glob(f"{folder}/environment.d/*.conf"):
            files.source(path)  # assignments in the same syntax as in a shell
    files.source("/etc/profile.env")  # Gentoo's env-update writes it from /etc/env.d
    if not files.source("/etc/profile") or not any("profile.d" in s.where for s in files.origins.values()):
        for path in machine.glob("/etc/profile.d/*.sh"):
            files.source(path)
    for name in (".bash_profile", ".bash_login", ".profile"):
        if files.source(f"{home}/{name}"):
            break
    for name in RUN_BY.get(_shell_of(machine, home), (".bashrc",)):
        files.source(f"{home}/{name}")
    return files


def _shell_of(machine: Machine, home: str) -> str:
    """The name of the login shell of the user with this home folder: from passwd(5), otherwise guessed from
    the folder's files; "" if neither shows it."""
    for fields in rows(machine, "/etc/passwd", 7):
        if fields[5] == home:
            return posixpath.basename(fields[6])
    if machine.exists(f"{home}/.bashrc"):
        return ""
    used = (shell for shell, names in RUN_BY.items() if any(machine.exists(f"{home}/{n}") for n in names))
    return next(used, "")


def activated(machine: Machine, start: Start, prefix: str, site: tuple[str, ...]) -> Start:
    """The Start that results if `start` also activates an environment: conda's variables and activate.d, or a
    venv's activate script."""
    files = StartFiles(machine, start.env, site, start.origins)
    files.env["PATH"] = f"{prefix}/bin:{files.env.get('PATH', PATH)}"
    if machine.is_dir(f"{prefix}/conda-meta"):
        files.env["CONDA_PREFIX"] = prefix
        state = f"{prefix}/conda-meta/state"
        try:
            stated = json.loads(machine.text_seen(state, SIZE) or "{}").get("env_vars")
        except (ValueError, AttributeError, RecursionError):
            stated = None
        for name, value in (stated or {}).items() if isinstance(stated, dict) else ():
            if isinstance(value, str):
                files.set(str(name), value, state)
        for path in machine.glob(f"{prefix}/etc/conda/activate.d/*.sh"):
            files.source(path)
    else:
        files.env["VIRTUAL_ENV"] = prefix
        for path in (f"{prefix}/bin/activate", f"{prefix}/bin/postactivate"):
            files.source(path)
        files.env["VIRTUAL_ENV"] = prefix
    project_files.follow(files, prefix)
    return Start("activation", f"the activated environment {prefix}", files.env, files.origins, start.names)


def explicit(machine: Machine, prefix: str, site: tuple[str, ...]) -> Iterator[Start]:
    """The ways to start that refer to this environment's Python explicitly: services, notebook kernels,
    editors, jobs."""
    yield from _services(machine, prefix)
    login = base(machine, prefix, site)
    whole = activated(machine, login, prefix, site)
    yield from _notebooks(machine, prefix, login, whole)
    yield from _editors(machine, prefix, login)
    yield from _jobs(machine, prefix, site, login)


def _stated(kind: str, name: str, path: str, files: StartFiles) -> Start:
    """The way to start a program that the file `path` states. files: the result of following that file."""
    origins = {**files.origins, "": Source(path)}
    return Start(kind, name, files.env, origins, tuple(files.modules))


def _services(machine: Machine, prefix: str) -> Iterator[Start]:
    """systemd units whose ExecStart is a program of the environment."""
    for folder in (path for pattern in UNITS for path in machine.glob(pattern)):
        for name in machine.names_seen(folder):
            if not name.endswith(".service"):
                continue
            text = "\n".join(
                machine.text_seen(path, SIZE)
                for path in (f"{folder}/{name}", *machine.glob(f"{folder}/{name}.d/*.conf"))
            )
            started = re.search(r"^ExecStart=[-@:+!]*(\S+)", text, re.MULTILINE)
            if started is None or not started[1].startswith(f"{prefix}/bin/"):
                continue
            files = StartFiles(machine, {"PATH": PATH})
            for number, line in enumerate(text.splitlines(), 1):
                if line.startswith("Environment="):
                    for a, b, c in re.findall(
                        r'"(\w{1,80})=([^"]{0,2000})"|\'?(\w{1,80}=[^\s"\']{0,2000})\'?',
                        line.partition("=")[2],
                    ):
                        variable, _, value = c.partition("=") if c else (a, "=", b)
                        files.set(variable, value, f"{folder}/{name}", number)
                elif line.startswith("EnvironmentFile="):
                    path = line.partition("=")[2].lstrip("-").strip()
                    if path.startswith("/"):
                        files.source(path)
            yield _stated("service", f"the service {name}", f"{folder}/{name}", files)


def _notebooks(machine: Machine, prefix: str, login: Start, whole: Start) -> Iterator[Start]:
    """Notebook kernels with a specification that refers to this Python and sets one of the variables in
    MATTERS."""
    home = home_of(machine, prefix)
    for place in KERNELS:
        folder = place.format(prefix=prefix, home=home)
        for path in machine.glob(f"{folder}/*/kernel.json"):
            try:
                spec = json.loads(machine.text_seen(path, SIZE))
                argv, env = spec.get("argv"), spec.get("env")
            except (ValueError, AttributeError, RecursionError):
                continue
            own = folder.startswith(f"{prefix}/")
            program = str(argv[0]) if isinstance(argv, list) and argv else ""
            mine = program.startswith(f"{prefix}/bin/") or (own and "/" not in program)
            if not mine or not isinstance(env, dict) or not any(name in env for name in MATTERS):
                continue
            before = whole if own else login
            files = StartFiles(machine, before.env, origins=before.origins)
            for name, value in env.items():
                if isinstance(value, str):
                    files.set(str(name), files.filled(value), path)
            title = spec.get("display_name")
            shown = title if isinstance(title, str) else posixpath.basename(posixpath.dirname(path))
            yield _stated("notebook", f'the notebook kernel "{shown}"', path, files)


def _editors(machine: Machine, prefix: str, login: Start) -> Iterator[Start]:
    """Run configurations of VS Code and PyCharm that set one of the variables in MATTERS for this Python."""
    home = home_of(machine, prefix)
    for path in (path for pattern in EDITORS for path in machine.glob(pattern.format(home=home))):
        text = machine.text_seen(path, SIZE)
        named = re.findall(
            r'"(?:python|python\.defaultInterpreterPath)"\s*:\s*"([^"]+)"|"SDK_HOME" value="([^"]+)"', text
        )
        programs = [(a or b).replace("$USER_HOME$", home) for a, b in named]
        project = posixpath.dirname(posixpath.dirname(path))
        for sign in ("${workspaceFolder}", "$PROJECT_DIR$"):
            programs = [program.replace(sign, project) for program in programs]
        if any(p.startswith("/") and not p.startswith(f"{prefix}/") for p in programs) or not (
            programs or prefix.startswith(f"{project}/")
        ):
            continue
        pairs = re.findall(r'"(\w+)"\s*:\s*"([^"]*)"|<env name="(\w+)" value="([^"]*)"', text)
        values = {a or c: b or d for a, b, c, d in pairs if (a or c) in MATTERS}
        if values:
            files = StartFiles(machine, login.env, origins=login.origins)
            filled = {name: files.filled(value.replace("${env:", "${")) for name, value in values.items()}
            for name, value in filled.items():
                files.set(name, value, path)
            yield _stated("editor", f"the run configuration in {path}", path, files)


def _jobs(machine: Machine, prefix: str, site: tuple[str, ...], login: Start) -> Iterator[Start]:
    """Job scripts of a scheduler, with the variables, environments and modules that they export, activate and
    load."""
    home = home_of(machine, prefix)
    known: list[Module] | None = None
    scripts = dict.fromkeys(path for pattern in JOBS for path in machine.glob(pattern.format(home=home)))
    for path in list(scripts)[:SCRIPTS_LIMIT]:
        text = machine.text_seen(path, SIZE)
        if not SCHEDULED.search(text):
            continue
        files = StartFiles(machine, login.env, site, login.origins)
        files.source(path)
        env: Mapping[str, str] = files.env
        if files.modules:
            known = modules(machine, files.module_folders) if known is None else known
            env = loaded(known, files.modules, env)
        if re.search(r"(?:conda|mamba|micromamba) activate|source activate", text) and machine.is_dir(
            f"{prefix}/conda-meta"
        ):
            env = activated(machine, Start("job", "", env, files.origins), prefix, site).env
        yield replace(_stated("job", f"the job {path}", path, files), env=env)


def with_modules(
    machine: Machine, start: Start, missing: tuple[str, ...], known: list[Module]
) -> Start | None:
    """The Start that results if `start` also loads the environment modules that contain the missing
    libraries; None if no module contains any of them."""
    chosen: dict[str, Module] = {}
    for name in missing:
        holding = [m for m in known if any(machine.exists(f"{folder}/{name}") for folder in m.folders())]
        if holding and not any(m.name in chosen for m in holding):
            best = max(
                holding, key=lambda m: sum(machine.exists(f"{f}/{n}") for f in m.folders() for n in missing)
            )
            chosen[best.name] = best
    if not chosen:
        return None
    env = loaded(known, chosen, start.env)
    first = next(iter(chosen.values()))
    origins = {"LD_LIBRARY_PATH": Source(first.path, None, f"module {first.name}")}
    name = f"a shell with the modules {' '.join(chosen)} loaded"
    return Start("modules", name, env, origins, tuple(chosen))


def of_tensorflow(machine: Machine, start: Start, version: str | None = None) -> Iterator[Start]:
    """One start for each environment module that provides TensorFlow, with the module loaded. Builds for CUDA
    and newer modules come first.

    version: the version of the chosen Python, if one was chosen; modules for other versions are left out.
    """
    known = modules(replace(machine, env=start.env))
    minor = ".".join((version or "").split(".")[:2])
    found: list[tuple[tuple[object, ...], Start]] = []
    for module in known:
        if not re.search(r"(?:^|/)(?:py-)?tensorflow/", module.name, re.IGNORECASE):
            continue
        env = loaded(known, [module.name], start.env)
        place = next(
            (path for path in named_folders(machine, env) if machine.is_dir(f"{path}/tensorflow")), None
        )
        other = minor and re.search(r"/python\d\.\d", place or "") and f"/python{minor}/" not in (place or "")
        if place is None or other:
            continue
        numbers = tuple(int(number) for number in re.findall(r"\d+", module.name.rpartition("/")[2]))
        of_cuda = any(re.search("cuda|cudnn", name, re.IGNORECASE) for name in (module.name, *module.loads))
        source = Source(module.path, None, f"module {module.name}")
        origins = {**start.origins, "LD_LIBRARY_PATH": source, "PYTHONPATH": source}
        name = f"a shell with the module {module.name} loaded"
        found.append(((of_cuda, numbers), Start("modules", name, env, origins, (module.name,))))
    yield from (shell for _, shell in sorted(found, key=lambda entry: entry[0], reverse=True))
