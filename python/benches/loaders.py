#!/usr/bin/env python3
"""Measures what training loops draw beside PyTorch, datasets, transformers, Megatron-Core, pandas and
Polars, and writes the rows of benches/results/python-loaders.csv.

    python python/benches/loaders.py [--quick] [--only CASE..] [--out FILE]

It works as shows.py beside it does. The cases in Rust are the medians of benches/loaders.rs.
"""

from __future__ import annotations

import re
import subprocess

from shows import CASES, ROOT, case, least, main, memory

CASES.clear()


@case("torch")
def weighted(scale):
    """Draws by 10^8 weights. PyTorch refuses 2^24 and more, so its draws are from fewer."""
    import bijective_shuffle as bs
    import numpy as np
    import torch
    from torch.utils.data import WeightedRandomSampler

    n, few = 10**8 // scale, (2**24 - 1) // scale
    weights = 1 + 2**40 // np.arange(1, n + 1)
    # The system has to find memory for it first.
    yield "the table, the first time", least(lambda: bs.Weighted(weights, 1), rounds=1)[0], None
    yield "the table", least(lambda: bs.Weighted(weights, 1), rounds=5)[0], None
    draws = bs.Weighted(weights, 1, n=few)
    sampler = WeightedRandomSampler(torch.from_numpy(weights[:few]).double(), few)
    ours, theirs = least(lambda: draws[:], lambda: torch.multinomial(sampler.weights, few, True), rounds=5)
    yield "each of 2^24 draws", ours / few, theirs / few


@case()
def lengths(scale):
    """Batches by tokens of 10^8 items, beside a sort of the same windows in NumPy."""
    import bijective_shuffle as bs
    import numpy as np

    n = 10**8 // scale
    items = (1 + np.random.default_rng(1).gamma(2, 300, n)).astype(np.uint32)
    before = memory()
    made = bs.Lengths(items, 65_536, 1)
    made.n
    held = memory() - before

    def theirs():
        order = np.random.default_rng(1).permutation(n)[: n // 8192 * 8192].reshape(-1, 8192)
        np.argsort(items[order], axis=1)

    ours, sorted_ = least(lambda: bs.Lengths(items, 65_536, 1).n, theirs, rounds=1)
    yield "the index", ours, sorted_
    yield "memory, in bytes an item", held / n, None
    yield "waste", made.waste, None


@case("transformers", "torch")
def lengths_of_transformers(scale):
    """Batches by length of 10^6 items, beside the groups of the Trainer, which every rank makes anew in
    each epoch."""
    import bijective_shuffle as bs
    import numpy as np
    import torch
    from transformers.trainer_pt_utils import get_length_grouped_indices

    n = 10**6 // scale
    items = (1 + np.random.default_rng(1).gamma(2, 300, n)).astype(np.uint32)
    listed, generator = items.tolist(), torch.Generator()
    yield "an epoch", *least(lambda: bs.Lengths(items, 65_536, 1).n,
                             lambda: get_length_grouped_indices(listed, 32, generator=generator), rounds=3)


@case("megatron")
def packed_by_megatron(scale):
    """The order and the index of an epoch of 10^7 documents, beside those that GPTDataset builds."""
    import bijective_shuffle as bs
    import numpy as np
    from megatron.core.datasets import helpers

    n = 10**7 // scale
    items = 1 + (np.random.default_rng(1).integers(1, 2**12, n, dtype=np.int32) ** 2 >> 12).astype(np.int32)

    def theirs():
        random = np.random.RandomState(1)
        documents = np.arange(n, dtype=np.int32)
        random.shuffle(documents)
        samples = helpers.build_sample_idx(items, documents, 4096, 1, int(items.sum()), True, True)
        order = np.arange(len(samples) - 1, dtype=np.uint32)
        random.shuffle(order)

    lengths = items.astype(np.uint32)
    yield "an epoch", *least(lambda: bs.Packed(lengths, 4096, 1, overlap=1).build(), theirs, rounds=2)


@case("datasets")
def stream(scale):
    """A stream through a buffer of 65,536 items, beside that of datasets: each item."""
    import bijective_shuffle as bs
    from datasets.iterable_dataset import BufferShuffledExamplesIterable, ExamplesIterable
    import numpy as np

    n = 10**6 // scale

    def examples():
        for k in range(n):
            yield k, {"x": k}

    plain = ExamplesIterable(examples, {})
    theirs = BufferShuffledExamplesIterable(plain, 2**16, np.random.default_rng(1))
    ours = bs.StreamShuffle(lambda start: iter(plain), 2**16, 1)

    def go_through(items):
        for _ in items:
            pass

    ours, theirs = least(lambda: go_through(ours), lambda: go_through(theirs), rounds=3)
    yield "each item", ours / n, theirs / n


def columns(scale):
    import numpy as np

    rng, n = np.random.default_rng(1), 10**7 // scale
    return {f"c{k}": rng.random(n) if k % 2 else rng.integers(0, 2**40, n) for k in range(10)}


@case("pandas")
def frame_of_pandas(scale):
    """10^7 rows of 10 columns, shuffled."""
    import pandas as pd
    from bijective_shuffle import frames

    frame = pd.DataFrame(columns(scale))
    yield "shuffled", *least(lambda: frames.shuffled(frame, 1), lambda: frame.sample(frac=1, random_state=1),
                             rounds=5)


@case("polars")
def frame_of_polars(scale):
    """The same in Polars."""
    import polars as pl
    from bijective_shuffle import frames

    frame = pl.DataFrame(columns(scale))
    yield "shuffled", *least(lambda: frames.shuffled(frame, 1),
                             lambda: frame.sample(fraction=1, shuffle=True, seed=1), rounds=5)


def medians(names):
    """The medians of benches/loaders.rs, in seconds, by name."""
    command = ["cargo", "bench", "-q", "--bench", "loaders", "--", "--sample-count", "7", *names]
    run = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    units = {"s": 1, "ms": 1e-3, "\N{MICRO SIGN}s": 1e-6, "ns": 1e-9}
    found = {}
    for line in run.stdout.split("\n"):
        match = re.match("[^ ]\N{BOX DRAWINGS LIGHT HORIZONTAL} (\\w+) +(.*)", line)
        cells = [cell.split() for cell in match[2].split("\N{BOX DRAWINGS LIGHT VERTICAL}")] if match else []
        if len(cells) > 2 and len(cells[2]) == 2:
            number, unit = cells[2]
            found[match[1]] = float(number) * units[unit]
    return found


@case()
def others_in_rust(scale):
    """Streams of numbers through a buffer of 65,536, beside a plain one."""
    found, items = medians(["stream"]), 2**22
    yield "each item of a stream, beside a plain buffer", found["stream"] / items, found["stream_plain"] / items


if __name__ == "__main__":
    main("python-loaders.csv")
