"""The content of the answers for people, independent of the format: labelled facts, harmless lines, and what
could not be examined."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from doctor import lazy
from doctor.facts import EnvironmentKind, Facts, Gpu, Noise, OperatingSystem, OwnReport, Platform, Source
from doctor.values import replace

if TYPE_CHECKING:
    from doctor.findings import Diagnosis, Finding, Part, Step
    from doctor.tables import Tables

LABELS = {
    "tensorflow": "TensorFlow",
    "tensorflow_package": "TensorFlow package",
    "keras": "Keras",
    "python": "Python",
    "cuda": "CUDA",
    "cudnn": "cuDNN",
    "driver": "NVIDIA driver",
    "driver_cuda": "CUDA that the driver offers",
    "gpus": "GPU",
    "os": "Operating system",
    "platform": "Platform",
    "environment": "Surroundings",
    "missing_libraries": "Libraries that did not open",
    "loaded_libraries": "Libraries that opened",
    "env": "Environment variables",
    "registered_gpus": "GPUs that TensorFlow registered",
}
"""The labels of the fact keys in the JSON."""

SYSTEMS = {"linux": "Linux", "windows": "Windows", "wsl": "WSL", "macos": "macOS"}
QUOTED = 90
"""A quoted harmless line is cut after this many characters."""
SURENESS = {"certain": "certain", "likely": "likely", "possible": "possible, not proven"}


def explained(finding: Finding) -> str:
    """The heading of the other findings that the cause explains."""
    return f"Also seen; this cause {'explains' if finding.confidence == 'certain' else 'would explain'} it"


NOTEBOOK_SERVICES = {"colab", "kaggle"}


def in_cells(facts: Facts, finding: Finding) -> str:
    """Return how to run a finding's commands in a cell, if they are for a notebook of Colab or Kaggle, whose
    users have no other shell; otherwise "".

    A line after ! runs in a shell of its own, so that `export` has no effect on the notebook (IPython,
    "System shell access" and "Built-in magic commands").
    """
    own = any(platform.kind in ("windows", "macos", "wsl") for platform in facts.of(Platform))
    if facts.kind == "report" and (own or facts.of(OperatingSystem)):
        return ""  # a report that names a system of its own may only compare
    kinds = {environment.kind for environment in facts.of(EnvironmentKind)}
    if not kinds & NOTEBOOK_SERVICES or all(step.kind != "shell" for step in finding.prescription):
        return ""
    return (
        "In a cell of the notebook, write ! before a command, and %env NAME=VALUE instead of export"
        " NAME=VALUE. Restart the session after an installation."
    )


class KnownFact(NamedTuple):
    """One fact for people: its label, its value, and the places that state it."""

    key: str
    label: str
    value: str
    sources: tuple[Source, ...]


class Harmless(NamedTuple):
    """Harmless lines that alarm people, and that have the same meaning.

    places: their line numbers, in words. If the reader cannot look them up, because the lines are a program's
    output, places quotes the first line instead.
    """

    meaning: str
    sources: tuple[Source, ...]
    places: str


def known_facts(diagnosis: Diagnosis, tables: Tables) -> list[KnownFact]:
    """Return the facts of the JSON document in words, in the same order."""
    from doctor.case import Case
    from doctor.render.known import facts_document

    result = []
    case = Case(diagnosis.facts, tables)
    for key, entry in facts_document(case).items():
        sources = tuple(Source(e["source"], e["line"], e["text"]) for e in entry["evidence"])
        value = _value(key, entry["value"])
        if key == "tensorflow" and case.build is not None and case.build.version.startswith(f"{value}."):
            value += f", taken as {case.build.version}"
        result.append(KnownFact(key, LABELS.get(key, key), value, sources))
    return result


def _value(key: str, value: Any) -> str:
    if key == "platform":
        return SYSTEMS.get(str(value), str(value))
    if key == "gpus":
        return ", ".join(_gpu(gpu) for gpu in value)
    if isinstance(value, list):
        return ", ".join(str(item) for item in value)
    if isinstance(value, dict):
        return ", ".join(f"{name}={item}" for name, item in value.items())
    return str(value)


def _gpu(gpu: dict[str, Any]) -> str:
    name = str(gpu.get("name") or gpu.get("pci_id") or "unnamed")
    extra = []
    if gpu.get("compute_capability"):
        extra.append(f"compute capability {gpu['compute_capability']}")
    if gpu.get("memory_mib"):
        extra.append(f"{gpu['memory_mib']} MiB")
    return f"{name} ({', '.join(extra)})" if extra else name


PARTS = {
    "gpu": "GPU",
    "driver": "Driver",
    "cuda": "CUDA",
    "cudnn": "cuDNN",
    "python": "Python",
    "platform": "Platform",
    "program": "Program",
}


def goes_together(diagnosis: Diagnosis) -> list[tuple[str, str, str, str]]:
    """Return the rows of the table "What goes together": (part, has, needs, fits) for each known part."""
    listed = diagnosis.facts.kind == "report"  # on a machine, the lines are those of its files
    return [
        (
            PARTS.get(part.part, part.part),
            f"{part.have}{_where(part)}" if listed and part.fits is False else part.have,
            part.needs or "-",
            _fits(part),
        )
        for part in diagnosis.compatibility
        if part.have
    ]


DEPENDS = "depends on the TensorFlow release"
"""What the table says of a part that fits some of the possible releases, if it is not known which is used."""


def _fits(part: Part) -> str:
    if part.slow:
        return "after a compilation"
    if part.fits is None:
        return DEPENDS if part.have in re.findall(r"\d[\d.]*", part.needs) else "not known"
    return "yes" if part.fits else "no"


def _where(part: Part) -> str:
    """Return text to append to a part: the line in the report that states it, or "" if no line does."""
    number = next((source.line for source in part.evidence if source.line is not None), None)
    return "" if number is None else f" (line {number})"


def other_causes(diagnosis: Diagnosis) -> list[str]:
    """Return one line for each other possible cause that is no finding, with the command that checks it."""
    found = {finding.code for finding in diagnosis.findings}
    return [
        f"{other.code} ({round(100 * other.likelihood)} %): `{other.test}`"
        + (f" shows it: {other.shows}" if other.shows else "")
        for other in diagnosis.alternatives
        if other.code not in found
    ]


def harmless(diagnosis: Diagnosis) -> list[Harmless]:
    """Return the harmless lines, grouped by meaning, in the report's order. Lines that are evidence for a
    finding are left out."""
    telling = {s for f in diagnosis.findings if f.code != "benign-messages" for s in f.evidence}
    groups: dict[str, list[Source]] = {}
    for noise in diagnosis.facts.of(Noise):
        # on a machine with a GPU, the missing CUDA runtime does matter
        excused = noise.kind != "cudart-ignore" or not diagnosis.facts.of(Gpu)
        if noise.source not in telling and excused:
            groups.setdefault(noise.meaning, []).append(noise.source)
    unseen = diagnosis.facts.kind == "machine" or bool(diagnosis.facts.of(OwnReport))
    return [
        Harmless(meaning, sources, _first_line(sources) if unseen else line_list(sources))
        for meaning, sources in ((m, tuple(dict.fromkeys(s))) for m, s in groups.items())
    ]


def noise_heading(groups: Sequence[Harmless]) -> str:
    """Return a heading with the number of harmless lines, or "" if there are none."""
    count = noise_count(groups)
    return f"{count} line{'s are' if count != 1 else ' is'} noise" if count else ""


def noise_count(groups: Sequence[Harmless]) -> int:
    """Return the number of harmless lines."""
    return len({source for group in groups for source in group.sources})


def _first_line(sources: Sequence[Source]) -> str:
    text = message(sources[0].text)
    text = text if len(text) <= QUOTED else f"{text[: QUOTED - 3]}..."
    return f'"{text}"' + (f" and {len(sources) - 1} more" if len(sources) > 1 else "")


def place(source: Source) -> str:
    """Return the place as `file:line`, which editors and terminals understand, or only the name if there is
    no line number."""
    from doctor.printable import line

    if source.where == "-":
        return "the whole report" if source.line is None else f"line {source.line}"
    return line(str(source))


_PREFIX = r"""^(?:
    \d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?:?\s+(?:[IWEF]\s+)?  # 2026-01-02 03:04:05.678901: W
    | [IWEF]\d{4,8}\s[\d:.]{8,24}\s+\d+\s+                        # W0000 00:00:1767323045.678901    4242
    | (?:[IWEF]\s+)?(?:[A-Za-z]:)?[\w./\\+-]{1,190}\.(?:cc|cu|h):\d+\]\s+  # W tensorflow/core/util/x.cc:42]
)+"""


def message(text: str) -> str:
    """Return a log line without the time, thread and source file before its message."""
    text = text.strip()
    if not (text[:1].isdecimal() or text[:1] in "IWEF" or "]" in text):
        return text  # no prefix begins like this, and the pattern takes a while to compile
    rest = re.sub(_PREFIX, "", text[:400], flags=re.VERBOSE) + text[400:]
    return rest or text


def line_list(sources: Iterable[Source], limit: int = 8) -> str:
    """Return line numbers in one report, in words: "lines 3, 5 and 9". Only the first `limit` lines are
    listed; the others are counted. "" if no source has a line number."""
    numbers = sorted({source.line for source in sources if source.line is not None})
    if not numbers:
        return ""
    shown = [str(number) for number in numbers[:limit]]
    if len(numbers) > limit:
        return f"lines {', '.join(shown)} and {len(numbers) - limit} more"
    if len(shown) == 1:
        return f"line {shown[0]}"
    return f"lines {', '.join(shown[:-1])} and {shown[-1]}"


def conditions(step: Step) -> str:
    """Return the conditions of a step in words: its platform, and whether it needs an administrator."""
    parts = []
    if step.platform:
        parts.append(f"on {SYSTEMS.get(step.platform, step.platform)}")
    if step.needs_root:
        parts.append("as administrator")
    return ", ".join(parts)


_OR = lazy.compile(r"or\b,? *(?=\S)", re.IGNORECASE)


class Way(NamedTuple):
    """One of the ways to fix a cause, with its steps. heading: "" if there is no other way."""

    heading: str
    steps: tuple[Step, ...]


def ways(prescription: Sequence[Step], facts: Facts | None = None) -> list[Way]:
    """Split steps into ways; one of them is enough. A step that begins with "or" begins another way, to
    which the steps after it belong; the heading replaces this word. facts: a step does not name its platform
    if this is the only one in them."""
    here = {platform.kind for platform in facts.of(Platform)} if facts is not None else set()
    groups: list[list[Step]] = [[]]
    for step in prescription:
        if here == {step.platform}:
            step = replace(step, platform="")
        words = step.text if step.kind == "manual" else step.why
        found = _OR.match(words) if groups[0] else None
        if found:
            rest = words[found.end() :]
            step = replace(step, text=rest) if step.kind == "manual" else replace(step, why=rest)
            groups.append([])
        groups[-1].append(step)
    several = len(groups) > 1
    return [Way(f"Way {number}" if several else "", tuple(group)) for number, group in enumerate(groups, 1)]


def what_to_do(ways: Sequence[Way]) -> str:
    """The heading of the steps, which says whether they are several ways."""
    return f"What to do: one of these {len(ways)} ways" if len(ways) > 1 else "What to do"


def checked_way(finding: Finding, ways: Sequence[Way]) -> str:
    """Return " (Way 1)" if the command that checks the fix starts the Python that only this way prepares, and
    "" if the command suits every way."""
    python, code, _ = finding.verify.partition(" -c ")
    own = code and ("/" in python or "\\" in python or python.startswith("conda "))
    users = [way.heading for way in ways if own and any(f"{python} " in step.text for step in way.steps)]
    return f" ({users[0]})" if len(users) == 1 and len(ways) > 1 else ""


def instruction(step: Step) -> str:
    """Return a step in words, with its conditions and its reason; for code, the words before the code."""
    words = sentence(step.text) if step.kind == "manual" else request(step)
    if asks := conditions(step):
        words = f"{words[:-1]}; {asks})" if words.endswith(")") else f"{words} ({asks})"
    if step.kind != "manual":
        return f"{words}:"
    return f"{words}. {sentence(step.why)}" if step.why else words


_VERB = (
    r"(?P<verb>adds|allocates|allows|binds|builds|chooses|compares|compiles|converts|creates|does"
    r"|downloads|examines|fetches|finds|gives|installs|keeps|lets|links|lists|loads|lowers|makes|mounts"
    r"|passes|pins|prints|puts|reads|rebuilds"
    r"|registers|reinstalls|releases|reloads|removes|repeats|replaces|requests|resets|restarts|runs|sends"
    r"|sets|shows|shuts|starts|stops|switches|tells|tests|turns|updates|uses|writes)\b"
)
_DOES = lazy.compile(rf"(?P<before>(?:[^:]{{1,200}}: |or )??){_VERB}")
_ALSO = lazy.compile(rf"(?P<before>\band ){_VERB}")


def request(step: Step) -> str:
    """Return the words before the code of a step: what to do with it, or where it belongs. A step says what
    its command does ("shows the driver"); people read what to do ("Show the driver")."""
    asked = step.why
    if does := _DOES.match(asked):
        rest = asked[does.end() :]
        if "and " in rest:
            clause, separator, rest = re.split(r"([:;(]|$)", rest, maxsplit=1)
            rest = _ALSO.sub(_base, clause) + separator + rest
        asked = _base(does) + rest
    return sentence(asked) or ("In the program" if step.kind == "python" else "Run")


def _base(match: re.Match[str]) -> str:
    """Return a match with the base form of its verb ("shows" becomes "show")."""
    verb = match["verb"]
    return match["before"] + (verb[:-2] if verb.endswith(("sses", "ches", "oes")) else verb[:-1])


def sentence(text: str) -> str:
    """Return the text with a capital first letter, or unchanged if its first word is not an ordinary word
    (for example a file name)."""
    first = text.split(" ", 1)[0]
    return text[:1].upper() + text[1:] if first.rstrip(",:;").isalpha() and first.islower() else text


def subject(facts: Facts) -> str:
    """Return what was diagnosed, in a few words."""
    simulated = " on a simulated GPU" if facts.has("simulated-gpu") else ""
    if facts.of(OwnReport):
        return f"read from {facts.name}{simulated}"
    if facts.kind == "machine":
        return (f"this machine ({facts.name})" if facts.name else "this machine") + simulated
    if facts.name == "-":
        return f"the pasted report{simulated}"
    return f"{facts.name}{simulated}"
