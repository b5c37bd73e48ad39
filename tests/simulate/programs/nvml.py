import pynvml

pynvml.nvmlInit()
print("Driver", pynvml.nvmlSystemGetDriverVersion())
for index in range(pynvml.nvmlDeviceGetCount()):
    gpu = pynvml.nvmlDeviceGetHandleByIndex(index)
    print(pynvml.nvmlDeviceGetName(gpu), pynvml.nvmlDeviceGetMemoryInfo(gpu).total >> 20, "MiB")
