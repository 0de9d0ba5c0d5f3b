"""Times `bshuf` on data sets beside what people use instead: whole folders, compressed, to shards.

    python3 benches/peers/datasets_peer.py [--csv FILE] BSHUF FOLDER [SIZE_MIB] [FILES] [ROUNDS] [SAMPLES]

Needs zstd, shuf and split; polars, duckdb and pyarrow take part if they can be imported, and pyarrow
needs BSHUF to be built with the feature `tables`. FOLDER gets the data and the outputs, about four
times SIZE at a time. Each contender runs once in each round, in turn, and the table has the medians of
seconds and of processor time, the most memory that a process took, and both times beside ours. With
--csv the medians of seconds are written as the rows of benches/results. On a machine that does
other work too, only processor time means anything. Outputs of zstd and of Parquet are checked in
the first round: they have all lines and all rows.
"""

import datetime
import os
import pathlib
import platform
import random
import resource
import shutil
import statistics
import subprocess
import sys
import tarfile
import time
import zlib
from io import BytesIO

ARGUMENTS = sys.argv[1:]
CSV = pathlib.Path(ARGUMENTS[1]).resolve() if ARGUMENTS[0] == "--csv" else None
if CSV:
    del ARGUMENTS[:2]
PROGRAM = pathlib.Path(ARGUMENTS[0]).resolve()
FOLDER = pathlib.Path(ARGUMENTS[1]).resolve()
SIZE, FILES, ROUNDS, SAMPLES = [
    int(ARGUMENTS[at]) if len(ARGUMENTS) > at else default
    for at, default in [(2, 256), (3, 16), (4, 3), (5, 100_000)]
]

POLARS = """
import glob, polars
rows = polars.concat([polars.read_ndjson(name) for name in sorted(glob.glob("plain/*.jsonl"))])
rows.sample(fraction=1, shuffle=True, seed=1).write_ndjson("out/all.jsonl")
"""

DUCKDB = """
import duckdb
duckdb.sql("SET memory_limit='%dMB'")
duckdb.sql("COPY (SELECT * FROM read_json('in/*.zst', format='newline_delimited') "
           "ORDER BY random()) TO 'out/all.jsonl.zst' (FORMAT json, COMPRESSION zstd)")
"""


# Parquet files, a row group at a time.
ARROW = f"{sys.executable} {pathlib.Path(__file__).resolve().with_name('parquet_peer.py')}"


def has(module):
    """Whether Python has this module."""
    command = [sys.executable, "-c", f"import {module}"]
    return subprocess.run(command, stderr=subprocess.DEVNULL).returncode == 0


def make_lines():
    """JSON lines of 100 to 900 bytes, in files as they are and compressed. Returns their number."""
    (FOLDER / "in").mkdir()
    (FOLDER / "plain").mkdir()
    draw = random.Random(1)
    words = ["".join(draw.choices("abcdefghijklmnopqrstuvwxyz", k=draw.randint(2, 9)))
             for _ in range(5000)]
    lines = 0
    for file in range(FILES):
        plain = FOLDER / f"plain/{file:03}.jsonl"
        with plain.open("w") as text:
            while text.tell() < (SIZE << 20) // FILES:
                for _ in range(100):
                    said = " ".join(draw.choices(words, k=draw.randint(15, 140)))
                    text.write(f'{{"id": {lines}, "text": "{said}"}}\n')
                    lines += 1
        subprocess.run(["zstd", "-q", "-3", plain, "-o", FOLDER / f"in/{file:03}.jsonl.zst"],
                       check=True)
    return lines


def make_archive():
    """An archive of samples."""
    draw = random.Random(1)
    with tarfile.open(FOLDER / "samples.tar", "w") as tar:
        for number in range(SAMPLES):
            for part, data in [("jpg", draw.randbytes(draw.randint(500, 1500))), ("cls", b"7")]:
                header = tarfile.TarInfo(f"{number:08}.{part}")
                header.size = len(data)
                tar.addfile(header, BytesIO(data))


