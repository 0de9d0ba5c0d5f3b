"""Global shuffles of data sets by Ray Data."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import ray
import ray.data
from numpy.typing import NDArray
from ray.data.block import Block, BlockAccessor

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
    sources = _blocks(ds)
    shape, merge = ray.remote(_shape), ray.remote(_merge)
    shapes: Any = ray.get([shape.remote(block) for block in sources])
    # Blocks without rows may be without columns too.
    kept = [k for k, (rows, _) in enumerate(shapes) if rows > 0]
    starts = np.cumsum([0] + [shapes[k][0] for k in kept])
    n = int(starts[-1])
    parts = min(len(sources) if blocks is None else blocks, n)
    if n == 0:
        return ds
    if parts < 1:
        raise ValueError("a data set has at least one block")
    # Arrow joins blocks that differ, such as those without a column, and pandas would make floats
    # of their integers.
    schema = shapes[kept[0]][1]
    frames = schema is not None and all(shapes[k][1] == schema for k in kept)
    order = Permutation.walk(n, seed, epoch)
    bounds = bounds_of(n, parts)
    split: Any = ray.remote(num_returns=parts)(_split)
    pieces: list[Any] = [
        split.remote(sources[k], int(start), order, bounds, frames)
        for k, start in zip(kept, starts)
    ]
    if parts == 1:
        pieces = [[piece] for piece in pieces]
    merged = [merge.remote(*(piece[part] for piece in pieces)) for part in range(parts)]
    return ray.data.from_pandas_refs(merged) if frames else ray.data.from_arrow_refs(merged)


def _blocks(ds: ray.data.Dataset) -> list[Any]:
    """The blocks in their order: tables of Arrow or frames of pandas."""
    options = ds.context.execution_options
    preserve, options.preserve_order = options.preserve_order, True
    try:
        bundles = ds.materialize().iter_internal_ref_bundles()
        return [block for bundle in bundles for block in bundle.block_refs]
    finally:
        options.preserve_order = preserve


def _shape(block: Block) -> tuple[int, Any]:
    """The number of rows, and of a frame of pandas the names and types of its columns."""
    accessor = BlockAccessor.for_block(block)
    return accessor.num_rows(), None if isinstance(block, pa.Table) else accessor.schema()


def _split(
    block: Block, start: int, order: Permutation, bounds: NDArray[np.int64], frames: bool
) -> Any:
    """The rows that go to each part, each with its place there."""
    if not frames:
        block = BlockAccessor.for_block(block).to_arrow()
    count = BlockAccessor.for_block(block).num_rows()
    places = order.position(np.arange(start, start + count))
    to = part_of(places, bounds)
    # NumPy sorts narrow numbers by their digits, in a fraction of the time.
    sort = np.argsort(to.astype(np.min_scalar_type(len(bounds))), kind="stable")
    sorted_block = BlockAccessor.for_block(BlockAccessor.for_block(block).take(sort))
    places = within(places, to, bounds)[sort]
    cuts = np.searchsorted(to[sort], np.arange(len(bounds))).tolist()
    pieces = [(sorted_block.slice(a, b), places[a:b]) for a, b in zip(cuts, cuts[1:])]
    return pieces[0] if len(pieces) == 1 else pieces


def _merge(*pieces: tuple[Block, NDArray[Any]]) -> Block:
    """The rows of a part in their order."""
    blocks, places = zip(*pieces)
    to = np.concatenate(places)
    rows = np.empty(len(to), dtype=np.int64)
    rows[to] = np.arange(len(to))
    # Ray's way to join blocks, which finds a type for columns that differ in theirs.
    builder = BlockAccessor.for_block(blocks[0]).builder()
    for block in blocks:
        builder.add_block(block)
    return BlockAccessor.for_block(builder.build()).take(rows)
