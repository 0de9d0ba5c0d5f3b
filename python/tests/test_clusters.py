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

    def check(self, frame, df):
        """Two epochs of a data frame, which are what pandas would make of it."""
        from bijective_shuffle.dask import dask_shuffle

        assert len(frame) == len(df)
        # Dask has types of its own for texts.
        frame = df.compute()
        for epoch in range(2):
            shuffled = dask_shuffle(df, 42, epoch)
            whole = shuffled.compute()
            expected = frame.iloc[bs.Permutation.walk(len(frame), 42, epoch).to_numpy()]
            assert type(whole) is type(frame) and whole.index.equals(expected.index)
            assert whole.index.names == frame.index.names
            assert same_values(whole.index, expected.index)
            if frame.ndim == 1:
                assert whole.name == frame.name and whole.dtype == frame.dtype
                assert same_values(whole, expected)
                continue
            assert whole.columns.equals(frame.columns)
            assert whole.columns.names == frame.columns.names
            assert list(whole.dtypes) == list(frame.dtypes)
            for k in range(frame.shape[1]):
                assert same_values(whole.iloc[:, k], expected.iloc[:, k])
            # Parts of the result are those of the whole.
            last = shuffled.partitions[shuffled.npartitions - 1].compute()
            assert last.equals(whole.iloc[len(whole) - len(last) :])

    @pytest.mark.parametrize("names", ["integers", "levels", "partitions", "mixed"])
    def test_columns_of_any_name(self, client, names):
        import dask.dataframe as dd
        import pandas as pd

        columns = {
            "integers": pd.Index([3, 1], name="number"),
            "levels": pd.MultiIndex.from_tuples([("a", 1), ("a", "b")], names=["first", None]),
            # A name that Dask uses while it exchanges rows.
            "partitions": pd.Index(["_partitions", "_partitions_0"]),
            "mixed": pd.Index([("a", 2), 1.5], tupleize_cols=False),
        }[names]
        frame = pd.DataFrame({0: np.arange(503), 1: np.arange(503) % 7})
        frame.columns = columns
        frame.index = pd.Index(np.arange(503) * 2, name=("a", 5))
        self.check(frame, dd.from_pandas(frame, npartitions=4))

    @pytest.mark.parametrize("name", [None, "x", 7, ("a", "b")])
    def test_series(self, client, name):
        import dask.dataframe as dd
        import pandas as pd

        for values in (np.arange(503), [str(k) for k in range(503)]):
            series = pd.Series(values, name=name, index=pd.Index(np.arange(503), name="row"))
            self.check(series, dd.from_pandas(series, npartitions=4))

    def test_other_collections_are_refused(self, client):
        import dask.array
        import dask.bag
        from bijective_shuffle.dask import dask_shuffle

        frame, df = self.frame(2)
        for other in (frame, df.index, dask.bag.from_sequence([1]), dask.array.ones(3)):
            with pytest.raises(TypeError, match="a data frame or a series of Dask"):
                dask_shuffle(other, 1)
        with pytest.raises(ValueError, match="at least one partition"):
            dask_shuffle(df, 1, npartitions=0)

    @pytest.mark.parametrize("method", ["tasks", "p2p", "disk"])
    def test_values_of_any_type(self, client, method):
        import dask
        import dask.dataframe as dd
        import pandas as pd

        frame = odd_frame()
        scheduler = {"scheduler": "sync"} if method == "disk" else {}
        settings = {"dataframe.shuffle.method": method, "dataframe.convert-string": False}
        with dask.config.set(settings | scheduler):
            self.check(frame, dd.from_pandas(frame, npartitions=4, sort=False))
            # Those that Dask's exchanges of any method keep.
            plain = ["int", "some", "float", "text", "category", "ordered", "time", "delta"]
            self.check(frame[plain], dd.from_pandas(frame[plain], npartitions=4, sort=False))
            # One by one, since a column decides how the others travel.
            for name in ["texts", "complex", "arrow list"] if method == "p2p" else []:
                self.check(frame[[name]], dd.from_pandas(frame[[name]], npartitions=2, sort=False))
            # An index of objects.
            objects = pd.DataFrame({"x": np.arange(101)})
            objects.index = pd.Index([(k, "x") for k in range(101)], tupleize_cols=False)
            self.check(objects, dd.from_pandas(objects, npartitions=2, sort=False))

    def test_partitions_without_rows(self, client):
        import dask.dataframe as dd

        frame, df = self.frame(8)
        kept = (frame["x"] > 5000) & (frame["x"] % 3 > 0)
        self.check(frame[kept], df[(df["x"] > 5000) & (df["x"] % 3 > 0)])
        nothing = df[df["x"] < 0]
        from bijective_shuffle.dask import dask_shuffle

        empty = dask_shuffle(nothing, 1).compute()
        assert len(empty) == 0 and list(empty.columns) == ["x", "y"]
        joined = dd.concat([df, nothing])
        assert len(dask_shuffle(joined, 1).compute()) == N

    def test_partitions_of_other_lengths_later(self, client, tmp_path):
        import dask.dataframe as dd
        import pandas as pd
        from bijective_shuffle.dask import PartitionsDifferError, dask_shuffle

        for change in (-1, 1):
            marker = tmp_path / f"counted{change}"

            def rows(part, marker=marker, change=change):
                n = 100 + (change if part == 1 and marker.exists() else 0)
                return pd.DataFrame({"x": np.arange(n)})

            df = dd.from_map(rows, [0, 1, 2], meta=pd.DataFrame({"x": np.arange(0)}))
            shuffled = dask_shuffle(df, 1)
            marker.touch()
            with pytest.raises(Exception) as raised:
                shuffled.compute()
            # The p2p method raises an error of its own, which has this one as its cause.
            chain, error = [], raised.value
            while error is not None:
                chain.append(error)
                error = error.__cause__
            found = [error for error in chain if isinstance(error, PartitionsDifferError)]
            assert found and "partition 1 had 100 rows" in str(found[0])


