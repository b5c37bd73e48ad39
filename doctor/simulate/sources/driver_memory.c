/* libcuda.so.1: memory. Device memory is host memory, which is only reserved until it is written to; the ledger counts
 * it as memory of the GPU. Copies and fills are real, so data that is copied "to the GPU" can be read back. */
#define _GNU_SOURCE
#include "driver.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { PAGE = 4096, GRANULARITY = 2 << 20 };
/* The values that cuPointerGetAttribute returns, "CUmemorytype": 1 host, 2 device. */
typedef enum { HOST = 1, DEVICE = 2, MAPPED = 3 } Kind;
typedef struct { DevicePointer start; size_t size; int device; Kind kind; } Block;

static Block *blocks;
static size_t block_count, block_room;
static pthread_mutex_t blocks_lock = PTHREAD_MUTEX_INITIALIZER;

static int remember(Block block) {
    pthread_mutex_lock(&blocks_lock);
    if (block_count == block_room) {
        size_t room = block_room ? 2 * block_room : 256;
        Block *larger = realloc(blocks, room * sizeof *blocks);
        if (!larger) { pthread_mutex_unlock(&blocks_lock); return -1; }
        blocks = larger;
        block_room = room;
    }
    blocks[block_count++] = block;
    pthread_mutex_unlock(&blocks_lock);
    return 0;
}

/* The block that contains an address; with `forget`, the block that begins there, which is also removed from the
 * list. */
static int find(DevicePointer address, Block *found, int forget) {
    int known = 0;
    pthread_mutex_lock(&blocks_lock);
    for (size_t i = 0; i < block_count && !known; i++) {
        const Block block = blocks[i];
        if (forget ? address != block.start : address < block.start || address >= block.start + block.size) continue;
        *found = block;
        known = 1;
        if (forget) blocks[i] = blocks[--block_count];
    }
    pthread_mutex_unlock(&blocks_lock);
    return known;
}

static int allocate(DevicePointer *address, size_t size, int device, Kind kind) {
    if (!size) return INVALID_VALUE;
    size = (size + PAGE - 1) / PAGE * PAGE;
    if (kind == DEVICE && ledger_take(gpu_of(device), size)) return OUT_OF_MEMORY;
    void *mapped = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapped == MAP_FAILED || remember((Block){(DevicePointer)mapped, size, device, kind})) {
        if (mapped != MAP_FAILED) munmap(mapped, size);
        if (kind == DEVICE) ledger_give(gpu_of(device), size);
        return OUT_OF_MEMORY;
    }
    *address = (DevicePointer)mapped;
    return CUDA_OK;
}

static int release(DevicePointer address) {
    Block block;
    if (!address) return CUDA_OK;
    if (!find(address, &block, 1)) return INVALID_VALUE;
    munmap((void *)block.start, block.size);
    if (block.kind == DEVICE) ledger_give(gpu_of(block.device), block.size);
    return CUDA_OK;
}

API int cuMemGetInfo_v2(size_t *available, size_t *total) {
    ENTER;
    if (!current_context()) return INVALID_CONTEXT;
    const int gpu = gpu_of(current_device());
    if (available) *available = ledger_free(gpu);
    if (total) *total = machine()->gpus[gpu].memory;
    return CUDA_OK;
}

API int cuMemAlloc_v2(DevicePointer *address, size_t size) { ENTER; return allocate(address, size, current_device(), DEVICE); }
/* Real managed memory moves between host and GPU; here it always counts as the GPU's. */
API int cuMemAllocManaged(DevicePointer *address, size_t size, unsigned flags UNUSED) {
    ENTER;
    return allocate(address, size, current_device(), DEVICE);
}
API int cuMemAllocPitch_v2(DevicePointer *address, size_t *pitch, size_t width, size_t height, unsigned element UNUSED) {
    ENTER;
    *pitch = (width + 511) / 512 * 512;
    return allocate(address, *pitch * height, current_device(), DEVICE);
}
API int cuMemFree_v2(DevicePointer address) { ENTER; return release(address); }

API int cuMemAllocHost_v2(void **address, size_t size) { ENTER; return allocate((DevicePointer *)address, size, 0, HOST); }
API int cuMemHostAlloc(void **address, size_t size, unsigned flags UNUSED) {
    ENTER;
    return allocate((DevicePointer *)address, size, 0, HOST);
}
API int cuMemFreeHost(void *address) { ENTER; return release((DevicePointer)address); }
API int cuMemHostGetDevicePointer_v2(DevicePointer *device, void *host, unsigned flags UNUSED) {
    ENTER;
    *device = (DevicePointer)host;
    return CUDA_OK;
}
API int cuMemHostRegister_v2(void *host UNUSED, size_t size UNUSED, unsigned flags UNUSED) { ENTER; return CUDA_OK; }
API int cuMemHostUnregister(void *host UNUSED) { ENTER; return CUDA_OK; }

