"""Orders for the data sets of Hugging Face."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import datasets

from ._native import BlockShuffle, Permutation

__all__ = ["shuffled", "shuffled_blocks"]


def shuffled(data: datasets.Dataset, seed: int | bytes, epoch: int = 0) -> datasets.Dataset:
    """The data set in the order of `Permutation(len(data), seed, epoch)`, as its own `shuffle` has
    it in an order of NumPy's.

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

    The windows are the shards of the result. So `split_dataset_by_node` and the workers of a
    `DataLoader` take whole windows, and each run is read by one of them.
    """
    order = BlockShuffle(len(data), block, window, seed, epoch)
    settings = {"data": data, "order": order, "windows": list(range(order.window_count))}
    return datasets.IterableDataset.from_generator(
        _examples, gen_kwargs=settings, features=data.features
    )


def _examples(
    data: datasets.Dataset, order: BlockShuffle, windows: list[int]
) -> Iterator[dict[str, Any]]:
    for window in windows:
        runs = {}
        for number in order.blocks_of(window).tolist():
            start, end = order.items_of(number)
            runs[number] = data[start:end]
        for item in order.window_items(window):
            number, place = divmod(item, order.block)
            yield {name: column[place] for name, column in runs[number].items()}
