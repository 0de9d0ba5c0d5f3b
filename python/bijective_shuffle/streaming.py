"""Orders for the `StreamingDataset` of MosaicML's Streaming.

`register()` adds two algorithms, for its argument `shuffle_algo`:

| name | order |
| --- | --- |
| `bijective` | all samples among each other; every node reads every shard |
| `bijective_shards` | each node has shards of its own, and shuffles some of them at a time among each other |

Both depend on seed and epoch as two numbers. The algorithms that Streaming has add them, so two
runs with neighbouring seeds share the orders of most of their epochs.
"""

from __future__ import annotations

import struct
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ._native import Permutation

__all__ = ["get_shuffle_all", "get_shuffle_shards", "register"]


def get_shuffle_all(
    shard_sizes: NDArray[np.int64],
    num_canonical_nodes: int,
    seed: int,
    epoch: int,
    block_size: int = 1 << 18,
) -> NDArray[np.int64]:
    """One order of all samples: `Permutation(n, seed, epoch)`."""
    return Permutation(int(np.sum(shard_sizes)), seed, epoch).to_numpy()


def get_shuffle_shards(
    shard_sizes: NDArray[np.int64],
    num_canonical_nodes: int,
    seed: int,
    epoch: int,
    block_size: int = 1 << 18,
) -> NDArray[np.int64]:
    """An order in which each canonical node reads its own part of the shards, which are the same in
    all epochs, in an order of the epoch. The samples of successive shards, `block_size` or a few
    more, are shuffled among each other.

    A node has as many samples as another, or one more. So two nodes may share a shard.
    """
    sizes = np.asarray(shard_sizes, dtype=np.int64)
    starts = np.cumsum(sizes) - sizes
    total = int(sizes.sum())
    order = _order(len(sizes), seed, 0, "shards of nodes")
    ends = np.cumsum(sizes[order])
    parts: list[NDArray[np.int64]] = []
    for node in range(num_canonical_nodes):
        low, high = (total * k // num_canonical_nodes for k in (node, node + 1))
        # The runs of samples that are this node's, shard by shard.
        runs = []
        for shard, end in zip(order.tolist(), ends.tolist()):
            begin = end - int(sizes[shard])
            first, last = max(begin, low), min(end, high)
            if first < last:
                sample = int(starts[shard]) + first - begin
                runs.append(np.arange(sample, sample + last - first))
        block: list[NDArray[np.int64]] = []
        samples = 0
        for run in _order(len(runs), seed, epoch, "shards", node).tolist():
            block.append(runs[run])
            samples += len(runs[run])
            if samples >= block_size:
                parts.append(_mixed(block, seed, epoch, node, len(parts)))
                block, samples = [], 0
        if block:
            parts.append(_mixed(block, seed, epoch, node, len(parts)))
    return np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)


def register() -> None:
    """Adds the algorithms to those that `StreamingDataset(.., shuffle_algo=..)` knows. Call it in
    every process, before the data set is made."""
    from streaming.base.shuffle import algos

    added: dict[str, Callable[..., NDArray[np.int64]]] = {
        "bijective": get_shuffle_all,
        "bijective_shards": get_shuffle_shards,
    }
    algos.update(added)


# What keys are for: no two purposes share one.
_PURPOSES = {"shards of nodes": 0, "shards": 1, "samples": 2}


def _order(n: int, seed: int, epoch: int, purpose: str, *parts: int) -> NDArray[np.int64]:
    key = struct.pack("<QHHIQQ", seed, _PURPOSES[purpose], 0, 0, *(*parts, 0, 0)[:2])
    return Permutation(n, key, epoch).to_numpy()


def _mixed(
    runs: list[NDArray[np.int64]], seed: int, epoch: int, node: int, part: int
) -> NDArray[np.int64]:
    samples = np.concatenate(runs)
    return samples[_order(len(samples), seed, epoch, "samples", node, part)]
