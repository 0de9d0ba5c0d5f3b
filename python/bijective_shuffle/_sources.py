"""`Weighted`, `Mixture`, `Packed`, `Lengths`, streams and blocks of nodes for PyTorch's loaders."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from hashlib import sha256
from itertools import islice
from typing import Any

import numpy as np
import torch
from torch.utils.data import IterableDataset, get_worker_info
from torch.utils.data import Sampler as TorchSampler

from ._blocks import count_of
from ._loaders import Batches, Source
from ._loops import Iteration, Loops, steps_of
from ._native import ForeignStateError, Permutation, Sampler
from ._nodes import NodeBlocks
from ._ranks import accelerate_loaders, check_ranks, has_group, ranks_of
from ._stream import StreamShuffle
from ._tokens import Lengths

_TAILS = ("pad", "short", "drop")


class SourceBatchSampler(Loops, TorchSampler[list[Any]]):
    """The `batch_sampler` of a `DataLoader` for a source of items: this rank's items of each step.

    The loader asks the data set for each item of a list: for `Weighted` an integer, for `Mixture` a
    pair `(set, item)`, and for `Packed` an array of pieces. For `Lengths` the list is one batch of
    items, so `batch_size` is 1 there. `tail` is that of `ShuffleBatchSampler`. Iterations, epochs and
    states are those of the module's other samplers.

    Where Accelerate prepares the loader, batches of different sizes need `even_batches=False`; where
    all ranks must have as many steps, give rank and world, and do not prepare it.
    """

    def __init__(self, source: Source, batch_size: int = 1, *, rank: int | None = None,
                 world: int | None = None, tail: str = "pad") -> None:
        if isinstance(source, Lengths) and batch_size != 1:
            raise ValueError("each place of `Lengths` is a batch: leave out batch_size")
        # Accelerate takes batches of another size than this for the last one of an epoch.
        self.batch_size = None if isinstance(source, Lengths) else batch_size
        self._source, self._batch, self._tail = source, batch_size, tail
        self.drop_last = tail == "drop"
        self._begin_loops(rank, world)

    @property
    def sampler(self) -> SourceBatchSampler:
        """Itself. Accelerate and Lightning call `set_epoch` of a batch sampler's `sampler`."""
        return self

    def _make(self, rank: int, world: int) -> Batches:
        # At the epoch that comes next, whose index is needed then.
        return Batches(self._source, self._next[0], self._batch, rank, world, self._tail)

    def _is_over(self, sampler: Batches) -> bool:
        return sampler.steps_left == 0

    def _sampler_of(self, epoch: int, world: int) -> Sampler:
        sampler = Sampler(self._source.begin(epoch), self._source.fingerprint, world=world,
                          tail="short", sequential=True)
        sampler.set_epoch(epoch)
        return sampler

    def __len__(self) -> int:
        n = self._source.begin(self.epoch)
        return steps_of(n, *ranks_of(self._rank, self._world), self._batch, self._tail)

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
        if not keys:
            # With 'short' the last step may have none for this rank.
            raise StopIteration
        own: list[Any] = keys[0].tolist() if isinstance(self._owner._source, Lengths) else keys
        return own


class _Epochs(IterableDataset[Any]):
    """A data set whose workers see the epoch and the place at which its iterations begin."""

    def _begin(self, rank: int | None, world: int | None, tail: str) -> None:
        check_ranks(rank, world)
        if rank is not None and world is not None and not 0 <= rank < world:
            raise ValueError(f"there is no rank {rank} of {world}")
        if tail not in _TAILS:
            raise ValueError(f"tail is {', '.join(map(repr, _TAILS))}, not {tail!r}")
        self._rank, self._world, self._tail = rank, world, tail
        # In shared memory, so that workers which outlive an epoch see the next one: the epoch, and
        # how much of it all ranks have taken.
        self._at = torch.zeros(2, dtype=torch.int64)
        self._at.share_memory_()  # type: ignore[no-untyped-call, unused-ignore]

    def set_epoch(self, epoch: int) -> None:
        """Chooses the epoch of the iterations that begin from now on; there is no other way to
        another one. That of a state which was loaded keeps the state's place."""
        if epoch != int(self._at[0]):
            self._at[0], self._at[1] = epoch, 0

    def _place(self) -> tuple[int, int]:
        """Where an iteration begins."""
        return int(self._at[0]), int(self._at[1])

    def _ranks(self) -> tuple[int, int, int, int]:
        """Rank, world, worker and the number of workers."""
        info = get_worker_info()
        rank, world = ranks_of(self._rank, self._world)
        return rank, world, *((0, 1) if info is None else (info.id, info.num_workers))

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        if has_group() or accelerate_loaders():
            # A worker that is not forked knows nothing of the process group.
            state["_rank"], state["_world"] = ranks_of(self._rank, self._world)
        return state


