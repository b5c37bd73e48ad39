"""Provides nodes for the tests of `fleet`: real servers on this machine. If a server cannot run here, its
tests are skipped with the reason."""

from __future__ import annotations

import getpass
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.in_process import called_as_text

ROOT = Path(__file__).resolve().parents[2]


def free_port() -> int:
    """Return a port on the loopback interface on which nothing listens now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_for_port(port: int, process: subprocess.Popen[bytes], seconds: float = 15) -> None:
    """Wait until something listens on the port. Raises RuntimeError if the process ends first."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        if process.poll() is not None:
            break
        time.sleep(0.05)
    raise RuntimeError(f"nothing listens on port {port}: {process.args!r}")


def end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(5)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait(5)


def environment(folder: Path, tensorflow: str) -> Path:
    """Make a Python environment that states this TensorFlow release. Returns its site-packages, so that a
    node can have its own copy."""
    site = folder / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages"
    if not (folder / "bin").exists():
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True, timeout=120)
    for name, version in (("tensorflow", tensorflow), ("numpy", "1.26.4")):
        info = site / f"{name}-{version}.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        (info / "RECORD").write_text(f"{name}/__init__.py,,\n")
        (site / name).mkdir()
        (site / name / "__init__.py").write_text("")
    return site


class Hosts(NamedTuple):
    """The ssh hosts. config: the file for `ssh -F`. environment: the path of the Python environment on every
    node. folder: the folder that contains all their files."""

    config: Path
    environment: Path
    folder: Path


@pytest.fixture(scope="session")
def hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hosts]:
    """Hosts with ssh servers: n1, n2 and n3 answer (n2 has other files at the same paths; n3 is reached
    through n1). `hangs` does not answer, `refuses` has no server, `silent` accepts connections but sends
    nothing, the key of `stranger` is unknown, `noisy` sends a greeting of many lines, and `old` has no
    suitable Python."""
    sshd = shutil.which("sshd") or shutil.which("sshd", path="/usr/sbin:/usr/local/sbin")
    if sshd is None or shutil.which("ssh") is None:
        pytest.skip("there is no sshd (apt install openssh-server)")
    folder = tmp_path_factory.mktemp("ssh")
    for key in ("host", "user"):
        subprocess.run(
            ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / key)], check=True, timeout=30
        )
    shutil.copy(folder / "user.pub", folder / "authorized")
    mine, other = folder / "environment", folder / "other"
    environment(mine, "2.15.0")
    theirs = environment(other, "2.16.1")
    own_files = (
        subprocess.run(["unshare", "-m", "true"], capture_output=True, check=False).returncode == 0
        if shutil.which("unshare")
        else False
    )
    site = mine / theirs.relative_to(other)
    another = (
        f"unshare -m sh -c 'mount --bind {theirs} {site} && exec sh -c \"$SSH_ORIGINAL_COMMAND\"'"
        if own_files
        else "exit 9"
    )
    forced = {
        "n1": "",
        "n2": another,
        "hangs": "sleep 100",
        "noisy": "yes 'Welcome to the cluster' | head -2000; sh -c \"$SSH_ORIGINAL_COMMAND\"",
        "old": f'PATH={folder / "bin"} sh -c "$SSH_ORIGINAL_COMMAND"',
    }
    (folder / "bin").mkdir()
    (folder / "bin" / "sh").symlink_to("/bin/sh")
    if os.getuid() == 0:
        Path("/run/sshd").mkdir(exist_ok=True)
    servers, blocks = [], []
    silent = socket.create_server(("127.0.0.1", 0))
    try:
        ports = {name: free_port() for name in forced}
        for name, command in forced.items():
            config = folder / f"sshd_{name}"
            config.write_text(
                f"Port {ports[name]}\nListenAddress 127.0.0.1\nHostKey {folder / 'host'}\nAuthorizedKeysFile"
                f" {folder / 'authorized'}\nPidFile none\nStrictModes no\nUsePAM no\nPasswordAuthentication"
                " no\nPermitRootLogin yes\nMaxStartups 100\n"
                + (f"ForceCommand {command}\n" if command else "")
            )
            server = subprocess.Popen([sshd, "-D", "-e", "-f", str(config)], stderr=subprocess.DEVNULL)
            servers.append(server)
            wait_for_port(ports[name], server)
        public = (folder / "host.pub").read_text().split()
        known = [f"[127.0.0.1]:{port} {public[0]} {public[1]}" for port in ports.values()]
        (folder / "known").write_text("\n".join(known) + "\n")
        ports.update(
            n3=ports["n1"], stranger=ports["n1"], refuses=free_port(), silent=silent.getsockname()[1]
        )
        for name, port in ports.items():
            extra = {"n3": "  ProxyJump n1\n", "stranger": "  HostKeyAlias somebody-else\n"}.get(name, "")
            blocks.append(f"Host {name}\n  Port {port}\n{extra}")
        common = (
            f"Host *\n  HostName 127.0.0.1\n  User {getpass.getuser()}\n  IdentityFile {folder / 'user'}\n "
            f" IdentitiesOnly yes\n  UserKnownHostsFile {folder / 'known'}\n  GlobalKnownHostsFile"
            " /dev/null\n  StrictHostKeyChecking no\n"
        )
        (folder / "config").write_text("".join(blocks) + common)
        yield Hosts(folder / "config", mine, folder)
    finally:
        silent.close()
        for server in servers:
            end(server)


