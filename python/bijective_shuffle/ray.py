"""Global shuffles of data sets by Ray Data."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import ray
import ray.data
from numpy.typing import NDArray

from ._native import Permutation
from ._parts import bounds_of, part_of, within

__all__ = ["ray_shuffle"]


def ray_shuffle(
    ds: ray.data.Dataset, seed: int | bytes, epoch: int = 0, *, blocks: int | None = None
) -> ray.data.Dataset:
    """The data set with its rows in the order of `Permutation.walk(n, seed, epoch)`, where `n` is
    the number of rows: row `k` of the result is row `p[k]`.

    A task for each block sends its rows to the blocks that their places are in, and a task for each
    of those puts them in order. Both are functions of the rows' numbers, so the result does not
    depend on the number of workers, and a task that is repeated does the same again.

    The data set is computed at once, into Ray's object store, and so is the result, which has as
    many blocks, or `blocks`.
    """
    tables = _tables(ds)
    rows, merge = ray.remote(_rows), ray.remote(_merge)
    lengths: Any = ray.get([rows.remote(table) for table in tables])
    starts = np.concatenate([[0], np.cumsum(np.asarray(lengths, dtype=np.int64))])
    n = int(starts[-1])
    parts = min(len(tables) if blocks is None else blocks, n)
    if n == 0:
        return ds
    if parts < 1:
        raise ValueError("a data set has at least one block")
    order = Permutation.walk(n, seed, epoch)
    bounds = bounds_of(n, parts)
    split: Any = ray.remote(num_returns=parts)(_split)
    pieces: list[Any] = [
        split.remote(table, int(start), order, bounds) for table, start in zip(tables, starts)
    ]
    if parts == 1:
        pieces = [[piece] for piece in pieces]
    merged = [merge.remote(*(piece[part] for piece in pieces)) for part in range(parts)]
    return ray.data.from_arrow_refs(merged)


def _tables(ds: ray.data.Dataset) -> list[Any]:
    """The blocks in their order, as tables."""
    options = ds.context.execution_options
    preserve, options.preserve_order = options.preserve_order, True
    try:
        tables: list[Any] = ds.to_arrow_refs()
        return tables
    finally:
        options.preserve_order = preserve


def _rows(table: pa.Table) -> int:
    return int(table.num_rows)


def _split(table: pa.Table, start: int, order: Permutation, bounds: NDArray[np.int64]) -> Any:
    """The rows that go to each part, each with its place there."""
    places = order.position(np.arange(start, start + table.num_rows))
    to = part_of(places, bounds)
    # NumPy sorts narrow numbers by their digits, in a fraction of the time.
    sort = np.argsort(to.astype(np.min_scalar_type(len(bounds))), kind="stable")
    table, places = table.take(sort), within(places, to, bounds)[sort]
    cuts = np.searchsorted(to[sort], np.arange(len(bounds))).tolist()
    pieces = [(table.slice(a, b - a), places[a:b]) for a, b in zip(cuts, cuts[1:])]
    return pieces[0] if len(pieces) == 1 else pieces


def _merge(*pieces: tuple[pa.Table, NDArray[Any]]) -> pa.Table:
    """The rows of a part in their order."""
    tables, places = zip(*pieces)
    to = np.concatenate(places)
    rows = np.empty(len(to), dtype=np.int64)
    rows[to] = np.arange(len(to))
    return pa.concat_tables(tables).take(rows)
