"""Adapters to frameworks that read data: each is tested where its framework is installed."""

import os

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


    @pytest.mark.parametrize("workers", [0, 2])
    def test_every_record_of_two_epochs_comes_once(self, grain, workers):
        """On two shards, each with processes of its own, and again from a state in the midst."""
        from bijective_shuffle.grain import ShuffleSampler

        def loader(shard):
            return grain.DataLoader(
                data_source=range(101),
                sampler=ShuffleSampler(101, seed=3, num_epochs=2),
                shard_options=grain.ShardOptions(shard_index=shard, shard_count=2),
                worker_count=workers,
            )

        records, resumed = [], []
        for shard in range(2):
            iterator = iter(loader(shard))
            begun = [next(iterator) for _ in range(33)]
            state = iterator.get_state()
            records += begun + list(iterator)
            again = iter(loader(shard))
            again.set_state(state)
            resumed += begun + list(again)
        assert sorted(records) == sorted([*range(101)] * 2)
        assert resumed == records

    def test_what_the_loader_leaves_out_of_the_last_epoch(self, grain):
        """As with any sampler: the rest of the records that two shards cannot share."""
        from bijective_shuffle.grain import ShuffleSampler

        def records(sampler):
            return sum(
                len(
                    list(
                        grain.DataLoader(
                            data_source=range(101),
                            sampler=sampler,
                            shard_options=grain.ShardOptions(shard_index=shard, shard_count=2),
                            worker_count=0,
                        )
                    )
                )
                for shard in range(2)
            )

        assert records(ShuffleSampler(101, seed=3, num_epochs=3)) == 302
        theirs = grain.IndexSampler(101, grain.NoSharding(), shuffle=True, num_epochs=3, seed=3)
        assert records(theirs) == 302


    @pytest.mark.parametrize("workers", [0, 2])
    def test_sources_come_once(self, grain, workers):
        """A mixture and draws on two shards, and again from a state in the midst."""
        from bijective_shuffle.grain import SourceSampler

        mixture = bs.Mixture([60, 10], [3, 2], 3).changed(150, [1, 1, 1], [30])
        for source in (mixture, bs.Weighted([5, 1, 0, 2] * 25, 3)):
            def loader(shard):
                return grain.DataLoader(
                    data_source=range(100),
                    sampler=SourceSampler(source, num_epochs=2),
                    shard_options=grain.ShardOptions(shard_index=shard, shard_count=2),
                    worker_count=workers,
                )

            expected = []
            for epoch in range(2):
                items = source.items(epoch, source.n, np.arange(source.n, dtype=np.uint64))
                if isinstance(items, tuple):
                    items = np.array([0, 60, 70])[items[0]] + items[1]
                expected += items.tolist()
            records = []
            for shard in range(2):
                iterator = iter(loader(shard))
                begun = [next(iterator) for _ in range(33)]
                again = iter(loader(shard))
                again.set_state(iterator.get_state())
                records += begun + list(again)
            assert sorted(records) == sorted(expected)
        with pytest.raises(TypeError):
            SourceSampler(bs.Packed([100], 10, 1))


def read_as_node(data, rank, ranks, epoch, taken, state, strategy):
    """What a node of a job reads of an epoch, from a state on, and its state after `taken`."""
    from bijective_shuffle.datasets import shuffled_blocks
    from datasets.distributed import split_dataset_by_node

    stream = shuffled_blocks(data, 42, 0, block=10, window=4)
    node = split_dataset_by_node(stream, rank, ranks, strategy=strategy)
    node.set_epoch(epoch)
    if state is not None:
        node.load_state_dict(state)
    items, after = [], None
    for example in node:
        items.append(example["x"])
        if len(items) == taken:
            after = node.state_dict()
    return items, after


class TestStreams:
    def test_a_streaming_set_goes_on_with_each_example_once(self):
        hf = pytest.importorskip("datasets", reason="datasets is not installed")
        data = hf.Dataset.from_dict({"x": list(range(500))}).to_iterable_dataset(num_shards=4)

        def make():
            return bs.StreamShuffle(lambda start: iter(data.skip(start)), 64, 3)

        whole = [example["x"] for example in make()]
        stream = make()
        begun = [example["x"] for example, _ in zip(stream, range(200))]
        again = make()
        again.load_state_dict(stream.state_dict())
        assert sorted(whole) == list(range(500))
        # `zip` has asked the stream for one example more than it gave.
        assert begun + [whole[200]] + [example["x"] for example in again] == whole


