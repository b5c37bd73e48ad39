"""Writes an environment as a report: as a form, sentences, a list, program output or a file. The text about
the observed problem names no cause.

Each form is a function (rng, Environment) that returns the text, or None if this form cannot state the
environment.
"""

from __future__ import annotations

import random
import re
from typing import Callable

from tests.judge.stated import draw, oracle
from tests.judge.stated.oracle import ASK, CRASH, EMPTY, IMPORT, PIP, SLOW, WORKS, Environment, number

SYMPTOMS = {
    EMPTY: (
        "tf.config.list_physical_devices('GPU') returns []",
        "The GPU list is empty.",
        "Num GPUs Available:  0",
        "TensorFlow lists only CPU:0.",
        "`tf.config.list_physical_devices('GPU')` -> `[]`",
        "No GPU shows up in TensorFlow.",
        "Training runs on the CPU only.",
        "device_lib.list_local_devices() shows just the CPU.",
        "tf.test.is_gpu_available() is False",
        ">>> tf.config.list_physical_devices('GPU')\n[]",
        "TensorFlow doesn't see my GPU.",
        "len(tf.config.list_physical_devices('GPU')) == 0",
        "GPU is not used.",
        "It does not detect the graphics card.",
    ),
    IMPORT: (
        "import fails",
        "`import tensorflow as tf` fails.",
        "Importing TensorFlow raises an error.",
        "I cannot even import it.",
        "The import ends in an exception.",
        "import tensorflow -> traceback (lost, sorry)",
        "It dies on import.",
    ),
    CRASH: (
        "It crashes at the first conv.",
        "The process dies at the first convolution.",
        "model.fit crashes right at the first step.",
        "The kernel dies as soon as training starts.",
        "crash on the first Conv2D call",
        "First batch -> crash.",
        "It aborts when the first layer is computed.",
    ),
    SLOW: (
        "Very slow first start.",
        "The first start takes about ten minutes, later it is quick.",
        "First model.predict takes minutes, then it's OK.",
        "It hangs for several minutes before the first step.",
        "Start-up takes ages the first time.",
    ),
    PIP: (
        "pip cannot find it.",
        "pip doesn't find this version.",
        "pip install fails.",
        "pip can't install it.",
        "The installation with pip fails.",
        "I can't get it installed, pip gives up.",
    ),
    ASK: (
        "Do these go together?",
        "Will this work on the GPU?",
        "Is this combination okay?",
        "Is anything wrong with this setup?",
        "Can somebody check whether this is a valid combination?",
        "What would I have to change, if anything?",
    ),
    WORKS: (
        "The GPU is found and training works.",
        "Everything runs fine on the GPU, I only document the setup.",
        "Works: [PhysicalDevice(name='/physical_device:GPU:0', device_type='GPU')]",
        "No problem so far, GPU utilisation is at 95 %.",
        "It works as expected.",
    ),
}
GREETINGS = ("", "", "", "Hi,", "Hello all!", "Hey,", "Dear maintainers,")
CLOSINGS = ("", "", "", "Thanks!", "Any idea?", "Thanks in advance", "What can I do?")


def symptom(rng: random.Random, env: Environment) -> str:
    """Return a text about the observed problem."""
    said = rng.choice(SYMPTOMS[env.symptom])
    if env.symptom == EMPTY and number(env.tensorflow) < (2, 0) and "config" in said:
        return "tf.test.is_gpu_available() returns False"
    return said


def card(rng: random.Random, env: Environment) -> str | None:
    """Return the name of the graphics card as people write it."""
    if env.gpu is None:
        return None
    if env.gpu == "none":
        return rng.choice([*draw.OTHERS_CARDS, "none", "no NVIDIA card"])
    name = env.gpu
    full = (
        f"NVIDIA GeForce {name}"
        if re.match(r"(?:RTX \d{4}(?!\d)(?! Ada)|GTX|MX)", name)
        else f"NVIDIA {name}"
    )
    spelled = [
        name,
        name,
        full,
        full.replace("NVIDIA ", ""),
        full.replace("NVIDIA ", "Nvidia "),
        f"1x {name}",
    ]
    if name.startswith(("RTX ", "GTX ")):
        spelled += [name.replace(" ", "", 1), name.lower(), f"Nvidia {name.lower()}"]
    return rng.choice(spelled)


def cuda(rng: random.Random, env: Environment) -> str | None:
    """Return the CUDA release as people write it in a field."""
    if env.cuda == "none":
        return rng.choice(
            ["not installed", "none", "not installed", "no CUDA toolkit installed", "none installed"]
        )
    return env.cuda


def cudnn(rng: random.Random, env: Environment) -> str | None:
    """Return the cuDNN release as people write it in a field."""
    if env.cudnn == "none":
        return rng.choice(["not installed", "none", "not installed yet", "none installed"])
    if env.cudnn is None:
        return None
    short = ".".join(env.cudnn.split(".")[:2])
    alone = oracle.misfits(env).keys() == oracle.misfits(_with(env, cudnn=short)).keys()
    return rng.choice([env.cudnn, f"v{env.cudnn}", short if alone else env.cudnn])


