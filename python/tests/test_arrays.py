"""Arrays are shuffled by the permutation of their length, whatever they hold."""

import gc
import sys
import threading
import types
import weakref

import bijective_shuffle as bs
import numpy as np
import pytest

DTYPES = ["?", "i1", "u2", "f2", "i4", ">i4", "f8", "c8", "c16", "S3", "U5", "M8[s]", "m8[ms]", "V7",
          [("a", "i4"), ("b", "f8", (3,))], np.dtype([("a", "u1"), ("b", "f4")], align=True)]


def filled(dtype, shape):
    """An array of random bytes, or of what they mean."""
    dtype = np.dtype(dtype)
    generator = np.random.default_rng(1)
    if dtype.kind in "?U":
        return generator.integers(0, 100, shape).astype(dtype)
    size = int(np.prod(shape, dtype=int)) * dtype.itemsize
    return np.frombuffer(generator.bytes(size), dtype=dtype).reshape(shape).copy()


def same(a, b):
    """Whether arrays hold the same bytes: floating-point numbers are not compared as such."""
    assert a.dtype == b.dtype and a.shape == b.shape
    if a.dtype.names:
        # NumPy does not copy the bytes between fields.
        return all(same(a[name], b[name]) for name in a.dtype.names)
    return a.tobytes() == b.tobytes()


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shape", [(0,), (1,), (1000,), (300, 3), (77, 2, 5), (40_000,)], ids=str)
def test_rows_of_any_type_and_width(dtype, shape):
    before = filled(dtype, shape)
    order = bs.Permutation(len(before), 42, 3).to_numpy()
    a = before.copy()
    bs.shuffle(a, 42, 3)
    assert same(a, before[order])
    assert same(bs.shuffled(before, 42, epoch=3), a)
    assert same(bs.unshuffled(a, 42, epoch=3), before) and same(a, before[order])
    bs.unshuffle(a, seed=42, epoch=3)
    assert same(a, before)


@pytest.mark.parametrize("width", [1, 3, 12, 24, 100, 129, 1000])
def test_rows_of_any_width(width):
    before = filled("u1", (5000, width))
    a = before.copy()
    bs.shuffle(a, 1)
    assert same(a, before[bs.Permutation(5000, 1).to_numpy()])


@pytest.mark.parametrize("rows,width", [(70_000, 400), (20_000, 3001), (300_000, 96), (100_003, 192)])
def test_many_wide_rows_alone_and_with_their_numbers(rows, width):
    before, numbers = filled("u1", (rows, width)), np.arange(rows)
    order = bs.Permutation(rows, 7, 2).to_numpy()
    a = before.copy()
    bs.shuffle(a, 7, 2)
    assert np.array_equal(a, before[order])
    bs.unshuffle(a, 7, 2)
    assert np.array_equal(a, before)
    bs.shuffle_together(a, numbers, seed=7, epoch=2)
    assert np.array_equal(a, before[order]) and np.array_equal(numbers, order)
    bs.unshuffle_together(a, numbers, seed=7, epoch=2)
    assert np.array_equal(a, before) and np.array_equal(numbers, np.arange(rows))


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0, 0), (2, 0, 5)], ids=str)
def test_empty_arrays_are_moved(shape):
    a = np.zeros(shape)
    bs.shuffle(a, 1)
    bs.shuffle_together(a, np.arange(len(a)), seed=1)
    assert a.shape == bs.shuffled(a, 1).shape == shape
    b = np.zeros(5, dtype="V0")
    bs.shuffle(b, 1)


def views(base):
    """Views of a matrix that are not in C order."""
    yield base[::2]
    yield base[::-1]
    yield base[:, ::3]
    yield base[:, 1]
    yield base.T
    yield np.asfortranarray(base)
    yield base[5:50, 3:7]
    yield base.reshape(-1, 2, 6).swapaxes(0, 1)
    yield base.view("u1")[:, 1::8]


def test_other_layouts():
    for number in range(9):
        base = filled("i8", (100, 12))
        before_base = base.copy()
        a = list(views(base))[number]
        before = a.copy()
        assert not a.flags.c_contiguous
        order = bs.Permutation(len(a), 9).to_numpy()
        bs.shuffle(a, 9)
        assert same(a.copy(), before[order])
        bs.unshuffle(a, 9)
        assert same(base, before_base)


