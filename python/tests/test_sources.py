"""Sources of items, streams and blocks of nodes in the loaders of PyTorch, torchdata and Accelerate, and
packed documents in a loader in the manner of Megatron-LM: each item is counted."""

import collections
import functools
import itertools
import os
import queue
import threading

import bijective_shuffle as bs
import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from bijective_shuffle.megatron import PackedDataset  # noqa: E402
from bijective_shuffle.torch import (  # noqa: E402
    NodeDataset,
    SourceBatchSampler,
    StreamDataset,
)
from torch.utils.data import DataLoader, Dataset, IterableDataset, get_worker_info  # noqa: E402

CASES = 2000 if os.environ.get("BIJECTIVE_SHUFFLE_LONG") == "1" else 25


class Keys(Dataset):
    """Items that are their own keys."""

    def __getitem__(self, key):
        return key


def ending(tail):
    """The arguments that say what the last step does."""
    return {"drop_last": True} if tail == "drop" else {"tail": tail}


def whole(items):
    return items


LENGTHS = np.arange(300) * 7919 % 40
SOURCES = {
    "weighted": bs.Weighted([1, 2, 3, 4], 3, n=333),
    "mixture": bs.Mixture([200, 30], [5, 2], 3, n=333),
    "packed": bs.Packed(LENGTHS, 16, 3, overlap=1),
    "lengths": bs.Lengths(LENGTHS, 100, 3, window=64),
}


def flat(key):
    return tuple(np.asarray(key).reshape(-1).tolist())


def keys_of(source, epoch):
    """All keys of an epoch."""
    batches = source.batches(1)
    batches.set_epoch(epoch)
    counts = collections.Counter()
    for batch in batches:
        if isinstance(batch, tuple):
            batch = zip(*batch, strict=True)
        elif isinstance(source, bs.Lengths):
            batch = batch[0]
        counts.update(map(flat, batch))
    return counts


@pytest.mark.parametrize("kind", SOURCES)
def test_a_loader_with_workers_goes_on_with_other_ranks(kind):
    source = SOURCES[kind]
    for case in range(4):
        rng = np.random.default_rng(case)
        seen, state = collections.Counter(), None
        for stop in range(3):
            ranks, batch = (int(number) for number in rng.integers(1, 4, 2))
            steps = None if stop == 2 else int(rng.integers(1, 8))
            if kind == "lengths":
                batch = 1
            states = []
            for rank in range(ranks):
                sampler = SourceBatchSampler(source, batch, rank=rank, ranks=ranks, tail="short")
                sampler.set_epoch(2)
                if state is not None:
                    sampler.load_state_dict(state)
                workers = 2 if stop == 1 and rank == 0 else 0
                loader = DataLoader(Keys(), batch_sampler=sampler, collate_fn=whole, num_workers=workers)
                assert state is not None or rank > 0 or kind == "lengths" \
                    or len(loader) == len(source.batches(batch, ranks=ranks))
                for items in itertools.islice(loader, steps):
                    seen.update(map(flat, items))
                states.append(sampler.state_after((steps or 0) * batch * ranks))
                assert "epoch 2" in repr(sampler)
            assert all(other == states[0] for other in states)
            state = states[0]
        # Where fewer places than ranks are left, the others repeat one each.
        expected, most = keys_of(source, 2), ranks - 1
        if kind == "lengths":
            most *= max(map(len, bs.Lengths(LENGTHS, 100, 3, 2, window=64)))
        assert not expected - seen and (seen - expected).total() <= most


@pytest.mark.parametrize("kind", SOURCES)
def test_epochs_follow_each_other(kind):
    sampler = SourceBatchSampler(SOURCES[kind], tail="short")
    loader = DataLoader(Keys(), batch_sampler=sampler, collate_fn=whole)
    for epoch in range(3):
        assert collections.Counter(flat(key) for batch in loader for key in batch) == keys_of(SOURCES[kind], epoch)
    with pytest.raises(bs.ForeignStateError):
        sampler.load_state_dict(SourceBatchSampler(bs.Weighted([1], 1)).state_dict())


