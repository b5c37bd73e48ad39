/* libcudnn: version, handle, descriptors, and as much of the graph interface as TensorFlow's autotuner uses. A handle
 * uses device memory (cudnn.handle_mib of the machine). If less is free, cudnnCreate returns the status that is set for
 * the machine. That status is an assumption, because the real cudnnCreate's differs between releases. */
#define _GNU_SOURCE
#include "simulation.h"

#include <stdlib.h>

static int is_9(void) { return machine()->cudnn_version >= 90000; }

API size_t cudnnGetVersion(void) { enter(__func__); return (size_t)machine()->cudnn_version; }
API size_t cudnnGetCudartVersion(void) { return (size_t)machine()->runtime_cuda; }
/* 8907 is 8.9.7 and 90300 is 9.3.0: the factor of the major number changed with cuDNN 9. */
API int cudnnGetProperty(int part, int *value) {
    ENTER;
    const int version = machine()->cudnn_version, major = is_9() ? 10000 : 1000;
    *value = part == 0 ? version / major : part == 1 ? version % major / 100 : version % 100;
    return 0;
}

typedef struct { int gpu; } Handle;

API int cudnnCreate(Handle **handle) {
    ENTER;
    *handle = NULL;
    const int gpu = current_gpu();
    if (ledger_take(gpu, machine()->cudnn_handle_bytes)) return machine()->cudnn_no_memory;
    *handle = calloc(1, 256);
    (*handle)->gpu = gpu;
    return 0;
}
API int cudnnDestroy(Handle *handle) {
    ENTER;
    ledger_give(handle->gpu, machine()->cudnn_handle_bytes);
    free(handle);
    return 0;
}
API int cudnnSetStream(Handle *handle UNUSED, void *stream UNUSED) { ENTER; return 0; }

/* cuDNN API reference, "cudnnStatus_t": cuDNN 8 (numbers up to 15) and cuDNN 9 (numbers from 1001). */
static const struct { int status; const char *name; } statuses[] = {
    {0, "CUDNN_STATUS_SUCCESS"}, {1, "CUDNN_STATUS_NOT_INITIALIZED"}, {2, "CUDNN_STATUS_ALLOC_FAILED"}, {3, "CUDNN_STATUS_BAD_PARAM"},
    {4, "CUDNN_STATUS_INTERNAL_ERROR"}, {5, "CUDNN_STATUS_INVALID_VALUE"}, {6, "CUDNN_STATUS_ARCH_MISMATCH"},
    {7, "CUDNN_STATUS_MAPPING_ERROR"}, {8, "CUDNN_STATUS_EXECUTION_FAILED"}, {9, "CUDNN_STATUS_NOT_SUPPORTED"},
    {13, "CUDNN_STATUS_VERSION_MISMATCH"}, {1001, "CUDNN_STATUS_NOT_INITIALIZED"}, {1002, "CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH"},
    {1008, "CUDNN_STATUS_SUBLIBRARY_LOADING_FAILED"}, {2000, "CUDNN_STATUS_BAD_PARAM"}, {3000, "CUDNN_STATUS_NOT_SUPPORTED"},
    {4000, "CUDNN_STATUS_INTERNAL_ERROR"}, {4003, "CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED"},
    {4004, "CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED"}, {5000, "CUDNN_STATUS_EXECUTION_FAILED"},
};
API const char *cudnnGetErrorString(int status) {
    for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++)
        if (statuses[i].status == status) return statuses[i].name;
    return "CUDNN_STATUS_UNKNOWN";
}
API void cudnnGetLastErrorString(char *text, size_t size) { if (size) *text = 0; }

/* Descriptors: each is a blank object; nothing reads its settings. */
static int descriptor(void **made) { *made = calloc(1, 512); return *made ? 0 : 2; }
#define DESCRIPTOR(kind) \
    API int cudnnCreate##kind##Descriptor(void **made) { ENTER; return descriptor(made); } \
    API int cudnnDestroy##kind##Descriptor(void *made) { ENTER; free(made); return 0; }
DESCRIPTOR(Tensor)
DESCRIPTOR(Filter)
DESCRIPTOR(Convolution)
DESCRIPTOR(Pooling)
DESCRIPTOR(Activation)
DESCRIPTOR(LRN)
DESCRIPTOR(Dropout)
DESCRIPTOR(OpTensor)
DESCRIPTOR(CTCLoss)

