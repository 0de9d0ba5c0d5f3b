"""`Weighted`, `Mixture`, `Packed`, `Lengths`, streams and blocks of nodes for PyTorch's loaders."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from hashlib import sha256
from itertools import islice
from typing import Any

import numpy as np
import torch
from torch.utils.data import Sampler as TorchSampler

from ._epochs import EpochIterator, Epochs, count_of
from ._loaders import Batches, Source
from ._loops import BatchLoops, Iteration, Place, described
from ._native import Permutation, Sampler
from ._nodes import NodeBlocks
from ._ranks import ranks_of
from ._stream import StreamShuffle
from ._tokens import Lengths


class SourceBatchSampler(BatchLoops, TorchSampler[list[Any]]):
    """The `batch_sampler` of a `DataLoader` for a source of items: this rank's items of each step.

    The loader asks the data set for each item of a list: for `Weighted` an integer, for `Mixture` a
    pair `(set, item)`, and for `Packed` an array of pieces. For `Lengths` the list is one batch of
    items, so `batch_size` is 1 there. `drop_last` and `tail` are those of `ShuffleBatchSampler`: all
    ranks have as many steps, and no list is empty. Iterations, epochs and states are those of the
    module's other samplers.

    Accelerate splits no batches of different sizes evenly: with `even_batches=False` ranks may differ
    by a step. Where all must have as many, give rank and world, and do not prepare the loader.
    """

    def __init__(self, source: Source[Any, Any], batch_size: int = 1, *, rank: int | None = None,
                 world: int | None = None, drop_last: bool = False, tail: str = "pad") -> None:
        if not isinstance(source, Source):
            raise TypeError(
                f"a source is Weighted, Mixture, Packed or Lengths, not {type(source).__name__}: for "
                "a data set, or a number of items, take ShuffleBatchSampler"
            )
        if isinstance(source, Lengths) and batch_size != 1:
            raise ValueError("each place of `Lengths` is a batch: leave out batch_size")
        self._source = source
        self._begin_batches(batch_size, tail, drop_last)
        if isinstance(source, Lengths):
            # Accelerate takes batches of another size than this for the last one of an epoch.
            self.batch_size = None
        self._begin_loops(rank, world)

    @property
    def sampler(self) -> SourceBatchSampler:
        """Itself. Accelerate and Lightning call `set_epoch` of a batch sampler's `sampler`."""
        return self

    def _make(self, rank: int, world: int, start: Place) -> Batches[Any]:
        tail = self._tail_from(start, world)
        return Batches(self._source, start[0], self._batch, rank, world, tail)

    def _places(self, epoch: int) -> int:
        return self._source.begin(epoch)

    def _sampler_of(self, epoch: int) -> Sampler:
        return Sampler(self._source.begin(epoch), self._source.fingerprint, sequential=True)

    def __iter__(self) -> Iterator[list[Any]]:
        return _Keys(self)

    def __repr__(self) -> str:
        epoch, taken = self._place()
        return f"<SourceBatchSampler({self._source!r}) at place {taken} of epoch {epoch}>"


class _Keys(Iteration):
    """An iteration over a `SourceBatchSampler`."""

    _owner: SourceBatchSampler

    def __iter__(self) -> _Keys:
        return self

    def __next__(self) -> list[Any]:
        batch = self._draw().next_batch()
        if batch is None:
            raise StopIteration
        keys: list[Any]
        if isinstance(batch, tuple):
            keys = list(zip(*(numbers.tolist() for numbers in batch), strict=True))
        elif isinstance(batch, np.ndarray):
            keys = batch.tolist()
        else:
            keys = batch
        own: list[Any] = keys[0].tolist() if isinstance(self._owner._source, Lengths) else keys
        return own


