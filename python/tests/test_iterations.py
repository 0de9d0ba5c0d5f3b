"""Iterations over samplers: within each other, broken off and resumed, whatever the number of
workers; and the cases of PyTorch's own tests of samplers."""

import collections
import itertools
import json
import math
import pickle

import bijective_shuffle as bs
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
from bijective_shuffle.torch import BlockDataset, ShuffleBatchSampler, ShuffleSampler  # noqa: E402
from torch.utils.data import DataLoader, Dataset  # noqa: E402

# More than one list of indexes that a sampler evaluates at a time.
N, BATCH = 5000, 50


class Numbers(Dataset):
    """Items that are their own numbers."""

    def __init__(self, n):
        self.n = n

    def __len__(self):
        return self.n

    def __getitem__(self, k):
        return k


def order(epoch, n=N, seed=3):
    return bs.Permutation.walk(n, seed, epoch).to_numpy().tolist()


def make(kind, workers=0, **settings):
    """A sampler and a loader."""
    if kind == "sampler":
        sampler = ShuffleSampler(N, seed=3, **settings)
        return sampler, DataLoader(Numbers(N), BATCH, sampler=sampler, num_workers=workers)
    sampler = ShuffleBatchSampler(N, BATCH, seed=3, **settings)
    return sampler, DataLoader(Numbers(N), batch_sampler=sampler, num_workers=workers)


def items(batches):
    return [item for batch in batches for item in batch.tolist()]


KINDS = pytest.mark.parametrize("kind", ["sampler", "batches"])
WORKERS = pytest.mark.parametrize("workers", [0, 2, 4])


@KINDS
@WORKERS
def test_an_iteration_within_an_iteration(kind, workers):
    sampler, loader = make(kind, workers)
    sampler.set_epoch(7)
    next(iter(loader))
    outer, inner = [], []
    for number, batch in enumerate(loader):
        outer.append(batch)
        if number == 30:
            next(iter(loader))
            inner += loader
    assert items(outer) == items(inner) == order(7)
    one, other = zip(*zip(loader, loader))
    assert items(one) == items(other) == order(7)


@KINDS
@WORKERS
def test_epochs_are_counted_the_same_with_any_number_of_workers(kind, workers):
    sampler, loader = make(kind, workers)
    # Workers have drawn more when the loop breaks off: with four of them, the last batches too.
    for epoch, steps in enumerate((100, 5, 97, 1, 100)):
        assert items(itertools.islice(loader, steps)) == order(epoch)[: steps * BATCH]
    saved = sampler.state_after(40 * BATCH)
    for way in ("counted", "chosen"):
        sampler, loader = make(kind, workers)
        sampler.load_state_dict(json.loads(json.dumps(saved)))
        if way == "chosen":
            sampler.set_epoch(4)
            # A look at a batch loses nothing.
            assert next(iter(loader)).tolist() == order(4)[40 * BATCH : 41 * BATCH]
        assert items(loader) == order(4)[40 * BATCH :]
        if way == "chosen":
            sampler.set_epoch(5)
        assert items(loader) == order(5)


@KINDS
def test_the_state_is_that_of_the_iteration_which_has_drawn_last(kind):
    sampler, _ = make(kind, rank=1, ranks=2)
    sampler.set_epoch(2)
    per_draw = 2 if kind == "sampler" else 2 * BATCH
    outer, inner = iter(sampler), iter(sampler)
    for _ in range(3):
        next(outer)
    assert sampler.consumed == 3 * per_draw
    next(inner)
    assert sampler.consumed == per_draw
    next(outer)
    assert (sampler.epoch, sampler.consumed) == (2, 4 * per_draw)
    # Each has its own state, too.
    states = [iteration.state_dict() for iteration in (outer, inner)]
    assert states == [sampler.state_after(4 * per_draw), sampler.state_after(per_draw)]
    again, _ = make(kind, rank=1, ranks=2)
    iteration = iter(again)
    iteration.load_state_dict(states[0])
    assert iteration.state_dict() == states[0]
    assert list(iteration) == list(outer)
    assert again.epoch == 2 and list(again)[:5] == (again.set_epoch(3), list(again)[:5])[1]
    # A copy is where the original is.
    copy = pickle.loads(pickle.dumps(sampler))
    assert copy.state_dict() == sampler.state_dict() and repr(copy) == repr(sampler)


