"""Global shuffles of data frames by Dask."""

from __future__ import annotations

from typing import Any, TypeVar

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ._native import Permutation
from ._parts import PartitionsDifferError, bounds_of, part_of, within

__all__ = ["PartitionsDifferError", "dask_shuffle"]

Frame = TypeVar("Frame")

# Columns that are there only while rows are exchanged: a row's place, its key, and names for the
# other columns, since `p2p` takes only strings and Dask's shuffle overwrites `_partitions`.
_PLACE, _KEY, _COLUMN = (f"__bijective_shuffle_{name}__" for name in ("place", "key", "column"))


def dask_shuffle(
    df: Frame, seed: int | bytes, epoch: int = 0, *, npartitions: int | None = None
) -> Frame:
    """The data frame or series with its rows in the order of `Permutation.walk(n, seed, epoch)`,
    where `n` is the number of rows: row `k` of the result is row `p[k]`, with its index.

    Each row is given its place by the permutation, a function of the row's number. Dask exchanges
    the rows by the method that it is configured for, and each partition is put in order. Columns
    that `p2p` would change or refuse, such as columns of objects, are exchanged by `tasks` instead.
    The result does not depend on the number of workers, and a task that is repeated does the same
    again, as long as the partitions of `df` are the same each time they are computed. If their
    lengths are not, the computation raises `PartitionsDifferError`.

    The lengths of the partitions are computed at once, which reads them. Everything else is lazy.
    The result has as many partitions as `df`, or `npartitions`, all of one length.
    """
    if not isinstance(df, (dd.DataFrame, dd.Series)) or isinstance(df, dd.Index):
        raise TypeError(f"a data frame or a series of Dask is shuffled, not {type(df).__name__}")
    frame: Any = df
    lengths = frame.map_partitions(len).compute()
    starts = np.concatenate([[0], np.cumsum(np.asarray(lengths, dtype=np.int64))])
    n = int(starts[-1])
    parts = min(frame.npartitions if npartitions is None else npartitions, n)
    if n == 0:
        return df
    if parts < 1:
        raise ValueError("a data frame has at least one partition")
    order = Permutation.walk(n, seed, epoch)
    bounds = bounds_of(n, parts)
    keys = _keys(parts)
    meta = _with_places(frame._meta, starts, order, bounds, keys)
    numbered = frame.map_partitions(_with_places, starts, order, bounds, keys, meta=meta)
    plain = all(map(_is_plain, [*meta.dtypes, meta.index.dtype]))
    sent = numbered.shuffle(_KEY, npartitions=parts, shuffle_method=None if plain else "tasks")
    result: Frame = sent.map_partitions(_in_order, bounds, keys, frame._meta, meta=frame._meta)
    return result


def _is_plain(dtype: Any) -> bool:
    """Whether each of Dask's methods keeps the values of a type. `p2p` converts them to Arrow's
    types, which turns lists into arrays and None into NaN, and refuses some; `disk` turns tuples
    into lists."""
    if isinstance(dtype, pd.CategoricalDtype):
        return _is_plain(dtype.categories.dtype)
    if isinstance(dtype, (pd.SparseDtype, pd.ArrowDtype)):
        return False
    return isinstance(dtype, pd.StringDtype) or dtype.kind in "biufmM"


def _keys(parts: int) -> NDArray[np.int64]:
    """For each partition a number that Dask's shuffle sends there.

    Dask sends a row by a hash of a column. To sort by the places instead, as `set_index` does, would
    take as long as everything else: within a partition they are all numbers of a range.
    """
    count = 16 * parts
    while True:
        numbers = dd.from_pandas(pd.DataFrame({_KEY: np.arange(count)}), npartitions=1)
        sent = numbers.shuffle(_KEY, npartitions=parts, shuffle_method="tasks").to_delayed()
        found = dask.compute(*sent, scheduler="synchronous")
        if all(len(part) for part in found):
            keys = np.array([part[_KEY].iloc[0] for part in found])
            return keys.astype(np.min_scalar_type(keys.max()))
        count *= 2


def _with_places(
    part: Any,
    starts: NDArray[np.int64],
    order: Permutation,
    bounds: NDArray[np.int64],
    keys: NDArray[np.int64],
    partition_info: dict[str, Any] | None = None,
) -> pd.DataFrame:
    """Adds to each row its place in the partition that it moves to, and the key that brings it
    there. Names are put aside."""
    start = 0
    # Without information it is Dask's example of a partition, which has no rows.
    if partition_info is not None:
        start, end = starts[partition_info["number"] :][:2].tolist()
        if len(part) != end - start:
            raise PartitionsDifferError(
                f"partition {partition_info['number']} had {end - start} rows when it was counted "
                f"and has {len(part)} now: a shuffle needs the same partitions each time, such as "
                "those of df.persist()"
            )
    places = order.position(np.arange(start, start + len(part)))
    to = part_of(places, bounds)
    part = (part.to_frame() if part.ndim == 1 else part).rename_axis(index=None)
    part.columns = [f"{_COLUMN}{k}" for k in range(part.shape[1])]
    return part.assign(**{_PLACE: within(places, to, bounds), _KEY: keys[to]})


def _in_order(
    part: pd.DataFrame, bounds: NDArray[np.int64], keys: NDArray[np.int64], like: Any
) -> Any:
    """Puts the rows of a partition in order, under the names of `like`."""
    # Not by the partition's number, which is another where Dask computes a few of the partitions.
    number = np.flatnonzero(keys == part[_KEY].iloc[0])[0] if len(part) else 0
    first, end = bounds[number:][:2]
    places = part[_PLACE].to_numpy()
    rows = np.full(end - first, -1)
    if len(places) == len(rows) and places.max() < len(rows):
        rows[places] = np.arange(len(rows))
    if (rows < 0).any():
        raise PartitionsDifferError("rows were lost or doubled on their way to a partition")
    part = part.drop(columns=[_PLACE, _KEY]).rename_axis(index=list(like.index.names)).take(rows)
    if like.ndim == 1:
        return part.iloc[:, 0].rename(like.name)
    part.columns = like.columns
    return part
