"""Signatures of messages about the state of the NVIDIA driver and its cards, from nvidia-smi, NVML,
containers and the kernel."""

from __future__ import annotations

from doctor.facts import Symptom
from doctor.logs.signatures.signature import Signature, sig

SIGNATURES: tuple[Signature, ...] = (
    sig(
        "smi-no-driver",
        "couldn't communicate with the nvidia driver|nvml error: driver not loaded|nvidia-smi has failed",
        r"couldn't communicate with the NVIDIA driver|NVIDIA-SMI has failed\b|nvml error: driver not loaded",
        "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that the"
        " latest NVIDIA driver",
    ),
    sig(
        "smi-not-found",
        "nvidia-smi",
        r"nvidia-smi: (?:command )?not found|nvidia-smi[`'\"]? (?:is(?:n't| not)|was(?:n't| not)) (?:found"
        r"|installed|there|available)|nvidia-smi: No such file or directory|'nvidia-smi' "
        r"(?:is not recognized|not found|n'est pas|no se reconoce)|No such file or directory: '?nvidia-smi"
        r"|['\"]nvidia-smi['\"] 不是|Befehl .?nvidia-smi.? .{0,30}nicht gefunden",
        "bash: nvidia-smi: command not found",
    ),
    sig(
        "smi-no-devices",
        "no devices were found",
        r"(?:^\W*|-> ?|nvidia-smi\b[^\n.]{0,24}[ :\"'`])[Nn]o devices were found",
        "No devices were found",
    ),
    sig(
        "nvml-unknown-error",
        "failed to initialize nvml: unknown error",
        r"Failed to initialize NVML: Unknown Error",
        "Failed to initialize NVML: Unknown Error",
    ),
    sig(
        "gpu-lost",
        "gpu is lost|fallen off the bus|unable to determine the device handle|gpu requires re",
        r"(?:^|[:\]\"'`] ?)GPU is lost|GPU is lost\. +Reboot|fallen off the bus"
        r"|Unable to determine the device handle for|GPU requires re(?:set|start)",
        "Unable to determine the device handle for GPU 0000:0A:00.0: GPU is lost.  Reboot the system to"
        " recover this GPU",
    ),
    sig(
        "gpu-lost",
        "change power state",
        r"nvidia [\da-f:.]{4,16}: (?:(?:can't|Unable to) change power state from D3cold to D0"
        r"|Refused to change power state, currently in D3)",
        "nvidia 0000:01:00.0: can't change power state from D3cold to D0 (config space inaccessible)",
        origin="drivers/pci/pci.c",
    ),
    sig(
        "nvml-blocked",
        "operating system has blocked the request",
        r"The operating system has blocked the request",
        "Failed to initialize NVML: GPU access blocked: The operating system has blocked the request",
    ),
    sig(  # the kernel's driver, for each program that tries to use a GPU in MIG mode without instances
        "mig-enabled",
        "mig is enabled without gpu instanc",
        r"(?P<refused>Channel allocation) not allowed when MIG is enabled without GPU instanc(?:ing|es?)",
        "NVRM: kchannelConstruct_IMPL: Channel allocation not allowed when MIG is enabled without GPU"
        " instancing",
        lambda m, s: Symptom(s, "mig-enabled", (("instances", "0"), ("refused", m["refused"]))),
        origin="NVIDIA/open-gpu-kernel-modules, kernel_channel.c",
    ),
    sig(
        "xid",
        "xid",
        r"NVRM: Xid(?: \([^)\n]{0,60}\))?: (?P<xid>\d+)",
        "NVRM: Xid (PCI:0000:01:00): 79, pid=1234, GPU has fallen off the bus.",
    ),
    sig(
        "gpu-rejected-by-driver",
        "rminitadapter failed|failed to copy vbios",
        r"RmInitAdapter failed|Failed to copy vbios to system memory",
        "NVRM: GPU 0000:01:00.0: RmInitAdapter failed! (0x24:0xffff:1211)",
    ),
    sig(
        "open-modules-required",
        "requires use of the nvidia open kernel modules",
        r"requires use of the NVIDIA open kernel modules",
        "NVRM: installed in this system requires use of the NVIDIA open kernel modules.",
    ),
    sig(
        "closed-modules-required",
        "because it does not include the required gpu|not supported by open nvidia.ko",
        r"nvidia\.ko because it does not include the required GPU|is not supported by open nvidia\.ko",
        "NVRM: nvidia.ko because it does not include the required GPU",
        origin="NVIDIA's open-gpu-kernel-modules, kernel-open/nvidia/nv.c",
    ),
    sig(  # a virtual GPU in a guest that has no licence
        "vgpu-unlicensed",
        "licens|licenc",
        r"\bvalid (?:grid|vGPU) licen[sc]e\b|\bLicen[sc]e Status\s{0,24}: ?Unlicen[sc]ed"
        r"|\b(?:vGPU|grid)\b[^\n.]{0,24}\bunlicen[sc]ed\b|\b(?:no|without(?: a)?|expired|invalid)(?: \w+)? "
        r"(?:grid|vGPU) licen[sc]e\b|\bFailed to acquire licen[sc]e\b[^\n]{0,60}(?:grid|vgpu|nvidia)",
        "the device has no valid GRID license",
        near="grid|vgpu|status|nvidia",
    ),
    sig(
        "works-as-root",
        "sudo|as root|non-root|not root",
        r"\bas root\b[^\n.]{0,60}\b(?:sees|finds|works|uses|detects|fine|ok"
        r"|(?:is|are|was|were) (?:found|seen|detected|listed|used|there))\b[^\n]{0,20}(?:GPU|CUDA|nvidia)?"
        r"|(?:works?|fine|ok|succeeds?|no (?:error|problem)|able)\b[^\n.]{0,50}\b(?:with sudo|as root"
        r"|under sudo|using sudo)|(?:without sudo|non-root|not root)\b[^\n.]{0,80}(?:error|fail|cuda_error)"
        r"|(?:with|using) sudo\b[^\n.]{0,30}\b(?:works?|does)\b(?! not|n't)",
        "It works fine when I run it as root, but not as my user",
    ),
    sig(
        "device-node-permission",
        "/dev/nvidia|insufficient permissions",
        r"/dev/nvidia[\w-]*\W{1,4}[^\n]{0,30}Permission denied"
        r"|Permission denied[^\n]{0,30}/dev/nvidia|Failed to initialize NVML: Insufficient Permissions",
        "Failed to initialize NVML: Insufficient Permissions",
    ),
    sig(
        "nouveau",
        "nouveau",
        r"nouveau[^\n]{0,40}(?:in use|is running|loaded|driver is currently)"
        r"|Kernel driver in use: nouveau|^\W*nouveau\s+\d{4,}|driver[:=] ?nouveau",
        "ERROR: The Nouveau kernel driver is currently in use by your system.",
    ),
    sig(
        "kernel-module-missing",
        "module nvidia not found|modprobe: error: could not insert 'nvidia|key was rejected by service|"
        "required key not available|bad return status for module build|nvidia kernel module is missing|"
        "mokutil --import|nvidia-modprobe|module nvidia|could not insert 'nvidia",
        r"Module nvidia\w* not found|could not insert 'nvidia\w*'|Key was rejected by service|Required key"
        r" not available"
        r"|Bad return status for module build on kernel|nvidia kernel module is missing",
        "modprobe: FATAL: Module nvidia not found in directory /lib/modules/5.15.0-91-generic",
    ),
    sig(
        "cuda-compat-path",
        "/compat|cuda-compat",
        r"/usr/local/cuda(?:-[\d.]+)?/compat\b|cuda-compat-\d+",
        "LD_LIBRARY_PATH=/usr/local/cuda/compat:/usr/local/cuda/lib64",
    ),
    sig(
        "docker-no-gpu",
        "could not select device driver|unknown runtime specified nvidia|"
        "unknown or invalid runtime name: nvidia|the nvidia driver was not detected|unknown flag: --gpus|"
        "could not find any nv files|could not find any nvidia libraries|could not find any nv libraries|"
        "insufficient nvidia.com/gpu|nvidia-container-runtime|nvidia-docker: |nvidia-container-cli|"
        "failed to inject cdi|unresolvable cdi devices",
        r"(?P<toolkit>could not select device driver [\"'\\]*\w*[\"'\\]* with capabilities"
        r"|Unknown runtime specified nvidia|unknown or invalid runtime name: nvidia"
        r"|nvidia-container-runtime(?:-hook)?[^\n]{0,60}(?:not found|no such file)|nvidia-docker: "
        r"(?:command )?not found|nvidia-container-cli[^\n]{0,30}: (?:no such file|not found))"
        r"|The NVIDIA Driver was not detected|unknown flag: --gpus|could not find any nv files"
        r"|could not find any (?:NVIDIA|nv) libraries|Insufficient nvidia\.com/gpu"
        r"|nvidia-container-cli: initialization error: load library failed|unresolvable CDI devices",
        'docker: Error response from daemon: could not select device driver "" with capabilities: [[gpu]].',
    ),
    sig(
        "wsl-no-adapter",
        "wsl environment detected but no adapters were found|/usr/lib/wsl/lib",
        r"WSL environment detected but no adapters were found"
        r"|/usr/lib/wsl/lib[^\n]{0,60}(?:No such file|not found|missing)",
        "nvidia-container-cli: initialization error: WSL environment detected but no adapters were found",
    ),
)
