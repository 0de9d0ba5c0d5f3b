"""Shuffles files and folders, also larger than memory, as the program `bshuf` does: the same
options give the same bytes.

>>> import pathlib, tempfile
>>> import bijective_shuffle as bs
>>> folder = pathlib.Path(tempfile.mkdtemp())
>>> _ = (folder / "names.txt").write_text("Ada\\nBob\\nCyd\\n")
>>> report = bs.files.shuffle(folder / "names.txt", folder / "shuffled.txt", seed=42)
>>> report.records, report.bytes
(3, 12)
"""

from __future__ import annotations

import json
import operator
import os
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, SupportsIndex, TypeAlias

from . import _native
from ._types import Seed

__all__ = ["Report", "shuffle"]

SeedValue: TypeAlias = "int | bytes"
Name: TypeAlias = "str | bytes | os.PathLike[str] | os.PathLike[bytes]"
Progress: TypeAlias = "Callable[[str, int, int | None], object]"


@dataclass(frozen=True)
class Report:
    """What a shuffle of files has read and written: enough to repeat it, and to undo it."""

    records: int
    """The number of records that were written."""
    bytes: int
    """The number of bytes that were written."""
    inputs: int
    """The number of files that were read."""
    shards: int
    """The number of files that were written, and of those that were kept."""
    shards_kept: int
    """The number of those that a run before had written."""
    seed: SeedValue
    """The seed, which was drawn if none was given."""
    epoch: int
    """The epoch of the seed."""
    ends_added: int
    """The number of last records of inputs that had no end, and got one."""
    empty_inputs: int
    """The number of files of a data set, or of tables, without a byte, which are skipped."""
    members_left_out: int
    """The number of members of archives that belong to no record, such as folders."""
    temporary_bytes: int
    """The number of bytes that did not fit memory."""
    seconds: float
    """How long it took."""