def test_unaligned_items():
    memory = np.zeros(8 * 1000 + 1, dtype="u1")
    a = memory[1:].view("i8")
    a[:] = np.arange(1000)
    assert not a.flags.aligned
    bs.shuffle(a, 4)
    assert np.array_equal(a, bs.Permutation(1000, 4).to_numpy())
    assert memory[0] == 0


class Thing:
    pass


def test_objects_are_moved_and_each_is_still_there_once():
    things = [Thing() for _ in range(20_000)]
    refs = [weakref.ref(thing) for thing in things]
    counts = [sys.getrefcount(thing) for thing in things[:100]]
    a = np.array(things, dtype=object)
    inside = [sys.getrefcount(thing) for thing in things[:100]]
    bs.shuffle(a, 42)
    order = bs.Permutation(len(things), 42).to_numpy()
    assert all(thing is things[k] for thing, k in zip(a, order))
    bs.shuffle_together(a, np.arange(len(a)), seed=1)
    b = bs.shuffled(a, 2)
    del b
    assert [sys.getrefcount(thing) for thing in things[:100]] == inside
    c = bs.permuted(a.reshape(-1, 10), 3)
    del a, c
    gc.collect()
    assert [sys.getrefcount(thing) for thing in things[:100]] == counts
    del things
    gc.collect()
    # The loop variable of the check above may hold one.
    assert sum(ref() is not None for ref in refs) <= 1


def test_records_with_objects():
    a = np.array([(k, str(k)) for k in range(1000)], dtype=[("a", "i4"), ("b", object)])
    bs.shuffle(a, 5)
    assert all(str(row["a"]) == row["b"] for row in a)
    assert np.array_equal(a["a"], bs.Permutation(1000, 5).to_numpy())


@pytest.mark.skipif(not hasattr(np.dtypes, "StringDType") if hasattr(np, "dtypes") else True,
                    reason="this NumPy has no strings of variable width")
def test_strings_of_variable_width():
    texts = [str(k) * (k % 50) for k in range(1000)]
    a = np.array(texts, dtype=np.dtypes.StringDType())
    bs.shuffle(a, 5)
    assert a.tolist() == [texts[k] for k in bs.Permutation(1000, 5)]
    bs.unshuffle(a, 5)
    assert a.tolist() == texts


def test_together():
    x, y, z = filled("f4", (5000, 7)), np.arange(5000), filled("S3", (5000,))
    order = bs.Permutation(5000, 8, 1).to_numpy()
    before = [a.copy() for a in (x, y, z)]
    bs.shuffle_together(x, y, z, seed=8, epoch=1)
    assert all(same(a, b[order]) for a, b in zip((x, y, z), before))
    bs.unshuffle_together(x, y, z, seed=8, epoch=1)
    assert all(same(a, b) for a, b in zip((x, y, z), before))
    # Columns of one matrix interleave, but do not overlap.
    base = filled("i8", (1000, 3))
    before = base.copy()
    bs.shuffle_together(base[:, 0], base[:, 2], y[:1000], seed=3)
    order = bs.Permutation(1000, 3).to_numpy()
    assert np.array_equal(base[:, [0, 2]], before[:, [0, 2]][order])
    assert np.array_equal(base[:, 1], before[:, 1])
    bs.shuffle_together(seed=1)


def refused(error, arrays, **kwargs):
    before = [np.array(a, copy=True) for a in arrays]
    with pytest.raises(error, **kwargs):
        bs.shuffle_together(*arrays, seed=1)
    assert all(np.array_equal(a, b) for a, b in zip(arrays, before))


def test_refused_arrays_are_unchanged():
    a, b = np.arange(1000), np.arange(1000.0)
    refused(bs.ArrayError, (a, b[:999]), match="length")
    refused(bs.ArrayError, (b, a, a), match="share memory")
    refused(bs.ArrayError, (a[:600], a[400:]), match="share memory|already")
    refused(bs.ArrayError, (b[:500], a[::2], a[-2::-2]), match="share memory")
    refused(bs.ArrayError, (a, a[::-1]), match="share memory")
    frozen = np.arange(1000)
    frozen.flags.writeable = False
    refused(bs.ArrayError, (a, frozen), match="read-only")
    refused(bs.ArrayError, (np.broadcast_to(5, 1000),), match="read-only")
    repeated = np.lib.stride_tricks.as_strided(a, (1000,), (0,))
    refused(bs.ArrayError, (repeated,), match="share memory")
    sliding = np.lib.stride_tricks.sliding_window_view(a, 5, writeable=True)
    refused(bs.ArrayError, (sliding,), match="share memory")
    # Arrays without memory share none.
    for empty in (a[:0], np.empty((5, 0)), np.empty(0, object), np.empty(5, "V0")):
        bs.shuffle_together(empty, empty, seed=1)
        bs.unshuffle_together(empty, empty[:], empty, seed=1)
    refused(bs.ArrayError, (a[:0], frozen[:0]), match="read-only")
    assert issubclass(bs.ArrayError, ValueError)
    for bad in ([1, 2, 3], (1, 2), "abc", np.float64(3), np.array(5), None, memoryview(b"abc")):
        with pytest.raises(TypeError):
            bs.shuffle(bad, 1)
    for bad in (np.ma.masked_array(a.copy(), a > 3), ):
        for function in (bs.shuffle, bs.unshuffle, bs.shuffled, bs.unshuffled, bs.permuted):
            with pytest.raises(TypeError, match="masked"):
                function(bad, 1)


