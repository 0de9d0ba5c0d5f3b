"""Global shuffles of data frames by Spark, whose functions in Python need pandas and pyarrow."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeVar

import numpy as np
import pandas as pd
import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import functions as F
from pyspark.sql.types import LongType

from ._native import Permutation
from ._parts import PartitionsDifferError, unused

__all__ = ["PartitionsDifferError", "spark_shuffle"]

Frame = TypeVar("Frame")

# Columns that are there only while rows are exchanged, if no others have such names.
_PLACE, _KEY = "__bijective_shuffle_place__", "__bijective_shuffle_key__"
# `monotonically_increasing_id` has the partition above the number of a row in it.
_ROW_BITS = 33


def spark_shuffle(
    df: Frame, seed: int | bytes, epoch: int = 0, *, partitions: int | None = None
) -> Frame:
    """The data frame with its rows in the order of `Permutation.walk(n, seed, epoch)`, where `n` is
    the number of rows: row `k` of the result is row `p[k]`.

    Each row is given its place by the permutation, a function of the row's partition and number,
    and with it its partition. Spark exchanges the rows and sorts each partition. So the result does
    not depend on the number of executors. A task that is repeated gives its rows the same places,
    where a column of `rand()` may give them others and so duplicate some rows and lose others, as
    long as the partitions of `df` are the same each time they are computed. Where a partition has
    another number of rows than when it was counted, Spark's error names `PartitionsDifferError`.

    The rows of the partitions are counted at once, which computes them with all their columns, and
    so does the shuffle: `df.cache()` keeps them, and `select` belongs in front of it. The result has
    as many partitions, or `partitions`, of about one length.
    """
    # By the tasks' own account: a column of partitions' numbers is computed by Spark's optimizer
    # where it can, as if there were one partition. And the rows in all their columns, here and
    # below: Spark joins small partitions of an exchange by the size of the columns it needs.
    never = F.get(F.array(F.struct("*")), F.rand().cast("int")).isNull()
    frame: Any = df
    rows = frame.select(never.alias("never"))
    tasks = rows.mapInArrow(_count, "part int, count long").repartition(1).collect()
    counted = {task["part"]: task["count"] for task in tasks}
    last = max(counted, default=-1)
    lengths = np.array([counted.get(part, 0) for part in range(last + 1)], dtype=np.int64)
    starts = np.concatenate([[0], np.cumsum(lengths)])
    n = int(starts[-1])
    if n == 0:
        return df
    order = Permutation.walk(n, seed, epoch)

    def places(batches: Iterator[pd.Series]) -> Iterator[pd.Series]:
        part = TaskContext.get().partitionId()
        length = int(lengths[part]) if part < len(lengths) else 0
        count = 0
        for ids in batches:
            rows = ids.to_numpy() & (1 << _ROW_BITS) - 1
            count += len(rows)
            if count > length:
                break
            yield pd.Series(order.position(starts[part] + rows))
        if count != length:
            raise PartitionsDifferError(
                f"partition {part} had {length} rows when it was counted and has "
                f"{'more' if count > length else count} now: a shuffle needs the same partitions "
                "each time, such as those of df.cache()"
            )

    # Its type hints are those of this file, which are texts.
    places.__annotations__ = {"batches": Iterator[pd.Series], "return": Iterator[pd.Series]}
    number = F.when(~never, F.monotonically_increasing_id())
    place, key = unused(_PLACE, frame.columns), unused(_KEY, frame.columns)
    placed = frame.withColumn(place, F.pandas_udf(places, LongType())(number))
    count = last + 1 if partitions is None else partitions
    if count < 1:
        raise ValueError("a data frame has at least one partition")
    # Not `repartitionByRange`, which computes all places once more to find the bounds of the
    # partitions, which are known here. Spark chooses a partition by the hash of a key only.
    keys = F.array(*[F.lit(sent).cast("long") for sent in _keys(frame.sparkSession, count)])
    part = F.expr(f"cast(`{place}` * {count}L div {n}L + 1 as int)")
    keyed = placed.withColumn(key, F.element_at(keys, part))
    exchanged = keyed.repartition(count, key).sortWithinPartitions(place)
    result: Frame = exchanged.drop(place, key)
    return result


def _count(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The number of the task's partition, and of its rows."""
    count = sum(batch.num_rows for batch in batches)
    part = pa.array([TaskContext.get().partitionId()], pa.int32())
    yield pa.RecordBatch.from_arrays([part, pa.array([count])], ["part", "count"])


def _keys(session: Any, count: int) -> list[int]:
    """For each of `count` partitions an integer that `repartition` sends there."""
    found: dict[int, int] = {}
    start, size = 0, 16 * count + 64
    while len(found) < count:
        numbers = session.range(start, start + size)
        # As `repartition` computes it.
        parts = numbers.select("id", F.pmod(F.hash("id"), F.lit(count)).alias("part"))
        for row in parts.collect():
            found.setdefault(row["part"], row["id"])
        start += size
    return [found[part] for part in range(count)]
