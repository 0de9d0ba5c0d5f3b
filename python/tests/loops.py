"""What each process of `test_loops.py` runs: `loops.py FRAMEWORK RUN FOLDER`, with the environment
of `torchrun`. A training is three runs of 2, 1 and 2 processes: the first one trains for an epoch
and 10 steps, the second for 10 steps, the third to the end of epoch 2. Each process appends the
items that it trains with to a file."""

import contextlib
import importlib.util
import json
import os
import sys
from pathlib import Path

import bijective_shuffle as bs
import torch
from bijective_shuffle.torch import (
    BlockDataset,
    ShuffleBatchSampler,
    ShuffleSampler,
    SourceBatchSampler,
    StreamDataset,
)
from torch.utils.data import DataLoader, Dataset

N, BATCH, STEPS = 240, 4, 10
# A length that neither ranks divides.
ODD = 243
# Items and batches for which two ranks leave any remainder.
REMAINDERS = [(n, batch) for n in range(1, 18) for batch in (1, 2, 3, 8)]
ENDINGS = [{"tail": "pad"}, {"tail": "short"}, {"tail": "fill"}, {"drop_last": True}]
RANK, RANKS = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
EPOCHS = [(0, 1), (1,), (1, 2)]


class Items(Dataset):
    """Items that are their own numbers, also as those of the only set of a mixture, or as a document of
    four tokens that begins with them."""

    def __init__(self, n=N):
        self.n = n

    def __len__(self):
        return self.n

    def __getitem__(self, k):
        if isinstance(k, tuple):
            return k[1]
        return k if isinstance(k, int) else int(k[0, 0] * 4 + k[0, 1]) // 4


class Run:
    """One of the runs, and what it writes."""

    def __init__(self, number, folder):
        self.number, self.folder = number, Path(folder)
        self.lines = (self.folder / f"{number}-{RANK}.jsonl").open("a")

    def note(self, case, **what):
        """Writes what this process has to say of a case."""
        self.lines.write(json.dumps({"case": case, "rank": RANK, **what}) + "\n")
        self.lines.flush()

    def refused(self, case, call):
        """Notes the message of an error, or that there was none."""
        try:
            call()
        except (TypeError, ValueError) as error:
            self.note(case, refused=str(error))
        else:
            self.note(case, refused=None)

    def stops(self, epoch, steps):
        """Whether the run ends after `steps` steps."""
        return self.number < 2 and epoch == 1 and steps == STEPS

    def load(self, case, sampler):
        if self.number > 0:
            sampler.load_state_dict(json.loads((self.folder / f"{case}.json").read_text()))

    def save(self, case, sampler, steps):
        """Saves the state after the steps of an epoch that were trained with."""
        if self.number < 2:
            state = sampler.state_after(steps * places_of(sampler) * RANKS)
            self.note(case, state=state)
            if RANK == 0:
                (self.folder / f"{case}.json").write_text(json.dumps(state))

    def train(self, case, sampler, loader, set_epoch, beside=None, is_loaded=False):
        """A training loop."""
        if not is_loaded:
            self.load(case, sampler)
        for epoch in EPOCHS[self.number]:
            set_epoch(epoch)
            steps = 0
            for batch in loader:
                self.note(case, epoch=epoch, items=batch.tolist())
                steps += 1
                if beside is not None and steps == 3:
                    beside(loader)
                if self.stops(epoch, steps):
                    break
            self.note(case, epoch=epoch, steps=steps)
        self.save(case, sampler, steps)


def samplers(**settings):
    yield "sampler", ShuffleSampler(Items(), seed=1, **settings)
    yield "batches", ShuffleBatchSampler(Items(), BATCH, seed=1, **settings)
    yield from sources(**settings)


def sources(batch=BATCH, **settings):
    """Sources whose epochs have each item once."""
    yield "mixture", SourceBatchSampler(bs.Mixture([N], [1], 1), batch, **settings)
    yield "packed", SourceBatchSampler(bs.Packed([4] * N, 4, 1), batch, **settings)
    yield "lengths", SourceBatchSampler(bs.Lengths([1] * N, batch, 1, window=3 * batch), **settings)


