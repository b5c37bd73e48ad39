"""Signatures of messages about the NVIDIA driver, its calls and its version, from TensorFlow and the
kernel."""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.facts import PROSE, CudaCallFailed, DriverMismatch, DriverVersion, Fact, Kernel, Source, Symptom
from doctor.facts.statuses import BY_NUMBER
from doctor.logs.signatures.signature import Maker, Signature, sig, spoken

CUDA_ERRORS = {
    "303": "UNKNOWN_ERROR_303",  # TensorFlow's own status if libcuda does not load
    "-1": "UNKNOWN_ERROR_303",  # the same status in releases up to TensorFlow 1.12
    **{str(number): row.name for number, row in BY_NUMBER.items()},
}
"""The names of CUDA errors, by number. A build that is older than the driver prints only the numbers of newer
errors."""


def _trim(version: str) -> str:
    """Return a driver version without the ".0" that TensorFlow adds: it prints 430.40.0 for 430.40. (It also
    prints 470.63.1 for 470.63.01; that stays unchanged.)"""
    parts = version.split(".")
    if len(parts) == 3 and parts[2] == "0":
        return ".".join(parts[:2])
    return version


def cuinit(match: re.Match[str], source: Source) -> Fact:
    """Create the CudaCallFailed fact for a failed cuInit, with the symbolic name of its status."""
    error = match["error"].upper()
    number = re.search(r"-?\d+", error) if not error.startswith("CUDA_ERROR") else None
    return CudaCallFailed(
        source, "cuInit", CUDA_ERRORS.get(number[0], "CUDA_ERROR_UNKNOWN") if number else error
    )


def checked(match: re.Match[str], source: Source) -> Fact:
    """Create the CudaCallFailed fact for a failed CUDA call that a check in TensorFlow reports. If libcuda
    did not load, TensorFlow's stub for it returns 303 from every call."""
    error = CUDA_ERRORS.get(match["error"], f"CUresult({match['error']})")
    return CudaCallFailed(source, "cuInit" if match["error"] == "303" else match["call"], error)


_RUNTIME = {"3": "CUDA_ERROR_NOT_INITIALIZED", "30": "CUDA_ERROR_UNKNOWN", "999": "CUDA_ERROR_UNKNOWN"}
"""Values of cudaError_t: 3 is cudaErrorInitializationError, 30 (999 from CUDA 10.1 on) is
cudaErrorUnknown."""


def asked(match: re.Match[str], source: Source) -> Fact | None:
    """Create the CudaCallFailed fact: TensorFlow's query for the devices failed. Return None if the message
    shows no error."""
    error = match["error"] or match["error2"] or _RUNTIME.get(match["number"] or match["count"])
    return CudaCallFailed(source, "cuDeviceGet", error.upper()) if error else None


def context(match: re.Match[str], source: Source) -> Fact:
    """Create the CudaCallFailed fact for a CUDA call that failed while TensorFlow created a device."""
    return CudaCallFailed(source, match["call"], match["error"].upper())


def status(match: re.Match[str], source: Source) -> Fact:
    """Create the CudaCallFailed fact for a failed cudaGetDevice() or cudaSetDevice() from the text of its
    status."""
    return CudaCallFailed(source, match["call"], match["error"].strip().rstrip(".").lower())


def mismatch(match: re.Match[str], source: Source) -> Fact:
    """Create the DriverMismatch fact: the driver's kernel module and its user-space library have different
    versions."""
    found = match.groupdict()
    return DriverMismatch(
        source, _trim(found.get("kernel") or "") or None, _trim(found.get("user") or "") or None
    )


def driver(part: str) -> Maker:
    """Return a function that makes a DriverVersion from a match. part: the part of the driver that has this
    version: "user" (its libraries) or "kernel"."""

    def make(match: re.Match[str], source: Source) -> Fact:
        return DriverVersion(source, _trim(match["version"]), part)

    return make


def modules(match: re.Match[str], source: Source) -> Iterator[Fact]:
    """Create the Symptom that names the kind of the driver's kernel modules, open or closed, and the
    DriverVersion if the match names only a branch."""
    yield Symptom(source, "kernel-modules", (("kind", "open" if match["open"] else "closed"),))
    if match.groupdict().get("branch"):
        yield DriverVersion(source, match["branch"], rank=PROSE)


def agreeing(match: re.Match[str], source: Source) -> Iterator[Fact]:
    """Create the DriverVersion fact and the Symptom that both parts of the driver have the same version, from
    a message in which TensorFlow compares them."""
    yield DriverVersion(source, _trim(match["version"]), "kernel")
    yield Symptom(source, "driver-versions-agree")


