"""The text of `simulate --about`: what of a simulated GPU is real, and what is not."""

TEXT = """\
A simulated GPU: what is real about it, and what is not

Real: TensorFlow. Its wheel is not changed; it opens "CUDA", asks the driver, registers GPU:0, allocates with
its own allocator, creates its cuBLAS and cuDNN handles, places operations, compiles with XLA, and prints its
own messages when something fails. So the code that sets a GPU up (memory growth, memory limits, visible and
logical devices, strategies, placement) meets the same conditions as with a real GPU, and a failure reads the
same.

Simulated: everything that TensorFlow takes for NVIDIA's. libcuda, libnvidia-ml, libcudart, libcublas,
libcudnn and the others are libraries of this project, compiled on this machine, with nothing of NVIDIA's in
them. The files under /proc/driver/nvidia, /dev/nvidia* and /sys/bus/pci/devices are shown to the command
alone, by a preloaded library.

Kernels do not compute. Copies and fills are real, and cublasSgemm is computed on the CPU, so a small float32
matrix product is right; every other result is zeros, or whatever lay in that memory. A simulation shows
nothing about numbers, accuracy, convergence or speed.

Assumptions (NVIDIA publishes few of these):
- A CUDA context takes 256 MiB of the GPU's memory, a cuDNN handle 64, a cuBLAS handle 32.
- cudnnCreate gives CUDNN_STATUS_NOT_INITIALIZED when memory is short; a real one may give another status.
- A GPU has all the memory of its data sheet; a real driver keeps a little for itself.
- In the compute modes Prohibited and Exclusive Process, creating a context fails with error 46.
- The fastest GPU, which CUDA counts first, is the one with the largest product of multiprocessors and compute
  capability. Memory freed into an asynchronous pool is given back at once.
- libnccl exchanges nothing: after an all-reduce each GPU still has its own values.
- An instance of a divided GPU (MIG) has the memory that its profile names and an even share of the
  multiprocessors; it has one compute instance. A divided GPU that is named as a whole stands for its
  instances.
- ptxas and nvlink compile nothing; ptxas has the CUDA release that pip installs with that TensorFlow, and
  refuses newer GPUs, as NVIDIA's does.
- After a kernel has failed, every call that involves the device gives the same error.

Not simulated: peer access, several compute instances in one MIG instance, profiling, cuDNN's recurrent layers
(they abort), TensorRT, and NVIDIA's own libraries: they ask the driver for private functions that this one
does not have. For the same reason the NCCL that TensorFlow 2.12 to 2.18 has inside does not run: there a
strategy over several GPUs needs cross_device_ops=tf.distribute.HierarchicalCopyAllReduce(), as `simulate`
says when it starts such a TensorFlow.

It runs on Linux with glibc and needs a C compiler. It cannot be taken for a GPU by mistake: without
TFGPU_DOCTOR_SIMULATION, which `tfgpu-doctor simulate` sets for its command alone, none of the libraries
works, and `tfgpu-doctor check` says when that is set.

Faults: `tfgpu-doctor simulate --list-faults`.
"""
