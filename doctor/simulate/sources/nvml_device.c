/* libnvidia-ml.so.1: what one GPU tells. Memory and processes come from the ledger; readings of sensors, which a
 * simulation has none of, are fixed and modest numbers. */
#define _GNU_SOURCE
#include "nvml.h"

#include <stdio.h>
#include <string.h>

enum { IDLE_TEMPERATURE = 40, IDLE_MILLIWATTS = 20000, LIMIT_MILLIWATTS = 250000 };

API int nvmlDeviceGetIndex(Device device, unsigned *index) { NVML_DEVICE(device); *index = (unsigned)nvml_index(device); return NVML_OK; }
API int nvmlDeviceGetMinorNumber(Device device, unsigned *minor) { return nvmlDeviceGetIndex(device, minor); }
API int nvmlDeviceGetName(Device device, char *text, unsigned size) { NVML_DEVICE(device); return nvml_text(text, size, device->name); }
API int nvmlDeviceGetUUID(Device device, char *text, unsigned size) { NVML_DEVICE(device); return nvml_text(text, size, device->uuid_text); }

API int nvmlDeviceGetCudaComputeCapability(Device device, int *major, int *minor) {
    NVML_DEVICE(device);
    *major = device->major;
    *minor = device->minor;
    return NVML_OK;
}

typedef struct { uint64_t total, available, used; } Memory;
API int nvmlDeviceGetMemoryInfo(Device device, Memory *memory) {
    NVML_DEVICE(device);
    const uint64_t used = ledger_used(nvml_index(device));
    *memory = (Memory){device->memory, device->memory - used, used};
    return NVML_OK;
}
typedef struct { unsigned version; uint64_t total, reserved, available, used; } MemoryV2;
API int nvmlDeviceGetMemoryInfo_v2(Device device, MemoryV2 *memory) {
    NVML_DEVICE(device);
    const uint64_t used = ledger_used(nvml_index(device));
    *memory = (MemoryV2){memory->version, device->memory, 0, device->memory - used, used};
    return NVML_OK;
}
API int nvmlDeviceGetBAR1MemoryInfo(Device device, Memory *memory) {
    NVML_DEVICE(device);
    *memory = (Memory){256 << 20, 255 << 20, 1 << 20};
    return NVML_OK;
}

typedef struct { char legacy[16]; unsigned domain, bus, device, id, subsystem; char address[32]; } PciInfo;
API int nvmlDeviceGetPciInfo_v3(Device device, PciInfo *info) {
    NVML_DEVICE(device);
    memset(info, 0, sizeof *info);
    snprintf(info->legacy, sizeof info->legacy, "%04X:%02X:00.0", device->pci_domain & 0xffff, device->pci_bus & 0xff);
    snprintf(info->address, sizeof info->address, "%08X:%02X:00.0", device->pci_domain, device->pci_bus);
    info->domain = device->pci_domain;
    info->bus = device->pci_bus;
    info->id = device->pci_device_id;
    return NVML_OK;
}
API int nvmlDeviceGetPciInfo_v2(Device device, PciInfo *info) { return nvmlDeviceGetPciInfo_v3(device, info); }
API int nvmlDeviceGetPciInfo(Device device, PciInfo *info) { return nvmlDeviceGetPciInfo_v3(device, info); }

/* Promised: the processes with a compute context; *count is the room on entry, the number on return. */
typedef struct { unsigned pid; uint64_t memory; unsigned gpu_instance, compute_instance; } Process;
API int nvmlDeviceGetComputeRunningProcesses_v3(Device device, unsigned *count, Process *processes) {
    NVML_DEVICE(device);
    Holding holdings[MAX_HOLDINGS];
    const unsigned room = processes ? *count : 0;
    const unsigned number = (unsigned)ledger_holdings(nvml_index(device), holdings, MAX_HOLDINGS);
    for (unsigned i = 0; i < number && i < room && i < MAX_HOLDINGS; i++)
        processes[i] = (Process){(unsigned)holdings[i].pid, holdings[i].bytes, ~0u, ~0u};
    *count = number;
    return number > room ? INSUFFICIENT_SIZE : NVML_OK;
}
API int nvmlDeviceGetComputeRunningProcesses_v2(Device device, unsigned *count, Process *processes) {
    return nvmlDeviceGetComputeRunningProcesses_v3(device, count, processes);
}
API int nvmlDeviceGetGraphicsRunningProcesses_v3(Device device, unsigned *count, Process *processes UNUSED) {
    NVML_DEVICE(device);
    *count = 0;
    return NVML_OK;
}
API int nvmlDeviceGetGraphicsRunningProcesses_v2(Device device, unsigned *count, Process *processes) {
    return nvmlDeviceGetGraphicsRunningProcesses_v3(device, count, processes);
}