API int cuMemGetAddressRange_v2(DevicePointer *start, size_t *size, DevicePointer address) {
    ENTER;
    Block block;
    if (!find(address, &block, 0)) return INVALID_VALUE;
    if (start) *start = block.start;
    if (size) *size = block.size;
    return CUDA_OK;
}

API int cuPointerGetAttribute(void *value, int attribute, DevicePointer address) {
    ENTER;
    Block block;
    if (!find(address, &block, 0)) return INVALID_VALUE;
    switch (attribute) {
    case 1: *(Context **)value = primary_context(block.device); break;
    case 2: *(unsigned *)value = block.kind == HOST ? HOST : DEVICE; break;
    case 3: *(DevicePointer *)value = address; break;
    case 4: *(DevicePointer *)value = address; break;    /* the host's address: the same */
    case 8: *(unsigned *)value = 0; break;               /* managed: no */
    case 9: *(int *)value = block.device; break;
    case 11: *(DevicePointer *)value = block.start; break;
    case 12: *(size_t *)value = block.size; break;
    default: *(int *)value = 0;
    }
    return CUDA_OK;
}

/* The copies: source and target are actually host memory, and each copy is finished when its call returns. */
static int copy(DevicePointer target, DevicePointer source, size_t size) {
    memmove((void *)target, (const void *)source, size);
    return CUDA_OK;
}
#define COPY(name) \
    API int name(DevicePointer target, DevicePointer source, size_t size) { ENTER; return copy(target, source, size); }
#define COPY_ASYNC(name) \
    API int name(DevicePointer target, DevicePointer source, size_t size, void *stream UNUSED) { ENTER; return copy(target, source, size); }
COPY(cuMemcpy)
COPY(cuMemcpyHtoD_v2)
COPY(cuMemcpyDtoH_v2)
COPY(cuMemcpyDtoD_v2)
COPY_ASYNC(cuMemcpyAsync)
COPY_ASYNC(cuMemcpyHtoDAsync_v2)
COPY_ASYNC(cuMemcpyDtoHAsync_v2)
COPY_ASYNC(cuMemcpyDtoDAsync_v2)
API int cuMemcpyPeer(DevicePointer target, Context *to UNUSED, DevicePointer source, Context *from UNUSED, size_t size) {
    ENTER;
    return copy(target, source, size);
}
API int cuMemcpyPeerAsync(DevicePointer target, Context *to UNUSED, DevicePointer source, Context *from UNUSED, size_t size,
                          void *stream UNUSED) {
    ENTER;
    return copy(target, source, size);
}

API int cuMemsetD8_v2(DevicePointer target, unsigned char value, size_t count) {
    ENTER;
    memset((void *)target, value, count);
    return CUDA_OK;
}
API int cuMemsetD8Async(DevicePointer target, unsigned char value, size_t count, void *stream UNUSED) {
    return cuMemsetD8_v2(target, value, count);
}
API int cuMemsetD16_v2(DevicePointer target, uint16_t value, size_t count) {
    ENTER;
    for (size_t i = 0; i < count; i++) ((uint16_t *)target)[i] = value;
    return CUDA_OK;
}
API int cuMemsetD32_v2(DevicePointer target, uint32_t value, size_t count) {
    ENTER;
    if (!value) memset((void *)target, 0, count * sizeof value);
    else for (size_t i = 0; i < count; i++) ((uint32_t *)target)[i] = value;
    return CUDA_OK;
}
API int cuMemsetD32Async(DevicePointer target, uint32_t value, size_t count, void *stream UNUSED) {
    return cuMemsetD32_v2(target, value, count);
}

