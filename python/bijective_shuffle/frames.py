"""Data frames of pandas, Polars, pyarrow and DuckDB: shuffled, split and sampled in one call.

| call | gives |
| --- | --- |
| `shuffled(frame, seed)` | all rows in the order of `Permutation(n, seed, epoch)`, the same for all of these frames, for `bs.shuffled` of an array, and for `bshuf` |
| `split(frame, shares, seed)` | a frame for each share: the parts of `Splits` |
| `sample(frame, k, seed)` | `k` different rows, those of `choice(n, k, seed)`; with `weights`, those of `weighted_sample` |

Rows keep their index, and columns their types. A frame is `DataFrame` or `Series` of pandas or
Polars, `Table` or `RecordBatch` of pyarrow, or a relation of DuckDB, whose result is a relation of
the same connection; its rows are read once, in the order in which the relation gives them.
"""

from __future__ import annotations

import sys
from typing import Any, SupportsIndex

import numpy as np

from ._arrays import choice
from ._loaders import count, weighted_sample
from ._native import Permutation
from ._splits import Splits
from ._types import Seed

__all__ = ["sample", "shuffled", "split"]


def shuffled(frame: Any, seed: Seed, epoch: SupportsIndex = 0) -> Any:
    """The frame with its rows in random order: row `k` is row `p[k]` of `Permutation(n, seed,
    epoch)`."""
    frame, back = _table(frame)
    n = _rows(frame)
    rows = Permutation(n, seed, epoch).to_numpy() if n else np.empty(0, np.int64)
    return back(_take(frame, rows))


def split(frame: Any, shares: Any, seed: Seed, epoch: SupportsIndex = 0, *, labels: Any = None,
          groups: Any = None, ids: Any = None) -> Any:
    """A frame for each share, as a list, or as a dictionary if the shares have names. No row moves to
    another part when rows are appended. `labels`, `groups` and `ids` are those of `Splits.parts`, or
    the names of columns."""
    frame, back = _table(frame)
    given = {"labels": labels, "groups": groups, "ids": ids}
    columns = {name: _column(frame, column) for name, column in given.items() if column is not None}
    parts = Splits(shares, seed, epoch).indexes(_rows(frame), **columns)
    if isinstance(parts, dict):
        return {name: back(_take(frame, rows)) for name, rows in parts.items()}
    return [back(_take(frame, rows)) for rows in parts]


def sample(frame: Any, k: SupportsIndex, seed: Seed, epoch: SupportsIndex = 0, *,
           weights: Any = None) -> Any:
    """`k` different rows in random order. With `weights`, an array or the name of a column, each next
    row is drawn with a probability in proportion to its weight among those that are left."""
    frame, back = _table(frame)
    n, many = _rows(frame), count(k)
    if weights is not None:
        rows = weighted_sample(_column(frame, weights), many, seed, epoch)
    elif many <= n:
        rows = choice(n, many, seed, epoch) if n else np.empty(0, np.int64)
    else:
        raise ValueError(f"{many} rows cannot be drawn without replacement from {n}: draw fewer")
    return back(_take(frame, rows))


def _kind(frame: Any) -> str:
    """The library that a frame is of."""
    name = type(frame).__module__.partition(".")[0].lstrip("_")
    classes = {
        "pandas": ("DataFrame", "Series"), "polars": ("DataFrame", "Series"),
        "pyarrow": ("Table", "RecordBatch"), "duckdb": ("DuckDBPyRelation",),
    }
    for kind, names in classes.items():
        # Also classes that are derived from these.
        library = sys.modules.get(kind)
        known = tuple(getattr(library, name) for name in names if hasattr(library, name))
        if known and isinstance(frame, known):
            return kind
    hint = ": collect it first" if type(frame).__name__ == "LazyFrame" else ""
    raise TypeError(
        f"a frame is of pandas, Polars, pyarrow or DuckDB, not {name}.{type(frame).__name__}{hint}"
    )


def _table(frame: Any) -> tuple[Any, Any]:
    """A frame whose rows can be taken, and what makes the result of it."""
    if _kind(frame) != "duckdb":
        return frame, lambda taken: taken
    read = frame.to_arrow_table if hasattr(frame, "to_arrow_table") else frame.fetch_arrow_table

    def back(taken: Any) -> Any:
        # DuckDB finds the table by the name of this variable.
        return frame.query("unused", "SELECT * FROM taken")

    return read(), back


def _rows(frame: Any) -> int:
    # A table without columns may have rows.
    return int(frame.num_rows) if _kind(frame) == "pyarrow" else len(frame)


def _column(frame: Any, column: Any) -> Any:
    """A column by its name, or the values that were given."""
    if not isinstance(column, str):
        return column
    values = frame[column]
    return values.to_numpy(zero_copy_only=False) if hasattr(values, "combine_chunks") \
        else values.to_numpy()


def _take(frame: Any, rows: np.ndarray[Any, Any]) -> Any:
    """Some rows of a frame, in an order."""
    if _kind(frame) != "polars":
        return frame.take(rows)
    polars = sys.modules["polars"]
    # Polars counts rows with 32 bits, and would convert others.
    indexes = polars.Series(rows.astype(np.uint32) if len(frame) < 2**32 else rows)
    if isinstance(frame, polars.Series):
        return frame.gather(indexes)
    return frame.select(polars.all().gather(indexes))
