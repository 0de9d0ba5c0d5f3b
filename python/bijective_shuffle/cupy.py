"""The order of `Permutation.walk` inside kernels of CuPy, as text in CUDA C++ and the struct that it
defines. Neither needs CuPy, so they also serve other ways to compile and launch kernels.

```python
import cupy as cp
from bijective_shuffle.cupy import walk_params, walk_source

gather = cp.RawKernel(walk_source() + r'''
extern "C" __global__ void gather(bijective_shuffle::walk p, const float *from, float *to) {
    const unsigned long long i = blockIdx.x * (unsigned long long)blockDim.x + threadIdx.x;
    if (i < p.size()) to[i] = from[p(i)];
}''', "gather", options=("--std=c++17",))
gather((-(-n // 256),), (256,), (walk_params(n, seed=42), source, out))
```

An `ElementwiseKernel` takes no structs, but a pointer to one in the memory of the device:

```python
at = cp.ElementwiseKernel("uint64 place, raw uint64 order", "uint64 x",
    "x = (*reinterpret_cast<const bijective_shuffle::walk *>(&order[0]))(place)",
    "walk_at", preamble=walk_source(), options=("--std=c++17",))
at(cp.arange(n, dtype="u8"), cp.asarray(walk_params(n, seed=42).view("u8")))
```

No length, seed or epoch compiles a kernel again.
"""

from __future__ import annotations

import importlib.resources
from typing import Any, SupportsIndex

import numpy as np
from numpy.typing import NDArray

from . import _walk
from ._types import Seed

__all__ = ["walk_params", "walk_source"]

# `bijective_shuffle::walk` of the header.
_STRUCT = np.dtype([("words", "<u8", 32), ("last", "<u8"), ("bits", "<u4"), ("end", "V4")])


def walk_source() -> str:
    """The text of `bijective_walk.hpp`, which defines `bijective_shuffle::walk` in C++17: `p(i)` is
    the item at place `i`, `p.inverse(x)` the place of item `x`, and `p.size()` the length. What is
    not from 0 to `n - 1` is its own value."""
    return (importlib.resources.files(__package__) / "bijective_walk.hpp").read_text("utf-8")


def walk_params(n: SupportsIndex, seed: Seed, epoch: SupportsIndex = 0) -> NDArray[Any]:
    """The order of `Permutation.walk(n, seed, epoch)` as a `bijective_shuffle::walk`: an array of
    one struct of 272 bytes, which CuPy gives to a kernel by value.

    Raises `ValueError` for a length, a seed or an epoch that is negative or has more than 64 bits.
    """
    n = _walk.checked(n, "n")
    made = np.zeros(1, _STRUCT)
    if n == 0:
        return made
    made["last"], made["bits"] = n - 1, max(_walk.bits(n), 1)
    if n <= _walk.TABLE_MAX:
        table = np.arange(256, dtype=np.uint8)
        table[:n] = _walk.table(n, seed, epoch)[0]
        made["words"][0] = table.view("<u8")
    else:
        multipliers, increments, inverses = _walk.chain(n, seed, epoch)
        made["words"][0, :30] = np.array([*multipliers, *increments, *inverses], np.uint64)
    return made
