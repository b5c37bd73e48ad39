/* libcublasLt: descriptors are blank objects; the heuristics return one algorithm; products succeed and compute
 * nothing. */
#define _GNU_SOURCE
#include "simulation.h"

#include <stdlib.h>
#include <string.h>

static int blank(void **made) { *made = calloc(1, 512); return *made ? 0 : 3; }

API int cublasLtCreate(void **handle) { ENTER; return blank(handle); }
API int cublasLtDestroy(void *handle) { ENTER; free(handle); return 0; }
API size_t cublasLtGetVersion(void) { return (size_t)machine()->cublas_version; }
API size_t cublasLtGetCudartVersion(void) { return (size_t)machine()->runtime_cuda; }

API int cublasLtMatmulDescCreate(void **made, int compute UNUSED, int scale UNUSED) { ENTER; return blank(made); }
API int cublasLtMatrixTransformDescCreate(void **made, int scale UNUSED) { ENTER; return blank(made); }
API int cublasLtMatrixLayoutCreate(void **made, int type UNUSED, uint64_t rows UNUSED, uint64_t columns UNUSED, int64_t leading UNUSED) {
    ENTER;
    return blank(made);
}
API int cublasLtMatmulPreferenceCreate(void **made) { ENTER; return blank(made); }

#define FREES(name) API int name(void *made) { ENTER; free(made); return 0; }
FREES(cublasLtMatmulDescDestroy)
FREES(cublasLtMatrixTransformDescDestroy)
FREES(cublasLtMatrixLayoutDestroy)
FREES(cublasLtMatmulPreferenceDestroy)

#define SUCCEEDS(name) API int name(void) { ENTER; return 0; }
SUCCEEDS(cublasLtMatmulDescSetAttribute)
SUCCEEDS(cublasLtMatrixLayoutSetAttribute)
SUCCEEDS(cublasLtMatmulPreferenceSetAttribute)
SUCCEEDS(cublasLtMatmul)

/* Each result has 96 bytes: the algorithm, its workspace (0), its status (0), waves, and reserved space. */
enum { RESULT = 96 };
API int cublasLtMatmulAlgoGetHeuristic(void *handle UNUSED, void *operation UNUSED, void *a UNUSED, void *b UNUSED, void *c UNUSED, void *d UNUSED,
                                       void *preference UNUSED, int wanted, char *results, int *count) {
    ENTER;
    *count = wanted > 0;
    if (*count) memset(results, 0, RESULT);
    return 0;
}