class Counting(bs.Lengths):
    """Counts the epochs that are prepared."""

    begun = collections.Counter()

    def begin(self, epoch):
        self.begun[epoch] += 1
        return super().begin(epoch)


def test_a_length_prepares_no_other_epoch():
    sampler = SourceBatchSampler(Counting(LENGTHS, 100, 3, window=64))
    batches = iter(sampler)
    next(batches)
    Counting.begun.clear()
    # The sampler has come to the next epoch by now, which nobody has asked for.
    assert len(sampler) == len(list(batches)) + 1
    assert set(Counting.begun) == {0}
    sampler.set_epoch(3)
    assert len(sampler) == len(bs.Lengths(LENGTHS, 100, 3, 3, window=64))


def test_a_stateful_loader_goes_on_with_sources():
    stateful = pytest.importorskip("torchdata.stateful_dataloader", reason="torchdata is not installed")
    for kind, source in SOURCES.items():
        for workers in (0, 2):
            def make():
                sampler = SourceBatchSampler(source, tail="short")
                return stateful.StatefulDataLoader(Keys(), batch_sampler=sampler, collate_fn=whole,
                                                   num_workers=workers)

            first = make()
            items = [flat(key) for batch in itertools.islice(first, 7) for key in batch]
            again = make()
            again.load_state_dict(first.state_dict())
            items += [flat(key) for batch in again for key in batch]
            assert collections.Counter(items) == keys_of(source, 0), (kind, workers)


def test_sources_in_a_loader_of_accelerate():
    accelerate = pytest.importorskip("accelerate", reason="Accelerate is not installed")
    os.environ["ACCELERATE_USE_CPU"] = "true"
    for kind, source in SOURCES.items():
        config = accelerate.utils.DataLoaderConfiguration(even_batches=kind != "lengths")
        accelerator = accelerate.Accelerator(cpu=True, dataloader_config=config)
        loader = DataLoader(Keys(), batch_sampler=SourceBatchSampler(source, tail="short"), collate_fn=whole)
        loader = accelerator.prepare(loader)
        for epoch in range(2):
            loader.set_epoch(epoch)
            assert collections.Counter(flat(key) for batch in loader for key in batch) == keys_of(source, epoch)


def stream_of(n):
    def source(start):
        return iter(range(start, n))

    return source


class Numbers:
    """An input that is pickled."""

    def __init__(self, n):
        self.n = n

    def __call__(self, start):
        return iter(range(start, self.n))


