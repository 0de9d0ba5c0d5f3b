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

`labels`, `groups`, `ids` and `weights` are names of columns, or values for each row. A name may be
anything that a column is called: a number too, or a tuple where columns have several levels, in which
case values for each row are no tuple. A name of no column, or of several, is refused. A Series of
pandas, or an array of xarray with an index, is aligned with the index of a frame of pandas, and
refused if a row has no value there, or if the frame has no index and the Series has one of its own.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any, SupportsIndex, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from ._loaders import count, weighted_sample
from ._native import Permutation, reorder_copies
from ._parts import unused
from ._splits import Splits
from ._types import Seed

Frame = TypeVar("Frame")

# Fewer rows are taken as fast by the libraries themselves: 10 columns of 10^5 rows in a third of
# the time, and of 10^6 in about the same.
_LEAST = 1 << 20

# Types of Polars whose columns NumPy sees as numbers of the same type.
_PLAIN = {
    *(f"{sign}Int{bits}" for sign in ("", "U") for bits in (8, 16, 32, 64)), "Float32", "Float64",
}

_FRAMES = {
    "pandas": ("DataFrame", "Series"), "polars": ("DataFrame", "Series"),
    # Untried: by what it has of pandas' methods.
    "cudf": ("DataFrame", "Series"),
    "pyarrow": ("Table", "RecordBatch"), "duckdb": ("DuckDBPyRelation",),
}
_COLUMNS = {
    "pandas": ("Series", "Index"), "polars": ("Series",), "cudf": ("Series",),
    "pyarrow": ("Array", "ChunkedArray"), "duckdb": ("DuckDBPyRelation",),
}

__all__ = ["sample", "shuffled", "split"]


def shuffled(frame: Frame, seed: Seed, epoch: SupportsIndex = 0) -> Frame:
    """The frame with its rows in random order: row `k` is row `p[k]` of `Permutation(n, seed,
    epoch)`."""
    held = _held(frame)
    result: Frame = _shuffled(held, _rows(held), seed, epoch)
    return result


@overload
def split(frame: Frame, shares: Mapping[str, Any], seed: Seed, epoch: SupportsIndex = 0, *,
          labels: Any = None, groups: Any = None, ids: Any = None) -> dict[str, Frame]: ...


@overload
def split(frame: Frame, shares: Sequence[Any] | NDArray[Any], seed: Seed,
          epoch: SupportsIndex = 0, *, labels: Any = None, groups: Any = None,
          ids: Any = None) -> list[Frame]: ...


def split(frame: Any, shares: Any, seed: Seed, epoch: SupportsIndex = 0, *, labels: Any = None,
          groups: Any = None, ids: Any = None) -> Any:
    """A frame for each share, as a list, or as a dictionary if the shares have names. Appending
    rows moves no row to another part, except where so few rows would leave a part empty (see
    `Splits`). `labels`, `groups` and `ids` are those of `Splits.parts`, or the names of columns.
    Raises `ValueError` rather than give a part with a share no rows."""
    frame = _held(frame)
    given = {"labels": labels, "groups": groups, "ids": ids}
    columns = {name: _column(frame, column, name)
               for name, column in given.items() if column is not None}
    parts: Any = Splits(shares, seed, epoch).indexes(_rows(frame), **columns)
    if isinstance(parts, dict):
        return {name: _take(frame, rows) for name, rows in parts.items()}
    return [_take(frame, rows) for rows in parts]


def sample(frame: Frame, k: SupportsIndex, seed: Seed, epoch: SupportsIndex = 0, *,
           weights: Any = None) -> Frame:
    """`k` different rows in random order, the first `k` of `shuffled`, in time for `k` rows. With
    `weights`, an array or the name of a column, each draw picks one of the remaining rows with a
    probability in proportion to its weight."""
    held = _held(frame)
    n, many = _rows(held), count(k, "k")
    if weights is not None:
        values = _column(held, weights, "weights")
        if len(values) != n:
            raise ValueError(f"{n} rows have {len(values)} weights: give one for each row")
        if _is_name(held, weights, "weights") and values.dtype == object:
            # Numbers of DuckDB.
            values = np.asarray(values.tolist())
        rows = weighted_sample(values, many, seed, epoch)
    elif many <= n:
        rows = Permutation(n, seed, epoch).head(many).to_numpy()
    else:
        raise ValueError(f"{many} rows cannot be drawn without replacement from {n}: draw fewer")
    result: Frame = _take(held, rows)
    return result


