"""Packed documents, batches by length, streams, splits and blocks of nodes: the values that Rust gives,
and states that are saved at random steps and resumed by others."""

import collections
import itertools
import json
import mmap
import os
import pathlib
import pickle
from multiprocessing import shared_memory

import bijective_shuffle as bs
import numpy as np
import pytest

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "crates" / "loaders" / "vectors"
VECTORS = json.loads((FOLDER / "loaders.json").read_text())
# `BIJECTIVE_SHUFFLE_LONG=1` has 2,000 cases for each class.
CASES = 2000 if os.environ.get("BIJECTIVE_SHUFFLE_LONG") == "1" else 60


def key(entry):
    seed, _, epoch = entry["seed"].partition("@")
    seed = bytes.fromhex(seed) if len(seed) == 64 else int(seed)
    return {"seed": seed, "epoch": int(epoch or 0)}


def digest(values):
    hash = 0xCBF29CE484222325
    for byte in np.asarray(values, dtype="<u8").tobytes():
        hash = (hash ^ byte) * 0x100000001B3 & 0xFFFF_FFFF_FFFF_FFFF
    return hex(hash)


@pytest.mark.parametrize("entry", VECTORS["packed"])
def test_sequences_are_those_of_the_second_implementation(entry):
    packed = bs.Packed(entry["lengths"], entry["length"], **key(entry), overlap=entry["overlap"])
    sequences = [pieces.tolist() for pieces in packed]
    assert sequences[:4] == entry["head"]
    assert digest([number for pieces in sequences for piece in pieces for number in piece]) == entry["digest"]
    assert hex(packed.fingerprint) == entry["fingerprint"]
    again = pickle.loads(pickle.dumps(packed))
    assert again[-1].tolist() == sequences[-1] and repr(again) == repr(packed)
    assert again.tokens == sum(entry["lengths"])


@pytest.mark.parametrize("entry", VECTORS["lengths"])
def test_batches_by_length_are_those_of_the_second_implementation(entry):
    batches = bs.Lengths(entry["lengths"], entry["max_tokens"], **key(entry), window=entry["window"])
    items = [batch.tolist() for batch in batches]
    assert items[:4] == entry["head"] and len(batches) == len(items)
    assert digest([number for batch in items for number in (len(batch), *batch)]) == entry["digest"]
    assert hex(batches.fingerprint) == entry["fingerprint"]
    again = pickle.loads(pickle.dumps(batches))
    assert again[-1].tolist() == items[-1] and repr(again) == repr(batches)
    lengths = [max(length, 1) for length in entry["lengths"]]
    padded = sum(lengths[batch[0]] * len(batch) for batch in items)
    assert batches.waste == 1 - sum(entry["lengths"]) / padded


@pytest.mark.parametrize("dtype", ["<u4", ">u4", "i8", "u1"])
def test_lengths_are_read_from_any_array_of_integers(dtype):
    lengths = np.array([3, 20, 5, 80], dtype=dtype)
    unaligned = np.frombuffer(b"x" + lengths.tobytes(), dtype=dtype, offset=1)
    strided = np.repeat(lengths, 2)[::2]
    for given in (lengths, unaligned, strided):
        assert [p.tolist() for p in bs.Packed(given, 16, seed=1)] == [
            p.tolist() for p in bs.Packed([3, 20, 5, 80], 16, seed=1)]
        assert [b.tolist() for b in bs.Lengths(given, 100, seed=1)] == [
            b.tolist() for b in bs.Lengths([3, 20, 5, 80], 100, seed=1)]


@pytest.mark.parametrize("entry", VECTORS["streams"])
def test_streams_are_those_of_the_second_implementation(entry):
    stream = bs.StreamShuffle(range(entry["items"]), entry["size"], **key(entry))
    items = list(stream)
    assert items[:10] == entry["head"] and digest(items) == entry["digest"]
    list(itertools.islice(stream, entry["step"]))
    asked = []

    def source(start):
        asked.append(start)
        return iter(range(start, entry["items"]))

    again = bs.StreamShuffle(source, entry["size"], **key(entry))
    again.load_state_dict(stream.state_dict())
    assert list(again) == items[entry["step"] :]
    assert asked == [min(entry["buffer"])]


