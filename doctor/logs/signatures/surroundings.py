"""What surrounds TensorFlow: operating system, platform, container, scheduler, environment variables, GPUs in words."""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.facts import (
    FORM,
    INFERRED,
    MEASURED,
    PROSE,
    EnvironmentKind,
    EnvVar,
    Fact,
    Gpu,
    OperatingSystem,
    OtherGpu,
    Platform,
    Source,
)
from doctor.logs.signatures.devices import mib
from doctor.logs.signatures.signature import Maker, Signature, sig

GPU_NAME = (
    r"(?:NVIDIA\s+)?(?:"
    r"(?:GeForce\s+)?(?:RTX|GTX)\s?[-_]?\s?(?:TITAN(?:\s?X|\s?Z|\s?Black)?|[A-Z]?\d{3,4}(?!\d))(?:\s?-?(?:Ti|SUPER|Max-?Q|Mobile|Laptop GPU|Laptop|Ada(?: Generation)?|FE|D|M)\b){0,3}"
    r"|(?:GeForce\s+)?GT\s?\d{3,4}M?X?\b|GeForce\s+(?:\w{1,3}\s?)?\d{3,4}\s?(?:MX|M|Ti)?\b|(?:GeForce\s+)?MX\s?[1-5][0-9]0\b|9[0-4]0MX\b"
    r"|TITAN\s?(?:RTX|Xp|X\s?\(Pascal\)|X|V|Z|Black)\b|Quadro\s+(?:RTX\s+)?(?:[A-Z]{1,2}\d{3,5}M?|\d{3,5}M?)\b"
    r"|Tesla\s+[A-Z]\d{1,4}[A-Za-z]{0,2}(?:-[\w-]{2,20})?|GRID\s+[A-Z]\d\w*"
    r"|(?<![A-WYZa-wyz0-9_.])(?:A100|H100|H200|H800|A800|V100S?|P100|L40S?|A6000|A5000|A4000|A30|A40|A10G?|B200|GH200|GB200|K80|K40[mc]?|K20[mcx]?|P40|M60|P4|T4|L4)"
    r"(?:-(?:SXM\d?|PCI[Ee]|NVL)(?:-?\d{1,3}\s?GB)?|\s+(?:PCIe|SXM\d?)(?:\s+\d+GB)?)?(?![\w-]|\.\d)"
    r"|T400\b|T1000\b|Jetson\s+(?:Nano|TX[12]|Xavier(?:\s+NX)?|AGX\s+\w+|Orin(?:\s+\w+)?)"
    r")(?:\s?\(?(?:\d{1,3})\s?GB\b)?"
)


def _tidy_gpu(text: str) -> tuple[str, int | None]:
    text = re.sub(r"\s+", " ", text.replace("_", " ")).strip(" (")
    size = re.search(r"\b(\d{1,3})\s?GB\b", text)
    memory = mib(size[0].replace(" ", "")) if size else None
    if size and not re.match(r"(?:.*GTX 1060|.*-(?:SXM|PCI))", text, re.I):
        text = text[: size.start()].rstrip(" (")
    return text, memory


def gpu_in(rank: int) -> Maker:
    """A maker of Gpu facts for every card that a line of text names."""

    def make(match: re.Match[str], source: Source) -> Iterator[Fact]:
        value = match.groupdict().get("value") or match[0]
        found_names = list(re.finditer(GPU_NAME, value, re.I))[:16]
        if not found_names and rank == FORM:
            found_names = list(
                re.finditer(r"\b(?:[1-5]0[5-9]0|16[56]0)(?:\s?Ti|\s?SUPER|\s?M)?(?:\s(?:RTX|GTX))?\b", value, re.I)
            )[:4]
        for found in found_names:
            name, memory = _tidy_gpu(found[0])
            before = value[max(0, found.start() - 5) : found.start()]
            times = re.search(r"(\d)\s?[x×*]\s*$", before)
            for _ in range(min(int(times[1]), 16) if times else 1):
                yield Gpu(source, name, memory_mib=memory, rank=rank)

    return make


