"""Signatures about the devices on which ops run, the configuration of GPUs, and the use of several GPUs."""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.facts import Fact, Source, Symptom
from doctor.logs.signatures.signature import Signature, sig, spoken


def specification(match: re.Match[str], source: Source) -> Fact:
    """Create the Symptom that an op cannot run on the requested device: no-gpu-kernel if the GPU exists but
    the op has no kernel for it, otherwise device-unknown."""
    wanted = match["wanted"].lower()
    device = wanted.rsplit("device:", 1)[-1]
    available = match["available"].lower()
    detail = (("wanted", match["wanted"]), ("available", match["available"]), ("types", match["types"]))
    there = f"device:{device}" in available and "gpu" in device
    return Symptom(
        source, "no-gpu-kernel" if there and "gpu" not in match["types"].lower() else "device-unknown", detail
    )


def incompatible(match: re.Match[str], source: Source) -> Fact:
    """Create the Symptom that ops must run on the same GPU but cannot: no-gpu-kernel if a GPU is listed (then
    one of the ops has no kernel for it), otherwise device-unknown."""
    available = match["available"]
    there = available is None or re.search(r"(?<!XLA_)GPU:\d", available, re.IGNORECASE)
    detail = (("wanted", match["wanted"] or ""), ("available", available or ""))
    return Symptom(source, "no-gpu-kernel" if there else "device-unknown", detail)


def expected(match: re.Match[str], source: Source) -> Iterator[Fact]:
    """Create the symptoms from a message that lists the devices that Keras expects and the devices that it
    finds. If Keras finds no GPU at all, the cause is the missing GPU, not the number of GPUs."""
    available = match["available"].lower()
    there = "/gpu:" in available or "device:gpu" in available
    if not there:
        yield Symptom(source, "xla-gpu-listed" if "xla_gpu" in available else "cpu-only-listed")
    if there or "xla_gpu" not in available:
        names = ("wanted", "expected", "available")
        yield Symptom(source, "device-unknown", tuple((name, match[name].strip()) for name in names))


