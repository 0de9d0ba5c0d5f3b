"""Random files of many kinds, which `bshuf` shuffles, moves whole, or refuses.

kinds.py BSHUF COUNT writes so many files of each kind, runs `bshuf` on each with the options that a
user would try, as a file, compressed, in a folder and from a pipe, and reads what it wrote by
another reader: Python's own `csv`, a reader of TFRecords below, lines, or all bytes as one record.
Where the exit code is 0, every record is there as often as before. Kinds that are text have to be
shuffled, so that not all can be refused.
"""

import collections
import csv
import gzip
import io
import json
import lzma
import pathlib
import pickle
import random
import sqlite3
import struct
import subprocess
import sys
import tarfile
import zipfile
import zlib

BSHUF, COUNT = sys.argv[1], int(sys.argv[2])
HERE = pathlib.Path.cwd()
TABLE = []
for byte in range(256):
    for _ in range(8):
        byte = byte >> 1 ^ 0x82F63B78 * (byte & 1)
    TABLE.append(byte)


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ TABLE[(crc ^ byte) & 255]
    return crc ^ 0xFFFFFFFF


def masked(data):
    crc = crc32c(data)
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)


def tfrecord(data):
    length = struct.pack("<Q", len(data))
    return length + masked(length) + data + masked(data)


# How records are read: each gives a list, or raises.


def read_tfrecords(data):
    file, found = io.BytesIO(data), []
    while head := file.read(12):
        length, check = head[:8], head[8:]
        assert check == masked(length)
        record = file.read(struct.unpack("<Q", length)[0])
        assert file.read(4) == masked(record)
        found.append(record)
    return found


def read_lines(data):
    return data.removesuffix(b"\n").split(b"\n") if data else []


def read_csv(delimiter=",", **dialect):
    def read(data):
        text = io.StringIO(data.decode("utf-8-sig"), newline="")
        rows = csv.reader(text, delimiter=delimiter, **dialect)
        return [tuple(row) for row in rows if row]

    return read


def read_whole(data):
    return [data]


def read_fasta(data):
    return (b"\n" + data.removesuffix(b"\n")).split(b"\n>")[1:]


# What is written.


def some_bytes(dice, most=4000):
    # Newlines more often than noise has them, so that lines are torn if any are seen.
    data = bytearray(dice.randbytes(dice.randrange(1, most)))
    for _ in range(len(data) // 40 + 1):
        data[dice.randrange(len(data))] = 10
    return bytes(data)


def some_text(dice, letters="abc ,;\t\u00e9", most=12):
    return "".join(dice.choice(letters) for _ in range(dice.randrange(most)))


def some_value(dice, depth=0):
    kinds = [lambda: dice.randrange(-9, 1 << 40), lambda: some_text(dice, "ab\n"),
             lambda: dice.random(), lambda: some_bytes(dice, 50)]
    if depth < 3:
        kinds.append(lambda: [some_value(dice, depth + 1) for _ in range(dice.randrange(9))])
        kinds.append(lambda: {some_text(dice): some_value(dice, depth + 1) for _ in range(5)})
    return dice.choice(kinds)()


def some_rows(dice, letters, columns=None):
    columns = columns or dice.randrange(2, 6)
    return [[some_text(dice, letters) or "x" for _ in range(columns)] for _ in range(20)]


def written(rows, **dialect):
    text = io.StringIO(newline="")
    csv.writer(text, **{"lineterminator": "\n", **dialect}).writerows(rows)
    return text.getvalue().encode()


def rar(dice):
    start = b"Rar!\x1a\x07" + dice.choice([b"\x00", b"\x01\x00"])
    return start + some_bytes(dice)


def orc(dice):
    try:
        import pyarrow
        from pyarrow import orc as written_by
    except ImportError:
        # As its first stripe begins, and the end as it is.
        postscript = b"\x08\x1c\x10\x00\x22\x02\x00\x0c\x28\x05\x30\x09\x82\xf4\x03\x03ORC"
        return b"ORC\x0a\x03\x00\x00\x00" + some_bytes(dice) + postscript + bytes([len(postscript)])
    file = io.BytesIO()
    numbers = [dice.randrange(300) for _ in range(200)]
    texts = [some_text(dice, "ab\n") for _ in range(200)]
    codec = dice.choice(["uncompressed", "zlib", "snappy", "zstd"])
    written_by.write_table(pyarrow.table({"n": numbers, "t": texts}), file, compression=codec)
    return file.getvalue()


def bam(dice):
    header = b"@HD\tVN:1.6\n@SQ\tSN:1\tLN:9\n"
    data = b"BAM\x01" + struct.pack("<I", len(header)) + header + struct.pack("<I", 0)
    data += some_bytes(dice)
    # Blocks of BGZF: members of gzip with a field for their size.
    blocks = b""
    for part in [data[:900], data[900:], b""]:
        packer = zlib.compressobj(wbits=-15)
        packed = packer.compress(part) + packer.flush()
        blocks += b"\x1f\x8b\x08\x04\0\0\0\0\0\xff\x06\0BC\x02\0"
        blocks += struct.pack("<H", len(packed) + 25) + packed
        blocks += struct.pack("<II", zlib.crc32(part), len(part))
    return blocks


def png(dice):
    def chunk(name, data):
        sums = struct.pack(">I", zlib.crc32(name + data))
        return struct.pack(">I", len(data)) + name + data + sums

    side = dice.randrange(1, 40)
    rows = b"".join(b"\0" + dice.randbytes(side * 3) for _ in range(side))
    head = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    body = chunk(b"IDAT", zlib.compress(rows))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + body + chunk(b"IEND", b"")


def pdf(dice):
    # Its objects have text alone, if nothing is compressed.
    objects = [b"<< /Type /Catalog /Pages 2 0 R >>", b"<< /Type /Pages /Kids [] /Count 0 >>"]
    stream = some_text(dice).encode("latin-1") * 9
    objects.append(b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream))
    data, places = b"%%PDF-1.%d\n" % dice.randrange(8), []
    for number, text in enumerate(objects, 1):
        places.append(len(data))
        data += b"%d 0 obj\n%s\nendobj\n" % (number, text)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    return data + b"xref\n0 4\n0000000000 65535 f \n" + table + b"trailer\n<< /Size 4 >>\n%%EOF\n"