@pytest.mark.parametrize("entry", VECTORS["splits"])
def test_splits_are_those_of_the_second_implementation(entry):
    if entry["stratum"] == 0:
        parts = bs.Splits(entry["shares"], **key(entry)).parts(1000)
        assert parts[:20].tolist() == entry["head"] and digest(parts) == entry["digest"]
    ids = list(entry["ids"])
    assert bs.Splits(entry["shares"], **key(entry)).parts(ids=ids).tolist() == list(entry["ids"].values())


@pytest.mark.parametrize("entry", VECTORS["nodes"])
def test_blocks_of_nodes_are_those_of_the_second_implementation(entry):
    at = key(entry)
    blocks = bs.NodeBlocks(entry["blocks"], entry["kept"], at["seed"])
    nodes = range(entry["nodes"])
    of_node = [blocks.of_node(at["epoch"], node, len(nodes)).tolist() for node in nodes]
    assert of_node == entry["of_node"]
    # Another number of nodes goes on with the rest.
    read = [block for own in of_node for block in own[:2]]
    for node in range(5):
        read += blocks.after(at["epoch"], [(len(nodes), 2)], node, 5).tolist()
    assert sorted(read) == list(range(entry["blocks"]))


def flat(item):
    return tuple(np.asarray(item).reshape(-1).tolist())


@pytest.mark.parametrize("kind", ["packed", "lengths"])
def test_states_are_resumed_by_others(kind):
    for case in range(CASES):
        rng = np.random.default_rng(case)
        lengths = rng.integers(0, 50, rng.integers(100, 300))
        epoch = int(rng.integers(3))

        def make():
            if kind == "packed":
                return bs.Packed(lengths, int(length), case, epoch, overlap=int(length % 2))
            return bs.Lengths(lengths, 49 + int(length) * 3, case, epoch, window=64)

        length = rng.integers(1, 60)
        source, seen, state = make(), collections.Counter(), None
        for stop in range(3):
            ranks, batch = (int(number) for number in rng.integers(1, 6, 2))
            steps = None if stop == 2 else int(rng.integers(6))
            after = set()
            for rank in range(ranks):
                batches = source.batches(batch, rank=rank, ranks=ranks, tail="short")
                if state is not None:
                    batches.load_state_dict(state)
                for items in itertools.islice(batches, steps):
                    seen.update(map(flat, items))
                after.add(batches.state())
            (text,) = after
            state = {"batches": text}
        assert seen == collections.Counter(map(flat, make())), case


def test_a_resumed_run_builds_one_index():
    begun = []

    class Counted(bs.Lengths):
        def begin(self, epoch):
            begun.append(epoch)
            return super().begin(epoch)

    source = Counted(np.arange(3000) % 300, 1000, 3, window=100)
    batches = source.batches()
    batches.set_epoch(5)
    next(batches)
    state, following = batches.state(), next(batches)
    begun.clear()
    resumed = source.batches(state=state)
    assert begun == [5] and resumed.epoch == 5
    assert [items.tolist() for items in next(resumed)] == [items.tolist() for items in following]
    with pytest.raises(bs.ForeignStateError):
        source.batches(state="")


