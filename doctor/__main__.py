"""`python -m doctor` is `tfgpu-doctor`."""

from doctor.cli import entry

if __name__ == "__main__":
    entry()
