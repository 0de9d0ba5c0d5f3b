"""The bootstrap: `Bootstrap`, which draws rows, and `bootstrap`, which takes scipy's arguments."""

from __future__ import annotations

import inspect
import math
import operator
import secrets
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._native import BootstrapRows, Columns, bootstrap_interval
from .._types import Seed

# How many numbers the resampled data of a batch have, unless `batch` says how many rows it has.
_AT_ONCE = 1 << 21

_ALTERNATIVES = ("two-sided", "less", "greater")
_METHODS = ("percentile", "basic", "bca")
_SERIES = ("moving", "circular", "stationary")

# The statistics that are computed in Rust, by name and by the function that they replace: the kind,
# the number of samples and the quantile.
_NATIVE: dict[Any, tuple[str, int, float]] = {
    "mean": ("mean", 1, 0.0),
    "median": ("quantile", 1, 0.5),
    "weighted_mean": ("weighted_mean", 2, 0.0),
    "correlation": ("correlation", 2, 0.0),
    np.mean: ("mean", 1, 0.0),
    np.median: ("quantile", 1, 0.5),
}


class DegenerateDataWarning(RuntimeWarning):
    """A BCa interval is undefined: the values of the bootstrap are all on one side of the observed one,
    or leaving out an observation never changes the statistic."""


class ConfidenceInterval(NamedTuple):
    """The ends of a confidence interval."""

    low: Any
    high: Any


@dataclass
class BootstrapResult:
    """What `bootstrap` returns: the fields that scipy's result has, and the seed.

    The last axis of `bootstrap_distribution` has a value for each row. Its value `k` is that of row
    `k` of the seed.
    """

    confidence_interval: ConfidenceInterval
    bootstrap_distribution: NDArray[Any]
    standard_error: Any
    seed: Seed = field(repr=False)


class Bootstrap:
    """Rows of `n` items drawn with replacement; row `k` is a function of the seed and `k`.

    | argument | rows |
    | --- | --- |
    | `draws` | of another number of draws than `n` |
    | `strata` | that draw within strata, given by a label for each item |
    | `clusters` | of whole clusters, given by a label for each item: as many as there are |
    | `moving`, `circular`, `stationary` | of blocks of a series, of this length or mean length |

    At most one of the last five is given, and `draws` not with strata or clusters. The class of this
    name in Rust gives the same rows, and its documentation names the sources.

    >>> rows = Bootstrap(5, seed=42)
    >>> rows.indexes(7).shape, rows.indexes(7, 3).shape, int(rows.counts(7, 3).sum())
    ((5,), (3, 5), 15)
    """

    def __init__(
        self,
        n: SupportsIndex,
        seed: Seed,
        *,
        epoch: SupportsIndex = 0,
        draws: SupportsIndex | None = None,
        strata: ArrayLike | None = None,
        clusters: ArrayLike | None = None,
        moving: SupportsIndex | None = None,
        circular: SupportsIndex | None = None,
        stationary: SupportsIndex | None = None,
    ) -> None:
        lengths = dict(zip(_SERIES, (moving, circular, stationary)))
        series = [(kind, operator.index(length)) for kind, length in lengths.items() if length is not None]
        if len(series) + (strata is not None) + (clusters is not None) > 1:
            raise ValueError("give at most one of strata, clusters, moving, circular and stationary")
        self._n, self._clusters = operator.index(n), clusters is not None
        self._draws = self._n if draws is None else operator.index(draws)
        self._rows = BootstrapRows(
            n, seed, epoch, None if draws is None else self._draws,
            None if strata is None else _labels(strata), None if clusters is None else _labels(clusters),
            series[0] if series else None)

    def indexes(self, row: SupportsIndex, count: SupportsIndex | None = None) -> NDArray[np.int64]:
        """The items of a row, or of `count` rows from `row` on, as an array with a line for each.

        Rows of clusters differ in length, so they come one by one."""
        if count is None:
            return self._rows.indexes(row, 1)
        count = operator.index(count)
        if self._clusters and count != 1:
            raise ValueError("rows of clusters differ in length: ask for one at a time, or for counts")
        return self._rows.indexes(row, count).reshape(count, -1 if self._clusters else self._draws)

    def counts(self, row: SupportsIndex, count: SupportsIndex | None = None) -> NDArray[np.uint32]:
        """How often each item is in a row, or in each of `count` rows from `row` on."""
        if count is None:
            return self._rows.counts(row, 1)
        return self._rows.counts(row, count).reshape(operator.index(count), self._n)

    def weights(self, row: SupportsIndex, count: SupportsIndex | None = None) -> NDArray[np.float64]:
        """The weights of a row of the Bayesian bootstrap, or of `count` rows from `row` on. They are
        uniform over all weights whose sum is 1, and do not depend on strata, clusters or blocks."""
        if count is None:
            return self._rows.weights(row, 1)
        return self._rows.weights(row, count).reshape(operator.index(count), self._n)

    def statistics(
        self,
        name: str,
        *samples: ArrayLike,
        q: float = 0.5,
        first: SupportsIndex = 0,
        count: SupportsIndex = 9999,
        bayesian: bool = False,
    ) -> NDArray[np.float64]:
        """The values of a statistic of `count` rows from `first` on, computed in Rust on all cores.

        Statistics are 'mean', 'median', 'quantile' (of `q`), 'weighted_mean' (of values and weights)
        and 'correlation' (of two samples). The observations are along the last axis of the samples;
        the last axis of the result is of the rows. With `bayesian`, rows are weights."""
        kind, samples_of, quantile = ("quantile", 1, q) if name == "quantile" else _NATIVE.get(name, ("", 0, 0.0))
        if len(samples) != samples_of:
            known = ", ".join(key for key in _NATIVE if isinstance(key, str))
            raise ValueError(f"{name!r} of {len(samples)} samples is none of: {known}, quantile")
        arrays = [np.asarray(sample) for sample in samples]
        columns = _columns(kind, arrays, quantile)
        values = self._rows.statistics(columns, first, count, bayesian)
        return _last_of_rows(values, operator.index(count), arrays[0].shape[:-1])


