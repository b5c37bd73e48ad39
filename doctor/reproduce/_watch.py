# ruff: noqa
# mypy: ignore-errors
# Repeatedly prints the free memory of one GPU as NVML reports it. This script is appended to _guard.py. argv:
# cookie, index, seconds.
nvml = ctypes.CDLL("nvml.dll" if os.name == "nt" else "libnvidia-ml.so.1")


class Memory(ctypes.Structure):  # nvmlMemory_t in nvml.h
    _fields_ = [("total", ctypes.c_ulonglong), ("free", ctypes.c_ulonglong), ("used", ctypes.c_ulonglong)]


handle, memory = ctypes.c_void_p(), Memory()
if nvml.nvmlInit_v2() or nvml.nvmlDeviceGetHandleByIndex_v2(int(sys.argv[2]), ctypes.byref(handle)):
    say("failed", error="NVML does not initialize")
    os._exit(1)
while True:
    code = nvml.nvmlDeviceGetMemoryInfo(handle, ctypes.byref(memory))
    if code:
        say("failed", error="nvmlDeviceGetMemoryInfo returns %d" % code)
        os._exit(1)
    say("memory", free=memory.free, total=memory.total)
    time.sleep(float(sys.argv[3]))