def _shuffled(frame: Any, n: int, seed: Seed, epoch: SupportsIndex) -> Any:
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


def _kind(frame: Any) -> str:
    """The library that a frame is of."""
    kind = _library(frame, _FRAMES)
    if kind is not None:
        return kind
    name = type(frame).__module__.partition(".")[0].lstrip("_")
    hint = ": collect it first" if type(frame).__name__ == "LazyFrame" else ""
    raise TypeError(
        f"a frame is of pandas, Polars, pyarrow or DuckDB, not {name}.{type(frame).__name__}{hint}"
    )


def _library(value: Any, classes: dict[str, tuple[str, ...]]) -> str | None:
    """The library whose classes include a value's class or one of its bases."""
    for kind, names in classes.items():
        library = sys.modules.get(kind)
        known = tuple(getattr(library, name) for name in names if hasattr(library, name))
        if known and isinstance(value, known):
            return kind
    return None


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


def _column(frame: Any, column: Any, what: str) -> Any:
    """A column by its name, or the values that were given, each for the row that it belongs to."""
    if not _is_name(frame, column, what):
        values = _aligned(frame, column, what)
    elif getattr(values := frame[column], "ndim", 1) == 2:
        # The one column that a level of names has.
        values = values.iloc[:, 0]
    library = _library(values, _COLUMNS)
    if library is None:
        return values
    if library == "cudf":
        library, values = "pyarrow", values.to_arrow()
    # Objects where values are missing: as an array of NumPy's numbers, integers would be rounded.
    if library == "pandas":
        is_numpy = isinstance(values.dtype, np.dtype) or not values.isna().any()
        try:
            return values.to_numpy() if is_numpy else values.to_numpy(dtype=object)
        except NotImplementedError:
            # A type of Arrow with which pandas can do little.
            library, values = "pyarrow", values.array.__arrow_array__()
    if library == "duckdb":
        listed = [value for (value,) in values.fetchall()]
    elif library == "polars":
        if not values.null_count():
            return values.to_numpy()
        listed = values.to_list()
    else:
        if not values.null_count:
            try:
                return values.to_numpy(zero_copy_only=False)
            except NotImplementedError:
                # NumPy has no such items.
                pass
        listed = values.to_pylist()
    return np.fromiter(listed, object, len(listed))


def _is_name(frame: Any, column: Any, what: str) -> bool:
    """Whether this is the name of a column, and not a value for each row."""
    if hasattr(column, "__len__") and not isinstance(column, (str, bytes, tuple)):
        return False
    if hasattr(column, "__iter__") and not hasattr(column, "__len__"):
        raise TypeError(f"{what} is a {type(column).__name__}, which has no length: give a list")
    # A Series has no columns, and the columns of Arrow have no names themselves.
    names = frame.schema.names if _kind(frame) == "pyarrow" else getattr(frame, "columns", ())
    try:
        count = int(column in names)
    except TypeError:
        # A tuple of what has no hash.
        count = 0
    if count and hasattr(names, "get_loc"):
        # Pandas gives all columns of that name, or of that name's level.
        count = np.arange(len(names))[names.get_loc(column)].size
    if count == 1:
        return True
    if count == 0 and isinstance(column, tuple) and getattr(names, "nlevels", 1) == 1:
        return False
    hint = ", or a list of values" if isinstance(column, tuple) else ""
    raise KeyError(
        f"{what}={column!r} is the name of {count or 'no'} columns: give the name of one{hint}"
    )


