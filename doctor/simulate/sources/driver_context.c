/* libcuda.so.1: contexts. A process has one primary context per device, which uses device memory from the first
 * retain. */
#define _GNU_SOURCE
#include "driver.h"

#include <unistd.h>

enum { MAX_STACK = 64 };

static Context contexts[MAX_DEVICES];
static __thread Context *stack[MAX_STACK];
static __thread int depth;

Context *current_context(void) { return depth ? stack[depth - 1] : NULL; }
int current_device(void) { Context *context = current_context(); return context ? context->device : 0; }
Context *primary_context(int device) { return &contexts[device]; }

/* Functions for the other libraries of the simulation; NVIDIA's libcuda does not have them. */
API int simulated_current_gpu(void) { return gpu_of(current_device()); }
API int *simulated_context_status(void) { static int status; return &status; }

/* Compute mode (nvidia-smi --compute-mode): 2 admits no process, 3 one process at a time. The CUDA Runtime API lists
 * both as reasons for cudaErrorDevicesUnavailable (46). */
static int admitted(int device) {
    const Gpu *gpu = gpu_at(device);
    if (gpu->compute_mode == 2) return 0;
    if (gpu->compute_mode != 3) return 1;
    Holding holdings[MAX_HOLDINGS];
    const int count = ledger_holdings(gpu_of(device), holdings, MAX_HOLDINGS);
    for (int i = 0; i < count && i < MAX_HOLDINGS; i++)
        if (holdings[i].pid != getpid()) return 0;
    return 1;
}

API int cuDevicePrimaryCtxRetain(Context **context, int device) {
    ENTER;
    if (!device_exists(device)) return INVALID_DEVICE;
    Context *primary = primary_context(device);
    primary->device = device;
    if (!primary->retained) {
        if (!admitted(device)) return DEVICE_UNAVAILABLE;
        if (ledger_take(gpu_of(device), machine()->context_bytes)) return OUT_OF_MEMORY;
    }
    primary->retained = 1;
    *context = primary;
    return CUDA_OK;
}

/* Specified: the last release frees the context. Here: the context stays until the process ends; the ledger then frees
 * the memory. */
API int cuDevicePrimaryCtxRelease_v2(int device UNUSED) { ENTER; return CUDA_OK; }
API int cuDevicePrimaryCtxReset_v2(int device UNUSED) { ENTER; return CUDA_OK; }
API int cuDevicePrimaryCtxSetFlags_v2(int device UNUSED, unsigned flags UNUSED) { ENTER; return CUDA_OK; }
API int cuDevicePrimaryCtxRelease(int device) { return cuDevicePrimaryCtxRelease_v2(device); }
API int cuDevicePrimaryCtxReset(int device) { return cuDevicePrimaryCtxReset_v2(device); }
API int cuDevicePrimaryCtxSetFlags(int device, unsigned flags) { return cuDevicePrimaryCtxSetFlags_v2(device, flags); }

API int cuDevicePrimaryCtxGetState(int device, unsigned *flags, int *active) {
    ENTER;
    if (!device_exists(device)) return INVALID_DEVICE;
    *flags = 0;
    *active = primary_context(device)->retained;
    return CUDA_OK;
}

/* Here, creating a separate context returns the primary one. */
API int cuCtxCreate_v2(Context **context, unsigned flags UNUSED, int device) {
    ENTER;
    int status = cuDevicePrimaryCtxRetain(context, device);
    if (!status && depth < MAX_STACK) stack[depth++] = *context;
    return status;
}
API int cuCtxDestroy_v2(Context *context UNUSED) { ENTER; return CUDA_OK; }

API int cuCtxSetCurrent(Context *context) {
    ENTER;
    if (!context) { if (depth) depth--; }
    else if (depth) stack[depth - 1] = context;
    else stack[depth++] = context;
    return CUDA_OK;
}

API int cuCtxGetCurrent(Context **context) { ENTER; *context = current_context(); return CUDA_OK; }

API int cuCtxPushCurrent_v2(Context *context) {
    ENTER;
    if (depth == MAX_STACK) return INVALID_VALUE;
    stack[depth++] = context;
    return CUDA_OK;
}

API int cuCtxPopCurrent_v2(Context **context) {
    ENTER;
    if (!depth) return INVALID_CONTEXT;
    Context *popped = stack[--depth];
    if (context) *context = popped;
    return CUDA_OK;
}

API int cuCtxGetDevice(int *device) {
    ENTER;
    if (!current_context()) return INVALID_CONTEXT;
    *device = current_device();
    return CUDA_OK;
}

/* All work is finished when its call returns, so there is nothing to wait for. */
API int cuCtxSynchronize(void) { ENTER; return CUDA_OK; }
API int cuCtxGetApiVersion(Context *context UNUSED, unsigned *version) { ENTER; *version = 3020; return CUDA_OK; }
API int cuCtxGetFlags(unsigned *flags) { ENTER; *flags = 0; return CUDA_OK; }
API int cuCtxGetSharedMemConfig(int *config) { ENTER; *config = 1; return CUDA_OK; }
API int cuCtxGetCacheConfig(int *config) { ENTER; *config = 0; return CUDA_OK; }
API int cuCtxGetLimit(size_t *value, int limit UNUSED) { ENTER; *value = 1024; return CUDA_OK; }

API int cuCtxGetStreamPriorityRange(int *least, int *greatest) {
    ENTER;
    if (least) *least = 0;
    if (greatest) *greatest = -5;
    return CUDA_OK;
}

/* Settings that change nothing here; the calls only need to succeed. */
API int cuCtxSetLimit(int limit UNUSED, size_t value UNUSED) { ENTER; return CUDA_OK; }
API int cuCtxSetCacheConfig(int config UNUSED) { ENTER; return CUDA_OK; }
API int cuCtxSetSharedMemConfig(int config UNUSED) { ENTER; return CUDA_OK; }
API int cuCtxSetFlags(unsigned flags UNUSED) { ENTER; return CUDA_OK; }
API int cuCtxEnablePeerAccess(Context *peer UNUSED, unsigned flags UNUSED) { ENTER; return CUDA_OK; }
API int cuCtxDisablePeerAccess(Context *peer UNUSED) { ENTER; return CUDA_OK; }
