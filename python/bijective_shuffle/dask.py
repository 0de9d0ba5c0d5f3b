"""Global shuffles of data frames by Dask."""

from __future__ import annotations

from typing import Any

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ._native import Permutation
from ._parts import bounds_of, part_of, within

__all__ = ["dask_shuffle"]

# Columns that are there only while rows are exchanged: where a row goes, and by which key.
_PLACE, _KEY = "__bijective_shuffle_place__", "__bijective_shuffle_key__"


def dask_shuffle(
    df: Any, seed: int | bytes, epoch: int = 0, *, npartitions: int | None = None
) -> Any:
    """The data frame with its rows in the order of `Permutation.walk(n, seed, epoch)`, where `n` is
    the number of rows: row `k` of the result is row `p[k]`, with its index.

    Each row is given its place by the permutation, a function of the row's number. Dask exchanges
    the rows by the method that it is configured for, and each partition is put in order. So the
    result does not depend on the number of workers, and a task that is repeated does the same
    again, as long as the partitions of `df` are the same each time they are computed.

    The lengths of the partitions are computed at once, which reads them. Everything else is lazy.
    The result has as many partitions as `df`, or `npartitions`, all of one length.
    """
    lengths = df.map_partitions(len).compute()
    starts = np.concatenate([[0], np.cumsum(np.asarray(lengths, dtype=np.int64))])
    n = int(starts[-1])
    parts = min(df.npartitions if npartitions is None else npartitions, n)
    if n == 0:
        return df
    if parts < 1:
        raise ValueError("a data frame has at least one partition")
    order = Permutation.walk(n, seed, epoch)
    bounds = bounds_of(n, parts)
    keys = _keys(parts)
    meta = _with_places(df._meta, starts, order, bounds, keys)
    numbered = df.map_partitions(_with_places, starts, order, bounds, keys, meta=meta)
    sent = numbered.shuffle(_KEY, npartitions=parts)
    return sent.map_partitions(_in_order, bounds, meta=df._meta)


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
    part: pd.DataFrame,
    starts: NDArray[np.int64],
    order: Permutation,
    bounds: NDArray[np.int64],
    keys: NDArray[np.int64],
    partition_info: dict[str, Any] | None = None,
) -> pd.DataFrame:
    """Adds to each row its place in the partition that it moves to, and the key that brings it
    there."""
    # Without information it is Dask's example of a partition, which has no rows.
    start = 0 if partition_info is None else int(starts[partition_info["number"]])
    places = order.position(np.arange(start, start + len(part)))
    to = part_of(places, bounds)
    return part.assign(**{_PLACE: within(places, to, bounds), _KEY: keys[to]})


def _in_order(
    part: pd.DataFrame,
    bounds: NDArray[np.int64],
    partition_info: dict[str, Any] | None = None,
) -> pd.DataFrame:
    """Puts the rows of a partition in order."""
    places = part[_PLACE].to_numpy()
    part = part.drop(columns=[_PLACE, _KEY])
    if partition_info is None:
        return part
    first, end = bounds[partition_info["number"] :][:2]
    rows = np.full(end - first, -1)
    if len(places) == len(rows) and (len(places) == 0 or places.max() < len(rows)):
        rows[places] = np.arange(len(rows))
    if (rows < 0).any():
        raise RuntimeError("partitions have other rows than when they were counted")
    return part.take(rows)