def database(dice):
    base = sqlite3.connect(":memory:")
    base.execute("create table t (x, y)")
    base.executemany("insert into t values (?, ?)",
                     [(dice.random(), some_text(dice)) for _ in range(dice.randrange(99))])
    return base.serialize()


def zipped(dice):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", dice.choice([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])) as all:
        for number in range(dice.randrange(1, 9)):
            all.writestr(f"{number}.txt", some_text(dice, "ab\n", 300))
    return file.getvalue()


def archive(dice):
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w", format=tarfile.GNU_FORMAT) as all:
        for number in range(dice.randrange(1, 20)):
            for end in ("txt", "bin"):
                data = some_bytes(dice, 900)
                member = tarfile.TarInfo(f"{number:03}.{end}")
                member.size = len(data)
                all.addfile(member, io.BytesIO(data))
    return file.getvalue()


def read_archive(data):
    with tarfile.open(fileobj=io.BytesIO(data)) as all:
        return [(member.name, all.extractfile(member).read()) for member in all]


def fasta(dice):
    sequences = [f">{number} a>b\n" + "".join(
        "".join(dice.choice("ACGT") for _ in range(dice.randrange(1, 60))) + "\n"
        for _ in range(dice.randrange(6))) for number in range(dice.randrange(1, 50))]
    return "".join(sequences).encode()


def quoted(dice):
    # Python does not quote a field for a carriage return alone.
    quoting, letters = dice.choice([(csv.QUOTE_MINIMAL, ""), (csv.QUOTE_ALL, "\r")])
    rows = some_rows(dice, 'ab,;\n"\t' + letters)
    mark = dice.choice([b"", b"\xef\xbb\xbf"])
    return mark + written(rows, lineterminator=dice.choice(["\n", "\r\n"]), quoting=quoting)


def other_delimiter(dice):
    return written(some_rows(dice, 'ab,\n"'), delimiter=dice.choice(";\t|"))


def torn_columns(dice):
    # Without commas, and no piece of a row begins with a quote, so that all pieces are rows of one
    # field where commas separate fields.
    rows = [[number, *(f"{text}b" for text in row)]
            for number, row in enumerate(some_rows(dice, "ab\n"))]
    return written(rows, delimiter=dice.choice(";\t|"))


def backslashes(dice):
    # As programs write that escape a quote by a backslash.
    return written(some_rows(dice, 'ab,\n"'), doublequote=False, escapechar="\\",
                   quoting=csv.QUOTE_ALL)


def spaces(dice):
    return written(some_rows(dice, "ab\n"), quoting=csv.QUOTE_ALL).replace(b'","', b'", "')


def old_rows(dice):
    return written(some_rows(dice, "ab,"), lineterminator="\r")


def ragged(dice):
    rows = some_rows(dice, "ab\n", 3)
    rows[dice.randrange(1, len(rows))].append("x")
    return written(rows)


def inches(dice):
    return b"".join(b'%d" pipe,%s\n' % (dice.randrange(99), some_text(dice, "ab").encode())
                    for _ in range(30))


def pickled(dice):
    return pickle.dumps(some_value(dice), protocol=dice.randrange(2, 6))


def records(dice):
    return b"".join(tfrecord(some_bytes(dice, 300)) for _ in range(dice.randrange(1, 20)))


def objects(dice):
    rows = [json.dumps({"t": some_text(dice, "ab\n\u00e9"), "n": dice.random()},
                       ensure_ascii=dice.choice([True, False])) for _ in range(50)]
    mark = dice.choice([b"", b"\xef\xbb\xbf"])
    return mark + "".join(row + "\n" for row in rows).encode()


def json_lines(data):
    return [json.dumps(json.loads(line)) for line in read_lines(data.removeprefix(b"\xef\xbb\xbf"))]


