"""Seeded shuffles and pseudo-random permutations: in parallel, reversible, and in constant memory.

A permutation is a function of its length, a seed and an epoch. So any place of it is evaluated on
its own, nothing is stored, and a program in Rust that uses the crate of this name gets the same
values.

>>> import bijective_shuffle as bs
>>> p = bs.Permutation.walk(10**12, seed=42)
>>> p.position(p[5])
5

`bijective_shuffle.cuda` is for arrays on a GPU, and `bijective_shuffle.files` for files and folders,
also for such as are larger than memory. Adapters are in modules of their own, which import
their framework: `bijective_shuffle.torch`, `.grain`, `.streaming`, `.datasets`, `.megatron`, `.frames`, `.dask`,
`.ray`, `.spark`, `.daft` and `.lance`. `.jax`, `.torch`, `.triton`, `.numba` and `.cupy` evaluate single
places inside compiled functions and kernels.
"""

from . import cuda, files
from ._arrays import (
    choice,
    permutations,
    permuted,
    shuffle,
    shuffle_segments,
    shuffle_together,
    shuffled,
    unshuffle,
    unshuffle_segments,
    unshuffle_together,
    unshuffled,
)
from ._loaders import Batches, Mixture, Weighted, weighted_sample
from ._native import (
    ArrayError,
    BlockShuffle,
    ForeignStateError,
    GpuUnavailableError,
    IndexNotBuiltError,
    Permutation,
    Places,
    Sampler,
    __version__,
    thread_count,
)
from ._nodes import NodeBlocks, NodeRun
from ._splits import Folds, Splits
from ._stream import StreamShuffle
from ._tokens import Lengths, Packed

__all__ = [
    "ArrayError",
    "Batches",
    "BlockShuffle",
    "Folds",
    "ForeignStateError",
    "GpuUnavailableError",
    "IndexNotBuiltError",
    "Lengths",
    "Mixture",
    "NodeBlocks",
    "NodeRun",
    "Packed",
    "Permutation",
    "Places",
    "Sampler",
    "Splits",
    "StreamShuffle",
    "Weighted",
    "__version__",
    "choice",
    "cuda",
    "files",
    "permutations",
    "permuted",
    "shuffle",
    "shuffle_segments",
    "shuffle_together",
    "shuffled",
    "thread_count",
    "unshuffle",
    "unshuffle_segments",
    "unshuffle_together",
    "unshuffled",
    "weighted_sample",
]
