"""A sampler for the `DataLoader` of grain."""

from __future__ import annotations

import operator
import sys

import numpy as np
from grain.python import RecordMetadata

from ._native import Permutation

__all__ = ["ShuffleSampler"]


class ShuffleSampler:
    """The order of records over the epochs, in place of grain's `IndexSampler`: every epoch is
    `Permutation.walk(num_records, seed, epoch)`.

    It is unbounded if `num_epochs` is None. The loader shards it: give it `shard_options`. Each
    record gets a generator of random numbers of its own, keyed by the seed and the record's index.
    """

    def __init__(self, num_records: int, *, seed: int, num_epochs: int | None = None) -> None:
        if num_records <= 0:
            raise ValueError(f"a sampler needs at least one record, not {num_records}")
        if num_epochs is not None and num_epochs <= 0:
            raise ValueError(f"a sampler needs at least one epoch, not {num_epochs}")
        # Integers of NumPy would overflow below.
        self._num_records, self._seed = operator.index(num_records), operator.index(seed)
        self._num_epochs = num_epochs
        # The epoch that the last record was of.
        self._order = Permutation.walk(num_records, seed)

    def __len__(self) -> int:
        if self._num_epochs is None:
            return sys.maxsize
        return self._num_epochs * self._num_records

    def __repr__(self) -> str:
        # A loader compares it with that of a checkpoint.
        return (
            f"bijective_shuffle.grain.ShuffleSampler({self._num_records}, seed={self._seed}, "
            f"num_epochs={self._num_epochs})"
        )

    def __getitem__(self, index: int) -> RecordMetadata:
        index = operator.index(index)
        if not 0 <= index < len(self):
            raise IndexError(f"there is no record {index} among {len(self)}")
        epoch, place = divmod(index, self._num_records)
        order = self._order
        if order.epoch != epoch:
            order = self._order = Permutation.walk(self._num_records, self._seed, epoch)
        rng = np.random.Generator(np.random.Philox(key=self._seed << 64 | index))
        return RecordMetadata(index=index, record_key=order[place], rng=rng)
