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

Iterations:

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

Rank and world are those of `torch.distributed` when an iteration begins, unless they were given.
Loaders that Accelerate has prepared deal out the items of all ranks; leave out rank and world there.
"""

from __future__ import annotations

import numbers
import operator
from collections.abc import Iterator, Sized
from itertools import chain
from typing import Any

from torch.utils.data import Sampler as TorchSampler
from torch.utils.data.distributed import DistributedSampler

from ._blocks import BlockDataset
from ._native import ForeignStateError, Sampler
from ._ranks import accelerate_loaders, check_ranks, epoch_in, ranks_of

__all__ = ["BlockDataset", "ShuffleBatchSampler", "ShuffleSampler"]

_STATE = "sampler"

# Where an iteration is: an epoch, and the number of items that all ranks together have taken of it.
_Place = tuple[int, int]


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


def _next_of(epoch: int) -> int:
    # Epochs are of 64 bits.
    return (epoch + 1) % 2**64


class _Iteration:
    """One iteration over a sampler, with a place of its own."""

    def __init__(self, owner: _Loops) -> None:
        self._owner = owner
        self._sampler: Sampler | None = None
        # A place that was loaded into this iteration before it has begun, then where it has begun.
        self.start: _Place | None = None
        # Whether it has begun before the loop, and what the owner's count of changes was.
        self.is_early = False
        self._changes = 0

    def _begin(self) -> Sampler:
        """Begins where the owner says, or at the place that was loaded."""
        owner, loaders = self._owner, accelerate_loaders()
        sampler = owner._make(*ranks_of(owner._rank, owner._world))
        epoch = epoch_in(loaders)
        if epoch is not None:
            owner.set_epoch(epoch)
        # `accelerator.prepare` asks a stateful loader for its state, whose workers draw then.
        self.is_early = epoch is None and len(loaders) > 0
        if self.start is None:
            self.start = owner._begin(sampler)
        else:
            owner._begin_at(self.start[0])
        sampler.resume(owner._text(self.start))
        self._sampler, self._changes = sampler, owner._changes
        return sampler

    def _draw(self) -> Sampler:
        """The sampler to draw from, which is the last one that was drawn from then."""
        sampler = self._begin() if self._sampler is None else self._sampler
        if self._changes != self._owner._changes:
            raise ValueError(
                "this iteration began before the sampler was sent to another place: begin another "
                "one; with stateful loaders of Accelerate and workers, which begin in `prepare`, "
                "load the state into the sampler before that"
            )
        self._owner._follow(self)
        return sampler

    def place(self) -> _Place:
        if self._sampler is None:
            return self._owner._next if self.start is None else self.start
        return self._sampler.epoch, self._sampler.consumed

    def suspend(self) -> None:
        """Another iteration draws now."""

    def state_dict(self) -> dict[str, Any]:
        """The place of this iteration, for `load_state_dict` of another one or of a sampler."""
        return {_STATE: self._owner._text(self.place())}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Goes to the place of a state, with which the iteration then begins."""
        self.start, self._sampler = self._owner._read(state_dict), None