def test_the_native_side_checks_for_itself():
    p, a = bs.Permutation(10, 1), np.arange(20)
    for bad in (a[::2], a, np.array(5)):
        with pytest.raises((bs.ArrayError, TypeError)):
            bs._native.reorder(p, [bad], False)
    with pytest.raises(bs.ArrayError):
        bs._native.reorder(p, [a[:10], a[5:15]], False)
    with pytest.raises(TypeError):
        bs._native.reorder(p, [[1, 2, 3]], False)
    with pytest.raises(TypeError):
        bs._native.permuted(a, 1, False)
    frozen = np.zeros((2, 5))
    frozen.flags.writeable = False
    with pytest.raises(bs.ArrayError):
        bs._native.permuted(frozen, 1, False)
    assert np.array_equal(a, np.arange(20))


def test_memory_stays_where_it_is_while_it_is_shuffled():
    matrix = np.arange(30_000).reshape(3, 10_000).copy()
    expected = bs.permuted(matrix, 42)

    class Seed:
        def __index__(self):
            # The address of the matrix has been read by now.
            with pytest.raises(ValueError, match="resize"):
                matrix.resize((3, 10), refcheck=False)
            return 42

    assert bs._native.permuted(matrix, Seed(), False) and same(matrix, expected)
    matrix.resize((3, 10), refcheck=False)
    # NumPy does not resize an array with a weak reference. Another thread sees it during a call.
    many, seen = np.zeros(1 << 20), 0
    for _ in range(100):
        thread = threading.Thread(target=bs.shuffle, args=(many, 42))
        thread.start()
        while thread.is_alive():
            seen = max(seen, weakref.getweakrefcount(many))
        thread.join()
        if seen:
            break
    assert seen == 1 and weakref.getweakrefcount(many) == 0
    many.resize(10, refcheck=False)


def test_subclasses(tmp_path):
    mapped = np.lib.format.open_memmap(tmp_path / "a.npy", "w+", "i4", (1000,))
    mapped[:] = np.arange(1000)
    bs.shuffle(mapped, 6)
    assert np.array_equal(mapped, bs.Permutation(1000, 6).to_numpy())
    matrix = np.arange(20).reshape(10, 2).view(np.matrix)
    bs.shuffle(matrix, 6)
    assert np.array_equal(matrix[:, 0].A1, 2 * bs.Permutation(10, 6).to_numpy())


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shape,axis", [((5, 300), -1), ((300, 5), 0), ((4, 50, 3), 1), ((70,), 0),
                                        ((3, 0), 1), ((0, 3), 1), ((2, 400), 1)], ids=str)
def test_rows_apart(dtype, shape, axis):
    before = filled(dtype, shape)
    a = bs.permuted(before, 42, axis=axis)
    rows = np.moveaxis(before, axis, -1)
    expected = np.empty_like(np.ascontiguousarray(rows))
    for row, where in enumerate(np.ndindex(rows.shape[:-1])):
        expected[where] = rows[where][bs.Permutation(rows.shape[-1], 42, row).to_numpy()]
    assert same(a, np.moveaxis(expected, -1, axis))
    assert same(bs.permuted(a, 42, axis=axis, undo=True), before)


@pytest.mark.parametrize("shape,axis", [((5, 30), 1), ((5, 30), -1), ((5, 30), 0), ((4, 7, 3), 1),
                                        ((4, 7, 3), -1), ((9,), -1), ((3, 0), 1), ((0, 3), 1)], ids=str)
