"""Data frames of pandas, Polars, pyarrow and DuckDB: shuffled, split and sampled in one call.

| call | gives |
| --- | --- |
| `shuffled(frame, seed)` | all rows in the order of `Permutation(n, seed, epoch)`, the same for all of these frames, for `bs.shuffled` of an array, and for `bshuf` |
| `split(frame, shares, seed)` | a frame for each share: the parts of `Splits` |
| `sample(frame, k, seed)` | `k` different rows, the first `k` of `shuffled`; with `weights`, those of `weighted_sample` |

Rows keep their index, and columns their types. A frame is `DataFrame` or `Series` of pandas or
Polars, `Table` or `RecordBatch` of pyarrow, or a relation of DuckDB from version 2.0 on, whose result
is a relation of the same connection. A relation is run once, its rows are taken in the order in which
it gives them, and the result holds its own: what happens to its tables later changes nothing.
"""

from __future__ import annotations

import sys
from typing import Any, SupportsIndex

import numpy as np

from ._loaders import count, weighted_sample
from ._native import Permutation, reorder_copies
from ._splits import Splits
from ._types import Seed

# Fewer rows are taken as fast by the libraries themselves: 10 columns of 10^5 rows in a third of
# the time, and of 10^6 in about the same.
_LEAST = 1 << 20

# Types of Polars whose columns NumPy sees as numbers of the same type.
_PLAIN = {
    *(f"{sign}Int{bits}" for sign in ("", "U") for bits in (8, 16, 32, 64)), "Float32", "Float64",
}

__all__ = ["sample", "shuffled", "split"]


def shuffled(frame: Any, seed: Seed, epoch: SupportsIndex = 0) -> Any:
    """The frame with its rows in random order: row `k` is row `p[k]` of `Permutation(n, seed,
    epoch)`."""
    frame = _held(frame)
    n = _rows(frame)
    if not n:
        return _take(frame, np.empty(0, np.int64))
    order = Permutation(n, seed, epoch)
    if n < _LEAST:
        return _take(frame, order.to_numpy())
    if _kind(frame) == "polars":
        return _shuffled_of_polars(frame, order)
    # What is derived from a frame may have a constructor of its own.
    if _kind(frame) == "pandas" and type(frame) is sys.modules["pandas"].DataFrame:
        return _shuffled_of_pandas(frame, order)
    return _take(frame, order.to_numpy())


def split(frame: Any, shares: Any, seed: Seed, epoch: SupportsIndex = 0, *, labels: Any = None,
          groups: Any = None, ids: Any = None) -> Any:
    """A frame for each share, as a list, or as a dictionary if the shares have names. No row moves to
    another part when rows are appended. `labels`, `groups` and `ids` are those of `Splits.parts`, or
    the names of columns."""
    frame = _held(frame)
    given = {"labels": labels, "groups": groups, "ids": ids}
    columns = {name: _column(frame, column) for name, column in given.items() if column is not None}
    parts = Splits(shares, seed, epoch).indexes(_rows(frame), **columns)
    if isinstance(parts, dict):
        return {name: _take(frame, rows) for name, rows in parts.items()}
    return [_take(frame, rows) for rows in parts]


def sample(frame: Any, k: SupportsIndex, seed: Seed, epoch: SupportsIndex = 0, *,
           weights: Any = None) -> Any:
    """`k` different rows in random order, the first `k` of `shuffled`, in time for as many. With
    `weights`, an array or the name of a column, each next row is drawn with a probability in
    proportion to its weight among those that are left."""
    frame = _held(frame)
    n, many = _rows(frame), count(k, "k")
    if weights is not None:
        values = _column(frame, weights)
        if len(values) != n:
            raise ValueError(f"{n} rows have {len(values)} weights: give one for each row")
        if isinstance(weights, str) and values.dtype == object:
            # Numbers of DuckDB.
            values = np.asarray(values.tolist())
        rows = weighted_sample(values, many, seed, epoch)
    elif many <= n:
        rows = Permutation(n, seed, epoch).head(many).to_numpy()
    else:
        raise ValueError(f"{many} rows cannot be drawn without replacement from {n}: draw fewer")
    return _take(frame, rows)


