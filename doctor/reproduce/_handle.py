# ruff: noqa
# mypy: ignore-errors
# Creates cuDNN's handle without TensorFlow: with the GPU as it is ("ample") or full ("full"), and again when
# memory is free. This script is appended to _guard.py. argv: cookie, libcudart, libcudnn, "ample" or "full".
MIB = 1 << 20
STEPS = [1024, 256, 64, 16, 4, 1]
try:
    cudart, cudnn = (ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL) for path in sys.argv[2:4])
except OSError as error:
    say("failed", error=str(error), cause="library")
    os._exit(0)
cudnn.cudnnGetErrorString.restype = ctypes.c_char_p
cudart.cudaGetErrorString.restype = ctypes.c_char_p
cudnn.cudnnGetVersion.restype = ctypes.c_size_t
blocks = []


def must(function, *arguments):
    code = getattr(cudart, function)(*arguments)
    if code:
        text = cudart.cudaGetErrorString(code)
        say("failed", error="%s: %s" % (function, text.decode() if text else code), cause="runtime")
        os._exit(0)


def memory():
    free, total = ctypes.c_size_t(), ctypes.c_size_t()
    must("cudaMemGetInfo", ctypes.byref(free), ctypes.byref(total))
    return free.value, total.value


def create(stage):
    handle = ctypes.c_void_p()
    before = memory()[0]
    begin = time.time()
    status = cudnn.cudnnCreate(ctypes.byref(handle))
    seconds = time.time() - begin
    text = cudnn.cudnnGetErrorString(status)
    say(
        stage,
        status=status,
        text=text.decode() if text else str(status),
        free=before,
        left=memory()[0],
        seconds=seconds,
    )
    if status == 0:
        cudnn.cudnnDestroy(handle)


version, device, limit = cudnn.cudnnGetVersion(), ctypes.c_int(), sys.argv[4]
must("cudaSetDevice", 0)
must("cudaFree", None)
say("started", cudnn=version, free=memory()[0], total=memory()[1])
if limit == "full":
    for step in STEPS:
        while True:
            pointer = ctypes.c_void_p()
            if cudart.cudaMalloc(ctypes.byref(pointer), ctypes.c_size_t(step * MIB)):
                cudart.cudaGetLastError()
                break
            blocks.append(pointer)
    time.sleep(0.25)  # time for _watch.py to sample the memory
    create("full")
    while blocks:
        must("cudaFree", blocks.pop())
    create("again")
else:
    create("ample")
os._exit(0)
