"""Arrays of NumPy: shuffled in place along an axis, copied, drawn and sampled."""

from __future__ import annotations

import operator
import sys
from collections.abc import Sequence
from math import prod
from typing import Any, SupportsIndex

import numpy as np

from . import _native, cuda
from ._native import ArrayError, Permutation
from ._types import InPlace, Seed


def shuffle(
    a: InPlace, seed: Seed, epoch: SupportsIndex = 0, *, axis: SupportsIndex = 0
) -> None:
    """Shuffles an array in place along an axis: what has index `p[k]` on that axis moves to index
    `k`, where `p` is `Permutation(a.shape[axis], seed, epoch)`. Along the first axis these are the
    rows.

    The rows may be of any type and width. An array that is not in C order, and one that is shuffled
    along another axis, is copied, shuffled and copied back. An array of objects is shuffled while
    the GIL is held, any other one without. An array on a GPU is shuffled there, by
    `bijective_shuffle.cuda`, along the first axis.

    Raises `TypeError` for what is no array, and `ArrayError` for an array that is read-only or
    whose rows overlap. The array is then unchanged. Ctrl-C takes effect afterwards: an array is
    shuffled as a whole or not at all.

    Arrays of other libraries in the host's memory are shuffled where they are, if they have
    `__dlpack__`: tensors of PyTorch, for example. Autograd is told that a tensor has changed. It is
    not told where an array of NumPy shares a tensor's memory, such as that of `tensor.numpy()`.
    """
    _shuffle(a, seed, epoch, axis, undo=False)


def unshuffle(
    a: InPlace, seed: Seed, epoch: SupportsIndex = 0, *, axis: SupportsIndex = 0
) -> None:
    """Undoes `shuffle` with the same seed, epoch and axis."""
    _shuffle(a, seed, epoch, axis, undo=True)


def shuffle_together(*arrays: InPlace, seed: Seed, epoch: SupportsIndex = 0) -> None:
    """Shuffles arrays of one length in place along their first axes, all in the order that
    `shuffle` would give each. They must be in host memory.

    Raises `ArrayError` also if the lengths differ or two arrays share memory. All arrays are then
    unchanged.
    """
    _reorder([_in_host_memory(a) for a in arrays], seed, epoch, undo=False)
    cuda.note_writes(*arrays)


def unshuffle_together(*arrays: InPlace, seed: Seed, epoch: SupportsIndex = 0) -> None:
    """Undoes `shuffle_together` with the same seed and epoch."""
    _reorder([_in_host_memory(a) for a in arrays], seed, epoch, undo=True)
    cuda.note_writes(*arrays)


def shuffled(
    a: Any, seed: Seed, epoch: SupportsIndex = 0, *, axis: SupportsIndex = 0, out: Any = None
) -> Any:
    """Returns a copy of an array, or of anything that NumPy can turn into one, shuffled as by
    `shuffle`. It is written to `out`, if that is given: an array of the same shape and type, also
    one of a library with DLPack, in the host's memory perhaps `a` itself. An array on a GPU gives a
    copy there; everything else gives an array of NumPy, or `out`.
    """
    return _copied(a, seed, epoch, axis, out, undo=False)


def unshuffled(
    a: Any, seed: Seed, epoch: SupportsIndex = 0, *, axis: SupportsIndex = 0, out: Any = None
) -> Any:
    """Returns a copy of an array in the order before `shuffle` with the same seed, epoch and axis.
    What may be given, and `out`, are as for `shuffled`.
    """
    return _copied(a, seed, epoch, axis, out, undo=True)