class StreamDataset(Epochs):
    """Batches of a stream of unknown length, shuffled through a buffer of `buffer_size` items: for
    `DataLoader(data, batch_size=None)`.

    All ranks and workers go through one shuffled stream, that of `StreamShuffle(source, buffer_size,
    seed)`, and each step deals out the next `world * batch_size` items. So each worker reads the
    whole input; where that costs too much, give each rank an input of its own, a `seed` of its own,
    and `rank=0, world=1`. `collate` makes a batch of a list of items.

    Call `set_epoch` before each epoch of a loop; a second pass without it is refused. At the end of
    the input a step may have fewer items. With 'pad' (the default) the ranks share them as equally
    as possible, and those that have fewer repeat items of that step; with 'short' none comes twice,
    except that a rank which would have none repeats one. With `drop_last` the step is left out. All
    ranks have the same number of steps.

    `state_after(steps)` is the place after so many steps of the iteration that has begun last; it
    fits any number of ranks and workers and any batch size. `StatefulDataLoader` saves the place of
    each worker by itself, for the same number of them.
    """

    def __init__(self, source: Iterable[Any] | Callable[[int], Iterator[Any]], buffer_size: int,
                 seed: int | bytes, batch_size: int, *, rank: int | None = None,
                 world: int | None = None, drop_last: bool = False, tail: str = "pad",
                 collate: Callable[[list[Any]], Any] = torch.utils.data.default_collate) -> None:
        super().__init__()
        if batch_size < 1:
            raise ValueError(f"a batch has at least one item, not {batch_size}")
        self._size, self._seed = buffer_size, seed
        self._batch, self._collate = batch_size, collate
        self._begin(rank, world, tail, drop_last)
        # One for all iterations: it knows whether an iterator was read before.
        self._stream: StreamShuffle[Any] = StreamShuffle(source, buffer_size, seed)

    def state_after(self, steps: int) -> dict[str, str]:
        """The place after so many steps of the iteration that has begun last."""
        world = ranks_of(self._rank, self._world)[1]
        epoch, taken = self._place()
        stream: StreamShuffle[Any] = StreamShuffle((), self._size, self._seed, epoch)
        stream.seek(taken + steps * world * self._batch)
        return stream.state_dict()

    def load_state_dict(self, state_dict: dict[str, str]) -> None:
        """Goes to a place that `state_after` gave, at which the iterations begin until `set_epoch`
        chooses another epoch."""
        stream: StreamShuffle[Any] = StreamShuffle((), self._size, self._seed)
        stream.load_state_dict(state_dict)
        self._go(stream.epoch, stream.emitted)

    def __iter__(self) -> _StreamIterator:
        return _StreamIterator(self)

    def __repr__(self) -> str:
        return (f"StreamDataset(buffer_size={self._size}, seed={self._seed!r}, "
                f"batch_size={self._batch}, {described(self._tail)})")


class _StreamIterator(EpochIterator):
    """One worker's batches of one epoch."""

    def __init__(self, data: StreamDataset) -> None:
        super().__init__(data)
        self._data = data
        (self._epoch, self._start), self._steps = data._place(), 0
        self._items: Iterator[Any] | None = None

    def __iter__(self) -> _StreamIterator:
        return self

    def __next__(self) -> Any:
        data, whole = self._data, self._world * self._data._batch
        self._check(data)
        if self._items is None:
            data._stream.set_epoch(self._epoch)
            data._stream.seek(self._start + self._steps * whole)
            self._items = iter(data._stream)
        while True:
            try:
                items = list(islice(self._items, whole))
            except BaseException:
                # The next call takes this step again.
                self._items = None
                raise
            if not items or len(items) < whole and data._tail == "drop":
                self._end()
                raise StopIteration
            self._steps += 1
            if (self._steps - 1) % self._workers == self._worker:
                break
        each, over = divmod(len(items), self._world)
        first = self._rank * each + min(self._rank, over)
        own = items[first : first + each + (self._rank < over)]
        if over and self._rank >= over and (data._tail == "pad" or each == 0):
            own.append(items[self._rank % len(items)])
        return data._collate(own)

    def state_dict(self) -> dict[str, Any]:
        data = self._data
        # It has a check of the seed and the size.
        stream = StreamShuffle((), data._size, data._seed).state_dict()["stream"]
        shape = [stream, data._batch, data._tail, self._world, self._workers, self._worker]
        return {"shape": shape, "epoch": self._epoch, "start": self._start, "steps": self._steps}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        state = self._resumed(state_dict, shape=self.state_dict()["shape"])
        self._epoch, self._start, self._steps = (
            count_of(state, name) for name in ("epoch", "start", "steps"))
        self._items = None


