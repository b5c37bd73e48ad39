"""What is written in the trackers of programs built on TensorFlow, where few know what it does underneath."""

from __future__ import annotations

from tests.rules.situation import Fires, NearMiss

FIRES = (
    Fires(
        "memory-leak",
        "a search that needs more and more RAM",
        "Each trial of the search uses more and more RAM, and after a night the machine has to be switched off.\n",
        "more and more RAM",
        verify="free -m",
    ),
    Fires(
        "memory-leak",
        "RAM that is not given back",
        "The RAM of one model is not given back before the next one starts.\n",
        "given back",
    ),
    Fires(
        "memory-leak",
        "so much more for every epoch",
        "It consumes about 300 MB more every epoch on my laptop with Keras.\n",
        "every epoch",
    ),
    Fires(
        "memory-leak",
        "a title on RAM",
        "# RAM usage increases during the search\n\nThe tuner of Keras has run for an hour.\n",
        "RAM usage",
    ),
    Fires(
        "host-oom",
        "a title that names the script",
        "# convert_model.py killed\n\nIt loads a model of 2 GB on my board.\n",
        "killed",
    ),
    Fires(
        "host-oom",
        "a process that is getting killed",
        "While the second epoch runs, the process is getting killed. No message at all.\n",
        "getting killed",
    ),
    Fires(
        "tf-windows-native",
        "the highest release for Windows",
        "On Windows the tensorflow for the GPU must not be newer than 2.10, it took me a day to learn that.\n",
        "newer than 2.10",
    ),
    Fires(
        "tf-conflicting-packages",
        "a dependency beside the package for the GPU",
        "The setup of the plugin downloads tensorflow when tensorflow-gpu is there already, and then it runs on the CPU.\n",
        "downloads tensorflow",
    ),
    Fires(
        "cudnn-version-mismatch",
        "a mismatch that somebody names",
        "The wrapper loads on the GPU, and then there is a cuDNN mismatch in its log.\n",
        "cuDNN mismatch",
    ),
    Fires(
        "container-no-gpu",
        "docker run, and the driver's library in the reporter's words",
        'docker run -it tensorflow/tensorflow:0.12.0-gpu bash\nthe demo ends with something like "can\'t open CUDA library libcuda.so" and so on\n',
        "libcuda.so",
    ),
)

NEAR_MISSES = (
    NearMiss(
        "model-oom",
        "what it has nothing to do with",
        "undetermined",
        "Training on the GPU stops after a minute without a word. It has nothing to do with OOM, the batch is tiny.\n",
    ),
    NearMiss(
        "model-oom",
        "what it is not",
        "undetermined",
        "The training on the GPU stops, and it is not an OOM: half of the memory is free.\n",
    ),
    NearMiss(
        "memory-leak",
        "a need that does not grow",
        "undetermined",
        "The model takes 300 MB of the GPU for each process that I start.\n",
    ),
    NearMiss(
        "host-oom",
        "a script that its author ended",
        "undetermined",
        "The GPU was idle, so I had train_all.py killed by me after an hour.\n",
    ),
)
