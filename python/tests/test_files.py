"""Files and folders: the bytes of `bshuf`, whole shards or nothing, and errors of Python's types."""

import errno
import gzip
import inspect
import io
import json
import multiprocessing
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import threading

import bijective_shuffle as bs
import pytest

BSHUF = os.environ.get("BSHUF") or shutil.which("bshuf")
needs_bshuf = pytest.mark.skipif(BSHUF is None, reason="BSHUF does not name the program bshuf")


def contents(folder, but=()):
    """The files in a folder by their names."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    found = {str(path.relative_to(folder)): path.read_bytes() for path in files}
    return {name: content for name, content in found.items() if name not in but}


@pytest.fixture
def data(tmp_path):
    folder = tmp_path / "data"
    for name in ("lines", "csv", "fastq", "tar", "gz", "fasta", "loose", "vcf", "tensors"):
        (folder / name).mkdir(parents=True)
    for part in range(3):
        numbers = range(part * 1000, part * 1000 + 1000)
        # The last line of each has no end.
        (folder / "lines" / f"{part}.txt").write_text("\n".join(map(str, numbers)))
        rows = "".join(f'{k};"{k}\n""{k * k}"""\n' for k in numbers)
        (folder / "csv" / f"{part}.csv").write_text("n;square\n" + rows)
        reads = "".join(f"@r{k}\n{'ACGT' * 5}\n+\n{'!' * 20}\n" for k in numbers)
        (folder / "fastq" / f"{part}.fastq").write_text(reads)
        sequences = "".join(f">{k}\nACGT\nAC>GT\n" for k in numbers)
        (folder / "fasta" / f"{part}.fa").write_text(sequences)
        inches = "".join(f'{k}" pipe,\n{k}\0,x,"y\nz"\n' for k in numbers)
        (folder / "loose" / f"{part}.csv").write_text(inches)
        (folder / "vcf" / f"{part}.vcf").write_text("##a\n#b\n" + f"{part}\n" * 100)
        # Both checksums are those of no byte.
        nothing = b"\0" * 8 + b"\x29\x03\x98\x07" + b"\xd8\xea\x82\xa2"
        (folder / "tensors" / f"{part}.tfrecord").write_bytes(nothing * 100)
        (folder / "vcf" / f"{part}.empty").touch()
        with gzip.open(folder / "gz" / f"{part}.jsonl.gz", "wt") as file:
            file.writelines(f'{{"n": {k}}}\n' for k in numbers)
        with tarfile.open(folder / "tar" / f"{part}.tar", "w") as tar:
            for k in numbers[:50]:
                for end in ("txt", "cls"):
                    member = tarfile.TarInfo(f"{k:05}.{end}")
                    member.size = 5
                    tar.addfile(member, io.BytesIO(f"{k:05}".encode()))
    return folder


# What Python is given, and what bshuf is.
CASES = {
    "lines": ("lines", {}, []),
    "lines on disk": ("lines", {"memory": 2**20}, ["--memory", "1M"]),
    "undone": ("lines", {"undo": True, "epoch": 3}, ["--undo", "--epoch", "3"]),
    "csv": (
        "csv",
        {"records": "csv", "delimiter": ";", "header_lines": 1},
        ["--csv=;", "--header-lines", "1"],
    ),
    "fastq": ("fastq", {"records": "fastq"}, ["--fastq"]),
    "groups": ("fastq", {"records": 4}, ["--lines-per-record", "4"]),
    "fasta": ("fasta", {"record_start": ">"}, ["--record-start", ">"]),
    "loose csv": (
        "loose",
        {"records": "csv", "loose_quotes": True, "uneven": True, "text": True},
        ["--csv", "--loose-quotes", "--uneven", "--text"],
    ),
    "tfrecord": ("tensors", {"records": "tfrecord"}, ["--tfrecord"]),
    "separator": ("fastq", {"records": b"!\n"}, ["--separator", r"!\n"]),
    "tar": ("tar", {}, []),
    "uneven tar": ("tar", {"records": "tar", "uneven": True}, ["--tar", "--uneven"]),
    "gzip": ("gz", {}, []),
    "gzip to zstd": ("gz", {"compress": "zstd:3"}, ["--compress", "zstd:3"]),
    "gzip to lz4": ("gz", {"compress": "lz4"}, ["--compress", "lz4"]),
}

