"""Global shuffles of data frames by Spark."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from pyspark.sql import functions as F
from pyspark.sql.types import LongType

from ._native import Permutation

__all__ = ["spark_shuffle"]

# Columns that are there only while rows are exchanged.
_PLACE, _KEY = "__bijective_shuffle_place__", "__bijective_shuffle_key__"
# `monotonically_increasing_id` has the partition above the number of a row in it.
_ROW_BITS = 33


def spark_shuffle(
    df: Any, seed: int | bytes, epoch: int = 0, *, partitions: int | None = None
) -> Any:
    """The data frame with its rows in the order of `Permutation.walk(n, seed, epoch)`, where `n` is
    the number of rows: row `k` of the result is row `p[k]`.

    Each row is given its place by the permutation, a function of the row's partition and number,
    and with it its partition. Spark exchanges the rows and sorts each partition. So the result does not depend on the number of executors. A task that is
    repeated gives its rows the same places, where a column of `rand()` may give them others and so
    duplicate some rows and lose others, as long as the partitions of `df` are the same each time
    they are computed.

    The rows of the partitions are counted at once, which computes them; `df.cache()` keeps them.
    The result has as many partitions, or `partitions`, of about one length.
    """
    counted = df.groupBy(F.spark_partition_id().alias("part")).count().collect()
    last = max((row["part"] for row in counted), default=-1)
    lengths = np.zeros(last + 1, dtype=np.int64)
    for row in counted:
        lengths[row["part"]] = row["count"]
    starts = np.concatenate([[0], np.cumsum(lengths)])
    n = int(starts[-1])
    if n == 0:
        return df
    order = Permutation.walk(n, seed, epoch)

    def places(batches: Iterator[pd.Series]) -> Iterator[pd.Series]:
        for ids in batches:
            numbers = ids.to_numpy()
            rows = numbers & (1 << _ROW_BITS) - 1
            yield pd.Series(order.position(starts[numbers >> _ROW_BITS] + rows))

    # Its type hints are those of this file, which are texts.
    places.__annotations__ = {"batches": Iterator[pd.Series], "return": Iterator[pd.Series]}
    place = F.pandas_udf(places, LongType())(F.monotonically_increasing_id())
    placed = df.withColumn(_PLACE, place)
    count = last + 1 if partitions is None else partitions
    if count < 1:
        raise ValueError("a data frame has at least one partition")
    # Not `repartitionByRange`, which computes all places once more to find the bounds of the
    # partitions, which are known here. Spark chooses a partition by the hash of a key only.
    keys = F.array(*[F.lit(key).cast("long") for key in _keys(df.sparkSession, count)])
    part = F.expr(f"cast(`{_PLACE}` * {count}L div {n}L + 1 as int)")
    keyed = placed.withColumn(_KEY, F.element_at(keys, part))
    exchanged = keyed.repartition(count, _KEY).sortWithinPartitions(_PLACE)
    return exchanged.drop(_PLACE, _KEY)


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