def _aligned(frame: Any, values: Any, what: str) -> Any:
    """Values for each row. Those with an index, which are of pandas then or become so, are found by
    the index of the frame."""
    xarray, pandas = sys.modules.get("xarray"), sys.modules.get("pandas")
    if xarray is not None and isinstance(values, xarray.DataArray):
        has_index = values.ndim == 1 and values.dims[0] in values.indexes
        values = values.to_series() if has_index else values.to_numpy()
    if _library(values, _COLUMNS) == "cudf":
        values = values.to_pandas()
    if pandas is None or not isinstance(values, (pandas.Series, pandas.DataFrame)):
        return values
    if isinstance(values, pandas.DataFrame) and values.shape[1] == 1:
        values = values.iloc[:, 0]
    kind = _kind(frame)
    if kind not in ("pandas", "cudf"):
        if not values.index.equals(pandas.RangeIndex(len(values))):
            raise ValueError(
                f"{what} are a {type(values).__name__} with an index of its own, and a frame of {kind} "
                f"has none to align it with: give the values in the order of the rows, as in "
                f"{what}=values.to_numpy()"
            )
        return values
    index = frame.index if kind == "pandas" else frame.index.to_pandas()
    if values.index.equals(index):
        return values
    if not values.index.is_unique:
        raise ValueError(
            f"{what} are a {type(values).__name__} whose index differs from the frame's and has some "
            "labels twice, so it cannot be aligned: give the values in the order of the rows, as in "
            f"{what}=values.to_numpy()"
        )
    places = values.index.get_indexer(index)
    if (places < 0).any():
        raise ValueError(
            f"{what} are a {type(values).__name__} whose index lacks {(places < 0).sum()} of the "
            f"frame's rows, such as {index[places < 0][0]!r}: give a value for each, or the values in "
            f"the order of the rows, as in {what}=values.to_numpy()"
        )
    return values.iloc[places]


def _take(frame: Any, rows: np.ndarray[Any, Any]) -> Any:
    """Some rows of a frame, each at most once, in an order."""
    kind = _kind(frame)
    if kind == "duckdb":
        return _take_held(frame, rows)
    if kind not in ("pandas", "cudf") and len(frame.shape) == 2 and frame.shape[1] == 0:
        # Rows without columns are all the same, and these libraries would lose them.
        return frame.slice(0, len(rows))
    if kind == "pyarrow":
        from ._arrow import take

        return take(frame, rows)
    if kind == "pandas":
        return _take_of_pandas(frame, rows)
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
        return _take_of_pandas(frame, rows)
    index = frame.index.take(rows)
    moved = dict(zip(plain, _copies(list(plain.values()), order)))
    others = [place for place in range(frame.shape[1]) if place not in plain]
    if others:
        taken = _take_of_pandas(frame.iloc[:, others], rows)
        taken.index = index
        moved |= {place: taken.iloc[:, k] for k, place in enumerate(others)}
    # The arrays are new, so nothing has to copy them.
    whole = pandas.DataFrame({place: moved[place] for place in sorted(moved)}, index=index, copy=False)
    whole.columns = frame.columns
    return whole.__finalize__(frame, method="take")


def _take_of_pandas(frame: Any, rows: NDArray[Any]) -> Any:
    """Some rows in an order, also of columns of Arrow from which pandas takes none."""
    pandas, arrow = sys.modules["pandas"], sys.modules.get("pyarrow")
    try:
        return frame.take(rows)
    except Exception as error:
        if arrow is None or not isinstance(error, (NotImplementedError, arrow.ArrowInvalid)):
            raise
    from ._arrow import take

    if isinstance(frame, pandas.Series):
        taken = _take_of_pandas(frame.to_frame(), rows).iloc[:, 0].rename(frame.name)
        return taken.__finalize__(frame, method="take")
    index, columns = frame.index.take(rows), {}
    for place, dtype in enumerate(frame.dtypes):
        column = frame.iloc[:, place]
        if isinstance(dtype, pandas.ArrowDtype):
            table = take(arrow.table({"": column.array.__arrow_array__()}), rows)
            columns[place] = pandas.Series(pandas.arrays.ArrowExtensionArray(table.column(0)), index=index)
        else:
            columns[place] = column.take(rows).set_axis(index)
    whole = pandas.DataFrame(columns, index=index, copy=False)
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
    held, places, place = (unused(name, frame.columns) for name in (
        "held_56b1f0ce0d9c4d4f", "moved_56b1f0ce0d9c4d4f", "place_56b1f0ce0d9c4d4f"))
    try:
        return frame.query(
            held,
            f'SELECT "{held}".* FROM "{held}" '
            f'POSITIONAL JOIN "places_56b1f0ce0d9c4d4f" AS "{places}"("{place}") '
            f'WHERE "{places}"."{place}" >= 0 ORDER BY "{places}"."{place}"',
        ).materialize()
    except sys.modules["duckdb"].CatalogException as error:
        raise RuntimeError(
            "this connection of DuckDB reads no arrays of Python: set python_enable_replacements and "
            "enable_external_access, or give the relation as a table of Arrow"
        ) from error
