"""Which blocks each node reads, mostly those that it had."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, SupportsIndex

import numpy as np

from . import _native
from ._loaders import count
from ._types import Seed


class NodeRun(NamedTuple):
    """A run that has read a part of an epoch: its number of nodes, and the number of blocks that each
    of them read."""

    nodes: int
    read: int


class NodeBlocks:
    """The blocks that each node reads in an epoch. Each block is read once, on one node, and at
    least a share `kept` of each node's blocks is the same in all epochs, so a node that keeps
    blocks on its own disk reads only the others again.

    The home of a node is a run of a random order of the blocks. In each epoch the nodes exchange the
    rest at random, and each reads its blocks in a random order.

    >>> import bijective_shuffle as bs
    >>> blocks = bs.NodeBlocks(1000, kept=0.9, seed=42)
    >>> first, second = (blocks.of_node(epoch, 3, 8) for epoch in (0, 1))
    >>> len(first), len(set(first) & set(second)) >= 100
    (125, True)
    """

    def __init__(self, blocks: SupportsIndex, kept: float, seed: Seed) -> None:
        self._blocks, self._kept, self._seed = count(blocks, "blocks"), float(kept), seed
        # Checks the arguments.
        _native.check_blocks(self._blocks, self._kept, seed)

    def of_node(self, epoch: SupportsIndex, node: SupportsIndex,
                nodes: SupportsIndex) -> np.ndarray[Any, np.dtype[np.int64]]:
        """The blocks that one of several nodes reads in an epoch, in order."""
        return self.after(epoch, (), node, nodes)

    def after(self, epoch: SupportsIndex, runs: Sequence[tuple[int, int]], node: SupportsIndex,
              nodes: SupportsIndex) -> np.ndarray[Any, np.dtype[np.int64]]:
        """The blocks that remain for a node, in order, after earlier runs have read some: a `NodeRun`,
        or such a pair, for each run."""
        given = [
            (count(many, "a number of nodes"), count(read, "a number of blocks"))
            for many, read in runs
        ]
        return _native.node_blocks(self._blocks, self._kept, self._seed, epoch, given, node,
                                   nodes).view(np.int64)

    def __repr__(self) -> str:
        return f"NodeBlocks({self._blocks}, kept={self._kept}, seed={self._seed!r})"
