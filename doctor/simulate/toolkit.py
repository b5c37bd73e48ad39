"""Writes a stand-in for the CUDA toolkit that XLA calls: ptxas and nvlink that compile nothing, and a
libdevice without functions.

Without a toolkit, a function that XLA compiles would fail on a machine without CUDA, as it would on a real
GPU without the toolkit. `empty_module.bc` is a module that contains only its target triple,
nvptx64-nvidia-gpulibs. LLVM 14's llvm-as assembled it.
"""

from __future__ import annotations

from pathlib import Path

from doctor import resources
from doctor.tables import Tables, dotted

# The answer to --version contains the version in the form that XLA looks for (asm_compiler.cc: "V12.5.82").
_TOOL = """\
#!/bin/sh
# Simulated by tfgpu-doctor: compiles nothing.
case " $* " in
*" --version "*) echo "{name}: simulated by tfgpu-doctor; release {release}, V{release}.0"; exit 0 ;;
esac
while [ $# -gt 0 ]; do
    case "$1" in
    {unknown})
        echo "{name} fatal   : Value '${{1#-arch=}}' is not defined for option 'gpu-name'" >&2
        exit 255 ;;
    -o) output="$2"; shift ;;
    --output-file=*) output="${{1#--output-file=}}" ;;
    esac
    shift
done
[ -z "$output" ] || printf 'simulated by tfgpu-doctor' > "$output"
"""


def write_toolkit(folder: Path, cuda: str) -> None:
    """Write the stand-in of a CUDA release ("12.5.1") into a folder, laid out like NVIDIA's /usr/local/cuda.

    Like NVIDIA's ptxas, this ptxas refuses GPUs that are newer than its release, with the error message of
    ptxas 12.5.82.
    """
    release = ".".join(cuda.split(".")[:2])
    known = Tables.bundled().architectures()
    later = [row for row in known if row.first_cuda is not None and dotted(row.first_cuda) > dotted(release)]
    targets = [capability.replace(".", "") for row in later for capability in row.capabilities]
    unknown = (
        "|".join(f"-arch=sm_{target}{suffix}" for target in targets for suffix in ("", "a", "f")) or "-arch="
    )
    (folder / "bin").mkdir(parents=True)
    for name in ("ptxas", "nvlink"):
        tool = folder / "bin" / name
        tool.write_text(_TOOL.format(name=name, release=release, unknown=unknown))
        tool.chmod(0o755)
    libdevice = folder / "nvvm" / "libdevice" / "libdevice.10.bc"
    libdevice.parent.mkdir(parents=True)
    libdevice.write_bytes(resources.read("doctor.simulate", "empty_module.bc"))