def _kind(frame: Any) -> str:
    """The library that a frame is of."""
    name = type(frame).__module__.partition(".")[0].lstrip("_")
    classes = {
        "pandas": ("DataFrame", "Series"), "polars": ("DataFrame", "Series"),
        # Untried: by what it has of pandas' methods.
        "cudf": ("DataFrame", "Series"),
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


def _held(frame: Any) -> Any:
    """A frame whose rows can be taken more than once."""
    if _kind(frame) != "duckdb":
        return frame
    if not hasattr(frame, "materialize"):
        # Earlier versions hold rows in Arrow's types only, which changes some and loses numbers.
        raise TypeError(
            "DuckDB before version 2.0 cannot hold the rows of a relation: use a later one, or give "
            "the relation as a table of Arrow"
        )
    # Each run of a relation may give its rows in another order.
    return frame.materialize()


def _rows(frame: Any) -> int:
    return int(frame.shape[0])


def _column(frame: Any, column: Any) -> Any:
    """A column by its name, or the values that were given."""
    if not isinstance(column, str):
        return column
    kind, values = _kind(frame), frame[column]
    if kind == "cudf":
        kind, values = "pyarrow", values.to_arrow()
    # Objects where values are missing: as an array of NumPy's numbers, integers would be rounded.
    if kind == "pandas":
        is_numpy = isinstance(values.dtype, np.dtype) or not values.isna().any()
        return values.to_numpy() if is_numpy else values.to_numpy(dtype=object)
    if kind == "duckdb":
        listed = [value for (value,) in values.fetchall()]
    elif kind == "polars":
        if not values.null_count():
            return values.to_numpy()
        listed = values.to_list()
    else:
        if not values.null_count:
            return values.to_numpy(zero_copy_only=False)
        listed = values.to_pylist()
    return np.fromiter(listed, object, len(listed))


def _take(frame: Any, rows: np.ndarray[Any, Any]) -> Any:
    """Some rows of a frame, each at most once, in an order."""
    kind = _kind(frame)
    if kind == "duckdb":
        return _take_held(frame, rows)
    if kind not in ("pandas", "cudf") and len(frame.shape) == 2 and frame.shape[1] == 0:
        # Rows without columns are all the same, and these libraries would lose them.
        return frame.slice(0, len(rows))
    if kind != "polars":
        return frame.take(rows)
    polars = sys.modules["polars"]
    # Polars counts rows with 32 bits, and would convert others.
    indexes = polars.Series(rows.astype(np.uint32) if len(frame) < 2**32 else rows)
    if isinstance(frame, polars.Series):
        return frame.gather(indexes)
    return frame.select(polars.all().gather(indexes))


def _shuffled_of_polars(frame: Any, order: Permutation) -> Any:
    """The same as by `_take`. Columns of plain numbers, dates and times among them, are written to
    their places by all threads, which takes less time than to gather them."""
    polars = sys.modules["polars"]
    if isinstance(frame, polars.Series):
        return _shuffled_of_polars(frame.to_frame(), order).to_series()
    plain = {}
    for column in frame.get_columns():
        numbers = column.to_physical() if column.dtype.is_temporal() else column
        if str(numbers.dtype) in _PLAIN and not numbers.null_count():
            # Of one chunk, which is not copied.
            plain[column.name] = np.ascontiguousarray(numbers.rechunk().to_numpy())
    if not plain:
        return _take(frame, order.to_numpy())
    moved = {}
    if len(plain) < frame.shape[1]:
        others = _take(frame.drop(list(plain)), order.to_numpy())
        moved = {column.name: column for column in others.get_columns()}
    for name, values in zip(plain, _copies(list(plain.values()), order)):
        moved[name] = polars.Series(name, values).cast(frame.schema[name])
    return frame.select([moved[name] for name in frame.columns])


def _shuffled_of_pandas(frame: Any, order: Permutation) -> Any:
    """The same, for a DataFrame of pandas."""
    pandas, rows = sys.modules["pandas"], order.to_numpy()
    plain = {}
    for place, dtype in enumerate(frame.dtypes):
        if isinstance(dtype, np.dtype):
            values = frame.iloc[:, place].to_numpy()
            if _is_plain(values):
                plain[place] = values
    if not plain:
        return frame.take(rows)
    index = frame.index.take(rows)
    moved = dict(zip(plain, _copies(list(plain.values()), order)))
    others = [place for place in range(frame.shape[1]) if place not in plain]
    if others:
        taken = frame.iloc[:, others].take(rows)
        taken.index = index
        moved |= {place: taken.iloc[:, k] for k, place in enumerate(others)}
    # The arrays are new, so nothing has to copy them.
    whole = pandas.DataFrame({place: moved[place] for place in sorted(moved)}, index=index, copy=False)
    whole.columns = frame.columns
    return whole.__finalize__(frame, method="take")


def _is_plain(values: np.ndarray[Any, Any]) -> bool:
    """Whether native code copies these items as they are."""
    flags = values.flags
    return flags.c_contiguous and flags.aligned and values.dtype.kind in "biufcmM" and values.itemsize <= 16


def _copies(arrays: list[np.ndarray[Any, Any]], order: Permutation) -> list[np.ndarray[Any, Any]]:
    """Copies of arrays in an order. Their memory is fresh, and first written by the threads that
    put the items there."""
    copies = [np.empty(array.shape, array.dtype) for array in arrays]
    reorder_copies(order, arrays, copies)
    return copies


def _take_held(frame: Any, rows: np.ndarray[Any, Any]) -> Any:
    """Some rows of a relation of DuckDB, which never leave it, in an order."""
    # DuckDB finds this array by the name of the variable, unless a table has that name.
    places_56b1f0ce0d9c4d4f = np.full(_rows(frame), -1)
    places_56b1f0ce0d9c4d4f[rows] = np.arange(len(rows))
    try:
        return frame.query(
            "held_56b1f0ce0d9c4d4f",
            "SELECT held_56b1f0ce0d9c4d4f.* FROM held_56b1f0ce0d9c4d4f "
            "POSITIONAL JOIN places_56b1f0ce0d9c4d4f AS places(place) "
            "WHERE place >= 0 ORDER BY place",
        ).materialize()
    except sys.modules["duckdb"].CatalogException as error:
        raise RuntimeError(
            "this connection of DuckDB reads no arrays of Python: set python_enable_replacements and "
            "enable_external_access, or give the relation as a table of Arrow"
        ) from error
