/* libcufft, libcusolver, libcusparse and libcurand: TensorFlow loads them at start-up and reads their versions. They
 * have only handles, and no routine computes. All four libraries are built from this source. */
#define _GNU_SOURCE
#include "simulation.h"

#include <stdlib.h>

static int blank(void **handle) { *handle = calloc(1, 512); return *handle ? 0 : 2; }

/* "libraryPropertyType": 0 major, 1 minor, 2 patch; here, of the CUDA release to which the libraries belong. */
static int version_part(int part, int *value) {
    const int cuda = machine()->runtime_cuda;
    *value = part == 0 ? cuda / 1000 : part == 1 ? cuda % 1000 / 10 : 0;
    return 0;
}

API int cufftGetProperty(int part, int *value) { ENTER; return version_part(part, value); }
API int cufftGetVersion(int *version) { ENTER; *version = machine()->runtime_cuda; return 0; }

API int cusolverDnCreate(void **handle) { ENTER; return blank(handle); }
API int cusolverDnDestroy(void *handle) { ENTER; free(handle); return 0; }
API int cusolverDnSetStream(void *handle UNUSED, void *stream UNUSED) { ENTER; return 0; }
API int cusolverGetProperty(int part, int *value) { ENTER; return version_part(part, value); }

API int cusparseCreate(void **handle) { ENTER; return blank(handle); }
API int cusparseDestroy(void *handle) { ENTER; free(handle); return 0; }
API int cusparseSetStream(void *handle UNUSED, void *stream UNUSED) { ENTER; return 0; }
API int cusparseGetProperty(int part, int *value) { ENTER; return version_part(part, value); }

API int curandGetProperty(int part, int *value) { ENTER; return version_part(part, value); }
API int curandGetVersion(int *version) { ENTER; *version = machine()->runtime_cuda; return 0; }
