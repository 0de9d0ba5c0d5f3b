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


INTERRUPTED = '''
import bijective_shuffle as bs, collections, itertools, numpy as np, operator, signal


def interrupt(number, frame):
    raise KeyboardInterrupt


signal.signal(signal.SIGALRM, interrupt)


def is_ended(function, *arguments):
    """Whether a signal ends the call itself. After the call the deque has its result, and in between
    nothing looks for signals."""
    done = collections.deque()
    signal.setitimer(signal.ITIMER_REAL, 0.02)
    try:
        done.extend(itertools.starmap(function, [arguments]))
        signal.setitimer(signal.ITIMER_REAL, 0)
    except KeyboardInterrupt:
        pass
    return not done


def check(name, attempt):
    assert any(attempt(k) for k in range(20)), name + " is never interrupted"


# Of more items than an index is built for unasked, so that it is said that there is none.
p = bs.Permutation(2**35 + 1, 1)
check("build_index", lambda k: is_ended(p.build_index))
try:
    p[2**34]
except bs.IndexNotBuiltError:
    pass
else:
    raise AssertionError("there is an index")

indexed = lambda k: bs.Permutation(2**32 + 1, 1, epoch=k)
check("a place", lambda k: is_ended(operator.getitem, indexed(k), 2**31))
check("a position", lambda k: is_ended(indexed(k).position, 2**31))
check("a list of places", lambda k: is_ended(operator.getitem, indexed(k), [2**31]))
check("a short slice", lambda k: is_ended(indexed(k)[2**31 :][:9].to_numpy))
check("in", lambda k: is_ended(operator.contains, indexed(k)[::2], 2**31))
check("a place of an inverse", lambda k: is_ended(operator.getitem, indexed(k).inverted(), 1))

q, many = bs.Permutation(2**20 + 1, 1), np.zeros(2**26, dtype=np.int64)
check("many positions", lambda k: is_ended(q.position, many))
check("many places", lambda k: is_ended(operator.getitem, q, many))
check("a long slice", lambda k: is_ended(bs.Permutation.walk(10**12, k)[5 : 2**28].to_numpy))


def keeps_its_place(values):
    before = repr(values)
    ended = is_ended(next, values)
    assert (repr(values) == before) == ended, before + " became " + repr(values)
    return ended


check("an iterator", lambda k: keeps_its_place(iter(indexed(k)[2**31 :])))
check("counted", lambda k: keeps_its_place(bs.Permutation(2**40 + 1, k).chunks(2**28)))
check("evaluated", lambda k: keeps_its_place(bs.Permutation.walk(2**40 + 1, k).chunks(2**28)))
# A place that is kept is the right one.
chunks = bs.Permutation(2**40 + 1, 1).chunks(2**22)
next(chunks)
while not keeps_its_place(chunks):
    pass
expected = bs.Permutation(2**40 + 1, 1)[: 10 * 2**22].to_numpy()
place = 2**40 // 2**22 + 1 - len(chunks)
assert np.array_equal(next(chunks), expected[place * 2**22 : (place + 1) * 2**22])

for settings in ({}, {"rank": 1, "ranks": 3}, {"blocks": (1000, 100)}, {"sequential": True}):
    sampler = bs.Sampler(2**40, 1, batch=2**27, **settings)
    sampler.set_epoch(3)
    check(f"a batch {settings}", lambda k: keeps_its_place(sampler))
small = bs.Sampler(2**40, 1, batch=9, sequential=True)
small.resume(sampler.state())
assert small.next_batch().tolist() == [small.consumed - 9 + k for k in range(9)]

blocks = bs.BlockShuffle(2**40, 1, 2**28, 1)
check("blocks of a window", lambda k: is_ended(blocks.blocks_of, 0))
check("permutations", lambda k: is_ended(bs.permutations, 2**14, 2**14, k))
print("all")
'''


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system has no timers")
def test_ctrl_c_ends_long_calls_and_nothing_of_them_is_kept():
    # With two threads they are long on any machine.
    variables = {**os.environ, "RAYON_NUM_THREADS": "2"}
    run = subprocess.run([sys.executable, "-c", INTERRUPTED], env=variables, timeout=600,
                         capture_output=True, text=True)
    assert run.returncode == 0 and run.stdout == "all\n", run.stdout + run.stderr


REENTERED = """
import bijective_shuffle as bs, signal

said = []

def handler(number, frame):
    for attempt in (sampler.next_batch, sampler.state, lambda: len(sampler)):
        try:
            attempt()
        except RuntimeError as error:
            said.append(str(error))

signal.signal(signal.SIGALRM, handler)
for attempt in range(20):
    sampler = bs.Sampler(2**40, 1, batch=2**25)
    signal.setitimer(signal.ITIMER_REAL, 0.01)
    # The handler raises nothing, so there is a batch.
    assert len(sampler.next_batch()) == 2**25 and sampler.consumed == 2**25
    signal.setitimer(signal.ITIMER_REAL, 0)
    if said:
        break
assert len(said) == 3 and all("handler of a signal" in text for text in said), said
print("all")
"""


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system has no timers")
def test_a_handler_of_a_signal_does_not_wait_for_the_call_that_it_interrupts():
    run = subprocess.run([sys.executable, "-c", REENTERED], timeout=600, capture_output=True,
                         text=True)
    assert run.returncode == 0 and run.stdout == "all\n", run.stdout + run.stderr


