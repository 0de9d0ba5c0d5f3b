"""Batches for private training: laws, ranks, states, and Opacus."""

import bijective_shuffle as bs
import numpy as np
import pytest
from bijective_shuffle.resample import FixedSizeBatchSampler, PoissonBatchSampler


def poisson(**how):
    return PoissonBatchSampler(**{"num_samples": 1000, "sample_rate": 0.05, "seed": 42, **how})


def test_batches_are_those_of_the_second_implementation():
    # crates/resample/vectors/resample.json has them.
    batch = poisson(num_samples=10**8, sample_rate=1e-5).batch(0)
    assert (len(batch), batch[:5].tolist()) == (1016, [38103, 198851, 233284, 517141, 520979])
    assert batch.dtype == np.int64 and (np.diff(batch) > 0).all()


@pytest.mark.parametrize("make", [poisson, lambda **how: FixedSizeBatchSampler(num_samples=1000, batch_size=51, seed=42, **how)])
def test_the_shares_of_all_ranks_are_the_batch(make):
    whole = make()
    for ranks in (1, 2, 3, 7, 100):
        for step in (0, 5, 2**40):
            shares = [make(rank=rank, ranks=ranks).batch(step) for rank in range(ranks)]
            assert sorted(np.concatenate(shares).tolist()) == sorted(whole.batch(step).tolist())
            assert max(map(len, shares)) - min(map(len, shares)) <= 1


def test_each_iteration_is_an_epoch_and_a_state_goes_on():
    sampler = poisson(steps=7)
    epochs = [list(sampler), list(sampler)]
    assert [len(epoch) for epoch in epochs] == [7, 7] and len(sampler) == 7
    expected = [poisson().batch(step).tolist() for step in range(14)]
    assert epochs[0] + epochs[1] == expected
    sampler.set_epoch(1)
    assert list(sampler) == epochs[1]
    begun = iter(poisson(steps=7))
    first = [next(begun) for _ in range(3)]
    state = {"seed": 42, "step": 3}
    resumed = poisson(steps=7)
    resumed.load_state_dict(state)
    assert first + list(resumed) == epochs[0] and resumed.state_dict() == {"seed": 42, "step": 7}
    with pytest.raises(ValueError, match="another seed"):
        poisson(seed=1).load_state_dict(state)


def test_empty_batches_are_steps():
    sampler = poisson(num_samples=3, sample_rate=0.01, steps=400)
    batches = list(sampler)
    assert len(batches) == 400 and 300 < batches.count([]) < 400
    assert len(poisson(num_samples=10, sample_rate=0.125)) == 8


def test_fixed_batches_are_the_beginning_of_walked_orders():
    sampler = FixedSizeBatchSampler(num_samples=10**9, batch_size=5, seed=3, steps=4)
    for step, batch in enumerate(sampler):
        assert batch == [bs.Permutation.walk(10**9, 3, epoch=step)[k] for k in range(5)]
    assert len(FixedSizeBatchSampler(num_samples=100, batch_size=30, seed=1)) == 3
    # A batch is a choice of its own, so items of neighbouring ones repeat.
    a, b = (set(FixedSizeBatchSampler(num_samples=10, batch_size=6, seed=1).batch(k).tolist()) for k in (0, 1))
    assert len(a) == len(b) == 6 and a & b


def test_each_item_comes_as_often_as_the_rate_says():
    counts = np.zeros(1000)
    for step in range(4000):
        counts[poisson().batch(step)] += 1
    error = np.sqrt(4000 * 0.05 * 0.95)
    assert abs(counts - 200).max() < 5.5 * error
    assert 0.8 < counts.var() / error**2 < 1.2


def test_bad_input_is_refused():
    for wrong in ({"num_samples": 0}, {"sample_rate": 0.0}, {"sample_rate": 1.1}, {"sample_rate": np.nan}, {"steps": 0},
                  {"rank": 2, "ranks": 2}, {"rank": -1}, {"ranks": 0}, {"seed": -1}, {"num_samples": 2**64 - 1}):
        with pytest.raises(ValueError):
            poisson(**wrong)
    for wrong in ({"batch_size": 0}, {"batch_size": 11}, {"steps": 0}):
        with pytest.raises(ValueError):
            FixedSizeBatchSampler(**{"num_samples": 10, "batch_size": 2, "seed": 1, **wrong})
    assert PoissonBatchSampler(num_samples=9, sample_rate=1, steps=2, seed=1).batch(0).tolist() == list(range(9))
    seeds = {PoissonBatchSampler(num_samples=9, sample_rate=0.5).state_dict()["seed"] for _ in range(3)}
    assert len(seeds) == 3


def test_a_generator_of_pytorch_draws_the_seed():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    batches = [list(poisson(seed=None, generator=torch.Generator().manual_seed(k))) for k in (1, 1, 2)]
    assert batches[0] == batches[1] != batches[2]


def test_opacus_trains_with_batches_that_may_be_empty():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    pytest.importorskip("opacus", reason="Opacus is not installed")
    from opacus import PrivacyEngine
    from opacus.data_loader import DPDataLoader
    from opacus.utils.uniform_sampler import UniformWithReplacementSampler

    torch.manual_seed(1)
    data = torch.utils.data.TensorDataset(torch.randn(60, 4), torch.randint(0, 2, (60,)))
    own = DPDataLoader(data, sample_rate=0.02)
    theirs = UniformWithReplacementSampler(num_samples=60, sample_rate=0.02)
    ours = PoissonBatchSampler(num_samples=60, sample_rate=0.02, seed=5)
    assert len(ours) == len(theirs) == len(own) == 50
    assert {type(batch) for batch in ours} == {type(batch) for batch in theirs} == {list}
    ours.set_epoch(0)
    # The function of Opacus' loader makes batches of no items.
    loader = torch.utils.data.DataLoader(data, batch_sampler=ours, collate_fn=own.collate_fn)
    model = torch.nn.Linear(4, 2)
    engine = PrivacyEngine(accountant="rdp")
    model, optimizer, loader = engine.make_private(
        module=model, optimizer=torch.optim.SGD(model.parameters(), 0.1), data_loader=loader,
        noise_multiplier=1.0, max_grad_norm=1.0, poisson_sampling=False)
    sizes = []
    for x, y in loader:
        sizes.append(len(x))
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(x), y, reduction="sum").backward()
        optimizer.step()
    assert sizes == [len(ours.batch(step)) for step in range(50)] and 0 in sizes
    # Every step counts with the rate of the sampler, also the empty ones.
    assert [(rate, steps) for _, rate, steps in engine.accountant.history] == [(0.02, 50)]


def test_the_distributed_sampler_has_the_ranks_of_pytorch(tmp_path):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    from bijective_shuffle.resample import DistributedPoissonBatchSampler

    torch.distributed.init_process_group("gloo", init_method=f"file://{tmp_path / 'group'}", rank=0, world_size=1)
    try:
        sampler = DistributedPoissonBatchSampler(total_size=1000, sample_rate=0.05, shuffle_seed=42)
        assert list(sampler)[3] == poisson().batch(3).tolist()
    finally:
        torch.distributed.destroy_process_group()
