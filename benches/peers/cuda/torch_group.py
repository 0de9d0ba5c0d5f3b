#!/usr/bin/env python3
"""Times how PyTorch shuffles an array that is divided among the GPUs of one host; prints a table as CSV. See README.md."""

import argparse
import csv
import datetime
import os
import statistics
import sys
import tempfile
import time

# NVLink's multicast needs more of a system than some give a process, and an all-to-all does not
# use it.
os.environ.setdefault("NCCL_NVLS_ENABLE", "0")

try:
    import torch
    import torch.distributed as dist
    import torch.multiprocessing as mp
except ImportError:
    sys.exit("PyTorch is not there: nothing to measure. It is installed by `pip install torch`.")

# What tells programs the revision, for there may be no repository where the GPUs are.
REVISION = "BIJECTIVE_SHUFFLE_REVISION"

DTYPES = {4: torch.int32, 8: torch.int64}
# An odd number: its product with an index, modulo 2^64, tells the index.
ODD = 0x9E3779B97F4A7C15 - (1 << 64)

WHOLE = "torch randperm and all_to_all"
GIVEN = "torch all_to_all, permutation given"
BARE = "torch bare all_to_all"


def item(index, dtype):
    """The items at some indexes."""
    shift = 32 if dtype == torch.int32 else 0
    return (index * ODD >> shift).to(dtype)


class Shards:
    """One rank's part of an array of `each` items on every rank."""

    def __init__(self, rank, ranks, each, dtype, device):
        self.rank, self.ranks, self.each, self.dtype, self.device = rank, ranks, each, dtype, device
        self.length = ranks * each
        first = rank * each
        self.items = item(torch.arange(first, first + each, device=device), dtype)

    def places(self, rank):
        return slice(rank * self.each, (rank + 1) * self.each)

    def permutation(self, seed):
        """The same on every rank. Rank 0 alone would take as long for it, and then have to send it."""
        generator = torch.Generator(device=self.device)
        generator.manual_seed(seed)
        return torch.randperm(self.length, generator=generator, device=self.device)

    def shuffled(self, permutation):
        """This rank's part of the whole array's x[permutation]."""
        first = self.rank * self.each
        # What each rank needs of this one's items, in the order of its places. Every rank knows the
        # permutation, so nobody has to be asked.
        parts = []
        for rank in range(self.ranks):
            indexes = permutation[self.places(rank)]
            indexes = indexes[(indexes >= first) & (indexes < first + self.each)]
            parts.append(self.items[indexes - first])
        sent = torch.cat(parts)
        sent_sizes = [len(part) for part in parts]
        del parts, indexes
        # Where what comes from each rank goes.
        owners = permutation[self.places(self.rank)] // self.each
        places = [(owners == rank).nonzero()[:, 0] for rank in range(self.ranks)]
        del owners
        received_sizes = [len(part) for part in places]
        places = torch.cat(places)
        received = torch.empty(self.each, dtype=self.dtype, device=self.device)
        dist.all_to_all_single(received, sent, received_sizes, sent_sizes)
        out = torch.empty_like(received)
        out[places] = received
        return out

    def is_right(self, permutation, out):
        """Whether all ranks have the same permutation, and each the items that it says."""
        here = torch.stack([permutation.sum(), (permutation * torch.arange(self.length, device=self.device)).sum()])
        first = here.clone()
        dist.broadcast(first, 0)
        seen = torch.zeros(self.length, dtype=torch.bool, device=self.device)
        seen[permutation] = True
        expected = item(permutation[self.places(self.rank)], self.dtype)
        return bool((here == first).all() and seen.all() and (out == expected).all())


def everywhere(is_so, device):
    """Whether it is so on every rank."""
    word = torch.tensor([int(is_so)], device=device)
    dist.all_reduce(word, dist.ReduceOp.MIN)
    return bool(word.item())


def is_short_of_memory(error):
    """Also if there are more items than the sort below `randperm` counts."""
    text = str(error)
    return isinstance(error, torch.cuda.OutOfMemoryError) or "INT_MAX" in text or "out of memory" in text


def finish(device):
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def seconds(call, device):
    """The time of a call on the slowest rank."""
    finish(device)
    dist.barrier()
    finish(device)
    start = time.perf_counter()
    call()
    finish(device)
    took = torch.tensor([time.perf_counter() - start], dtype=torch.float64, device=device)
    dist.all_reduce(took, dist.ReduceOp.MAX)
    return took.item()


def attempt(work, device):
    """What the work gives, or None if it does not fit one of the ranks, which all of them learn."""
    result, failed = None, None
    try:
        result = work()
    except RuntimeError as error:
        if not is_short_of_memory(error):
            raise
        failed = str(error).splitlines()[0]
    # Errors keep what was alive where they were raised.
    if everywhere(failed is None, device):
        return result
    del result
    if device.type == "cuda":
        torch.cuda.empty_cache()
    return None