def _with(env: Environment, **changed: object) -> Environment:
    import dataclasses

    return dataclasses.replace(env, **changed)  # type: ignore[arg-type]


def python(rng: random.Random, env: Environment) -> str | None:
    """Return the Python release as people write it in a field."""
    if env.bits == 32:
        return f"{env.python or '3.8'}{rng.choice([' (32-bit)', ' 32 bit', ', 32-bit'])}"
    return env.python


def installed(rng: random.Random, env: Environment) -> str | None:
    """Return how TensorFlow was installed, as people write it."""
    package, version = env.package or "tensorflow", env.tensorflow
    exact = f"=={version}" if version.count(".") > 1 or rng.random() < 0.5 else ""
    if env.route == "conda-cpu":
        return rng.choice(
            [
                "conda (mkl build)",
                f"conda, tensorflow {version} mkl_py{(env.python or '3.8').replace('.', '')[:2]}h",
                "conda install tensorflow-mkl",
            ]
        )
    if env.route == "image-cpu":
        return rng.choice(
            [
                f"docker run --gpus all -it tensorflow/tensorflow:{version}",
                f"Docker image tensorflow/tensorflow:{version}",
            ]
        )
    if env.route == "image":
        return rng.choice(
            [
                f"docker run --gpus all -it tensorflow/tensorflow:{version}-gpu",
                f"Docker image tensorflow/tensorflow:{version}-gpu, started with --gpus all",
            ]
        )
    if env.route == "extra":
        return rng.choice(
            [
                f"pip install 'tensorflow[and-cuda]{exact}'",
                "pip install tensorflow[and-cuda]",
                "pip, tensorflow[and-cuda]",
            ]
        )
    if env.route == "bare":
        return rng.choice(
            [
                f"pip install tensorflow=={version} in a fresh venv",
                "fresh venv, pip install tensorflow, nothing else",
                f"plain `pip install tensorflow=={version}`",
            ]
        )
    if env.package is None:
        return "pip"
    plain = [f"pip install {package}{exact}", f"pip ({package})", f"pip install {package}=={version}"]
    row = oracle.build(env)
    if package == "tensorflow" and env.symptom != PIP and row is not None and row["gpu"]:
        plain.append("pip")
    return rng.choice(plain)


def named(rng: random.Random, env: Environment) -> bool:
    """Whether the report must name the package to state the environment."""
    row = oracle.build(env)
    return (
        env.package in ("tensorflow-cpu", "tensorflow-gpu")
        or row is None
        or not row["gpu"]
        or env.route != "pip"
    )


LABELS = {
    "tensorflow": (
        "TensorFlow version",
        "TensorFlow",
        "TF version",
        "tf",
        "Tensorflow-Version",
        "tensorflow version",
        "Version de TensorFlow",
    ),
    "python": ("Python version", "Python", "python", "Python-Version", "py"),
    "cuda": ("CUDA version", "CUDA", "cuda", "CUDA toolkit", "Cuda"),
    "cudnn": ("cuDNN version", "cuDNN", "cudnn", "CUDNN"),
    "gpu": ("GPU model", "GPU", "Graphics card", "gpu", "Grafikkarte", "Video card", "GPU model and memory"),
    "driver": (
        "NVIDIA driver",
        "Driver version",
        "Driver",
        "nvidia driver",
        "NVIDIA driver version",
        "Treiber",
    ),
    "os": (
        "OS",
        "Operating system",
        "OS Platform and Distribution",
        "Betriebssystem",
        "os",
        "Platform",
        "System",
    ),
    "install": (
        "Installed with",
        "How installed",
        "TensorFlow installed from",
        "Installation",
        "install method",
        "Installed via",
    ),
}


def values(rng: random.Random, env: Environment) -> list[tuple[str, str]]:
    """Return the stated items, sometimes in random order."""
    items = [
        (
            "tensorflow",
            (
                env.tensorflow
                if env.package in (None, "tensorflow") or rng.random() < 0.5
                else f"{env.package} {env.tensorflow}"
            ),
        ),
        ("python", python(rng, env)),
        ("cuda", cuda(rng, env)),
        ("cudnn", cudnn(rng, env)),
        ("gpu", card(rng, env)),
        ("driver", env.driver),
        ("os", env.system),
        ("install", installed(rng, env) if named(rng, env) or rng.random() < 0.6 else None),
    ]
    found = [(key, value) for key, value in items if value is not None]
    if rng.random() < 0.5:
        rng.shuffle(found)
    return found


def framed(rng: random.Random, env: Environment, body: str) -> str:
    """Return the body with a text about the observed problem, and with the words that people write around
    it."""
    said = symptom(rng, env)
    remark = _remark(rng, env)
    parts = [said, body] if rng.random() < 0.5 else [body, said]
    parts = [rng.choice(GREETINGS), *parts, remark, rng.choice(CLOSINGS)]
    return "\n\n".join(part for part in parts if part) + "\n"


