"""What each table, figure and drawing of the documents is computed from, for documents.py.

Each is a function of the rows: `TABLES` and `FIGURES` by the names of their markers, `DRAWINGS` by
their files. A table that no document shows is there for sentences that quote its cells.
"""

import csv
import math

from documents import Rows, Table, Wrong, number, spread

PLAIN, KEPT = "ours, `par_bijective_shuffle`", "ours, workspace kept, partitioned"
RIP, RIP_ONE = "rip_shuffle, parallel", "rip_shuffle, sequential"
THRUST, TORCH, GATHER = "thrust::shuffle_copy", "torch x[randperm]", "gather"
GPU = ["gpu-ours", "gpu-peers", "gpu-torch"]
# Shuffles in device memory by a family that passes the report in docs/quality.md.
OURS_ON_GPU = [f"{strategy}, {family}" for family in ("Philox-24", "default")
               for strategy in ("SinglePass", "Partitioned", "Auto")]


def length(power):
    return str((1 << power) + 1)


def called(len):
    power = int(len).bit_length() - 1
    return f"2^{power}" + (f" + {int(len) - (1 << power)}" if int(len) > 1 << power else "")


def speeds(files, write, lens, columns, bytes="8"):
    """A line for each length, and a column for each contender, or pair for a ratio."""
    def table(results):
        rows, lines = results.rows(*files), []
        for len in lens:
            at = rows.where(item_bytes=bytes, length=len)
            line = [called(len)]
            for of in columns.values():
                line.append(number(at.speed(of[0]) / at.speed(of[1]) if of[0] != "best" else
                                   at.best(OURS_ON_GPU) / at.speed(of[1]), 2)
                            if isinstance(of, tuple) else write(at.speed(of)))
            lines.append(line)
        return Table(["length", *columns], lines, rows.origins())
    return table


def millions(speed):
    return number(speed / 1e6, 1 if speed < 99.95e6 else 0)


def billions(speed):
    """Three digits, whatever comes before them."""
    value = speed / 1e9
    bounds = [(0.009995, 5), (0.09995, 4), (0.9995, 3), (9.995, 2), (99.95, 1), (math.inf, 0)]
    return number(value, next(digits for bound, digits in bounds if value < bound))


def chosen(file, columns, bold=(), **wanted):
    """Columns of a file as they are, in the rows that are wanted."""
    def table(results):
        rows = results.rows(file)
        def cell(row, column):
            great = column in bold and row[column] and abs(float(row[column])) >= 4
            return f"**{row[column]}**" if great else row[column]
        lines = [[cell(row, column) for column in columns] for row in rows.where(**wanted).rows]
        heads = columns.values() if isinstance(columns, dict) else columns
        return Table(heads, lines, rows.origins())
    return table


def header_walk(results):
    """Nanoseconds for one index by the header, next to those of `std::shuffle`."""
    rows, lines = results.rows("header-walk"), []
    for len in dict.fromkeys(row["length"] for row in rows.rows):
        line = [called(len)]
        for compiler in ("gcc 12", "clang 19"):
            for name in ("walk", "walk, inverse", "std::shuffle"):
                found = rows.where(length=len, compiler=compiler, name=name).rows
                line.append(number(float(found[0]["nanoseconds"]), 1) if found else "")
        lines.append(line)
    names = ["`p(i)`", "`p.inverse(x)`", "`std::shuffle`"]
    return Table(["length", *(f"{name}, {of}" for of in ("GCC 12", "Clang 19") for name in names)],
                 lines, rows.origins())


def gpu_walk(results):
    """Milliseconds of kernels whose threads compute their index by the header, next to CCCL's."""
    rows, lines = results.rows("gpu-walk"), []
    names = ["write in order", "bijective_shuffle::walk32", "bijective_shuffle::walk", "cuda::shuffle_iterator"]
    for bytes, what in (("4", "indexes"), ("64", "rows of 64 bytes, gathered")):
        for len in dict.fromkeys(row["length"] for row in rows.where(item_bytes=bytes).rows):
            line = [f"{called(len)} {what}"]
            for name in names:
                found = rows.where(item_bytes=bytes, length=len, name=name).rows
                line.append(number(float(found[0]["seconds"]) * 1e3, 2) if found else "")
            lines.append(line)
    return Table(["", "memory alone", "`walk32`", "`walk`", "`cuda::shuffle_iterator`"], lines, rows.origins())


CPU_COLUMNS = {label: ("ours, default, auto", peer) for label, peer in {
    "`rip_shuffle`": RIP, "Rao-Sandelius": "Rao-Sandelius, memory kept",
    "MergeShuffle": "MergeShuffle", "`rand`": "rand", "`fastrand`": "fastrand",
    "`std::shuffle`": "std::shuffle, SplitMix64", "gather": GATHER, "`memcpy`": "memcpy"}.items()}
CPU_LENGTHS = [length(power) for power in (8, 14, 20, 23, 26)]
GPU_COLUMNS = {"`Auto`, default": "Auto, default", "`Auto`, cipher": "Auto, Philox-24",
               "undone, partitioned": "back, Partitioned, default",
               "Thrust, memory kept": "thrust::shuffle_copy (memory kept)", "PyTorch": TORCH,
               "CuPy": "cupy.random.permutation", "gather": GATHER}
