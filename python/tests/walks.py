"""Orders that functions inside other people's kernels are compared with: those of the native
module."""

import random

import bijective_shuffle as bs
import numpy as np

BYTES = bytes(range(32))
KEYS = [(42, 0), (0, 3), (2**64 - 1, 2**64 - 1), (BYTES, 7)]


def lengths(bits):
    """Long lengths, up to a width: around all powers of two, and between them."""
    random.seed(bits)
    found = {2**b + d for b in range(10, bits + 1) for d in (-1, 0, 1)}
    found |= {random.randrange(2**b, 2 ** (b + 1)) for b in range(10, bits) for _ in range(1 + 200 // bits)}
    return sorted(n for n in found if n <= 2**bits)


def places(n, count=40):
    """Places of an order: all of them if they are few, else the first, the last and some between."""
    if n <= 1024:
        return np.arange(n, dtype=np.uint64)
    random.seed(n)
    return np.array([0, n - 1, *(random.randrange(n) for _ in range(count - 2))], np.uint64)


def items(n, seed, epoch, at):
    """The items of an order at places, as uint64."""
    return bs.Permutation.walk(n, seed, epoch)[at].astype(np.uint64)