SHARDS = {
    "as the inputs": ({}, []),
    "count": ({"shards": 5}, ["--shards", "5"]),
    "bytes": ({"shard_bytes": "1M"}, ["--shard-bytes", "1M"]),
    "records": ({"shard_records": 70}, ["--shard-records", "70"]),
    "split": (
        {"split": {"train": 0.98, "valid": 1e-2, "rest": "rest"}, "shards": 2},
        ["--split", "train=0.98,valid=0.01,rest=rest", "--shards", "2"],
    ),
}


@needs_bshuf
class TestTheProgram:
    def run(self, *arguments):
        done = subprocess.run([BSHUF, *map(str, arguments)], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done

    @pytest.mark.parametrize("name", CASES)
    def test_one_file(self, data, tmp_path, name):
        kind, given, options = CASES[name]
        report = bs.files.shuffle(data / kind, tmp_path / "ours", seed=42, **given)
        self.run("--seed", 42, *options, "-o", tmp_path / "theirs", data / kind)
        assert (tmp_path / "ours").read_bytes() == (tmp_path / "theirs").read_bytes()
        assert (report.inputs, report.shards) == (3, 1)
        assert report.bytes == (tmp_path / "ours").stat().st_size

    @pytest.mark.parametrize("shards", SHARDS)
    @pytest.mark.parametrize("name", ["lines", "csv", "tar", "gzip", "gzip to zstd"])
    def test_shards(self, data, tmp_path, name, shards):
        kind, given, options = CASES[name]
        seed = bytes(range(32))
        report = bs.files.shuffle(
            data / kind, output_dir=tmp_path / "ours", seed=seed, **given, **SHARDS[shards][0]
        )
        done = self.run("--seed", seed.hex(), "--stats", *options, *SHARDS[shards][1],
                        "--output-dir", tmp_path / "theirs", data / kind)
        assert contents(tmp_path / "ours") == contents(tmp_path / "theirs")
        found = json.loads(done.stderr)
        assert (report.records, report.bytes, report.inputs, report.shards) == (
            found["lines"], found["bytes"], found["inputs"], found["shards"]
        )
        assert (report.seed, report.epoch) == (seed, 0)
        # Either puts the other's back.
        bs.files.shuffle(tmp_path / "theirs", tmp_path / "back", undo=True, compress="none")
        self.run("--undo", "--compress", "none", "-o", tmp_path / "again", tmp_path / "ours")
        assert (tmp_path / "back").read_bytes() == (tmp_path / "again").read_bytes()

    @pytest.mark.parametrize("is_begun_here", [True, False])
    def test_either_goes_on_with_the_others_run(self, data, tmp_path, is_begun_here):
        whole, part = tmp_path / "whole", tmp_path / "part"
        for folder in (whole, part):
            if is_begun_here:
                bs.files.shuffle(data / "lines", output_dir=folder, seed=1, shards=4)
            else:
                self.run("--seed", 1, "--shards", 4, "--output-dir", folder, data / "lines")
        (part / "part-00002-of-00004.txt").write_bytes(b"broken")
        if is_begun_here:
            self.run("--resume", "--shards", 4, "--output-dir", part, data / "lines")
        else:
            report = bs.files.shuffle(data / "lines", output_dir=part, shards=4, resume=True)
            assert (report.shards, report.shards_kept, report.seed) == (4, 2, 1)
        assert contents(part) == contents(whole)


def test_headers_and_empty_inputs(data, tmp_path):
    for prefix in ("#", b"#", ["##", b"#"]):
        report = bs.files.shuffle(data / "vcf", tmp_path / "out", seed=42, header_prefix=prefix)
        assert (report.records, report.inputs, report.empty_inputs) == (300, 6, 3)
        lines = (tmp_path / "out").read_text().splitlines()
        assert lines[:2] == ["##a", "#b"] and sorted(lines[2:]) == sorted("012" * 100)


def test_binary_files_are_no_lines(tmp_path):
    (tmp_path / "in").write_bytes(b"a\nb\0\n")
    with pytest.raises(ValueError, match="is binary, .*: give records if .* or text if it is text"):
        bs.files.shuffle(tmp_path / "in", tmp_path / "out")
    report = bs.files.shuffle(tmp_path / "in", tmp_path / "out", text=True)
    assert report.records == 2


def test_the_order_is_that_of_a_permutation(data, tmp_path):
    bs.files.shuffle(data / "lines", tmp_path / "out", seed=42, epoch=3)
    lines = (tmp_path / "out").read_text().split("\n")[:-1]
    assert lines == [str(k) for k in bs.Permutation(3000, 42, 3)]


def test_names_of_any_kind(data, tmp_path, monkeypatch):
    monkeypatch.chdir(data / "lines")
    os.rename("0.txt", "-")
    os.rename("1.txt", "--seed=1")
    names = ["-", pathlib.Path("--seed=1"), "2.txt"]
    report = bs.files.shuffle(names, "-out", seed=5)
    assert (report.records, report.inputs) == (3000, 3)
    assert pathlib.Path("-out").exists()


def test_progress(data, tmp_path):
    calls = []
    bs.files.shuffle(data / "gz", tmp_path / "out", seed=1, progress=lambda *call: calls.append(call))
    phase, done, total = calls[-1]
    assert phase == "writing" and done == total == (tmp_path / "out").stat().st_size


def test_an_error_of_progress_ends_it(data, tmp_path):
    def fails(*_):
        raise RuntimeError("no more")

    with pytest.raises(RuntimeError, match="no more"):
        bs.files.shuffle(data / "gz", tmp_path / "out", seed=1, progress=fails)


def long_lines(path):
    """A file that takes some time to be shuffled in a MiB of memory."""
    path.write_text("".join(f"{k:020}\n" for k in range(500_000)))


@pytest.fixture
def interrupts():
    """Lets Ctrl-C raise an exception also where Python ignores it, in what a shell has put into the
    background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_interrupted(interrupts, tmp_path):
    """An interrupt ends it soon, leaves whole shards, and a resumed run makes the same folder."""
    long_lines(tmp_path / "long")
    whole, part, temp = tmp_path / "whole", tmp_path / "part", tmp_path / "temp"
    temp.mkdir()
    options = {"seed": 1, "memory": "1M", "shards": 16, "compress": "gzip", "temp": temp}
    bs.files.shuffle(tmp_path / "long", output_dir=whole, **options)

    def interrupt(phase, done, total):
        # When a shard is there, which the number of threads and the speed of the disk decide: a
        # signal that comes while the shuffle runs, or, at the latest, when it is done.
        if list(part.glob("part-*")):
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        bs.files.shuffle(tmp_path / "long", output_dir=part, progress=interrupt, **options)
    expected = contents(whole)
    before = contents(part, but=[".bshuf-journal", "index.json"])
    assert before and all(expected[name] == before[name] for name in before)
    assert not list(temp.iterdir())
    with pytest.raises(ValueError, match="give resume to go on"):
        bs.files.shuffle(tmp_path / "long", output_dir=part, **options)
    report = bs.files.shuffle(tmp_path / "long", output_dir=part, resume=True, **options)
    assert report.shards_kept == len(before)
    assert contents(part) == expected


def test_an_interrupted_output_stays_as_it_was(interrupts, tmp_path):
    long_lines(tmp_path / "long")
    (tmp_path / "out").write_text("old")

    def interrupt(phase, done, total):
        os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        bs.files.shuffle(tmp_path / "long", tmp_path / "out", seed=1, memory="1M", temp=tmp_path,
                         progress=interrupt)
    assert contents(tmp_path, but=["long"]) == {"out": b"old"}


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
def test_other_threads_run_meanwhile(tmp_path):
    os.mkfifo(tmp_path / "pipe")

    def write():
        with open(tmp_path / "pipe", "w") as pipe:
            for k in range(100):
                pipe.write(f"{k}\n")
                pipe.flush()

    # The shuffle waits for this thread, which needs the interpreter.
    thread = threading.Thread(target=write)
    thread.start()
    report = bs.files.shuffle(tmp_path / "pipe", tmp_path / "out", seed=1)
    thread.join()
    assert report.records == 100


def shuffled_in_a_child(folder):
    bs.files.shuffle(folder / "data" / "gz", output_dir=folder / "child", seed=1, shards=2)


@pytest.mark.skipif(sys.platform == "win32", reason="there is no fork")
def test_a_forked_child_shuffles_too(data, tmp_path):
    bs.files.shuffle(data / "gz", output_dir=tmp_path / "parent", seed=1, shards=2)
    child = multiprocessing.get_context("fork").Process(target=shuffled_in_a_child, args=[tmp_path])
    child.start()
    child.join(60)
    alive = child.is_alive()
    child.kill()
    assert not alive and child.exitcode == 0
    assert contents(tmp_path / "child") == contents(tmp_path / "parent")


def test_errors_of_the_system(data, tmp_path):
    with pytest.raises(FileNotFoundError) as raised:
        bs.files.shuffle(tmp_path / "missing", tmp_path / "out")
    assert raised.value.errno == errno.ENOENT
    assert raised.value.filename == str(tmp_path / "missing")
    assert "os error" not in str(raised.value)
    with pytest.raises(FileNotFoundError) as raised:
        bs.files.shuffle(data / "lines", tmp_path / "no" / "out")
    assert raised.value.filename == str(tmp_path / "no" / "out")
    with pytest.raises(OSError) as raised:
        bs.files.shuffle(data / "lines", data)
    assert raised.value.errno == errno.EISDIR
    with pytest.raises(OSError) as raised:
        bs.files.shuffle(data / "lines", output_dir=data / "csv" / "0.csv" / "out")
    assert raised.value.errno == errno.ENOTDIR
    if os.path.exists("/dev/full"):
        with pytest.raises(OSError) as raised:
            bs.files.shuffle(data / "lines", "/dev/full")
        assert raised.value.errno == errno.ENOSPC


@pytest.mark.parametrize(
    "given,said",
    [
        ({"records": "tar"}, 'is not a tar archive: shuffle it by itself, without records="tar"'),
        ({"records": "csv", "header_lines": 9999}, "and no header of 9999"),
        ({"records": "rows"}, "records are"),
        ({"records": "fastq", "delimiter": ";"}, "delimiter is about"),
        ({"records": "fastq", "uneven": True}, "uneven is about"),
        ({"records": 0}, "invalid value '0' for records"),
        ({"seed": -1}, "invalid value '-1' for seed"),
        ({"seed": b"short"}, "a seed has 32 bytes, not 5"),
        ({"memory": 5}, "for memory"),
        ({"compress": "rar"}, "for compress"),
        ({"undo": True}, "there is no index with a seed: give seed"),
        ({"output_dir": "x"}, "give either output"),
        ({"output": None}, "give either output"),
        ({"output": None, "output_dir": "x", "shards": 2, "shard_bytes": 1 << 20},
         "shards cannot be used with shard_bytes"),
        ({"output": None, "output_dir": "x", "split": {"a": 0.5}}, "give one of them"),
        ({"output": None, "output_dir": "x", "split": {"a,b": 0.5}}, "name of a split"),
    ],
)
def test_options_that_make_no_sense(data, tmp_path, monkeypatch, given, said):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=said) as raised:
        bs.files.shuffle(data / "lines", **{"output": "out", **given})
    assert "--" not in str(raised.value) and "\n" not in str(raised.value)
    assert contents(tmp_path).keys() == {f"data/{name}" for name in contents(data)}


# What the program says, and what is said here.
SAID = [
    ("f: has 1 field, and the first row has 2 fields: give --uneven if that is as it should be, and "
     "--csv=DELIM if another byte than `,` separates fields",
     "f: has 1 field, and the first row has 2 fields: give uneven if that is as it should be, and "
     "delimiter if another byte than `,` separates fields"),
    ("options: invalid value 'xx' for '--csv[=<DELIM>]': give one byte, such as ';'",
     "options: invalid value 'xx' for delimiter: give one byte, such as ';'"),
    ("options: the argument '--csv[=<DELIM>]' cannot be used with '--record-start <BYTES>'",
     'options: the argument records="csv" cannot be used with record_start'),
    ("options: invalid value '--tar' for '--compress <CODEC>': give none",
     "options: invalid value '--tar' for compress: give none"),
    ("options: '--shards' needs '--output-dir'", "options: shards needs output_dir"),
    ("--split: the splits take 3 records", "split: the splits take 3 records"),
    ("f: is a BAM file: try `samtools view -h FILE | bshuf --header-prefix @`",) * 2,
    ("f: is missing: add them, as by `(cat FILE; head -c 1024 /dev/zero) | bshuf --tar`",) * 2,
    ("f: a window of 128 MiB: try `zstd -dc --long=31 FILE | bshuf`",) * 2,
    ("f: is all zeros: give --tar if it is one", 'f: is all zeros: give records="tar" if it is one'),
    ("f: is binary: give -z, --separator or --record if its records end otherwise, or --text if it is",
     "f: is binary: give records if its records end otherwise, or text if it is"),
    ("f: is a link: name it too, or list the files for --files0-from",
     "f: is a link: name it too, or give a list of names"),
    ("f: is a pipe, whose contents --resume and --worker cannot verify: write it to a file first, "
     "or leave the options out",
     "f: is a pipe, whose contents resume cannot verify: write it to a file first, or leave resume "
     "out"),
    ("f: an array is written to one file: give -o", "f: an array is written to one file: give output"),
    ("f: leave out --record", "f: leave out records"),
    ("f: cargo install bijective-shuffle-cli --features tables",
     "f: `cargo install bijective-shuffle-cli --features tables`"),
    # Names of files and records are no options.
    ("a --tar ` --csv: raise --memory", "a --tar ` --csv: raise memory"),
    ("f: record 2 `--tar` has the parts a: give --uneven", "f: record 2 `--tar` has the parts a: give uneven"),
]


@pytest.mark.parametrize("theirs,ours", SAID)
def test_messages_of_the_program_have_the_names_of_arguments(theirs, ours):
    assert bs.files._in_python(theirs) == ours


PROGRAM = pathlib.Path(__file__).parents[2] / "crates" / "cli" / "src"
# Options that are never given from here, so that no message has them.
NOT_HERE = {"blocks", "head-count", "range", "shard", "stage", "worker", "zero-terminated"}


def messages_of_the_program():
    """The texts in its sources that name an option, without its tests and comments."""
    for path in sorted(PROGRAM.rglob("*.rs")):
        if "tests" in path.relative_to(PROGRAM).with_suffix("").parts:
            continue
        source = re.split(r"#\[cfg\((?:all\()?test\b.*\]\s*mod ", path.read_text(encoding="utf-8"))[0]
        source = re.sub(r"^\s*//.*$", "", source, flags=re.MULTILINE)
        for text in re.findall(r'"((?:[^"\\]|\\.)*)"', source, flags=re.DOTALL):
            text = re.sub(r"\\\n\s*", "", text).replace('\\"', '"')
            if re.search(r"--[a-z]", text):
                yield text if text.startswith("--") else f"f: {text}"


@pytest.mark.skipif(not PROGRAM.is_dir(), reason="needs the sources of bshuf")
def test_no_message_of_the_program_names_what_is_no_argument():
    arguments = inspect.signature(bs.files.shuffle).parameters
    found = list(messages_of_the_program())
    assert len(found) > 35
    for message in found:
        said = re.sub("`[^`]*`", "", bs.files._in_python(message))
        assert not re.search(r"(^|\W)--?[a-z]", said), said
        for phrase in bs.files._PHRASES:
            message = message.replace(phrase, "")
        for option in re.findall(r"--([a-z][a-z0-9-]*)", re.sub("`[^`]*`", "", message)):
            name = bs.files._named(f"--{option}").split("=")[0]
            assert name in arguments or option in NOT_HERE, message


def test_messages_are_translated_where_they_are_raised(tmp_path):
    (tmp_path / "uneven").write_text("1,2\n3\n")
    (tmp_path / "bam").write_bytes(b"BAM\x01")
    (tmp_path / "linked").mkdir()
    (tmp_path / "linked" / "file").write_text("a\n")
    (tmp_path / "else").mkdir()
    (tmp_path / "linked" / "link").symlink_to(tmp_path / "else", target_is_directory=True)
    for name, options, said in [
        ("uneven", {"records": "csv"}, "give uneven if .* and delimiter if another byte than `,`"),
        ("uneven", {"records": "csv", "delimiter": "xx"}, "invalid value 'xx' for delimiter: give one"),
        ("bam", {}, r"try `samtools view -h FILE \| bshuf --header-prefix @`"),
        ("linked", {"recursive": True}, "name it too, or give a list of names"),
    ]:
        with pytest.raises(ValueError, match=said):
            bs.files.shuffle(tmp_path / name, tmp_path / "out", **options)


# Shuffles a file with its temporary data on a small disk, and says what that raises.
FULL = """
import os, sys
import bijective_shuffle as bs
inputs, output, disk = (os.path.join(sys.argv[1], name) for name in ("in", "out", "disk"))
try:
    bs.files.shuffle(inputs, output, seed=1, temp=disk, memory=2**20)
except Exception as error:
    print(type(error).__name__, getattr(error, "errno", None), error)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="small disks are mounted on Linux")