def _remark(rng: random.Random, env: Environment) -> str:
    """Return a remark about something that is not installed on this machine. It is usually empty."""
    if rng.random() > 0.22 or env.symptom in (WORKS,):
        return ""
    gpu, release, toolkit = (
        rng.choice(draw.CARDS),
        rng.choice(["2.4", "2.8", "2.10", "2.13", "2.15", "2.16"]),
        rng.choice(draw.CUDAS),
    )
    remarks = [
        f"On my colleague's machine (a {gpu}, TensorFlow {release}, CUDA {toolkit}) it is no problem.",
        f"Before this I had tried TensorFlow {release} with CUDA {toolkit} on another computer.",
        f"Later I want to move to TensorFlow {release}.",
        "PyTorch sees the card." if env.gpu not in (None, "none") else "",
    ]
    if env.driver is not None and env.symptom != ASK:
        windows = env.platform != "linux-x86_64"
        offered = _offered(env.driver, windows)
        remarks += [
            f"nvidia-smi says CUDA Version: {offered}.",
            f"The header of nvidia-smi shows CUDA {offered}.",
        ]
    return rng.choice(remarks)


def _offered(driver: str, windows: bool) -> str:
    branch = str(oracle.branch(driver, windows))
    return next(str(row["cuda"]) for row in oracle.rows("drivers") if row["branch"] == branch)


# -- forms that state every item


def fields(rng: random.Random, env: Environment) -> str | None:
    """One line for each item, with a key and a value."""
    mark = rng.choice(["", "- ", "* ", "- **"])
    sign = rng.choice([": ", ": ", " = ", ":\t", " - "])
    lines = []
    for key, value in values(rng, env):
        label = rng.choice(LABELS[key])
        lines.append(f"- **{label}**{sign}{value}" if mark == "- **" else f"{mark}{label}{sign}{value}")
    return framed(rng, env, "\n".join(lines))


def github_old(rng: random.Random, env: Environment) -> str | None:
    """The issue form of TensorFlow until 2022."""
    stated = dict(values(rng, env))
    both = f"{stated.get('cuda', rng.choice(['', 'N/A']))}/{stated.get('cudnn', '')}".strip("/")
    if "cuda" in stated and "cudnn" in stated:
        both = rng.choice(
            [
                f"{stated['cuda']}/{stated['cudnn']}",
                f"CUDA {stated['cuda']}, cuDNN {stated['cudnn']}",
                f"{stated['cuda']} / {stated['cudnn']}",
            ]
        )
    elif "cudnn" in stated:
        both = f"cuDNN {stated['cudnn']}"
    body = f"""**System information**
- Have I written custom code (as opposed to using a stock example script provided in TensorFlow): \
{rng.choice(["No", "Yes"])}
- OS Platform and Distribution (e.g., Linux Ubuntu 16.04): {stated["os"]}
- Mobile device (e.g. iPhone 8, Pixel 2, Samsung Galaxy) if the issue happens on mobile device: \
{rng.choice(["", "N/A", "No"])}
- TensorFlow installed from (source or binary): {stated.get("install", "binary")}
- TensorFlow version (use command below): {stated["tensorflow"]}
- Python version: {stated.get("python", "")}
- Bazel version (if compiling from source): {rng.choice(["", "N/A"])}
- GCC/Compiler version (if compiling from source): {rng.choice(["", "N/A"])}
- CUDA/cuDNN version: {both}
- GPU model and memory: {stated.get("gpu", "")}
"""
    if "driver" in stated:
        body += f"- NVIDIA driver: {stated['driver']}\n"
    return (
        f"{body}\n**Describe the current behavior**\n{symptom(rng, env)}\n\n**Describe the expected"
        f" behavior**\n{rng.choice(['It should work.', ''])}\n"
    )


def github_new(rng: random.Random, env: Environment) -> str | None:
    """The issue form of TensorFlow since 2022."""
    stated = dict(values(rng, env))
    none = "_No response_"
    both = "/".join(v for v in (stated.get("cuda", ""), stated.get("cudnn", "")) if v) or none
    if "cuda" not in stated and "cudnn" in stated:
        both = f"cuDNN {stated['cudnn']}"
    answers = [
        ("Issue type", "Bug"),
        ("Have you reproduced the bug with TensorFlow Nightly?", "No"),
        ("Source", stated.get("install", "binary")),
        ("TensorFlow version", stated["tensorflow"]),
        ("Custom code", "Yes"),
        ("OS platform and distribution", stated["os"]),
        ("Mobile device", none),
        ("Python version", stated.get("python", none)),
        ("Bazel version", none),
        ("GCC/compiler version", none),
        ("CUDA/cuDNN version", both),
        (
            "GPU model and memory",
            stated.get("gpu", none)
            + (f", driver {stated['driver']}" if "driver" in stated and "gpu" in stated else ""),
        ),
        ("Current behavior?", symptom(rng, env)),
        ("Standalone code to reproduce the issue", "```shell\nimport tensorflow as tf\n```"),
        ("Relevant log output", none),
    ]
    if "driver" in stated and "gpu" not in stated:
        answers.insert(-3, ("NVIDIA driver", stated["driver"]))
    return "\n\n".join(f"### {question}\n\n{answer}" for question, answer in answers) + "\n"