def bootstrap(
    data: Sequence[ArrayLike],
    statistic: Callable[..., Any] | str,
    *,
    n_resamples: SupportsIndex = 9999,
    batch: SupportsIndex | None = None,
    vectorized: bool | None = None,
    paired: bool = False,
    axis: SupportsIndex = 0,
    confidence_level: float = 0.95,
    alternative: str = "two-sided",
    method: str = "BCa",
    bootstrap_result: Any = None,
    rng: Any = None,
    seed: Seed | None = None,
) -> BootstrapResult:
    """A confidence interval of a statistic, by the arguments of `scipy.stats.bootstrap`.

    Row `k` is a function of the seed and `k`: sample `s` of `data` is drawn by
    `Bootstrap(n, seed, epoch=s)`, and paired samples all by epoch 0.

    * `seed` is an integer or 32 bytes. Without it, it is drawn from `rng`, a `numpy.random.Generator`
      or what makes one; without both, from the system. The result has it.
    * `statistic` may also be 'mean', 'median', 'weighted_mean' or 'correlation'. These, `numpy.mean`
      and `numpy.median` of real numbers are computed in Rust as float64, on all cores and without
      copies of the rows. The last two of the names take two samples, always paired.
    * `batch` is the number of rows that are drawn at a time. It does not change the values unless the
      statistic computes other values for other shapes. Without it, memory is limited to a few times
      16 MiB, or to a row.
    * `bootstrap_result` is continued with the rows after its own, by its own seed; `rng` is not asked
      then. If another `seed` is given, rows of that seed are added, from row 0 on.

    Where an end of a BCa interval is undefined it is NaN, with a `DegenerateDataWarning`.
    """
    plan = _Plan(data, statistic, vectorized, paired, axis)
    count = _integer(n_resamples, "n_resamples", 0)
    rows = None if batch is None else _integer(batch, "batch", 1)
    alternative, method = _choice(alternative, _ALTERNATIVES), _choice(method, _METHODS)
    if not 0 < (confidence_level := float(confidence_level)) < 1:
        raise ValueError(f"confidence_level is between 0 and 1, not {confidence_level}")
    old = None if bootstrap_result is None else np.asarray(bootstrap_result.bootstrap_distribution)
    if count == 0 and (old is None or old.size == 0):
        raise ValueError("n_resamples is above 0, or bootstrap_result has values")

    old_seed = getattr(bootstrap_result, "seed", None)
    if seed is None:
        seed = old_seed if old_seed is not None else _drawn_seed(rng)
    first = old.shape[-1] if old is not None and old_seed == seed else 0
    values = plan.values(seed, first, count, rows)
    if old is not None:
        values = np.concatenate([old, values], axis=-1)

    tail = 1 - confidence_level
    low, high = plan.interval(values, method, tail / 2 if alternative == "two-sided" else tail, rows)
    if alternative == "less":
        low = np.full_like(low, -np.inf)
    elif alternative == "greater":
        high = np.full_like(high, np.inf)
    with np.errstate(invalid="ignore", divide="ignore"):
        error = np.std(values, axis=-1, ddof=1) if values.shape[-1] > 1 else np.full_like(low, np.nan)
    return BootstrapResult(ConfidenceInterval(low[()], high[()]), values, error[()], seed)


