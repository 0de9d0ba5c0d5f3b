"""What the package says about itself."""

import doctest
import importlib.metadata
import importlib.resources
import importlib.util
import inspect
import pathlib
import re
import subprocess
import sys

import bijective_shuffle as bs
import pytest

DOCS = pathlib.Path(__file__).resolve().parents[2] / "docs"


def test_versions_are_the_same():
    assert bs.__version__ == importlib.metadata.version("bijective-shuffle")


def test_the_package_is_typed():
    files = {file.name for file in importlib.resources.files("bijective_shuffle").iterdir()}
    assert {"py.typed", "_native.pyi"} <= files


def test_module_prints_versions_and_threads():
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
    from bijective_shuffle import resample

    resampling = (resample, resample._bootstrap, resample._subsample)
    for module in (bs.files, bs._loaders, bs._nodes, bs._splits, bs._stream, bs._tokens, *resampling):
        tested = doctest.testmod(module)
        assert tested.failed == 0 and tested.attempted > 0, module


@pytest.mark.parametrize("name", ["python/README.md", "docs/python.md", "docs/loaders.md", "docs/resampling.md"])
def test_examples_of_the_documents(name, tmp_path, monkeypatch):
    text = (pathlib.Path(__file__).resolve().parents[2] / name).read_text()
    blocks = re.findall(r"^```python\n(.*?)^```", text, re.M | re.S)
    # The others need a framework, or a GPU.
    absent = ["torch", *(name for name in ("pandas", "scipy") if importlib.util.find_spec(name) is None)]
    blocks = [block for block in blocks if not any(name in block for name in absent)]
    assert blocks
    namespace = {}
    monkeypatch.chdir(tmp_path)
    for block in blocks:
        exec(compile(block, name, "exec"), namespace)


# Imports a module where nothing else is installed but the packages that are named, for which there
# are empty ones, whose every name is a class. As a decorator, or with arguments as one that makes a
# decorator, a class leaves a function as it is.
IMPORTING = """
import importlib.abc, importlib.machinery, sys, types
import numpy

class Named(types.ModuleType):
    __path__ = []

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        made = type(name, (), {
            "__class_getitem__": classmethod(lambda made, _: made),
            "__new__": lambda made, *args, **_: args[0] if args and callable(args[0]) else made,
        })
        setattr(self, name, made)
        return made

class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name, path=None, target=None):
        top = name.partition(".")[0]
        if top in named:
            return importlib.machinery.ModuleSpec(name, self)
        if top in sys.stdlib_module_names or top in ("numpy", "bijective_shuffle"):
            return None
        raise ModuleNotFoundError(f"{name} is not installed", name=name)

    def create_module(self, spec):
        return Named(spec.name)

    def exec_module(self, module):
        pass

module, named = sys.argv[1], sys.argv[2:]
sys.meta_path.insert(0, Finder())
for name in importlib.import_module(module).__all__:
    getattr(sys.modules[module], name)
"""


def imports_of_modules():
    """What the book says that each module imports, beside NumPy."""
    text = (DOCS / "python.md").read_text()
    rows = re.findall(r"^\| (`[^|]*) \| ([^|]*) \|$", text.partition("| module | imports |")[2].partition("\n\n")[0], re.M)
    return {
        name if name == "bijective_shuffle" else f"bijective_shuffle{name}":
            re.findall("`(\\w+)`", imports.partition(";")[0])
        for modules, imports in rows for name in re.findall("`([^`]*)`", modules)
    }


def test_the_book_has_all_modules():
    folder = importlib.resources.files("bijective_shuffle")
    files = {file.name[:-3] for file in folder.iterdir() if file.name.endswith(".py")}
    public = {f"bijective_shuffle.{name}" for name in files if not name.startswith("_")}
    assert set(imports_of_modules()) == {"bijective_shuffle", *public}


@pytest.mark.parametrize("module", sorted(imports_of_modules()))
def test_modules_import_what_the_book_names_and_nothing_else(module):
    command = [sys.executable, "-c", IMPORTING, module, *imports_of_modules()[module]]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
