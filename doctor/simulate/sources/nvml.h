/* Declarations that all source files of the simulated libnvidia-ml.so.1 share. */
#ifndef TFGPU_DOCTOR_NVML_H
#define TFGPU_DOCTOR_NVML_H

#include "simulation.h"

/* NVML API reference, "nvmlReturn_t". */
enum {
    NVML_OK = 0, UNINITIALIZED = 1, INVALID_ARGUMENT = 2, NOT_SUPPORTED = 3, NOT_FOUND = 6, INSUFFICIENT_SIZE = 7, DRIVER_NOT_LOADED = 9,
};

/* A device handle is the address of the GPU's description. */
typedef const Gpu *Device;

int nvml_ready(void);
int nvml_index(Device device);   /* its index in machine()->gpus; -1: not a valid handle */
int nvml_text(char *target, unsigned size, const char *text);

#define NVML_ENTER do { ENTER; if (!nvml_ready()) return UNINITIALIZED; } while (0)
#define NVML_DEVICE(device) do { NVML_ENTER; if (nvml_index(device) < 0) return INVALID_ARGUMENT; } while (0)

#endif
