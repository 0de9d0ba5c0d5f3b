"""Samplers and data sets for the data loaders of PyTorch, and orders as operations on tensors:
`walk`, `walk_inverse` and `randperm`, in compiled functions too.

| class | for |
| --- | --- |
| `ShuffleSampler` | the `sampler` of a `DataLoader`, in place of `RandomSampler` and `DistributedSampler` |
| `ShuffleBatchSampler` | the `batch_sampler`, which evaluates a batch at a time |
| `BlockDataset` | data in blocks, on disks and in object stores, as an `IterableDataset` |
| `SourceBatchSampler` | the `batch_sampler` of `Weighted`, `Mixture`, `Packed` and `Lengths` |
| `StreamDataset` | batches of a stream of unknown length, through a buffer, as an `IterableDataset` |
| `NodeDataset` | blocks that stay with the nodes that have them, as an `IterableDataset` |

The samplers make no list of indexes: the first batch of any rank comes at once, in constant memory,
however many items there are. Their state is the number of items that all ranks together have taken.
So training goes on with another number of ranks, batch size or number of workers, and takes the
remaining items of the epoch, each once.

Iterations of the samplers:

* Each has a place of its own, and begins with its first item. So a loop may look at a batch of its
  loader, or go through the loader within itself.
* Each takes the next epoch, whether the one before has been finished or not. After `set_epoch(e)`,
  all that begin have epoch `e`, until it is called again.
* The one that begins after `load_state_dict` goes on at the state's place, and the one after it
  takes the next epoch. `set_epoch` keeps the place if it chooses the state's own epoch, and refuses
  another one that would lose it.
* `state_dict` is the place of the iteration that has drawn last.

None of this depends on the number of workers, except that a loader with workers draws batches ahead
of the training step. `torchdata`'s `StatefulDataLoader` keeps with each batch the state after it,
and that of its own iteration. With a plain `DataLoader`, save the state between epochs, or count:
`state_after(items)`.

Those of the data sets begin where `set_epoch` has said last, which is epoch 0 at first. Call it
before each epoch: once it was read to its end, another iteration is refused.

All ranks have the same number of steps, whatever the numbers of items, ranks and batch. What is
repeated or left out for that is in the documentation of each class.

`rank` and `ranks` are those of `torch.distributed` when an iteration begins, unless they were given.
Loaders that Accelerate has prepared deal out the items of all ranks; leave out `rank` and `ranks` there.
"""

from __future__ import annotations

import inspect
import numbers
import operator
from collections.abc import Iterator, Sized
from itertools import chain
from typing import TYPE_CHECKING, Any

from torch.utils.data import Sampler as TorchSampler
from torch.utils.data.distributed import DistributedSampler

from ._blocks import BlockDataset
from ._loops import BatchLoops, Iteration, Loops, Place, described
from ._native import Sampler
from ._sources import NodeDataset, SourceBatchSampler, StreamDataset

if TYPE_CHECKING:
    from ._walk_torch import randperm, walk, walk_inverse

__all__ = [
    "BlockDataset",
    "NodeDataset",
    "ShuffleBatchSampler",
    "ShuffleSampler",
    "SourceBatchSampler",
    "StreamDataset",
    "randperm",
    "walk",
    "walk_inverse",
]


