"""Which rank of how many asks for items: found when an iteration begins, which is the first moment
at which every framework knows."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterable, Iterator
from itertools import islice
from types import CodeType, FrameType, FunctionType, GeneratorType, ModuleType
from typing import Any

import torch

# Where Accelerate's loaders are, and those of them that deal out one stream of items to processes.
_LOADERS = "accelerate.data_loader"
_DEALERS = {"BatchSamplerShard", "DataLoaderDispatcher", "IterableDatasetShard"}

# How many objects a search for a split source visits, and how many of those that one of them holds.
_VISITED, _HELD = 2048, 256


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


def refuse_share(source: Any, items: Iterator[Any], ranks: int) -> None:
    """Refuses items of a source that was split by rank, where `ranks` of them deal out one stream: each
    would deal out its own share, and the rest of it would be lost.

    Data sets of Hugging Face and WebDataset tell that they are split. They are looked for in what the
    source and its iterator hold: other iterators, containers, attributes, and variables of functions.
    What a thread or another process alone knows is not found."""
    by_accelerate = bool(accelerate_loaders()) and _accelerate_processes() > 1
    if ranks == 1 and not by_accelerate:
        return
    found: list[Any] = [items, source]
    seen: set[int] = set()
    for one in islice(found, _VISITED):
        if id(one) in seen:
            continue
        seen.add(id(one))
        if _is_share(one):
            raise ValueError(
                f"the source is a share of a {type(one).__name__} that was split by rank, and the ranks "
                "deal out one whole stream: give each rank the whole source, or "
                + ("do not prepare the loader with Accelerate, and " if by_accelerate else "")
                + "give rank=0, ranks=1, and each rank a seed of its own"
            )
        found += islice(_held(one), _HELD)


def _is_share(one: Any) -> bool:
    """Whether this is a data set that was split by rank."""
    try:
        own = vars(one)
    except Exception:
        # It has none, or it stands for an object that is not there yet.
        return False
    nodes, stages = own.get("_distributed"), own.get("pipeline")
    if type(nodes).__name__ == "DistributedConfig" and nodes.world_size > 1:
        return True
    return type(stages) is list and any(
        getattr(stage, "__name__", "") == "split_by_node" for stage in stages)


def _held(one: Any) -> Iterable[Any]:
    """What an object refers to, but nothing that it has in common with others, such as its class."""
    # Not `isinstance`, which asks what stands for another object for that one's class.
    if issubclass(type(one), (str, bytes, type, ModuleType, CodeType, FrameType)):
        return ()
    if type(one) is FunctionType:
        return [one.__closure__, one.__defaults__, *_named(one.__code__, one.__globals__)]
    if type(one) in (list, tuple):
        # Not copied, as it may have millions of items.
        return one  # type: ignore[no-any-return]
    held = gc.get_referents(one)
    if type(one) is GeneratorType and one.gi_frame is not None:
        held += one.gi_frame.f_locals.values()
        held += _named(one.gi_code, one.gi_frame.f_globals)
    return held


def _named(code: CodeType, variables: dict[str, Any]) -> list[Any]:
    """The global variables that a function names."""
    return [variables[name] for name in code.co_names if name in variables]


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
