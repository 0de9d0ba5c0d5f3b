"""Samplers and a data set for the data loaders of PyTorch.

| class | for |
| --- | --- |
| `ShuffleSampler` | the `sampler` of a `DataLoader`, in place of `RandomSampler` and `DistributedSampler` |
| `ShuffleBatchSampler` | the `batch_sampler`, which evaluates a batch at a time |
| `BlockDataset` | data in blocks, on disks and in object stores, as an `IterableDataset` |

The samplers make no list of indexes: the first batch of any rank comes at once, in constant memory,
however many items there are. Their state is the number of items that all ranks together have taken.
So training goes on with another number of ranks, batch size or number of workers, and takes the
remaining items of the epoch, each once.

A loader with workers draws batches ahead of the training step. `torchdata`'s `StatefulDataLoader`
keeps with each batch the sampler's state after it. With a plain `DataLoader`, save the state
between epochs, or count: `ShuffleBatchSampler.state_after(steps)`.
"""

from __future__ import annotations

import numbers
import operator
from collections.abc import Callable, Iterator, Sequence, Sized
from typing import Any

import torch
from torch.utils.data import IterableDataset, get_worker_info
from torch.utils.data import Sampler as TorchSampler

from ._native import BlockShuffle, ForeignStateError, Sampler

__all__ = ["BlockDataset", "ShuffleBatchSampler", "ShuffleSampler"]

_STATE = "sampler"


def _ranks(rank: int | None, world: int | None) -> tuple[int, int]:
    """The rank and the number of ranks, from `torch.distributed` where they were not given."""
    if (rank is None) != (world is None):
        raise ValueError("give both rank and world, or neither")
    if rank is not None and world is not None:
        return rank, world
    if torch.distributed.is_available() and torch.distributed.is_initialized():
        return torch.distributed.get_rank(), torch.distributed.get_world_size()
    return 0, 1


def _length(data: Sized | int) -> int:
    """The number of items of a data set, or the number that was given."""
    if isinstance(data, numbers.Integral):
        return int(data)
    assert isinstance(data, Sized)
    return len(data)


