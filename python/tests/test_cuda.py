"""Arrays on a GPU, by their interfaces. What needs no GPU comes first."""

import ctypes
import gc
import subprocess
import sys
import time

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


def test_arrays_that_are_not_on_a_gpu_are_refused():
    for bad in (np.arange(5), [1, 2], None):
        for function in (cuda.shuffle, cuda.unshuffle, cuda.shuffled, cuda.unshuffled):
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
    for attempt, said in [
        (lambda: bs.shuffle(Described(), 1, axis=1), "first axis"),
        (lambda: bs.unshuffle(Described(), 1, axis=-1), "first axis"),
        (lambda: bs.shuffled(Described(), 1, axis=1), "first axis"),
        (lambda: bs.unshuffled(Described(), 1, axis=1), "first axis"),
        (lambda: bs.shuffle_together(Described(), np.arange(10), seed=1), "shuffle each"),
        (lambda: bs.permuted(Described(), 1), "PyTorch and CuPy"),
        (lambda: bs.choice(Described(), 1, 1), "chosen there"),
    ]:
        with pytest.raises((TypeError, bs.ArrayError), match=said):
            attempt()
    for bad in ("cpu", "cuda:x", "cuda1x"):
        with pytest.raises(ValueError):
            cuda.randperm(10, 1, device=bad)


def test_an_array_is_asked_for_its_interface_once():
    """PyTorch takes 2 microseconds to make it, as long as the driver to launch a kernel."""

    class Counted:
        asked = 0

        @property
        def __cuda_array_interface__(self):
            self.asked += 1
            return {"shape": (0, 3), "typestr": "<i8", "data": (4096, False), "version": 3}

    for call in (lambda a: cuda.shuffle(a, 1), lambda a: cuda.unshuffle(a, 1),
                 lambda a: cuda.shuffled(a, 1, out=Counted()),
                 lambda a: cuda.unshuffled(Counted(), 1, out=a)):
        a = Counted()
        call(a)
        assert a.asked == 1


def test_copies_are_made_by_the_arrays_own_library():
    for call in (lambda: cuda.shuffle(Described(strides=(8,)), 1, contiguous=True),
                 lambda: cuda.unshuffle(Described(), 1, contiguous=True)):
        with pytest.raises(TypeError, match="PyTorch and CuPy"):
            call()
    with pytest.raises(bs.ArrayError, match="contiguous=True"):
        cuda.shuffle(Described(strides=(8,)), 1)


class Framework:
    """As much of PyTorch and CuPy as tells the current device."""

    class CUDARuntimeError(RuntimeError): ...

    def __init__(self, current, is_initialized=True):
        self.cuda = self.runtime = self
        self.current, self.is_initialized = current, lambda: is_initialized

    def current_device(self):
        if self.current is None:
            raise self.CUDARuntimeError("no device")
        return self.current

    getDevice = current_device


@pytest.mark.parametrize("library", ["torch", "cupy"])
def test_a_device_without_a_number_is_the_librarys_current_one(library, monkeypatch):
    monkeypatch.setitem(sys.modules, library, Framework(3))
    monkeypatch.setitem(sys.modules, {"torch": "cupy", "cupy": "torch"}[library], Framework(5))
    asked = []

    def gpu(number):
        asked.append(number)
        raise bs.GpuUnavailableError("asked")

    monkeypatch.setattr(bs._native, "gpu", gpu)
    for device in (None, "cuda", "cuda:1", 2, 0, "cuda:0"):
        with pytest.raises(bs.GpuUnavailableError, match="asked"):
            cuda.randperm(10, 1, device=device, library=library)
    assert asked == [3, 3, 1, 2, 0, 0]
    # Without a GPU, without CUDA in this process, and without the library.
    for module in (Framework(None, library == "cupy"), None):
        monkeypatch.setitem(sys.modules, library, module)
        with pytest.raises(bs.GpuUnavailableError, match="asked"):
            cuda.randperm(10, 1, library=library)
    assert asked[6:] == [0, 0]
    with pytest.raises(ValueError, match="library"):
        cuda.randperm(10, 1, library="jax")


