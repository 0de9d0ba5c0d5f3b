"""Documents packed into sequences, and batches of items of similar lengths: by tokens."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, SupportsIndex

import numpy as np

from . import _native
from ._loaders import Batches, Source, count
from ._types import Seed

_Numbers = np.ndarray[Any, np.dtype[np.int64]]


class Packed(Source[_Numbers, list[_Numbers]]):
    """Documents of given lengths in a shuffled order, one after another, cut into sequences of
    `length` tokens, which come in a shuffled order themselves.

    Each place of an epoch holds a sequence, as an array with a row `(document, from, to)` for each of
    its pieces. With `overlap=1` a sequence has one token more, which is the first one of the sequence
    that follows in the documents: what a model needs that predicts the next token. Fewer than
    `length` tokens are left over in an epoch. Every epoch has orders of its own.

    Lengths are integers below 2^32. An array of uint32, also one of `np.memmap`, is used where it is,
    and has to stay as it is: it cannot be resized, nor its file closed, before this is gone. An
    epoch's index takes an eighth of a byte a document, and is built on all cores when the epoch is
    first asked for; those of two epochs are kept.

    >>> import bijective_shuffle as bs
    >>> packed = bs.Packed([300, 20, 500, 80], 128, seed=42)
    >>> len(packed), int((packed[3][:, 2] - packed[3][:, 1]).sum())
    (7, 128)
    """

    def __init__(self, lengths: Any, length: SupportsIndex, seed: Seed, epoch: SupportsIndex = 0, *,
                 overlap: SupportsIndex = 0) -> None:
        self._lengths, self._seed, self._epoch = _lengths(lengths), seed, count(epoch, "epoch")
        self._length, self._overlap = count(length, "length"), count(overlap, "overlap")
        self._inner = _native.Documents(self._lengths, self._length, self._overlap, seed)
        self._n = self._inner.n

    @property
    def tokens(self) -> int:
        """The number of tokens of all documents."""
        return self._inner.tokens

    @property
    def fingerprint(self) -> int:
        """A number that tells these documents and this seed from others."""
        return self._inner.fingerprint

    def build(self) -> None:
        """Builds the index of this epoch, as the first look-up does."""
        self._inner.build(self._epoch)

    def items(self, epoch: int, n: int, places: np.ndarray[Any, Any]) -> list[_Numbers]:
        """The pieces of the sequences at some places of an epoch."""
        found = self._inner.items(epoch, np.asarray(places, np.uint64))
        return [pieces.view(np.int64) for pieces in found]

    def _item(self, place: int) -> _Numbers:
        return self.items(self._epoch, self._n, np.array([place], np.uint64))[0]

    def __reduce__(self) -> Any:
        given = (self._lengths, self._length, self._seed, self._epoch, self._overlap)
        return _packed_again, given

    def __repr__(self) -> str:
        return (f"Packed({len(self._lengths)} documents, {self._length}, seed={self._seed!r}, "
                f"epoch={self._epoch}, overlap={self._overlap})")


def _packed_again(lengths: Any, length: int, seed: Seed, epoch: int, overlap: int) -> Packed:
    return Packed(lengths, length, seed, epoch, overlap=overlap)


class Lengths(Source[_Numbers, list[_Numbers]]):
    """Batches of items of similar lengths, each with at most `max_tokens` tokens when its items are
    padded to the longest.

    The random order of an epoch is cut into windows of `window` items, at most 65,536. The items of a
    window are put in order of length, the longest first, and cut into batches, each as large as it
    may be; the batches of all windows come in a random order. A larger window pads less. The number
    of batches, `len`, differs from epoch to epoch. `batches` deals them out: each step of a rank is
    one batch, an array of items, and all ranks have as many steps.

    Lengths are as for `Packed`. An epoch's index takes 2 bytes an item, 2 bytes a batch and 8 bytes a
    window; those of two epochs are kept.

    >>> import bijective_shuffle as bs
    >>> lengths = [3, 7, 4, 7, 3, 2, 9, 1] * 100
    >>> batches = bs.Lengths(lengths, max_tokens=40, seed=42)
    >>> all(max(lengths[i] for i in items) * len(items) <= 40 for items in batches)
    True
    >>> bool(batches.waste < 0.01)
    True
    """

    def __init__(self, lengths: Any, max_tokens: SupportsIndex, seed: Seed,
                 epoch: SupportsIndex = 0, *, window: SupportsIndex = 8192) -> None:
        self._lengths, self._seed, self._epoch = _lengths(lengths), seed, count(epoch, "epoch")
        self._max_tokens, self._window = count(max_tokens, "max_tokens"), count(window, "window")
        self._inner = _native.ByLength(self._lengths, self._max_tokens, self._window, seed)

    @property
    def n(self) -> int:
        """The number of batches in this epoch."""
        return self.begin(self._epoch)

    @property
    def waste(self) -> float:
        """The share of the tokens of this epoch's batches that are padding."""
        tokens, padded = self._inner.tokens(self._epoch)
        return 1 - tokens / padded

    @property
    def fingerprint(self) -> int:
        """A number that tells these items and this seed from others."""
        return self._inner.fingerprint

    def begin(self, epoch: int) -> int:
        """Builds the index of an epoch, and returns the number of its batches."""
        return self._inner.begin(epoch)

    def items(self, epoch: int, n: int, places: np.ndarray[Any, Any]) -> list[_Numbers]:
        """The items of the batches at some places of an epoch."""
        found = self._inner.items(epoch, np.asarray(places, np.uint64))
        return [items.view(np.int64) for items in found]

    def _item(self, place: int) -> _Numbers:
        return self.items(self._epoch, 0, np.array([place], np.uint64))[0]

    def batches(self, batch: SupportsIndex = 1, *, rank: SupportsIndex = 0,
                ranks: SupportsIndex = 1, tail: str = "pad",
                state: str | None = None) -> Batches[list[_Numbers]]:
        """The steps of a rank, from the beginning of this epoch on, or from the place of a `state`: a
        list of `batch` batches in each."""
        return super().batches(batch, rank=rank, ranks=ranks, tail=tail, state=state)

    def __reduce__(self) -> Any:
        given = (self._lengths, self._max_tokens, self._seed, self._epoch, self._window)
        return _lengths_again, given

    def __repr__(self) -> str:
        return (f"Lengths({len(self._lengths)} items, max_tokens={self._max_tokens}, "
                f"seed={self._seed!r}, epoch={self._epoch}, window={self._window})")


def _lengths_again(lengths: Any, most: int, seed: Seed, epoch: int, window: int) -> Lengths:
    return Lengths(lengths, most, seed, epoch, window=window)


def _lengths(lengths: Sequence[SupportsIndex] | Any) -> np.ndarray[Any, np.dtype[np.uint32]]:
    """Lengths as a contiguous, aligned array of uint32, which is the given one if it is that."""
    array = np.asarray(lengths)
    if array.ndim != 1:
        raise TypeError(f"lengths have one axis, not {array.ndim}")
    if array.size and not np.issubdtype(array.dtype, np.integer):
        raise TypeError(f"lengths are integers, not {array.dtype}")
    if array.dtype != np.uint32 and array.size and not (0 <= array.min() and array.max() < 2**32):
        raise ValueError("lengths are integers from 0 to 2^32 - 1")
    return np.require(array, np.uint32, ["C", "A"])