def odd_frame(n=101):
    """Columns of the types that are lost most easily."""
    import datetime
    from decimal import Decimal

    import pandas as pd
    import pyarrow as pa

    rows = range(n)

    def objects(value):
        return pd.Series([value(k) for k in rows], dtype=object)

    def arrow(value, dtype):
        return pd.Series([value(k) for k in rows], dtype=pd.ArrowDtype(dtype))

    return pd.DataFrame(
        {
            "int": np.arange(n, dtype=np.int8),
            "some": pd.array([None if k % 3 else k for k in rows], dtype="Int64"),
            "float": [np.nan if k % 3 else k / 4 for k in rows],
            "complex": np.arange(n) * 1j,
            "sparse": pd.arrays.SparseArray([k % 5 // 4 for k in rows]),
            "text": pd.array([None if k % 3 else str(k) for k in rows], dtype="string"),
            "texts": objects(lambda k: None if k % 3 else str(k)),
            "list": objects(lambda k: list(range(k % 4))),
            "dict": objects(lambda k: {"a": k} if k % 2 else {"b": None}),
            "set": objects(lambda k: {k}),
            "tuple": objects(lambda k: (k, "x")),
            "mixed": objects(lambda k: k if k % 2 else str(k)),
            "nothing": objects(lambda k: None),
            "decimal": objects(lambda k: Decimal(k) / 100),
            "category": pd.Categorical([("c", "a", None)[k % 3] for k in rows], ["c", "b", "a"]),
            "ordered": pd.Categorical([k % 4 for k in rows], [3, 2, 1, 0], ordered=True),
            "time": pd.date_range("2026", periods=n, freq="h", tz="Europe/Berlin"),
            "delta": pd.to_timedelta(np.arange(n), unit="s"),
            "period": pd.period_range("2026", periods=n, freq="M"),
            "date": objects(lambda k: datetime.date(2026, 1, 1 + k % 28)),
            "arrow list": arrow(lambda k: [k] * (k % 3), pa.list_(pa.int64())),
            "arrow decimal": arrow(lambda k: Decimal(k) / 100, pa.decimal128(9, 2)),
        }
    )


def same_values(found, expected):
    """Whether two columns hold the same values of the same types."""
    return all(
        a is b or type(a) is type(b) and (bool(a == b) or a != a and b != b)
        for a, b in zip(found, expected, strict=True)
    )


@pytest.fixture(scope="module")
def ray():
    ray = pytest.importorskip("ray", reason="Ray is not installed")
    pytest.importorskip("ray.data", reason="Ray Data is not installed")
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, configure_logging=False)
    yield ray
    ray.shutdown()


class TestRay:
    def check(self, ds, expected=None):
        """Two epochs of a data set, which are its rows in another order: missing ones as None."""
        from bijective_shuffle.ray import ray_shuffle

        rows = ds.take_all() if expected is None else expected
        names = {name for row in rows for name in row}
        for epoch in range(2):
            found = ray_shuffle(ds, 42, epoch).take_all()
            order = list(bs.Permutation.walk(len(rows), 42, epoch))
            assert len(found) == len(rows)
            for place, row in zip(order, found):
                assert row.keys() == names
                theirs = rows[place]
                for name in names:
                    assert same_cell(row[name], theirs.get(name))
        return found

    @pytest.mark.parametrize("blocks,later", [(7, None), (1, 5), (12, 3), (3, 1)])
    def test_rows_are_in_the_order_of_the_permutation(self, ray, blocks, later):
        from bijective_shuffle.ray import ray_shuffle

        ds = ray.data.range(N, override_num_blocks=blocks)
        ds = ds.map_batches(lambda batch: {"id": batch["id"], "y": batch["id"] * 3})
        shuffled = ray_shuffle(ds, 42, 3, blocks=later)
        assert shuffled.num_blocks() == (later or ds.materialize().num_blocks())
        rows = shuffled.take_all()
        assert [row["id"] for row in rows] == list(bs.Permutation.walk(N, 42, 3))
        assert all(row["y"] == 3 * row["id"] for row in rows)
        with pytest.raises(ValueError, match="at least one block"):
            ray_shuffle(ds, 42, blocks=0)

    def test_few_rows(self, ray):
        from bijective_shuffle.ray import ray_shuffle

        for n in (0, 1, 2, 5):
            ds = ray.data.from_items([{"id": k} for k in range(n)]) if n else ray.data.range(0)
            found = [row["id"] for row in ray_shuffle(ds, 5).take_all()]
            assert found == list(bs.Permutation.walk(n, 5))

    def test_blocks_that_a_filter_empties(self, ray):
        from bijective_shuffle.ray import ray_shuffle

        ds = ray.data.range(1000, override_num_blocks=8)
        some = ds.filter(lambda row: row["id"] % 500 > 450)
        self.check(some, [{"id": k} for k in range(1000) if k % 500 > 450])
        assert ray_shuffle(ds.filter(lambda row: row["id"] < 0), 1).take_all() == []

    def test_blocks_that_differ(self, ray):
        import pyarrow as pa

        def column(values, dtype=None):
            return pa.table({"row": np.arange(len(values)), "a": pa.array(values, dtype)})

        for blocks in (
            [column([1, 2, 3], pa.int32()), column([2**60 + 1, 5])],
            [column([1, 2, 3]), column([None, None])],
            [column([1, 2, 3]), column([0.5, 2.0])],
            [column([1, 2, 3]), pa.table({"row": [7, 8]})],
            [column([[1], None]), column([[], []], pa.list_(pa.null())), column([None])],
            [column([{"x": 1}, {"x": 2}]), column([{"x": 3}, None])],
            [column(["a", "b"]).slice(0, 0), column(["c", None])],
            [pa.table({"other": [1]}).slice(0, 0), column([1, 2])],
        ):
            self.check(ray.data.from_arrow(blocks))

    def test_none_throughout(self, ray):
        self.check(ray.data.from_items([{"id": k, "a": None} for k in range(57)]))

    def test_tensors_of_any_shape(self, ray):
        ragged = [{"id": k, "a": np.full((k % 5 + 1, 2), k)} for k in range(57)]
        self.check(ray.data.from_items(ragged), ragged)
        # Of one shape in each block.
        by_block = ray.data.range(60, override_num_blocks=6).map_batches(
            lambda batch: {
                "id": batch["id"],
                "a": np.zeros((len(batch["id"]), batch["id"][0] // 10 + 1, 2)) + 7,
            }
        )
        self.check(by_block, [{"id": k, "a": np.full((k // 10 + 1, 2), 7.0)} for k in range(60)])

    def test_rows_of_any_type(self, ray):
        import datetime
        from decimal import Decimal

        import pyarrow as pa

        rows = range(57)
        zone = datetime.timezone.utc
        table = pa.table(
            {
                "some": pa.array([None if k % 3 else k for k in rows], pa.int16()),
                "text": [None if k % 4 else str(k) for k in rows],
                "list": [list(range(k % 4)) for k in rows],
                "struct": [{"a": k, "b": None if k % 5 else "b"} for k in rows],
                "map": pa.array([[("a", k)] for k in rows], pa.map_(pa.string(), pa.int64())),
                "category": pa.array([str(k % 3) for k in rows]).dictionary_encode(),
                "decimal": pa.array([Decimal(k) / 100 for k in rows], pa.decimal128(9, 2)),
                "time": pa.array(
                    [datetime.datetime(2026, 1, 1, k % 24, tzinfo=zone) for k in rows],
                    pa.timestamp("us", tz="UTC"),
                ),
                "date": [datetime.date(2026, 1, 1 + k % 28) for k in rows],
                "bytes": [bytes([k]) for k in rows],
                "large": pa.array([str(k) for k in rows], pa.large_string()),
            }
        )
        blocks = [table.slice(0, 20), table.slice(20, 0), table.slice(20, 1), table.slice(21)]
        found = self.check(ray.data.from_arrow(blocks), table.to_pylist())
        assert len(found) == 57

    def test_frames_of_pandas(self, ray):
        import pandas as pd
        from bijective_shuffle.ray import ray_shuffle

        objects = [{k} if k % 2 else (k, "x") for k in range(57)]
        frame = pd.DataFrame({"id": np.arange(57), "a": objects})
        frame["b"] = pd.Categorical([str(k % 3) for k in range(57)])
        ds = ray.data.from_pandas([frame[:20], frame[20:21], frame[21:]])
        found = self.check(ds, frame.to_dict("records"))
        assert [type(row["a"]) for row in found] != [set] * 57
        # Their integers stay so where others have no such column.
        large = [pd.DataFrame({"a": [2**60 + 1, 2]}), pd.DataFrame({"b": [2**60 + 3, 4]})]
        self.check(ray.data.from_pandas(large))
        mixed = ray.data.from_pandas([frame[["id"]]]).union(ray.data.range(10, override_num_blocks=2))
        self.check(mixed, [{"id": k} for k in [*range(57), *range(10)]])

    def test_what_no_column_can_hold(self, ray):
        import pyarrow as pa
        from bijective_shuffle.ray import ray_shuffle

        ds = ray.data.from_arrow([pa.table({"a": [1, 2]}), pa.table({"a": ["x", "y"]})])
        with pytest.raises(Exception, match="incompatible types: int64 vs string"):
            ray_shuffle(ds, 1, blocks=1).take_all()


def same_cell(a, b):
    """Whether two values of rows are equal, with their types."""
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return np.array_equal(a, b) and np.asarray(a).dtype == np.asarray(b).dtype
    return a is b or a == b


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
    def check(self, df, rows=None):
        """Two epochs of a data frame, each with all of its rows in the order of the permutation."""
        from bijective_shuffle.spark import spark_shuffle

        rows = df.collect() if rows is None else rows
        for epoch in range(2):
            shuffled = spark_shuffle(df, 42, epoch)
            assert shuffled.schema == df.schema
            order = bs.Permutation.walk(len(rows), 42, epoch)
            assert shuffled.collect() == [rows[k] for k in order]

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

    def test_a_frame_of_pandas(self, spark):
        """Spark counts it in one partition while it plans, and computes it in two."""
        import pandas as pd

        for n in (1, 2, 1000):
            self.check(spark.createDataFrame(pd.DataFrame({"x": np.arange(n)})))

    def test_columns_of_any_name(self, spark):
        names = ["place", "never", "a.b", "with `ticks`", "*", "__bijective_shuffle_place__", "__BIJECTIVE_shuffle_key__",
                 "__bijective_shuffle_key___"]
        df = spark.range(0, 100, 1, 3).toDF("id")
        for name in names:
            df = df.withColumn(name, df["id"] + len(name))
        self.check(df)

    def test_partitions_that_are_joined_by_their_size(self, spark):
        """Spark reads small partitions of an exchange together, by the columns that are needed."""
        from bijective_shuffle.spark import spark_shuffle
        from pyspark.sql import functions as F

        settings = {
            "spark.sql.shuffle.partitions": "8",
            "spark.sql.adaptive.advisoryPartitionSizeInBytes": "100000",
            "spark.sql.adaptive.coalescePartitions.minPartitionSize": "1000",
            "spark.sql.adaptive.coalescePartitions.parallelismFirst": "false",
        }
        before = {name: spark.conf.get(name) for name in settings}
        for name, value in settings.items():
            spark.conf.set(name, value)
        try:
            df = spark.range(0, 4000, 1, 2).selectExpr("id % 1000 as key", "id")
            df = df.withColumn("text", F.sha2(F.col("id").cast("string"), 512))
            df = df.groupBy("key").agg(F.max("id").alias("id"), F.max("text").alias("text"))
            assert df.select("key").rdd.getNumPartitions() < df.rdd.getNumPartitions()
            self.check(df)
            # Nor does it matter which columns of the result are needed.
            order = bs.Permutation.walk(1000, 1)
            rows, found = df.collect(), spark_shuffle(df, 1)
            assert found.select("key").collect() == [(rows[k]["key"],) for k in order]
            assert found.count() == 1000
        finally:
            for name, value in before.items():
                spark.conf.set(name, value)

    def test_rows_of_any_type(self, spark):
        import datetime
        from decimal import Decimal

        schema = (
            "id long, some short, text string, list array<int>, lists array<array<string>>, "
            "struct struct<a: long, b: string>, map map<string, int>, decimal decimal(9, 2), "
            "time timestamp, local timestamp_ntz, date date, bytes binary, nothing void, float double"
        )
        zone = datetime.timezone(datetime.timedelta(hours=2))
        rows = [
            (
                k,
                None if k % 3 else k,
                None if k % 4 else str(k),
                list(range(k % 4)),
                None if k % 2 else [["a"], [], None],
                (k, None if k % 5 else "b"),
                {"a": k, "b": None},
                Decimal(k) / 100,
                datetime.datetime(2026, 1, 1, k % 24, tzinfo=zone),
                datetime.datetime(2026, 1, 1, k % 24),
                datetime.date(2026, 1, 1 + k % 28),
                bytes([k]),
                None,
                k / 3,
            )
            for k in range(57)
        ]
        df = spark.createDataFrame(rows, schema)
        self.check(df)
        # With partitions that have no rows, and names that are hard to write.
        filtered = df.repartitionByRange(5, "id").where("id % 20 > 11").withColumnRenamed("id", "a.b c`")
        self.check(filtered)

    def test_partitions_of_other_lengths_later(self, spark, tmp_path):
        from bijective_shuffle.spark import spark_shuffle

        for change in (-1, 1, -50):
            marker = str(tmp_path / f"counted{change}")

            def rows(part, _, marker=marker, change=change):
                import os

                n = 50 + (change if part == 1 and os.path.exists(marker) else 0)
                return ((100 * part + k,) for k in range(n))

            three = spark.sparkContext.parallelize(range(3), 3)
            df = spark.createDataFrame(three.mapPartitionsWithIndex(rows), "id long")
            shuffled = spark_shuffle(df, 1)
            open(marker, "w").close()
            with pytest.raises(Exception, match="PartitionsDifferError: partition 1 had 50 rows"):
                shuffled.collect()