def test_other_axes(shape, axis):
    for before in (filled("i4", shape), filled("S3", shape[::-1]).T, filled("f8", shape).astype(object)):
        expected = np.take(before, bs.Permutation(shape[axis], 9, 2).to_numpy(), axis=axis)
        a = before.copy(order="K")
        bs.shuffle(a, 9, 2, axis=axis)
        assert np.array_equal(a, expected) and a.strides == before.copy(order="K").strides
        assert np.array_equal(bs.shuffled(before, 9, 2, axis=axis), expected)
        assert np.array_equal(bs.unshuffled(a, 9, 2, axis=axis), before)
        bs.unshuffle(a, 9, 2, axis=axis)
        assert np.array_equal(a, before)


def test_axes_that_there_are_not():
    a = np.arange(6).reshape(2, 3)
    for function in (bs.shuffle, bs.unshuffle, bs.shuffled, bs.unshuffled, bs.permuted):
        for bad, error in [(2, IndexError), (-3, IndexError), (1.0, TypeError), ("0", TypeError)]:
            with pytest.raises(error):
                function(a, 1, axis=bad)
    with pytest.raises(TypeError, match="no rows"):
        bs.shuffle(np.array(5), 1, axis=1)
    assert np.array_equal(a, np.arange(6).reshape(2, 3))


@pytest.mark.parametrize("dtype", ["f8", "S3", object])
def test_all_items_as_one_row(dtype):
    a = np.arange(24).reshape(2, 3, 4).astype(dtype)
    order = bs.Permutation(24, 5).to_numpy()
    for before in (a, a.T, a[::-1, :, ::2]):
        mixed = bs.permuted(before, 5, axis=None)
        order = bs.Permutation(before.size, 5).to_numpy()
        assert mixed.shape == before.shape
        assert mixed.ravel().tolist() == before.ravel()[order].tolist()
        assert np.array_equal(bs.permuted(mixed, 5, axis=None, undo=True), before)
    assert bs.permuted(np.zeros((3, 0)), 5, axis=None).shape == (3, 0)
    assert bs.permuted(7, 5, axis=None) == 7


@pytest.mark.parametrize("call", [
    lambda a, **out: bs.shuffled(a, 3, 1, **out), lambda a, **out: bs.shuffled(a, 3, axis=1, **out),
    lambda a, **out: bs.unshuffled(a, 3, 1, **out),
    lambda a, **out: bs.permuted(a, 3, **out), lambda a, **out: bs.permuted(a, 3, axis=0, **out),
    lambda a, **out: bs.permuted(a, 3, axis=None, **out),
])
@pytest.mark.parametrize("dtype", ["f4", "S3", object])
def test_out(call, dtype):
    a = np.arange(700).reshape(70, 10).astype(dtype)
    expected = call(a)
    whole = np.zeros((70, 20), dtype=dtype)
    for out in (np.zeros_like(a), np.zeros_like(a, order="F"), whole[:, ::2]):
        assert call(a, out=out) is out and np.array_equal(out, expected)
    assert np.array_equal(whole[:, 1::2], np.zeros((70, 10), dtype))
    # Itself, and a part of the same memory.
    itself = a.copy()
    assert call(itself, out=itself) is itself and np.array_equal(itself, expected)
    longer = np.concatenate([a, a[:1]])
    assert np.array_equal(call(longer[:-1], out=longer[1:]), expected)
    before = a.copy()
    for bad, error in [(np.zeros((10, 70), dtype), ValueError), (np.zeros((70, 10), "i2"), TypeError),
                       (np.broadcast_to(a[:1], (70, 10)), ValueError), (a.tolist(), TypeError),
                       (np.ma.masked_array(a.copy()), TypeError)]:
        with pytest.raises(error):
            call(a, out=bad)
    assert np.array_equal(a, before)