@pytest.fixture
def fleet() -> Callable[..., subprocess.CompletedProcess[str]]:
    """Call `fleet`: fleet("read", "folder"). Its output is text. env: additional environment variables."""

    def run(*words: str, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        return called_as_text("fleet", *words, env={**os.environ, **(env or {})})

    return run


class Cluster(NamedTuple):
    """The Slurm cluster. variables: the environment variables that Slurm's commands need to find it. folder:
    the folder that contains all its files. environment: the path of the Python environment on every node."""

    variables: dict[str, str]
    folder: Path
    environment: Path


SLURM = """\
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.sock
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool.%n
SlurmctldPidFile={folder}/ctld.pid
SlurmdPidFile={folder}/d.%n.pid
SlurmctldLogFile={folder}/ctld.log
SlurmdLogFile={folder}/d.%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
SlurmdTimeout=600
MessageTimeout=5
BatchStartTimeout=10
InactiveLimit=30
KillWait=2
JobAcctGatherType=jobacct_gather/none
GresTypes=gpu
SlurmdParameters=config_overrides
"""


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    """A Slurm cluster. n1 and n2 have two GPUs each (n2 has other files at the same paths), n3 has none. The
    slurmd on `dead` was killed, and the controller does not know that; the slurmd on `hangs` is suspended;
    and `broken` is drained, with a reason."""
    programs = {
        name: shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin")
        for name in ("slurmctld", "slurmd", "munged", "sinfo")
    }
    if not all(programs.values()):
        pytest.skip("there is no Slurm (apt install slurm-wlm munge)")
    if os.getuid() != 0:
        pytest.skip("only root can start a slurmctld and several slurmd")
    folder = Path(tempfile.mkdtemp(prefix="slurm"))  # other users cannot read pytest's own folders
    folder.chmod(0o755)
    mine, other = folder / "environment", folder / "other"
    environment(mine, "2.15.0")
    theirs = environment(other, "2.16.1")
    (folder / "key").write_bytes(os.urandom(1024))
    (folder / "key").chmod(0o400)
    host = socket.gethostname().partition(".")[0]
    names = {"n1": 2, "n2": 2, "n3": 0, "dead": 0, "hangs": 0, "broken": 0}
    rows = [SLURM.format(host=host, port=free_port(), folder=folder)]
    for name, gpus in names.items():
        rows.append(
            f"NodeName={name} NodeHostname={host} NodeAddr=127.0.0.1 Port={free_port()} CPUs=4"
            " RealMemory=1000 State=UNKNOWN" + (f" Gres=gpu:{gpus}" if gpus else "") + "\n"
        )
    rows.append("PartitionName=gpu Nodes=ALL Default=YES MaxTime=INFINITE State=UP OverSubscribe=FORCE:4\n")
    (folder / "slurm.conf").write_text("".join(rows))
    for name in ("gpu0", "gpu1"):
        (folder / name).touch()
    (folder / "gres.conf").write_text(f"AutoDetect=off\nNodeName=n[1-2] Name=gpu File={folder}/gpu[0-1]\n")
    variables = {"SLURM_CONF": str(folder / "slurm.conf")}
    running: list[subprocess.Popen[bytes]] = []
    by_name: dict[str, subprocess.Popen[bytes]] = {}

    def start(*command: str) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            command,
            env={**os.environ, **variables},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        running.append(process)
        return process

    def states() -> dict[str, str]:
        done = subprocess.run(
            ["sinfo", "-h", "-N", "-o", "%N %T"],
            env={**os.environ, **variables},
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )
        return dict(row.split()[:2] for row in done.stdout.splitlines())  # type: ignore[misc]

    try:
        start(
            programs["munged"] or "",
            "--foreground",
            "--force",
            f"--socket={folder}/munge.sock",
            f"--key-file={folder}/key",
            f"--pid-file={folder}/munge.pid",
            f"--seed-file={folder}/seed",
            f"--log-file={folder}/munge.log",
        )
        wait_until(lambda: (folder / "munge.sock").exists(), "munged makes no socket")
        (folder / "state").mkdir()
        start(programs["slurmctld"] or "", "-D", "-c")
        site = mine / theirs.relative_to(other)
        (folder / "hosts").write_text(f"127.0.0.1 localhost {host} n1 n2 n3\n")
        apart = (
            shutil.which("unshare")
            and subprocess.run(["unshare", "-m", "true"], capture_output=True, check=False).returncode == 0
        )
        for name in names:
            if name == "broken":
                continue
            (folder / f"spool.{name}").mkdir()
            command = [programs["slurmd"] or "", "-D", "-N", name]
            if apart:  # a node knows the other nodes by name, and n2 has its own files
                own = f"mount --bind {theirs} {site} && " if name == "n2" else ""
                line = f"mount --bind {folder}/hosts /etc/hosts && {own}exec {' '.join(command)}"
                command = ["unshare", "-m", "sh", "-c", line]
            by_name[name] = start(*command)
        ready = {name for name in names if name != "broken"}
        wait_until(
            lambda: {n for n, state in states().items() if state == "idle"} >= ready,
            f"slurm does not get ready: {states()}",
        )
        subprocess.run(
            ["scontrol", "update", "NodeName=broken", "State=DRAIN", "Reason=bad DIMM | ask Kim"],
            env={**os.environ, **variables},
            check=True,
            timeout=30,
        )
        by_name["dead"].kill()
        by_name["dead"].wait(5)
        by_name["hangs"].send_signal(signal.SIGSTOP)
        yield Cluster(variables, folder, mine)
    finally:
        for process in reversed(running):
            if process.poll() is None:
                process.send_signal(signal.SIGCONT)
                end(process)
        shutil.rmtree(folder, ignore_errors=True)


def wait_until(what: Callable[[], bool], why: str, seconds: float = 30) -> None:
    """Wait until a condition holds. Skips the tests if it never does, because then the fault is not in this
    project."""
    end_of_patience = time.monotonic() + seconds
    while time.monotonic() < end_of_patience:
        if what():
            return
        time.sleep(0.2)
    pytest.skip(why)