/* Calls that only need to succeed. Their arguments are ignored. */
#define SUCCEEDS(name) API int name(void) { ENTER; return 0; }
SUCCEEDS(cudnnSetTensorNdDescriptor)
SUCCEEDS(cudnnSetTensor4dDescriptor)
SUCCEEDS(cudnnSetFilterNdDescriptor)
SUCCEEDS(cudnnSetConvolutionNdDescriptor)
SUCCEEDS(cudnnSetConvolutionMathType)
SUCCEEDS(cudnnSetConvolutionGroupCount)
SUCCEEDS(cudnnSetPoolingNdDescriptor)
SUCCEEDS(cudnnSetActivationDescriptor)
SUCCEEDS(cudnnPoolingForward)
SUCCEEDS(cudnnPoolingBackward)
SUCCEEDS(cudnnActivationForward)
SUCCEEDS(cudnnConvolutionForward)
SUCCEEDS(cudnnConvolutionBackwardData)
SUCCEEDS(cudnnConvolutionBackwardFilter)
SUCCEEDS(cudnnBatchNormalizationForwardInference)
SUCCEEDS(cudnnBatchNormalizationForwardTraining)
SUCCEEDS(cudnnBatchNormalizationForwardTrainingEx)
SUCCEEDS(cudnnBatchNormalizationBackward)
SUCCEEDS(cudnnBatchNormalizationBackwardEx)
SUCCEEDS(cudnnDeriveBNTensorDescriptor)
/* cuDNN 8 and 9: each sub-library reports whether it fits the others. */
SUCCEEDS(cudnnOpsInferVersionCheck)
SUCCEEDS(cudnnOpsTrainVersionCheck)
SUCCEEDS(cudnnCnnInferVersionCheck)
SUCCEEDS(cudnnCnnTrainVersionCheck)
SUCCEEDS(cudnnAdvInferVersionCheck)
SUCCEEDS(cudnnAdvTrainVersionCheck)
SUCCEEDS(cudnnOpsVersionCheck)
SUCCEEDS(cudnnCnnVersionCheck)
SUCCEEDS(cudnnAdvVersionCheck)
SUCCEEDS(cudnnGraphVersionCheck)

/* The graph ("backend") interface: operations, engines and plans are descriptors with attributes. */
API int cudnnBackendCreateDescriptor(int kind, void **made) {
    ENTER;
    int status = descriptor(made);
    if (!status) *(int *)*made = kind;
    return status;
}
SUCCEEDS(cudnnBackendDestroyDescriptor)
SUCCEEDS(cudnnBackendSetAttribute)
SUCCEEDS(cudnnBackendFinalize)
SUCCEEDS(cudnnBackendExecute)

/* Specified: fills in up to `wanted` elements and returns how many there are. Here: returns what the autotuner needs in
 * order to continue: one engine (or none, depending on the machine's cudnn.engines), without a workspace. */
API int cudnnBackendGetAttribute(void *object UNUSED, int attribute, int type UNUSED, int64_t wanted, int64_t *there, void *elements) {
    ENTER;
    int64_t count = 0, value = 0;
    switch (attribute) {                               /* "cudnnBackendAttributeName_t" */
    case 202: count = machine()->cudnn_engines; break; /* results of the engine heuristics */
    case 300: case 401: count = 1; break;              /* an engine configuration's engine; a plan's configuration */
    case 402: case 1301: count = 1; break;             /* a plan's workspace; an engine's numerical notes: none */
    case 802: count = value = 1; break;
    }
    if (there) *there = count;
    if (elements && wanted && (attribute == 402 || attribute == 1301 || attribute == 802)) *(int64_t *)elements = value;
    return 0;
}

/* The older interface, which TensorFlow uses if the graph interface is switched off. */
API int cudnnGetConvolutionForwardAlgorithmMaxCount(void *handle UNUSED, int *count) { ENTER; *count = 8; return 0; }
API int cudnnGetConvolutionForwardWorkspaceSize(void *handle UNUSED, void *input UNUSED, void *filter UNUSED, void *convolution UNUSED,
                                                void *output UNUSED, int algorithm UNUSED, size_t *size) {
    ENTER;
    *size = 0;
    return 0;
}
API int cudnnGetConvolutionForwardAlgorithm_v7(void *handle UNUSED, void *input UNUSED, void *filter UNUSED, void *convolution UNUSED,
                                               void *output UNUSED, int wanted, int *count, int *results) {
    ENTER;
    *count = wanted > 0 && machine()->cudnn_engines > 0;
    for (int i = 0; *count && i < 12; i++) results[i] = i == 0;   /* algorithm 1, status 0, no time, no memory */
    return 0;
}