def test_a_full_disk_has_its_number(tmp_path):
    (tmp_path / "disk").mkdir()
    (tmp_path / "in").write_bytes(b"0123456789abcde\n" * 2_000_000)
    script = 'mount -t tmpfs -o size=8M none "$1" && shift && exec "$@"'
    start = ["unshare", "--mount", "--map-root-user", "sh", "-c", script, "sh", tmp_path / "disk"]
    try:
        can_mount = subprocess.run([*start, "true"], capture_output=True).returncode == 0
    except FileNotFoundError:
        can_mount = False
    if not can_mount:
        pytest.skip("no disk can be mounted")
    done = subprocess.run([*start, sys.executable, "-c", FULL, tmp_path], capture_output=True)
    assert done.stdout.decode().startswith(f"OSError {errno.ENOSPC} "), done


# Shuffles files that many threads read, and waits until there are no more threads than before and
# those of the package's pool.
READ = """
import os, sys, time
import bijective_shuffle as bs
threads = lambda: len(os.listdir("/proc/self/task"))
before = threads()
bs.files.shuffle(sys.argv[1], output_dir=sys.argv[2], seed=1, shards=2, memory="1M")
end = time.monotonic() + 30
while threads() != before + 5 and time.monotonic() < end:
    time.sleep(0.01)
print(threads() - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="threads are counted on Linux")
def test_no_thread_is_left_beside_the_pool(data, tmp_path):
    """A child that is forked later would wait for it for ever."""
    start = [sys.executable, "-c", READ, data / "gz", tmp_path / "out"]
    few = {**os.environ, "RAYON_NUM_THREADS": "5"}
    done = subprocess.run(start, capture_output=True, env=few)
    assert done.stdout == b"5\n", done


# Shuffles a file where few addresses are left, and says what that raises.
SHORT = """
import resource, sys
import bijective_shuffle as bs
mapped = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (mapped + 600 * 2**20, -1))
try:
    bs.files.shuffle(sys.argv[1], sys.argv[1] + ".out", seed=1, records="csv", memory="4G")
