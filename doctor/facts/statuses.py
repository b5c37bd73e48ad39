"""What a status of NVIDIA's driver and libraries means, whichever program prints it.

CUDA has three spellings of one status: the driver's name, the runtime's name and the words that
cuGetErrorString returns. TensorFlow, PyTorch, JAX, Numba, CuPy, ONNX Runtime, Horovod and NVIDIA's samples
print any of them. In: a name or the words. Out: the symptom that the status shows.

Sources: cuda.h and driver_types.h of CUDA 12.5 (names and words), nvml.h of CUDA 12 and pynvml.
"""

from __future__ import annotations

from typing import NamedTuple


class Status(NamedTuple):
    """One status.

    number: in the driver's enumeration, and since CUDA 10.1 in the runtime's. name: the driver's name.
    runtime: the runtime's name. words: the part of the libraries' message that is the same in all releases.
    symptom: what the status shows wherever it appears; "" if that depends on the call. starting: only the
    start of CUDA returns the status, so that a message without a call means cuInit. common: other programs
    also use the words, so they count only after CUDA's name or a call. before: the runtime's number before
    CUDA 10.1, if it differs.
    """

    number: int
    name: str
    runtime: str
    words: str
    symptom: str
    starting: bool = False
    common: bool = False
    before: int = 0


def _table(driver: str, runtime: str, rows: str) -> tuple[Status, ...]:
    """Parse statuses from lines "number/before NAME Name | words | symptom | marks".

    driver, runtime: the prefixes of the driver's and the runtime's names."""
    found = []
    for row in rows.strip().splitlines():
        names, words, symptom, *marks = row.split(" | ")
        numbers, name, own = names.split()
        number, _, before = numbers.partition("/")
        found.append(
            Status(
                int(number), driver + name, runtime + own, words, symptom.strip("-"),
                "starting" in "".join(marks), "common" in "".join(marks), int(before or 0),
            )
        )  # fmt: skip
    return tuple(found)