def smi_name(match: re.Match[str], source: Source) -> Fact:
    """One card in an nvidia-smi table."""
    name = match["name"].strip().rstrip(".").strip()
    following = re.search(r"(\d{1,7})MiB\s*/\s*(\d{2,8})MiB", match.string[match.end() : match.end() + 240])
    return Gpu(
        source,
        name,
        memory_mib=int(following[2]) if following else None,
        index=int(match["index"]),
        bus_id=match["bus"],
    )


def system(rank: int) -> Maker:
    """A maker of OperatingSystem and Platform."""

    def make(match: re.Match[str], source: Source) -> Iterator[Fact]:
        if rank == PROSE and re.search(
            r"e\.g\.,?\s*(?:Linux )?$", match.string[max(0, match.start() - 16) : match.start()]
        ):
            return  # the example in the words of an issue form
        name = re.sub(r"\s+", " ", match["name"]).strip(" *_`'\".,;:()[]|-")[:60]
        if not name or re.match(r"(?i)(?:n/?a|none|no|yes|unknown|-)$", name):
            return
        lowered = name.lower()
        yield OperatingSystem(source, name, rank)
        if "wsl" in lowered:
            yield Platform(source, "wsl", rank=rank)
        elif re.search(r"\bwin(?:dows)?[\s_-]?(?:\d|xp|server|vista)|\bwindows\b|\bwin(?:32|64)\b", lowered):
            yield Platform(source, "windows", rank=rank)
        elif re.search(r"mac\s?os|os ?x|darwin|monterey|ventura|big sur|catalina|sonoma", lowered):
            yield Platform(source, "macos", rank=rank)
        elif re.search(
            r"linux|ubuntu|debian|centos|red ?hat|rhel|fedora|arch|manjaro|suse|mint|kali|raspbian|rocky|alma|pop!?_os|elementary|gentoo|nixos",
            lowered,
        ):
            yield Platform(source, "linux", rank=rank)

    return make


def kind(name: str) -> Maker:
    """A maker of EnvironmentKind."""

    def make(match: object, source: Source) -> Fact:
        return EnvironmentKind(source, name)

    return make


def platform(name: str, rank: int = MEASURED) -> Maker:
    """A maker of Platform."""

    def make(match: object, source: Source) -> Fact:
        return Platform(source, name, rank=rank)

    return make


def env(match: re.Match[str], source: Source) -> Fact:
    """An environment variable that was set."""
    return EnvVar(source, match["name"].upper(), match["value"].strip().strip("'\"`").strip())


_SYSTEMS = (
    r"(?:(?:Linux )?(?:Ubuntu|Xubuntu|Kubuntu|Lubuntu|Debian|CentOS(?: Linux)?|Fedora|RHEL|Red ?Hat(?: Enterprise Linux)?|Rocky(?: Linux)?|AlmaLinux|openSUSE(?: Leap)?|SLES|Linux Mint|Mint|Manjaro|Arch(?: Linux)?|Pop!?_OS|Kali|Raspbian|Amazon Linux)"
    r"(?:[ -]?(?:\(?[a-z]{4,10}\)? )?v?\d{1,2}(?:\.\d{1,2}){0,2})?(?: ?LTS)?"
    r"|Windows[ -]?(?:Server )?(?:7|8(?:\.1)?|10|11|20\d\d|XP)(?: ?(?:Pro|Home|Enterprise|Education))?|Win ?(?:7|8|10|11)\b|mac ?OS(?: X)?(?: [A-Z][a-z]+(?: [A-Z][a-z]+)?)?(?: ?\d{2}(?:\.\d+){0,2})?|OS ?X(?: ?\d+\.\d+)?)"
)

