"""Steps: all ranks have the same number of them, and no batch is empty, for all remainders of items by
ranks by batch, from the beginning and behind each step. Every item is counted."""

import collections
import itertools
import os
from types import SimpleNamespace

import bijective_shuffle as bs
import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

import bijective_shuffle.torch  # noqa: E402
from bijective_shuffle.megatron import PackedDataset  # noqa: E402
from bijective_shuffle.torch import (  # noqa: E402
    BlockDataset, NodeDataset, ShuffleBatchSampler, ShuffleSampler, SourceBatchSampler, StreamDataset,
)
from torch.utils.data import DataLoader, Dataset, IterableDataset  # noqa: E402

IS_LONG = os.environ.get("BIJECTIVE_SHUFFLE_LONG") == "1"
# Items, ranks and batch.
GRID = list(itertools.product(range(1, 41), range(1, 7), range(1, 10)))
SHORT = GRID if IS_LONG else GRID[::23]
ENDINGS = [{"tail": "pad"}, {"tail": "short"}, {"tail": "fill"}, {"drop_last": True}]


class Numbers(Dataset):
    """Items that are their own numbers."""

    def __init__(self, n):
        self.n = n

    def __len__(self):
        return self.n

    def __getitem__(self, key):
        return key[1] if isinstance(key, tuple) else int(np.asarray(key).reshape(-1)[0])


def repeats(left, ranks, batch, ending):
    """How many items are repeated at the end of an epoch with `left` items left, or, if negative, are
    left out: the rule of the documents."""
    last = left % (ranks * batch)
    if last == 0:
        return 0
    if "drop_last" in ending:
        return -last
    if ending["tail"] == "fill":
        return ranks * batch - last
    return -last % ranks if ending["tail"] == "pad" or last < ranks else 0


def of_all_ranks(make, ranks):
    """What each of some ranks draws, whose numbers of steps are the same."""
    found = [list(sampler) for sampler in map(make, range(ranks))]
    assert len(set(map(len, found))) == 1 and all(step for steps in found for step in steps)
    return found


def batch_samplers(n, batch, ending):
    """Batch samplers of `n` places."""
    def shuffled(rank, ranks):
        return ShuffleBatchSampler(n, batch, seed=1, rank=rank, ranks=ranks, **ending)

    sources = [bs.Mixture([n], [1], 1), bs.Packed([1] * n, 1, 1), bs.Weighted([1] * n, 1, n=n)]
    if batch == 1:
        sources.append(bs.Lengths([1] * n, 1, 1, window=8))

    def of(source):
        return lambda rank, ranks: SourceBatchSampler(source, batch, rank=rank, ranks=ranks, **ending)

    return [shuffled, *map(of, sources)]


