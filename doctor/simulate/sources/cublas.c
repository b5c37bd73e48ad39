/* libcublas: handles, and the simulated GPU's only computation: single-precision matrix products. They are computed on
 * the host, so that a program that checks a small product sees the right answer. All other routines succeed and compute
 * nothing. */
#define _GNU_SOURCE
#include "simulation.h"

#include <stdlib.h>

typedef struct { int gpu; void *stream; int math_mode, pointer_mode; char rest[232]; } Handle;

/* A handle uses device memory (cublas.handle_mib). If less is free, the status is the machine's cublas.no_memory. */
API int cublasCreate_v2(Handle **handle) {
    ENTER;
    *handle = NULL;
    const int gpu = current_gpu();
    if (ledger_take(gpu, machine()->cublas_handle_bytes)) return machine()->cublas_no_memory;
    *handle = calloc(1, sizeof **handle);
    (*handle)->gpu = gpu;
    return 0;
}
API int cublasDestroy_v2(Handle *handle) {
    ENTER;
    ledger_give(handle->gpu, machine()->cublas_handle_bytes);
    free(handle);
    return 0;
}
API int cublasGetVersion_v2(Handle *handle UNUSED, int *version) { ENTER; *version = machine()->cublas_version; return 0; }
API int cublasSetStream_v2(Handle *handle, void *stream) { ENTER; handle->stream = stream; return 0; }
API int cublasGetStream_v2(Handle *handle, void **stream) { ENTER; *stream = handle->stream; return 0; }
API int cublasSetMathMode(Handle *handle, int mode) { ENTER; handle->math_mode = mode; return 0; }
API int cublasGetMathMode(Handle *handle, int *mode) { ENTER; *mode = handle->math_mode; return 0; }
API int cublasSetPointerMode_v2(Handle *handle, int mode) { ENTER; handle->pointer_mode = mode; return 0; }
API int cublasGetPointerMode_v2(Handle *handle, int *mode) { ENTER; *mode = handle->pointer_mode; return 0; }
API int cublasSetWorkspace_v2(Handle *handle UNUSED, void *workspace UNUSED, size_t size UNUSED) { ENTER; return 0; }

/* cuBLAS documentation, "cublasStatus_t", and the texts of cublasGetStatusString. */
static const struct { int status; const char *name, *text; } statuses[] = {
    {0, "CUBLAS_STATUS_SUCCESS", "success"},
    {1, "CUBLAS_STATUS_NOT_INITIALIZED", "the library was not initialized"},
    {3, "CUBLAS_STATUS_ALLOC_FAILED", "the resource allocation failed"},
    {7, "CUBLAS_STATUS_INVALID_VALUE", "an unsupported value or parameter was passed to the function"},
    {8, "CUBLAS_STATUS_ARCH_MISMATCH", "the function requires an architectural feature absent from the device"},
    {13, "CUBLAS_STATUS_EXECUTION_FAILED", "the function failed to launch on the GPU"},
    {14, "CUBLAS_STATUS_INTERNAL_ERROR", "an internal operation failed"},
    {15, "CUBLAS_STATUS_NOT_SUPPORTED", "the requested functionality is not supported"},
};
API const char *cublasGetStatusName(int status) {
    for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++)
        if (statuses[i].status == status) return statuses[i].name;
    return "<unknown>";
}
API const char *cublasGetStatusString(int status) {
    for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++)
        if (statuses[i].status == status) return statuses[i].text;
    return "<unknown>";
}

/* C = alpha op(A) op(B) + beta C, in column-major order, as BLAS defines sgemm. */
API int cublasSgemm_v2(Handle *handle UNUSED, int transpose_a, int transpose_b, int rows, int columns, int depth, const float *alpha,
                       const float *a, int lda, const float *b, int ldb, const float *beta, float *c, int ldc) {
    ENTER;
    for (size_t column = 0; column < (size_t)columns; column++)
        for (size_t row = 0; row < (size_t)rows; row++) {
            double sum = 0;
            for (size_t k = 0; k < (size_t)depth; k++)
                sum += (double)(transpose_a ? a[k + row * (size_t)lda] : a[row + k * (size_t)lda])
                     * (double)(transpose_b ? b[column + k * (size_t)ldb] : b[k + column * (size_t)ldb]);
            float *cell = &c[row + column * (size_t)ldc];
            *cell = (float)(*alpha * sum + (*beta != 0 ? *beta * *cell : 0));
        }
    return 0;
}

#define SUCCEEDS(name) API int name(void) { ENTER; return 0; }
SUCCEEDS(cublasGemmEx)
SUCCEEDS(cublasGemmStridedBatchedEx)
SUCCEEDS(cublasGemmBatchedEx)
SUCCEEDS(cublasSgemmStridedBatched)
SUCCEEDS(cublasSgemmBatched)
SUCCEEDS(cublasSgemv_v2)
SUCCEEDS(cublasSaxpy_v2)
SUCCEEDS(cublasDgemm_v2)
