/* What every library of the simulated machine shares: the description of the machine, the faults, the ledger of memory.
 *
 * None of this is NVIDIA's: no header and no file of theirs is used. Where a function has the name of one of theirs, the
 * name, the order of its arguments and the numbers of its results are the interface that TensorFlow's binaries call.
 *
 * The machine is described by a text file of "key = value" lines, named by the environment variable
 * TFGPU_DOCTOR_SIMULATION. Without that variable no library here works: cuInit gives CUDA_ERROR_NO_DEVICE and nvmlInit
 * NVML_ERROR_DRIVER_NOT_LOADED, so nobody can load one by accident and take it for a GPU.
 */
#ifndef TFGPU_DOCTOR_SIMULATION_H
#define TFGPU_DOCTOR_SIMULATION_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define API __attribute__((visibility("default")))
#define UNUSED __attribute__((unused))

/* A GPU, or one of the up to 7 instances of a divided one (MIG), which to CUDA is a device like any other. In gpus[] the
 * GPUs come first; the instances begin at MAX_GPUS. */
enum { MAX_GPUS = 16, MAX_INSTANCES = 7 * MAX_GPUS, MAX_DEVICES = MAX_GPUS + MAX_INSTANCES, MAX_FAULTS = 32, MAX_HOLDINGS = 512 };

typedef struct {
    char name[96];
    int major, minor;          /* compute capability */
    uint64_t memory;           /* bytes */
    int multiprocessors;
    unsigned pci_domain, pci_bus;
    unsigned pci_device_id;    /* PCI device id << 16 | NVIDIA's vendor id 0x10de */
    unsigned char uuid[16];
    char uuid_text[64];        /* "GPU-" and 36 characters; of an instance "MIG-...", by the driver's release */
    int compute_mode;          /* 0 default, 2 prohibited, 3 exclusive process */
    int mig;                   /* 0: cannot be divided, 1: could be, 2: MIG mode is on, whether there are instances or not */
    int parent;                /* of an instance: the GPU's place in gpus[]; -1: a GPU */
    int gpu_instance;          /* of an instance: its number; its compute instance is number 0, the only one */
    uint64_t ecc_errors;       /* uncorrectable errors of its memory since the driver was loaded */
    int slices;                /* of an instance: how many of the GPU's compute slices it has */
} Gpu;

typedef enum { FAULT_FAIL, FAULT_POISON, FAULT_HANG, FAULT_CRASH } FaultKind;

typedef struct {
    FaultKind kind;
    char function[64];
    int status;                /* what the function returns, of FAULT_FAIL; of FAULT_POISON what every call returns from
                                * then on that the device has to do with */
    unsigned from_call;        /* the first call that it strikes, from 1 */
    unsigned calls;
} Fault;

typedef struct {
    int present;               /* 0: there is no simulation in force, nothing works */
    int gpu_count, instance_count;
    Gpu gpus[MAX_DEVICES];
    char driver_version[32];   /* "550.54.14" */
    int driver_branch;         /* 550 */
    int driver_cuda;           /* 12040: the highest CUDA that the driver offers */
    int runtime_cuda;          /* 12050: the CUDA release of the runtime library */
    int runtime_minimum_driver;/* 12000: cudart refuses a driver that offers less, as the real one does */
    int cudnn_version;         /* 8907, 90300 */
    int cublas_version;
    uint64_t context_bytes;    /* what a CUDA context takes of device memory */
    uint64_t cudnn_handle_bytes;
    uint64_t cublas_handle_bytes;
    int cudnn_no_memory;       /* the status of cudnnCreate when memory is short */
    int cublas_no_memory;
    int cudnn_engines;         /* how many convolution engines the heuristics offer */
    int peer_access;
    int memory_pools;
    int fault_count;
    Fault faults[MAX_FAULTS];
    char ledger_path[4096];
    char trace_path[4096];     /* empty: calls are not written down */
} Machine;

/* The machine in force; read once a process. Never NULL. */
const Machine *machine(void);

/* To be called first by every function of the libraries: writes the call into the trace, strikes where a fault of the
 * machine names the function (hang: never returns; crash: SIGSEGV), and gives the status to return, 0 for none. */
int enter(const char *function);
#define ENTER do { int struck_ = enter(__func__); if (struck_) return struck_; } while (0)

/* The ledger: how much memory each process holds on each GPU, shared by all processes of one machine. Entries of dead
 * processes (zombies too) are swept at every look, since a real driver gives their memory back at their end. */
typedef struct { pid_t pid; uint64_t bytes; } Holding;
int ledger_take(int gpu, uint64_t bytes);      /* 0, or -1: not enough is free */
void ledger_give(int gpu, uint64_t bytes);
uint64_t ledger_used(int gpu);
uint64_t ledger_free(int gpu);
int ledger_holdings(int gpu, Holding *holdings, int capacity);  /* the number there is, which may exceed capacity */

/* Which devices a process sees, in its own numbering: fills order[] with indices into machine()->gpus, gives their
 * number. */
int visible_gpus(const char *cuda_visible_devices, const char *cuda_device_order, int order[MAX_DEVICES]);

/* The place in machine()->gpus of the device whose context is current; asked of this machine's libcuda. */
int current_gpu(void);

/* A function of the driver API by name, out of the libcuda of this machine; NULL where it is not there. */
void *driver_symbol(const char *name);

#endif
