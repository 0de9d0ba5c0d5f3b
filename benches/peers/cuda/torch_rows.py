#!/usr/bin/env python3
"""Times how PyTorch shuffles each row of a matrix on a GPU apart; prints a table as CSV. See README.md."""

import argparse
import sys

import torch
from torch_peers import Rows, TorchClock, median

# The items of all rows, about, and the rows' lengths: as in benches/peers/src/gpu_batch.rs.
ITEMS = 1 << 26
LENGTHS = [32, 256, 257, 2048, 2049, 10_000, 1 << 15, (1 << 17) - 3, 1 << 17, (1 << 18) + 1, (1 << 19) + 1, (1 << 20) + 1]


class Scene:
    """Rows of numbers, each of which tells its row and its place."""

    def __init__(self, length, dtype):
        self.clock = TorchClock()
        rows = ITEMS // length
        self.items = torch.arange(rows * length, dtype=dtype, device="cuda").reshape(rows, length)
        self.index = self.orders()

    def orders(self):
        return torch.rand(self.items.shape, device="cuda").argsort(dim=1)

    def is_right(self, result):
        return bool((result.sort(dim=1).values == self.items).all()) and not bool((result == self.items).all())


CONTENDERS = [
    ("torch rand, argsort and gather", lambda scene: scene.items.gather(1, scene.orders())),
    ("torch gather, permutations given", lambda scene: scene.items.gather(1, scene.index)),
]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=7, metavar="N", help="samples that the median is taken of (7)")
    arguments = parser.parse_args()
    arguments.calls = 0
    if not torch.cuda.is_available():
        sys.exit("PyTorch sees no GPU: nothing to measure.")
    rows = Rows()
    print(f"# $ python3 benches/peers/cuda/torch_rows.py {' '.join(sys.argv[1:])}".rstrip())
    print(f"# PyTorch {torch.__version__}, CUDA {torch.version.cuda}")
    print(f"# seconds: of all rows, median of {arguments.repeats} samples")
    rows.writer.writerow(["date", "revision", "machine", "name", "item_bytes", "length", "rows", "seconds"])
    for length in LENGTHS:
        for dtype in (torch.int64, torch.int32):
            scene = Scene(length, dtype)
            for name, work in CONTENDERS:
                if not scene.is_right(work(scene)):
                    sys.exit(f"{name}: rows of {length} are wrong")
                seconds = median(work, scene, arguments)
                cells = [name, scene.items.element_size(), length, len(scene.items), f"{seconds:.9g}"]
                rows.writer.writerow([*rows.origin, *cells])
                sys.stdout.flush()
            del scene
            torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
