# The start of the single file. Python versions that are too old also run it, so it is valid in Python 2.
import sys

if sys.version_info < (3, 8):
    sys.stderr.write(
        "tfgpu-doctor: Python 3.8 or later is needed; this is %d.%d\n"
        "hint: run this file with python3.8 to python3.14, or see check --root FOLDER and check --script\n"
        % sys.version_info[:2]
    )
    sys.exit(3)

if __name__ == "__main__":
    from doctor.cli import entry

    entry()
