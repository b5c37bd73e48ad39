"""The text of `simulate --about`: what is real about a simulated GPU, and what is not."""

TEXT = """\
A simulated GPU: what is real about it, and what is not

Real: TensorFlow. Its wheel is not changed. It loads "CUDA", queries the driver, registers GPU:0, allocates
with its own allocator, creates its cuBLAS and cuDNN handles, places operations, compiles with XLA, and prints
its own messages when something fails. So code that sets up a GPU (memory growth, memory limits, visible and
logical devices, strategies, placement) runs under the same conditions as with a real GPU, and a failure
prints the same messages.

Simulated: everything that TensorFlow takes for NVIDIA's software or hardware. libcuda, libnvidia-ml,
libcudart, libcublas, libcudnn and the others are libraries of this project. They are compiled on this machine
and contain nothing from NVIDIA. A preloaded library shows the files under /proc/driver/nvidia, /dev/nvidia*
and /sys/bus/pci/devices to the command only.

Kernels do not compute. Copies and fills are real, and cublasSgemm is computed on the CPU, so a small float32
matrix product is right. Every other result is zeros, or whatever the memory contained before. A simulation
shows nothing about numbers, accuracy, convergence or speed.

Assumptions (NVIDIA publishes few of these):
- A CUDA context needs 256 MiB of the GPU's memory, a cuDNN handle 64 MiB, a cuBLAS handle 32 MiB.
- cudnnCreate returns CUDNN_STATUS_NOT_INITIALIZED when memory is short; the real cuDNN may return another
  status.
- All the memory in a GPU's data sheet is usable; a real driver reserves a little.
- In the compute modes Prohibited and Exclusive Process, creating a context fails with error 46.
- The fastest GPU, which CUDA counts first, is the one with the largest product of multiprocessors and compute
  capability. Memory that is freed into an asynchronous pool is released at once.
- libnccl exchanges nothing: after an all-reduce each GPU still has its own values.
- An instance of a divided GPU (MIG) has the memory in its profile's name, an even share of the
  multiprocessors, and one compute instance. Naming the whole divided GPU has the same effect as naming its
  instances.
- ptxas and nvlink compile nothing. ptxas reports the CUDA release that pip installs with that TensorFlow, and
  refuses newer GPUs, as NVIDIA's ptxas does.
- After a kernel has failed, every call that involves the device returns the same error.

Not simulated: peer access, several compute instances in one MIG instance, profiling, cuDNN's recurrent layers
(they abort), TensorRT, and NVIDIA's own libraries, which request private functions that the simulated driver
does not have. For the same reason, the NCCL inside TensorFlow 2.12 to 2.18 does not run. With these releases
a strategy over several GPUs needs cross_device_ops=tf.distribute.HierarchicalCopyAllReduce(); `simulate` says
so when it starts one of them.

The simulation runs on Linux with glibc and needs a C compiler. It cannot be mistaken for a real GPU: the
libraries work only if TFGPU_DOCTOR_SIMULATION is set. `tfgpu-doctor simulate` sets it only for its command,
and `tfgpu-doctor check` reports that it is set.

Faults: `tfgpu-doctor simulate --list-faults`.
"""