def places_of(sampler):
    """How many places a rank takes in a step: for batches by length, each is a whole batch."""
    return 1 if getattr(sampler, "batch_size", BATCH) is None else BATCH


def loader_of(sampler, *, make=DataLoader, batch=BATCH, workers=0):
    if isinstance(sampler, (ShuffleBatchSampler, SourceBatchSampler)):
        return make(Items(), batch_sampler=sampler, num_workers=workers)
    return make(Items(), batch, sampler=sampler, num_workers=workers)


def evaluate(loader):
    """Looks at a batch, goes through the loader, and through it beside itself."""
    next(iter(loader))
    list(loader)
    list(zip(loader, loader))


def nothing(_):
    pass


@contextlib.contextmanager
def process_group():
    torch.distributed.init_process_group("gloo")
    yield
    torch.distributed.barrier()
    torch.distributed.destroy_process_group()


def run_torch(run, make=DataLoader):
    # Made before there is a process group.
    early = list(samplers())
    if run.number == 0:
        run.refused("no group", lambda: next(iter(early[0][1])))
    with process_group():
        for workers in (0, 2):
            for kind, sampler in early if workers == 0 else samplers():
                loader = loader_of(sampler, make=make, workers=workers)
                run.train(f"{kind} {workers}", sampler, loader, sampler.set_epoch)
            for kind, sampler in samplers():
                # Without `set_epoch`.
                loader = loader_of(sampler, make=make, workers=workers)
                run.train(f"{kind} {workers} counted", sampler, loader, nothing)
            for kind, sampler in samplers():
                loader = loader_of(sampler, make=make, workers=workers)
                run.train(f"{kind} {workers} beside", sampler, loader, sampler.set_epoch, evaluate)
        if run.number == 0:
            for kind, tail in (("pad", False), ("drop", True)):
                loader = make(Items(ODD), BATCH, sampler=ShuffleSampler(ODD, seed=1, drop_last=tail))
                run.note(f"odd {kind}", epoch=0, items=torch.cat(list(loader)).tolist())
                run.note(f"odd {kind}", epoch=0, steps=len(loader))
            for tail in ("pad", "drop"):
                for workers in (0, 2):
                    data = BlockDataset(lambda k: range(10 * k, 10 * k + 10), 200, block=10, window=2,
                                        seed=1, drop_last=tail == "drop")
                    batches = list(make(data, BATCH, num_workers=workers))
                    run.note(f"blocks {tail} {workers}", epoch=0, items=torch.cat(batches).tolist())
                    run.note(f"blocks {tail} {workers}", epoch=0, steps=len(batches))
            if make is DataLoader:
                run_remainders(run)
                run_evaluation(run)
        for workers in (0, 2):
            run_stream(run, f"stream {workers}", make, workers)


def run_remainders(run):
    """Trains with all remainders of items by ranks by batch: a rank with a step more would wait for
    ever in its gradients."""
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(1, 1))

    def train(case, loader):
        taken = []
        for batch in loader:
            model(torch.as_tensor(batch, dtype=torch.float32).reshape(-1, 1)).sum().backward()
            taken.append(batch.tolist())
        run.note(case, epoch=0, items=sum(taken, []))
        run.note(case, epoch=0, steps=len(taken))

    for n, batch in REMAINDERS:
        for ending in ENDINGS:
            case = f"{n} {batch} {ending}"
            sampler = ShuffleBatchSampler(n, batch, seed=1, **ending)
            train(case, DataLoader(Items(n), batch_sampler=sampler))
            sampler = SourceBatchSampler(bs.Mixture([n], [1], 1), batch, **ending)
            train(f"mixture {case}", DataLoader(Items(n), batch_sampler=sampler))
            if ending != {"tail": "fill"}:
                train(f"stream {case}", DataLoader(StreamDataset(range(n), 5, 1, batch, **ending), None))
    model(torch.zeros(1, 1)).sum().backward()


class Pairs(Items):
    """Items with a target each, from which a batch is a list of two tensors."""

    def __getitem__(self, k):
        return torch.tensor([float(k)]), k


