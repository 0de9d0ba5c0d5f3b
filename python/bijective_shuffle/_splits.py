"""Training, validation and test sets, and folds, that do not move when data are appended."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, SupportsIndex

import numpy as np

from . import _native
from ._loaders import count, whole
from ._types import Seed


class Splits:
    """Parts of a data set in some shares. The part of an item depends on the seed and the item's
    number, and not on the number of items: data that are appended move no item to another part.

    Shares are integers, decimal numbers, or a dictionary with a name for each. Let the quota be their
    sum, as integers without a common divisor. Of each quota of items, one after another, a random
    order says which are in which part. So each part has its exact share; only the last quota may be
    cut off. A share is the number that its digits say; if the quota were above 2^20 then, it is the
    simplest fraction within 10^-12, so `[0.8, 1 - 0.8]` is `[4, 1]`.

    `labels` gives each label its share of every part. `groups` keeps the items of a group together,
    and shares out groups. `ids` looks at the ids alone, so items may come in any order; shares are
    then kept on average. One of them may be given.

    >>> import bijective_shuffle as bs
    >>> train, test = bs.Splits([0.8, 0.2], seed=42).indexes(1000)
    >>> len(train), len(test), len(set(train) & set(test))
    (800, 200, 0)
    >>> longer, _ = bs.Splits([0.8, 0.2], seed=42).indexes(2000)
    >>> bool((longer[:800] == train).all())
    True
    """

    def __init__(self, shares: Sequence[Any] | dict[str, Any], seed: Seed,
                 epoch: SupportsIndex = 0) -> None:
        self._names = list(shares) if isinstance(shares, dict) else None
        given = list(shares.values()) if isinstance(shares, dict) else list(shares)
        self._shares = whole(given, "shares")
        if sum(self._shares) > 2**20:
            raise ValueError(
                f"the shares {given} are {sum(self._shares)} parts without a common divisor, and at "
                "most 2^20 can be shared out exactly: round them, or give whole numbers, as in [8, 2]"
            )
        self._seed, self._epoch = seed, count(epoch, "epoch")
        # Checks the arguments.
        _native.split_parts(self._shares, seed, self._epoch, 0, 0)

    def parts(self, n: SupportsIndex | None = None, *, labels: Any = None, groups: Any = None,
              ids: Any = None) -> np.ndarray[Any, np.dtype[np.int64]]:
        """The part of each item, counted from 0: of `n` items, or of as many as there are labels,
        groups or ids."""
        given = [values for values in (labels, groups, ids) if values is not None]
        if len(given) > 1 or n is None and not given:
            raise TypeError("give the number of items, and at most one of labels, groups and ids")
        size = len(given[0]) if n is None else count(n, "n")
        if given and size != len(given[0]):
            raise ValueError(f"{size} items have {len(given[0])} labels, groups or ids")
        if ids is not None:
            return _native.split_ids(self._shares, self._seed, self._epoch,
                                     [_bytes(value) for value in ids]).astype(np.int64)
        if groups is not None:
            codes = _codes(groups)
            of_item: np.ndarray[Any, np.dtype[np.int64]] = self._of(0, _many(codes))[codes]
            return of_item
        if labels is None:
            return self._of(0, size)
        codes = _codes(labels)
        parts: np.ndarray[Any, np.dtype[np.int64]] = np.empty(size, np.int64)
        by_code = np.argsort(codes, kind="stable")
        counts = np.bincount(codes)
        for code, (end, many) in enumerate(zip(np.cumsum(counts), counts, strict=True)):
            parts[by_code[end - many : end]] = self._of(code, int(many))
        return parts

    def indexes(self, n: SupportsIndex | None = None, **given: Any) -> Any:
        """The items of each part, in order: a list of arrays, or a dictionary if the shares have
        names. The arguments are those of `parts`."""
        parts = self.parts(n, **given)
        by_part = np.argsort(parts, kind="stable")
        ends = np.cumsum(np.bincount(parts, minlength=len(self._shares)))[:-1]
        arrays = np.split(by_part, ends)
        return arrays if self._names is None else dict(zip(self._names, arrays, strict=True))

    def _of(self, stratum: int, many: int) -> np.ndarray[Any, np.dtype[np.int64]]:
        parts = _native.split_parts(self._shares, self._seed, self._epoch, stratum, many)
        return parts.astype(np.int64)

    def __repr__(self) -> str:
        shares: Any = self._shares
        if self._names is not None:
            shares = dict(zip(self._names, shares, strict=True))
        return f"Splits({shares}, seed={self._seed!r}, epoch={self._epoch})"


class Folds:
    """The folds of a cross-validation, as a splitter of scikit-learn: each fold is the test set once,
    and the others are for training.

    `by='labels'` gives each label its share of every fold, and `by='groups'` keeps the items of a
    group in one fold. Data that are appended move no item to another fold, as with `Splits`.

    >>> import bijective_shuffle as bs
    >>> [len(test) for train, test in bs.Folds(5, seed=42).split(range(1000))]
    [200, 200, 200, 200, 200]
    """

    def __init__(self, n_splits: SupportsIndex, seed: Seed, epoch: SupportsIndex = 0, *,
                 by: str | None = None) -> None:
        self.n_splits, self.epoch = count(n_splits, "n_splits"), count(epoch, "epoch")
        self.seed, self.by = seed, by
        if self.n_splits < 2:
            raise ValueError(f"a cross-validation has 2 folds or more, not {self.n_splits}")
        if by not in (None, "labels", "groups"):
            raise ValueError(f"by is 'labels', 'groups' or None, not {by!r}")
        self._splits = Splits([1] * self.n_splits, seed, self.epoch)

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """The number of folds."""
        return self.n_splits

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[tuple[Any, Any]]:
        """The items for training and for the test of each fold."""
        n = X.shape[0] if hasattr(X, "shape") else len(X)
        known = {None: {}, "labels": {"labels": y}, "groups": {"groups": groups}}
        given: dict[str, Any] = known[self.by]
        if any(values is None for values in given.values()):
            raise ValueError(f"folds by {self.by} need {'y' if self.by == 'labels' else 'groups'}")
        folds = self._splits.parts(n, **given)
        if len(np.unique(folds)) < self.n_splits:
            raise ValueError(
                f"{self.n_splits} folds of {n} items would leave some empty: use fewer folds"
            )
        for fold in range(self.n_splits):
            yield np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)

    def __repr__(self) -> str:
        by = "" if self.by is None else f", by={self.by!r}"
        return f"Folds({self.n_splits}, seed={self.seed!r}, epoch={self.epoch}{by})"


def _codes(values: Any) -> np.ndarray[Any, np.dtype[np.int64]]:
    """A number for each value, in the order in which values come first: those that are appended
    change none."""
    array = np.asarray(values)
    if array.ndim != 1:
        raise TypeError(f"labels and groups have one axis, not {array.ndim}")
    if array.dtype == object:
        numbers: dict[Any, int] = {}
        return np.array([numbers.setdefault(value, len(numbers)) for value in array.tolist()],
                        dtype=np.int64)
    _, first, inverse = np.unique(array, return_index=True, return_inverse=True)
    rank = np.empty(len(first), np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[inverse.reshape(-1)]


def _many(codes: np.ndarray[Any, Any]) -> int:
    """How many different codes there are."""
    return int(codes.max(initial=-1)) + 1


def _bytes(value: Any) -> bytes:
    """An id as bytes: those of a text in UTF-8, and those of an integer's decimal digits."""
    if isinstance(value, bytes):
        return value
    if isinstance(value, (str, int, np.integer)) and not isinstance(value, bool):
        return str(value).encode()
    raise TypeError(f"an id is bytes, a text or an integer, not {type(value).__name__}")
