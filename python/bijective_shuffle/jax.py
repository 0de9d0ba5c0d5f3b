"""Orders inside programs of JAX: `Walk(n, seed, epoch)` is `Permutation.walk` as a pytree, whose
places and items are evaluated by operations of JAX.

>>> import jax, jax.numpy as jnp
>>> from bijective_shuffle.jax import Walk
>>> p = Walk(1_000_000, seed=42)
>>> step = jax.jit(lambda p, i: p(i))
>>> step(p, jnp.arange(3)).tolist() == [p(0), p(1), p(2)]
True

It works under `jit`, `vmap`, `scan`, `shard_map` and on every device, in memory for the result
alone. Give a `Walk` to a compiled function as an argument, or make it there from a traced seed or
epoch: then no seed and no epoch compiles the function again. Only `n` is static.

Up to 2^32 items the arithmetic has 32 bits, and longer orders need 64-bit types, which
`jax.config.update("jax_enable_x64", True)` turns on.
"""

from __future__ import annotations

import operator
from functools import partial
from typing import Any, SupportsIndex, TypeAlias, overload

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax
from jax.core import Tracer
from jax.tree_util import register_pytree_node_class
from numpy.typing import NDArray

from . import _walk
from ._native import Permutation, Places
from ._types import Seed

__all__ = ["Walk"]

# A seed or an epoch: as elsewhere, or an array, which may be traced.
_Number: TypeAlias = Seed | Array

_M16 = np.uint32(0xFFFF)