def documented(heading, text):
    """The first block of Python below some text of a page of the documents."""
    page = (Path(__file__).parents[2] / "docs" / "python.md").read_text(encoding="utf-8")
    return page.split(heading, 1)[1].split(text, 1)[1].split("```python\n", 1)[1].split("```", 1)[0]


def run_evaluation(run):
    """The recipe of the documents, as it stands there, which repeats no item: ranks may have
    different numbers of steps, so nothing in the loop waits for others."""
    recipe = documented("### The last step", "For evaluation on several ranks")
    device = torch.device(f"cuda:{os.environ['LOCAL_RANK']}" if on_gpus() else "cpu")
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.BatchNorm1d(1).to(device))
    model.eval()
    for n in (1, 2, 17, ODD):

        def sum_of_losses(found, wanted):
            run.note(f"evaluated {n}", epoch=0, items=wanted.tolist())
            return torch.nn.functional.mse_loss(found[:, 0], 2.0 * wanted, reduction="sum")

        names = {
            "torch": torch, "DataLoader": DataLoader, "dataset": Pairs(n), "rank": RANK,
            "ranks": RANKS, "device": device, "model": model, "sum_of_losses": sum_of_losses,
        }
        exec(recipe.replace("batch_size=256", "batch_size=8"), names)
        each = torch.arange(n, dtype=torch.float64)
        expected = ((each / (1 + 1e-5) ** 0.5 - 2 * each) ** 2).mean()
        assert names["count"] == n and names["total"].device.type == device.type
        assert torch.isclose(names["mean"].cpu(), expected, rtol=1e-5)


def run_stream(run, case, make, workers):
    """A training with a stream, whose data set has the state."""
    data, path = StreamDataset(range(N), 50, 1, BATCH), run.folder / f"{case}.json"
    if run.number > 0:
        data.load_state_dict(json.loads(path.read_text()))
    for epoch in EPOCHS[run.number]:
        data.set_epoch(epoch)
        steps = 0
        for batch in make(data, batch_size=None, num_workers=workers):
            run.note(case, epoch=epoch, items=batch.tolist())
            steps += 1
            if run.stops(epoch, steps):
                break
        run.note(case, epoch=epoch, steps=steps)
    if run.number < 2:
        state = data.state_after(steps)
        run.note(case, state=state)
        if RANK == 0:
            path.write_text(json.dumps(state))


def run_stateful(run):
    from torchdata.stateful_dataloader import StatefulDataLoader

    run_torch(run, StatefulDataLoader)


