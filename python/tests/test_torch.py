"""The samplers in the loaders of PyTorch and torchdata."""

import inspect
import itertools
import json

import bijective_shuffle as bs
import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
from bijective_shuffle.torch import (  # noqa: E402
    BlockDataset, NodeDataset, ShuffleBatchSampler, ShuffleSampler, SourceBatchSampler, StreamDataset,
)
from torch.utils.data import DataLoader, Dataset  # noqa: E402
from torch.utils.data.distributed import DistributedSampler  # noqa: E402


class Numbers(Dataset):
    """Items that are their own numbers."""

    def __init__(self, n):
        self.n = n

    def __len__(self):
        return self.n

    def __getitem__(self, k):
        return k


def ending(tail):
    """The arguments that say what the last step does."""
    return {"drop_last": True} if tail == "drop" else {"tail": tail}


def samplers(n, ranks, **settings):
    return [ShuffleSampler(n, rank=rank, ranks=ranks, **settings) for rank in range(ranks)]


@pytest.mark.parametrize("n,ranks", [(10, 1), (10, 3), (2, 3), (7000, 4), (5000, 2), (4099, 4)])
@pytest.mark.parametrize("drop_last", [False, True])
def test_a_rank_has_what_distributed_sampler_gives_it(n, ranks, drop_last):
    order = bs.Permutation.walk(n, 42).to_numpy()
    for rank, sampler in enumerate(samplers(n, ranks, seed=42, drop_last=drop_last)):
        theirs = DistributedSampler(Numbers(n), ranks, rank, shuffle=False, drop_last=drop_last)
        expected = order[list(theirs)].tolist()
        assert len(sampler) == len(theirs) == len(expected)
        assert list(sampler) == expected
        plain = ShuffleSampler(Numbers(n), seed=1, rank=rank, ranks=ranks, shuffle=False,
                               drop_last=drop_last)
        assert list(plain) == list(theirs)


def test_lengths_are_of_any_integer():
    expected = bs.Permutation.walk(10, 1).to_numpy().tolist()
    for data in (10, np.int32(10), Numbers(10), torch.zeros(10), [0] * 10):
        assert list(ShuffleSampler(data, seed=1)) == expected
        assert sum(ShuffleBatchSampler(data, 4, seed=1), []) == expected


def test_epochs():
    sampler = ShuffleSampler(100, seed=42)
    orders = [bs.Permutation.walk(100, 42, epoch).to_numpy().tolist() for epoch in range(6)]
    # Each iteration takes the next epoch, also after one that was broken off.
    assert [list(sampler) for _ in range(3)] == orders[:3]
    assert sampler.epoch == 2
    assert list(itertools.islice(sampler, 5)) == orders[3][:5]
    assert list(sampler) == orders[4]
    for epoch in (5, 0, 0, 4):
        # All of them take an epoch that was chosen, until another one is.
        sampler.set_epoch(epoch)
        assert sampler.epoch == epoch
        assert list(itertools.islice(sampler, 5)) == orders[epoch][:5]
        assert list(sampler) == list(sampler) == orders[epoch]
    for bad in (-1, 2**64):
        with pytest.raises((ValueError, OverflowError)):
            sampler.set_epoch(bad)
        assert sampler.epoch == 4
    batches = ShuffleBatchSampler(100, 10, seed=42)
    assert [sum(batches, []) for _ in range(3)] == orders[:3]


@pytest.mark.parametrize("drawn", [0, 1, 500, 1023, 1024, 1025, 2300, 2499, 2500])
@pytest.mark.parametrize("drop_last", [False, True])
def test_a_state_fits_another_number_of_ranks(drawn, drop_last):
    n, seen, states = 10_000, [], set()
    for sampler in samplers(n, 4, seed=7, drop_last=drop_last):
        sampler.set_epoch(2)
        iterator = iter(sampler)
        seen += itertools.islice(iterator, drawn)
        states.add(json.dumps(sampler.state_dict()))
    assert len(states) == 1
    saved = json.loads(states.pop())
    for sampler in samplers(n, 3, seed=7, drop_last=drop_last):
        sampler.load_state_dict(saved)
        assert sampler.epoch == 2 and sampler.state_dict() == saved
        # As loops do that begin with the epoch of a state.
        sampler.set_epoch(2)
        seen += sampler
        assert sampler.epoch == 2
    left = (n - 4 * drawn) % 3
    counts = np.bincount(seen, minlength=n)
    assert counts.max() <= 2 and (counts != 1).sum() == (left if drop_last else -left % 3)