@register_pytree_node_class
class Walk:
    """The order of `Permutation.walk(n, seed, epoch)`: `p(i)` is the item at place `i`, and
    `p.inverse(x)` the place of item `x`.

    `n` is an integer of Python. `seed` and `epoch` are integers of Python, 32 bytes for a seed, or
    arrays of JAX, which may be traced: an integer without dimensions, which must not be negative,
    or words of 32 bits as uint32, the low one first (2 for an epoch, 2 or 8 for a seed). A traced
    seed draws the keys where it is traced, and up to 256 items the whole order.

    Raises `ValueError` for a negative length, for more items than the integers of JAX can count,
    and for a seed or an epoch that is negative or has more than 64 bits, and `TypeError` for arrays
    of other types.
    """

    # The words of the seed and of the epoch, and the keys: rows of multipliers, increments and
    # inverses, or up to 256 items of items and places.
    _seed: Any
    _epoch: Any
    _keys: Any

    def __init__(self, n: SupportsIndex, seed: _Number, epoch: _Number = 0) -> None:
        self._n = _length(n)
        self._seed, self._epoch = _words(seed, "a seed"), _words(epoch, "epoch")
        self._order: Permutation | None = None
        if isinstance(self._seed, Tracer) or isinstance(self._epoch, Tracer):
            self._keys = _traced_keys(self._n, jnp.asarray(self._seed), jnp.asarray(self._epoch))
            return
        key = _seed_of(self._seed), _epoch_of(self._epoch)
        rows = _walk.table(self._n, *key) if _is_table(self._n) else _walk.chain(self._n, *key)
        self._keys = np.array(rows, _word(self._n))

    @property
    def n(self) -> int:
        """The number of items."""
        return self._n

    def with_epoch(self, epoch: _Number) -> Walk:
        """The order of the same seed in another epoch, which may be traced."""
        words = self._seed
        if isinstance(words, np.ndarray):
            return Walk(self._n, _seed_of(words), epoch)
        return Walk(self._n, words, epoch)

    @overload
    def __call__(self, i: int) -> int: ...
    @overload
    def __call__(self, i: NDArray[Any]) -> NDArray[Any]: ...
    @overload
    def __call__(self, i: Array) -> Array: ...
    def __call__(self, i: Any) -> Any:
        """The item at place `i`, or the items at an array of places.

        An array of JAX gives one of JAX, of its own type if that can hold `n - 1` and else of the
        least of int32, uint32, int64 and uint64 that can. Nothing is raised in a compiled function:
        there a place outside of the order counts as the last one, as in JAX's own indexing.

        An integer gives an integer, and an array of NumPy one of NumPy: these are evaluated on the
        host, for loaders, and raise `IndexError` for a place outside. If the seed or the epoch is
        traced, they give arrays of JAX too.
        """
        return self._at(i, False)

    @overload
    def inverse(self, x: int) -> int: ...
    @overload
    def inverse(self, x: NDArray[Any]) -> NDArray[Any]: ...
    @overload
    def inverse(self, x: Array) -> Array: ...
    def inverse(self, x: Any) -> Any:
        """The place of item `x`, or the places of an array of items, with the types of a call. On
        the host, `ValueError` is raised for what is no item."""
        return self._at(x, True)

    def shuffled(self, x: Any) -> Any:
        """The rows of `x` in this order: row `k` of the result is row `p(k)`. `x` is an array with
        `n` rows, or a pytree of such arrays, which get the same order.

        Raises `ValueError` for another number of rows.
        """
        for leaf in jax.tree.leaves(x):
            if np.ndim(leaf) == 0 or np.shape(leaf)[0] != self._n:
                raise ValueError(f"an array of shape {np.shape(leaf)} has not {self._n} rows")
        if self._n == 0:
            return jax.tree.map(jnp.asarray, x)
        items = self._in_trace(jnp.arange(self._n, dtype=_index(self._n)), False)
        return jax.tree.map(lambda leaf: jnp.asarray(leaf).at[items].get(mode="promise_in_bounds"), x)

    def batch(self, step: SupportsIndex | Array, size: SupportsIndex) -> Array:
        """The items of a step of training, an array of `size` of them. `step` may be traced.

        An epoch has `n // size` steps: step `k` takes the places from `k * size` on, and the places
        that are left over at the end are left out. Steps count on through the epochs, so step
        `n // size` is the first one of the epoch after this order's.

        Raises `ValueError` unless `size` is from 1 up to `n`. A step must not be negative.
        """
        size = operator.index(size)
        if not 1 <= size <= self._n:
            raise ValueError(f"a batch has from 1 up to {self._n} items, not {size}")
        number = jnp.asarray(step)
        _check_integers(number, "a step")
        items: Array = _batch(self, number, size=size)
        return items

    def __len__(self) -> int:
        return self._n

    @overload
    def __getitem__(self, key: int | np.integer[Any], /) -> int: ...
    @overload
    def __getitem__(self, key: slice, /) -> Places: ...
    @overload
    def __getitem__(self, key: Any, /) -> NDArray[Any]: ...
    def __getitem__(self, key: Any, /) -> Any:
        """Items on the host, as of a `Permutation`: of a place, which may count from the end, of a
        slice, or of an array of places. Data sets and samplers of grain ask in this way."""
        return self._host()[key]

    def __repr__(self) -> str:
        if not (isinstance(self._seed, np.ndarray) and isinstance(self._epoch, np.ndarray)):
            return f"Walk({self._n}, seed={self._seed!r}, epoch={self._epoch!r})"
        return f"Walk({self._n}, seed={_seed_of(self._seed)!r}, epoch={_epoch_of(self._epoch)})"

    def tree_flatten(self) -> tuple[tuple[Any, Any, Any], int]:
        """The arrays of the pytree, and its length."""
        return (self._seed, self._epoch, self._keys), self._n

    @classmethod
    def tree_unflatten(cls, n: int, children: tuple[Any, Any, Any]) -> Walk:
        """The `Walk` of a length and arrays."""
        walk = object.__new__(cls)
        walk._n, walk._order = n, None
        walk._seed, walk._epoch, walk._keys = children
        return walk

    def _host(self) -> Permutation:
        """The order on the host, for which seed and epoch have to be known."""
        if self._order is None:
            seed, epoch = np.asarray(self._seed), np.asarray(self._epoch)
            self._order = Permutation.walk(self._n, _seed_of(seed), _epoch_of(epoch))
        return self._order

    def _at(self, i: Any, inverse: bool) -> Any:
        if isinstance(i, Array):
            return self._in_trace(i, inverse)
        if not isinstance(i, np.ndarray):
            i = operator.index(i)
        if isinstance(self._keys, Tracer):
            return self._in_trace(jnp.asarray(i, _index(self._n)), inverse)
        if inverse:
            return self._host().position(i)
        # Places of a `Permutation` may count from the end, and these may not.
        if np.size(i) and np.min(i) < 0:
            raise IndexError(f"index {np.min(i)} is out of range for {self._n} places")
        return self._host()[i]

    def _in_trace(self, i: Array, inverse: bool) -> Array:
        _check_integers(i, "a place")
        found: Array = _evaluate(self._keys, i, n=self._n, inverse=inverse)
        return found