@pytest.mark.skipif(is_there(), reason="there is a GPU")
def test_without_a_gpu_it_is_said_what_is_missing():
    for attempt in (lambda: cuda.shuffle(Described(), 1), lambda: bs.shuffle(Described(), 1),
                    lambda: cuda.randperm(10, 1), lambda: cuda.randperm(10, 1, device="cuda:0"),
                    lambda: cuda.randperm(10, 1, out=Described(typestr="<i4"))):
        with pytest.raises(ImportError):
            attempt()
    # There is nothing to move.
    cuda.shuffle(Described(shape=(0,)), 1)


class Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p), ("kind", ctypes.c_int32), ("number", ctypes.c_int32),
        ("axes", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64),
    ]


DELETER = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class Managed(ctypes.Structure):
    _fields_ = [("tensor", Tensor), ("context", ctypes.c_void_p), ("deleter", DELETER)]


class Versioned(ctypes.Structure):
    _fields_ = [
        ("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("context", ctypes.c_void_p),
        ("deleter", DELETER), ("flags", ctypes.c_uint64), ("tensor", Tensor),
    ]


new_capsule = ctypes.pythonapi.PyCapsule_New
new_capsule.restype = ctypes.py_object
new_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]


class Exporter:
    """An array with a capsule of DLPack, which notes how it is used. Its memory is nobody's."""

    NAMES = {False: b"dltensor", True: b"dltensor_versioned"}

    def __init__(self, versioned=True, *, shape=(10,), strides=None, kind=2, number=0, code=2,
                 bits=32, lanes=1, flags=0, major=1, data=4096, byte_offset=0):
        self.shape, self.device, self.versioned = shape, (kind, number), versioned
        self.asked, self.freed = [], []
        self.deleter = DELETER(self.freed.append)
        lengths = (ctypes.c_int64 * len(shape))(*shape)
        steps = None if strides is None else (ctypes.c_int64 * len(shape))(*strides)
        tensor = Tensor(data, kind, number, len(shape), code, bits, lanes, lengths, steps,
                        byte_offset)
        if versioned:
            self.managed = Versioned(major, 0, None, self.deleter, flags, tensor)
        else:
            self.managed = Managed(tensor, None, self.deleter)

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, **settings):
        if not self.versioned and "max_version" in settings:
            raise TypeError("this is from before version 1")
        self.asked.append(settings)
        # Their names live as long as the class.
        self.capsule = new_capsule(ctypes.addressof(self.managed), self.NAMES[self.versioned], None)
        return self.capsule


@pytest.mark.parametrize("known", [
    (4096, 2**62, 8, "<f4"), (4096, 2**32, 2**32, "<f4"), (2**64 - 39, 10, 4, "<f4"),
])
def test_rows_that_cannot_be_in_memory_are_refused(known):
    for source, out in [(known, None), ((4096, known[1], 0, "<f4"), known)]:
        with pytest.raises(bs.ArrayError, match=f"{known[1]} rows of {known[2]} bytes"):
            bs._native.gpu_reorder(bs.Permutation(known[1], 1), source, out, 0, 1, False)


@pytest.mark.parametrize("versioned", [False, True])
def test_a_tensor_of_dlpack_is_taken_and_freed_once(versioned):
    # A length of another size than the permutation's: nothing is done with the memory.
    array = Exporter(versioned)
    with pytest.raises(bs.ArrayError, match="10 rows was given for 9"):
        bs._native.gpu_reorder(bs.Permutation(9, 1), array, None, 0, 77, False)
    assert len(array.freed) == 1 and array.freed == [ctypes.addressof(array.managed)]
    settings = {"stream": 77, "max_version": (1, 0)} if versioned else {"stream": 77}
    assert array.asked == [settings]
    # The capsule has another name now, so nobody takes the tensor from it again.
    assert "used_dltensor" in repr(array.capsule)

    class Again:
        shape, __dlpack_device__ = array.shape, array.__dlpack_device__

        def __dlpack__(self, **settings):
            return array.capsule

    with pytest.raises(BufferError, match="taken before"):
        cuda.shuffle(Again(), 1)
    assert len(array.freed) == 1


