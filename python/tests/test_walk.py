"""The numbers that make an order for other people's kernels, and the modules that need nothing but
NumPy, or Numba or Triton: each is tested where it is installed, without a GPU."""

import os
import pathlib
import shutil
import subprocess
import sys

import bijective_shuffle as bs
import numpy as np
import pytest
from bijective_shuffle import _walk, cupy
from walks import BYTES, KEYS, items, lengths, places

HERE = pathlib.Path(__file__).resolve().parent


@pytest.mark.parametrize(("n", "seed", "epoch", "error"), [
    (-1, 1, 0, "n is an integer"),
    (2**64, 1, 0, "n is an integer"),
    (5, -1, 0, "a seed is an integer from 0 to 2\\^64 - 1 or 32 bytes, not -1"),
    (5, b"short", 0, "a seed has 32 bytes, not 5"),
    (5, 1, 2**64, "epoch is an integer"),
])
def test_bad_arguments_raise_the_errors_of_a_permutation(n, seed, epoch, error):
    for make in (cupy.walk_params, bs.Permutation.walk):
        with pytest.raises(ValueError, match=error):
            make(n, seed, epoch)


@pytest.mark.parametrize(("seed", "epoch"), KEYS)
def test_tables_are_orders(seed, epoch):
    for n in range(1, 257):
        found, back = _walk.table(n, seed, epoch)
        assert found == items(n, seed, epoch, places(n)).tolist()
        assert [found[place] for place in back] == list(range(n))


READER = """
#include "bijective_walk.hpp"
#include <cstdio>
int main() {
    static_assert(sizeof(bijective_shuffle::walk) == 272);
    bijective_shuffle::walk p;
    unsigned long long count, i;
    while (std::fread(&p, sizeof p, 1, stdin) == 1 && std::fread(&count, 8, 1, stdin) == 1) {
        for (; count > 0 && std::fread(&i, 8, 1, stdin) == 1; --count) {
            const unsigned long long x = p(i);
            const unsigned long long found[] = {p.size(), x, p.inverse(x)};
            std::fwrite(found, 8, 3, stdout);
        }
    }
}
"""


class TestCupy:
    def test_structs_are_those_of_the_header(self, tmp_path):
        compiler = shutil.which("c++")
        if compiler is None:
            pytest.skip("c++ is not installed")
        (tmp_path / "bijective_walk.hpp").write_text(cupy.walk_source())
        (tmp_path / "reader.cpp").write_text(READER)
        subprocess.run([compiler, "-std=c++17", "-O1", "reader.cpp", "-o", "reader"], check=True, cwd=tmp_path)
        sent, want = [], []
        for k, n in enumerate([*range(1, 1001), *lengths(63), 2**64 - 1]):
            key, at = KEYS[k % len(KEYS)], places(n)
            sent += [cupy.walk_params(n, *key).tobytes(), np.uint64(at.size).tobytes(), at.tobytes()]
            want.append(np.stack([np.full_like(at, n), items(n, *key, at), at], axis=1))
        done = subprocess.run([tmp_path / "reader"], input=b"".join(sent), capture_output=True, check=True)
        assert np.array_equal(np.frombuffer(done.stdout, np.uint64).reshape(-1, 3), np.concatenate(want))

    def test_an_order_without_items_is_an_empty_struct(self):
        assert not cupy.walk_params(0, 1).view(np.uint8).any()

    def test_the_header_is_that_of_the_c_library(self):
        header = HERE.parents[1] / "crates" / "c" / "include" / "bijective_walk.hpp"
        if not header.exists():
            pytest.skip("there is no C library beside the package")
        assert cupy.walk_source() == header.read_text("utf-8")


class TestNumba:
    @pytest.fixture
    def ours(self):
        pytest.importorskip("numba", reason="numba is not installed")
        from bijective_shuffle import numba

        return numba

    @pytest.fixture
    def both(self, ours):
        import numba

        walk, walk_inverse = ours.walk, ours.walk_inverse

        @numba.njit
        def both(at, params):
            found, back = np.empty_like(at), np.empty_like(at)
            for k in range(len(at)):
                found[k] = walk(at[k], params)
                back[k] = walk_inverse(found[k], params)
            return found, back

        return both

    def test_orders_of_all_lengths(self, ours, both):
        for k, n in enumerate([*range(1, 1001), *lengths(63)]):
            key, at = KEYS[k % len(KEYS)], places(n).astype(np.int64)
            found, back = both(at, ours.walk_params(n, *key))
            assert np.array_equal(found.astype(np.uint64), items(n, *key, at)), n
            assert np.array_equal(back, at), n
        # One version, for all lengths, seeds and epochs.
        assert len(both.signatures) == 1

    def test_places_outside_count_as_the_last_one(self, ours, both):
        for n in (1, 100, 1000, 1024):
            params = ours.walk_params(n, 42)
            found, _ = both(np.array([n - 1, n, 2**40, -1, -(2**63)]), params)
            assert (found == ours.walk(n - 1, params)).all()

    def test_a_length_that_has_no_int64_is_an_error(self, ours):
        with pytest.raises(ValueError, match="at most 2\\^63"):
            ours.walk_params(2**63 + 1, 1)

    def test_device_functions_in_the_simulator(self, ours):
        environment = {**os.environ, "NUMBA_ENABLE_CUDASIM": "1"}
        done = subprocess.run([sys.executable, "-W", "ignore", "-c", SIMULATED], env=environment, cwd=HERE,
                              capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert done.stdout.split() == ["13"]


# Numba decides when it is imported whether its CUDA is simulated.
SIMULATED = """
import numpy as np
from bijective_shuffle.numba import cuda_walk, cuda_walk_inverse, walk_params
from numba import cuda
from walks import items, places

@cuda.jit
def both(at, params, found, back):
    k = cuda.grid(1)
    if k < len(at):
        found[k] = cuda_walk(at[k], params)
        back[k] = cuda_walk_inverse(found[k], params)

count = 0
for n in (1, 2, 100, 256, 257, 300, 512, 1000, 2**32, 2**32 + 1, 10**12, 2**63 - 1, 2**63):
    at = places(n).astype(np.int64)[:40]
    found, back = np.zeros_like(at), np.zeros_like(at)
    both[2, 20](at, walk_params(n, 42, 3), found, back)
    assert np.array_equal(found.astype(np.uint64), items(n, 42, 3, at)) and np.array_equal(back, at), n
    count += 1
print(count)
"""


class TestTriton:
    def test_kernels_in_the_interpreter(self):
        pytest.importorskip("triton", reason="triton is not installed")
        pytest.importorskip("torch", reason="torch is not installed")
        environment = {**os.environ, "TRITON_INTERPRET": "1"}
        done = subprocess.run([sys.executable, "walks_triton.py"], env=environment, cwd=HERE,
                              capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert done.stdout.split()[-1] == "passed"

    def test_bad_arguments(self):
        pytest.importorskip("triton", reason="triton is not installed")
        from bijective_shuffle.triton import walk_params

        for bad in ((-1, 1), (2**64, 1), (5, -1), (5, 1, -1), (5, BYTES[1:])):
            with pytest.raises(ValueError):
                walk_params(*bad)