@KINDS
def test_another_epoch_does_not_lose_the_place_that_was_loaded(kind):
    sampler, _ = make(kind)
    sampler.set_epoch(3)
    next(iter(sampler))
    begun = sampler.state_dict()
    list(sampler)
    whole = sampler.state_dict()

    def loaded(state, **settings):
        sampler, _ = make(kind, **settings)
        sampler.load_state_dict(state)
        return sampler

    for state, refused in ((begun, (0, 2, 4, 5)), (whole, (0, 2, 5))):
        for epoch in refused:
            with pytest.raises(ValueError, match=f"set_epoch.{epoch}. would lose the place"):
                loaded(state).set_epoch(epoch)
    left = order(3)[1 if kind == "sampler" else BATCH :]
    sampler = loaded(begun)
    for _ in range(2):
        sampler.set_epoch(3)
        found = list(sampler)
        assert (found if kind == "sampler" else sum(found, [])) == left
    # The loop has gone on there, so it may go to the next.
    for epoch in (4, 0, 3):
        sampler.set_epoch(epoch)
        assert sampler.consumed == 0
    # Without `set_epoch` the epochs go on, and then any may be chosen.
    sampler = loaded(begun)
    for epoch in (3, 4, 5):
        list(itertools.islice(sampler, 2))
        assert sampler.epoch == epoch
    sampler.set_epoch(0)
    loaded(whole).set_epoch(4)
    # What was begun before a state was loaded cannot go on.
    iteration = iter(sampler)
    next(iteration)
    sampler.load_state_dict(begun)
    with pytest.raises(ValueError, match="began before"):
        next(iteration)
    assert sampler.state_dict() == begun


def test_ranks_are_found_when_an_iteration_begins(monkeypatch):
    samplers = [ShuffleSampler(101, seed=1), ShuffleBatchSampler(101, 5, seed=1)]
    data = BlockDataset(lambda k: range(10 * k, 10 * k + 10), 200, block=10, window=2, seed=1)
    monkeypatch.setenv("WORLD_SIZE", "5")
    for use in (len, lambda sampler: next(iter(sampler))):
        for sampler in samplers:
            with pytest.raises(ValueError, match="init_process_group"):
                use(sampler)
    for name, value in {"is_available": True, "is_initialized": True, "get_rank": 2,
                        "get_world_size": 5}.items():
        monkeypatch.setattr(torch.distributed, name, lambda value=value: value, raising=False)
    given = [ShuffleSampler(101, seed=1, rank=2, ranks=5),
             ShuffleBatchSampler(101, 5, seed=1, rank=2, ranks=5)]
    for sampler, other in zip(samplers, given):
        assert len(sampler) == len(other) and list(sampler) == list(other)
    other = BlockDataset(data._read, 200, block=10, window=2, seed=1, rank=2, ranks=5)
    assert list(data) == list(other)
    # Workers that are not forked have no process group.
    state = data.__getstate__()
    assert (state["_rank"], state["_ranks"]) == (2, 5)


def test_an_item_of_a_block_that_cannot_be_had_comes_later():
    faults = 0

    class Faulty(list):
        def __getitem__(self, place):
            nonlocal faults
            faults += 1
            if faults == 7:
                raise OSError("for once")
            return super().__getitem__(place)

    data = BlockDataset(lambda k: Faulty(range(10 * k, 10 * k + 10)), 40, block=10, window=2, seed=1)
    iterator, found = iter(data), []
    with pytest.raises(OSError, match="for once"):
        found.extend(next(iterator) for _ in range(40))
    found = list(BlockDataset(lambda k: range(10 * k, 10 * k + 10), 40, block=10, window=2, seed=1))[:6]
    state = iterator.state_dict()
    assert state["items"] == 6
    assert sorted(found + list(iterator)) == list(range(40))


