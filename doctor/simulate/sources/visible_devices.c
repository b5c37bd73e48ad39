/* Reads CUDA_VISIBLE_DEVICES and CUDA_DEVICE_ORDER as the driver does.
 *
 * CUDA C++ Programming Guide, "CUDA Environment Variables": the value is a comma-separated list of indices or of GPU
 * identifiers (a prefix of the UUID is enough if it is unique). Only devices before the first invalid entry are
 * visible, so "0,2,-1,1" shows 0 and 2. CUDA_DEVICE_ORDER: FASTEST_FIRST (the default) puts the fastest first and
 * leaves the order of the rest unspecified; PCI_BUS_ID orders by PCI address.
 *
 * MIG User Guide, "CUDA Device Enumeration": since driver 470.42.01 an instance of a divided GPU is called MIG-UUID,
 * before that MIG-GPU-UUID/GPU instance/compute instance (the programming guide still shows that form, so it is always
 * accepted here). Before driver 570 a process gets only one instance, the first one, and no whole GPU in addition.
 * Since 570 it gets every GPU instance and also the whole GPUs. Without instances a divided GPU is not a device at
 * all.
 *
 * What these pages do not say is taken from PyTorch, torch/cuda/__init__.py, _parse_visible_devices, whose authors
 * measured the driver: an index is the number with which an entry begins ("1gpu2" is 1), a repeated entry hides all
 * devices, and the kind of the first entry (number, GPU-, MIG-) applies to all. An assumption: an entry for a whole
 * divided GPU means its instances. doctor/devices/visibility.py does the same in Python; a test compares the two.
 */
#define _GNU_SOURCE
#include "simulation.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { FIRST_WITH_MIG_UUIDS = 470, FIRST_WITH_SEVERAL_INSTANCES = 570 };
typedef enum { NUMBER, OF_GPU, OF_INSTANCE } Kind;

/* The driver's own heuristic is not published; here the product of multiprocessors and compute capability decides. */
static long speed(const Gpu *gpu) {
    return (long)gpu->multiprocessors * (10 * gpu->major + gpu->minor);
}

static int enumerated(const char *device_order, int order[MAX_GPUS]) {
    const Machine *m = machine();
    int fastest = 0;
    for (int i = 0; i < m->gpu_count; i++) {
        order[i] = i;
        if (speed(&m->gpus[i]) > speed(&m->gpus[fastest])) fastest = i;
    }
    if (!device_order || strcmp(device_order, "PCI_BUS_ID")) {
        memmove(order + 1, order, sizeof order[0] * (size_t)fastest);
        order[0] = fastest;
    }
    return m->gpu_count;
}

static Kind kind_of(const char *entry) {
    return !strncasecmp(entry, "GPU-", 4) ? OF_GPU : !strncasecmp(entry, "MIG-", 4) ? OF_INSTANCE : NUMBER;
}

/* The only device from `first` up to, but not including, `end` whose UUID begins with this text; -1 if there is none or
 * more than one. */
static int only_one(int first, int end, const char *beginning, size_t length) {
    int found = -1;
    for (int i = first; i < end; i++) {
        if (strncasecmp(machine()->gpus[i].uuid_text, beginning, length)) continue;
        if (found >= 0) return -1;
        found = i;
    }
    return found;
}

/* The instance for "MIG-GPU-8932f937/3/0": the GPU by its UUID, the GPU instance, the compute instance. */
static int instance_by_numbers(const char *entry, size_t length) {
    const Machine *m = machine();
    const char *uuid = entry + 4, *slash = memchr(uuid, '/', length - 4);
    if (!slash) return -1;
    const int gpu = only_one(0, m->gpu_count, uuid, (size_t)(slash - uuid));
    char *end = NULL;
    const long instance = strtol(slash + 1, &end, 10);
    if (end == slash + 1 || *end != '/' || strtol(end + 1, &end, 10) || end[-1] == '/' || end != entry + length) return -1;
    for (int i = MAX_GPUS; gpu >= 0 && i < MAX_GPUS + m->instance_count; i++)
        if (m->gpus[i].parent == gpu && m->gpus[i].gpu_instance == instance) return i;
    return -1;
}

/* The device for an entry of the list; -1 if there is none or more than one. */
static int device_of(const char *entry, size_t length, const int *order, int count) {
    const Machine *m = machine();
    switch (kind_of(entry)) {
    case OF_GPU: return only_one(0, m->gpu_count, entry, length);
    case OF_INSTANCE:
        if (length >= 8 && !strncasecmp(entry + 4, "GPU-", 4)) return instance_by_numbers(entry, length);
        return m->driver_branch < FIRST_WITH_MIG_UUIDS ? -1 : only_one(MAX_GPUS, MAX_GPUS + m->instance_count, entry, length);
    case NUMBER: break;
    }
    char *end = NULL;
    const long index = strtol(entry, &end, 10);
    return end == entry || index < 0 || index >= count ? -1 : order[index];
}

/* Adds a device to the list; for a divided GPU, adds its instances instead. */
static int show(int device, int *shown, int count) {
    const Machine *m = machine();
    if (m->gpus[device].mig < 2) {
        shown[count++] = device;
        return count;
    }
    for (int i = MAX_GPUS; i < MAX_GPUS + m->instance_count; i++)
        if (m->gpus[i].parent == device) shown[count++] = i;
    return count;
}

static int limited(int *shown, int count) {
    if (machine()->driver_branch >= FIRST_WITH_SEVERAL_INSTANCES) return count;
    for (int i = 0; i < count; i++) {
        if (shown[i] < MAX_GPUS) continue;
        shown[0] = shown[i];
        return 1;
    }
    return count;
}

int visible_gpus(const char *value, const char *device_order, int shown[MAX_DEVICES]) {
    int order[MAX_GPUS], named[MAX_DEVICES];
    const int gpus = enumerated(device_order, order);
    int count = 0, visible = 0;
    if (!value) {
        for (int i = 0; i < gpus; i++) count = show(order[i], shown, count);
        return limited(shown, count);
    }
    const Kind first = kind_of(value + strspn(value, " \t"));
    for (const char *entry = value;; entry++) {
        entry += strspn(entry, " \t");
        const size_t length = strcspn(entry, ", \t");
        const int device = length && kind_of(entry) == first ? device_of(entry, length, order, gpus) : -1;
        if (device < 0) break;
        for (int i = 0; i < visible; i++)
            if (named[i] == device) return 0;
        named[visible++] = device;
        entry = strchr(entry, ',');
        if (!entry) break;
    }
    for (int i = 0; i < visible; i++) count = show(named[i], shown, count);
    return limited(shown, count);
}
