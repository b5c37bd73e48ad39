/* A process that holds memory of the simulated GPUs until it is ended: memory_holder MIB [MIB of the next GPU ...]. It
 * allocates the memory through the driver, as any program does, and then prints "held". It ends when the process that
 * started it ends. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

static void *symbol(void *driver, const char *name) {
    void *found = dlsym(driver, name);
    if (found) return found;
    fprintf(stderr, "memory_holder: %s\n", dlerror());
    exit(3);
}

int main(int count, char **arguments) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);
    if (!driver) {
        fprintf(stderr, "memory_holder: %s\n", dlerror());
        return 3;
    }
    int (*init)(unsigned) = (int (*)(unsigned))symbol(driver, "cuInit");
    int (*retain)(void **, int) = (int (*)(void **, int))symbol(driver, "cuDevicePrimaryCtxRetain");
    int (*enter)(void *) = (int (*)(void *))symbol(driver, "cuCtxSetCurrent");
    int (*allocate)(uint64_t *, size_t) = (int (*)(uint64_t *, size_t))symbol(driver, "cuMemAlloc_v2");
    int status = init(0);
    for (int device = 0; !status && device < count - 1; device++) {
        const size_t bytes = strtoull(arguments[device + 1], NULL, 10) << 20;
        void *context = NULL;
        uint64_t address = 0;
        if (!bytes) continue;
        status = retain(&context, device);
        if (!status) status = enter(context);
        if (!status) status = allocate(&address, bytes);
    }
    if (status) {
        fprintf(stderr, "memory_holder: the driver returned status %d\n", status);
        return 3;
    }
    puts("held");
    fflush(stdout);
    for (;;) pause();
}
