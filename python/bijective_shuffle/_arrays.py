"""Arrays of NumPy: shuffled in place along their first axis, copied, drawn and sampled."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import _native, cuda
from ._native import ArrayError, Permutation


def shuffle(a: np.ndarray[Any, Any], seed: int | bytes, epoch: int = 0) -> None:
    """Shuffles an array in place along its first axis: row `p[k]` moves to place `k`, where `p` is
    `Permutation(len(a), seed, epoch)`.

    The rows may be of any type and width. An array that is not in C order is copied, shuffled and
    copied back. An array of objects is shuffled while the GIL is held, any other one without. An
    array on a GPU is shuffled there, by `bijective_shuffle.cuda`.

    Raises `TypeError` for what is no array, and `ArrayError` for an array that is read-only or
    whose rows overlap. The array is then unchanged. Ctrl-C takes effect afterwards: an array is
    shuffled as a whole or not at all.

    Arrays of other libraries in the host's memory are shuffled where they are, if they have
    `__dlpack__`: tensors of PyTorch, for example. NumPy before 2.1 takes these as read-only.
    """
    if _is_on_gpu(a):
        cuda.shuffle(a, seed, epoch)
    else:
        _reorder((a,), seed, epoch, undo=False)


def unshuffle(a: np.ndarray[Any, Any], seed: int | bytes, epoch: int = 0) -> None:
    """Undoes `shuffle` with the same seed and epoch."""
    if _is_on_gpu(a):
        cuda.unshuffle(a, seed, epoch)
    else:
        _reorder((a,), seed, epoch, undo=True)


def shuffle_together(*arrays: np.ndarray[Any, Any], seed: int | bytes, epoch: int = 0) -> None:
    """Shuffles arrays of one length in place, all in the order that `shuffle` would give each.

    Raises `ArrayError` also if the lengths differ or two arrays share memory. All arrays are then
    unchanged.
    """
    _reorder(arrays, seed, epoch, undo=False)


def unshuffle_together(*arrays: np.ndarray[Any, Any], seed: int | bytes, epoch: int = 0) -> None:
    """Undoes `shuffle_together` with the same seed and epoch."""
    _reorder(arrays, seed, epoch, undo=True)


def shuffled(a: Any, seed: int | bytes, epoch: int = 0) -> Any:
    """A copy of an array, or of what NumPy can make one of, shuffled as by `shuffle`."""
    if _is_on_gpu(a):
        return cuda.shuffled(a, seed, epoch)
    if isinstance(a, np.ma.MaskedArray):
        raise TypeError(_MASKED)
    copy = np.array(a, order="C", copy=True)
    shuffle(copy, seed, epoch)
    return copy


def permuted(
    a: Any, seed: int | bytes, *, axis: int = -1, undo: bool = False
) -> np.ndarray[Any, Any]:
    """A copy of an array in which the items along an axis are shuffled, each row apart.

    The rows are numbered in C order of the other axes, and row `r` is shuffled by
    `Permutation(n, seed, epoch=r)`, where `n` is the length of the axis. `undo` puts the items
    back.
    """
    if isinstance(a, np.ma.MaskedArray):
        raise TypeError(_MASKED)
    moved = np.moveaxis(np.asarray(a), axis, -1)
    rows = np.array(moved, order="C", copy=True)
    length = rows.shape[-1]
    matrix = rows.reshape(-1, length) if rows.size else rows.reshape(0, length)
    if not _native.permuted(matrix, seed, undo):
        # Items of a size that no integer has: by their indexes.
        indexes = permutations(len(matrix), length, seed)
        if undo:
            indexes = np.argsort(indexes, axis=-1)
        matrix[...] = matrix[np.arange(len(matrix))[:, None], indexes]
    return np.moveaxis(rows, -1, axis)


def choice(n: int, k: int, seed: int | bytes, epoch: int = 0) -> np.ndarray[Any, Any]:
    """`k` different numbers below `n` in random order: the head of `Permutation.walk(n, seed,
    epoch)`.

    It takes time and memory in proportion to `k`, whatever `n` is.
    """
    if k > n:
        raise ValueError(f"{k} different numbers cannot be chosen from {n}")
    return Permutation.walk(n, seed, epoch).head(k).to_numpy()


def permutations(
    count: int, n: int, seed: int | bytes, dtype: Any = np.int64
) -> np.ndarray[Any, Any]:
    """A matrix of `count` independent permutations of `n` items, of which row `r` is
    `Permutation(n, seed, epoch=r)`."""
    return _native.write_permutations(count, n, seed, dtype)


_MASKED = "a masked array is two arrays: use shuffle_together(a.data, np.ma.getmaskarray(a), ..)"


def _is_on_gpu(a: Any) -> bool:
    return not isinstance(a, np.ndarray) and cuda.is_on_gpu(a)


def _in_host_memory(a: Any) -> Any:
    """The memory of an array of another library as one of NumPy, if it has DLPack; otherwise what
    was given."""
    if isinstance(a, np.ndarray) or not hasattr(a, "__dlpack__"):
        return a
    try:
        return np.from_dlpack(a)
    except (BufferError, RuntimeError) as error:
        raise ArrayError(f"NumPy cannot use the array's memory: {error}") from error


def _reorder(
    arrays: tuple[np.ndarray[Any, Any], ...], seed: int | bytes, epoch: int, undo: bool
) -> None:
    arrays = tuple(_in_host_memory(a) for a in arrays)
    for a in arrays:
        _check(a)
    if not arrays:
        return
    order = Permutation(len(arrays[0]), seed, epoch)
    plain = all(a.flags.c_contiguous for a in arrays)
    if plain:
        _native.reorder(order, list(arrays), undo)
        return
    _check_apart(arrays)
    copies = [a if a.flags.c_contiguous else np.array(a, order="C", copy=True) for a in arrays]
    _native.reorder(order, copies, undo)
    # Nothing below can fail: shapes and types are equal.
    for a, copy in zip(arrays, copies):
        if copy is not a:
            a[...] = copy


def _check(a: Any) -> None:
    """Refuses what cannot be shuffled in place."""
    if not isinstance(a, np.ndarray):
        raise TypeError(
            f"an array is shuffled in place, not {type(a).__name__}: use shuffled(..) for a copy"
        )
    if isinstance(a, np.ma.MaskedArray):
        raise TypeError(_MASKED)
    if a.ndim == 0:
        raise TypeError("an array without an axis has no rows to shuffle")
    if not a.flags.writeable:
        raise ArrayError("the array is read-only: use shuffled(..) for a copy")
    if not a.flags.c_contiguous and _overlaps_itself(a):
        raise ArrayError("items of the array share memory: use shuffled(..) for a copy")


def _overlaps_itself(a: np.ndarray[Any, Any]) -> bool:
    """Whether items may share memory, as in a view with strides of 0. Every view that indexing and
    transposing make is found to be free of that."""
    reach = a.itemsize
    for stride, length in sorted((abs(s), n) for s, n in zip(a.strides, a.shape) if n > 1):
        if stride < reach:
            return True
        reach += stride * (length - 1)
    return False


def _check_apart(arrays: tuple[np.ndarray[Any, Any], ...]) -> None:
    """Refuses arrays that share memory. Views that interleave, such as columns of one matrix, do
    not share any."""
    for k, a in enumerate(arrays):
        for b in arrays[:k]:
            # Exact, and soon done for views that indexing makes.
            if np.shares_memory(a, b):
                raise ArrayError("two of the arrays share memory")
