"""The order of `Permutation.walk` inside kernels of Triton.

```python
import triton
import triton.language as tl
from bijective_shuffle.triton import walk, walk_params

@triton.jit
def gather(out, source, order, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(source + walk(i, order), mask=i < n), mask=i < n)

order = walk_params(n, seed=42, device="cuda")
gather[(triton.cdiv(n, 1024),)](out, source, order, n, BLOCK=1024)
```

The length, the seed and the epoch are in a tensor, so none of them compiles a kernel again, except
that lengths above 2^32 have words of 64 bits. Do not call an argument of a kernel `params`: some
versions of Triton use that name for themselves, and fail with a `TypeError` about a dict.
"""

from __future__ import annotations

import operator
from typing import Any, SupportsIndex

import numpy as np
import torch
import triton
import triton.language as tl

from . import _walk
from ._types import Seed

__all__ = ["walk", "walk_inverse", "walk_params"]


def walk_params(
    n: SupportsIndex, seed: Seed, epoch: SupportsIndex = 0, *, device: Any = None
) -> torch.Tensor:
    """The order of `Permutation.walk(n, seed, epoch)` for `walk` and `walk_inverse`: a tensor of
    uint32, or of uint64 above 2^32 items, with 33 words, or up to 256 items with `3 + 2 n`.

    A length of 0 counts as 1. Raises `ValueError` for a length, a seed or an epoch that is negative
    or has more than 64 bits.
    """
    n = _walk.checked(n, "n")
    words = np.array(_walk.parameters(n, seed, epoch), np.uint32 if n <= 2**32 else np.uint64)
    return torch.from_numpy(words).to(device)


@triton.jit
def walk(i, params):  # type: ignore[no-untyped-def]
    """The items at the places `i`: a scalar or a block of integers, of a type that holds `n - 1`,
    which is also the type of the result. `params` is the tensor of `walk_params`.

    A place that is not from 0 to `n - 1` counts as the last one. So a block at the end of the data
    needs a mask only where memory is read or written.
    """
    x = _clamped(i, params)
    last = tl.load(params)
    if last < 256:
        x = tl.load(params + 3 + x)
    else:
        x = _forward(x, params)
        if last != tl.load(params + 1):
            # No item yet: the map is applied again.
            while _any(x > last):
                x = tl.where(x > last, _forward(x, params), x)
    return x.to(i.dtype)


@triton.jit
def walk_inverse(x, params):  # type: ignore[no-untyped-def]
    """The places of the items `x`; the rest is as for `walk`."""
    i = _clamped(x, params)
    last = tl.load(params)
    if last < 256:
        i = tl.load(params + 4 + last + i)
    else:
        i = _backward(i, params)
        if last != tl.load(params + 1):
            while _any(i > last):
                i = tl.where(i > last, _backward(i, params), i)
    return i.to(x.dtype)


@triton.jit
def _clamped(i, params):  # type: ignore[no-untyped-def]
    word: tl.constexpr = params.dtype.element_ty
    last = tl.load(params)
    # A negative number wraps to a large one, unless it is cut to fewer bits.
    if i.dtype.primitive_bitwidth > word.primitive_bitwidth:
        x = tl.minimum(i.to(tl.uint64), last.to(tl.uint64)).to(word)
    else:
        x = tl.minimum(i.to(word), last)
    return x


@triton.jit
def _any(outside):  # type: ignore[no-untyped-def]
    # Some versions of Triton compile what follows a `return` too, so there is one, at the end.
    if outside.type.is_block():
        found = tl.max(outside.to(tl.int32), axis=None) > 0
    else:
        found = outside
    return found


@triton.jit
def _forward(x, params):  # type: ignore[no-untyped-def]
    mask = tl.load(params + 1)
    half = tl.load(params + 2)
    x = x ^ (x >> (half + 1))
    for r in tl.static_range(10):
        x = (x * tl.load(params + (3 + r)) + tl.load(params + (13 + r))) & mask
        x = x ^ (x >> (half + r % 2))
    return x


@triton.jit
def _backward(x, params):  # type: ignore[no-untyped-def]
    mask = tl.load(params + 1)
    half = tl.load(params + 2)
    for k in tl.static_range(10):
        x = x ^ (x >> (half + (9 - k) % 2))
        x = ((x - tl.load(params + (22 - k))) * tl.load(params + (32 - k))) & mask
    return x ^ (x >> (half + 1))
