/* libnccl: collective communication between the GPUs of one simulated machine. Specified: every rank calls the
 * operation, and each gets the combined result. Here: each rank gets its own input back. No reduction is computed and
 * no rank waits for another, so a strategy runs to its end and its numbers mean nothing. */
#define _GNU_SOURCE
#include "simulation.h"

#include <stdlib.h>
#include <string.h>

enum { NCCL_VERSION = 22105, INVALID_ARGUMENT = 4 };   /* 2.21.5, the release that came with CUDA 12.5's packages */
typedef struct { int ranks, rank, device; } Communicator;
typedef struct { char bytes[128]; } UniqueId;

API int ncclGetVersion(int *version) { ENTER; *version = NCCL_VERSION; return 0; }
API int ncclGetUniqueId(UniqueId *id) { ENTER; memset(id, 0, sizeof *id); return 0; }
API const char *ncclGetErrorString(int status) {
    /* NCCL documentation, "ncclResult_t" */
    static const char *const texts[] = {"no error", "unhandled cuda error (run with NCCL_DEBUG=INFO for details)",
        "unhandled system error (run with NCCL_DEBUG=INFO for details)", "internal error - please report this issue to the NCCL developers",
        "invalid argument (run with NCCL_DEBUG=WARN for details)", "invalid usage (run with NCCL_DEBUG=WARN for details)",
        "remote process exited or there was a network error"};
    return status >= 0 && status < 7 ? texts[status] : "unknown result code";
}
API const char *ncclGetLastError(Communicator *communicator UNUSED) { return ""; }

static int join(Communicator **made, int ranks, int rank) {
    if (rank < 0 || rank >= ranks) return INVALID_ARGUMENT;
    int device = 0;
    int (*get)(int *) = (int (*)(int *))driver_symbol("cuCtxGetDevice");
    if (get) get(&device);
    *made = calloc(1, sizeof **made);
    **made = (Communicator){ranks, rank, device};
    return 0;
}
API int ncclCommInitRank(Communicator **made, int ranks, UniqueId id UNUSED, int rank) { ENTER; return join(made, ranks, rank); }
API int ncclCommInitRankConfig(Communicator **made, int ranks, UniqueId id UNUSED, int rank, void *config UNUSED) {
    ENTER;
    return join(made, ranks, rank);
}
API int ncclCommInitAll(Communicator **made, int ranks, const int *devices UNUSED) {
    ENTER;
    for (int rank = 0; rank < ranks; rank++) {
        int status = join(&made[rank], ranks, rank);
        if (status) return status;
    }
    return 0;
}
API int ncclCommSplit(Communicator *communicator, int color UNUSED, int key UNUSED, Communicator **made, void *config UNUSED) {
    ENTER;
    return join(made, communicator->ranks, communicator->rank);
}
API int ncclCommDestroy(Communicator *communicator) { ENTER; free(communicator); return 0; }
API int ncclCommAbort(Communicator *communicator) { ENTER; free(communicator); return 0; }
API int ncclCommFinalize(Communicator *communicator UNUSED) { ENTER; return 0; }
API int ncclCommGetAsyncError(Communicator *communicator UNUSED, int *status) { ENTER; *status = 0; return 0; }
API int ncclCommCount(Communicator *communicator, int *count) { ENTER; *count = communicator->ranks; return 0; }
API int ncclCommUserRank(Communicator *communicator, int *rank) { ENTER; *rank = communicator->rank; return 0; }
API int ncclCommCuDevice(Communicator *communicator, int *device) { ENTER; *device = communicator->device; return 0; }
API int ncclGroupStart(void) { ENTER; return 0; }
API int ncclGroupEnd(void) { ENTER; return 0; }

/* "ncclDataType_t": int8, uint8, int32, uint32, int64, uint64, float16, float32, float64, bfloat16, two of 8 bits. */
static size_t size_of(int type) {
    static const size_t sizes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};
    return type >= 0 && type < 12 ? sizes[type] : 0;
}
static int hand_on(void *to, const void *from, size_t count, int type) {
    if (!size_of(type)) return INVALID_ARGUMENT;
    if (to && from && to != from) memmove(to, from, count * size_of(type));
    return 0;
}
API int ncclAllReduce(const void *from, void *to, size_t count, int type, int operation UNUSED, Communicator *communicator UNUSED, void *stream UNUSED) {
    ENTER;
    return hand_on(to, from, count, type);
}
API int ncclReduce(const void *from, void *to, size_t count, int type, int operation UNUSED, int root, Communicator *communicator, void *stream UNUSED) {
    ENTER;
    return communicator->rank == root ? hand_on(to, from, count, type) : 0;
}
API int ncclBroadcast(const void *from, void *to, size_t count, int type, int root UNUSED, Communicator *communicator UNUSED, void *stream UNUSED) {
    ENTER;
    return hand_on(to, from, count, type);
}
API int ncclBcast(void *buffer UNUSED, size_t count UNUSED, int type UNUSED, int root UNUSED, Communicator *communicator UNUSED, void *stream UNUSED) {
    ENTER;
    return 0;
}
API int ncclReduceScatter(const void *from, void *to, size_t count, int type, int operation UNUSED, Communicator *communicator UNUSED, void *stream UNUSED) {
    ENTER;
    return hand_on(to, from, count, type);
}
API int ncclAllGather(const void *from, void *to, size_t count, int type, Communicator *communicator, void *stream UNUSED) {
    ENTER;
    return hand_on((char *)to + (size_t)communicator->rank * count * size_of(type), from, count, type);
}
API int ncclSend(const void *from UNUSED, size_t count UNUSED, int type UNUSED, int peer UNUSED, Communicator *communicator UNUSED, void *stream UNUSED) {
    ENTER;
    return 0;
}
API int ncclRecv(void *to UNUSED, size_t count UNUSED, int type UNUSED, int peer UNUSED, Communicator *communicator UNUSED, void *stream UNUSED) {
    ENTER;
    return 0;
}
