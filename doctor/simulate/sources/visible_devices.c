/* CUDA_VISIBLE_DEVICES and CUDA_DEVICE_ORDER, read as the driver reads them.
 *
 * CUDA C++ Programming Guide, "CUDA Environment Variables": the value is a comma-separated list of indices or of GPU
 * identifiers (a beginning of the UUID is enough where it is unique); only devices before the first invalid entry are
 * visible, so "0,2,-1,1" shows 0 and 2. CUDA_DEVICE_ORDER: FASTEST_FIRST (by default) puts the fastest first and leaves
 * the order of the rest unspecified; PCI_BUS_ID goes by the bus.
 * What that page does not say is taken from PyTorch, torch/cuda/__init__.py, _parse_visible_devices, whose authors
 * measured the driver: an index is the number that an entry begins with ("1gpu2" is 1), a repeated entry hides all, and
 * numbers and identifiers do not go together. doctor/devices/visibility.py says the same in Python; a test compares.
 */
#define _GNU_SOURCE
#include "simulation.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* The driver's own heuristic is not published; here the product of multiprocessors and compute capability counts. */
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

/* The GPU that an entry names, as a place in the enumeration; -1: none, or not one alone. */
static int place_of(const char *entry, size_t length, const int *order, int count) {
    if (length >= 4 && !strncasecmp(entry, "GPU-", 4)) {
        int found = -1;
        for (int i = 0; i < count; i++) {
            if (strncasecmp(machine()->gpus[order[i]].uuid_text, entry, length)) continue;
            if (found >= 0) return -1;
            found = i;
        }
        return found;
    }
    char *end = NULL;
    const long index = strtol(entry, &end, 10);   /* "MIG-..." is no number: there are no MIG instances here */
    return end == entry || index < 0 || index >= count ? -1 : (int)index;
}

int visible_gpus(const char *value, const char *device_order, int order[MAX_GPUS]) {
    int everything[MAX_GPUS];
    const int count = enumerated(device_order, everything);
    if (!value) {
        memcpy(order, everything, sizeof everything);
        return count;
    }
    int visible = 0;
    const int first_is_uuid = !strncasecmp(value + strspn(value, " \t"), "GPU-", 4);
    for (const char *entry = value;; entry++) {
        entry += strspn(entry, " \t");
        const int is_uuid = !strncasecmp(entry, "GPU-", 4);
        if (is_uuid != first_is_uuid) break;
        const size_t length = strcspn(entry, ", \t");
        const int place = length ? place_of(entry, length, everything, count) : -1;
        if (place < 0) break;
        for (int i = 0; i < visible; i++)
            if (order[i] == everything[place]) return 0;
        if (visible == MAX_GPUS) break;
        order[visible++] = everything[place];
        entry = strchr(entry, ',');
        if (!entry) break;
    }
    return visible;
}