@pytest.mark.parametrize("tail", ["pad", "short", "fill", "drop"])
def test_batches_and_their_states(tail):
    order = bs.Permutation.walk(1000, 3).to_numpy()
    sampler = ShuffleBatchSampler(1000, 32, seed=3, rank=1, ranks=3, **ending(tail))
    batches = list(sampler)
    assert len(batches) == len(sampler) == (10 if tail == "drop" else 11)
    assert all(batches[k] == order[96 * k : 96 * (k + 1)][1::3].tolist() for k in range(10))
    sampler.set_epoch(0)
    iterator = iter(sampler)
    ahead = list(itertools.islice(iterator, 7))
    assert ahead == batches[:7]
    # The loop has trained with four of them.
    saved = sampler.state_after(4 * 96)
    assert saved != sampler.state_dict() == sampler.state_after(7 * 96)
    assert list(iterator) == batches[7:]
    if tail != "drop":
        # Repeated items may be counted or not.
        assert sampler.state_dict() == sampler.state_after(1000) == sampler.state_after(11 * 96)
    with pytest.raises(ValueError):
        sampler.state_after(-1)
    again = ShuffleBatchSampler(1000, 32, seed=3, rank=1, ranks=3, **ending(tail))
    again.load_state_dict(saved)
    assert list(again) == batches[4:]
    fresh = ShuffleBatchSampler(1000, 32, seed=3)
    assert fresh.state_after(0) == fresh.state_dict() and fresh.state_after(96 * 4) == saved
    single = ShuffleSampler(1000, seed=3, rank=2, ranks=3)
    first = list(itertools.islice(single, 150))
    again = ShuffleSampler(1000, seed=3, rank=2, ranks=3)
    again.load_state_dict(single.state_after(40 * 3))
    assert list(again)[:110] == first[40:]


def test_a_state_at_the_end_of_an_epoch():
    sampler = ShuffleSampler(100, seed=1)
    list(sampler)
    saved = sampler.state_dict()
    sampler = ShuffleSampler(100, seed=1)
    sampler.load_state_dict(saved)
    # The epoch is done, and the next iteration is the next one.
    assert list(sampler) == bs.Permutation.walk(100, 1, 1).to_numpy().tolist()
    sampler.load_state_dict(saved)
    sampler.set_epoch(0)
    assert list(sampler) == []
    sampler.set_epoch(1)
    assert list(sampler) == bs.Permutation.walk(100, 1, 1).to_numpy().tolist()


def test_states_of_other_torch_samplers_are_refused():
    sampler = ShuffleSampler(100, seed=1)
    for state in ({}, {"sampler": 5}, {"sampler": ""}, ShuffleSampler(100, seed=2).state_dict(),
                  ShuffleSampler(101, seed=1).state_dict(),
                  ShuffleSampler(100, seed=1, shuffle=False).state_dict()):
        with pytest.raises(bs.ForeignStateError):
            sampler.load_state_dict(state)
    with pytest.raises(ValueError):
        ShuffleSampler(100, seed=1, rank=1)


@pytest.mark.parametrize("wrong", [None, 5, "text", [("sampler", "")], {}])
def test_all_loaders_of_states_refuse_wrong_ones(wrong):
    stream = StreamDataset(range(10), 3, 1, 2)
    nodes = NodeDataset(lambda block: [block], [1, 1], kept=1, window=1, seed=1)
    loaded = [
        ShuffleSampler(100, seed=1), ShuffleBatchSampler(100, 4, seed=1),
        SourceBatchSampler(bs.Weighted([1], 1)), iter(ShuffleSampler(100, seed=1)),
        iter(ShuffleBatchSampler(100, 4, seed=1)), bs.Weighted([1], 1).batches(),
        bs.StreamShuffle(range(10), 3, 1), stream, iter(stream), iter(nodes), iter(blocks()),
    ]
    for into in loaded:
        with pytest.raises(bs.ForeignStateError, match="state"):
            into.load_state_dict(wrong)