except Exception as error:
    print(type(error).__name__, error)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="addresses are limited on Linux")
def test_want_of_memory_is_a_memory_error(tmp_path):
    (tmp_path / "in").write_bytes(b"a\n" * 20_000_000)
    # Each thread has addresses of its own, so that many could not be started.
    few = {**os.environ, "RAYON_NUM_THREADS": "2"}
    start = [sys.executable, "-c", SHORT, tmp_path / "in"]
    done = subprocess.run(start, capture_output=True, env=few)
    assert done.stdout.startswith(b"MemoryError "), done


def test_no_inputs(tmp_path):
    with pytest.raises(ValueError, match="no inputs"):
        bs.files.shuffle([], tmp_path / "out")


def test_progress_by_tqdm(data, tmp_path, monkeypatch):
    shown = io.StringIO()
    tqdm = pytest.importorskip("tqdm")
    monkeypatch.setattr(sys, "stderr", shown)
    bs.files.shuffle(data / "lines", tmp_path / "out", seed=1, progress=True)
    assert "writing" in shown.getvalue() and tqdm


def test_exceptions_of_progress_come_through(tmp_path):
    class Stop(ValueError):
        pass

    def stop(phase, done, total):
        raise Stop("--shards")

    (tmp_path / "x").write_text("a\nb\n")
    with pytest.raises(Stop, match="^--shards$"):
        bs.files.shuffle(tmp_path / "x", tmp_path / "y", seed=1, progress=stop)


