"""`Permutation.walk` and `randperm` as operations on tensors of PyTorch.

All arithmetic is of int32 or int64 and wraps. Values are kept below the sign bit by a mask before
each shift, because PyTorch has hardly any unsigned integers.
"""

from __future__ import annotations

import operator
from typing import Any, SupportsIndex, TypeAlias

import torch
from torch import Tensor
from torch.library import custom_op, register_fake, register_vmap

from . import _walk, cuda
from ._native import Permutation
from ._types import Seed

if not hasattr(torch, "while_loop"):
    raise ImportError(
        f"orders as operations on tensors need torch.while_loop, which PyTorch {torch.__version__} "
        "does not have; the samplers of bijective_shuffle.torch do not"
    )

# A seed or an epoch: as elsewhere, or a tensor.
_Number: TypeAlias = Seed | Tensor

_MOST = 2**63
_INTEGERS = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)


def walk(i: Tensor, n: SupportsIndex, seed: _Number, epoch: SupportsIndex | Tensor = 0) -> Tensor:
    """The items at the places `i` of `Permutation.walk(n, seed, epoch)`, in plain operations on
    tensors: on any device, in `torch.compile`, `torch.export` and `torch.func.vmap`.

    `i` is a tensor of int64, int32, int16, int8 or uint8. The result has its shape and its device,
    and its type if that can hold `n - 1`, else int64. `n` is an integer from 1 to 2^63. `seed` and
    `epoch` are integers or, for a seed, 32 bytes. They may also be tensors of int64: without
    dimensions and with the bits of a 64-bit number, or for a seed four of them for 32 bytes. With
    tensors, no seed and no epoch compiles a function again, and keys are drawn on the device.

    A tensor on the CPU is evaluated by native code, unless the function is being compiled, exported
    or mapped. Then a place that is not from 0 to `n - 1` raises `IndexError`; elsewhere that would
    have to wait for the device, and such a place counts as the last one.

    Raises `ValueError` for a length, a seed or an epoch outside of its range, and `TypeError` for
    tensors of other types.
    """
    return _evaluate(i, n, seed, epoch, False)


def walk_inverse(
    x: Tensor, n: SupportsIndex, seed: _Number, epoch: SupportsIndex | Tensor = 0
) -> Tensor:
    """The places of the items `x`: `walk_inverse(walk(i, n, seed), n, seed)` is `i`. The rest is as
    for `walk`, but what is no item raises `ValueError`."""
    return _evaluate(x, n, seed, epoch, True)


def randperm(
    n: SupportsIndex,
    seed: _Number,
    epoch: SupportsIndex | Tensor = 0,
    *,
    dtype: torch.dtype = torch.int64,
    device: Any = None,
) -> Tensor:
    """The indexes of `Permutation(n, seed, epoch)`, the order of `shuffle`, as a tensor of int64 or
    int32, in place of `torch.randperm`. Like `bijective_shuffle.cuda.randperm`, which it calls for
    an NVIDIA GPU, it is another order than that of `walk`, unless `n` is a power of two or at most
    256.

    On the CPU native code writes it. On other devices, with tensors for seed or epoch, and where a
    function is being compiled, operations on tensors do, for lengths from 1 to 2^62. The other
    arguments are those of `walk`.
    """
    n = _walk.checked(n, "n")
    if dtype not in (torch.int64, torch.int32) or n - 1 > torch.iinfo(dtype).max:
        raise ValueError(f"{n} indexes are of int64, or int32 if it holds them, and not of {dtype}")
    # The default device cannot be asked for while a function is compiled.
    device = torch.empty(0, device=device).device
    if not (isinstance(seed, Tensor) or isinstance(epoch, Tensor) or torch.compiler.is_compiling()):
        if device.type == "cpu":
            name = str(dtype).removeprefix("torch.")
            return torch.from_numpy(Permutation(n, seed, epoch).to_numpy(name))
        if device.type == "cuda" and torch.version.cuda:
            with torch.cuda.device(device):
                out = torch.empty(n, dtype=dtype, device=device)
                cuda.randperm(n, seed, epoch, out=out)
            return out
    if _is_table(n):
        return walk(torch.arange(n, dtype=dtype, device=device), max(n, 1), seed, epoch)
    # Algorithm 1 of the paper: the points of the domain, without those that are no items.
    points = 1 << _walk.bits(n)
    x = walk(torch.arange(points, dtype=dtype, device=device), points, seed, epoch)
    if points > n:
        x = x[torch.nonzero_static(x < n, size=n).squeeze(1)]
    return x