def test_endings_have_the_names_of_pytorch():
    makes = [
        lambda **ending: ShuffleBatchSampler(10, 3, seed=1, **ending),
        lambda **ending: SourceBatchSampler(bs.Weighted([1], 1), 3, **ending),
        lambda **ending: StreamDataset([], 3, 1, 1, **ending),
        lambda **ending: NodeDataset(read, [1], kept=1, window=1, seed=1, **ending),
        blocks,
    ]
    for make in makes:
        assert "drop_last=True" in repr(make(drop_last=True)) or "Source" in repr(make())
        with pytest.raises(ValueError, match="'drop': write drop_last=True"):
            make(tail="drop")
        with pytest.raises(ValueError, match="has no meaning beside it"):
            make(tail="short", drop_last=True)
    assert makes[0](drop_last=True).drop_last and not makes[0]().drop_last


def test_wrong_sources_are_named():
    for wrong in ([1, 2], 5, range(3), bs.Sampler(5, 1)):
        with pytest.raises(TypeError, match=f"not {type(wrong).__name__}.*take ShuffleBatchSampler"):
            SourceBatchSampler(wrong)


def test_classes_of_items_take_their_types():
    assert bs.StreamShuffle[int](range(3), 2, 1).emitted == 0
    assert bs.Batches[int] and list(bs.Weighted([1, 2], 1)) == bs.Weighted([1, 2], 1)[:].tolist()