@pytest.mark.parametrize("versioned", [False, True])
@pytest.mark.parametrize("settings,error", [
    ({"strides": (2,)}, bs.ArrayError), ({"strides": (-1,)}, bs.ArrayError),
    ({"strides": (0,)}, bs.ArrayError), ({"shape": (5, 2), "strides": (1, 5)}, bs.ArrayError),
    ({"strides": (2**62,)}, bs.ArrayError), ({"shape": (10, 2**62)}, bs.ArrayError),
    ({"shape": (10, -1)}, bs.ArrayError), ({"lanes": 4}, bs.ArrayError),
    ({"bits": 4}, bs.ArrayError), ({"bits": 0}, bs.ArrayError),
    ({"data": 2**64 - 1, "byte_offset": 1}, bs.ArrayError),
], ids=str)
def test_tensors_that_are_refused_are_freed(versioned, settings, error):
    array = Exporter(versioned, **settings)
    with pytest.raises(error):
        cuda.shuffle(array, 1)
    assert len(array.freed) == 1


def test_tensors_on_other_devices_are_not_asked_for():
    for kind in (1, 3, 7, 10):
        array = Exporter(kind=kind)
        with pytest.raises(TypeError, match="GPU"):
            cuda.shuffle(array, 1)
        with pytest.raises(bs.ArrayError, match=f"kind {kind}"):
            bs._native.gpu_reorder(bs.Permutation(10, 1), array, None, 0, 1, False)
        assert array.asked == array.freed == []
    array = Exporter(number=1)
    with pytest.raises(bs.ArrayError, match="GPU 1, not on GPU 0"):
        bs._native.gpu_reorder(bs.Permutation(10, 1), array, None, 0, 1, False)
    with pytest.raises(bs.ArrayError, match="read-only"):
        cuda.shuffle(Exporter(flags=1), 1)
    with pytest.raises(BufferError, match="version 2"):
        cuda.shuffle(Exporter(major=2), 1)
    # Without a stream it is the default one, which is 1 here.
    array = Exporter(shape=(0,))
    cuda.shuffle(array, 1)
    assert array.asked[0]["stream"] == 1 and len(array.freed) == 1
    with pytest.raises(TypeError, match="int32"):
        cuda.randperm(10, 1, out=Exporter())
    with pytest.raises(bs.ArrayError, match="share"):
        cuda.shuffled(Exporter(), 1, out=Exporter(byte_offset=8))


