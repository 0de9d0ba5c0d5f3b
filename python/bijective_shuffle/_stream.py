"""A buffer over an iterable of unknown length."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any, Generic, SupportsIndex, TypeVar

from . import _native
from ._loaders import count, saved_text
from ._passes import refuse_loaders
from ._types import Seed

# How many steps are drawn at a time.
_CHUNK = 1024
_END: Any = object()
_STATE = "stream"
# In a state at a place that was not read yet: whether the input has that many items is unknown.
_AHEAD = {"is_read": "no"}


Item = TypeVar("Item")


class StreamShuffle(Generic[Item]):
    """Shuffles an iterable of unknown length through a buffer of `buffer_size` items: each step takes
    a random item of the buffer, and the next item of the input comes into its place. When the input
    has ended, the buffer is taken in random order.

    `source` is an iterable, or a function `source(start)` that returns an iterator over the items of
    the input from number `start` on. An item comes at most `buffer_size - 1` places too early; it
    comes more than `k * buffer_size` places too late with a probability of about `exp(-1 - k)`.

    An iteration begins with the first item of the epoch, or at the place of a state that was loaded.
    `state_dict` is the place of the iteration that has begun last, a few numbers: which items are in
    the buffer follows from the number of steps. To go on there, the input is read again from the
    first of these items on, or, if `source` is no function, from its beginning. An input that ends
    before the state's place is refused with `ValueError`, and so is one that goes on where the state
    knows its end. An exception of the input ends an iteration, whose state then goes on with the item
    that would have come next.

    >>> import bijective_shuffle as bs
    >>> stream = bs.StreamShuffle(range(1000), 100, seed=42)
    >>> items = iter(stream)
    >>> first = [next(items) for _ in range(300)]
    >>> state = stream.state_dict()
    >>> again = bs.StreamShuffle(range(1000), 100, seed=42)
    >>> again.load_state_dict(state)
    >>> sorted(first + list(again)) == list(range(1000))
    True
    """

    def __init__(self, source: Iterable[Item] | Callable[[int], Iterator[Item]],
                 buffer_size: SupportsIndex, seed: Seed, epoch: SupportsIndex = 0) -> None:
        self._source, self._size, self._seed = source, count(buffer_size, "buffer_size"), seed
        # Checks the arguments.
        _native.stream_slots(self._size, seed, 0, 0, 0)
        self._is_used = False
        # Where the next iteration begins: an epoch, a number of steps, and how many items were
        # taken of the input, if that is known.
        self._next: tuple[int, int, int | None] = (count(epoch, "epoch"), 0, 0)
        self._last: _Steps | None = None

    @property
    def epoch(self) -> int:
        """The epoch of the iteration that has begun last, or of the next one."""
        return self._place()[0]

    @property
    def emitted(self) -> int:
        """The number of items that this iteration has given."""
        return self._place()[1]

    def set_epoch(self, epoch: SupportsIndex) -> None:
        """Chooses the epoch of the iterations that begin from now on. That of a state which was
        loaded keeps the state's place."""
        epoch = count(epoch, "epoch")
        if epoch != self._next[0]:
            self._next = (epoch, 0, 0)
        self._last = None

    def seek(self, emitted: SupportsIndex) -> None:
        """Lets the next iteration begin after `emitted` items of the epoch, or, where the input has
        fewer, at its end. A state that is saved before that iteration begins does not know whether the
        input is so long, so a shorter one is not refused for it."""
        # Before the first item, the state is that of a stream which has not begun.
        emitted = count(emitted, "emitted")
        self._go(self.epoch, emitted, None if emitted else 0)

    def _go(self, epoch: int, emitted: int, taken: int | None) -> None:
        """Lets the next iteration begin at a place."""
        self._next, self._last = (epoch, emitted, taken), None

    def state_dict(self) -> dict[str, str]:
        """The place of the iteration that has begun last."""
        epoch, emitted, taken = self._place()
        known = emitted + self._size if taken is None else taken
        text = _native.stream_state(self._size, self._seed, epoch, emitted, known)
        return {_STATE: text} | (_AHEAD if taken is None else {})

    def load_state_dict(self, state_dict: dict[str, str]) -> None:
        """Goes to the place of a state, with which the next iteration begins. Raises
        `ForeignStateError` for the state of another size or seed."""
        text = saved_text(state_dict, _STATE, "a stream")
        epoch, emitted, taken = _native.stream_buffered(self._size, self._seed, text)[:3]
        self._go(epoch, emitted, None if _AHEAD.items() <= state_dict.items() else taken)

    def __iter__(self) -> Iterator[Item]:
        refuse_loaders("StreamShuffle")
        epoch, emitted, taken = self._next
        steps = _Steps(epoch, emitted, self._size)
        # Not at the first step: a state that is saved before it knows where the input ended.
        buffer, items = self._filled(steps, taken)
        # Not before: after an exception of the input the next iteration begins here, too.
        self._next, self._last = (epoch, 0, 0), steps
        return self._iterate(steps, buffer, items)

    def _place(self) -> tuple[int, int, int | None]:
        return self._next if self._last is None else self._last.place()

    def _open(self, start: int) -> Iterator[Item]:
        """The input from an item on."""
        if callable(self._source):
            return iter(self._source(start))
        items = iter(self._source)
        if items is self._source:
            if self._is_used:
                raise ValueError(
                    "the source is an iterator, which was read before: give an iterable, or a "
                    "function that returns an iterator over the items from a number on"
                )
            self._is_used = True
        return islice(items, start, None)

    def _filled(self, steps: _Steps, taken: int | None) -> tuple[list[Item], Iterator[Item]]:
        """The buffer before a step, and the rest of the input."""
        emitted = steps.before
        if emitted == 0:
            items = self._open(0)
            buffer = list(islice(items, self._size))
            if len(buffer) < self._size:
                steps.total = len(buffer)
            return buffer, items
        is_known, taken = taken is not None, emitted + self._size if taken is None else taken
        while True:
            text = _native.stream_state(self._size, self._seed, steps.epoch, emitted, taken)
            held = _native.stream_buffered(self._size, self._seed, text)[3].tolist()
            at = min(held, default=taken)
            items, wanted, found = self._open(at), set(held), {}
            for item in islice(items, taken - at):
                if at in wanted:
                    found[at] = item
                at += 1
            if at == taken:
                if taken < emitted + self._size:
                    if is_known and next(items, _END) is not _END:
                        raise ValueError(
                            f"the source goes on with item {taken}, and it had ended there when the "
                            "state was saved: go on with the same items as before, and read new ones "
                            "in the next epoch"
                        )
                    steps.total = taken
                return [found[k] for k in held], items
            if is_known:
                raise ValueError(
                    f"the source has ended at item {at}, before the place of the state: go on with "
                    "the same items as before"
                )
            if at < emitted:
                # The last of the steps that were counted had fewer items.
                steps.before = steps.total = at
                return [], iter(())
            # The input had ended, and the buffer was taken in part.
            taken = at

    def _iterate(self, steps: _Steps, buffer: list[Item],
                 items: Iterator[Item]) -> Iterator[Item]:
        size, seed, epoch = self._size, self._seed, steps.epoch
        while steps.total is None:
            slots = steps.draw(_native.stream_slots(size, seed, epoch, steps.emitted(), _CHUNK))
            for slot in slots:
                try:
                    incoming = next(items, _END)
                except BaseException:
                    # No item was given for this slot.
                    steps.stop()
                    raise
                if incoming is _END:
                    steps.end(len(buffer))
                    break
                item, buffer[slot] = buffer[slot], incoming
                yield item
        while buffer:
            left, first = len(buffer), steps.emitted()
            slots = steps.draw(_native.stream_slots(size, seed, epoch, first, _CHUNK, left))
            for slot in slots:
                item, last = buffer[slot], buffer.pop()
                if slot < len(buffer):
                    buffer[slot] = last
                yield item

    def __repr__(self) -> str:
        epoch, emitted, _ = self._place()
        return (f"<StreamShuffle(buffer_size={self._size}, seed={self._seed!r}) at item {emitted} of "
                f"epoch {epoch}>")


class _Steps:
    """Counts the steps of an iteration. The iterator over a list of slots knows how many are left, so
    nothing has to count them one by one."""

    def __init__(self, epoch: int, before: int, buffer: int) -> None:
        self.epoch, self.before, self._buffer = epoch, before, buffer
        self._size, self._left = 0, iter([0][1:])
        # The number of items of the input, when its end has been found.
        self.total: int | None = None

    def draw(self, slots: Any) -> Iterator[int]:
        """The slots of the next steps."""
        self.before, self._size = self.emitted(), len(slots)
        self._left = iter(slots.tolist())
        return self._left

    def stop(self) -> None:
        """The input has given no item, so the last slot was not used."""
        self.before, self._size, self._left = self.emitted() - 1, 0, iter([0][1:])

    def end(self, held: int) -> None:
        """The input has ended."""
        self.stop()
        self.total = self.before + held

    def emitted(self) -> int:
        return self.before + self._size - operator.length_hint(self._left)

    def place(self) -> tuple[int, int, int]:
        emitted = self.emitted()
        taken = emitted + self._buffer if self.total is None else self.total
        return self.epoch, emitted, min(taken, emitted + self._buffer) if emitted else 0
