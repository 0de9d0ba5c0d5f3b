"""Training loops of PyTorch, torchdata, Accelerate, Lightning, transformers and Ray: runs of two, one
and two processes, each of which goes on where the one before stopped. Every item is counted.

The processes run `loops.py`. They are on GPUs where there are at least two, and on the CPU
otherwise."""

import collections
import importlib.util
import itertools
import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

RANKS = (2, 1, 2)
KINDS = ("sampler", "batches", "mixture", "packed", "lengths")
LIMIT = 300
PAD, SHORT, FILL, DROP = {"tail": "pad"}, {"tail": "short"}, {"tail": "fill"}, {"drop_last": True}


def repeats(n, batch, ending):
    """How many items two ranks repeat, or leave out, in an epoch."""
    last = n % (2 * batch)
    if last == 0 or ending == DROP:
        return -last
    return 2 * batch - last if ending == FILL else last % 2 if ending == PAD or last < 2 else 0


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def gpus(ranks):
    """Those that are to be seen by the processes of a run: one each, or none at all."""
    if torch.cuda.device_count() < max(RANKS):
        return ""
    seen = os.environ.get("CUDA_VISIBLE_DEVICES") or "0,1"
    return ",".join(seen.split(",")[:ranks])


def run(framework, number, folder):
    """Runs the processes of one run."""
    ranks, port = RANKS[number], free_port()
    processes = []
    for rank in range(ranks):
        environment = {
            **os.environ, "RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(ranks),
            "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "OMP_NUM_THREADS": "1",
            "CUDA_VISIBLE_DEVICES": gpus(ranks),
            # Otherwise the host's name is looked up, which can take minutes without a network.
            "GLOO_SOCKET_IFNAME": "lo", "NCCL_SOCKET_IFNAME": "lo",
        }
        script = Path(__file__).with_name("loops.py")
        command = [sys.executable, "-W", "ignore", str(script), framework, str(number), str(folder)]
        log = (folder / f"{number}-{rank}.log").open("w")
        processes.append(subprocess.Popen(command, env=environment, stdout=log, stderr=log))
    try:
        codes = [process.wait(LIMIT) for process in processes]
    finally:
        for process in processes:
            process.kill()
    logs = [(folder / f"{number}-{rank}.log").read_text()[-3000:] for rank in range(ranks)]
    assert codes == [0] * ranks, "\n".join(logs)


class Notes:
    """What the processes of a training have noted."""

    def __init__(self, folder):
        self.items = collections.defaultdict(collections.Counter)
        self.steps = collections.defaultdict(set)
        self.states = collections.defaultdict(set)
        self.refused = collections.defaultdict(list)
        for path in sorted(folder.glob("*.jsonl")):
            number = int(path.name[0])
            for line in path.read_text().splitlines():
                note = json.loads(line)
                case, epoch = note["case"], note.get("epoch")
                self.items[case, epoch].update(note.get("items", ()))
                if "steps" in note:
                    self.steps[case, epoch, number].add(note["steps"])
                if "state" in note:
                    self.states[case, number].add(json.dumps(note["state"]))
                if "refused" in note:
                    self.refused[case].append(note["refused"])

    def trained(self, n, *cases, epochs=3):
        """Checks that each item came once in each epoch, and that the ranks agree."""
        for case in cases:
            for epoch in range(epochs):
                assert self.items.pop((case, epoch)) == collections.Counter(range(n)), (case, epoch)
        for what in (self.steps, self.states):
            assert all(len(values) == 1 for values in what.values()), what

    def covered(self, case, n, total, epochs=1):
        """Checks that all items came, and how many in all."""
        for epoch in range(epochs):
            counts = self.items.pop((case, epoch), collections.Counter())
            assert counts.total() == total and len(counts) == min(n, total), (case, counts)

    def refuses(self, case, text, times):
        found = self.refused.pop(case)
        assert len(found) == times and all(text in str(error) for error in found), found


@pytest.fixture
def train(tmp_path):
    def all_runs(framework, needs):
        if importlib.util.find_spec(needs) is None:
            pytest.skip(f"{needs} is not installed")
        for number in range(len(RANKS)):
            run(framework, number, tmp_path)
        return Notes(tmp_path)

    return all_runs


@pytest.mark.parametrize("framework,needs", [("torch", "torch"), ("stateful", "torchdata")])
def test_loops_of_pytorch(train, framework, needs):
    notes = train(framework, needs)
    if framework == "torch":
        for n, batch, ending in itertools.product(range(1, 18), (1, 2, 3, 8), (PAD, SHORT, FILL, DROP)):
            for kind in ("", "mixture ", "stream ") if ending != FILL else ("", "mixture "):
                notes.covered(f"{kind}{n} {batch} {ending}", n, n + repeats(n, batch, ending))
        notes.trained(17, "evaluated 17", epochs=1)
        notes.trained(243, "evaluated 243", epochs=1)
    notes.trained(240, *(f"{kind} {workers}{way}" for kind in KINDS
                         for workers in (0, 2) for way in ("", " counted", " beside")),
                  "stream 0", "stream 2")
    notes.refuses("no group", "init_process_group", 2)
    # Of 243 items one is repeated on two ranks, or one is left out.
    counts = notes.items["odd pad", 0]
    assert set(counts) == set(range(243)) and counts.total() == 244
    assert notes.items["odd drop", 0].total() == len(notes.items["odd drop", 0]) == 242
    # Ten windows of 20 items on two ranks: five on each, or, with two workers, three and two.
    for tail, workers, total in [("pad", 0, 200), ("pad", 2, 240), ("drop", 0, 200), ("drop", 2, 160)]:
        counts = notes.items[f"blocks {tail} {workers}", 0]
        assert counts.total() == total and len(counts) == min(total, 200)


