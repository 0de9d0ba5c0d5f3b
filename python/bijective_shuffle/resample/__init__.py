"""Resampling whose rows and batches are functions of a seed and a number.

Row `k` of a bootstrap, and the batch of step `k` of a training run, depend on the seed and on `k`
alone. So results are the same on any number of threads, on any machine, and after a run that was
stopped and resumed; and a program in Rust that uses the crate `bijective-shuffle-resample` gets the
same values.

>>> from bijective_shuffle.resample import bootstrap
>>> result = bootstrap(([3.0, 1.0, 4.0, 1.0, 5.0],), "mean", seed=42)
>>> low, high = result.confidence_interval
>>> bool(low < 2.8 < high)
True
"""

from ._bootstrap import (
    Bootstrap,
    BootstrapResult,
    ConfidenceInterval,
    DegenerateDataWarning,
    bootstrap,
)
from ._subsample import (
    DistributedPoissonBatchSampler,
    FixedSizeBatchSampler,
    PoissonBatchSampler,
)

__all__ = [
    "Bootstrap",
    "BootstrapResult",
    "ConfidenceInterval",
    "DegenerateDataWarning",
    "DistributedPoissonBatchSampler",
    "FixedSizeBatchSampler",
    "PoissonBatchSampler",
    "bootstrap",
]
