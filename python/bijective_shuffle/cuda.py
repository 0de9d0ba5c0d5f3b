"""Arrays in the memory of an NVIDIA GPU: those of PyTorch and CuPy, and any others that have
`__cuda_array_interface__` or, for DLPack, `__dlpack__` and `__dlpack_device__`.

Nothing is copied to the host, and no call waits for the GPU: the work is done in the caller's
stream, which is the current one of PyTorch or CuPy, or `stream`, as a number. The values are those
of the CPU.

Arrays are in C order. With `contiguous=True` one of PyTorch or CuPy that is not, such as a
transposed one, is copied, and the copy is shuffled and copied back.

Calls can be captured in a CUDA graph, such as `torch.cuda.graph` makes, once a call has been made
on that GPU. The graph does what they would do, with the same seed and the same arrays, and keeps
their working memory as long as it exists. The arrays have to be kept by the caller.

It needs a driver for CUDA 12 or later, and the compiler NVRTC, which comes with CUDA and with
PyTorch. Without them calls raise `GpuUnavailableError`, which is an `ImportError`.
"""

from __future__ import annotations

import operator
import sys
from types import SimpleNamespace
from typing import Any, SupportsIndex

from . import _native
from ._native import ArrayError, Permutation
from ._types import Seed

__all__ = [
    "permuted",
    "randperm",
    "shuffle",
    "shuffle_segments",
    "shuffled",
    "unshuffle",
    "unshuffle_segments",
    "unshuffled",
]

# Arrays of words, of up to this many bytes, are not worth a copy from their library; see
# python/src/gpu/device.rs.
_WORDS, _SHORT_BYTES = {1, 2, 4, 8, 16}, 64 << 10


def shuffle(
    a: Any,
    seed: Seed,
    epoch: SupportsIndex = 0,
    *,
    contiguous: bool = False,
    stream: int | None = None,
) -> None:
    """Shuffles an array in place along its first axis, as `bijective_shuffle.shuffle` does. It
    takes memory for one copy from the array's library, or from the driver if that is neither
    PyTorch nor CuPy or `stream` is given; `shuffled(.., out=..)` takes none. Neither do tensors of
    PyTorch with up to 4096 rows of 1, 2, 4, 8 or 16 bytes.

    Raises `ArrayError` for an array that is read-only, or not in C order without `contiguous`.
    """
    _in_place(a, (seed, epoch), contiguous, stream, False)


def unshuffle(
    a: Any,
    seed: Seed,
    epoch: SupportsIndex = 0,
    *,
    contiguous: bool = False,
    stream: int | None = None,
) -> None:
    """Undoes `shuffle` with the same seed and epoch."""
    _in_place(a, (seed, epoch), contiguous, stream, True)


def shuffled(
    a: Any,
    seed: Seed,
    epoch: SupportsIndex = 0,
    *,
    out: Any = None,
    contiguous: bool = False,
    stream: int | None = None,
) -> Any:
    """Returns a shuffled copy of an array, made by the same library, or written to `out`."""
    return _copied(a, (seed, epoch), out, contiguous, stream, False)


def unshuffled(
    a: Any,
    seed: Seed,
    epoch: SupportsIndex = 0,
    *,
    out: Any = None,
    contiguous: bool = False,
    stream: int | None = None,
) -> Any:
    """Returns a copy in the order before `shuffle`, as `shuffled` returns one."""
    return _copied(a, (seed, epoch), out, contiguous, stream, True)


def _copied(
    a: Any,
    key: tuple[Seed, SupportsIndex],
    out: Any,
    contiguous: bool,
    stream: int | None,
    undo: bool,
) -> Any:
    library = _library(a)
    if out is None and library is None:
        raise TypeError("give `out` for an array that is neither PyTorch's nor CuPy's")
    if _is_lazy(a, library):
        a = a.resolve_conj().resolve_neg()
    source = _in_order(a, library, stream) if contiguous else a
    memory, rows, place = _seen(source, library, stream)
    target = None
    if out is None:
        with _device(library, source):
            out = library.empty_like(source)
    elif _is_lazy(out, _library(out)):
        raise ArrayError("`out` is a conjugated or negated view: give an array of its own")
    elif contiguous:
        target = _in_order(out, _library(out), stream)
    written = _seen(out if target is None else target, _library(out), stream)[0]
    _native.gpu_reorder(Permutation(rows, *key), memory, written, *place, undo)
    if target is not None and target is not out:
        out[...] = target
    note_writes(out)
    return out