def _evaluate(
    i: Tensor, n: SupportsIndex, seed: _Number, epoch: SupportsIndex | Tensor, inverse: bool
) -> Tensor:
    n = operator.index(n)
    if not 1 <= n <= _MOST:
        raise ValueError(f"n is an integer from 1 to 2^63, not {n}")
    if i.dtype not in _INTEGERS:
        raise TypeError(f"places and items are of int64 or a smaller integer, not {i.dtype}")
    found = i.dtype if n - 1 <= torch.iinfo(i.dtype).max else torch.int64
    is_tensor = isinstance(seed, Tensor) or isinstance(epoch, Tensor)
    if not is_tensor and not torch.compiler.is_compiling():
        # One without values is of a class of its own, or of another device.
        if i.device.type == "cpu" and type(i) is Tensor and not _is_mapped(i):
            return _natively(i, Permutation.walk(n, seed, epoch), inverse).to(found)
        keys = _known_keys(n, seed, epoch, i.device)
    else:
        keys = _drawn_keys(n, _words(seed, True, i.device), _words(epoch, False, i.device), i.device)
    # Those outside count as the last one.
    x = torch.where(i < 0, n - 1, i.to(torch.int64)).clamp(max=n - 1).to(_word(n))
    if _is_table(n):
        return keys[int(inverse)][x].to(found)
    x = _turn(x, n, keys, inverse)
    if n & (n - 1):
        x = _finished(x, n, keys, inverse)
    return x.to(found)


def _is_mapped(i: Tensor) -> bool:
    return bool(torch._C._functorch.is_batchedtensor(i))


def _natively(i: Tensor, order: Permutation, inverse: bool) -> Tensor:
    places = i.detach().numpy()
    if inverse:
        return torch.from_numpy(order.position(places))
    # Places of a `Permutation` may count from the end, and these may not.
    if places.size and places.min() < 0:
        raise IndexError(f"index {places.min()} is out of range for {order.n} places")
    return torch.from_numpy(order[places])


def _signed(word: int) -> int:
    """The integer of int64 with these bits."""
    return word - 2**64 if word >= _MOST else word


def _words(number: Any, is_seed: bool, device: torch.device) -> Tensor:
    """The 64-bit words of a seed or an epoch."""
    if isinstance(number, Tensor):
        is_key = is_seed and number.shape == (4,)
        if number.dtype != torch.int64 or (number.ndim > 0 and not is_key):
            raise TypeError(
                "a seed or an epoch is an integer, or a tensor of int64 without dimensions, not one "
                f"of {number.dtype} and of the shape {tuple(number.shape)}"
            )
        return number.reshape(-1).to(device)
    words = _walk.seed_words(number) if is_seed else [_walk.checked(number, "epoch")]
    if len(words) == 1:
        # While a function is compiled, the number may be a symbol.
        return torch.full((1,), _signed(words[0]), dtype=torch.int64, device=device)
    return torch.tensor([_signed(word) for word in words], dtype=torch.int64, device=device)


def _known_keys(n: int, seed: Seed, epoch: SupportsIndex, device: torch.device) -> Tensor:
    """Rows of multipliers, increments and inverses, or of items and places."""
    rows = _walk.table(n, seed, epoch) if _is_table(n) else _walk.chain(n, seed, epoch)
    return torch.tensor(rows, dtype=_word(n), device=device)


def _drawn_keys(n: int, seed: Tensor, epoch: Tensor, device: torch.device) -> Tensor:
    """What `_known_keys` gives, from the words of a seed and of an epoch that are tensors."""
    if _is_table(n):
        drawn_table: Tensor = _table(seed, epoch, n)
        return drawn_table
    size = 1 << _walk.bits(n)
    # Chapter 2, for the ten blocks at once. Whole products of 32-bit words wrap in int64, and their
    # bits are right.
    # A list, because the compiler for GPUs narrows what it computes from `arange` to 32 bits.
    x = torch.tensor(list(range(_walk.ROUNDS)), dtype=torch.int64, device=device)
    y, z, w = torch.full_like(x, _walk.bits(n)), _low(epoch[0]) + 0 * x, _high(epoch[0]) + 0 * x
    for word in seed.unbind():
        k, m = _low(word), _high(word)
        for _ in range(10):
            a, b = 0xD2511F53 * x, 0xCD9E8D57 * z
            x, y, z, w = _high(b) ^ y ^ k, _low(b), _high(a) ^ w ^ m, _low(a)
            k, m = _low(k + 0x9E3779B9), _low(m + 0xBB67AE85)
    increments, drawn = x | y << 32, z | w << 32
    multipliers = drawn & ~7 | torch.where(drawn & 4 != 0, 5, 3)
    inverses = multipliers
    # By Newton: a number is its own inverse modulo 8, and each step doubles the bits.
    for _ in range(5):
        inverses = inverses * (2 - multipliers * inverses)
    return (torch.stack((multipliers, increments, inverses)) & (size - 1)).to(_word(n))


def _is_table(n: int) -> bool:
    return n <= _walk.TABLE_MAX


