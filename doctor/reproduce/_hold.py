# ruff: noqa
# mypy: ignore-errors
# Allocates GPU memory in bounded steps through the CUDA driver, as another program would. This script is
# appended to _guard.py. Commands on stdin: "leave MIB" (allocate until only that much is free, or until
# allocation fails), "take MIB", "release". Prints: "held".
MIB = 1 << 20
STEPS = [1024, 256, 64, 16, 4, 1]  # MiB: large ones first, so that a large GPU is full within a second
cuda = ctypes.CDLL("nvcuda.dll" if os.name == "nt" else "libcuda.so.1")
blocks = []


def must(function, *arguments):
    code = getattr(cuda, function)(*arguments)
    if code:
        say("failed", error="%s returns CUDA error %d" % (function, code))
        os._exit(1)


def memory():
    free, total = ctypes.c_size_t(), ctypes.c_size_t()
    must("cuMemGetInfo_v2", ctypes.byref(free), ctypes.byref(total))
    return free.value, total.value


def take(wanted):
    """Allocate `wanted` bytes of the GPU's memory, or as many as possible."""
    taken = 0
    for step in STEPS:
        while wanted - taken >= step * MIB:
            pointer = ctypes.c_ulonglong()
            if cuda.cuMemAlloc_v2(ctypes.byref(pointer), ctypes.c_size_t(step * MIB)):
                break
            blocks.append((pointer, step * MIB))
            taken += step * MIB
    return taken


device, context = ctypes.c_int(), ctypes.c_void_p()
must("cuInit", 0)
must("cuDeviceGet", ctypes.byref(device), 0)
must("cuCtxCreate_v2", ctypes.byref(context), 0, device)
say("ready", free=memory()[0], total=memory()[1])
while True:
    words = heard().split()
    taken = 0
    if words[0] == "leave":
        taken = take(max(0, memory()[0] - int(words[1]) * MIB))
    elif words[0] == "take":
        taken = take(int(words[1]) * MIB)
    elif words[0] == "release":
        while blocks:
            must("cuMemFree_v2", blocks.pop()[0])
    say("held", taken=taken, holds=sum(size for _, size in blocks), free=memory()[0])
