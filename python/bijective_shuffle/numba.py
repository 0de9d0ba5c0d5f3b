"""The order of `Permutation.walk` inside functions that Numba compiles, for a CPU and for CUDA.

```python
import numba
import numpy as np
from bijective_shuffle.numba import walk, walk_params

@numba.njit(parallel=True)
def gathered(source, params):
    out = np.empty_like(source)
    for i in numba.prange(len(source)):
        out[i] = source[walk(i, params)]
    return out

gathered(np.arange(1000), walk_params(1000, seed=42))
```

| in | functions |
| --- | --- |
| `numba.njit` and other code for a CPU | `walk(i, params)`, `walk_inverse(x, params)` |
| `numba.cuda.jit` | `cuda_walk(i, params)`, `cuda_walk_inverse(x, params)`, which import `numba.cuda` when they are first named |

`walk` gives the item at place `i`, and `walk_inverse` the place of item `x`, as int64. A place or an
item that is not from 0 to `n - 1` counts as the last one: nothing is raised. `params` is the array
of `walk_params`, in the memory of the device for CUDA. Since it holds the length, the seed and the
epoch, none of them compiles a function again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, SupportsIndex

import numba
import numpy as np
from numpy.typing import NDArray

from . import _walk
from ._types import Seed

__all__ = ["cuda_walk", "cuda_walk_inverse", "walk", "walk_inverse", "walk_params"]


def walk_params(n: SupportsIndex, seed: Seed, epoch: SupportsIndex = 0) -> NDArray[np.uint64]:
    """The order of `Permutation.walk(n, seed, epoch)` for the functions of this module: an array of
    33 words, or up to 256 items of `3 + 2 n`.

    A length of 0 counts as 1. Raises `ValueError` for a length above 2^63, which has no int64, and
    for a length, a seed or an epoch that is negative or has more than 64 bits.
    """
    n = _walk.checked(n, "n")
    if n > 2**63:
        raise ValueError(f"n is at most 2^63, because indexes are of int64, not {n}")
    return np.array(_walk.parameters(n, seed, epoch), np.uint64)


def _functions(jit: Callable[[Any], Any]) -> tuple[Any, Any]:
    """`walk` and `walk_inverse`, compiled by `jit`. Numbers are of uint64 throughout, because with
    any other integer Numba would make them floats."""
    one, table_max = np.uint64(1), np.uint64(_walk.TABLE_MAX)

    @jit
    def forward(x, params):  # type: ignore[no-untyped-def]
        mask, half = params[1], params[2]
        x ^= x >> (half + one)
        for r in range(0, 10, 2):
            x = x * params[3 + r] + params[13 + r] & mask
            x ^= x >> half
            x = x * params[4 + r] + params[14 + r] & mask
            x ^= x >> (half + one)
        return x

    @jit
    def backward(x, params):  # type: ignore[no-untyped-def]
        mask, half = params[1], params[2]
        for r in range(8, -1, -2):
            x ^= x >> (half + one)
            x = (x - params[14 + r]) * params[24 + r] & mask
            x ^= x >> half
            x = (x - params[13 + r]) * params[23 + r] & mask
        x ^= x >> (half + one)
        return x

    @jit
    def walk(i, params):  # type: ignore[no-untyped-def]
        last = params[0]
        x = min(np.uint64(i), last)
        if last < table_max:
            return np.int64(params[np.uint64(3) + x])
        x = forward(x, params)
        while x > last:
            x = forward(x, params)
        return np.int64(x)

    @jit
    def walk_inverse(x, params):  # type: ignore[no-untyped-def]
        last = params[0]
        i = min(np.uint64(x), last)
        if last < table_max:
            return np.int64(params[np.uint64(4) + last + i])
        i = backward(i, params)
        while i > last:
            i = backward(i, params)
        return np.int64(i)

    return walk, walk_inverse


walk, walk_inverse = _functions(numba.njit)

if TYPE_CHECKING:
    cuda_walk, cuda_walk_inverse = walk, walk_inverse


def __getattr__(name: str) -> Any:
    # Numba looks for CUDA when this is imported.
    if name in ("cuda_walk", "cuda_walk_inverse"):
        from numba.cuda import jit

        device: Any = jit
        made = _functions(device(device=True))
        globals().update(cuda_walk=made[0], cuda_walk_inverse=made[1])
        return globals()[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
