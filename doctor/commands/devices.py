"""`tfgpu-doctor devices`: list the GPUs and who uses them, and explain a CUDA_VISIBLE_DEVICES value."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING, Any, TextIO

from doctor.commands.numbers import whole
from doctor.errors import UnableError, UsageError
from doctor.printable import as_json

if TYPE_CHECKING:
    from doctor.devices.look import Seen
    from doctor.devices.visibility import Visibility

EPILOG = """\
examples:
  tfgpu-doctor devices                        this machine, with the current CUDA_VISIBLE_DEVICES
  tfgpu-doctor devices --visible="-1,0"       what that value would do
  tfgpu-doctor devices --visible 2,0 --order PCI_BUS_ID
  tfgpu-doctor devices --visible 1 --count 4  on a machine with four GPUs of the same model"""
ASSUMED = 4
"""The number of GPUs for which a value is explained on a machine without a GPU, unless --count is given."""
FORMATS = ("text", "json")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `devices` to the parser."""
    parser.add_argument(
        "--visible",
        metavar="VALUE",
        help="a value of CUDA_VISIBLE_DEVICES to explain; needs = if it starts with a minus (--visible=-1)",
    )
    parser.add_argument(
        "--order",
        choices=("FASTEST_FIRST", "PCI_BUS_ID"),
        help="a value of CUDA_DEVICE_ORDER (default: the current one)",
    )
    parser.add_argument(
        "--count", type=whole(0, 64), metavar="N", help="explain the value for N GPUs of the same model"
    )


def run(args: argparse.Namespace) -> int:
    """Print the GPUs and the explanation, and return exit code 0. Raises UsageError for a value without
    commas, UnableError if there is no GPU and no value to explain."""
    from doctor.devices.look import Seen, driver_shows, look
    from doctor.devices.visibility import Device, enumeration, interpret, is_certain, unseparated
    from doctor.render.output import destination

    if args.visible is not None and (words := unseparated(args.visible)):
        raise UsageError(
            f"CUDA separates the entries at commas: from {args.visible!r} it would read only `{words[0]}`",
            f"use commas: tfgpu-doctor devices --visible {','.join(words)}",
        )
    value = args.visible if args.visible is not None else os.environ.get("CUDA_VISIBLE_DEVICES")
    order = args.order or os.environ.get("CUDA_DEVICE_ORDER")
    seen = Seen() if args.count is not None else look(os.environ, order)
    assumed = 0
    if not seen.devices:
        if args.visible is None and args.count is None:
            raise UnableError(
                f"no NVIDIA GPU responds on this machine ({seen.problem})",
                "`tfgpu-doctor check` says why; --visible VALUE --count N explains a value for N GPUs",
            )
        assumed = ASSUMED if args.count is None else args.count
        cards = tuple(Device(index, "GPU", None) for index in range(assumed))
        seen = Seen(cards, (None,) * assumed, ((),) * assumed, problem=seen.problem)
    ordered = enumeration(seen.devices, order, seen.driver_order)
    visibility = interpret(value, ordered, seen.driver)
    certain = is_certain(seen.devices, order, seen.driver_order)
    said = None if assumed or args.count is not None else driver_shows(os.environ, value, order)
    page = _document(seen, visibility, order, certain, said, assumed if args.count is None else 0)
    with destination(args.output) as out:
        if args.format == "json":
            out.write(as_json(page, indent=1) + "\n")
        else:
            _print(page, out, args.color, real=args.count is None and not assumed)
    return 0


