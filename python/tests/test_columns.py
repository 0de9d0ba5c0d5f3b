"""Columns of frames: values for each row that have an index, names, and types of Arrow."""

import os

import bijective_shuffle as bs
import numpy as np
import pytest
from bijective_shuffle import frames

N = 1000
ORDER = bs.Permutation(N, 42, epoch=1).to_numpy()
COLUMNS = {
    "number": list(range(N)),
    "text": [None if k % 7 == 0 else f"row {k}" for k in range(N)],
    "id": [None if k == 9 else 2**53 + k // 2 for k in range(N)],
}


def calls_with(values):
    """What takes values for each row of a frame."""
    return {
        "weights": lambda frame: frames.sample(frame, 3, 1, weights=values),
        "labels": lambda frame: frames.split(frame, [1, 1], 1, labels=values),
        "groups": lambda frame: frames.split(frame, [1, 1], 1, groups=values),
        "ids": lambda frame: frames.split(frame, [1, 1], 1, ids=values),
    }


def same(ones, others):
    ones, others = (made if isinstance(made, list) else [made] for made in (ones, others))
    return len(ones) == len(others) and all(one.equals(other) for one, other in zip(ones, others))


@pytest.mark.parametrize("what", ["weights", "labels", "groups", "ids"])
def test_values_with_an_index_are_aligned_or_refused(what):
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    frame = pd.DataFrame({"v": [5, 0, 7, 7, 1, 2]}, index=list("abcdef"))
    expected = calls_with("v")[what](frame)
    other = frame["v"].iloc[[3, 0, 5, 4, 1, 2]]
    more = pd.concat([other, pd.Series([9, 9], index=["x", "y"])])
    for values in (frame["v"], other, more, other.to_frame(), frame["v"].to_numpy(), frame["v"].tolist(),
                   other.astype("Int64")):
        assert same(calls_with(values)[what](frame), expected)
    for values, told in ((other[:5], "lacks 1 of the frame's rows, such as 'c'"),
                         (frame["v"].reset_index(drop=True), "lacks 6"),
                         (pd.concat([other, other]), "some labels twice")):
        with pytest.raises(ValueError, match=told):
            calls_with(values)[what](frame)
    # Rows that come twice share their value.
    doubled = frame.iloc[[0, 1, 1, 2, 3, 4, 5]]
    assert same(calls_with(other)[what](doubled), calls_with("v")[what](doubled))
    levels = frame.set_index(pd.MultiIndex.from_product([[1, 2], ["x", "y", "z"]]))
    assert same(calls_with(levels["v"][::-1])[what](levels), calls_with("v")[what](levels))
    assert same(calls_with(levels["v"][::-1])[what](levels["v"]), calls_with(levels["v"].to_numpy())[what](levels["v"]))


@pytest.mark.parametrize("what", ["weights", "labels", "groups", "ids"])
def test_values_with_an_index_for_frames_without_one(what):
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    pl = pytest.importorskip("polars", reason="Polars is not installed")
    duckdb = pytest.importorskip("duckdb", reason="DuckDB is not installed")
    series = pd.Series([5, 0, 7, 7, 1, 2])
    table = pa.table({"v": series})
    for frame in (table, table.to_batches()[0], pl.from_arrow(table), duckdb.from_arrow(table)):
        calls_with(series)[what](frame)
        with pytest.raises(ValueError, match=rf"{what} are a Series .* {what}=values.to_numpy\(\)"):
            calls_with(series[::-1])[what](frame)


def test_arrays_of_xarray_are_aligned():
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    xr = pytest.importorskip("xarray", reason="xarray is not installed")
    frame = pd.DataFrame({"v": [5, 0, 7, 7, 1, 2]}, index=list("abcdef"))
    values = xr.DataArray([7, 5, 2, 1, 0, 7], dims="row", coords={"row": list("dafebc")})
    plain = xr.DataArray([5, 0, 7, 7, 1, 2], dims="row")
    for what in ("weights", "labels", "groups"):
        for given in (values, plain):
            assert same(calls_with(given)[what](frame), calls_with("v")[what](frame))
        with pytest.raises(ValueError, match="lacks 1"):
            calls_with(values[1:])[what](frame)


def test_values_are_those_of_the_column_in_any_library():
    """Also where some are missing: integers beside them are not rounded."""
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    pl = pytest.importorskip("polars", reason="Polars is not installed")
    table = pa.table({"id": COLUMNS["id"], "number": COLUMNS["number"]})
    expected = [part.to_pylist() for part in frames.split(table, [4, 1], 3, groups="id")]
    for values in (table["id"], pl.Series(COLUMNS["id"]), pd.Series(COLUMNS["id"], dtype="Int64"),
                   table["id"].combine_chunks()):
        assert [part.to_pylist() for part in frames.split(table, [4, 1], 3, groups=values)] == expected
    for values in (table["number"], table["number"].cast(pa.string()), pl.Series(COLUMNS["number"])):
        ids = frames.split(table, [4, 1], 3, ids=values)
        assert [part.to_pylist() for part in ids] == [
            part.to_pylist() for part in frames.split(table, [4, 1], 3, ids="number")]


def test_splits_without_empty_frames():
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    frame = pd.DataFrame({"g": [1, 1, 2, 3, 3, 4]})
    for seed in range(200):
        train, test = frames.split(frame, [0.8, 0.2], seed, groups="g")
        assert len(test) > 0 and test["g"].nunique() == 1 and len(train) + len(test) == 6
    with pytest.raises(ValueError, match="1 groups cannot be shared out to 2 parts"):
        frames.split(frame[:2], [0.8, 0.2], 1, groups="g")
    with pytest.raises(ValueError, match="0 items cannot"):
        frames.split(frame[:0], [0.8, 0.2], 1)


def test_columns_of_duckdb_with_any_name():
    duckdb = pytest.importorskip("duckdb", reason="DuckDB is not installed")
    made = [f"{name}_56b1f0ce0d9c4d4f" for name in ("held", "places", "moved", "place")]
    names = ["place", "PLACE2", "places", "rowid", "select", 'a "b" c', "Ä", *made[:3], made[3].upper(), f"{made[3]}_"]
    chosen = ", ".join(f"k + {k} AS " + '"' + name.replace('"', '""') + '"' for k, name in enumerate(names))
    connection = duckdb.connect()
    relation = connection.sql(f"SELECT {chosen}, {{'place': k}} AS moved FROM range(20) AS numbers(k)")
    shuffled = frames.shuffled(relation, 1)
    assert shuffled.columns == [*names, "moved"] and shuffled.types == relation.types
    rows = relation.fetchall()
    assert shuffled.fetchall() == [rows[k] for k in bs.Permutation(20, 1)]
    ten = frames.sample(relation, 10, 1, weights="place")
    assert len(ten.fetchall()) == 10
    # Again, of what was shuffled.
    assert sorted(frames.shuffled(shuffled, 2).fetchall()) == rows


def arrow_columns(pa, pc, n):
    """Columns of all types that Arrow makes from Python, and some nested ones."""
    texts = [None if k % 7 == 0 else f"row {k} " * (k % 4) for k in range(n)]
    runs = [None if k // 30 % 7 == 0 else k // 30 for k in range(n)]
    views = pa.array(texts, pa.string_view())
    ends = pc.run_end_encode(pa.array(runs))
    return {
        "string": pa.array(texts), "large": pa.array(texts, pa.large_string()), "view": views,
        "binary view": pa.array([None if text is None else text.encode() for text in texts], pa.binary_view()),
        "list view": pa.array([[k] * (k % 3) for k in range(n)], pa.list_view(pa.int64())),
        "large list view": pa.array([texts[: k % 3] for k in range(n)], pa.large_list_view(pa.string_view())),
        "runs": ends, "runs of 16 bits": pc.run_end_encode(pa.array(texts), run_end_type=pa.int16()),
        "runs of views": pa.RunEndEncodedArray.from_arrays(ends.run_ends, views[: len(ends.run_ends)]),
        "sliced": pc.run_end_encode(pa.array([0, 0, 0, *runs]))[3:],
        "struct": pa.array([{"a": text} for text in texts], pa.struct({"a": pa.string_view()})),
        "list": pa.array([texts[: k % 3] for k in range(n)], pa.list_(pa.string_view())),
        "fixed": pa.array([[text] * 2 for text in texts], pa.list_(pa.string_view(), 2)),
        "map": pa.array([[(str(k), text)] for k, text in enumerate(texts)], pa.map_(pa.string(), pa.string_view())),
        "codes": pa.DictionaryArray.from_arrays(pa.array(np.arange(n) % 2), pa.array(["a", "b"], pa.string_view())),
        "null": pa.nulls(n), "uuid": pa.array([bytes(16)] * n, pa.uuid()), "decimal": pa.array(range(n), pa.decimal32(5)),
        "union": pa.UnionArray.from_dense(pa.array(np.arange(n) % 2, pa.int8()), pa.array(np.arange(n) // 2, pa.int32()),
                                          [pa.array(range(n)), pa.array(texts)]),
    }


def test_all_types_of_arrow():
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    pc = pytest.importorskip("pyarrow.compute")
    if not hasattr(pa, "list_view"):
        pytest.skip("pyarrow has no list views")
    n = 300
    columns = arrow_columns(pa, pc, n)
    whole = pa.table(columns)
    chunks = pa.concat_tables([whole[:100], whole[100:101], whole[101:]])
    order = bs.Permutation(n, 42, 1).to_numpy().tolist()
    for name, column in columns.items():
        values = column.to_pylist()
        for frame in (whole.select([name]), chunks.select([name]), whole.select([name]).to_batches()[0]):
            shuffled = frames.shuffled(frame, 42, 1)
            assert type(shuffled) is type(frame) and shuffled.schema == frame.schema
            shuffled.validate(full=True)
            assert shuffled[name].to_pylist() == [values[k] for k in order], name
            assert frames.sample(frame, 0, 1).schema == frame.schema
            assert frames.shuffled(frame[:0] if isinstance(frame, pa.Table) else frame.slice(0, 0), 1).num_rows == 0
    for name in ("view", "runs", "sliced", "runs of views", "codes", "large"):
        one, two = (frames.split(frame, [1, 1], 3, labels=name) for frame in (
            whole, pa.table({name: pa.array(columns[name].to_pylist())})))
        assert [part[name].to_pylist() for part in one] == [part[name].to_pylist() for part in two], name


@pytest.mark.parametrize("least", [1, 2**20])
def test_types_of_arrow_in_pandas(monkeypatch, least):
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    if not hasattr(pd, "ArrowDtype") or not hasattr(pa, "string_view"):
        pytest.skip("pandas or pyarrow has no such types")
    monkeypatch.setattr(frames, "_LEAST", least)
    view = pd.Series(COLUMNS["text"], dtype=pd.ArrowDtype(pa.string_view()), name="view")
    frame = pd.DataFrame({"number": COLUMNS["number"], "view": view, "text": COLUMNS["text"]})
    frame.index = [f"i{k}" for k in range(N)]
    frame.attrs["made"] = "here"
    shuffled = frames.shuffled(frame, 42, 1)
    assert shuffled.dtypes.tolist() == frame.dtypes.tolist() and shuffled.attrs == frame.attrs
    pd.testing.assert_frame_equal(shuffled.drop(columns="view"), frame.drop(columns="view").iloc[ORDER])
    series = frames.shuffled(view, 42, 1)
    assert series.name == "view" and series.dtype == view.dtype and series.index.tolist() == ORDER.tolist()
    for moved in (series, shuffled["view"]):
        assert moved.array.__arrow_array__().to_pylist() == [COLUMNS["text"][k] for k in ORDER]
    for one, other in zip(*(frames.split(frame, [1, 1], 1, groups=name) for name in ("view", "text"))):
        assert one["number"].tolist() == other["number"].tolist()


def test_run_ends_of_polars():
    pl = pytest.importorskip("polars", reason="Polars is not installed")
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    frame = pl.DataFrame({"text": COLUMNS["text"], "number": COLUMNS["number"]})
    table = frame.to_arrow(compat_level=pl.CompatLevel.newest())
    assert str(table.schema.field("text").type) == "string_view"
    shuffled = frames.shuffled(table, 42, 1)
    assert shuffled.schema == table.schema
    assert shuffled.to_pylist() == frame[ORDER].to_dicts()


def test_columns_of_texts_above_two_gigabytes(monkeypatch):
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    from bijective_shuffle import _arrow

    # The chunks are one, so they take no more than it.
    rows = [f"{k:03}".ljust(2**20) for k in range(64)]
    for chunk, column in ((pa.array(rows), lambda found: found), (pa.array([[row] for row in rows]),
                          lambda found: [row for (row,) in found])):
        table = pa.table({"text": pa.chunked_array([chunk] * 40), "row": np.arange(64 * 40)})
        found = frames.sample(table, 7, 5)
        assert found.schema == table.schema
        assert column(found["text"].to_pylist()) == [rows[k % 64] for k in found["row"].to_pylist()]
        assert found["row"].to_pylist() == bs.Permutation(64 * 40, 5).head(7).to_numpy().tolist()
    # The result is in several chunks where it does not fit one, for which the limit is lower here.
    joined = _arrow._joined

    def limited(arrays):
        if sum(len(array) for array in arrays) > 100:
            raise pa.ArrowInvalid("offset overflow")
        return joined(arrays)

    monkeypatch.setattr(_arrow, "_joined", limited)
    column = pa.chunked_array([[f"row {k}" for k in range(start, start + 300)] for start in range(0, N, 300)])[:N]
    taken = _arrow.taken_of_chunks(column.chunks, column.type, ORDER)
    assert taken.to_pylist() == [f"row {k}" for k in ORDER] and 10 <= taken.num_chunks < 20


@pytest.mark.skipif(os.environ.get("BIJECTIVE_SHUFFLE_LONG") != "1", reason="it takes 6 GB of memory")
def test_all_of_a_column_of_texts_above_two_gigabytes():
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    chunk = pa.array([f"{k:03}".ljust(2**20) for k in range(64)])
    table = pa.table({"text": pa.chunked_array([chunk] * 36)})
    shuffled = frames.shuffled(table, 42)["text"]
    assert shuffled.type == pa.string() and shuffled.num_chunks > 1
    for row, k in zip(shuffled, bs.Permutation(64 * 36, 42)):
        assert row.as_py()[:3] == f"{k % 64:03}"
