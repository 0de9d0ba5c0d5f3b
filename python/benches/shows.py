#!/usr/bin/env python3
"""Measures the package beside NumPy, PyTorch, grain, Dask, Ray and Spark, and writes the rows of
benches/results/python.csv.

    python python/benches/shows.py [--quick] [--only CASE..] [--out FILE]

Cases whose framework is not installed are left out, and say so. Each case runs in a process of its
own, so that the peak of its memory is its own. A time is the least of several, with the two sides
taken in turn. `--quick` takes a hundredth of the lengths, to see that it works.

Build the wheel for it with `maturin build --release` in `python`.
"""

from __future__ import annotations

import argparse
import csv
import datetime
import importlib.util
import json
import os
import pathlib
import platform
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
CASES = {}


def case(*needs):
    """Registers a case and the frameworks that it needs."""

    def register(function):
        CASES[function.__name__.replace("_", "-")] = (function, needs)
        return function

    return register


def least(*functions, rounds=5):
    """The least times of functions, in seconds, taken in turn."""
    times = [float("inf")] * len(functions)
    for _ in range(rounds):
        for k, function in enumerate(functions):
            begin = time.perf_counter()
            function()
            times[k] = min(times[k], time.perf_counter() - begin)
    return times


def memory():
    """The bytes of this process that are in memory."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def peak():
    """The most bytes of this process that were in memory at a time."""
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


@case()
def first_batch(scale):
    """The first batch of a rank among 10^12 items, and a resume in the middle."""
    begin = memory()
    import bijective_shuffle as bs

    n = 10**12

    def first():
        bs.Sampler(n, 42, rank=5, world=8, batch=256).next_batch()

    # A step of that many ranks goes to the middle.
    sampler = bs.Sampler(n, 42, world=2**29, batch=931)
    sampler.next_batch()
    state = sampler.state()

    def resume():
        again = bs.Sampler(n, 42, rank=2, world=7, batch=256)
        again.resume(state)
        again.next_batch()

    yield "first batch of 256", least(first, rounds=100)[0], None
    yield "resumed, and a batch", least(resume, rounds=100)[0], None
    yield "memory above Python's, in bytes (NumPy included)", memory() - begin, None


@case()
def eighth_ours(scale):
    """A rank's eighth of 10^8 indexes, in pieces."""
    import bijective_shuffle as bs

    before = peak()

    def ours():
        for _ in bs.Permutation.walk(10**8 // scale, 42).shard_strided(3, 8).chunks(2**16):
            pass

    yield "all indexes", least(ours, rounds=3)[0], None
    yield "memory, in bytes", peak() - before, None


@case("torch")
def eighth_torch(scale):
    """The same by DistributedSampler."""
    import torch  # noqa: F401
    from torch.utils.data.distributed import DistributedSampler

    before = peak()
    sampler = DistributedSampler(range(10**8 // scale), 8, 3, seed=42)

    def theirs():
        for _ in sampler:
            pass

    yield "all indexes", None, least(theirs, rounds=1)[0]
    yield "memory, in bytes", None, peak() - before


@case("torch")
def loader(scale):
    """10^7 indexes through a DataLoader without data, in batches of 1000."""
    from bijective_shuffle.torch import ShuffleSampler
    from torch.utils.data import DataLoader, RandomSampler

    n = 10**7 // scale

    class Nothing:
        def __len__(self):
            return n

        def __getitem__(self, index):
            return index

    data = Nothing()

    def drain(sampler):
        def run():
            for _ in DataLoader(data, collate_fn=len, sampler=sampler, batch_size=1000):
                pass

        return run

    ours, theirs = ShuffleSampler(data, seed=42), RandomSampler(data)
    yield "loader", *least(drain(ours), drain(theirs), rounds=3)


@case("grain")
def index_shuffle(scale):
    """`p[i]` beside grain's."""
    import bijective_shuffle as bs
    from grain._src.python.experimental.index_shuffle.python import (
        index_shuffle_module as grain_shuffle,
    )

    n, count = 10**9, 10**6 // scale
    p, shuffle = bs.Permutation.walk(n, 42), grain_shuffle.index_shuffle

    def ours():
        for k in range(count):
            p[k]

    def theirs():
        for k in range(count):
            shuffle(k, max_index=n - 1, seed=42, rounds=4)

    ours, theirs = least(ours, theirs)
    yield "p[i], beside index_shuffle(i)", ours / count, theirs / count


@case()
def arrays(scale):
    """Arrays in place, beside Generator.shuffle."""
    import bijective_shuffle as bs
    import numpy as np

    generator = np.random.default_rng(42)
    n = 2**26 // scale
    a = np.arange(n)
    yield f"{n} int64", *least(lambda: bs.shuffle(a, 42), lambda: generator.shuffle(a), rounds=3)
    del a
    n = 2**21 // scale
    rows = np.zeros((n, 100), dtype="f4")
    yield f"{n} rows of 100 float32", *least(
        lambda: bs.shuffle(rows, 42), lambda: generator.shuffle(rows), rounds=3
    )


@case()
def choice(scale):
    """1000 of 10^12."""
    import bijective_shuffle as bs

    yield "1000 of 10^12", least(lambda: bs.choice(10**12, 1000, 42), rounds=100)[0], None


@case("torch")
def gpu(scale):
    """Tensors on a GPU, beside PyTorch's `randperm` and indexing."""
    import bijective_shuffle as bs
    import torch

    if not torch.cuda.is_available():
        print("gpu: left out, without a GPU", file=sys.stderr)
        return

    def in_turn(*functions):
        def waited(function):
            def run():
                function()
                torch.cuda.synchronize()

            return run

        functions = [waited(function) for function in functions]
        for function in functions:
            function()
        return least(*functions)

    n = 2**29 // scale
    out = torch.empty(n, dtype=torch.int32, device="cuda")
    yield f"randperm of {n} int32", *in_turn(
        lambda: bs.cuda.randperm(n, 42, out=out), lambda: torch.randperm(n, out=out)
    )
    del out
    torch.cuda.empty_cache()
    x = torch.zeros(n, dtype=torch.float32, device="cuda")
    yield f"{n} float32 to another tensor", *in_turn(
        lambda: bs.cuda.shuffled(x, 42), lambda: x[torch.randperm(n, device="cuda")]
    )


@case("dask", "distributed")
def dask(scale):
    """10^7 rows over two workers, beside a shuffle by a column of random numbers."""
    import dask.dataframe as dd
    import distributed
    import numpy as np
    import pandas as pd
    from bijective_shuffle.dask import dask_shuffle

    n = 10**7 // scale
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        with distributed.Client(cluster):
            df = dd.from_pandas(pd.DataFrame({"x": np.arange(n), "y": np.arange(n) / 2}), npartitions=8)
            df = df.persist()
            distributed.wait(df)

            def theirs():
                random = df.map_partitions(
                    lambda part: part.assign(r=np.random.default_rng().integers(0, 2**62, len(part)))
                )
                distributed.wait(random.shuffle("r").persist())

            yield f"{n} rows", *least(
                lambda: distributed.wait(dask_shuffle(df, 42).persist()), theirs, rounds=3
            )


@case("ray")
def ray(scale):
    """10^7 rows over two workers, beside `random_shuffle`."""
    import ray
    from bijective_shuffle.ray import ray_shuffle

    n = 10**7 // scale
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    ds = ray.data.range(n, override_num_blocks=8).materialize()
    yield f"{n} rows", *least(
        lambda: ray_shuffle(ds, 42).materialize(),
        lambda: ds.random_shuffle(seed=42).materialize(),
        rounds=3,
    )
    ray.shutdown()


@case("pyspark")
def spark(scale):
    """10^7 rows over two cores, beside an order by `rand()`."""
    from bijective_shuffle.spark import spark_shuffle
    from pyspark.sql import SparkSession
    from pyspark.sql import functions as F

    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    n = 10**7 // scale
    df = session.range(0, n, 1, 8).cache()
    df.count()

    def drain(frame):
        frame.write.format("noop").mode("overwrite").save()

    yield f"{n} rows", *least(
        lambda: drain(spark_shuffle(df, 42)), lambda: drain(df.orderBy(F.rand(42))), rounds=3
    )
    session.stop()


def machine(name):
    """The machine that a case is about."""
    if name.startswith("gpu"):
        import torch

        if torch.cuda.is_available():
            return torch.cuda.get_device_name()
    model = platform.processor() or platform.machine()
    try:
        lines = pathlib.Path("/proc/cpuinfo").read_text().split("\n")
        model = next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        pass
    return f"{model}, {os.cpu_count()} logical cores"


def revision():
    if "BIJECTIVE_SHUFFLE_REVISION" in os.environ:
        return os.environ["BIJECTIVE_SHUFFLE_REVISION"]
    command = ["git", "rev-parse", "--short", "HEAD"]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    return run.stdout.strip() or "unknown"


def main(results="python.csv"):
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--quick", action="store_true", help="a hundredth of the lengths")
    parser.add_argument("--only", nargs="+", choices=CASES, default=list(CASES), metavar="CASE")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "benches/results" / results)
    parser.add_argument("--run", choices=CASES, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.run:
        for row in CASES[arguments.run][0](100 if arguments.quick else 1):
            print("ROW " + json.dumps(row), flush=True)
        return
    rows = []
    for name in arguments.only:
        missing = [need for need in CASES[name][1] if importlib.util.find_spec(need) is None]
        if missing:
            print(f"{name}: left out, without {', '.join(missing)}")
            continue
        common = [str(datetime.date.today()), revision(), machine(name)]
        command = [sys.executable, sys.argv[0], "--run", name] + ["--quick"] * arguments.quick
        run = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        for line in run.stdout.split("\n"):
            if line.startswith("ROW "):
                what, ours, theirs = json.loads(line[4:])
                ratio = theirs / ours if ours and theirs else None
                rows.append([*common, name, what, ours, theirs, ratio])
                texts = ["" if x is None else f"{x:.3g}" for x in (ours, theirs, ratio)]
                print(f"{name}: {what}: ours {texts[0]}, theirs {texts[1]}, ratio {texts[2]}", flush=True)
    # Rows of other cases stay, so that environments with one framework each can be used in turn.
    kept = []
    if arguments.out.exists() and not arguments.quick:
        with arguments.out.open() as file:
            lines = [line for line in file if not line.startswith("#")]
        kept = [row for row in list(csv.reader(lines))[1:] if row[3] not in arguments.only]
    if arguments.quick:
        return
    with arguments.out.open("w", newline="") as file:
        # With rows that stay, those of the file are of several runs.
        own = [] if kept else sys.argv[1:]
        script = pathlib.Path(sys.argv[0]).name
        file.write("# $ " + " ".join([f"python python/benches/{script}", *own]) + "\n")
        writer = csv.writer(file, lineterminator="\n")
        head = ["date", "revision", "machine", "case", "what", "ours", "theirs", "theirs / ours"]
        writer.writerow(head)
        digits = lambda x: f"{x:.4g}" if isinstance(x, float) else x  # noqa: E731
        writer.writerows([*kept, *([digits(x) for x in row] for row in rows)])


if __name__ == "__main__":
    main()