def table(rng: random.Random, env: Environment) -> str | None:
    """A Markdown table."""
    lines = ["| | |", "|---|---|"] if rng.random() < 0.5 else ["| Component | Version |", "| --- | --- |"]
    lines += [f"| {rng.choice(LABELS[key])} | {value} |" for key, value in values(rng, env)]
    return framed(rng, env, "\n".join(lines))


def one_line(rng: random.Random, env: Environment) -> str | None:
    """All items in one line, as in a chat."""
    said = {
        "tensorflow": ("TF {}", "tf {}", "TensorFlow {}", "tensorflow {}"),
        "python": ("Python {}", "py {}", "python {}"),
        "cuda": ("CUDA {}", "cuda {}"),
        "cudnn": ("cuDNN {}", "cudnn {}"),
        "gpu": ("{}",),
        "driver": ("driver {}", "nvidia driver {}"),
        "os": ("{}",),
        "install": ("{}", "installed with {}"),
    }
    parts = []
    for key, value in values(rng, env):
        if value.startswith(("tensorflow", "no ")) or (key == "tensorflow" and not value[0].isdigit()):
            parts.append(value)
        elif value.startswith(("not", "none")):
            if key == "gpu":
                parts.append("no NVIDIA GPU")
                continue
            label = "CUDA" if key == "cuda" else "cuDNN"
            parts.append(rng.choice([f"{label} not installed", f"no {label}", f"{label}: none"]))
        else:
            parts.append(rng.choice(said[key]).format(value))
    return framed(rng, env, rng.choice([", ", " / ", "; ", " | "]).join(parts))


def prose(rng: random.Random, env: Environment) -> str | None:
    """All items as sentences."""
    stated = dict(values(rng, env))
    version = env.tensorflow
    name = env.package if env.package not in (None, "tensorflow") else "TensorFlow"
    gpu = stated.get("gpu")
    where = f"on {env.system}" if env.system.split()[0] not in ("WSL", "WSL2") else f"in {env.system}"
    sentences = []
    if env.symptom == PIP:
        sentences.append(
            rng.choice(
                [
                    f"I want to install {name} {version} {where}.",
                    f"I am trying to get {name} {version} onto my machine ({env.system}).",
                ]
            )
        )
    else:
        sentences.append(
            rng.choice(
                [
                    f"I am using {name} {version} {where}.",
                    f"I have {name} {version} {where}.",
                    f"My setup is {name} {version} {where}.",
                    f"We run {name} {version} {where}.",
                ]
            )
        )
    if "python" in stated:
        sentences.append(
            rng.choice(
                [
                    f"Python is {stated['python']}.",
                    f"My Python is {stated['python']}.",
                    f"I use Python {stated['python']}.",
                ]
            )
        )
    if gpu is not None:
        if env.gpu == "none":
            sentences.append(
                "There is no NVIDIA card in this machine."
                if gpu.startswith(("none", "no "))
                else f"The graphics is an {gpu}."
            )
        else:
            sentences.append(
                rng.choice(
                    [
                        f"The GPU is a {gpu}.",
                        f"The machine has a {gpu}.",
                        f"My card is a {gpu}.",
                        f"There is a {gpu} in it.",
                    ]
                )
            )
    if "driver" in stated:
        sentences.append(
            rng.choice(
                [
                    f"The driver is {env.driver}.",
                    f"NVIDIA driver {env.driver} is installed.",
                    f"nvidia-smi reports driver version {env.driver}.",
                ]
            )
        )
    if env.cuda == "none":
        sentences.append(
            rng.choice(
                ["CUDA is not installed.", "I have not installed CUDA.", "There is no CUDA toolkit on it."]
            )
        )
    elif env.cuda is not None:
        sentences.append(
            rng.choice(
                [
                    f"CUDA {env.cuda} is installed.",
                    f"I installed CUDA {env.cuda}.",
                    f"The CUDA toolkit is {env.cuda}.",
                    f"nvcc --version says release {env.cuda}.",
                ]
            )
        )
    if env.cudnn == "none":
        sentences.append(rng.choice(["cuDNN is not installed.", "I did not install cuDNN."]))
    elif env.cudnn is not None:
        sentences.append(
            rng.choice(
                [
                    f"cuDNN is {stated['cudnn']}.",
                    f"cuDNN {stated['cudnn']} is in place.",
                    f"I copied cuDNN {stated['cudnn']} into it.",
                ]
            )
        )
    if "install" in stated and (named(rng, env) or rng.random() < 0.5) and env.symptom != PIP:
        sentences.append(
            rng.choice([f"Installed with: {stated['install']}.", f"How I installed it: {stated['install']}."])
        )
    first, rest = sentences[0], sentences[1:]
    if rng.random() < 0.4:
        rng.shuffle(rest)
    return framed(rng, env, " ".join([first, *rest]))


