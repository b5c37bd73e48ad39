"""Asks NVML and libcuda about the driver and its GPUs, in a child process with a time limit.

The child prints JSON lines between cookies (random words that mark its own output), which become facts here.
If neither library reports a GPU, this module runs nvidia-smi, where it is installed.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from typing import Any

from doctor.facts import (
    CudaCallFailed,
    DriverCuda,
    DriverMismatch,
    DriverVersion,
    Fact,
    Gpu,
    GpuMemory,
    GpuProcess,
    LibraryLoaded,
    LibraryNotLoaded,
    Source,
    Symptom,
    Unreadable,
)
from doctor.facts.statuses import SYMPTOMS
from doctor.probe.machine import Machine
from doctor.probe.running import Ran
from doctor.probe.script import ANSWER_LIMIT, listed, run_script

LIMIT = 20.0
"""The child's time limit in seconds. On an 8-GPU machine without persistence mode, cuInit takes several
seconds."""
MIB = 1 << 20
COMPUTE_MODES = {1: "exclusive", 2: "prohibited", 3: "exclusive"}
"""The values of nvmlComputeMode_t and CUcomputemode; 1, exclusive to one thread, is obsolete."""
NVML, LIBCUDA = "libnvidia-ml.so.1", "libcuda.so.1"
SAME_AS_LOGGED = {
    **{name: symptom for name, symptom in SYMPTOMS.items() if symptom != "invalid-ordinal"},
    "CUDA_ERROR_STUB_LIBRARY": "cuda-stub-on-path",
}
"""Errors that logs also show, each with the symptom that doctor.logs reports for it. invalid-ordinal is left
out: it means that a program chose a wrong device number, but the calls here use only numbers of counted
devices."""
SMI_PLACES = (
    "/usr/bin/nvidia-smi",
    "/usr/lib/wsl/lib/nvidia-smi",
    "/usr/local/nvidia/bin/nvidia-smi",
    "/opt/bin/nvidia-smi",
    "C:\\Windows\\System32\\nvidia-smi.exe",
    "C:\\Program Files\\NVIDIA Corporation\\NVSMI\\nvidia-smi.exe",
)
SMI_FIELDS = (
    "index",
    "name",
    "uuid",
    "pci.bus_id",
    "driver_version",
    "memory.total",
    "memory.used",
    "memory.free",
)


def answers(machine: Machine) -> tuple[Ran | None, dict[str, Any]]:
    """Run the child, or use the recorded answer. Returns the result of Machine.run, and the answers by part:
    "nvml", "cuda" and "callers"."""
    python = [sys.executable, "-I", "-B"]
    folders = [folder for folder in sys.path if folder]
    ran, found = run_script(machine, "driver", python, "_ask_driver.py", LIMIT, folders)
    return ran, {str(part.get("part")): part.get("answer") for part in found if isinstance(part, dict)}


def ask(machine: Machine) -> Iterator[Fact]:
    """The facts from NVML and libcuda, or from nvidia-smi if neither reports a GPU."""
    ran, parts = answers(machine)
    if ran is None:
        return
    nvml, cuda = parts.get("nvml"), parts.get("cuda")
    facts = [*_nvml(nvml), *_cuda(cuda)] if isinstance(nvml, dict) or isinstance(cuda, dict) else []
    yield from facts
    yield from _callers(parts.get("callers"))
    for part, library in (("nvml", NVML), ("cuda", LIBCUDA)):
        if not isinstance(parts.get(part), dict):
            yield from _no_answer(ran, library, part)
    if not any(isinstance(fact, Gpu) for fact in facts):
        yield from _smi(machine)


def _callers(answer: Any) -> Iterator[Fact]:
    """The symptom that processes which started tfgpu-doctor, such as a notebook kernel, use a GPU."""
    pids = [str(pid) for pid in listed(answer, int)]
    if pids:
        subject = f"process {pids[0]} is" if len(pids) == 1 else f"processes {', '.join(pids)} are"
        text = f"{subject} using a GPU, and started this check"
        yield Symptom(Source("/proc/PID/fd", None, text), "caller-uses-gpu", (("pids", " ".join(pids)),))


def _no_answer(ran: Ran, library: str, part: str) -> Iterator[Fact]:
    """The facts if the child reported nothing about one library, because it hung, crashed or could not
    start."""
    call = {"nvml": "nvmlInit", "cuda": "cuInit"}[part]
    if ran.timed_out:
        source = Source(f"{library}: {call}", None, f"no answer in {LIMIT:.0f} s")
        yield Symptom(source, "hung-driver", (("call", call), ("seconds", f"{LIMIT:.0f}")))
        yield Unreadable(source, library, f"{call} did not return in {LIMIT:.0f} s")
    else:
        killed_by = -ran.status if ran.status is not None and ran.status < 0 else None
        how = "no exit status" if ran.status is None else f"status {ran.status}"
        how = f"signal {killed_by}" if killed_by is not None else how
        last = (ran.err.strip().splitlines() or [ran.failure or "no output"])[-1]
        source = Source(f"{library}: {call}", None, f"the process that called it ended with {how}: {last}")
        if killed_by is not None:
            yield Symptom(source, "driver-call-crashed", (("call", call), ("signal", str(killed_by))))
        yield Unreadable(source, library, f"the process that called {call} ended with {how}")


def _nvml(answer: Any) -> Iterator[Fact]:
    """NVML's answer as facts."""
    if not isinstance(answer, dict):
        return
    where = _file(answer, NVML)
    failed, error = answer.get("failed"), str(answer.get("error", ""))
    if failed == "import":
        why = "nvidia-ml-py is not installed together with tfgpu-doctor"
        yield Unreadable(Source("nvidia-ml-py", None, error), NVML, why)
    elif failed:
        yield from _refused(where, str(failed), error)
    if answer.get("driver"):
        source = Source(f"{where}: nvmlSystemGetDriverVersion", None, str(answer["driver"]))
        yield DriverVersion(source, str(answer["driver"]), "any")
    for device in listed(answer.get("devices"), dict):
        yield from _nvml_device(device, where)


