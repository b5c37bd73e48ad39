"""Signatures of messages about the GPUs that TensorFlow found, registered or listed."""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.facts import Fact, Gpu, GpuMemory, GpuRegistered, OtherGpu, Source, Symptom
from doctor.logs.signatures.signature import Signature, sig

NAME = r"(?P<name>[A-Za-z][\w.()/+-]{0,40}(?: [\w.()/+-]{1,40}){0,7})"
"""A pattern for a device name: words separated by single spaces. Any number of spaces may follow the name."""

_UNITS = {"gib": 1024, "gb": 1024, "g": 1024, "mib": 1, "mb": 1, "m": 1, "kib": 1 / 1024, "b": 1 / 1048576}
"""How many MiB each unit is."""

AMD = r"\b(?:AMD|Radeon|Vega ?\d|gfx\d|Instinct|MI\d{2,3})\b"
"""A pattern for the names of AMD's GPUs."""


def mib(text: str) -> int | None:
    """Convert a string such as "7.92GiB", "190.31MiB" or "6 GB" to a memory size in MiB. Return None for any
    other string."""
    match = re.match(r"\s*(\d+(?:\.\d+)?)\s*(gib|mib|gb|mb|kib|g|m|b)\b", text, re.I)
    return round(float(match[1]) * _UNITS[match[2].lower()]) if match else None


def _index(match: re.Match[str]) -> int | None:
    found = match.groupdict().get("index")
    return int(found) if found and len(found) < 4 else None


def registered(match: re.Match[str], source: Source) -> Iterator[Fact]:
    """Create the GpuRegistered fact for a device that TensorFlow created, and a Gpu or OtherGpu fact for its
    GPU."""
    group = match.groupdict()
    name = (group.get("name") or "").strip() or None
    memory = int(group["memory"]) if group.get("memory") else None
    yield GpuRegistered(source, _index(match), memory, name)
    if name and re.search(AMD, name, re.IGNORECASE):  # TensorFlow's ROCm build prints the same words
        yield OtherGpu(source, name, "amd")
    elif name:
        physical = group.get("physical")
        yield Gpu(
            source,
            name,
            group.get("cc"),
            index=int(physical) if physical else _index(match),
            bus_id=group.get("bus"),
        )


def found_device(match: re.Match[str], source: Source) -> Iterator[Fact]:
    """Create the Gpu and GpuMemory facts from the description of a GPU that TensorFlow prints before it
    decides whether to use that GPU."""
    group = match.groupdict()
    cc = group.get("cc") or (f"{group['major']}.{group['minor']}" if group.get("major") else None)
    total = mib(group.get("total") or "")
    free = mib(group.get("free") or "")
    name = (group.get("name") or "").strip() or None
    yield Gpu(source, name, cc, total, index=_index(match), bus_id=group.get("bus"))
    if total and not free:  # free memory has its own signature, whose line is the evidence
        yield GpuMemory(source, _index(match) or 0, total)


def gpu_fact(match: re.Match[str], source: Source) -> Fact:
    """Create the Gpu fact with all details that the message contains."""
    group = match.groupdict()
    return Gpu(source, (group.get("name") or "").strip() or None, group.get("cc"), index=_index(match))


def listed(match: re.Match[str], source: Source) -> Fact:
    """Create the GpuRegistered fact for a physical GPU that a program lists."""
    return GpuRegistered(source, _index(match))


def plugged(match: re.Match[str], source: Source) -> Iterator[Fact]:
    """Create the Symptom for an accelerator from a maker other than NVIDIA that TensorFlow uses through a
    plugin, and the OtherGpu fact for Apple's plugin (Metal)."""
    yield Symptom(source, "plugin-device", tuple((k, v.strip()) for k, v in match.groupdict().items() if v))
    if match["metal"]:
        name = match["metal"].strip()
        yield OtherGpu(
            source, name, "apple" if name.startswith("Apple") else "amd" if "AMD" in name else "intel"
        )


def counted(match: re.Match[str], source: Source) -> Fact:
    """Create the fact for a number of GPUs that a program printed: GpuRegistered, or the Symptom
    gpu-list-empty for 0."""
    number = int(match["count"] or match["count2"])
    return GpuRegistered(source, count=min(number, 1024)) if number else Symptom(source, "gpu-list-empty")


