"""The batches of a training loop, over ranks, resumed with another number of them."""

import pickle

import bijective_shuffle as bs
import numpy as np
import pytest


def epoch_of(n, seed, epoch=0, **settings):
    """All ranks' batches of an epoch, step by step."""
    ranks = settings.pop("ranks", 1)
    samplers = [bs.Sampler(n, seed, rank=rank, ranks=ranks, **settings) for rank in range(ranks)]
    for sampler in samplers:
        sampler.set_epoch(epoch)
    return [list(step) for step in zip(*samplers, strict=True)]


def test_steps_deal_out_the_beginning_of_the_order():
    order = bs.Permutation.walk(1000, 42, epoch=3).to_numpy()
    steps = epoch_of(1000, 42, epoch=3, ranks=4, batch=25)
    assert len(steps) == bs.Sampler(1000, 42, ranks=4, batch=25).steps == 10
    for number, batches in enumerate(steps):
        step = order[100 * number : 100 * (number + 1)]
        for rank, batch in enumerate(batches):
            assert batch.dtype == np.int64
            assert np.array_equal(batch, step[rank::4])


@pytest.mark.parametrize("tail,lengths", [("short", [5, 5, 4]), ("pad", [5, 5, 5]),
                                          ("fill", [8, 8, 8]), ("drop", None)])
def test_tails(tail, lengths):
    # 110 = 4 * 24 + 14
    steps = epoch_of(110, 7, ranks=3, batch=8, tail=tail)
    assert len(steps) == (4 if lengths is None else 5)
    assert all(len(batch) == 8 for step in steps[:4] for batch in step)
    if lengths:
        assert [len(batch) for batch in steps[4]] == lengths
        taken = np.concatenate([batch for step in steps for batch in step])
        assert set(taken.tolist()) == set(range(110))


def test_the_original_order_and_blocks():
    steps = epoch_of(10, 1, ranks=2, batch=3, sequential=True, tail="short")
    assert [batch.tolist() for step in steps for batch in step] == [[0, 2, 4], [1, 3, 5], [6, 8], [7, 9]]
    steps = epoch_of(1000, 42, batch=40, blocks=(10, 4))
    assert np.array_equal(np.concatenate([s[0] for s in steps]),
                          bs.BlockShuffle(1000, 10, 4, 42).order.to_numpy())
    with pytest.raises(ValueError):
        bs.Sampler(10, 1, blocks=(2, 2), sequential=True)


def test_no_epoch_follows_the_last():
    for draws, match in [(bs.Sampler(10, 5), "no other follows"), (bs.Weighted([1, 2], 5).batches(4), "2\\^64 - 1")]:
        draws.set_epoch(2**64 - 1)
        state = draws.state()
        with pytest.raises(ValueError, match=match):
            draws.next_epoch()
        assert draws.epoch == 2**64 - 1 and draws.state() == state


@pytest.mark.parametrize("later_ranks,later_batch", [(1, 60), (3, 8), (7, 11), (8, 1)])
def test_other_ranks_resume_a_sampler_with_the_rest(later_ranks, later_batch):
    seen = []
    state = None
    for rank in range(4):
        sampler = bs.Sampler(1000, 5, rank=rank, ranks=4, batch=16, tail="short")
        sampler.next_epoch()
        seen += [item for _ in range(7) for item in sampler.next_batch()]
        assert state in (None, sampler.state())
        state = sampler.state()
        assert sampler.consumed == 7 * 64 and sampler.steps_remaining == 9
    for rank in range(later_ranks):
        sampler = bs.Sampler(1000, 5, rank=rank, ranks=later_ranks, batch=later_batch, tail="short")
        sampler.resume(state)
        assert sampler.epoch == 1
        seen += [item for batch in sampler for item in batch]
    assert sorted(seen) == list(range(1000))


@pytest.mark.parametrize("order", [{}, {"blocks": (3, 2)}, {"sequential": True}])
def test_a_state_by_numbers_is_the_state_after_drawing(order):
    sampler, other = bs.Sampler(103, b"k" * 32, ranks=4, batch=5, **order), bs.Sampler(103, b"k" * 32, **order)
    for epoch in (0, 7, 2**64 - 1):
        sampler.set_epoch(epoch)
        for _ in range(sampler.steps + 1):
            assert other.state_at(epoch, sampler.consumed) == sampler.state()
            sampler.next_batch()
    resumed = bs.Sampler(103, b"k" * 32, **order)
    resumed.resume(sampler.state_at(9, 41))
    assert (resumed.epoch, resumed.consumed, other.epoch, other.consumed) == (9, 41, 0, 0)
    with pytest.raises(IndexError, match="^104 items consumed were given, and an epoch has 103:"):
        other.state_at(0, 104)
    with pytest.raises(ValueError, match="consumed is an integer from 0"):
        other.state_at(0, -1)


