# The start of the one file: it is read by Pythons that are too old, too, so its words are those of Python 2.
import sys

if sys.version_info < (3, 8):
    sys.stderr.write(
        "tfgpu-doctor: it needs Python 3.8 or later; this is %d.%d\n"
        "hint: python3.8 to python3.14 FILE, or ask from elsewhere: check --root FOLDER, check --script\n"
        % sys.version_info[:2]
    )
    sys.exit(3)

if __name__ == "__main__":
    from doctor.cli import entry

    entry()