class _Epochs:
    """What both samplers do about epochs and states, around a `Sampler`."""

    def __init__(self, sampler: Sampler) -> None:
        self._sampler = sampler
        # Whether the next iteration goes on where the sampler is, after a state was loaded.
        self._resumed = False
        # Whether the user has chosen the epoch of the next iteration.
        self._chosen = True

    @property
    def epoch(self) -> int:
        """The epoch, counted from 0."""
        return self._sampler.epoch

    def set_epoch(self, epoch: int) -> None:
        """Chooses the epoch of the next iteration. Without it, each iteration that follows a whole
        one takes the next epoch.

        If a state in the middle of this epoch has just been loaded, the iteration goes on there.
        """
        if not (self._resumed and epoch == self._sampler.epoch):
            self._sampler.set_epoch(epoch)
            self._resumed = False
        self._forget()
        self._chosen = True

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Goes to the position of a state. It comes from a sampler with the same length, seed and
        order; rank, world and batch size may differ. Raises `ForeignStateError` otherwise."""
        text = state_dict.get(_STATE)
        if not isinstance(text, str):
            raise ForeignStateError("the dictionary is not a saved state of a sampler")
        self._sampler.resume(text)
        self._forget()
        self._resumed, self._chosen = True, False

    def _begin(self) -> None:
        """Goes to where an iteration begins. A loader with workers asks for an iterator twice
        before it draws from one, so nothing may be forgotten here."""
        if self._is_finished() and not self._chosen:
            self._sampler.next_epoch()
            self._resumed = False
        elif not self._resumed:
            # After one that was broken off too.
            self._sampler.set_epoch(self._sampler.epoch)
        self._forget()

    def _draw(self) -> None:
        """Notes that an iteration has begun."""
        self._resumed = self._chosen = False

    def _is_finished(self) -> bool:
        return self._sampler.steps_left == 0

    def _forget(self) -> None:
        """Forgets an iteration that was begun."""


# The number of indexes that are evaluated at a time, which takes microseconds.
_CHUNK = 1024


class ShuffleSampler(_Epochs, TorchSampler):
    """The `sampler` of a `DataLoader`: this rank's items of each epoch, one after the other.

    `data` is the data set, or the number of its items. The ranks take the epoch's order in turn, as
    with `DistributedSampler`: rank `r` gets the places `r`, `r + world`, and so on. By default the
    order is repeated from its start until all ranks have the same number of items; with `drop_last`
    those left over are not taken. `shuffle=False` keeps the original order, and `blocks` is a block
    and a window, as of `BlockShuffle`.

    `state_dict` counts the items that were drawn from this sampler.
    """

    def __init__(
        self,
        data: Sized | int,
        *,
        seed: int | bytes,
        rank: int | None = None,
        world: int | None = None,
        drop_last: bool = False,
        shuffle: bool = True,
        blocks: tuple[int, int] | None = None,
    ) -> None:
        self._n = _length(data)
        self._rank, self._world = _ranks(rank, world)
        self._drop_last = drop_last
        self._settings: dict[str, Any] = {
            "rank": self._rank,
            "world": self._world,
            "blocks": blocks,
            "sequential": not shuffle,
        }
        self._seed = seed
        super().__init__(self._make(_CHUNK, "short" if drop_last else "pad"))
        # The items of the current chunk that are left, how many it has, and the state before it.
        self._left: Iterator[int] = iter(())
        self._size, self._is_cut, self._before = 0, False, ""

    def _make(self, batch: int, tail: str) -> Sampler:
        return Sampler(self._n, self._seed, batch=batch, tail=tail, **self._settings)

    def _share(self, items: int) -> int:
        """This rank's share of the last items of an epoch."""
        return items // self._world if self._drop_last else -(-items // self._world)

    def __len__(self) -> int:
        return self._share(self._n)

    def __iter__(self) -> Iterator[int]:
        self._begin()
        return self._items(self._share(self._n - self._sampler.consumed))

    def _items(self, count: int) -> Iterator[int]:
        self._draw()
        while count > 0:
            before = self._sampler.state()
            batch = self._sampler.next_batch()
            if batch is None:
                return
            chunk = batch[:count].tolist()
            count -= len(chunk)
            self._is_cut = len(chunk) < len(batch)
            # A list's iterator knows how many are left in it. So nothing has to count them here.
            self._before, self._size, self._left = before, len(chunk), iter(chunk)
            yield from self._left

    def _is_finished(self) -> bool:
        drawn = self._size - operator.length_hint(self._left)
        if drawn < self._size:
            return False
        return self._share(self._n - self._sampler.consumed) == 0

    def _forget(self) -> None:
        self._left, self._size, self._is_cut, self._before = iter(()), 0, False, ""

    def state_dict(self) -> dict[str, Any]:
        """The position, for `load_state_dict` in this or another process."""
        drawn = self._size - operator.length_hint(self._left)
        if drawn == self._size and not self._is_cut:
            return {_STATE: self._sampler.state()}
        if drawn == 0:
            return {_STATE: self._before}
        # Some items of the chunk were drawn: the state is that after a step which draws just them.
        # Items that are left over do not count.
        part = self._make(drawn, "short")
        part.resume(self._before)
        part.next_batch()
        return {_STATE: part.state()}


class ShuffleBatchSampler(_Epochs, TorchSampler):
    """The `batch_sampler` of a `DataLoader`: this rank's items of each step, as a list.

    A step takes the next `world * batch_size` places of the epoch's order and deals them out in
    turn. `tail` says what happens at the end of an epoch: 'pad' (the default) repeats items until
    every rank has as many as the others, 'short' repeats none, 'fill' repeats items up to whole
    batches, and 'drop' skips a step that is not whole. The other arguments are those of
    `ShuffleSampler`.
    """

    def __init__(
        self,
        data: Sized | int,
        batch_size: int,
        *,
        seed: int | bytes,
        rank: int | None = None,
        world: int | None = None,
        tail: str = "pad",
        shuffle: bool = True,
        blocks: tuple[int, int] | None = None,
    ) -> None:
        rank, world = _ranks(rank, world)
        self.batch_size = batch_size
        self.drop_last = tail == "drop"
        super().__init__(
            Sampler(
                _length(data),
                seed,
                rank=rank,
                world=world,
                batch=batch_size,
                tail=tail,
                blocks=blocks,
                sequential=not shuffle,
            )
        )
        self._steps = self._sampler.steps
        # The state at the beginning of the current epoch.
        self._start: str | None = None

    def __len__(self) -> int:
        return self._steps

    def __iter__(self) -> Iterator[list[int]]:
        self._begin()
        self._start = self._sampler.state()
        return self._batches()

    def _batches(self) -> Iterator[list[int]]:
        self._draw()
        while (batch := self._sampler.next_batch()) is not None:
            yield batch.tolist()

    def state_dict(self) -> dict[str, Any]:
        """The position, for `load_state_dict` in this or another process."""
        return {_STATE: self._sampler.state()}

    def state_after(self, steps: int) -> dict[str, Any]:
        """The position after `steps` batches of the current iteration, for a loop that counts those
        that it has trained with. All ranks get the same. It takes as long as drawing the batches."""
        if self._start is None:
            raise ValueError("no iteration has begun")
        if steps < 0:
            raise ValueError(f"there is no position after {steps} steps")
        state = self._sampler.state()
        self._sampler.resume(self._start)
        try:
            for _ in range(steps):
                if self._sampler.next_batch() is None:
                    raise ValueError(f"the iteration has fewer than {steps} steps")
            return {_STATE: self._sampler.state()}
        finally:
            self._sampler.resume(state)