def _nvml_device(device: Mapping[str, Any], where: str) -> Iterator[Fact]:
    index = _number(device.get("index")) or 0
    if device.get("error"):
        yield from _refused(where, "nvmlDeviceGetHandleByIndex", str(device["error"]))
        return
    sizes = device.get("memory")
    memory = [_number(value) for value in sizes] if isinstance(sizes, list) else []
    total = memory[0] // MIB if memory and memory[0] is not None else None
    name = _word(device.get("name"))
    text = f"{index}: {name}, compute capability {device.get('capability')}, {total} MiB"
    yield Gpu(
        Source(f"{where}: nvmlDeviceGetHandleByIndex({index})", None, text),
        name=name,
        compute_capability=_capability(device.get("capability")),
        memory_mib=total,
        pci_id=_word(device.get("pci_id")),
        index=index,
        bus_id=bus(_word(device.get("bus_id"))),
        uuid=_word(device.get("uuid")),
    )
    if len(memory) == 3 and None not in memory:
        parts = [value // MIB for value in memory if value is not None]
        text = f"{index}: {parts[1]} MiB used, {parts[2]} MiB free of {parts[0]} MiB"
        yield GpuMemory(Source(f"{where}: nvmlDeviceGetMemoryInfo", None, text), index, *parts)
    for entry in listed(device.get("processes"), list):
        pid, used, process = (*entry, None, None, None)[:3]
        if isinstance(pid, int):
            mib = used // MIB if isinstance(used, int) else None
            held = f"{mib} MiB" if mib is not None else "its memory is not reported"
            text = f"process {pid}" + (f" ({process})" if process else "") + f" on GPU {index}: {held}"
            source = Source(f"{where}: nvmlDeviceGetComputeRunningProcesses", None, text)
            yield GpuProcess(source, pid, process, mib, index)
    yield from _modes(device, index, where)


def _modes(device: Mapping[str, Any], index: int, where: str) -> Iterator[Fact]:
    """Symptoms for settings and errors that a training job does not expect: the compute mode, MIG, ECC
    errors, the persistence mode."""
    gpu = ("gpu", str(index))
    mode = COMPUTE_MODES.get(_number(device.get("compute_mode")) or 0)
    if mode:
        source = Source(f"{where}: nvmlDeviceGetComputeMode", None, f"GPU {index}: {mode}")
        yield Symptom(source, f"compute-mode-{mode}", (gpu,))
    if device.get("mig"):
        parts = listed(device.get("mig_devices"), dict)
        names = ", ".join(str(part.get("name")) for part in parts)
        text = f"GPU {index}: MIG is on, instances: {names or 'none'}"
        source = Source(f"{where}: nvmlDeviceGetMigMode", None, text)
        yield Symptom(source, "mig-enabled", (gpu, ("instances", str(len(parts))), ("names", names)))
    if _number(device.get("ecc_uncorrected")):
        text = f"GPU {index}: {device['ecc_uncorrected']} uncorrected ECC errors since the driver was loaded"
        detail = (gpu, ("count", str(device["ecc_uncorrected"])))
        yield Symptom(Source(f"{where}: nvmlDeviceGetTotalEccErrors", None, text), "ecc-errors", detail)
    if device.get("persistence") == 0 and sys.platform == "linux":
        source = Source(f"{where}: nvmlDeviceGetPersistenceMode", None, f"GPU {index}: off")
        yield Symptom(source, "persistence-mode-off", (gpu,))


def _refused(where: str, call: str, error: str) -> Iterator[Fact]:
    """The facts about a failed call: the error, and the symptom that a log with the same error would have."""
    source = Source(f"{where}: {call}", None, error)
    yield CudaCallFailed(source, call, error)
    if error in SAME_AS_LOGGED:
        yield Symptom(source, SAME_AS_LOGGED[error])
    if error == "NVML_ERROR_LIB_RM_VERSION_MISMATCH":
        yield DriverMismatch(source)


def _cuda(answer: Any) -> Iterator[Fact]:
    """libcuda's answer as facts."""
    if not isinstance(answer, dict):
        return
    where = _file(answer, LIBCUDA)
    failed, error = answer.get("failed"), str(answer.get("error", ""))
    if failed == "dlopen":
        cause = "absent" if "No such file" in error else "broken"
        yield LibraryNotLoaded(Source("dlopen", None, error), LIBCUDA, error, cause)
        return
    version = _number(answer.get("cuda"))
    if version:
        text = f"{version // 1000}.{version % 1000 // 10}"
        yield DriverCuda(Source(f"{where}: cuDriverGetVersion", None, str(version)), text)
    for path in listed(answer.get("files"), str):
        source = Source("/proc/self/maps of the process that called cuInit", None, path)
        yield LibraryLoaded(source, LIBCUDA, path)
    if failed:
        yield from _refused(where, str(failed), error)
        return
    devices = listed(answer.get("devices"), dict)
    source = Source(f"{where}: cuDeviceGetCount", None, str(len(devices)))
    buses = [bus(_word(device.get("bus_id"))) or "" for device in devices]
    shown = " ".join(buses) if all(buses) else ""
    yield Symptom(source, "cuda-devices", (("count", str(len(devices))), ("buses", shown)))
    for device in devices:
        index = _number(device.get("index")) or 0
        if device.get("error"):
            error = str(device["error"])
            yield CudaCallFailed(Source(f"{where}: cuDeviceGet({index})", None, error), "cuDeviceGet", error)
            continue
        memory = _number(device.get("memory"))
        capability = _capability(f"{device.get('major')}.{device.get('minor')}")
        text = f"{index}: {device.get('name')}, compute capability {capability}"
        yield Gpu(
            Source(f"{where}: cuDeviceGetAttribute({index})", None, text),
            name=_word(device.get("name")),
            compute_capability=capability,
            memory_mib=memory // MIB if memory else None,
            index=index,
            bus_id=bus(_word(device.get("bus_id"))),
            multiprocessors=_number(device.get("multiprocessors")),
        )


def bus(text: str | None) -> str | None:
    """A PCI address in the form that sysfs uses: 00000000:01:00.0 becomes 0000:01:00.0. None if the text is
    not a PCI address."""
    match = re.fullmatch(
        r"(?:[0-9a-f]{0,4}([0-9a-f]{4}):)?([0-9a-f]{2}:[0-9a-f]{2}\.[0-9a-f])", (text or "").lower()
    )
    return f"{match[1] or '0000'}:{match[2]}" if match else None


# --- nvidia-smi -----------------------------------------------------------------------------------


def _smi(machine: Machine) -> Iterator[Fact]:
    """GPUs as nvidia-smi lists them, or its error message."""
    program = machine.which("nvidia-smi") or next((p for p in SMI_PLACES if machine.exists(p)), None)
    if program is None and "nvidia-smi" not in machine.recorded:
        return
    argv = [program or "nvidia-smi", f"--query-gpu={','.join(SMI_FIELDS)}", "--format=csv,noheader,nounits"]
    ran = machine.run("nvidia-smi", argv, LIMIT)
    if ran is None:
        return
    where = "nvidia-smi"
    if ran.timed_out:
        source = Source(where, None, f"no answer in {LIMIT:.0f} s")
        yield Symptom(source, "hung-driver", (("call", "nvidia-smi"), ("seconds", f"{LIMIT:.0f}")))
        return
    lines = [line.strip() for line in (ran.out + "\n" + ran.err).splitlines() if line.strip()]
    for number, line in enumerate(lines[:ANSWER_LIMIT], 1):
        cells = [cell.strip() for cell in line.split(",")]
        if ran.status == 0 and len(cells) == len(SMI_FIELDS) and cells[0].isdigit():
            numbers = [int(cell) if cell.isdigit() else None for cell in cells[5:]]
            index = int(cells[0])
            source = Source(where, number, line)
            name, uuid, bus_id = cells[1], cells[2], bus(cells[3])
            yield Gpu(source, name=name, memory_mib=numbers[0], index=index, bus_id=bus_id, uuid=uuid)
            yield DriverVersion(source, cells[4], "any")
            yield GpuMemory(source, index, *numbers)
        elif "couldn't communicate with the NVIDIA driver" in line:
            yield Symptom(Source(where, number, line), "smi-no-driver")
        elif "Driver/library version mismatch" in line:
            error = "NVML_ERROR_LIB_RM_VERSION_MISMATCH"
            yield CudaCallFailed(Source(where, number, line), "nvmlInit", error)
        elif "No devices were found" in line:
            yield Symptom(Source(where, number, line), "smi-no-devices")


# --- hostile answers ------------------------------------------------------------------------------


def _number(value: Any) -> int | None:
    return value if isinstance(value, int) else None


def _capability(value: object) -> str | None:
    """A compute capability such as "8.6"; None for anything else."""
    return value if isinstance(value, str) and re.fullmatch(r"\d{1,2}\.\d", value) else None


def _word(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _file(answer: Mapping[str, Any], library: str) -> str:
    """The file of a library that an answer names; otherwise the library's name."""
    return next(iter(listed(answer.get("files"), str)), library)
