"""What the package says about itself."""

import doctest
import importlib.metadata
import importlib.resources
import inspect
import json
import pathlib
import re
import subprocess
import sys

import bijective_shuffle as bs
import pytest


def test_versions_are_the_same():
    assert bs.__version__ == importlib.metadata.version("bijective-shuffle")


def test_the_package_is_typed():
    files = {file.name for file in importlib.resources.files("bijective_shuffle").iterdir()}
    assert {"py.typed", "_native.pyi"} <= files


def test_the_vectors_of_the_specification_are_here():
    folder = importlib.resources.files("bijective_shuffle") / "vectors"
    chapters = {file.name: json.loads(file.read_text("utf-8")) for file in folder.iterdir()}
    assert chapters.pop("schema.json")["$schema"]
    assert len(chapters) == 11
    for name, chapter in chapters.items():
        assert f"{chapter['chapter']}.json" == name
        assert chapter["specification"] == "1"
    for case in chapters["07-walk.json"]["cases"]["places"]:
        seed, _, epoch = case["seed"].partition("@")
        key = bytes.fromhex(seed) if len(seed) == 64 else int(seed)
        p = bs.Permutation.walk(int(case["length"], 16), seed=key, epoch=int(epoch or 0))
        items = [p[int(place, 16)] for place in case["places"]]
        assert items == [int(item, 16) for item in case["items"]]


def test_it_says_what_is_here():
    command = [sys.executable, "-m", "bijective_shuffle"]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert printed.startswith(f"bijective-shuffle {bs.__version__}\n")
    assert re.search(r"^Threads: [1-9]", printed, re.M)
    assert re.search(r"^GPU: \S", printed, re.M)


def test_a_gpu_that_is_not_there_is_an_import_error():
    try:
        name = bs._native.gpu(device=10**6)
    except bs.GpuUnavailableError as error:
        assert isinstance(error, ImportError) and str(error)
    else:
        pytest.fail(f"a millionth GPU: {name}")


def test_everything_public_has_documentation():
    for name in bs.__all__:
        value = getattr(bs, name)
        if name == "__version__":
            continue
        assert inspect.getdoc(value), name
        if inspect.isclass(value) and value.__module__ == "bijective_shuffle":
            for member, method in vars(value).items():
                if not member.startswith("_") and not issubclass(value, Exception):
                    assert inspect.getdoc(method), f"{name}.{member}"


def test_examples_of_the_documentation():
    assert doctest.testmod(bs).failed == 0
    for module in (bs.files, bs._loaders, bs._nodes, bs._splits, bs._stream, bs._tokens):
        tested = doctest.testmod(module)
        assert tested.failed == 0 and tested.attempted > 0, module


@pytest.mark.parametrize("name", ["python/README.md", "docs/python.md", "docs/loaders.md"])
def test_examples_of_the_documents(name, tmp_path, monkeypatch):
    text = (pathlib.Path(__file__).resolve().parents[2] / name).read_text()
    blocks = re.findall(r"^```python\n(.*?)^```", text, re.M | re.S)
    # The others need a framework, or a GPU.
    blocks = [block for block in blocks if "torch" not in block]
    assert blocks
    namespace = {}
    monkeypatch.chdir(tmp_path)
    for block in blocks:
        exec(compile(block, name, "exec"), namespace)
