"""Times `bshuf` on data sets beside what people use instead: whole folders, compressed, to shards.

    python3 benches/peers/datasets_peer.py target/release/bshuf FOLDER [SIZE_MIB] [FILES] [ROUNDS]

Needs zstd, shuf and split; polars and duckdb take part if they can be imported. FOLDER gets the
data and the outputs, about six times SIZE. Each contender runs once in each round, in turn, and the
table has the medians of seconds and of processor time, the most memory that a process took, and both
times beside ours. On a machine that does other work too, only processor time means anything. Outputs
of zstd are checked in the first round: they have all lines.
"""

import os
import pathlib
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

PROGRAM = pathlib.Path(sys.argv[1]).resolve()
FOLDER = pathlib.Path(sys.argv[2]).resolve()
SIZE, FILES, ROUNDS = [
    int(sys.argv[at]) if len(sys.argv) > at else default
    for at, default in [(3, 256), (4, 16), (5, 3)]
]
SAMPLES = SIZE * 25

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


def make():
    """JSON lines of 100 to 900 bytes in compressed files, and an archive of samples."""
    shutil.rmtree(FOLDER, ignore_errors=True)
    (FOLDER / "in").mkdir(parents=True)
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
    with tarfile.open(FOLDER / "samples.tar", "w") as tar:
        for number in range(SAMPLES):
            for part, data in [("jpg", draw.randbytes(draw.randint(500, 1500))), ("cls", b"7")]:
                header = tarfile.TarInfo(f"{number:08}.{part}")
                header.size = len(data)
                tar.addfile(header, BytesIO(data))
    return lines


def run(command):
    """Seconds, processor time, and the most memory of a process in MiB."""
    shutil.rmtree(FOLDER / "out", ignore_errors=True)
    (FOLDER / "out").mkdir()
    start = time.perf_counter()
    child = subprocess.Popen(["bash", "-o", "pipefail", "-ec", command], cwd=FOLDER)
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
    lines = make()
    whole = sums("cat plain/*")
    assert whole[0] == lines
    memory, threads = SIZE // 4, os.cpu_count()
    ours = f"{PROGRAM} -q --seed 1 --memory {memory}M"
    sets = {
        "bshuf, shards of zstd": f"{ours} --output-dir out/x --shards {FILES} in",
        "zstdcat | zstd, the codec alone": f"zstd -dcq in/*.zst | zstd -q -3 -T{threads} -o out/x.zst",
        "zstdcat | shuf | split | zstd": "zstd -dcq in/*.zst | shuf | split -C 16M "
        "--filter='zstd -q -3 -o $FILE.zst' - out/part",
    }
    for name, text in [("duckdb", DUCKDB % memory), ("polars", POLARS)]:
        found = subprocess.run([sys.executable, "-c", f"import {name}"], stderr=subprocess.DEVNULL)
        if found.returncode == 0:
            # Beside a script of its own name a module would not be found.
            script = FOLDER / f"run_{name}.py"
            script.write_text(text)
            sets[name] = f"{sys.executable} {script}"
    archives = {
        "bshuf, 16 archives": f"{ours} --output-dir out/x --shards 16 samples.tar",
        "cat, twice": "cat samples.tar >out/a && cat samples.tar >out/b",
    }
    print(f"{SIZE} MiB in {FILES} files, {lines} lines, {SAMPLES} samples, {memory} MiB, "
          f"{threads} cores, {ROUNDS} rounds")
    for contenders in [sets, archives]:
        rows = {name: [] for name in contenders}
        for round_ in range(ROUNDS):
            for name, command in contenders.items():
                rows[name].append(run(command))
                if round_ == 0 and contenders is not archives and "zstd" in name:
                    assert sums("find out -name '*.zst' | xargs zstd -dcq") == whole, name
        first = None
        for name, row in rows.items():
            if None in row:
                print(f"| {name} | failed | | | | |")
                continue
            seconds, work = [statistics.median(one[at] for one in row) for at in (0, 1)]
            first = first or (seconds, work)
            print(f"| {name} | {seconds:.2f} s | {work:.2f} s | {max(one[2] for one in row)} MiB "
                  f"| {seconds / first[0]:.2f} | {work / first[1]:.2f} |")


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    main()
