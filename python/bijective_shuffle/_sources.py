"""`Weighted`, `Mixture`, `Packed`, `Lengths`, streams and blocks of nodes for PyTorch's loaders."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from hashlib import sha256
from itertools import islice
from typing import Any

import numpy as np
import torch
from torch.utils.data import Sampler as TorchSampler

from ._epochs import WORKERS, EpochIterator, Epochs, count_of, undivided
from ._loaders import Batches, Source, stated_seed
from ._loops import BatchLoops, Iteration, Place, described
from ._native import Permutation, Sampler
from ._nodes import NodeBlocks
from ._ranks import ranks_of, refuse_share
from ._stream import StreamShuffle, _Steps
from ._tokens import Lengths


class SourceBatchSampler(BatchLoops, TorchSampler[list[Any]]):
    """The `batch_sampler` of a `DataLoader` for a source of items: this rank's items of each step.

    The loader asks the data set for each item of a list: for `Weighted` an integer, for `Mixture` a
    pair `(set, item)`, and for `Packed` an array of pieces. For `Lengths` the list is one batch of
    items, so `batch_size` is 1 there. `drop_last` and `tail` are those of `ShuffleBatchSampler`: all
    ranks have as many steps, and no list is empty. Iterations, epochs and states are those of the
    module's other samplers.

    Accelerate splits no batches of different sizes evenly: with `even_batches=False` ranks may differ
    by a step. Where all must have as many, give `rank` and `ranks`, and do not prepare the loader.
    """

    def __init__(self, source: Source[Any, Any], batch_size: int = 1, *, rank: int | None = None,
                 ranks: int | None = None, drop_last: bool = False, tail: str = "pad") -> None:
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
        self._begin_loops(rank, ranks)

    @property
    def sampler(self) -> SourceBatchSampler:
        """Itself. Accelerate and Lightning call `set_epoch` of a batch sampler's `sampler`."""
        return self

    def _make(self, rank: int, ranks: int, start: Place) -> Batches[Any]:
        tail = self._tail_from(start, ranks)
        return Batches(self._source, start[0], self._batch, rank, ranks, tail)

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
    seed)`, and each step deals out the next `ranks * batch_size` items. So each worker reads the
    whole input, which must have the same items in the same order in each process: give what shuffles
    it a seed. Where that costs too much, give each rank an input of its own, a `seed` of its own, and
    `rank=0, ranks=1`. `collate` makes a batch of a list of items.

    An input that divides itself among the workers of a loader, as the `IterableDataset` of Hugging
    Face and `WebDataset` do, gives each worker all of its items here: within the input
    `torch.utils.data.get_worker_info()` is None. One that was split by rank needs `rank=0, ranks=1`
    and a loader that Accelerate has not prepared. Otherwise it is refused where the split can be
    seen, which is not so in what only a thread or another process knows.

    Call `set_epoch` before each epoch of a loop; a second pass without it is refused. At the end of
    the input a step may have fewer items. With 'pad' (the default) the ranks share them as equally
    as possible, and those that have fewer repeat items of that step; with 'short' none comes twice,
    except that a rank which would have none repeats one. With `drop_last` the step is left out. All
    ranks have the same number of steps.

    `state_after(steps)` is the place after `steps` steps of the iteration that has begun last; it
    fits any number of ranks and workers and any batch size. `StatefulDataLoader` saves the place of
    each worker by itself, for the same number of them. An input that has become shorter or longer
    since is refused as by `StreamShuffle`; for steps that were not drawn yet its length is unknown.
    """

    def __init__(self, source: Iterable[Any] | Callable[[int], Iterator[Any]], buffer_size: int,
                 seed: int | bytes, batch_size: int, *, rank: int | None = None,
                 ranks: int | None = None, drop_last: bool = False, tail: str = "pad",
                 collate: Callable[[list[Any]], Any] = torch.utils.data.default_collate) -> None:
        super().__init__()
        if batch_size < 1:
            raise ValueError(f"a batch has at least one item, not {batch_size}")
        self._size, self._seed = buffer_size, seed
        self._batch, self._collate = batch_size, collate
        self._begin(rank, ranks, tail, drop_last)
        # One for all iterations: it knows whether an iterator was read before.
        self._stream = _Whole(source, buffer_size, seed)
        # Counts, -1 if unknown: items taken when iterations begin; the input's length; items drawn
        # by each worker. In shared memory, since workers write them.
        self._known = torch.full((2 + WORKERS,), -1, dtype=torch.int64)
        self._known[0] = 0
        self._known.share_memory_()  # type: ignore[no-untyped-call, unused-ignore]

    def state_after(self, steps: int) -> dict[str, str]:
        """The place after this many steps of the iteration that began last."""
        if steps < 0:
            raise ValueError(f"there is no place after {steps} steps")
        ranks = ranks_of(self._rank, self._ranks)[1]
        epoch, start = self._place()
        emitted = start + steps * ranks * self._batch
        # The length after this: a worker that has drawn up to the end has noted the length before.
        drawn = int(self._known[2:].max())
        total = int(self._known[1])
        taken = int(self._known[0]) if steps == 0 else -1
        if total >= 0:
            emitted = min(emitted, total)
            taken = min(emitted + self._size, total) if emitted else 0
        elif steps > 0 and emitted <= drawn:
            taken = emitted + self._size
        stream: StreamShuffle[Any] = StreamShuffle((), self._size, self._seed)
        stream._go(epoch, emitted, taken if taken >= 0 else None)
        return stream.state_dict()

    def load_state_dict(self, state_dict: dict[str, str]) -> None:
        """Goes to a place that `state_after` gave, at which the iterations begin until `set_epoch`
        chooses another epoch."""
        stream: StreamShuffle[Any] = StreamShuffle((), self._size, self._seed)
        stream.load_state_dict(state_dict)
        epoch, emitted, taken = stream._place()
        self._go(epoch, emitted)
        self._known[0] = -1 if taken is None else taken

    def _go(self, epoch: int, taken: int) -> None:
        if taken == 0:
            self._known[0] = 0
        self._known[1:] = -1
        super()._go(epoch, taken)

    def __iter__(self) -> _StreamIterator:
        return _StreamIterator(self)

    def __repr__(self) -> str:
        return (f"StreamDataset(buffer_size={self._size}, seed={self._seed!r}, "
                f"batch_size={self._batch}, {described(self._tail)})")


class _Whole(StreamShuffle[Any]):
    """A stream that some ranks deal out among each other."""

    ranks = 1

    def _open(self, start: int) -> Iterator[Any]:
        items = super()._open(start)
        refuse_share(self._source, items, self.ranks)
        return items


class _StreamIterator(EpochIterator):
    """One worker's batches of one epoch."""

    def __init__(self, data: StreamDataset) -> None:
        super().__init__(data)
        self._data = data
        self._steps = 0
        # Behind the last step: how many items were given, and, if it is known, taken of the input.
        self._epoch, self._emitted = data._place()
        taken = int(data._known[0])
        self._taken = taken if taken >= 0 else None
        self._items: Iterator[Any] | None = None
        self._drawn: _Steps | None = None

    def __iter__(self) -> _StreamIterator:
        return self

    def __next__(self) -> Any:
        data, whole = self._data, self._ranks * self._data._batch
        self._check(data)
        while True:
            with undivided():
                items = self._draw(whole)
            if not items or len(items) < whole and data._tail == "drop":
                self._end()
                raise StopIteration
            self._steps += 1
            if (self._steps - 1) % self._workers == self._worker:
                break
        each, over = divmod(len(items), self._ranks)
        first = self._rank * each + min(self._rank, over)
        own = items[first : first + each + (self._rank < over)]
        if over and self._rank >= over and (data._tail == "pad" or each == 0):
            own.append(items[self._rank % len(items)])
        return data._collate(own)

    def _draw(self, whole: int) -> list[Any]:
        """The items of the next step."""
        data = self._data
        if self._items is None:
            data._stream.ranks = self._ranks
            data._stream._go(self._epoch, self._emitted, self._taken)
            self._items = iter(data._stream)
            self._drawn = data._stream._last
        try:
            items = list(islice(self._items, whole))
        except BaseException:
            # The next call takes this step again.
            self._items = None
            raise
        assert self._drawn is not None
        self._emitted, self._taken = self._drawn.place()[1:]
        # The length first, as `state_after` expects.
        if self._drawn.total is not None:
            data._known[1] = self._drawn.total
        data._known[2 + self._worker] = self._emitted
        return items

    def state_dict(self) -> dict[str, Any]:
        data = self._data
        # It has a check of the seed and the size.
        stream = StreamShuffle((), data._size, data._seed).state_dict()["stream"]
        shape = [stream, data._batch, data._tail, self._ranks, self._workers, self._worker]
        return {"shape": shape, "epoch": self._epoch, "steps": self._steps,
                "emitted": self._emitted, "taken": self._taken}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        state = self._resumed(state_dict, shape=self.state_dict()["shape"])
        self._epoch, self._steps, self._emitted = (
            count_of(state, name) for name in ("epoch", "steps", "emitted"))
        self._taken = None if state.get("taken") is None else count_of(state, "taken")
        self._items = None


class NodeDataset(Epochs):
    """Items of data in blocks of any sizes. Each node mostly reads blocks that it has read before:
    the blocks of `NodeBlocks(len(sizes), kept, seed)`, with each rank as a node.

    `read(block)` returns the items of a block, `sizes[block]` of them. A rank's blocks are dealt out to
    its workers in turn, and the items of `window` blocks at a time are shuffled among each other.

    Ranks have equally many items, and so batches. With `tail='pad'` (the default) a worker with fewer
    than the same worker of another rank reads its first windows again, which may be many items where
    blocks differ in size, or are few. With `drop_last` those with more leave the rest out. With
    `tail='short'` each item comes once, and ranks may have different numbers of items and batches.
    Call `set_epoch` before each epoch of a loop; a second pass without it is refused.

    A loader that Accelerate has prepared deals out the items itself, so there each block is read by
    all ranks, or by the first one for all. To read each block on its node alone, do not prepare the
    loader, and give `rank` and `ranks`.
    """

    def __init__(self, read: Callable[[int], Sequence[Any]], sizes: Sequence[int], *, kept: float,
                 window: int, seed: int | bytes, rank: int | None = None, ranks: int | None = None,
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
        if not self._sizes.any():
            raise ValueError("a data set in blocks needs at least one item, and all blocks are empty")
        self._read, self._window, self._seed = read, window, seed
        self._begin(rank, ranks, tail, drop_last)

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
        of_node = [data._blocks.of_node(epoch, node, self._ranks)[worker::workers]
                   for node in range(self._ranks)]
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
        blocks = [data._check, data._blocks._kept, stated_seed(data._seed), data._window, data._tail]
        shape = [*blocks, self._rank, self._ranks, self._worker, self._workers]
        return {"shape": shape, "epoch": self._epoch, "items": self._taken}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        state = self._resumed(state_dict, shape=self.state_dict()["shape"])
        self._begin(count_of(state, "epoch"), count_of(state, "items"))