LINES, CSV = [], ["--csv"]
# By the name of the kind: what writes it, what reads it, the options that may be given, and the
# first of them with which it has to be shuffled.
KINDS = {
    "TFRecord": (records, read_tfrecords, [["--tfrecord"], LINES, CSV], ["--tfrecord"]),
    "ORC": (orc, read_whole, [LINES, CSV], None),
    "BAM": (bam, lambda data: [gzip.decompress(data)], [LINES, CSV], None),
    "RAR": (rar, read_whole, [LINES, CSV], None),
    "lzma": (lambda dice: lzma.compress(some_bytes(dice), lzma.FORMAT_ALONE), read_whole,
             [LINES, CSV, ["--text"]], None),
    "xz": (lambda dice: lzma.compress(some_bytes(dice)), read_whole, [LINES, ["--text"]], None),
    "zlib": (lambda dice: zlib.compress(some_bytes(dice), dice.choice([6, 9])), read_whole,
             [LINES, CSV], None),
    "pickle": (pickled, read_whole, [LINES, CSV], None),
    "PNG": (png, read_whole, [LINES, CSV], None),
    "PDF": (pdf, read_whole, [LINES, CSV], None),
    "ZIP": (zipped, read_whole, [LINES, CSV], None),
    "SQLite": (database, read_whole, [LINES, CSV], None),
    "tar": (archive, read_archive, [LINES, CSV, ["--tfrecord"]], LINES),
    "FASTA": (fasta, read_fasta, [["--record-start", ">"]], ["--record-start", ">"]),
    "JSONL": (objects, json_lines, [LINES], LINES),
    "CSV": (quoted, read_csv(), [CSV, ["--csv", "--header-lines", "1"]], CSV),
    "CSV of another delimiter": (other_delimiter, None, [CSV], None),
    "CSV of another delimiter with --loose-quotes": (
        torn_columns, None, [["--csv", "--loose-quotes"], CSV], None),
    "CSV with backslashes": (backslashes, read_csv(doublequote=False, escapechar="\\"),
                             [CSV], None),
    "CSV with spaces": (spaces, read_csv(skipinitialspace=True), [CSV], None),
    "CSV of carriage returns": (old_rows, read_csv(), [CSV, ["--csv", "--header-lines", "1"]],
                                None),
    "CSV of uneven rows": (ragged, read_csv(), [["--csv", "--uneven"], CSV],
                           ["--csv", "--uneven"]),
    "CSV with inches": (inches, read_csv(), [["--csv", "--loose-quotes"], CSV],
                        ["--csv", "--loose-quotes"]),
}


def reader_of(kind, data):
    if not kind.startswith("CSV of another delimiter"):
        return KINDS[kind][1]
    # What the writer took: the one that gives rows of one length.
    for delimiter in ";\t|":
        rows = read_csv(delimiter)(data)
        if len({len(row) for row in rows}) == 1 and len(rows[0]) > 1:
            return read_csv(delimiter)
    raise AssertionError("no delimiter fits")


def run(options, names, data=None):
    # A compressed input makes a compressed output.
    plain = ["--compress", "none"] if names == ["file.gz"] else []
    line = [BSHUF, "-q", *plain, *options, *names]
    done = subprocess.run(line, input=data, capture_output=True)
    assert done.returncode in (0, 1), done
    assert done.returncode == 0 or not done.stdout, "what is refused is not written"
    assert done.returncode == 0 or len(done.stderr.splitlines()) == 1, done.stderr
    return done


counts = collections.Counter()
for kind, (write, _, choices, shuffles) in KINDS.items():
    for number in range(COUNT):
        dice = random.Random(f"{kind} {number}")
        data = write(dice)
        reader = reader_of(kind, data)
        expected = collections.Counter(map(repr, reader(data)))
        (HERE / "file").write_bytes(data)
        (HERE / "file.gz").write_bytes(gzip.compress(data))
        (HERE / "in").mkdir(exist_ok=True)
        (HERE / "in" / "part").write_bytes(data)
        # An empty part is in nobody's way.
        (HERE / "in" / "q").write_bytes(b"")
        ways = [(["file"], None), (["file.gz"], None), (["in"], None), ([], data)]
        # All ways of a few files, and one of each of the others.
        chosen = ways if number < 2 else [dice.choice(ways)]
        for options in choices:
            for names, piped in chosen:
                seed = ["--seed", str(dice.randrange(1 << 30))]
                done = run([*options, *seed], names, piped)
                about = f"{kind} {number} {options} {names}: {done.stderr!r}"
                if done.returncode == 0:
                    assert collections.Counter(map(repr, reader(done.stdout))) == expected, about
                    undone = run([*options, *seed, "--undo"], [], done.stdout)
                    if kind == "TFRecord" or data[-1:] == b"\n":
                        assert undone.stdout == data, about
                assert options != shuffles or done.returncode == 0, about
                counts[kind, "shuffled" if done.returncode == 0 else "refused"] += 1
for (kind, what), count in sorted(counts.items()):
    print(f"{kind}: {what} {count}")
print(f"files {COUNT * len(KINDS)}, runs {sum(counts.values())}")