class Legacy:
    """An array of a library that has DLPack from before version 1, as PyTorch has until 2.8: its
    capsules do not say that their memory may be written to."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **settings):
        settings.pop("max_version", None)
        return self.array.__dlpack__(**settings)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


class Tensor(Legacy):
    """The same, which NumPy can make an array of without DLPack."""

    def __init__(self, array, own=None):
        super().__init__(array)
        self.own = array if own is None else own

    def __array__(self, dtype=None, copy=None):
        return self.own


def test_tensors_of_old_libraries_are_shuffled_where_they_are():
    memory = np.arange(1000).reshape(500, 2)
    order = bs.Permutation(500, 3).to_numpy()
    bs.shuffle(Tensor(memory), 3)
    assert np.array_equal(memory[:, 0], 2 * order)
    other = np.arange(500)
    bs.unshuffle_together(Tensor(memory), other, seed=3)
    assert np.array_equal(memory, np.arange(1000).reshape(500, 2))
    bs.shuffle(Tensor(memory[:, 1]), 3)
    assert np.array_equal(memory[:, 1], 2 * order + 1)
    memory = np.arange(1000).reshape(500, 2)
    frozen = memory.view()
    frozen.flags.writeable = False
    # Not where the library gives a copy, another view, or memory that is not to be written to.
    for own in (memory.copy(), memory[::-1], memory.view("f8"), memory[:499], frozen):
        with pytest.raises(bs.ArrayError, match="PyTorch before 2.9"):
            bs.shuffle(Tensor(memory, own), 3)
    with pytest.raises(bs.ArrayError, match="NumPy is older than 2.1"):
        bs.shuffle(Legacy(memory), 3)
    assert np.array_equal(memory, np.arange(1000).reshape(500, 2))


WRITES = {
    "shuffle": lambda a: bs.shuffle(a, 3),
    "unshuffle": lambda a: bs.unshuffle(a, 3, axis=1),
    "shuffle_together": lambda a: bs.shuffle_together(np.arange(500), a, seed=3),
    "unshuffle_together": lambda a: bs.unshuffle_together(a, np.arange(500), seed=3),
    "shuffled": lambda a: bs.shuffled(np.zeros((500, 2), np.int64), 3, out=a),
    "unshuffled": lambda a: bs.unshuffled(np.zeros((500, 2), np.int64), 3, out=a),
    "shuffle_segments": lambda a: bs.shuffle_segments(a, [0, 100, 500], 3),
    "unshuffle_segments": lambda a: bs.unshuffle_segments(a, [0, 100, 500], 3),
    "permuted": lambda a: bs.permuted(np.zeros((500, 2), np.int64), 3, out=a),
}


def test_an_axis_that_is_no_integer_is_named():
    for call in (bs.shuffle, bs.unshuffle, bs.shuffled, bs.unshuffled, bs.permuted,
                 lambda a, seed, axis: bs.choice(a, 1, seed, axis=axis)):
        for axis in (1.5, "0", (0, 1)):
            with pytest.raises(TypeError, match="^axis is an integer, not "):
                call(np.zeros((2, 3)), 1, axis=axis)


@pytest.mark.parametrize("way", WRITES)
def test_pytorch_is_told_of_each_write_to_a_tensor(monkeypatch, way):
    told = []
    graph = types.SimpleNamespace(increment_version=told.append)
    torch = types.SimpleNamespace(Tensor=Tensor, autograd=types.SimpleNamespace(graph=graph))
    monkeypatch.setitem(sys.modules, "torch", torch)
    tensor = Tensor(np.ones((500, 2), np.int64))
    WRITES[way](tensor)
    assert told == [tensor]
    tensor.array.flags.writeable = False
    # Before 2.1, NumPy itself does not hand out such an array.
    old = np.lib.NumpyVersion(np.__version__) < "2.1.0"
    with pytest.raises((TypeError, BufferError) if old else bs.ArrayError):
        WRITES[way](tensor)
    assert told == [tensor]


def test_batches():
    for dtype in ("int32", "int64", "uint32", "uint64", np.int32):
        rows = bs.permutations(1000, 33, 5, dtype=dtype)
        assert rows.shape == (1000, 33) and rows.dtype == np.dtype(dtype)
        assert np.array_equal(np.sort(rows, axis=1), np.tile(np.arange(33), (1000, 1)))
        assert np.array_equal(rows[7], bs.Permutation(33, 5, 7).to_numpy())
    assert bs.permutations(0, 5, 1).shape == (0, 5)
    assert bs.permutations(5, 0, 1).shape == (5, 0)
    with pytest.raises(MemoryError):
        bs.permutations(2**40, 2**40, 1)
    with pytest.raises(TypeError):
        bs.permutations(5, 5, 1, dtype="int8")
    with pytest.raises(MemoryError):
        bs.Permutation.walk(2**60, 1).to_numpy()


def test_copies_in_an_order_are_checked():
    order = bs.Permutation(1000, 42)
    rows = order.to_numpy()
    for dtype in ("u1", "i2", "f4", "f8", "c16"):
        source = np.arange(1000).astype(dtype)
        source.flags.writeable = False
        out = np.zeros(1000, dtype)
        bs._native.reorder_copies(order, [source, source], [out, np.zeros(1000, dtype)])
        assert np.array_equal(out, source[rows])
        bs._native.reorder_copies(order.inverted(), [out.copy()], [out])
        assert np.array_equal(out, source)
    whole = np.arange(1000)
    moved = np.frombuffer(b"x" + whole.tobytes(), np.int64, offset=1)
    wrong = [
        ([whole], []), ([whole], [whole]), ([whole], [np.zeros(999, np.int64)]), ([whole[:999]], [np.zeros(1000)]),
        ([whole], [np.zeros(1000, np.int32)]), ([whole[::2]], [np.zeros(500)]), ([moved], [np.zeros(1000, np.int64)]),
        ([whole.astype(object)], [np.zeros(1000, object)]), ([whole], [np.zeros(2000, np.int64)[::2]]),
        ([whole, whole], [whole.copy(), np.broadcast_to(whole, (1000,))]),
        ([np.zeros(1000, "S3")], [np.zeros(1000, "S3")]), ([np.array(3)], [np.array(3)]),
        ([np.zeros((1000, 3))], [np.zeros((1000, 3))]),
    ]
    for sources, outs in wrong:
        before = [out.copy() for out in outs]
        with pytest.raises((bs.ArrayError, TypeError)):
            bs._native.reorder_copies(order, sources, outs)
        assert all(np.array_equal(out, old) for out, old in zip(outs, before))
    bs._native.reorder_copies(bs.Permutation(0, 1), [np.zeros(0)], [np.zeros(0)])
    one = np.zeros(1000, np.int64)
    with pytest.raises(bs.ArrayError):
        bs._native.reorder_copies(order, [whole, whole], [one, one])


def test_out_of_another_library():
    a = np.arange(70).reshape(7, 10)
    tensors = [Tensor]
    if (torch := sys.modules.get("torch")) is not None:
        tensors.append(torch.from_numpy)
    for tensor in tensors:
        for call in (bs.shuffled, bs.permuted):
            memory = np.zeros_like(a)
            out = tensor(memory)
            assert call(a, 3, out=out) is out and np.array_equal(memory, call(a, 3))
            memory = a.copy()
            out = tensor(memory)
            assert call(out, 3, out=out) is out and np.array_equal(memory, call(a, 3))
    frozen = a.copy()
    frozen.flags.writeable = False
    for call in (bs.shuffled, bs.permuted):
        for bad, error, told in ((Tensor(a[:3]), bs.ArrayError, "out has the shape"),
                                 (Tensor(a.astype("f4")), TypeError, "out has the type"),
                                 (frozen, bs.ArrayError, "out is read-only"),
                                 ([1], TypeError, "out is an array of NumPy, or of a library with DLPack, not list")):
            with pytest.raises(error, match=told):
                call(a, 3, out=bad)


LENGTHS = [5, 0, 1, 300, 2, 256, 257, 1, 1, 0, 70_000, 3]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_segments_apart(dtype):
    offsets = np.concatenate(([0], np.cumsum(LENGTHS)))
    for before in (filled(dtype, (offsets[-1],)), filled(dtype, (offsets[-1], 3))):
        expected = before.copy()
        for r, n in enumerate(LENGTHS):
            rows = slice(offsets[r], offsets[r + 1])
            expected[rows] = before[rows][bs.Permutation(n, 42, r).to_numpy()]
        a = before.copy()
        bs.shuffle_segments(a, offsets, 42)
        assert same(a, expected)
        bs.unshuffle_segments(a, offsets.astype(np.uint32), 42)
        assert same(a, before)
        # In another order of memory.
        a = before.copy(order="F")
        bs.shuffle_segments(a, offsets.tolist(), 42)
        assert same(a, expected)


def test_segments_that_cannot_be():
    a = np.arange(6)
    for offsets, error in [([], ValueError), ([1, 6], ValueError), ([0, 4, 3, 6], ValueError),
                           ([-1, 6], ValueError), ([0, 5], bs.ArrayError), ([0, 7], bs.ArrayError),
                           ([0, 2**63 - 1, 6], ValueError), (np.uint64([0, 2**63, 6]), ValueError),
                           ([0.0, 6.0], TypeError), ([[0, 6]], TypeError)]:
        for call in (bs.shuffle_segments, bs.unshuffle_segments):
            with pytest.raises(error):
                call(a, np.array(offsets), 1)
    frozen = np.arange(6)
    frozen.flags.writeable = False
    with pytest.raises(bs.ArrayError, match="read-only"):
        bs.shuffle_segments(frozen, [0, 6], 1)
    assert np.array_equal(a, np.arange(6)) and np.array_equal(frozen, np.arange(6))
