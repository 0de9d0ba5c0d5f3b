"""Times NumPy, SciPy and scikit-bio on the data sizes of `examples/timings.rs`, and prints rows.

    python crates/resample/oracles/peers.py [NAME..]
"""

import resource
import sys
import time

import numpy as np


def means():
    from scipy.stats import permutation_test

    rng = np.random.default_rng(1)
    x, y = rng.random(1000), rng.random(1000)
    difference = lambda a, b, axis: np.mean(a, axis=axis) - np.mean(b, axis=axis)
    # A batch of 1000 is the fastest of 100, 1000 and 10000.
    call = lambda: permutation_test((x, y), difference, n_resamples=100_000, vectorized=True, batch=1000, rng=rng)
    return "scipy permutation_test, difference of means, 2 x 1000", 100_000, call


def permanova():
    from skbio import DistanceMatrix
    from skbio.stats.distance import permanova

    points = np.random.default_rng(3).random(2000)
    matrix = DistanceMatrix(np.abs(points[:, None] - points[None, :]))
    groups = np.repeat(np.arange(4), 500)
    # A tenth of the permutations.
    return "scikit-bio permanova, 2000 rows, 4 groups", 1000, lambda: permanova(matrix, groups, permutations=1000)


def maximum():
    rng = np.random.default_rng(4)
    table = rng.random((100, 100_000))
    table -= table.mean(axis=0)
    table /= np.sqrt((table**2).sum(axis=0))
    observed = np.abs(table[:50].sum(axis=0))
    order = np.argsort(observed)

    def loop(count=20):
        counts = np.zeros(len(order))
        for _ in range(count):
            value = np.abs(table[rng.permutation(100)[:50]].sum(axis=0))
            counts += np.maximum.accumulate(value[order]) >= observed[order]

    return "NumPy loop, max-T, 100 rows, 100000 columns", 20, loop


for run in (means, permanova, maximum):
    if len(sys.argv) == 1 or run.__name__ in sys.argv[1:]:
        name, count, call = run()
        before = time.perf_counter()
        call()
        seconds = time.perf_counter() - before
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        print(f"{name}\t{count}\t{seconds:.3f}\t{peak} MB", flush=True)