class _Loops:
    """What both samplers do about iterations, epochs and states."""

    drop_last: bool

    def __init__(
        self,
        data: Sized | int,
        seed: int | bytes,
        rank: int | None,
        world: int | None,
        shuffle: bool,
        blocks: tuple[int, int] | None,
    ) -> None:
        self._n, self._seed = _length(data), seed
        self._rank, self._world = rank, world
        self._order: dict[str, Any] = {"blocks": blocks, "sequential": not shuffle}
        check_ranks(rank, world)
        # Checks the arguments.
        self._make(*((0, 1) if rank is None or world is None else (rank, world)))
        # Where the next iteration begins, and whether the user has chosen its epoch.
        self._next: _Place = (0, 0)
        self._is_chosen = False
        # The place of a state that was loaded, and whether the loop goes on there.
        self._loaded: _Place | None = None
        self._is_resumed = False
        # The iteration that has drawn last.
        self._last: _Iteration | None = None
        # How often iterations that had begun were made invalid.
        self._changes = 0

    def _make(self, rank: int, world: int) -> Sampler:
        """A sampler for an iteration."""
        raise NotImplementedError

    def _is_over(self, sampler: Sampler) -> bool:
        """Whether nothing is left of an epoch."""
        raise NotImplementedError

    def _describe(self) -> str:
        raise NotImplementedError

    @property
    def epoch(self) -> int:
        """The epoch of the iteration that has drawn last, or, where there is none, of the next."""
        return self._place()[0]

    @property
    def consumed(self) -> int:
        """The number of items that all ranks together have taken of the epoch."""
        return self._place()[1]

    def set_epoch(self, epoch: int) -> None:
        """Chooses the epoch of all iterations that begin from now on. Without it, each takes the
        next one.

        The epoch of a state that was loaded begins at the state's place. Raises `ValueError` for
        another epoch that would lose this place: any but the next one, and that one too where items
        are left and no iteration has gone on there.
        """
        # Checks the epoch.
        self._text((epoch, 0))
        if (place := self._loaded) is not None and epoch != place[0]:
            is_left = place[1] < self._n and not self.drop_last and not self._is_resumed
            if is_left or epoch != _next_of(place[0]):
                raise ValueError(
                    f"set_epoch({epoch}) would lose the place of the state that was loaded, item "
                    f"{place[1]} of epoch {place[0]}: begin the loop with that epoch (with "
                    f"Accelerate, `loader.set_epoch({place[0]})`), or make a new sampler"
                )
            self._loaded = None
        self._next = self._loaded or (epoch, 0)
        self._is_chosen = self._is_resumed = True
        if self._last is not None and self._last.is_early and self._last.place()[0] != epoch:
            self._changes += 1
        self._follow(None)

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Goes to the position of a state. It comes from a sampler with the same length, seed and
        order; rank, world and batch size may differ. Raises `ForeignStateError` otherwise.
        Iterations that have begun cannot go on."""
        self._next = self._loaded = self._read(state_dict)
        self._is_chosen = self._is_resumed = False
        self._changes += 1
        self._follow(None)

    def state_dict(self) -> dict[str, Any]:
        """The position, for `load_state_dict` in this or another process: that of the iteration
        which has drawn last. All ranks have the same."""
        return {_STATE: self._text(self._place())}

    def state_after(self, items: int) -> dict[str, Any]:
        """The position after the first `items` items of the iteration which has drawn last, for a
        loop that counts what it has trained with: those of all ranks together, which are steps *
        batch size * world (with Accelerate, steps * `loader.total_batch_size`). Repeated items at
        the end of an epoch may be counted or not."""
        if items < 0:
            raise ValueError(f"there is no position after {items} items")
        # Only the first rank's sampler draws where Accelerate dispatches batches.
        begun = None if self._last is None else self._last.start
        epoch, taken = self._next if begun is None else begun
        return {_STATE: self._text((epoch, min(taken + operator.index(items), self._n)))}

    def _begin(self, sampler: Sampler) -> _Place:
        """Where an iteration begins."""
        if self._loaded == self._next and not self._is_chosen:
            sampler.resume(self._text(self._next))
            if self._is_over(sampler):
                self._next = (_next_of(self._next[0]), 0)
        place = self._next
        self._begin_at(place[0])
        return place

    def _begin_at(self, epoch: int) -> None:
        """Notes that an iteration begins in an epoch."""
        self._is_resumed = True
        if self._loaded is not None and epoch != self._loaded[0]:
            self._loaded = None
        if not self._is_chosen:
            self._next = (_next_of(epoch), 0)

    def _follow(self, iteration: _Iteration | None) -> None:
        """Notes which iteration has drawn last."""
        if iteration is not self._last:
            if self._last is not None:
                self._last.suspend()
            self._last = iteration

    def _place(self) -> _Place:
        return self._next if self._last is None else self._last.place()

    def _text(self, place: _Place) -> str:
        """The native state of a place."""
        epoch, taken = place
        # In a step of so many ranks that each has one item, the sampler takes all of them and
        # evaluates one.
        sampler = Sampler(self._n, self._seed, world=max(taken, 1), tail="short", **self._order)
        sampler.set_epoch(epoch)
        if taken > 0:
            sampler.next_batch()
        return sampler.state()

    def _read(self, state_dict: dict[str, Any]) -> _Place:
        text = state_dict.get(_STATE)
        if not isinstance(text, str):
            raise ForeignStateError("the dictionary is not a saved state of a sampler")
        sampler = Sampler(self._n, self._seed, **self._order)
        sampler.resume(text)
        return sampler.epoch, sampler.consumed

    def __repr__(self) -> str:
        ranks = "" if self._world is None else f", rank={self._rank}, world={self._world}"
        order = f", blocks={self._order['blocks']}" if self._order["blocks"] else ""
        order += ", shuffle=False" if self._order["sequential"] else ""
        epoch, taken = self._place()
        return (
            f"<{type(self).__name__}({self._n}, {self._describe()}, seed={self._seed!r}{ranks}"
            f"{order}) at item {taken} of epoch {epoch}>"
        )


# The number of indexes that are evaluated at a time, which takes microseconds.
_CHUNK = 1024


# PyTorch's class of what deals out items to ranks: Lightning and Ray replace other samplers.
class ShuffleSampler(_Loops, DistributedSampler[int]):  # type: ignore[override, unused-ignore]
    """The `sampler` of a `DataLoader`: this rank's items of each epoch, one after the other.

    `data` is the data set, or the number of its items. The ranks take the epoch's order in turn, as
    with `DistributedSampler`: rank `r` gets the places `r`, `r + world`, and so on. By default the
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
        world: int | None = None,
        drop_last: bool = False,
        shuffle: bool = True,
        blocks: tuple[int, int] | None = None,
    ) -> None:
        self.drop_last = drop_last
        # Not that of `DistributedSampler`, which asks for a process group.
        _Loops.__init__(self, data, seed, rank, world, shuffle, blocks)

    def _make(self, rank: int, world: int) -> Sampler:
        tail = "short" if self.drop_last else "pad"
        settings = {"rank": rank, "world": world, "batch": _CHUNK, "tail": tail, **self._order}
        return Sampler(self._n, self._seed, **settings)

    def _share(self, items: int, world: int) -> int:
        """Each rank's share of the last items of an epoch."""
        return items // world if self.drop_last else -(-items // world)

    def _is_over(self, sampler: Sampler) -> bool:
        return self._share(self._n - sampler.consumed, sampler.world) == 0

    def __len__(self) -> int:
        return self._share(self._n, ranks_of(self._rank, self._world)[1])

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


