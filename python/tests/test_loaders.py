"""Draws by weights, and mixtures of sets: the values that Rust gives, dealt out to any ranks."""

import collections
import itertools
import json
import pathlib
import pickle
import subprocess
import sys
import threading

import bijective_shuffle as bs
import numpy as np
import pytest

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "crates" / "loaders" / "vectors"
VECTORS = json.loads((FOLDER / "loaders.json").read_text())


def numbers(texts):
    return np.array([int(text, 16) for text in texts], dtype=np.uint64)


WEIGHTS = {entry["name"]: numbers(entry["weights"]) for entry in VECTORS["weights"]}


def key(entry):
    seed, _, epoch = entry["seed"].partition("@")
    seed = bytes.fromhex(seed) if len(seed) == 64 else int(seed)
    return {"seed": seed, "epoch": int(epoch or 0)}


def digest(values):
    hash = 0xCBF29CE484222325
    for byte in np.asarray(values, dtype="<u8").tobytes():
        hash = (hash ^ byte) * 0x100000001B3 & 0xFFFF_FFFF_FFFF_FFFF
    return hex(hash)


@pytest.mark.parametrize("entry", VECTORS["draws"])
def test_draws_are_those_of_the_second_implementation(entry):
    draws = bs.Weighted(WEIGHTS[entry["weights"]], **key(entry), n=2**63 - 1)
    for place, item in zip(entry["places"], entry["items"], strict=True):
        place = int(place, 16)
        if place < draws.n:
            assert draws[place] == draws[[place]][0] == item
    assert digest(draws[:300]) == entry["digest"]
    assert hex(draws.fingerprint) == entry["fingerprint"]
    assert draws[:300].dtype == np.int64


@pytest.mark.parametrize("entry", VECTORS["samples"])
def test_samples_are_those_of_the_second_implementation(entry):
    weights, items = WEIGHTS[entry["weights"]], entry["items"]
    assert bs.weighted_sample(weights, len(items), **key(entry)).tolist() == items


def moved(array):
    """The same numbers at an address that no number should have."""
    return np.frombuffer(b"x" + array.tobytes(), array.dtype, offset=1)


@pytest.mark.parametrize("dtype", [np.float64, np.uint64])
def test_numbers_that_are_not_aligned(dtype):
    weights = np.arange(1, 9, dtype=dtype)
    draws = bs.Weighted(weights, 1)
    assert not moved(weights).flags.aligned
    assert bs.Weighted(moved(weights), 1)[:].tolist() == draws[:].tolist()
    assert bs.weighted_sample(moved(weights), 5, 1).tolist() == bs.weighted_sample(weights, 5, 1).tolist()
    again = bs.Weighted.from_table(moved(draws.table()), 1, n=8)
    places = moved(np.arange(5, dtype=np.uint64))
    assert again[places].tolist() == draws[:5].tolist()
    # The native side has to refuse them.
    mixture = bs.Mixture([3, 4], [1, 1], 1)
    for call in (lambda: draws.items(0, 8, places), lambda: mixture._inner.items(places),
                 lambda: bs._native.Weights(moved(weights), 1)):
        with pytest.raises(TypeError, match="aligned"):
            call()
    assert draws.items(0, 8, np.arange(8, dtype=np.uint64)[::-2]).tolist() == draws[::-2].tolist()