SHARED = {
    "sampler": (lambda: bs.Sampler(100_000, 3, batch=20_000, tail="short"), 100_000),
    "sampler of small batches": (lambda: bs.Sampler(20_000, 3, batch=10, tail="short"), 20_000),
    "indexes": (lambda: iter(bs.Permutation(30_000, 3)), 30_000),
    "indexes of a slice": (lambda: iter(bs.Permutation(60_000, 3)[30_000:]), 30_000),
    "chunks": (lambda: bs.Permutation.walk(300_000, 3).chunks(20_000), 300_000),
    "chunks, counted": (lambda: bs.Permutation(300_000, 3).chunks(20_000), 300_000),
}


def sorted_items(values):
    return np.sort(np.concatenate([np.atleast_1d(some) for some in values])).tolist()


@pytest.mark.parametrize("make,count", SHARED.values(), ids=SHARED)
def test_threads_share_an_iterator_and_each_item_comes_once(make, count):
    expected = sorted_items(make())
    assert len(expected) == count
    interval = sys.getswitchinterval()
    for _ in range(3):
        shared, taken, failures = make(), [], []
        start = threading.Barrier(4)

        def take():
            start.wait()
            try:
                for values in shared:
                    taken.append(values)
            except BaseException as error:
                failures.append(error)

        threads = [threading.Thread(target=take) for _ in range(4)]
        sys.setswitchinterval(1e-5)
        try:
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        finally:
            sys.setswitchinterval(interval)
        assert not failures, failures
        assert sorted_items(taken) == expected
        assert len(shared) == 0


def run_forking(program, *arguments):
    """What a program prints that forks while it has threads."""
    command = [sys.executable, "-W", "ignore", "-c", program, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=600).stdout


FIRST = """
import bijective_shuffle as bs, numpy as np, os, signal, sys, threading, time

a, b, start = np.arange(100_000), np.arange(100_000), threading.Barrier(2)

def first():
    start.wait()
    bs.shuffle(a, 1)

thread = threading.Thread(target=first)
thread.start()
start.wait()
time.sleep(float(sys.argv[1]))
child = os.fork()
if child == 0:
    signal.alarm(60)
    bs.shuffle(b, 1)
    os._exit(0)
thread.join()
print(os.waitpid(child, 0)[1])
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.parametrize("delay", ["0"] * 5 + ["0.0002", "0.001", "0.005"])
def test_a_fork_during_the_first_shuffle(delay):
    """The child hangs if the parent held a lock at that moment, such as that of an import."""
    assert run_forking(FIRST, delay) == "0\n"


def test_first_calls_import_nothing():
    """A child that is forked while a thread of its parent imports a module may wait for ever."""
    program = (
        "import bijective_shuffle as bs, numpy as np, pickle, sys\n"
        "before = set(sys.modules)\n"
        "a = np.arange(20_000).reshape(-1, 2)\n"
        "bs.shuffle(a, 1); bs.unshuffle(a, 1); bs.shuffle(a.T, 1, axis=1)\n"
        "bs.shuffle_together(a, a.copy(), seed=1); bs.shuffled(a, 1, out=a)\n"
        "bs.permuted(a, 1); bs.permuted(a, 1, axis=None); bs.permutations(3, 4, 1)\n"
        "bs.choice(9, 3, 1); bs.choice(a, 3, 1)\n"
        "p = bs.Permutation(20_000, 1); p[5], p[9_000], p.position([3, 4]), p.inverted().to_numpy()\n"
        "list(p[:3]), list(p[::-1].chunks(9000)), p.shard(0, 3)[::2], hash(p), repr(p)\n"
        "s = bs.Sampler(20_000, 1, batch=10_000); s.next_batch(), s.state(), repr(s)\n"
        "pickle.loads(pickle.dumps([p, s, p[3:5]]))\n"
        "bs.BlockShuffle(99, 5, 3, 1).blocks_of(1)\n"
        "print(sorted(set(sys.modules) - before))\n"
    )
    run = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert run.stdout == "[]\n"


IN_USE = """
import bijective_shuffle as bs, os, signal, threading, time

sampler = bs.Sampler(2**40, 1, batch=2**25)
for attempt in range(20):
    thread = threading.Thread(target=sampler.next_batch)
    thread.start()
    time.sleep(0.01 + 0.01 * attempt)
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        try:
            len(sampler)
        except RuntimeError as error:
            os._exit(7 if "forked" in str(error) else 1)
        os._exit(0)
    status = os.waitpid(child, 0)[1]
    thread.join()
    if status != 0:
        break
print(os.waitstatus_to_exitcode(status))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_child_does_not_wait_for_a_thread_that_the_fork_has_left_behind():
    assert run_forking(IN_USE) == "7\n"


def run_with_threads(text, *command):
    variables = {**os.environ, "RAYON_NUM_THREADS": text}
    command = [sys.executable, *command]
    return subprocess.run(command, env=variables, capture_output=True, text=True)


COUNT = "import bijective_shuffle as bs; print(bs.thread_count())"


@pytest.mark.parametrize("text", ["x", "-1", "2.5", "4 cores", "9" * 30])
def test_a_number_of_threads_that_is_none_is_refused(text):
    run = run_with_threads(text, "-c", COUNT)
    assert run.returncode == 1 and not run.stdout
    last = run.stderr.strip().splitlines()[-1]
    assert last.startswith("ValueError: ") and "RAYON_NUM_THREADS" in last and f'"{text}"' in last
    run = run_with_threads(text, "-m", "bijective_shuffle")
    assert run.returncode == 0 and "RAYON_NUM_THREADS" in run.stdout


def test_no_number_of_threads_is_one_for_each_processor():
    assert run_with_threads(" 3 ", "-c", COUNT).stdout == "3\n"
    usual = run_with_threads("0", "-c", COUNT).stdout
    assert int(usual) > 0 and run_with_threads("", "-c", COUNT).stdout == usual