class NodeDataset(Epochs):
    """Items of data in blocks of any sizes, of which each node reads mostly those that it had: the
    blocks of `NodeBlocks(len(sizes), kept, seed)`, with each rank as a node.

    `read(block)` returns the items of a block, `sizes[block]` of them. A rank's blocks are dealt out to
    its workers in turn, and the items of `window` blocks at a time are shuffled among each other.

    Ranks have equally many items, and so batches. With `tail='pad'` (the default) a worker with fewer
    than the same worker of another rank reads its first windows again, which may be many items where
    blocks differ in size, or are few. With `drop_last` those with more leave the rest out. With
    `tail='short'` each item comes once, and ranks may have different numbers of items and batches.
    Call `set_epoch` before each epoch of a loop; a second pass without it is refused.

    A loader that Accelerate has prepared deals out the items itself, so there each block is read by
    all ranks, or by the first one for all. To read each block on its node alone, do not prepare the
    loader, and give rank and world.
    """

    def __init__(self, read: Callable[[int], Sequence[Any]], sizes: Sequence[int], *, kept: float,
                 window: int, seed: int | bytes, rank: int | None = None, world: int | None = None,
                 drop_last: bool = False, tail: str = "pad") -> None:
        super().__init__()
        if window < 1:
            raise ValueError(f"a window has at least one block, not {window}")
        self._sizes = np.asarray(sizes, dtype=np.int64)
        if self._sizes.ndim != 1 or (self._sizes < 0).any():
            raise ValueError("sizes are numbers of items, one for each block")
        # For states: which items come behind a place follows from the sizes of all blocks.
        self._check = sha256(self._sizes.tobytes()).hexdigest()
        self._blocks = NodeBlocks(len(self._sizes), kept, seed)
        self._read, self._window, self._seed = read, window, seed
        self._begin(rank, world, tail, drop_last)

    def __iter__(self) -> _NodeIterator:
        return _NodeIterator(self)

    def _block(self, block: int) -> Sequence[Any]:
        items = self._read(block)
        if len(items) != self._sizes[block]:
            raise ValueError(f"block {block} has {len(items)} items, not {self._sizes[block]}")
        return items

    def __repr__(self) -> str:
        return f"NodeDataset({self._blocks!r}, window={self._window}, {described(self._tail)})"


class _NodeIterator(EpochIterator):
    """One worker's items of one epoch."""

    def __init__(self, data: NodeDataset) -> None:
        super().__init__(data)
        self._data = data
        self._begin(data._place()[0], 0)

    def _begin(self, epoch: int, taken: int) -> None:
        data, (worker, workers) = self._data, (self._worker, self._workers)
        self._epoch, self._taken = epoch, taken
        of_node = [data._blocks.of_node(epoch, node, self._world)[worker::workers]
                   for node in range(self._world)]
        counts = [int(data._sizes[blocks].sum()) for blocks in of_node]
        settle: dict[str, Any] = {"pad": max, "drop": min, "short": lambda _: counts[self._rank]}
        self._own, self._target = of_node[self._rank], settle[data._tail](counts)
        if data._tail == "pad" and self._target > 0 and min(counts) == 0:
            # On all ranks, or the others would wait for that one.
            raise ValueError(
                f"worker {worker} of rank {counts.index(0)} has no items to repeat: use fewer workers"
            )
        self._items = self._iterate()

    def _iterate(self) -> Iterator[Any]:
        data, skipped = self._data, self._taken
        while self._taken < self._target:
            for first in range(0, len(self._own), data._window):
                blocks = self._own[first : first + data._window]
                size = int(data._sizes[blocks].sum())
                if skipped >= size:
                    # What a state has behind it is not read again.
                    skipped -= size
                    continue
                items = [item for block in blocks.tolist() for item in data._block(block)]
                # Each window of each epoch has an order of its own.
                number = (self._epoch * len(data._sizes) + int(blocks[0])) % 2**64
                for place in islice(Permutation.walk(size, data._seed, number), skipped, None):
                    if self._taken == self._target:
                        return
                    self._taken += 1
                    yield items[place]
                skipped = 0

    def __iter__(self) -> _NodeIterator:
        return self

    def __next__(self) -> Any:
        self._check(self._data)
        try:
            return next(self._items)
        except StopIteration:
            self._end()
            raise
        except BaseException:
            # The next call goes on with the same item.
            self._items = self._iterate()
            raise

    def state_dict(self) -> dict[str, Any]:
        data = self._data
        shape = [repr(data), data._check, self._rank, self._world, self._worker, self._workers]
        return {"shape": shape, "epoch": self._epoch, "items": self._taken}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        state = self._resumed(state_dict, shape=self.state_dict()["shape"])
        self._begin(count_of(state, "epoch"), count_of(state, "items"))
