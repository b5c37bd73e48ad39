/* Preloaded into the commands of a simulation: shows the files by which programs recognise a machine with an NVIDIA
 * driver (/proc/driver/nvidia/version, /dev/nvidia0, the PCI devices in sysfs). They come from the simulated
 * machine's folder. The kernel offers no other way to show them without root. Only the paths below are redirected;
 * all other paths are unchanged. A preloaded library affects neither static programs nor the files that the loader
 * itself opens. */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define API __attribute__((visibility("default")))

static const char *const shown[] = {"/proc/driver/nvidia", "/sys/bus/pci/devices", "/sys/module/nvidia", "/dev/nvidia", "/proc/modules",
                                    NULL};

static int begins(const char *path, const char *prefix) { return !strncmp(path, prefix, strlen(prefix)); }

/* The path to use instead of `path`: `path` itself, or a path inside the simulated machine's folder. */
static const char *instead(const char *path, char *room, size_t size) {
    const char *root = getenv("TFGPU_DOCTOR_SIMULATION_FILES");
    if (!root || !*root || !path || *path != '/') return path;
    int simulated = 0;
    for (int i = 0; shown[i] && !simulated; i++) simulated = begins(path, shown[i]);
    /* "/usr/local/cuda" is redirected only if the machine has no toolkit. */
    if (!simulated && begins(path, "/usr/local/cuda") && getenv("TFGPU_DOCTOR_SIMULATION_NO_TOOLKIT")) simulated = 1;
    if (!simulated || (size_t)snprintf(room, size, "%s%s", root, path) >= size) return path;
    return room;
}

#define REAL(name) static __typeof__(&name) real; if (!real) real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)
#define INSTEAD(path) char room_[4096]; path = instead(path, room_, sizeof room_)
#define MODE(flags) mode_t mode = 0; if ((flags) & (O_CREAT | O_TMPFILE)) { va_list more; va_start(more, flags); mode = va_arg(more, mode_t); va_end(more); }

API int open(const char *path, int flags, ...) { REAL(open); MODE(flags) INSTEAD(path); return real(path, flags, mode); }
API int open64(const char *path, int flags, ...) { REAL(open64); MODE(flags) INSTEAD(path); return real(path, flags, mode); }
API int openat(int at, const char *path, int flags, ...) { REAL(openat); MODE(flags) INSTEAD(path); return real(at, path, flags, mode); }
API int openat64(int at, const char *path, int flags, ...) { REAL(openat64); MODE(flags) INSTEAD(path); return real(at, path, flags, mode); }
API FILE *fopen(const char *path, const char *how) { REAL(fopen); INSTEAD(path); return real(path, how); }
API FILE *fopen64(const char *path, const char *how) { REAL(fopen64); INSTEAD(path); return real(path, how); }
API int access(const char *path, int how) { REAL(access); INSTEAD(path); return real(path, how); }
API int faccessat(int at, const char *path, int how, int flags) { REAL(faccessat); INSTEAD(path); return real(at, path, how, flags); }
API DIR *opendir(const char *path) { REAL(opendir); INSTEAD(path); return real(path); }
API ssize_t readlink(const char *path, char *target, size_t size) { REAL(readlink); INSTEAD(path); return real(path, target, size); }
API char *realpath(const char *path, char *resolved) { REAL(realpath); INSTEAD(path); return real(path, resolved); }
API int stat(const char *path, struct stat *result) { REAL(stat); INSTEAD(path); return real(path, result); }
API int lstat(const char *path, struct stat *result) { REAL(lstat); INSTEAD(path); return real(path, result); }
API int stat64(const char *path, struct stat64 *result) { REAL(stat64); INSTEAD(path); return real(path, result); }
API int lstat64(const char *path, struct stat64 *result) { REAL(lstat64); INSTEAD(path); return real(path, result); }
API int fstatat(int at, const char *path, struct stat *result, int flags) { REAL(fstatat); INSTEAD(path); return real(at, path, result, flags); }
API int fstatat64(int at, const char *path, struct stat64 *result, int flags) { REAL(fstatat64); INSTEAD(path); return real(at, path, result, flags); }
API int statx(int at, const char *restrict path, int flags, unsigned mask, struct statx *restrict result) {
    REAL(statx);
    char room[4096];
    return real(at, instead(path, room, sizeof room), flags, mask, result);
}

/* Programs that were linked against glibc before 2.33, such as TensorFlow's wheels, call stat in this way. */
#define OLD_STAT(name, type) \
    API int name(int version, const char *path, type *result) { \
        static int (*real)(int, const char *, type *); \
        if (!real) real = (int (*)(int, const char *, type *))dlsym(RTLD_NEXT, #name); \
        INSTEAD(path); \
        return real(version, path, result); \
    }
OLD_STAT(__xstat, struct stat)
OLD_STAT(__lxstat, struct stat)
OLD_STAT(__xstat64, struct stat64)
OLD_STAT(__lxstat64, struct stat64)
