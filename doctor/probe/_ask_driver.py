# ruff: noqa
# mypy: ignore-errors
# This is a separate program that uses ctypes and untyped bindings; no module imports it.
"""Runs as a separate program: queries NVML and libcuda, and prints one JSON line for each, between cookies
(random words that mark its own output).

A driver that hangs or crashes affects this process, not tfgpu-doctor. Two threads query NVML and libcuda, so
that one can answer even if the other hangs. argv[1] is the cookie; the other arguments are folders for
sys.path.
"""

import ctypes
import json
import os
import sys
import threading

sys.path.extend(sys.argv[2:])
COOKIE = sys.argv[1]
LOCK = threading.Lock()


def say(part, answer):
    with LOCK:
        sys.stdout.write(COOKIE + json.dumps({"part": part, "answer": answer}) + COOKIE + "\n")
        sys.stdout.flush()


def mapped(*names):
    """The paths of the files that are mapped into this process and have names that begin with one of the
    arguments."""
    try:
        with open("/proc/self/maps") as maps:
            paths = {line.split(None, 5)[5].strip() for line in maps if "/" in line}
    except OSError:
        return []
    return sorted(path for path in paths if os.path.basename(path).startswith(names))


def text(value):
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


def ask_nvml():
    try:
        import pynvml
    except ImportError as problem:
        return {"failed": "import", "error": str(problem)}
    names = {
        value: name
        for name, value in vars(pynvml).items()
        if name.startswith("NVML_ERROR_") and isinstance(value, int)
    }

    def call(name, *args):
        """Call a function of pynvml. Returns (value, None), or (None, the error's symbolic name)."""
        try:
            return getattr(pynvml, name)(*args), None
        except pynvml.NVMLError as problem:
            return None, names.get(problem.value, "NVML_ERROR_%s" % problem.value)
        except Exception as problem:
            return None, type(problem).__name__

    _, error = call("nvmlInit")
    if error:
        return {"failed": "nvmlInit", "error": error, "files": mapped("libnvidia-ml")}
    answer = {"files": mapped("libnvidia-ml"), "devices": []}
    answer["driver"] = text(call("nvmlSystemGetDriverVersion")[0])
    answer["cuda"] = call("nvmlSystemGetCudaDriverVersion_v2")[0] or call("nvmlSystemGetCudaDriverVersion")[0]
    count, error = call("nvmlDeviceGetCount")
    if error:
        answer["failed"], answer["error"] = "nvmlDeviceGetCount", error
    for index in range(count or 0):
        device = {"index": index}
        handle, error = call("nvmlDeviceGetHandleByIndex", index)
        if error:
            device["error"] = error
            answer["devices"].append(device)
            continue
        device["name"] = text(call("nvmlDeviceGetName", handle)[0])
        device["uuid"] = text(call("nvmlDeviceGetUUID", handle)[0])
        pci = call("nvmlDeviceGetPciInfo", handle)[0]
        if pci is not None:
            device["bus_id"] = text(pci.busId)
            device["pci_id"] = "%04x:%04x" % (pci.pciDeviceId & 0xFFFF, pci.pciDeviceId >> 16)
        memory, error = call("nvmlDeviceGetMemoryInfo", handle)
        if memory is not None:
            device["memory"] = [int(memory.total), int(memory.used), int(memory.free)]
        elif error:
            device["memory_error"] = error
        capability = call("nvmlDeviceGetCudaComputeCapability", handle)[0]
        device["capability"] = "%d.%d" % tuple(capability) if capability else None
        device["compute_mode"] = call("nvmlDeviceGetComputeMode", handle)[0]
        device["persistence"] = call("nvmlDeviceGetPersistenceMode", handle)[0]
        mig = call("nvmlDeviceGetMigMode", handle)[0]
        device["mig"] = mig[0] if mig else None
        ecc = call("nvmlDeviceGetTotalEccErrors", handle, 1, 1)[0]
        device["ecc_uncorrected"] = ecc
        if device["mig"]:
            device["mig_devices"] = mig_devices(call, handle)
        processes = {}
        for name in ("nvmlDeviceGetComputeRunningProcesses", "nvmlDeviceGetGraphicsRunningProcesses"):
            for process in call(name, handle)[0] or ():
                processes[process.pid] = getattr(process, "usedGpuMemory", None)
        device["processes"] = [[pid, used, process_name(pid)] for pid, used in sorted(processes.items())]
        answer["devices"].append(device)
    call("nvmlShutdown")
    return answer


