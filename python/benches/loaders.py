#!/usr/bin/env python3
"""Measures what training loops draw beside PyTorch, datasets, transformers, Megatron-Core, pandas and
Polars, and writes the rows of benches/results/python-loaders.csv.

    python python/benches/loaders.py [--quick] [--only CASE..] [--out FILE]

It works as shows.py beside it does. The cases in Rust are the medians of benches/loaders.rs.
"""

from __future__ import annotations

import os
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
def mixture(scale):
    """Positions of 100 sets, one after another, and a resume at 10^12."""
    import bijective_shuffle as bs

    sets = bs.Mixture([k * 1_000_003 for k in range(1, 101)], list(range(1, 101)), 1, n=2**60)
    places = range(10**12, 10**12 + 10**5 // scale)

    def look_up():
        for place in places:
            sets[place]

    yield "each look-up", least(look_up)[0] / len(places), None
    far = bs.Sampler(2**60, sets.fingerprint, ranks=2**20, batch=10**6, sequential=True)
    far.next_batch()
    state = far.state()

    def resume():
        batches = sets.batches(32, rank=3, ranks=8)
        batches.resume(state)
        batches.next_batch()

    yield "resumed at 10^12, and a batch", least(resume, rounds=50)[0], None


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


@case()
def packed(scale):
    """10^9 documents: the index of an epoch, and a rank's first batch after it."""
    import bijective_shuffle as bs
    import numpy as np

    n = 10**9 // scale
    items = (np.random.default_rng(1).integers(1, 2**12, n, dtype=np.uint32) ** 2) >> 12
    before = memory()
    made = bs.Packed(items, 4096, 1, overlap=1)
    yield "the index", least(made.build, rounds=1)[0], None
    yield "memory, in bytes a document", (memory() - before) / n, None
    first = least(lambda: made.batches(32, rank=5, ranks=64).next_batch(), rounds=20)[0]
    yield "a rank's first batch after it", first, None


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


def medians(names, scale, samples=7):
    """The medians of benches/loaders.rs, in seconds, by name and argument."""
    command = ["cargo", "bench", "-q", "--bench", "loaders", "--", "--sample-count", str(samples), *names]
    environment = os.environ | {"LOADERS_LEN": str(10**8 // scale)}
    run = subprocess.run(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    units = {"s": 1, "ms": 1e-3, "\N{MICRO SIGN}s": 1e-6, "ns": 1e-9}
    found, group = {}, ""
    for line in run.stdout.split("\n"):
        match = re.match("(\N{BOX DRAWINGS LIGHT VERTICAL}  |   )?[^ ]\N{BOX DRAWINGS LIGHT HORIZONTAL} (\\w+) +(.*)", line)
        if match is None:
            continue
        cells = [cell.split() for cell in match[3].split("\N{BOX DRAWINGS LIGHT VERTICAL}")]
        if not match[1]:
            group = match[2]
        if len(cells) > 2 and len(cells[2]) == 2:
            number, unit = cells[2]
            found[f"{group} {match[2]}" if match[1] else group] = float(number) * units[unit]
    return found


@case()
def weighted_in_rust(scale):
    """The same without Python: 10^8 weights."""
    found = medians(["weighted", "weights", "draws"], scale)
    yield "the table", found["weighted_build"], None
    yield "floats to whole numbers", found["weights_from_floats"], None
    yield "each of 2^22 draws, one thread", found["weighted_draws 1"] / 2**22, None
    yield "each of 2^22 draws, all threads", found["weighted_draws 0"] / 2**22, None
    yield "100,000 draws without replacement", found["draws_without_replacement 100000"], None


@case()
def mixture_in_rust(scale):
    """Positions of 100 sets, and a resume behind 10^12."""
    found = medians(["mixture"], scale)
    yield "each look-up", found["mixture_get"], None
    yield "a batch of 1,024", found["mixture_batch"], None
    yield "resumed behind 10^12, and a batch", found["mixture_resume"], None


@case()
def lengths_in_rust(scale):
    """10^8 lengths."""
    found = medians(["lengths"], scale)
    for window in (1024, 8192, 65_536):
        yield f"the index, windows of {window:,}", found[f"lengths_build {window}"], None
    yield "each batch", found["lengths_get"], None


@case()
def packed_in_rust(scale):
    """10^9 documents."""
    found = medians(["packed_first"], scale)
    yield "a rank's first batch after the index", found["packed_first_batch"], None


@case()
def packed_index_in_rust(scale):
    """The index of 10^9 documents."""
    yield "the sum of all lengths and the index", medians(["packed_build"], scale, 3)["packed_build"], None


@case()
def others_in_rust(scale):
    """Streams of numbers through a buffer of 65,536, beside a plain one; splits; and blocks of nodes."""
    found = medians(["stream", "split", "blocks"], scale)
    items = 2**22
    yield "each item of a stream, beside a plain buffer", found["stream"] / items, found["stream_plain"] / items
    yield "a stream resumed", found["stream_resume"], None
    yield "each item's part of a split", found["split_parts"] / (10**8 // scale), None
    yield "10^6 blocks of a node", found["blocks_of_a_node"], None


if __name__ == "__main__":
    main("python-loaders.csv")