SIGNATURES: tuple[Signature, ...] = (
    sig(
        "driver-legacy",
        "legacy drivers",
        r"NVRM: .{0,80}supported through the NVIDIA (?P<branch>\d{2,3}\.xx)\s+(?:NVRM:\s*)?Legacy drivers"
        r"|supported through the\s+(?:NVRM:\s*)?NVIDIA (?P<b2>\d{2,3}\.xx) Legacy drivers",
        "NVRM: installed in this system is supported through the NVIDIA 470.xx Legacy drivers.",
        lines=2,
        origin="NVIDIA's kernel module (nvidia.ko)",
    ),
    sig(
        "gpu-bound-to-other-driver",
        "vfio-pci|pci-stub",
        r"Kernel driver in use: (?P<driver>vfio-pci|pci-stub)",
        "\tKernel driver in use: vfio-pci",
        origin="lspci -k",
    ),
    sig(
        "gpu-switched-off",
        "disabling discrete graphics|(rev ff)|acpi/bbswitch|discrete video card is off",
        r"(?P<by>bbswitch): disabling discrete graphics"
        r"|NVIDIA .{0,120}\(rev ff\)|acpi/(?P<by2>bbswitch)\s+0000:\S{4,12} OFF"
        r"|(?P<by3>Bumblebee) status: .{0,60}Discrete video card is off",
        "bbswitch: disabling discrete graphics",
        lines=2,
        origin="bbswitch.c; lspci on a device that does not answer; optirun --status",
    ),
    sig(
        "cuinit-failed",
        "failed call to cuinit|cuinit",
        r"(?:failed call to )?cuInit(?:\(\d?\))?[:`'\"]*(?: (?:gives?|gave|returns?"
        r"|returned|says?|said|fails with|failed with|reports?|answers?|yields?|error))? ?(?:INTERNAL: "
        r"|RESOURCE_EXHAUSTED: )?(?:CUDA error: Failed call to cuInit: )?(?P<error>CUDA_ERROR_\w+"
        r"|UNKNOWN ERROR \(-?\d+\)|CUresult\(-?\d+\))",
        "E tensorflow/stream_executor/cuda/cuda_driver.cc:328] failed call to cuInit: CUDA_ERROR_NO_DEVICE:"
        " no CUDA-capable device is detected",
        cuinit,
        origin="tensorflow/stream_executor/cuda/cuda_driver.cc",
    ),
    sig(  # without the name of a call; it is usually cuInit
        "cuinit-failed",
        "cuda_error_unknown",
        r"^(?![^\n]*(?:cuInit|\.cc:|failed"
        r" to|synchroni[sz]|stream|event))[^\n]{0,300}?\bCUDA_ERROR_UNKNOWN\b",
        "the experiment throws CUDA_ERROR_UNKNOWN",
        lambda match, source: CudaCallFailed(source, "cuInit", "CUDA_ERROR_UNKNOWN"),
    ),
    sig(
        "call-check-failed",
        "check failed: cuda_success ==",
        r"Check failed: CUDA_SUCCESS == (?P<call>cu\w+)\([^\n]{0,200}\) \(0 vs\. (?P<error>\d{2,3})\)",
        "cuda_driver.cc:391] Check failed: CUDA_SUCCESS == cuDevicePrimaryCtxGetState(device, &flags,"
        " &active) (0 vs. 303)",
        checked,
        origin="tensorflow/stream_executor/cuda/cuda_driver.cc",
    ),
    sig(
        "context-failed",
        "failed call to cudeviceprimaryctxretain|failed call to cuctx|failed call to cudeviceget",
        r"failed call to (?P<call>cuDevicePrimaryCtxRetain|cuCtx\w+|cuDeviceGet\w*):"
        r" (?P<error>CUDA_ERROR_\w+)",
        "Internal: failed call to cuDevicePrimaryCtxRetain: CUDA_ERROR_OUT_OF_MEMORY: out of memory; total"
        " memory reported",
        context,
    ),
    sig(
        "context-failed",
        "could not retrieve cuda device count|failed to get device attribute|"
        "failed to get device properties|cudagetdevicecount returned",
        r"could not retrieve CUDA device count: (?P<error>CUDA_ERROR_\w+)"
        r"|failed to get device attribute \d+ for device \d+: (?P<error2>CUDA_ERROR_\w+)|Failed to get"
        r" device properties, error code: (?P<number>\d+)|cudaGetDeviceCount returned (?P<count>\d{1,4})\b",
        "could not retrieve CUDA device count: CUDA_ERROR_NOT_INITIALIZED",
        asked,
        origin="tensorflow/stream_executor/cuda/cuda_driver.cc",
    ),
    sig(
        "set-device-failed",
        "cudagetdevice() failed|cudasetdevice() |cudagetdevice() on gpu:",
        r"(?P<call>cuda[GS]etDevice)\(\)(?: on GPU:\d+)? failed\. Status: (?P<error>[^\n\"']{3,90})",
        "InternalError: cudaSetDevice() on GPU:0 failed. Status: out of memory",
        status,
        seen_in=">=1.13",
        origin="tensorflow/core/common_runtime/gpu/gpu_device.cc",
    ),
    sig(
        "driver-insufficient",
        "cuda driver version is in|driver on your system is too old|_incompatible_cuda_driver",
        r"CUDA driver version is ins{1,2}uf{1,2}i[cs]i?[ea]nt\b"
        r"|NVIDIA driver on your system is too old|CUDNN_STATUS_NOT_SUPPORTED_INCOMPATIBLE_CUDA_DRIVER",
        "InternalError: cudaGetDevice() failed. Status: CUDA driver version is insufficient for CUDA runtime"
        " version",
    ),
    sig(
        "driver-below-ptxas",
        "driver's cuda version is",
        r"driver's CUDA version is (?P<offered>\d+\.\d+) which is older than the (?:PTX compiler|ptxas CUDA)"
        r" version \(?(?P<ptxas>\d+\.\d+)",
        "The NVIDIA driver's CUDA version is 12.4 which is older than the PTX compiler version 12.5.82."
        " Because the driver is older than the PTX compiler version, XLA is disabling parallel compilation,"
        " which may slow down compilation.",
        seen_in="2.5 and later",
        origin="xla/service/gpu/nvptx_compiler.cc",
    ),
    sig(
        "container-requirement",
        "requirement error: unsatisfied condition",
        r"requirement error: unsatisfied condition: (?P<condition>[^\n]{1,120})",
        "nvidia-container-cli: requirement error: unsatisfied condition: cuda>=11.2, please update your"
        " driver",
    ),
    sig(
        "kernel-driver-not-running",
        "kernel driver does not appear to be running",
        r"kernel driver does not appear to be running on this host \((?P<host>[^)\n]{0,120})\)",
        "I tensorflow/stream_executor/cuda/cuda_diagnostics.cc:156] kernel driver does not appear to be"
        " running on this host (node): /proc/driver/nvidia/version does not exist",
        origin="tensorflow/stream_executor/cuda/cuda_diagnostics.cc",
    ),
    sig(
        "no-device-node",
        "no nvidia gpu device is present",
        r"no NVIDIA GPU device is present: /dev/nvidia0 does not exist",
        "cuda_diagnostics.cc:163] no NVIDIA GPU device is present: /dev/nvidia0 does not exist",
    ),
    sig(
        "driver-version",
        "libcuda reported version is",
        r"libcuda reported version is: (?P<version>\d+\.\d+(?:\.\d+)?)",
        "cuda_diagnostics.cc:192] libcuda reported version is: 470.57.2",
        driver("user"),
    ),
    sig(  # a line that TF_CPP_VMODULE or TF_CPP_MAX_VLOG_LEVEL makes TensorFlow print
        "driver-version",
        "with resolved path: ",
        r"found DLL info with resolved path:"
        r" [^\n]{0,120}?/libcuda\.so\.(?P<version>\d{3}\.\d+(?:\.\d+)?)(?![\w.])",
        "cuda_diagnostics.cc:197] found DLL info with resolved path:"
        " /usr/lib/x86_64-linux-gnu/libcuda.so.535.183.01",
        driver("user"),
        origin="xla/stream_executor/cuda/cuda_diagnostics.cc, Diagnostician::FindDsoVersion",
    ),
    sig(
        "libcuda-not-found",
        "libcuda reported version is|unable to find libcuda.so dso",
        r"libcuda reported version is: (?:NOT_FOUND|Not found)"
        r"|(?<!: )was unable to find libcuda\.so DSO loaded into this program",
        "libcuda reported version is: NOT_FOUND: was unable to find libcuda.so DSO loaded into this program",
    ),
    sig(
        "driver-version",
        "kernel reported version is",
        r"kernel reported version is: (?P<version>\d+\.\d+(?:\.\d+)?)",
        "cuda_diagnostics.cc:196] kernel reported version is: 460.56.0",
        driver("kernel"),
    ),
    sig(
        "driver-versions-agree",
        "kernel version seems to match dso",
        r"kernel version seems to match DSO: (?P<version>\d+\.\d+(?:\.\d+)?)",
        "cuda_diagnostics.cc:259] kernel version seems to match DSO: 535.183.1",
        agreeing,
    ),
    sig(
        "driver-mismatch",
        "does not match dso version",
        r"kernel version (?P<kernel>[\d.]+) does not match DSO version (?P<user>[\d.]+)",
        "cuda_diagnostics.cc:306] kernel version 460.56.0 does not match DSO version 470.57.2 -- cannot find"
        " working devices",
        mismatch,
    ),
    sig(
        "driver-mismatch",
        "driver/library version mismatch|lib_rm_version_mismatch|librmversionmismatch|api mismatch: ",
        r"Driver/library version mismatch|NVML_ERROR_LIB_RM_VERSION_MISMATCH|LibRmVersionMismatch"
        r"|API mismatch: the client has the version (?P<user>[\d.]+\d)",
        "Failed to initialize NVML: Driver/library version mismatch",
        mismatch,
    ),
    sig(
        "driver-version",
        "possibly insufficient driver version",
        r"Possibly insufficient driver version: (?P<version>\d+\.\d+(?:\.\d+)?)",
        "E tensorflow/stream_executor/cuda/cuda_dnn.cc:336] Possibly insufficient driver version: 418.87.0",
        driver("kernel"),
    ),
    sig(
        "driver-version",
        "nvrm version:",
        r"NVRM version:\s{1,8}(?P<version>\d{3}\.\d+(?:\.\d+)?)(?![\w.])",
        "NVRM version:   515.65.01",
        driver("kernel"),
        origin="libnvidia-container, src/cli/info.c",
    ),
    sig(
        "driver-version",
        "nvidia unix",
        r"NVIDIA UNIX (?:Open )?(?:(?:x86_64|aarch64|ppc64le) )?Kernel Module(?: for"
        r" \w+)?\s+(?P<version>\d{3}\.\d+(?:\.\d+)?)",
        "NVRM version: NVIDIA UNIX x86_64 Kernel Module  470.63.01  Tue Aug  3 20:44:16 UTC 2021",
        driver("kernel"),
    ),
    sig(
        "kernel-modules",
        "nvidia unix",
        r"NVIDIA UNIX (?P<open>Open )?(?:(?:x86_64|aarch64|ppc64le) )?Kernel Module",
        "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.124.06  Release Build",
        modules,
        origin="the driver's file /proc/driver/nvidia/version",
    ),
    sig(
        "kernel-modules",
        "nvidia-driver-|nvidia-dkms-",
        r"\bnvidia-(?:driver|dkms)-(?P<branch>[3-9]\d\d)(?:-server)?(?P<open>-open)?(?![\w-])",
        "sudo apt install nvidia-driver-570-open",
        modules,
        origin="Ubuntu's packages of the driver",
    ),
    sig(
        "kernel-modules",
        "license:",
        r"^license: {1,12}(?:NVIDIA$|(?P<open>Dual MIT/GPL)$)",
        "license:        Dual MIT/GPL",
        modules,
        origin="modinfo nvidia",
    ),
    sig(
        "kernel-modules",
        "nvidia-kernel-dkms|nvidia-open-kernel-dkms|nvidia-open-dkms|nvidia-open",
        r"\bnvidia-(?:kernel-dkms|(?P<open>open(?:-kernel)?-dkms|open))(?![\w-])",
        "sudo apt install nvidia-open-kernel-dkms",
        modules,
        origin="packages of Debian, Arch and NVIDIA",
    ),
    sig(
        "module-built",
        "nvidia/|nvidia-open/|nvidia, |nvidia-open, ",
        r"\bnvidia(?:-open)?(?:/|, )\d{3}\.\d{2,3}(?:\.\d{2})?, (?P<kernel>\d+\.[\w.+-]{3,60}),"
        r" \w{3,10}: installed",
        "nvidia/550.120, 6.8.0-49-generic, x86_64: installed",
        origin="dkms status",
    ),
    sig(
        "kernel-release",
        "uname -r",
        r"\buname -r\s*\n\s{0,8}(?P<release>\d+\.\d+[\w.+-]{0,60})\s*$",
        "$ uname -r\n6.8.0-51-generic",
        lambda m, s: Kernel(s, m["release"]),
        lines=2,
        at="release",
    ),
    spoken(  # the message as people quote it, in any language
        "driver-mismatch",
        "dso",
        r"(?P<kernel>\d{3}\.\d{2,3}(?:\.\d{1,3})?)[^\n]{1,60}\bDSO\b[^\n\d]{1,24}"
        r"(?P<user>\d{3}\.\d{2,3}(?:\.\d{1,3})?)",
        "it says the kernel's 535.171 does not match the DSO, which is 535.183",
        mismatch,
    ),
    spoken(
        "cuinit-failed",
        "unknown error (303)|unknown error 303",
        r"(?<!cuInit: )UNKNOWN ERROR (?:\(303\)|303\b)",
        "TensorFlow says UNKNOWN ERROR (303)",
        lambda m, s: CudaCallFailed(s, "cuInit", "UNKNOWN_ERROR_303"),
    ),
)
