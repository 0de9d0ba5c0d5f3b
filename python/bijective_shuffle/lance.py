"""Global shuffles of Lance's data sets, and blocks of their rows for PyTorch, which only these
need."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import lance
import pyarrow as pa

from ._native import Permutation

if TYPE_CHECKING:
    from ._blocks import BlockDataset

__all__ = ["lance_blocks", "lance_shuffle"]


def lance_shuffle(
    ds: lance.LanceDataset,
    seed: int | bytes,
    epoch: int = 0,
    *,
    columns: list[str] | None = None,
    batch_size: int = 8192,
    rank: int = 0,
    ranks: int = 1,
) -> pa.RecordBatchReader:
    """A reader of the data set's rows in the order of `Permutation.walk(n, seed, epoch)`, where `n`
    is the number of rows: row `k` of the result is row `p[k]`. `lance.write_dataset` writes it.

    Rows are taken by their numbers when they are read, `batch_size` of them at a time, so that no more
    are in memory, and of several workers each reads a run of the order: those of all ranks, one after
    the other, are the whole. The data set is that of the version that `ds` has.
    """
    rows = Permutation.walk(ds.count_rows(), seed, epoch).shard(rank, ranks)

    def batches() -> Iterator[pa.RecordBatch]:
        for chunk in rows.chunks(batch_size):
            yield from ds.take(chunk, columns).combine_chunks().to_batches()

    return pa.RecordBatchReader.from_batches(ds.take([], columns).schema, batches())


def lance_blocks(
    ds: lance.LanceDataset,
    seed: int | bytes,
    *,
    block: int = 1024,
    window: int = 16,
    columns: list[str] | None = None,
    rank: int | None = None,
    ranks: int | None = None,
    drop_last: bool = False,
    tail: str = "pad",
) -> BlockDataset:
    """The data set's rows, as dictionaries, for `torch.utils.data.DataLoader`: runs of `block` rows
    are each read once and whole, and the rows of `window` runs are shuffled among each other. Workers,
    ranks, epochs and states are those of `BlockDataset`.

    Lance does not survive a fork, so workers of a loader are started by
    `multiprocessing_context="spawn"`. They read the version that `ds` has.
    """
    from ._blocks import BlockDataset

    rows = _Rows(ds, block, columns)
    return BlockDataset(rows, ds.count_rows(), block=block, window=window, seed=seed, rank=rank,
                        ranks=ranks, drop_last=drop_last, tail=tail)


class _Rows:
    """The rows of a block."""

    def __init__(self, ds: lance.LanceDataset, block: int, columns: list[str] | None) -> None:
        self._ds, self._block, self._columns = ds, block, columns
        self._n, self._process = ds.count_rows(), os.getpid()

    def __call__(self, number: int) -> list[dict[str, Any]]:
        if os.getpid() != self._process:
            raise RuntimeError(
                "Lance cannot read in a worker that was forked, where it would wait for ever: give the "
                'loader multiprocessing_context="spawn"'
            )
        start = number * self._block
        rows = range(start, min(start + self._block, self._n))
        found: list[dict[str, Any]] = self._ds.take(list(rows), self._columns).to_pylist()
        return found

    def __reduce__(self) -> Any:
        return _Rows, (self._ds, self._block, self._columns)