def permuted(
    a: Any,
    seed: Seed,
    *,
    axis: SupportsIndex | None = -1,
    undo: bool = False,
    out: InPlace | None = None,
) -> Any:
    """Returns a copy of an array with the items along an axis shuffled, each row by its own order.

    The rows are numbered in C order of the other axes, and row `r` is shuffled by
    `Permutation(n, seed, epoch=r)`, where `n` is the length of the axis. With `axis=None` all items
    are a single row, in C order. `undo` puts the items back. The result is copied to `out`, if that
    is given: an array of the same shape and type, perhaps `a` itself. An array of PyTorch or CuPy
    on a GPU gives a copy there.
    """
    if _is_on_gpu(a):
        return cuda.permuted(a, seed, axis=axis, undo=undo, out=out)
    if _is_masked(a):
        raise TypeError(_MASKED)
    axis = None if axis is None else _axis(axis)
    given = np.asarray(a)
    target = None if out is None else _check_out(out, given)
    moved = given if axis is None else np.moveaxis(given, axis, -1)
    rows = np.array(moved, order="C", copy=True)
    length = rows.size if axis is None else rows.shape[-1]
    matrix = rows.reshape(-1 if rows.size else 0, length)
    if not _native.permuted(matrix, seed, undo):
        # Items of a size that no integer has: by their indexes.
        indexes = permutations(len(matrix), length, seed)
        if undo:
            indexes = np.argsort(indexes, axis=-1)
        matrix[...] = matrix[np.arange(len(matrix))[:, None], indexes]
    result = rows if axis is None else np.moveaxis(rows, -1, axis)
    if target is None:
        return result
    target[...] = result
    cuda.note_writes(out)
    return out


def shuffle_segments(a: InPlace, offsets: Any, seed: Seed) -> None:
    """Shuffles segments of an array in place along its first axis, each by its own order.

    Segment `r` has the rows from `offsets[r]` up to `offsets[r + 1]`, as in CSR: there is one more
    offset than there are segments, the first is 0, and the last is the array's length. It is
    shuffled by `Permutation(n, seed, epoch=r)`, where `n` is its own length. Empty segments count.

    An array of PyTorch or CuPy on a GPU is shuffled there, by `bijective_shuffle.cuda`, all segments
    together. The rest is as for `shuffle`.

    Raises `ValueError` if the offsets do not begin with 0 or descend, and `ArrayError` if they do
    not end with the array's length. The array is then unchanged.
    """
    _shuffle_segments(a, offsets, seed, undo=False)


def unshuffle_segments(a: InPlace, offsets: Any, seed: Seed) -> None:
    """Undoes `shuffle_segments` with the same offsets and seed."""
    _shuffle_segments(a, offsets, seed, undo=True)


def choice(
    a: Any,
    k: SupportsIndex | Sequence[SupportsIndex],
    seed: Seed,
    epoch: SupportsIndex = 0,
    *,
    axis: SupportsIndex = 0,
) -> np.ndarray[Any, Any]:
    """Draws `k` different numbers below `a` in random order: the head of
    `Permutation.walk(a, seed, epoch)`. If `a` is an array, or anything that NumPy can turn into
    one, draws `k` of its rows, or of its slices along another axis, each at most once.

    `k` may also be a shape. It takes time and memory in proportion to `k`, whatever `a` is. All
    draws are without replacement and equally likely: there is no `replace` and no `p`.
    """
    shape = _shape(k)
    if getattr(a, "ndim", 0) == 0 and hasattr(a, "__index__"):
        return _numbers(a, shape, seed, epoch)
    if _is_on_gpu(a):
        raise TypeError("rows of an array on a GPU are chosen there: a[choice(len(a), k, seed)]")
    array = np.asanyarray(a)
    if array.ndim == 0:
        raise TypeError(f"choose from a number of items or an array, not {type(a).__name__}")
    axis = _axis(axis)
    length = len(np.moveaxis(array, axis, 0))
    # One after the other and then in their shape: for a single number NumPy takes the item itself.
    taken = np.take(array, _numbers(length, (prod(shape),), seed, epoch), axis=axis)
    where = axis % array.ndim
    return taken.reshape(array.shape[:where] + shape + array.shape[where + 1 :])


def permutations(
    count: SupportsIndex, n: SupportsIndex, seed: Seed, dtype: Any = np.int64
) -> np.ndarray[Any, Any]:
    """Returns a matrix of `count` independent permutations of `n` items: row `r` is
    `Permutation(n, seed, epoch=r)`."""
    return _native.write_permutations(count, n, seed, dtype)