def _length(n: SupportsIndex) -> int:
    n = _walk.checked(n, "n")
    if n > 2**32 and jax.dtypes.canonicalize_dtype(np.uint64) != np.uint64:
        raise ValueError(
            f"an order of {n} items needs integers of 64 bits, and JAX counts up to 2^32 without: "
            'jax.config.update("jax_enable_x64", True) turns them on'
        )
    return n


def _is_table(n: int) -> bool:
    return n <= _walk.TABLE_MAX


def _word(n: int) -> type[np.unsignedinteger[Any]]:
    """The type that an order is evaluated in."""
    return np.uint32 if n <= 2**32 else np.uint64


def _index(n: int) -> type[np.integer[Any]]:
    """The least type of the indexes of an order."""
    for kind in (np.int32, np.uint32, np.int64):
        if n - 1 <= np.iinfo(kind).max:
            return kind
    return np.uint64


def _check_integers(numbers: Array, what: str) -> None:
    if not jnp.issubdtype(numbers.dtype, jnp.integer):
        raise TypeError(f"{what} is an integer, and not of the type {numbers.dtype}")


def _words(number: Any, what: str) -> Any:
    """The 32-bit words of a seed or an epoch: of NumPy, unless they are traced."""
    if not isinstance(number, Tracer):
        if isinstance(number, Array):
            number = np.asarray(number)
        if np.ndim(number) == 0:
            read = [_walk.checked(number, what)] if what == "epoch" else _walk.seed_words(number)
            return np.array(_walk.halves(read), np.uint32)
    sizes = (2, 8) if what == "a seed" else (2,)
    if number.ndim == 1 and number.dtype == np.uint32 and number.shape[0] in sizes:
        return number
    if number.ndim != 0 or not jnp.issubdtype(number.dtype, jnp.integer):
        raise TypeError(
            f"{what} is an integer or {' or '.join(map(str, sizes))} words of uint32, and no array "
            f"of the type {number.dtype} and the shape {number.shape}"
        )
    if number.dtype.itemsize < 8:
        return jnp.stack([number.astype(np.uint32), jnp.zeros((), np.uint32)])
    wide = number.astype(np.uint64)
    return jnp.stack([wide.astype(np.uint32), (wide >> np.uint64(32)).astype(np.uint32)])


def _seed_of(words: NDArray[np.uint32]) -> int | bytes:
    """The seed of its words."""
    return words.astype("<u4").tobytes() if words.size == 8 else _epoch_of(words)


def _epoch_of(words: NDArray[np.uint32]) -> int:
    return int(words[0]) | int(words[1]) << 32


# The keys of a traced seed: chapters 2 to 5 of docs/specification.md, in pairs of 32-bit words, the
# low one first, because JAX mostly has no others.


def _product(a: Array, b: Any) -> tuple[Array, Array]:
    """The whole product of 32-bit words, of their halves."""
    b = jnp.asarray(b, np.uint32)
    a0, a1, b0, b1 = a & _M16, a >> 16, b & _M16, b >> 16
    low, left, right = a0 * b0, a1 * b0, a0 * b1
    middle = (low >> 16) + (left & _M16) + (right & _M16)
    return a * b, a1 * b1 + (left >> 16) + (right >> 16) + (middle >> 16)


