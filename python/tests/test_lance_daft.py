"""Global shuffles and loaders of Lance, and of Daft: every row is counted."""

import collections
import itertools
import json
import subprocess
import sys

import bijective_shuffle as bs
import numpy as np
import pytest

N = 10_007


@pytest.fixture(scope="module")
def ds(tmp_path_factory):
    lance = pytest.importorskip("lance", reason="pylance is not installed")
    pa = pytest.importorskip("pyarrow")
    numbers = np.arange(N)
    vectors = pa.FixedSizeListArray.from_arrays(pa.array(np.arange(2.0 * N)), 2)
    table = pa.table({"x": numbers, "y": list(map(str, numbers)), "v": vectors})
    uri = str(tmp_path_factory.mktemp("lance") / "data.lance")
    ds = lance.write_dataset(table, uri, max_rows_per_file=1700)
    # Fragments of different sizes.
    ds.delete("x % 7 = 3 AND x < 5000")
    return lance.dataset(uri)


@pytest.fixture(scope="module")
def daft():
    return pytest.importorskip("daft", reason="Daft is not installed")


class TestLance:
    def rows(self, ds):
        return ds.to_table().to_pylist()

    @pytest.mark.parametrize("ranks", [1, 3])
    def test_rows_are_in_the_order_of_the_permutation(self, ds, tmp_path, ranks):
        import lance
        from bijective_shuffle.lance import lance_shuffle

        rows = self.rows(ds)
        for epoch in range(2):
            uri = str(tmp_path / f"{epoch}.lance")
            for rank in range(ranks):
                reader = lance_shuffle(ds, 42, epoch, batch_size=1000, rank=rank, ranks=ranks)
                lance.write_dataset(reader, uri, mode="append" if rank else "create")
            shuffled = lance.dataset(uri)
            assert shuffled.schema == ds.schema
            order = bs.Permutation.walk(len(rows), 42, epoch)
            assert self.rows(shuffled) == [rows[k] for k in order]

    def test_columns_and_few_rows(self, tmp_path):
        lance = pytest.importorskip("lance", reason="pylance is not installed")
        import pyarrow as pa
        from bijective_shuffle.lance import lance_shuffle

        for n in (0, 1, 5):
            table = pa.table({"x": pa.array(range(n), pa.int64()), "y": ["a"] * n})
            ds = lance.write_dataset(table, str(tmp_path / f"{n}.lance"))
            found = lance_shuffle(ds, 5, columns=["x"], batch_size=2).read_all()
            assert found.schema.names == ["x"]
            assert found["x"].to_pylist() == list(bs.Permutation.walk(n, 5))

    def test_a_version_is_kept(self, ds, tmp_path):
        import lance
        from bijective_shuffle.lance import lance_shuffle

        copy = lance.write_dataset(ds.to_table(), str(tmp_path / "copy.lance"))
        reader = lance_shuffle(copy, 1)
        lance.dataset(copy.uri).delete("x < 9000")
        assert reader.read_all().num_rows == copy.count_rows()

    def test_a_loader_of_rows_goes_on_with_another_number_of_ranks(self, ds):
        pytest.importorskip("torch", reason="PyTorch is not installed")
        from bijective_shuffle.torch import ShuffleBatchSampler
        from lance.torch.data import SafeLanceDataset
        from torch.utils.data import DataLoader

        data, n = SafeLanceDataset(ds.uri), ds.count_rows()

        def loader(rank, ranks, **workers):
            sampler = ShuffleBatchSampler(n, 100, seed=42, rank=rank, ranks=ranks, tail="short")
            return sampler, DataLoader(data, batch_sampler=sampler, collate_fn=list, **workers)

        seen, states = [collections.Counter(), collections.Counter()], []
        for rank in range(2):
            # A whole epoch, and a part of the next.
            sampler, batches = loader(rank, 2)
            seen[0].update(row["x"] for batch in batches for row in batch)
            for batch in itertools.islice(batches, 20):
                seen[1].update(row["x"] for row in batch)
            states.append(json.dumps(sampler.state_after(20 * 100 * 2)))
        assert len(set(states)) == 1
        for rank in range(3):
            # Processes that import everything anew take seconds, so one rank has them.
            spawned = {"num_workers": 2, "multiprocessing_context": "spawn"} if rank == 2 else {}
            sampler, batches = loader(rank, 3, **spawned)
            sampler.load_state_dict(json.loads(states[0]))
            seen[1].update(row["x"] for batch in batches for row in batch)
        whole = collections.Counter(row["x"] for row in self.rows(ds))
        assert seen == [whole, whole]

    def test_a_loader_of_blocks(self, ds):
        pytest.importorskip("torch", reason="PyTorch is not installed")
        from bijective_shuffle.lance import lance_blocks
        from torch.utils.data import DataLoader

        whole = collections.Counter(row["x"] for row in self.rows(ds))
        orders = []
        for epoch, workers in enumerate((0, 2)):
            seen, spawned = [], {"multiprocessing_context": "spawn"} if workers else {}
            for rank in range(2):
                data = lance_blocks(ds, 42, block=100, window=4, columns=["x"], rank=rank, ranks=2,
                                    tail="short")
                data.set_epoch(epoch)
                loader = DataLoader(data, batch_size=64, num_workers=workers, collate_fn=list,
                                    **spawned)
                seen += [row["x"] for batch in loader for row in batch]
            assert collections.Counter(seen) == whole
            orders.append(seen)
        assert orders[0] != orders[1]

    def test_a_forked_worker_says_so(self, ds):
        pytest.importorskip("torch", reason="PyTorch is not installed")
        from bijective_shuffle.lance import lance_blocks
        from torch.utils.data import DataLoader

        loader = DataLoader(lance_blocks(ds, 1), num_workers=1, multiprocessing_context="fork",
                            collate_fn=list)
        with pytest.raises(RuntimeError, match='multiprocessing_context="spawn"'):
            next(iter(loader))