def _check_no_frame(a: Any) -> None:
    """Refuses what would become an array without its columns' names and types."""
    if type(a).__module__.partition(".")[0] in ("pandas", "polars", "pyarrow") and hasattr(a, "columns"):
        raise TypeError(
            f"an array has no columns of a {type(a).__name__}: use bijective_shuffle.frames.shuffled"
        )


_MASKED = "a masked array is two arrays: use shuffle_together(a.data, np.ma.getmaskarray(a), ..)"


def _shape(k: Any) -> tuple[int, ...]:
    """The shape of `k` items: a number or a shape."""
    try:
        shape = tuple(map(operator.index, (k,) if hasattr(k, "__index__") else k))
    except TypeError:
        raise TypeError(f"k is an integer or a shape, not {k!r}") from None
    for length in shape:
        if length < 0:
            raise ValueError(f"k is an integer from 0 on, or a shape of such, not {length}")
    return shape


def _numbers(
    n: SupportsIndex, shape: tuple[int, ...], seed: Seed, epoch: SupportsIndex
) -> np.ndarray[Any, Any]:
    order, count = Permutation.walk(n, seed, epoch), prod(shape)
    if count > order.n:
        raise ValueError(f"{count} different items cannot be chosen from {order.n}")
    return order.head(count).to_numpy().reshape(shape)


def _is_masked(a: Any) -> bool:
    # `np.ma` imports that module, and a child that is forked meanwhile waits for ever for the end
    # of the import. Before somebody else has imported it there are no masked arrays.
    masked = sys.modules.get("numpy.ma")
    return masked is not None and isinstance(a, getattr(masked, "MaskedArray", ()))


def _is_on_gpu(a: Any) -> bool:
    return not isinstance(a, np.ndarray) and cuda.is_on_gpu(a)


def _axis(axis: SupportsIndex) -> int:
    try:
        return operator.index(axis)
    except TypeError:
        raise TypeError(f"axis is an integer, not {axis!r}") from None


def _check_first_axis(axis: SupportsIndex) -> None:
    if _axis(axis) != 0:
        raise ArrayError("an array on a GPU is shuffled along its first axis, which is axis 0")


