/* What happens at the entrance of every function: the trace of calls, and the faults. */
#define _GNU_SOURCE
#include "simulation.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void trace(const Machine *m, const char *function, int status) {
    char line[160];
    int length = snprintf(line, sizeof line, "%d %s %d\n", (int)getpid(), function, status);
    int file = open(m->trace_path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (file < 0) return;
    ssize_t written UNUSED = write(file, line, (size_t)length);
    close(file);
}

static int strike(Fault *fault) {
    if (__atomic_add_fetch(&fault->calls, 1, __ATOMIC_RELAXED) < fault->from_call) return 0;
    switch (fault->kind) {
    case FAULT_FAIL: return fault->status;
    case FAULT_HANG: for (;;) pause();
    case FAULT_CRASH: signal(SIGSEGV, SIG_DFL); raise(SIGSEGV); _exit(139);
    }
    return 0;
}

int enter(const char *function) {
    const Machine *m = machine();
    int status = 0;
    for (int i = 0; i < m->fault_count && !status; i++)
        if (!strcmp(m->faults[i].function, function)) status = strike((Fault *)&m->faults[i]);
    if (*m->trace_path) trace(m, function, status);
    return status;
}

void *driver_symbol(const char *name) {
    static void *driver;
    if (!driver) driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
    return driver ? dlsym(driver, name) : NULL;
}