CUDA: tuple[Status, ...] = _table(
    "CUDA_ERROR_",
    "cudaError",
    """
  2 OUT_OF_MEMORY MemoryAllocation | out of memory | cuda-out-of-memory | common
  3 NOT_INITIALIZED InitializationError | initialization error | - | starting common
 34 STUB_LIBRARY StubLibrary | CUDA driver is a stub library | - | starting
100/38 NO_DEVICE NoDevice | no CUDA-capable device is detected | no-device-shown | starting
101/10 INVALID_DEVICE InvalidDevice | invalid device ordinal | invalid-ordinal
 35 INSUFFICIENT_DRIVER InsufficientDriver \
    | CUDA driver version is insufficient for CUDA runtime version | driver-insufficient
 46 DEVICE_UNAVAILABLE DevicesUnavailable | busy or unavailable | device-busy
216/54 CONTEXT_ALREADY_IN_USE DeviceAlreadyInUse \
    | exclusive-thread device already in use by a different thread | device-busy
209/48 NO_BINARY_FOR_GPU NoKernelImageForDevice | no kernel image is available | no-kernel-image
200/47 INVALID_IMAGE InvalidKernelImage | device kernel image is invalid | no-kernel-image
 98/8 INVALID_DEVICE_FUNCTION InvalidDeviceFunction | invalid device function | function-not-in-build
218/78 INVALID_PTX InvalidPtx | a PTX JIT compilation failed | ptx-invalid
222 UNSUPPORTED_PTX_VERSION UnsupportedPtxVersion \
    | PTX was compiled with an unsupported toolchain | ptx-unsupported
221 JIT_COMPILER_NOT_FOUND JitCompilerNotFound | PTX JIT compiler library not found | jit-failed
214/39 ECC_UNCORRECTABLE ECCUncorrectable | uncorrectable ECC error | ecc-error
220/80 NVLINK_UNCORRECTABLE NvlinkUncorrectable | uncorrectable NVLink error | hardware-error
721 CONTAINED Contained | Invalid access of peer GPU memory | hardware-error
217/64 PEER_ACCESS_UNSUPPORTED PeerAccessUnsupported | peer access is not supported | peer-access
711/60 TOO_MANY_PEERS TooManyPeers | peer mapping resources exhausted | peer-access
700/77 ILLEGAL_ADDRESS IllegalAddress | illegal memory access was encountered | illegal-address
701/7 LAUNCH_OUT_OF_RESOURCES LaunchOutOfResources | too many resources requested for launch | launch-failed
702/6 LAUNCH_TIMEOUT LaunchTimeout | launch timed out and was terminated | launch-failed
710/59 ASSERT Assert | device-side assert triggered | launch-failed
714/72 HARDWARE_STACK_ERROR HardwareStackError | hardware stack error | launch-failed
715/73 ILLEGAL_INSTRUCTION IllegalInstruction | an illegal instruction was encountered | launch-failed
716/74 MISALIGNED_ADDRESS MisalignedAddress | misaligned address | launch-failed
717/75 INVALID_ADDRESS_SPACE InvalidAddressSpace \
    | operation not supported on global/shared address space | launch-failed
718/76 INVALID_PC InvalidPc | invalid program counter | launch-failed
719/4 LAUNCH_FAILED LaunchFailure | unspecified launch failure | launch-failed
304/63 OPERATING_SYSTEM OperatingSystem | OS call failed or operation not supported on this OS | - | starting
800/70 NOT_PERMITTED NotPermitted | operation not permitted | - | starting common
802 SYSTEM_NOT_READY SystemNotReady | system not yet initialized | system-not-ready
803 SYSTEM_DRIVER_MISMATCH SystemDriverMismatch \
    | unsupported display driver / cuda driver combination | system-driver-mismatch
804 COMPAT_NOT_SUPPORTED_ON_DEVICE CompatNotSupportedOnDevice \
    | forward compatibility was attempted on non supported HW | compat-not-supported
805 MPS_CONNECTION_FAILED MpsConnectionFailed \
    | MPS client failed to connect to the MPS control daemon or the MPS server | mps-failed
806 MPS_RPC_FAILURE MpsRpcFailure | MPS server and client process mismatched | mps-failed
807 MPS_SERVER_NOT_READY MpsServerNotReady \
    | MPS server is not ready to accept new MPS client requests | mps-failed
808 MPS_MAX_CLIENTS_REACHED MpsMaxClientsReached \
    | the hardware resources required to create MPS client have been exhausted | mps-failed
809 MPS_MAX_CONNECTIONS_REACHED MpsMaxConnectionsReached \
    | the hardware resources required to support device connections have been exhausted | mps-failed
999/30 UNKNOWN Unknown | unknown error | cuda-unknown-error | common
""",
)
"""The statuses of CUDA's driver and runtime that say something about a machine, a build or a program. Other
statuses, such as an invalid argument, show no cause."""

NVML: tuple[Status, ...] = _table(
    "NVML_ERROR_",
    "NVMLError_",
    """
  9 DRIVER_NOT_LOADED DriverNotLoaded | Driver Not Loaded | smi-no-driver
  4 NO_PERMISSION NoPermission | Insufficient Permissions | device-node-permission
 15 GPU_IS_LOST GpuIsLost | GPU is lost | gpu-lost
 16 RESET_REQUIRED ResetRequired | GPU requires reset | gpu-lost
999 UNKNOWN Unknown | Unknown Error | nvml-unknown-error
 17 OPERATING_SYSTEM OperatingSystem | The operating system has blocked the request | nvml-blocked
""",
)
"""The statuses of NVML: NVML's name, pynvml's class, and the words of pynvml's exception."""

BY_NUMBER = {row.number: row for row in CUDA}
"""The statuses of CUDA by number. A build that is older than the driver prints a number without a name."""
BY_RUNTIME_NUMBER = {**BY_NUMBER, **{row.before: row for row in CUDA if row.before}}
"""The statuses of CUDA's runtime by number: before CUDA 10.1 the runtime had its own numbers, all below 100
(driver_types.h of CUDA 7.5 and 8.0)."""
SYMPTOMS = {row.name: row.symptom for row in (*CUDA, *NVML) if row.symptom}
"""The symptom of each status, by the name that the driver's library returns."""