# -- what programs print


def smi(rng: random.Random, env: Environment) -> str | None:
    """nvidia-smi's table."""
    if env.driver is None or env.gpu in (None, "none") or env.platform.startswith(("macos", "linux-aarch64")):
        return None
    windows = env.platform != "linux-x86_64"
    offered, name = _offered(env.driver, windows), str(env.gpu)
    full = f"GeForce {name}" if name.startswith(("GTX", "RTX 2", "RTX 3", "RTX 4", "RTX 5", "MX")) else name
    if number(env.driver) >= (500,):
        full = f"NVIDIA {full}"
    header = f"| NVIDIA-SMI {env.driver:<14} Driver Version: {env.driver:<14} CUDA Version: {offered:<8} |"
    return f"""+-----------------------------------------------------------------------------+
{header}
|-------------------------------+----------------------+----------------------+
| GPU  Name        Persistence-M| Bus-Id        Disp.A | Volatile Uncorr. ECC |
| Fan  Temp  Perf  Pwr:Usage/Cap|         Memory-Usage | GPU-Util  Compute M. |
|===============================+======================+======================|
|   0  {full[:24]:<24} Off | 00000000:01:00.0  On |                  N/A |
| 30%   40C    P8    15W / 250W |    310MiB / {rng.choice([8192, 12288, 24576])}MiB |      2%      Default |
+-------------------------------+----------------------+----------------------+"""


def nvcc(env: Environment) -> str:
    """The output of `nvcc --version`, or the shell's error message."""
    if env.cuda == "none":
        return (
            "bash: nvcc: command not found"
            if env.platform != "windows-amd64"
            else (
                "'nvcc' is not recognized as an internal or external command,\noperable program or batch"
                " file."
            )
        )
    return (
        "nvcc: NVIDIA (R) Cuda compiler driver\nCopyright (c) 2005-2023 NVIDIA Corporation\nCuda compilation"
        f" tools, release {env.cuda}, V{env.cuda}.{89}"
    )


def cudnn_header(env: Environment) -> str:
    """The lines in cudnn_version.h that guides ask people to print."""
    if env.cudnn == "none":
        return "grep: /usr/include/cudnn_version.h: No such file or directory"
    major, minor, patch = [*(env.cudnn or "").split("."), "0"][:3]
    return f"#define CUDNN_MAJOR {major}\n#define CUDNN_MINOR {minor}\n#define CUDNN_PATCHLEVEL {patch}"


def pip_lines(rng: random.Random, env: Environment, sign: str) -> str | None:
    """Names and versions of the installed packages."""
    if env.symptom == PIP or env.route in ("conda", "conda-cpu") or env.package is None:
        return None
    version = (
        env.tensorflow
        if env.tensorflow.count(".") > 1
        else f"{env.tensorflow}.{'1' if env.tensorflow == '2.16' else '0'}"
    )
    if oracle.release(env.package, version, env.platform) is None:
        return None
    new = number(version) >= (2, 16)
    packages = {
        "absl-py": "1.4.0", "numpy": "1.26.4" if number(version) >= (2, 14) else "1.19.5", "pandas": "1.5.3",
        "protobuf": "4.25.3" if number(version) >= (2, 12) else "3.19.6", "six": "1.16.0",
        "wrapt": "1.14.1", env.package: version,
    }  # fmt: skip
    if new:
        packages["keras"] = "3.3.3"
        packages["h5py"] = "3.11.0"
    if env.route == "extra":
        row = oracle.build(env)
        assert row is not None
        for name, bound in row["extras"]["and-cuda"].items():
            packages[name] = re.findall(r"[\d.]+\d", bound)[0]
    packages.update(dict(env.others))
    names = sorted(packages)
    if sign == "==":
        return "\n".join(f"{name}=={packages[name]}" for name in names)
    width = max(map(len, names)) + 1
    return "\n".join(
        [
            f"{'Package':<{width}}Version",
            f"{'-' * (width - 1)} {'-' * 9}",
            *(f"{n:<{width}}{packages[n]}" for n in names),
        ]
    )


