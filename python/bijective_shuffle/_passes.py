"""Refuses objects of one epoch where a loader would ask them anew for each."""

from __future__ import annotations

import sys

# The beginnings of the names of modules that ask a `sampler` or a `batch_sampler` for its items,
# once for each epoch.
_LOADERS = (
    "torch.utils.data.dataloader",
    "torch.utils.data.sampler",
    "torch.utils.data.distributed",
    "torchdata.",
    "accelerate.data_loader",
    "lightning.",
    "pytorch_lightning.",
)

# What is for loaders in place of a class, and in place of the others.
_INSTEAD = {
    "Sampler": "batch_sampler=ShuffleBatchSampler(n, batch_size, seed=..)",
    "Lengths": "batch_sampler=SourceBatchSampler(source)",
    "StreamShuffle": "the data set StreamDataset(source, buffer_size, seed, batch_size)",
    "Permutation": "sampler=ShuffleSampler(n, seed=..)",
    "Places": "sampler=ShuffleSampler(n, seed=..)",
    "Indexes": "sampler=ShuffleSampler(n, seed=..)",
    "Chunks": "batch_sampler=ShuffleBatchSampler(n, batch_size, seed=..)",
}
_OF_SOURCE = "batch_sampler=SourceBatchSampler(source, batch_size)"


def refuse_loaders(name: str, depth: int = 1) -> None:
    """Raises `TypeError` if a loader is asking, which is `depth` frames above the caller's."""
    if "torch" not in sys.modules:
        return
    module = sys._getframe(depth + 1).f_globals.get("__name__", "")
    if module.startswith(_LOADERS):
        raise TypeError(
            f"{name} has the items of one epoch, and a loader asks for those of another one in each "
            f"pass: give it {_INSTEAD.get(name, _OF_SOURCE)} of bijective_shuffle.torch, or a list where all passes "
            "shall be the same"
        )
