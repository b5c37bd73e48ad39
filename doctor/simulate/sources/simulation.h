/* Declarations that all libraries of the simulated machine share: the machine's description, the faults, the memory
 * ledger.
 *
 * None of this comes from NVIDIA: none of its headers or files is used. If a function has the name of an NVIDIA
 * function, the name, the order of the arguments and the result codes are the interface that TensorFlow's binaries
 * call.
 *
 * A text file of "key = value" lines describes the machine; the environment variable TFGPU_DOCTOR_SIMULATION contains
 * its path. Without that variable no library here works: cuInit returns CUDA_ERROR_NO_DEVICE and nvmlInit returns
 * NVML_ERROR_DRIVER_NOT_LOADED, so nobody can load a library by accident and mistake it for a GPU.
 */
#ifndef TFGPU_DOCTOR_SIMULATION_H
#define TFGPU_DOCTOR_SIMULATION_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define API __attribute__((visibility("default")))
#define UNUSED __attribute__((unused))

/* A GPU, or one of the up to 7 instances of a divided GPU (MIG). To CUDA an instance is a device like any other. In
 * gpus[] the GPUs come first; the instances begin at MAX_GPUS. */
enum { MAX_GPUS = 16, MAX_INSTANCES = 7 * MAX_GPUS, MAX_DEVICES = MAX_GPUS + MAX_INSTANCES, MAX_FAULTS = 32, MAX_HOLDINGS = 512 };

typedef struct {
    char name[96];
    int major, minor;          /* compute capability */
    uint64_t memory;           /* bytes */
    int multiprocessors;
    unsigned pci_domain, pci_bus;
    unsigned pci_device_id;    /* PCI device id << 16 | NVIDIA's vendor id 0x10de */
    unsigned char uuid[16];
    char uuid_text[64];        /* "GPU-" and 36 characters; for an instance "MIG-...", depending on the driver */
    int compute_mode;          /* 0 default, 2 prohibited, 3 exclusive process */
    int mig;                   /* 0: cannot be divided, 1: can be, 2: MIG mode is on, with or without instances */
    int parent;                /* for an instance: its GPU's index in gpus[]; -1: this is a GPU */
    int gpu_instance;          /* for an instance: its number; its only compute instance has number 0 */
    uint64_t ecc_errors;       /* uncorrectable memory errors since the driver was loaded */
    int slices;                /* for an instance: how many of the GPU's compute slices it has */
} Gpu;

typedef enum { FAULT_FAIL, FAULT_POISON, FAULT_HANG, FAULT_CRASH } FaultKind;

typedef struct {
    FaultKind kind;
    char function[64];
    int status;                /* FAULT_FAIL: what the function returns; FAULT_POISON: what it and every later call that
                                * involves the device return */
    unsigned from_call;        /* the first call that the fault affects, counted from 1 */
    unsigned calls;
} Fault;

typedef struct {
    int present;               /* 0: no simulation is running, nothing works */
    int gpu_count, instance_count;
    Gpu gpus[MAX_DEVICES];
    char driver_version[32];   /* "550.54.14" */
    int driver_branch;         /* 550 */
    int driver_cuda;           /* 12040: the highest CUDA version that the driver supports */
    int runtime_cuda;          /* 12050: the CUDA release of the runtime library */
    int runtime_minimum_driver;/* 12000: cudart refuses a driver that supports less, like the real one */
    int cudnn_version;         /* 8907, 90300 */
    int cublas_version;
    uint64_t context_bytes;    /* the device memory that a CUDA context uses */
    uint64_t cudnn_handle_bytes;
    uint64_t cublas_handle_bytes;
    int cudnn_no_memory;       /* the status of cudnnCreate when memory is short */
    int cublas_no_memory;
    int cudnn_engines;         /* how many convolution engines the heuristics return */
    int peer_access;
    int memory_pools;
    int fault_count;
    Fault faults[MAX_FAULTS];
    char ledger_path[4096];
    char trace_path[4096];     /* empty: calls are not recorded */
} Machine;

/* The simulated machine; its description is read once per process. Never NULL. */
const Machine *machine(void);

/* Every function of the libraries calls this first. It writes the call to the trace, triggers the machine's fault for
 * the function if there is one (hang: never returns; crash: SIGSEGV), and returns the status that the function must
 * return, 0 for none. */
int enter(const char *function);
#define ENTER do { int struck_ = enter(__func__); if (struck_) return struck_; } while (0)

/* The ledger: how much memory each process holds on each GPU, shared by all processes of one machine. Each access
 * removes the entries of dead processes (including zombies), because a real driver frees a process's memory when it
 * ends. */
typedef struct { pid_t pid; uint64_t bytes; } Holding;
int ledger_take(int gpu, uint64_t bytes);      /* 0; -1 if not enough is free */
void ledger_give(int gpu, uint64_t bytes);
uint64_t ledger_used(int gpu);
uint64_t ledger_free(int gpu);
int ledger_holdings(int gpu, Holding *holdings, int capacity);  /* the number of holdings, which may exceed capacity */

/* The devices that a process sees, in its own numbering: fills order[] with indices into machine()->gpus and returns
 * their number. */
int visible_gpus(const char *cuda_visible_devices, const char *cuda_device_order, int order[MAX_DEVICES]);

/* The index in machine()->gpus of the device whose context is current; the simulated libcuda supplies it. */
int current_gpu(void);

/* A function of the driver API by name, from the simulated libcuda; NULL if it does not exist. */
void *driver_symbol(const char *name);

#endif
