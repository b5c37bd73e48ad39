/* libcuda.so.1: modules, kernels, launches, and how callers find the other functions. Specified: a module is GPU code,
 * which is compiled (PTX) or matched to the GPU (SASS). Here: a module's content is never examined, and a launch
 * succeeds and computes nothing. A fault on cuModuleLoadData* represents code that does not fit the GPU or the driver;
 * a fault on cuLaunchKernel or cuStreamSynchronize represents a kernel that crashes. */
#define _GNU_SOURCE
#include "driver.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int blank(void **handle) { *handle = calloc(1, 32); return *handle ? CUDA_OK : OUT_OF_MEMORY; }

API int cuModuleLoad(void **module, const char *path UNUSED) { ENTER; return blank(module); }
API int cuModuleLoadData(void **module, const void *image UNUSED) { ENTER; return blank(module); }
API int cuModuleLoadDataEx(void **module, const void *image UNUSED, unsigned count UNUSED, int *options UNUSED, void **values UNUSED) {
    ENTER;
    return blank(module);
}
API int cuModuleLoadFatBinary(void **module, const void *image UNUSED) { ENTER; return blank(module); }
API int cuModuleUnload(void *module) { ENTER; free(module); return CUDA_OK; }

/* A function consists only of its name. */
API int cuModuleGetFunction(char **function, void *module UNUSED, const char *name) { ENTER; *function = strdup(name); return CUDA_OK; }
API int cuModuleGetGlobal_v2(DevicePointer *address, size_t *size, void *module UNUSED, const char *name UNUSED) {
    ENTER;
    static char globals[65536];
    if (address) *address = (DevicePointer)globals;
    if (size) *size = sizeof globals;
    return CUDA_OK;
}
API int cuLibraryLoadData(void **library, const void *code UNUSED, int *jit UNUSED, void **jit_values UNUSED, unsigned jit_count UNUSED,
                          int *options UNUSED, void **values UNUSED, unsigned count UNUSED) {
    ENTER;
    return blank(library);
}
API int cuLibraryUnload(void *library) { ENTER; free(library); return CUDA_OK; }
API int cuLibraryGetKernel(char **kernel, void *library UNUSED, const char *name) { ENTER; *kernel = strdup(name); return CUDA_OK; }
API int cuLibraryGetModule(void **module, void *library UNUSED) { ENTER; return blank(module); }
API int cuKernelGetFunction(void **function, void *kernel) { ENTER; *function = kernel; return CUDA_OK; }
API int cuKernelSetAttribute(int attribute UNUSED, int value UNUSED, void *kernel UNUSED, int device UNUSED) { ENTER; return CUDA_OK; }
API int cuKernelSetCacheConfig(void *kernel UNUSED, int config UNUSED, int device UNUSED) { ENTER; return CUDA_OK; }
API int cuFuncSetAttribute(void *function UNUSED, int attribute UNUSED, int value UNUSED) { ENTER; return CUDA_OK; }
API int cuFuncSetCacheConfig(void *function UNUSED, int config UNUSED) { ENTER; return CUDA_OK; }
API int cuFuncSetSharedMemConfig(void *function UNUSED, int config UNUSED) { ENTER; return CUDA_OK; }
API int cuFuncGetAttribute(int *value, int attribute, void *function UNUSED) {
    ENTER;
    switch (attribute) {                                 /* "CUfunction_attribute" */
    case 0: *value = 1024; break;                        /* threads per block */
    case 4: *value = 32; break;                          /* registers */
    case 5: case 6: *value = 80; break;                  /* PTX and binary version */
    default: *value = 0;
    }
    return CUDA_OK;
}
API int cuFuncGetModule(void **module, void *function UNUSED) { ENTER; return blank(module); }
API int cuFuncGetName(const char **name, void *function) { ENTER; *name = function; return CUDA_OK; }

API int cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, void *function UNUSED, int threads UNUSED, size_t shared UNUSED) {
    ENTER;
    *blocks = 2;
    return CUDA_OK;
}
API int cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, void *function, int threads, size_t shared, unsigned flags UNUSED) {
    return cuOccupancyMaxActiveBlocksPerMultiprocessor(blocks, function, threads, shared);
}
API int cuOccupancyMaxPotentialBlockSize(int *grid, int *block, void *function UNUSED, void *shared_of_block UNUSED, size_t shared UNUSED,
                                         int limit UNUSED) {
    ENTER;
    *grid = 2 * gpu_at(current_device())->multiprocessors;
    *block = 256;
    return CUDA_OK;
}
API int cuOccupancyMaxPotentialBlockSizeWithFlags(int *grid, int *block, void *function, void *shared_of_block, size_t shared, int limit,
                                                  unsigned flags UNUSED) {
    return cuOccupancyMaxPotentialBlockSize(grid, block, function, shared_of_block, shared, limit);
}

API int cuLaunchKernel(void *function UNUSED, unsigned grid_x UNUSED, unsigned grid_y UNUSED, unsigned grid_z UNUSED, unsigned block_x UNUSED,
                       unsigned block_y UNUSED, unsigned block_z UNUSED, unsigned shared UNUSED, void *stream UNUSED, void **arguments UNUSED,
                       void **extra UNUSED) {
    ENTER;
    return CUDA_OK;
}
API int cuLaunchKernelEx(const void *config UNUSED, void *function UNUSED, void **arguments UNUSED, void **extra UNUSED) { ENTER; return CUDA_OK; }

API int cuProfilerStart(void) { ENTER; return CUDA_OK; }
API int cuProfilerStop(void) { ENTER; return CUDA_OK; }

/* Specified: the newest form of a function in the requested CUDA release. Here: a function has only one form. */
API int cuGetProcAddress_v2(const char *name, void **function, int cuda UNUSED, uint64_t flags UNUSED, int *result) {
    static void *self;
    Dl_info info;
    if (!self && dladdr((void *)(uintptr_t)cuGetProcAddress_v2, &info)) self = dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD);
    char versioned[128];
    snprintf(versioned, sizeof versioned, "%s_v2", name);
    *function = self ? dlsym(self, versioned) : NULL;
    if (!*function && self) *function = dlsym(self, name);
    if (result) *result = *function ? 0 : 1;
    return *function ? CUDA_OK : NOT_FOUND;
}
API int cuGetProcAddress(const char *name, void **function, int cuda, uint64_t flags) {
    return cuGetProcAddress_v2(name, function, cuda, flags, NULL);
}

/* Specified: tables of private functions for NVIDIA's own libraries. Here: there are none, so NVIDIA's cudart does not
 * run on this driver; it needs the simulated cudart. */
API int cuGetExportTable(const void **table, const void *id UNUSED) { ENTER; *table = NULL; return NOT_FOUND; }