SIGNATURES: tuple[Signature, ...] = (
    # --- operating systems
    sig(
        "operating-system",
        (
            "os platform and distribution",
            "os platform",
            "operating system",
            "os version",
            "os:",
            "os / ",
            "- os",
            "**os",
        ),
        r"(?:^|[\s*_`>(|-])(?:OS Platform(?: and Distribution)?|Operating system(?: and version)?|OS version|OS)(?: \((?:e\.g\.|for example)[^)\n]{0,60}\)?\)?)?[ *_`]{0,6}[:：][ *_`-]{0,6}(?P<name>(?!Linux Ubuntu 16\.04\)|e\.g)[^\n]{2,80})",
        "- OS Platform and Distribution (e.g., Linux Ubuntu 16.04): **windows 10**",
        system(FORM),
    ),
    sig(
        "operating-system",
        ("os platform and distribution",),
        r"OS Platform and Distribution\W{0,10}\n\s*\n?(?P<name>[^\n#:]{2,80})",
        "### OS Platform and Distribution\n\nLinux Ubuntu 22.04",
        system(FORM),
        lines=3,
    ),
    sig(
        "operating-system",
        ("pretty_name=", "description:", "ubuntu-"),
        r"PRETTY_NAME=\"?(?P<name>[^\"\n]{3,60})|^Description:\s+(?P<n2>[^\n]{3,60})",
        'PRETTY_NAME="Ubuntu 20.04.6 LTS"',
        lambda m, s: (OperatingSystem(s, (m["name"] or m["n2"]).strip()), Platform(s, "linux")),
    ),
    sig(
        "operating-system",
        (
            "ubuntu",
            "debian",
            "centos",
            "fedora",
            "rhel",
            "red hat",
            "redhat",
            "windows",
            "win10",
            "win 10",
            "win11",
            "win 11",
            "win7",
            "win 7",
            "macos",
            "mac os",
            "os x",
            "manjaro",
            "arch linux",
            "mint",
            "rocky",
            "kali",
            "raspbian",
            "pop!_os",
            "opensuse",
            "amazon linux",
            "almalinux",
        ),
        rf"(?<!e\.g\., Linux )(?<!e\.g\., )(?<![\w/.-])(?P<name>{_SYSTEMS})(?![\w/])",
        "It happens on Ubuntu 20.04 only",
        system(PROSE),
    ),
    sig(
        "operating-system",
        ("-ubuntu smp", "-ubuntu", "-kali", "debian"),
        r"#\d+[~.\d-]*-(?P<name>Ubuntu)\b|\d-(?P<n2>kali)\d",
        "Linux host 4.4.0-72-generic #93-Ubuntu SMP",
        lambda m, s: (OperatingSystem(s, m["name"] or m["n2"]), Platform(s, "linux")),
    ),
    sig(
        "platform-windows",
        ("c:\\", "d:\\", "e:\\", "f:\\", ".dll", "\\lib\\site-packages", "win_amd64", "on win32"),
        r"\b[A-Z]:\\+(?:Users|Program|Windows|Python|Anaconda|ProgramData|\w+\\)|\\lib\\site-packages|cu\w+64_\d+\.dll|nvcuda\.dll|\bwin_amd64\b|\] on win32",
        r"C:\Users\me\anaconda3\lib\site-packages\tensorflow\__init__.py",
        platform("windows"),
    ),
    sig(
        "platform-macos",
        (
            "/users/",
            "macosx",
            "apple silicon",
            "apple m1",
            "apple m2",
            "m1 mac",
            "m1 chip",
            ".dylib",
            "homebrew",
            "on darwin",
        ),
        r"\bmacosx[_-]\d+|Apple Silicon|Apple M[1-4]|M[1-4] (?:Mac|chip|Pro|Max)\b|\w\.dylib\b|\bon darwin\b|/opt/homebrew|\bMacBook",
        "macosx_15_0_x86_64",
        platform("macos"),
    ),
    sig(
        "platform-linux",
        (".so.", "/usr/lib", "/home/", "linux", "/proc/driver"),
        r"lib\w+\.so\.\d|/usr/(?:local/)?lib|/home/\w+/|on linux\b|\bmanylinux|GNU/Linux|/proc/driver/nvidia",
        "libcudart.so.11.0: cannot open shared object file",
        platform("linux"),
    ),
    sig(
        "platform-wsl",
        ("microsoft-standard", "/mnt/c/", "/mnt/d/", "/usr/lib/wsl", "-microsoft "),
        r"microsoft-standard|/mnt/[c-e]/|/usr/lib/wsl|\d-Microsoft\b",
        "Linux 5.15.90.1-microsoft-standard-WSL2 x86_64",
        platform("wsl"),
    ),
    sig(
        "platform-wsl",
        ("wsl", "windows subsystem for linux"),
        r"\bWSL ?2?\b(?!\w)(?![^\n]{0,40}DirectML)|Windows Subsystem for Linux",
        "I run it under WSL2",
        platform("wsl", PROSE),
    ),
    sig(
        "platform-wsl",
        ("host (desktop-", "host (laptop-", "@desktop-", "@laptop-", "hostname: desktop-", "hostname: laptop-"),
        r"(?:host \(|@|hostname: )(?:DESKTOP|LAPTOP)-[A-Z0-9]{6,8}\b",
        "kernel driver does not appear to be running on this host (DESKTOP-4F7K2QX): /proc/driver/nvidia/version does not exist",
        platform("wsl", INFERRED),
    ),
    # --- environments
    sig(
        "environment-docker",
        ("docker", "/.dockerenv", "container", "podman", "tensorflow/tensorflow:", "nvidia/cuda:", "nvcr.io"),
        r"\btf-docker\b|\bdocker (?:run|exec|compose|build|container|image)|docker-compose|nvidia-docker|\bDockerfile|/\.dockerenv|tensorflow/tensorflow:|nvidia/cuda:|nvcr\.io|\bin(?:side)? (?:a |the |my )?(?:docker|container)\b|docker image|docker container|podman run|docker:",
        "docker run --rm tensorflow/tensorflow:latest-gpu",
        kind("docker"),
    ),
    sig(
        "environment-docker",
        ("root@",),
        r"\broot@[0-9a-f]{12}[:#]",
        "root@916bec87a1e8:/develop# python test.py",
        kind("docker"),
    ),
    sig(
        "environment-docker",
        ("host (",),
        r"running on this host \([0-9a-f]{12}\)|hostname: [0-9a-f]{12}\b",
        "kernel driver does not appear to be running on this host (916bec87a1e8): /proc/driver/nvidia/version does not exist",
        kind("docker"),
    ),
    sig(
        "nvidia-docker-path",
        "/usr/local/nvidia/lib",
        r"/usr/local/nvidia/lib(?:64)?\b",
        "LD_LIBRARY_PATH: /usr/local/nvidia/lib:/usr/local/nvidia/lib64",
    ),
    sig(
        "environment-kubernetes",
        ("kubernetes", "kubectl", "k8s", "kubeflow", "nvidia.com/gpu", "kubespawner"),
        r"\bkubernetes\b|\bkubectl\b|\bk8s\b|nvidia\.com/gpu|kubeflow|kubespawner",
        "kubectl describe pod tf-gpu",
        kind("kubernetes"),
    ),
    sig(
        "environment-singularity",
        ("singularity", "apptainer"),
        r"\b(?:singularity|apptainer)\b|\.singularity\.d|\.sif\b",
        "singularity exec --nv tf.sif python train.py",
        kind("singularity"),
    ),
    sig(
        "environment-conda",
        ("conda", "envs/", "envs\\", "miniforge", "mambaforge"),
        r"\bconda (?:install|create|activate|list|env|update|info)|(?:ana|mini)conda\d?[/\\]|[/\\]envs[/\\][\w.-]+|miniforge|mambaforge|\bmamba (?:install|create)",
        "/opt/conda/envs/tf/lib/python3.8/site-packages",
        kind("conda"),
    ),
    sig(
        "environment-colab",
        ("colab", "/content/"),
        r"\bcolab\b|google\.colab|(?:^|[\"' (])/content/(?:drive|sample_data|\w+)",
        "/content/drive/MyDrive/train.py",
        kind("colab"),
    ),
    sig(
        "environment-kaggle",
        "kaggle",
        r"/kaggle/(?:working|input)|kaggle (?:notebook|kernel)",
        "/kaggle/working/train.py",
        kind("kaggle"),
    ),
    sig(
        "environment-codespaces",
        ("codespaces", "github codespace", "gitpod", "readthedocs", "github actions", "runner/work", "/home/runner"),
        r"codespaces-\w+|GitHub Codespaces?|\bgitpod\b|/home/runner/work|GitHub Actions|readthedocs\.(?:org|io)/builds|/home/docs/checkouts",
        "kernel driver does not appear to be running on this host (codespaces-8a48fe): /proc/driver/nvidia/version does not exist",
        kind("ci"),
    ),
    sig(
        "environment-slurm",
        ("slurm", "srun", "sbatch", "salloc"),
        r"\bslurm\w*|\bsrun[: ]|\bsbatch\b|#SBATCH|\bsalloc\b",
        "srun: error: node16: task 0: Exited with exit code 1",
        kind("slurm"),
    ),
    sig(
        "login-node",
        ("login node", "head node", "login01", "login1", "frontend node", "(login"),
        r"\b(?:login|head|front-?end) node\b|host \(login[\w-]*\)",
        "I ran it on the login node of the cluster",
    ),
    sig(
        "environment-jetson",
        ("jetson", "tegra", "jetpack", "l4t"),
        r"\bjetson\b|\btegra\b|\bjetpack\b|\bl4t\b",
        "Jetson Nano with JetPack 4.4",
        kind("jetson"),
    ),
    sig(
        "environment-venv",
        ("venv", "virtualenv", "pipenv", "poetry"),
        r"[/\\]\.?venv[/\\]|\bvirtualenv\b|-m venv\b|\(venv\)",
        "/home/me/venv/lib/python3.8/site-packages",
        kind("venv"),
    ),
    sig(
        "environment-notebook",
        ("jupyter", "ipython", "notebook", "ipykernel"),
        r"\bjupyter\b|\bipython\b|ipykernel|<ipython-input",
        "<ipython-input-5-91979d02e4c7> in <module>()",
        kind("notebook"),
    ),
    sig(
        "environment-pycharm",
        (
            "pycharm",
            "eclipse",
            "spyder",
            "vscode",
            "vs code",
            "visual studio code",
            "systemd",
            "cron",
            "jupyterhub",
            "rstudio",
            "supervisor",
        ),
        r"\b(?P<tool>pycharm|eclipse|spyder|vs ?code|visual studio code|systemd|cron(?:tab)?|jupyterhub|rstudio)\b",
        "It works in a terminal, but not in PyCharm",
    ),
    sig(
        "works-in-terminal",
        ("terminal", "command line", "cmd", "console", "shell"),
        r"(?:(?:in|from|on|with) (?:a|the|my)? ?(?:terminal|command line|cmd|console|shell|bash)\b[^\n.]{0,60}\b(?:works?|fine|ok|no (?:error|problem)|succeeds?)"
        r"|(?:works?|fine|ok|no (?:error|problem)s?|succeeds?)\b[^\n.]{0,40}(?:in|from|on|with) (?:a|the|my)? ?(?:terminal|command line|cmd|console|shell)\b)",
        "In a terminal import tensorflow works fine",
    ),
    # --- environment variables
    sig(
        "env-var",
        ("cuda_visible_devices", "nvidia_visible_devices", "nvidia_driver_capabilities", "hip_visible_devices"),
        r"(?P<name>CUDA_VISIBLE_DEVICES|NVIDIA_VISIBLE_DEVICES|NVIDIA_DRIVER_CAPABILITIES)['\"]?\]?\s*(?:=|,|:)\s*(?P<value>\"[^\"\n]{0,60}\"|'[^'\n]{0,60}'|[\w,./:-]{0,60})(?![\w(])",
        'os.environ["CUDA_VISIBLE_DEVICES"] = "-1"',
        env,
    ),
    sig(
        "env-var",
        ("ld_library_path=", "ld_library_path ="),
        r"(?P<name>LD_LIBRARY_PATH)\s*=\s*(?P<value>[^\s;\n]{1,300})",
        "export LD_LIBRARY_PATH=$LD_LIBRARY_PATH:/usr/local/cuda-11/lib64",
        env,
    ),
    sig(
        "env-var",
        (
            "tf_force_gpu_allow_growth",
            "tf_gpu_allocator",
            "xla_flags",
            "tf_cpp_min_log_level",
            "tf_enable_onednn_opts",
            "tf_xla_flags",
            "tf_use_legacy_keras",
            "cuda_device_order",
            "cuda_home=",
            "cuda_path=",
        ),
        r"(?P<name>TF_FORCE_GPU_ALLOW_GROWTH|TF_GPU_ALLOCATOR|XLA_FLAGS|TF_XLA_FLAGS|TF_CPP_MIN_LOG_LEVEL|TF_USE_LEGACY_KERAS|CUDA_DEVICE_ORDER|CUDA_HOME|CUDA_PATH)['\"]?\]?\s*=\s*(?P<value>\"[^\"\n]{0,120}\"|'[^'\n]{0,120}'|[^\s'\";]{0,120})",
        "export TF_GPU_ALLOCATOR=cuda_malloc_async",
        env,
    ),
    # --- GPUs in words and tables
    sig(
        "smi-gpu",
        "|",
        r"\|\s+(?P<index>\d{1,3})\s+(?P<name>(?:NVIDIA|GeForce|Tesla|Quadro|TITAN|GRID|RTX|GTX|A\d|H\d|T\d|L\d)[\w /().-]{1,40}?)(?:\s{2,}|\.\.\.\s*)(?:On|Off|WDDM|TCC|N/A|MCDM)?\s*(?:WDDM |TCC |On |Off )?\s*\|\s+(?P<bus>[0-9A-Fa-f]{4,8}:[0-9A-Fa-f:.]+)",
        "|   0  GeForce RTX 2060    Off  | 00000000:01:00.0  On |                  N/A |",
        smi_name,
    ),
    sig(
        "smi-gpu",
        "(uuid: gpu-",
        r"GPU (?P<index>\d+): (?P<name>[^\n(]{3,60}) \(UUID: (?P<uuid>GPU-[\w-]{8,40})\)",
        "GPU 0: Tesla T4 (UUID: GPU-0a1b2c3d-1234-5678-9abc-def012345678)",
        lambda m, s: Gpu(s, m["name"].strip(), index=int(m["index"]), uuid=m["uuid"]),
    ),
    sig(
        "lspci-gpu",
        "nvidia corporation",
        r"(?:VGA compatible|3D) controller(?: \[\w+\])?: NVIDIA Corporation (?:\w+ )?\[(?P<name>[^\]\n]{3,60})\](?: \[(?P<pci>10de:[0-9a-f]{4})\])?",
        "01:00.0 VGA compatible controller: NVIDIA Corporation GP104 [GeForce GTX 1080] (rev a1)",
        lambda m, s: Gpu(s, m["name"], pci_id=m["pci"]),
    ),
    sig(
        "gpu-form",
        (
            "gpu model and memory",
            "gpu model",
            "gpu:",
            "graphics card",
            "gpu type",
            "video card",
            "显卡",
            "graphic card",
            "gpus:",
            "gpu :",
            "cuda device",
            "gpu =",
        ),
        r"(?:GPU model and memory|GPU models?|GPU type|GPUs?|graphics? cards?|video card|显卡|GPU name|CUDA device)(?: \([^)\n]{0,40}\))?[ *_`]{0,4}(?:[:：=-]|is)[ *_`-]{0,6}(?P<value>[^\n]{2,120})",
        "- GPU model and memory: GeForce GTX 1060 6GB",
        gpu_in(FORM),
    ),
    sig(
        "gpu-form",
        ("gpu model and memory",),
        r"GPU model and memory\W{0,10}\n\s*\n?(?P<value>[^\n#]{2,120})",
        "### GPU model and memory\n\nRTX 2060 6GB",
        gpu_in(FORM),
        lines=3,
    ),
    sig(
        "gpu-prose",
        (
            "rtx",
            "gtx",
            "tesla",
            "quadro",
            "titan",
            "geforce",
            "a100",
            "h100",
            "v100",
            "p100",
            "k80",
            "k40",
            "t4",
            "a6000",
            "a40",
            "a10",
            "jetson",
            "mx150",
            "mx250",
            "mx350",
            "940mx",
            "gt ",
            "gt7",
            "grid",
            "a5000",
            "l40",
            "b200",
            "h200",
            "rtx_",
            "p40",
            "k20",
            "m60",
            "a30",
            "l4",
        ),
        rf"(?<![A-WYZa-wyz0-9_/.]){GPU_NAME}",
        "my RTX 3080 is not used",
        gpu_in(PROSE),
    ),
    sig(
        "compute-capability",
        ("compute capability", "computecapability", "compute_capability", "cuda capability"),
        r"compute[_ ]?capability(?: \(?cc\)?)?\W{0,4}(?:of |is |version |: ?|= ?)?(?P<cc>\d{1,2}\.\d)(?!\d)(?![^\n]{0,10}(?:or|and) (?:higher|above|later))",
        "Compute Capability: 5.0",
        lambda m, s: (
            Gpu(s, None, m["cc"], rank=FORM)
            if not re.search(
                r"(?i)(?:minimum|requires?|wants|least|needs?|below|above|under|lowest|than)\W[^\n]{0,40}$",
                m.string[max(0, m.start() - 60) : m.start()],
            )
            else None
        ),
    ),
    sig(
        "other-gpu",
        (
            "radeon",
            "intel(r) uhd",
            "intel uhd",
            "intel hd",
            "iris",
            "integrated graphics",
            "amd gpu",
            "rx 5",
            "rx 6",
            "rx 7",
            "amd radeon",
            "rocm",
            "intel graphics",
            "intel(r) hd",
            "intel arc",
        ),
        r"(?P<amd>(?:AMD )?Radeon[\w (),.-]{0,30}|\bRX ?[567]\d{3}\w{0,3}(?: ?XTX?)?)|(?P<intel>Intel(?:\(R\))? (?:U?HD|Iris|Arc)[\w (),.-]{0,24}|intel\s+integrated graphics|integrated graphics)",
        "GPU: AMD Radeon RX 580",
        lambda m, s: OtherGpu(s, (m["amd"] or m["intel"]).strip(), "amd" if m["amd"] else "intel"),
    ),
    sig(
        "wants-no-gpu",
        (
            "cpu only",
            "cpu-only",
            "no gpu",
            "without a gpu",
            "without gpu",
            "don't have a gpu",
            "do not have a gpu",
            "xnnpack delegate for cpu",
            "running on cpu",
        ),
        r"(?:I|we|machine|computer|laptop|server|instance|host|vm)\b[^\n.]{0,40}\b(?:no|without(?: a| an)?|don't have (?:a|an|any)|do not have (?:a|an|any)|has no) (?:nvidia )?GPU\b|\bCPU[- ]only (?:machine|server|node|instance)|(?:no|without a) GPU (?:on|in) (?:this|my|the) (?:machine|computer|laptop|server)",
        "I don't have a GPU in this machine, is that a problem?",
    ),
    sig(
        "tensorboard-serving",
        ("tensorboard ", "serving tensorboard"),
        r"TensorBoard [\d.]+\S* at http|Serving TensorBoard on",
        "TensorBoard 2.8.0 at http://localhost:6006/ (Press CTRL+C to quit)",
    ),
    sig(
        "uses-cpu",
        (
            "uses cpu",
            "using cpu",
            "on the cpu",
            "gpu is not used",
            "gpu not used",
            "not using gpu",
            "not use gpu",
            "doesn't use",
            "does not use",
            "not detect",
            "not recogni",
            "doesn't see",
            "does not see",
            "can't find gpu",
            "cannot find gpu",
            "no gpu found",
            "gpu not found",
            "not finding",
            "no gpu",
            "doesn't detect",
            "isn't using",
            "gpu usage",
            "gpu utilization",
            "not seeing",
        ),
        r"(?:uses?|using|runs? on|running on) (?:only )?(?:the )?CPU\b|GPU (?:is )?(?:not|n't|never) (?:being )?(?:used|found|detected|recognized|recognised|visible|available)|(?:not|n't|cannot|can't|doesn't|does not|isn't) (?:\w+ )?(?:use|using|detect|find|see|recogni[sz]e)(?:ing)? (?:\w+ ){0,3}GPU|no GPU (?:found|detected|device)",
        "TensorFlow does not use my GPU",
    ),
)
