#!/usr/bin/env python3
"""Measures orders inside programs of JAX, PyTorch and Triton beside the shuffles that these have, and
writes the rows of benches/results/python-walks.csv.

    python python/benches/walks.py [--quick] [--only CASE..] [--out FILE]

It works as shows.py beside it does. Compiling is not part of any time. The cases whose names begin
with `gpu` need an NVIDIA GPU, and first compare their values with those of the CPU.
"""

from __future__ import annotations

import sys

from shows import CASES, ROOT, case, least, main

CASES.clear()

ITEMS = 2**24


def waiting(function, *arguments):
    """A call of a function of JAX that waits for the result, and has been made once."""

    def run():
        function(*arguments).block_until_ready()

    run()
    return run


@case("jax")
def jax_order(scale):
    """All indexes, beside `jax.random.permutation`."""
    import jax
    import jax.numpy as jnp
    from bijective_shuffle.jax import Walk

    n, key = ITEMS // scale, jax.random.key(42)
    compiled = jax.jit(lambda key: jax.random.permutation(key, n)).lower(key).compile()
    theirs = least(lambda: compiled(key).block_until_ready(), rounds=2)[0]
    for count, beside in ((n, theirs), (3 * n // 4, None)):
        ours = waiting(jax.jit(lambda p, count=count: p(jnp.arange(count))), Walk(count, 42))
        yield f"{count} indexes", least(ours)[0], beside


@case("jax")
def jax_step(scale):
    """A batch of 4096 in each step of a compiled loop, beside a slice of an order that is in memory."""
    import jax
    import jax.numpy as jnp
    from bijective_shuffle import Permutation
    from bijective_shuffle.jax import Walk

    n, size, steps = ITEMS, 4096, 1000 // min(scale, 10)

    def loop(batch):
        def step(total, k):
            return total + batch(k).sum(dtype=jnp.uint32), None

        return jax.lax.scan(step, jnp.uint32(0), jnp.arange(steps))[0]

    order = Permutation(n, 42).to_numpy("int32")
    theirs = jax.jit(lambda order: loop(lambda k: jax.lax.dynamic_slice(order, (k * size,), (size,))))
    times = least(waiting(theirs, jnp.asarray(order)))
    for n, size in ((n, size), (3 * n // 4, size), (256, 256)):
        ours = jax.jit(lambda p, size=size: loop(lambda k: p.batch(k, size)))
        held = ours.lower(Walk(n, 42)).compile().memory_analysis().temp_size_in_bytes
        time = least(waiting(ours, Walk(n, 42)), rounds=3)[0] / steps
        yield f"a batch of {size} of {n}", time, times[0] / steps if n == ITEMS else None
        yield f"a batch of {size} of {n}: working memory, in bytes", held, None


@case("torch")
def torch_order(scale):
    """All indexes on a CPU, beside `torch.randperm`."""
    import torch
    from bijective_shuffle.torch import randperm, walk

    seed = torch.tensor(42)
    for n in (ITEMS // scale, 3 * ITEMS // 4 // scale):
        compiled = torch.compile(lambda seed, n=n: walk(torch.arange(n), n, seed), fullgraph=True)
        compiled(seed)
        times = least(lambda: compiled(seed), lambda: walk(torch.arange(n), n, 42), lambda: randperm(n, 42),
                      lambda: torch.randperm(n), rounds=5)
        for what, time in zip(("walk, compiled", "walk", "randperm"), times):
            yield f"{what}: {n} indexes", time, times[3]


def on_a_gpu(*functions):
    """The least times of functions on a GPU, which is waited for."""
    import torch

    def waited(function):
        def run():
            function()
            torch.cuda.synchronize()

        run()
        return run

    return least(*map(waited, functions), rounds=10)


def has_gpu(name):
    import torch

    if torch.cuda.is_available():
        return True
    print(f"{name}: left out, without a GPU", file=sys.stderr)
    return False


@case("torch", "triton")
def gpu_triton(scale):
    """2^28 indexes by a kernel of Triton, beside our own kernel and `torch.randperm`; and rows of 64
    bytes that are gathered by them, beside `torch.randperm` and an index."""
    import bijective_shuffle as bs
    import torch
    import triton
    import triton.language as tl
    from bijective_shuffle.triton import walk, walk_params

    if not has_gpu("gpu-triton"):
        return
    sys.path.insert(0, str(ROOT / "python" / "tests"))
    import walks_triton
    from walks import lengths

    walks_triton.check("cuda", [*range(1, 1001), *lengths(63)])
    walks_triton.check_rows("cuda")

    @triton.jit
    def indexes(out, order, n, BLOCK: tl.constexpr):
        i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(out + i, walk(i, order), mask=i < n)

    @triton.jit
    def gather(out, rows, order, n, BLOCK: tl.constexpr):
        i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        word = tl.arange(0, 16)[None, :]
        from_row = walk(i, order).to(tl.int64)[:, None] * 16 + word
        to_row = i.to(tl.int64)[:, None] * 16 + word
        tl.store(out + to_row, tl.load(rows + from_row, mask=i[:, None] < n), mask=i[:, None] < n)

    for n in (2**28 // scale, 3 * 2**26 // scale):
        order, out = walk_params(n, 42, device="cuda"), torch.empty(n, dtype=torch.int32, device="cuda")
        same = bs.Permutation.walk(n, 42)
        best = min(
            (on_a_gpu(lambda: indexes[(triton.cdiv(n, block),)](out, order, n, BLOCK=block))[0], block)
            for block in (256, 512, 1024, 2048)
        )
        block = best[1]
        assert (out[:1000].cpu().numpy() == same[:1000].to_numpy()).all()
        times = on_a_gpu(lambda: indexes[(triton.cdiv(n, block),)](out, order, n, BLOCK=block),
                         lambda: torch.randperm(n, out=out))
        yield f"{n} int32 in blocks of {block}, beside torch.randperm", *times
        if n & (n - 1) == 0:
            # The order of `cuda.randperm` is the same.
            times = on_a_gpu(lambda: indexes[(triton.cdiv(n, block),)](out, order, n, BLOCK=block),
                             lambda: bs.cuda.randperm(n, 42, out=out))
            yield f"{n} int32 in blocks of {block}, beside cuda.randperm of this package", *times
        del out
        n //= 4
        rows = torch.arange(n * 16, dtype=torch.int32, device="cuda").reshape(n, 16)
        moved, order = torch.empty_like(rows), walk_params(n, 42, device="cuda")
        same = bs.Permutation.walk(n, 42)
        best = min(
            (on_a_gpu(lambda: gather[(triton.cdiv(n, block),)](moved, rows, order, n, BLOCK=block))[0], block)
            for block in (32, 64, 128, 256)
        )
        block = best[1]
        assert (moved[:1000, 0].cpu().numpy() == same[:1000].to_numpy() * 16).all()
        yield f"{n} rows of 64 bytes in blocks of {block}", *on_a_gpu(
            lambda: gather[(triton.cdiv(n, block),)](moved, rows, order, n, BLOCK=block),
            lambda: torch.index_select(rows, 0, torch.randperm(n, device="cuda"), out=moved))
        del rows, moved
        torch.cuda.empty_cache()


@case("torch")
def gpu_torch(scale):
    """2^28 indexes by `torch.compile` on a GPU, beside `torch.randperm`."""
    import bijective_shuffle as bs
    import torch
    from bijective_shuffle.torch import walk

    if not has_gpu("gpu-torch"):
        return
    seed = torch.tensor(42, device="cuda")
    for n in (2**28 // scale, 3 * 2**26 // scale):
        def all_of_them(seed, n=n):
            return walk(torch.arange(n, dtype=torch.int32, device="cuda"), n, seed)

        compiled = torch.compile(all_of_them, fullgraph=True)
        assert (compiled(seed)[:1000].cpu().numpy() == bs.Permutation.walk(n, 42)[:1000].to_numpy()).all()
        times = on_a_gpu(lambda: compiled(seed), lambda: all_of_them(seed),
                         lambda: torch.randperm(n, dtype=torch.int32, device="cuda"))
        yield f"walk, compiled: {n} int32", times[0], times[2]
        yield f"walk: {n} int32", times[1], times[2]


@case("cupy")
def gpu_cupy(scale):
    """2^28 indexes by a `RawKernel`, beside `cupy.random.permutation`."""
    import bijective_shuffle as bs
    import cupy as cp
    from bijective_shuffle.cupy import walk_params, walk_source

    code = walk_source() + '''
    extern "C" __global__ void indexes(bijective_shuffle::walk p, unsigned int *out) {
        const unsigned long long i = blockIdx.x * (unsigned long long)blockDim.x + threadIdx.x;
        if (i < p.size()) out[i] = p(i);
    }'''
    indexes = cp.RawKernel(code, "indexes", options=("--std=c++17",))
    at = cp.ElementwiseKernel("uint64 place, raw uint64 order", "uint64 x",
                              "x = (*reinterpret_cast<const bijective_shuffle::walk *>(&order[0]))(place)",
                              "walk_at", preamble=walk_source(), options=("--std=c++17",))
    for n in (2**28 // scale, 3 * 2**26 // scale, 200):
        params, out = walk_params(n, 42), cp.empty(n, cp.uint32)

        def ours():
            indexes((-(-n // 256),), (256,), (params, out))
            cp.cuda.Device().synchronize()

        def theirs():
            cp.random.permutation(n)
            cp.cuda.Device().synchronize()

        ours(), theirs()
        want = bs.Permutation.walk(n, 42)[:100].to_numpy()
        assert (out[:100].get() == want).all()
        assert (at(cp.arange(100, dtype="u8"), cp.asarray(params.view("u8"))).get() == want).all()
        if n > 200:
            yield f"{n} uint32", *least(ours, theirs, rounds=5)


@case("numba")
def gpu_numba(scale):
    """2^28 indexes by a kernel of Numba."""
    import bijective_shuffle as bs
    import numpy as np
    from bijective_shuffle.numba import cuda_walk, walk_params
    from numba import cuda

    @cuda.jit
    def indexes(params, out):
        i = cuda.grid(1)
        if i < out.size:
            out[i] = cuda_walk(i, params)

    for n in (2**28 // scale, 3 * 2**26 // scale, 200):
        params, out = cuda.to_device(walk_params(n, 42)), cuda.device_array(n, np.uint32)

        def ours():
            indexes[-(-n // 256), 256](params, out)
            cuda.synchronize()

        ours()
        assert (out[:100].copy_to_host() == bs.Permutation.walk(n, 42)[:100].to_numpy()).all()
        if n > 200:
            yield f"{n} uint32", least(ours)[0], None


if __name__ == "__main__":
    main("python-walks.csv")