SIGNATURES: tuple[Signature, ...] = (
    sig(  # `taken`: the GPUs for which TensorFlow creates devices; it prints them after loading its libraries
        "gpu-shown",
        "with properties:|adding visible gpu device",
        r"Found device \d{1,3} with properties:|Adding visible gpu devices?: (?P<taken>\d[\d, ]{0,80})",
        "gpu_device.cc:1746] Adding visible gpu devices: 0",
        origin="tensorflow/core/common_runtime/gpu/gpu_device.cc",
    ),
    sig(
        "xla-serves-no-device",
        "no supported devices found for platform cuda",
        r"no supported devices found for platform CUDA",
        "Attempting to fetch value instead of handling error Internal: no supported devices found for"
        " platform CUDA",
        origin="tensorflow/compiler/xla/service/platform_util.cc",
    ),
    sig(
        "found-device",
        "with properties:",
        r"Found device (?P<index>\d+) with properties:[ \t]*\n.{0,60}?name: "
        rf"{NAME}\s+major: (?P<major>\d+) minor: (?P<minor>\d+)"
        r"[^\n]*(?:\n[^\n]{0,20}pciBusID:? (?P<bus>[0-9a-fA-F:.]+))?(?:\n[^\n]{0,20}totalMemory:"
        r" (?P<total>[\d.]+[a-zA-Z]*)"
        r"\s+freeMemory: (?P<free>[\d.]+[a-zA-Z]*))?",
        "gpu_device.cc:1105] Found device 0 with properties: \nname: GeForce GTX 1070 major: 6 minor: 1"
        " memoryClockRate(GHz): 1.695\npciBusID: 0000:01:00.0\ntotalMemory: 7.92GiB freeMemory: 6.59GiB",
        found_device,
        lines=4,
        at="name",
        seen_in=">=1.4,<2.2",
    ),
    sig(
        "found-device",
        "with properties:",
        r"Found device (?P<index>\d+) with properties:[ \t]*\n[^\n]{0,20}name: "
        rf"{NAME}\s*\n[^\n]{{0,20}}major: (?P<major>\d+) minor: "
        r"(?P<minor>\d+)[^\n]*(?:\n[^\n]{0,20}pciBusID:? (?P<bus>[0-9a-fA-F:.]+))?(?:\n[^\n]{0,20}Total"
        r" memory: (?P<total>[\d.]+[a-zA-Z]*))?"
        r"(?:\n[^\n]{0,20}Free memory: (?P<free>[\d.]+[a-zA-Z]*))?",
        "gpu_device.cc:885] Found device 0 with properties: \nname: GeForce GTX 1080\nmajor: 6 minor: 1"
        " memoryClockRate (GHz) 1.7335\npciBusID 0000:01:00.0\nTotal memory: 7.92GiB\nFree memory: 190.31MiB",
        found_device,
        lines=6,
        at="name",
        seen_in="<1.4",
    ),
    sig(
        "found-device",
        "computecapability:",
        r"pciBusID: (?P<bus>[0-9a-fA-F:.]+) name: " + NAME + r" computeCapability: (?P<cc>\d+\.\d+)"
        r"(?:\s*\n[^\n]*deviceMemorySize: (?P<total>[\d.]+[a-zA-Z]*))?",
        "pciBusID: 0000:65:00.0 name: GeForce RTX 3090 computeCapability: 8.6\ncoreClock: 1.695GHz coreCount:"
        " 82 deviceMemorySize: 23.70GiB deviceMemoryBandwidth: 871.81GiB/s",
        found_device,
        lines=2,
        seen_in=">=2.2,<2.7",
    ),
    sig(
        "found-device",
        "major: |memoryclockrate",
        r"name: " + NAME + r" major: (?P<major>\d+) minor: (?P<minor>\d+) memoryClockRate\(GHz\): [\d.]+"
        r"(?:\s*\n[^\n]{0,20}pciBusID: (?P<bus>[0-9a-fA-F:.]+))?(?:\s*\n[^\n]{0,20}totalMemory:"
        r" (?P<total>[\d.]+[a-zA-Z]*)"
        r"\s+freeMemory: (?P<free>[\d.]+[a-zA-Z]*))?",
        "name: GeForce GTX 1060 6GB major: 6 minor: 1 memoryClockRate(GHz): 1.7845",
        found_device,
        lines=3,
    ),
    sig(
        "found-device",
        "memoryclockrate (ghz)",
        rf"name: {NAME}\s*\n[^\n]{{0,20}}major: (?P<major>\d+) minor: (?P<minor>\d+)"
        r" memoryClockRate \(GHz\)",
        "name: GeForce GTX 750 Ti\nmajor: 5 minor: 0 memoryClockRate (GHz) 1.15",
        found_device,
        lines=2,
    ),
    sig(
        "free-memory",
        "free memory:",
        r"Total memory: (?P<total>[\d.]+[a-zA-Z]*)(?:\s*\n[^\n]{0,20}| )"
        r"Free memory: (?P<free>[\d.]+[a-zA-Z]*)",
        "Total memory: 7.91GiB\nFree memory: 148.69MiB",
        lambda m, s: GpuMemory(s, 0, mib(m["total"]), None, mib(m["free"])),
        lines=2,
        at="free",
    ),
    sig(
        "free-memory",
        "freememory:",
        r"totalMemory: (?P<total>[\d.]+[a-zA-Z]*)\s+freeMemory: (?P<free>[\d.]+[a-zA-Z]*)",
        "totalMemory: 10.73GiB freeMemory: 64.56MiB",
        lambda m, s: GpuMemory(s, 0, mib(m["total"]), None, mib(m["free"])),
    ),
    sig(
        "device-created",
        "created tensorflow device|creating tensorflow device|created device /|creating device |"
        "created device (|created device gpu:|created device device:|created device ",
        r"Creat(?:ed|ing) (?:TensorFlow )?device \(?[/\w:]*?"
        r"(?:device:)?GPU:(?P<index>\d+)(?: with (?P<memory>\d+) MB memory)?[^\n]{0,40}?-> "
        r"(?:physical GPU )?\(?device: (?P<physical>\d+), name: (?P<name>[^\n,]{1,70}?),"
        r"(?:\s+pci bus id: (?P<bus>[0-9a-fA-F:.]+)(?:,\s+compute capability:\s+(?P<cc>\d+\.\d+))?)?",
        "gpu_device.cc:1304] Created TensorFlow device (/job:localhost/replica:0/task:0/device:GPU:0 with"
        " 6310 MB memory) -> physical GPU (device: 0, name: GeForce RTX 2060 SUPER, pci bus id: 0000:01:00.0,"
        " compute capability: 7.5)",
        registered,
        origin="tensorflow/core/common_runtime/gpu/gpu_device.cc",
    ),
    sig(  # a line that was cut off before the name of the card
        "device-created",
        " mb memory",
        r"Created (?:TensorFlow )?device \(?[/\w:]*?(?:device:)?GPU:(?P<index>\d+) with (?P<memory>\d+) MB"
        r" memory[):. -]{0,4}$",
        "Created device /job:localhost/replica:0/task:0/device:GPU:0 with 6000 MB memory",
        registered,
    ),
    sig(
        "device-listed",
        "/physical_device:gpu:",
        r"PhysicalDevice\(name='/physical_device:GPU:(?P<index>\d+)'",
        "[PhysicalDevice(name='/physical_device:GPU:0', device_type='GPU')]",
        listed,
    ),
    sig(
        "device-listed",
        'device_type: "gpu"',
        r'name: "(?:/job:localhost/replica:0/task:0)?/(?:device:)?gpu:(?P<index>\d+)"\s*\n\s*device_type:'
        r' "GPU"',
        'name: "/device:GPU:0"\ndevice_type: "GPU"',
        listed,
        lines=2,
    ),
    sig(  # from programs that print the result of tf.test.gpu_device_name(), in the words of tutorials
        "device-listed",
        "default gpu device: |found gpu at: ",
        r"(?:Default GPU Device|Found GPU at): '?/(?:device:)?gpu:(?P<index>\d+)",
        "Default GPU Device: /device:GPU:0",
        listed,
    ),
    sig(
        "device-listed",
        'name: "/device:gpu:',
        r'name: "/device:GPU:(?P<index>\d+)"',
        'name: "/device:GPU:0"',
        listed,
    ),
    sig(
        "device-description",
        "physical_device_desc",
        r'physical_device_desc: "device: (?P<index>\d+), name: (?P<name>[^,"\n]{1,70}), pci bus id:'
        r" [0-9a-fA-F:.]+(?:, compute capability: (?P<cc>[\d.]+\d))?",
        'physical_device_desc: "device: 0, name: Tesla K80, pci bus id: 0000:00:04.0, compute capability:'
        ' 3.7"',
        gpu_fact,
    ),
    sig(
        "gpu-description",
        "streamexecutor device (",
        r"StreamExecutor device \((?P<index>\d+)\): (?P<name>(?!Host|<undef)[^,\n]{2,70}), Compute Capability"
        r" (?P<cc>\d+\.\d+)",
        "StreamExecutor device (0): NVIDIA GeForce RTX 5060 Ti, Compute Capability 12.0",
        gpu_fact,
    ),
    sig(
        "devices-of-strategy",
        "mirroredstrategy with devices (",
        r"Using MirroredStrategy with devices \((?=[^)\n]{0,1400}device:GPU:\d)(?P<devices>[^)\n]{0,4000})\)",
        "INFO:tensorflow:Using MirroredStrategy with devices ('/job:localhost/replica:0/task:0/device:GPU:0',"
        " '/job:localhost/replica:0/task:0/device:GPU:1')",
        lambda m, s: GpuRegistered(s, count=min(m["devices"].count("device:GPU:"), 1024)),
        origin="tensorflow/python/distribute/mirrored_strategy.py",
    ),
    sig(
        "gpu-count",
        "num gpus available|gpus available:|physical gpus,|number of gpus|gpus available|physical gpu,",
        r"(?:Num GPUs Available|GPUs Available|number of GPUs)\s*:?\s*(?P<count>\d{1,4})\b"
        r"|(?<!\d)(?P<count2>\d{1,3}) Physical GPUs?,",
        "Num GPUs Available:  1",
        counted,
    ),
    sig(
        "gpu-list-empty",
        "list_physical_devices|is_gpu_available|gpu available|gpu_device_name|list_local_devices|"
        "is_gpu_available()|empty list",
        # the log lines of the call may come before its result
        r"list_physical_devices\(\s*['\"]GPU['\"]\s*\)[^\n]{0,40}\n{1,2}"
        r"(?:(?:[\d-]{10} [\d:.]{8,15}: )?[IWE](?:\d{4} [\d:.]{8,15} +\d+)? [^\n]{0,600}\n{1,2}"
        r"|To enable the following instructions[^\n]{0,300}\n){0,12}(?:>>>)?\s*"
        r"(?:Out\[\d+\]:\s*)?[*_`]{0,3}\[\s*\]"
        r"|is_gpu_available\([^\n]{0,80}\)[^\n]{0,20}\n{1,3}[^\n]{0,12}\bFalse\b|GPU"
        r" available:?\**\s*(?:False|no\b|0\b|\[\])"
        r"|(?:returns?|gives?|prints?|get|outputs?|shows?)[^\n]{0,20}(?:an )?empty list"
        # not the False of cuda_only=False
        r"|is_gpu_available(?:\([^\n()]{0,80}\))?[^\n(]{0,60}(?:returns?|is|as|=|:|却是|为)\W{0,8}False",
        ">>> tf.config.list_physical_devices('GPU')\n[]",
        lines=16,
    ),
    sig(
        "gpu-not-found",
        "gpu device not found",
        r"(?<!['\"])GPU device not found",  # in quotes, it is the code that would raise the error
        "SystemError: GPU device not found",
    ),
    sig(  # the driver finds the GPU, and TensorFlow has not registered it
        "xla-gpu-listed",
        "registered devices: [",
        r"Registered devices: \[(?:(?:XLA_)?CPU, ){1,2}XLA_GPU(?:, XLA_CPU)?\]",
        "No OpKernel was registered to support Op 'CudnnRNN'. Registered devices: [CPU, XLA_CPU, XLA_GPU]",
        origin="tensorflow/core/framework/op_kernel.cc",
    ),
    sig(
        "xla-gpu-listed",
        "device:xla_gpu:|xla_gpu_jit",
        r"device:XLA_GPU:(?P<index>\d+)",
        "PhysicalDevice(name='/physical_device:XLA_GPU:0', device_type='XLA_GPU')",
    ),
    sig(
        "cpu-only-listed",
        "/physical_device:cpu:0",
        r"\[\s*PhysicalDevice\(name='/physical_device:CPU:0', device_type='CPU'\)"
        r"(?:,\s*PhysicalDevice\(name='/physical_device:XLA_CPU:0', device_type='XLA_CPU'\))?\s*\]",
        "[PhysicalDevice(name='/physical_device:CPU:0', device_type='CPU')]",
    ),
    sig(  # the output of a session's list_devices()
        "cpu-only-listed",
        "[_deviceattributes(",
        r"\[_DeviceAttributes\([^()\n]{0,80}/device:(?:XLA_)?CPU:\d+, (?:XLA_)?CPU, [\d, ]{1,60}\)(?:,"
        r" _DeviceAttributes\([^()\n]{0,80}/device:(?:XLA_)?CPU:\d+, (?:XLA_)?CPU, [\d, ]{1,60}\)){0,3}\]",
        "[_DeviceAttributes(/job:localhost/replica:0/task:0/device:CPU:0, CPU, 268435456)]",
    ),
    sig(
        "plugin-device",
        "physical pluggabledevice|metal device set to|directml device enumeration|"
        "directml: creating device|plugin optimizer for device_type gpu",
        r"physical PluggableDevice \(device: \d+, name: (?P<name>[\w ]{1,30})|Metal device set to:"
        r" (?P<metal>[^\n]{1,40})"
        r"|DirectML device enumeration: found (?P<directml>[1-9]\d*) compatible adapters?"
        r"|DirectML: creating device on adapter \d+"
        r" \((?P<adapter>[^()\n]{1,60}(?:\([^()\n]{1,8}\)[^()\n]{0,40})?)\)"
        r"|Plugin optimizer for device_type GPU is enabled",
        "Created TensorFlow device (/device:XPU:0 with 0 MB memory) -> physical PluggableDevice (device: 0,"
        " name: XPU, pci bus id: <undefined>)",
        plugged,
    ),
)