GPU_RATIOS = {"gather": ("best", GATHER), "Thrust": ("best", THRUST), "PyTorch": ("best", TORCH)}
GPU_LENGTHS = [length(power) for power in (8, 14, 20, 26, 29)]
SMALL = {f"ours, `par_bijective_shuffle` / {peer}": (PLAIN, peer) for peer in ["fastrand"]}
DICE = {f"ours, `par_bijective_shuffle` / {peer}": (PLAIN, peer) for peer in ["batched dice"]}

# Machines with calls in fresh processes: items of 8 bytes, and other items at one length.
MACHINES = {"EPYC (Zen 5), 2 cores": ("cpu-cold-zen5", "cpu-cold-zen5-items"),
            "EPYC (Zen 4), 2 cores": ("cpu-cold", "cpu-cold-items"),
            "Xeon, 16 cores": ("cpu-cold-xeon-16", "cpu-cold-xeon-items"),
            "Xeon, 2 cores": ("cpu-cold-xeon-2", None)}
FIRST, LATER = "first_items_per_second", "later_items_per_second"
PEAK = "peak_bytes_per_item"


def calls(results):
    origins, lines = [], []
    for machine, len, of in called_in_fresh_processes(results):
        lines.append([machine, len, *(number(of(*one) / 1e6, 0) for one in [*CALLS, (RIP, LATER)])])
    for machine, (file, _) in MACHINES.items():
        dates = ["{}, {}".format(*origin.split(", ")[:2]) for origin in results.rows(file).origins()]
        origins.append(f"{machine}: {'; '.join(dates)}")
    head = ["machine", "length", "first call", "later calls", "`Workspace`", "`rip_shuffle`, later calls"]
    return Table(head, lines, origins)


def calls_over_rip(results):
    head = ["machine", "length", "first call", "later calls", "`Workspace`", "memory of a call",
            "of a `Workspace`"]
    return Table(head, ([machine, len, *(number(of(*one) / of(RIP, one[1]), 2) for one in CALLS),
                         *(number(of(name, PEAK), 1) for name in (PLAIN, KEPT))]
                        for machine, len, of in called_in_fresh_processes(results)))


CALLS = [(PLAIN, FIRST), (PLAIN, LATER), (KEPT, LATER)]


def called_in_fresh_processes(results):
    """Machines, lengths, and what a contender has in a column."""
    for machine, (file, _) in MACHINES.items():
        for len in (length(power) for power in (18, 22, 26)):
            at = results.rows(file).where(item="u64", length=len)
            yield machine, called(len), lambda name, column: at.where(name=name).number(column)


def calls_by_item(results):
    lines = []
    for machine, (_, file) in MACHINES.items():
        rows = results.rows(file) if file else Rows([])
        for item in rows.all("item"):
            of = lambda name: rows.where(item=item, name=name).number(LATER)
            lines.append([machine, f"`{item}`", number(of(PLAIN) / of(RIP), 2)])
    return Table(["machine", "items", "ours / `rip_shuffle`"], lines)


def call(name, column=LATER, len=length(26)):
    """A number of calls in fresh processes on the first machine."""
    return lambda results: results.rows("cpu-cold-zen5").where(
        item="u64", length=len, name=name).number(column)


def kept_over_rip(results):
    lens = [len for len in results.rows("cpu-cold-zen5").all("length") if int(len) > 1 << 22]
    return spread([call(KEPT, len=len)(results) / call(RIP, len=len)(results) for len in lens], 1)


STANDARD, CIPHER = "`Standard` (`MulXorshift<10>`)", "`VariablePhilox<24>`"


def evaluated(results, family, instructions):
    return results.rows("cpu-evaluations").where(family=family, instructions=instructions).number("24")


def parts(results, **wanted):
    """Parts of a copy of affine maps on a GPU."""
    rows = results.rows("affine-gpu").where(**wanted).rows
    return [float(row["part_of_copy"]) for row in rows]


def affine_gpu(results):
    lines = []
    for item in ["1 byte, 2^32", "4 bytes, 2^30", "8 bytes, 2^29", "16 bytes, 2^28",
                 "12 bytes, 2^28"]:
        of = lambda matrix, kernel: parts(results, **dict(zip(("item", "length"), item.split(", "))),
                                          matrix=matrix, kernel=kernel)
        cells = [", ".join(number(part, 3) for part in of(matrix, "ours"))
                 for matrix in ("bit reversal", "random BPC", "random BMMC")]
        lines.append([item, *cells, number(upper(of("random BMMC", "item by item")), 3)])
    head = ["items", "bit reversal", "random BPC", "random BMMC", "item by item, BMMC"]
    return Table(head, lines, results.rows("affine-gpu").origins())


