"""Orders as operations on tensors of PyTorch."""

import bijective_shuffle as bs
import numpy as np
import pytest
from walks import BYTES, KEYS, items, lengths, places

torch = pytest.importorskip("torch", reason="torch is not installed")
if not hasattr(torch, "while_loop"):
    pytest.skip("this PyTorch has no while_loop", allow_module_level=True)

from bijective_shuffle import _walk_torch  # noqa: E402
from bijective_shuffle.torch import randperm, walk, walk_inverse  # noqa: E402
from torch._dynamo.testing import CompileCounter  # noqa: E402

# Of a table, of a walk, and of a power of two, which never walks.
LENGTHS = [100, 1000, 1024]


def number(word):
    """A seed or an epoch as a tensor."""
    if isinstance(word, bytes):
        return torch.from_numpy(np.frombuffer(word, "<i8").copy())
    return torch.from_numpy(np.array(word, np.uint64).view(np.int64))


def order(n, seed=42, epoch=0):
    return torch.from_numpy(items(n, seed, epoch, places(n)).astype(np.int64))


def test_orders_of_all_lengths():
    for k, n in enumerate([*range(1, 1001), *lengths(63)]):
        seed, epoch = KEYS[k % len(KEYS)]
        at = torch.from_numpy(places(n).astype(np.int64))
        want = torch.from_numpy(items(n, seed, epoch, places(n)).astype(np.int64))
        # By native code, by operations from keys that are known, and by operations from tensors.
        drawn = number(seed), number(epoch)
        known = _walk_torch._known_keys(n, seed, epoch, at.device)
        assert torch.equal(_walk_torch._drawn_keys(n, drawn[0].reshape(-1), drawn[1].reshape(-1), at.device), known)
        for key in ((seed, epoch), drawn):
            assert torch.equal(walk(at, n, *key), want), n
            assert torch.equal(walk_inverse(want, n, *key), at), n


@pytest.mark.parametrize("n", LENGTHS)
def test_vmap_over_seeds_epochs_and_places(n):
    at = torch.arange(n)
    want = torch.stack([order(n, seed) for seed in range(4)])
    assert torch.equal(torch.vmap(lambda seed: walk(at, n, seed))(torch.arange(4)), want)
    assert torch.equal(torch.vmap(lambda e: walk(at, n, 42, e))(torch.arange(2))[1], order(n, 42, 1))
    for seed in (2, torch.tensor(2)):
        assert torch.equal(torch.vmap(lambda i: walk(i, n, seed))(at.reshape(2, -1)).reshape(-1), want[2])
    both = torch.vmap(lambda i, seed: walk_inverse(i, n, seed), in_dims=(1, 0))
    assert torch.equal(both(want.T, torch.arange(4)), at.expand(4, n))


@pytest.mark.parametrize("n", LENGTHS)
def test_compiled_functions_are_one_graph_for_all_seeds_and_epochs(n):
    torch._dynamo.reset()
    counter = CompileCounter()
    compiled = torch.compile(lambda i, seed, epoch: walk(i, n, seed, epoch), backend=counter, fullgraph=True)
    for k in range(100):
        found = compiled(torch.arange(n), torch.tensor(3 * k), torch.tensor(7 * k))
        assert torch.equal(found, order(n, 3 * k, 7 * k))
    assert counter.frame_count == 1


@pytest.mark.parametrize("n", LENGTHS)
def test_inductor(n):
    torch._dynamo.reset()

    def there_and_back(i, seed):
        found = walk(i, n, seed)
        return found, walk_inverse(found, n, seed)

    compiled = torch.compile(there_and_back, fullgraph=True)
    for seed in (5, 2**64 - 1):
        found, back = compiled(torch.arange(n), number(seed))
        assert torch.equal(found, order(n, seed)) and torch.equal(back, torch.arange(n))


@pytest.mark.parametrize("n", LENGTHS)
def test_compiled_with_seeds_that_are_no_tensors_and_with_vmap(n):
    torch._dynamo.reset()
    compiled = torch.compile(lambda i, seed: walk(i, n, seed), backend="eager", fullgraph=True)
    for seed in (5, 6, 7, 2**64 - 1, BYTES):
        assert torch.equal(compiled(torch.arange(n), seed), order(n, seed))
    mapped = torch.compile(torch.vmap(lambda seed: walk(torch.arange(n), n, seed)), backend="eager")
    assert torch.equal(mapped(torch.arange(3)), torch.stack([order(n, seed) for seed in range(3)]))


@pytest.mark.parametrize("n", LENGTHS)
def test_export(n):
    class Module(torch.nn.Module):
        def forward(self, i, seed):
            return walk(i, n, seed)

    exported = torch.export.export(Module(), (torch.arange(n), torch.tensor(0)))
    assert torch.equal(exported.module()(torch.arange(n), torch.tensor(5)), order(n, 5))


def test_randperm_is_the_order_of_shuffle():
    for n in (0, 1, 2, 100, 256, 257, 1000, 1024):
        want = torch.from_numpy(bs.Permutation(n, 42, 3).to_numpy())
        for seed in (42, torch.tensor(42)):
            found = randperm(n, seed, 3, device="cpu")
            assert torch.equal(found, want) and found.dtype == torch.int64, n
        assert randperm(n, 42, dtype=torch.int32).dtype == torch.int32
    torch._dynamo.reset()
    compiled = torch.compile(lambda seed: randperm(1000, seed), backend="eager", fullgraph=True)
    assert torch.equal(compiled(torch.tensor(42)), torch.from_numpy(bs.Permutation(1000, 42).to_numpy()))
    for n, kind in ((5, torch.float32), (2**31 + 1, torch.int32)):
        with pytest.raises(ValueError, match="indexes are of int64"):
            randperm(n, 1, dtype=kind)


def test_types_of_results():
    for n, kind, want in [(100, torch.int8, torch.int8), (129, torch.int8, torch.int64),
                          (256, torch.uint8, torch.uint8), (2**31, torch.int32, torch.int32),
                          (2**31 + 1, torch.int32, torch.int64)]:
        at = torch.arange(5, dtype=kind).reshape(5, 1)
        for seed in (42, torch.tensor(42)):
            found = walk(at, n, seed)
            assert found.dtype == want and found.shape == at.shape
            assert found.flatten().tolist() == items(n, 42, 0, np.arange(5)).tolist()
    for bad in (torch.ones(3), torch.ones(3, dtype=torch.bool)):
        with pytest.raises(TypeError, match="int64 or a smaller integer"):
            walk(bad, 1000, 42)


@pytest.mark.parametrize("n", LENGTHS)
def test_places_outside(n):
    at = torch.tensor([n - 1, n, 2**40, -1, -(2**63)])
    assert (walk(at, n, torch.tensor(42)) == order(n)[-1]).all()
    for bad in (n, -1):
        with pytest.raises(IndexError):
            walk(torch.tensor([bad]), n, 42)
        with pytest.raises(ValueError):
            walk_inverse(torch.tensor([bad]), n, 42)


def test_bad_arguments():
    at = torch.arange(3)
    for bad in ((0, 1), (-1, 1), (2**63 + 1, 1), (5, -1), (5, 2**64), (5, b"short"), (5, 1, -1)):
        with pytest.raises(ValueError):
            walk(at, *bad)
    for bad in (torch.tensor(1.0), torch.tensor(1, dtype=torch.int32), torch.ones(3, dtype=torch.int64)):
        with pytest.raises(TypeError, match="a seed or an epoch"):
            walk(at, 5, bad)
