/* libnvidia-ml.so.1: initialization, errors, the system, and how a GPU is found. */
#define _GNU_SOURCE
#include "nvml.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

static int initialised;

int nvml_ready(void) { return initialised > 0; }
int nvml_index(Device device) {
    const Machine *m = machine();
    if (device < m->gpus || device >= m->gpus + MAX_DEVICES) return -1;
    const int place = (int)(device - m->gpus);
    return place < m->gpu_count || (place >= MAX_GPUS && place < MAX_GPUS + m->instance_count) ? place : -1;
}
int nvml_text(char *target, unsigned size, const char *text) {
    if (strlen(text) + 1 > size) return INSUFFICIENT_SIZE;
    strcpy(target, text);
    return NVML_OK;
}

/* Faults for initialization use the name nvmlInit_v2, whichever of its three forms a client calls. */
API int nvmlInit_v2(void) {
    ENTER;
    if (!machine()->present) return DRIVER_NOT_LOADED;
    initialised++;
    return NVML_OK;
}
API int nvmlInit(void) { return nvmlInit_v2(); }
API int nvmlInitWithFlags(unsigned flags UNUSED) { return nvmlInit_v2(); }
API int nvmlShutdown(void) { NVML_ENTER; initialised--; return NVML_OK; }

/* The texts of nvmlErrorString, which clients print. */
static const struct { int status; const char *text; } errors[] = {
    {0, "Success"}, {1, "Uninitialized"}, {2, "Invalid Argument"}, {3, "Not Supported"}, {4, "Insufficient Permissions"},
    {5, "Already Initialized"}, {6, "Not Found"}, {7, "Insufficient Size"}, {8, "Insufficient External Power"}, {9, "Driver Not Loaded"},
    {10, "Timeout"}, {11, "Interrupt Request Issue"}, {12, "NVML Shared Library Not Found"}, {13, "Function Not Found"},
    {14, "Corrupted infoROM"}, {15, "GPU is lost"}, {16, "GPU requires restart"}, {17, "The operating system has blocked the request."},
    {18, "Driver/library version mismatch"}, {19, "Data in use"}, {20, "Insufficient Memory"}, {999, "Unknown Error"},
};
API const char *nvmlErrorString(int status) {
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        if (errors[i].status == status) return errors[i].text;
    return "Unknown Error";
}

API int nvmlSystemGetDriverVersion(char *text, unsigned size) { NVML_ENTER; return nvml_text(text, size, machine()->driver_version); }
API int nvmlSystemGetNVMLVersion(char *text, unsigned size) {
    NVML_ENTER;
    char version[64];
    snprintf(version, sizeof version, "%d.%s", machine()->driver_cuda / 1000, machine()->driver_version);
    return nvml_text(text, size, version);
}
API int nvmlSystemGetCudaDriverVersion(int *version) { NVML_ENTER; *version = machine()->driver_cuda; return NVML_OK; }
API int nvmlSystemGetCudaDriverVersion_v2(int *version) { return nvmlSystemGetCudaDriverVersion(version); }

API int nvmlSystemGetProcessName(unsigned pid, char *text, unsigned size) {
    NVML_ENTER;
    char path[64];
    snprintf(path, sizeof path, "/proc/%u/cmdline", pid);
    FILE *file = fopen(path, "re");
    if (!file) return NOT_FOUND;
    size_t length = size ? fread(text, 1, size - 1, file) : 0;
    fclose(file);
    if (size) text[length] = 0;
    return NVML_OK;
}

/* NVML counts every GPU of the machine and ignores CUDA_VISIBLE_DEVICES. */
API int nvmlDeviceGetCount_v2(unsigned *count) { NVML_ENTER; *count = (unsigned)machine()->gpu_count; return NVML_OK; }
API int nvmlDeviceGetCount(unsigned *count) { return nvmlDeviceGetCount_v2(count); }

API int nvmlDeviceGetHandleByIndex_v2(unsigned index, Device *device) {
    NVML_ENTER;
    if (index >= (unsigned)machine()->gpu_count) return INVALID_ARGUMENT;
    *device = &machine()->gpus[index];
    return NVML_OK;
}
API int nvmlDeviceGetHandleByIndex(unsigned index, Device *device) { return nvmlDeviceGetHandleByIndex_v2(index, device); }

API int nvmlDeviceGetHandleByPciBusId_v2(const char *text, Device *device) {
    NVML_ENTER;
    unsigned domain, bus;
    if (sscanf(text, "%x:%x", &domain, &bus) != 2) return INVALID_ARGUMENT;
    for (int i = 0; i < machine()->gpu_count; i++) {
        *device = &machine()->gpus[i];
        if ((*device)->pci_domain == domain && (*device)->pci_bus == bus) return NVML_OK;
    }
    return NOT_FOUND;
}
API int nvmlDeviceGetHandleByPciBusId(const char *text, Device *device) { return nvmlDeviceGetHandleByPciBusId_v2(text, device); }

/* Works for a GPU and for an instance. */
API int nvmlDeviceGetHandleByUUID(const char *text, Device *device) {
    NVML_ENTER;
    for (int i = 0; i < MAX_DEVICES; i++) {
        *device = &machine()->gpus[i];
        if (nvml_index(*device) >= 0 && !strcasecmp((*device)->uuid_text, text)) return NVML_OK;
    }
    return NOT_FOUND;
}