def run_accelerate(run):
    from accelerate import Accelerator
    from accelerate.utils import DataLoaderConfiguration

    os.environ["ACCELERATE_USE_CPU"] = str(not on_gpus())
    ways = {
        "default": {},
        "split": {"split_batches": True},
        "dispatch": {"dispatch_batches": True},
        "dispatch split": {"dispatch_batches": True, "split_batches": True},
        "uneven": {"even_batches": False},
    }
    has_stateful = importlib.util.find_spec("torchdata") is not None
    if has_stateful:
        ways["stateful"] = {"use_stateful_dataloader": True}
    for way, settings in ways.items():
        accelerator = Accelerator(dataloader_config=DataLoaderConfiguration(**settings))
        batch = BATCH * RANKS if settings.get("split_batches") else BATCH
        for workers in (0, 2) if way in ("default", "stateful") else (0,):
            for kind, sampler in (
                ("sampler", ShuffleSampler(N, seed=1)),
                ("batches", ShuffleBatchSampler(N, batch, seed=1)),
                # Batches by length have no size that Accelerate knows, so it cannot split them.
                *((kind, sampler) for kind, sampler in sources(batch)
                  if kind != "lengths" or way == "uneven"),
            ):
                case, is_stateful = f"{way} {kind} {workers}", way == "stateful"
                beside = evaluate if way in ("default", "split", "uneven") else None
                if is_stateful:
                    # Its workers begin to draw in `prepare`.
                    run.load(case, sampler)
                loader = accelerator.prepare(loader_of(sampler, batch=batch, workers=workers))
                run.train(case, sampler, loader, loader.set_epoch, beside, is_stateful)
        if run.number == 0 and way in ("default", "dispatch", "uneven"):
            sampler = ShuffleSampler(ODD, seed=1)
            loader = accelerator.prepare(DataLoader(Items(ODD), BATCH, sampler=sampler))
            batches = [accelerator.gather_for_metrics(batch) for batch in loader if way != "uneven"]
            if RANK == 0 and batches:
                run.note(f"odd {way}", epoch=0, items=torch.cat(batches).tolist())
    accelerator = Accelerator()
    if run.number == 0:
        for n, batch in REMAINDERS:
            for ending in ENDINGS[:2]:
                loaders = {"prepared": accelerator.prepare(DataLoader(
                    Items(n), batch_sampler=ShuffleBatchSampler(n, batch, seed=1, **ending)))}
                for kind, source in (("given", bs.Mixture([n], [1], 1)), ("lengths", bs.Lengths([1] * n, batch, 1))):
                    given = SourceBatchSampler(source, 1 if kind == "lengths" else batch, rank=RANK,
                                               ranks=RANKS, **ending)
                    loaders[kind] = DataLoader(Items(n), batch_sampler=given)
                for kind, loader in loaders.items():
                    taken = [batch.tolist() for batch in loader]
                    run.note(f"{kind} {n} {batch} {ending}", epoch=0, items=sum(taken, []))
                    run.note(f"{kind} {n} {batch} {ending}", epoch=0, steps=len(taken))
            data = StreamDataset(range(n), 5, 1, batch)
            for epoch, loader in enumerate([accelerator.prepare(DataLoader(data, None))] * 2):
                taken = [items.tolist() for items in loader]
                run.note(f"stream {n} {batch}", epoch=epoch, items=sum(taken, []))
                run.note(f"stream {n} {batch}", epoch=epoch, steps=len(taken))
        plain = DataLoader(Items(), BATCH, sampler=ShuffleSampler(N, seed=1))
        run.refused("not prepared", lambda: list(plain))
        given = ShuffleSampler(N, seed=1, rank=RANK, ranks=RANKS)
        run.note("given", epoch=0, items=list(given))
        twice = accelerator.prepare(loader_of(given))
        run.refused("twice", lambda: list(twice))
        whole = accelerator.prepare(loader_of(ShuffleSampler(N, seed=1, rank=0, ranks=1)))
        run.note("whole", epoch=0, items=torch.cat(list(whole)).tolist())
        data = BlockDataset(lambda k: range(10 * k, 10 * k + 10), 200, block=10, window=2, seed=1)
        for dispatch in (True, False):
            config = DataLoaderConfiguration(dispatch_batches=dispatch)
            for workers in (0, 2):
                loader = DataLoader(data, 5, num_workers=workers)
                loader = Accelerator(dataloader_config=config).prepare(loader)
                items = torch.cat(list(loader)).tolist()
                run.note(f"blocks {dispatch} {workers}", epoch=0, items=items)
    else:
        sampler = ShuffleSampler(N, seed=1)
        run.load("default sampler 0", sampler)
        loader = accelerator.prepare(loader_of(sampler))
        run.refused("epoch 0", lambda: list(loader))
    if run.number > 0 and has_stateful:
        config = DataLoaderConfiguration(use_stateful_dataloader=True)
        sampler = ShuffleSampler(N, seed=1)
        loader = Accelerator(dataloader_config=config).prepare(loader_of(sampler, workers=2))
        run.load("default sampler 0", sampler)
        loader.set_epoch(1)
        run.refused("late", lambda: list(loader))
    accelerator.end_training()


