"""`Packed` for loaders such as Megatron-LM's, which ask a data set for sample `k` of a whole
training."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, SupportsIndex

import numpy as np
import torch
from torch.utils.data import Dataset

from ._loaders import count
from ._tokens import Packed
from ._types import Seed

__all__ = ["PackedDataset"]


class PackedDataset(Dataset[dict[str, torch.Tensor]]):
    """Sequences of `length` tokens of a data set such as Megatron-LM's `IndexedDataset`, which has
    `sequence_lengths`, and tokens by `get(document, offset=.., length=..)`.

    Sample `k` is place `k % n` of epoch `k // n` of `Packed(lengths, length, seed, overlap=1)`, whose
    epochs have `n` sequences. There are `samples` of them, by default one epoch. A sample has the
    `tokens`, and the `labels`, which are the tokens that follow, with a `loss_mask` of ones and
    `position_ids`, as those of `GPTDataset` without an attention mask. `documents` are the numbers of
    those that are used, by default all.
    """

    def __init__(self, data: Any, length: SupportsIndex, seed: Seed, samples: SupportsIndex | None = None,
                 *, documents: Sequence[int] | np.ndarray[Any, Any] | None = None) -> None:
        lengths = np.asarray(data.sequence_lengths)
        self._documents = None if documents is None else np.asarray(documents, dtype=np.int64)
        if self._documents is not None:
            lengths = lengths[self._documents]
        self._data, self.packed = data, Packed(lengths, length, seed, overlap=1)
        self._samples = len(self.packed) if samples is None else count(samples, "samples")

    def __len__(self) -> int:
        return self._samples

    def __getitem__(self, k: SupportsIndex) -> dict[str, torch.Tensor]:
        number = int(k)
        if not 0 <= number < self._samples:
            raise IndexError(f"there is no sample {number} among {self._samples}")
        epoch, place = divmod(number, len(self.packed))
        pieces = self.packed.items(epoch, len(self.packed), np.array([place]))[0]
        text = torch.from_numpy(self.text(pieces))
        return {
            "tokens": text[:-1].contiguous(),
            "labels": text[1:].contiguous(),
            "loss_mask": torch.ones(len(text) - 1),
            "position_ids": torch.arange(len(text) - 1),
        }

    def text(self, pieces: np.ndarray[Any, Any]) -> np.ndarray[Any, np.dtype[np.int64]]:
        """The tokens of pieces, one after another."""
        parts = []
        for document, start, end in pieces.tolist():
            if self._documents is not None:
                document = int(self._documents[document])
            parts.append(self._data.get(document, offset=start, length=end - start))
        return np.concatenate(parts).astype(np.int64)

    def __repr__(self) -> str:
        return f"PackedDataset({self.packed!r}, {self._samples} samples)"
