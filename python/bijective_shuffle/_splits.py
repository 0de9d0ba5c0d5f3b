"""Training, validation and test sets, and folds, that do not move when data are appended."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Generic, SupportsIndex, TypeAlias, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from . import _native
from ._loaders import count, whole
from ._types import Seed

Indexes: TypeAlias = "NDArray[np.int64]"
# A list of arrays, or a dictionary.
Sets = TypeVar("Sets")


class Splits(Generic[Sets]):
    """Splits a data set into parts in the given proportions. An item's part depends on the seed and
    the item's number, not on the number of items, so appending data moves no item to another part.

    Shares are integers, decimal numbers, or a dictionary with a name for each. Let the quota be their
    sum, as integers without a common divisor. Of each quota of items, one after another, a random
    order says which are in which part. So each part has its exact share; only the last quota may be
    cut off. A share is the number that its digits say; if the quota were above 2^20 then, it is the
    simplest fraction within 10^-12, so `[0.8, 1 - 0.8]` is `[4, 1]`.

    `labels` gives each label its share of every part. `groups` keeps the items of a group together,
    and shares out groups. `ids` looks at the ids alone, so items may come in any order; shares are
    then kept on average. One of them may be given.

    Where so few items or groups would leave a part with a share empty, all of them are dealt by their
    counts instead, as close to the shares as possible, with at least one in each part. These may move
    when data are appended, until there are enough.

    >>> import bijective_shuffle as bs
    >>> train, test = bs.Splits([0.8, 0.2], seed=42).indexes(1000)
    >>> len(train), len(test), len(set(train) & set(test))
    (800, 200, 0)
    >>> longer, _ = bs.Splits([0.8, 0.2], seed=42).indexes(2000)
    >>> bool((longer[:800] == train).all())
    True
    """

    @overload
    def __init__(self: Splits[dict[str, Indexes]], shares: Mapping[str, Any], seed: Seed,
                 epoch: SupportsIndex = 0) -> None: ...

    @overload
    def __init__(self: Splits[list[Indexes]], shares: Sequence[Any] | NDArray[Any], seed: Seed,
                 epoch: SupportsIndex = 0) -> None: ...

    def __init__(self, shares: Any, seed: Seed, epoch: SupportsIndex = 0) -> None:
        self._names = list(shares) if isinstance(shares, Mapping) else None
        given = list(shares.values()) if isinstance(shares, Mapping) else list(shares)
        self._shares = whole(given, "shares")
        if sum(self._shares) > 2**20:
            raise ValueError(
                f"the shares {given} are {sum(self._shares)} parts without a common divisor, and at "
                "most 2^20 can be shared out exactly: round them, or give whole numbers, as in [8, 2]"
            )
        self._seed, self._epoch = seed, count(epoch, "epoch")
        # Checks the arguments.
        self._of([])

    def parts(self, n: SupportsIndex | None = None, *, labels: Any = None, groups: Any = None,
              ids: Any = None) -> Indexes:
        """The part of each item, counted from 0: of `n` items, or of one item for each label, group
        or id. Parts may be empty here, and `indexes` refuses that."""
        given = [values for values in (labels, groups, ids) if values is not None]
        if len(given) > 1 or n is None and not given:
            raise TypeError("give the number of items, and at most one of labels, groups and ids")
        size = len(given[0]) if n is None else count(n, "n")
        if given and size != len(given[0]):
            raise ValueError(f"{size} items have {len(given[0])} labels, groups or ids")
        if ids is not None:
            return _native.split_ids(self._shares, self._seed, self._epoch,
                                     [_bytes(value) for value in _listed(ids)]).astype(np.int64)
        if groups is not None:
            codes = codes_of(groups)
            of_item: Indexes = self._of([_many(codes)])[codes]
            return of_item
        if labels is not None:
            return self.of_labels(labels)
        return self._of([size])

    def indexes(self, n: SupportsIndex | None = None, *, labels: Any = None, groups: Any = None,
                ids: Any = None) -> Sets:
        """The items of each part, in order: a list of arrays, or a dictionary if the shares have
        names. The arguments are those of `parts`. Raises `ValueError` if a part with a share would be
        empty: if there are fewer items or groups than such parts, or no id falls to a part."""
        parts = self.parts(n, labels=labels, groups=groups, ids=ids)
        sizes = np.bincount(parts, minlength=len(self._shares))
        if ((sizes == 0) & (np.array(self._shares) > 0)).any():
            self._refuse(sizes, groups, ids)
        arrays = np.split(np.argsort(parts, kind="stable"), np.cumsum(sizes)[:-1])
        sets: Any = arrays if self._names is None else dict(zip(self._names, arrays, strict=True))
        return sets  # type: ignore[no-any-return]

    def _refuse(self, sizes: Indexes, groups: Any, ids: Any) -> None:
        """Says why a part with a share is empty."""
        with_share = [part for part, share in enumerate(self._shares) if share > 0]
        empty = next(part for part in with_share if sizes[part] == 0)
        name = empty if self._names is None else repr(self._names[empty])
        if ids is not None:
            raise ValueError(
                f"none of {sizes.sum()} ids falls to part {name}, since each is looked at alone: give "
                "more ids, or give them as groups, which are counted"
            )
        many, what = sizes.sum(), "items"
        if groups is not None:
            many, what = _many(codes_of(groups)), "groups"
        raise ValueError(
            f"{many} {what} cannot be shared out to {len(with_share)} parts, and part {name} would be "
            f"empty: give more {what}, or fewer parts"
        )

    def of_labels(self, labels: Any, evenly: bool = False) -> Indexes:
        """The parts of items by their labels; `evenly` counts those of all labels together, too."""
        codes = codes_of(labels, are_classes=True)
        parts: Indexes = np.empty(len(codes), np.int64)
        parts[np.argsort(codes, kind="stable")] = self._of(np.bincount(codes), evenly)
        return parts

    def _of(self, counts: Any, evenly: bool = False) -> Indexes:
        """The parts of as many items of strata 0, 1 and so on."""
        parts = _native.split_parts(self._shares, self._seed, self._epoch,
                                    np.asarray(counts, np.uint64), evenly)
        return parts.astype(np.int64)

    def __repr__(self) -> str:
        shares: Any = self._shares
        if self._names is not None:
            shares = dict(zip(self._names, shares, strict=True))
        return f"Splits({shares}, seed={self._seed!r}, epoch={self._epoch})"


class Folds:
    """The folds of a cross-validation, as a splitter of scikit-learn: each fold is the test set once,
    and the others are for training. Their sizes are those that scikit-learn's splitters give.

    `by='labels'` gives each label its share of every fold, as `StratifiedKFold` counts it: each label
    begins at the fold where the one before ends, so test sets differ by at most one item. `by='groups'`
    keeps the items of a group in one fold, and folds differ by at most one group.

    Data that are appended move no item to another fold, as with `Splits`, except that by labels the
    last items of each label may move, up to the last multiple of `n_splits`.

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
        if self.n_splits > 2**16:
            raise ValueError(f"a cross-validation has at most 2^16 folds, not {self.n_splits}")
        if by not in (None, "labels", "groups"):
            raise ValueError(f"by is 'labels', 'groups' or None, not {by!r}")
        self._splits = Splits([1] * self.n_splits, seed, self.epoch)
        # How `split` asks for groups, in the words of scikit-learn.
        self._groups_request: bool | str | None = True

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """The number of folds."""
        return self.n_splits

    def split(self, X: Any, y: Any = None,
              groups: Any = None) -> Iterator[tuple[Indexes, Indexes]]:
        """The items for training and for the test of each fold."""
        n = X.shape[0] if hasattr(X, "shape") else len(X)
        given, name = (y, "y") if self.by == "labels" else (groups, "groups")
        if self.by is not None and given is None:
            raise ValueError(f"folds by {self.by} need {name}")
        if self.by is not None and len(given) != n:
            raise ValueError(f"{n} items have {len(given)} {self.by}")
        many, what = (n, "items") if self.by != "groups" else (_many(codes_of(given)), "groups")
        if many < self.n_splits:
            raise ValueError(
                f"{self.n_splits} folds of {many} {what} would leave some empty: use fewer folds"
            )
        if self.by == "labels":
            folds = self._splits.of_labels(given, evenly=True)
        else:
            folds = self._splits.parts(n, groups=given if self.by == "groups" else None)
        for fold in range(self.n_splits):
            yield np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)

    def get_metadata_routing(self) -> Any:
        """What `split` asks scikit-learn for where metadata are routed: by groups, `groups`."""
        from sklearn.utils.metadata_routing import MetadataRequest

        request = MetadataRequest(owner=self)
        if self.by == "groups":
            request.split.add_request(param="groups", alias=self._groups_request)
        return request

    def set_split_request(self, *, groups: bool | str | None) -> Folds:
        """Whether `split` gets `groups` where scikit-learn routes metadata, which it does by default,
        or under which other name."""
        if self.by != "groups":
            raise TypeError(f"folds by {self.by} ask for no groups: make them with by='groups'")
        if not (groups is None or isinstance(groups, (bool, str))):
            raise TypeError(f"groups are asked for by True, False, None or a name, not {groups!r}")
        self._groups_request = groups
        return self

    def __repr__(self) -> str:
        by = "" if self.by is None else f", by={self.by!r}"
        return f"Folds({self.n_splits}, seed={self.seed!r}, epoch={self.epoch}{by})"


