"""What the data sets for PyTorch's loaders have in common: an epoch that workers see, ranks, and what
they say when an epoch is over."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch.utils.data import IterableDataset, get_worker_info

from ._loaders import count, saved
from ._loops import checked_tail
from ._native import ForeignStateError
from ._ranks import accelerate_loaders, check_ranks, has_group, ranks_of

# The most workers of a loader: each has a place for its end, in 32 KiB of shared memory.
WORKERS = 4096


@contextmanager
def undivided() -> Iterator[None]:
    """Hides from a source that it is read by a worker of a loader: otherwise it would divide its items
    among the workers, and we would divide them again."""
    module = torch.utils.data._utils.worker
    info, module._worker_info = module._worker_info, None
    try:
        yield
    finally:
        module._worker_info = info


class Epochs(IterableDataset[Any]):
    """A data set whose workers see the epoch and the place at which its iterations begin."""

    def _begin(self, rank: int | None, ranks: int | None, tail: str, drop_last: bool) -> None:
        check_ranks(rank, ranks)
        self._rank, self._ranks = rank, ranks
        self._tail = checked_tail(tail, drop_last, ("pad", "short"))
        # In shared memory, so that workers which outlive an epoch see the next one: the epoch, how
        # much of it all ranks have taken, the number of this choice, and for each worker that of
        # the last choice whose epoch it has read to the end.
        self._at = torch.zeros(3 + WORKERS, dtype=torch.int64)
        self._at[2] = 1
        self._at.share_memory_()  # type: ignore[no-untyped-call, unused-ignore]

    def set_epoch(self, epoch: int) -> None:
        """Sets the epoch of the iterations that begin from now on; the first is 0. When one of them
        has ended, no other begins until an epoch is set again, so a loop that forgets to do so
        cannot repeat the same order for ever. The epoch of a state that was loaded keeps the
        state's place."""
        epoch = count(epoch, "epoch")
        place = self._place()
        self._go(epoch, place[1] if epoch == place[0] else 0)

    def _go(self, epoch: int, taken: int) -> None:
        # As an integer with a sign, which all 64 bits fit.
        self._at[0], self._at[1] = epoch - (epoch >> 63 << 64), taken
        self._at[2] += 1

    def _place(self) -> tuple[int, int]:
        """Where an iteration begins."""
        return int(self._at[0]) % 2**64, int(self._at[1])

    def _readers(self) -> tuple[int, int, int, int]:
        """The rank, the number of ranks, the worker and the number of workers."""
        info = get_worker_info()
        rank, ranks = ranks_of(self._rank, self._ranks)
        return rank, ranks, *((0, 1) if info is None else (info.id, info.num_workers))

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        if has_group() or accelerate_loaders():
            # A worker that is not forked knows nothing of the process group.
            state["_rank"], state["_ranks"] = ranks_of(self._rank, self._ranks)
        return state


class EpochIterator:
    """One worker's part of an epoch."""

    def __init__(self, data: Epochs) -> None:
        self._rank, self._ranks, self._worker, self._workers = data._readers()
        if self._workers > WORKERS:
            raise ValueError(
                f"a loader of a {type(data).__name__} has at most {WORKERS} workers, not "
                f"{self._workers}: give it a smaller num_workers"
            )
        self._chosen, self._ends = data._at[2], data._at[3 + self._worker]
        self._choice = int(self._chosen)
        self._is_new = True

    def _check(self, data: Epochs) -> None:
        """Refuses to begin an epoch again that was read to its end."""
        if self._is_new and int(self._ends) == self._choice:
            raise ValueError(
                f"epoch {data._place()[0]} of this {type(data).__name__} was read to its end: call "
                "its set_epoch before each epoch, also to read the same one again"
            )
        self._is_new = False

    def _end(self) -> None:
        """Notes that nothing is left."""
        self._ends.fill_(self._choice)

    def _resumed(self, state_dict: Any, **expected: Any) -> Mapping[str, Any]:
        """A state, if it is one of this worker's part of the same data."""
        state = saved(state_dict, "a data set's iterator")
        for name, value in expected.items():
            if state.get(name) != value:
                raise ForeignStateError(
                    f"the state is of other data, ranks or workers: its {name} is {state.get(name)}, "
                    f"not {value}"
                )
        self._is_new = False
        return state


def count_of(state: Mapping[str, Any], name: str) -> int:
    """A part of a state that is a number."""
    number = state.get(name)
    if not isinstance(number, int) or number < 0:
        raise ForeignStateError(f"the state has {name} {number}, which is no count")
    return number
