"""Global shuffles of Daft's data frames."""

from __future__ import annotations

import daft
import numpy as np
from daft.functions import monotonically_increasing_id

from ._native import Permutation
from ._parts import unused

__all__ = ["daft_shuffle"]

# Columns that are there only while rows move, if no others have such names: what Daft calls a row,
# and its place.
_ROW, _PLACE = (f"__bijective_shuffle_{name}__" for name in ("row", "place"))

# Daft calls a row by the number of its partition, and behind that by its own within the partition.
_BITS = 36


def daft_shuffle(df: daft.DataFrame, seed: int | bytes, epoch: int = 0) -> daft.DataFrame:
    """The data frame with its rows in the order of `Permutation.walk(n, seed, epoch)`, where `n` is
    the number of rows: row `k` of the result is row `p[k]`.

    Each row is given its place by the permutation, a function of the row's number, and Daft sorts by
    the places, on whichever runner it has. So the result does not depend on the number of workers,
    and a task that is repeated does the same again.

    The data frame is computed at once, into memory, or Ray's object store; the sort is lazy.
    """
    row, moved = unused(_ROW, df.column_names), unused(_PLACE, df.column_names)
    numbered = df.with_column(row, monotonically_increasing_id()).collect()
    part = (daft.col(row) // daft.lit(1 << _BITS)).cast(daft.DataType.uint64()).alias("part")
    counts = numbered.select(part).groupby("part").agg(daft.col("part").count().alias("rows"))
    found = counts.to_pydict()
    rows = np.zeros(max(found["part"], default=0) + 2, dtype=np.uint64)
    rows[np.asarray(found["part"], dtype=np.int64) + 1] = found["rows"]
    starts = np.cumsum(rows, dtype=np.uint64)
    order = Permutation.walk(int(starts[-1]), seed, epoch)

    @daft.func.batch(return_dtype=daft.DataType.uint64())  # type: ignore[misc, untyped-decorator, unused-ignore]
    def place(names: daft.Series) -> daft.Series:
        of = np.asarray(names.to_arrow())
        numbers = starts[of >> _BITS] + (of & np.uint64((1 << _BITS) - 1))
        return daft.Series.from_numpy(order.position(numbers).astype(np.uint64))

    sorted_df: daft.DataFrame = numbered.with_column(moved, place(daft.col(row))).sort(moved)
    return sorted_df.exclude(row, moved)
