"""Signatures of the environment in which the program runs: containers, clusters, notebooks, conda and virtual
environments."""

from __future__ import annotations

import re

from doctor import lazy
from doctor.facts import EnvironmentKind, Fact, Source, Symptom
from doctor.logs.signatures.signature import Signature, sig, spoken


def _environment(kind: str, literals: str | tuple[str, ...], pattern: str, example: str) -> Signature:
    """Make a signature whose first match shows that the program runs in this kind of environment."""
    return sig(
        f"environment-{kind}", literals, pattern, example, lambda m, s: EnvironmentKind(s, kind), once=True
    )


def binding(match: re.Match[str], source: Source) -> Fact:
    """Make the fact about the language binding that the text mentions."""
    return Symptom(source, "binding", (("language", match.lastgroup or ""),))


_PLAIN = (
    r"(?:plain|normal|ordinary|regular|bare|standalone|interactive) (?:R|i?python3?)(?: (?:session|shell"
    r"|prompt|console|interpreter|process|script))?|(?:start|run|launch)(?:ed|ing)? [^\n.]{0,24}(?:by hand"
    r"|manually)|just (?:run|start) R|terminale?|konsole|kommandozeile|ligne de commande|línea de comandos"
    r"|linha de comando|терминал\w{0,3}|консол\w{1,3}|riga di comando"
)
"""Matches a plain session, a start by hand, and "terminal" in the languages of reports."""
_WORKS = (
    r"\b(?:works?|worked|fine|loads? (?:it |them |tensorflow )?without|no (?:error|problem)s?|succeeds?|läuft"
    r"|funktioniert|klappt|geht|fonctionne|marche|funciona|funziona|работает)\b"
)
"""Matches words that say that a program works, in the languages of reports."""
_NOT = r"(?:\bnot\b|n't|never|nicht|\bpas\b|\bno (?:funciona|longer)|não|\bnon\b|не )"
"""Matches words that negate them."""


def works_elsewhere(match: re.Match[str], source: Source) -> Fact | None:
    """Return the symptom for a program that works in a terminal or a plain session, or None if the words say
    that it does not work there."""
    before = match.string[max(0, match.start() - 12) : match.start()].rpartition("\n")[2]
    if re.search(_NOT, before + match[0], re.IGNORECASE):
        return None
    return Symptom(source, "works-in-terminal")


_COMPUTES = lazy.compile(
    r"^[ \t]{1,12}(?:build:|image:[^\n]{0,80}(?:tensorflow|cuda|gpu|nvcr|jupyter|python))", re.MULTILINE
)
"""Matches a service in a compose file that may need a GPU; a database does not."""


def compose(match: re.Match[str], source: Source) -> Fact | None:
    """Return the symptom for services in a docker compose file that get the GPU or none, or None if no
    service may need one."""
    services = match["services"]
    if not _COMPUTES.search(services):
        return None
    given = re.search(r"nvidia|\bgpus?:|\[[ '\"]{0,3}gpu|runtime:|devices:", services)
    return Symptom(source, "gpus-flag" if given else "compose-without-gpu")


