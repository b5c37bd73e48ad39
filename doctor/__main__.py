"""`python -m doctor` is `tfgpu-doctor`."""

from doctor.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