def test_the_length_of_an_epoch_that_was_resumed_is_that_of_the_whole():
    for make, step in ((lambda: ShuffleSampler(100, seed=1, rank=0, ranks=2), 1),
                       (lambda: ShuffleBatchSampler(100, 5, seed=1, rank=0, ranks=2), 5),
                       (lambda: SourceBatchSampler(bs.Mixture([100], [1], 1), 5, rank=0, ranks=2), 5)):
        sampler = make()
        assert len(sampler) == sampler.remaining == 50 // step
        sampler.load_state_dict(sampler.state_after(30))
        assert (len(sampler), sampler.remaining) == (50 // step, 35 // step)
        drawn = iter(sampler)
        next(drawn)
        assert (len(sampler), sampler.remaining) == (50 // step, 35 // step - 1)
        assert len(list(drawn)) == 35 // step - 1 and sampler.remaining == 0


@pytest.mark.parametrize("workers", [0, 2])
def test_in_a_data_loader(workers):
    data, order = Numbers(3000), bs.Permutation.walk(3000, 5, 1).to_numpy()
    sampler = ShuffleSampler(data, seed=5)
    sampler.set_epoch(1)
    loader = DataLoader(data, batch_size=64, sampler=sampler, num_workers=workers)
    assert torch.cat(list(loader)).tolist() == order.tolist()
    batches = ShuffleBatchSampler(data, 64, seed=5)
    batches.set_epoch(1)
    loader = DataLoader(data, batch_sampler=batches, num_workers=workers)
    assert len(loader) == 47
    assert torch.cat(list(loader)).tolist() == order.tolist()


def loaders(kind, n, ranks, batch, workers):
    stateful = pytest.importorskip("torchdata.stateful_dataloader", reason="torchdata is not installed")
    for rank in range(ranks):
        if kind == "sampler":
            sampler = ShuffleSampler(n, seed=9, rank=rank, ranks=ranks, drop_last=True)
            yield stateful.StatefulDataLoader(Numbers(n), batch, sampler=sampler, num_workers=workers)
        else:
            sampler = ShuffleBatchSampler(n, batch, seed=9, rank=rank, ranks=ranks, tail="short")
            yield stateful.StatefulDataLoader(Numbers(n), batch_sampler=sampler, num_workers=workers)


@pytest.mark.parametrize("kind", ["sampler", "batch_sampler"])
@pytest.mark.parametrize("workers", [0, 2])
def test_a_stateful_data_loader_goes_on_where_it_was(kind, workers):
    n, seen, saved = 960, [], None
    for loader in loaders(kind, n, 2, 40, workers):
        iterator = iter(loader)
        # Workers draw ahead; the state is that of the batches that came out.
        for _ in range(5):
            seen += next(iterator).tolist()
        saved = loader.state_dict()
        del iterator
    before = len(seen)
    assert before == len(set(seen)) == 400
    for loader in loaders(kind, n, 2, 40, workers):
        loader.load_state_dict(saved)
        for batch in loader:
            seen += batch.tolist()
    assert sorted(seen) == list(range(n))
    # The epoch after that is another one, whole.
    later = sorted(x for loader in loaders(kind, n, 2, 40, workers) for batch in loader for x in batch.tolist())
    assert later == list(range(n))


def test_the_sampler_of_a_stateful_loader_fits_another_number_of_ranks():
    n, seen, saved = 960, [], None
    for loader in loaders("batch_sampler", n, 4, 20, 2):
        iterator = iter(loader)
        for _ in range(3):
            seen += next(iterator).tolist()
        saved = loader.state_dict()
        del iterator

    def find(state):
        """The sampler's part of a loader's state."""
        if isinstance(state, dict):
            if set(state) == {"sampler"} and isinstance(state["sampler"], str):
                yield state
            else:
                for value in state.values():
                    yield from find(value)

    (state,) = {part["sampler"]: part for part in find(saved)}.values()
    for rank in range(3):
        sampler = ShuffleBatchSampler(n, 20, seed=9, rank=rank, ranks=3, tail="short")
        sampler.load_state_dict(state)
        for batch in DataLoader(Numbers(n), batch_sampler=sampler, num_workers=2):
            seen += batch.tolist()
    assert sorted(seen) == list(range(n))


N, BLOCK, WINDOW = 1003, 10, 4


def read(block):
    return range(BLOCK * block, min(N, BLOCK * (block + 1)))


def blocks(**settings):
    return BlockDataset(read, N, block=BLOCK, window=WINDOW, seed=6, **settings)


@pytest.mark.parametrize("workers", [0, 3])
def test_blocks_are_read_by_windows(workers):
    data = blocks()
    for epoch in (0, 1):
        data.set_epoch(epoch)
        order = bs.BlockShuffle(N, BLOCK, WINDOW, 6, epoch).order.to_numpy().tolist()
        if workers == 0:
            assert list(data) == order
            data.set_epoch(epoch)
        loader = DataLoader(data, batch_size=None, num_workers=workers)
        items = [int(item) for item in loader]
        assert sorted(items) == list(range(N))
        assert items == order or workers
    shares = [list(blocks(rank=rank, ranks=3, tail="short")) for rank in range(3)]
    assert sorted(sum(shares, [])) == list(range(N))
    with pytest.raises(ValueError):
        BlockDataset(read, N, block=0, window=1, seed=1)
    with pytest.raises(ValueError, match="block"):
        list(BlockDataset(lambda block: [1], N, block=BLOCK, window=WINDOW, seed=1))


def test_workers_that_outlive_an_epoch_see_the_next():
    data = blocks()
    loader = DataLoader(data, batch_size=None, num_workers=1, persistent_workers=True)
    for epoch in (0, 3):
        data.set_epoch(epoch)
        order = bs.BlockShuffle(N, BLOCK, WINDOW, 6, epoch).order
        assert [int(item) for item in loader] == list(order)


def test_each_block_is_read_once():
    reads = []

    def counted(block):
        reads.append(block)
        return read(block)

    list(BlockDataset(counted, N, block=BLOCK, window=WINDOW, seed=6))
    assert sorted(reads) == list(range(101))


@pytest.mark.parametrize("taken", [0, 1, 39, 40, 41, 555, N])
def test_a_block_iterator_goes_on_where_it_was(taken):
    data = blocks()
    data.set_epoch(2)
    whole = list(data)
    data.set_epoch(2)
    iterator = iter(data)
    begun = list(itertools.islice(iterator, taken))
    state = json.loads(json.dumps(iterator.state_dict()))
    again = iter(blocks())
    again.load_state_dict(state)
    assert begun + list(again) == whole
    for other in (blocks(rank=0, ranks=2), BlockDataset(read, N, block=BLOCK, window=5, seed=6)):
        with pytest.raises(bs.ForeignStateError):
            iter(other).load_state_dict(state)
    for name in ("epoch", "windows", "items"):
        for bad in ({**state, name: -1}, {**state, name: "1"},
                    {key: value for key, value in state.items() if key != name}):
            with pytest.raises(bs.ForeignStateError):
                iter(blocks()).load_state_dict(bad)


def test_what_states_say_of_blocks_stays_the_same():
    data = BlockDataset(read, np.int64(N), block=BLOCK, window=WINDOW, seed=bytes(32))
    said = f"{N} items, blocks of {BLOCK}, windows of {WINDOW}, seed {'00' * 32}"
    assert iter(data).state_dict()["order"] == said
    nodes = NodeDataset(lambda block: [block], [1, 1], kept=0.5, window=3, seed=7)
    assert iter(nodes).state_dict()["shape"][1:] == [0.5, "7", 3, "pad", 0, 1, 0, 1]


@pytest.mark.parametrize("workers", [0, 2])
def test_a_stateful_data_loader_of_blocks(workers):
    stateful = pytest.importorskip("torchdata.stateful_dataloader", reason="torchdata is not installed")

    def loader():
        return stateful.StatefulDataLoader(blocks(), batch_size=None, num_workers=workers)

    whole = [int(item) for item in loader()]
    first = loader()
    begun = [int(item) for item in itertools.islice(iter(first), 300)]
    again = loader()
    again.load_state_dict(first.state_dict())
    assert begun + [int(item) for item in again] == whole


def test_ranks_are_those_of_the_process_group(monkeypatch):
    for name, value in {"is_available": True, "is_initialized": True, "get_rank": 2,
                        "get_world_size": 5}.items():
        monkeypatch.setattr(torch.distributed, name, lambda value=value: value, raising=False)
    assert list(ShuffleSampler(100, seed=1)) == list(ShuffleSampler(100, seed=1, rank=2, ranks=5))
    assert list(ShuffleSampler(100, seed=1)) != list(ShuffleSampler(100, seed=1, rank=0, ranks=1))


WRITES = {
    "shuffle": lambda x: bs.shuffle(x, 42),
    "unshuffle": lambda x: bs.unshuffle(x, 42),
    "shuffle_together": lambda x: bs.shuffle_together(x, torch.arange(5), seed=42),
    "unshuffle_together": lambda x: bs.unshuffle_together(torch.arange(5), x, seed=42),
    "shuffled": lambda x: bs.shuffled(x.clone(), 42, out=x),
    "permuted": lambda x: bs.permuted(x.clone(), 42, out=x),
    "a part": lambda x: bs.shuffle(x[1:4], 42),
    "detached": lambda x: bs.shuffle(x.detach(), 42),
}


@pytest.mark.parametrize("way", WRITES)
def test_autograd_refuses_a_tensor_that_was_shuffled_since_it_was_used(way):
    weights, x = torch.ones(5, requires_grad=True), torch.arange(5.0)
    loss = (weights * x).sum()
    WRITES[way](x)
    assert x.tolist() != list(range(5))
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()
    # What is computed from it afterwards has its gradient.
    (weights * x).sum().backward()
    assert torch.equal(weights.grad, x)
    with torch.inference_mode():
        x = torch.arange(5.0)
    WRITES[way](x)


def test_signatures_are_those_of_the_arguments():
    for kind in (ShuffleSampler, ShuffleBatchSampler, SourceBatchSampler, StreamDataset, NodeDataset):
        names = list(inspect.signature(kind).parameters)
        assert names == list(inspect.signature(kind.__init__).parameters)[1:] and len(names) > 2