# What stands for all values that are not a number, which are equal to none.
_NAN = object()


def codes_of(values: Any, are_classes: bool = False) -> Indexes:
    """A number for each value, in the order in which values come first: those that are appended
    change none. Classes are not measurements."""
    array = np.asarray(values)
    if array.ndim == 2 and array.shape[1] == 1:
        # A column of a table.
        array = array[:, 0]
    if array.ndim != 1:
        raise TypeError(f"labels and groups have one axis, not {array.ndim}")
    if array.dtype == object:
        listed = [_NAN if isinstance(value, float) and value != value else value
                  for value in array.tolist()]
        if are_classes:
            _check_classes(np.array([value for value in listed if isinstance(value, float)]))
        numbers: dict[Any, int] = {}
        return np.array([numbers.setdefault(value, len(numbers)) for value in listed], dtype=np.int64)
    if are_classes and array.dtype.kind == "f":
        _check_classes(array)
    _, first, inverse = np.unique(array, return_index=True, return_inverse=True)
    rank = np.empty(len(first), np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[inverse.reshape(-1)]


def _check_classes(numbers: NDArray[Any]) -> None:
    """Refuses numbers that are measurements, as scikit-learn does."""
    between = numbers[np.isfinite(numbers) & (numbers != np.floor(numbers))]
    if len(between):
        raise ValueError(
            f"labels are classes, and {between[0]} is a continuous number: split without labels, or "
            "by bins, as in labels=numpy.digitize(y, edges)"
        )


def _many(codes: Indexes) -> int:
    """How many different codes there are."""
    return int(codes.max(initial=-1)) + 1


def _listed(values: Any) -> Any:
    """The values of an array of any library as Python's own."""
    dtype = getattr(values, "dtype", None)
    if getattr(dtype, "kind", None) in ("m", "M"):
        # NumPy gives integers for those in nanoseconds.
        raise TypeError(
            f"an id is bytes, a text or an integer, not {dtype}: give times as texts, or as the "
            "integers that you mean"
        )
    for name in ("to_pylist", "to_list", "tolist"):
        if hasattr(values, name):
            return getattr(values, name)()
    return _listed(np.asarray(values)) if hasattr(values, "__array__") else values


def _bytes(value: Any) -> bytes:
    """An id as bytes: those of a text in UTF-8, and those of an integer's decimal digits."""
    if isinstance(value, bytes):
        return value
    # To NumPy a duration is an integer.
    if isinstance(value, (str, int, np.integer)) and not isinstance(value, (bool, np.timedelta64)):
        return str(value).encode()
    raise TypeError(f"an id is bytes, a text or an integer, not {type(value).__name__}")
