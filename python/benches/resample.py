#!/usr/bin/env python3
"""Measures the bootstrap beside scipy, and batches for private training beside what Opacus does, and
writes the rows of benches/results/resample.csv.

    python python/benches/resample.py [--quick] [--only CASE..] [--out FILE]

It works as shows.py beside it does.
"""

from __future__ import annotations

from shows import CASES, case, least, main, peak

CASES.clear()


def data(scale):
    import numpy as np

    return np.random.default_rng(1).normal(size=(2, 10**4)), 10**4 // scale


@case("scipy")
def means(scale):
    """10^4 rows of 10^4 values, whose mean is the statistic."""
    import numpy as np
    from bijective_shuffle.resample import bootstrap
    from scipy import stats

    (x, _), rows = data(scale)
    how = {"n_resamples": rows, "method": "percentile"}
    before = peak()
    ours = least(lambda: bootstrap((x,), np.mean, seed=1, **how), rounds=9)[0]
    ours_peak = peak() - before
    theirs = least(lambda: stats.bootstrap((x,), np.mean, rng=np.random.default_rng(1), **how), rounds=2)[0]
    yield "all rows", ours, theirs
    yield "memory, in bytes", ours_peak, peak() - before
    batch = least(lambda: stats.bootstrap((x,), np.mean, rng=np.random.default_rng(1), batch=100, **how), rounds=2)[0]
    yield "all rows, beside batches of 100", ours, batch


@case("scipy")
def correlations(scale):
    """10^4 rows of 10^4 pairs, whose correlation is the statistic."""
    import numpy as np
    from bijective_shuffle.resample import bootstrap
    from scipy import stats

    (x, y), rows = data(scale)

    def correlation(a, b, axis=-1):
        a, b = (part - part.mean(axis=axis, keepdims=True) for part in (a, b))
        return (a * b).sum(axis=axis) / np.sqrt((a * a).sum(axis=axis) * (b * b).sum(axis=axis))

    how = {"n_resamples": rows, "method": "percentile", "paired": True}
    before = peak()
    ours = least(lambda: bootstrap((x, y), "correlation", seed=1, **how), rounds=9)[0]
    ours_peak = peak() - before
    rng = np.random.default_rng
    theirs = least(lambda: stats.bootstrap((x, y), correlation, rng=rng(1), batch=100, **how), rounds=2)[0]
    yield "all rows, beside batches of 100", ours, theirs
    theirs = least(lambda: stats.bootstrap((x, y), correlation, rng=rng(1), **how), rounds=1)[0]
    yield "all rows", ours, theirs
    yield "memory, in bytes", ours_peak, peak() - before


@case("scipy")
def other_functions(scale):
    """10^3 rows of 10^4 values, whose standard deviation by NumPy is the statistic."""
    import numpy as np
    from bijective_shuffle.resample import bootstrap
    from scipy import stats

    (x, _), rows = data(10 * scale)
    how = {"n_resamples": rows, "method": "percentile"}
    theirs = lambda: stats.bootstrap((x,), np.std, rng=np.random.default_rng(1), batch=100, **how)
    yield "all rows", *least(lambda: bootstrap((x,), np.std, seed=1, **how), theirs, rounds=3)


@case()
def poisson(scale):
    """Batches of 10^8 items with probability 10^-5, beside a draw for each item in NumPy, and as lists."""
    import numpy as np
    from bijective_shuffle.resample import PoissonBatchSampler

    n = 10**8 // scale
    sampler, rng, step = PoissonBatchSampler(num_samples=n, sample_rate=1e-5 * scale, seed=1), np.random.default_rng(1), iter(range(10**9))

    def ours():
        for _ in range(1000):
            sampler.batch(next(step))

    def theirs():
        np.flatnonzero(rng.random(n, dtype=np.float32) < 1e-5 * scale)

    yield "a batch", least(ours, rounds=9)[0] / 1000, least(theirs, rounds=1)[0]
    yield "the sampler", least(lambda: PoissonBatchSampler(num_samples=n, sample_rate=1e-5, seed=1), rounds=5)[0], None


@case("torch", "opacus")
def poisson_by_opacus(scale):
    """The same beside Opacus' sampler, both as lists."""
    from bijective_shuffle.resample import PoissonBatchSampler
    from opacus.utils.uniform_sampler import UniformWithReplacementSampler

    n, rate = 10**8 // scale, 1e-5 * scale
    ours = PoissonBatchSampler(num_samples=n, sample_rate=rate, steps=1000, seed=1)
    theirs = UniformWithReplacementSampler(num_samples=n, sample_rate=rate, steps=3)
    yield "a batch", least(lambda: list(ours), rounds=5)[0] / 1000, least(lambda: list(theirs), rounds=1)[0] / 3


if __name__ == "__main__":
    main("resample.csv")