def test_epochs_of_batches_by_length_have_lengths_of_their_own():
    lengths = np.arange(3000) * 7919 % 300
    source = bs.Lengths(lengths, 1000, 3, window=100)
    batches, counts = source.batches(rank=1, ranks=4), []
    for epoch in range(4):
        seen = [item for step in batches for items in step for item in items.tolist()]
        assert len(set(seen)) == len(seen) < 3000 / 3
        counts.append(batches.steps)
        assert batches.steps == -(-len(bs.Lengths(lengths, 1000, 3, epoch, window=100)) // 4)
        state = batches.state()
        batches.next_epoch()
        assert batches.epoch == epoch + 1 and batches.consumed == 0
    assert len(set(counts)) > 1
    batches.resume(state)
    assert batches.epoch == 3 and batches.steps_remaining == 0
    for wrong in ("", "1-2", "x-y-z-w", state.replace("-3-", "-2-")):
        with pytest.raises(bs.ForeignStateError):
            batches.resume(wrong)
    assert batches.epoch == 3


def test_lengths_are_used_where_they_are(tmp_path):
    path = tmp_path / "lengths"
    lengths = (np.arange(5000) * 7919 % 300).astype(np.uint32)
    lengths.tofile(path)
    mapped = np.memmap(path, np.uint32, "r")
    packed, batches = bs.Packed(mapped, 128, 1), bs.Lengths(mapped, 2000, 1)
    assert packed.fingerprint == bs.Packed(lengths.astype(np.int64), 128, 1).fingerprint
    assert packed[5].tolist() == bs.Packed(lengths, 128, 1)[5].tolist()
    assert batches[5].tolist() == bs.Lengths(lengths.tolist(), 2000, 1)[5].tolist()
    # What changes behind its back is noticed, and not read past.
    own = bs.Packed(lengths, 128, 1)
    lengths[:] = 0
    with pytest.raises(ValueError, match="build the index again"):
        own[5]
    strided = np.ones(100, np.uint32)[::2]
    assert len(bs.Packed(strided, 5, 1)) == 10


def makers_of_lengths():
    """Lengths in memory that can be freed under them, each with what frees it and what refuses."""
    own = np.full(5000, 3, np.uint32)
    yield own, lambda: own.resize(10, refcheck=False), ValueError
    viewed = np.full(5000, 3, np.uint32)
    yield viewed[100:][:2000], lambda: viewed.resize(10, refcheck=False), ValueError
    mapped = mmap.mmap(-1, 20_000)
    yield np.ndarray((5000,), np.uint32, mapped), mapped.close, BufferError
    shared = shared_memory.SharedMemory(create=True, size=20_000)
    shared.unlink()
    yield np.ndarray((5000,), np.uint32, shared.buf), shared.close, BufferError
    held = bytearray(20_000)
    viewed_bytes = np.frombuffer(held, np.uint32)

    def clear():
        viewed_bytes.base.release()
        held.clear()

    yield viewed_bytes, clear, BufferError


@pytest.mark.parametrize("make", [bs.Packed, bs.Lengths])
def test_lengths_are_neither_freed_nor_moved(make):
    for lengths, free, error in makers_of_lengths():
        lengths[:] = 3
        source = make(lengths, 500, 1)
        first = source[1].tolist()
        with pytest.raises(error):
            free()
        assert source[1].tolist() == first
        # Afterwards as before.
        del source
        free()


def test_streams_are_resumed():
    for case in range(CASES):
        rng = np.random.default_rng(case)
        n, size, epoch = (int(number) for number in rng.integers(0, [900, 60, 3]))
        size += 1

        def source(start):
            return iter(range(start, n))

        expected = list(bs.StreamShuffle(range(n), size, case, epoch))
        assert sorted(expected) == list(range(n))
        seen, state = [], None
        for _ in range(4):
            stream = bs.StreamShuffle(source if rng.integers(2) else range(n), size, case, epoch)
            if state is not None:
                stream.load_state_dict(json.loads(json.dumps(state)))
            items = iter(stream)
            seen += itertools.islice(items, int(rng.integers(400)))
            assert stream.emitted == len(seen) and stream.epoch == epoch
            state = stream.state_dict()
        stream.seek(len(seen))
        assert seen + list(stream) == expected, case


@pytest.mark.parametrize("emitted", [0, 1, 50, 89, 90, 91, 99, 100])
def test_a_state_before_the_first_step_is_the_one_that_was_loaded(emitted):
    stream = bs.StreamShuffle(range(100), 10, 3)
    items = iter(stream)
    list(itertools.islice(items, emitted))
    state = stream.state_dict()
    for _ in range(3):
        stream = bs.StreamShuffle(range(100), 10, 3)
        stream.load_state_dict(state)
        rest = iter(stream)
        assert stream.state_dict() == state
    assert list(rest) == list(items)


class Failing:
    """An input that cannot be read once, at each of some items."""

    def __init__(self, n, at):
        self.n, self.at = n, set(at)

    def __call__(self, start):
        for item in range(start, self.n):
            if item in self.at:
                self.at.remove(item)
                raise OSError(item)
            yield item


@pytest.mark.parametrize("at", [[300], [20], [999], [150, 151, 400]])
def test_a_stream_goes_on_behind_an_exception_of_its_input(at):
    stream = bs.StreamShuffle(Failing(1000, at), 20, 3)
    seen = []
    for failed in at:
        with pytest.raises(OSError, match=str(failed)):
            for item in stream:
                seen.append(item)
        assert stream.emitted == len(seen) == failed - 20
        stream.load_state_dict(stream.state_dict())
    assert seen + list(stream) == list(bs.StreamShuffle(range(1000), 20, 3))


def test_a_state_is_kept_where_the_input_fails_at_once():
    """While the buffer is filled, and with a state that was loaded."""
    stream = bs.StreamShuffle(range(1000), 20, 3)
    seen = list(itertools.islice(stream, 400))
    state = stream.state_dict()
    stream = bs.StreamShuffle(Failing(1000, range(400, 420)), 20, 3)
    stream.load_state_dict(state)
    for _ in range(20):
        with pytest.raises(OSError):
            iter(stream)
        assert stream.state_dict() == state
    assert seen + list(stream) == list(bs.StreamShuffle(range(1000), 20, 3))
    fresh = bs.StreamShuffle(Failing(1000, [5]), 20, 3, epoch=2)
    with pytest.raises(OSError):
        iter(fresh)
    assert list(fresh) == list(bs.StreamShuffle(range(1000), 20, 3, epoch=2))


def test_a_step_whose_items_cannot_be_had_is_not_taken():
    lengths = np.full(1000, 10, np.uint32)
    batches = bs.Packed(lengths, 60, 1).batches(10, rank=1, ranks=2)
    expected = [[pieces.tolist() for pieces in batch] for batch in bs.Packed(lengths, 60, 1).batches(10, rank=1, ranks=2)]
    seen = []
    for step in range(len(expected)):
        state = batches.state()
        # In an epoch's index, and before there is one.
        lengths[:] = 0
        with pytest.raises(ValueError, match="build the index again"):
            next(batches)
        assert batches.state() == state and batches.steps_remaining == len(expected) - step
        lengths[:] = 10
        seen.append([pieces.tolist() for pieces in next(batches)])
    assert seen == expected


def test_streams_go_from_epoch_to_epoch():
    stream = bs.StreamShuffle(range(100), 10, 3)
    first = list(stream)
    assert list(stream) == first
    stream.set_epoch(1)
    second = list(stream)
    assert second != first and second == list(bs.StreamShuffle(range(100), 10, 3, epoch=1))
    assert "epoch 1" in repr(stream)
    once = bs.StreamShuffle(iter(range(5)), 10, 3)
    assert sorted(once) == list(range(5))
    with pytest.raises(ValueError, match="read before"):
        list(once)
    items = iter(stream)
    next(items)
    state = stream.state_dict()
    for other in (bs.StreamShuffle(range(100), 11, 3), bs.StreamShuffle(range(100), 10, 4)):
        with pytest.raises(bs.ForeignStateError):
            other.load_state_dict(state)
    with pytest.raises(bs.ForeignStateError):
        stream.load_state_dict({})
    stream.seek(0)
    assert stream.state_dict() == bs.StreamShuffle([], 10, 3, epoch=1).state_dict()
    # Whether an input is as long as somebody seeks is unknown until it is read.
    shorter = bs.StreamShuffle(range(50), 10, 3, epoch=1)
    stream.seek(60)
    shorter.load_state_dict(stream.state_dict())
    assert list(shorter) == []
    assert next(iter(stream)) == second[60]
    shorter.load_state_dict(stream.state_dict())
    with pytest.raises(ValueError, match="has ended at item"):
        list(shorter)


def test_splits_and_packing_name_wrong_arguments():
    for shares in ([], [0, 0], [-1, 2], ["x"], [1, float("nan")], [0.123456789, 1]):
        with pytest.raises(ValueError):
            bs.Splits(shares, 1)
    splits = bs.Splits([1, 1], 1)
    for given in ({}, {"labels": [1], "groups": [1]}):
        with pytest.raises(TypeError, match="at most one"):
            splits.parts(**given)
    with pytest.raises(ValueError, match="3 items have 1"):
        splits.parts(3, labels=[1])
    with pytest.raises(TypeError):
        splits.parts(ids=[1.5])
    for lengths in ([[1]], [1.5]):
        with pytest.raises(TypeError):
            bs.Packed(lengths, 1, 1)
    for lengths, length in (([-1], 1), ([2**32], 1), ([3], 4), ([3], 0), ([], 1)):
        with pytest.raises(ValueError):
            bs.Packed(lengths, length, 1)
    with pytest.raises(ValueError, match="item 1 has 9 tokens"):
        bs.Lengths([1, 9], 8, 1)
    with pytest.raises(ValueError, match="from 1 to 65536"):
        bs.Lengths([1], 8, 1, window=2**16 + 1)
    for arguments in ((0, 0.5), (10, 1.5)):
        with pytest.raises(ValueError):
            bs.NodeBlocks(*arguments, 1)
    with pytest.raises(ValueError):
        bs.NodeBlocks(10, 0.5, 1).of_node(0, 3, 3)
    with pytest.raises(ValueError):
        bs.StreamShuffle([], 0, 1)