@pytest.mark.parametrize("ranks,workers", [(2, 2), (3, 1), (3, 4), (7, 2), (1, 3)])
@pytest.mark.parametrize("n,block,window", [(200, 10, 2), (1003, 10, 4), (995, 10, 7), (30, 10, 5)])
def test_ranks_have_equally_many_items_of_blocks(monkeypatch, ranks, workers, n, block, window):
    info = collections.namedtuple("Info", "id num_workers")

    def shares(tail):
        data = [BlockDataset(lambda k: range(block * k, min(n, block * (k + 1))), n, block=block,
                             window=window, seed=5, rank=rank, ranks=ranks,
                             **{"drop_last": True} if tail == "drop" else {"tail": tail})
                for rank in range(ranks)]
        for worker in range(workers):
            monkeypatch.setattr("bijective_shuffle._epochs.get_worker_info",
                                lambda worker=worker: info(worker, workers))
            yield [list(each) for each in data]

    def taken(found):
        return collections.Counter(itertools.chain.from_iterable(itertools.chain(*found)))

    own = list(shares("short"))
    assert taken(own) == collections.Counter(range(n))
    for tail, settle in (("pad", max), ("drop", min)):
        found = list(shares(tail))
        for shares_of, short in zip(found, own, strict=True):
            assert [len(items) for items in shares_of] == [settle(map(len, short))] * ranks
            # The items of a worker are its own, as far as they go.
            for items, theirs in zip(shares_of, short):
                assert items[: len(theirs)] == theirs[: len(items)]
        counts = taken(found)
        if tail == "drop":
            assert set(counts.values()) <= {1}
        else:
            assert set(counts) == set(range(n))


def test_a_block_iterator_goes_on_among_repeated_items():
    def data():
        return BlockDataset(lambda k: range(10 * k, 10 * k + 10), 100, block=10, window=2, seed=5,
                            rank=1, ranks=2)

    whole = list(data())
    assert len(whole) == 60
    for count in (0, 39, 40, 41, 59, 60):
        iterator = iter(data())
        begun = list(itertools.islice(iterator, count))
        again = iter(data())
        again.load_state_dict(json.loads(json.dumps(iterator.state_dict())))
        assert begun + list(again) == whole
    for wrong in ({"windows": 10**9}, {"items": 21}):
        with pytest.raises(bs.ForeignStateError):
            iter(data()).load_state_dict({**iter(data()).state_dict(), **wrong})


def test_samplers_refuse_wrong_lengths_and_settings():
    without_length = (k for k in range(10))
    for bad in (without_length, None, 1.5):
        with pytest.raises(TypeError, match="has no length.*give the number of items"):
            ShuffleSampler(bad, seed=1)
    with pytest.raises(TypeError, match="use_distributed_sampler=False"):
        # As Lightning makes batch samplers anew.
        ShuffleBatchSampler(ShuffleSampler(5, seed=1), batch_size=2, drop_last=False)
    for settings in ({"tail": "long"}, {"rank": 2, "ranks": 2}, {"rank": -1, "ranks": 2}, {"rank": 1}):
        with pytest.raises(ValueError):
            BlockDataset(lambda k: [k], 10, block=1, window=1, seed=1, **settings)


def test_representations():
    sampler = ShuffleSampler(100, seed=1, rank=0, ranks=2)
    next(iter(sampler))
    assert repr(sampler) == (
        "<ShuffleSampler(100, drop_last=False, seed=1, rank=0, ranks=2) at item 2 of epoch 0>")
    assert repr(ShuffleBatchSampler(100, 8, seed=1, shuffle=False)) == (
        "<ShuffleBatchSampler(100, 8, tail='pad', seed=1, shuffle=False) at item 0 of epoch 0>")
    assert repr(BlockDataset(lambda k: [k], 10, block=1, window=2, seed=1)) == (
        "BlockDataset(10 items, block=1, window=2, seed=1, tail='pad')")


def repeats(sampler, n):
    """How many items come more than once, the least, the greatest, and how many there are."""
    counts = collections.Counter(sampler)
    return sum(times > 1 for times in counts.values()), min(counts), max(counts), counts.total()


def interleaved(sampler):
    one, other = iter(sampler), iter(sampler)
    return [list(column) for column in zip(*((next(one), next(other)) for _ in range(len(sampler))))]


def in_loader(sampler, data, workers, context=None):
    loader = DataLoader(Numbers(data), batch_sampler=sampler, num_workers=workers,
                        multiprocessing_context=context)
    return [batch.tolist() for batch in loader]