class StreamDataset(_Epochs):
    """Batches of a stream of unknown length, shuffled through a buffer of `buffer_size` items: for
    `DataLoader(data, batch_size=None)`.

    All ranks and workers go through one shuffled stream, that of `StreamShuffle(source, buffer_size,
    seed)`, and each step deals out the next `world * batch_size` items. So each worker reads the
    whole input; where that costs too much, give each rank an input of its own, a `seed` of its own,
    and `rank=0, world=1`. `collate` makes a batch of a list of items.

    All iterations have the same epoch until `set_epoch` chooses another one: call it before each
    epoch of a loop. At the end of the input a step may have fewer items. With 'pad' (the default) the
    ranks share them as equally as possible, and those that have fewer repeat items of that step; with
    'short' none comes twice; with 'drop' the step is left out.

    `state_after(steps)` is the place after so many steps of the iteration that has begun last; it
    fits any number of ranks and workers and any batch size. `StatefulDataLoader` saves the place of
    each worker by itself, for the same number of them.
    """

    def __init__(self, source: Iterable[Any] | Callable[[int], Iterator[Any]], buffer_size: int,
                 seed: int | bytes, batch_size: int, *, rank: int | None = None,
                 world: int | None = None, tail: str = "pad",
                 collate: Callable[[list[Any]], Any] = torch.utils.data.default_collate) -> None:
        super().__init__()
        if batch_size < 1:
            raise ValueError(f"a batch has at least one item, not {batch_size}")
        self._size, self._seed = buffer_size, seed
        self._batch, self._collate = batch_size, collate
        self._begin(rank, world, tail)
        # One for all iterations: it knows whether an iterator was read before.
        self._stream = StreamShuffle(source, buffer_size, seed)

    def state_after(self, steps: int) -> dict[str, str]:
        """The place after so many steps of the iteration that has begun last."""
        world = ranks_of(self._rank, self._world)[1]
        epoch, taken = self._place()
        stream = StreamShuffle((), self._size, self._seed, epoch)
        stream.seek(taken + steps * world * self._batch)
        return stream.state_dict()

    def load_state_dict(self, state_dict: dict[str, str]) -> None:
        """Goes to a place that `state_after` gave, at which the iterations begin until `set_epoch`
        chooses another epoch."""
        stream = StreamShuffle((), self._size, self._seed)
        stream.load_state_dict(state_dict)
        self._at[0], self._at[1] = stream.epoch, stream.emitted

    def __iter__(self) -> _StreamIterator:
        return _StreamIterator(self)

    def __repr__(self) -> str:
        return (f"StreamDataset(buffer_size={self._size}, seed={self._seed!r}, "
                f"batch_size={self._batch}, tail={self._tail!r})")


