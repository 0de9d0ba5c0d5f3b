"""Frames of pandas, Polars, pyarrow and DuckDB: each row once, in the order of the permutation, with its
index and types."""

import datetime
import decimal

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
}


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
    assert numbers(ten) == bs.choice(N, 10, 42).tolist() and schema(ten) == schema(frame)
    weighted = frames.sample(frame, 10, 42, weights="weight")
    assert numbers(weighted) == bs.weighted_sample(COLUMNS["weight"], 10, 42).tolist()
    with pytest.raises(ValueError, match="draw fewer"):
        frames.sample(frame, N + 1, 42)


def test_pandas():
    pd = pytest.importorskip("pandas", reason="pandas is not installed")

    def make():
        frame = pd.DataFrame(COLUMNS, index=[f"i{k}" for k in range(N)])
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


def test_polars():
    pl = pytest.importorskip("polars", reason="Polars is not installed")

    def make():
        return pl.DataFrame(COLUMNS).with_columns(category=pl.col("label").cast(pl.Categorical))

    check(make, lambda frame: frame["number"].to_list(), lambda frame: frame.schema)
    frame = make()
    assert frames.shuffled(frame, 42, 1).equals(frame[ORDER])
    assert frames.shuffled(frame["list"], 42, 1).to_list() == [COLUMNS["list"][k] for k in ORDER]
    assert frames.shuffled(frame[:0], 42).shape == (0, frame.width)
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
    batch = make().combine_chunks().to_batches()[0]
    assert frames.shuffled(batch, 42, 1)["number"].to_pylist() == ORDER.tolist()


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


def test_other_frames_are_refused():
    for other in ([1, 2], np.arange(3), {"a": [1]}):
        with pytest.raises(TypeError, match="pandas, Polars, pyarrow or DuckDB"):
            frames.shuffled(other, 42)