def chosen(n):
    sampler = ShuffleSampler(n, seed=1)
    sampler.set_epoch(0)
    return sampler


def dropped_twice():
    """Nine items on four ranks, in whole batches of two."""
    found = []
    for rank in range(4):
        sampler = ShuffleSampler(9, seed=1, rank=rank, ranks=4)
        found += items(DataLoader(Numbers(9), 2, sampler=sampler, drop_last=True))
    return len(found) == len(set(found)) == 8


# What PyTorch's tests of samplers ask, in `test/test_dataloader.py`, whether the answer is the same
# here, and if not, why.
PEERS = [
    ("each item once, without replacement", lambda: repeats(ShuffleSampler(100, seed=1), 100),
     (0, 0, 99, 100), "same"),
    ("samples with replacement, more or fewer than there are", lambda: ShuffleSampler(
        100, seed=1, num_samples=101), TypeError, "differs: an order has each item once"),
    ("a setting that is no boolean", lambda: ShuffleSampler(10, seed=1, replacement=0), TypeError,
     "same"),
    ("the length, of a loader of single items", lambda: len(DataLoader(
        Numbers(105), sampler=ShuffleSampler(105, seed=1))), 105, "same"),
    ("the length, of a loader of batches", lambda: len(DataLoader(
        Numbers(105), 6, sampler=ShuffleSampler(105, seed=1))), math.ceil(105 / 6), "same"),
    ("as many as the length says", lambda: sum(1 for _ in ShuffleSampler(105, seed=1)), 105, "same"),
    ("a rank that is not below the ranks", lambda: ShuffleSampler(10, seed=1, rank=3, ranks=3),
     ValueError, "same"),
    ("a negative rank", lambda: ShuffleSampler(10, seed=1, rank=-1, ranks=3), ValueError, "same"),
    ("no process group, and no rank", lambda: list(ShuffleSampler(4, seed=1, shuffle=False)),
     [0, 1, 2, 3], "differs: it is the only rank, unless WORLD_SIZE says otherwise"),
    ("no item twice where ranks drop what is not a whole batch", dropped_twice, True, "same"),
    ("the same seed gives the same order", lambda: list(ShuffleSampler(100, seed=42)) == list(
        ShuffleSampler(100, seed=42)), True, "same"),
    ("the same seed gives the same two iterations", lambda: [list(sampler) + list(sampler) for sampler
        in (ShuffleSampler(9, seed=2), ShuffleSampler(9, seed=2))], lambda found:
        found[0] == found[1], "same"),
    ("two iterations in turn, of one seed", lambda: interleaved(chosen(100)), lambda found:
     found[0] == found[1] == order(0, 100, 1), "same"),
    ("two iterations in turn, without an epoch", lambda: interleaved(ShuffleSampler(100, seed=1)),
     lambda found: found == [order(0, 100, 1), order(1, 100, 1)],
     "differs: each takes the next epoch, and the global generator is not asked"),
    ("a sampler with any order in a loader", lambda: items(DataLoader(
        Numbers(12), 2, sampler=ShuffleSampler(12, seed=1, shuffle=False))), list(range(12)), "same"),
    *((f"a batch sampler in a loader with {workers} workers", lambda workers=workers, context=context:
       in_loader(ShuffleBatchSampler(10, 4, seed=1, shuffle=False), 10, workers, context),
       [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]], "same") for workers, context in
      ((0, None), (4, None), (2, "spawn"))),
    ("a batch sampler beside a batch size", lambda: DataLoader(
        Numbers(9), 3, batch_sampler=ShuffleBatchSampler(9, 3, seed=1)), ValueError, "same"),
    ("a batch of no items", lambda: ShuffleBatchSampler(9, 0, seed=1), ValueError, "same"),
    ("a data set of no items", lambda: ShuffleSampler(0, seed=1), ValueError, "same"),
]


@pytest.mark.parametrize("ask,expected,verdict", [case[1:] for case in PEERS],
                         ids=[case[0] for case in PEERS])
def test_cases_of_pytorch(ask, expected, verdict):
    assert verdict == "same" or verdict.startswith("differs: ")
    if isinstance(expected, type):
        with pytest.raises(expected):
            ask()
    elif callable(expected):
        assert expected(ask())
    else:
        assert ask() == expected
