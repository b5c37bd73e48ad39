/* Declarations that all source files of the simulated libcuda.so.1 share. */
#ifndef TFGPU_DOCTOR_DRIVER_H
#define TFGPU_DOCTOR_DRIVER_H

#include "simulation.h"

/* Results of the driver API (CUDA Driver API, "CUresult"). */
enum {
    CUDA_OK = 0, INVALID_VALUE = 1, OUT_OF_MEMORY = 2, NOT_INITIALIZED = 3, DEVICE_UNAVAILABLE = 46, NO_DEVICE = 100,
    INVALID_DEVICE = 101, INVALID_CONTEXT = 201, NOT_FOUND = 500, NOT_SUPPORTED = 801,
};

typedef uint64_t DevicePointer;
typedef struct { int device; int retained; } Context;

/* `device` is a number in the process's own numbering, after CUDA_VISIBLE_DEVICES; a Gpu belongs to the machine. */
int device_count(void);
int device_exists(int device);
int gpu_of(int device);
const Gpu *gpu_at(int device);

Context *current_context(void);
int current_device(void);
Context *primary_context(int device);

#endif