def shuffle(
    inputs: Name | Iterable[Name],
    output: Name | None = None,
    *,
    output_dir: Name | None = None,
    seed: Seed | None = None,
    epoch: SupportsIndex | None = None,
    undo: bool = False,
    recursive: bool = False,
    records: str | int | bytes | None = None,
    delimiter: str = ",",
    loose_quotes: bool = False,
    uneven: bool = False,
    record_start: str | bytes | None = None,
    text: bool = False,
    header_lines: int | None = None,
    header_prefix: str | bytes | Iterable[str | bytes] | None = None,
    shards: int | None = None,
    shard_bytes: int | str | None = None,
    shard_records: int | None = None,
    split: str | Mapping[str, float | str] | None = None,
    compress: str | None = None,
    resume: bool = False,
    memory: int | str | None = None,
    temp: Name | Iterable[Name] | None = None,
    temp_compress: bool = False,
    progress: bool | Progress | None = None,
) -> Report:
    """Writes the records of files, or of the files in folders, in the order that the seed chooses: to
    the file `output`, or to a folder of shards, `output_dir`. Record `k` is record `p[k]` of
    `Permutation(n, seed, epoch)`.

    The options are those of `bshuf`, by its names.

    | option | |
    | --- | --- |
    | `seed`, `epoch` | an integer or 32 bytes, by default drawn and reported; an integer, by default 0 |
    | `undo` | restores the original order; the index of a folder of shards has the seed |
    | `recursive` | also reads subfolders |
    | `records` | `"csv"`, `"fastq"`, `"tfrecord"`, or `"tar"` for the samples of archives; or a number of lines, or the bytes that end a record; by default lines, or what the inputs contain |
    | `delimiter`, `loose_quotes` | what separates fields of CSV, and whether a quote inside an unquoted field is an ordinary character |
    | `uneven` | rows may differ in their number of fields, and samples in their parts |
    | `record_start` | a record starts at each line that begins with this, such as `">"` in FASTA |
    | `text` | treats uncompressed inputs as text, even if their first bytes look binary |
    | `header_lines`, `header_prefix` | the header of each input: the first lines that begin with a prefix, then this number of lines; each output begins with the header |
    | `shards`, `shard_bytes`, `shard_records` | the number of shards, or their size; by default one shard for each input |
    | `split` | folders of shards, such as `{"train": 0.98, "valid": 1000, "test": "rest"}`: shares, numbers of records, and the rest |
    | `compress` | `"none"`, `"gzip"`, `"zstd"`, `"lz4"` or `"bzip2"`, with an optional level as in `"zstd:3"`; by default what the output's name says, or else the inputs |
    | `resume` | continues a folder that an earlier run began, also one of `bshuf` |
    | `memory` | about how many bytes to use, or a text such as `"4G"`; by default three quarters of the available memory |
    | `temp`, `temp_compress` | the folders for data that do not fit in memory, and whether to compress them there |

    `progress` is called every 50 milliseconds, and in the end, with the phase, the number of bytes
    that are done in it, and how many it has, or None. With True, `tqdm` shows it.

    Other threads of Python run meanwhile. Ctrl-C, or an exception of `progress`, ends the shuffle: an
    output stays as it was, and of a folder those shards are there that are whole, with which `resume`
    goes on. Temporary files are removed. What comes once an output takes its place is raised behind
    that, as is what `progress` raises in the end.

    Raises `OSError` with the system's number and the file's name where the system refuses something,
    such as room on a disk, `MemoryError` if there is not the memory, and `ValueError` if an input is
    not what it should be or options contradict each other.
    """
    line = [*_switches(undo=undo, recursive=recursive, resume=resume, temp_compress=temp_compress)]
    line += _switches(text=text, loose_quotes=loose_quotes)
    line += _records(records, delimiter, uneven)
    line += _options(record_start=None if record_start is None else _escaped(record_start))
    prefixes = [header_prefix] if isinstance(header_prefix, (str, bytes)) else header_prefix or ()
    line += [f"--header-prefix={_escaped(prefix)}" for prefix in prefixes]
    line += _options(
        output=_name(output), output_dir=_name(output_dir), seed=_seed(seed),
        epoch=None if epoch is None else operator.index(epoch), header_lines=header_lines,
        shards=shards, shard_bytes=shard_bytes, shard_records=shard_records, split=_split(split),
        compress=compress, memory=memory,
    )
    line += [f"--temp={name}" for name in ([] if temp is None else _names(temp))]
    # A name that stands for standard input is that of a file here.
    names = [os.path.join(os.curdir, name) if name == "-" else name for name in _names(inputs)]
    if not names:
        raise ValueError("no inputs are given: name files or folders")
    if (output is None) == (output_dir is None):
        raise ValueError("give either output, a file, or output_dir, a folder of shards")
    shown = _Bar() if progress is True else None
    told: Progress | None = shown or (None if isinstance(progress, bool) else progress)
    raised: list[BaseException] = []

    def tell(phase: str, done: int, total: int | None) -> None:
        assert told is not None
        try:
            told(phase, done, total)
        except BaseException as error:
            raised.append(error)
            raise

    call = None if told is None else tell
    try:
        found = json.loads(_native.shuffle_files([*line, "--stats", "--", *names], call))
    except ValueError as error:
        if any(error is one for one in raised):
            raise
        raise ValueError(_in_python(str(error))) from None
    finally:
        if shown is not None:
            shown.close()
    seed_text = found["seed"]
    return Report(
        records=found["lines"], bytes=found["bytes"], inputs=found["inputs"],
        shards=found.get("shards", 1), shards_kept=found.get("shards_kept", 0),
        seed=bytes.fromhex(seed_text) if len(seed_text) == 64 else int(seed_text),
        epoch=found["epoch"], ends_added=found["line_ends_added"],
        empty_inputs=found["empty_inputs"],
        members_left_out=found.get("members_left_out", 0),
        temporary_bytes=found["temporary_bytes"], seconds=found["seconds"],
    )


def _options(**given: object) -> Iterable[str]:
    for name, value in given.items():
        if value is not None:
            # With the value behind it, as it may begin with a hyphen.
            yield f"--{name.replace('_', '-')}={value}"


def _switches(**given: bool) -> Iterable[str]:
    return (f"--{name.replace('_', '-')}" for name, is_given in given.items() if is_given)


def _name(name: Name | None) -> str | None:
    return None if name is None else _names([name])[0]


def _names(names: Name | Iterable[Name]) -> list[str]:
    if isinstance(names, (str, bytes, os.PathLike)):
        names = [names]
    # The lines of a file would be taken for names.
    elif hasattr(names, "read") or not isinstance(names, Iterable):
        names = [names]  # type: ignore[list-item]
    listed = list(names)
    for name in listed:
        if not isinstance(name, (str, bytes, os.PathLike)):
            raise TypeError(
                f"files are given by their names, as texts or paths, not as {type(name).__name__}: "
                "bijective_shuffle.shuffle is for what is in memory"
            )
    return [os.fsdecode(name) for name in listed]