def _check_out(out: Any, like: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The memory that the copy of an array is written to; refuses what it cannot be written to."""
    if _is_on_gpu(out):
        raise TypeError("out is on a GPU, and the array is not: give one in the host's memory")
    target = _in_host_memory(out)
    if not isinstance(target, np.ndarray):
        raise TypeError(
            f"out is an array of NumPy, or of a library with DLPack, not {type(out).__name__}"
        )
    if not target.flags.writeable:
        raise ArrayError("out is read-only: give an array that may be written to")
    _check(target)
    if target.shape != like.shape:
        raise ArrayError(f"out has the shape {target.shape}: the array's is needed, {like.shape}")
    if target.dtype != like.dtype:
        raise TypeError(f"out has the type {target.dtype}: the array's is needed, {like.dtype}")
    return target


def _in_host_memory(a: Any) -> Any:
    """The memory of an array of another library as one of NumPy, if it has DLPack; otherwise what
    was given."""
    if _is_on_gpu(a):
        raise TypeError("an array on a GPU is shuffled alone: shuffle each with the same seed")
    if isinstance(a, np.ndarray) or not hasattr(a, "__dlpack__"):
        return a
    try:
        array = np.from_dlpack(a)
    except (BufferError, RuntimeError) as error:
        raise ArrayError(
            f"NumPy cannot use the array's memory: {error} (what is of a type that NumPy has not, "
            "such as bfloat16, is shuffled as integers of its size: x.view(torch.int16))"
        ) from error
    if array.flags.writeable or not hasattr(a, "__array__"):
        return array
    # Only from version 1 on DLPack says that memory may be written to: NumPy from 2.1 on reads
    # that, and PyTorch from 2.9 on says it. The array that the library itself gives to NumPy is as
    # good, if it is not a copy and may be written to.
    own = np.asarray(a)
    return own if own.__array_interface__ == _writable(array) else array


def _writable(array: np.ndarray[Any, Any]) -> dict[str, Any]:
    """The interface of an array as it would be if the array could be written to."""
    interface = array.__array_interface__
    return {**interface, "data": (interface["data"][0], False)}


def _shuffle(a: Any, seed: Seed, epoch: SupportsIndex, axis: SupportsIndex, undo: bool) -> None:
    if _is_on_gpu(a):
        _check_first_axis(axis)
        (cuda.unshuffle if undo else cuda.shuffle)(a, seed, epoch)
        return
    array = _in_host_memory(a)
    if (axis := _axis(axis)) != 0:
        _check(array)
        array = np.moveaxis(array, axis, 0)
    _reorder([array], seed, epoch, undo)
    cuda.note_writes(a)


def _copied(
    a: Any, seed: Seed, epoch: SupportsIndex, axis: SupportsIndex, out: Any, undo: bool
) -> Any:
    if _is_on_gpu(a):
        _check_first_axis(axis)
        return (cuda.unshuffled if undo else cuda.shuffled)(a, seed, epoch, out=out)
    if _is_masked(a):
        raise TypeError(_MASKED)
    _check_no_frame(a)
    if out is None:
        target = out = np.array(a, order="C", copy=True)
    else:
        target = _check_out(out, np.asarray(a))
        target[...] = a
    _shuffle(target, seed, epoch, axis, undo)
    cuda.note_writes(out)
    return out


def _shuffle_segments(a: Any, offsets: Any, seed: Seed, undo: bool) -> None:
    if _is_on_gpu(a):
        (cuda.unshuffle_segments if undo else cuda.shuffle_segments)(a, offsets, seed)
        return
    array, ends = _in_host_memory(a), check_offsets(offsets)
    _check(array)
    moved = array if array.flags.c_contiguous else np.array(array, order="C", copy=True)
    if not _native.reorder_segments(moved, ends, seed, undo):
        # Rows of a size that no integer has: by their indexes.
        indexes = _native.segment_indexes(ends, seed)
        indexes += np.repeat(ends[:-1], np.diff(ends))
        copy = moved.copy()
        if undo:
            moved[indexes] = copy
        else:
            moved[...] = copy[indexes]
    if moved is not array:
        array[...] = moved
    cuda.note_writes(a)


def check_offsets(offsets: Any) -> np.ndarray[Any, Any]:
    """Offsets as an array of int64. One that does not fit becomes negative, which is refused
    later."""
    array = np.asarray(offsets)
    if array.ndim != 1 or array.size and array.dtype.kind not in "iu":
        raise TypeError("offsets are integers in an array with one axis")
    return np.ascontiguousarray(array, dtype=np.int64)


def _reorder(arrays: list[Any], seed: Seed, epoch: SupportsIndex, undo: bool) -> None:
    for a in arrays:
        _check(a)
    if not arrays:
        return
    order = Permutation(len(arrays[0]), seed, epoch)
    if all(a.flags.c_contiguous for a in arrays):
        _native.reorder(order, arrays, undo)
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
        _check_no_frame(a)
        raise TypeError(
            f"an array is shuffled in place, not {type(a).__name__}: use shuffled(..) for a copy"
        )
    if _is_masked(a):
        raise TypeError(_MASKED)
    if a.ndim == 0:
        raise TypeError("an array without an axis has no rows to shuffle")
    if not a.flags.writeable:
        raise ArrayError(
            "the array is read-only: use shuffled(..) for a copy. (A tensor is so by DLPack where "
            "NumPy is older than 2.1, or its library than DLPack 1: PyTorch before 2.9.)"
        )
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


def _check_apart(arrays: list[Any]) -> None:
    """Refuses arrays that share memory. Views that interleave, such as columns of one matrix, do
    not share any."""
    for k, a in enumerate(arrays):
        for b in arrays[:k]:
            # Exact, and soon done for views that indexing makes.
            if np.shares_memory(a, b):
                raise ArrayError("two of the arrays share memory")
