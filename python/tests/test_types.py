"""What the functions take, their annotations take too, and what they give is not `Any`."""

import pathlib
import re
import textwrap

import pytest

CALLS = """
    from typing import Any

    import bijective_shuffle as bs
    import numpy as np
    from bijective_shuffle import frames
    from numpy.typing import NDArray


    class Table: ...


    def tables(table: Table, s: np.int64) -> None:
        shuffled: Table = frames.shuffled(table, s, s)
        ten: Table = frames.sample(table, s, s, weights="w")
        parts: list[Table] = frames.split(table, [0.8, 0.2], s, labels="label")
        named: dict[str, Table] = frames.split(table, {"train": 0.8, "test": 0.2}, s)
        train, test = bs.Splits([8, 2], s).indexes(s)
        rows: NDArray[np.int64] = train
        of_name: dict[str, NDArray[np.int64]] = bs.Splits({"train": 8}, s).indexes(labels=[s])
        for train, test in bs.Folds(s, s, by="labels").split(train, test):
            rows = test


    class Tensor:
        def __dlpack__(
            self, *, stream: int | None = -1, max_version: tuple[int, int] | None = None
        ) -> object: ...

        def __dlpack_device__(self) -> tuple[int, int]: ...


    class OnCuda:
        @property
        def __cuda_array_interface__(self) -> dict[str, Any]: ...


    def calls(
        a: NDArray[np.float32], t: Tensor, c: OnCuda, s: np.int64, u: np.uint32, b: bytes
    ) -> None:
        for x in (a, t, c):
            bs.shuffle(x, s, u)
            bs.unshuffle(x, seed=b, epoch=u)
        bs.shuffle_together(a, t, seed=s, epoch=u)
        bs.unshuffle_together(a, t, seed=b)
        bs.shuffle(a, s, axis=u)
        bs.shuffled(t, s, u, axis=s, out=a)
        bs.permuted([1, 2], s, axis=None, out=a)
        bs.choice(u, s, seed=s, epoch=u)
        bs.choice(a, (s, 2), b, axis=s)
        bs.permutations(s, u, s, dtype="int32")
        bs.cuda.shuffle(c, s, u)
        bs.cuda.unshuffle(c, s, u)
        bs.cuda.shuffled(c, s, u, out=t)
        bs.cuda.randperm(s, u, s, out=t)
        p = bs.Permutation(s, s, u)
        p = bs.Permutation.walk(u, b, epoch=s)
        number: int = p[s] + p[3] + p.position(u)
        places: bs.Places = p[3:5]
        values: NDArray[Any] = p[a]
        places = p.shard(s, u)
        places = p.shard_strided(s, u)
        places = p.head(s)
        for chunk in p.chunks(s):
            values = chunk
        left: int = len(p.chunks(s)) + len(iter(p))
        blocks = bs.BlockShuffle(s, u, s, seed=s, epoch=u)
        places = blocks.window_items(s)
        values = blocks.blocks_of(u)
        begin, end = blocks.items_of(s)
        number += begin + end + left
        sampler = bs.Sampler(s, s, rank=s, ranks=u, batch=s, blocks=(s, u))
        sampler.set_epoch(s)
        left = len(sampler)
        for batch in sampler:
            values = batch
        draws, mixture = bs.Weighted(a, s), bs.Mixture([s], [1], s)
        number = draws[s]
        values = draws[a]
        number, other = mixture[u]
        values, more = mixture[3:5]
        pair: tuple[NDArray[np.int64], NDArray[np.int64]] = next(mixture.batches(4))
        for pieces in bs.Packed(a, s, s):
            values = pieces
        lengths = bs.Lengths(a, s, s)
        for items in lengths:
            values = a[items]
        for (items,) in lengths.batches(rank=s, ranks=u):
            values = a[items]
        stream: bs.StreamShuffle[str] = bs.StreamShuffle(["a"], s, s)
        text: str = next(iter(stream))
        text = next(iter(bs.StreamShuffle(lambda start: iter(["a"]), s, s)))
"""

MISTAKES = """
    import bijective_shuffle as bs
    import numpy as np
    from bijective_shuffle import frames

    bs.shuffle([1, 2, 3], 1)  # a list
    bs.shuffle(np.arange(3), "1")  # a seed of text
    bs.shuffle(np.arange(3), 1.0)  # a float
    bs.Permutation(3, None)
    bs.permuted(np.arange(3), 1, out=[0, 0, 0])
    number: int = frames.shuffled("a frame", 1)
    number = frames.sample("a frame", 1, 1)
    number = frames.split("a frame", [1], 1)
    number = frames.split("a frame", {"all": 1}, 1)
    number = bs.Splits([1], 1).indexes(1)
    number = bs.Splits({"all": 1}, 1).indexes(1)
    for number in bs.Folds(2, 1).split(range(5)):
        pass
"""


def errors_of(text, folder):
    """The lines of a program that mypy refuses."""
    api = pytest.importorskip("mypy.api", reason="mypy is not installed")
    path = folder / "calls.py"
    path.write_text(textwrap.dedent(text))
    settings = pathlib.Path(__file__).parents[1] / "pyproject.toml"
    # In the folder of the tests, so that what mypy has read of NumPy is kept for the next run.
    printed, problems, _ = api.run(["--config-file", str(settings), "--no-pretty", str(path)])
    assert not problems, problems
    lines = [line for line in printed.splitlines() if ": error:" in line]
    assert lines or "Success" in printed, printed
    return lines


def test_annotations_take_what_functions_take(tmp_path):
    # An empty body is not an error of interest.
    text = CALLS.replace(": ...", ": raise NotImplementedError")
    assert errors_of(text, tmp_path) == []


def test_annotations_take_the_examples_of_the_documents(tmp_path):
    docs = pathlib.Path(__file__).parents[2] / "docs"
    text = (docs / "loaders.md").read_text() + (docs / "resampling.md").read_text()
    examples = re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    # Each in a module of its own, since they give names to different things.
    for number, example in enumerate(examples):
        folder = tmp_path / str(number)
        folder.mkdir()
        # The one function without annotations is in an example about something else.
        assert errors_of(example.replace("def source(start):", "def source(start: int) -> Iterator[int]:")
                         .replace("import bijective", "from collections.abc import Iterator\nimport bijective", 1),
                         folder) == []
    assert len(examples) >= 7


def test_annotations_refuse_what_functions_refuse(tmp_path):
    lines = errors_of(MISTAKES, tmp_path)
    assert sorted({int(line.split(":")[1]) for line in lines}) == list(range(6, 18)), lines
