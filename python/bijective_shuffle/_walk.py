"""The map of `Permutation.walk` as numbers, for code that is compiled elsewhere: its keys, or its
table, from a length, a seed and an epoch. It follows docs/specification.md, chapters 2 to 5 and 7,
and uses only integers of Python.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator
from typing import NamedTuple, SupportsIndex

from ._types import Seed

M32, M64 = 2**32 - 1, 2**64 - 1

# Up to this many items an order is a table (chapter 4), beyond it a chain of rounds (chapter 5).
TABLE_MAX = 256
ROUNDS = 10


class Batch(NamedTuple):
    """What one random word serves in a draw: the ranges from `first` down, so many `ranges`."""

    first: int
    ranges: int
    product: int


def checked(number: SupportsIndex, what: str, alternative: str = "") -> int:
    """The number, if it has 64 bits."""
    number = operator.index(number)
    if not 0 <= number <= M64:
        raise ValueError(f"{what} is an integer from 0 to 2^64 - 1{alternative}, not {number}")
    return number


def seed_words(seed: Seed) -> list[int]:
    """The one or four 64-bit words of a seed."""
    if not isinstance(seed, bytes):
        return [checked(seed, "a seed", " or 32 bytes")]
    if len(seed) != 32:
        raise ValueError(f"a seed has 32 bytes, not {len(seed)}")
    return [int.from_bytes(seed[k : k + 8], "little") for k in range(0, 32, 8)]


def halves(words: list[int]) -> list[int]:
    """The 32-bit words of 64-bit words, the low one first."""
    return [half for word in words for half in (word & M32, word >> 32)]


def bits(n: int) -> int:
    """The least `b` with `2^b >= n`."""
    return (max(n, 1) - 1).bit_length()


def table_domain(n: int) -> int:
    """The domain of the key stream of a table, whose length is below 2^31."""
    return 2**31 + n


def philox(key: tuple[int, int], counter: tuple[int, int, int, int]) -> tuple[int, int, int, int]:
    """A block of Philox4x32-10 (Salmon et al., Parallel random numbers: as easy as 1, 2, 3, 2011)."""
    (k, m), (x, y, z, w) = key, counter
    for _ in range(10):
        a, b = 0xD2511F53 * x, 0xCD9E8D57 * z
        x, y, z, w = b >> 32 ^ y ^ k, b & M32, a >> 32 ^ w ^ m, a & M32
        k, m = k + 0x9E3779B9 & M32, m + 0xBB67AE85 & M32
    return x, y, z, w


def key_stream(seed: Seed, epoch: SupportsIndex, domain: int) -> Iterator[int]:
    """The 64-bit words of a key stream (chapter 3)."""
    words, epoch = seed_words(seed), checked(epoch, "epoch")
    number = 0
    while True:
        block = number, domain, epoch & M32, epoch >> 32
        for word in words:
            block = philox((word & M32, word >> 32), block)
        yield block[0] | block[1] << 32
        yield block[2] | block[3] << 32
        number += 1


def chain(n: int, seed: Seed, epoch: SupportsIndex) -> tuple[list[int], list[int], list[int]]:
    """The multipliers, the increments and the inverses of the multipliers of the ten rounds of
    `MulXorshift`, for more than `TABLE_MAX` items."""
    stream, size = key_stream(seed, epoch, bits(n)), 1 << bits(n)
    multipliers, increments = [], []
    for _ in range(ROUNDS):
        increments.append(next(stream) % size)
        word = next(stream)
        multipliers.append(((word & ~7) + (5 if word & 4 else 3)) % size)
    return multipliers, increments, [pow(a, -1, size) for a in multipliers]


def batches(n: int) -> Iterator[Batch]:
    """The ranges of a table's draw, by the words that serve them."""
    while n > 1:
        count, product = 1, n
        while n - count > 1 and product * (n - count) <= 2**56:
            product *= n - count
            count += 1
        yield Batch(n, count, product)
        n -= count


def table(n: int, seed: Seed, epoch: SupportsIndex) -> tuple[list[int], list[int]]:
    """The items by their places and the places by the items, for up to `TABLE_MAX` items. A length
    of 0 counts as 1, as in the specification."""
    stream = key_stream(seed, epoch, table_domain(n))
    items = list(range(max(n, 1)))
    for first, count, product in batches(n):
        while (word := next(stream)) * product & M64 < 2**64 % product:
            pass
        for end in range(first, first - count, -1):
            other, word = divmod(word * end, 2**64)
            items[end - 1], items[other] = items[other], items[end - 1]
    places = [0] * len(items)
    for place, item in enumerate(items):
        places[item] = place
    return items, places


def parameters(n: int, seed: Seed, epoch: SupportsIndex) -> list[int]:
    """An order as a list of words, for kernels: the last place, the mask of the domain and half of
    its bits, rounded up; then the rows of `chain`, or those of `table`."""
    rows = table(n, seed, epoch) if n <= TABLE_MAX else chain(n, seed, epoch)
    width = bits(n)
    return [max(n, 1) - 1, (1 << width) - 1, (width + 1) // 2, *(word for row in rows for word in row)]
