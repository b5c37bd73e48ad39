# ruff: noqa
# mypy: ignore-errors
# The Python under examination (2.7 or later) runs this script with only its standard library; no module
# imports it. It prints where that Python looks for packages, and imports no package. argv[1] is the cookie
# that surrounds the answer.
import os
import sys


def written(value):
    """The value as JSON. The module json is not used, because importing it takes as long as starting
    Python."""
    if value is None or value is True or value is False:
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, dict):
        return "{%s}" % ", ".join("%s: %s" % (written(name), written(value[name])) for name in value)
    if isinstance(value, (list, tuple)):
        return "[%s]" % ", ".join(written(item) for item in value)
    if isinstance(value, int):
        return "%d" % value
    if isinstance(value, bytes):
        value = value.decode("utf-8", "replace")
    numbers = []
    for number in map(ord, value):
        if number > 0xFFFF:  # a surrogate pair, as JSON writes it
            numbers += [0xD800 + (number - 0x10000 >> 10), 0xDC00 + (number - 0x10000 & 0x3FF)]
        else:
            numbers.append(number)
    return '"%s"' % "".join(
        "%c" % n if 31 < n < 127 and n not in (34, 92) else "\\u%04x" % n for n in numbers
    )


def user_site():
    """The user's own site-packages, which Python uses when it starts normally but leaves out with -I."""
    try:
        import site

        prefix = getattr(sys, "base_prefix", sys.prefix)
        if os.environ.get("PYTHONNOUSERSITE"):
            return None
        if sys.prefix != prefix:
            settings = os.path.join(sys.prefix, "pyvenv.cfg")
            with open(settings) as lines:
                words = [line.replace(" ", "").strip().lower() for line in lines]
            if "include-system-site-packages=true" not in words:
                return None
        path = site.getusersitepackages()
        return path if os.path.isdir(path) else None
    except Exception:
        return None


path = [entry for entry in sys.path if entry]
mine = user_site()
if mine is not None and mine not in path:
    before = len(sys.path)
    try:
        import site

        site.addsitedir(mine)
        added = [entry for entry in sys.path[before:] if entry]
    except Exception:
        added = [mine]
    at = next((i for i, p in enumerate(path) if p.endswith(("site-packages", "dist-packages"))), len(path))
    path[at:at] = added
extra = os.environ.get("PYTHONPATH", "")
answer = {
    "version": (
        "%d.%d.%d" % sys.version_info[:3]
        + ("" if sys.version_info[3] == "final" else sys.version_info[3][:1] + str(sys.version_info[4]))
    ),
    "implementation": getattr(getattr(sys, "implementation", None), "name", "cpython"),
    "free_threaded": "free-threading" in sys.version,
    "bits": 64 if sys.maxsize > 2**32 else 32,
    "executable": sys.executable,
    "real_executable": (
        os.path.realpath("/proc/self/exe")
        if os.path.exists("/proc/self/exe")
        else getattr(sys, "_base_executable", None) or sys.executable
    ),
    "prefix": sys.prefix,
    "base_prefix": getattr(sys, "base_prefix", sys.prefix),
    "python_path": [entry for entry in extra.split(os.pathsep) if entry],
    "path": path,
    "user_site": mine,
    "platform": sys.platform,
}
sys.stdout.write("\n" + sys.argv[1] + written(answer) + sys.argv[1] + "\n")
sys.stdout.flush()
