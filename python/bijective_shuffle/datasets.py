"""Orders for the data sets of Hugging Face."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import datasets
import numpy as np
import pyarrow as pa
from datasets.iterable_dataset import ArrowExamplesIterable
from numpy.typing import NDArray

from ._arrow import take
from ._loaders import stated_order
from ._native import BlockShuffle, ForeignStateError, Permutation

__all__ = ["shuffled", "shuffled_blocks"]

# The number of examples that are copied at a time.
_ROWS = 1024


def shuffled(data: datasets.Dataset, seed: int | bytes, epoch: int = 0) -> datasets.Dataset:
    """The data set in the order of `Permutation(len(data), seed, epoch)`, as its own `shuffle`
    returns it in NumPy's order.

    The data set keeps a list of indexes and from then on reads one example at a time, which takes
    several times as long as reading runs of them. For training, see `shuffled_blocks`.
    """
    return data.select(Permutation(len(data), seed, epoch).to_numpy())


def shuffled_blocks(
    data: datasets.Dataset,
    seed: int | bytes,
    epoch: int = 0,
    *,
    block: int = 1024,
    window: int = 16,
) -> datasets.IterableDataset:
    """The examples in the order of `BlockShuffle(len(data), block, window, seed, epoch)`: runs of
    `block` examples are read in random order, each once and whole, and those of `window` runs at a
    time are shuffled in memory.

    The result is what `data.to_iterable_dataset()` returns, in another order: its examples are
    decoded when they are read, and a format is kept. `set_epoch(k)` of the result, or of what `map`
    and the like make of it, chooses the order of `epoch + k`. Parts that `shard`, `take` and `skip`
    have cut out keep their examples, in the same order in all epochs.

    The windows are the shards of the result. So each run is read by one worker of a `DataLoader`,
    and by one node after `split_dataset_by_node(.., strategy="shards")`, where a node may have a
    window more than another. By the default strategy this is so only if the number of nodes
    divides `num_shards` of the result: otherwise every node reads all runs and keeps its share of
    the examples.

    A state is refused with `ForeignStateError` when an iteration begins, if the number of examples or
    an argument is another one. Load it after `set_epoch(k)` with the `k` that it was saved in:
    Hugging Face's data sets ignore the state of another epoch, and begin anew without an error.

    Raises `NotImplementedError` for a data set with a transform, or with a format that has columns
    or options of its own.
    """
    form = data.format
    if form["format_kwargs"] or set(form["columns"]) != set(data.column_names):
        raise NotImplementedError(
            "a data set with a transform, or with a format that has columns or options, has no "
            "stream: give shuffled_blocks(..) data.with_format(None), and use map(..) or "
            "with_format(..) on the result"
        )
    order = BlockShuffle(len(data), block, window, seed, epoch)
    windows = list(range(order.window_count))
    stream = datasets.IterableDataset(
        _Windows(_tables, {"data": data.with_format("arrow"), "order": order, "windows": windows}),
        info=datasets.DatasetInfo(features=data.features),
        split=data.split,
    )
    return stream.with_format(form["type"]) if form["type"] else stream


class _Part(ArrowExamplesIterable):
    """Some windows of an order, in the order of one epoch."""

    def _init_state_dict(self) -> dict[str, Any]:
        state: dict[str, Any] = super()._init_state_dict()
        state["order"] = self._stated()
        return state

    def _stated(self) -> str:
        """The order and its epoch in a state."""
        order: BlockShuffle = self.kwargs["order"]
        return f"{stated_order(order)}, epoch {order.epoch}"

    def _check(self) -> None:
        """Refuses a state of another order, which was loaded since."""
        saved, own = (self._state_dict or {}).get("order"), self._stated()
        if self._state_dict and saved != own:
            raise ForeignStateError(f"the state is of other data: of {saved}, not {own}")

    def __iter__(self) -> Iterator[tuple[str, dict[str, Any]]]:
        self._check()
        examples: Iterator[tuple[str, dict[str, Any]]] = super().__iter__()
        return examples

    def _iter_arrow(self) -> Iterator[tuple[str, pa.Table]]:
        self._check()
        tables: Iterator[tuple[str, pa.Table]] = super()._iter_arrow()
        return tables

    def shuffle_data_sources(self, generator: np.random.Generator) -> _Part:
        """These windows, in the same order: a part has one order in all epochs."""
        # Another object, since each iteration has a state in it.
        return _Part(self.generate_tables_fn, self.kwargs)

    def reshard_data_sources(self) -> _Part:
        """These windows, which cannot be divided."""
        return self

    def shard_data_sources(self, num_shards: int, index: int, contiguous: bool = True) -> _Part:
        shard = super().shard_data_sources(num_shards, index, contiguous=contiguous)
        return _Part(shard.generate_tables_fn, shard.kwargs)


class _Windows(_Part):
    """The windows of an order, which are the shards of a stream."""

    def shuffle_data_sources(self, generator: np.random.Generator) -> _Windows:
        """The windows of another order, instead of these among each other."""
        # Of an epoch, a stream gives its sources this generator only, which it seeds with it.
        seed = getattr(generator.bit_generator.seed_seq, "entropy", None)
        if not isinstance(seed, int):
            raise TypeError("a stream of shuffled blocks is shuffled by a seed, not by a generator")
        of: BlockShuffle = self.kwargs["order"]
        order = BlockShuffle(of.n, of.block, of.window, of.seed, (of.epoch + seed) % 2**64)
        return _Windows(self.generate_tables_fn, self.kwargs | {"order": order})


def _tables(
    data: datasets.Dataset, order: BlockShuffle, windows: list[int]
) -> Iterator[tuple[str, pa.Table]]:
    """The examples of windows in their order, by tables with names."""
    for window in windows:
        numbers = order.blocks_of(window)
        bounds = [order.items_of(number) for number in numbers.tolist()]
        # Arrow would copy chunks together for each part that is taken of them.
        runs = pa.concat_tables([data[start:end] for start, end in bounds]).combine_chunks()
        # How far the items of each block have moved, by the blocks' numbers.
        starts, ends = np.array(bounds).T
        moved = np.cumsum(ends - starts) - ends
        sort = np.argsort(numbers)
        items = order.window_items(window).to_numpy()
        found = np.searchsorted(numbers[sort], items // order.block)
        places = items + moved[sort][found]
        for first in range(0, len(places), _ROWS):
            yield f"{window}_{first}", take(runs, places[first : first + _ROWS])
