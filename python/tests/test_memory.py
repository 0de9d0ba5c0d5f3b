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
    Permutation.walk(n, 1).inverted().to_numpy()
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


NEAR = """
    import resource
    from bijective_shuffle import Permutation

    n = 2**32 + 1
    p = Permutation(n, 1)
    values = [(k, p[k]) for k in (0, 3, 500, 1500, n - 1500, n - 1)]
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for k, value in values:
        assert p.position(value) == p.inverted()[value] == k
        assert (value in p[::2]) == (k % 2 == 0)
    assert p[1500:1503].to_numpy().tolist() == [p[k] for k in (1500, 1501, 1502)]
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere other units are used")
def test_positions_near_an_end_take_no_memory():
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(NEAR)], capture_output=True, text=True)
    # An index would take 34 MB.
    assert done.returncode == 0 and int(done.stdout) < 8000, (done.stdout, done.stderr)


LISTS = """
    Mixture(L([5, 6]), L([1, 1]), 1)
    Mixture([5, 6], [1, 1], 1).changed(3, L([1, 1, 1]), L([3]))
    Weighted(L([1, 2]), 1)
    weighted_sample(L([1, 2]), 1, 1)
    Splits(L([1, 2]), 1).parts(10)
    Splits([1, 2], 1).parts(labels=L([1] * 10))
    Splits([1, 2], 1).parts(ids=L(["a"] * 10))
    NodeBlocks(10, 0.5, 1).after(0, L([(1, 1)]), 0, 3)
    Lengths(L([1, 2]), 10, 1)
    Packed(L([1, 2]), 2, 1)
    shuffle(L([1, 2]), 1)
    shuffle_together(L([1, 2]), L([1, 2]), seed=1)
    choice(L([1, 2]), 1, 1)
    choice(5, L((1, 1)), 1)
    p[L([1, 2])]
    p.position(L([1, 2]))
    Permutation(5, L([1]))
    Sampler(10, 1, blocks=L([2, 2]))
    _native.Sets(L([5, 6]), [1, 1], 1)
    _native.Sets([5, 6], L([1, 1]), 1)
    _native.Sets([5, 6], [1, 1], 1).changed(5, L([1]), [1, 1, 1])
    _native.Sets([5, 6], [1, 1], 1).changed(5, [1], L([1, 1, 1]))
    _native.split_parts(L([1, 2]), 1, 0, numpy.array([5], dtype="uint64"), True)
    _native.split_ids(L([1, 2]), 1, 0, [b"a"])
    _native.node_blocks(10, 0.5, 1, 0, L([(1, 1)]), 0, 3)
    _native.shuffle_files(L(["--none"]))
    _native.reorder(p, L([a]), False)
    _native.reorder_copies(p, L([a]), [a.copy()])
    _native.reorder_copies(p, [a], L([a.copy()]))
    _native.gpu_covers(0, 0, 8, L([(0, 8, 0)]))
    _native.gpu_reorder(p, interface(shape=L([10])), None, 0, 0, False)
    _native.gpu_reorder(p, interface(strides=T([8])), None, 0, 0, False)
"""

LIARS = """
    import numpy, sys
    from bijective_shuffle import *
    from bijective_shuffle import _native, files

    said = int(sys.argv[1])

    class L(list):
        def __len__(self):
            return said

    class T(tuple):
        def __len__(self):
            return said

    def interface(**changed):
        return {"shape": (10,), "data": (8, False), "typestr": "<i8", **changed}

    a, p = numpy.arange(10), Permutation(10, 1)
    for line in sys.argv[2].splitlines():
        print(line, end=": ", flush=True)
        try:
            eval(line)
        except Exception as error:
            print(f"{type(error).__name__}: {str(error)!r}", flush=True)
        else:
            print("done", flush=True)
"""


# More than any machine has room for, more than this one has, and fewer than there are.
@pytest.mark.parametrize("said", [2**62, 2**44, 0])
def test_lists_that_lie_about_their_length_end_no_program(said):
    program, calls = textwrap.dedent(LIARS), textwrap.dedent(LISTS).strip()
    done = subprocess.run([sys.executable, "-c", program, str(said), calls], capture_output=True, text=True)
    lines = done.stdout.splitlines()
    assert done.returncode == 0 and len(lines) == len(calls.splitlines()), (lines[-1:], done.stderr)
    # What native code gets as it is. There is no such option, nor perhaps a GPU.
    native = [line.partition("): ")[2] for line in lines if line.startswith("_native")]
    expected = ("MemoryError",) if said else ("done", "ValueError", "GpuUnavailable", "Array")
    assert not [line for line in native if not line.startswith(expected)], lines
