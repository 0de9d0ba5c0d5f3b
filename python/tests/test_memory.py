"""Where there is no memory for as much as is asked for, that is an exception."""

import subprocess
import sys
import textwrap

import pytest

# Numbers of items for which no memory has room, none here has, and the limit below has none.
SIZES = [2**62 - 1, 2**44 - 1, 2**28 - 1]

CALLS = """
    Splits([4, 1], 1).parts(n)
    Splits([4, 1], 1).indexes(n)
    Splits([2**19, 2**19 - 1], 1).parts(n)
    Folds(n, 1)
    next(Folds(2, 1).split(range(n)))
    NodeBlocks(n, 0.5, 1).of_node(0, 0, 1)
    NodeBlocks(n, 0.5, 1).of_node(0, 0, n)
    NodeBlocks(n, 0.5, 1).after(0, [(n, 1)], 0, 1)
    NodeBlocks(n, 0.5, 1).after(0, [(1, 1), (2, 3)], 0, 1)
    Permutation(n, 1).to_numpy()
    Permutation(2**62 - 1, 1).build_index()
    Permutation(n, 1)[:].to_numpy()
    Permutation(n, 1).position(range(n))
    next(Permutation(n, 1).chunks(n))
    Permutation.walk(n, 1).to_numpy("uint64")
    Permutation.walk(n, 1).inverse().to_numpy()
    Permutation.walk(n, 1).shard(0, 1).to_numpy()
    next(Permutation.walk(n, 1).chunks(n))
    permutations(n, n, 1)
    permutations(n, 1, 1)
    permutations(1, n, 1)
    choice(n, n, 1)
    choice(n, (2, n // 2), 1)
    BlockShuffle(n, 1, n, 1).blocks_of(0)
    BlockShuffle(n, 1, n, 1).window_items(0).to_numpy()
    BlockShuffle(n, 1, n, 1).order.to_numpy()
    Sampler(n, 1, batch=n).next_batch()
    Sampler(n, 1, batch=n, blocks=(5, n)).next_batch()
    Weighted([1, 2], 1, n=n)[:]
    Weighted([1, 2], 1, n=n).batches(n).next_batch()
    Mixture([5, 6], [1, 1], 1, n=n)[:]
    Mixture([5, 6], [1, 1], 1, n=n).batches(n).next_batch()
    resumed(n)
"""

PROGRAM = """
    import resource, sys
    from bijective_shuffle import *

    def resumed(n):
        \"\"\"A stream behind all of a buffer.\"\"\"
        if n > 2**48:
            raise ValueError("no buffer is so large")
        stream = StreamShuffle(range(3), n, 1)
        stream.seek(2 * n)
        next(iter(stream))

    n, calls = int(sys.argv[1]), sys.argv[2].splitlines()
    Permutation(10**5, 1).to_numpy()
    choice(10, 5, 1)
    with open("/proc/self/statm") as file:
        taken = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (taken + 2**29, taken + 2**29))
    for line in calls:
        print(line, end=": ", flush=True)
        try:
            eval(line)
        except (MemoryError, ValueError, OverflowError) as error:
            print(f"{type(error).__name__}: {error}", flush=True)
        else:
            print("no exception", flush=True)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="limits of memory are Linux'")
@pytest.mark.parametrize("n", SIZES)
def test_want_of_memory_is_an_exception(n):
    program, calls = textwrap.dedent(PROGRAM), textwrap.dedent(CALLS).strip()
    done = subprocess.run([sys.executable, "-c", program, str(n), calls], capture_output=True, text=True)
    said = done.stdout.splitlines()
    assert done.returncode == 0 and len(said) == len(calls.splitlines()), (said[-1:], done.stderr)
    assert not [line for line in said if line.endswith("no exception")]
