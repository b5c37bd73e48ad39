/* libcuda.so.1: streams and events. Work that is put into a stream is finished when the call returns, so an event is
 * always complete and a stream always idle. Host callbacks are called at once. */
#define _GNU_SOURCE
#include "driver.h"

#include <stdlib.h>

typedef struct { int device; int priority; unsigned flags; } Stream;

/* NULL, 1 and 2 stand for the interface's default streams; they are not pointers to objects. */
static Stream *object(Stream *stream) { return (uintptr_t)stream > 2 ? stream : NULL; }

static int create(Stream **stream, unsigned flags, int priority) {
    *stream = calloc(1, sizeof **stream);
    if (!*stream) return OUT_OF_MEMORY;
    **stream = (Stream){current_device(), priority, flags};
    return CUDA_OK;
}
API int cuStreamCreate(Stream **stream, unsigned flags) { ENTER; return create(stream, flags, 0); }
API int cuStreamCreateWithPriority(Stream **stream, unsigned flags, int priority) { ENTER; return create(stream, flags, priority); }
API int cuStreamDestroy_v2(Stream *stream) { ENTER; free(object(stream)); return CUDA_OK; }
API int cuStreamSynchronize(Stream *stream UNUSED) { ENTER; return CUDA_OK; }
API int cuStreamQuery(Stream *stream UNUSED) { ENTER; return CUDA_OK; }
API int cuStreamWaitEvent(Stream *stream UNUSED, void *event UNUSED, unsigned flags UNUSED) { ENTER; return CUDA_OK; }
API int cuStreamAttachMemAsync(Stream *stream UNUSED, DevicePointer address UNUSED, size_t size UNUSED, unsigned flags UNUSED) {
    ENTER;
    return CUDA_OK;
}
API int cuStreamGetCtx(Stream *stream, Context **context) {
    ENTER;
    *context = primary_context(object(stream) ? stream->device : current_device());
    return CUDA_OK;
}
API int cuStreamGetPriority(Stream *stream, int *priority) { ENTER; *priority = object(stream) ? stream->priority : 0; return CUDA_OK; }
API int cuStreamGetFlags(Stream *stream, unsigned *flags) { ENTER; *flags = object(stream) ? stream->flags : 0; return CUDA_OK; }

/* For a caller that requests more than the capture status, no stream is ever being captured. */
API int cuStreamGetCaptureInfo_v2(Stream *stream UNUSED, int *capturing, uint64_t *id, void **graph, const void **dependencies,
                                  size_t *count) {
    ENTER;
    *capturing = 0;
    if (id) *id = 0;
    if (graph) *graph = NULL;
    if (dependencies) *dependencies = NULL;
    if (count) *count = 0;
    return CUDA_OK;
}

/* The first version of the same function. */
API int cuStreamGetCaptureInfo(Stream *stream, int *capturing, uint64_t *id) {
    return cuStreamGetCaptureInfo_v2(stream, capturing, id, NULL, NULL, NULL);
}

API int cuStreamAddCallback(Stream *stream, void (*callback)(Stream *, int, void *), void *data, unsigned flags UNUSED) {
    ENTER;
    callback(stream, CUDA_OK, data);
    return CUDA_OK;
}
API int cuLaunchHostFunc(Stream *stream UNUSED, void (*function)(void *), void *data) { ENTER; function(data); return CUDA_OK; }

API int cuEventCreate(void **event, unsigned flags UNUSED) { ENTER; *event = calloc(1, 16); return *event ? CUDA_OK : OUT_OF_MEMORY; }
API int cuEventDestroy_v2(void *event) { ENTER; free(event); return CUDA_OK; }
API int cuEventRecord(void *event UNUSED, Stream *stream UNUSED) { ENTER; return CUDA_OK; }
API int cuEventRecordWithFlags(void *event UNUSED, Stream *stream UNUSED, unsigned flags UNUSED) { ENTER; return CUDA_OK; }
API int cuEventQuery(void *event UNUSED) { ENTER; return CUDA_OK; }
API int cuEventSynchronize(void *event UNUSED) { ENTER; return CUDA_OK; }
/* An invented 50 microseconds: nothing runs, so nothing takes time, but callers divide by the result. */
API int cuEventElapsedTime(float *milliseconds, void *start UNUSED, void *end UNUSED) { ENTER; *milliseconds = 0.05f; return CUDA_OK; }
API int cuEventElapsedTime_v2(float *milliseconds, void *start, void *end) { return cuEventElapsedTime(milliseconds, start, end); }
