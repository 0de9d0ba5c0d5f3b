"""Adapters to frameworks that read data: each is tested where its framework is installed."""

import bijective_shuffle as bs
import numpy as np
import pytest
from bijective_shuffle.streaming import get_shuffle_all, get_shuffle_shards, register


class TestGrain:
    @pytest.fixture
    def grain(self):
        return pytest.importorskip("grain.python", reason="grain is not installed")

    def test_epochs(self, grain):
        from bijective_shuffle.grain import ShuffleSampler

        sampler = ShuffleSampler(1000, seed=7, num_epochs=3)
        assert len(sampler) == 3000
        for epoch in (0, 2, 1):
            keys = [sampler[1000 * epoch + k].record_key for k in range(1000)]
            assert keys == list(bs.Permutation.walk(1000, 7, epoch))
        assert sampler[5].index == 5
        draws = {sampler[k].rng.integers(2**62) for k in range(100)}
        draws |= {ShuffleSampler(1000, seed=8)[k].rng.integers(2**62) for k in range(100)}
        assert len(draws) == 200
        assert sampler[5].rng.integers(2**62) == sampler[5].rng.integers(2**62)
        for bad in (-1, 3000):
            with pytest.raises(IndexError):
                sampler[bad]
        with pytest.raises(ValueError):
            ShuffleSampler(0, seed=1)
        of_numpy = ShuffleSampler(np.int32(1000), seed=np.uint64(7), num_epochs=3)
        assert of_numpy[np.int64(5)].record_key == sampler[5].record_key
        assert of_numpy[5].rng.integers(2**62) == sampler[5].rng.integers(2**62)
        assert repr(of_numpy) == repr(sampler)
        assert ShuffleSampler(10**12, seed=1)[5 * 10**12].record_key < 10**12

    def test_in_a_loader(self, grain):
        from bijective_shuffle.grain import ShuffleSampler

        def loader(shard):
            return grain.DataLoader(
                data_source=range(100),
                sampler=ShuffleSampler(100, seed=3, num_epochs=2),
                shard_options=grain.ShardOptions(shard_index=shard, shard_count=2),
                worker_count=0,
            )

        orders = [list(bs.Permutation.walk(100, 3, epoch)) for epoch in range(2)]
        assert list(loader(0)) == sum(orders, [])[::2]
        assert list(loader(1)) == sum(orders, [])[1::2]
        iterator = iter(loader(0))
        begun = [next(iterator) for _ in range(60)]
        again = iter(loader(0))
        again.set_state(iterator.get_state())
        assert begun + list(again) == sum(orders, [])[::2]


class TestDatasets:
    @pytest.fixture
    def data(self):
        datasets = pytest.importorskip("datasets", reason="datasets is not installed")
        return datasets.Dataset.from_dict({"x": list(range(1003)), "y": [str(k) for k in range(1003)]})

    def test_an_order_for_select(self, data):
        from bijective_shuffle.datasets import shuffled

        assert shuffled(data, 42, 1)["x"][:] == list(bs.Permutation(1003, 42, 1))

    def test_blocks(self, data):
        from bijective_shuffle.datasets import shuffled_blocks

        order = bs.BlockShuffle(1003, 10, 4, 42, 1)
        stream = shuffled_blocks(data, 42, 1, block=10, window=4)
        examples = list(stream)
        assert [example["x"] for example in examples] == list(order.order)
        assert all(example["y"] == str(example["x"]) for example in examples)
        assert stream.num_shards == order.window_count
        # As a run is resumed.
        iterator = iter(stream)
        begun = [next(iterator)["x"] for _ in range(123)]
        state = stream.state_dict()
        again = shuffled_blocks(data, 42, 1, block=10, window=4)
        again.load_state_dict(state)
        assert begun + [example["x"] for example in again] == list(order.order)


class TestStreaming:
    """What Streaming calls is a plain function, so it is tested without Streaming."""

    SIZES = np.array([100, 37, 250, 1, 80, 0, 99, 500])

    def test_all_samples_among_each_other(self):
        order = get_shuffle_all(self.SIZES, 4, 42, 1)
        assert np.array_equal(order, bs.Permutation(int(self.SIZES.sum()), 42, 1).to_numpy())

    @pytest.mark.parametrize("nodes", [1, 2, 5])
    @pytest.mark.parametrize("block_size", [1, 150, 10**6])
    def test_shards(self, nodes, block_size):
        total = int(self.SIZES.sum())
        bounds = [total * k // nodes for k in range(nodes + 1)]
        orders = [get_shuffle_shards(self.SIZES, nodes, 42, epoch, block_size) for epoch in (0, 1)]
        assert not np.array_equal(*orders)
        for order in orders:
            assert order.dtype == np.int64
            assert np.array_equal(np.sort(order), np.arange(total))
        for low, high in zip(bounds, bounds[1:]):
            # A node has the same samples in all epochs.
            assert set(orders[0][low:high]) == set(orders[1][low:high])
        # Other seeds are other orders, and not those of other epochs.
        later = get_shuffle_shards(self.SIZES, nodes, 41, 1, block_size)
        assert not np.array_equal(later, orders[0])

    def test_few_shards_at_a_time(self):
        sizes = np.full(100, 10)
        order = get_shuffle_shards(sizes, 1, 42, 0, block_size=40)
        for block in order.reshape(-1, 40):
            assert len(set((block // 10).tolist())) == 4

    def test_nothing(self):
        assert get_shuffle_shards(np.array([], dtype=int), 2, 1, 0).size == 0

    def test_the_names_are_registered(self):
        pytest.importorskip("streaming", reason="Streaming is not installed")
        from streaming.base.shuffle import get_shuffle

        register()
        for algorithm in ("bijective", "bijective_shards"):
            order = get_shuffle(algorithm, self.SIZES, 2, 42, 1, 100)
            assert np.array_equal(np.sort(order), np.arange(self.SIZES.sum()))
