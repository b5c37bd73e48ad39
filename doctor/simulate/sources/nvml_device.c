/* libnvidia-ml.so.1: the data of one GPU. Memory and processes come from the ledger. A simulation has no sensors, so
 * their readings are fixed, moderate numbers. */
#define _GNU_SOURCE
#include "nvml.h"

#include <stdio.h>
#include <string.h>

enum { IDLE_TEMPERATURE = 40, IDLE_MILLIWATTS = 20000, LIMIT_MILLIWATTS = 250000 };

/* For an instance: its position among the instances of its GPU. */
API int nvmlDeviceGetIndex(Device device, unsigned *index) {
    NVML_DEVICE(device);
    *index = 0;
    for (Device other = machine()->gpus + (device->parent < 0 ? 0 : MAX_GPUS); other < device; other++) *index += other->parent == device->parent;
    return NVML_OK;
}
API int nvmlDeviceGetMinorNumber(Device device, unsigned *minor) {
    NVML_DEVICE(device);
    return nvmlDeviceGetIndex(device->parent < 0 ? device : &machine()->gpus[device->parent], minor);
}
API int nvmlDeviceGetName(Device device, char *text, unsigned size) { NVML_DEVICE(device); return nvml_text(text, size, device->name); }
API int nvmlDeviceGetUUID(Device device, char *text, unsigned size) { NVML_DEVICE(device); return nvml_text(text, size, device->uuid_text); }

API int nvmlDeviceGetCudaComputeCapability(Device device, int *major, int *minor) {
    NVML_DEVICE(device);
    *major = device->major;
    *minor = device->minor;
    return NVML_OK;
}

/* Whether the device at a place counts as memory of `device`: for a GPU, the GPU itself and its instances; for an
 * instance, only the instance. */
static int is_part(int place, Device device) {
    const Gpu *part = &machine()->gpus[place];
    return nvml_index(part) >= 0 && (part == device || part->parent == nvml_index(device));
}
static uint64_t used_of(Device device) {
    uint64_t sum = 0;
    for (int i = 0; i < MAX_DEVICES; i++)
        if (is_part(i, device)) sum += ledger_used(i);
    return sum;
}

typedef struct { uint64_t total, available, used; } Memory;
API int nvmlDeviceGetMemoryInfo(Device device, Memory *memory) {
    NVML_DEVICE(device);
    const uint64_t used = used_of(device);
    *memory = (Memory){device->memory, device->memory - used, used};
    return NVML_OK;
}
typedef struct { unsigned version; uint64_t total, reserved, available, used; } MemoryV2;
API int nvmlDeviceGetMemoryInfo_v2(Device device, MemoryV2 *memory) {
    NVML_DEVICE(device);
    const uint64_t used = used_of(device);
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

/* Specified: the processes with a compute context. *count is the array's capacity on entry, and the number of processes
 * on return. */
typedef struct { unsigned pid; uint64_t memory; unsigned gpu_instance, compute_instance; } Process;
API int nvmlDeviceGetComputeRunningProcesses_v3(Device device, unsigned *count, Process *processes) {
    NVML_DEVICE(device);
    const unsigned room = processes ? *count : 0;
    unsigned number = 0;
    for (int place = 0; place < MAX_DEVICES; place++) {
        if (!is_part(place, device)) continue;
        Holding holdings[MAX_HOLDINGS];
        const Gpu *part = &machine()->gpus[place];
        const int found = ledger_holdings(place, holdings, MAX_HOLDINGS);
        for (int i = 0; i < found && i < MAX_HOLDINGS; i++, number++)
            if (number < room)
                processes[number] = (Process){(unsigned)holdings[i].pid, holdings[i].bytes,
                                              part->parent < 0 ? ~0u : (unsigned)part->gpu_instance, part->parent < 0 ? ~0u : 0};
    }
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
API int nvmlDeviceGetUtilizationRates(Device device, Utilization *rates) {
    NVML_DEVICE(device);
    if (device->mig == 2 || device->parent >= 0) return NOT_SUPPORTED;   /* as nvidia-smi shows it: N/A with MIG on */
    *rates = (Utilization){0, 0};
    return NVML_OK;
}

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

/* "nvmlMemoryErrorType_t": 1 uncorrected; "nvmlEccCounterType_t": 0 since the driver was loaded, 1 in the card's
 * lifetime. Data-centre GPUs have ECC memory; here, these are the GPUs that can be divided. */
API int nvmlDeviceGetTotalEccErrors(Device device, int type, int counter UNUSED, unsigned long long *errors) {
    NVML_DEVICE(device);
    if (!device->mig) return NOT_SUPPORTED;
    *errors = type == 1 ? device->ecc_errors : 0;
    return NVML_OK;
}

static int idle(Device device, unsigned *percent, unsigned *period) {
    NVML_DEVICE(device);
    *percent = *period = 0;
    return NVML_OK;
}
API int nvmlDeviceGetEncoderUtilization(Device device, unsigned *percent, unsigned *period) { return idle(device, percent, period); }
API int nvmlDeviceGetDecoderUtilization(Device device, unsigned *percent, unsigned *period) { return idle(device, percent, period); }
READING_OF(nvmlDeviceGetPcieThroughput, unsigned, 0)

API int nvmlDeviceGetMPSComputeRunningProcesses_v3(Device device, unsigned *count, Process *processes) {
    return nvmlDeviceGetGraphicsRunningProcesses_v3(device, count, processes);
}
/* Specified: NOT_FOUND if there are no samples yet. */
API int nvmlDeviceGetProcessUtilization(Device device, void *samples UNUSED, unsigned *count, unsigned long long since UNUSED) {
    NVML_DEVICE(device);
    *count = 0;
    return NOT_FOUND;
}

/* What a card without these features returns: the first two exist only on Windows, the others only on boards with a
 * serial number and confidential computing. */
#define LACKING(name) API int name(Device device) { NVML_DEVICE(device); return NOT_SUPPORTED; }
LACKING(nvmlDeviceGetDriverModel)
LACKING(nvmlDeviceGetDriverModel_v2)
LACKING(nvmlDeviceGetSerial)
LACKING(nvmlDeviceGetConfComputeMemSizeInfo)
LACKING(nvmlDeviceGetRunningProcessDetailList)
LACKING(nvmlDeviceGetFieldValues)