def programs(rng: random.Random, env: Environment) -> str | None:
    """Output of pip, nvidia-smi and nvcc, one after the other."""
    table_of = smi(rng, env)
    listed = pip_lines(rng, env, rng.choice(["==", "list"]))
    if (
        listed is None
        or env.route.startswith("image")
        or env.bits == 32
        or env.gpu == "none"
        or (env.gpu and table_of is None)
    ):
        return None
    prompt = (
        rng.choice(["$ ", "(venv) user@host:~$ ", "> "])
        if env.platform != "windows-amd64"
        else rng.choice(["C:\\Users\\me>", "(tf) C:\\>", "PS C:\\> "])
    )
    parts = (
        [
            f"{prompt}python --version\nPython"
            f" {env.python if env.python and env.python.count('.') > 1 else f'{env.python}.4'}"
        ]
        if env.python
        else []
    )
    parts.append(f"{prompt}pip {'freeze' if '==' in listed else 'list'}\n{listed}")
    if table_of:
        parts.append(f"{prompt}nvidia-smi\n{table_of}")
    elif env.driver:
        parts.append(
            f"{prompt}nvidia-smi --query-gpu=driver_version --format=csv\ndriver_version\n{env.driver}"
        )
    if env.cuda is not None:
        parts.append(f"{prompt}nvcc --version\n{nvcc(env)}")
    if env.cudnn is not None and env.platform == "windows-amd64":
        parts.append("cuDNN is not installed." if env.cudnn == "none" else f"cuDNN: {env.cudnn}")
    elif env.cudnn is not None:
        parts.append(f"{prompt}cat /usr/include/cudnn_version.h | grep CUDNN_MAJOR -A 2\n{cudnn_header(env)}")
    if env.system.split()[0] != "Linux":
        parts.insert(0, f"{rng.choice(LABELS['os'])}: {env.system}")
    body = "\n\n".join(parts)
    return framed(rng, env, f"```\n{body}\n```" if rng.random() < 0.6 else body)


def conda(rng: random.Random, env: Environment) -> str | None:
    """The output of `conda list`; the environment contains CUDA and cuDNN from conda."""
    version = env.tensorflow if env.tensorflow.count(".") > 1 else f"{env.tensorflow}.0"
    if (
        env.platform == "wsl"
        or number(version) >= (2, 12)
        or env.symptom == PIP
        or env.others
        or env.package not in ("tensorflow", "tensorflow-gpu")
    ):
        return None
    row = oracle.build(env)
    if row is None or env.bits == 32 or env.cuda == "none" or env.cudnn == "none" or env.gpu == "none":
        return None
    py = (env.python or row["pythons"][-1]).split(".")
    tag = f"py{py[0]}{py[1]}"
    lines = [f"python                    {'.'.join(py[:2])}.5                h7579374_0"]
    if env.route == "conda-cpu":
        lines += [
            f"tensorflow                {version:<15}mkl_{tag}h5a9d3f1_0",
            f"tensorflow-base           {version:<15}mkl_{tag}h68be5f1_0",
        ]
    elif row["gpu"] and env.cuda is not None:
        if env.cuda is not None:
            lines.append(f"cudatoolkit               {env.cuda + '.0':<15}h3301850_8    conda-forge")
        if env.cudnn is not None:
            lines.append(f"cudnn                     {env.cudnn + '.1':<15}h2c0ae14_1    conda-forge")
        lines.append(f"{env.package:<26}{version:<15}pypi_0    pypi")
    else:
        return None
    lines.append("numpy                     1.19.5           py38h9894fe3_2    conda-forge")
    text = (
        "# packages in environment at /opt/conda/envs/tf:\n#\n# Name                    Version              "
        "     Build  Channel\n" + "\n".join(sorted(lines))
    )
    also = [f"{rng.choice(LABELS['os'])}: {env.system}"]
    if env.gpu is not None:
        also.append(f"{rng.choice(LABELS['gpu'])}: {card(rng, env)}")
    if env.driver is not None:
        also.append(f"{rng.choice(LABELS['driver'])}: {env.driver}")
    return framed(rng, env, "\n".join(also) + f"\n\n```\n$ conda list\n{text}\n```")


def dockerfile(rng: random.Random, env: Environment) -> str | None:
    """A Dockerfile, and the host's graphics card."""
    if (
        env.platform not in ("linux-x86_64", "wsl")
        or env.bits == 32
        or env.others
        or env.symptom == PIP
        or env.gpu == "none"
        or env.package is None
    ):
        return None
    lines = []
    if env.route.startswith("image"):
        lines.append(f"FROM tensorflow/tensorflow:{env.tensorflow}{'-gpu' if env.route == 'image' else ''}")
    elif env.cuda not in (None, "none") and env.cudnn is not None:
        flavour = "devel" if rng.random() < 0.5 else "runtime"
        if env.cudnn == "none":
            lines.append(f"FROM nvidia/cuda:{env.cuda}.0-{flavour}-ubuntu20.04")
        else:
            lines.append(
                f"FROM nvidia/cuda:{env.cuda}.0-cudnn{env.cudnn.split('.')[0]}-{flavour}-ubuntu20.04"
            )
            if oracle.misfits(env).keys() != oracle.misfits(_with(env, cudnn=env.cudnn.split(".")[0])).keys():
                return None
    elif env.route in ("bare", "extra"):
        lines.append(f"FROM python:{'.'.join((env.python or '3.11').split('.')[:2])}-slim")
        if env.python is None:
            return None
    else:
        return None
    if not env.route.startswith("image"):
        extra = "[and-cuda]" if env.route == "extra" else ""
        lines += [
            "RUN apt-get update && apt-get install -y python3-pip" if "nvidia" in lines[0] else "WORKDIR /app"
        ]
        lines += [
            (
                f'RUN pip install "{env.package}{extra}=={env.tensorflow}"'
                if extra
                else f"RUN pip install {env.package}=={env.tensorflow}"
            )
        ]
    lines += ["COPY . /app", 'CMD ["python", "train.py"]']
    also = [f"Host: {env.system}"]
    if env.gpu is not None:
        also.append(f"GPU: {card(rng, env)}")
    if env.driver is not None:
        also.append(f"Driver: {env.driver}")
    run = "docker run --gpus all my-image"
    return framed(rng, env, ", ".join(also) + "\n\n```Dockerfile\n" + "\n".join(lines) + f"\n```\n\n{run}")