def _seed(seed: Seed | None) -> int | str | None:
    if isinstance(seed, bytes):
        if len(seed) != 32:
            raise ValueError(f"a seed has 32 bytes, not {len(seed)}")
        return seed.hex()
    return None if seed is None else operator.index(seed)


def _records(records: str | int | bytes | None, delimiter: str, uneven: bool) -> Iterable[str]:
    if uneven and records not in (None, "tar", "csv"):
        why = 'uneven is about the samples of archives and CSV: give records="tar" or "csv"'
        raise ValueError(why)
    if delimiter != "," and records != "csv":
        raise ValueError('delimiter is about fields of CSV: give records="csv"')
    if uneven:
        yield "--uneven"
    if isinstance(records, bytes):
        yield f"--separator={_escaped(records)}"
    elif isinstance(records, str):
        if records not in ("csv", "fastq", "tar", "tfrecord"):
            why = f'records are "csv", "fastq", "tar" or "tfrecord", not {records!r}'
            raise ValueError(why)
        yield f"--csv={delimiter}" if records == "csv" else f"--{records}"
    elif records is not None:
        yield f"--lines-per-record={operator.index(records)}"


def _escaped(given: str | bytes) -> str:
    data = given.encode() if isinstance(given, str) else given
    return "".join(f"\\x{byte:02x}" for byte in data)


def _split(split: str | Mapping[str, float | str] | None) -> str | None:
    if split is None or isinstance(split, str):
        return split
    for name in split:
        if "," in name or "=" in name:
            raise ValueError(f"{name!r} cannot be the name of a split")
    return ",".join(f"{name}={_size(size)}" for name, size in split.items())


def _size(size: float | str) -> str:
    # As it is written, without an exponent and with a point: a share, and not a number.
    if not isinstance(size, float):
        return str(size)
    text = format(Decimal(repr(float(size))), "f")
    return text if "." in text else f"{text}.0"


# What the program's messages say otherwise here: several options are one, and what is typed into a
# shell stays as it is.
_PHRASES = {
    "-z, --separator or --record": "records",
    "--csv=DELIM": "delimiter",
    "for '--csv[=<DELIM>]'": "for delimiter",
    "give -o": "give output",
    "list the files for --files0-from": "give a list of names",
    "--resume and --worker cannot verify": "resume cannot verify",
    "or leave the options out": "or leave resume out",
    "cargo install bijective-shuffle-cli --features tables":
        "`cargo install bijective-shuffle-cli --features tables`",
}

# What they call options that have another form here.
_FORMS = {
    "csv": 'records="csv"',
    "fastq": 'records="fastq"',
    "tar": 'records="tar"',
    "tfrecord": 'records="tfrecord"',
    "lines-per-record": "records",
    "record": "records",
    "separator": "records",
}

# Commands, names and values, which are left as they are, or an option with its value.
_OPTION = re.compile(
    r"`[^`]*`|invalid value '[^']*'|(?<![\w./-])'?--([a-z][a-z0-9-]*)(?:[ =]?\[?=?<[^>]*>\]?)?'?"
)


def _in_python(message: str) -> str:
    """The message with the names that options have here."""
    # Before the colon there is an option, or the name of a file, which is left as it is.
    what, colon, why = message.partition(": ")
    for theirs, ours in _PHRASES.items():
        why = why.replace(theirs, ours)
    return (_named(what) if re.fullmatch("--[a-z0-9-]+", what) else what) + colon + _named(why)


def _named(text: str) -> str:
    def form(found: re.Match[str]) -> str:
        name = found[1]
        return found[0] if name is None else _FORMS.get(name, name.replace("-", "_"))

    return _OPTION.sub(form, text)


class _Bar:
    """Shows the progress by tqdm."""

    def __init__(self) -> None:
        try:
            from tqdm.auto import tqdm
        except ImportError:
            why = "progress=True shows the progress by tqdm: install it, or give a function"
            raise ImportError(why) from None
        self._phase = ""
        self._bar: Any = tqdm(unit="B", unit_scale=True, unit_divisor=1024, file=sys.stderr)

    def __call__(self, phase: str, done: int, total: int | None) -> None:
        # Of a bar that is switched off there is nothing to ask.
        if phase != self._phase:
            self._phase = phase
            self._bar.reset(total)
            self._bar.set_description(phase, refresh=False)
        self._bar.total = total
        self._bar.update(done - self._bar.n)

    def close(self) -> None:
        self._bar.close()