@pytest.mark.parametrize("ending", ENDINGS, ids=str)
def test_batch_samplers_have_equal_steps_from_each_step_on(ending):
    for n, ranks, batch in SHORT:
        for kind, make in enumerate(batch_samplers(n, batch, ending)):
            steps = of_all_ranks(lambda rank: make(rank, ranks), ranks)
            assert len(make(0, ranks)) == make(0, ranks).remaining == len(steps[0])
            drawn = [item for own in steps for step in own for item in step]
            assert len(drawn) == n + repeats(n, ranks, batch, ending)
            if kind < 2:
                counts = collections.Counter(drawn)
                assert len(counts) == min(n, len(drawn)) and max(counts.values(), default=0) <= (
                    -(-len(drawn) // n))
            for done in range(len(steps[0]) + 1):
                # The same ranks, and others with another batch.
                state = make(0, ranks).state_after(done * ranks * batch)
                for others, size in ((ranks, batch), (1 + (n + done) % 6, 1 + (n + batch) % 9)):
                    if kind == 4:
                        size = 1

                    def resumed(rank):
                        other = batch_samplers(n, size, ending)[kind](rank, others)
                        other.load_state_dict(state)
                        other.set_epoch(0)
                        assert len(other) == -(-(n - n % (others * size) * ("drop_last" in ending)) // (others * size))
                        return other

                    left = n - min(done * ranks * batch, n)
                    own = of_all_ranks(resumed, others)
                    assert len(own[0]) == resumed(0).remaining
                    assert sum(map(len, itertools.chain(*own))) == left + repeats(left, others, size, ending)


@pytest.mark.parametrize("drop_last", [False, True])
def test_samplers_have_equal_items_from_each_item_on(drop_last):
    for n, ranks in itertools.product(range(1, 41), range(1, 7)):
        for done in range(0, n + 1, 1 if IS_LONG else 7):
            state = ShuffleSampler(n, seed=1).state_after(done)
            drawn = []
            for rank in range(ranks):
                sampler = ShuffleSampler(n, seed=1, rank=rank, ranks=ranks, drop_last=drop_last)
                sampler.load_state_dict(state)
                sampler.set_epoch(0)
                left = sampler.remaining
                drawn.append(list(sampler))
                assert len(drawn[-1]) == left == ((n - done) // ranks if drop_last else -(-(n - done) // ranks))
            counts = collections.Counter(itertools.chain(*drawn))
            assert drop_last or len(counts) >= n - done
            assert not drop_last or max(counts.values(), default=1) == 1


@pytest.mark.parametrize("ending", [{"tail": "pad"}, {"tail": "short"}, {"drop_last": True}], ids=str)
def test_streams_have_equal_steps_from_each_step_on(ending):
    for n, ranks, batch in [(0, 2, 3), *SHORT[::1 if IS_LONG else 3]]:
        def make(rank):
            return StreamDataset(range(n), 5, 1, batch, rank=rank, ranks=ranks, collate=list, **ending)

        whole = of_all_ranks(make, ranks)
        for done in range(len(whole[0]) + 1):
            state = make(0).state_after(done)
            others = 1 + (n + done) % 6
            for count, size in ((ranks, batch), (others, 1 + (n + batch) % 9)):
                def resumed(rank):
                    other = StreamDataset(range(n), 5, 1, size, rank=rank, ranks=count, collate=list, **ending)
                    other.load_state_dict(state)
                    return other

                left = n - min(done * ranks * batch, n)
                own = of_all_ranks(resumed, count)
                drawn = collections.Counter(item for steps in own for step in steps for item in step)
                assert drawn.total() == left + repeats(left, count, size, ending)
                assert len(drawn) == min(left, drawn.total())


def test_a_data_loader_has_equal_steps():
    for n, ranks, batch in GRID[:: 7 if IS_LONG else 97]:
        for ending in ENDINGS:
            for make in batch_samplers(n, batch, ending)[:2]:
                def loader(rank):
                    return DataLoader(Numbers(n), batch_sampler=make(rank, ranks), collate_fn=list)

                found = of_all_ranks(loader, ranks)
                assert len(loader(0)) == len(found[0])
                items = [item for steps in found for step in steps for item in step]
                assert len(items) == n + repeats(n, ranks, batch, ending)


def test_blocks_add_or_leave_out_at_most_a_window_for_each_worker():
    for windows, ranks, workers in itertools.product((1, 2, 5, 8), (1, 2, 3), (1, 2)):
        n = 20 * windows - 7
        for ending, most in (({"tail": "pad"}, 20), ({"drop_last": True}, -20)):
            dealt = []
            for rank in range(ranks):
                data = BlockDataset(lambda k: range(10 * k, min(n, 10 * k + 10)), n, block=10, window=2, seed=1,
                                    rank=rank, ranks=ranks, **ending)
                if workers == 1:
                    dealt.append(list(data))
                elif (windows, ranks) == (5, 2):
                    dealt.append([int(item) for item in DataLoader(data, None, num_workers=workers)])
            if dealt:
                assert len(set(map(len, dealt))) == 1
                added = sum(map(len, dealt)) - n
                assert min(0, most * ranks * workers) <= added <= max(0, most * ranks * workers)


def test_few_windows_repeat_as_much_as_the_documents_say():
    ranks = [list(BlockDataset(lambda k: range(100 * k, min(3001, 100 * k + 100)), 3001, block=100, window=2,
                               seed=1, rank=rank, ranks=6)) for rank in range(6)]
    assert [len(items) for items in ranks] == [600] * 6 and set().union(*ranks) == set(range(3001))
    assert sum(map(len, ranks)) - 3001 == 599


def test_a_worker_of_nodes_without_items_is_refused_on_all_ranks():
    for rank in range(2):
        data = NodeDataset(lambda block: [0] * (3 - 3 * block), [3, 0], kept=1, window=1, seed=1, rank=rank, ranks=2)
        with pytest.raises(ValueError, match="no items to repeat"):
            list(data)


# What fits a loader, as the documents have it: three passes, and whether each has its own order.
N = 103


def passes_of(loader, set_epoch=None):
    found = []
    for epoch in range(3):
        if set_epoch is not None:
            set_epoch(epoch)
        found.append([int(item) for batch in loader for item in torch.as_tensor(batch).reshape(-1)])
    return found


def blocks(**settings):
    return BlockDataset(lambda k: range(10 * k, min(N, 10 * k + 10)), N, block=10, window=2, seed=1, **settings)


def nodes():
    return NodeDataset(lambda k: range(10 * k, min(N, 10 * k + 10)), [10] * 10 + [3], kept=0.5, window=2, seed=1)


SAMPLERS = {
    "sampler": lambda: ShuffleSampler(N, seed=1),
    "batch_sampler": lambda: ShuffleBatchSampler(N, 4, seed=1),
    "batch_sampler of a mixture": lambda: SourceBatchSampler(bs.Mixture([N], [1], 1), 4),
    "batch_sampler of sequences": lambda: SourceBatchSampler(bs.Packed([1] * N, 1, 1), 4),
    "batch_sampler of lengths": lambda: SourceBatchSampler(bs.Lengths([1] * N, 4, 1)),
}
DATA = {
    "stream": (lambda: StreamDataset(range(N), 50, 1, 4), None),
    "blocks": (blocks, 4),
    "nodes": (nodes, 4),
}
REFUSED = {
    "Sampler": lambda: bs.Sampler(N, 1, batch=4),
    "Batches": lambda: bs.Weighted([1] * N, 1).batches(4),
    "Weighted": lambda: bs.Weighted([1] * N, 1),
    "Mixture": lambda: bs.Mixture([N], [1], 1),
    "Packed": lambda: bs.Packed([1] * N, 1, 1),
    "Lengths": lambda: bs.Lengths([1] * N, 4, 1),
    "StreamShuffle": lambda: bs.StreamShuffle(range(N), 10, 1),
    "Permutation": lambda: bs.Permutation(N, 1),
    "Places": lambda: bs.Permutation(N, 1)[:50],
    "Indexes": lambda: iter(bs.Permutation(N, 1)),
    "Chunks": lambda: bs.Permutation(N, 1).chunks(4),
}
LOADERS = [{}, {"num_workers": 2}, {"num_workers": 2, "persistent_workers": True}]


@pytest.mark.parametrize("settings", LOADERS, ids=str)
@pytest.mark.parametrize("kind", SAMPLERS)
def test_samplers_give_each_pass_of_a_loader_an_order_of_its_own(kind, settings):
    name = kind.split()[0]
    loader = DataLoader(Numbers(N), **{name: SAMPLERS[kind]()}, **settings)
    found = passes_of(loader)
    assert all(sorted(items) == list(range(N)) for items in found)
    assert len(set(map(tuple, found))) == 3


@pytest.mark.parametrize("settings", LOADERS, ids=str)
@pytest.mark.parametrize("kind", DATA)
def test_data_sets_have_an_order_for_each_epoch_that_is_chosen_and_refuse_a_pass_without(kind, settings):
    make, batch = DATA[kind]
    data = make()
    loader = DataLoader(data, batch, **settings)
    found = passes_of(loader, data.set_epoch)
    assert all(sorted(items) == list(range(N)) for items in found)
    assert len(set(map(tuple, found))) == 3
    with pytest.raises(ValueError, match="epoch 2 of this .*Dataset was read to its end: call its set_epoch"):
        next(iter(loader))
    # One that was broken off may be begun again, and one that is chosen again is the same again.
    data.set_epoch(2)
    next(iter(loader))
    assert [int(item) for batch in loader for item in batch] == found[2]


EPOCHS = {
    "Batches": lambda: bs.Weighted([1, 2], 3).batches(1),
    "Sampler": lambda: bs.Sampler(9, 3),
    "StreamShuffle": lambda: bs.StreamShuffle(range(9), 4, 3),
    "ShuffleSampler": lambda: ShuffleSampler(9, seed=3),
    "ShuffleBatchSampler": lambda: ShuffleBatchSampler(9, 2, seed=3),
    "SourceBatchSampler": lambda: SourceBatchSampler(bs.Weighted([1, 2], 3)),
    "BlockDataset": lambda: BlockDataset(lambda k: range(3 * k, 3 * k + 3), 9, block=3, window=2, seed=3),
    "NodeDataset": lambda: NodeDataset(lambda k: range(3), [3] * 3, kept=0.5, window=2, seed=3),
    "StreamDataset": lambda: StreamDataset(range(9), 4, 3, 2),
}


def test_every_class_with_epochs_is_among_those_whose_epochs_are_tested():
    named = {name for module in (bs, bijective_shuffle.torch) for name in module.__all__
             if hasattr(getattr(module, name), "set_epoch")}
    assert named == set(EPOCHS)


@pytest.mark.parametrize("kind", EPOCHS)
def test_an_epoch_is_an_integer_of_64_bits(kind):
    made = EPOCHS[kind]()
    for wrong in (1.5, "1", None, np.float64(2)):
        with pytest.raises(TypeError, match="epoch is an integer, not "):
            made.set_epoch(wrong)
    for wrong in (-1, 2**64):
        with pytest.raises(ValueError, match=f"epoch is an integer from 0 to 2.64 - 1, not {wrong}"):
            made.set_epoch(wrong)
    found = []
    for epoch in (np.int64(1), 2**63, 2**64 - 1):
        made.set_epoch(epoch)
        found.append([np.asarray(items).tolist() for items in made])
        assert found[-1]
        if hasattr(made, "_place"):
            assert made._place()[0] in {epoch, epoch + 1}
    made = EPOCHS[kind]()
    made.set_epoch(2**63)
    assert [np.asarray(items).tolist() for items in made] == found[1] and len(found[1]) == len(found[2])
    assert found[0] != found[1] != found[2]


@pytest.mark.parametrize("workers", [300, 4096, 4097])
def test_each_worker_of_a_loader_has_an_end_of_its_own(monkeypatch, workers):
    data = BlockDataset(lambda k: range(k, k + 1), workers, block=1, window=1, seed=1)

    def part(worker):
        info = SimpleNamespace(id=worker, num_workers=workers)
        monkeypatch.setattr("bijective_shuffle._epochs.get_worker_info", lambda: info)
        return list(data)

    if workers > 4096:
        with pytest.raises(ValueError, match="a BlockDataset has at most 4096 workers, not 4097"):
            part(0)
        return
    assert sorted(sum(map(part, range(workers)), [])) == list(range(workers))
    for worker in (0, 256, workers - 1):
        with pytest.raises(ValueError, match="was read to its end"):
            part(worker)


@pytest.mark.parametrize("argument", ["sampler", "batch_sampler"])
@pytest.mark.parametrize("kind", REFUSED)
def test_objects_of_one_epoch_are_refused_by_a_loader(kind, argument):
    loaders = [DataLoader(Numbers(N), **{argument: REFUSED[kind]()}, **settings) for settings in LOADERS[:1]]
    try:
        from torchdata.stateful_dataloader import StatefulDataLoader
    except ImportError:
        pass
    else:
        loaders.append(StatefulDataLoader(Numbers(N), **{argument: REFUSED[kind]()}))
    for loader in loaders:
        with pytest.raises(TypeError, match=f"{kind} has the items of one epoch.*(Shuffle|Source|Stream).*of bij"):
            next(iter(loader))


class Reads(IterableDataset):
    """A data set of one's own, which may iterate over them."""

    def __init__(self, make):
        self.make = make

    def __iter__(self):
        for item in self.make():
            yield from np.asarray(item).reshape(-1).tolist()


@pytest.mark.parametrize("kind", REFUSED)
def test_objects_of_one_epoch_may_be_read_within_a_data_set(kind):
    items = [int(item) for item in DataLoader(Reads(REFUSED[kind]), None)]
    assert len(items) > 0 and items == list(Reads(REFUSED[kind]))
    assert items == np.concatenate([np.asarray(item).reshape(-1) for item in list(REFUSED[kind]())]).tolist()


class Indexed:
    """Documents of one token, which is its number."""

    sequence_lengths = np.ones(N + 1, np.int32)

    def get(self, document, offset=0, length=None):
        return np.arange(document, document + length)


FIXED = {
    **{kind: (REFUSED[kind], 4) for kind in ("Permutation", "Places", "Weighted", "Mixture")},
    **{kind: (REFUSED[kind], None) for kind in ("Packed", "Lengths")},
    "PackedDataset": (lambda: PackedDataset(Indexed(), 1, 1), 4),
}


@pytest.mark.parametrize("settings", LOADERS, ids=str)
@pytest.mark.parametrize("kind", FIXED)
def test_a_data_set_of_an_order_is_the_same_in_each_pass(kind, settings):
    make, batch = FIXED[kind]
    data = make()

    def number(item):
        # A mixture's item within its set, a sequence's document, a sample's token.
        return {"Mixture": lambda: item[1], "Packed": lambda: item[0, 0],
                "PackedDataset": lambda: item["tokens"].reshape(-1)}.get(kind, lambda: item)()

    loader = DataLoader(data, batch, **settings)
    passes = [np.concatenate([np.asarray(number(item)).reshape(-1) for item in loader]).tolist()
              for _ in range(3)]
    whole = [np.asarray(number(data[k])).reshape(-1) for k in range(len(data))]
    assert passes == [np.concatenate(whole).tolist()] * 3
    assert len(set(passes[0])) == len(passes[0]) or kind == "Weighted"


@pytest.mark.parametrize("kind", [kind for kind in REFUSED if kind not in FIXED])
def test_loaders_refuse_objects_that_are_no_data_set(kind):
    with pytest.raises(TypeError):
        next(iter(DataLoader(REFUSED[kind](), 4)))


@pytest.mark.parametrize("kind", ["stream", "blocks"])
def test_lightning_has_to_be_told_the_epochs_of_a_data_set(kind):
    lightning = pytest.importorskip("lightning", reason="Lightning is not installed")

    class Model(lightning.LightningModule):
        def __init__(self, data, tells):
            super().__init__()
            self.weight, self.data, self.tells = torch.nn.Parameter(torch.zeros(1)), data, tells
            self.items = collections.defaultdict(list)

        def on_train_epoch_start(self):
            if self.tells:
                self.data.set_epoch(self.current_epoch)

        def training_step(self, batch, _):
            self.items[self.current_epoch] += batch.tolist()
            return (self.weight * batch.float()).sum() * 0.0

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), 0.1)

    make, batch = DATA[kind]
    for settings, tells in itertools.product(LOADERS, (True, False)):
        data = make()
        model = Model(data, tells)
        trainer = lightning.Trainer(accelerator="cpu", max_epochs=3, logger=False, enable_checkpointing=False,
                                    enable_progress_bar=False, enable_model_summary=False)
        if not tells:
            with pytest.raises(ValueError, match="call its set_epoch before each epoch"):
                trainer.fit(model, DataLoader(data, batch, **settings))
            continue
        trainer.fit(model, DataLoader(data, batch, **settings))
        assert [sorted(items) for items in model.items.values()] == [list(range(N))] * 3
        assert len(set(map(tuple, model.items.values()))) == 3