def test_loops_of_accelerate(train):
    notes = train("accelerate", "accelerate")
    for n, batch, ending in itertools.product(range(1, 18), (1, 2, 3, 8), (PAD, SHORT)):
        case = f"{n} {batch} {ending}"
        notes.covered(f"given {case}", n, n + repeats(n, batch, ending))
        prepared = notes.items.pop((f"prepared {case}", 0))
        assert set(prepared) == set(range(n)), case
        # A batch is of `batch` items there, and may be repeated whole.
        assert set(notes.items.pop((f"lengths {case}", 0))) == set(range(n)), case
        for epoch in range(2 if ending == PAD else 0):
            found = notes.items.pop((f"stream {n} {batch}", epoch))
            assert set(found) == set(range(n)) and found.total() - n < 2, (n, batch)
    ways = ["default", "split", "dispatch", "dispatch split", "uneven"]
    if importlib.util.find_spec("torchdata") is not None:
        ways.append("stateful")
    cases = [f"{way} {kind} {workers}" for way in ways for kind in KINDS
             if kind != "lengths" or way == "uneven"
             for workers in ((0, 2) if way in ("default", "stateful") else (0,))]
    notes.trained(240, *cases)
    notes.trained(243, "odd default", "odd dispatch", epochs=1)
    notes.trained(240, "given", "whole", epochs=1)
    notes.trained(200, *(f"blocks {way} {workers}" for way in (True, False) for workers in (0, 2)),
                  epochs=1)
    notes.refuses("not prepared", "accelerator.prepare", 2)
    notes.refuses("twice", "leave out rank and ranks", 2)
    notes.refuses("epoch 0", "set_epoch(0) would lose the place", 3)
    if "stateful" in ways:
        notes.refuses("late", "load the state into the sampler before", 3)


def test_loops_of_transformers(train):
    pytest.importorskip("accelerate", reason="accelerate is not installed")
    notes = train("transformers", "transformers")
    for n in (1, 17, 18):
        for epoch in range(3):
            assert set(notes.items.pop((f"trainer {n}", epoch))) == set(range(n))
    notes.trained(240, "trainer", "trainer mixture")


def test_loops_of_lightning(train):
    notes = train("lightning", "lightning")
    for n, ending in itertools.product((1, 17, 18), (PAD, SHORT)):
        notes.covered(f"{n} {ending}", n, n + repeats(n, 8, ending), epochs=3)
    notes.trained(240, *KINDS)
    notes.refuses("replaced", "Trainer(use_distributed_sampler=False)", 2)


def test_loops_of_ray(tmp_path):
    pytest.importorskip("ray.train.torch", reason="ray[train] is not installed")
    import ray
    from ray.train import RunConfig, ScalingConfig
    from ray.train.torch import TorchTrainer

    def loop(config):
        """What each of Ray's workers runs, which cannot import this module."""
        import ray.train.torch
        from bijective_shuffle.torch import ShuffleBatchSampler, ShuffleSampler
        from torch.utils.data import DataLoader

        prepare, lines = ray.train.torch.prepare_data_loader, []
        # A rank with a step more would wait for ever in its gradients.
        model = ray.train.torch.prepare_model(torch.nn.Linear(1, 1))
        for n, batch, ending in config["cases"]:
            data = torch.arange(n)
            loaders = {
                "sampler": prepare(DataLoader(data, batch, sampler=ShuffleSampler(n, seed=1))),
                "batches": prepare(DataLoader(data, batch_sampler=ShuffleBatchSampler(
                    n, batch, seed=1, **ending)), add_dist_sampler=False),
            }
            for (kind, loader), epoch in itertools.product(loaders.items(), range(2)):
                taken = []
                for items in loader:
                    model(items.float().reshape(-1, 1)).sum().backward()
                    taken.append(items.tolist())
                note = {"case": f"{kind} {n} {batch} {ending}", "epoch": epoch}
                lines += [note | {"items": sum(taken, [])}, note | {"steps": len(taken)}]
        rank = ray.train.get_context().get_world_rank()
        Path(config["folder"], f"0-{rank}.jsonl").write_text("\n".join(map(json.dumps, lines)))

    cases = list(itertools.product((1, 2, 3, 8, 16, 17), (1, 3, 8), (PAD, SHORT)))
    ray.init(num_cpus=3, include_dashboard=False, logging_level="ERROR")
    try:
        TorchTrainer(
            loop, train_loop_config={"folder": str(tmp_path), "cases": cases},
            scaling_config=ScalingConfig(num_workers=2),
            run_config=RunConfig(storage_path=str(tmp_path / "runs")),
        ).fit()
    finally:
        ray.shutdown()
    notes = Notes(tmp_path)
    for n, batch, ending in cases:
        case = f"{n} {batch} {ending}"
        notes.covered(f"batches {case}", n, n + repeats(n, batch, ending), epochs=2)
        notes.covered(f"sampler {case}", n, n + n % 2, epochs=2)
    assert not notes.items
    notes.trained(0)
