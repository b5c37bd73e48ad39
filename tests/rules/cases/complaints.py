"""Complaints about what does not work or does not match, in languages other than English."""

from __future__ import annotations

from tests.rules.situation import Fires, NearMiss

_COMPLAINTS = (
    ("Chinese", "我的程序没有使用显卡"),
    ("Chinese, the card first", "显卡一直没有被调用,很慢"),
    ("Chinese, the processor", "模型总是用CPU"),
    ("French", "Mon modèle n'utilise jamais la carte graphique"),
    ("French, the processor", "L'apprentissage tourne toujours sur le CPU"),
    ("Spanish", "Keras no encuentra la tarjeta gráfica"),
    ("Spanish, the processor", "El modelo entrena siempre en la CPU"),
    ("Portuguese", "o Keras não enxerga a placa de vídeo"),
    ("German", "die GPU wird beim Lernen nicht verwendet"),
    ("German, the processor", "mein Netz rechnet nur auf der CPU"),
    ("Russian", "Керас совсем не задействует видеокарту"),
    ("Russian, the processor", "сеть упорно считает на процессоре"),
    ("Japanese", "グラボが認識されていません"),
    ("Japanese, the processor", "CPUだけで計算しています"),
    ("Korean", "그래픽카드를 인식하지 못합니다"),
    ("Korean, the processor", "CPU만 계속 사용합니다"),
    ("English", "my GPU stays idle"),
)

FIRES = (
    *(
        Fires(
            "cuda-version-mismatch",
            f"a GPU that is not used, in words: {language}",
            f"{sentence}\nUbuntu 18.04, tensorflow-gpu 1.13.1, CUDA 10.1\n",
            "CUDA 10.1",
        )
        for language, sentence in _COMPLAINTS
    ),
    Fires(
        "gpu-arch-too-old",
        "the capability in Chinese",
        "tensorflow 1.12 要求算力最低3.5,可是我这块卡的算力是3.0\n",
        "算力",
    ),
    Fires(
        "gpu-arch-too-old",
        "the capability in Korean",
        "이 그래픽카드는 연산 능력이 2.1인데 텐서플로우는 최소 3.5가 필요합니다\n",
        "연산",
    ),
    Fires(
        "gpu-arch-too-old",
        "the capability in Spanish",
        "Mi tarjeta tiene capacidad de cómputo 2.1 y TensorFlow exige 3.5\n",
        "capacidad",
    ),
    Fires(
        "gpu-arch-too-new",
        "a series in Chinese",
        "tensorflow-gpu 1.14 和 cuda10.0, 我这是30系的显卡, 怎么办\n",
        "30系",
    ),
    Fires(
        "gpu-arch-too-new",
        "a series in Korean",
        "40번대는 최소 CUDA 11이 필요해서 cuda11 을 설치했습니다\n",
        "40번대",
    ),
    Fires(
        "driver-not-loaded",
        "after an update of the kernel, German",
        "Nach jedem Kernel-Update ist der NVIDIA-Treiber kaputt\n",
        "Kernel-Update",
    ),
    Fires(
        "driver-not-loaded",
        "after an update of the kernel, Russian",
        "после обновления ядра драйвер nvidia слетел\n",
        "ядра",
    ),
    Fires(
        "cuda-version-mismatch", "two releases in Chinese", "CUDA 下成了10.2, tensorflow 需要10.1\n", "10.2"
    ),
    Fires("host-oom", "RAM in Spanish", "el proceso agota la memoria RAM\n", "RAM"),
    Fires(
        "gpu-absent",
        "the session's list of devices, and a card of another maker",
        "I have an AMD Radeon RX 570 in the PC.\nDevices:"
        " [_DeviceAttributes(/job:localhost/replica:0/task:0/device:CPU:0, CPU, 268435456)]\n",
        "Radeon",
    ),
    Fires(
        "tf-cpu-only",
        "a session that works and says nothing of GPUs",
        "Why does it run on the CPU?\nI tensorflow/core/platform/cpu_feature_guard.cc:141] Your CPU supports"
        " instructions that this TensorFlow binary was not compiled to use: AVX2 FMA\nEpoch: 1 loss= 0.912\n",
        "cpu_feature_guard",
    ),
    Fires(
        "gpu-bad-state",
        "an exclusive GPU, and a session that is not made",
        "| N/A   41C    P0    60W / 300W |   9000MiB / 16276MiB |     80%   E. Process |\nInternalError:"
        " Failed to create session.\n",
        "Failed to create session",
    ),
    Fires(
        "gpu-arch-too-new",
        "Windows ends the process",
        "tensorflow-gpu 1.10 with CUDA 9.0 on Windows 10, RTX 2070\nProcess finished with exit code"
        " -1073740791 (0xC0000409)\n",
        "0xC0000409",
    ),
    Fires(
        "cuda-version-mismatch",
        "a CUDA that the release does not support, Korean",
        "TF 2.4가 지원하지 않는 버전의 CUDA 때문이었습니다\n",
        "CUDA",
    ),
    Fires(
        "cuda-missing",
        "CUDA that was forgotten, Spanish",
        "me faltaba instalar CUDA, por eso la GPU no se usa\n",
        "CUDA",
    ),
    Fires(
        "cuda-missing",
        "CUDA that was forgotten, Russian",
        "GPU не видно. Оказалось, CUDA не установлен\n",
        "CUDA",
    ),
    Fires(
        "model-oom",
        "a small card",
        "It runs on the server and not with a GeForce RTX 3050 (4GB), surely not enough memory\n",
        "not enough memory",
    ),
)

NEAR_MISSES = (
    NearMiss(
        "gpu-arch-too-old",
        "a capability that is enough",
        "undetermined",
        "最低算力要求是3.5,我的显卡算力是6.1\n",
    ),
    NearMiss(
        "host-oom",
        "memory of the GPU, in the word for RAM",
        "undetermined",
        "GPU0满了就报内存不足, batch调小也一样\n",
    ),
    NearMiss(
        "cuda-version-mismatch", "one release in Chinese", "undetermined", "CUDA装成了10.0,官网要的也是10.0\n"
    ),
    NearMiss(
        "tf-cpu-only",
        "a log that ends before any work",
        "undetermined",
        "My GPU is not used.\nI tensorflow/core/platform/cpu_feature_guard.cc:141] Your CPU supports"
        " instructions that this TensorFlow binary was not compiled to use: AVX2 FMA\n",
    ),
    NearMiss(
        "driver-not-loaded",
        "an update of the kernel and a driver that is well",
        "undetermined",
        "Kernel-Update gemacht, NVIDIA-Treiber läuft weiter\n",
    ),
    NearMiss(
        "healthy",
        "a GPU that is registered, and a session that crashed",
        "undetermined",
        "Created TensorFlow device (/job:localhost/replica:0/task:0/device:GPU:0 with 14221 MB memory) ->"
        " physical GPU (device: 0, name: Tesla T4, pci bus id: 0000:00:04.0, compute capability: 7.5)\nThen"
        " my session crashed.\n",
    ),
    NearMiss("cuda-missing", "a CUDA that is to be taken off", "undetermined", "没有安装 CUDA 驱动的问题\n"),
    NearMiss(
        "benign-messages",
        "a program that crashes, and one line on the processor",
        "undetermined",
        "My training crashes.\nI tensorflow/core/platform/cpu_feature_guard.cc:141] Your CPU supports"
        " instructions that this TensorFlow binary was not compiled to use: AVX2\n",
    ),
)
