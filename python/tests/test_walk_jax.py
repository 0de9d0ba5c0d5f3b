"""Orders inside programs of JAX, on four devices that XLA makes of one CPU."""

import logging
import os

import numpy as np
import pytest
from walks import BYTES, KEYS, items, lengths, places

# XLA reads it when the first device is asked for.
os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=4"
jax = pytest.importorskip("jax", reason="jax is not installed")

import jax.numpy as jnp  # noqa: E402
from bijective_shuffle.jax import Walk  # noqa: E402

# Of a table, of a walk, and of a power of two, which never walks.
LENGTHS = [100, 1000, 1024]


@pytest.fixture
def wide():
    """64-bit types."""
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", False)


@pytest.fixture
def compilations(caplog):
    """A function that counts the compilations since the test began."""
    caplog.set_level(logging.WARNING)
    with jax.log_compiles():
        yield lambda: sum(record.getMessage().startswith("Compiling") for record in caplog.records)


def order(n, seed=42, epoch=0):
    return items(n, seed, epoch, places(n))


def test_orders_of_all_lengths():
    # The operations one after the other, because compiling each length takes longer; and at few
    # places, because all of them turn until the last one is an item.
    random = np.random.default_rng(1)
    with jax.disable_jit():
        for n in range(1, 1001):
            key, p = KEYS[n % len(KEYS)], Walk(n, *KEYS[n % len(KEYS)])
            at = np.arange(256) if n <= 256 else random.integers(0, n + 20, 12)
            found = p(jnp.asarray(at))
            back = p.inverse(found)
            inside = np.minimum(at, n - 1)
            assert np.array_equal(found, items(n, *key, inside)), n
            assert np.array_equal(back, inside), n


def check_long(chosen):
    for k, n in enumerate(chosen):
        key, at = KEYS[k % len(KEYS)], jnp.asarray(places(n, 12))
        with jax.disable_jit():
            p = Walk(n, *key)
            found = p(at)
            assert np.array_equal(found.astype(np.uint64), items(n, *key, places(n, 12))), n
            assert np.array_equal(p.inverse(found), at), n


def test_long_orders_in_32_bits():
    check_long(lengths(32))


def test_long_orders_in_64_bits(wide):
    check_long([*lengths(63), 2**64 - 1])


@pytest.mark.parametrize("n", [1, 19, 256, 1000, 2**32])
def test_keys_of_a_traced_seed(n):
    draw = jax.jit(lambda seed, epoch: Walk(n, seed, epoch)._keys)
    # Among so many draws of a table, some refuse a word.
    for seed in (*range(100), 2**64 - 1, BYTES):
        p = Walk(n, seed, 2**40 + 7)
        assert np.array_equal(draw(p._seed, p._epoch), p._keys), seed
    assert np.array_equal(draw(jnp.int32(5), jnp.uint8(3)), Walk(n, 5, 3)._keys)


def test_keys_of_a_traced_seed_in_64_bits(wide):
    draw = jax.jit(lambda seed: Walk(10**12, seed)._keys)
    for seed in (0, 42, 2**63 - 1, 2**64 - 1):
        assert np.array_equal(draw(jnp.uint64(seed)), Walk(10**12, seed)._keys)


@pytest.mark.parametrize("n", LENGTHS)
def test_vmap_over_seeds_orders_and_places(n):
    at = jnp.arange(n)
    want = np.stack([order(n, seed, 1) for seed in range(4)])
    assert np.array_equal(jax.vmap(lambda seed: Walk(n, seed, 1)(at))(jnp.arange(4)), want)
    stacked = jax.tree.map(lambda *leaves: jnp.stack(leaves), *(Walk(n, seed, 1) for seed in range(4)))
    assert np.array_equal(jax.vmap(lambda p: p(at))(stacked), want)
    assert np.array_equal(jax.vmap(Walk(n, 0, 1))(at), want[0])
    assert np.array_equal(jax.vmap(Walk(n, 0, 1).inverse)(jnp.asarray(want[0])), at)


@pytest.mark.parametrize("n", LENGTHS)
def test_scan_over_epochs(n):
    def step(p, epoch):
        return p, p.with_epoch(epoch)(jnp.arange(n))

    _, found = jax.lax.scan(step, Walk(n, 42), jnp.arange(3, dtype=jnp.uint32))
    assert np.array_equal(found, np.stack([order(n, 42, epoch) for epoch in range(3)]))


@pytest.mark.parametrize("n", LENGTHS)
def test_shards_of_several_devices(n):
    mesh = jax.sharding.Mesh(np.array(jax.devices()), "d")
    assert mesh.size == 4
    at, spec = jnp.arange(n), jax.sharding.PartitionSpec("d")
    mapped = jax.shard_map(lambda p, i: p(i), mesh=mesh, in_specs=(jax.sharding.PartitionSpec(), spec),
                           out_specs=spec)
    assert np.array_equal(jax.jit(mapped)(Walk(n, 42), at), order(n))
    divided = jax.device_put(at, jax.sharding.NamedSharding(mesh, spec))
    found = jax.jit(lambda p, i: p(i))(Walk(n, 42), divided)
    assert np.array_equal(found, order(n)) and len(found.sharding.device_set) == 4