class HostArray:
    """An array of another library in the host's memory, by DLPack."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **settings):
        return self.array.__dlpack__(**settings)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


def test_arrays_of_other_libraries_in_host_memory_are_shuffled_where_they_are():
    memory = np.arange(1000).reshape(500, 2)
    order = bs.Permutation(500, 3).to_numpy()
    if not np.from_dlpack(HostArray(memory)).flags.writeable:
        with pytest.raises(bs.ArrayError, match="read-only"):
            bs.shuffle(HostArray(memory), 3)
        return
    bs.shuffle(HostArray(memory), 3)
    assert np.array_equal(memory[:, 0], 2 * order)
    other = np.arange(500)
    bs.unshuffle_together(HostArray(memory), other, seed=3)
    assert np.array_equal(memory, np.arange(1000).reshape(500, 2))
    assert np.array_equal(other[order], np.arange(500))
    frozen = np.arange(5)
    frozen.flags.writeable = False
    with pytest.raises(bs.ArrayError):
        bs.shuffle(HostArray(frozen), 1)
    # Memory that NumPy cannot use.
    with pytest.raises(bs.ArrayError, match="NumPy cannot use"):
        bs.shuffle(Exporter(kind=7), 1)


@pytest.mark.parametrize("address,bytes,expected", [
    (1000, 100, True), (1000, 500, True), (1000, 501, False), (1499, 1, True), (1499, 2, False),
    (999, 2, False), (1500, 1, False),
    # Two that follow one another, as an allocator maps memory that grows, and then a gap.
    (4000, 2000, True), (4500, 1000, True), (4500, 1501, False), (6001, 5, False),
    # The second of these two is on another GPU.
    (8000, 1000, True), (8000, 1001, False), (9000, 10, False),
    # At the end of the address space, and beyond it.
    (2**64 - 100, 99, True), (2**64 - 100, 100, False), (2**64 - 100, 2**63, False),
    # An allocation of no bytes.
    (7000, 1, False), (7000, 0, True),
], ids=str)
def test_an_array_is_wholly_in_a_gpus_memory(address, bytes, expected):
    allocations = [(1000, 500, 0), (4000, 1000, 0), (5000, 1000, 0), (7000, 0, 0),
                   (8000, 1000, 0), (9000, 1000, 1), (2**64 - 100, 99, 0)]
    assert bs._native.gpu_covers(0, address, bytes, allocations) is expected


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
    assert np.array_equal(down(bs.unshuffled(copy, 42, 3)), host)
    assert np.array_equal(down(a), host)
    bs.shuffle(a, 42, 3)
    assert np.array_equal(down(a), expected)
    bs.unshuffle(a, 42, 3)
    assert np.array_equal(down(a), host)


@needs_gpu
@pytest.mark.parametrize("library", [torch_arrays, cupy_arrays])
@pytest.mark.parametrize("dtype", ["uint8", "float16", "int32", "float64", "complex128"])
@pytest.mark.parametrize("shape,axis", [
    ((1000, 32), -1), ((7, 300, 5), 1), ((300, 70), 0), ((3, 5000), np.int64(1)),
    ((2, 2**20 + 1), -1), ((40, 30), None), ((11,), 0), ((5, 0), -1), ((0, 5), -1), ((3, 1), -1),
], ids=str)
def test_rows_are_shuffled_apart(library, dtype, shape, axis):
    up, down = library()
    host = (np.arange(int(np.prod(shape))) % 2000).astype(dtype).reshape(shape)
    expected = bs.permuted(host, 42, axis=axis)
    a = up(host)
    moved = bs.permuted(a, 42, axis=axis)
    assert type(moved) is type(a) and np.array_equal(down(moved), expected)
    assert np.array_equal(down(bs.permuted(moved, 42, axis=axis, undo=True)), host)
    assert np.array_equal(down(a), host)
    out = up(np.zeros_like(host))
    assert cuda.permuted(a, 42, axis=axis, out=out) is out
    assert np.array_equal(down(out), expected)
    assert cuda.permuted(a, 42, axis=axis, out=a) is a
    assert np.array_equal(down(a), expected)


@needs_gpu
@pytest.mark.parametrize("library", [torch_arrays, cupy_arrays])
@pytest.mark.parametrize("dtype", ["uint8", "float16", "int32", "float64", "complex128"])
@pytest.mark.parametrize("axes", [(), (3,)], ids=str)
def test_segments_are_shuffled_apart(library, dtype, axes):
    up, down = library()
    lengths = np.array([5, 0, 1, 300, 2, 256, 257, 1, 1, 0, 70_000, 3, 2_000_001] + [1000] * 200)
    offsets = np.concatenate(([0], np.cumsum(lengths)))
    host = (np.arange(offsets[-1] * int(np.prod(axes))) % 2000).astype(dtype).reshape(-1, *axes)
    expected = host.copy()
    bs.shuffle_segments(expected, offsets, 42)
    for ends in (offsets, up(offsets), up(offsets.astype(np.int32)), offsets.tolist()):
        a = up(host)
        bs.shuffle_segments(a, ends, 42)
        assert np.array_equal(down(a), expected)
        cuda.unshuffle_segments(a, ends, 42)
        assert np.array_equal(down(a), host)
    for wrong, error in [(offsets[:-1], ValueError), (offsets[::-1], ValueError), ([], ValueError),
                         (offsets * 1.0, TypeError), (offsets.reshape(1, -1), TypeError)]:
        with pytest.raises(error):
            cuda.shuffle_segments(a, wrong, 42)
    assert np.array_equal(down(a), host)


@needs_gpu
def test_rows_in_another_order_or_of_other_items():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    a = torch.arange(600, device="cuda").reshape(20, 30)
    expected = bs.permuted(a.t().cpu().numpy(), 42)
    assert np.array_equal(bs.permuted(a.t(), 42).cpu().numpy(), expected)
    out = torch.zeros(20, 30, dtype=torch.int64, device="cuda").t()
    assert np.array_equal(bs.permuted(a.t(), 42, out=out).cpu().numpy(), expected)
    # An item that is repeated by a stride of 0 has a copy at each place.
    assert torch.equal(bs.permuted(a[:1].expand(5, 30), 42)[0], bs.permuted(a[:1], 42)[0])
    view = torch.complex(a.float(), -a.float()).conj()
    order = torch.from_numpy(bs.permutations(20, 30, 42).astype("int64")).cuda()
    assert torch.equal(bs.permuted(view, 42), view.resolve_conj().gather(1, order))
    for out in (a[:10], a.cpu(), a.cpu().numpy()):
        with pytest.raises(bs.ArrayError):
            bs.permuted(a, 42, out=out)
    with pytest.raises(TypeError):
        bs.permuted(a, 42, out=a.int())
    cupy = pytest.importorskip("cupy", reason="CuPy is not installed")
    host = (np.arange(600 * 12) % 251).astype("u1").reshape(20, 30, 12)
    moved = cupy.asnumpy(bs.permuted(cupy.asarray(host).view("V12")[..., 0], 42)).view("u1")
    order = bs.permutations(20, 30, 42).astype("int64")
    assert np.array_equal(moved.ravel(), np.take_along_axis(host, order[..., None], 1).ravel())


@needs_gpu
@pytest.mark.parametrize("shape", [(100, 300), (20, 70_001)])
def test_rows_are_shuffled_apart_in_a_graph(shape):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    a = torch.arange(shape[0] * shape[1], device="cuda").reshape(shape)
    expected = cuda.permuted(a, 7)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        moved = cuda.permuted(a, 7)
        back = cuda.permuted(moved, 7, undo=True)
    graph.replay()
    torch.cuda.synchronize()
    assert torch.equal(moved, expected) and torch.equal(back, a)
    del graph


@needs_gpu
@pytest.mark.parametrize("n", [1, 255, 257, 4096, 4097, 70_000])
def test_parts_of_an_array_are_shuffled_and_nothing_beside_them(n):
    """Few items are left to the workspace, and many go by way of room that is taken for them."""
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    order = torch.from_numpy(bs.Permutation(n, 42).to_numpy()).cuda()
    for dtype in (torch.uint8, torch.int16, torch.float32, torch.int64, torch.complex128):
        whole = (torch.arange(n + 10, device="cuda") % 251).to(dtype)
        expected = whole.clone()
        expected[3 : n + 3] = expected[3 : n + 3][order]
        before = whole.clone()
        bs.shuffle(whole[3 : n + 3], 42)
        assert torch.equal(whole, expected), dtype
        bs.unshuffle(whole[3 : n + 3], 42)
        assert torch.equal(whole, before), dtype


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
    for p in (bs.Permutation.walk(100_003, 5), bs.Permutation(100_003, 5).inverted()):
        a = up(host)
        bs._native.gpu_reorder(p, a, None, 0, 0, False)
        assert np.array_equal(down(a), p.to_numpy())
        bs._native.gpu_reorder(p, a, None, 0, 0, True)
        assert np.array_equal(down(a), host)


@needs_gpu
def test_tensors_on_a_gpu_by_dlpack():
    """What PyTorch gives without `__cuda_array_interface__` is shuffled in the same way."""
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")

    class Other:
        def __init__(self, tensor):
            self.tensor, self.shape = tensor, tensor.shape

        def __dlpack__(self, **settings):
            return self.tensor.__dlpack__(**settings)

        def __dlpack_device__(self):
            return self.tensor.__dlpack_device__()

    for dtype in (torch.uint8, torch.bfloat16, torch.float64):
        a = torch.arange(5000, device="cuda").to(dtype).reshape(2500, 2)
        expected = a[torch.from_numpy(bs.Permutation(2500, 4).to_numpy()).cuda()]
        before = a.clone()
        current = torch.cuda.current_stream().cuda_stream or 1
        out = torch.empty_like(a)
        cuda.shuffled(Other(a), 4, out=Other(out), stream=current)
        cuda.shuffle(Other(a), 4, stream=current)
        assert torch.equal(a, expected) and torch.equal(out, expected)
        cuda.unshuffle(Other(a), 4, stream=current)
        assert torch.equal(a, before)


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
    # It begins in the memory of this GPU, and its last item is behind the end of that.
    whole = torch.zeros(2**26, dtype=torch.uint8, device="cuda")
    for bad in (2**41, 2**46):
        interface = {"shape": (bad,), "typestr": "|u1", "data": (whole.data_ptr(), False)}
        with pytest.raises(bs.ArrayError, match="not all in the memory of GPU"):
            cuda.shuffle(Described(**interface), 1)
    assert not whole.any()
    assert torch.equal(a, torch.arange(100, device="cuda").reshape(10, 10))
    # A part of an array has its own address.
    part = torch.arange(100, device="cuda")[37:]
    bs.shuffle(part, 1)
    assert np.array_equal(part.cpu().numpy(), 37 + bs.Permutation(63, 1).to_numpy())


@needs_gpu
@pytest.mark.parametrize("library", [torch_arrays, cupy_arrays])
def test_arrays_in_another_order_are_copied_if_that_is_asked_for(library):
    up, down = library()
    host = np.arange(60 * 70).reshape(60, 70)
    for cut in (lambda a: a.T, lambda a: a[::2], lambda a: a[:, 1], lambda a: a[:, ::3], lambda a: a):
        expected = bs.shuffled(cut(host), 42, 3)
        whole = up(host.copy())
        a = cut(whole)
        copy = cuda.shuffled(a, 42, 3, contiguous=True)
        assert np.array_equal(down(copy), expected) and np.array_equal(down(a), cut(host))
        cuda.shuffle(a, 42, 3, contiguous=True)
        assert np.array_equal(down(a), expected)
        # What is beside the items is as it was.
        changed = host.copy()
        cut(changed)[...] = expected
        assert np.array_equal(down(whole), changed)
        out = cut(up(np.zeros_like(host)))
        assert cuda.shuffled(cut(up(host.copy())), 42, 3, out=out, contiguous=True) is out
        assert np.array_equal(down(out), expected)
        cuda.unshuffle(a, 42, 3, contiguous=True)
        assert np.array_equal(down(whole), host)
    with pytest.raises(ValueError, match="stream"):
        cuda.shuffle(up(host).T, 1, contiguous=True, stream=1)


@needs_gpu
def test_items_that_share_memory_are_not_copied_back():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    a = torch.arange(3, device="cuda")
    with pytest.raises(bs.ArrayError, match="share"):
        cuda.shuffle(a.expand(5, 3), 1, contiguous=True)
    assert a.tolist() == [0, 1, 2]


@needs_gpu
def test_tensors_whose_values_are_not_in_their_memory():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    a = torch.complex(torch.arange(1000.0), torch.arange(1000.0)).cuda()
    order = torch.from_numpy(bs.Permutation(1000, 5).to_numpy()).cuda()
    for view in (a.conj(), a.conj().imag):
        assert torch.equal(cuda.shuffled(view, 5, contiguous=True), view[order])
    assert torch.equal(cuda.shuffled(a.conj(), 5), a.conj()[order])
    with pytest.raises(bs.ArrayError, match="view"):
        cuda.shuffled(a, 5, out=torch.empty_like(a).conj())
    # In place the items keep how they are meant.
    expected = a.conj()[order]
    view = a.conj()
    cuda.shuffle(view, 5)
    assert torch.equal(view, expected)
    with pytest.raises(RuntimeError, match="requires grad"):
        cuda.shuffle(torch.ones(5, device="cuda", requires_grad=True), 1)


@needs_gpu
@pytest.mark.parametrize("n", [64, 100_003])
def test_autograd_refuses_a_tensor_that_was_shuffled_on_the_gpu_since_it_was_used(n):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    for write in (
        lambda x: cuda.shuffle(x, 42), lambda x: bs.unshuffle(x, 42),
        lambda x: cuda.shuffle(x[::2], 42, contiguous=True), lambda x: cuda.shuffle(x, 42, stream=1),
        lambda x: cuda.shuffled(x.clone(), 42, out=x), lambda x: cuda.permuted(x.clone(), 42, out=x),
        lambda x: cuda.shuffle_segments(x, [0, 3, len(x)], 42),
        lambda x: cuda.randperm(n, 42, out=x.view(torch.int32)),
    ):
        weights, x = torch.ones(n, device="cuda", requires_grad=True), torch.arange(float(n), device="cuda")
        loss = (weights * x).sum()
        torch.cuda.synchronize()
        write(x)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            loss.backward()


@needs_gpu
def test_calls_of_several_streams_take_turns_with_the_working_memory():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    lengths = [1000, 100_003, 3_000_001, 40_000_001]
    orders = [torch.from_numpy(bs.Permutation(n, 7).to_numpy()).cuda() for n in lengths]
    streams = [torch.cuda.Stream() for _ in range(4)]
    torch.cuda.synchronize()
    for first in range(4):
        found = []
        for k in range(12):
            with torch.cuda.stream(streams[k % 4]):
                # The memory grows while others use it.
                n = lengths[(first + k) % 4]
                found.append((n, cuda.shuffled(torch.arange(n, device="cuda"), 7)))
        torch.cuda.synchronize()
        for n, items in found:
            assert torch.equal(items, orders[lengths.index(n)])


@needs_gpu
@pytest.mark.parametrize("n", [1000, 1024, 3_000_001, 40_000_001])
def test_calls_are_captured_in_a_graph(n):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    order = torch.from_numpy(bs.Permutation(n, 7).to_numpy()).cuda()
    cuda.randperm(8, 1)
    a, b = torch.arange(n, device="cuda"), torch.zeros(n, 3, dtype=torch.int8, device="cuda")
    out, indexes, c = torch.zeros_like(a), torch.zeros_like(a), torch.zeros_like(a)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        cuda.shuffled(a, 7, out=out)
        cuda.shuffle(c, 7)
        cuda.shuffle(b, 7)
        cuda.randperm(n, 7, out=indexes)
        copy = cuda.shuffled(a, 7)
    # Nothing has been done yet.
    assert not out.any() and not indexes.any()
    other = torch.cuda.Stream()
    for k in range(4):
        a.copy_(torch.arange(k, n + k, device="cuda"))
        numbers = torch.arange(3 * n, device="cuda").reshape(n, 3).to(torch.int8)
        b.copy_(numbers)
        c.copy_(a)
        out.zero_()
        # Beside the graph, calls have memory of their own.
        other.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(other):
            beside = [cuda.shuffled(numbers, 7) for _ in range(3)]
        graph.replay()
        torch.cuda.synchronize()
        assert torch.equal(out, order + k) and torch.equal(copy, order + k)
        assert torch.equal(c, order + k)
        assert torch.equal(indexes, order) and torch.equal(b, numbers[order])
        assert all(torch.equal(found, numbers[order]) for found in beside)
    # The graph's memory is freed by a later call.
    del graph
    torch.cuda.synchronize()
    assert torch.equal(cuda.shuffled(a, 7), order + 3)


@needs_gpu
def test_the_memory_of_a_graph_goes_with_it():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    n = 1 << 26
    a, out = torch.arange(n, device="cuda"), torch.empty(n, dtype=torch.int64, device="cuda")
    cuda.shuffled(a, 7, out=out)

    def in_use():
        # The driver keeps what is freed until it waits for the device.
        cuda.randperm(8, 1)
        torch.cuda.synchronize()
        free, whole = torch.cuda.mem_get_info()
        return whole - free

    # What earlier tests have left goes first.
    gc.collect()
    torch.cuda.empty_cache()
    in_use()
    before = in_use()
    for _ in range(3):
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            cuda.shuffled(a, 7, out=out)
        graph.replay()
        held = in_use()
        # Two copies of the items, and some bytes for each.
        assert held - before > 16 * n, (before, held)
        del graph
        # The driver says that a graph has gone from a thread of its own, when it comes to that.
        since = time.monotonic()
        while (after := in_use()) - before >= 1 << 28 and time.monotonic() - since < 30:
            time.sleep(0.01)
        assert after - before < 1 << 28, (before, held, after)


@needs_gpu
def test_a_first_call_is_not_captured():
    """Opening the GPU would end the capture; it is said before anything is done."""
    pytest.importorskip("torch", reason="PyTorch is not installed")
    text = """if True:
        import torch
        from bijective_shuffle import cuda
        a = torch.arange(1000, device="cuda")
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            try:
                cuda.shuffle(a, 1)
            except RuntimeError as error:
                assert "before the capture" in str(error), error
            else:
                raise SystemExit("nothing was said")
            a += 1
        graph.replay()
        assert a.tolist() == list(range(1, 1001))
    """
    subprocess.run([sys.executable, "-c", text], check=True)