SIGNATURES: tuple[Signature, ...] = (
    sig(
        "gpu-not-found",
        "multi_gpu_model",
        r"\b(?:cannot|can't|can not|couldn't|could not|does(?: not|n't)|unable to|fails? to)"
        r"(?: \w+)? (?:find|see|detect|recogni[sz]e|use)(?: \w+){0,3} GPU'?s?\b[^\n]{0,40}multi_gpu_model"
        r"|multi_gpu_model\b[^\n.]{0,40}\b(?:cannot|can't|can not|couldn't|could not"
        r"|does(?: not|n't)|unable to|fails? to)(?: \w+)? (?:find|see|detect|recogni[sz]e)\b[^\n.]{0,24}GPU",
        "multi_gpu_model does not see the second GPU",
    ),
    sig(
        "no-gpu-kernel",
        "no supported kernel for gpu",
        r"(?:Cannot assign a device (?:for operation|to node) '?(?P<node>[^':\n]{1,120})'?:?[^\n]{0,200})?no"
        r" supported kernel for GPU\b(?: devices is available)?",
        "Cannot assign a device to node 'a_gpu': Could not satisfy explicit device specification"
        " '/device:GPU:0' because no supported kernel for GPU devices is available.",
        origin="tensorflow/core/common_runtime/simple_placer.cc, placer.cc",
    ),
    sig(  # tensors of this type, such as a data set, cannot be copied to or from a GPU
        "no-gpu-kernel",
        "no unary variant device copy function",
        r"No unary variant device copy function found for direction: \d",
        "Internal: No unary variant device copy function found for direction: 1 and Variant type_index:"
        " tensorflow::data::(anonymous namespace)::DatasetVariantWrapper",
        origin="tensorflow/core/framework/variant_op_registry.cc",
    ),
    sig(  # an op that has only a GPU kernel, such as TensorRT's, but is pinned to the CPU
        "no-cpu-kernel",
        "no supported kernel for cpu",
        r"no supported kernel for CPU devices is available",
        "Cannot assign a device for operation 'TRTEngineOp': Could not satisfy explicit device specification"
        " ''"
        " because no supported kernel for CPU devices is available.",
        origin="tensorflow/core/common_runtime/placer.cc",
    ),
    sig(  # an op that has only GPU kernels, in a process without a GPU
        "gpu-op-without-gpu",
        "no opkernel was registered to support op",
        r"No OpKernel was registered to support Op '(?P<op>\w{1,80})"
        r"'[^\n]{0,600}\n?\s{0,9}Registered devices: \[(?:CPU|XLA_CPU|XLA_GPU|, ?){1,6}\][^\n]{0,40}"
        r"(?:\n\s{0,9}Registered kernels:)?(?:\n\s*device='GPU'[^\n]{0,200}){1,12}(?!\n\s*device='CPU')",
        "No OpKernel was registered to support Op 'ActiveShift2DOp' with these attrs.  Registered devices:"
        " [CPU],"
        " Registered kernels:\n  device='GPU'; T in [DT_FLOAT]\n",
        lines=13,
        origin="tensorflow/core/framework/op_kernel.cc",
    ),
    sig(  # a tensor layout that only GPU kernels accept, on the CPU
        "gpu-layout-on-cpu",
        "only support",
        r"\b(?P<op>\w{2,60})(?: op)? (?:currently )?only supports? (?:the )?NHWC\b"
        r"|CPU implementation of (?P<op2>\w{2,60}) only supports? (?:the )?NHWC\b",
        "Executor failed to create kernel. Invalid argument: Default MaxPoolingOp only supports NHWC on "
        "device"
        " type CPU",
        origin="tensorflow/core/kernels: conv_ops.cc, maxpooling_op.cc, fused_batch_norm_op.cc",
    ),
    sig(
        "int32-node",
        "dt_int32",
        r"(?:\[\[|\{\{)[^\n]{0,300}(?:dtype|T|type)=DT_INT32[^\n]{0,300}device:GPU:\d",
        '[[Node: a_gpu = VariableV2[container="", dtype=DT_INT32, shape=[], shared_name="",'
        ' _device="/device:GPU:0"]()]]',
    ),
    sig(
        "no-gpu-kernel",
        "could not satisfy device specification",
        r"Could not satisfy device specification '(?P<wanted>[^'\n]{1,80})'\. enable_soft_placement=\d\."
        r" Supported device types \[(?P<types>[^\]\n]{0,80})\]\."
        r" All available devices \[(?P<available>[^\]\n]{0,1200})",
        "Could not satisfy device specification '/job:localhost/replica:0/task:0/device:GPU:0'."
        " enable_soft_placement=0. Supported device types [CPU]. All available devices"
        " [/job:localhost/replica:0/task:0/device:GPU:0, /job:localhost/replica:0/task:0/device:CPU:0].",
        specification,
    ),
    sig(
        "no-gpu-kernel",
        "colocated with a group of nodes that required incompatible device|required incompatible device",
        r"colocated with a group of nodes that required incompatible device"
        r"(?: '(?P<wanted>[^'\n]{1,80})'\. All available devices \[(?P<available>[^\]\n]{0,1200}))?",
        "Cannot colocate nodes because it was colocated with a group of nodes that required incompatible"
        " device '/device:GPU:0'",
        incompatible,
    ),
    sig(  # since 1.13, the device is in quotes
        "no-gpu-kernel",
        "opkernel for 'gpu|opkernel for gpu",
        r"No registered '(?P<node>\w+)' OpKernel for '?GPU'? devices",
        "NotFoundError: No registered 'Foo' OpKernel for 'GPU' devices compatible with node {{node Foo}}",
    ),
    sig(
        "no-gpu-kernel",
        "no opkernel was registered to support op",
        r"No OpKernel was registered to support Op '"
        r"(?P<node>\w+)'[^\n]{0,600}\n?\s{0,9}Registered devices: \[[^\]\n]{0,200}(?<!XLA_)\bGPU\b",
        "No OpKernel was registered to support Op 'Foo' with these attrs.  Registered devices: [CPU,GPU]",
        lines=3,
        origin="tensorflow/core/framework/op_kernel.cc",
    ),
    sig(
        "colocation-failed",
        "failed to place the graph without changing the devices of some resources",
        r"Failed to place the graph without changing the devices of some resources",
        "W tensorflow/core/common_runtime/colocation_graph.cc:1017] Failed to place the graph without"
        " changing the devices of some resources. Some of the operations (that had to be colocated with"
        " resource generating operations) are not supported on the resources' devices.",
        seen_in="1.14 and later",
        origin="tensorflow/core/common_runtime/colocation_graph.cc",
    ),
    # a row of the table after the message: an op, and the device types of this process for which it has a
    # kernel
    sig(
        "colocated-op",
        ": cpu|: gpu|: xla_",
        r"^[>\s]{0,8}(?P<op>[a-z]\w{2,60}): "
        r"(?P<devices>(?:XLA_)?[CG]PU(?:_JIT)?(?: (?:XLA_)?[CG]PU(?:_JIT)?){0,6}) {0,3}$",
        "HashTableV2: CPU",
        origin="tensorflow/core/common_runtime/colocation_graph.cc",
    ),
    sig(
        "device-unknown",
        "no devices matching that specification are registered|was explicitly assigned to|unknown device|"
        "unable to find any devices for spec|not a valid device",
        r"because no devices matching that specification are registered in this process"
        r"(?:; available devices: (?P<available>[^\n]{0,800}))?|was explicitly assigned to\s{1,30}"
        r"(?P<wanted>\S{1,80})\s{1,30}but available devices are\s{1,30}\[(?P<available2>[^\]]{0,1200})\]?"
        r"|Cannot assign a device (?:for operation|to node) '?[^'\n]{1,120}'?:? (?:Operation"
        r"|[Nn]ode \S{1,120}) was explicitly assigned to\s{1,4}(?P<wanted2>/\S{0,60}GPU:\d+)[\s.]{0,4}$"
        r"|(?P<spec>/\S{0,60}(?:GPU|gpu):\d+) unknown device"
        r"|Unable to find any devices for spec (?P<spec2>\S{1,80})",
        "Cannot assign a device for operation 'x': node x was explicitly assigned to /device:GPU:1 but"
        " available devices are [ /job:localhost/replica:0/task:0/device:CPU:0,"
        " /job:localhost/replica:0/task:0/device:GPU:0 ].",
        lines=4,
    ),
    sig(  # without a reason: releases before 0.8, and TensorFlow's guide to GPUs since then
        "device-unmet",
        "could not satisfy explicit device specification",
        r"Could not satisfy explicit device specification"
        r" '(?P<wanted>/[^'\s]{0,60}gpu:(?P<index>\d{1,3}))'[\s`\"]{0,4}(?:$|\[\[)",
        "Cannot assign a device to node 'b': Could not satisfy explicit device specification '/gpu:2'",
        seen_in="0.5-0.7",
        origin="tensorflow/core/common_runtime/simple_placer.cc",
    ),
    sig(  # cut off before the reason: the device does not exist, or the op has no kernel for it
        "device-unsatisfied",
        "could not satisfy explicit device specification",
        r"Could not satisfy explicit device specification[\s`'\"]{0,6}$",
        "InvalidArgumentError: Cannot assign a device to node 'a': Could not satisfy explicit device"
        " specification",
        origin="tensorflow/core/common_runtime/simple_placer.cc",
    ),
    sig(
        "device-unknown",
        "we expect the following devices to be available",
        r"To call `?multi_gpu_model`? with `?gpus=(?P<wanted>[^`\n]{1,40})`?, we expect the following devices"
        r" to be available: (?P<expected>[^\n]{0,200}?)"
        r"\. However this machine only has: (?P<available>[^\n.]{0,300})",
        "ValueError: To call `multi_gpu_model` with `gpus=2`, we expect the following devices to be"
        " available: ['/cpu:0', '/gpu:0', '/gpu:1']. However this machine only has: ['/cpu:0', '/gpu:0'].",
        expected,
        origin="keras/utils/multi_gpu_utils.py",
    ),
    sig(
        "invalid-ordinal",
        "invalid device ordinal value|listed an invalid|could not parse entry in 'visible_device_list'|"
        "some requested devices in `tf.distribute.strategy` are not visible|some requested devices in `tf",
        r"Invalid device ordinal value \((?P<index>\d+)\)|'visible_device_list' listed an invalid"
        r" (?:GPU|Device) id '?(?P<id>[\w-]+)"
        r"|Could not parse entry in 'visible_device_list': '(?P<entry>[^'\n]{1,40})'"
        r"|Some requested devices in `tf.distribute.Strategy` are not visible",
        "InvalidArgumentError: 'visible_device_list' listed an invalid GPU id '1' but visible device count"
        " is 1",
    ),
    sig(
        "config-too-late",
        "cannot be modified after being initialized|must be set at program startup|"
        "must be called before context|must be called before the runtime",
        r"(?P<what>Physical|Virtual|Visible|Logical) devices cannot be modified after being initialized"
        r"|must be set at program startup|must be called before (?:context|the runtime) (?:has been"
        r" )?initialized",
        "RuntimeError: Physical devices cannot be modified after being initialized",
        origin="tensorflow/python/eager/context.py",
    ),
    sig(
        "config-conflict",
        "memory growth cannot differ between gpu devices|"
        "cannot set memory growth on device when virtual devices configured|"
        "cannot set memory growth on non-gpu|being mapped to multiple devices|"
        "cannot configure virtual devices when memory growth|gpu_options.visible_device_list|"
        "invalid device name: |unrecognized device: |setting memory limit on cpu|tensorflow device (gpu:|"
        "different gpu configuration",
        r"Memory growth cannot differ between GPU devices"
        r"|Cannot set memory growth on device when virtual devices configured"
        r"|Cannot set memory growth on non-GPU|TensorFlow device \(GPU:\d+\) is being mapped to multiple"
        r"|different GPU configurations? \(ConfigProto"
        r"|Unrecognized device: (?P<device>[^\n]{1,60})|Setting memory limit on CPU",
        "ValueError: Memory growth cannot differ between GPU devices",
        origin="tensorflow/python/eager/context.py, tensorflow/core/common_runtime/gpu/gpu_id_manager.cc",
    ),
    sig(
        "config-wrong-object",
        "object has no attribute 'device_type'|physicaldevice' object|must be a str or physicaldevice|"
        "expected a physicaldevice|set_memory_growth() missing|fieldproperty' object|"
        "getset_descriptor' object",
        r"set_memory_growth\(\) missing \d|'[\w.]*(?:FieldProperty|getset_descriptor)' object has no"
        r" attribute '(?P<option>allow_growth|per_process_gpu_memory_fraction|visible_device_list)'"
        r"|'(?P<given>list|str|int|NoneType|LogicalDevice|tuple)' object has no attribute 'device_type'"
        r"|'PhysicalDevice' object has no attribute '(?P<attribute>\w+)'",
        "AttributeError: 'list' object has no attribute 'device_type'",
    ),
    sig(
        "gpu-index-error",
        "indexerror: list index out of range",
        r"(?:(?:gpus?|physical_devices|devices|physical_gpus)\[\s*\d+\s*\]"
        r"|(?:gpus|physical_devices|gpu_devices|physical_gpus)\[\s*[a-z][\w.]{0,24}"
        r"(?:\(\))?\s*\])[^\n]{0,80}\n(?:[^\n]{0,160}\n){0,3}?\s*IndexError: list index out of range",
        "    tf.config.experimental.set_memory_growth(gpus[0], True)\nIndexError: list index out of range",
        lines=5,
        near="gpu[|gpus[|devices[",
    ),
    sig(
        "nccl-error",
        "nccl warn|ncclsystemerror|ncclunhandledcudaerror|ncclinternalerror|ncclinvalidusage|"
        "ncclremoteerror|nccl: |nccl error|unhandled system error|unhandled cuda error|"
        "remote process exited or there was a network error| failed: |ncclcomminit|nccl operation|"
        "nccl is not supported|invalid usage, nccl|unable to load nccl|support op 'nccl|not registered 'nccl",
        r"NCCL WARN (?!Failed to open"
        r" libibverbs)(?P<message>[^\n]{1,160})|nccl(?:(?:System|UnhandledCuda|Internal|Remote)Error"
        r"|InvalidUsage)\b"
        r"|NCCL: (?:internal error|invalid usage)|NCCL error"
        r"|\bnccl[A-Z]\w{2,40}(?:\([^\n)]{0,80}\))? failed: "
        r"|unhandled (?:system|cuda) error|remote process exited or there was a network error"
        r"|No OpKernel was registered to support Op 'Nccl\w*'|Op type not"
        r" registered 'Nccl\w*'|NCCL is not supported|NCCL operation[^\n]{0,60}failed"
        r"|invalid usage, NCCL|Unable to load NCCL",
        "NCCL WARN Call to ibv_create_qp failed",
    ),
    sig(
        "nccl-used",
        "algorithm = nccl|ncclallreduce|allreduce|all-reduce|collective all_reduce|hierarchicalcopy|"
        "mirroredstrategy|nccl info|nccl warn|nccl version|via net/|via p2p/|via shm/",
        r"algorithm = nccl|NCCL (?:INFO|WARN)|NCCL version:? ?v?\d|\bvia (?:NET|P2P|SHM)/"
        r"|NcclAllReduce|(?<!algorithm=)\ball-?reduces?\b|MirroredStrategy|Collective all_reduce tensors",
        "INFO:tensorflow:batch_all_reduce: 4 all-reduces with algorithm = nccl, num_packs = 1",
    ),
    sig("horovod", "horovod", r"horovod", "mpirun -np 2 python train_horovod.py", once=True),
    sig(
        "nccl-debug-set",
        "nccl_debug",
        r"NCCL_DEBUG(?: |['\"\]]+)?= ?['\"]?(?:INFO|TRACE)",
        "mpirun -np 2 -x NCCL_DEBUG=INFO python train.py",
        once=True,
    ),
    sig(
        "multi-gpu-hang",
        "multi-gpu|multi gpu|multiple gpu|gpus|more than one gpu|multigpu",
        r"(?P<several>\b(?:multi[- ]?GPUs?|multiple GPUs?|more than one GPU|(?:dual"
        r"|two|both|all|three|four|eight|[2-8]) (?:x )?(?:[\w-]+ ){0,2}GPUs))\b[^\n.]{0,50}?\b(?:hangs?"
        r"|hanging|hung|freez(?:es|ed)|freezing\b(?! (?:the|all|some|of|my|layers?|weights)\b)"
        r"|froze|(?:gets?|is|are|got) stuck|never starts?(?:ed)?|not starting|deadlocks?)\b"
        r"|\b(?:hangs?|hanging|hung|freez(?:es|ed)|freezing\b(?! (?:the|all|some|of|my|layers?|weights)\b)"
        r"|froze|(?:gets?|is|are|got) stuck|never start(?:s|ed)|deadlocks?)\b[^\n.]{0,50}\b(?:with"
        r"|on|using|for|when|over|across|as soon as|once|if)\b[^\n.]{0,20}\b(?:multi[- ]?GPUs?"
        r"|multiple GPUs?|more than one GPU|(?:dual|two|both|three|four|eight|[2-8]) (?:[\w-]+ ){0,2}GPUs)\b",
        "multi-GPU training hangs at the first step",
        near="hang|hung|freez|froze|stuck|never start|not starting|deadlock",
    ),
    sig(
        "peer-access",
        "failed to enable peer access",
        r"failed to enable peer access",
        "failed to enable peer access from 0x1 to 0x2: CUDA_ERROR_PEER_ACCESS_UNSUPPORTED",
    ),
    sig(
        "cudnn-op-unsupported",
        "no opkernel was registered to support op 'cudnn",
        r"No OpKernel was registered to support Op '(?P<op>Cudnn\w+)'",
        "No OpKernel was registered to support Op 'CudnnRNN' used by {{node lstm/CudnnRNN}} with these attrs:"
        " [seed=0]",
    ),
    sig(  # a build with CUDA has kernels for these ops on every machine
        "built-without-cuda",
        "no opkernel was registered to support op 'cudnn",
        r"No OpKernel was registered to support Op 'Cudnn\w+'[^<]{0,600}Registered kernels:\s{0,6}<no"
        r" registered kernels>",
        "No OpKernel was registered to support Op 'CudnnRNN' with these attrs.  Registered devices: [CPU],"
        " Registered kernels:\n  <no registered kernels>",
        lines=8,
        origin=(
            "tensorflow/core/kernels/cudnn_rnn_ops.cc (GOOGLE_CUDA), tensorflow/core/framework/op_kernel.cc"
        ),
    ),
    sig(
        "op-on-cpu",
        "/device:cpu:0|/cpu:0",
        r"^[\w/]{1,80}: \(\w+\): ?/job:\w+/replica:\d+/task:\d+/(?:device:)?cpu:0",
        "add: (Add): /job:localhost/replica:0/task:0/cpu:0",
    ),
    spoken(
        "renumbered",
        "gpu|device",
        r"\b(?:GPUs|(?:GPU|device)s?(?:'s)?"
        r" ?(?:numbers?|ind(?:ex|ices)|ids?|numbering))\b[^\n.]{0,40}\b(?:always"
        r"|again)\b[^\n.]{0,20}\b(?:starts?|counts?|counted|begins?|numbered)\b"
        r" (?:from|at|with) (?:0|zero)\b"
        r"|\b(?:starts?|counts?|counted|begins?|numbered)\b (?:from|at|with)"
        r" (?:0|zero)\b[^\n.]{0,60}\b(?:which|whichever|what) GPUs?\b",
        "Are the GPU numbers always counted from 0 in a container?",
        near="from 0|from zero|at 0|at zero|with 0|with zero",
    ),
    sig(
        "renumbered",
        "gpu:0|gpu 0",
        r"\b(?:uses|used|takes|took|begins? with|starts? with"
        r"|runs? on|ran on)\b (?:only )?GPU[: ]0\b[^\n.]{0,50}\b(?:regardless|no matter (?:what|which)"
        r"|whatever|(?:doesn't|does not|didn't|did not) (?:care|heed|respect|listen))\b",
        "it uses GPU:0 and GPU:1, and does not care what I set",
        near="regardless|no matter|whatever|care|heed|respect|listen",
    ),
    spoken(
        "renumbered",
        "cuda_visible_devices",
        r"CUDA_VISIBLE_DEVICES[^\n]{0,60}(?:but|still|yet|always|only)[^\n]{0,80}(?:GPU:0|gpu:0|device"
        r" 0|gpu 0)",
        "I set CUDA_VISIBLE_DEVICES=1 but TensorFlow still uses GPU:0",
    ),
)
