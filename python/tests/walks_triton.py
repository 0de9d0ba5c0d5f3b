"""Kernels of Triton with an order inside, which `test_walk.py` runs in Triton's interpreter, and
`python/benches/walks_gpu.py` on a GPU. Triton decides when it is imported which of them it is."""

import numpy as np
import torch
import triton
import triton.language as tl
from bijective_shuffle.triton import walk, walk_inverse, walk_params
from walks import KEYS, items, lengths, places


@triton.jit
def both(at, order, found, back, n, BLOCK: tl.constexpr):
    k = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = walk(tl.load(at + k, mask=k < n, other=-1), order)
    tl.store(found + k, x, mask=k < n)
    tl.store(back + k, walk_inverse(x, order), mask=k < n)


@triton.jit
def normalised(out, source, order, width, WIDTH: tl.constexpr):
    """Row `i` of the result is row `walk(i)` of the source with a mean of 0 and a variance of 1."""
    i = tl.program_id(0)
    column = tl.arange(0, WIDTH)
    row = walk(i, order).to(tl.int64)
    x = tl.load(source + row * width + column, mask=column < width, other=0.0)
    centred = tl.where(column < width, x - tl.sum(x) / width, 0.0)
    y = centred * tl.rsqrt(tl.sum(centred * centred) / width + 1e-5)
    tl.store(out + i.to(tl.int64) * width + column, y, mask=column < width)


def check(device, chosen):
    for k, n in enumerate(chosen):
        key, at = KEYS[k % len(KEYS)], places(n)
        order = walk_params(n, *key, device=device)
        for kind in (torch.int64, torch.int32):
            if n - 1 > torch.iinfo(kind).max:
                continue
            given = torch.from_numpy(at.astype(np.int64)).to(kind).to(device)
            found, back = torch.empty_like(given), torch.empty_like(given)
            both[(triton.cdiv(at.size, 256),)](given, order, found, back, at.size, BLOCK=256)
            assert np.array_equal(found.cpu().numpy().astype(np.uint64), items(n, *key, at)), n
            assert torch.equal(back, given), n


def check_rows(device):
    source = torch.randn(500, 24, generator=torch.Generator().manual_seed(1))
    out = torch.empty_like(source, device=device)
    normalised[(500,)](out, source.to(device), walk_params(500, 42, device=device), 24, WIDTH=32)
    rows = source[torch.from_numpy(items(500, 42, 0, places(500)).astype(np.int64))]
    want = torch.nn.functional.layer_norm(rows, (24,))
    assert torch.allclose(out.cpu(), want, atol=1e-5)


if __name__ == "__main__":
    check("cpu", [*range(1, 1001, 37), *range(255, 259), *lengths(63)[::9], 2**63])
    check_rows("cpu")
    print("passed")
