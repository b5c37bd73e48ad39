/* Declarations that all source files of the simulated libcudart share. */
#ifndef TFGPU_DOCTOR_RUNTIME_H
#define TFGPU_DOCTOR_RUNTIME_H

#include "simulation.h"

enum { CUDA_SUCCESS_ = 0, INVALID_VALUE = 1, INSUFFICIENT_DRIVER = 35 };

/* Calls a function of the driver: DRIVER(cuDeviceGetCount, (int *), count). */
#define DRIVER(name, types, ...) \
    (driver_symbol(#name) ? ((int (*) types)driver_symbol(#name))(__VA_ARGS__) : INSUFFICIENT_DRIVER)

/* Initializes the runtime as its first call does: checks that the driver is new enough, calls cuInit, and makes the
 * device's primary context current. Returns the status, which is also kept for cudaGetLastError. */
int ready(void);
int driver_ready(void);
int keep(int status);
#define READY do { int not_ready_ = ready(); if (not_ready_) return not_ready_; } while (0)

#endif
