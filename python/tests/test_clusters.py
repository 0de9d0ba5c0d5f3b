"""Global shuffles by engines for clusters, on two local workers each."""

import bijective_shuffle as bs
import numpy as np
import pytest

N = 10_007


@pytest.fixture(scope="module")
def client():
    pytest.importorskip("dask.dataframe", reason="Dask's data frames are not installed")
    distributed = pytest.importorskip("distributed", reason="Dask's workers are not installed")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None, processes=True
    ) as cluster, distributed.Client(cluster) as client:
        yield client


class TestDask:
    def frame(self, partitions):
        import dask.dataframe as dd
        import pandas as pd

        frame = pd.DataFrame(
            {"x": np.arange(N), "y": [str(k) for k in range(N)]},
            index=pd.Index(np.arange(N) * 3, name="key"),
        )
        return frame, dd.from_pandas(frame, npartitions=partitions)

    @pytest.mark.parametrize("partitions,later", [(7, None), (1, 5), (12, 3), (3, 1)])
    def test_rows_are_in_the_order_of_the_permutation(self, client, partitions, later):
        from bijective_shuffle.dask import dask_shuffle

        frame, df = self.frame(partitions)
        shuffled = dask_shuffle(df, 42, 3, npartitions=later)
        assert shuffled.npartitions == (later or partitions)
        whole = shuffled.compute()
        expected = frame.iloc[bs.Permutation.walk(N, 42, 3).to_numpy()]
        assert whole.equals(expected.astype(whole.dtypes)) and whole.index.name == "key"
        lengths = shuffled.map_partitions(len).compute()
        assert max(lengths) - min(lengths) <= 1

    @pytest.mark.parametrize("method", ["tasks", "p2p", "disk"])
    def test_by_any_method_and_without_workers(self, client, method):
        import dask
        from bijective_shuffle.dask import dask_shuffle

        _, df = self.frame(5)
        expected = bs.Permutation.walk(N, 1).to_numpy()
        # Without the workers, by threads, where the method allows it.
        schedulers = [None] if method == "p2p" else [None, "sync"]
        for scheduler in schedulers if method != "disk" else ["sync"]:
            settings = {"dataframe.shuffle.method": method}
            with dask.config.set(settings | ({"scheduler": scheduler} if scheduler else {})):
                whole = dask_shuffle(df, 1).compute()
            assert np.array_equal(whole["x"], expected)

    def test_few_rows(self, client):
        import dask.dataframe as dd
        import pandas as pd
        from bijective_shuffle.dask import dask_shuffle

        for n in (0, 1, 2, 5):
            df = dd.from_pandas(pd.DataFrame({"x": np.arange(n)}), npartitions=3)
            found = dask_shuffle(df, 5).compute()["x"].to_numpy()
            assert np.array_equal(found, bs.Permutation.walk(n, 5).to_numpy())


@pytest.fixture(scope="module")
def ray():
    ray = pytest.importorskip("ray", reason="Ray is not installed")
    pytest.importorskip("ray.data", reason="Ray Data is not installed")
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, configure_logging=False)
    yield ray
    ray.shutdown()


class TestRay:
    @pytest.mark.parametrize("blocks,later", [(7, None), (1, 5), (12, 3), (3, 1)])
    def test_rows_are_in_the_order_of_the_permutation(self, ray, blocks, later):
        from bijective_shuffle.ray import ray_shuffle

        ds = ray.data.range(N, override_num_blocks=blocks)
        ds = ds.map_batches(lambda batch: {"id": batch["id"], "y": batch["id"] * 3})
        shuffled = ray_shuffle(ds, 42, 3, blocks=later)
        rows = shuffled.take_all()
        assert [row["id"] for row in rows] == list(bs.Permutation.walk(N, 42, 3))
        assert all(row["y"] == 3 * row["id"] for row in rows)

    def test_few_rows(self, ray):
        from bijective_shuffle.ray import ray_shuffle

        for n in (0, 1, 2, 5):
            ds = ray.data.from_items([{"id": k} for k in range(n)]) if n else ray.data.range(0)
            found = [row["id"] for row in ray_shuffle(ds, 5).take_all()]
            assert found == list(bs.Permutation.walk(n, 5))


@pytest.fixture(scope="module")
def monkeypatch_module():
    with pytest.MonkeyPatch.context() as patch:
        yield patch


@pytest.fixture(scope="module")
def spark(monkeypatch_module):
    pytest.importorskip("pyspark", reason="Spark is not installed")
    import shutil
    import sys

    if shutil.which("java") is None:
        pytest.skip("there is no Java for Spark")
    from pyspark.sql import SparkSession

    # Otherwise workers take whatever `python3` is on the path.
    monkeypatch_module.setenv("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master("local[2]").appName("bijective-shuffle")
    builder = builder.config("spark.ui.enabled", "false")
    spark = builder.config("spark.driver.bindAddress", "127.0.0.1").getOrCreate()
    yield spark
    spark.stop()


class TestSpark:
    @pytest.mark.parametrize("partitions,later", [(5, None), (1, 3), (4, 1)])
    def test_rows_are_in_the_order_of_the_permutation(self, spark, partitions, later):
        from bijective_shuffle.spark import spark_shuffle

        df = spark.range(0, N, 1, partitions).selectExpr("id", "id * 3 as y")
        shuffled = spark_shuffle(df, 42, 3, partitions=later)
        assert shuffled.columns == ["id", "y"]
        count = later or partitions
        lengths = [len(part) for part in shuffled.rdd.glom().collect()]
        assert len(lengths) == count and max(lengths) - min(lengths) <= 1
        with pytest.raises(ValueError):
            spark_shuffle(df, 42, partitions=0)
        rows = shuffled.collect()
        assert [row["id"] for row in rows] == list(bs.Permutation.walk(N, 42, 3))
        assert all(row["y"] == 3 * row["id"] for row in rows)

    def test_few_rows(self, spark):
        from bijective_shuffle.spark import spark_shuffle

        for n in (0, 1, 2, 5):
            found = [row["id"] for row in spark_shuffle(spark.range(0, n, 1, 3), 5).collect()]
            assert found == list(bs.Permutation.walk(n, 5))
