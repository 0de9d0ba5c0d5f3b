"""Frames of pandas, Polars, pyarrow and DuckDB: each row once, in the order of the permutation, with its
index and types."""

import datetime
import decimal
import importlib.util
import sys
import types

import bijective_shuffle as bs
import numpy as np
import pytest
from bijective_shuffle import frames

N = 1000
ORDER = bs.Permutation(N, 42, epoch=1).to_numpy()
DAYS = [datetime.date(2000, 1, 1) + datetime.timedelta(days=k) for k in range(N)]
COLUMNS = {
    "number": list(range(N)),
    "text": [None if k % 7 == 0 else f"row {k}" for k in range(N)],
    "float": [k / 3 for k in range(N)],
    "day": DAYS,
    "list": [[k] * (k % 3) for k in range(N)],
    "exact": [decimal.Decimal(k) / 4 for k in range(N)],
    "weight": [k % 5 for k in range(N)],
    "label": [f"{k % 3}" for k in range(N)],
    "id": [None if k == 9 else 2**53 + k // 2 for k in range(N)],
}


@pytest.fixture(autouse=True, params=["as few rows", "as many rows"])
def as_many(request, monkeypatch):
    """Each test goes both ways."""
    monkeypatch.setattr(frames, "_LEAST", {"as few rows": 2**20, "as many rows": 1}[request.param])


def check(make, numbers, schema):
    """`make` makes a frame, `numbers` gives its column of that name, and `schema` its types."""
    frame = make()
    shuffled = frames.shuffled(frame, 42, epoch=1)
    assert type(shuffled) is type(frame) and schema(shuffled) == schema(frame)
    assert numbers(shuffled) == ORDER.tolist()
    parts = frames.split(frame, {"train": 0.8, "test": 0.2}, 42, labels="label")
    assert list(parts) == ["train", "test"]
    expected = bs.Splits([0.8, 0.2], 42).indexes(labels=COLUMNS["label"])
    assert [numbers(part) for part in parts.values()] == [rows.tolist() for rows in expected]
    ten = frames.sample(frame, 10, 42)
    assert numbers(ten) == bs.Permutation(N, 42).head(10).to_numpy().tolist() and schema(ten) == schema(frame)
    weighted = frames.sample(frame, 10, 42, weights="weight")
    assert numbers(weighted) == bs.weighted_sample(COLUMNS["weight"], 10, 42).tolist()
    with pytest.raises(ValueError, match="draw fewer"):
        frames.sample(frame, N + 1, 42)
    with pytest.raises(ValueError, match=f"{N} rows have 3 weights"):
        frames.sample(frame, 2, 42, weights=[1, 2, 3])
    # A number that is missing makes no others equal: these ids differ by one above 2^53.
    expected = bs.Splits([0.8, 0.2], 42).indexes(groups=np.array(COLUMNS["id"], object))
    parts = frames.split(frame, [0.8, 0.2], 42, groups="id")
    assert [numbers(part) for part in parts] == [rows.tolist() for rows in expected]
    assert frames.shuffled(frames.shuffled(frame, 42, 1), 7).shape == frame.shape


def test_pandas():
    pd = pytest.importorskip("pandas", reason="pandas is not installed")

    def make():
        frame = pd.DataFrame(COLUMNS, index=[f"i{k}" for k in range(N)])
        frame["id"] = pd.array(COLUMNS["id"], dtype="Int64")
        frame["category"] = pd.Categorical(COLUMNS["label"])
        frame["small"] = np.arange(N, dtype=np.int8)
        frame["maybe"] = pd.array([None if k % 3 else k for k in range(N)], dtype="Int32")
        frame["zoned"] = pd.date_range("2000", periods=N, tz="Europe/Oslo")
        frame["moment"] = pd.date_range("2000", periods=N)
        frame["truth"] = np.arange(N) % 3 == 0
        frame["complex"] = np.arange(N) * 1j
        return frame

    check(make, lambda frame: frame["number"].tolist(), lambda frame: frame.dtypes.tolist())
    frame = make()
    frame.attrs["made"] = "here"
    pd.testing.assert_frame_equal(frames.shuffled(frame, 42, 1), frame.iloc[ORDER])
    assert frames.shuffled(frame, 42, 1).attrs == {"made": "here"}
    before = frame.copy()
    frames.shuffled(frame, 42)
    pd.testing.assert_frame_equal(frame, before)
    levels = pd.DataFrame(np.arange(2 * N).reshape(N, 2), columns=[["a", "a"], ["x", "y"]],
                          index=pd.MultiIndex.from_product([range(N // 2), ["u", "v"]], names=["k", "l"]))
    pd.testing.assert_frame_equal(frames.shuffled(levels, 42, 1), levels.iloc[ORDER])

    class Own(pd.DataFrame):
        @property
        def _constructor(self):
            return Own

    own = frames.shuffled(Own(levels), 42, 1)
    assert type(own) is Own and own.equals(levels.iloc[ORDER])
    pd.testing.assert_series_equal(frames.shuffled(frame["text"], 42, 1), frame["text"].iloc[ORDER])
    doubled = pd.concat([frame[["number"]]] * 2, axis=1)
    pd.testing.assert_frame_equal(frames.shuffled(doubled, 42, 1), doubled.iloc[ORDER])
    assert frames.shuffled(frame[:0], 42).shape == (0, frame.shape[1])
    assert frames.shuffled(frame[[]], 42).shape == (N, 0)


def test_many_columns_of_pandas():
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    n = 50_000
    kinds = ["i1", "u2", "i4", "i8", "f2", "f4", "f8", "c8", "c16", "?", "M8[s]", "m8[ns]"]
    frame = pd.DataFrame({kind: (np.arange(n) % 100).astype(kind) for kind in kinds})
    frame["text"] = pd.Series([f"row {k}" for k in range(n)], dtype=object)
    frame["str"] = frame["text"].astype("str")
    frame["category"] = pd.Categorical(np.arange(n) % 3)
    frame["zoned"] = pd.date_range("2000", periods=n, freq="s", tz="Europe/Oslo")
    frame.insert(3, "maybe", pd.array([None, 1] * (n // 2), dtype="Int64"))
    frame.attrs["made"] = "here"
    rows = bs.Permutation(n, 42, 1).to_numpy()
    # One block, whose columns have gaps, or have none; and an index with names that come twice.
    matrix = pd.DataFrame(np.arange(3 * n).reshape(n, 3), columns=["a", "a", "b"],
                          index=pd.Index(np.arange(n) // 2, name="half"))
    for given in (frame, frame[["i8"]], frame[["text", "i8"]], frame[["str"]], matrix, matrix.T.copy().T,
                  frame.set_index("i4"), frame.set_index(["text", "i8"]), frame[::2].iloc[::-1]):
        before, order = given.copy(), bs.Permutation(len(given), 42, 1).to_numpy()
        shuffled = frames.shuffled(given, 42, 1)
        pd.testing.assert_frame_equal(shuffled, given.iloc[order], check_flags=True)
        assert type(shuffled.index) is type(given.iloc[order].index) and shuffled.attrs == given.attrs
        # What is written to it changes nothing else.
        shuffled.iloc[:, 0] = shuffled.iloc[::-1, 0].to_numpy()
        shuffled.iloc[:, -1] = shuffled.iloc[::-1, -1].to_numpy()
        pd.testing.assert_frame_equal(given, before)
    assert frames.shuffled(frame, 42, 1)["i8"].tolist() == (rows % 100).tolist()
    flagged = matrix[["b"]].set_flags(allows_duplicate_labels=True)
    assert frames.shuffled(flagged, 1).flags == flagged.flags


def test_polars():
    pl = pytest.importorskip("polars", reason="Polars is not installed")

    def make():
        return pl.DataFrame(COLUMNS).with_columns(category=pl.col("label").cast(pl.Categorical))

    check(make, lambda frame: frame["number"].to_list(), lambda frame: frame.schema)
    frame = make()
    assert frames.shuffled(frame, 42, 1).equals(frame[ORDER])
    assert frames.shuffled(frame["list"], 42, 1).to_list() == [COLUMNS["list"][k] for k in ORDER]
    assert frames.shuffled(frame[:0], 42).shape == (0, frame.width)
    # Rows without columns.
    assert frames.sample(pl.DataFrame(height=5), 3, 42).shape == (3, 0)
    assert frames.shuffled(pl.DataFrame(height=5), 42).shape == (5, 0)
    # Columns that are moved in place have types, names and chunks of all kinds. The frame stays.
    kinds = [pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.UInt8, pl.UInt16, pl.UInt32, pl.UInt64, pl.Int128,
             pl.Float32, pl.Float64, pl.Boolean, pl.Duration, pl.Decimal(10, 2)]
    numbers = pl.DataFrame({"k": range(N)}, schema={"k": pl.Int64})
    numbers = numbers.select([(pl.col("k") % 100).cast(kind).alias(f"{kind}") for kind in kinds], none=None,
                             nan=pl.when(pl.col("k") % 3 == 0).then(float("nan")).otherwise(pl.col("k")))
    numbers = pl.concat([numbers[:300], numbers[300:]], rechunk=False)
    for some in (numbers, numbers[:1], numbers.select("Int8"), numbers.select("Int8", "Float64"), numbers[1:40]):
        before, rows = some.clone(), bs.Permutation(len(some), 42, 1).to_numpy()
        shuffled = frames.shuffled(some, 42, 1)
        assert shuffled.equals(some[rows]) and shuffled.schema == some.schema and some.equals(before)
    start = datetime.datetime(2000, 1, 1)
    times = pl.DataFrame({"moment": [start + datetime.timedelta(hours=k) for k in range(N)]}).with_columns(
        zoned=pl.col("moment").dt.replace_time_zone("Europe/Oslo", ambiguous="earliest", non_existent="null"),
        fine=pl.col("moment").dt.cast_time_unit("ns"), day=pl.col("moment").dt.date(),
        time=pl.col("moment").dt.time(), span=pl.col("moment") - start)
    shuffled = frames.shuffled(times, 42, 1)
    assert shuffled.equals(times[ORDER]) and shuffled.schema == times.schema
    moved = frames.shuffled(numbers["Int16"], 42, 1)
    assert moved.name == "Int16" and moved.equals(numbers["Int16"][ORDER])
    with pytest.raises(TypeError, match="collect it first"):
        frames.shuffled(frame.lazy(), 42)


def test_pyarrow():
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")

    def make():
        table = pa.table(COLUMNS)
        table = table.append_column("codes", table["text"].dictionary_encode())
        # Several chunks.
        return pa.concat_tables([table[:300], table[300:301], table[301:]])

    check(make, lambda table: table["number"].to_pylist(), lambda table: table.schema)
    table = make()
    rows = table.to_pylist()
    assert frames.shuffled(table, 42, 1).to_pylist() == [rows[k] for k in ORDER]
    check(lambda: make().combine_chunks().to_batches()[0],
          lambda batch: batch["number"].to_pylist(), lambda batch: batch.schema)
    # Rows without columns.
    assert frames.shuffled(table.select([]), 42).shape == (N, 0)
    assert frames.sample(table.select([]), 3, 42).shape == (3, 0)


def test_duckdb():
    duckdb = pytest.importorskip("duckdb", reason="DuckDB is not installed")
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    connection = duckdb.connect()
    rows = pa.table(COLUMNS)
    connection.execute("CREATE TABLE kept AS SELECT * FROM rows")
    check(lambda: connection.table("kept"),
          lambda relation: [row[0] for row in relation.project("number").fetchall()],
          lambda relation: (relation.columns, [str(kind) for kind in relation.types]))
    shuffled = frames.shuffled(connection.table("kept"), 42, 1)
    # A relation of the same connection, for further queries.
    assert shuffled.filter("number < 10").count("*").fetchall() == [(10,)]
    assert shuffled.project("number, text").fetchall() == [(k, COLUMNS["text"][k]) for k in ORDER.tolist()]


def test_types_of_duckdb_are_kept():
    duckdb = pytest.importorskip("duckdb", reason="DuckDB is not installed")
    connection = duckdb.connect()
    relation = connection.sql("""
        SELECT CAST(k AS INTEGER) AS k,
            340282366920938463463374607431768211455::UHUGEINT - k::UHUGEINT AS most,
            170141183460469231731687303715884105727::HUGEINT - k::HUGEINT AS huge,
            (k % 2)::VARCHAR::BIT AS bits,
            '12:30:45+05:30'::TIMETZ AS zoned,
            (CASE k % 2 WHEN 0 THEN 'even' ELSE 'odd' END)::ENUM('odd', 'even') AS kind,
            ('00000000-0000-0000-0000-00000000000' || k)::UUID AS id,
            ('{"k": ' || k || '}')::JSON AS text,
            123456789012345678901234567890::BIGNUM AS large,
            {'a': k::UHUGEINT, 'b': [('01' || k % 2)::BIT]} AS nested,
            union_value(number := k) AS either
        FROM range(10) AS numbers(k)""")
    rows = relation.fetchall()
    shuffled = frames.shuffled(relation, 1)
    assert shuffled.types == relation.types and shuffled.columns == relation.columns
    assert shuffled.fetchall() == [rows[k] for k in bs.Permutation(10, 1)]
    # Neighbours of 128 bits are different groups, and are numbers as weights.
    expected = bs.Splits([1, 1], 3).indexes(groups=range(10))
    parts = frames.split(relation, [1, 1], 3, groups="most")
    assert [[row[0] for row in part.fetchall()] for part in parts] == [part.tolist() for part in expected]
    weighted = frames.sample(connection.sql("SELECT k, k::HUGEINT AS w FROM range(10) AS numbers(k)"), 5, 1, weights="w")
    assert [row[0] for row in weighted.fetchall()] == bs.weighted_sample(range(10), 5, 1).tolist()


def test_a_relation_of_duckdb_is_run_once():
    duckdb = pytest.importorskip("duckdb", reason="DuckDB is not installed")
    connection = duckdb.connect()
    # Tables with the names of variables here and in the module.
    for name in ("taken", "frame", "rows", "held", "places", "unused"):
        connection.execute(f"CREATE TABLE {name} AS SELECT 'mine' AS who")
    connection.execute("CREATE TABLE numbers AS SELECT * FROM range(1000) AS numbers(k)")
    names = connection.sql("SHOW TABLES").fetchall()
    relation = connection.table("numbers")
    shuffled = frames.shuffled(relation, 1)
    connection.execute("INSERT INTO numbers VALUES (1000)")
    connection.execute("DELETE FROM numbers WHERE k < 500")
    assert [row[0] for row in shuffled.fetchall()] == bs.Permutation(1000, 1).to_numpy().tolist()
    # Other numbers each time that it runs.
    parts = frames.split(connection.sql("SELECT random() AS r FROM range(1000)"), [1, 1], 1)
    twice = [part.fetchall() for part in parts], [part.fetchall() for part in parts]
    assert twice[0] == twice[1] and len(set(twice[0][0] + twice[0][1])) == 1000
    # Of many rows in several threads, each is there once.
    many = frames.shuffled(connection.sql("SELECT * FROM range(500000) AS numbers(k)"), 1)
    assert np.array_equal(many.fetchnumpy()["k"], bs.Permutation(500_000, 1).to_numpy())
    empty = frames.shuffled(connection.sql("SELECT * FROM range(0) AS numbers(k)"), 1)
    assert empty.fetchall() == [] and empty.columns == ["k"]
    assert connection.sql("SHOW TABLES").fetchall() == names


@pytest.mark.parametrize("setting", ["python_enable_replacements", "enable_external_access"])
def test_a_connection_of_duckdb_that_reads_no_arrays(setting):
    duckdb = pytest.importorskip("duckdb", reason="DuckDB is not installed")
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    connection = duckdb.connect()
    connection.execute(f"SET {setting} = false")
    relation = connection.sql("SELECT * FROM range(10) AS numbers(k)")
    with pytest.raises(RuntimeError, match=setting):
        frames.shuffled(relation, 1)
    shuffled = frames.shuffled(relation.to_arrow_table(), 1)
    assert shuffled["k"].to_pylist() == bs.Permutation(10, 1).to_numpy().tolist()


def test_frames_are_no_arrays():
    pandas = pytest.importorskip("pandas")
    for shuffle in (bs.shuffle, bs.shuffled):
        with pytest.raises(TypeError, match="frames.shuffled"):
            shuffle(pandas.DataFrame(COLUMNS), 1)


def test_other_frames_are_refused():
    for other in ([1, 2], np.arange(3), {"a": [1]}):
        with pytest.raises(TypeError, match="pandas, Polars, pyarrow or DuckDB"):
            frames.shuffled(other, 42)


def test_frames_of_cudf(monkeypatch):
    """By a stand-in that has no more than what is used: where there is a GPU, cuDF has it."""
    pyarrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")

    class Series:
        def __init__(self, values):
            self._values, self.shape = values, getattr(values, "shape", (len(values),))

        def take(self, rows):
            return type(self)(self._values.take(rows))

        def to_arrow(self):
            return self._values

    class DataFrame(Series):
        @property
        def columns(self):
            return self._values.column_names

        def __getitem__(self, column):
            return Series(self._values[column])

    monkeypatch.setitem(sys.modules, "cudf", types.SimpleNamespace(DataFrame=DataFrame, Series=Series))
    check(
        lambda: DataFrame(pyarrow.table(COLUMNS)),
        lambda frame: frame.to_arrow()["number"].to_pylist(),
        lambda frame: frame.to_arrow().schema,
    )
    series = frames.shuffled(Series(pyarrow.array(range(N))), 42, 1)
    assert series.to_arrow().to_pylist() == ORDER.tolist()


def test_columns_have_names_of_any_kind():
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    day, flat = pd.Timestamp("2020"), pd.Index([("p", "q"), "r"], tupleize_cols=False)
    levels = pd.MultiIndex.from_tuples([("p", "q"), ("p", 3), ("s", "t")])
    values = [[k % 5, k] for k in range(100)]
    for names, name in [([0, 1], 0), ([0, 1], np.int64(0)), ([1.5, 2], 1.5), ([day, 1], day), (flat, ("p", "q")),
                        (levels[:2], ("p", "q")), (levels[1:], ("p", 3)), (levels[1:], "p")]:
        frame = pd.DataFrame(values, columns=names)
        for of in ("labels", "groups", "ids"):
            # Also where a tuple has as many items as the frame has rows.
            for rows in (frame, frame.iloc[:2]) if of != "ids" else (frame,):
                parts = frames.split(rows, [1, 1], 3, **{of: name})
                expected = frames.split(rows, [1, 1], 3, **{of: rows.iloc[:, 0].tolist()})
                assert all(part.equals(other) for part, other in zip(parts, expected, strict=True))
        assert frames.sample(frame, 9, 3, weights=name).equals(frames.sample(frame, 9, 3, weights=frame.iloc[:, 0].tolist()))
    frame = pd.DataFrame(values, columns=["a", "b"])
    tuples = frames.split(frame, [1, 1], 3, labels=tuple(frame["a"]))
    assert all(a.equals(b) for a, b in zip(tuples, frames.split(frame, [1, 1], 3, labels="a"), strict=True))


def test_values_that_come_one_by_one_are_refused_as_such():
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    made = [pd.DataFrame({"a": [1, 2]})]
    for library, make in (("polars", "DataFrame"), ("pyarrow", "table")):
        if importlib.util.find_spec(library):
            made.append(getattr(importlib.import_module(library), make)({"a": [1, 2]}))
    for frame in made:
        for values, kind in ((lambda: (k for k in (1, 2)), "generator"), (lambda: map(int, (1, 2)), "map")):
            with pytest.raises(TypeError, match=f"labels is a {kind}, which has no length: give a list"):
                frames.split(frame, [1, 1], 3, labels=values())
            with pytest.raises(TypeError, match=f"weights is a {kind}, which has no length: give a list"):
                frames.sample(frame, 1, 3, weights=values())


def test_names_of_no_column_or_of_several_are_refused():
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    made = [pd.DataFrame({0: [1, 2]}), pd.DataFrame([[1, 2]] * 2, columns=["a", "a"]), pd.Series([1, 2], name="a"),
            pd.DataFrame([[1, 2]] * 2, columns=pd.MultiIndex.from_tuples([("a", "x"), ("a", "y")]))]
    if "polars" in sys.modules:
        made += [sys.modules["polars"].DataFrame({"b": [1, 2]}), sys.modules["polars"].Series([1, 2])]
    if "pyarrow" in sys.modules:
        made += [sys.modules["pyarrow"].table({"b": [1, 2]})]
    for frame in made:
        for name in ("a", 7, 1.5) if not isinstance(getattr(frame, "columns", None), pd.MultiIndex) else ("a", ("a", "z")):
            with pytest.raises(KeyError, match="is the name of (no|2) columns: give the name of one"):
                frames.split(frame, [1, 1], 3, labels=name)
            with pytest.raises(KeyError, match="is the name of (no|2) columns: give the name of one"):
                frames.sample(frame, 1, 3, weights=name)