def test_names_may_be_bytes(tmp_path):
    (tmp_path / "x").write_text("a\nb\n")
    names = [bytes(tmp_path / name) for name in ("x", "y")]
    assert bs.files.shuffle(names[0], names[1], seed=1).records == 2
    assert sorted((tmp_path / "y").read_text()) == ["\n", "\n", "a", "b"]


def test_a_bar_may_be_switched_off(tmp_path, monkeypatch):
    pytest.importorskip("tqdm", reason="tqdm is not installed")
    monkeypatch.setenv("TQDM_DISABLE", "1")
    (tmp_path / "x").write_text("a\nb\n")
    assert bs.files.shuffle(tmp_path / "x", tmp_path / "y", seed=1, progress=True).records == 2


def test_names_are_not_taken_for_options(tmp_path):
    folder = tmp_path / "run--old-2"
    folder.mkdir()
    (folder / "x").write_bytes(b"\x1f\x8b\x08 damaged")
    with pytest.raises((ValueError, OSError), match="run--old-2"):
        bs.files.shuffle(folder / "x", tmp_path / "y", seed=1, records="csv")


def test_files_are_given_by_their_names(tmp_path):
    (tmp_path / "in").write_text("a\nb\n")
    memory = io.BytesIO(b"in\nin\n")
    for given in ((memory, "out"), ([memory], "out"), ("in", memory), (5, "out"), ([5], "out"), (["in", None], "out")):
        with pytest.raises(TypeError, match="given by their names, as texts or paths, not as (BytesIO|int|NoneType)"):
            bs.files.shuffle(*given, seed=1)
    with open(tmp_path / "in") as file, pytest.raises(TypeError, match="not as TextIOWrapper"):
        bs.files.shuffle(file, tmp_path / "out", seed=1)
    for given in ({"output_dir": memory}, {"output": "out", "temp": memory}):
        with pytest.raises(TypeError, match="not as BytesIO"):
            bs.files.shuffle(tmp_path / "in", **given, seed=1)
    assert memory.tell() == 0 and os.listdir(tmp_path) == ["in"]