class BlockDataset(IterableDataset):
    """Items of data in blocks, for disks and object stores: each block is read once and whole, and
    the items of a window of blocks are shuffled among each other.

    `read(block)` returns the items of a block in their original order: items `block * k` up to
    `block * (k + 1)` of the `n`. The windows are dealt out in turn to all workers of all ranks. So
    each reads blocks of its own, and holds one window in memory. The shares of two workers differ
    by up to a window.

    An iterator has a state, which `StatefulDataLoader` saves for each worker. It fits the same
    number of ranks and workers. Where that may change, use `ShuffleSampler(.., blocks=(block,
    window))`, whose ranks read the same window at the same time.
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
        world: int | None = None,
    ) -> None:
        super().__init__()
        # Checks the arguments.
        BlockShuffle(n, block, window, seed)
        self._read, self._n, self._block, self._window = read, n, block, window
        self._seed = seed
        self._rank, self._world = _ranks(rank, world)
        # In shared memory, so that workers which outlive an epoch see the next one.
        self._epoch = torch.zeros((), dtype=torch.int64).share_memory_()

    def set_epoch(self, epoch: int) -> None:
        """Chooses the epoch of the next iteration; there is no other way to another one."""
        self._epoch.fill_(epoch)

    def __iter__(self) -> _BlockIterator:
        return _BlockIterator(self)


class _BlockIterator:
    """One worker's items of one epoch."""

    def __init__(self, data: BlockDataset) -> None:
        self._data = data
        info = get_worker_info()
        worker, workers = (info.id, info.num_workers) if info is not None else (0, 1)
        self._number, self._count = data._rank * workers + worker, data._world * workers
        self._begin(int(data._epoch.item()))

    def _begin(self, epoch: int) -> None:
        data = self._data
        self._epoch = epoch
        self._shuffle = BlockShuffle(data._n, data._block, data._window, data._seed, epoch)
        # The windows that are done, and the items that were taken of the next one.
        self._windows, self._taken = 0, 0
        self._items: Iterator[int] | None = None
        self._blocks: dict[int, Sequence[Any]] = {}

    def __iter__(self) -> _BlockIterator:
        return self

    def __next__(self) -> Any:
        while True:
            if self._items is None:
                self._open()
            assert self._items is not None
            item = next(self._items, None)
            if item is not None:
                self._taken += 1
                block, place = divmod(item, self._data._block)
                return self._blocks[block][place]
            self._items = None
            self._windows, self._taken = self._windows + 1, 0

    def _open(self) -> None:
        """Reads the blocks of the next window, or ends the iteration."""
        window = self._windows * self._count + self._number
        if window >= self._shuffle.window_count:
            # Blocks are not kept longer than needed.
            self._blocks = {}
            raise StopIteration
        self._blocks = {}
        for block in self._shuffle.blocks_of(window).tolist():
            items = self._data._read(block)
            start, end = self._shuffle.items_of(block)
            if len(items) != end - start:
                raise ValueError(f"block {block} has {len(items)} items, not {end - start}")
            self._blocks[block] = items
        self._items = iter(self._shuffle.window_items(window)[self._taken :])

    def state_dict(self) -> dict[str, Any]:
        shape = repr((self._data._n, self._data._block, self._data._window, self._data._seed))
        return {
            "order": shape,
            "workers": self._count,
            "worker": self._number,
            "epoch": self._epoch,
            "windows": self._windows,
            "items": self._taken,
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        expected = self.state_dict()
        for name in ("order", "workers", "worker"):
            if state_dict.get(name) != expected[name]:
                raise ForeignStateError(
                    f"the state has {name} {state_dict.get(name)}, not {expected[name]}"
                )
        epoch, windows, items = (_count(state_dict, name) for name in ("epoch", "windows", "items"))
        self._begin(epoch)
        self._windows, self._taken = windows, items


def _count(state_dict: dict[str, Any], name: str) -> int:
    """A part of a state that is a number."""
    number = state_dict.get(name)
    if not isinstance(number, int) or number < 0:
        raise ForeignStateError(f"the state has {name} {number}, which is no count")
    return number