def upper(values):
    return sorted(values)[len(values) // 2]


def affine_over(results, kernel):
    of = lambda kernel: upper(parts(results, item="4 bytes", length="2^30", matrix="random BMMC",
                                    kernel=kernel))
    return of("ours, beside the paper") / of(kernel)


TWO_PASSES, AT_BEST = "paper: tile + banks", "two passes: 32 bits, columns, iters"


def exchange(results):
    columns = {"census": "census_ns", "plan": "plan_ns", "pack": "pack_ns", "place": "place_ns",
               "a shuffle in one process": "one_process_ns"}
    rows = results.rows("exchange-20")
    return Table(["ranks", *columns], ([row["ranks"], *(number(float(row[c]), 2)
                 for c in columns.values())] for row in rows.rows), rows.origins())


def many_ranks(results):
    table = exchange(results)
    step = lambda ranks: sum(float(table.cell(ranks, c)) for c in ("plan", "pack", "place"))
    return number(step("256") / step("8"), 2)


def mpi_weak(results):
    rows, lines = results.rows("mpi-weak"), []
    for row in rows.rows:
        alone = rows.where(ranks="1", way=row["way"]).number("in all")
        lines.append([*(row[c] for c in ("ranks", "items", "way", "in all", "bare MPI_Alltoallv")),
                      number(alone / float(row["in all"]), 2)])
    return Table(["ranks", "items", "way", "in all", "bare MPI_Alltoallv", "rate of each"], lines,
                 rows.origins())


def over_one_process(tags):
    return lambda results: spread([float(row["in all / one process"]) for row in
                                   results.rows("mpi-speed").where(tags=tags).rows], 2)


def group(file, members, lens):
    def table(results):
        rows, lines = results.rows(file), []
        at = rows.where(members=members, item_bytes="8")
        for len in lens:
            of = lambda name, len=len: at.where(name=name, length=len).number("seconds") * 1e3
            for way, prefix in (("there", ""), ("back", "back, ")):
                alone = of(f"{prefix}one GPU, Partitioned, default", str(int(len) // int(members)))
                one = of(f"{prefix}group, default")
                lines.append([len, way, number(alone, 2), number(of("bare exchange by copies"), 2),
                              number(one, 2), number(int(len) / one / 1e6, 1),
                              number(alone / one, 2), number(of(f"{prefix}ranks, default"), 2)])
        head = ["items in all", "way", "one GPU with its share alone, ms", "bare exchange, ms",
                "`CudaGroup`, ms", "G items/s in all", "alone / group", "`CudaExchange`, ms"]
        return Table(head, lines, rows.origins())
    return table


def timed(file, lead, digits, beside=None):
    """Milliseconds, or seconds and G/s, of all rows of a file."""
    def table(results):
        rows, lines = results.rows(file), []
        for row in rows.rows:
            seconds, line = float(row["seconds"]), [row[c] for c in lead]
            if beside is None:
                line += [number(seconds, 1), number(float(row["length"]) / seconds / 1e9, 1)]
            else:
                line.append(number(seconds * 1e3, digits))
                ours = results.rows(beside).where(name="group, default", **{
                    c: row[c] for c in ("members", "item_bytes", "length")})
                line.append(number(seconds / ours.number("seconds"), 2) if ours.rows else "")
            lines.append(line)
        return Table([*lead, *(["s", "G/s"] if beside is None else ["ms", "/ group"])], lines)
    return table


GROUP_ROW = ["members", "item_bytes", "length", "name"]


def in_place(results):
    rows, lines = results.rows("gpu-in-place"), []
    for bytes in ("8", "4"):
        for len in (length(power) for power in (20, 23, 26, 29)):
            at = rows.where(item_bytes=bytes, length=len)
            of = [at.speed(name) for name in ("in place, default", "back, in place, default",
                                              "Auto, default")]
            lines.append([bytes, called(len), *(number(speed / 1e9, 2) for speed in of),
                          number(of[0] / of[2], 2)])
    head = ["bytes an item", "length", "in place", "undone", "into another array",
            "in place / into another"]
    return Table(head, lines, rows.origins())


def raft(results):
    lines = []
    for len in (str(1 << 29), length(29)):
        at = results.rows("gpu-compute").where(item_bytes="8", length=len)
        over = [at.speed("Auto, default") / at.speed(peer) for peer in
                ("raft::random::permute", "cuda.compute x[ShuffleIterator]")]
        lines.append(["8 bytes", called(len), *(number(ratio, 2) for ratio in over)])
    return Table(["what", "length", "/ RAFT", "/ cuda.compute"], lines)


def gpu_calls(results):
    rows = results.rows("gpu-calls").where(length="257")
    kinds = dict.fromkeys((row["name"], row["what"]) for row in rows.rows)
    return Table(["a call", "timed", "257"], (
        [name, what, number(rows.where(name=name, what=what).median() * 1e6, 2)]
        for name, what in kinds))


def gpu_batch(results):
    heads = {"a copy": "a copy", "one call": "one call", "PyTorch": "torch rand, argsort and gather"}
    rows, lines = results.rows("gpu-batch").where(item_bytes="8"), []
    for len in rows.all("length"):
        at = rows.where(length=len)
        of = [at.where(name=name) for name in heads.values()]
        lines.append([len, "8", *(number(int(len) * one.number("rows") / one.number("seconds") / 1e9, 1)
                                  for one in of)])
    return Table(["length", "bytes an item", *heads], lines)


def over_gather(results, names, digits):
    at = results.rows(*GPU).where(item_bytes="8", length=length(29))
    return spread([at.speed(name) / at.speed(GATHER) for name in names], digits)


def words(results, generator, column):
    return results.rows("rng-words").where(generator=generator).number(column)


def words_over(peer, instructions, digits):
    column = f"{instructions}, 2^13"
    return lambda results: number(words(results, "`Philox4x32Rng`", column) /
                                  words(results, peer, column), digits)


CHACHA, FASTRAND, SMALL_RNG = "`ChaCha8Rng` (`rand` 0.10)", "`fastrand` 2.5", "`SmallRng` (`rand` 0.10)"


def filled(results, name, kind):
    rows = results.rows("gpu-rng").where(numbers=kind)
    return rows.where(length=max(rows.all("length"), key=int)).speed(name)


def fills(results):
    kinds = ["u32", "f32", "normal f32", "f64", "normal f64"]
    lines = []
    for name in ["write only", "Philox4x32-10", "Lcg64, 262144 streams", "Xorwow, 262144 streams",
                 "XorShift1024Weyl, 32768 streams", "cuRAND PHILOX4_32_10",
                 "cuRAND PHILOX4_32_10, dynamic", "cuRAND XORWOW, dynamic",
                 "cuRAND MRG32K3A, dynamic", "cuRAND MT19937"]:
        of = [filled(results, name, kind) for kind in kinds]
        lines.append([name, *(number(speed / 1e9, 0) for speed in of),
                      number(of[0] / filled(results, "write only", "u32"), 2)])
    heads = [f"`{k}`" if k in ("u32", "f32", "f64") else f"normal `{k[7:]}`" for k in kinds]
    return Table(["generator", *heads, "`u32`, of write only"], lines,
                 results.rows("gpu-rng").origins())


def normal(kind):
    peers = ["cuRAND PHILOX4_32_10", "cuRAND PHILOX4_32_10, dynamic"]
    return lambda results: spread([filled(results, "Philox4x32-10", kind) /
                                   filled(results, peer, kind) for peer in peers], 2)


BATTERIES = {"SmallCrush": ("small", 15), "Crush": ("crush", 144), "BigCrush": ("big", 160)}
# The generators whose BigCrush the paper has.
IN_THE_PAPER = ["lcg64/streams", "fibonacci1279/sequence", "xorwow/sequence", "xorshift/warp",
                "philox7/sequence", "philox10/sequence", "curand/xorwow", "curand/mtgp32"]


def statistics(results):
    """The p of each statistic by generator and battery, with the seed that has most of them."""
    found = {}
    for battery, (file, _) in BATTERIES.items():
        seeds = {}
        with open(results.folder / f"../testu01/results/{file}.csv", newline="") as text:
            for row in csv.DictReader(text):
                if row["battery"] == battery:
                    of = seeds.setdefault(f"{row['generator']}/{row['order']}", {})
                    one = of.setdefault(int(row["seed"]), {})
                    one[row["test"], row["statistic"]] = float(row["p"])
        for name, of in seeds.items():
            # Other seeds are of tests that were run again. Of equal ones the lowest.
            most = max(sorted(of), key=lambda seed: len(of[seed]))
            found.setdefault(name, {})[battery] = of[most]
    return found


def testu01(results):
    def cell(ps, of):
        failed = sum(p < 1e-10 or 1 - p < 1e-10 for p in ps.values()) or "none"
        return "not run" if not ps else f"{failed}" if len(ps) >= of else \
            f"{failed} of the {len(ps)} that were run"
    same = {}
    for name, all in statistics(results).items():
        cells = tuple(cell(all.get(b, {}), of) for b, (_, of) in BATTERIES.items())
        same.setdefault(cells, []).append(f"`{name}`")
    head = ["generator", "SmallCrush, 15 statistics", "Crush, 144", "BigCrush, 160"]
    return Table(head, ([", ".join(names), *cells] for cells, names in same.items()))


def file_row(results, file, output, name, column="seconds", **wanted):
    return results.rows(file).where(output=output, name=name, **wanted).number(column)


def set_ratio(item, name, other):
    def figure(results):
        of = lambda name: file_row(results, "files-sets", "shards", name, item=item)
        return number(of(name) / of(other), 2)
    return figure


ZSTD, LIMITED = "lines of JSON, zstd", "bshuf, limited"


def files(results):
    over = lambda file, output, name, other: number(
        file_row(results, file, output, name) / file_row(results, file, output, other), 2)
    both = lambda file, name: "; ".join(over(file, to, name, "bshuf") for to in ("new file", "/dev/null"))
    peaks = [number(file_row(results, "files-peak", to, LIMITED, "peak_mib"), 0)
             for to in ("new file", "/dev/null")]
    of_set = lambda *of: set_ratio(*of)(results)
    rows = [
        ["lines of 1 GiB in memory, to a file; to /dev/null: `shuf` / ours", "3; 5 or more",
         both("files-memory", "shuf")],
        ["the same: uutils `shuf` / ours", "3 or more", both("files-uutils", "uutils shuf")],
        ["the same: terashuf / ours", "3 or more", both("files-memory", "terashuf")],
        ["the same: `sort -R` / ours", "50 or more", both("files-sort", "sort -R")],
        ["lines of 8 GiB in 1 GiB of memory, to a file: ours / two runs of `cat`", "2.2 or less",
         over("files-disk", "new file", LIMITED, "two cats")],
        ["the same: terashuf, in as much memory / ours", "2 or more",
         over("files-disk", "new file", "terashuf", LIMITED)],
        ["peak for lines of 8 GiB in 256 MiB, to a file; to /dev/null, MiB", "320 or less",
         "; ".join(peaks)],
        ["10^9 records of 8 bytes, to a file: in 1 GiB / without a limit", "2 or less",
         over("files-records", "new file", LIMITED, "bshuf")],
        ["Parquet of 2 GiB in 512 MiB: ours / pyarrow's reading and writing", "2 or less",
         over("files-table", "new file", LIMITED, "pyarrow, read and write")],
        ["a folder of 4 GiB of compressed lines to shards, in 1 GiB, all in a tmpfs: ours / "
         "the codec alone", "1.5 or less", of_set(ZSTD, LIMITED, "the codec alone")],
        ["the same: `shuf` in a pipe / ours", "3 or more", of_set(ZSTD, "shuf in a pipe", LIMITED)],
        ["the same: DuckDB, in eight times the memory / ours", "2 or more",
         of_set(ZSTD, "duckdb", LIMITED)],
        ["a folder of lines to shards, in memory: Polars, which writes one file / ours",
         "2 or more", of_set("lines of JSON", "polars", "bshuf")],
        ["a folder of 4 GiB of Parquet to a folder, in 1 GiB, all in a tmpfs: ours / pyarrow's "
         "reading and writing", "1.5 or less",
         of_set("rows of Parquet", LIMITED, "pyarrow, read and write")],
        ["100 000 samples of tar to 16 archives, in memory: ours / two runs of `cat`",
         "2.5 or less", of_set("samples of tar", "bshuf", "two cats")],
    ]
    return Table(["", "aimed at", "measured"], rows)


def python_row(results, case, what, column):
    rows = results.rows("python").where(case=case)
    return Rows(row for row in rows.rows if row["what"].startswith(what)).number(column)


def python(results):
    of = lambda *row: python_row(results, *row)
    over = lambda case, what: number(of(case, what, "theirs") / of(case, what, "ours"), 2)
    eighth = lambda what: number(of("eighth-torch", what, "theirs") / of("eighth-ours", what, "ours"), 0)
    ms = lambda case, what: number(of(case, what, "ours") * 1e3, 3)
    share = lambda case: number(of(case, "10000000 rows", "ours") / of(case, "10000000 rows", "theirs"), 2)
    rows = [
        ["first batch of a rank of 10^12 items; resumed in the middle, ms", "less than 1",
         f"{ms('first-batch', 'first batch')}; {ms('first-batch', 'resumed')}"],
        ["the memory for that above Python's, NumPy included, MB", "less than 60",
         number(of("first-batch", "memory", "ours") / 1e6, 0)],
        ["a rank's eighth of 10^8 indexes: `DistributedSampler` / ours", "100 or more",
         eighth("all indexes")],
        ["the same in memory", "50 or more", eighth("memory")],
        ["10^7 indexes through a `DataLoader`: `RandomSampler` / ours", "1 or more",
         over("loader", "loader")],
        ["`p[i]`: grain's `index_shuffle` / ours", "20 or more", over("index-shuffle", "p[i]")],
        ["2^26 `int64` in place: `Generator.shuffle` / ours", "3 or more",
         over("arrays", "67108864 int64")],
        ["2^21 rows of 100 `float32` in place: `Generator.shuffle` / ours", "3 or more",
         over("arrays", "2097152 rows of 100 float32")],
        ["`choice(10**12, 1000)`, ms", "less than 0.1", ms("choice", "1000 of 10^12")],
        ["10^7 rows by Dask, Ray and Spark, on two cores: ours / their own shuffle", "1.3 or less",
         "; ".join(map(share, ("dask", "ray", "spark")))],
        ["`randperm(2**29)` in `int32` on the GPU: PyTorch's / ours", "20 or more",
         over("gpu", "randperm of 536870912 int32")],
        ["2^29 `float32` on the GPU: `x[randperm]` / `shuffled(x)`", "6 or more",
         over("gpu", "536870912 float32 to another tensor")],
    ]
    return Table(["", "aimed at", "measured"], rows)


def loaders(results):
    rows, lines = results.rows("python-loaders"), []
    for what in ["packed-by-megatron: an epoch", "lengths-of-transformers: an epoch",
                 "lengths: the index", "stream: each item", "frame-of-pandas: shuffled",
                 "frame-of-polars: shuffled", "weighted: each of 2^24 draws",
                 "others-in-rust: each item of a stream, beside a plain buffer"]:
        row = rows.where(**dict(zip(("case", "what"), what.split(": ", 1))))
        lines.append([what, *(row.text(c) for c in ("ours", "theirs", "theirs / ours"))])
    return Table(["what", "ours", "theirs", "theirs / ours"], lines, rows.origins())


def walks(results):
    rows = results.rows("python-walks")
    columns = ("case", "what", "ours", "theirs", "theirs / ours")
    lines = [[row[c] for c in columns] for row in rows.rows]
    return Table(["case", "what", "ours", "theirs", "theirs / ours"], lines, rows.origins())


def figures_that_matter(results):
    lines = []

    def add(what, speed, rows, page, *peers):
        origins = rows.origins()
        if any("converted from" in comment for comment in rows.comments):
            origins.append("digits of a printed table")
        ratios = [f"{peer}: {number(ratio, 1 if peer == CIPHER else 2 if ratio < 10 else 0)}"
                  for peer, ratio in peers]
        lines.append([what, speed, "; ".join(ratios), "; ".join(origins),
                      f"[{page}](results/{page}.md)"])

    for machine in ("EPYC (Zen 5), 2 cores", "Xeon, 16 cores"):
        rows = results.rows(MACHINES[machine][0]).where(item="u64", length=length(26))
        of = lambda name, column: rows.where(name=name).number(column)
        for way, one in zip(("the first plain call", "later plain calls", "a `Workspace`"), CALLS):
            add(f"shuffle of 2^26 + 1 items of 8 bytes, {machine}: {way}",
                f"{number(of(*one) / 1e6, 0)} M/s", rows, "cpu",
                ("parallel `rip_shuffle`", of(*one) / of(RIP, one[1])))
    for names in (GPU, ["gpu-h100-*"]):
        rows = results.rows(*names)
        at = rows.where(item_bytes="8", length=length(29))
        ours = at.best(OURS_ON_GPU)
        add("shuffle of 2^29 + 1 items of 8 bytes in device memory", f"{number(ours / 1e9, 1)} G/s",
            rows, "gpu", ("`thrust::shuffle_copy`", ours / at.speed(THRUST)),
            ("`x[randperm]` of PyTorch", ours / at.speed(TORCH)),
            ("a gather by a given index", ours / at.speed(GATHER)))
    ours = evaluated(results, STANDARD, "AVX-512")
    ratio = ours / evaluated(results, CIPHER, "AVX-512")
    add("evaluations of the default family, 24 bits, one core with AVX-512",
        f"{number(ours / 1e3, 1)} G/s", results.rows("cpu-evaluations").where(
            family=STANDARD, instructions="AVX-512"), "cpu", (CIPHER, ratio))
    ours = upper(parts(results, item="4 bytes", length="2^30", matrix="random BMMC",
                       kernel="ours, beside the paper"))
    add("a random affine map of 2^30 items of 4 bytes in device memory",
        f"{number(ours, 2)} of a copy", results.rows("affine-gpu"), "affine",
        ("the two passes of Bouverot-Dupuis and Sheeran", affine_over(results, TWO_PASSES)))
    of = lambda generator: words(results, generator, "AVX-512, 2^13")
    ours = of("`Philox4x32Rng`")
    add("words of Philox4x32-10, one core with AVX-512", f"{number(ours, 1)} G/s",
        results.rows("rng-words"), "rng", ("`rand`'s ChaCha8", ours / of(CHACHA)),
        ("`SmallRng`", ours / of(SMALL_RNG)))
    of = lambda name: filled(results, name, "u32")
    ours = of("Philox4x32-10")
    add("words of Philox4x32-10 into device memory", f"{number(ours / 1e9, 0)} G/s",
        results.rows("gpu-rng"), "rng",
        ("the same generator of cuRAND", ours / of("cuRAND PHILOX4_32_10")),
        ("a kernel that only writes", ours / of("write only")))
    of = lambda name: file_row(results, "files-memory", "/dev/null", name)
    add("lines of 80 bytes, a file of 1 GiB to /dev/null, 2 threads",
        f"{number(1 / of('bshuf'), 1)} GiB/s", results.rows("files-memory"), "lines",
        ("`shuf`", of("shuf") / of("bshuf")), ("terashuf", of("terashuf") / of("bshuf")))
    of = lambda column: python_row(results, "arrays", "67108864 int64", column)
    add("2^26 `int64` of a NumPy array in place, 2 threads",
        f"{number((1 << 26) / of('ours') / 1e6, 0)} M/s",
        results.rows("python").where(case="arrays"), "python",
        ("`Generator.shuffle`", of("theirs") / of("ours")))
    return Table(["what", "speed", "times as fast as", "measured on", "all rows"], lines)


CURVES = {"Workspace, Partitioned": KEPT, "par_bijective_shuffle": PLAIN, "rip_shuffle, parallel": RIP,
          "rip_shuffle, one thread": RIP_ONE}


def bars(results):
    """The plain call beside its peers: the first call and later ones, and where a peer is faster."""
    groups = {"2^26 + 1 items, first call": (26, FIRST, [PLAIN, RIP, RIP_ONE]),
              "2^26 + 1 items, later calls": (26, LATER, [PLAIN, RIP, RIP_ONE]),
              "2^18 + 1 items, first call": (18, FIRST, [PLAIN, RIP, RIP_ONE])}
    labels = {name: label for label, name in CURVES.items()}
    of = {title: [(labels[name], call(name, column, length(power))(results) / 1e6) for name in names]
          for title, (power, column, names) in groups.items()}
    most = max(speed for lines in of.values() for _, speed in lines)
    text = "\n".join(title + "\n" + "".join(
        f"  {label:<24} {'█' * round(speed / most * 40)} {speed:.0f}\n" for label, speed in lines)
        for title, lines in of.items())
    return f"```text\n{text}```\n"


def speed_svg(results):
    def cpu(name):
        rows = results.rows("cpu-cold-zen5").where(name=name, item="u64")
        return [(math.log2(int(row["length"])), float(row[LATER]) / 1e6) for row in rows.rows]

    def gpu(name):
        rows = results.rows(*GPU).where(item_bytes="8", name=name)
        lens = {int(len): int(len).bit_length() - 1 for len in rows.all("length")}
        above = sorted(len for len, power in lens.items() if len == (1 << power) + 1)
        return [(math.log2(len), rows.where(length=str(len)).speed(name) / 1e9) for len in above]

    panels = {
        ("2 cores of an AMD EPYC (Zen 5), calls 2 to 5", "millions of items of 8 bytes a second"):
            [(label, cpu(name)) for label, name in CURVES.items()],
        ("One NVIDIA H200", "billions of items of 8 bytes a second"):
            [("CudaWorkspace", gpu("Auto, default")), ("gather by a given index", gpu(GATHER)),
             (THRUST, gpu(THRUST)), ("x[randperm], PyTorch", gpu(TORCH))]}
    svg = SVG
    for at, (titles, curves) in enumerate(panels.items()):
        svg += f'<g transform="translate(0 {350 * at})">\n{panel(titles, curves)}</g>\n'
    return svg + "</svg>\n"


# Readable on a phone, in light and in dark: what is written has the colour of text, and curves
# differ in their dashes too.
SVG = """<svg xmlns="http://www.w3.org/2000/svg" width="480" height="840" viewBox="0 0 400 700" role="img">
<title>Speed of shuffles by length</title>
<style>
text { font: 14px system-ui, sans-serif; fill: #1f2328; }
.title { font-weight: bold; }
.back { fill: #fff; }
path { stroke: #d1d9e0; }
polyline { fill: none; stroke-width: 2.5; }
.c0 { stroke: #b00020; }
.c1 { stroke: #a04800; stroke-dasharray: 9 3; }
.c2 { stroke: #0a58b0; stroke-dasharray: 5 3; }
.c3 { stroke: #57606a; stroke-dasharray: 2 3; }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3; }
.back { fill: #161b22; }
path { stroke: #3d444d; }
.c0 { stroke: #ff7b72; }
.c1 { stroke: #ffa657; }
.c2 { stroke: #79c0ff; }
.c3 { stroke: #b1bac4; }
}
</style>
<rect class="back" width="400" height="700" rx="6"/>
"""


def panel(titles, curves):
    """Speeds on a logarithmic scale against lengths, below the names of the curves."""
    left, right, top, bottom = 52, 372, 106, 300
    points = [point for _, of in curves for point in of]
    (start, end), lows = (min(points)[0], max(points)[0]), [speed for _, speed in points]
    low, high = math.floor(math.log10(min(lows))), math.ceil(math.log10(max(lows)))
    x = lambda w: left + (w - start) / (end - start) * (right - left)
    y = lambda speed: bottom - (math.log10(speed) - low) / (high - low) * (bottom - top)
    svg = f'<text class="title" x="12" y="26">{titles[0]}</text><text x="12" y="46">{titles[1]}</text>\n'
    for power in range(low, high + 1):
        at = y(10.0 ** power)
        svg += (f'<path d="M{left} {at:.1f}H{right}"/><text x="{left - 6}" '
                f'y="{at + 4:.1f}" text-anchor="end">{10.0 ** power:g}</text>\n')
    for w in sorted({round(w) for w, _ in points}):
        svg += f'<text x="{x(w):.1f}" y="{bottom + 20}" text-anchor="middle">2^{w}</text>\n'
    svg += f'<text x="{(left + right) / 2:g}" y="{bottom + 38}" text-anchor="middle">items</text>\n'
    for at, (name, of) in enumerate(curves):
        line = " ".join(f"{x(w):.1f},{y(speed):.1f}" for w, speed in of)
        across, down = 12 + at % 2 * 188, 66 + at // 2 * 20
        svg += (f'<polyline class="c{at}" points="{line}"/>'
                f'<polyline class="c{at}" points="{across},{down} {across + 22},{down}"/>'
                f'<text x="{across + 27}" y="{down + 5}">{name}</text>\n')
    return svg


TABLES = {
    "speed in bars": bars,
    "figures that matter": figures_that_matter,
    "short calls": calls,
    "calls over rip_shuffle": calls_over_rip,
    "calls by item": calls_by_item,
    "short cpu 2": speeds(["cpu-two-paper*"], millions, CPU_LENGTHS, CPU_COLUMNS),
    "short cpu 16": speeds(["cpu-paper*"], millions, CPU_LENGTHS, CPU_COLUMNS),
    "small": speeds(["cpu-small"], millions, [length(w) for w in (8, 13, 16)], SMALL),
    "header": header_walk,
    "walks on a GPU": gpu_walk,
    "small, Zen 4": speeds(["cpu-small-zen4"], millions, [length(15)], DICE),
    "short evaluations": chosen(
        "cpu-evaluations", {"family": "family", "instructions": "instructions", "16": "16 bits",
                            "24": "24 bits", "32": "32 bits", "64": "64 bits"},
        family=[STANDARD, CIPHER]),
    "short gpu": speeds(GPU, billions, GPU_LENGTHS, GPU_COLUMNS),
    "short gpu ratios": speeds(GPU, billions, GPU_LENGTHS, GPU_RATIOS),
    "gpu": speeds(GPU, billions, [length(29)], {
        "best of ours / gather": ("best", GATHER),
        "best of ours / thrust::shuffle_copy": ("best", THRUST)}, "4"),
    "gpu raft": raft,
    "short gpu in place": in_place,
    "gpu calls": gpu_calls,
    "gpu batch": gpu_batch,
    "gpu cold": chosen("gpu-cold", ["kernels", "ms", "ms after `Cuda::new`"]),
    "short affine cpu": chosen(
        "affine-cpu", ["items", "map", "part of a copy", "G items/s", "over the naive loop"],
        items=["2^20", "2^28"]),
    "short affine gpu": affine_gpu,
    "exchange": exchange,
    "short mpi": chosen("mpi-speed", {c: c.removesuffix(", kept workspace") for c in (
        "items", "tags", "pack", "exchange", "place", "in all",
        "one process, two threads, kept workspace", "in all / one process")},
        items=["2^24 + 1", "2^27 + 1"]),
    "mpi memory": chosen("mpi-memory", ["items", "with tags", "without tags in 64 MiB"]),
    "mpi weak scaling": mpi_weak,
    "short group h200": group("gpu-group-h200", "2", ["134217730", "1073741826"]),
    "short group four": group("gpu-group-four", "4", ["268435460", "2147483652"]),
    "gpu group long": timed("gpu-group-long", GROUP_ROW, 0, "gpu-group-h200"),
    "gpu group torch": timed("gpu-group-torch", GROUP_ROW, 2, "gpu-group-h200"),
    "gpu indexes": timed("gpu-pieces", ["name", "length"], 1),
    "files in short": files,
    "python in short": python,
    "short loaders": loaders,
    "short walks": walks,
    "rng words": chosen("rng-words", ["generator", *(f"{simd}, {at}" for simd, at in (
        ("AVX-512", "2^13"), ("AVX-512", "2^26"), ("AVX2", "2^13"), ("AVX2", "2^26"),
        ("SSE2", "2^13")))]),
    "short fills": fills,
    "testu01 in short": testu01,
    "ising": chosen("ising", {"generator": "generator", "deviation": "deviation",
                              "deviation (2)": "deviation", "deviation (3)": "deviation"},
                    bold=["deviation", "deviation (2)", "deviation (3)"]),
}

FIGURES = {
    "2^26, first call, s": lambda r: number(((1 << 26) + 1) / call(PLAIN, FIRST)(r), 2),
    "plain call, peak bytes": lambda r: number(call(PLAIN, PEAK)(r), 1),
    "workspace over rip_shuffle from 2^22 on": kept_over_rip,
    **{f"default over cipher {simd}": (lambda r, simd=simd: number(
        evaluated(r, STANDARD, simd) / evaluated(r, CIPHER, simd), 1)) for simd in ("AVX-512", "SSE2")},
    "gpu single pass, cipher, 2^29 + 1 over gather":
        lambda r: over_gather(r, ["SinglePass, Philox-24"], 2),
    "gpu partitioned, 2^29 + 1 over gather":
        lambda r: over_gather(r, ["Partitioned, Philox-24", "Partitioned, default"], 1),
    "affine BMMC, 2^30, over the paper's two passes":
        lambda r: number(affine_over(r, TWO_PASSES), 1),
    "affine BMMC, 2^30, over two passes at their best": lambda r: number(affine_over(r, AT_BEST), 1),
    "exchange, 256 ranks over 8": many_ranks,
    "mpi, with tags over one process": over_one_process("yes"),
    "mpi, without tags over one process": over_one_process("no"),
    **{f"sets, {what}": set_ratio(ZSTD, name, other) for what, name, other in (
        ("the codec over the pipe", "the codec alone", "shuf in a pipe"),
        ("the pipe over the codec", "shuf in a pipe", "the codec alone"),
        ("the pipe over ours in memory", "shuf in a pipe", "bshuf"),
        ("DuckDB over ours in memory", "duckdb", "bshuf"))},
    "philox over ChaCha8, AVX-512": words_over(CHACHA, "AVX-512", 1),
    "philox over ChaCha8, AVX2": words_over(CHACHA, "AVX2", 1),
    "philox over ChaCha8, SSE2": words_over(CHACHA, "SSE2", 2),
    "philox over fastrand, AVX-512": words_over(FASTRAND, "AVX-512", 1),
    "philox over fastrand, AVX2": words_over(FASTRAND, "AVX2", 2),
    "philox over cuRAND, normal f32": normal("normal f32"),
    "philox over cuRAND, normal f64": normal("normal f64"),
    "BigCrush, complete": lambda r: str(sum(len(all.get("BigCrush", {})) == 160
                                            for all in statistics(r).values())),
    "BigCrush, generators": lambda r: str(len(statistics(r))),
    "BigCrush, statistics of the paper's rows": lambda r: str(sum(
        len(all.get("BigCrush", {})) for name, all in statistics(r).items() if name in IN_THE_PAPER)),
    "BigCrush, all of them": lambda r: str(160 * len(IN_THE_PAPER)),
}

DRAWINGS = {"docs/figures/speed.svg": speed_svg}
