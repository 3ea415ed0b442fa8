"""Write the vectors that kernels are checked with before they answer on a computer.

    python tools/make_kernel_vectors.py

They come from the arithmetic in numpy (tcuq_device.graph.oracle), not from the C that they check.
"""

from __future__ import annotations

from pathlib import Path

from tcuq.base.atomic_files import write_whole
from tcuq_device.kernels import checked

TARGET = Path(checked.__file__).parent / checked.VECTORS


def main() -> None:
    """Write the file."""
    write_whole(TARGET, checked.made())
    print(f"wrote {TARGET}")


if __name__ == "__main__":
    main()
