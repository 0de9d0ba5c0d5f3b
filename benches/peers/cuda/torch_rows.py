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

    def __init__(self, length):
        self.clock = TorchClock()
        rows = ITEMS // length
        self.items = torch.arange(rows * length, device="cuda").reshape(rows, length)

    def shuffled(self):
        return self.items.gather(1, torch.rand(self.items.shape, device="cuda").argsort(dim=1))

    def is_right(self, result):
        return bool((result.sort(dim=1).values == self.items).all()) and not bool((result == self.items).all())


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=7, metavar="N", help="samples that the median is taken of (7)")
    arguments = parser.parse_args()
    if not torch.cuda.is_available():
        sys.exit("PyTorch sees no GPU: nothing to measure.")
    rows = Rows()
    print(f"# $ python3 benches/peers/cuda/torch_rows.py {' '.join(sys.argv[1:])}".rstrip())
    print(f"# PyTorch {torch.__version__}, CUDA {torch.version.cuda}")
    print(f"# seconds: of all rows, median of {arguments.repeats} samples")
    rows.writer.writerow(["date", "revision", "machine", "name", "item_bytes", "length", "rows", "seconds"])
    for length in LENGTHS:
        scene = Scene(length)
        if not scene.is_right(scene.shuffled()):
            sys.exit(f"rows of {length} are wrong")
        seconds = median(Scene.shuffled, scene, arguments)
        cells = ["torch rand, argsort and gather", 8, length, len(scene.items), f"{seconds:.9g}"]
        rows.writer.writerow([*rows.origin, *cells])
        sys.stdout.flush()
        del scene
        torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