def permuted(
    a: Any,
    seed: Seed,
    *,
    axis: SupportsIndex | None = -1,
    undo: bool = False,
    out: Any = None,
) -> Any:
    """Returns a copy of an array of PyTorch or CuPy with the items along an axis shuffled, each row
    by its own order, as `bijective_shuffle.permuted` does: by one launch, or row after row where a
    row takes more than half of the GPU's L2 cache or there is no NVRTC. The result is copied to
    `out`, if that is given: an array of the same library, shape and type, perhaps `a` itself.

    An array that is not in C order with the axis as its last one is first copied by its library.
    """
    library = _library(a)
    if library is None:
        raise TypeError("rows are shuffled apart in PyTorch and CuPy: copy others to the host")
    if out is not None and not (is_on_gpu(out) and _library(out) is library):
        raise ArrayError("`out` is an array on a GPU, of the same library")
    if out is not None and out.shape != a.shape:
        raise ArrayError(f"out has the shape {out.shape}: the array's is needed, {a.shape}")
    if out is not None and out.dtype != a.dtype:
        raise TypeError(f"out has the type {out.dtype}: the array's is needed, {a.dtype}")
    if _is_lazy(a, library):
        a = a.resolve_conj().resolve_neg()
    with _device(library, a):
        axis = None if axis is None else operator.index(axis)
        rows = a.reshape(-1) if axis is None else library.moveaxis(a, axis, -1)
        is_torch = library.__name__ == "torch"
        rows = rows.contiguous() if is_torch else library.ascontiguousarray(rows)
        result = library.empty_like(rows)
    memory, _, place = _seen(rows.reshape(-1), library, None)
    written = _seen(result.reshape(-1), library, None)[0]
    _native.gpu_permuted(seed, rows.shape[-1], memory, written, *place, undo)
    with _device(library, a):
        # A view, as that of the rows.
        result = result.reshape(a.shape) if axis is None else library.moveaxis(result, -1, axis)
        if out is None:
            return result
        out[...] = result
    return out


def shuffle_segments(a: Any, offsets: Any, seed: Seed) -> None:
    """Shuffles segments of an array of PyTorch or CuPy in place along its first axis, each by its own
    order, as `bijective_shuffle.shuffle_segments` does: all segments together, except that long ones
    follow one after the other. It takes memory for one copy from the array's library.

    `offsets` is on the same GPU and of the same library, with int32 or int64 items, or for CuPy also
    uint32 or uint64; anything else is first copied there. The call waits for the GPU once, to check
    the offsets, so it cannot be captured in a graph. It needs NVRTC.
    """
    _segments(a, offsets, seed, False)


def unshuffle_segments(a: Any, offsets: Any, seed: Seed) -> None:
    """Undoes `shuffle_segments` with the same offsets and seed."""
    _segments(a, offsets, seed, True)


def randperm(
    n: SupportsIndex,
    seed: Seed,
    epoch: SupportsIndex = 0,
    *,
    device: Any = None,
    dtype: str = "int64",
    library: str = "torch",
    out: Any = None,
    stream: int | None = None,
) -> Any:
    """The indexes of `Permutation(n, seed, epoch)` as an array on a GPU: of PyTorch or, with
    `library='cupy'`, of CuPy; or written to `out`.

    `dtype` is 'int32', 'int64' or, for CuPy and arrays of others, 'uint32' or 'uint64'. `device` is
    a number or a text such as 'cuda:1'; None and 'cuda' are the library's current device.
    """
    order = Permutation(n, seed, epoch)
    if out is None:
        if library not in {"torch", "cupy"}:
            raise ValueError(f"library is 'torch' or 'cupy', not {library!r}")
        number = _index(device, library)
        # So that it is said what is missing, before a framework says it in its own way.
        _native.gpu(number)
        if library == "torch":
            import torch

            out = torch.empty(n, dtype=getattr(torch, dtype), device=f"cuda:{number}")
        else:
            import cupy

            with cupy.cuda.Device(number):
                out = cupy.empty(n, dtype=dtype)
    memory, _, place = _seen(out, _library(out), stream)
    _native.gpu_indexes(order, memory, *place)
    note_writes(out)
    return out


