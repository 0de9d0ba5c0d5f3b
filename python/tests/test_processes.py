"""Threads, children that are forked, and Ctrl-C."""

import os
import signal
import subprocess
import sys
import threading
import time

import bijective_shuffle as bs
import numpy as np
import pytest

LONG = 300_000


def work():
    a = np.arange(LONG)
    bs.shuffle(a, 42)
    return np.array_equal(a, bs.Permutation.walk(LONG, 7)[a].argsort().argsort()) or a[:5].tolist()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_children_that_are_forked_have_threads_of_their_own():
    expected = work()
    children = []
    for _ in range(3):
        child = os.fork()
        if child == 0:
            # Nothing of pytest's may run in the child.
            os._exit(0 if work() == expected else 1)
        children.append(child)
    deadline = time.monotonic() + 300
    for child in children:
        while True:
            done, status = os.waitpid(child, os.WNOHANG)
            if done:
                assert status == 0
                break
            if time.monotonic() > deadline:
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
                pytest.fail("a forked child hangs")
            time.sleep(0.01)
    assert work() == expected


def test_the_number_of_threads_is_that_of_the_environment():
    program = (
        "import bijective_shuffle as bs, numpy as np; a = np.arange(300_000); bs.shuffle(a, 42);"
        "print(bs.thread_count(), hash(a.tobytes()))"
    )
    printed = set()
    for count in (1, 2, 5):
        variables = {**os.environ, "RAYON_NUM_THREADS": str(count), "PYTHONHASHSEED": "0"}
        run = subprocess.run(
            [sys.executable, "-c", program], env=variables, check=True, capture_output=True, text=True
        )
        threads, values = run.stdout.split()
        assert int(threads) == count
        printed.add(values)
    assert len(printed) == 1


def test_many_threads_at_once():
    p = bs.Permutation(LONG, 3)
    expected = p.to_numpy()
    failures = []

    def check(k):
        a = np.arange(LONG)
        for _ in range(3):
            bs.shuffle(a, 3)
            if not np.array_equal(a, expected):
                failures.append(k)
            bs.unshuffle(a, 3)
            if p[LONG // 2 + k] != expected[LONG // 2 + k]:
                failures.append(k)

    threads = [threading.Thread(target=check, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_the_gil_is_released():
    """Another thread counts while a shuffle runs. With the GIL held it could not: it would have to
    ask for it longer than the test takes."""
    a = np.arange(4_000_000)
    counted, done = [0], threading.Event()

    def count():
        while not done.is_set():
            counted[0] += 1
            # Gives the GIL to the thread that shuffles, when that asks for it.
            time.sleep(0)

    interval = sys.getswitchinterval()
    thread = threading.Thread(target=count)
    thread.start()
    try:
        sys.setswitchinterval(100)
        before = counted[0]
        for seed in range(5):
            bs.shuffle(a, seed)
        during = counted[0] - before
    finally:
        sys.setswitchinterval(interval)
        done.set()
        thread.join()
    assert during > 0


def test_an_array_that_is_being_shuffled_is_refused_to_others():
    """Two threads shuffle one array: each either shuffles it or is refused, and nothing is lost."""
    a = np.arange(1_000_000)
    outcomes = []

    def shuffle(seed):
        try:
            bs.shuffle(a, seed)
            outcomes.append(seed)
        except bs.ArrayError:
            outcomes.append(None)

    threads = [threading.Thread(target=shuffle, args=(seed,)) for seed in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(outcomes) == 6 and any(seed is not None for seed in outcomes)
    assert np.array_equal(np.sort(a), np.arange(1_000_000))


@pytest.mark.skipif(os.name == "nt", reason="signals are sent as on Unix")
@pytest.mark.parametrize("work", [
    "bs.Permutation.walk(10**12, 1, epoch).head(2**26).to_numpy()",
    # Counted to, one by one.
    "next(bs.Permutation(2**40 + 1, 1, epoch).chunks(2**27, 'int64'))",
], ids=["evaluated", "counted"])
def test_ctrl_c_ends_long_work_between_two_pieces(work):
    # Indexes that take minutes, in an array whose pages are not touched before.
    program = (
        "import bijective_shuffle as bs, itertools, signal\n"
        # Where a shell started the tests in the background, SIGINT is ignored.
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "print('ready', flush=True)\n"
        "try:\n"
        "    for epoch in itertools.count():\n"
        f"        {work}\n"
        "except KeyboardInterrupt:\n"
        "    print('interrupted')\n"
    )
    child = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert child.stdout.readline() == "ready\n"
    time.sleep(0.3)
    child.send_signal(signal.SIGINT)
    assert child.communicate(timeout=120)[0] == "interrupted\n"
