#!/usr/bin/env python3
"""Times the random permutations of PyTorch, and of CuPy and cuda.compute where they are, on a GPU; prints a table as
CSV. See README.md."""

import argparse
import csv
import datetime
import importlib.metadata
import itertools
import os
import statistics
import sys

try:
    import torch
except ImportError:
    sys.exit("PyTorch is not there: nothing to measure. It is installed by `pip install torch`.")

try:
    import cupy
except ImportError:
    cupy = None

try:
    import cuda.compute as compute
except ImportError:
    compute = None

# What tells programs the revision, for there may be no repository where the GPU is.
REVISION = "BIJECTIVE_SHUFFLE_REVISION"

# A sample of short calls takes this many seconds, or MOST_CALLS calls: as in contender.cuh.
SAMPLE = 2e-3
MOST_CALLS = 1000


class TorchClock:
    """Seconds on the GPU between two points in PyTorch's current stream."""

    def now(self):
        event = torch.cuda.Event(enable_timing=True)
        event.record()
        return event

    def between(self, begin, end):
        end.synchronize()
        return begin.elapsed_time(end) / 1000


class CupyClock:
    """The same in CuPy's current stream, which is another one."""

    def now(self):
        event = cupy.cuda.Event()
        event.record()
        return event

    def between(self, begin, end):
        end.synchronize()
        return cupy.cuda.get_elapsed_time(begin, end) / 1000


class TorchScene:
    """The items, which are the numbers from 0 on."""

    def __init__(self, length, item_bytes):
        self.length = length
        self.dtype = {4: torch.int32, 8: torch.int64}[item_bytes]
        self.items = torch.arange(length, dtype=self.dtype, device="cuda")
        self.clock = TorchClock()

    def is_right(self, result):
        """Whether every item is there. As many as there were, and each of them seen, is each of them once."""
        if result.shape != (self.length,) or result.min() < 0 or result.max() >= self.length:
            return False
        seen = torch.zeros(self.length, dtype=torch.bool, device="cuda")
        seen[result.long()] = True
        return bool(seen.all())


class CupyScene:
    """The same for CuPy."""

    def __init__(self, length, item_bytes):
        self.length = length
        self.items = cupy.arange(length, dtype={4: cupy.int32, 8: cupy.int64}[item_bytes])
        self.clock = CupyClock()

    def is_right(self, result):
        if result.shape != (self.length,) or result.min() < 0 or result.max() >= self.length:
            return False
        seen = cupy.zeros(self.length, dtype=bool)
        seen[result] = True
        return bool(seen.all())


class ComputeScene(TorchScene):
    """The same for cuda.compute, which works in PyTorch's stream and memory, with a place for the result."""

    def __init__(self, length, item_bytes):
        super().__init__(length, item_bytes)
        self.out = torch.full_like(self.items, -1)
        self.seeds = itertools.count()
        self.transform = None

    def indexes(self):
        return compute.ShuffleIterator(self.length, next(self.seeds))

    def write(self, source):
        """Puts what an iterator has at its places into `out`; only the first call of a scene compiles."""
        arguments = {"d_in": source, "d_out": self.out, "op": compute.OpKind.IDENTITY}
        self.transform = self.transform or compute.make_unary_transform(**arguments)
        self.transform(num_items=self.length, **arguments)
        return self.out


def torch_contenders():
    """Name, work, and check of each."""

    def index_then_gather(scene):
        return scene.items[torch.randperm(scene.length, device="cuda")]

    yield "torch x[randperm]", index_then_gather, TorchScene.is_right


def cupy_contenders():
    def permutation(scene):
        return cupy.random.permutation(scene.items)

    if cupy is not None:
        yield "cupy.random.permutation", permutation, CupyScene.is_right


def compute_items():
    def items(scene):
        return scene.write(compute.PermutationIterator(scene.items, scene.indexes()))

    if compute is not None:
        yield "cuda.compute x[ShuffleIterator]", items, ComputeScene.is_right


def sample(work, scene, calls):
    """Seconds of one call, from `calls` calls in a row."""
    begin = scene.clock.now()
    for _ in range(calls):
        work(scene)
    return scene.clock.between(begin, scene.clock.now()) / calls


def median(work, scene, arguments):
    calls = 1
    # The first call warms up, and its time is a first guess; of short calls it is mostly the
    # launch.
    for _ in range(2):
        seconds = sample(work, scene, calls)
        calls = int(min(max(SAMPLE / max(seconds, 1e-9), 1), MOST_CALLS))
    return statistics.median(sample(work, scene, calls) for _ in range(arguments.repeats))


def out_of_memory(error):
    kinds = [torch.cuda.OutOfMemoryError]
    if cupy is not None:
        kinds.append(cupy.cuda.memory.OutOfMemoryError)
    return isinstance(error, tuple(kinds))


