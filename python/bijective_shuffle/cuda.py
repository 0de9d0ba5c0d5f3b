"""Arrays in the memory of an NVIDIA GPU: those of PyTorch and CuPy, and any others that have
`__cuda_array_interface__` or, for DLPack, `__dlpack__` and `__dlpack_device__`.

Nothing is copied to the host, and no call waits for the GPU: the work is ordered with the caller's
stream, which is the current one of PyTorch or CuPy, or `stream`, as a number. The values are those
of the CPU.

It needs a driver for CUDA 12 or later, and the compiler NVRTC, which comes with CUDA and with
PyTorch. Without them calls raise `GpuUnavailableError`, which is an `ImportError`.
"""

from __future__ import annotations

import sys
from typing import Any, SupportsIndex

from . import _native
from ._native import ArrayError, Permutation
from ._types import Seed

__all__ = ["randperm", "shuffle", "shuffled", "unshuffle"]


def shuffle(
    a: Any, seed: Seed, epoch: SupportsIndex = 0, *, stream: int | None = None
) -> None:
    """Shuffles an array in place along its first axis, as `bijective_shuffle.shuffle` does. It
    takes memory for one copy, which is freed by the stream; `shuffled(.., out=..)` takes none.

    Raises `ArrayError` for an array that is read-only or not in C order.
    """
    _native.gpu_reorder(_order(a, seed, epoch), a, None, *_place(a, stream), False)


def unshuffle(
    a: Any, seed: Seed, epoch: SupportsIndex = 0, *, stream: int | None = None
) -> None:
    """Undoes `shuffle` with the same seed and epoch."""
    _native.gpu_reorder(_order(a, seed, epoch), a, None, *_place(a, stream), True)


def shuffled(
    a: Any,
    seed: Seed,
    epoch: SupportsIndex = 0,
    *,
    out: Any = None,
    stream: int | None = None,
) -> Any:
    """A shuffled copy of an array, as the same library makes it, or written to `out`."""
    if out is None:
        library = _library(a)
        if library is None:
            raise TypeError("give `out` for an array that is neither PyTorch's nor CuPy's")
        out = library.empty_like(a)
    _native.gpu_reorder(_order(a, seed, epoch), a, out, *_place(a, stream), False)
    return out


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
    """The values of `Permutation(n, seed, epoch)` as an array on a GPU: of PyTorch or, with
    `library='cupy'`, of CuPy; or written to `out`.

    `dtype` is 'int32', 'int64' or, for CuPy and arrays of others, 'uint32' or 'uint64'.
    """
    order = Permutation(n, seed, epoch)
    if out is None:
        # So that it is said what is missing, before a framework says it in its own way.
        _native.gpu(_index(device))
        if library == "torch":
            import torch

            out = torch.empty(n, dtype=getattr(torch, dtype), device=f"cuda:{_index(device)}")
        elif library == "cupy":
            import cupy

            with cupy.cuda.Device(_index(device)):
                out = cupy.empty(n, dtype=dtype)
        else:
            raise ValueError(f"library is 'torch' or 'cupy', not {library!r}")
    _native.gpu_indexes(order, out, *_place(out, stream))
    return out


def _index(device: Any) -> int:
    """The number of a device: `cuda` is the first one."""
    if device is None or isinstance(device, int):
        return device or 0
    number = str(device).removeprefix("cuda").removeprefix(":")
    if not str(device).startswith("cuda") or not (number or "0").isdigit():
        raise ValueError(f"a GPU is 'cuda', 'cuda:1' or 1, not {device!r}")
    return int(number or 0)


def _library(a: Any) -> Any:
    """PyTorch or CuPy, if the array is one of theirs."""
    name = type(a).__module__.partition(".")[0]
    return sys.modules.get(name) if name in {"torch", "cupy"} else None


# Kinds of devices of DLPack: a GPU, and memory that it shares with the host.
_CUDA, _CUDA_MANAGED = 2, 13


def is_on_gpu(a: Any) -> bool:
    """Whether an array is in the memory of an NVIDIA GPU."""
    if hasattr(a, "__cuda_array_interface__"):
        return True
    return hasattr(a, "__dlpack__") and a.__dlpack_device__()[0] in {_CUDA, _CUDA_MANAGED}


def _check(a: Any) -> None:
    if not is_on_gpu(a):
        raise TypeError(f"not an array in the memory of a GPU: {type(a).__name__}")


def _order(a: Any, seed: Seed, epoch: SupportsIndex) -> Permutation:
    _check(a)
    by_interface = hasattr(a, "__cuda_array_interface__")
    shape = a.__cuda_array_interface__["shape"] if by_interface else a.shape
    if not shape:
        raise ArrayError("an array without an axis has no rows to shuffle")
    return Permutation(shape[0], seed, epoch)


def _place(a: Any, stream: int | None) -> tuple[int, int]:
    """The number of the array's GPU, and of the stream that its library uses now."""
    _check(a)
    library = _library(a)
    if library is None:
        device = a.__dlpack_device__()[1] if hasattr(a, "__dlpack_device__") else 0
        # 1 stands for the default stream, 0 is not allowed there.
        given = getattr(a, "__cuda_array_interface__", {}).get("stream")
        return device, stream if stream is not None else given or 1
    if library.__name__ == "torch":
        number = a.device.index
        current = library.cuda.current_stream(a.device).cuda_stream
    else:
        number = a.device.id
        with a.device:
            current = library.cuda.get_current_stream().ptr
    return number, current if stream is None else stream
