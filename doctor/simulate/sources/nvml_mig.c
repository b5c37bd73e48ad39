/* libnvidia-ml.so.1: GPUs that are divided into instances (NVML API reference, "Multi Instance GPU Management"). Here
 * an instance has a single compute instance, number 0. The division cannot be changed at run time. */
#define _GNU_SOURCE
#include "nvml.h"

enum { MIG_CAPABLE = 1, MIG_ON = 2, MOST_INSTANCES = 7 };

#define NVML_INSTANCE(device) do { NVML_DEVICE(device); if ((device)->parent < 0) return NOT_SUPPORTED; } while (0)

/* Specified: the mode now and after the next reset; NOT_SUPPORTED for a GPU that cannot be divided. */
API int nvmlDeviceGetMigMode(Device device, unsigned *now, unsigned *pending) {
    NVML_DEVICE(device);
    if (device->mig < MIG_CAPABLE) return NOT_SUPPORTED;
    *now = *pending = device->mig == MIG_ON;
    return NVML_OK;
}

/* Specified: the largest possible number of instances; 0 for a GPU that is not divided. */
API int nvmlDeviceGetMaxMigDeviceCount(Device device, unsigned *count) {
    NVML_DEVICE(device);
    *count = device->mig == MIG_ON ? MOST_INSTANCES : 0;
    return NVML_OK;
}

API int nvmlDeviceGetMigDeviceHandleByIndex(Device device, unsigned index, Device *instance) {
    NVML_DEVICE(device);
    if (device->mig < MIG_CAPABLE) return NOT_SUPPORTED;
    if (index >= MOST_INSTANCES) return INVALID_ARGUMENT;
    const Gpu *first = machine()->gpus + MAX_GPUS;
    for (*instance = first; *instance < first + machine()->instance_count; (*instance)++)
        if ((*instance)->parent == nvml_index(device) && !index--) return NVML_OK;
    return NOT_FOUND;
}

API int nvmlDeviceIsMigDeviceHandle(Device device, unsigned *is_one) { NVML_DEVICE(device); *is_one = device->parent >= 0; return NVML_OK; }
API int nvmlDeviceGetGpuInstanceId(Device device, unsigned *id) { NVML_INSTANCE(device); *id = (unsigned)device->gpu_instance; return NVML_OK; }
API int nvmlDeviceGetComputeInstanceId(Device device, unsigned *id) { NVML_INSTANCE(device); *id = 0; return NVML_OK; }

API int nvmlDeviceGetDeviceHandleFromMigDeviceHandle(Device device, Device *whole) {
    NVML_INSTANCE(device);
    *whole = &machine()->gpus[device->parent];
    return NVML_OK;
}

typedef struct { unsigned multiprocessors, copy_engines, decoders, encoders, jpeg, ofa, slices, compute_slices; uint64_t memory_mib; } Attributes;
API int nvmlDeviceGetAttributes_v2(Device device, Attributes *attributes) {
    NVML_INSTANCE(device);
    *attributes = (Attributes){.multiprocessors = (unsigned)device->multiprocessors, .copy_engines = (unsigned)device->slices,
                               .slices = (unsigned)device->slices, .compute_slices = (unsigned)device->slices,
                               .memory_mib = device->memory >> 20};
    return NVML_OK;
}
API int nvmlDeviceGetAttributes(Device device, Attributes *attributes) { return nvmlDeviceGetAttributes_v2(device, attributes); }