class TestDaft:
    def test_rows_are_in_the_order_of_the_permutation(self, daft):
        from bijective_shuffle.daft import daft_shuffle

        rows = {"x": list(range(N)), "y": [[k, None] for k in range(N)]}
        df = daft.from_pydict(rows)
        for epoch in range(2):
            shuffled = daft_shuffle(df, 42, epoch)
            assert shuffled.schema() == df.schema()
            order = bs.Permutation.walk(N, 42, epoch).to_numpy().tolist()
            found = shuffled.to_pydict()
            assert found["x"] == order and found["y"] == [rows["y"][k] for k in order]

    def test_few_rows(self, daft):
        from bijective_shuffle.daft import daft_shuffle

        for n in (0, 1, 2, 5):
            found = daft_shuffle(daft.from_pydict({"x": np.arange(n)}), 5).to_pydict()["x"]
            assert found == list(bs.Permutation.walk(n, 5))

    def test_columns_of_any_name(self, daft):
        from bijective_shuffle.daft import daft_shuffle

        names = ["id", "part", "rows", "place", "*", "a.b", "__bijective_shuffle_row__", "__bijective_shuffle_place__"]
        df = daft.from_pydict({name: list(range(k, k + 50)) for k, name in enumerate(names)})
        found = daft_shuffle(df, 42).to_pydict()
        order = list(bs.Permutation.walk(50, 42))
        assert found == {name: [k + row for row in order] for k, name in enumerate(names)}

    def test_rows_that_are_computed(self, daft, tmp_path):
        from bijective_shuffle.daft import daft_shuffle

        daft.range(3 * N).write_parquet(str(tmp_path))
        df = daft.read_parquet(f"{tmp_path}/*.parquet").where(daft.col("id") % 3 == 0)
        found = daft_shuffle(df, 7).to_pydict()["id"]
        before = df.to_pydict()["id"]
        assert found == [before[k] for k in bs.Permutation.walk(N, 7)]

    def test_a_loader_goes_on_with_another_number_of_ranks(self, daft, monkeypatch):
        pytest.importorskip("torch", reason="PyTorch is not installed")
        from bijective_shuffle.torch import ShuffleBatchSampler
        from torch.utils.data import DataLoader

        # Daft asks for a part of torchdata that it has no more, unless there is no torchdata.
        monkeypatch.setitem(sys.modules, "torchdata", None)
        data = daft.from_pydict({"x": list(range(N))}).to_torch_map_dataset()

        def loader(rank, ranks):
            sampler = ShuffleBatchSampler(data, 50, seed=42, rank=rank, ranks=ranks, tail="short")
            return sampler, DataLoader(data, batch_sampler=sampler)

        seen, states = [collections.Counter(), collections.Counter()], []
        for rank in range(2):
            sampler, batches = loader(rank, 2)
            seen[0].update(x for batch in batches for x in batch["x"].tolist())
            for batch in itertools.islice(batches, 20):
                seen[1].update(batch["x"].tolist())
            states.append(sampler.state_after(20 * 50 * 2))
        for rank in range(3):
            sampler, batches = loader(rank, 3)
            sampler.load_state_dict(states[0])
            seen[1].update(x for batch in batches for x in batch["x"].tolist())
        assert seen == [collections.Counter(range(N))] * 2


def test_daft_on_workers_of_ray(daft):
    """In a process of its own, as a process has one runner of Daft."""
    pytest.importorskip("ray", reason="Ray is not installed")
    code = f"""
import daft, ray
import bijective_shuffle as bs
from bijective_shuffle.daft import daft_shuffle
from daft.functions import monotonically_increasing_id

ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
daft.set_runner_ray()
df = daft.from_pydict({{"x": list(range({N}))}}).into_partitions(5)
ids = df.select(monotonically_increasing_id()).to_pydict()
assert {{row >> 36 for row in next(iter(ids.values()))}} == set(range(5))
for epoch in range(2):
    shuffled = daft_shuffle(df, 42, epoch).to_pydict()
    assert shuffled["x"] == list(bs.Permutation.walk({N}, 42, epoch))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