def _blocks(seed: Array, epoch: Array, domain: int, numbers: Array) -> list[Array]:
    """The four words of each of these blocks of a key stream."""
    block = [numbers.astype(np.uint32), jnp.full_like(numbers, np.uint32(domain), np.uint32)]
    block += [jnp.broadcast_to(half, numbers.shape) for half in (epoch[0], epoch[1])]
    for word in range(0, seed.shape[0], 2):
        k, m = seed[word], seed[word + 1]
        for _ in range(10):
            a, b = _product(block[0], 0xD2511F53), _product(block[2], 0xCD9E8D57)
            block = [b[1] ^ block[1] ^ k, b[0], a[1] ^ block[3] ^ m, a[0]]
            k, m = k + np.uint32(0x9E3779B9), m + np.uint32(0xBB67AE85)
    return block


@partial(jax.jit, static_argnums=0)
def _traced_keys(n: int, seed: Array, epoch: Array) -> Array:
    return _traced_table(n, seed, epoch) if _is_table(n) else _traced_chain(n, seed, epoch)


def _traced_chain(n: int, seed: Array, epoch: Array) -> Array:
    """What `_walk.chain` gives. A round takes the words of one block."""
    bits, word = _walk.bits(n), _word(n)
    block = _blocks(seed, epoch, bits, jnp.arange(_walk.ROUNDS, dtype=np.uint32))
    increments, drawn = (
        low.astype(word) | high.astype(word) << 32 if word is np.uint64 else low
        for low, high in (block[:2], block[2:])
    )
    mask = word(2**bits - 1)
    ending = jnp.where(drawn & word(4) != 0, word(5), word(3))
    multipliers = drawn & ~word(7) | ending
    inverses = multipliers
    # By Newton: a number is its own inverse modulo 8, and each step doubles the bits.
    for _ in range(5):
        inverses = inverses * (word(2) - multipliers * inverses)
    return jnp.stack([multipliers, increments, inverses]) & mask


