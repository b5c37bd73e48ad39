/* What every function does first: it writes the trace of calls, and triggers faults. */
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

/* A kernel that fails leaves the process's context unusable: "any further CUDA work will return the same error" (CUDA
 * Driver API, "CUresult", for 700, 719, 214 and others). The status is kept in libcuda, which all libraries share. */
static int *context_status(void) {
    static int *status;
    if (!status) {
        int *(*address)(void) = (int *(*)(void))driver_symbol("simulated_context_status");
        if (address) status = address();
    }
    return status;
}

static int works_on_the_device(const char *function) {
    static const char *const beginnings[] = {"cuMemcpy", "cuMemset", "cuMemAlloc", "cuMemFree", "cuLaunch", "cuStreamSynchronize", "cuStreamQuery",
        "cuStreamWaitEvent", "cuEvent", "cuCtxSynchronize", "cuModuleLoad", "cuGraphLaunch", "cudaLaunch", "cudaMem", "cudaStreamSynchronize",
        "cudaEvent", "cudaDeviceSynchronize", NULL};
    for (int i = 0; beginnings[i]; i++)
        if (!strncmp(function, beginnings[i], strlen(beginnings[i]))) return 1;
    return 0;
}

static int strike(Fault *fault) {
    if (__atomic_add_fetch(&fault->calls, 1, __ATOMIC_RELAXED) < fault->from_call) return 0;
    switch (fault->kind) {
    case FAULT_FAIL: return fault->status;
    case FAULT_POISON: if (context_status()) *context_status() = fault->status; return 0;
    case FAULT_HANG: for (;;) pause();
    case FAULT_CRASH: signal(SIGSEGV, SIG_DFL); raise(SIGSEGV); _exit(139);
    }
    return 0;
}

int enter(const char *function) {
    const Machine *m = machine();
    int status = 0;
    int can_poison = 0;
    for (int i = 0; i < m->fault_count && !status; i++) {
        can_poison |= m->faults[i].kind == FAULT_POISON;
        if (!strcmp(m->faults[i].function, function)) status = strike((Fault *)&m->faults[i]);
    }
    if (!status && can_poison && works_on_the_device(function) && context_status()) status = *context_status();
    if (*m->trace_path) trace(m, function, status);
    return status;
}

int current_gpu(void) {
    int (*current)(void) = (int (*)(void))driver_symbol("simulated_current_gpu");
    return current ? current() : 0;
}

void *driver_symbol(const char *name) {
    static void *driver;
    if (!driver) driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
    return driver ? dlsym(driver, name) : NULL;
}
