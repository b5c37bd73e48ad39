# ruff: noqa
# mypy: ignore-errors
# The user's own Python, in which ray is installed (Python 3.8 or later), runs this after
# doctor/subprocesses/_guard.py. It prints the nodes, then one answer for each node that was asked, or a
# failure.
import base64
import logging
import zlib

MOST = 700_000


def on_node(payload, script, limit):
    """Run the check in a worker on the node. Ray sends the whole function, so the node needs no module of
    tfgpu-doctor."""
    import os
    import signal
    import subprocess

    env = dict(os.environ)
    # Ray sets an empty value for a worker to which it gave no GPU; the node's value is in the environment of
    # Ray's daemon
    try:
        with open("/proc/%d/environ" % os.getppid(), "rb") as file:
            there = dict(row.split(b"=", 1) for row in file.read().split(b"\0") if b"=" in row)
        given = there.get(b"CUDA_VISIBLE_DEVICES")
    except OSError:
        given = None
    env.pop("CUDA_VISIBLE_DEVICES", None)
    if given is not None:
        env["CUDA_VISIBLE_DEVICES"] = given.decode("utf-8", "surrogateescape")
    process = subprocess.Popen(
        ["/bin/sh", "-c", script],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=env,
        start_new_session=True,
    )
    late = False
    try:
        out, err = process.communicate(payload, timeout=limit)
    except subprocess.TimeoutExpired:
        late = True
        os.killpg(process.pid, signal.SIGKILL)
        out, err = process.communicate()
    return process.returncode, late, out, err[-4000:]


def main():
    order = json.loads(heard())
    import ray
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    try:
        ray.init(address=order["address"], log_to_driver=False, logging_level=logging.ERROR)
    except Exception as error:
        say("failed", error="%s: %s" % (type(error).__name__, str(error)[:600]))
        return
    nodes = []
    for node in ray.nodes():
        nodes.append(
            {
                "id": node["NodeID"],
                "alive": bool(node["Alive"]),
                "name": node.get("NodeName") or "",
                "host": node.get("NodeManagerHostname") or "",
                "address": node.get("NodeManagerAddress") or "",
                "reason": str(node.get("DeathReasonMessage") or ""),
                "death": str(node.get("DeathReason") or ""),
            }
        )
    say("nodes", nodes=nodes)
    payload = ray.put(base64.b64decode(order["payload"]))
    task = ray.remote(num_cpus=0, max_retries=0)(on_node)
    waiting = {}
    left = [node["id"] for node in nodes if node["alive"]]
    ends = {}
    while left or waiting:
        while left and len(waiting) < order["jobs"]:
            node = left.pop(0)
            strategy = NodeAffinitySchedulingStrategy(node_id=node, soft=False)
            waiting[
                task.options(scheduling_strategy=strategy).remote(
                    payload, order["script"], order["timeout"] + 5
                )
            ] = node
            ends[node] = time.monotonic() + order["timeout"] + 8
        done, _ = ray.wait(list(waiting), num_returns=1, timeout=1)
        for ref in done:
            node = waiting.pop(ref)
            try:
                status, late, out, err = ray.get(ref)
            except Exception as error:
                say(
                    "asked",
                    node=node,
                    error="%s: %s" % (type(error).__name__, str(error).strip().splitlines()[0][:300]),
                )
                continue
            packed = base64.b64encode(zlib.compress(out)).decode()
            if len(packed) > MOST:
                say("asked", node=node, error="its answer was too large")
            else:
                say(
                    "asked",
                    node=node,
                    status=status,
                    late=late,
                    out=packed,
                    err=err.decode("utf-8", "replace"),
                )
        for ref, node in list(waiting.items()):
            if time.monotonic() > ends[node]:
                ray.cancel(ref, force=True)
                waiting.pop(ref)
                say("asked", node=node, late=True, status=None, out="", err="")
    say("done")


main()
