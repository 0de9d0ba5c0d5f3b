"""Parquet files for `peers files --table` and data sets: makes, copies, shuffles and checks them."""

import pathlib
import sys

import numpy
import pyarrow
import pyarrow.compute
import pyarrow.parquet

# Rows of a row group.
GROUP = 1 << 17

LETTERS = 62


def make(path, size):
    """Rows of a number, a random number and a text, of about 80 bytes in memory."""
    random = numpy.random.default_rng(1)
    writer = None
    for start in range(0, size // 80, GROUP):
        rows = min(GROUP, size // 80 - start)
        letters = random.integers(65, 91, (rows, LETTERS - 2), dtype=numpy.uint8)
        offsets = numpy.arange(rows + 1, dtype=numpy.int32) * letters.shape[1]
        buffers = [None, pyarrow.py_buffer(offsets), pyarrow.py_buffer(letters.tobytes())]
        text = pyarrow.Array.from_buffers(pyarrow.string(), rows, buffers)
        columns = {
            "number": numpy.arange(start, start + rows),
            "value": random.random(rows),
            "text": text,
        }
        table = pyarrow.table(columns)
        if writer is None:
            writer = pyarrow.parquet.ParquetWriter(path, table.schema, use_dictionary=False)
        writer.write_table(table, row_group_size=GROUP)
    writer.close()


def copy(source, target):
    """Reads and writes, a row group at a time."""
    file = pyarrow.parquet.ParquetFile(source)
    with pyarrow.parquet.ParquetWriter(target, file.schema_arrow, use_dictionary=False) as writer:
        for group in range(file.num_row_groups):
            writer.write_table(file.read_row_group(group), row_group_size=GROUP)


def copy_all(sources, targets):
    """Reads and writes all files of a folder."""
    for source in sorted(pathlib.Path(sources).iterdir()):
        copy(source, pathlib.Path(targets, source.name))


def take(source, target):
    """Shuffles in memory, as scripts do."""
    table = pyarrow.parquet.read_table(source)
    order = numpy.random.default_rng(1).permutation(len(table))
    table = table.take(pyarrow.array(order))
    pyarrow.parquet.write_table(table, target, row_group_size=GROUP, use_dictionary=False)


def check(path):
    """Prints two numbers that are the same for the same rows in any order."""
    rows = total = 0
    file = pyarrow.parquet.ParquetFile(path)
    for group in range(file.num_row_groups):
        table = file.read_row_group(group)
        number = table["number"].to_numpy().astype(numpy.uint64)
        value = table["value"].to_numpy().view(numpy.uint64)
        lead = pyarrow.compute.binary_slice(table["text"].cast(pyarrow.binary()), 0, 8)
        text = numpy.frombuffer(b"".join(lead.to_pylist()), dtype=numpy.uint64)
        mixed = (number ^ value * numpy.uint64(3) ^ text) * numpy.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> numpy.uint64(29)
        total = (total + int(mixed.sum(dtype=numpy.uint64))) % 2**64
        rows += len(table)
    print(rows, total)


if __name__ == "__main__":
    numpy.seterr(over="ignore")
    work, *paths = sys.argv[1:]
    if work == "version":
        print(pyarrow.__version__)
    elif work == "make":
        make(paths[0], int(paths[1]))
    else:
        {"copy": copy, "copy-all": copy_all, "take": take, "check": check}[work](*paths)
