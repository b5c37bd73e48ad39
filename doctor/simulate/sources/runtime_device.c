/* libcudart: start-up, devices, errors. */
#define _GNU_SOURCE
#include "runtime.h"

#include <stdlib.h>
#include <string.h>

static __thread int chosen_device;
static __thread int last_error;

int keep(int status) {
    if (status) last_error = status;
    return status;
}

/* Specified: a runtime refuses a driver that is too old for its release (CUDA Compatibility, "Minor Version
 * Compatibility": since CUDA 11, any driver of the same major release is accepted). */
int driver_ready(void) {
    int version = 0;
    if (DRIVER(cuDriverGetVersion, (int *), &version) || version < machine()->runtime_minimum_driver) return keep(INSUFFICIENT_DRIVER);
    return keep(DRIVER(cuInit, (unsigned), 0));
}

static int enter_device(int device) {
    void *context = NULL;
    int status = DRIVER(cuDevicePrimaryCtxRetain, (void **, int), &context, device);
    return keep(status ? status : DRIVER(cuCtxSetCurrent, (void *), context));
}

int ready(void) {
    void *context = NULL;
    int status = driver_ready();
    if (status) return status;
    DRIVER(cuCtxGetCurrent, (void **), &context);
    return context ? 0 : enter_device(chosen_device);
}

API int cudaDriverGetVersion(int *version) {
    ENTER;
    *version = 0;
    if (driver_symbol("cuDriverGetVersion")) DRIVER(cuDriverGetVersion, (int *), version);
    return 0;
}
API int cudaRuntimeGetVersion(int *version) { ENTER; *version = machine()->runtime_cuda; return 0; }

API int cudaGetDeviceCount(int *count) {
    ENTER;
    *count = 0;
    int status = driver_ready();
    return status ? status : keep(DRIVER(cuDeviceGetCount, (int *), count));
}
API int cudaSetDevice(int device) {
    ENTER;
    int status = driver_ready();
    if (status) return status;
    status = enter_device(device);
    if (!status) chosen_device = device;
    return status;
}
API int cudaGetDevice(int *device) {
    ENTER;
    int status = driver_ready();
    if (status) return status;
    if (DRIVER(cuCtxGetDevice, (int *), device)) *device = chosen_device;
    return 0;
}

/* cudaDeviceProp of CUDA 11 and 12, which agree up to this point; later members are left unchanged. */
typedef struct {
    char name[256];
    char uuid[16], luid[8];
    unsigned luid_mask;
    size_t total_memory, shared_of_block;
    int registers_of_block, warp;
    size_t largest_pitch;
    int threads_of_block, threads[3], grid[3], clock_khz;
    size_t constant_memory;
    int major, minor;
    size_t texture_alignment, pitch_alignment;
    int overlap, multiprocessors, timeout, integrated, maps_host, compute_mode;
    int textures[42];                      /* 408 to 575: texture and surface sizes */
    int concurrent_kernels, ecc, pci_bus, pci_device, pci_domain, tcc, async_engines, unified_addressing;
    int memory_clock_khz, memory_bus, l2_cache, persisting_l2_cache, threads_of_multiprocessor;
    int stream_priorities, global_l1, local_l1;
    size_t shared_of_multiprocessor;
    int registers_of_multiprocessor, managed, multi_gpu_board, board_group, native_atomics, double_ratio;
    int pageable, concurrent_managed, preemption, host_pointer, cooperative, cooperative_multi;
    size_t shared_of_block_optin;
} DeviceProperties;
_Static_assert(offsetof(DeviceProperties, total_memory) == 288, "cudaDeviceProp.totalGlobalMem");
_Static_assert(offsetof(DeviceProperties, multiprocessors) == 388, "cudaDeviceProp.multiProcessorCount");
_Static_assert(offsetof(DeviceProperties, concurrent_kernels) == 576, "cudaDeviceProp.concurrentKernels");
_Static_assert(offsetof(DeviceProperties, shared_of_block_optin) == 696, "cudaDeviceProp.sharedMemPerBlockOptin");

static int attribute(int number, int device) {
    int value = 0;
    DRIVER(cuDeviceGetAttribute, (int *, int, int), &value, number, device);
    return value;
}

