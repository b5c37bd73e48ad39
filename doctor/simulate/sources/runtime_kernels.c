/* libcudart: the GPU code inside a host program. At start-up every object file that nvcc compiled registers its
 * kernels (through the functions that begin with two underscores). Here, nothing is registered, and a launch
 * computes nothing. */
#define _GNU_SOURCE
#include "runtime.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct { unsigned x, y, z; } Extent;

API void **__cudaRegisterFatBinary(void *binary UNUSED) { return calloc(1, 32); }
API void __cudaRegisterFatBinaryEnd(void **handle UNUSED) {}
API void __cudaUnregisterFatBinary(void **handle) { free(handle); }
API void __cudaRegisterFunction(void **handle UNUSED, const char *host UNUSED, char *device UNUSED, const char *name UNUSED, int limit UNUSED,
                                void *thread UNUSED, void *block UNUSED, void *block_size UNUSED, void *grid UNUSED, int *warp UNUSED) {}
API void __cudaRegisterVar(void **handle UNUSED, char *host UNUSED, char *device UNUSED, const char *name UNUSED, int external UNUSED,
                           size_t size UNUSED, int constant UNUSED, int global UNUSED) {}
API char __cudaInitModule(void **handle UNUSED) { return 1; }

static __thread struct { Extent grid, block; size_t shared; void *stream; } pushed;
API unsigned __cudaPushCallConfiguration(Extent grid, Extent block, size_t shared, void *stream) {
    pushed.grid = grid;
    pushed.block = block;
    pushed.shared = shared;
    pushed.stream = stream;
    return 0;
}
API int __cudaPopCallConfiguration(Extent *grid, Extent *block, size_t *shared, void **stream) {
    *grid = pushed.grid;
    *block = pushed.block;
    *shared = pushed.shared;
    *stream = pushed.stream;
    return 0;
}

API int cudaLaunchKernel(const void *function UNUSED, Extent grid UNUSED, Extent block UNUSED, void **arguments UNUSED, size_t shared UNUSED,
                         void *stream UNUSED) {
    int struck = enter(__func__);
    return keep(struck);
}
API int cudaFuncSetAttribute(const void *function UNUSED, int attribute UNUSED, int value UNUSED) { ENTER; return 0; }
API int cudaFuncSetCacheConfig(const void *function UNUSED, int config UNUSED) { ENTER; return 0; }

/* The members of cudaFuncAttributes that callers use. */
typedef struct { size_t shared, constant, local; int threads, registers, ptx, binary, cache, dynamic_shared; char rest[16]; } FunctionAttributes;
API int cudaFuncGetAttributes(FunctionAttributes *attributes, const void *function UNUSED) {
    ENTER;
    memset(attributes, 0, 48);
    attributes->threads = 1024;
    attributes->registers = 32;
    attributes->ptx = attributes->binary = 80;
    attributes->dynamic_shared = 99 * 1024;
    return 0;
}
API int cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *function UNUSED, int threads UNUSED, size_t shared UNUSED) {
    ENTER;
    *blocks = 2;
    return 0;
}
API int cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, const void *function, int threads, size_t shared,
                                                               unsigned flags UNUSED) {
    return cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, function, threads, shared);
}
API int cudaGetFuncBySymbol(const void **function, const void *symbol) { ENTER; *function = symbol; return 0; }
API int cudaGetDriverEntryPoint(const char *name, void **function, uint64_t flags UNUSED) {
    ENTER;
    return DRIVER(cuGetProcAddress, (const char *, void **, int, uint64_t), name, function, 0, 0);
}