def free_memory():
    """Both libraries keep what they free, and would not leave it to each other."""
    torch.cuda.empty_cache()
    if cupy is not None:
        cupy.get_default_memory_pool().free_all_blocks()


class Rows:
    """Rows of CSV as benches/results has them: each says when it was measured, at which revision, and on what."""

    def __init__(self):
        revision = os.environ.get(REVISION)
        if not revision:
            sys.exit(f"set {REVISION}, to `git rev-parse --short=7 HEAD` for example")
        date = datetime.datetime.now(datetime.timezone.utc).date().isoformat()
        self.origin = [date, revision, torch.cuda.get_device_properties(0).name]
        self.writer = csv.writer(sys.stdout, lineterminator="\n")

    def head(self):
        self.writer.writerow(["date", "revision", "machine", "name", "item_bytes", "length", "seconds"])

    def print(self, name, item_bytes, length, seconds):
        self.writer.writerow([*self.origin, name, item_bytes, length, f"{seconds:.9g}"])
        sys.stdout.flush()


def measure(kind, contenders, length, item_bytes, arguments, rows):
    contenders = [one for one in contenders if not arguments.only or one[0] in arguments.only]
    scene = None
    for name, work, is_right in contenders:
        try:
            scene = scene or kind(length, item_bytes)
            if not is_right(scene, work(scene)):
                sys.exit(f"{name}, {item_bytes} bytes an item, {length} items: the result is wrong")
            seconds = median(work, scene, arguments)
        except Exception as error:
            if not out_of_memory(error):
                raise
            print(f"# too little memory for {name}, {item_bytes} bytes an item, {length} items", flush=True)
        else:
            rows.print(name, item_bytes, length, seconds)
    # Of the scene nothing is left then but what the libraries keep.
    del scene
    free_memory()


def print_header(arguments):
    gpu = torch.cuda.get_device_properties(0)
    print("# $ python3 benches/peers/cuda/torch_peers.py")
    print(
        f"# GPU: {gpu.name}, compute capability {gpu.major}.{gpu.minor}, {gpu.multi_processor_count} multiprocessors, "
        f"{gpu.total_memory >> 20} MiB of memory"
    )
    with_cupy = "no CuPy" if cupy is None else f"CuPy {cupy.__version__}"
    with_compute = "no cuda.compute" if compute is None else f"cuda-cccl {importlib.metadata.version('cuda-cccl')}"
    print(f"# PyTorch {torch.__version__}, CUDA {torch.version.cuda}, {with_cupy}, {with_compute}")
    print(
        f"# seconds: of one call, median of {arguments.repeats} samples; a sample is the time between two events with "
        "as many calls as take 2 ms, from 1 to 1000 between them, one after the other"
    )


def number(least, most):
    def parse(text):
        value = int(text)
        if not least <= value <= most:
            raise ValueError
        return value

    parse.__name__ = f"number from {least} to {most}"
    return parse


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)

    def option(name, least, most, default, text):
        kind = number(least, most)
        parser.add_argument(f"--{name}", type=kind, default=default, help=f"{text} ({default})", metavar="N")

    option("from", 0, 31, 8, "lengths are 2^w + 1 from this w on")
    option("to", 0, 31, 29, "and to this")
    option("step", 1, 31, 1, "from one w to the next")
    option("repeats", 1, 10**6, 15, "how many samples the median is taken of")
    parser.add_argument(
        "--only", action="append", default=[], metavar="NAME", help="leave out the others; may be given several times"
    )
    arguments = parser.parse_args()
    # `from` is a word of the language.
    arguments.first, arguments.last = getattr(arguments, "from"), arguments.to
    if arguments.first > arguments.last:
        parser.error("--from is above --to")
    return arguments


def main():
    arguments = parse_arguments()
    if not torch.cuda.is_available():
        sys.exit("PyTorch sees no GPU: nothing to measure.")
    all_contenders = [*torch_contenders(), *cupy_contenders(), *compute_items()]
    known = {name for name, _, _ in all_contenders}
    unknown = set(arguments.only) - known
    if unknown:
        sys.exit(f"there is no contender called {min(unknown)}; there are: {', '.join(sorted(known))}")
    rows = Rows()
    print_header(arguments)
    rows.head()
    for item_bytes in (4, 8):
        for bits in range(arguments.first, arguments.last + 1, arguments.step):
            length = (1 << bits) + 1
            # 2^31 + 1 numbers are more than items of 4 bytes with a sign can tell apart.
            if item_bytes == 4 and length > 1 << 31:
                continue
            measure(TorchScene, torch_contenders(), length, item_bytes, arguments, rows)
            measure(CupyScene, cupy_contenders(), length, item_bytes, arguments, rows)
            # The other libraries take as long for 2^w items.
            for length in (length - 1, length):
                measure(ComputeScene, compute_items(), length, item_bytes, arguments, rows)


if __name__ == "__main__":
    main()
