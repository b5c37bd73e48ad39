/* libcudart: memory, streams and events. All calls are passed on to the driver. */
#define _GNU_SOURCE
#include "runtime.h"

#include <stdlib.h>
#include <string.h>

API int cudaMalloc(void **address, size_t size) { ENTER; READY; return keep(DRIVER(cuMemAlloc_v2, (void **, size_t), address, size)); }
API int cudaFree(void *address) { ENTER; READY; return keep(DRIVER(cuMemFree_v2, (void *), address)); }
API int cudaMallocHost(void **address, size_t size) { ENTER; READY; return keep(DRIVER(cuMemAllocHost_v2, (void **, size_t), address, size)); }
API int cudaHostAlloc(void **address, size_t size, unsigned flags UNUSED) {
    ENTER; READY;
    return keep(DRIVER(cuMemAllocHost_v2, (void **, size_t), address, size));
}
API int cudaFreeHost(void *address) { ENTER; return keep(DRIVER(cuMemFreeHost, (void *), address)); }
API int cudaMemGetInfo(size_t *available, size_t *total) {
    ENTER; READY;
    return keep(DRIVER(cuMemGetInfo_v2, (size_t *, size_t *), available, total));
}

API int cudaMemcpy(void *target, const void *source, size_t size, int kind UNUSED) { ENTER; READY; memmove(target, source, size); return 0; }
API int cudaMemcpyAsync(void *target, const void *source, size_t size, int kind UNUSED, void *stream UNUSED) {
    ENTER; READY;
    memmove(target, source, size);
    return 0;
}
API int cudaMemset(void *target, int value, size_t size) { ENTER; READY; memset(target, value, size); return 0; }
API int cudaMemsetAsync(void *target, int value, size_t size, void *stream UNUSED) { ENTER; READY; memset(target, value, size); return 0; }
/* Symbols of GPU code have no memory here, because no GPU code runs. */
API int cudaMemcpyToSymbol(const void *symbol UNUSED, const void *source UNUSED, size_t size UNUSED, size_t offset UNUSED, int kind UNUSED) {
    ENTER;
    return 0;
}
API int cudaGetSymbolAddress(void **address, const void *symbol UNUSED) {
    ENTER;
    static char globals[65536];
    *address = globals;
    return 0;
}

API int cudaStreamCreate(void **stream) { ENTER; READY; return keep(DRIVER(cuStreamCreate, (void **, unsigned), stream, 0)); }
API int cudaStreamCreateWithFlags(void **stream, unsigned flags) {
    ENTER; READY;
    return keep(DRIVER(cuStreamCreate, (void **, unsigned), stream, flags));
}
API int cudaStreamCreateWithPriority(void **stream, unsigned flags, int priority) {
    ENTER; READY;
    return keep(DRIVER(cuStreamCreateWithPriority, (void **, unsigned, int), stream, flags, priority));
}
API int cudaStreamDestroy(void *stream) { ENTER; return keep(DRIVER(cuStreamDestroy_v2, (void *), stream)); }
API int cudaStreamSynchronize(void *stream) { ENTER; return keep(DRIVER(cuStreamSynchronize, (void *), stream)); }
API int cudaStreamWaitEvent(void *stream UNUSED, void *event UNUSED, unsigned flags UNUSED) { ENTER; return 0; }
API int cudaStreamIsCapturing(void *stream UNUSED, int *capturing) { ENTER; *capturing = 0; return 0; }
API int cudaStreamGetCaptureInfo_v2(void *stream UNUSED, int *capturing, uint64_t *id, void **graph, const void **dependencies, size_t *count) {
    ENTER;
    return DRIVER(cuStreamGetCaptureInfo_v2, (void *, int *, uint64_t *, void **, const void **, size_t *), NULL, capturing, id, graph,
                  dependencies, count);
}
/* The first version of the same function, which TensorFlow 2.13 and 2.14 call. cudaThreadExchangeStreamCaptureMode is
 * missing on purpose: the NCCL inside these releases looks it up first and, without it, stops with an error. Otherwise
 * it would crash later because of the private functions of NVIDIA's driver. */
API int cudaStreamGetCaptureInfo(void *stream, int *capturing, uint64_t *id) {
    return cudaStreamGetCaptureInfo_v2(stream, capturing, id, NULL, NULL, NULL);
}
API int cudaStreamAddCallback(void *stream, void (*callback)(void *, int, void *), void *data, unsigned flags UNUSED) {
    ENTER;
    callback(stream, 0, data);
    return 0;
}
API int cudaLaunchHostFunc(void *stream UNUSED, void (*function)(void *), void *data) { ENTER; function(data); return 0; }

API int cudaEventCreateWithFlags(void **event, unsigned flags) { ENTER; READY; return keep(DRIVER(cuEventCreate, (void **, unsigned), event, flags)); }
API int cudaEventCreate(void **event) { return cudaEventCreateWithFlags(event, 0); }
API int cudaEventDestroy(void *event) { ENTER; return DRIVER(cuEventDestroy_v2, (void *), event); }
API int cudaEventRecord(void *event UNUSED, void *stream UNUSED) { ENTER; return 0; }
API int cudaEventSynchronize(void *event UNUSED) { ENTER; return 0; }
API int cudaEventQuery(void *event UNUSED) { ENTER; return 0; }
API int cudaEventElapsedTime(float *milliseconds, void *start, void *end) {
    ENTER;
    return DRIVER(cuEventElapsedTime, (float *, void *, void *), milliseconds, start, end);
}

/* cudaPointerAttributes: the kind of memory (0 unregistered, 1 host, 2 device), the device, the address on each side. */
typedef struct { int kind, device; void *on_device, *on_host; } PointerAttributes;
API int cudaPointerGetAttributes(PointerAttributes *attributes, void *address) {
    ENTER;
    *attributes = (PointerAttributes){.on_device = address};
    unsigned kind = 0;
    if (DRIVER(cuPointerGetAttribute, (void *, int, void *), &kind, 2, address)) return 0;
    attributes->kind = (int)kind;
    DRIVER(cuPointerGetAttribute, (void *, int, void *), &attributes->device, 9, address);
    if (kind == 1) attributes->on_host = address;
    return 0;
}
