/* Reads the description of the simulated machine. */
#define _GNU_SOURCE
#include "simulation.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static Machine the_machine;
static pthread_once_t read_once = PTHREAD_ONCE_INIT;

static void copy(char *target, size_t size, const char *text) {
    snprintf(target, size, "%s", text);
}

/* Converts "GPU-8932f937-d72c-..." to its 16 bytes. */
static void parse_uuid(Gpu *gpu) {
    const char *digit = gpu->uuid_text;
    while (!strncmp(digit, "MIG-", 4) || !strncmp(digit, "GPU-", 4)) digit += 4;
    for (int i = 0; i < 16 && *digit; i++) {
        while (*digit == '-') digit++;
        unsigned byte = 0;
        if (sscanf(digit, "%2x", &byte) != 1) return;
        gpu->uuid[i] = (unsigned char)byte;
        digit += 2;
    }
}

static void set_gpu(Gpu *gpu, const char *key, const char *value) {
    if (!strcmp(key, "name")) copy(gpu->name, sizeof gpu->name, value);
    else if (!strcmp(key, "compute_capability")) sscanf(value, "%d.%d", &gpu->major, &gpu->minor);
    else if (!strcmp(key, "memory_mib")) gpu->memory = strtoull(value, NULL, 10) << 20;
    else if (!strcmp(key, "multiprocessors")) gpu->multiprocessors = atoi(value);
    else if (!strcmp(key, "pci_address")) sscanf(value, "%x:%x", &gpu->pci_domain, &gpu->pci_bus);
    else if (!strcmp(key, "pci_device_id")) gpu->pci_device_id = (unsigned)strtoul(value, NULL, 16) << 16 | 0x10de;
    else if (!strcmp(key, "compute_mode")) gpu->compute_mode = atoi(value);
    else if (!strcmp(key, "mig")) gpu->mig = atoi(value);
    else if (!strcmp(key, "gpu")) gpu->parent = atoi(value);
    else if (!strcmp(key, "gpu_instance")) gpu->gpu_instance = atoi(value);
    else if (!strcmp(key, "ecc_errors")) gpu->ecc_errors = strtoull(value, NULL, 10);
    else if (!strcmp(key, "slices")) gpu->slices = atoi(value);
    else if (!strcmp(key, "uuid")) {
        copy(gpu->uuid_text, sizeof gpu->uuid_text, value);
        parse_uuid(gpu);
    }
}

/* "fail cuInit 100", "fail cuStreamSynchronize 700 from 3", "poison cublasSgemm_v2 700", "hang cuInit", "crash cudnnCreate" */
static void add_fault(Machine *m, const char *value) {
    if (m->fault_count == MAX_FAULTS) return;
    Fault fault = {.from_call = 1};
    if (sscanf(value, "fail %63s %d from %u", fault.function, &fault.status, &fault.from_call) >= 2) fault.kind = FAULT_FAIL;
    else if (sscanf(value, "poison %63s %d from %u", fault.function, &fault.status, &fault.from_call) >= 2) fault.kind = FAULT_POISON;
    else if (sscanf(value, "hang %63s from %u", fault.function, &fault.from_call) >= 1) fault.kind = FAULT_HANG;
    else if (sscanf(value, "crash %63s from %u", fault.function, &fault.from_call) >= 1) fault.kind = FAULT_CRASH;
    else return;
    m->faults[m->fault_count++] = fault;
}

static void set(Machine *m, const char *key, const char *value) {
    int number = 0, rest = 0;
    if (sscanf(key, "gpu.%d.%n", &number, &rest) == 1 && rest && number >= 0 && number < MAX_GPUS) {
        if (number >= m->gpu_count) m->gpu_count = number + 1;
        m->gpus[number].parent = -1;
        set_gpu(&m->gpus[number], key + rest, value);
    }
    else if (sscanf(key, "instance.%d.%n", &number, &rest) == 1 && rest && number >= 0 && number < MAX_INSTANCES) {
        if (number >= m->instance_count) m->instance_count = number + 1;
        set_gpu(&m->gpus[MAX_GPUS + number], key + rest, value);
    }
    else if (!strcmp(key, "driver.version")) {
        copy(m->driver_version, sizeof m->driver_version, value);
        m->driver_branch = atoi(value);
    }
    else if (!strcmp(key, "driver.cuda")) m->driver_cuda = atoi(value);
    else if (!strcmp(key, "runtime.cuda")) m->runtime_cuda = atoi(value);
    else if (!strcmp(key, "runtime.minimum_driver")) m->runtime_minimum_driver = atoi(value);
    else if (!strcmp(key, "context.mib")) m->context_bytes = strtoull(value, NULL, 10) << 20;
    else if (!strcmp(key, "cudnn.version")) m->cudnn_version = atoi(value);
    else if (!strcmp(key, "cudnn.handle_mib")) m->cudnn_handle_bytes = strtoull(value, NULL, 10) << 20;
    else if (!strcmp(key, "cudnn.no_memory")) m->cudnn_no_memory = atoi(value);
    else if (!strcmp(key, "cudnn.engines")) m->cudnn_engines = atoi(value);
    else if (!strcmp(key, "cublas.version")) m->cublas_version = atoi(value);
    else if (!strcmp(key, "cublas.handle_mib")) m->cublas_handle_bytes = strtoull(value, NULL, 10) << 20;
    else if (!strcmp(key, "cublas.no_memory")) m->cublas_no_memory = atoi(value);
    else if (!strcmp(key, "peer_access")) m->peer_access = atoi(value);
    else if (!strcmp(key, "memory_pools")) m->memory_pools = atoi(value);
    else if (!strcmp(key, "ledger")) copy(m->ledger_path, sizeof m->ledger_path, value);
    else if (!strcmp(key, "trace")) copy(m->trace_path, sizeof m->trace_path, value);
    else if (!strcmp(key, "fault")) add_fault(m, value);
    /* The Python side uses the other keys. */
}

/* Copies the values that an instance shares with its GPU to the instance. */
static void complete_instances(Machine *m) {
    for (Gpu *part = m->gpus + MAX_GPUS; part < m->gpus + MAX_GPUS + m->instance_count; part++) {
        if (part->parent < 0 || part->parent >= m->gpu_count) part->parent = 0;
        const Gpu *whole = &m->gpus[part->parent];
        part->major = whole->major;
        part->minor = whole->minor;
        part->pci_domain = whole->pci_domain;
        part->pci_bus = whole->pci_bus;
        part->pci_device_id = whole->pci_device_id;
    }
}

static void read_machine(void) {
    const char *path = getenv("TFGPU_DOCTOR_SIMULATION");
    FILE *file = path && *path ? fopen(path, "re") : NULL;
    if (!file) {
        fprintf(stderr, "tfgpu-doctor: this simulated NVIDIA library does not work, because no simulation is running"
                        " (TFGPU_DOCTOR_SIMULATION). Start one with: tfgpu-doctor simulate\n");
        return;
    }
    char line[4600];
    while (fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = 0;
        char *separator = strstr(line, " = ");
        if (*line == '#' || !separator) continue;
        *separator = 0;
        set(&the_machine, line, separator + 3);
    }
    fclose(file);
    complete_instances(&the_machine);
    the_machine.present = 1;
}

const Machine *machine(void) {
    pthread_once(&read_once, read_machine);
    return &the_machine;
}