def _document(
    seen: Seen,
    visibility: Visibility,
    order: str | None,
    certain: bool,
    said: tuple[str, ...] | None,
    assumed: int,
) -> dict[str, Any]:
    """Return the answer as plain data, for --format json and for the text format."""
    from doctor import __version__

    numbers = {device.index: place for place, device in enumerate(visibility.shown)}
    gpus = []
    for device, memory, processes in zip(seen.devices, seen.memory, seen.processes):
        place = numbers.get(device.index)
        gpus.append(
            {
                "nvidia_smi": device.index,
                "tensorflow": None if place is None else f"GPU:{place}",
                "name": device.name,
                "uuid": device.uuid,
                "bus_id": device.bus_id,
                "memory_mib": memory and memory.total_mib,
                "free_mib": memory and memory.free_mib,
                "mig_instances": [{"name": part.name, "uuid": part.uuid} for part in device.mig],
                "processes": [
                    {"pid": p.pid, "user": p.user, "name": p.name, "memory_mib": p.memory_mib}
                    for p in processes
                ],
            }
        )
    expected = tuple(device.bus_id for device in visibility.shown)
    notes = []
    if assumed:
        notes.append(
            f"No NVIDIA GPU responds here ({seen.problem}), so the value is explained for {assumed} GPUs"
            " of the same model."
        )
    if not certain:
        notes.append(
            "The numbers may differ: the GPUs are not equal, and without CUDA_DEVICE_ORDER=PCI_BUS_ID, CUDA"
            " puts the fastest first and leaves the order of the rest unspecified. The driver gave no order."
        )
    elif seen.driver_order and list(seen.driver_order) != [device.bus_id for device in seen.devices]:
        notes.append(
            "CUDA numbers these GPUs in a different order from nvidia-smi (fastest first);"
            " CUDA_DEVICE_ORDER=PCI_BUS_ID makes the numbers the same."
        )
    agrees = None if said is None else said == expected
    if agrees is False:
        notes.append(
            f"But the driver itself shows {', '.join(said or ()) or 'no GPU'}. Rely on the driver's answer."
        )
    if visibility.value is not None and visibility.shown:
        notes.append(
            "The process numbers the GPUs that it sees, beginning with GPU:0; use these numbers in the"
            " program."
        )
    return {
        "schema": 1,
        "tool": {"name": "tfgpu-doctor", "version": __version__},
        "driver": seen.driver,
        "cuda_visible_devices": visibility.value,
        "cuda_device_order": order,
        "explanation": visibility.why,
        "entries": [
            {
                "text": e.text,
                "nvidia_smi": None if e.device is None else e.device.index,
                "visible": e.shown,
                "why": e.why,
            }
            for e in visibility.entries
        ],
        "visible": [
            {"tensorflow": f"GPU:{place}", "nvidia_smi": d.index, "uuid": d.uuid, "bus_id": d.bus_id}
            for place, d in enumerate(visibility.shown)
        ],
        "driver_agrees": agrees,
        "gpus": gpus,
        "notes": notes,
    }


def _print(page: dict[str, Any], out: TextIO, color: str, *, real: bool) -> None:
    """Print the answer as text."""
    from rich.table import Table

    from doctor.render.console import console_for, safe

    console = console_for(out, color, 200)
    if real:
        table = Table(title=f"GPUs of this machine (driver {page['driver']})", title_justify="left")
        for heading, side in (
            ("nvidia-smi", "right"),
            ("TensorFlow", "left"),
            ("GPU", "left"),
            ("free MiB", "right"),
            ("used by", "left"),
        ):
            table.add_column(heading, justify=side, overflow="fold")  # type: ignore[arg-type]
        for gpu in page["gpus"]:
            memory = "?" if gpu["memory_mib"] is None else f"{gpu['free_mib']} of {gpu['memory_mib']}"
            users = "\n".join(_user(process) for process in gpu["processes"]) or "no process"
            name = gpu["name"] + "".join(f"\n  {part['name']}" for part in gpu["mig_instances"])
            shown = gpu["tensorflow"] or "hidden"
            table.add_row(str(gpu["nvidia_smi"]), shown, safe(name), memory, safe(users))
        console.print(table)
    value, order = page["cuda_visible_devices"], page["cuda_device_order"]
    setting = "CUDA_VISIBLE_DEVICES is not set" if value is None else f'CUDA_VISIBLE_DEVICES="{value}"'
    console.print(safe(f"{setting}, CUDA_DEVICE_ORDER {order or 'is not set (the fastest GPU is first)'}"))
    if page["explanation"]:
        console.print(safe(f"  {page['explanation']}"))
    for entry in page["entries"]:
        which = "" if entry["nvidia_smi"] is None else f" (nvidia-smi's GPU {entry['nvidia_smi']})"
        word = "[green]visible[/green]" if entry["visible"] else "[red]hidden[/red] "
        console.print(f"  {safe('`' + entry['text'] + '`'):<8} {word} {safe(entry['why'] + which)}")
    if value is not None:
        seen = ", ".join(f"{d['tensorflow']} = nvidia-smi's GPU {d['nvidia_smi']}" for d in page["visible"])
        console.print(f"  TensorFlow sees: {seen or 'no GPU'}")
    if page["driver_agrees"]:
        console.print("  With this value, the driver shows the same GPUs.")
    for note in page["notes"]:
        console.print(safe(note))


def _user(process: dict[str, Any]) -> str:
    parts = [process["user"] or "another user or container", f"pid {process['pid']}"]
    if process["name"]:
        parts.append(process["name"])
    if process["memory_mib"] is not None:
        parts.append(f"{process['memory_mib']} MiB")
    return ", ".join(parts)