@pytest.mark.parametrize("dtype", ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", ">i8", ">u2", "?"])
def test_weights_of_all_integers(dtype):
    whole = np.arange(20_000) % (2 if dtype == "?" else 100)
    weights = whole.astype(dtype)
    expected = bs.Weighted(whole.astype(np.uint64), 1)
    strided = np.repeat(weights, 2)[::2]
    for given in (weights, strided, weights[::-1][::-1], weights.tolist()):
        assert np.array_equal(bs.Weighted(given, 1).table(), expected.table())
        assert bs.weighted_sample(given, 5, 1).tolist() == bs.weighted_sample(whole, 5, 1).tolist()
    if np.issubdtype(weights.dtype, np.signedinteger):
        weights[[12_345, 12_346]] = -1, -128
        for call in (lambda: bs.Weighted(weights, 1), lambda: bs.weighted_sample(weights, 5, 1)):
            with pytest.raises(ValueError, match="weight 12345 is negative"):
                call()


@pytest.mark.skipif(sys.platform != "linux", reason="the peak of the memory is in /proc")
def test_integer_weights_are_not_copied():
    code = """
import numpy as np, bijective_shuffle as bs
def peak():
    (line,) = [line for line in open("/proc/self/status") if line.startswith("VmHWM")]
    return int(line.split()[1]) * 1024
weights = np.arange(1, 10**7)
bs.Weighted(weights[:10**5], 1)
before = peak()
draws = bs.Weighted(weights, 1)
print((peak() - before) / len(weights))
"""
    run = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    # The table has 16 bytes an item.
    assert 15 < float(run.stdout) < 20


def test_weights_that_change_meanwhile():
    weights, done = np.ones(300_000, np.int64), threading.Event()

    def change():
        for number in itertools.cycle([1, 1000, 0, -1, 7]):
            weights[::3] = number
            if done.is_set():
                break

    changing = threading.Thread(target=change)
    changing.start()
    try:
        for _ in range(30):
            try:
                items = bs.Weighted(weights, 1, n=1000)[:]
            except ValueError as error:
                assert "not what it was" in str(error) or "is negative" in str(error)
            else:
                assert items.max() < len(weights)
    finally:
        done.set()
        changing.join()


def test_floating_point_weights_become_the_same_integers():
    for entry in VECTORS["integers"]:
        table = bs.Weighted(entry["weights"], 0).table()
        assert np.array_equal(table, bs.Weighted(numbers(entry["integers"]), 0).table())


@pytest.mark.parametrize("entry", [e for e in VECTORS["mixtures"] if "@" not in e["seed"]])
def test_mixtures_are_those_of_the_second_implementation(entry):
    lengths, changes = entry["lengths"], entry["changes"]
    first = numbers(changes[0]["weights"]).tolist()
    mixture = bs.Mixture(lengths[: len(first)], first, **key(entry), n=1000)
    known = len(first)
    for change in changes[1:]:
        weights = numbers(change["weights"]).tolist()
        mixture = mixture.changed(change["from"], weights, lengths[known : len(weights)])
        known = len(weights)
    assert [list(mixture[k]) for k in range(12)] == entry["head"]
    sets, items = mixture[:]
    assert digest(np.stack([sets, items], axis=1)) == entry["digest"]
    assert hex(mixture.fingerprint) == entry["fingerprint"]
    again = pickle.loads(pickle.dumps(mixture))
    assert again.fingerprint == mixture.fingerprint and again[999] == mixture[999]
    assert repr(again) == repr(mixture)


def pairs(batch):
    return list(zip(*map(np.ndarray.tolist, batch), strict=True)) if isinstance(batch, tuple) else batch.tolist()


@pytest.mark.parametrize("source", [
    bs.Weighted([1, 2, 0, 500], 3, epoch=2, n=777),
    bs.Mixture([300, 20], [5, 2], 3, epoch=2, n=777).changed(1800, [1, 1, 2], [33]),
], ids=["weighted", "mixture"])
@pytest.mark.parametrize("later_ranks,later_batch", [(1, 60), (3, 8), (7, 11)])
def test_other_ranks_resume_a_source_with_the_rest(source, later_ranks, later_batch):
    seen, state = collections.Counter(), None
    for rank in range(4):
        batches = source.batches(16, rank=rank, ranks=4, tail="short")
        assert batches.epoch == 2 and batches.steps == len(batches) == 13
        for _ in range(5):
            seen.update(pairs(batches.next_batch()))
        assert state in (None, batches.state())
        state = batches.state()
    for rank in range(later_ranks):
        batches = source.batches(later_batch, rank=rank, ranks=later_ranks, tail="short")
        batches.resume(state)
        assert batches.consumed == 320 and repr(batches)
        for batch in batches:
            seen.update(pairs(batch))
    assert seen == collections.Counter(pairs(source[:])) and seen.total() == 777


@pytest.mark.parametrize("tail", ["pad", "short", "fill", "drop"])
@pytest.mark.parametrize("n,ranks,batch", [(110, 3, 8), (2, 7, 3), (96, 3, 8)])
def test_the_last_step_is_that_of_a_sampler(tail, n, ranks, batch):
    draws, dealt, sampled = bs.Weighted(np.ones(1000), 3, n=n), [], []
    for rank in range(ranks):
        settings = {"rank": rank, "ranks": ranks, "tail": tail}
        steps = [step.tolist() for step in draws.batches(batch, **settings)]
        places = [p for p in bs.Sampler(n, 3, batch=batch, sequential=True, **settings)]
        assert list(map(len, steps)) == list(map(len, places))
        dealt += sum(steps, [])
        sampled += [item for p in places for item in draws[p].tolist()]
    assert sorted(dealt) == sorted(sampled)


def test_batches_of_each_rank_have_the_shares_of_the_whole():
    for rank in range(2):
        for sets, _ in bs.Mixture([1000, 1000], [1, 1], 3).batches(10, rank=rank, ranks=2):
            assert sets.sum() == 5


def test_epochs_go_on():
    mixture = bs.Mixture([10, 4], [3, 1], 42)
    assert len(mixture) == 16 and mixture.quota == 4
    batches = mixture.batches(16)
    first = batches.next_batch()
    assert batches.next_batch() is None and not len(batches) and batches
    batches.next_epoch()
    longer = bs.Mixture([10, 4], [3, 1], 42, n=32)[:]
    assert np.array_equal(np.concatenate([first, batches.next_batch()], axis=1), longer)
    later = bs.Mixture([10, 4], [3, 1], 42, epoch=1)
    assert later[3] == (longer[0][19], longer[1][19])
    draws = bs.Weighted(np.arange(100), 42, epoch=1)
    assert np.array_equal(draws.batches(100).next_batch(), draws[:])
    assert not np.array_equal(draws[:], bs.Weighted(np.arange(100), 42)[:])


def test_places_are_looked_up_as_those_of_a_sequence():
    draws = bs.Weighted([1, 2, 3], 5, n=100)
    items = draws[:].tolist()
    assert list(draws) == items and draws[-1] == items[-1]
    assert draws[10:90:7].tolist() == items[10:90:7] and draws[::-1].tolist() == items[::-1]
    for dtype in (np.int8, np.uint8, np.int64, np.uint64):
        assert draws[np.array([0, 99, 7], dtype)].tolist() == [items[0], items[99], items[7]]
    assert draws[[-1, -100]].tolist() == [items[-1], items[0]] and draws[[]].tolist() == []
    for outside in (100, -101, [100], [-101], np.array([2**64 - 1], np.uint64)):
        with pytest.raises(IndexError):
            draws[outside]
    for wrong in ("a", 1.5, [1.5], [[1]]):
        with pytest.raises(TypeError):
            draws[wrong]


def test_tables_are_shared():
    draws = bs.Weighted(WEIGHTS["mixed"], 7, n=1000)
    for again in (pickle.loads(pickle.dumps(draws)), bs.Weighted.from_table(draws.table(), 7, n=1000)):
        assert np.array_equal(again[:], draws[:]) and repr(again) == repr(draws)
    table = draws.table()
    table[5, 1] = 2**63
    for wrong in (table, table[:0], table[:-1]):
        with pytest.raises(ValueError, match="make it again"):
            bs.Weighted.from_table(wrong, 7)


@pytest.mark.skipif(sys.platform != "linux", reason="threads are counted in /proc")
def test_a_few_draws_start_no_threads():
    code = """
import os, bijective_shuffle as bs
draws, mixture = bs.Weighted([1, 2], 3, n=10**6), bs.Mixture([5, 6], [1, 2], 3, n=10**6)
before = len(os.listdir("/proc/self/task"))
draws[3], draws[:1000], mixture[3], mixture[:1000], draws.batches(10).next_batch()
print(len(os.listdir("/proc/self/task")) - before)
"""
    run = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert run.stdout == "0\n"


def test_loaders_name_wrong_arguments():
    for weights in ([], [0, 0], [-1, 2], [float("nan")], [np.inf], [2**63, 2**63]):
        with pytest.raises(ValueError):
            bs.Weighted(weights, 1)
    for weights in ([[1]], ["a"], [1j], [2**64]):
        with pytest.raises(TypeError):
            bs.Weighted(weights, 1)
    for n in (0, -1, 2**63):
        with pytest.raises(ValueError):
            bs.Weighted([1], 1, n=n)
    with pytest.raises(ValueError, match="2 that have a weight"):
        bs.weighted_sample([1, 0, 1.5], 3, 1)
    for lengths, weights in (([1], [1, 1]), ([0], [1]), ([], []), ([-1], [1])):
        with pytest.raises(ValueError):
            bs.Mixture(lengths, weights, 1)
    mixture = bs.Mixture([5], [1], 1, n=2**40)
    with pytest.raises(ValueError, match="2\\^64"):
        mixture.batches().set_epoch(2**24)
    with pytest.raises(ValueError, match="in the order"):
        mixture.changed(7, [1]).changed(6, [1])
    state = bs.Weighted([1, 2], 1).batches().state()
    with pytest.raises(bs.ForeignStateError):
        bs.Weighted([1, 3], 1).batches().resume(state)


def test_a_number_that_is_wrong_has_a_name():
    wrong = {
        "rank": [lambda: bs.Sampler(5, 1, rank=-1)], "ranks": [lambda: bs.Sampler(5, 1, ranks=-1)],
        "epoch": [lambda: bs.Permutation(5, 1, -1), lambda: bs.Permutation.walk(5, 1, -1),
                  lambda: bs.Weighted([1], 1, -1), lambda: bs.Mixture([1], [1], 1, -1), lambda: bs.Packed([1], 1, 1, -1),
                  lambda: bs.Lengths([1], 1, 1, -1), lambda: bs.StreamShuffle([], 1, 1, -1), lambda: bs.Splits([1], 1, -1),
                  lambda: bs.Folds(2, 1, epoch=2**64)],
        "a seed": [lambda: bs.Weighted([1], -1), lambda: bs.Mixture([1], [1], -1), lambda: bs.Packed([1], 1, -1)],
        "a length": [lambda: bs.Mixture([-1], [1], 1), lambda: bs.Mixture([1], [1], 1).changed(1, [1, 1], [-1])],
        "a weight": [lambda: bs.Mixture([1], [-1], 1)],
        "start": [lambda: bs.Mixture([1], [1], 1).changed(-1, [1])],
        "window": [lambda: bs.Lengths([1], 1, 1, window=-1)], "max_tokens": [lambda: bs.Lengths([1], -1, 1)],
        "overlap": [lambda: bs.Packed([1], 1, 1, overlap=-1)], "buffer_size": [lambda: bs.StreamShuffle([], -1, 1)],
        "n": [lambda: bs.Splits([1], 1).indexes(-1)], "blocks": [lambda: bs.NodeBlocks(-1, 0.5, 1)],
    }
    for name, calls in wrong.items():
        for call in calls:
            with pytest.raises(ValueError, match=f"^{name} is an integer from 0 "):
                call()


def test_a_stream_goes_on_with_an_input_of_another_length_or_refuses_it():
    refused = {}
    for n, drawn in itertools.product((40, 50, 60), range(51)):
        for source in (range(n), lambda start: iter(range(start, n))):
            stream = bs.StreamShuffle(range(50), 5, 1)
            items = list(itertools.islice(stream, drawn))
            again = bs.StreamShuffle(source, 5, 1)
            again.load_state_dict(stream.state_dict())
            try:
                items += again
            except ValueError as error:
                assert "the same items as before" in str(error)
                refused.setdefault(n, set()).add(drawn)
            else:
                # Behind the end a shorter input has nothing to lose.
                assert sorted(items) == list(range(50 if drawn == 50 else n)), (n, drawn)
    # 41 items were taken for the first 36, and the end was found behind the first 45.
    assert refused == {40: set(range(36, 50)), 60: set(range(46, 51))}


def test_a_mixture_takes_decimal_weights():
    whole, decimal = bs.Mixture([100, 50], [7, 3], 1), bs.Mixture([100, 50], [0.7, 1 - 0.7], 1)
    assert decimal[:200][0].tolist() == whole[:200][0].tolist()
    assert decimal.fingerprint == whole.fingerprint
    later = whole.changed(1000, [1, 3]), whole.changed(1000, [0.25, 0.75])
    assert later[0].fingerprint == later[1].fingerprint
    # Integers stay as they are, since states know them.
    assert bs.Mixture([100, 50], [70, 30], 1).fingerprint != whole.fingerprint
    for weights in [[0.5, -0.5], [0.5, float("nan")], ["a", 1]]:
        with pytest.raises(ValueError, match="weights are numbers"):
            bs.Mixture([100, 50], weights, 1)
