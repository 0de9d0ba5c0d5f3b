"""Iterations of the samplers for PyTorch: each has its own place and state."""

from __future__ import annotations

import operator
from typing import Any

from ._loaders import count, epoch_of, saved_text
from ._native import Sampler
from ._ranks import accelerate_loaders, check_ranks, epoch_in, ranks_of

STATE = "sampler"

# Where an iteration is: an epoch, and the number of items that all ranks together have taken of it.
Place = tuple[int, int]


def next_of(epoch: int) -> int:
    """The epoch after another. An iteration in the one after 2^64 - 1 is refused when it begins."""
    return epoch + 1


def checked_tail(tail: str, drop_last: bool, names: tuple[str, ...]) -> str:
    """The name that the native samplers have for two arguments in the manner of PyTorch."""
    if tail not in names:
        hint = ": write drop_last=True" if tail == "drop" else ""
        raise ValueError(f"tail is {' or '.join(map(repr, names))}, not {tail!r}{hint}")
    if drop_last and tail != "pad":
        raise ValueError(f"drop_last leaves no last step, so tail={tail!r} has no meaning beside it")
    return "drop" if drop_last else tail


def described(tail: str) -> str:
    """The arguments of such a name."""
    return "drop_last=True" if tail == "drop" else f"tail={tail!r}"


