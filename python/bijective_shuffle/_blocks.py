"""Data in blocks as an `IterableDataset` of PyTorch."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ._epochs import EpochIterator, Epochs, count_of
from ._loaders import stated_order
from ._loops import described
from ._native import BlockShuffle, ForeignStateError

# How many items each rank has, of the ranks' own numbers of them.
_TAILS: dict[str, Callable[[list[int]], int] | None] = {"pad": max, "drop": min, "short": None}


class BlockDataset(Epochs):
    """Items of data in blocks, for disks and object stores: each block is read once and whole, and
    the items of a window of blocks are shuffled among each other.

    `read(block)` returns the items of a block in their original order: items `block * k` up to
    `block * (k + 1)` of the `n`. The windows are dealt out in turn to all workers of all ranks. So
    each reads blocks of its own, and holds one window in memory.

    Ranks have equally many items, and so batches, which a loop needs where ranks wait for each other:
    a worker has as many items as the same worker of any other rank. With `tail='pad'` (the default)
    those with fewer read further windows, from the start of the order. So each worker of each rank
    may read one window that is not its own, and where there are fewer windows than workers of all
    ranks together, most of what is read is repeated. With `drop_last` those with more leave the rest
    out. With `tail='short'` each item comes once, and ranks may differ by up to a window for each
    worker. Call `set_epoch` before each epoch of a loop; a second pass without it is refused.

    An iterator has a state, which `StatefulDataLoader` saves for each worker. It fits the same
    number of ranks and workers. Where that may change, use `ShuffleSampler(.., blocks=(block,
    window))`, whose ranks read the same window at the same time.

    A loader that Accelerate has prepared deals out the items itself, so there each item is read by
    all ranks, or by the first one for all. To read each block once, do not prepare the loader, and
    give `rank` and `ranks`.
    """

    def __init__(
        self,
        read: Callable[[int], Sequence[Any]],
        n: int,
        *,
        block: int,
        window: int,
        seed: int | bytes,
        rank: int | None = None,
        ranks: int | None = None,
        drop_last: bool = False,
        tail: str = "pad",
    ) -> None:
        super().__init__()
        # Checks the arguments.
        BlockShuffle(n, block, window, seed)
        self._read, self._n, self._block, self._window = read, n, block, window
        self._seed = seed
        self._begin(rank, ranks, tail, drop_last)

    def __iter__(self) -> _BlockIterator:
        return _BlockIterator(self)

    def __repr__(self) -> str:
        of_rank = "" if self._ranks is None else f", rank={self._rank}, ranks={self._ranks}"
        return (
            f"BlockDataset({self._n} items, block={self._block}, window={self._window}, "
            f"seed={self._seed!r}{of_rank}, {described(self._tail)})"
        )


class _BlockIterator(EpochIterator):
    """One worker's items of one epoch."""

    def __init__(self, data: BlockDataset) -> None:
        super().__init__(data)
        self._data = data
        self._number = self._rank * self._workers + self._worker
        self._count = self._ranks * self._workers
        self._begin(data._place()[0], 0, 0)

    def _begin(self, epoch: int, windows: int, taken: int) -> None:
        data = self._data
        self._epoch = epoch
        self._shuffle = BlockShuffle(data._n, data._block, data._window, data._seed, epoch)
        # The windows that are done, and the items that were taken of the next one.
        self._windows, self._taken = windows, taken
        self._full, self._partial = self._sizes()
        self._left = self._target() - taken - sum(self._size(k) for k in range(windows))
        self._items: Iterator[int] | None = None
        self._blocks: dict[int, Sequence[Any]] = {}

    def _sizes(self) -> tuple[int, dict[int, int]]:
        """The number of items of a full window, and those of the windows that may have fewer: the
        last one, and that with the last block."""
        shuffle, full = self._shuffle, self._shuffle.block * self._shuffle.window
        # Windows before that with the last block are full.
        fewer = {shuffle.window_count - 1, shuffle.order.position(shuffle.n - 1) // full}
        return full, {window: len(shuffle.window_items(window)) for window in fewer}

    def _place(self, k: int) -> int:
        """This worker's `k`-th window. Behind the last one the order begins again."""
        return (k * self._count + self._number) % self._shuffle.window_count

    def _size(self, k: int) -> int:
        return self._partial.get(self._place(k), self._full)

    def _target(self) -> int:
        """The number of items that this worker gives in an epoch."""
        settle = _TAILS[self._data._tail]
        if settle is None:
            return self._own(self._number)
        numbers = range(self._worker, self._count, self._workers)
        return settle([self._own(number) for number in numbers])

    def _own(self, number: int) -> int:
        """The number of items in the windows that are dealt out to a worker."""
        windows = len(range(number, self._shuffle.window_count, self._count))
        fewer = (self._full - size for window, size in self._partial.items()
                 if window % self._count == number)
        return windows * self._full - sum(fewer)

    def __iter__(self) -> _BlockIterator:
        return self

    def __next__(self) -> Any:
        self._check(self._data)
        while self._left > 0:
            if self._items is None:
                self._open()
            assert self._items is not None
            item = next(self._items, None)
            if item is not None:
                block, place = divmod(item, self._data._block)
                try:
                    found = self._blocks[block][place]
                except BaseException:
                    # It is not taken: whoever goes on begins with it.
                    self._items = None
                    raise
                self._taken += 1
                self._left -= 1
                return found
            self._items = None
            self._windows, self._taken = self._windows + 1, 0
        # Blocks are not kept longer than needed.
        self._blocks = {}
        self._end()
        raise StopIteration

    def _open(self) -> None:
        """Reads the blocks of the next window."""
        window = self._place(self._windows)
        self._blocks = {}
        for block in self._shuffle.blocks_of(window).tolist():
            items = self._data._read(block)
            start, end = self._shuffle.items_of(block)
            if len(items) != end - start:
                raise ValueError(f"block {block} has {len(items)} items, not {end - start}")
            self._blocks[block] = items
        self._items = iter(self._shuffle.window_items(window)[self._taken :])

    def state_dict(self) -> dict[str, Any]:
        return {
            "order": stated_order(self._shuffle),
            "workers": self._count,
            "worker": self._number,
            "epoch": self._epoch,
            "windows": self._windows,
            "items": self._taken,
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        own = self.state_dict()
        expected = {name: own[name] for name in ("order", "workers", "worker")}
        state = self._resumed(state_dict, **expected)
        epoch, windows, items = (count_of(state, name) for name in ("epoch", "windows", "items"))
        if windows > self._shuffle.window_count or items > self._full:
            raise ForeignStateError(f"the state is at item {items} of window {windows}, past the end")
        self._begin(epoch, windows, items)

