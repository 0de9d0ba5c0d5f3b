"""Rows of tables of pyarrow, also of types and sizes from which Arrow itself takes none."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray


def take(frame: Any, rows: NDArray[Any]) -> Any:
    """Some rows of a table or a batch of pyarrow, in an order."""
    try:
        return frame.take(rows)
    except (pa.ArrowInvalid, NotImplementedError):
        # Some column is of a type that Arrow takes nothing from, or, in chunks, too large for it.
        pass
    if isinstance(frame, pa.RecordBatch):
        columns = [_taken(column, rows) for column in frame.columns]
        return pa.RecordBatch.from_arrays(columns, schema=frame.schema)
    columns = [_taken_of_column(column, rows) for column in frame.columns]
    return pa.Table.from_arrays(columns, schema=frame.schema)


def _taken_of_column(column: Any, rows: NDArray[Any]) -> Any:
    try:
        return column.take(pa.array(rows))
    except (pa.ArrowInvalid, NotImplementedError):
        return taken_of_chunks(column.chunks, column.type, rows)


def taken_of_chunks(chunks: list[Any], kind: Any, rows: NDArray[Any]) -> Any:
    """Some rows of a column in chunks, as chunks that are as large as they may be: offsets of 32 bits
    count the bytes of at most 2 GiB of texts."""
    ends = np.cumsum([len(chunk) for chunk in chunks])
    pieces, taken = [rows] if len(rows) else [], []
    while pieces:
        piece = pieces.pop()
        of = np.searchsorted(ends, piece, side="right")
        sort = np.argsort(of, kind="stable")
        parts = []
        for at in np.split(sort, np.flatnonzero(np.diff(of[sort])) + 1):
            chunk = of[at[0]]
            parts.append(_taken(chunks[chunk], piece[at] - (ends[chunk] - len(chunks[chunk]))))
        back = np.empty(len(piece), np.int64)
        back[sort] = np.arange(len(piece))
        try:
            taken.append(_taken(_joined(parts), back))
        except pa.ArrowInvalid:
            if len(piece) == 1:
                raise
            # The first half comes first.
            pieces += [piece[len(piece) // 2 :], piece[: len(piece) // 2]]
    return pa.chunked_array(taken, type=kind)


def _taken(array: Any, rows: NDArray[Any]) -> Any:
    """Some items of an array."""
    kind = array.type
    try:
        return array.take(pa.array(rows))
    except NotImplementedError:
        # No version of Arrow has it for each type.
        pass
    if pa.types.is_run_end_encoded(kind):
        ends = array.run_ends.to_numpy()
        runs = np.searchsorted(ends, rows + array.offset, side="right")
        # Neighbours of the same run are a run again.
        first = np.flatnonzero(np.diff(runs, prepend=-1))
        ends = np.append(first[1:], len(rows))[: len(first)].astype(ends.dtype)
        values = _taken(array.values, runs[first])
        return pa.RunEndEncodedArray.from_arrays(ends, values, kind)
    wide = {"string_view": pa.large_string(), "binary_view": pa.large_binary()}.get(str(kind))
    if wide is not None:
        return array.cast(wide).take(pa.array(rows)).cast(kind)
    # Types in which such a type is nested.
    return _joined([array[:0], *(array.slice(row, 1) for row in rows.tolist())])


def _joined(arrays: list[Any]) -> Any:
    return pa.concat_arrays(arrays)