class Iteration:
    """One iteration over a sampler, with a place of its own."""

    def __init__(self, owner: Loops) -> None:
        self._owner = owner
        self._sampler: Any = None
        # A place that was loaded into this iteration before it has begun, then where it has begun.
        self.start: Place | None = None
        # Whether it has begun before the loop, and what the owner's count of changes was.
        self.is_early = False
        self._changes = 0

    def _begin(self) -> Any:
        """Begins where the owner says, or at the place that was loaded."""
        owner, loaders = self._owner, accelerate_loaders()
        rank, ranks = ranks_of(owner._rank, owner._ranks)
        epoch = epoch_in(loaders)
        if epoch is not None:
            owner.set_epoch(epoch)
        # `accelerator.prepare` asks a stateful loader for its state, whose workers draw then.
        self.is_early = epoch is None and len(loaders) > 0
        if self.start is None:
            self.start = owner._begin(ranks)
        else:
            owner._begin_at(self.start[0])
        sampler = owner._make(rank, ranks, self.start)
        sampler.resume(owner._text(self.start))
        self._sampler, self._changes = sampler, owner._changes
        return sampler

    def _draw(self) -> Any:
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

    def place(self) -> Place:
        if self._sampler is None:
            return self._owner._next if self.start is None else self.start
        return self._sampler.epoch, self._sampler.consumed

    def suspend(self) -> None:
        """Another iteration draws now."""

    def state_dict(self) -> dict[str, Any]:
        """The place of this iteration, for `load_state_dict` of another one or of a sampler."""
        return {STATE: self._owner._text(self.place())}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Goes to the place of a state, with which the iteration then begins."""
        self.start, self._sampler = self._owner._read(state_dict), None


class Loops:
    """What the samplers do about iterations, epochs and states."""

    drop_last: bool

    def _begin_loops(self, rank: int | None, ranks: int | None) -> None:
        check_ranks(rank, ranks)
        self._rank, self._ranks = rank, ranks
        # Where the next iteration begins, and whether the user has chosen its epoch.
        self._next: Place = (0, 0)
        self._is_chosen = False
        # Checks the arguments.
        self._make(*((0, 1) if rank is None or ranks is None else (rank, ranks)), self._next)
        # The place of a state that was loaded, and whether the loop goes on there.
        self._loaded: Place | None = None
        self._is_resumed = False
        # The iteration that has drawn last.
        self._last: Iteration | None = None
        # How often iterations that had begun were made invalid.
        self._changes = 0

    def _make(self, rank: int, ranks: int, start: Place) -> Any:
        """What an iteration that begins at a place draws from: a `Sampler`, or what has its methods,
        at the beginning of the place's epoch."""
        raise NotImplementedError

    def _places(self, epoch: int) -> int:
        """The number of places of an epoch."""
        raise NotImplementedError

    def _draws(self, left: int, ranks: int) -> int:
        """How often each rank draws, the same for all, until `left` places have been dealt out."""
        raise NotImplementedError

    def _sampler_of(self, epoch: int) -> Sampler:
        """A sampler whose states in an epoch are those of an iteration."""
        raise NotImplementedError

    def __len__(self) -> int:
        """The length of a whole epoch, also while one goes on that was resumed: loops count their
        steps from its beginning. What is left then is `remaining`."""
        return self._draws(self._places(self.epoch), ranks_of(self._rank, self._ranks)[1])

    @property
    def remaining(self) -> int:
        """What remains for each rank, in batches, or in items for a `ShuffleSampler`: of the epoch
        of the iteration that drew last, or of the next one if none has drawn."""
        epoch, taken = self._place()
        return self._draws(self._places(epoch) - taken, ranks_of(self._rank, self._ranks)[1])

    @property
    def epoch(self) -> int:
        """The epoch of the iteration that drew last, or of the next one if none has drawn."""
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
        epoch = count(epoch, "epoch")
        # Checks that there are places for it.
        self._text((epoch, 0))
        if (place := self._loaded) is not None and epoch != place[0]:
            is_left = place[1] < self._places(place[0]) and not self.drop_last and not self._is_resumed
            if is_left or epoch != next_of(place[0]):
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
        order; rank, ranks and batch size may differ. Raises `ForeignStateError` otherwise.
        Iterations that have begun cannot go on."""
        self._next = self._loaded = self._read(state_dict)
        self._is_chosen = self._is_resumed = False
        self._changes += 1
        self._follow(None)

    def state_dict(self) -> dict[str, Any]:
        """The position of the iteration that drew last, for `load_state_dict` in this or another
        process. It is the same on all ranks."""
        return {STATE: self._text(self._place())}

    def state_after(self, items: int) -> dict[str, Any]:
        """The position after the first `items` items of the iteration which has drawn last, for a
        loop that counts what it has trained with: those of all ranks together, which are steps *
        batch size * ranks (with Accelerate, steps * `loader.total_batch_size`). Repeated items at
        the end of an epoch may be counted or not."""
        if items < 0:
            raise ValueError(f"there is no position after {items} items")
        # Only the first rank's sampler draws where Accelerate dispatches batches.
        begun = None if self._last is None else self._last.start
        epoch, taken = self._next if begun is None else begun
        items = min(taken + operator.index(items), self._places(epoch))
        return {STATE: self._text((epoch, items))}

    def _begin(self, ranks: int) -> Place:
        """Where an iteration begins."""
        epoch, taken = self._next
        if self._loaded == self._next and not self._is_chosen:
            if self._draws(self._places(epoch) - taken, ranks) == 0:
                self._next = (next_of(epoch), 0)
        place = self._next
        self._begin_at(place[0])
        return place

    def _begin_at(self, epoch: int) -> None:
        """Notes that an iteration begins in an epoch."""
        self._is_resumed = True
        if self._loaded is not None and epoch != self._loaded[0]:
            self._loaded = None
        if not self._is_chosen:
            self._next = (next_of(epoch), 0)

    def _follow(self, iteration: Iteration | None) -> None:
        """Notes which iteration has drawn last."""
        if iteration is not self._last:
            if self._last is not None:
                self._last.suspend()
            self._last = iteration

    def _place(self) -> Place:
        return self._next if self._last is None else self._last.place()

    def _text(self, place: Place) -> str:
        """The native state of a place."""
        return self._sampler_of(place[0]).state_at(*place)

    def _read(self, state_dict: dict[str, Any]) -> Place:
        text = saved_text(state_dict, STATE, "a sampler")
        sampler = self._sampler_of(epoch_of(text))
        sampler.resume(text)
        return sampler.epoch, sampler.consumed


class BatchLoops(Loops):
    """What the batch samplers have in common."""

    batch_size: int | None
    _batch: int
    _tail: str

    def _begin_batches(self, batch_size: int, tail: str, drop_last: bool) -> None:
        self._tail = checked_tail(tail, drop_last, ("pad", "short", "fill"))
        if count(batch_size, "batch_size") < 1:
            raise ValueError(f"a batch has at least one item, not {batch_size}")
        self.batch_size, self._batch, self.drop_last = batch_size, batch_size, drop_last

    def _draws(self, left: int, ranks: int) -> int:
        step = ranks * self._batch
        return left // step if self.drop_last else -(-left // step)

    def _tail_from(self, start: Place, ranks: int) -> str:
        """The tail of an iteration that begins at a place. With 'short' the last step has nothing for
        some ranks if fewer items are left for it than there are ranks. No loader makes a batch of no
        items, so there these ranks have what they have with 'pad', which is then one item each."""
        last = (self._places(start[0]) - start[1]) % (ranks * self._batch)
        return "pad" if self._tail == "short" and last < ranks else self._tail