API int nvmlDeviceGetComputeMode(Device device, int *mode) { NVML_DEVICE(device); *mode = device->compute_mode; return NVML_OK; }
API int nvmlDeviceGetMigMode(Device device, unsigned *now UNUSED, unsigned *pending UNUSED) { NVML_DEVICE(device); return NOT_SUPPORTED; }
/* "nvmlDeviceArchitecture_t": 2 Kepler, 3 Maxwell, 4 Pascal, 5 Volta, 6 Turing, 7 Ampere, 8 Ada, 9 Hopper, 10 Blackwell. */
API int nvmlDeviceGetArchitecture(Device device, unsigned *architecture) {
    NVML_DEVICE(device);
    const int capability = 10 * device->major + device->minor;
    *architecture = capability < 50 ? 2 : capability < 60 ? 3 : capability < 70 ? 4 : capability < 75 ? 5 : capability < 80 ? 6
                  : capability < 89 ? 7 : capability < 90 ? 8 : capability < 100 ? 9 : 10;
    return NVML_OK;
}
API int nvmlDeviceGetGpuFabricInfoV(Device device UNUSED, void *info UNUSED) { NVML_DEVICE(device); return NOT_SUPPORTED; }
API int nvmlDeviceGetNvLinkState(Device device, unsigned link UNUSED, int *active UNUSED) { NVML_DEVICE(device); return NOT_SUPPORTED; }

typedef struct { unsigned gpu, memory; } Utilization;
API int nvmlDeviceGetUtilizationRates(Device device, Utilization *rates) { NVML_DEVICE(device); *rates = (Utilization){0, 0}; return NVML_OK; }

#define READING(name, type, value) API int name(Device device, type *reading) { NVML_DEVICE(device); *reading = (value); return NVML_OK; }
READING(nvmlDeviceGetPersistenceMode, int, 0)
READING(nvmlDeviceGetDisplayActive, int, 0)
READING(nvmlDeviceGetDisplayMode, int, 0)
READING(nvmlDeviceGetFanSpeed, unsigned, 30)
READING(nvmlDeviceGetPowerUsage, unsigned, IDLE_MILLIWATTS)
READING(nvmlDeviceGetEnforcedPowerLimit, unsigned, LIMIT_MILLIWATTS)
READING(nvmlDeviceGetPowerManagementLimit, unsigned, LIMIT_MILLIWATTS)
READING(nvmlDeviceGetPerformanceState, int, 8)
READING(nvmlDeviceGetMaxPcieLinkGeneration, unsigned, 3)
READING(nvmlDeviceGetMaxPcieLinkWidth, unsigned, 16)
READING(nvmlDeviceGetCurrPcieLinkGeneration, unsigned, 3)
READING(nvmlDeviceGetCurrPcieLinkWidth, unsigned, 16)
READING(nvmlDeviceGetPcieSpeed, unsigned, 8000)

#define READING_OF(name, type, value) \
    API int name(Device device, int which UNUSED, type *reading) { NVML_DEVICE(device); *reading = (value); return NVML_OK; }
READING_OF(nvmlDeviceGetTemperature, unsigned, IDLE_TEMPERATURE)
READING_OF(nvmlDeviceGetClockInfo, unsigned, 300)
READING_OF(nvmlDeviceGetMaxClockInfo, unsigned, 1500)

typedef struct { unsigned version; int sensor, temperature; } Temperature;
API int nvmlDeviceGetTemperatureV(Device device, Temperature *reading) { NVML_DEVICE(device); reading->temperature = IDLE_TEMPERATURE; return NVML_OK; }
