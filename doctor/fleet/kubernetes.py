"""Makes a Kubernetes manifest for `kubectl apply`: a Job or DaemonSet that checks the nodes of the cluster,
and the tool itself.

The manifest holds the tool in ConfigMaps, so the pods download nothing and use the user's own image
unchanged. Sources: Kubernetes API reference (batch/v1 Job, apps/v1 DaemonSet, v1 ConfigMap); "a ConfigMap
cannot exceed 1 MiB", and `kubectl apply` keeps a copy of each object in its annotations, which may have 256
KiB in all.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from doctor import lazy
from doctor.errors import UsageError
from doctor.fleet.sent import payload, script
from doctor.values import dataclass

NAME = "tfgpu-doctor-fleet"
PART = 180_000
"""Bytes of the tool in one ConfigMap. The object stays below 256 KiB after base64 encoding."""
_FOLDER = "/tfgpu-doctor"
_LABELS = {"app.kubernetes.io/name": NAME}
_IMAGE = lazy.compile(r"[a-z0-9][\w./:@-]{0,500}", re.ASCII)
_NAMESPACE = lazy.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?", re.ASCII)
_KEY = r"(?:[a-z0-9](?:[a-z0-9.-]{0,250}[a-z0-9])?/)?[A-Za-z0-9](?:[\w.-]{0,61}[A-Za-z0-9])?"
_VALUE = r"(?:[A-Za-z0-9](?:[\w.-]{0,61}[A-Za-z0-9])?)?"
_SELECTOR = lazy.compile(rf"(?P<key>{_KEY})=(?P<value>{_VALUE})", re.ASCII)
_TOLERATION = lazy.compile(
    rf"(?P<key>{_KEY})(?P<equal>=(?P<value>{_VALUE}))?(?::(?P<effect>NoSchedule|PreferNoSchedule"
    rf"|NoExecute))?",
    re.ASCII,
)


@dataclass(frozen=True, slots=True)
class Options:
    """The options of the manifest. nodes: the number of nodes; None for every node (a DaemonSet). selector,
    tolerations: the strings from the command line."""

    image: str
    nodes: int | None = None
    gpus: int = 1
    namespace: str | None = None
    selector: tuple[str, ...] = ()
    tolerations: tuple[str, ...] = ()
    python: str | None = None
    timeout: int = 60


def manifest(options: Options) -> Iterator[str]:
    """Yield the objects as YAML, with comments that say how to use them. Raises UsageError for a value that
    Kubernetes would refuse."""
    tool = _tool(options)
    where = f" -n {options.namespace}" if options.namespace else ""
    mine = f"-l app.kubernetes.io/name={NAME}"
    kind = "job" if options.nodes else "daemonset"
    wait = (
        f"kubectl wait{where} --for=condition=complete --timeout=10m job/{NAME}"
        if options.nodes
        else f"kubectl rollout status{where} daemonset/{NAME}"
    )
    commands = (
        f"kubectl apply{where} -f FILE",
        wait,
        f"kubectl logs{where} {mine} --prefix --tail=-1 --max-log-requests={options.nodes or 500}"
        " > fleet.log",
        "tfgpu-doctor fleet read fleet.log",
        f"kubectl get pods{where} {mine} --field-selector=status.phase=Pending"
        "   # nodes without a free GPU: not checked",
        f"kubectl delete{where} {kind}/{NAME} && kubectl delete{where} configmap {mine}",
    )
    yield "".join(f"# {command}\n" for command in commands)
    for item in (*tool, _runner(options, tool)):
        yield "---\n" + "\n".join(_yaml(item)) + "\n"


def _metadata(options: Options, name: str) -> dict[str, Any]:
    return {
        "name": name,
        **({"namespace": options.namespace} if options.namespace else {}),
        "labels": dict(_LABELS),
    }


def _tool(options: Options) -> list[dict[str, Any]]:
    """Return the ConfigMaps that hold the program for each pod."""
    argv = ["check", "--format", "json", *(["--python", options.python] if options.python else [])]
    whole = payload(argv, limit=float(options.timeout), watch=False)
    parts = [whole[at : at + PART] for at in range(0, len(whole), PART)]
    return [
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": _metadata(options, f"{NAME}-{number:02d}"),
            "binaryData": {f"part-{number:02d}": base64.b64encode(part).decode()},
        }
        for number, part in enumerate(parts)
    ]


def _runner(options: Options, tool: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the Job, or the DaemonSet. The pods of a DaemonSet keep running after the check, because
    Kubernetes would restart pods that end."""
    template = {"metadata": {"labels": dict(_LABELS)}, "spec": _pod(options, tool)}
    if options.nodes is None:
        return {
            "apiVersion": "apps/v1",
            "kind": "DaemonSet",
            "metadata": _metadata(options, NAME),
            "spec": {"selector": {"matchLabels": dict(_LABELS)}, "template": template},
        }
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": _metadata(options, NAME),
        "spec": {
            "completionMode": "Indexed",
            "completions": options.nodes,
            "parallelism": options.nodes,
            "backoffLimit": options.nodes,
            "activeDeadlineSeconds": options.timeout + 600,
            "ttlSecondsAfterFinished": 86400,
            "template": template,
        },
    }


