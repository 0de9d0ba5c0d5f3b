"""`python -m bijective_shuffle`: prints versions, and what the GPU side finds on this machine."""

import platform
import sys

import numpy as np

from . import GpuUnavailableError, __version__, thread_count
from ._native import gpu


def main() -> int:
    print(f"bijective-shuffle {__version__}")
    print(f"Python {platform.python_version()}, {platform.python_implementation()}")
    print(f"NumPy {np.__version__}")
    try:
        print(f"Threads: {thread_count()}")
    except ValueError as error:
        print(f"Threads: none ({error})")
    try:
        print(f"GPU: {gpu()}")
    except GpuUnavailableError as error:
        print(f"GPU: none ({error})")
    return 0


if __name__ == "__main__":
    sys.exit(main())
