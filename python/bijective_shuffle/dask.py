"""Global shuffles of data frames by Dask."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ._native import Permutation

__all__ = ["dask_shuffle"]

# Columns that are there only while rows are exchanged.
_PLACE, _INDEX = "__bijective_shuffle_place__", "__bijective_shuffle_index__"


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
    meta = _with_places(df._meta, starts, order)
    numbered = df.map_partitions(_with_places, starts, order, meta=meta)
    bounds = [n * part // parts for part in range(parts)] + [n - 1]
    placed = numbered.set_index(_PLACE, divisions=bounds)
    return placed.map_partitions(_in_order, df._meta.index.name, meta=df._meta)


def _with_places(
    part: pd.DataFrame,
    starts: NDArray[np.int64],
    order: Permutation,
    partition_info: dict[str, Any] | None = None,
) -> pd.DataFrame:
    """Adds to each row the place that it moves to, and its index."""
    # Without information it is Dask's example of a partition, which has no rows.
    start = 0 if partition_info is None else int(starts[partition_info["number"]])
    places = order.position(np.arange(start, start + len(part)))
    return part.assign(**{_PLACE: places, _INDEX: part.index})


def _in_order(part: pd.DataFrame, name: Any) -> pd.DataFrame:
    """Puts the rows of a partition in order, and gives them their index back."""
    ordered = part.sort_index().set_index(_INDEX)
    ordered.index.name = name
    return ordered
