"""Samplers for the `DataLoader` of grain."""

from __future__ import annotations

import operator
import sys
from typing import Any

import numpy as np
from grain.python import RecordMetadata

from ._loaders import Mixture, Source, Weighted
from ._native import Permutation

__all__ = ["ShuffleSampler", "SourceSampler"]


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


class SourceSampler:
    """The places of `Weighted` or `Mixture` over the epochs, in place of grain's `IndexSampler`.

    The record of a mixture's item is its number in all sets, one after another: give the loader a
    source of records that has the sets so. The rest is as for `ShuffleSampler`.
    """

    def __init__(self, source: Weighted | Mixture, *, num_epochs: int | None = None) -> None:
        if not isinstance(source, (Weighted, Mixture)):
            raise TypeError(f"a source of records is Weighted or Mixture, not {type(source).__name__}")
        if num_epochs is not None and num_epochs <= 0:
            raise ValueError(f"a sampler needs at least one epoch, not {num_epochs}")
        self._source: Source[Any, Any] = source
        self._num_epochs = num_epochs
        lengths = source.lengths if isinstance(source, Mixture) else []
        self._first = np.cumsum([0, *lengths]).tolist()

    def __len__(self) -> int:
        return sys.maxsize if self._num_epochs is None else self._num_epochs * self._source.n

    def __repr__(self) -> str:
        # A loader compares it with that of a checkpoint.
        return (
            f"bijective_shuffle.grain.SourceSampler({self._source!r}, "
            f"{self._source.fingerprint:#x}, num_epochs={self._num_epochs})"
        )

    def __getitem__(self, index: int) -> RecordMetadata:
        index = operator.index(index)
        if not 0 <= index < len(self):
            raise IndexError(f"there is no record {index} among {len(self)}")
        epoch, place = divmod(index, self._source.n)
        found = self._source.items(epoch, self._source.n, np.array([place], np.uint64))
        if isinstance(found, tuple):
            record = self._first[int(found[0][0])] + int(found[1][0])
        else:
            record = int(found[0])
        rng = np.random.Generator(np.random.Philox(key=self._source.fingerprint << 64 | index))
        return RecordMetadata(index=index, record_key=record, rng=rng)