def _segments(a: Any, offsets: Any, seed: Seed, undo: bool) -> None:
    library = _library(a)
    if library is None:
        raise TypeError("segments are shuffled in PyTorch and CuPy: copy others to the host")
    memory, _, place = _seen(a, library, None)
    with _device(library, a):
        copy = library.empty_like(a)
        if _library(offsets) is not library or not is_on_gpu(offsets):
            from ._arrays import check_offsets

            host = check_offsets(offsets)
            is_torch = library.__name__ == "torch"
            offsets = library.as_tensor(host, device=a.device) if is_torch else library.asarray(host)
    ends = _seen(offsets, library, None)[0]
    _native.gpu_segments(ends, seed, memory, _seen(copy, library, None)[0], *place, undo)
    with _device(library, a):
        a[...] = copy
    note_writes(a)


def _index(device: Any, library: str) -> int:
    """The number of a device, by default of the library's current one."""
    if isinstance(device, int):
        return device
    number = "" if device is None else str(device).removeprefix("cuda").removeprefix(":")
    if device is not None and not (str(device).startswith("cuda") and (number or "0").isdigit()):
        raise ValueError(f"a GPU is 'cuda', 'cuda:1' or 1, not {device!r}")
    return int(number) if number else _current_device(library)


def _current_device(library: str) -> int:
    # A library that has not been imported, or has not started CUDA, has chosen no device.
    module: Any = sys.modules.get(library)
    if module is None or library == "torch" and not module.cuda.is_initialized():
        return 0
    if library == "torch":
        return int(module.cuda.current_device())
    try:
        return int(module.cuda.runtime.getDevice())
    except module.cuda.runtime.CUDARuntimeError:
        # There is no GPU, and the caller asks what is missing.
        return 0


def _in_place(
    a: Any, key: tuple[Seed, SupportsIndex], contiguous: bool, stream: int | None, undo: bool
) -> None:
    library = _library(a)
    moved = _in_order(a, library, stream) if contiguous else a
    memory, rows, place = _seen(moved, library, stream)
    order = Permutation(rows, *key)
    is_copied = moved is not a
    is_known = isinstance(memory, tuple)
    is_short = is_known and memory[2] in _WORDS and rows * memory[2] <= _SHORT_BYTES
    if library is None or stream is not None or is_short:
        _native.gpu_reorder(order, memory, None, *place, undo)
        if is_copied:
            a[...] = moved
        note_writes(a)
        return
    # Another stream than the current one would not be waited for when the copy is let go.
    with _device(library, moved):
        copy = library.empty_like(moved)
    # As that of the array, except for the address, so there is nothing else to ask.
    room = (copy.data_ptr(), *memory[1:]) if is_known else _seen(copy, library, stream)[0]
    _native.gpu_reorder(order, memory, room, *place, undo, not is_copied)
    if is_copied:
        a[...] = copy
    note_writes(a)


def note_writes(*arrays: Any) -> None:
    """Tells autograd of PyTorch that tensors have changed, which it does not see by itself. Otherwise
    it would compute gradients from values that are no longer there."""
    torch: Any = sys.modules.get("torch")
    # A module that is being imported has no class yet.
    tensors: list[Any] = [a for a in arrays if isinstance(a, getattr(torch, "Tensor", ()))]
    for a in tensors:
        if hasattr(torch.autograd.graph, "increment_version"):
            torch.autograd.graph.increment_version(a)
        elif not a.is_inference():
            # PyTorch 1 lacks this function; an index_fill_ with no indexes bumps the version
            # instead.
            a.index_fill_(0, a.new_empty(0, dtype=torch.int64), 0)


class _Nothing:
    def __enter__(self) -> None: ...

    def __exit__(self, *_: object) -> None: ...


_NOTHING = _Nothing()


def _device(library: Any, a: Any) -> Any:
    """CuPy makes arrays on the current device, PyTorch on that of the array that is given."""
    return _NOTHING if library.__name__ == "torch" else a.device


