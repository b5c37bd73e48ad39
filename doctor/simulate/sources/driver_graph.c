/* libcuda.so.1: CUDA graphs. XLA puts the launches of a compiled function into a graph to submit them together.
 * Specified: a graph is built of nodes or captured from a stream, made executable, and launched. Here: a graph counts
 * its nodes. Launching it does nothing, because kernels compute nothing; copies and fills inside a graph are not done
 * either. */
#define _GNU_SOURCE
#include "driver.h"

#include <stdlib.h>

typedef struct { size_t nodes; } Graph;
typedef struct { int type; } Node;

/* "CUgraphNodeType" */
enum { KERNEL = 0, COPY = 1, FILL = 2, CHILD = 4, EMPTY = 5 };

static int new_graph(Graph **graph) { *graph = calloc(1, sizeof **graph); return *graph ? CUDA_OK : OUT_OF_MEMORY; }

static int add(Node **node, Graph *graph, int type) {
    *node = calloc(1, sizeof **node);
    if (!*node) return OUT_OF_MEMORY;
    (*node)->type = type;
    if (graph) graph->nodes++;
    return CUDA_OK;
}

API int cuGraphCreate(Graph **graph, unsigned flags UNUSED) { ENTER; return new_graph(graph); }
API int cuGraphClone(Graph **graph, Graph *original) { ENTER; int s = new_graph(graph); if (!s) **graph = *original; return s; }
API int cuGraphDestroy(Graph *graph) { ENTER; free(graph); return CUDA_OK; }

#define BEFORE const void **before UNUSED, size_t count UNUSED
API int cuGraphAddKernelNode(Node **node, Graph *graph, BEFORE, const void *launch UNUSED) { ENTER; return add(node, graph, KERNEL); }
API int cuGraphAddKernelNode_v2(Node **node, Graph *graph, BEFORE, const void *launch UNUSED) { ENTER; return add(node, graph, KERNEL); }
API int cuGraphAddMemcpyNode(Node **node, Graph *graph, BEFORE, const void *copy UNUSED, void *context UNUSED) {
    ENTER;
    return add(node, graph, COPY);
}
API int cuGraphAddMemsetNode(Node **node, Graph *graph, BEFORE, const void *fill UNUSED, void *context UNUSED) {
    ENTER;
    return add(node, graph, FILL);
}
API int cuGraphAddChildGraphNode(Node **node, Graph *graph, BEFORE, Graph *child UNUSED) { ENTER; return add(node, graph, CHILD); }
API int cuGraphAddEmptyNode(Node **node, Graph *graph, BEFORE) { ENTER; return add(node, graph, EMPTY); }
API int cuGraphAddNode(Node **node, Graph *graph, BEFORE, void *parameters) { ENTER; return add(node, graph, *(int *)parameters); }
API int cuGraphAddNode_v2(Node **node, Graph *graph, const void **before UNUSED, const void *edges UNUSED, size_t count UNUSED, void *parameters) {
    ENTER;
    return add(node, graph, *(int *)parameters);
}
API int cuGraphAddDependencies(Graph *graph UNUSED, const void **from UNUSED, const void **to UNUSED, size_t count UNUSED) { ENTER; return CUDA_OK; }
API int cuGraphDestroyNode(Node *node) { ENTER; free(node); return CUDA_OK; }
API int cuGraphNodeGetType(Node *node, int *type) { ENTER; *type = node->type; return CUDA_OK; }
API int cuGraphConditionalHandleCreate(uint64_t *handle, Graph *graph UNUSED, Context *context UNUSED, unsigned value UNUSED, unsigned flags UNUSED) {
    ENTER;
    *handle = 1;
    return CUDA_OK;
}
API int cuGraphGetNodes(Graph *graph, void **nodes, size_t *count) {
    ENTER;
    for (size_t i = 0; nodes && i < *count; i++) nodes[i] = NULL;
    *count = graph->nodes;
    return CUDA_OK;
}
API int cuGraphDebugDotPrint(Graph *graph UNUSED, const char *path UNUSED, unsigned flags UNUSED) { ENTER; return CUDA_OK; }

static int executable(void **made) { *made = calloc(1, 32); return *made ? CUDA_OK : OUT_OF_MEMORY; }
API int cuGraphInstantiate(void **made, Graph *graph UNUSED, Node **culprit UNUSED, char *log UNUSED, size_t size UNUSED) { ENTER; return executable(made); }
API int cuGraphInstantiate_v2(void **made, Graph *graph UNUSED, Node **culprit UNUSED, char *log UNUSED, size_t size UNUSED) {
    ENTER;
    return executable(made);
}
API int cuGraphInstantiateWithFlags(void **made, Graph *graph UNUSED, uint64_t flags UNUSED) { ENTER; return executable(made); }
API int cuGraphInstantiateWithParams(void **made, Graph *graph UNUSED, void *parameters UNUSED) { ENTER; return executable(made); }
API int cuGraphExecDestroy(void *made) { ENTER; free(made); return CUDA_OK; }
API int cuGraphExecGetFlags(void *made UNUSED, uint64_t *flags) { ENTER; *flags = 0; return CUDA_OK; }
/* Specified: the result says whether the executable graph could be updated (0: it could). */
API int cuGraphExecUpdate(void *made UNUSED, Graph *graph UNUSED, Node **culprit UNUSED, int *result) { ENTER; *result = 0; return CUDA_OK; }
API int cuGraphExecUpdate_v2(void *made UNUSED, Graph *graph UNUSED, int *result) { ENTER; *result = 0; return CUDA_OK; }
API int cuGraphUpload(void *made UNUSED, void *stream UNUSED) { ENTER; return CUDA_OK; }
API int cuGraphLaunch(void *made UNUSED, void *stream UNUSED) { ENTER; return CUDA_OK; }

/* Changes to the parameters of nodes, which have no effect because nodes never run. */
#define SUCCEEDS(name) API int name(void) { ENTER; return CUDA_OK; }
SUCCEEDS(cuGraphExecKernelNodeSetParams)
SUCCEEDS(cuGraphExecKernelNodeSetParams_v2)
SUCCEEDS(cuGraphExecMemcpyNodeSetParams)
SUCCEEDS(cuGraphExecMemsetNodeSetParams)
SUCCEEDS(cuGraphExecChildGraphNodeSetParams)
SUCCEEDS(cuGraphExecNodeSetParams)
SUCCEEDS(cuGraphKernelNodeSetParams)
SUCCEEDS(cuGraphKernelNodeSetParams_v2)
SUCCEEDS(cuGraphKernelNodeSetAttribute)
SUCCEEDS(cuGraphKernelNodeCopyAttributes)
SUCCEEDS(cuGraphNodeSetEnabled)
SUCCEEDS(cuDeviceGraphMemTrim)

/* Work in a capturing stream still runs at once; the captured graph is empty. */
static __thread int capturing;
API int cuStreamBeginCapture_v2(void *stream UNUSED, int mode UNUSED) { ENTER; capturing = 1; return CUDA_OK; }
API int cuStreamBeginCaptureToGraph(void *stream UNUSED, Graph *graph UNUSED, BEFORE, int mode UNUSED) { ENTER; capturing = 1; return CUDA_OK; }
API int cuStreamEndCapture(void *stream UNUSED, Graph **graph) { ENTER; capturing = 0; return new_graph(graph); }
API int cuStreamIsCapturing(void *stream UNUSED, int *status) { ENTER; *status = capturing; return CUDA_OK; }
API int cuThreadExchangeStreamCaptureMode(int *mode) { ENTER; *mode = 0; return CUDA_OK; }