def test_a_stream_goes_on_with_other_ranks_workers_and_batches():
    for case in range(CASES):
        rng = np.random.default_rng(case)
        n, size = int(rng.integers(0, 400)), int(rng.integers(1, 60))
        expected = list(bs.StreamShuffle(range(n), size, case, epoch=1))
        seen, state, taken = [], None, 0
        for stop in range(3):
            ranks, batch = (int(number) for number in rng.integers(1, 5, 2))
            steps = None if stop == 2 else int(rng.integers(6))
            workers = 2 if case == 1 else 0
            here, states = [], []
            for rank in range(ranks):
                source = Numbers(n) if rng.integers(2) else range(n)
                data = StreamDataset(source, size, case, batch, rank=rank, ranks=ranks, tail="short")
                data.set_epoch(1)
                if state is not None:
                    data.load_state_dict(state)
                loader = DataLoader(data, batch_size=None, num_workers=workers)
                here += [item for items in itertools.islice(loader, steps) for item in items.tolist()]
                states.append(data.state_after(min(steps or 0, -(-(n - taken) // (ranks * batch)))))
            assert all(other == states[0] for other in states)
            left = n - taken
            more = left if steps is None else min(steps * ranks * batch, left)
            counts = collections.Counter(here)
            assert set(counts) == set(expected[taken : taken + more])
            # Each once, except where fewer than ranks are left.
            last = left % (ranks * batch) if more == left else 0
            assert counts.total() == more + (ranks - last if 0 < last < ranks else 0)
            seen, state, taken = seen + here, states[0], taken + more
            if taken == n:
                break
        assert sorted(set(seen)) == list(range(n)), case


@pytest.mark.parametrize("tail", ["pad", "short", "drop"])
def test_the_end_of_a_stream(tail):
    steps = []
    for rank in range(3):
        data = StreamDataset(range(100), 10, 3, 4, rank=rank, ranks=3, **ending(tail))
        steps.append([batch.tolist() for batch in DataLoader(data, batch_size=None)])
    counts = collections.Counter(item for own in steps for batch in own for item in batch)
    # Eight whole steps of 12, and four items.
    sizes = {"pad": [2, 2, 2], "short": [2, 1, 1], "drop": []}[tail]
    assert [len(own) for own in steps] == [9 if sizes else 8] * 3
    if sizes:
        assert [len(own[-1]) for own in steps] == sizes and len(counts) == 100
    assert counts.total() == 96 + sum(sizes)


@pytest.mark.parametrize("tail", ["pad", "short", "drop"])
def test_a_stream_goes_on_behind_its_last_step(tail):
    """The last step has fewer items than the others, and a state counts whole ones."""
    for n, size, batch in [(100, 10, 8), (7, 10, 8), (0, 3, 2), (96, 1, 8), (97, 1, 8)]:
        data = StreamDataset(Numbers(n), size, 1, batch, rank=0, ranks=1, **ending(tail))
        assert data.state_after(0) == bs.StreamShuffle([], size, 1).state_dict()
        with pytest.raises(ValueError, match="no place after -1 steps"):
            data.state_after(-1)
        steps = len(list(data))
        for more in (0, 1):
            again = StreamDataset(Numbers(n), size, 1, batch, rank=0, ranks=1, tail="short")
            again.load_state_dict(data.state_after(steps + more))
            left = [item for items in again for item in items.tolist()]
            expected = list(bs.StreamShuffle(range(n), size, 1))[(steps + more) * batch :]
            assert left == expected and again.state_after(0) == data.state_after(steps + more)
        stream = bs.StreamShuffle(Numbers(n), size, 1)
        stream.seek(n + 5)
        assert list(stream) == []
        stream.load_state_dict(stream.state_dict())
        assert list(stream) == []


def test_a_stateful_loader_goes_on_behind_the_last_step_of_a_stream():
    stateful = pytest.importorskip("torchdata.stateful_dataloader", reason="torchdata is not installed")
    for workers in (0, 2):
        def make():
            data = StreamDataset(Numbers(100), 10, 1, 8, rank=0, ranks=1)
            return stateful.StatefulDataLoader(data, batch_size=None, num_workers=workers)

        first = make()
        begun = iter(first)
        items = [item for _ in range(13) for item in next(begun).tolist()]
        again = make()
        again.load_state_dict(first.state_dict())
        items += [item for batch in again for item in batch.tolist()]
        assert items == list(bs.StreamShuffle(range(100), 10, 1)), workers


def test_a_stateful_loader_goes_on_with_a_stream():
    stateful = pytest.importorskip("torchdata.stateful_dataloader", reason="torchdata is not installed")
    for workers in (0, 3):
        def make():
            data = StreamDataset(Numbers(500), 50, 3, 8)
            return stateful.StatefulDataLoader(data, batch_size=None, num_workers=workers)

        first = make()
        items = [item for batch in itertools.islice(first, 10) for item in batch.tolist()]
        again = make()
        again.load_state_dict(first.state_dict())
        items += [item for batch in again for item in batch.tolist()]
        assert items == list(bs.StreamShuffle(range(500), 50, 3))


class Failing:
    """An input of blocks or items that cannot be read once, at each of some numbers."""

    def __init__(self, at):
        self.at = set(at)

    def __call__(self, number):
        if number in self.at:
            self.at.remove(number)
            raise OSError(number)

    def items(self, start):
        for item in range(start, 500):
            self(item)
            yield item

    def block(self, block):
        self(block)
        return read(block)


def caught(loader):
    """The items of a loader, whose exceptions do not end the loop, and their number."""
    items, failed, begun = [], 0, iter(loader)
    while True:
        try:
            items += np.atleast_1d(next(begun)).tolist()
        except StopIteration:
            return items, failed
        except OSError:
            failed += 1


def test_a_loop_that_catches_exceptions_of_the_input_loses_nothing():
    stateful = pytest.importorskip("torchdata.stateful_dataloader", reason="torchdata is not installed")
    for loader in (DataLoader, stateful.StatefulDataLoader):
        for workers in (0, 2):
            data = StreamDataset(Failing([90, 300]).items, 50, 3, 8)
            items, failed = caught(loader(data, batch_size=None, num_workers=workers))
            assert sorted(items) == list(range(500)) and failed == 2 * max(workers, 1)
            nodes = NodeDataset(Failing([3, 31]).block, SIZES, kept=0.5, window=4, seed=3)
            items, failed = caught(loader(nodes, batch_size=None, num_workers=workers))
            assert sorted(items) == list(range(FIRST[-1])) and failed == 2
    once = iter(StreamDataset(Failing([20]).items(0), 50, 3, 8))
    for error, text in [(OSError, "20"), (ValueError, "was read before"), (ValueError, "was read before")]:
        with pytest.raises(error, match=text):
            next(once)


class Divided(IterableDataset):
    """An input that divides itself among the workers of a loader, as PyTorch's documents show it."""

    def __init__(self, n, fails=()):
        self.n, self.fails = n, set(fails)

    def __iter__(self):
        worker = get_worker_info()
        for item in range(0 if worker is None else worker.id, self.n, 1 if worker is None else worker.num_workers):
            if item in self.fails:
                self.fails.remove(item)
                raise OSError(item)
            yield {"x": item}

    def from_item(self, start):
        return itertools.islice(iter(self), start, None)


def of_hugging_face(shards):
    data = pytest.importorskip("datasets", reason="datasets is not installed")
    return data.Dataset.from_dict({"x": list(range(101))}).to_iterable_dataset(num_shards=shards)


def of_webdataset(tmp_path, shards, **settings):
    wds = pytest.importorskip("webdataset", reason="webdataset is not installed")
    for shard in range(shards):
        with wds.TarWriter(str(tmp_path / f"{shard}.tar")) as to:
            for item in range(shard * 101 // shards, (shard + 1) * 101 // shards):
                to.write({"__key__": str(item), "x.cls": item})
    files = [str(tmp_path / f"{shard}.tar") for shard in range(shards)]
    return wds.WebDataset(files, shardshuffle=False, **settings).decode().rename(x="x.cls")


def in_a_worker(items):
    """The numbers of items, where a worker that makes a batch of them still knows that it is one."""
    return [item["x"] for item in items], get_worker_info() is not None


@pytest.mark.parametrize("kind", ["by hand", "datasets 1", "datasets 3", "datasets 4", "webdataset 1", "webdataset 4"])
def test_an_input_that_divides_itself_among_workers_gives_each_item_once(kind, tmp_path):
    name, _, shards = kind.partition(" ")
    if name == "by":
        data = Divided(101)
        inputs = [data, data.from_item]
    elif name == "datasets":
        data = of_hugging_face(int(shards))
        inputs = [data, lambda start: iter(data.skip(start))]
    else:
        data = of_webdataset(tmp_path, int(shards))
        inputs = [data, lambda start: itertools.islice(iter(data), start, None)]
    expected = [item["x"] for item in bs.StreamShuffle(inputs[0], 10, 3)]
    assert sorted(expected) == list(range(101))
    for source, ranks, workers in itertools.product(inputs, (1, 2), range(4)):
        steps = []
        for rank in range(ranks):
            stream = StreamDataset(source, 10, 3, 4, rank=rank, ranks=ranks, tail="short", collate=in_a_worker)
            # From the middle, too: after five steps another stream goes on.
            begun = itertools.islice(DataLoader(stream, batch_size=None, num_workers=workers), 5)
            own = list(begun)
            resumed = StreamDataset(source, 10, 3, 4, rank=rank, ranks=ranks, tail="short", collate=in_a_worker)
            resumed.load_state_dict(stream.state_after(5))
            own += DataLoader(resumed, batch_size=None, num_workers=workers)
            assert all(is_worker == (workers > 0) for _, is_worker in own)
            steps.append([items for items, _ in own])
        drawn = [item for step in zip(*steps, strict=True) for items in step for item in items]
        # With two ranks a last step of one item repeats it.
        assert drawn[:101] == expected and len(drawn) - 101 == (ranks - 1) * (101 % 8 == 1), (ranks, workers)


def test_a_worker_knows_that_it_is_one_after_an_exception_of_an_input():
    stream = StreamDataset(Divided(101, fails=[50]).from_item, 10, 3, 4, collate=in_a_worker)
    begun, drawn, failed = iter(DataLoader(stream, batch_size=None, num_workers=2)), [], 0
    while True:
        try:
            items, is_worker = next(begun)
        except StopIteration:
            break
        except OSError:
            failed += 1
            continue
        assert is_worker
        drawn += items
    assert failed == 2 and sorted(drawn) == list(range(101))


def test_a_buffer_within_a_data_set_shuffles_what_a_worker_has():
    """It deals out nothing itself, so an input may divide itself there."""
    for workers in range(4):
        loader = DataLoader(Buffered(), batch_size=None, num_workers=workers)
        assert sorted(item["x"] for item in loader) == list(range(101))


class Buffered(IterableDataset):
    def __iter__(self):
        return iter(bs.StreamShuffle(Divided(101), 10, 3))


class Wrapper:
    def __init__(self, data):
        self.d = data

    def __iter__(self):
        for item in self.d:
            yield item


class Prefetched(Wrapper):
    """Items that a thread reads ahead: its iterator knows nothing of the data."""

    def __iter__(self):
        items = queue.Queue()
        threading.Thread(target=self._read, args=(items,)).start()
        return iter(items.get, None)

    def _read(self, items):
        for item in self.d:
            items.put(item)
        items.put(None)


class Absent:
    """What stands for an object that is not there yet."""

    @property
    def __dict__(self):
        raise RuntimeError

    __class__ = __dict__


def sources_over(data):
    """Inputs of a stream that read a data set in ways of their own."""
    def generated():
        for item in map(dict, data):
            yield item

    return [
        data,
        itertools.chain(data),
        itertools.chain.from_iterable([[], data]),
        map(dict, data),
        zip(itertools.count(), data),
        (item for item in map(dict, data)),
        generated(),
        lambda start: itertools.islice(generated(), start, None),
        Wrapper(Wrapper(data)),
        iter(Wrapper(data)),
        Prefetched(data),
    ]


def test_an_input_that_was_split_by_rank_is_not_dealt_out_to_ranks_again(tmp_path):
    distributed = pytest.importorskip("datasets.distributed", reason="datasets is not installed")
    wds = pytest.importorskip("webdataset", reason="webdataset is not installed")
    shares = [distributed.split_dataset_by_node(of_hugging_face(4), rank, 2) for rank in range(2)]
    tars = of_webdataset(tmp_path, 4, nodesplitter=wds.split_by_node)
    entire, share = of_hugging_face(4), shares[0]
    entire.context = Absent()
    for split in (share, tars):
        for source in sources_over(split):
            with pytest.raises(ValueError, match="was split by rank.* give each rank the whole source, or give rank=0"):
                next(iter(StreamDataset(source, 10, 3, 4, rank=0, ranks=2, collate=list)))
    with pytest.raises(ValueError, match="was split by rank"):
        next(iter(StreamDataset(lambda start: iter(share.skip(start)), 10, 3, 4, rank=0, ranks=2, collate=list)))
    # The same without a share: 13 steps of two ranks.
    for source in sources_over(entire):
        assert len(list(StreamDataset(source, 10, 3, 4, rank=0, ranks=2, collate=list))) == 13
    # Each rank its own stream.
    for workers in (0, 2):
        drawn = []
        for rank, share in enumerate(shares):
            stream = StreamDataset(share, 10, rank, 4, rank=0, ranks=1, collate=in_a_worker)
            for items, _ in DataLoader(stream, batch_size=None, num_workers=workers):
                drawn += items
        assert sorted(drawn) == list(range(101))


def test_a_share_is_refused_in_a_loader_of_accelerate_and_read_whole_beside_it(monkeypatch):
    distributed = pytest.importorskip("datasets.distributed", reason="datasets is not installed")
    loaders = pytest.importorskip("accelerate.data_loader", reason="Accelerate is not installed")
    os.environ["ACCELERATE_USE_CPU"] = "true"
    state = loaders.PartialState(cpu=True)
    monkeypatch.setitem(state._shared_state, "num_processes", 2)
    drawn = []
    for rank in range(2):
        share = distributed.split_dataset_by_node(of_hugging_face(4), rank, 2)
        stream = StreamDataset(share, 10, rank, 4, rank=0, ranks=1, collate=whole)
        loader = DataLoader(stream, batch_size=1, collate_fn=whole)
        prepared = loaders.prepare_data_loader(loader, num_processes=2, process_index=rank, put_on_device=False)
        with pytest.raises(ValueError, match="do not prepare the loader with Accelerate, and give rank=0, ranks=1"):
            next(iter(prepared))
        for (items,) in loader:
            drawn += [item["x"] for item in items]
    assert sorted(drawn) == list(range(101))


class Watched:
    """Numbers that processes share, and what another process does between two accesses of this one."""

    def __init__(self, numbers):
        self.numbers, self.between, self.is_busy = numbers, lambda: None, False

    def _pass(self):
        if not self.is_busy:
            self.is_busy = True
            self.between()
            self.is_busy = False

    def __getitem__(self, key):
        value = self.numbers[key].clone()
        self._pass()
        return value

    def __setitem__(self, key, value):
        self.numbers[key] = value
        self._pass()


def watched_stream():
    data = StreamDataset(range(22), 5, 1, 4, rank=0, ranks=1, tail="short", collate=list)
    data._known = Watched(data._known)
    return data


@pytest.mark.parametrize("who", ["worker", "loop"])
def test_states_are_right_between_any_two_accesses_of_what_processes_share(who):
    expected = list(itertools.chain(*watched_stream()))
    states = []
    for drawn, steps, at in itertools.product(range(6), range(1, 7), range(2)):
        data = watched_stream()
        batches, accesses = iter(data), itertools.count()
        for _ in range(drawn):
            next(batches)
        draw = functools.partial(next, batches)
        save = functools.partial(data.state_after, steps)
        first, second = (draw, save) if who == "worker" else (save, draw)
        done = []
        data._known.between = lambda: next(accesses) == at and done.append(second())
        done.append(first())
        states += [(steps, state) for state in done if isinstance(state, dict)]
    # The worker notes two numbers once it has found the end.
    assert len(states) >= 36
    for steps, state in states:
        again = watched_stream()
        again.load_state_dict(state)
        assert list(itertools.chain(*again)) == expected[4 * steps :]


def test_a_state_of_steps_that_were_not_drawn_fits_an_input_of_another_length():
    data = StreamDataset(range(50), 5, 1, 4, rank=0, ranks=1, collate=list)
    next(iter(data))
    state = data.state_after(11)
    for n in (40, 44, 46, 50, 60):
        stream = bs.StreamShuffle(range(n), 5, 1)
        stream.load_state_dict(state)
        # Nothing more is known before an iteration begins, also of a place that was sought.
        sought = bs.StreamShuffle(range(n), 5, 1)
        sought.seek(44)
        assert stream.state_dict() == sought.state_dict() == state
        items = iter(stream)
        assert "is_read" not in stream.state_dict()
        assert list(items) == list(bs.StreamShuffle(range(n), 5, 1))[44:]


@pytest.mark.parametrize("workers", [0, 2])
def test_a_stream_goes_on_with_each_item_of_another_length_once_or_refuses_it(workers):
    stateful = pytest.importorskip("torchdata.stateful_dataloader", reason="torchdata is not installed")

    def items_of(batches):
        return [item for batch in batches for item in batch.tolist()]

    refused = collections.Counter()
    for n, steps in itertools.product((40, 50, 60), range(1, 13)):
        if workers and (n, steps) not in {(40, 9), (60, 3), (60, 12)}:
            continue
        for loader in (DataLoader, stateful.StatefulDataLoader):
            first, other = (StreamDataset(range(k), 5, 1, 4, rank=0, ranks=1) for k in (50, n))
            begun, again = (loader(data, batch_size=None, num_workers=workers) for data in (first, other))
            drawn = items_of(itertools.islice(begun, steps))
            if loader is DataLoader:
                other.load_state_dict(first.state_after(steps))
            else:
                again.load_state_dict(begun.state_dict())
            try:
                drawn += items_of(again)
            except ValueError as error:
                assert n != 50 and "the same items as before" in str(error)
                refused[n, steps] += 1
            else:
                assert sorted(drawn) == list(range(n)), (n, steps)
    # 41 items were taken for the first 36, and in the twelfth step the end was found.
    if workers == 0:
        assert refused == {(n, steps): 2 for n, first in ((40, 9), (60, 12)) for steps in range(first, 13)}
    else:
        assert refused == {(40, 9): 2, (60, 12): 2}


def test_states_of_other_data_are_refused():
    def stream(size=50, seed=3, batch=8, **kwargs):
        return StreamDataset(range(500), size, seed, batch, **kwargs)

    def nodes(sizes=tuple(range(1, 21)), seed=3, **kwargs):
        return NodeDataset(lambda block: range(sizes[block]), sizes, **{"kept": 0.5, "window": 4, "seed": seed} | kwargs)

    two = {"rank": 0, "ranks": 2}
    swapped = (2, 1, *range(3, 21))
    for make, others in [
        (stream, [{"size": 51}, {"seed": 4}, {"seed": bytes(32)}, {"batch": 4}, {"tail": "short"}, two]),
        (nodes, [{"sizes": swapped}, {"seed": 4}, {"kept": 0.6}, {"window": 3}, {"drop_last": True}, two,
                 {**two, "rank": 1}]),
    ]:
        begun = iter(make())
        expected = [np.asarray(item).tolist() for item in iter(make())]
        next(begun)
        state = begun.state_dict()
        for other in others:
            with pytest.raises(bs.ForeignStateError):
                iter(make(**other)).load_state_dict(state)
        again = iter(make())
        for number in ("epoch", "items" if make is nodes else "steps"):
            for wrong in (None, -1, "1"):
                with pytest.raises(bs.ForeignStateError):
                    again.load_state_dict(state | {number: wrong})
        again.load_state_dict(state)
        assert [np.asarray(item).tolist() for item in again] == expected[1:]


SIZES = [3 + block % 5 for block in range(60)]
FIRST = np.concatenate([[0], np.cumsum(SIZES)]).tolist()


def read(block):
    return range(FIRST[block], FIRST[block + 1])


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("tail", ["pad", "short", "drop"])
def test_nodes_keep_their_blocks(tail, workers):
    of_epoch = []
    for epoch in range(2):
        ranks = []
        for rank in range(3):
            data = NodeDataset(read, SIZES, kept=0.8, window=4, seed=3, rank=rank, ranks=3, **ending(tail))
            data.set_epoch(epoch)
            ranks.append([int(item) for item in DataLoader(data, batch_size=None, num_workers=workers)])
        of_epoch.append(ranks)
        counts = collections.Counter(itertools.chain(*ranks))
        sizes = set(map(len, ranks))
        if tail == "short":
            assert counts == collections.Counter(range(FIRST[-1]))
        else:
            assert len(sizes) == 1
            assert tail == "drop" or len(counts) == FIRST[-1]
            assert tail == "pad" or max(counts.values()) == 1
    for first, second in zip(*of_epoch, strict=True):
        assert len(set(first) & set(second)) > 0.5 * len(first) and first != second


def test_a_stateful_loader_goes_on_with_blocks_of_nodes():
    stateful = pytest.importorskip("torchdata.stateful_dataloader", reason="torchdata is not installed")
    for workers in (0, 2):
        def make():
            data = NodeDataset(read, SIZES, kept=0.5, window=4, seed=3, rank=1, ranks=2)
            return stateful.StatefulDataLoader(data, batch_size=None, num_workers=workers)

        expected = [int(item) for item in make()]
        first = make()
        items = [int(item) for item in itertools.islice(first, 77)]
        again = make()
        again.load_state_dict(first.state_dict())
        assert items + [int(item) for item in again] == expected


class Indexed:
    """Tokens that say which document and place they are of."""

    def __init__(self, lengths):
        self.sequence_lengths = np.array(lengths, np.int32)

    def get(self, document, offset=0, length=None):
        return np.arange(1000 * document + offset, 1000 * document + offset + length)


def check_samples(data, lengths, length):
    n = len(data.packed)
    assert n == (sum(lengths) - 1) // length and len(data) == 2 * n
    for epoch in range(2):
        counts = collections.Counter()
        for k in range(epoch * n, epoch * n + n):
            sample = data[k]
            assert sample["tokens"].dtype == torch.int64 and len(sample["tokens"]) == length
            assert sample["tokens"][1:].equal(sample["labels"][:-1])
            counts.update(sample["tokens"].tolist())
        # All tokens but the last ones of the epoch, each once.
        assert max(counts.values()) == 1 and counts.total() == n * length
    with pytest.raises(IndexError):
        data[2 * n]


def test_packed_samples():
    lengths = [5, 0, 700, 3, 41, 90, 1]
    data = PackedDataset(Indexed(lengths), 16, 7, samples=2 * ((sum(lengths) - 1) // 16))
    check_samples(data, lengths, 16)
    some = PackedDataset(Indexed(lengths), 16, 7, documents=[2, 4])
    assert {int(token) // 1000 for k in range(len(some)) for token in some[k]["tokens"]} == {2, 4}
    batches = list(DataLoader(some, 4, num_workers=2, drop_last=True))
    assert batches[0]["tokens"].shape == (4, 16)


def test_packed_samples_of_an_indexed_dataset_of_megatron(tmp_path):
    indexed = pytest.importorskip("megatron.core.datasets.indexed_dataset", reason="megatron-core is not installed")
    prefix, lengths = str(tmp_path / "tokens"), [5, 1, 700, 3, 41, 90, 2]
    builder = indexed.IndexedDatasetBuilder(indexed.get_bin_path(prefix), dtype=np.int32)
    for document, length in enumerate(lengths):
        builder.add_document(torch.arange(1000 * document, 1000 * document + length), [length])
    builder.finalize(indexed.get_idx_path(prefix))
    data = PackedDataset(indexed.IndexedDataset(prefix), 16, 7, samples=2 * ((sum(lengths) - 1) // 16))
    check_samples(data, lengths, 16)


def test_sources_name_wrong_arguments():
    with pytest.raises(ValueError, match="leave out batch_size"):
        SourceBatchSampler(SOURCES["lengths"], 2)
    with pytest.raises(ValueError, match="tail is"):
        StreamDataset([], 3, 1, 1, tail="fill")
    with pytest.raises(ValueError, match="at least one item"):
        StreamDataset([], 3, 1, 0)
    with pytest.raises(ValueError, match="no rank 3"):
        NodeDataset(read, SIZES, kept=1, window=1, seed=1, rank=3, ranks=3)
    for sizes in ([0, 0], []):
        with pytest.raises(ValueError, match="at least one (item|node)"):
            NodeDataset(read, sizes, kept=1, window=1, seed=1)
    with pytest.raises(ValueError, match="block 0 has 1 items"):
        list(NodeDataset(lambda block: [0], [3], kept=1, window=1, seed=1))
    with pytest.raises(ValueError, match="no items to repeat"):
        list(DataLoader(NodeDataset(read, SIZES[:1] + [0], kept=1, window=1, seed=1, rank=1, ranks=2)))
