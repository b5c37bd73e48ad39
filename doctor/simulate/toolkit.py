"""A stand-in for the CUDA toolkit that XLA calls: ptxas and nvlink that compile nothing, and a libdevice without functions.

Without one, a function that XLA compiles would fail on a machine without CUDA, as it would on a real GPU without the
toolkit. `empty_module.bc` is a module that holds nothing but its target triple, nvptx64-nvidia-gpulibs, assembled by
LLVM 14's llvm-as.
"""

from __future__ import annotations

from importlib import resources
from pathlib import Path

# the words that XLA looks for in the tools' answer to --version (asm_compiler.cc: "V12.5.82")
_TOOL = """\
#!/bin/sh
# Simulated by tfgpu-doctor: compiles nothing.
case " $* " in
*" --version "*) echo "{name}: simulated by tfgpu-doctor; release {release}, V{release}.0"; exit 0 ;;
esac
while [ $# -gt 0 ]; do
    case "$1" in
    -o) output="$2"; shift ;;
    --output-file=*) output="${{1#--output-file=}}" ;;
    esac
    shift
done
[ -z "$output" ] || printf 'simulated by tfgpu-doctor' > "$output"
"""


def write_toolkit(folder: Path, cuda: str) -> None:
    """Lay the stand-in of a CUDA release ("12.5.1") under a folder, as NVIDIA's lies under /usr/local/cuda."""
    release = ".".join(cuda.split(".")[:2])
    (folder / "bin").mkdir(parents=True)
    for name in ("ptxas", "nvlink"):
        tool = folder / "bin" / name
        tool.write_text(_TOOL.format(name=name, release=release))
        tool.chmod(0o755)
    libdevice = folder / "nvvm" / "libdevice" / "libdevice.10.bc"
    libdevice.parent.mkdir(parents=True)
    libdevice.write_bytes(resources.files("doctor.simulate").joinpath("empty_module.bc").read_bytes())