def _library(a: Any) -> Any:
    """PyTorch or CuPy, if the array is one of theirs."""
    name = type(a).__module__.partition(".")[0]
    return sys.modules.get(name) if name in {"torch", "cupy"} else None


def _is_lazy(a: Any, library: Any) -> bool:
    """Whether the values of a tensor are not what is in its memory."""
    is_torch = library is not None and library.__name__ == "torch"
    return is_torch and (a.is_conj() or a.is_neg())


def _in_order(a: Any, library: Any, stream: int | None) -> Any:
    """An array, or a copy of it in C order if it is in another."""
    if library is None:
        raise TypeError("`contiguous` is for arrays of PyTorch and CuPy: copy it before the call")
    is_torch = library.__name__ == "torch"
    if a.is_contiguous() if is_torch else a.flags.c_contiguous:
        return a
    if stream is not None:
        raise ValueError("`contiguous` copies in the library's current stream: leave out `stream`")
    from ._arrays import _overlaps_itself

    strides, shape = (a.stride(), a.shape) if is_torch else (a.strides, a.shape)
    if _overlaps_itself(SimpleNamespace(strides=strides, shape=shape, itemsize=1)):  # type: ignore[arg-type]
        raise ArrayError("items of the array share memory: copy it before the call")
    return a.contiguous() if is_torch else library.ascontiguousarray(a)


# Kinds of devices of DLPack: a GPU, and memory that it shares with the host.
_CUDA, _CUDA_MANAGED = 2, 13


def is_on_gpu(a: Any) -> bool:
    """Whether an array is in the memory of an NVIDIA GPU."""
    library = _library(a)
    if library is not None and library.__name__ == "torch":
        return bool(getattr(a, "is_cuda", False))
    if hasattr(a, "__cuda_array_interface__"):
        return True
    return hasattr(a, "__dlpack__") and a.__dlpack_device__()[0] in {_CUDA, _CUDA_MANAGED}


# The types of indexes, as in `__cuda_array_interface__`.
_TYPES = {
    "torch.int32": "<i4", "torch.uint32": "<u4", "torch.int64": "<i8", "torch.uint64": "<u8"
}


def _seen(a: Any, library: Any, stream: int | None) -> tuple[Any, int, tuple[int, int]]:
    """An array as `_native` takes it, its rows, the number of its GPU, and the stream that its
    library uses now.

    Each question is asked once: the interface of a tensor takes PyTorch longer to make than the
    driver takes to launch a kernel.
    """
    if library is not None and library.__name__ == "torch":
        if (
            type(a) is library.Tensor
            and a.is_cuda
            and a.layout is library.strided
            and not a.requires_grad
            and a.dim()
            and a.is_contiguous()
        ):
            rows, item, dtype = len(a), a.element_size(), str(a.dtype)
            width = a.numel() // rows * item if rows else item
            memory = (a.data_ptr(), rows, width, _TYPES.get(dtype, dtype))
            return memory, rows, _torch_place(a, library, stream)
    interface = getattr(a, "__cuda_array_interface__", None)
    if interface is None and not is_on_gpu(a):
        raise TypeError(f"not an array in the memory of a GPU: {type(a).__name__}")
    shape = a.shape if interface is None else interface["shape"]
    if not shape:
        raise ArrayError("an array without an axis has no rows to shuffle")
    memory = a if interface is None else interface
    if library is None:
        number = a.__dlpack_device__()[1] if hasattr(a, "__dlpack_device__") else 0
        # 1 stands for the default stream, 0 is not allowed there.
        given = (interface or {}).get("stream")
        place = number, stream if stream is not None else given or 1
    elif library.__name__ == "torch":
        place = _torch_place(a, library, stream)
    else:
        with a.device:
            current = library.cuda.get_current_stream().ptr
        place = a.device.id, current if stream is None else stream
    return memory, shape[0], place


def _torch_place(a: Any, library: Any, stream: int | None) -> tuple[int, int]:
    number = a.get_device()
    if stream is None:
        # A tenth of the time of `torch.cuda.current_stream`, which makes an object.
        raw = getattr(library._C, "_cuda_getCurrentRawStream", None)
        stream = raw(number) if raw else library.cuda.current_stream(number).cuda_stream
    return number, stream
