"""What training loops draw besides one shuffled set: items by weights, mixtures of sets, and the
batches of either, and of other sources, that each rank takes."""

from __future__ import annotations

import math
import operator
import reprlib
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, Generic, SupportsIndex, TypeVar, overload

import numpy as np

from . import _native
from ._native import BlockShuffle, ForeignStateError, Sampler
from ._passes import refuse_loaders
from ._types import Seed

# What one place of a source holds, and what many of them are.
One = TypeVar("One")
Many = TypeVar("Many")
_Integers = np.ndarray[Any, np.dtype[np.int64]]


class Batches(Generic[Many]):
    """This rank's items of each step: what the method `batches` of `Weighted`, `Mixture`, `Packed`
    and `Lengths` returns.

    A step takes the next `ranks * batch` places of the epoch, and each rank gets a run of `batch` of
    them, so its batches too have the shares of a mixture. A saved `state` fits any number of ranks and batch
    size: what is resumed goes on with the places that are left. `tail` says what happens at the end
    of an epoch, as for `Sampler`.

    It is an iterator over the batches that are left in the epoch, and its length is their number.
    """

    def __init__(self, source: Source[Any, Many], epoch: int, batch: SupportsIndex, rank: SupportsIndex,
                 ranks: SupportsIndex, tail: str, state: str | None = None) -> None:
        # Checks the arguments.
        checked = Sampler(1, 0, rank=rank, ranks=ranks, batch=batch, tail=tail)
        self._source, self._tail, self._fingerprint = source, tail, source.fingerprint
        self._rank, self._ranks, self._batch = checked.rank, checked.ranks, checked.batch
        # Of the one epoch that is needed.
        self._sampler = self._at(epoch if state is None else epoch_of(state))
        if state is not None:
            self._sampler.resume(state)

    def _at(self, epoch: int) -> Sampler:
        """What goes from step to step of an epoch, and gives the first place of each: as many ranks
        as a step has places take one each. The check of a sampler's state includes its seed."""
        sampler = Sampler(self._source.begin(epoch), self._fingerprint,
                          ranks=self._ranks * self._batch,
                          tail="drop" if self._tail == "drop" else "short", sequential=True)
        sampler.set_epoch(epoch)
        return sampler

    def next_batch(self) -> Many | None:
        """This rank's items of the next step, as `source[places]` gives them; None at the end of the
        epoch. After an exception of the source the step is not taken."""
        # Other threads may take steps meanwhile, and none goes to another epoch.
        sampler = self._sampler
        epoch = sampler.epoch
        step = sampler.next_batch()
        if step is None:
            return None
        n, first = sampler.n, int(step[0])
        try:
            return self._source.items(epoch, n, self._own(n, first))
        except BaseException:
            # Unless another thread has gone on behind this step.
            if sampler.consumed == min(first + sampler.ranks, n):
                sampler.resume(sampler.state_at(epoch, first))
            raise

    def _own(self, n: int, first: int) -> np.ndarray[Any, Any]:
        """This rank's places of the step that begins at a place of `n`."""
        left, whole = n - first, self._ranks * self._batch
        if left < whole:
            padded = -(-left // self._ranks) * self._ranks
            whole = {"short": left, "pad": padded, "fill": whole}[self._tail]
        each, over = divmod(whole, self._ranks)
        start = self._rank * each + min(self._rank, over)
        offsets = np.arange(start, start + each + (self._rank < over), dtype=np.int64)
        # Behind its end the epoch begins again.
        places = np.where(offsets < left, first + offsets, (offsets - left) % n)
        return places.astype(np.uint64)

    def __iter__(self) -> Batches[Many]:
        refuse_loaders("Batches")
        return self

    def __next__(self) -> Many:
        batch = self.next_batch()
        if batch is None:
            raise StopIteration
        return batch

    def __len__(self) -> int:
        return len(self._sampler)

    def __bool__(self) -> bool:
        return True

    def state(self) -> str:
        """The current position, as text."""
        return self._sampler.state()

    def resume(self, state: str) -> None:
        """Goes to the position of a state from the same source, seed and number of places. Raises
        `ForeignStateError` for any other."""
        sampler = self._at(epoch_of(state))
        sampler.resume(state)
        self._sampler = sampler

    def set_epoch(self, epoch: SupportsIndex) -> None:
        """Goes to the beginning of an epoch."""
        self._sampler = self._at(count(epoch, "epoch"))

    def state_dict(self) -> dict[str, str]:
        """The state, as loaders with states save it."""
        return {"batches": self.state()}

    def load_state_dict(self, state_dict: dict[str, str]) -> None:
        """Goes to the position that `state_dict` returned."""
        self.resume(saved_text(state_dict, "batches", "batches"))

    def next_epoch(self) -> None:
        """Goes to the beginning of the next epoch."""
        self.set_epoch(self._sampler.epoch + 1)

    @property
    def epoch(self) -> int:
        """The epoch, counted from 0."""
        return self._sampler.epoch

    @property
    def consumed(self) -> int:
        """The number of places of the epoch that all ranks together have taken."""
        return self._sampler.consumed

    @property
    def steps(self) -> int:
        """The number of steps in a whole epoch."""
        return self._sampler.steps

    @property
    def steps_remaining(self) -> int:
        """The number of steps that are left in this epoch."""
        return self._sampler.steps_remaining

    def __repr__(self) -> str:
        return (f"<Batches of {self._source!r}, rank={self._rank}, ranks={self._ranks}, "
                f"batch={self._batch}, tail={self._tail!r}, at place {self.consumed} of "
                f"epoch {self.epoch}>")


def saved(state_dict: Any, what: str) -> Mapping[str, Any]:
    """The dictionary that a state is; `what` it is of stands in an error."""
    if not isinstance(state_dict, Mapping):
        raise ForeignStateError(
            f"load_state_dict takes the dictionary that state_dict of {what} gave, not "
            f"{reprlib.repr(state_dict)}"
        )
    return state_dict


def saved_text(state_dict: Any, name: str, what: str) -> str:
    """The text of the one name that a state has."""
    text = saved(state_dict, what).get(name)
    if not isinstance(text, str):
        raise ForeignStateError(
            f"this is not a state of {what}, which has a text by the name of {name!r}: "
            f"{reprlib.repr(state_dict)}"
        )
    return text


def stated_seed(seed: Seed) -> str:
    """A seed in a state: digits of an integer, or 64 hexadecimal ones."""
    return seed.hex() if isinstance(seed, bytes) else str(operator.index(seed))


def stated_order(order: BlockShuffle) -> str:
    """An order of blocks, of any epoch, in a state. States are kept, so this text stays the same
    whatever the type's `repr` becomes."""
    return (f"{order.n} items, blocks of {order.block}, windows of {order.window}, "
            f"seed {stated_seed(order.seed)}")


def epoch_of(state: str) -> int:
    """The epoch of a state's text; 0 if it is none, which the sampler then refuses."""
    parts = state.split("-") if isinstance(state, str) else []
    try:
        return int(parts[1], 16) if len(parts) == 4 else 0
    except ValueError:
        return 0


class Source(Generic[One, Many]):
    """What the sources of items have in common: `n` places of an epoch, looked up alone or many at
    once, and dealt out to ranks."""

    _epoch: int
    _n: int

    def __len__(self) -> int:
        return self.n

    @property
    def n(self) -> int:
        """The number of places in an epoch."""
        return self._n

    def begin(self, epoch: int) -> int:
        """Prepares an epoch, and returns its number of places. Raises `ValueError` if there are no
        places for it."""
        self.check_epoch(epoch, self._n)
        return self._n

    @property
    def epoch(self) -> int:
        """The epoch whose items `[..]` gives."""
        return self._epoch

    @property
    def fingerprint(self) -> int:
        """A number that tells this source of items from others."""
        raise NotImplementedError

    def check_epoch(self, epoch: int, n: int) -> None:
        """Raises `ValueError` if the places of an epoch of `n` are beyond the last that is counted."""

    def items(self, epoch: int, n: int, places: np.ndarray[Any, Any]) -> Many:
        """The items at some places of an epoch of `n` places, each below `n`."""
        raise NotImplementedError

    def _item(self, place: int) -> One:
        raise NotImplementedError

    def __iter__(self) -> Iterator[One]:
        # Not in the generator, which begins with its first item.
        refuse_loaders(type(self).__name__)
        return map(self._item, range(self.n))

    @overload
    # Not all that have `__index__`, since arrays do.
    def __getitem__(self, key: int | np.integer[Any]) -> One: ...
    @overload
    def __getitem__(self, key: Any) -> Many: ...
    def __getitem__(self, key: Any) -> One | Many:
        n = self.n
        if hasattr(key, "__index__") and getattr(key, "ndim", 0) == 0:
            place = operator.index(key)
            if not -n <= place < n:
                raise IndexError(f"index {place} is out of range for {n} places")
            return self._item(place % n)
        if isinstance(key, slice):
            places = np.arange(*key.indices(n), dtype=np.int64)
        else:
            places = np.asarray(key)
            if places.ndim != 1 or places.size and not np.issubdtype(places.dtype, np.integer):
                raise TypeError("places are an integer, a slice, or integers along one axis")
            outside = (places < -n) | (places >= n)
            if outside.any():
                place = places[outside][0]
                raise IndexError(f"index {place} is out of range for {n} places")
            # All of them fit 64 bits with a sign, as `n` does.
            places = places.astype(np.int64)
            places[places < 0] += n
        return self.items(self._epoch, n, places.astype(np.uint64))

    def batches(self, batch: SupportsIndex = 1, *, rank: SupportsIndex = 0,
                ranks: SupportsIndex = 1, tail: str = "pad",
                state: str | None = None) -> Batches[Many]:
        """The batches of a rank, from the beginning of this epoch, or from a saved `state`, without
        building the index of this epoch if the state is of another."""
        return Batches(self, self._epoch, batch, rank, ranks, tail, state)


class Weighted(Source[int, _Integers]):
    """Draws with replacement: each place holds item `i` with a probability of exactly `weights[i]`
    of their sum, independently of all other places.

    Weights are integers from 0 on, whose sum is below 2^64, or floating-point numbers, which become
    integers by a rule that is the same on every machine. An array of int32, uint32, int64 or uint64
    without gaps is read where it is, without the GIL, and must not change meanwhile; others are
    converted to a copy first. An epoch has `n` places, by default as many as there are weights.
    `[..]` gives the items at a place, a slice, or places in an array; `batches` deals places out to
    ranks. If the weights change between epochs, make another one of the same seed.

    >>> import bijective_shuffle as bs
    >>> draws = bs.Weighted([1, 0, 3], seed=42, n=10**6)
    >>> bool(0.749 < (draws[:] == 2).mean() < 0.751)
    True
    >>> draws[777] == int(draws[700:800][77])
    True
    """

    def __init__(self, weights: Any, seed: Seed, epoch: SupportsIndex = 0, *,
                 n: SupportsIndex | None = None) -> None:
        self._begin(_native.Weights(_weights(weights), seed), seed, epoch, n)

    def _begin(self, inner: _native.Weights, seed: Seed, epoch: SupportsIndex,
               n: SupportsIndex | None) -> None:
        self._inner, self._seed = inner, seed
        self._epoch = count(epoch, "epoch")
        self._n = _length(inner.n if n is None else operator.index(n))

    @classmethod
    def from_table(cls, table: Any, seed: Seed, epoch: SupportsIndex = 0, *,
                   n: SupportsIndex | None = None) -> Weighted:
        """Makes the draws from a `table`, which is faster than from the weights."""
        self = cls.__new__(cls)
        flat = np.require(table, np.uint64, ["C", "A"]).reshape(-1)
        self._begin(_native.Weights.from_table(flat, seed), seed, epoch, n)
        return self

    def table(self) -> np.ndarray[Any, np.dtype[np.uint64]]:
        """The table of the draws: two numbers for each item, and two before them."""
        return self._inner.table().reshape(-1, 2)

    @property
    def fingerprint(self) -> int:
        """A number that tells these weights and this seed from others."""
        return self._inner.fingerprint

    def items(self, epoch: int, n: int, places: np.ndarray[Any, Any]) -> _Integers:
        """The items at some places of an epoch."""
        return self._inner.items(epoch, places).view(np.int64)

    def _item(self, place: int) -> int:
        return self._inner.item(self._epoch, place)

    def __reduce__(self) -> Any:
        return _restored, (self.table(), self._seed, self._epoch, self._n)

    def __repr__(self) -> str:
        return f"Weighted({self._inner.n} weights, seed={self._seed!r}, epoch={self._epoch}, n={self._n})"


def _restored(table: Any, seed: Seed, epoch: int, n: int) -> Weighted:
    return Weighted.from_table(table, seed, epoch, n=n)


def whole(numbers: Sequence[Any], what: str) -> list[int]:
    """Shares or weights as integers without a common divisor. A decimal number is the one that its
    text says, or, if their sum is above 2^20 then, the simplest fraction within 10^-12 of each."""
    try:
        exact = [Fraction(number) if isinstance(number, (int, Fraction)) else Fraction(str(number))
                 for number in numbers]
    except (ValueError, ZeroDivisionError):
        raise ValueError(f"{what} are numbers from 0 on, not {list(numbers)}") from None
    if any(number < 0 for number in exact):
        raise ValueError(f"{what} are numbers from 0 on, not {list(numbers)}")
    parts = _without_divisor(exact)
    if sum(parts) > 2**20:
        near = [number.limit_denominator(2**20) for number in exact]
        if all(abs(one - other) <= Fraction(1, 10**12) for one, other in zip(near, exact)):
            parts = _without_divisor(near)
    if sum(parts) >= 2**63:
        raise ValueError(f"{what} have too many digits: round them")
    return parts


def _without_divisor(fractions: list[Fraction]) -> list[int]:
    scale = math.lcm(*(number.denominator for number in fractions))
    integers = [int(number * scale) for number in fractions]
    common = math.gcd(*integers) or 1
    return [number // common for number in integers]


class Mixture(Source[tuple[int, int], tuple[_Integers, _Integers]]):
    """Sets in fixed shares: each place holds a set, and an item of that set. Weights are integers, or
    decimal numbers such as `[0.7, 0.3]`, which are `[7, 3]`.

    Any run of as many places as the weights add up to, divided by their greatest common
    divisor, holds each set exactly as often as its weight says. In any other run, such as a
    rank's batch, a count differs from the exact share by less than `ceil(log2(sets))`. Each set
    goes through a shuffled order of its own, then through another one: no item of a set comes
    again before all its others have. The next epoch of the mixture goes on where the one before
    ends, so place `i` of epoch `e` is place `e * n + i` of the whole mixture.

    `n`, the number of places in an epoch, is by default the number of places in which every set
    comes as a whole at least once. `[..]` gives a pair `(set, item)`, or an array of sets and one of
    items; `batches` deals places out to ranks.

    >>> import bijective_shuffle as bs
    >>> mixture = bs.Mixture([10**9, 10, 50], [3, 2, 1], seed=42)
    >>> sets, items = mixture[600:1200]
    >>> [int((sets == k).sum()) for k in range(3)]
    [300, 200, 100]
    """

    def __init__(self, lengths: Sequence[SupportsIndex], weights: Sequence[Any], seed: Seed,
                 epoch: SupportsIndex = 0, *, n: SupportsIndex | None = None) -> None:
        self._changes: list[tuple[int, list[int], list[int]]] = []
        self._lengths, self._weights = _counts(lengths, "a length"), _set_weights(weights)
        self._begin(_native.Sets(self._lengths, self._weights, seed), seed, epoch, n)

    def _begin(self, inner: _native.Sets, seed: Seed, epoch: SupportsIndex,
               n: SupportsIndex | None) -> None:
        self._inner, self._seed, self._epoch = inner, seed, count(epoch, "epoch")
        places = inner.one_pass if n is None else operator.index(n)
        if places is None:
            raise ValueError("a whole pass of these sets has more than 2^64 places: give n")
        self._n = _length(places)
        inner.check_epoch(self._epoch, places)

    def changed(self, start: SupportsIndex, weights: Sequence[Any],
                added: Sequence[SupportsIndex] = ()) -> Mixture:
        """Returns this mixture with other weights from place `start` of the whole on, and with more
        sets, of the lengths `added`, after the others. Every set continues in its order. `n` and the
        epoch stay as they are, and a state of `batches` fits a mixture with the same changes only."""
        new = Mixture.__new__(Mixture)
        change = (count(start, "start"), _counts(added, "a length"), _set_weights(weights))
        new._changes = [*self._changes, change]
        new._lengths, new._weights = self._lengths, self._weights
        new._begin(self._inner.changed(*change), self._seed, self._epoch, self._n)
        return new

    @property
    def lengths(self) -> list[int]:
        """The lengths of the sets, with those that were added."""
        return [*self._lengths, *(length for _, added, _ in self._changes for length in added)]

    @property
    def quota(self) -> int:
        """The number of places in which the counts of all sets are exact."""
        return self._inner.quota

    @property
    def fingerprint(self) -> int:
        """A number that tells these sets, weights and this seed from others."""
        return self._inner.fingerprint

    def check_epoch(self, epoch: int, n: int) -> None:
        """Raises `ValueError` if the places of an epoch of `n` are beyond the last that is counted."""
        self._inner.check_epoch(epoch, n)

    def items(self, epoch: int, n: int,
              places: np.ndarray[Any, Any]) -> tuple[_Integers, _Integers]:
        """The sets and the items at some places of an epoch."""
        sets, items = self._inner.items(places + np.uint64(epoch * n))
        return sets.view(np.int64), items.view(np.int64)

    def _item(self, place: int) -> tuple[int, int]:
        return self._inner.item(self._epoch * self._n + place)

    def __reduce__(self) -> Any:
        given = (self._lengths, self._weights, self._changes, self._seed, self._epoch, self._n)
        return _remixed, given

    def __repr__(self) -> str:
        changes = f", {len(self._changes)} changes" if self._changes else ""
        return (f"Mixture({self._lengths}, {self._weights}{changes}, seed={self._seed!r}, "
                f"epoch={self._epoch}, n={self._n})")


def _remixed(lengths: list[int], weights: list[int],
             changes: list[tuple[int, list[int], list[int]]], seed: Seed, epoch: int,
             n: int) -> Mixture:
    mixture = Mixture(lengths, weights, seed, epoch, n=n)
    for start, added, changed in changes:
        mixture = mixture.changed(start, changed, added)
    return mixture


def weighted_sample(weights: Any, k: SupportsIndex, seed: Seed,
                    epoch: SupportsIndex = 0) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Draws `k` different items by weights: each draw picks one of the remaining items with a
    probability in proportion to its weight. The items are in the order of the draws, so a smaller
    sample is the beginning of a larger one.

    Weights are as for `Weighted`; items of weight 0 are never drawn. It takes time in proportion to
    the number of weights. Raises `ValueError` if fewer than `k` items have a weight.
    """
    return _native.weighted_sample(_weights(weights), k, seed, epoch).view(np.int64)


def _weights(weights: Any) -> np.ndarray[Any, Any]:
    """Weights as an array of integers of 32 or 64 bits, which is not copied if it is one already, or
    of float64."""
    array = np.asarray(weights)
    if array.ndim != 1:
        raise TypeError(f"weights have one axis, not {array.ndim}")
    if np.issubdtype(array.dtype, np.floating):
        if array.dtype.itemsize > 8:
            raise TypeError(f"weights of type {array.dtype} would be rounded: convert them to float64")
        return np.require(array, np.float64, ["C", "A"])
    if array.dtype == object or array.dtype.kind not in "biu" and array.size:
        raise TypeError(f"weights are integers or floating-point numbers, not {array.dtype}")
    # Negative ones are found where they are read, on all cores.
    kind = "i" if array.dtype.kind == "i" else "u"
    return np.require(array, f"{kind}{8 if array.dtype.itemsize == 8 else 4}", ["C", "A"])


def _set_weights(numbers: Sequence[Any]) -> list[int]:
    """Integers as they are, since a state knows them."""
    if all(hasattr(number, "__index__") for number in numbers):
        return _counts(numbers, "a weight")
    return whole(numbers, "weights")


def _counts(numbers: Sequence[SupportsIndex], what: str) -> list[int]:
    return [count(number, what) for number in numbers]


def count(number: SupportsIndex, what: str) -> int:
    """An integer of 64 bits; `what` it is stands in an error."""
    if not hasattr(number, "__index__"):
        raise TypeError(f"{what} is an integer, not {type(number).__name__}")
    value = operator.index(number)
    if not 0 <= value < 2**64:
        raise ValueError(f"{what} is an integer from 0 to 2^64 - 1, not {value}")
    return value


def _length(n: int) -> int:
    """A number of places that indexes of 64 bits with a sign count."""
    if not 0 < n < 2**63:
        raise ValueError(f"an epoch has from 1 to 2^63 - 1 places, not {n}")
    return n
