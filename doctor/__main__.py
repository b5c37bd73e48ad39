"""Makes `python -m doctor` the same as `tfgpu-doctor`."""

from doctor.cli import entry

if __name__ == "__main__":
    entry()