def test_states_of_other_samplers_are_refused():
    sampler = bs.Sampler(1000, 5)
    sampler.next_batch()
    state = sampler.state()
    others = [bs.Sampler(1001, 5), bs.Sampler(1000, 6), bs.Sampler(1000, 5, blocks=(10, 10))]
    for other in others:
        before = other.state()
        for text in (state, state[:-1], "", "nonsense", state.replace("1", "2", 1)):
            with pytest.raises(bs.ForeignStateError):
                other.resume(text)
        assert other.state() == before
    assert issubclass(bs.ForeignStateError, ValueError)


def test_pickles_go_on_where_they_were():
    for settings in ({}, {"blocks": (10, 3)}, {"sequential": True},
                     {"rank": 2, "ranks": 3, "batch": 7, "tail": "drop"}):
        for seed in (42, bytes(range(32))):
            sampler = bs.Sampler(1000, seed, **settings)
            sampler.set_epoch(3)
            sampler.next_batch()
            again = pickle.loads(pickle.dumps(sampler))
            assert repr(again) == repr(sampler) and again.state() == sampler.state()
            assert np.array_equal(again.next_batch(), sampler.next_batch())


def test_wrong_settings_are_refused():
    for n, settings in [(0, {}), (10, {"rank": 1}), (10, {"ranks": 0}), (10, {"batch": 0}),
                        (10, {"tail": "long"}), (10, {"blocks": (0, 1)}), (-1, {}),
                        (10, {"ranks": 2**63, "batch": 4}), (2**63 + 1, {}), (10, {"rank": -1}),
                        (10, {"batch": -1}), (10, {"blocks": (1, -1)})]:
        with pytest.raises(ValueError):
            bs.Sampler(n, 1, **settings)
    with pytest.raises(ValueError):
        bs.Sampler(10, 1).set_epoch(-1)
    for blocks in (5, (1,), (1, 2, 3), (1.0, 2)):
        with pytest.raises((TypeError, ValueError)):
            bs.Sampler(10, 1, blocks=blocks)
    with pytest.raises(MemoryError):
        bs.Sampler(2**62, 1, batch=2**61).next_batch()
    assert bs.Sampler(2**63, 1, batch=100).next_batch().min() >= 0


def test_a_trillion_items():
    sampler = bs.Sampler(10**12, 42, rank=5, ranks=8, batch=4)
    order = bs.Permutation.walk(10**12, 42)
    assert sampler.next_batch().tolist() == [order[5 + 8 * k] for k in range(4)]
    assert sampler.steps == 10**12 // 32


def test_the_length_of_a_sampler_is_the_number_of_steps_that_are_left():
    sampler = bs.Sampler(1000, 5, ranks=2, batch=30, tail="short")
    for left in range(sampler.steps, 0, -1):
        assert len(sampler) == sampler.steps_remaining == left and sampler
        assert repr(sampler).endswith(f"at item {sampler.consumed} of epoch 0>")
        next(sampler)
    assert len(sampler) == 0 and sampler.next_batch() is None
    assert sampler, "a sampler at the end of its epoch is still there"
    sampler.next_epoch()
    assert len(sampler) == len(list(sampler)) == 17
    assert len(bs.Sampler(10, 1, batch=100, tail="drop")) == 0
    many = bs.Sampler(2**63, 1)
    with pytest.raises(OverflowError, match="steps_remaining"):
        len(many)
    assert many and many.steps_remaining == 2**63


@pytest.mark.parametrize("settings", [
    {}, {"rank": 1, "ranks": 3}, {"blocks": (1000, 7)}, {"sequential": True}, {"tail": "fill"},
    {"tail": "drop"}, {"rank": 2, "ranks": 3, "tail": "fill"},
], ids=str)
def test_large_batches_are_those_of_small_ones(settings):
    """Batches of more than 2^16 items are drawn in parts, and not by the calling thread."""
    n, batch = 700_000, 150_000
    large = bs.Sampler(n, 5, batch=batch, **settings)
    ranks = settings.get("ranks", 1)
    whole = np.arange(n) if "sequential" in settings else bs.Permutation.walk(n, 5).to_numpy()
    if "blocks" in settings:
        whole = bs.BlockShuffle(n, *settings["blocks"], 5).order.to_numpy()
    for step, items in enumerate(large):
        assert items.dtype == np.int64 and items.flags.writeable
        places = step * batch * ranks + settings.get("rank", 0) + ranks * np.arange(batch)
        own = places[places < n]
        if settings.get("tail", "pad") == "fill":
            # Behind its end the order begins again.
            own = np.where(places < n, places, (places - n) % n)
        elif settings.get("tail", "pad") == "pad" and len(own) < len(items):
            own = np.append(own, places[len(own)] - n)
        assert np.array_equal(items, whole[own])
    assert large.steps_remaining == 0 and step + 1 == large.steps