def _pod(options: Options, tool: Sequence[dict[str, Any]]) -> dict[str, Any]:
    if not _IMAGE.fullmatch(options.image):
        raise UsageError(f"--image {options.image[:80]!r} is not the name of an image")
    if options.namespace and not _NAMESPACE.fullmatch(options.namespace):
        raise UsageError(f"--namespace {options.namespace[:80]!r} is not the name of a namespace")
    # a pod whose check finds an error has done its work: its exit code must not make Kubernetes run it again
    after = "while :; do sleep 3600; done" if options.nodes is None else "exit 0"
    container: dict[str, Any] = {
        "name": "check",
        "image": options.image,
        "command": ["/bin/sh", "-c", f"cat {_FOLDER}/part-* | ( {script(options.python)} ); {after}"],
        "env": [{"name": "TFGPU_DOCTOR_NODE", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}],
        "resources": {
            "requests": {"cpu": "100m", "memory": "512Mi"},
            **({"limits": {"nvidia.com/gpu": options.gpus}} if options.gpus else {}),
        },
        "securityContext": {"allowPrivilegeEscalation": False},
        "volumeMounts": [{"name": "tool", "mountPath": _FOLDER, "readOnly": True}],
    }
    sources = [{"configMap": {"name": item["metadata"]["name"]}} for item in tool]
    pod: dict[str, Any] = {
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "containers": [container],
        "tolerations": _tolerations(options.tolerations),
        "volumes": [{"name": "tool", "projected": {"sources": sources}}],
    }
    selector = _selector(options.selector)
    if selector:
        pod["nodeSelector"] = selector
    if options.nodes is not None:
        pod["restartPolicy"] = "Never"
        # one pod per node
        term = {"labelSelector": {"matchLabels": dict(_LABELS)}, "topologyKey": "kubernetes.io/hostname"}
        pod["affinity"] = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    return pod


def _selector(words: Sequence[str]) -> dict[str, str]:
    found = {}
    for word in words:
        match = _SELECTOR.fullmatch(word)
        if match is None:
            raise UsageError(f"--node-selector {word[:80]!r} is not a label of the form KEY=VALUE")
        found[match["key"]] = match["value"]
    return found


def _tolerations(words: Sequence[str]) -> list[dict[str, str]]:
    found = []
    for word in words or ("nvidia.com/gpu",):
        match = _TOLERATION.fullmatch(word)
        if match is None:
            raise UsageError(f"--toleration {word[:80]!r} does not have the form KEY[=VALUE][:EFFECT]")
        rule = {"key": match["key"], "operator": "Exists"}
        if match["equal"]:
            rule.update(operator="Equal", value=match["value"])
        if match["effect"]:
            rule["effect"] = match["effect"]
        found.append(rule)
    return found


def _yaml(value: dict[str, Any], indent: str = "") -> Iterator[str]:
    """Yield the YAML lines of an object. Strings are written as in JSON, which is valid YAML."""
    for key, item in value.items():
        if isinstance(item, dict) and item:
            yield f"{indent}{key}:"
            yield from _yaml(item, indent + "  ")
        elif isinstance(item, list) and item:
            yield f"{indent}{key}:"
            for entry in item:
                if isinstance(entry, dict):
                    first, *rest = _yaml(entry, indent + "    ")
                    yield f"{indent}  - {first.strip()}"
                    yield from rest
                else:
                    yield f"{indent}  - {json.dumps(entry)}"
        else:
            yield f"{indent}{key}: {json.dumps(item)}"