SIGNATURES: tuple[Signature, ...] = (
    _environment(
        "docker",
        "docker|/.dockerenv|container|podman|tensorflow/tensorflow:|nvidia/cuda:|nvcr.io|--runtime|"
        "nvidia/tensorflow:",
        r"\btf-docker\b|\bdocker (?:run|exec|compose|build|container|image)"
        r"|docker-compose|nvidia-docker|\bDockerfile|/\.dockerenv|tensorflow/tensorflow:"
        r"|nvidia/cuda:|nvcr\.io|\bnvidia/tensorflow:\d\d\.\d\d"
        r"|(?<!are we )\bin(?:side)? (?:a |the |my )?(?:docker|container)\b"
        r"|docker[ -]?(?:images?|containers?)\b|\bin(?:side)? (?:a |the |my |this |our )(?:\w+ )?container\b"
        r"|\b(?:my|our) container\b|--runtime[= ]nvidia\b|\bnvidia-container-(?:cli|toolkit|runtime)\b"
        r"|docker ?(?:容器|镜像|里|中|内|コンテナ|컨테이너|에서)|podman run|docker:",
        "docker run --rm tensorflow/tensorflow:latest-gpu",
    ),
    _environment("docker", "root@", r"\broot@[0-9a-f]{12}[:#]", "root@916bec87a1e8:/develop# python test.py"),
    _environment(
        "docker",
        "host (|hostname: ",
        r"running on this host \([0-9a-f]{12}\)|hostname: [0-9a-f]{12}\b",
        "kernel driver does not appear to be running on this host (916bec87a1e8): /proc/driver/nvidia/version"
        " does not exist",
    ),
    _environment(  # a step of an image that is being built, as Docker's two builders print it
        "docker",
        " : run | : from |] run ",
        r"^[ \t]{0,8}(?:Step \d{1,3}/\d{1,3} : (?:FROM|RUN)"
        r"|(?:=> |ERROR |#\d{1,4} ){1,4}\[[\w ./-]{1,40}\] RUN) ",
        "Step 4/7 : RUN mamba install -y tensorflow-gpu",
    ),
    sig(  # a mention anywhere in the text, which does not prove that the run was inside one
        "mentions-container",
        "docker|container|podman|singularity|apptainer|kubernetes|容器|镜像",
        r"(?<!\bno )(?<!\bnot )(?<!\bnot in )(?<!\bwithout )\b"
        r"(?:docker|containers?|podman|singularity|apptainer|kubernetes)\b|容器|镜像",
        "the docker worker stops",
        once=True,
    ),
    _environment("lxc", "lxc|lxd|incus", r"\b(?:lxc|lxd|incus)\b", "CUDA inside an lxc container"),
    sig(
        "nvidia-docker-path",
        "/usr/local/nvidia/lib",
        r"/usr/local/nvidia/lib(?:64)?\b",
        "LD_LIBRARY_PATH: /usr/local/nvidia/lib:/usr/local/nvidia/lib64",
    ),
    _environment(
        "kubernetes",
        "kubernetes|kubectl|k8s|kubeflow|nvidia.com/gpu|kubespawner",
        # nvidia.com/gpu=0 and nvidia.com/gpu=all are CDI names, for podman and docker
        r"\bkubernetes\b|\bkubectl\b|\bk8s\b|nvidia\.com/gpu(?!=)|kubeflow|kubespawner",
        "kubectl describe pod tf-gpu",
    ),
    _environment(
        "singularity",
        "singularity|apptainer|.sif",
        r"\b(?:singularity|apptainer)\b|\.singularity\.d|\.sif\b",
        "singularity exec --nv tf.sif python train.py",
    ),
    sig(
        "nv-flag-missing",
        "singularity |apptainer ",
        r"\b(?:singularity|apptainer) (?:-\w+ )?(?:run|exec|shell) (?![^\n]*(?:--?nv"
        r"|--rocm|\$|\\\s*$))[^\n]{0,160}?(?:\.(?:sif|simg|img|sqsh)\b|docker://|library://)",
        "singularity shell tensorflow.sif",
    ),
    sig("nv-flag", "--nv", r"--nv(?:ccli)?\b", "apptainer exec --nv tensorflow.sif python train.py"),
    sig(
        "compose-without-gpu",
        "services:",
        r"^services:[ \t]*\n(?P<services>(?:[ \t]+[^\n]*\n|\n){1,60}(?:[ \t]+[^\n]+)?)",
        "services:\n  trainer:\n    image: tensorflow/tensorflow:2.15.0-gpu\n    command: python train.py\n",
        compose,
        lines=62,
    ),
    sig(  # docker run without an option for the GPU, of an image made for the GPU
        "gpus-flag-missing",
        "docker run ",
        r"(?<!nvidia-)\bdocker run (?![^\n]*(?:--gpus|--runtime|--device|nvidia-docker"
        r"|\\\s*$))[^\n]{0,200}?(?:tensorflow/tensorflow:[\w.-]*gpu|nvcr\.io/nvidia/tensorflow:)",
        "docker run -it --rm tensorflow/tensorflow:2.11.0-gpu bash",
    ),
    sig(
        "gpus-flag",
        "--gpus|--runtime|nvidia-docker|default-runtime|--nv",
        r"--gpus\b|--runtime[= ]nvidia\b|\bnvidia-docker\b|default-runtime\b|(?<![\w-])--nv(?![\w-])",
        "docker run --gpus all tensorflow/tensorflow:2.11.0-gpu",
        once=True,
    ),
    _environment(
        "conda",
        "conda|envs/|envs\\|miniforge|mambaforge|mamba install|mamba create",
        r"\bconda (?:install|create|activate|list|env|update|info)"
        r"|(?:ana|mini)conda\d?[/\\]|[/\\]envs[/\\][\w.-]+|miniforge|mambaforge"
        r"|\bconda (?:did |has |had )?(?:install(?:ed|s)) (?:the )?(?:cudatoolkit|cudnn|cuda|tensorflow)"
        r"|\bconda (?:did|does) install\b|\d / conda /|\bconda python \d"
        r"|\bmamba (?:install|create)|(?<!packaged by )\bconda-forge\b",
        "/opt/conda/envs/tf/lib/python3.8/site-packages",
    ),
    sig(
        "nix",
        "/nix/store/|nix-shell|nixpkgs|nixos|nix develop|nix-build",
        r"/nix/store/\w|\bnix-(?:shell|build)\b|\bnixpkgs\b|\bNixOS\b|\bnix develop\b",
        "nix-shell -p python3Packages.tensorflowWithCuda",
        once=True,
    ),
    _environment(
        "colab",
        "colab|/content/",
        r"\bcolab\b|google\.colab|(?:^|[\"' (])/content/(?:drive|sample_data|\w+)",
        "/content/drive/MyDrive/train.py",
    ),
    _environment(
        "kaggle",
        "kaggle",
        r"/kaggle/(?:working|input)|kaggle (?:notebook|kernel)",
        "/kaggle/working/train.py",
    ),
    _environment(
        "sagemaker",
        "sagemaker|/opt/ml/",
        r"\bsagemaker\b|/opt/ml/(?:input|model|code|processing)\b",
        "/opt/ml/model/1/saved_model.pb",
    ),
    _environment(
        "vertex",
        "vertex ai|ai platform|aiplatform",
        r"\bVertex AI\b|\bAI Platform\b|\baiplatform\.googleapis\b",
        "a custom container on Vertex AI",
    ),
    _environment(
        "azureml",
        "azureml|azure ml|azure machine learning",
        r"\bazureml\b|\bAzure ML\b|\bAzure Machine Learning\b",
        "azureml.core.compute",
    ),
    _environment("databricks", "databricks", r"\bdatabricks\b", "the runtime 13.3 ML of Databricks"),
    _environment(
        "ci",
        "codespaces|github codespace|gitpod|readthedocs|github actions|runner/work|/home/runner|"
        "/home/docs/checkouts",
        r"codespaces-\w+|GitHub Codespaces?"
        r"|\bgitpod\b|/home/runner/work|GitHub Actions|readthedocs\.(?:org|io)/builds|/home/docs/checkouts",
        "kernel driver does not appear to be running on this host (codespaces-8a48fe):"
        " /proc/driver/nvidia/version does not exist",
    ),
    # platforms that host apps or functions have no GPU: Heroku, AWS Lambda, the machines of Streamlit and
    # Render
    _environment(
        "hosted",
        (
            *("app[web.", "heroku[", "/.heroku/", "requestid: ", "/var/task/", "/var/lang/", "/mount/src/"),
            *("/home/adminuser/venv", "/opt/render/project", ".pythonanywhere.com"),
            "app[worker.",
        ),
        r"\b(?:app|heroku)\[(?:web|worker)\.\d+\]:"
        r"|/app/\.heroku/|\b(?:START|END|REPORT) RequestId: [0-9a-f]{8}-|/var/(?:task|lang)/[\w.-]"
        r"|[\s\"'(]/mount/src/\w|/home/adminuser/venv/|/opt/render/project/|\w\.pythonanywhere\.com",
        "2021-05-23T02:40:30.271713+00:00 app[web.1]: failed call to cuInit: UNKNOWN ERROR (303)",
    ),
    _environment(
        "slurm",
        "slurm|srun|sbatch|salloc",
        r"\bslurm\w*|\bsrun[: ]|\bsbatch\b|#SBATCH|\bsalloc\b",
        "srun: error: node16: task 0: Exited with exit code 1",
    ),
    sig(
        "login-node",
        "login|head node|frontend node|front-end node",
        r"\b(?:login|head|front-?end) node\b|host \(login[\w-]{0,40}\)"
        r"|^\W{0,4}(?:\([\w.-]{1,40}\) )?\[?[\w.-]{1,32}@[\w.-]{0,20}login[\w.-]{0,20}[ :][^\n]{0,80}[$#]",
        "I ran it on the login node of the cluster",
    ),
    _environment(
        "jetson",
        "jetson|tegra|jetpack|l4t",
        r"\bjetson\b|\btegra\b|\bjetpack\b|\bl4t\b",
        "Jetson Nano with JetPack 4.4",
    ),
    _environment(
        "venv",
        "venv|virtualenv|pipenv|poetry",
        r"[/\\]\.?venv[/\\]|\bvirtualenv\b|-m venv\b|\(venv\)",
        "/home/me/venv/lib/python3.8/site-packages",
    ),
    _environment(
        "notebook",
        "jupyter|ipython|notebook|ipykernel",
        r"\bjupyter\b|\bipython\b|ipykernel|<ipython-input",
        "<ipython-input-5-91979d02e4c7> in <module>()",
    ),
    sig(
        "environment-pycharm",
        "pycharm|eclipse|spyder|vscode|vs code|visual studio code|systemd|cron|jupyterhub|rstudio|supervisor",
        r"\b(?P<tool>pycharm|eclipse|spyder|vs ?code|visual studio"
        r" code|systemd|cron(?:tab)?|jupyterhub|rstudio)\b",
        "It works in a terminal, but not in PyCharm",
    ),
    spoken(
        "works-in-terminal",
        "terminal|command line|cmd|console|shell|bash|but not",
        r"works?\b[^\n.]{0,40}\bwith (?:python|jupyter)\b[^\n.]{0,40}\bbut not (?:in|with|from)? ?"
        r"(?:the )?(?:ipython|jupyter|pycharm|spyder|rstudio|vs ?code|atom|eclipse|cron|systemd|sudo)\b"
        r"|(?:(?:in|from|on|with) (?:a|the|my)? ?(?:terminal|command line|cmd"
        r"|console|shell|bash)\b[^\n.]{0,60}\b(?:works?|fine|ok|no (?:error|problem)|succeeds?|gets? along)"
        r"|(?:works?|fine|ok|no (?:error|problem)s?|succeeds?)\b[^\n.]{0,40}(?:in"
        r"|from|on|with) (?:a|the|my)? ?(?:terminal|command line|cmd|console|shell)\b)",
        "In a terminal import tensorflow works fine",
        near="work|fine|ok|no error|no problem|succeed|along",
    ),
    spoken(  # the same of a plain session, of a start by hand, and in other languages
        "works-in-terminal",
        "terminal|konsole|kommandozeile|ligne de commande|línea de comandos|linha de comando|терминал|консол|"
        "riga di comando|plain |normal |ordinary |regular |bare |standalone |interactive |by hand|manually|"
        "just run r|just start r",
        rf"(?:{_PLAIN})(?!\w)[^\n.]{{0,60}}?{_WORKS}|{_WORKS}[^\n.]{{0,60}}?(?:{_PLAIN})(?!\w)",
        "A plain R session on the same machine loads it without any error",
        works_elsewhere,
        near="work|fine|load |loads |no error|no problem|succeed|läuft|funktioniert|klappt|geht|fonctionne|"
        "marche|funciona|funziona|работает",
    ),
    sig(  # TensorFlow's library in a program that is not a Python program
        "binding",
        "tfjs-node|tfjs_binding|tensorflow.net|tensorflowsharp|scisharp.tensorflow|org.tensorflow|"
        "tensorflow-core-platform|tensorflow_jni|tensorflow-java|tensorflow/go|tfgo|tensorflow.jl|"
        '("tensorflow")|new configproto|new gpuoptions|library(keras|library(tensorflow)|'
        "library(reticulate)|install_keras(|install_tensorflow(|reticulate::|nextcloud",
        # Nextcloud's app Recognize requires @tensorflow/tfjs-node-gpu (nextcloud/recognize, package.json)
        r"(?P<node>\btfjs-node\b|\btfjs_binding\b|\bRecognize\b[^\n]{0,80}\bNextcloud\b"
        r"|\bNextcloud\b[^\n]{0,80}\bRecognize\b)|(?P<dotnet>\bTensorFlow\.NET\b|\bTensorFlowSharp\b"
        r"|\bSciSharp\.TensorFlow\b|\bnew"
        r" (?:ConfigProto|GPUOptions)\b)"
        r"|(?P<java>\borg\.tensorflow\.(?:[A-Z]|op\.|types\.|internal\.|ndarray\.|exceptions\.)"
        r"|\borg\.tensorflow:(?:lib)?tensorflow(?:_jni|-core\S{0,30})?(?![-\w])|\btensorflow-core-platform\b"
        r"|tensorflow_jni\b|\btensorflow-java\b)"
        r"|(?P<go>\btensorflow/go(?=[\s\"'/`)]|$)|\btfgo\b)|(?P<julia>\bTensorFlow\.jl\b|\bPkg\.(?:add|build"
        r"|test)\(\"TensorFlow\"\))"
        r"|(?P<r>\blibrary\((?:keras3?|tensorflow|reticulate)\)|\binstall_(?:keras|tensorflow)\("
        r"|\breticulate::)",
        "npm i @tensorflow/tfjs-node-gpu",
        binding,
        once=True,
    ),
    sig(  # a binding has two packages; this is the one without CUDA
        "binding-cpu-package",
        "@tensorflow/tfjs-node|tensorflow-core-platform|scisharp.tensorflow.redist|libtensorflow_jni",
        r"@tensorflow/tfjs-node(?![-\w])|\btensorflow-core-platform(?![-\w])|\blibtensorflow_jni(?![-\w.])"
        r"|\bSciSharp\.TensorFlow\.Redist(?![-\w])",
        "const tf = require('@tensorflow/tfjs-node')",
        once=True,
    ),
    sig(
        "binding-gpu-package",
        "tfjs-node-gpu|tensorflow-core-platform-|linux-x86_64-gpu|scisharp.tensorflow.redist-|"
        "tensorflow_jni_gpu",
        r"\btfjs-node-gpu\b|\blibtensorflow_jni_gpu\b|\btensorflow-core-platform-(?:mkl-)?gpu\b"
        r"|\blinux-x86_64-gpu\b"
        r"|\bSciSharp\.TensorFlow\.Redist-\w+-GPU\b",
        "npm i @tensorflow/tfjs-node-gpu",
        once=True,
    ),
)