class Rows:
    """Rows of CSV as benches/results/gpu-group-h200.csv has them; only rank 0 prints."""

    def __init__(self, rank, ranks, machine):
        self.is_first, self.ranks = rank == 0, ranks
        date = datetime.datetime.now(datetime.timezone.utc).date().isoformat()
        self.origin = [date, os.environ[REVISION], machine]
        self.writer = csv.writer(sys.stdout, lineterminator="\n")

    def comment(self, text):
        if self.is_first:
            print(f"# {text}", flush=True)

    def head(self):
        if self.is_first:
            columns = ["name", "members", "devices", "item_bytes", "length", "seconds"]
            self.writer.writerow(["date", "revision", "machine", *columns])
            sys.stdout.flush()

    def print(self, name, item_bytes, length, seconds):
        if self.is_first:
            self.writer.writerow([*self.origin, name, self.ranks, self.ranks, item_bytes, length, f"{seconds:.9g}"])
            sys.stdout.flush()


def measure(rank, arguments, each, device, rows):
    """Measures a length, and returns whether it fits."""
    item_bytes = arguments.item
    shards = attempt(lambda: Shards(rank, arguments.members, each, DTYPES[item_bytes], device), device)
    permutation = shards and attempt(lambda: shards.permutation(1), device)
    # A rank that is short of memory in an exchange would leave the others waiting there, so it is
    # tried beforehand whether there is as much as all parts of one take.
    room = None
    if permutation is not None:
        room = attempt(lambda: torch.empty(6 * each, dtype=torch.int64, device=device), device)
    if room is None:
        rows.comment(f"{each} items of {item_bytes} bytes on each of {arguments.members} GPUs are too many")
        return False
    del room
    out = shards.shuffled(permutation)
    if not everywhere(shards.is_right(permutation, out), device):
        sys.exit(f"{shards.length} items of {item_bytes} bytes: the result is wrong")
    del out
    here, there = shards.items, torch.empty_like(shards.items)
    times = {
        BARE: lambda seed: dist.all_to_all_single(there, here),
        GIVEN: lambda seed: shards.shuffled(permutation),
        WHOLE: lambda seed: shards.shuffled(shards.permutation(seed)),
    }
    for name, call in times.items():
        if name == WHOLE:
            permutation = None
        samples = [seconds(lambda: call(seed), device) for seed in range(arguments.repeats + 1)]
        # The first call warms up.
        rows.print(name, item_bytes, shards.length, statistics.median(samples[1:]))
    return True


def run(rank, arguments, store):
    """What each process does."""
    if arguments.cpu:
        device, machine = torch.device("cpu"), "the CPU"
    else:
        device = torch.device("cuda", rank)
        torch.cuda.set_device(device)
        machine = torch.cuda.get_device_properties(rank).name
    backend = "gloo" if arguments.cpu else "nccl"
    dist.init_process_group(backend, init_method=f"file://{store}", rank=rank, world_size=arguments.members)
    rows = Rows(rank, arguments.members, machine)
    rows.comment(f"$ python3 benches/peers/cuda/torch_group.py {' '.join(sys.argv[1:])}".rstrip())
    rows.comment(f"PyTorch {torch.__version__}, CUDA {torch.version.cuda}, {backend}")
    rows.comment(f"seconds: of one call on the slowest rank, median of {arguments.repeats}, by the clock")
    rows.comment("every rank draws the permutation by itself, from the same seed")
    rows.head()
    fits = False
    for power in range(arguments.first, arguments.last + 1):
        if not measure(rank, arguments, 1 << power, device, rows):
            break
        fits = True
    power = arguments.first
    while not fits and power > 0:
        power -= 1
        fits = measure(rank, arguments, 1 << power, device, rows)
    dist.destroy_process_group()


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)

    def option(name, default, text):
        parser.add_argument(f"--{name}", type=int, default=default, help=f"{text} ({default})", metavar="N")

    option("from", 29, "each GPU has 2^w items from this w on")
    option("to", 29, "and to this; a w that does not fit is left out, and the largest that fits is measured")
    option("repeats", 5, "how many calls the median is taken of")
    option("members", 0, "the number of GPUs; 0 for all of them")
    parser.add_argument("--item", type=int, choices=sorted(DTYPES), default=8, help="bytes of an item (8)")
    parser.add_argument("--cpu", action="store_true", help="try the program on CPUs, which is nothing to report")
    arguments = parser.parse_args()
    # `from` is a word of the language.
    arguments.first, arguments.last = getattr(arguments, "from"), arguments.to
    if not 0 <= arguments.first <= arguments.last <= 40:
        parser.error("--from and --to are powers from 0 to 40, in this order")
    if arguments.repeats < 1:
        parser.error("--repeats is at least 1")
    return arguments


def main():
    arguments = parse_arguments()
    if not os.environ.get(REVISION):
        sys.exit(f"set {REVISION}, to `git rev-parse --short=7 HEAD` for example")
    devices = 0 if arguments.cpu else torch.cuda.device_count()
    if devices == 0 and not arguments.cpu:
        sys.exit("PyTorch sees no GPU: nothing to measure.")
    arguments.members = arguments.members or devices or 2
    if not arguments.cpu and arguments.members > devices:
        sys.exit(f"there are {devices} GPUs, not {arguments.members}")
    with tempfile.TemporaryDirectory() as folder:
        mp.spawn(run, (arguments, os.path.join(folder, "store")), arguments.members)


if __name__ == "__main__":
    main()
