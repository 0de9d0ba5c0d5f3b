"""Arrays of many types, written and compared by NumPy: `arrays.py write` or `arrays.py compare`."""

import pathlib
import sys
import warnings

import numpy as np

ROWS = 100
TYPES = [
    "?", "i1", "u2", ">i4", "<i8", "f2", "f4", ">f8", "g", "c8", ">c16", "S7", "U3", ">U3", "V5",
    "M8[ns]", "m8[25us]",
    [("a", "<f4"), ("b", "|S3")],
    [("shape", "<f4"), ("descr", "i1")],
    [("a|O", "<i2")],
    [("it's", "<i2"), ('say "x"', "i1")],
    [("back\\slash", "<i2"), ("brace}", "u1"), ("comma, )", "u1")],
    [("\xe9", "<f4"), ("\xff", "u1")],
    [("\u043d\u0430\u0437\u0432\u0430", "<f4"), ("\u65e5", "i1")],
    [(("title O", "name"), "<f4")],
    [("in", [("x", "<f4"), ("y", "<f4", (2,))], (2, 3))],
    [("sub", "<i4", (2, 3)), ("one", "<i4", 2)],
    [("a", "u1"), ("none", "<f4", (0,))],
    np.dtype([("a", "u1"), ("b", "<f8")], align=True),
    np.dtype({"names": ["a", "b"], "formats": ["<i2", "<i4"], "offsets": [4, 12], "itemsize": 20}),
]  # fmt: skip


def arrays():
    """Names and arrays."""
    random = np.random.default_rng(1)
    for number, kind in enumerate(TYPES):
        kind = np.dtype(kind)
        array = np.zeros(ROWS, kind)
        # Bytes that are values of any type: small, so that letters are valid.
        array.view(np.uint8)[:] = random.integers(0, 2, array.nbytes, dtype=np.uint8)
        yield f"type_{number}.npy", array
    yield "columns.npy", random.random((ROWS, 4))
    yield "cubes.npy", random.random((ROWS, 2, 3))
    yield "none.npy", np.zeros((ROWS, 0, 5), "f4")
    yield "fields.npy", np.zeros(ROWS, [])


def check(found, array, order):
    """Fails unless the rows that were found are those of an array in an order, to the byte."""
    assert found.dtype == array.dtype and found.dtype.fields == array.dtype.fields
    assert found.shape == (len(order), *array.shape[1:])
    # NumPy itself does not copy what is between the fields.
    rows = np.frombuffer(array.tobytes(), np.uint8).reshape(ROWS, array.nbytes // ROWS)
    assert found.tobytes() == rows[order].tobytes()


def main(step):
    """Writes the arrays, or compares what became of them."""
    warnings.simplefilter("ignore")
    folder = pathlib.Path()
    for name, array in arrays():
        if step == "write":
            np.save(folder / name, array)
            continue
        order = np.loadtxt("order", dtype=int)
        twice = np.loadtxt("order_of_both", dtype=int)
        for place, places in [("whole", order), ("head", order[:11]), ("both", twice % ROWS)]:
            check(np.load(folder / place / name), array, places)


main(sys.argv[1])