def __getattr__(name: str) -> Any:
    # Older versions of PyTorch have the samplers alone.
    if name in ("randperm", "walk", "walk_inverse"):
        from . import _walk_torch

        return getattr(_walk_torch, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _length(data: Sized | int) -> int:
    """The number of items of a data set, or the number that was given."""
    if not isinstance(data, Sized) and isinstance(data, numbers.Integral):
        return int(data)
    if isinstance(data, TorchSampler):
        raise TypeError(
            f"an order is of a data set or a number of items, not of a {type(data).__name__}; "
            "Lightning puts one into a batch sampler: write Trainer(use_distributed_sampler=False), "
            "or use ShuffleSampler, which it leaves alone"
        )
    if not isinstance(data, Sized):
        raise TypeError(
            f"{type(data).__name__} has no length, and so no order: give the number of items"
        )
    return len(data)


class _Shuffles(Loops):
    """What `ShuffleSampler` and `ShuffleBatchSampler` share: length, seed and order."""

    def _begin_order(
        self,
        data: Sized | int,
        seed: int | bytes,
        rank: int | None,
        ranks: int | None,
        shuffle: bool,
        blocks: tuple[int, int] | None,
    ) -> None:
        self._n, self._seed = _length(data), seed
        self._order: dict[str, Any] = {"blocks": blocks, "sequential": not shuffle}
        self._begin_loops(rank, ranks)

    def _describe(self) -> str:
        raise NotImplementedError

    def _places(self, epoch: int) -> int:
        return self._n

    def _sampler_of(self, epoch: int) -> Sampler:
        return Sampler(self._n, self._seed, **self._order)

    def __repr__(self) -> str:
        of_rank = "" if self._ranks is None else f", rank={self._rank}, ranks={self._ranks}"
        order = f", blocks={self._order['blocks']}" if self._order["blocks"] else ""
        order += ", shuffle=False" if self._order["sequential"] else ""
        epoch, taken = self._place()
        return (
            f"<{type(self).__name__}({self._n}, {self._describe()}, seed={self._seed!r}{of_rank}"
            f"{order}) at item {taken} of epoch {epoch}>"
        )


# The number of indexes that are evaluated at a time, which takes microseconds.
_CHUNK = 1024


# PyTorch's class of what deals out items to ranks: Lightning and Ray replace other samplers.
class ShuffleSampler(_Shuffles, DistributedSampler[int]):  # type: ignore[override, unused-ignore]
    """The `sampler` of a `DataLoader`: this rank's items of each epoch, one after the other.

    `data` is the data set, or the number of its items. The ranks take the epoch's order in turn, as
    with `DistributedSampler`: rank `r` gets the places `r`, `r + ranks`, and so on. By default the
    order is repeated from its start until all ranks have the same number of items; with `drop_last`
    those left over are not taken. `shuffle=False` keeps the original order, and `blocks` is a block
    and a window, as of `BlockShuffle`.

    The module says which epoch an iteration has, and which of several iterations the state is of.
    It counts the items that were drawn from this sampler.
    """

    def __init__(
        self,
        data: Sized | int,
        *,
        seed: int | bytes,
        rank: int | None = None,
        ranks: int | None = None,
        drop_last: bool = False,
        shuffle: bool = True,
        blocks: tuple[int, int] | None = None,
    ) -> None:
        self.drop_last = drop_last
        # `DistributedSampler.__init__` is not called: it asks for a process group.
        self._begin_order(data, seed, rank, ranks, shuffle, blocks)

    def _make(self, rank: int, ranks: int, start: Place) -> Sampler:
        tail = "short" if self.drop_last else "pad"
        settings = {"rank": rank, "ranks": ranks, "batch": _CHUNK, "tail": tail, **self._order}
        return Sampler(self._n, self._seed, **settings)

    def _draws(self, left: int, ranks: int) -> int:
        return left // ranks if self.drop_last else -(-left // ranks)

    def __iter__(self) -> Iterator[int]:
        lists = _Lists(self)
        items = _Items.from_iterable(lists)
        assert isinstance(items, _Items)
        items.lists = lists
        return items

    def _describe(self) -> str:
        return f"drop_last={self.drop_last}"


class _Items(chain[int]):
    """The items of an iteration. They come out of lists without a step of Python for each."""

    lists: _Lists

    def state_dict(self) -> dict[str, Any]:
        return self.lists.state_dict()

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self.lists.load_state_dict(state_dict)


class _Lists(Iteration):
    """An iteration over a `ShuffleSampler`, as iterators over lists of items."""

    _owner: ShuffleSampler

    def __init__(self, owner: ShuffleSampler) -> None:
        super().__init__(owner)
        # The list that items are drawn from: what is left of it, its length, and the place before
        # it. A list's iterator knows how many are left, so nothing has to count them here.
        self._left: Iterator[int] = iter(())
        self._size, self._before = 0, 0
        # What was left when another iteration began to draw.
        self._rest: list[int] = []
        # The items that are left for this rank after these.
        self._count = 0

    def _begin(self) -> Sampler:
        sampler: Sampler = super()._begin()
        self._before = sampler.consumed
        self._count = self._owner._draws(sampler.n - sampler.consumed, sampler.ranks)
        return sampler

    def place(self) -> Place:
        epoch, taken = super().place()
        if self._sampler is not None:
            drawn = self._size - operator.length_hint(self._left)
            taken = min(self._before + drawn * self._sampler.ranks, self._owner._n)
        return epoch, taken

    def suspend(self) -> None:
        # The next item that is drawn is then asked of `__next__`, which notes who draws.
        rest = list(self._left)
        self._rest, self._size = rest + self._rest, self._size - len(rest)

    def __iter__(self) -> _Lists:
        return self

    def __next__(self) -> Iterator[int]:
        sampler = self._draw()
        items, self._rest = self._rest, []
        if not items:
            batch = sampler.next_batch() if self._count > 0 else None
            if batch is None:
                raise StopIteration
            items = batch[: self._count].tolist()
            self._count -= len(items)
        self._before = self.place()[1]
        self._left, self._size = iter(items), len(items)
        return self._left

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        super().load_state_dict(state_dict)
        self._left, self._size, self._rest = iter(()), 0, []


class ShuffleBatchSampler(BatchLoops, _Shuffles, TorchSampler[list[int]]):
    """The `batch_sampler` of a `DataLoader`: this rank's items of each step, as a list.

    A step takes the next `ranks * batch_size` places of the epoch's order and deals them out in
    turn. All ranks have the same number of steps, also after a resume and with another number of
    ranks. `tail` says what a last step does that has fewer items left: 'pad' (the default) repeats
    items until every rank has as many as the others, 'short' repeats none, and 'fill' repeats items
    up to whole batches. No batch is empty: with 'short', where fewer items are left than there are
    ranks, each rank that has none repeats one, as with 'pad'. With `drop_last` the items of a step
    that is not whole are left out. The other arguments are those of `ShuffleSampler`.

    With Lightning on several devices, write `Trainer(use_distributed_sampler=False)`.
    """

    def __new__(cls, data: Sized | int = 0, *_: Any, **__: Any) -> ShuffleBatchSampler:
        if isinstance(data, TorchSampler):
            # Lightning's call has other arguments too, which would be refused first.
            _length(data)
        new: ShuffleBatchSampler = super().__new__(cls)
        return new

    def __init__(
        self,
        data: Sized | int,
        batch_size: int,
        *,
        seed: int | bytes,
        rank: int | None = None,
        ranks: int | None = None,
        drop_last: bool = False,
        tail: str = "pad",
        shuffle: bool = True,
        blocks: tuple[int, int] | None = None,
    ) -> None:
        self._begin_batches(batch_size, tail, drop_last)
        self._begin_order(data, seed, rank, ranks, shuffle, blocks)

    # That of `__new__`, which takes what Lightning gives, would hide it.
    __signature__ = inspect.Signature(list(inspect.signature(__init__).parameters.values())[1:])

    @property
    def sampler(self) -> ShuffleBatchSampler:
        """Itself. Accelerate and Lightning call `set_epoch` of a batch sampler's `sampler`."""
        return self

    def _make(self, rank: int, ranks: int, start: Place) -> Sampler:
        settings = {"rank": rank, "ranks": ranks, "batch": self._batch, **self._order}
        return Sampler(self._n, self._seed, tail=self._tail_from(start, ranks), **settings)

    def __iter__(self) -> Iterator[list[int]]:
        return _Steps(self)

    def _describe(self) -> str:
        return f"{self._batch}, {described(self._tail)}"


class _Steps(Iteration):
    """An iteration over a `ShuffleBatchSampler`."""

    def __iter__(self) -> _Steps:
        return self

    def __next__(self) -> list[int]:
        batch = self._draw().next_batch()
        if batch is None:
            raise StopIteration
        items: list[int] = batch.tolist()
        return items