def run_transformers(run):
    from transformers import Trainer, TrainerCallback, TrainingArguments

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.zeros(1))

        def forward(self, item, labels=None):
            run.note(case, epoch=int(trainer.state.epoch + 1e-9), items=item.tolist())
            return {"loss": (self.weight * item.float()).sum() * 0.0}

    class Ours(Trainer):
        def _get_train_sampler(self, dataset=None):
            return ShuffleSampler(self.train_dataset, seed=1)

    class OfSource(Trainer):
        def get_train_dataloader(self):
            sampler = dict(sources(2 * BATCH // RANKS))["mixture"]
            loader = DataLoader(self.train_dataset, batch_sampler=sampler, collate_fn=collate)
            return self.accelerator.prepare(loader)

    class Stop(TrainerCallback):
        def on_step_end(self, args, state, control, **_):
            control.should_training_stop |= state.global_step == [40, 50, None][run.number]
            control.should_save |= control.should_training_stop
            return control

    def collate(items):
        return {"item": torch.tensor(items), "labels": torch.tensor(items)}

    cases = [("trainer", Ours, N), ("trainer mixture", OfSource, N)]
    if run.number == 0:
        cases += [(f"trainer {n}", Ours, n) for n in (1, 17, 18)]
    for case, kind, n in cases:
        # The Trainer counts steps, so all runs have equally many items in one.
        arguments = TrainingArguments(
            output_dir=str(run.folder / case), num_train_epochs=3, report_to=[], save_steps=10_000,
            per_device_train_batch_size=2 * BATCH // RANKS, use_cpu=not on_gpus(), disable_tqdm=True,
            save_strategy="steps", logging_steps=10_000, dataloader_num_workers=2,
        )
        trainer = kind(Model(), arguments, train_dataset=Items(n), data_collator=collate,
                       callbacks=[Stop()])
        trainer.train(resume_from_checkpoint=run.number > 0)


def run_lightning(run):
    import lightning

    class Model(lightning.LightningModule):
        def __init__(self, case, sampler):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.zeros(1))
            self.case, self.sampler, self.steps = case, sampler, 0

        def on_train_epoch_start(self):
            self.steps = 0

        def training_step(self, batch, _):
            run.note(self.case, epoch=self.current_epoch, items=batch.tolist())
            self.steps += 1
            return (self.weight * batch.float()).sum() * 0.0

        def on_train_batch_end(self, *_):
            if run.stops(self.current_epoch, self.steps):
                self.trainer.save_checkpoint(run.folder / f"{self.case}.ckpt")

        def on_save_checkpoint(self, checkpoint):
            taken = self.steps * places_of(self.sampler) * RANKS
            checkpoint["order"] = self.sampler.state_after(taken)

        def on_load_checkpoint(self, checkpoint):
            self.sampler.load_state_dict(checkpoint["order"])
            # Lightning ends the epoch by the number of steps, which the runs before took in others.
            done = checkpoint["loops"]["fit_loop"]["epoch_loop.batch_progress"]["current"]
            change = self.sampler.consumed // (places_of(self.sampler) * RANKS) - done["ready"]
            done.update({name: steps + change for name, steps in done.items()})

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), 0.1)

    def trainer(**settings):
        return lightning.Trainer(
            accelerator="gpu" if on_gpus() else "cpu", devices=RANKS, max_epochs=3,
            max_steps=[40, 50, -1][run.number], strategy="ddp" if RANKS > 1 else "auto",
            logger=False, enable_checkpointing=False, enable_progress_bar=False,
            enable_model_summary=False, default_root_dir=str(run.folder), **settings,
        )

    for kind, sampler in samplers():
        model = Model(kind, sampler)
        fit = trainer(use_distributed_sampler=kind == "sampler")
        path = run.folder / f"{kind}.ckpt"
        fit.fit(model, loader_of(sampler), ckpt_path=path if run.number > 0 else None)
    if run.number == 0:
        for n in (1, 17, 18):
            for ending in ENDINGS[:2]:
                sampler = ShuffleBatchSampler(n, 8, seed=1, **ending)
                model = Model(f"{n} {ending}", sampler)
                trainer(use_distributed_sampler=False).fit(model, loader_of(sampler))
                run.note(f"{n} {ending}", epoch=2, steps=model.steps)
        sampler = ShuffleBatchSampler(Items(), BATCH, seed=1)
        run.refused("replaced", lambda: trainer().fit(Model("replaced", sampler), loader_of(sampler)))


def on_gpus():
    return torch.cuda.is_available()


if __name__ == "__main__":
    globals()[f"run_{sys.argv[1]}"](Run(int(sys.argv[2]), sys.argv[3]))
    # The threads of a group that its framework leaves behind may end the process, if another rank
    # is gone first: "terminate called without an active exception".
    if torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()