def lock_file(rng: random.Random, env: Environment) -> str | None:
    """A poetry.lock, uv.lock, Pipfile.lock or requirements.txt, and all other items as fields."""
    listed = pip_lines(rng, env, "==")
    if listed is None or env.route.startswith("image") or env.bits == 32:
        return None
    pairs = [line.split("==") for line in listed.splitlines()]
    kind = rng.choice(["poetry", "uv", "pipfile", "requirements", "environment"])
    if kind in ("poetry", "uv"):
        name = f"{kind}.lock"
        text = "\n\n".join(
            f'[[package]]\nname = "{n}"\nversion = "{v}"'
            + (
                "\noptional = false"
                if kind == "poetry"
                else '\nsource = { registry = "https://index.example/simple" }'
            )
            for n, v in pairs
        )
    elif kind == "pipfile":
        name = "Pipfile.lock"
        text = (
            '{\n    "default": {\n'
            + ",\n".join(f'        "{n}": {{\n            "version": "=={v}"\n        }}' for n, v in pairs)
            + "\n    }\n}"
        )
    elif kind == "environment":
        name = "environment.yml"
        text = (
            "name: tf\ndependencies:\n"
            + (f"  - python={'.'.join(env.python.split('.')[:2])}\n" if env.python else "")
            + "  - pip\n  - pip:\n"
            + "\n".join(f"    - {n}=={v}" for n, v in pairs)
        )
    else:
        name, text = "requirements.txt", listed
    rest = [(k, v) for k, v in values(rng, env) if k not in ("tensorflow", "install")]
    body = "\n".join(f"{rng.choice(LABELS[k])}: {v}" for k, v in rest)
    return framed(rng, env, f"{body}\n\n{name}:\n```\n{text}\n```")


def build_info(rng: random.Random, env: Environment) -> str | None:
    """The output of tf.sysconfig.get_build_info(), which shows the versions that the build was made for, and
    the items about the machine."""
    row = oracle.build(env)
    if (
        row is None
        or number(env.tensorflow) < (2, 3)
        or env.symptom in (PIP, IMPORT)
        or env.package is None
        or env.others
        or env.bits == 32
    ):
        return None
    compiler = "" if env.platform == "windows-amd64" else "('cpu_compiler', '/usr/lib/llvm-17/bin/clang'), "
    if row["gpu"] and env.route != "image-cpu":
        info = (
            f"OrderedDict([{compiler}('cuda_compute_capabilities',"
            f" {['sm_' + c.replace('.', '') for c in row['compute_capabilities']['compiled']]}),"
            f" ('cuda_version', '{row['cuda']}'), ('cudnn_version', '{row['cudnn']}'), ('is_cuda_build',"
            " True), ('is_rocm_build', False), ('is_tensorrt_build', True)])"
        )
    else:
        info = (
            "OrderedDict([('is_cuda_build', False), ('is_rocm_build', False), ('is_tensorrt_build', False)])"
        )
    rest = [(k, v) for k, v in values(rng, env) if k != "tensorflow"]
    body = "\n".join(f"{rng.choice(LABELS[k])}: {v}" for k, v in rest)
    return framed(
        rng,
        env,
        f">>> tf.__version__\n'{env.tensorflow}'\n>>> tf.sysconfig.get_build_info()\n{info}\n\n{body}",
    )


def modules(rng: random.Random, env: Environment) -> str | None:
    """The output of `module list` on a cluster."""
    if (
        env.platform != "linux-x86_64"
        or env.cuda is None
        or env.cuda == "none"
        or env.cudnn == "none"
        or env.route != "pip"
        or env.bits == 32
        or env.symptom == PIP
    ):
        return None
    loaded = ["gcc/9.3.0", f"cuda/{env.cuda}"]
    if env.cudnn is not None:
        loaded.append(rng.choice([f"cudnn/{env.cudnn}", f"cuDNN/{env.cudnn}-CUDA-{env.cuda}"]))
    if env.python is not None:
        loaded.append(f"python/{env.python}")
    text = "Currently Loaded Modules:\n  " + "   ".join(f"{i}) {name}" for i, name in enumerate(loaded, 1))
    also = [
        f"{env.package or 'TensorFlow'} {env.tensorflow}{', pip in a venv' if env.package else ''}",
        f"GPU node with {card(rng, env)}" if env.gpu not in (None, "none") else "",
        f"driver {env.driver}" if env.driver else "",
    ]
    if env.gpu == "none":
        return None
    others = "".join(f"\n{n}=={v}" for n, v in env.others)
    return framed(rng, env, "\n".join(part for part in also if part) + others + f"\n\n$ module list\n{text}")


