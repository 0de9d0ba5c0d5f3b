"""Types of arguments, for the annotations of this package."""

from __future__ import annotations

from typing import Any, Protocol, SupportsIndex, TypeAlias

import numpy as np


class _HasDLPack(Protocol):
    def __dlpack__(self, *args: Any, **kwargs: Any) -> Any: ...

    def __dlpack_device__(self) -> Any: ...


class _HasCudaInterface(Protocol):
    @property
    def __cuda_array_interface__(self) -> dict[str, Any]: ...


# What is shuffled in place: an array of NumPy, or one of a library that has these interfaces.
InPlace: TypeAlias = np.ndarray[Any, Any] | _HasDLPack | _HasCudaInterface

# An integer from 0 up to 2^64 - 1, also one of NumPy, or 32 bytes.
Seed: TypeAlias = SupportsIndex | bytes
