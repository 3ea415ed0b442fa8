# SPDX-License-Identifier: MIT
"""Write the pictures of the demo, src/tcuq/demo/clothes.npz: 400 of each class of Fashion-MNIST's train part.

    apt-get download dataset-fashion-mnist && dpkg-deb -x dataset-fashion-mnist*.deb here
    python tools/make_clothes.py here/usr/share/datasets/fashion-mnist

Fashion-MNIST is under the MIT license, copyright 2017 Zalando SE. Each pixel keeps four bits.
"""

from __future__ import annotations

import argparse
import gzip
import io
import zipfile
from pathlib import Path

import numpy as np

OUT = Path(__file__).parents[1] / "src" / "tcuq" / "demo" / "clothes.npz"
EACH = 400


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path, help="with train-images-idx3-ubyte.gz")
    folder = parser.parse_args().folder
    pictures, labels = (
        np.frombuffer(gzip.decompress((folder / name).read_bytes()), np.uint8, offset=offset)
        for name, offset in (("train-images-idx3-ubyte.gz", 16), ("train-labels-idx1-ubyte.gz", 8))
    )
    chosen = np.sort(np.concatenate([np.flatnonzero(labels == label)[:EACH] for label in range(10)]))
    few = (pictures.reshape(-1, 784)[chosen].astype(int) * 15 + 127) // 255
    members = {"pictures": (few[:, ::2] << 4 | few[:, 1::2]).astype(np.uint8), "labels": labels[chosen]}
    with zipfile.ZipFile(OUT, "w", zipfile.ZIP_LZMA) as archive:
        for name, array in members.items():
            held = io.BytesIO()
            np.save(held, array)
            archive.writestr(zipfile.ZipInfo(f"{name}.npy"), held.getvalue(), zipfile.ZIP_LZMA)
    print(f"{OUT}: {OUT.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
