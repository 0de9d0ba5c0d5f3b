"""All views of a permutation agree, and what is not a place is refused."""

import copy
import itertools
import operator
import pickle

import bijective_shuffle as bs
import numpy as np
import pytest

LENGTHS = [0, 1, 2, 5, 256, 257, 1000, 1024, 30_000]


def orders(n):
    yield bs.Permutation(n, 42)
    yield bs.Permutation.walk(n, 42, epoch=3)
    if n:
        yield bs.BlockShuffle(n, 7, 3, seed=42).order


@pytest.fixture(params=LENGTHS, ids=str)
def n(request):
    return request.param


def test_views_agree(n):
    for p in itertools.chain(orders(n), (p.inverted() for p in orders(n))):
        whole = p.to_numpy()
        assert sorted(whole.tolist()) == list(range(n))
        assert list(p) == whole.tolist()
        assert len(p) == p.n == n
        assert np.array_equal(np.asarray(p), whole)
        assert np.array_equal(p[np.arange(n)], whole)
        assert np.array_equal(p[np.arange(-n, 0)], whole)
        for k in {0, 1, n // 2, n - 1} & set(range(n)):
            assert p[k] == p[k - n] == whole[k]
            assert p.position(p[k]) == k
        assert np.array_equal(p.position(whole), np.arange(n))
        assert np.array_equal(p.inverted().to_numpy(), np.argsort(whole))
        assert p.inverted().inverted() == p


def test_slices_are_those_of_a_list(n):
    bounds = [None, 0, 1, 3, n // 2, n - 1, n, n + 5, -1, -3, -n, -n - 5, 10**30, -(10**30)]
    steps = [None, 1, 2, 7, n + 1, -1, -2, -7, -n - 1, 10**20]
    for p in orders(n):
        listed = p.to_numpy().tolist()
        generator = np.random.default_rng(n)
        cases = list(itertools.product(bounds, bounds, steps))
        for number in generator.choice(len(cases), 150, replace=False):
            cut = slice(*cases[number])
            places = p[cut]
            assert places.to_numpy().tolist() == listed[cut], cut
            assert list(places) == listed[cut], cut
            assert len(places) == places.n == len(listed[cut])
            # A slice of a slice.
            assert list(places[1::2]) == listed[cut][1::2]
            assert list(places[::-1]) == listed[cut][::-1]
            assert [places[k] for k in range(-len(places), 0, 5)] == listed[cut][::5]


def test_shares_are_disjoint_and_cover_everything(n):
    for p, ranks in itertools.product(orders(n), [1, 2, 3, 7, 100]):
        whole = p.to_numpy().tolist()
        shards = [p.shard(rank, ranks) for rank in range(ranks)]
        assert list(itertools.chain(*shards)) == whole
        assert max(map(len, shards)) - min(map(len, shards)) <= 1
        strided = [list(p.shard_strided(rank, ranks)) for rank in range(ranks)]
        assert strided == [whole[rank::ranks] for rank in range(ranks)]


def test_heads_and_chunks(n):
    for p in orders(n):
        whole = p.to_numpy().tolist()
        for count in (0, 1, 5, n, n + 1):
            assert list(p.head(count)) == p.head(count).to_numpy().tolist() == whole[:count]
        for size in (1, 4, 1024, n + 1):
            if n // size > 2000:
                continue
            for of, expected in ((p, whole), (p[n // 3 :: 2], whole[n // 3 :: 2])):
                chunks = list(of.chunks(size))
                assert [len(chunk) for chunk in chunks[:-1]] == [size] * (len(chunks) - 1)
                assert np.concatenate([[], *chunks]).tolist() == expected


@pytest.mark.parametrize("dtype", ["int32", "uint32", "int64", "uint64", np.int32, np.uint64])
def test_dtypes(dtype):
    for p in orders(70_000):
        array = p.to_numpy(dtype)
        assert array.dtype == np.dtype(dtype)
        assert np.array_equal(array, p.to_numpy())
        assert p[1::3].to_numpy(dtype=dtype).dtype == np.dtype(dtype)
        assert next(p.chunks(7, dtype=dtype)).dtype == np.dtype(dtype)


def test_the_length_of_an_iterator_is_what_is_left():
    for p in orders(5000):
        for of in (p, p[7:], p[::-3]):
            indexes, chunks = iter(of), of.chunks(1500, "int32")
            assert len(indexes) == operator.length_hint(indexes) == len(of)
            assert len(chunks) == -(-len(of) // 1500)
            assert repr(indexes) == f"<Indexes of {p!r}: {len(of)} left>"
            assert repr(chunks) == f"<Chunks of {p!r}: {len(chunks)} left, of 1500 indexes>"
            for _ in range(1030):
                next(indexes)
            next(chunks)
            assert len(indexes) == len(of) - 1030 == len(list(indexes))
            assert len(chunks) == -(-len(of) // 1500) - 1 == len(list(chunks))
            assert len(indexes) == len(chunks) == 0
            assert next(indexes, None) is next(chunks, None) is None
            assert "0 left" in repr(indexes) and "0 left" in repr(chunks)
    long = bs.Permutation.walk(2**64 - 1, 1)
    for values in (iter(long), long.chunks(1)):
        with pytest.raises(OverflowError, match="islice"):
            len(values)
        assert values and f"{2**64 - 1} left" in repr(values)
    assert len(long.chunks(2**62)) == 4


def test_dtypes_that_do_not_fit():
    with pytest.raises(OverflowError):
        bs.Permutation.walk(2**31 + 1, 1).head(3).to_numpy("int32")
    with pytest.raises(OverflowError):
        bs.Permutation.walk(2**32 + 1, 1).head(3).to_numpy("uint32")
    assert bs.Permutation.walk(2**31, 1).head(3).to_numpy("int32").dtype == np.int32
    assert bs.Permutation.walk(2**64 - 1, 1).head(3).to_numpy().dtype == np.uint64
    assert bs.Permutation.walk(2**63, 1).head(3).to_numpy().dtype == np.int64
    other_order = np.dtype("int64").newbyteorder("S")
    for dtype in ("int16", "float64", "bool", other_order):
        for p in orders(1000):
            # One that is counted to, and one that is not.
            for of in (p, p[1:]):
                with pytest.raises(TypeError, match="int32, uint32"):
                    of.to_numpy(dtype)
                with pytest.raises(TypeError, match="int32, uint32"):
                    of.chunks(10, dtype)
    for p in (bs.Permutation(2**31 + 1, 1), bs.Permutation.walk(2**31 + 1, 1)):
        with pytest.raises(OverflowError, match="do not fit int32"):
            p.chunks(10, "int32")
    assert np.asarray(bs.Permutation(5, 1), dtype=other_order).dtype == other_order


def test_long_walks_take_no_memory():
    for n in (10**12, 2**63, 2**64 - 1):
        p = bs.Permutation.walk(n, 42)
        for k in (0, 1, n // 2, n - 1):
            assert p.position(p[k]) == k
        assert p[-1] == p[n - 1]
        assert list(p[n // 2 : n // 2 + 3]) == [p[n // 2 + k] for k in range(3)]
        assert list(p[:: n // 3]) == [p[k * (n // 3)] for k in range(-(-n // (n // 3)))]
        assert list(p[::-1][:3]) == [p[n - 1], p[n - 2], p[n - 3]]
        assert next(iter(p)) == p[0]
        shares = [p.shard(rank, 8) for rank in range(8)]
        assert sum(share.n for share in shares) == n
        assert shares[7][-1] == p[n - 1]
        array = np.array([0, n // 2, n - 1], dtype="uint64")
        assert p[array].tolist() == [p[int(k)] for k in array]
        assert np.array_equal(p.position(p[array]), array)
    with pytest.raises(OverflowError):
        len(bs.Permutation.walk(2**63, 1))


def test_an_index_is_built_where_it_is_small_and_asked_for_where_not():
    p = bs.Permutation(100_000, 1)
    middle = p[50_000:50_010].to_numpy()
    assert np.array_equal(middle, bs.Permutation(100_000, 1).to_numpy()[50_000:50_010])
    long = bs.Permutation(10**12, 1)
    assert list(long.head(3)) == list(itertools.islice(long, 3)) == [long[k] for k in range(3)]
    # Counted to, since an iterator needs no index.
    assert next(long.chunks(5)).tolist() == list(long[:5])
    with pytest.raises(bs.IndexNotBuiltError, match="Permutation.walk"):
        long[10**12 // 2]
    with pytest.raises(bs.IndexNotBuiltError):
        long[[10**12 // 2]]
    with pytest.raises(bs.IndexNotBuiltError):
        list(long[10**12 // 2 :][:5])
    # Far from each other, which would take a trillion evaluations to count to.
    with pytest.raises(bs.IndexNotBuiltError):
        long[:: 10**12 // 3].to_numpy()
    iterator = iter(long[10**12 // 2 :])
    for _ in range(3):
        with pytest.raises(bs.IndexNotBuiltError):
            next(iterator)
    built = bs.Permutation(100_000, 2)
    built.build_index()
    assert built.position(built[77_777]) == 77_777


def test_arrays_of_indexes_keep_their_shape_and_are_not_changed():
    p = bs.Permutation.walk(50_000, 7)
    whole = p.to_numpy()
    for dtype in ("int8", "uint8", "int16", "int32", "uint32", "int64", "uint64", ">i4"):
        given = np.arange(100, dtype=dtype).reshape(4, 25)[::2, ::3]
        before = given.copy()
        assert np.array_equal(p[given], whole[given])
        assert p[given].dtype == np.int64
        assert np.array_equal(given, before)
    many = np.arange(50_000)[::-1].reshape(500, 100).T
    assert np.array_equal(p[many], whole[many])
    assert np.array_equal(p.position(p[many]), many)
    assert p[[]].shape == (0,)
    assert p[np.zeros((3, 0), dtype=int)].shape == (3, 0)
    assert p[[[1, 2], [3, -1]]].tolist() == whole[[[1, 2], [3, -1]]].tolist()
    assert p[1:5][[0, -1]].tolist() == whole[[1, 4]].tolist()
    assert p[np.int32(5)] == p[np.array(5)] == whole[5]
    assert type(p[np.int32(5)]) is int


def test_places_and_indexes_beyond_the_length_are_refused():
    for p in orders(10):
        for bad in (10, -11, 2**63, 2**64, -(2**70), 10**50):
            with pytest.raises(IndexError):
                p[bad]
        for bad in ([0, 10], [-11], np.array([2**64 - 1], dtype="uint64")):
            with pytest.raises(IndexError):
                p[bad]
        for bad in (1.0, "1", None, [1.5], [True, False], np.ones(10, dtype=bool)):
            with pytest.raises(TypeError):
                p[bad]
        for bad in (10, -1, 2**64, 10**50, [3, -1], [10]):
            with pytest.raises(ValueError):
                p.position(bad)
        with pytest.raises(ValueError):
            p[::0]
        assert 9 in p and 10 not in p and -1 not in p and "x" not in p


def test_members_of_some_places(n):
    for p in orders(n):
        assert bool(p) == (n > 0)
        for cut in (slice(None), slice(3, 40), slice(1, None, 7), slice(None, None, -3), slice(9, 9)):
            places = p[cut]
            members = set(places.to_numpy().tolist())
            assert bool(places) == bool(members)
            checked = range(min(n, 1000) + 2)
            assert [k in places for k in checked] == [k in members for k in checked]
            assert -1 not in places and "x" not in places and None not in places


def test_members_are_found_without_a_search():
    half = bs.Permutation.walk(2**64 - 1, 1)[::2]
    assert half[2**60] in half and half[1::2][2**60] in half
    assert half.permutation[2**60 + 1] not in half
    assert half and bs.Permutation.walk(2**64 - 1, 1)


def test_wrong_lengths_and_seeds_are_refused():
    for bad in (-1, 2**64, 10**40):
        with pytest.raises(ValueError):
            bs.Permutation(bad, 1)
        with pytest.raises(ValueError):
            bs.Permutation(5, bad)
    for bad in (1.5, "5", None):
        with pytest.raises(TypeError):
            bs.Permutation(bad, 1)
        with pytest.raises(TypeError):
            bs.Permutation(5, bad)
    with pytest.raises(ValueError, match="32 bytes"):
        bs.Permutation(5, b"short")
    with pytest.raises(TypeError):
        bs.Permutation(5)
    with pytest.raises(ValueError):
        bs.BlockShuffle(10, 0, 1, 1)
    with pytest.raises(ValueError):
        bs.Permutation(5, 1).shard(2, 2)
    with pytest.raises(ValueError):
        bs.Permutation(5, 1).shard_strided(0, 0)
    with pytest.raises(ValueError):
        bs.Permutation(5, 1).chunks(0)


def test_arguments_that_are_no_counts():
    p, blocks = bs.Permutation(100, 1), bs.BlockShuffle(100, 7, 3, 1)
    attempts = [
        lambda bad: bs.Permutation(5, 1, epoch=bad), lambda bad: bs.Permutation.walk(5, 1, bad),
        lambda bad: p.head(bad), lambda bad: p.chunks(bad), lambda bad: p[::2].chunks(bad),
        lambda bad: p.shard(bad, 5), lambda bad: p.shard(0, bad), lambda bad: p.shard_strided(bad, 5),
        lambda bad: p.shard_strided(0, bad), lambda bad: bs.BlockShuffle(9, bad, 1, 1),
        lambda bad: bs.BlockShuffle(9, 1, bad, 1), lambda bad: bs.BlockShuffle(bad, 1, 1, 1),
        lambda bad: bs.BlockShuffle(9, 1, 1, 1, bad), lambda bad: blocks.items_of(bad),
        lambda bad: blocks.blocks_of(bad), lambda bad: blocks.window_items(bad),
        lambda bad: bs.choice(10, bad, 1), lambda bad: bs.choice(bad, 0, 1),
        lambda bad: bs.permutations(bad, 5, 1), lambda bad: bs.permutations(5, bad, 1),
        lambda bad: bs.shuffle(np.arange(5), bad), lambda bad: bs.shuffle(np.arange(5), 1, bad),
    ]
    for attempt in attempts:
        attempt(np.int64(1))
        for bad in (-1, np.int8(-1), 2**64):
            with pytest.raises(ValueError, match=f"not {bad}|cannot be chosen"):
                attempt(bad)
        with pytest.raises(TypeError):
            attempt(1.0)
    with pytest.raises(ValueError, match="at least one item"):
        bs.BlockShuffle(0, 1, 1, 1)


def test_seeds():
    long = bytes(range(32))
    assert bs.Permutation(100, long) != bs.Permutation(100, 0)
    assert list(bs.Permutation(100, long)) != list(bs.Permutation(100, bytes(32)))
    p = bs.Permutation(100, long, epoch=2**64 - 1)
    assert (p.seed, p.epoch, p.n, p.is_inverted) == (long, 2**64 - 1, 100, False)
    assert bs.Permutation(100, np.uint64(7)) == bs.Permutation(100, 7)
    assert list(bs.Permutation(100, 0, epoch=1)) != list(bs.Permutation(100, 1, epoch=0))


def test_equality_text_and_pickles():
    values = [
        bs.Permutation(1000, 42),
        bs.Permutation(1000, 42, 1),
        bs.Permutation(1000, 43),
        bs.Permutation(1001, 42),
        bs.Permutation(1000, bytes(32), 3),
        bs.Permutation.walk(1000, 42),
        bs.Permutation.walk(2**64 - 1, 42, 3),
        bs.BlockShuffle(1000, 10, 3, 42, epoch=2).order,
        bs.BlockShuffle(1000, 10, 4, 42, epoch=2).order,
    ]
    values += [p.inverted() for p in values]
    values += [p[3:900:7] for p in values] + [p[5::-2] for p in values] + [values[0][5:5]]
    values += [bs.BlockShuffle(1000, 10, 3, 42, epoch=2), bs.BlockShuffle(1000, 10, 3, 42)]
    for k, value in enumerate(values):
        assert [other == value for other in values] == [j == k for j in range(len(values))]
        for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
            text = pickle.dumps(value, protocol)
            again = pickle.loads(text)
            assert again == value and hash(again) == hash(value) and repr(again) == repr(value)
            if hasattr(value, "__getitem__") and len(value[:2]) == 2:
                assert list(again[:2]) == list(value[:2])
        assert len(pickle.dumps(value)) < 250
        assert copy.deepcopy(value) == value
    assert len({repr(value) for value in values}) == len(values)
    namespace = {"Permutation": bs.Permutation, "BlockShuffle": bs.BlockShuffle}
    for value in values:
        if isinstance(value, (bs.Permutation, bs.BlockShuffle)):
            assert eval(repr(value), namespace) == value
    assert values[0] != 5 and values[0] != "Permutation"


def test_choice_takes_no_memory_for_the_rest():
    drawn = bs.choice(10**12, 1000, seed=1)
    assert len(set(drawn.tolist())) == 1000
    assert drawn.max() < 10**12
    assert np.array_equal(drawn[:10], bs.choice(10**12, 10, 1))
    assert not np.array_equal(drawn, bs.choice(10**12, 1000, 1, epoch=1))
    assert sorted(bs.choice(10, 10, 3).tolist()) == list(range(10))
    with pytest.raises(ValueError):
        bs.choice(10, 11, 3)


def test_choice_of_the_rows_of_an_array():
    a = np.arange(600).reshape(100, 3, 2)
    numbers = bs.choice(100, 7, 5, epoch=2)
    assert np.array_equal(bs.choice(a, 7, 5, epoch=2), a[numbers])
    assert np.array_equal(bs.choice(a, (2, 3), 5, 2), a[numbers[:6]].reshape(2, 3, 3, 2))
    assert np.array_equal(bs.choice(a, 2, 5, axis=-2), a[:, bs.choice(3, 2, 5)])
    assert np.array_equal(bs.choice(100, (7,), 5, 2), numbers)
    assert bs.choice(10**18, (2, 3), 5).shape == (2, 3)
    assert bs.choice(a, (), 5).shape == (3, 2) and bs.choice(9, (), 5).shape == ()
    assert bs.choice(a.tolist(), 7, 5, 2).tolist() == a[numbers].tolist()
    assert bs.choice(np.int32(100), np.int8(7), np.int64(5), np.uint8(2)).tolist() == numbers.tolist()
    assert bs.choice(np.array(100), 7, 5, 2).tolist() == numbers.tolist()
    assert sorted(bs.choice("a b c".split(), 3, 1)) == ["a", "b", "c"]
    masked = bs.choice(np.ma.masked_equal(np.arange(5), 3), 5, 1)
    assert masked.mask.tolist() == (bs.choice(5, 5, 1) == 3).tolist()
    for bad, error in [("abc", TypeError), (1.5, TypeError), (None, TypeError), (np.array(1.5), TypeError)]:
        with pytest.raises(error, match="number of items or an array|integer"):
            bs.choice(bad, 1, 1)
    for bad in (1.5, None, "ab", (1.5,), np.array([2, 3]) / 2):
        with pytest.raises(TypeError, match="k is an integer or a shape"):
            bs.choice(a, bad, 1)
    with pytest.raises(ValueError, match="101 different items cannot be chosen from 100"):
        bs.choice(a, 101, 1)
    with pytest.raises(ValueError, match="not -1"):
        bs.choice(a, (-1, -1), 1)
    with pytest.raises(IndexError, match="axis"):
        bs.choice(a, 1, 1, axis=3)


def test_blocks_and_windows():
    blocks = bs.BlockShuffle(1003, 10, 4, seed=5)
    assert (blocks.block_count, blocks.window_count) == (101, 26)
    seen = []
    for window in range(blocks.window_count):
        items = set()
        for block in blocks.blocks_of(window).tolist():
            items |= set(range(*blocks.items_of(block)))
        assert set(blocks.window_items(window)) == items
        seen += list(blocks.window_items(window))
    assert seen == list(blocks.order)
    for bad in (26, 2**63):
        with pytest.raises(IndexError):
            blocks.window_items(bad)
        with pytest.raises(IndexError):
            blocks.blocks_of(bad)
    with pytest.raises(IndexError):
        blocks.items_of(101)
    with pytest.raises(MemoryError):
        bs.BlockShuffle(2**62, 1, 2**62, 1).blocks_of(0)
    assert bs.BlockShuffle(2**64 - 1, 1, 5, 1).blocks_of(7).dtype == np.uint64