def r_session(rng: random.Random, env: Environment) -> str | None:
    """The output of sessionInfo and py_config in R with reticulate."""
    if (
        env.symptom == PIP
        or env.others
        or env.route.startswith(("image", "conda"))
        or env.bits == 32
        or number(env.tensorflow) < (1, 10)
    ):
        return None
    py = env.python or "3.9"
    if env.python is None and oracle.misfits(_with(env, python="3.9")).keys() != oracle.misfits(env).keys():
        return None
    home = (
        "C:/Users/me/AppData/Local/r-miniconda/envs/r-reticulate"
        if env.platform == "windows-amd64"
        else "/home/me/.virtualenvs/r-tensorflow"
    )
    body = f"""> sessionInfo()
R version 4.2.1 (2022-06-23)
Running under: {env.system}

other attached packages:
[1] tensorflow_2.11.0 keras_2.11.1

> tensorflow::tf_config()
TensorFlow v{env.tensorflow} ({home}/lib/python{".".join(py.split(".")[:2])}/site-packages/tensorflow)
Python v{".".join(py.split(".")[:2])} ({home}/bin/python)
"""
    rest = [(k, v) for k, v in values(rng, env) if k not in ("tensorflow", "python", "os")]
    return framed(rng, env, body + "\n" + "\n".join(f"{rng.choice(LABELS[k])}: {v}" for k, v in rest))


def env_collect(rng: random.Random, env: Environment) -> str | None:
    """The output of TensorFlow's tf_env_collect.sh."""
    listed = pip_lines(rng, env, "list")
    if (
        listed is None
        or env.platform not in ("linux-x86_64", "wsl")
        or env.symptom == IMPORT
        or env.bits == 32
        or env.route.startswith("image")
        or "none" in (env.gpu, env.cuda, env.cudnn)
    ):
        return None
    table_of = smi(rng, env)
    if (env.gpu or env.driver) and table_of is None:
        return None
    libs = []
    if env.cuda not in (None, "none"):
        libs.append(f"/usr/local/cuda-{env.cuda}/targets/x86_64-linux/lib/libcudart.so.{env.cuda}.89")
    if env.cudnn not in (None, "none"):
        libs.append(f"/usr/local/cuda-{env.cuda or '11.2'}/lib64/libcudnn.so.{env.cudnn}")
        if env.cuda is None:
            return None
    wanted = [line for line in listed.splitlines() if re.match(r"(?:numpy|protobuf|tensorflow|nvidia)", line)]
    py = env.python or "3.9.7"
    if env.python is None:
        return None
    return framed(
        rng,
        env,
        f"""== check python ===================================================
python version: {py}
python branch:
python compiler version: GCC 9.4.0
python implementation: CPython

== check os platform ===============================================
os: Linux
os release version: 5.15.0-60-generic
platform: Linux-5.15.0-60-generic-x86_64-with-glibc2.31
linux distribution: {env.system}

== are we in docker =============================================
No

== check pips ===================================================
{chr(10).join(wanted)}

== check for virtualenv =========================================
True

== tensorflow import ============================================
tf.version.VERSION = {env.tensorflow}
tf.version.GIT_VERSION = unknown
tf.version.COMPILER_VERSION = 9.3.1

== env ==========================================================
LD_LIBRARY_PATH is unset
DYLD_LIBRARY_PATH is unset

== nvidia-smi ===================================================
{table_of or "nvidia-smi was not run"}

== cuda libs  ===================================================
{chr(10).join(libs)}
""",
    )


FORMS: tuple[tuple[int, Callable[[random.Random, Environment], str | None]], ...] = (
    (5, fields),
    (4, github_old),
    (4, github_new),
    (2, table),
    (4, one_line),
    (5, prose),
    (3, programs),
    (2, conda),
    (2, dockerfile),
    (2, lock_file),
    (1, build_info),
    (1, modules),
    (1, r_session),
    (1, env_collect),
)
"""How often each form is used if it can state the environment. The first six forms can state any
environment."""


def written(rng: random.Random, env: Environment) -> tuple[str, str]:
    """Write an environment in one of the forms. Returns (name of the form, report)."""
    while True:
        form = rng.choices([form for _, form in FORMS], [weight for weight, _ in FORMS])[0]
        if env.others and form not in (programs, lock_file, env_collect, modules):
            form = programs if rng.random() < 0.5 else lock_file
        text = form(rng, env)
        if text is not None:
            return form.__name__, text