def make_tables():
    """Parquet files."""
    (FOLDER / "tables").mkdir()
    for file in range(FILES):
        size = str((SIZE << 20) // FILES)
        make_one = [*ARROW.split(), "make", FOLDER / f"tables/{file:03}.parquet", size]
        subprocess.run(make_one, check=True)


def table_sums(folder):
    """The number of rows of Parquet files, and a sum that does not depend on their order."""
    sums = []
    for path in sorted((FOLDER / folder).rglob("*.parquet")):
        told = subprocess.run([*ARROW.split(), "check", path], capture_output=True, check=True)
        sums.append([int(number) for number in told.stdout.split()])
    rows, checks = zip(*sums)
    return sum(rows), sum(checks) % 2**64


def run(command):
    """Seconds, processor time, and the most memory of a process in MiB."""
    shutil.rmtree(FOLDER / "out", ignore_errors=True)
    (FOLDER / "out").mkdir()
    start = time.perf_counter()
    # What does not fit memory is where inputs and outputs are, as DuckDB's is.
    place = os.environ | {"TMPDIR": str(FOLDER)}
    child = subprocess.Popen(["bash", "-o", "pipefail", "-ec", command], cwd=FOLDER, env=place)
    _, status, usage = os.wait4(child.pid, 0)
    seconds = time.perf_counter() - start
    if status != 0:
        return None
    return seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss >> 10


def sums(command):
    """The number of lines, and a sum that does not depend on their order.

    Line by line: a process that is started has the memory of this one for a moment.
    """
    lines = checks = 0
    with subprocess.Popen(["bash", "-ec", command], cwd=FOLDER, stdout=subprocess.PIPE) as read:
        for line in read.stdout:
            lines, checks = lines + 1, checks + zlib.crc32(line)
    assert read.returncode == 0, command
    return lines, checks


def main():
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    written = []
    memory, threads = SIZE // 4, os.cpu_count()
    ours = f"{PROGRAM} -q --seed 1 --memory {memory}M"
    sets = {
        "bshuf, limited": f"{ours} --output-dir out/x --shards {FILES} in",
        "bshuf": f"{PROGRAM} -q --seed 1 --memory {4 * SIZE}M --output-dir out/x --shards {FILES} in",
        "the codec alone": f"zstd -dcq in/*.zst | zstd -q -3 -T{threads} -o out/x.zst",
        "shuf in a pipe": "zstd -dcq in/*.zst | shuf | split -C 16M "
        "--filter='zstd -q -3 -o $FILE.zst' - out/part",
    }
    # In less memory DuckDB fails; Polars has no limit, and reads and writes lines as they are.
    plain = {
        "bshuf": f"{PROGRAM} -q --seed 1 --memory {4 * SIZE}M --output-dir out/x plain",
        "bshuf, limited": f"{ours} --output-dir out/x plain",
    }
    for name, text, into in [("duckdb", DUCKDB % (2 * SIZE), sets), ("polars", POLARS, plain)]:
        if has(name):
            # Beside a script of its own name a module would not be found.
            script = FOLDER / f"run_{name}.py"
            script.write_text(text)
            into[name] = f"{sys.executable} {script}"
    archives = {
        "bshuf, limited": f"{ours} --output-dir out/x --shards 16 samples.tar",
        "bshuf": f"{PROGRAM} -q --seed 1 --memory {4 * SIZE}M --output-dir out/x --shards 16 samples.tar",
        "two cats": "cat samples.tar >out/a && cat samples.tar >out/b",
    }
    tables = {
        "bshuf, limited": f"{ours} --output-dir out/x tables",
        "bshuf": f"{PROGRAM} -q --seed 1 --memory {4 * SIZE}M --output-dir out/x tables",
        "pyarrow, read and write": f"{ARROW} copy-all tables out",
    } if has("pyarrow") else {}
    print(f"{SIZE} MiB in {FILES} files, {SAMPLES} samples, {memory} MiB, {threads} cores, "
          f"{ROUNDS} rounds")
    for item, contenders in [
        ("lines of JSON, zstd", sets),
        ("lines of JSON", plain),
        ("samples of tar", archives),
        ("rows of Parquet", tables),
    ]:
        size = SIZE << 20
        if contenders is sets:
            lines = make_lines()
            whole = sums("cat plain/*")
            assert whole[0] == lines
        elif contenders is archives:
            # What is no longer read takes memory, as a file in it or as pages of the cache.
            shutil.rmtree(FOLDER / "in")
            shutil.rmtree(FOLDER / "plain")
            make_archive()
            size = (FOLDER / "samples.tar").stat().st_size
        elif contenders is tables and tables:
            make_tables()
            rows_before = table_sums("tables")
        rows = {name: [] for name in contenders}
        for round_ in range(ROUNDS):
            for name, command in contenders.items():
                rows[name].append(run(command))
                if round_ == 0 and contenders is sets and "zstd" in command:
                    assert sums("find out -name '*.zst' | xargs zstd -dcq") == whole, name
                if round_ == 0 and contenders is tables:
                    assert table_sums("out") == rows_before, name
        first = None
        for name, row in rows.items():
            if None in row:
                print(f"| {name} | failed | | | | |")
                continue
            seconds, work = [statistics.median(one[at] for one in row) for at in (0, 1)]
            first = first or (seconds, work)
            peak = max(one[2] for one in row)
            limit = memory << 20 if name.endswith("limited") else "all"
            written.append(f'"{name}",{size},"{item}",{limit},shards,{ROUNDS},{seconds:.3f},{peak}')
            print(f"| {name} | {seconds:.2f} s | {work:.2f} s | {peak} MiB "
                  f"| {seconds / first[0]:.2f} | {work / first[1]:.2f} |")
    if CSV:
        write(written)


def write(rows):
    """The rows, with where they are from."""
    told = lambda *line: subprocess.run(line, capture_output=True, text=True).stdout.strip()
    processor = next(line.split(": ")[1].strip() for line in open("/proc/cpuinfo") if "model name" in line)
    machine = f"{processor}, {os.cpu_count()} logical cores"
    origin = f'{datetime.date.today()},{told("git", "rev-parse", "--short=7", "HEAD")},"{machine}"'
    kind = told("stat", "-f", "-c", "%T", FOLDER)
    comments = [
        f"$ python3 benches/peers/datasets_peer.py --csv benches/results/{CSV.name} target/release/bshuf "
        f"FOLDER {SIZE} {FILES} {ROUNDS} {SAMPLES}",
        f"processor: {processor}",
        f"threads: {os.cpu_count()} on {os.cpu_count()} logical cores",
        f"each number: the median of {ROUNDS} processes, which take turns",
        f"inputs and outputs: {FILES} files, {SAMPLES} samples, on {kind}",
        f"{told('shuf', '--version').splitlines()[0]}; {told('zstd', '--version').strip('* ')}",
        f"python {platform.python_version()}, " + ", ".join(
            f"{name} {told(sys.executable, '-c', f'import {name}; print({name}.__version__)')}"
            for name in ("polars", "duckdb", "pyarrow")
        ),
    ]
    head = "date,revision,machine,name,bytes,item,memory,output,samples,seconds,peak_mib"
    text = [f"# {line}" for line in comments] + [head] + [f"{origin},{row}" for row in rows]
    CSV.write_text("\n".join(text) + "\n")


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    main()