def _word(n: int) -> torch.dtype:
    """The type that an order is evaluated in."""
    return torch.int32 if _walk.TABLE_MAX < n <= 2**31 else torch.int64


def _low(x: Tensor) -> Tensor:
    return x & _walk.M32


def _high(x: Tensor) -> Tensor:
    return x >> 32 & _walk.M32


@custom_op("bijective_shuffle::table", mutates_args=())  # type: ignore[untyped-decorator, unused-ignore]
def _table(seed: Tensor, epoch: Tensor, n: int) -> Tensor:
    """The table of a seed that is a tensor. Its draw has no fixed number of steps."""
    words = [word & _walk.M64 for word in seed.tolist()]
    known = words[0] if len(words) == 1 else b"".join(word.to_bytes(8, "little") for word in words)
    return torch.tensor(_walk.table(n, known, int(epoch.item()) & _walk.M64), device=seed.device)


@register_fake("bijective_shuffle::table")  # type: ignore[untyped-decorator, unused-ignore]
def _(seed: Tensor, epoch: Tensor, n: int) -> Tensor:
    return torch.empty((2, n), dtype=torch.int64, device=seed.device)


@register_vmap("bijective_shuffle::table")  # type: ignore[untyped-decorator, unused-ignore]
def _(info: Any, in_dims: Any, seed: Tensor, epoch: Tensor, n: int) -> tuple[Tensor, int]:
    seeds, epochs = (
        [x] * info.batch_size if dim is None else x.unbind(dim)
        for x, dim in zip((seed, epoch), in_dims)
    )
    return torch.stack([_table(seed, epoch, n) for seed, epoch in zip(seeds, epochs)]), 0


def _turn(x: Tensor, n: int, keys: Tensor, inverse: bool) -> Tensor:
    """`MulXorshift`, or its inverse."""
    bits = _walk.bits(n)
    mask, half = (1 << bits) - 1, (bits + 1) // 2
    multipliers, increments, inverses = (row.unbind() for row in keys.unbind())
    if inverse:
        for r in reversed(range(_walk.ROUNDS)):
            x = x ^ x >> half + r % 2
            x = (x - increments[r]) * inverses[r] & mask
        return x ^ x >> half + 1
    x = x ^ x >> half + 1
    for r in range(_walk.ROUNDS):
        x = x * multipliers[r] + increments[r] & mask
        x = x ^ x >> half + r % 2
    return x


def _finished(x: Tensor, n: int, keys: Tensor, inverse: bool) -> Tensor:
    """Maps values that are no items until they are."""

    def is_left(x: Tensor) -> Tensor:
        return (x >= n).any()

    def turn(x: Tensor) -> tuple[Tensor]:
        return (torch.where(x >= n, _turn(x, n, keys, inverse), x),)

    if torch.compiler.is_exporting() and not _is_mapped(x):
        loop: Any = torch.while_loop
        done: Tensor = loop(is_left, turn, (x,))[0]
        return done
    if torch.compiler.is_compiling():
        # In registers, until few are left or all have cost enough.
        share, turns = 1 - n / (1 << _walk.bits(n)), 0
        while turns < 3 and share ** (turns + 1) > 1 / 32:
            (x,) = turn(x)
            turns += 1
    finished: Tensor = _finish(x, keys, n, inverse)
    return finished


@custom_op("bijective_shuffle::finish", mutates_args=())  # type: ignore[untyped-decorator, unused-ignore]
def _finish(x: Tensor, keys: Tensor, n: int, inverse: bool) -> Tensor:
    """What `_finished` does, without a graph: only values that are left are evaluated. A loop in a
    graph, as for an export, evaluates all of them in each turn."""
    done = x.reshape(-1).clone()
    left = torch.nonzero(done >= n).squeeze(1)
    while left.numel() > 0:
        values = _turn(done[left], n, keys, inverse)
        done[left] = values
        left = left[values >= n]
    return done.reshape(x.shape)


@register_fake("bijective_shuffle::finish")  # type: ignore[untyped-decorator, unused-ignore]
def _(x: Tensor, keys: Tensor, n: int, inverse: bool) -> Tensor:
    return torch.empty_like(x, memory_format=torch.contiguous_format)


@register_vmap("bijective_shuffle::finish")  # type: ignore[untyped-decorator, unused-ignore]
def _(
    info: Any, in_dims: Any, x: Tensor, keys: Tensor, n: int, inverse: bool
) -> tuple[Tensor, int]:
    if in_dims[1] is None:
        return _finish(x, keys, n, inverse), in_dims[0]
    rows = [x] * info.batch_size if in_dims[0] is None else x.unbind(in_dims[0])
    return torch.stack([_finish(*row, n, inverse) for row in zip(rows, keys.unbind(in_dims[1]))]), 0
