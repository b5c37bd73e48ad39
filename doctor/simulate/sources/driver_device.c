/* libcuda.so.1: initialisation and devices. */
#define _GNU_SOURCE
#include "driver.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int initialised;
static int visible_count;
static int visible[MAX_DEVICES];
static pthread_once_t looked_once = PTHREAD_ONCE_INIT;

static void look(void) {
    visible_count = visible_gpus(getenv("CUDA_VISIBLE_DEVICES"), getenv("CUDA_DEVICE_ORDER"), visible);
}

int device_count(void) { return initialised ? visible_count : 0; }
int device_exists(int device) { return device >= 0 && device < device_count(); }
int gpu_of(int device) { return device_exists(device) ? visible[device] : 0; }
const Gpu *gpu_at(int device) { return &machine()->gpus[gpu_of(device)]; }

#define NEED_DEVICE(device) do { \
    if (!initialised) return NOT_INITIALIZED; \
    if (!device_exists(device)) return INVALID_DEVICE; } while (0)

/* Specified: must be called before every other function; returns NO_DEVICE if no GPU is visible. Here: the same. The
 * visible devices are fixed at the first call, as in the real driver. */
API int cuInit(unsigned flags UNUSED) {
    ENTER;
    if (!machine()->present) return NO_DEVICE;
    pthread_once(&looked_once, look);
    if (!visible_count) return NO_DEVICE;
    initialised = 1;
    return CUDA_OK;
}

API int cuDriverGetVersion(int *version) { ENTER; *version = machine()->driver_cuda; return CUDA_OK; }

API int cuDeviceGetCount(int *count) {
    ENTER;
    if (!initialised) return NOT_INITIALIZED;
    *count = visible_count;
    return CUDA_OK;
}

API int cuDeviceGet(int *device, int ordinal) { ENTER; NEED_DEVICE(ordinal); *device = ordinal; return CUDA_OK; }

API int cuDeviceGetName(char *name, int size, int device) {
    ENTER; NEED_DEVICE(device);
    snprintf(name, (size_t)size, "%s", gpu_at(device)->name);
    return CUDA_OK;
}

API int cuDeviceTotalMem_v2(size_t *bytes, int device) {
    ENTER; NEED_DEVICE(device);
    *bytes = gpu_at(device)->memory;
    return CUDA_OK;
}

API int cuDeviceComputeCapability(int *major, int *minor, int device) {
    ENTER; NEED_DEVICE(device);
    *major = gpu_at(device)->major;
    *minor = gpu_at(device)->minor;
    return CUDA_OK;
}

/* Specified: the UUID of the GPU, also for an instance of it; the second form returns the instance's own UUID. */
API int cuDeviceGetUuid(unsigned char uuid[16], int device) {
    ENTER; NEED_DEVICE(device);
    const Gpu *gpu = gpu_at(device);
    memcpy(uuid, gpu->parent < 0 ? gpu->uuid : machine()->gpus[gpu->parent].uuid, 16);
    return CUDA_OK;
}
API int cuDeviceGetUuid_v2(unsigned char uuid[16], int device) {
    ENTER; NEED_DEVICE(device);
    memcpy(uuid, gpu_at(device)->uuid, 16);
    return CUDA_OK;
}

API int cuDeviceGetPCIBusId(char *text, int size, int device) {
    ENTER; NEED_DEVICE(device);
    snprintf(text, (size_t)size, "%04x:%02x:00.0", gpu_at(device)->pci_domain, gpu_at(device)->pci_bus);
    return CUDA_OK;
}

API int cuDeviceGetByPCIBusId(int *device, const char *text) {
    ENTER;
    unsigned domain, bus;
    if (sscanf(text, "%x:%x", &domain, &bus) != 2) return INVALID_VALUE;
    for (int i = 0; i < device_count(); i++) {
        if (gpu_at(i)->pci_domain != domain || gpu_at(i)->pci_bus != bus) continue;
        *device = i;
        return CUDA_OK;
    }
    return INVALID_DEVICE;
}

/* Specified: one property by number (CUDA Driver API, "CUdevice_attribute"). Here: the GPU's own value if the machine
 * describes it; otherwise a value that is common to the generations that TensorFlow supports; otherwise 0. */
API int cuDeviceGetAttribute(int *value, int attribute, int device) {
    ENTER; NEED_DEVICE(device);
    const Gpu *gpu = gpu_at(device);
    switch (attribute) {
    case 1: case 2: case 3: *value = 1024; break;        /* threads per block; in its x and y dimension */
    case 4: *value = 64; break;                          /* in its z dimension */
    case 5: *value = 2147483647; break;                  /* blocks in a grid's x dimension */
    case 6: case 7: *value = 65535; break;               /* in its y and z dimension */
    case 8: *value = 48 * 1024; break;                   /* shared memory per block, bytes */
    case 9: *value = 64 * 1024; break;                   /* constant memory, bytes */
    case 10: *value = 32; break;                         /* threads per warp */
    case 11: *value = 2147483647; break;                 /* largest pitch, bytes */
    case 12: *value = 65536; break;                      /* registers per block */
    case 13: *value = 1500000; break;                    /* clock, kHz: any number; nothing is timed */
    case 14: *value = 512; break;                        /* texture alignment */
    case 16: *value = gpu->multiprocessors; break;
    case 19: *value = 1; break;                          /* host memory can be mapped */
    case 20: *value = gpu->compute_mode; break;
    case 31: *value = 1; break;                          /* concurrent kernels */
    case 33: *value = (int)gpu->pci_bus; break;
    case 34: *value = 0; break;                          /* PCI device */
    case 36: *value = 7000000; break;                    /* memory clock, kHz */
    case 37: *value = 256; break;                        /* memory bus, bits */
    case 38: *value = 4 << 20; break;                    /* L2 cache, bytes */
    case 39: *value = gpu->major * 10 + gpu->minor == 75 ? 1024 : 1536; break;  /* threads per multiprocessor */
    case 40: *value = 2; break;                          /* asynchronous engines */
    case 41: *value = 1; break;                          /* unified addressing */
    case 50: *value = (int)gpu->pci_domain; break;
    case 75: *value = gpu->major; break;
    case 76: *value = gpu->minor; break;
    case 78: case 79: case 80: *value = 1; break;        /* stream priorities; L1 caches */
    case 81: *value = 100 * 1024; break;                 /* shared memory per multiprocessor, bytes */
    case 82: *value = 65536; break;                      /* registers per multiprocessor */
    case 83: *value = 1; break;                          /* managed memory */
    case 95: *value = 1; break;                          /* cooperative launch */
    case 97: *value = 99 * 1024; break;                  /* shared memory per block on request, bytes */
    case 106: *value = 16; break;                        /* blocks per multiprocessor */
    case 111: *value = 1024; break;                      /* shared memory reserved per block */
    case 115: *value = machine()->memory_pools; break;
    default: *value = 0;
    }
    return CUDA_OK;
}

API int cuDeviceCanAccessPeer(int *can, int device, int peer) {
    ENTER; NEED_DEVICE(device); NEED_DEVICE(peer);
    *can = device != peer && machine()->peer_access;
    return CUDA_OK;
}

API int cuDeviceGetP2PAttribute(int *value, int attribute UNUSED, int device UNUSED, int peer UNUSED) {
    ENTER;
    *value = 0;
    return CUDA_OK;
}