/* Virtual memory management: a handle is just a size; the memory is counted when the handle is created. */
API int cuMemGetAllocationGranularity(size_t *granularity, const void *properties UNUSED, int option UNUSED) {
    ENTER;
    *granularity = GRANULARITY;
    return CUDA_OK;
}
API int cuMemAddressReserve(DevicePointer *address, size_t size, size_t alignment UNUSED, DevicePointer wish UNUSED,
                            uint64_t flags UNUSED) {
    ENTER;
    void *mapped = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapped == MAP_FAILED) return OUT_OF_MEMORY;
    *address = (DevicePointer)mapped;
    return CUDA_OK;
}
API int cuMemAddressFree(DevicePointer address, size_t size) { ENTER; munmap((void *)address, size); return CUDA_OK; }
API int cuMemCreate(uint64_t *handle, size_t size, const void *properties UNUSED, uint64_t flags UNUSED) {
    ENTER;
    if (ledger_take(gpu_of(current_device()), size)) return OUT_OF_MEMORY;
    *handle = size;
    return CUDA_OK;
}
API int cuMemRelease(uint64_t handle) { ENTER; ledger_give(gpu_of(current_device()), handle); return CUDA_OK; }
API int cuMemMap(DevicePointer address, size_t size, size_t offset UNUSED, uint64_t handle UNUSED, uint64_t flags UNUSED) {
    ENTER;
    return remember((Block){address, size, current_device(), MAPPED}) ? OUT_OF_MEMORY : CUDA_OK;
}
API int cuMemUnmap(DevicePointer address, size_t size UNUSED) { ENTER; Block block; find(address, &block, 1); return CUDA_OK; }
API int cuMemSetAccess(DevicePointer address UNUSED, size_t size UNUSED, const void *access UNUSED, size_t count UNUSED) {
    ENTER;
    return CUDA_OK;
}
API int cuMemAdvise(DevicePointer address UNUSED, size_t size UNUSED, int advice UNUSED, int device UNUSED) { ENTER; return CUDA_OK; }
API int cuMemPrefetchAsync(DevicePointer address UNUSED, size_t size UNUSED, int device UNUSED, void *stream UNUSED) {
    ENTER;
    return CUDA_OK;
}
API int cuPointerSetAttribute(const void *value UNUSED, int attribute UNUSED, DevicePointer address UNUSED) { ENTER; return CUDA_OK; }

/* Memory pools, which TF_GPU_ALLOCATOR=cuda_malloc_async uses. Specified: memory that is freed into a pool stays with
 * the process up to the release threshold. Here: it is released at once, so an idle pool holds nothing. */
static char the_pool;
static uint64_t pool_used, pool_used_high;
API int cuDeviceGetDefaultMemPool(void **pool, int device UNUSED) { ENTER; *pool = &the_pool; return CUDA_OK; }
API int cuDeviceGetMemPool(void **pool, int device UNUSED) { ENTER; *pool = &the_pool; return CUDA_OK; }
API int cuMemPoolCreate(void **pool, const void *properties UNUSED) { ENTER; *pool = &the_pool; return CUDA_OK; }
API int cuMemPoolDestroy(void *pool UNUSED) { ENTER; return CUDA_OK; }
API int cuMemPoolTrimTo(void *pool UNUSED, size_t keep UNUSED) { ENTER; return CUDA_OK; }
API int cuMemPoolSetAccess(void *pool UNUSED, const void *access UNUSED, size_t count UNUSED) { ENTER; return CUDA_OK; }
API int cuMemPoolSetAttribute(void *pool UNUSED, int attribute UNUSED, void *value UNUSED) { ENTER; return CUDA_OK; }
API int cuMemPoolGetAttribute(void *pool UNUSED, int attribute, void *value) {
    ENTER;
    switch (attribute) {                                 /* "CUmemPool_attribute" */
    case 5: case 7: *(uint64_t *)value = pool_used; break;        /* reserved, used now */
    case 6: case 8: *(uint64_t *)value = pool_used_high; break;   /* their highest values */
    default: *(uint64_t *)value = 0;
    }
    return CUDA_OK;
}
API int cuMemAllocFromPoolAsync(DevicePointer *address, size_t size, void *pool UNUSED, void *stream UNUSED) {
    ENTER;
    int status = allocate(address, size, current_device(), DEVICE);
    if (status) return status;
    uint64_t now = __atomic_add_fetch(&pool_used, size, __ATOMIC_RELAXED);
    if (now > pool_used_high) pool_used_high = now;
    return CUDA_OK;
}
API int cuMemAllocAsync(DevicePointer *address, size_t size, void *stream) {
    return cuMemAllocFromPoolAsync(address, size, &the_pool, stream);
}
API int cuMemFreeAsync(DevicePointer address, void *stream UNUSED) {
    ENTER;
    Block block;
    if (find(address, &block, 0)) __atomic_sub_fetch(&pool_used, block.size < pool_used ? block.size : pool_used, __ATOMIC_RELAXED);
    return release(address);
}
