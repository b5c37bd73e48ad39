"""Checks the manifest against the schemas of the Kubernetes API, and runs its container's command as a pod
would run it."""

from __future__ import annotations

import base64
import json
import os
import subprocess
from pathlib import Path
from typing import Any, Callable

import pytest

from doctor.errors import UsageError
from doctor.fleet.kubernetes import Options, manifest
from tests.tensorflow_envs import package_env

Fleet = Callable[..., "subprocess.CompletedProcess[str]"]
IMAGE = "tensorflow/tensorflow:2.15.0-gpu"
WISHES = {
    "job": Options(IMAGE, nodes=4),
    "daemonset": Options(IMAGE, gpus=0, namespace="gpu-team"),
    "all": Options(
        "registry.example:5000/team/train@sha256:" + "0" * 64,
        2,
        8,
        "ml",
        ("nvidia.com/gpu.product=A100-SXM4-40GB", "pool="),
        ("gpu=yes:NoSchedule", "special", "x=:NoExecute"),
        "/opt/my env's/venv",
        120,
    ),
}
CHECK = """
import json, sys, yaml, kubernetes_validate
release, *files = sys.argv[1:]
found = [list(yaml.safe_load_all(open(file))) for file in files]
for item in sum(found, []):
    kubernetes_validate.validate(item, release, strict=True)
json.dump(found, sys.stdout)
"""


@pytest.fixture(scope="session")
def schemas() -> Path:
    """A Python interpreter with a package that contains the schemas of the API, kept in a cache."""
    try:
        return package_env("fleet-kubernetes", ["kubernetes-validate>=1.30"])
    except RuntimeError as error:
        pytest.skip(f"the schemas of the Kubernetes API are not available: {error}"[:300])


@pytest.mark.slow
@pytest.mark.parametrize("release", ["1.27", "1.30"])
def test_every_object_matches_the_api(schemas: Path, tmp_path: Path, release: str) -> None:
    files = [tmp_path / f"{kind}.yaml" for kind in WISHES]
    for file, options in zip(files, WISHES.values()):
        file.write_text("".join(manifest(options)))
    done = subprocess.run(
        [str(schemas), "-c", CHECK, release, *map(str, files)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    for (kind, options), objects in zip(WISHES.items(), json.loads(done.stdout)):
        assert objects[-1]["kind"] == ("DaemonSet" if kind == "daemonset" else "Job")
        for item in objects:  # `kubectl apply` keeps a copy of each in an annotation
            assert len(json.dumps(item)) < 256 * 1024, (kind, item["metadata"]["name"])
        pod = objects[-1]["spec"]["template"]["spec"]
        limits = pod["containers"][0]["resources"].get("limits", {})
        assert limits == ({"nvidia.com/gpu": options.gpus} if options.gpus else {}), kind


def _objects(schemas: Path, text: str, tmp_path: Path) -> list[dict[str, Any]]:
    file = tmp_path / "fleet.yaml"
    file.write_text(text)
    done = subprocess.run(
        [str(schemas), "-c", CHECK, "1.30", str(file)],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    found: list[dict[str, Any]] = json.loads(done.stdout)[0]
    return found


@pytest.mark.slow  # two checks of a machine, each with the archive that a pod unpacks and compiles
def test_what_the_pods_print_is_read_by_fleet_read(schemas: Path, fleet: Fleet, tmp_path: Path) -> None:
    """Runs the container's command, with the content of the ConfigMaps at the places where the container
    mounts them."""
    printed = fleet("--manifest", "kubernetes", "--image", IMAGE, "--nodes", "2", "--timeout", "50")
    assert printed.returncode == 0, printed.stderr
    *maps, job = _objects(schemas, printed.stdout, tmp_path)
    mounted = tmp_path / "tool"
    mounted.mkdir()
    for item in maps:
        for name, data in item["binaryData"].items():
            (mounted / name).write_bytes(base64.b64decode(data))
    container = job["spec"]["template"]["spec"]["containers"][0]
    command = [word.replace("/tfgpu-doctor/", f"{mounted}/") for word in container["command"]]
    logs = []
    for pod, node in (("fleet-0-abcde", "gpu-node-1"), ("fleet-1-fghij", "gpu-node-2")):
        done = subprocess.run(
            command,
            env={"PATH": os.environ["PATH"], "TFGPU_DOCTOR_NODE": node},
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
            cwd=tmp_path,
        )
        assert done.returncode == 0, done.stderr
        logs += [f"[pod/{pod}/check] {row}\n" for row in (done.stdout + done.stderr).splitlines()]
    logs.append("[pod/fleet-2-klmno/check] there is no Python 3.9 or later on its PATH\n")
    (tmp_path / "fleet.log").write_text("".join(logs))
    document = json.loads(fleet("read", str(tmp_path / "fleet.log"), "--format", "json").stdout)
    assert [(node["name"], node["status"]) for node in document["nodes"]] == [
        ("gpu-node-1", "answered"), ("gpu-node-2", "answered"), ("fleet-2-klmno", "failed"),
    ]  # fmt: skip
    assert "no Python" in document["nodes"][2]["reason"]


@pytest.mark.parametrize(
    "options",
    [
        {"image": "x; rm -rf /"},
        {"image": "-x"},
        {"image": IMAGE, "namespace": "A b"},
        {"image": IMAGE, "selector": ("a b=c",)},
        {"image": IMAGE, "selector": ("noequals",)},
        {"image": IMAGE, "tolerations": ("k=v:Never",)},
        {"image": IMAGE, "python": "/x\n/y"},
    ],
)
def test_a_value_that_kubernetes_would_refuse_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        list(manifest(Options(**options)))
