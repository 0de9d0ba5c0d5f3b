"""What adapters share: even parts of an order, an error, and names that nothing has."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray


class PartitionsDifferError(RuntimeError):
    """The partitions of a data frame had other rows when they were computed again."""


def unused(name: str, taken: Iterable[Any]) -> str:
    """The name, or a longer one, such that none that is taken is the same in any case."""
    folded = {str(other).casefold() for other in taken}
    while name.casefold() in folded:
        name += "_"
    return name


def bounds_of(n: int, parts: int) -> NDArray[np.int64]:
    """Where each of `parts` even parts of `n` places begins, and the end of the last."""
    return np.array([n * part // parts for part in range(parts + 1)])


def part_of(places: NDArray[np.int64], bounds: NDArray[np.int64]) -> NDArray[np.int64]:
    """The part that each place is in."""
    n, parts = int(bounds[-1]), len(bounds) - 1
    if n * parts >= 2**63:
        return np.searchsorted(bounds, places, side="right") - 1
    return ((places + 1) * parts - 1) // n


def within(places: NDArray[np.int64], to: NDArray[np.int64], bounds: NDArray[np.int64]) -> NDArray[Any]:
    """The places within the parts that they are in, in the narrowest type for all of them, since they
    travel with the rows."""
    return (places - bounds[to]).astype(np.min_scalar_type(int(np.diff(bounds).max())))