class TestDatasets:
    N = 1003

    @pytest.fixture
    def hf(self):
        return pytest.importorskip("datasets", reason="datasets is not installed")

    @pytest.fixture
    def data(self, hf):
        rows = range(self.N)
        return hf.Dataset.from_dict({"x": list(rows), "y": [str(k) for k in rows]})

    def blocks(self, data, seed=42, epoch=1):
        from bijective_shuffle.datasets import shuffled_blocks

        return shuffled_blocks(data, seed, epoch, block=10, window=4)

    def order(self, epoch=1):
        return bs.BlockShuffle(self.N, 10, 4, 42, epoch)

    def test_an_order_for_select(self, data):
        from bijective_shuffle.datasets import shuffled

        assert shuffled(data, 42, 1)["x"][:] == list(bs.Permutation(self.N, 42, 1))

    def test_blocks(self, data):
        order = self.order()
        stream = self.blocks(data)
        examples = list(stream)
        assert [example["x"] for example in examples] == list(order.order)
        assert all(example["y"] == str(example["x"]) for example in examples)
        assert stream.num_shards == order.window_count
        assert stream.features == data.features and stream.split == data.split
        # As a run is resumed.
        iterator = iter(stream)
        begun = [next(iterator)["x"] for _ in range(123)]
        state = stream.state_dict()
        again = self.blocks(data)
        again.load_state_dict(state)
        assert begun + [example["x"] for example in again] == list(order.order)

    def test_the_epoch_is_chosen_later(self, data):
        stream = self.blocks(data)
        for derived in (stream, stream.map(lambda example: {"z": example["x"]}).filter(bool)):
            for epoch in (0, 1, 7, 0):
                derived.set_epoch(epoch)
                expected = list(self.order(1 + epoch).order)
                assert [example["x"] for example in derived] == expected
        # Seeds of another kind, and epochs around the end of their range.
        late = self.blocks(data, bytes(32), 2**64 - 1)
        late.set_epoch(2)
        expected = list(bs.BlockShuffle(self.N, 10, 4, bytes(32), 1).order)
        assert [example["x"] for example in late] == expected
        # A state is of an epoch.
        stream.set_epoch(7)
        iterator = iter(stream)
        begun = [next(iterator)["x"] for _ in range(500)]
        again = self.blocks(data)
        again.set_epoch(7)
        again.load_state_dict(stream.state_dict())
        assert begun + [example["x"] for example in again] == list(self.order(8).order)
        # Their own shuffle draws from examples of another order, each once.
        mixed = [example["x"] for example in stream.shuffle(seed=5, buffer_size=20)]
        assert sorted(mixed) == list(range(self.N)) and mixed != list(self.order(8).order)

    def test_parts_keep_their_examples(self, data):
        stream = self.blocks(data)
        parts = [stream.shard(2, k) for k in range(2)] + [stream.take(100), stream.skip(100)]
        first = [[example["x"] for example in part] for part in parts]
        for epoch in (1, 2, 3):
            for part in parts:
                part.set_epoch(epoch)
            assert first == [[example["x"] for example in part] for part in parts]
        for k in (0, 2):
            assert sorted(first[k] + first[k + 1]) == list(range(self.N))

    def test_windows_that_are_divided_no_further_have_the_order_of_an_epoch(self, data):
        stream = self.blocks(data).reshard()
        stream.set_epoch(2)
        assert [example["x"] for example in stream] == list(self.order(3).order)

    def test_the_state_of_another_epoch_is_ignored(self, data):
        """That is a rule of Hugging Face's, which our documentation says."""
        stream = self.blocks(data)
        stream.set_epoch(2)
        begun = [example["x"] for _, example in zip(range(500), stream)]
        again = self.blocks(data)
        again.load_state_dict(stream.state_dict())
        assert [example["x"] for example in again] == list(self.order(1).order)
        again.set_epoch(2)
        assert begun + [example["x"] for example in again] == list(self.order(3).order)

    @pytest.mark.parametrize("strategy", ["auto", "shards"])
    @pytest.mark.parametrize("ranks", [2, 13])
    def test_nodes_share_the_examples(self, hf, data, strategy, ranks):
        from datasets.distributed import split_dataset_by_node

        stream = self.blocks(data)
        assert stream.num_shards == 26
        if ranks == 2:
            # Not a number of windows that two divides.
            stream = self.blocks(data.select(range(1000)))
            assert stream.num_shards == 25
        n = 1003 if ranks == 13 else 1000
        reads = 0
        original = hf.Dataset.__getitem__

        def counted(dataset, key):
            nonlocal reads
            reads += isinstance(key, slice)
            return original(dataset, key)

        for epoch in range(2):
            nodes = []
            reads = 0
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(hf.Dataset, "__getitem__", counted)
                for rank in range(ranks):
                    node = split_dataset_by_node(stream, rank, ranks, strategy=strategy)
                    node.set_epoch(epoch)
                    nodes.append([example["x"] for example in node])
            assert sorted(sum(nodes, [])) == list(range(n))
            blocks = -(-n // 10)
            # As its documentation says.
            assert reads == blocks * (2 if (strategy, ranks) == ("auto", 2) else 1)

    @pytest.mark.parametrize("strategy", ["auto", "shards"])
    def test_every_item_of_two_epochs_comes_once_in_two_processes(self, data, strategy):
        import multiprocessing

        with multiprocessing.get_context("spawn").Pool(2) as pool:

            def read(epoch, taken=0, states=(None, None)):
                nodes = [(data, k, 2, epoch, taken, states[k], strategy) for k in range(2)]
                return pool.starmap(read_as_node, nodes)

            epochs = []
            for epoch in range(2):
                whole, states = zip(*read(epoch, 100))
                assert sorted(sum(whole, [])) == list(range(self.N))
                rest = [items for items, _ in read(epoch, 0, states)]
                assert [items[:100] + later for items, later in zip(whole, rest)] == list(whole)
                epochs.append(whole)
            assert epochs[0] != epochs[1]

    @pytest.mark.parametrize("workers", [0, 2])
    @pytest.mark.parametrize("persistent", [False, True])
    def test_in_a_loader_of_pytorch(self, data, workers, persistent):
        torch_data = pytest.importorskip("torch.utils.data", reason="PyTorch is not installed")

        stream = self.blocks(data)
        settings = {"persistent_workers": True} if persistent and workers else {}
        loader = torch_data.DataLoader(stream, batch_size=8, num_workers=workers, **settings)
        for epoch in (0, 1, 1):
            stream.set_epoch(epoch)
            items = [x for batch in loader for x in batch["x"].tolist()]
            assert sorted(items) == list(range(self.N))
            if workers == 0:
                assert items == list(self.order(1 + epoch).order)
            else:
                # The first worker has the first window.
                first = self.order(1 + epoch).window_items(0).to_numpy()[:8]
                assert items[:8] == first.tolist()

    def test_rows_come_as_the_data_set_has_them(self, hf):
        """Whatever the types are, and in every format that a stream has."""
        import datetime
        from decimal import Decimal

        rows = 57
        zone = datetime.timezone.utc
        columns = {
            "float": [float(k) for k in range(rows)],
            "nothing": [None] * rows,
            "some": [None if k % 3 else k for k in range(rows)],
            "list": [list(range(k % 4)) for k in range(rows)],
            "lists": [[[k], []] if k % 2 else None for k in range(rows)],
            "struct": [{"a": k, "b": None if k % 5 else "b"} for k in range(rows)],
            "bytes": [bytes([k]) for k in range(rows)],
            "label": [k % 2 for k in range(rows)],
            "matrix": [[[k, 1], [2, 3]] for k in range(rows)],
            "decimal": [Decimal(k) / 100 for k in range(rows)],
            "time": [datetime.datetime(2026, 1, 1, k % 24, tzinfo=zone) for k in range(rows)],
            "x": list(range(rows)),
        }
        value = hf.Value
        features = hf.Features(
            {
                "float": value("float32"),
                "nothing": value("null"),
                "some": value("int16"),
                "list": hf.List(value("int64")),
                "lists": hf.List(hf.List(value("int8"))),
                "struct": {"a": value("int64"), "b": value("string")},
                "bytes": value("large_binary"),
                "label": hf.ClassLabel(names=["cat", "dog"]),
                "matrix": hf.Array2D((2, 2), "int32"),
                "decimal": value("decimal128(9, 2)"),
                "time": value("timestamp[us, tz=UTC]"),
                "x": value("int64"),
            }
        )
        data = hf.Dataset.from_dict(columns, features=features)
        for source in (data, data.select(range(rows - 1, -1, -1))):
            for form in (None, "numpy", "pandas", "arrow"):
                stream = self.blocks(source.with_format(form))
                expected = source.with_format(form)
                assert stream.features == features
                order = list(bs.BlockShuffle(rows, 10, 4, 42, 1).order)
                examples = list(stream)
                assert len(examples) == rows
                for place, example in zip(order, examples):
                    theirs = expected[place]
                    if form == "arrow":
                        assert example.equals(theirs)
                    elif form == "pandas":
                        for name in columns:
                            assert str(example[name].iloc[0]) == str(theirs[name].iloc[0])
                            assert str(example[name].dtype) == str(theirs[name].dtype)
                    else:
                        assert str(example) == str(theirs)
                        assert [type(v) for v in example.values()] == [
                            type(v) for v in theirs.values()
                        ]

    def test_a_transform_is_refused(self, data):
        doubled = data.with_transform(lambda batch: {"z": [2.5 * x for x in batch["x"]]})
        for refused in (
            doubled,
            data.with_format("numpy", columns=["x"]),
            data.with_format("numpy", dtype=np.float32),
        ):
            with pytest.raises(NotImplementedError, match="with_format"):
                self.blocks(refused)
        # What it says to write instead.
        stream = self.blocks(doubled.with_format(None)).map(lambda example: {"z": 2.5 * example["x"]})
        assert [example["z"] for example in stream] == [2.5 * x for x in self.order().order]

    def test_images_are_neither_decoded_nor_encoded_on_their_way(self, hf, monkeypatch):
        image = pytest.importorskip("PIL.Image", reason="Pillow is not installed")
        import io

        files = []
        for k in range(30):
            file = io.BytesIO()
            image.new("RGB", (4, 4), (k, 0, 0)).save(file, "JPEG", quality=30)
            files.append(file.getvalue())
        data = hf.Dataset.from_dict({"image": [{"bytes": file, "path": None} for file in files]})
        data = data.cast_column("image", hf.Image())
        order = list(bs.BlockShuffle(30, 10, 4, 42, 1).order)
        calls = {"decode_example": 0, "encode_example": 0}
        for name in calls:

            def counted(*arguments, name=name, original=getattr(hf.Image, name), **others):
                calls[name] += 1
                return original(*arguments, **others)

            monkeypatch.setattr(hf.Image, name, counted)
        for k, example in zip(order, self.blocks(data), strict=True):
            assert example["image"].getpixel((0, 0)) == data[k]["image"].getpixel((0, 0))
        assert calls == {"decode_example": 60, "encode_example": 0}
        stream = self.blocks(data).cast_column("image", hf.Image(decode=False))
        assert [example["image"]["bytes"] for example in stream] == [files[k] for k in order]

    @pytest.mark.skipif(not os.environ.get("BIJECTIVE_SHUFFLE_LONG"), reason="it takes 6 GiB")
    def test_windows_of_more_than_two_gibibytes(self, hf):
        import pyarrow as pa

        from bijective_shuffle.datasets import shuffled_blocks

        chunk = pa.array([bytes(2_000_000) + bytes([k]) for k in range(12)], pa.binary())
        table = pa.table({"x": np.arange(1200), "bytes": pa.chunked_array([chunk] * 100)})
        data = hf.Dataset(hf.table.InMemoryTable(table), fingerprint="wide").with_format("arrow")
        items = []
        for row in shuffled_blocks(data, 42, block=10, window=120):
            items.append(row["x"][0].as_py())
            assert row["bytes"].chunk(0)[0].as_buffer()[-1] == items[-1] % 12
        assert items == list(bs.BlockShuffle(1200, 10, 120, 42).order)

    def test_few_rows(self, data):
        for n in (1, 2, 11):
            found = [example["x"] for example in self.blocks(data.select(range(n)))]
            assert found == list(bs.BlockShuffle(n, 10, 4, 42, 1).order)
        with pytest.raises(ValueError, match="at least one item"):
            self.blocks(data.select([]))


class TestStatesOfBlocks:
    def test_a_state_of_other_data_is_refused(self):
        hf = pytest.importorskip("datasets", reason="datasets is not installed")
        from bijective_shuffle.datasets import shuffled_blocks

        def make(n=50, seed=42, epoch=0, block=5):
            return shuffled_blocks(hf.Dataset.from_dict({"x": list(range(n))}), seed, epoch, block=block, window=2)

        stream = make()
        begun = [example["x"] for _, example in zip(range(23), stream)]
        state = stream.state_dict()
        # States are kept, so this text stays the same.
        assert "'50 items, blocks of 5, windows of 2, seed 42, epoch 0'" in str(state)
        again = make()
        again.load_state_dict(state)
        assert sorted({*begun, *(int(example["x"]) for example in again)}) == list(range(50))
        for other in (make(n=60), make(n=40), make(seed=43), make(seed=bytes(32)), make(epoch=1), make(block=6)):
            other.load_state_dict(state)
            with pytest.raises(bs.ForeignStateError, match="the state is of other data"):
                next(iter(other))
            # Of a part, and in other epochs, too.
            for epoch in range(4):
                shard, part = make().shard(2, 0), other.shard(2, 0)
                for stream in (shard, part):
                    stream.set_epoch(epoch)
                next(iter(shard))
                part.load_state_dict(shard.state_dict())
                with pytest.raises(bs.ForeignStateError, match="the state is of other data"):
                    next(iter(part))
        for epoch in range(4):
            shards = [make().shard(2, 0) for _ in range(2)]
            for shard in shards:
                shard.set_epoch(epoch)
            begun = [example["x"] for _, example in zip(range(7), shards[0])]
            shards[1].load_state_dict(shards[0].state_dict())
            assert begun + [example["x"] for example in shards[1]] == [example["x"] for example in make().shard(2, 0)]


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
