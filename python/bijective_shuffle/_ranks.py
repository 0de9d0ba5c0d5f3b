"""Which rank of how many asks for items: found when an iteration begins, which is the first moment
at which every framework knows."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator
from typing import Any

import torch

# Where Accelerate's loaders are, and those of them that deal out one stream of items to processes.
_LOADERS = "accelerate.data_loader"
_DEALERS = {"BatchSamplerShard", "DataLoaderDispatcher", "IterableDatasetShard"}


def check_ranks(rank: int | None, ranks: int | None) -> None:
    """Refuses one without the other, and a rank that is not below their number."""
    if (rank is None) != (ranks is None):
        raise ValueError("give both rank and ranks, or neither")
    if rank is not None and ranks is not None and not 0 <= rank < ranks:
        raise ValueError(f"there is no rank {rank} of {ranks}")


def ranks_of(rank: int | None, ranks: int | None) -> tuple[int, int]:
    """The rank and the number of ranks that an iteration is for. Where they were not given, they are
    those of `torch.distributed`; a loader that Accelerate has prepared deals out the items itself,
    so it gets those of all ranks."""
    loaders = accelerate_loaders()
    if rank is not None and ranks is not None:
        if ranks > 1 and any(type(loader).__name__ in _DEALERS for loader in loaders):
            raise ValueError(
                "Accelerate deals out the batches of a loader that it has prepared, so "
                f"ranks={ranks} would deal them out twice: leave out rank and ranks"
            )
        return rank, ranks
    if loaders:
        return 0, 1
    if (processes := _accelerate_processes()) > 1:
        raise ValueError(
            f"Accelerate runs {processes} processes, but no loader that it has prepared asks for "
            "these items: iterate over `accelerator.prepare(loader)`, or give rank and ranks"
        )
    if has_group():
        return torch.distributed.get_rank(), torch.distributed.get_world_size()
    if (size := os.environ.get("WORLD_SIZE", "1")) != "1":
        raise ValueError(
            f"WORLD_SIZE is {size}, but torch.distributed has no process group: call "
            "init_process_group before the sampler is used, or give rank and ranks"
        )
    return 0, 1


def has_group() -> bool:
    """Whether this process is a rank of `torch.distributed`."""
    return bool(torch.distributed.is_available() and torch.distributed.is_initialized())


def accelerate_loaders() -> list[Any]:
    """The objects of Accelerate that are asking for items, the innermost first.

    `accelerator.prepare` wraps a sampler without telling it, so whether its items are dealt out once
    more shows only in who is calling."""
    found: list[Any] = []
    frame = sys._getframe() if _LOADERS in sys.modules else None
    while frame is not None:
        if frame.f_globals.get("__name__") == _LOADERS:
            found.append(frame.f_locals.get("self"))
        frame = frame.f_back
    return found


def refuse_share(items: Iterator[Any], ranks: int) -> None:
    """Refuses items of a source that was split by rank, where `ranks` of them deal out one stream: each
    would deal out its own share, and the rest of it would be lost. Hugging Face's data sets and
    WebDataset tell that they are split, also behind generators and the iterators of `itertools`."""
    if ranks == 1 and not (accelerate_loaders() and _accelerate_processes() > 1):
        return
    seen: list[Any] = [items]
    for one in seen:
        if isinstance(one, Iterator) and len(seen) < 64:
            seen += gc.get_referents(one)
        own = getattr(one, "__dict__", {})
        is_split = getattr(own.get("_distributed"), "world_size", 1) > 1
        stages = own.get("pipeline")
        if isinstance(stages, list):
            is_split |= any(getattr(stage, "__name__", "") == "split_by_node" for stage in stages)
        if is_split:
            raise ValueError(
                f"the source is a share of a {type(one).__name__} that was split by rank, and the ranks "
                "deal out one whole stream: give each rank the whole source, or give rank=0, ranks=1, "
                "and each rank a seed of its own"
            )


def epoch_in(loaders: list[Any]) -> int | None:
    """The epoch that Accelerate's loader has come to. It calls `set_epoch` too, but that does not
    reach a sampler behind `skip_first_batches`."""
    # Not `getattr`, which asks the loaders that these wrap.
    epochs = (vars(loader).get("iteration") for loader in loaders if loader is not None)
    return next((epoch for epoch in epochs if isinstance(epoch, int)), None)


def _accelerate_processes() -> int:
    """The number of processes that Accelerate runs, 1 if it is not in use."""
    state = sys.modules.get("accelerate.state")
    # Making a `PartialState` would start Accelerate.
    shared = state.PartialState._shared_state if state is not None else {}
    return int(shared.get("num_processes", 1))