API int cudaGetDeviceProperties(DeviceProperties *p, int device) {
    ENTER;
    int status = driver_ready();
    if (status) return status;
    memset(p, 0, sizeof *p);
    status = DRIVER(cuDeviceGetName, (char *, int, int), p->name, (int)sizeof p->name, device);
    if (status) return keep(status);
    DRIVER(cuDeviceGetUuid, (char *, int), p->uuid, device);
    DRIVER(cuDeviceTotalMem_v2, (size_t *, int), &p->total_memory, device);
    p->shared_of_block = (size_t)attribute(8, device);
    p->registers_of_block = attribute(12, device);
    p->warp = attribute(10, device);
    p->largest_pitch = (size_t)attribute(11, device);
    p->threads_of_block = attribute(1, device);
    for (int axis = 0; axis < 3; axis++) {
        p->threads[axis] = attribute(2 + axis, device);
        p->grid[axis] = attribute(5 + axis, device);
    }
    p->clock_khz = attribute(13, device);
    p->constant_memory = (size_t)attribute(9, device);
    p->major = attribute(75, device);
    p->minor = attribute(76, device);
    p->texture_alignment = (size_t)attribute(14, device);
    p->pitch_alignment = 32;
    p->overlap = p->maps_host = p->concurrent_kernels = p->unified_addressing = 1;
    p->multiprocessors = attribute(16, device);
    p->compute_mode = attribute(20, device);
    p->pci_bus = attribute(33, device);
    p->pci_domain = attribute(50, device);
    p->async_engines = attribute(40, device);
    p->memory_clock_khz = attribute(36, device);
    p->memory_bus = attribute(37, device);
    p->l2_cache = attribute(38, device);
    p->threads_of_multiprocessor = attribute(39, device);
    p->stream_priorities = p->global_l1 = p->local_l1 = p->managed = p->cooperative = 1;
    p->shared_of_multiprocessor = (size_t)attribute(81, device);
    p->registers_of_multiprocessor = attribute(82, device);
    p->shared_of_block_optin = (size_t)attribute(97, device);
    return 0;
}
API int cudaGetDeviceProperties_v2(DeviceProperties *p, int device) { return cudaGetDeviceProperties(p, device); }

API int cudaDeviceGetAttribute(int *value, int number, int device) {
    ENTER;
    int status = driver_ready();
    return status ? status : keep(DRIVER(cuDeviceGetAttribute, (int *, int, int), value, number, device));
}
API int cudaDeviceGetPCIBusId(char *text, int size, int device) {
    ENTER;
    int status = driver_ready();
    return status ? status : keep(DRIVER(cuDeviceGetPCIBusId, (char *, int, int), text, size, device));
}
API int cudaDeviceCanAccessPeer(int *can, int device, int peer) {
    ENTER;
    return keep(DRIVER(cuDeviceCanAccessPeer, (int *, int, int), can, device, peer));
}
API int cudaDeviceGetStreamPriorityRange(int *least, int *greatest) {
    ENTER;
    return DRIVER(cuCtxGetStreamPriorityRange, (int *, int *), least, greatest);
}
API int cudaDeviceGetLimit(size_t *value, int limit UNUSED) { ENTER; *value = 1024; return 0; }
API int cudaDeviceSynchronize(void) { ENTER; READY; return keep(DRIVER(cuCtxSynchronize, (void))); }
API int cudaDeviceReset(void) { ENTER; return 0; }

API int cudaGetLastError(void) {
    ENTER;
    int error = last_error;
    last_error = 0;
    return error;
}
API int cudaPeekAtLastError(void) { ENTER; return last_error; }

/* Of the numbers that occur here, the two interfaces share those from 34. The runtime has its own names for them, which
 * TensorFlow does not print. */
API const char *cudaGetErrorString(int status) {
    const char *text = NULL;
    DRIVER(cuGetErrorString, (int, const char **), status, &text);
    if (!text && status == INSUFFICIENT_DRIVER) return "CUDA driver version is insufficient for CUDA runtime version";
    return text ? text : "unrecognized error code";
}
API const char *cudaGetErrorName(int status) {
    const char *name = NULL;
    DRIVER(cuGetErrorName, (int, const char **), status, &name);
    return name ? name : "cudaErrorUnknown";
}
