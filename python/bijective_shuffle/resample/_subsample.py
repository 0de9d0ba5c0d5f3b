"""Batches for private training: the batch of a step is a function of the seed and the step."""

from __future__ import annotations

import operator
import secrets
from collections.abc import Iterator
from typing import Any, SupportsIndex

import numpy as np
from numpy.typing import NDArray

from .._native import FixedSizeBatches, PoissonBatches
from .._types import Seed


class _StepSampler:
    """A batch sampler whose epochs are of as many steps each."""

    def __init__(
        self,
        batches: PoissonBatches | FixedSizeBatches,
        seed: Seed,
        steps: SupportsIndex,
        rank: SupportsIndex,
        ranks: SupportsIndex,
    ) -> None:
        self._batches, self._seed = batches, seed
        self.steps, self.step = operator.index(steps), 0
        self._rank, self._ranks = operator.index(rank), operator.index(ranks)
        if self.steps <= 0:
            raise ValueError(f"an epoch has at least one step, not {self.steps}")
        if not 0 <= self._rank < self._ranks:
            raise ValueError(f"there is no rank {self._rank} of {self._ranks}")

    def batch(self, step: SupportsIndex) -> NDArray[np.int64]:
        """This rank's items of any step."""
        return self._batches.batch(step, self._rank, self._ranks)

    def __len__(self) -> int:
        """The number of steps of an epoch."""
        return self.steps

    def __iter__(self) -> Iterator[list[int]]:
        """The batches that are left in the epoch: after a whole one, those of the next."""
        while True:
            step = self.step
            self.step += 1
            yield self.batch(step).tolist()
            if (step + 1) % self.steps == 0:
                return

    def set_epoch(self, epoch: SupportsIndex) -> None:
        """Goes to the first step of an epoch."""
        self.step = operator.index(epoch) * self.steps

    def state_dict(self) -> dict[str, Any]:
        """The seed and the next step. Loaders with workers draw steps ahead of the training: there, save
        the number of steps that were trained as `step`."""
        return {"seed": self._seed, "step": self.step}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Goes on at a state, which any number of ranks may have saved."""
        if state["seed"] != self._seed:
            raise ValueError("the state is of a sampler with another seed")
        self.step = operator.index(state["step"])


class PoissonBatchSampler(_StepSampler):
    """Batches that have each of `num_samples` items with probability `sample_rate`, by itself: Poisson
    subsampling, as the accountants of private training assume.

    It takes the arguments of Opacus' `UniformWithReplacementSampler`, as the `batch_sampler` of a
    loader. A batch takes time in proportion to its size and not to the set. It may be empty: then the
    list is empty, and it counts as a step, so the loader needs a `collate_fn` that makes a batch of no
    items (Opacus' `DPDataLoader` has one).

    An epoch has `steps` steps, without it `int(1 / sample_rate)`, and each iteration takes the next
    epoch. Without `seed`, it is drawn from `generator`, a `torch.Generator`, or from the system. The
    seed must be secret if the batches have to be.

    On many ranks, give each the same seed, and `rank` and `ranks`: their shares together are the
    batch, and differ by at most one item.

    >>> sampler = PoissonBatchSampler(num_samples=10_000, sample_rate=0.01, seed=42)
    >>> len(sampler), sampler.batch(7).tolist() == list(sampler)[7]
    (100, True)
    """

    def __init__(
        self,
        *,
        num_samples: SupportsIndex,
        sample_rate: float,
        generator: Any = None,
        steps: SupportsIndex | None = None,
        seed: Seed | None = None,
        rank: SupportsIndex = 0,
        ranks: SupportsIndex = 1,
    ) -> None:
        if operator.index(num_samples) <= 0:
            raise ValueError(f"num_samples is above 0, not {num_samples}")
        if not 0 < sample_rate <= 1:
            raise ValueError(f"sample_rate is above 0 and at most 1, not {sample_rate}")
        self.num_samples, self.sample_rate = operator.index(num_samples), sample_rate
        seed = _drawn_seed(generator) if seed is None else seed
        batches = PoissonBatches(num_samples, sample_rate, seed)
        super().__init__(batches, seed, int(1 / sample_rate) if steps is None else steps, rank, ranks)


class DistributedPoissonBatchSampler(PoissonBatchSampler):
    """`PoissonBatchSampler` for the ranks of `torch.distributed`, by the arguments of Opacus'
    `DistributedUniformWithReplacementSampler`.

    `shuffle_seed` is the seed. `shuffle` has no effect: every rank may get any item in any step. A
    `generator` is refused, since all ranks have to draw the same. An empty share is an empty list, so
    that all ranks have as many steps; Opacus' own sampler leaves it out.
    """

    def __init__(
        self,
        *,
        total_size: SupportsIndex,
        sample_rate: float,
        shuffle: bool = True,
        shuffle_seed: Seed = 0,
        steps: SupportsIndex | None = None,
        generator: None = None,
    ) -> None:
        from torch import distributed

        if generator is not None:
            raise ValueError("all ranks draw the same: give shuffle_seed instead of a generator")
        super().__init__(
            num_samples=total_size, sample_rate=sample_rate, steps=steps, seed=shuffle_seed,
            rank=distributed.get_rank(), ranks=distributed.get_world_size())


class FixedSizeBatchSampler(_StepSampler):
    """Batches of `batch_size` of `num_samples` items, each a sample without replacement that does not
    depend on the other batches.

    The batch of a step is `Permutation.walk(num_samples, seed, epoch=step)[:batch_size]`. An epoch has
    `steps` steps, without it `num_samples // batch_size`. Ranks and seeds are those of
    `PoissonBatchSampler`.

    >>> sampler = FixedSizeBatchSampler(num_samples=10**9, batch_size=3, seed=42)
    >>> len(sampler.batch(5)), len(set(sampler.batch(5).tolist()))
    (3, 3)
    """

    def __init__(
        self,
        *,
        num_samples: SupportsIndex,
        batch_size: SupportsIndex,
        generator: Any = None,
        steps: SupportsIndex | None = None,
        seed: Seed | None = None,
        rank: SupportsIndex = 0,
        ranks: SupportsIndex = 1,
    ) -> None:
        self.num_samples, self.batch_size = operator.index(num_samples), operator.index(batch_size)
        if not 0 < self.batch_size <= self.num_samples:
            raise ValueError(f"batch_size is from 1 to {self.num_samples}, not {self.batch_size}")
        seed = _drawn_seed(generator) if seed is None else seed
        batches = FixedSizeBatches(num_samples, batch_size, seed)
        all_steps = self.num_samples // self.batch_size
        super().__init__(batches, seed, all_steps if steps is None else steps, rank, ranks)


def _drawn_seed(generator: Any) -> int:
    """A seed from a generator of PyTorch, or from the system."""
    if generator is None:
        return secrets.randbits(64)
    import torch

    return int(torch.empty((), dtype=torch.int64).random_(generator=generator).item())