class _Lists(_Iteration):
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
        sampler = super()._begin()
        self._before = sampler.consumed
        self._count = self._owner._share(self._owner._n - sampler.consumed, sampler.world)
        return sampler

    def place(self) -> _Place:
        epoch, taken = super().place()
        if self._sampler is not None:
            drawn = self._size - operator.length_hint(self._left)
            taken = min(self._before + drawn * self._sampler.world, self._owner._n)
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


class ShuffleBatchSampler(_Loops, TorchSampler[list[int]]):
    """The `batch_sampler` of a `DataLoader`: this rank's items of each step, as a list.

    A step takes the next `world * batch_size` places of the epoch's order and deals them out in
    turn. `tail` says what happens at the end of an epoch: 'pad' (the default) repeats items until
    every rank has as many as the others, 'short' repeats none, 'fill' repeats items up to whole
    batches, and 'drop' skips a step that is not whole. The other arguments are those of
    `ShuffleSampler`.

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
        world: int | None = None,
        tail: str = "pad",
        shuffle: bool = True,
        blocks: tuple[int, int] | None = None,
    ) -> None:
        self.batch_size, self._tail = batch_size, tail
        self.drop_last = tail == "drop"
        super().__init__(data, seed, rank, world, shuffle, blocks)

    @property
    def sampler(self) -> ShuffleBatchSampler:
        """Itself. Accelerate and Lightning call `set_epoch` of a batch sampler's `sampler`."""
        return self

    def _make(self, rank: int, world: int) -> Sampler:
        settings = {"rank": rank, "world": world, "batch": self.batch_size, **self._order}
        return Sampler(self._n, self._seed, tail=self._tail, **settings)

    def _is_over(self, sampler: Sampler) -> bool:
        return sampler.steps_left == 0

    def __len__(self) -> int:
        return self._make(*ranks_of(self._rank, self._world)).steps

    def __iter__(self) -> Iterator[list[int]]:
        return _Steps(self)

    def _describe(self) -> str:
        return f"{self.batch_size}, tail={self._tail!r}"


class _Steps(_Iteration):
    """An iteration over a `ShuffleBatchSampler`."""

    def __iter__(self) -> _Steps:
        return self

    def __next__(self) -> list[int]:
        sampler = self._draw()
        batch = sampler.next_batch()
        if batch is None:
            raise StopIteration
        items: list[int] = batch.tolist()
        return items
