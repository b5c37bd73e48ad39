# scripts/doctor, scripts/test and scripts/test_pythons source this file. It sets `root` (the clone) and
# `venv` (the virtual environment in the clone) and defines two functions. `prepare EXTRAS` creates the
# environment and installs the project with these extras, unless that was done since pyproject.toml last
# changed. `quick_tests` replaces the shell with pytest, which runs the quick tests.

root=${root:-$(CDPATH= cd -- "$(dirname -- "$0")/.." && pwd -P)}
venv=${TFGPU_DOCTOR_VENV:-"$root/.venv"}

say() { printf '%s\n' "$*" >&2; }

# Print the path of a Python from 3.8 on; versions that are well tested with this project come first.
find_python() {
    for name in ${PYTHON:-} python3.12 python3.11 python3.13 python3.10 python3.14 python3.9 python3.8 \
        python3 python; do
        if command -v "$name" >/dev/null 2>&1 &&
            "$name" -c 'import sys; sys.exit(sys.version_info < (3, 8))' >/dev/null 2>&1; then
            command -v "$name"
            return 0
        fi
    done
    say "tfgpu-doctor needs Python 3.8 or later, but none was found."
    say "hint: install it (Debian, Ubuntu: apt install python3 python3-venv)," \
        "or name it: PYTHON=/path/to/python3 $0"
    return 2
}

prepare() {
    extras=$1
    stamp="$venv/.tfgpu-doctor${extras:+-$extras}"
    mark=$(cksum <"$root/pyproject.toml")
    if [ -x "$venv/bin/python" ] && [ "$(cat "$stamp" 2>/dev/null)" = "$mark $root" ]; then
        return 0
    fi
    python=$(find_python) || exit 2
    if ! "$venv/bin/python" -c '' >/dev/null 2>&1; then
        say "creating a virtual environment in $venv with $python"
        rm -rf "$venv"
        if ! "$python" -m venv "$venv" >&2; then
            rm -rf "$venv"
            say "hint: on Debian and Ubuntu, venv is a separate package: apt install python3-venv"
            exit 3
        fi
    fi
    say "installing tfgpu-doctor${extras:+ with the extras $extras} into $venv (only this time)"
    if ! "$venv/bin/python" -m pip install --quiet --disable-pip-version-check \
        -e "$root${extras:+[$extras]}" >&2; then
        say "hint: pip failed; its messages are above. Check that this machine can reach a package index"
        exit 3
    fi
    printf '%s' "$mark $root" >"$stamp"
}

quick_tests() {
    # many tests write a hundred files: use memory if there is enough, and if programs may be run there
    room="$(df -Pk /dev/shm 2> /dev/null | awk 'NR == 2 { print $4 }')"
    probe="/dev/shm/tfgpu-doctor-tests.$$"
    if [ "${room:-0}" -gt 1000000 ] && cp /bin/sh "$probe" 2> /dev/null && "$probe" -c : 2> /dev/null; then
        export PYTEST_DEBUG_TEMPROOT=/dev/shm
    fi
    rm -f "$probe"
    exec "$venv/bin/python" -m pytest -q -n 2 --dist worksteal --hypothesis-profile=quick \
        -m "not slow and not tensorflow and not online and not gpu" "$@"
}