@pytest.mark.parametrize("n", LENGTHS)
def test_batches_of_steps_go_on_through_epochs(n):
    size, epoch = 30, 2**32 - 1
    steps = n // size
    batch = jax.jit(lambda p, step: p.batch(step, size))
    p = Walk(n, 42, epoch)
    for step in (0, 1, steps - 1, steps, 2 * steps + 1):
        want = order(n, 42, epoch + step // steps)[step % steps * size :][:size]
        assert np.array_equal(batch(p, step), want), step
    for bad in (0, -1, n + 1):
        with pytest.raises(ValueError, match="a batch has from 1 up to"):
            p.batch(0, bad)


def test_a_step_of_few_bits():
    assert np.array_equal(Walk(10**6, 42).batch(jnp.uint8(200), 10), items(10**6, 42, 0, np.arange(2000, 2010)))


def test_no_length_of_a_batch_overflows():
    p, n = Walk(2**32, 42), 2**32
    last = n // 4096 - 1
    assert np.array_equal(p.batch(last, 4096), items(n, 42, 0, np.arange(last * 4096, n, dtype=np.uint64)))


@pytest.mark.parametrize("n", LENGTHS)
def test_rows_are_shuffled(n):
    rows = {"a": np.arange(n) * 2, "b": jnp.ones((n, 2))}
    found = Walk(n, 42).shuffled(rows)
    assert np.array_equal(found["a"], order(n) * 2) and found["b"].shape == (n, 2)
    for bad in (np.arange(n + 1), 5):
        with pytest.raises(ValueError, match=f"has not {n} rows"):
            Walk(n, 42).shuffled(bad)


@pytest.mark.parametrize("n", LENGTHS)
def test_nothing_compiles_again(n, compilations):
    evaluate = jax.jit(lambda p, i: p(i))
    drawn = jax.jit(lambda seed, epoch, i: Walk(n, seed, epoch)(i))
    train = jax.jit(lambda p, step: p.batch(step, 10))
    at = jnp.arange(10)
    for k in range(101):
        if k == 1:
            before = compilations()
            assert before > 0
        seed, epoch = np.uint32(3 * k), np.uint32(7 * k)
        assert np.array_equal(evaluate(Walk(n, 3 * k, 7 * k), at), drawn(seed, epoch, at))
        train(Walk(n, 3 * k), k)
    assert compilations() == before


def test_types_of_results():
    for n, kind, want in [
        (100, "int8", "int8"), (1000, "uint8", "int32"), (1000, "int16", "int16"), (2**31, "int32", "int32"),
        (2**31 + 1, "int32", "uint32"), (2**31 + 1, "uint32", "uint32"), (2**16, "uint16", "uint16"),
    ]:
        at = jnp.arange(5, dtype=kind)
        found = Walk(n, 42)(at)
        assert found.dtype == want
        assert np.array_equal(found, items(n, 42, 0, np.arange(5)))
    for bad in (jnp.ones(3), jnp.ones(3, bool)):
        with pytest.raises(TypeError, match="a place is an integer"):
            Walk(1000, 42)(bad)


@pytest.mark.parametrize("n", LENGTHS)
def test_places_outside_count_as_the_last_one(n):
    p = Walk(n, 42)
    found = p(jnp.array([n - 1, n, 2**31 - 1, -1, -(2**31)]))
    assert (found == p(n - 1)).all()


def test_places_outside_in_64_bits(wide):
    for n in (100, 1000, 2**32 - 5, 10**12):
        found = Walk(n, 42)(jnp.array([n - 1, n, 2**32 + 5 + n, -1, -(2**63)]))
        assert (found == Walk(n, 42)(n - 1)).all()


@pytest.mark.parametrize("n", LENGTHS)
def test_integers_and_arrays_of_numpy_are_evaluated_on_the_host(n):
    p, at = Walk(n, 42), places(n)
    found = p(at)
    assert isinstance(found, np.ndarray) and np.array_equal(found, order(n))
    assert np.array_equal(p.inverse(found), at)
    assert [p(k) for k in range(5)] == order(n)[:5].tolist() and type(p(0)) is int
    assert p.inverse(p(7)) == 7
    assert p[-1] == order(n)[-1] and list(p[5:8]) == order(n)[5:8].tolist() and len(p) == n == p.n
    for bad in (n, -1, np.array([0, -1]), np.array([n])):
        with pytest.raises(IndexError):
            p(bad)
        with pytest.raises(ValueError):
            p.inverse(bad)
    # In a traced function whose seed is known, these are constants; if it is not, they are traced.
    assert jax.jit(lambda: jnp.asarray(p(3)))() == p(3)
    assert jax.jit(lambda seed: Walk(n, seed)(3))(42) == p(3)


def test_an_order_without_items():
    p = Walk(0, 42)
    assert len(p) == 0 and p(jnp.arange(0)).shape == (0,) and list(p) == []
    assert p.shuffled(jnp.ones((0, 3))).shape == (0, 3)
    with pytest.raises(IndexError):
        p(0)


def test_bad_arguments():
    for bad in ((-1, 1), (2**64, 1), (5, -1), (5, 2**64), (5, b"short"), (5, 1, -1)):
        with pytest.raises(ValueError):
            Walk(*bad)
    with pytest.raises(ValueError, match="jax_enable_x64"):
        Walk(2**32 + 1, 1)
    for bad in (jnp.ones(()), jnp.ones(3, np.uint32), jnp.ones(2, np.int32)):
        with pytest.raises((TypeError, ValueError)):
            Walk(5, bad)
        with pytest.raises(TypeError):
            jax.jit(lambda seed: Walk(5, seed)._keys)(bad)
    with pytest.raises(TypeError):
        Walk(5.0, 1)


def test_text():
    assert repr(Walk(10, 5, 3)) == "Walk(10, seed=5, epoch=3)"
    assert repr(Walk(10, BYTES)) == f"Walk(10, seed={BYTES!r}, epoch=0)"


def test_grain_reads_an_order_as_a_source():
    grain = pytest.importorskip("grain", reason="grain is not installed")
    data = grain.MapDataset.source(Walk(1000, 42)).map(lambda item: item)
    assert [data[k] for k in range(1000)] == order(1000).tolist()