def _traced_table(n: int, seed: Array, epoch: Array) -> Array:
    """What `_walk.table` gives."""
    items = jnp.arange(max(n, 1), dtype=np.uint32)
    batches = list(_walk.batches(n))
    if not batches:
        return jnp.stack([items, items])
    # All batches draw their first range at once, then their second, and so on.
    first = np.array([batch.first for batch in batches], np.uint32)
    count = np.array([batch.ranges for batch in batches], np.uint32)

    def draw(step: Array, state: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        low, high, others = state
        end = first - step
        low, carry = _product(low, end)
        high, other = _product(high, end)
        high = high + carry
        other = other + (high < carry).astype(np.uint32)
        at = jnp.where(step < count, end, np.uint32(n + 1))
        return low, high, others.at[at].set(other, mode="drop")

    state = *_accepted(n, seed, epoch, batches), jnp.zeros(n + 1, np.uint32)
    *_, others = lax.fori_loop(np.uint32(0), count.max(), draw, state)

    def exchange(k: Array, items: Array) -> Array:
        end = n - k
        other = others[end]
        last, chosen = items[end - 1], items[other]
        return items.at[end - 1].set(chosen).at[other].set(last)

    items = lax.fori_loop(0, n - 1, exchange, items)
    return jnp.stack([items, jnp.zeros_like(items).at[items].set(jnp.arange(n, dtype=np.uint32))])


def _accepted(n: int, seed: Array, epoch: Array, batches: list[_walk.Batch]) -> tuple[Array, Array]:
    """The words of the stream that the batches take, as low and high halves: each takes the first
    one after that of the batch before it whose product is not among the least."""

    def halves(numbers: list[int]) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
        words = np.array(numbers, np.uint64)
        return words.astype(np.uint32), (words >> np.uint64(32)).astype(np.uint32)

    product = halves([batch.product for batch in batches])
    least = halves([2**64 % batch.product for batch in batches])
    count = np.arange(len(batches), dtype=np.uint32)

    def words(at: Array) -> tuple[Array, Array]:
        block = _blocks(seed, epoch, _walk.table_domain(n), at >> 1)
        is_second = at & np.uint32(1) != 0
        return jnp.where(is_second, block[2], block[0]), jnp.where(is_second, block[3], block[1])

    def attempt(state: tuple[Array, Array, Array, Array]) -> tuple[Array, Array, Array, Array]:
        at, refused, *_ = state
        at = at + (count >= jnp.argmax(refused).astype(np.uint32)).astype(np.uint32)
        low, high = words(at)
        rest, carry = _product(low, product[0])
        top = carry + low * product[1] + high * product[0]
        return at, (top < least[1]) | (top == least[1]) & (rest < least[0]), low, high

    # The first attempt moves all of them on, to the words from 0.
    start = jnp.asarray(count - np.uint32(1))
    state = (start, jnp.ones(len(batches), bool), start, start)
    _, _, low, high = lax.while_loop(lambda state: jnp.any(state[1]), attempt, state)
    return low, high


@partial(jax.jit, static_argnames=("n", "inverse"), inline=True)
def _evaluate(keys: Array, i: Array, *, n: int, inverse: bool) -> Array:
    """The items at places, or the places of items."""
    word, last = _word(n), max(n, 1) - 1
    found = i.dtype if np.iinfo(i.dtype).max >= last else np.dtype(_index(n))
    # A negative number wraps to a large one, unless it is cut to fewer bits.
    wide = word if i.dtype.itemsize <= np.dtype(word).itemsize else np.uint64
    x = jnp.minimum(i.astype(wide), wide(last)).astype(word)
    if _is_table(n):
        entries: Array = jnp.asarray(keys[int(inverse)]).at[x].get(mode="promise_in_bounds")
        return entries.astype(found)
    turn = partial(_backward if inverse else _forward, keys, n)
    x = turn(x)
    if n & last:
        outside = word(last)
        x = lax.while_loop(
            lambda x: jnp.any(x > outside), lambda x: jnp.where(x > outside, turn(x), x), x
        )
    return x.astype(found)


def _forward(keys: Array, n: int, x: Array) -> Array:
    """`MulXorshift`: from a slot to an index."""
    bits, word = _walk.bits(n), _word(n)
    mask, half = word(2**bits - 1), (bits + 1) // 2
    x = x ^ x >> word(half + 1)
    for number in range(_walk.ROUNDS):
        x = x * keys[0, number] + keys[1, number] & mask
        x = x ^ x >> word(half + number % 2)
    return x


def _backward(keys: Array, n: int, x: Array) -> Array:
    """Its inverse."""
    bits, word = _walk.bits(n), _word(n)
    mask, half = word(2**bits - 1), (bits + 1) // 2
    for number in reversed(range(_walk.ROUNDS)):
        x = x ^ x >> word(half + number % 2)
        x = (x - keys[1, number]) * keys[2, number] & mask
    x = x ^ x >> word(half + 1)
    return x


@partial(jax.jit, static_argnames="size")
def _batch(walk: Walk, step: Array, *, size: int) -> Array:
    steps = walk.n // size
    kind = _index(walk.n)
    # A count of steps may need more bits than the type of a step has.
    if steps > np.iinfo(step.dtype).max:
        step = step.astype(kind)
    epochs, step = step // steps, step % steps

    def later() -> Array:
        low = epochs.astype(np.uint32)
        high = (epochs >> 32).astype(np.uint32) if epochs.dtype.itemsize == 8 else np.uint32(0)
        least = walk._epoch[0] + low
        most = walk._epoch[1] + high + (least < low)
        drawn: Array = _traced_keys(walk.n, jnp.asarray(walk._seed), jnp.stack([least, most]))
        return drawn

    keys = lax.cond(epochs == 0, lambda: jnp.asarray(walk._keys), later)
    places = step.astype(kind) * kind(size) + jnp.arange(size, dtype=kind)
    items: Array = _evaluate(keys, places, n=walk.n, inverse=False)
    return items
