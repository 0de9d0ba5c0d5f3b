"""Arrays on a GPU, by their interfaces. What needs no GPU comes first."""

import bijective_shuffle as bs
import numpy as np
import pytest
from bijective_shuffle import cuda

SHAPES = [(1000,), (100_003,), (5000, 3), (300, 2, 50), (70, 1000), (1,), (0,), (5, 0)]


class Described:
    """An array that is only its interface."""

    def __init__(self, **interface):
        array = {"shape": (10,), "typestr": "<f4", "data": (4096, False), "version": 3}
        self.__cuda_array_interface__ = {**array, **interface}


def is_there():
    try:
        return bool(bs._native.gpu())
    except bs.GpuUnavailableError:
        return False


@pytest.mark.parametrize("interface,error", [
    ({"shape": ()}, bs.ArrayError), ({"data": (4096, True)}, bs.ArrayError),
    ({"strides": (8,)}, bs.ArrayError), ({"strides": (-4,)}, bs.ArrayError),
    ({"shape": (10, 2**62)}, bs.ArrayError), ({"typestr": "|O8"}, bs.ArrayError),
    ({"typestr": "é"}, bs.ArrayError), ({"data": 5}, TypeError), ({"shape": None}, bs.ArrayError),
], ids=str)
def test_interfaces_that_are_refused(interface, error):
    with pytest.raises(error):
        cuda.shuffle(Described(**interface), 1)


def test_what_is_not_on_a_gpu():
    for bad in (np.arange(5), [1, 2], None):
        for function in (cuda.shuffle, cuda.unshuffle, cuda.shuffled):
            with pytest.raises(TypeError):
                function(bad, 1)
    with pytest.raises(TypeError, match="out"):
        cuda.shuffled(Described(), 1)
    with pytest.raises(TypeError):
        cuda.randperm(10, 1, out=Described(typestr="<f4"))
    with pytest.raises(bs.ArrayError):
        cuda.randperm(9, 1, out=Described(typestr="<i4"))
    with pytest.raises(bs.ArrayError):
        cuda.shuffled(Described(), 1, out=Described(shape=(11,)))
    with pytest.raises(bs.ArrayError, match="share"):
        cuda.shuffled(Described(), 1, out=Described(data=(4100, False)))
    for bad in ("cpu", "cuda:x", "cuda1x"):
        with pytest.raises(ValueError):
            cuda.randperm(10, 1, device=bad)


@pytest.mark.skipif(is_there(), reason="there is a GPU")
def test_without_a_gpu_it_is_said_what_is_missing():
    for attempt in (lambda: cuda.shuffle(Described(), 1), lambda: bs.shuffle(Described(), 1),
                    lambda: cuda.randperm(10, 1), lambda: cuda.randperm(10, 1, device="cuda:0"),
                    lambda: cuda.randperm(10, 1, out=Described(typestr="<i4"))):
        with pytest.raises(ImportError):
            attempt()
    # There is nothing to move.
    cuda.shuffle(Described(shape=(0,)), 1)


needs_gpu = pytest.mark.skipif(not is_there(), reason="there is no GPU")


def torch_arrays():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    return (lambda a: torch.from_numpy(a).cuda()), (lambda a: a.cpu().numpy())


def cupy_arrays():
    cupy = pytest.importorskip("cupy", reason="CuPy is not installed")
    return cupy.asarray, cupy.asnumpy


@needs_gpu
@pytest.mark.parametrize("library", [torch_arrays, cupy_arrays])
@pytest.mark.parametrize("dtype", ["uint8", "float16", "int32", "float64", "complex128"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_arrays_of_other_libraries(library, dtype, shape):
    up, down = library()
    host = (np.arange(int(np.prod(shape))) % 2000).astype(dtype).reshape(shape)
    expected = bs.shuffled(host, 42, 3)
    a = up(host)
    copy = bs.shuffled(a, 42, 3)
    assert type(copy) is type(a) and np.array_equal(down(copy), expected)
    assert np.array_equal(down(a), host)
    bs.shuffle(a, 42, 3)
    assert np.array_equal(down(a), expected)
    bs.unshuffle(a, 42, 3)
    assert np.array_equal(down(a), host)


@needs_gpu
@pytest.mark.parametrize("n", [0, 1, 256, 257, 1000, 3_000_001])
def test_randperm(n):
    expected = bs.Permutation(n, 42, 1).to_numpy()
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    for dtype in ("int32", "int64"):
        found = cuda.randperm(n, 42, 1, dtype=dtype, device="cuda:0")
        assert found.dtype == getattr(torch, dtype) and found.device.index == 0
        assert np.array_equal(found.cpu().numpy(), expected)
    out = torch.empty(n, dtype=torch.int64, device="cuda")
    assert cuda.randperm(n, 42, 1, out=out) is out
    assert np.array_equal(out.cpu().numpy(), expected)
    cupy = pytest.importorskip("cupy", reason="CuPy is not installed")
    for dtype in ("int32", "uint32", "int64", "uint64"):
        found = cuda.randperm(n, 42, 1, dtype=dtype, library="cupy")
        assert found.dtype == np.dtype(dtype) and np.array_equal(cupy.asnumpy(found), expected)


@needs_gpu
def test_walks_and_inverses():
    up, down = torch_arrays()
    host = np.arange(100_003)
    for p in (bs.Permutation.walk(100_003, 5), bs.Permutation(100_003, 5).inverse()):
        a = up(host)
        bs._native.gpu_reorder(p, a, None, 0, 0, False)
        assert np.array_equal(down(a), p.to_numpy())
        bs._native.gpu_reorder(p, a, None, 0, 0, True)
        assert np.array_equal(down(a), host)


@needs_gpu
def test_the_order_of_the_callers_stream():
    """Each call reads what the one before it wrote in the caller's stream, and the memory of an
    array that is dropped is not taken from a shuffle that still runs."""
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    n = 4_000_000
    order = torch.from_numpy(bs.Permutation(n, 7).to_numpy()).cuda()
    torch.cuda.synchronize()
    for stream in (torch.cuda.Stream(), torch.cuda.default_stream()):
        with torch.cuda.stream(stream):
            for k in range(50):
                a = torch.zeros(n, dtype=torch.int64, device="cuda")
                a += torch.arange(k, n + k, device="cuda")
                b = bs.shuffled(a, 7)
                del a
                # Likely to be where `a` was.
                overwritten = torch.full((n,), -1, dtype=torch.int64, device="cuda")
                bs.shuffle(overwritten, 8)
                assert bool((b == order + k).all())
                assert bool((overwritten == -1).all())


@needs_gpu
def test_arrays_on_a_gpu_that_are_refused():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    a = torch.arange(100, device="cuda").reshape(10, 10)
    for bad in (a.T, a[::2], a[:, 1]):
        with pytest.raises(bs.ArrayError):
            bs.shuffle(bad, 1)
    with pytest.raises(bs.ArrayError):
        cuda.shuffled(a, 1, out=a)
    with pytest.raises(bs.ArrayError, match="memory of GPU"):
        cuda.shuffle(Described(), 1)
    assert torch.equal(a, torch.arange(100, device="cuda").reshape(10, 10))
    # A part of an array has its own address.
    part = torch.arange(100, device="cuda")[37:]
    bs.shuffle(part, 1)
    assert np.array_equal(part.cpu().numpy(), 37 + bs.Permutation(63, 1).to_numpy())