class _Plan:
    """Samples whose observations are along their last axis, and how to compute the statistic."""

    def __init__(
        self, data: Any, statistic: Any, vectorized: bool | None, paired: bool, axis: SupportsIndex
    ) -> None:
        try:
            samples = [np.asarray(sample) for sample in data]
        except TypeError:
            raise ValueError("data is a sequence of samples: write (sample,) for a single one") from None
        if not samples:
            raise ValueError("data has at least one sample")
        axis = operator.index(axis)
        samples = [np.moveaxis(np.atleast_1d(sample), axis, -1) for sample in samples]
        shape = np.broadcast_shapes(*(sample.shape[:-1] for sample in samples))
        self.samples = [np.broadcast_to(sample, shape + sample.shape[-1:]) for sample in samples]
        self.sizes = [sample.shape[-1] for sample in self.samples]
        if min(self.sizes) < 2:
            raise ValueError("each sample has two or more observations along the axis")

        self.columns: Columns | None = None
        native = _NATIVE.get(statistic) if isinstance(statistic, str) or callable(statistic) else None
        real = all(sample.dtype.kind in "fiub" and sample.dtype.itemsize <= 8 for sample in samples)
        if isinstance(statistic, str):
            if native is None or native[1] != len(samples) or not real:
                raise ValueError(
                    f"{statistic!r} is no statistic of {len(samples)} samples of real numbers: give "
                    "'mean' or 'median' of one, 'weighted_mean' or 'correlation' of two, or a function")
            paired = True
        elif not callable(statistic):
            raise TypeError(f"a statistic is a function or a name, not {type(statistic).__name__}")
        self.paired = bool(paired)
        if self.paired and len(set(self.sizes)) > 1:
            raise ValueError("paired samples have one length along the axis")
        self.shape = shape
        if native is not None and native[1] == len(samples) and real and vectorized is not False:
            self.columns = _columns(native[0], self.samples, native[2])
        elif vectorized is None:
            vectorized = "axis" in inspect.signature(statistic).parameters
        self.statistic, self.vectorized = statistic, vectorized

    def values(self, seed: Any, first: int, count: int, batch: int | None) -> NDArray[Any]:
        """The statistic of some rows, which are the last axis."""
        drawn = 1 if self.paired else len(self.samples)
        plans = [Bootstrap(n, seed, epoch=k) for k, n in enumerate(self.sizes[:drawn])]
        if self.columns is not None:
            values = plans[0]._rows.statistics(self.columns, first, count, False)
            return _last_of_rows(values, count, self.shape)
        parts = [self.of([self._observed_index(k) for k in range(drawn)])[..., :0]]
        batch = batch or self._batch(max(self.sizes))
        for start in range(first, first + count, batch):
            rows = min(batch, first + count - start)
            parts.append(self.of([plan.indexes(start, rows) for plan in plans]))
        return np.concatenate(parts, axis=-1)

    def _batch(self, n: int) -> int:
        """How many rows are drawn at a time."""
        return max(1, _AT_ONCE // (n * max(1, math.prod(self.shape))))

    def _observed_index(self, sample: int) -> NDArray[np.int64]:
        return np.arange(self.sizes[sample])[np.newaxis]

    def of(self, indexes: list[NDArray[np.int64]]) -> NDArray[Any]:
        """The statistic of some rows of each sample, given by their items; of paired samples by one."""
        if self.paired:
            indexes = indexes * len(self.samples)
        drawn = [sample[..., items] for sample, items in zip(self.samples, indexes)]
        if self.vectorized:
            return np.asarray(self.statistic(*drawn, axis=-1))
        shape = np.broadcast_shapes(*(sample.shape[:-1] for sample in drawn))
        drawn = [np.broadcast_to(sample, shape + sample.shape[-1:]) for sample in drawn]
        values = [np.asarray(self.statistic(*(sample[at] for sample in drawn))) for at in np.ndindex(shape)]
        # What the statistic itself returns comes before the axes of the samples.
        own = values[0].shape if values else ()
        return np.moveaxis(np.reshape(values, (*shape, *own)), range(len(shape)), range(-len(shape), 0))

    def observed(self) -> NDArray[np.float64]:
        if self.columns is not None:
            return np.reshape(self.columns.observed(), self.shape)
        drawn = 1 if self.paired else len(self.samples)
        return self.of([self._observed_index(k) for k in range(drawn)])[..., 0]

    def jackknife(self, batch: int | None) -> list[NDArray[Any]]:
        """For each sample that is drawn by itself, the statistic without each of its observations."""
        if self.columns is not None:
            return [np.reshape(self.columns.leave_one_out(), (*self.shape, self.sizes[0]))]
        drawn = 1 if self.paired else len(self.samples)
        whole, all_of = [self._observed_index(k) for k in range(drawn)], []
        for k, n in enumerate(self.sizes[:drawn]):
            step, parts = batch or self._batch(n), []
            for start in range(0, n, step):
                left_out = np.arange(start, min(start + step, n))[:, np.newaxis]
                kept = np.arange(n - 1) + (np.arange(n - 1) >= left_out)
                rows = [kept if other == k else items for other, items in enumerate(whole)]
                rows = [np.broadcast_to(items, (len(kept), items.shape[-1])) for items in rows]
                parts.append(self.of(rows))
            all_of.append(np.concatenate(parts, axis=-1))
        return all_of

    def interval(
        self, values: NDArray[Any], method: str, tail: float, batch: int | None
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The ends of the interval for each statistic."""
        shape, rows = values.shape[:-1], values.shape[-1]
        flat = _floats(np.reshape(values, (-1, rows)))
        observed = np.zeros(len(flat)) if method == "percentile" else np.ravel(_floats(self.observed()))
        left_out = self.jackknife(batch) if method == "bca" else []
        samples = [_floats(np.reshape(sample, (len(flat), sample.shape[-1]))) for sample in left_out]
        ends = np.empty((2, len(flat)))
        for k, of_one in enumerate(flat):
            own = [sample[k] for sample in samples]
            ends[:, k] = bootstrap_interval(method, of_one, float(observed[k]), own, tail)
        if method == "bca" and np.isnan(ends).any():
            warnings.warn(
                "A BCa interval is undefined, because the values of the bootstrap are all on one side of "
                "the observed one, or because the statistic never changes when an observation is left "
                "out: try another method.", DegenerateDataWarning, stacklevel=3)
        low, high = np.reshape(ends, (2, *shape))
        return low, high


def _columns(kind: str, samples: Sequence[NDArray[Any]], q: float) -> Columns:
    """Samples with their observations along the last axis, in Rust."""
    shape = np.broadcast_shapes(*(sample.shape for sample in samples))
    x, *rest = (_floats(np.reshape(np.broadcast_to(sample, shape), (-1, shape[-1]))) for sample in samples)
    return Columns(kind, x, rest[0] if rest else None, q)


def _floats(array: NDArray[Any]) -> NDArray[np.float64]:
    if array.dtype.kind not in "fiub":
        raise TypeError(f"an interval is of real numbers, and the statistic is of type {array.dtype}")
    return np.require(array, np.float64, ["C", "A"])


def _labels(labels: ArrayLike) -> NDArray[np.int64]:
    """A number for each label, in the order of the labels."""
    array = np.asarray(labels)
    if array.ndim != 1:
        raise ValueError("labels have one axis, with one for each item")
    return np.unique(array, return_inverse=True)[1].astype(np.int64)


def _last_of_rows(values: NDArray[np.float64], count: int, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Values that came one row after another, with the rows as the last axis."""
    return np.moveaxis(values.reshape(count, *shape), 0, -1)


def _integer(value: Any, name: str, least: int) -> int:
    whole = int(value)
    if whole != value or whole < least:
        raise ValueError(f"{name} is an integer from {least} on, not {value}")
    return whole


def _choice(value: str, known: tuple[str, ...]) -> str:
    if (lower := value.lower()) not in known:
        raise ValueError(f"{value!r} is none of {', '.join(known)}")
    return lower


def _drawn_seed(rng: Any) -> int:
    """A seed from a generator, from what makes one, or from the system."""
    if rng is None:
        return secrets.randbits(64)
    if isinstance(rng, np.random.RandomState):
        return int.from_bytes(rng.bytes(8), "little")
    return int(np.random.default_rng(rng).integers(2**64, dtype=np.uint64))
