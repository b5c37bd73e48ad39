/* The ledger of device memory: a file that every process on the simulated machine maps, locked with flock. */
#define _GNU_SOURCE
#include "simulation.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>

/* `started` (clock ticks since boot) distinguishes a process from a later one with the same PID. */
typedef struct { int32_t pid; int32_t gpu; uint64_t started; uint64_t bytes; } Entry;

static Entry *entries;
static int ledger_file = -1;
static pthread_mutex_t threads = PTHREAD_MUTEX_INITIALIZER;

/* The start time of a process, from /proc/PID/stat (proc(5): field 22); 0 if it has ended. */
static uint64_t process_start(pid_t pid) {
    char path[64], text[1024];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return errno == ENOENT ? 0 : 1;
    ssize_t length = read(file, text, sizeof text - 1);
    close(file);
    if (length <= 0) return 0;
    text[length] = 0;
    const char *field = strrchr(text, ')');   /* the command name before it may contain anything */
    if (!field || field[1] != ' ' || field[2] == 'Z' || field[2] == 'X') return 0;
    for (int skipped = 2; skipped < 22 && field; skipped++) field = strchr(field + 1, ' ');
    return field ? strtoull(field, NULL, 10) : 0;
}

static int lock(void) {
    pthread_mutex_lock(&threads);
    if (!entries) {
        const size_t size = sizeof(Entry) * MAX_HOLDINGS;
        ledger_file = open(machine()->ledger_path, O_RDWR | O_CLOEXEC);
        void *mapped = MAP_FAILED;
        if (ledger_file >= 0 && lseek(ledger_file, 0, SEEK_END) >= (off_t)size)
            mapped = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, ledger_file, 0);
        if (mapped == MAP_FAILED) {
            /* Without the common ledger every library would count separately, and the simulation would be wrong. */
            fprintf(stderr, "tfgpu-doctor: the simulated machine has no usable ledger at %s\n", machine()->ledger_path);
            if (ledger_file >= 0) close(ledger_file);
            pthread_mutex_unlock(&threads);
            return -1;
        }
        entries = mapped;
    }
    while (flock(ledger_file, LOCK_EX) < 0 && errno == EINTR) {}
    return 0;
}

static void unlock(void) {
    flock(ledger_file, LOCK_UN);
    pthread_mutex_unlock(&threads);
}

static void sweep(void) {
    for (Entry *entry = entries; entry < entries + MAX_HOLDINGS; entry++)
        if (entry->pid && entry->pid != getpid() && process_start(entry->pid) != entry->started)
            memset(entry, 0, sizeof *entry);
}

static uint64_t used(int gpu) {
    uint64_t sum = 0;
    for (Entry *entry = entries; entry < entries + MAX_HOLDINGS; entry++)
        if (entry->pid && entry->gpu == gpu) sum += entry->bytes;
    return sum;
}

static Entry *own_entry(int gpu) {
    Entry *unused = NULL;
    for (Entry *entry = entries; entry < entries + MAX_HOLDINGS; entry++) {
        if (entry->pid == getpid() && entry->gpu == gpu) return entry;
        if (!entry->pid && !unused) unused = entry;
    }
    if (unused) *unused = (Entry){.pid = getpid(), .gpu = gpu, .started = process_start(getpid())};
    return unused;
}

int ledger_take(int gpu, uint64_t bytes) {
    if (lock()) return -1;
    sweep();
    Entry *own = NULL;
    const uint64_t total = machine()->gpus[gpu].memory, taken = used(gpu);
    if (taken <= total && bytes <= total - taken) own = own_entry(gpu);
    if (own) own->bytes += bytes;
    unlock();
    return own ? 0 : -1;
}

void ledger_give(int gpu, uint64_t bytes) {
    if (lock()) return;
    Entry *own = own_entry(gpu);
    if (own) own->bytes = bytes < own->bytes ? own->bytes - bytes : 0;
    unlock();
}

uint64_t ledger_used(int gpu) {
    if (lock()) return 0;
    sweep();
    uint64_t sum = used(gpu);
    unlock();
    return sum;
}

uint64_t ledger_free(int gpu) {
    const uint64_t total = machine()->gpus[gpu].memory, taken = ledger_used(gpu);
    return taken < total ? total - taken : 0;
}

int ledger_holdings(int gpu, Holding *holdings, int capacity) {
    int number = 0;
    if (lock()) return 0;
    sweep();
    for (Entry *entry = entries; entry < entries + MAX_HOLDINGS; entry++) {
        if (!entry->pid || entry->gpu != gpu || !entry->bytes) continue;
        if (number < capacity) holdings[number] = (Holding){entry->pid, entry->bytes};
        number++;
    }
    unlock();
    return number;
}