def mig_devices(call, handle):
    found = []
    for index in range(call("nvmlDeviceGetMaxMigDeviceCount", handle)[0] or 0):
        part, error = call("nvmlDeviceGetMigDeviceHandleByIndex", handle, index)
        if error:
            continue
        memory = call("nvmlDeviceGetMemoryInfo", part)[0]
        found.append(
            {
                "name": text(call("nvmlDeviceGetName", part)[0]),
                "uuid": text(call("nvmlDeviceGetUUID", part)[0]),
                "memory": [int(memory.total), int(memory.used), int(memory.free)] if memory else None,
                "numbers": [
                    call(name, part)[0]
                    for name in ("nvmlDeviceGetGpuInstanceId", "nvmlDeviceGetComputeInstanceId")
                ],
            }
        )
    return found


def process_name(pid):
    """The name of a process of this user, or of any user if this one is root; otherwise None."""
    try:
        if os.getuid() not in (0, os.stat("/proc/%d" % pid).st_uid):
            return None
        with open("/proc/%d/comm" % pid) as file:
            return file.read().strip()
    except (AttributeError, OSError):
        return None


def opened(pid):
    """The files that a process of this user has open."""
    folder = "/proc/%d/fd" % pid
    try:
        names = os.listdir(folder)
    except OSError:
        return
    for name in names:
        try:
            yield os.readlink(os.path.join(folder, name))
        except OSError:
            pass


def callers():
    """The ancestors of this process that use a GPU, such as a notebook kernel. CUDA opens the device files
    checked here; NVML does not."""
    found, pid = [], os.getppid()
    try:
        while pid:
            if {"/dev/nvidia-uvm", "/dev/dxg"} & set(opened(pid)):
                found.append(pid)
            with open("/proc/%d/stat" % pid) as file:
                pid = int(file.read().rpartition(")")[2].split()[1])
    except (OSError, ValueError, IndexError):
        pass
    return found


def ask_cuda():
    name = "nvcuda.dll" if os.name == "nt" else "libcuda.so.1"
    try:
        cuda = ctypes.CDLL(name)
    except OSError as problem:
        return {"failed": "dlopen", "error": str(problem)}
    answer = {"files": mapped("libcuda."), "devices": []}

    def symbol(code):
        pointer = ctypes.c_char_p()
        try:
            cuda.cuGetErrorName(code, ctypes.byref(pointer))
        except AttributeError:
            pass
        return text(pointer.value) if pointer.value else "CUDA_ERROR_%d" % code

    number = ctypes.c_int()
    try:
        if cuda.cuDriverGetVersion(ctypes.byref(number)) == 0:
            answer["cuda"] = number.value
        code = cuda.cuInit(0)
    except AttributeError as problem:
        return {"failed": "cuInit", "error": "symbol not found: %s" % problem, "files": answer["files"]}
    if code:
        answer["failed"], answer["error"], answer["code"] = "cuInit", symbol(code), code
        return answer
    code = cuda.cuDeviceGetCount(ctypes.byref(number))
    if code:
        answer["failed"], answer["error"], answer["code"] = "cuDeviceGetCount", symbol(code), code
        return answer
    for index in range(number.value):
        handle, value = ctypes.c_int(), ctypes.c_int()
        code = cuda.cuDeviceGet(ctypes.byref(handle), index)
        if code:
            answer["devices"].append({"index": index, "error": symbol(code)})
            continue
        name = ctypes.create_string_buffer(256)
        bus = ctypes.create_string_buffer(64)
        device = {"index": index}
        if cuda.cuDeviceGetName(name, 256, handle) == 0:
            device["name"] = text(name.value)
        try:
            if cuda.cuDeviceGetPCIBusId(bus, 64, handle) == 0:
                device["bus_id"] = text(bus.value)
            total = ctypes.c_size_t()
            if cuda.cuDeviceTotalMem_v2(ctypes.byref(total), handle) == 0:
                device["memory"] = total.value
        except AttributeError:
            pass
        # CUdevice_attribute in cuda.h: multiprocessors 16, compute mode 20, compute capability 75 and 76
        for key, attribute in (("multiprocessors", 16), ("compute_mode", 20), ("major", 75), ("minor", 76)):
            if cuda.cuDeviceGetAttribute(ctypes.byref(value), attribute, handle) == 0:
                device[key] = value.value
        answer["devices"].append(device)
    return answer


def guarded(part, ask):
    try:
        say(part, ask())
    except Exception as problem:
        say(part, {"failed": part, "error": "%s: %s" % (type(problem).__name__, problem)})


guarded("callers", callers)
threads = [
    threading.Thread(target=guarded, args=("nvml", ask_nvml)),
    threading.Thread(target=guarded, args=("cuda", ask_cuda)),
]
for thread in threads:
    thread.daemon = True
    thread.start()
for thread in threads:
    thread.join()
os._exit(0)