class _StreamIterator:
    """One worker's batches of one epoch."""

    def __init__(self, data: StreamDataset) -> None:
        self._data = data
        self._rank, self._world, self._worker, self._workers = data._ranks()
        (self._epoch, self._start), self._steps = data._place(), 0
        self._items: Iterator[Any] | None = None

    def __iter__(self) -> _StreamIterator:
        return self

    def __next__(self) -> Any:
        data, whole = self._data, self._world * self._data._batch
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
                raise StopIteration
            self._steps += 1
            if (self._steps - 1) % self._workers == self._worker:
                break
        each, over = divmod(len(items), self._world)
        first = self._rank * each + min(self._rank, over)
        own = items[first : first + each + (self._rank < over)]
        if data._tail == "pad" and over and self._rank >= over:
            own.append(items[self._rank % len(items)])
        if not own:
            raise StopIteration
        return data._collate(own)

    def state_dict(self) -> dict[str, Any]:
        data = self._data
        # It has a check of the seed and the size.
        stream = StreamShuffle((), data._size, data._seed).state_dict()["stream"]
        shape = [stream, data._batch, data._tail, self._world, self._workers, self._worker]
        return {"shape": shape, "epoch": self._epoch, "start": self._start, "steps": self._steps}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        expected = self.state_dict()["shape"]
        if state_dict.get("shape") != expected:
            raise ForeignStateError(
                f"the state is of another stream, batch, tail, number of ranks or worker: "
                f"{state_dict.get('shape')}, not {expected}"
            )
        self._epoch, self._start, self._steps = (
            count_of(state_dict, name) for name in ("epoch", "start", "steps"))
        self._items = None


class NodeDataset(_Epochs):
    """Items of data in blocks of any sizes, of which each node reads mostly those that it had: the
    blocks of `NodeBlocks(len(sizes), kept, seed)`, with each rank as a node.

    `read(block)` returns the items of a block, `sizes[block]` of them. A rank's blocks are dealt out to
    its workers in turn, and the items of `window` blocks at a time are shuffled among each other.

    `tail` says how ranks get equally many items: with 'pad' (the default) a worker with fewer than the
    same worker of another rank reads its first windows again, with 'drop' those with more leave the
    rest out, and with 'short' each item comes once. All iterations have the same epoch until
    `set_epoch` chooses another one: call it before each epoch of a loop.

    A loader that Accelerate has prepared deals out the items itself, so there each block is read by
    all ranks, or by the first one for all. To read each block on its node alone, do not prepare the
    loader, and give rank and world.
    """

    def __init__(self, read: Callable[[int], Sequence[Any]], sizes: Sequence[int], *, kept: float,
                 window: int, seed: int | bytes, rank: int | None = None, world: int | None = None,
                 tail: str = "pad") -> None:
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
        self._begin(rank, world, tail)

    def __iter__(self) -> _NodeIterator:
        return _NodeIterator(self)

    def _block(self, block: int) -> Sequence[Any]:
        items = self._read(block)
        if len(items) != self._sizes[block]:
            raise ValueError(f"block {block} has {len(items)} items, not {self._sizes[block]}")
        return items

    def __repr__(self) -> str:
        return f"NodeDataset({self._blocks!r}, window={self._window}, tail={self._tail!r})"


class _NodeIterator:
    """One worker's items of one epoch."""

    def __init__(self, data: NodeDataset) -> None:
        self._data = data
        self._rank, self._world, self._worker, self._workers = data._ranks()
        self._begin(data._place()[0], 0)

    def _begin(self, epoch: int, taken: int) -> None:
        data, (worker, workers) = self._data, (self._worker, self._workers)
        self._epoch, self._taken = epoch, taken
        of_node = [data._blocks.of_node(epoch, node, self._world)[worker::workers]
                   for node in range(self._world)]
        counts = [int(data._sizes[blocks].sum()) for blocks in of_node]
        settle: dict[str, Any] = {"pad": max, "drop": min, "short": lambda _: counts[self._rank]}
        self._own, self._target = of_node[self._rank], settle[data._tail](counts)
        if self._target > 0 and counts[self._rank] == 0:
            raise ValueError(
                f"worker {worker} of rank {self._rank} has no items to repeat: use fewer workers"
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
        try:
            return next(self._items)
        except StopIteration:
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
        expected = self.state_dict()["shape"]
        if state_dict.get("shape") != expected:
            raise ForeignStateError(
                f"the state is of other data, ranks or workers: {state_dict.get('shape')}, not "
                f"{expected}"
            )
        self._begin(count_of(state_dict, "epoch"), count_of(state_dict, "items"))
