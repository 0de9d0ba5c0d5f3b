"""The cases of NumPy's own tests of `shuffle`, `permutation`, `permuted` and `choice`, as a table.

They are those of `random/tests/` of NumPy 2.4: `test_generator_mt19937.py`, `test_randomstate.py`,
their regressions and `test_smoke.py`. Each is a call of NumPy's and one of this package's, what is
compared of the outcomes, and whether they are the same. NumPy's call is made too, so a row cannot
claim what NumPy does not do; and where it says that they differ, they do.

Numbers drawn by different generators are never the same. What is compared is the rest: the shape,
the type, which items there are in which rows, or the error. An error of this package is the same if
it is one of NumPy's class.
"""

import pathlib
import re

import bijective_shuffle as bs
import numpy as np
import pytest

SAME = "same"
# Why outcomes differ.
LIST = "differs because lists are not shuffled in place: they are no arrays, and random.shuffle does"
MASKED = "differs because a masked array is two arrays: shuffle_together takes both"
NO_AXIS = "differs because all that has no axis is refused by a TypeError"
NUMBER = "differs because the values for a number are those of Permutation(n, seed)"
REPLACE = "differs because nothing is drawn twice: rng.integers(n, size=k) does that"
WEIGHTS = "differs because all items are equally likely: there is no p"
SORTED = "differs because the draw is always in random order: np.sort gives the other"
ONE = "differs because the number of items has to be given: () for a single one"
FLOAT = "differs because a float is refused as an integer by a TypeError"

TEN = [1, 2, 3, 4, 5, 6, 7, 8, 9, 0]
SEED = 1234567890


def rows(a, axis=0):
    """The rows of an array in an order that is none."""
    a = np.asarray(a)
    listed = np.moveaxis(a, axis, 0).tolist()
    return a.shape, a.dtype, sorted(map(repr, listed))


def columns(a):
    return rows(a, 1)


def items(a):
    """The items of an array, wherever they are."""
    return rows(np.asarray(a).reshape(-1)), np.shape(a)


def items_of_rows(a):
    """The items of each row."""
    return np.shape(a), a.dtype, [sorted(row) for row in a.tolist()]


def items_of_columns(a):
    return items_of_rows(a.T)


def drawn(a):
    """The shape of what was drawn, and its type."""
    return type(a), np.shape(a), np.asarray(a).dtype


def different(a):
    """The same, and whether nothing comes twice."""
    return drawn(a), len(np.unique(a)) == np.size(a)


def is_moved(pair):
    """Whether the order is another one with the same items."""
    before, after = pair
    return rows(before) == rows(after) and not np.array_equal(before, after)


def shuffled_in_place(a, *arguments, **keywords):
    """For a pair of calls that return nothing: what they leave."""
    return (
        lambda rng: (rng.shuffle(x := copied(a), *arguments, **keywords), x)[1],
        lambda: (bs.shuffle(x := copied(a), SEED, **axis_of(arguments, keywords)), x)[1],
    )


def axis_of(arguments, keywords):
    """NumPy takes the axis as the second argument, where the seed is here."""
    return {"axis": arguments[0]} if arguments else keywords


def copied(a):
    if isinstance(a, list):
        return list(a)
    # The layout too.
    return a.copy(order="K") if a.flags.writeable else a


def permuted_to(a, out, **keywords):
    """A copy written to `out`, or to the array itself."""
    def target(x):
        return x if out is None else out

    return (
        lambda rng: rng.permuted(x := copied(a), out=target(x), **keywords),
        lambda: bs.permuted(x := copied(a), SEED, out=target(x), **keywords),
    )


def permuted(a, **keywords):
    return lambda rng: rng.permuted(a, **keywords), lambda: bs.permuted(a, SEED, **keywords)


def permutation(a, *arguments, **keywords):
    return (
        lambda rng: rng.permutation(a, *arguments, **keywords),
        lambda: bs.shuffled(a, SEED, **axis_of(arguments, keywords)),
    )


def choice(a, *arguments, **keywords):
    """Without `replace=False`, which is how it always is here."""
    ours = {name: value for name, value in keywords.items() if (name, value) != ("replace", False)}
    return (
        lambda rng: rng.choice(a, *arguments, **keywords),
        lambda: bs.choice(a, *arguments, **ours, seed=SEED),
    )


def read_only(shape):
    a = np.zeros(shape)
    a.flags.writeable = False
    return a


class Subclass(np.ndarray):
    pass


class Convertible:
    """What NumPy can make an array of."""

    def __array__(self, dtype=None, copy=None):
        return np.arange(5)


def strided(permute):
    """A view of every third column of a matrix is shuffled into itself: the whole matrix."""
    whole = np.arange(22).reshape(2, 11)
    view = whole[:, ::3]
    assert permute(view) is view
    rest = np.delete(whole, np.s_[::3], axis=1)
    return rest.tolist(), items_of_rows(view)


def transposed(shuffle):
    """Whether shuffling along the second axis is shuffling the transposed array."""
    one = np.arange(20).reshape(2, 10)
    other = one.copy()
    shuffle(one, 1)
    shuffle(other.T, 0)
    return np.array_equal(one, other)


def unchanged(permute):
    """What `permutation` gives for an array of a subclass, which stays as it is."""
    a = np.arange(3).view(Subclass)
    given = permute(a)
    assert np.array_equal(a, np.arange(3))
    return rows(given)


def nested():
    """An array whose only item is an array."""
    a = np.empty(1, dtype=object)
    a[0] = np.array([1, 2])
    return a


def two(permute):
    """An array of 200 items, before and after."""
    a = np.arange(200)
    return a, permute(a)


NINE = np.arange(9).reshape(3, 3)
SQUARE = np.arange(16).reshape(4, 4)
TWELVE = np.arange(12).reshape(2, 6)
PAIRS = [[0, 1], [2, 3], [4, 5], [6, 7]]
MASK_2, MASK_1 = (np.ma.masked_values(np.arange(20).reshape(shape) % 3 - 1, -1)
                  for shape in ((5, 4), 20))
WEIGHTED = {"p": [0.4, 0.4, 0.1, 0.1]}
TWO = {"p": [0.1, 0.9]}
SIX = {"p": [0.1, 0.1, 0.1, 0.1, 0.4, 0.2]}

# The case, both calls, what is compared, and the verdict.
CASES = [
    # test_shuffle
    ("an empty array", shuffled_in_place(np.array([])), rows, SAME),
    ("a list", shuffled_in_place(TEN), rows, LIST),
    ("int8", shuffled_in_place(np.array(TEN, dtype="i1")), rows, SAME),
    ("float32", shuffled_in_place(np.array(TEN, dtype="f4")), rows, SAME),
    ("complex64", shuffled_in_place(np.array(TEN, dtype="c8")), rows, SAME),
    ("objects", shuffled_in_place(np.array(TEN, dtype=object)), rows, SAME),
    ("a list of pairs", shuffled_in_place([(i, i) for i in TEN]), rows, LIST),
    ("rows of two", shuffled_in_place(np.array([[i, i] for i in TEN])), rows, SAME),
    ("not in C order", shuffled_in_place(np.vstack([TEN, TEN]).T), rows, SAME),
    ("records", shuffled_in_place(np.array([(i, i) for i in TEN], [("a", int), ("b", int)])
                                  .view(np.recarray)), rows, SAME),
    ("records with objects", shuffled_in_place(np.array(
        [(i, i) for i in TEN], [("a", object, (1,)), ("b", np.int32, (1,))])), rows, SAME),
    # test_shuffle_custom_axis, _empty, _nonsquare
    ("axis 1", shuffled_in_place(SQUARE, axis=1), columns, SAME),
    ("axis -1", shuffled_in_place(SQUARE, axis=-1), columns, SAME),
    ("axis 0 of no rows", shuffled_in_place(np.zeros((0, 6)), axis=0), rows, SAME),
    ("axis 1 of no rows", shuffled_in_place(np.zeros((0, 6)), axis=1), rows, SAME),
    ("axis 1 is axis 0 of the transposed", (
        lambda rng: transposed(lambda a, axis: np.random.Generator(np.random.PCG64(1))
                               .shuffle(a, axis=axis)),
        lambda: transposed(lambda a, axis: bs.shuffle(a, SEED, axis=axis))), bool, SAME),
    # test_shuffle_masked
    ("a masked matrix", shuffled_in_place(MASK_2), np.shape, MASKED),
    ("a masked vector", shuffled_in_place(MASK_1), np.shape, MASKED),
    # test_shuffle_exceptions, _invalid_objects, _not_writeable
    ("no axis 1", shuffled_in_place(np.arange(10), 1), rows, SAME),
    ("no axis 3", shuffled_in_place(NINE, 3), rows, SAME),
    ("a slice as the axis", shuffled_in_place(NINE, slice(1, 2, None)), rows, SAME),
    ("axis 1 of a list", shuffled_in_place([[1, 2, 3], [4, 5, 6]], 1), rows, LIST),
    ("no axis at all", shuffled_in_place(np.array(3)), rows, SAME),
    ("no axis 2", shuffled_in_place(np.ones((3, 2)), 2), rows, SAME),
    ("a read-only array", shuffled_in_place(read_only(5)), rows, SAME),
    # Regressions.
    ("three and None", shuffled_in_place(np.array([1, 2, 3, None])), rows, SAME),
    *((f"mixed objects {k}", shuffled_in_place(np.array([*mixed, None], dtype=object)), rows, SAME)
      for k, mixed in enumerate([[1, (2, 2), (3, 3)], [(1, 1), 2, 3], [(1, 1), (2, 2), (3, 3)]])),
    ("strings of different lengths", shuffled_in_place(np.array(["a", "a" * 1000])), rows, SAME),
    ("arrays as objects", shuffled_in_place(
        np.array([np.arange(1), np.arange(4)], dtype=object)), rows, SAME),
    # test_permutation
    ("permutation of a list", permutation(TEN), rows, SAME),
    ("permutation of rows", permutation(np.atleast_2d(TEN).T), rows, SAME),
    ("permutation of a text", permutation("abcd"), rows, NO_AXIS),
    ("permutation of a float", permutation(1.2), rows, NO_AXIS),
    ("permutation of a number", permutation(10), rows, NUMBER),
    ("permutation along axis 1", permutation(SQUARE, axis=1), columns, SAME),
    ("permutation along axis -1", permutation(SQUARE, axis=-1), columns, SAME),
    ("permutation: no axis 1", permutation(np.arange(10), 1), rows, SAME),
    ("permutation: no axis 3", permutation(NINE, 3), rows, SAME),
    ("permutation: a slice as the axis", permutation(NINE, slice(1, 2, None)), rows, SAME),
    ("permutation of a subclass", (lambda rng: unchanged(rng.permutation),
                                   lambda: unchanged(lambda a: bs.shuffled(a, SEED))), tuple, SAME),
    ("permutation of what has __array__", permutation(Convertible()), rows, SAME),
    ("shuffled is not as before", (
        lambda rng: two(rng.permutation), lambda: two(lambda a: bs.shuffled(a, SEED))),
     is_moved, SAME),
    ("permuted is not as before", (
        lambda rng: two(rng.permuted), lambda: two(lambda a: bs.permuted(a, SEED))),
     is_moved, SAME),
    # test_permuted
    *((f"permuted {dtype.__name__}, axis {axis}{', in place' * is_in_place}",
       (permuted_to(TWELVE.astype(dtype), None, axis=axis) if is_in_place
        else permuted(TWELVE.astype(dtype), axis=axis)), compared, SAME)
      for dtype in (int, object) for is_in_place in (False, True)
      for axis, compared in ((None, items), (0, items_of_columns), (1, items_of_rows))),
    ("permuted with strides, in place", (
        lambda rng: strided(lambda view: rng.permuted(view, axis=1, out=view)),
        lambda: strided(lambda view: bs.permuted(view, SEED, axis=1, out=view))), tuple, SAME),
    ("permuted of nothing", permuted([]), rows, SAME),
    ("out with two rows", permuted_to(np.arange(3), np.zeros((2, 3), int)), rows, SAME),
    ("out that is longer", permuted_to(np.arange(3), np.zeros(5, int)), rows, SAME),
    ("out of another type", permuted_to(np.ones((3, 5)), np.zeros((3, 5), "i4"), axis=1), rows, SAME),
    ("a read-only out", permuted_to(read_only((2, 5)), None, axis=1), rows, SAME),
    # test_choice_uniform_replace, test_choice_nonuniform_replace, .._noreplace
    ("four of four, replaced", choice(4, 4, replace=True), drawn, REPLACE),
    ("four of four, weighted, replaced", choice(4, 4, **WEIGHTED), drawn, WEIGHTS),
    ("three of four", choice(4, 3, replace=False), different, SAME),
    ("four of four, not shuffled", choice(4, 4, replace=False, shuffle=False), drawn, SORTED),
    ("three of four, weighted", choice(4, 3, replace=False, **WEIGHTED), drawn, WEIGHTS),
    # test_choice_noninteger, _multidimensional_default_axis, _custom_axis
    ("texts", choice(["a", "b", "c", "d"], 4), drawn, SAME),
    ("rows of a matrix", choice(PAIRS, 3), drawn, SAME),
    ("columns of a matrix", choice(PAIRS, 1, axis=1), drawn, SAME),
    # test_choice_exceptions
    ("of minus one", choice(-1, 3), drawn, SAME),
    ("of a float", choice(3.0, 3), drawn, FLOAT),
    ("of nothing", choice([], 3), drawn, SAME),
    ("a matrix of weights", choice([1, 2, 3, 4], 3, p=[[0.25, 0.25], [0.25, 0.25]]), drawn, WEIGHTS),
    ("a weight too many", choice([1, 2], 2, p=[0.4, 0.4, 0.2]), drawn, WEIGHTS),
    ("a negative weight", choice([1, 2], 2, p=[1.1, -0.1]), drawn, WEIGHTS),
    ("weights that are not 1", choice([1, 2], 2, p=[0.4, 0.4]), drawn, WEIGHTS),
    ("more than there are", choice([1, 2, 3], 4, replace=False), drawn, SAME),
    ("a negative number", choice([1, 2, 3], -2, replace=False), drawn, SAME),
    ("a negative length", choice([1, 2, 3], (-1,), replace=False), drawn, SAME),
    ("a shape with a negative length", choice([1, 2, 3], (-1, 1), replace=False), drawn, SAME),
    ("more than have weight", choice([1, 2, 3], 2, replace=False, p=[1, 0, 0]), drawn, WEIGHTS),
    # test_choice_return_shape
    *((f"one of two, {name}", choice(2, **settings), drawn, ONE)
      for name, settings in [("replaced", {"replace": True}), ("not replaced", {"replace": False}),
                             ("weighted", TWO), ("weighted, not replaced", {"replace": False, **TWO})]),
    ("one of a list", choice([1, 2]), drawn, ONE),
    ("the one None", choice([None]), drawn, ONE),
    ("the one array", choice(nested()), drawn, ONE),
    ("no axis, of two, replaced", choice(2, (), replace=True), drawn, REPLACE),
    ("no axis, of two", choice(2, (), replace=False), drawn, SAME),
    ("no axis, weighted", choice(2, (), **TWO), drawn, WEIGHTS),
    ("no axis, weighted, not replaced", choice(2, (), replace=False, **TWO), drawn, WEIGHTS),
    ("no axis, of a list", choice([1, 2], ()), drawn, SAME),
    ("no axis, None", choice([None], ()), drawn, SAME),
    ("no axis, an array", choice(nested(), ()), drawn, SAME),
    ("a shape, replaced", choice(6, (2, 3), replace=True), drawn, REPLACE),
    ("a shape", choice(6, (2, 3), replace=False), different, SAME),
    ("a shape, weighted", choice(6, (2, 3), **SIX), drawn, WEIGHTS),
    ("a shape, weighted, not replaced", choice(6, (2, 3), replace=False, **SIX), drawn, WEIGHTS),
    ("a shape, of an array", choice(np.arange(6), (2, 3)), drawn, SAME),
    ("none of none", choice(0, 0), drawn, SAME),
    ("none of an empty list", choice([], (0,)), drawn, SAME),
    ("a shape of no items", choice(["a", "b"], (3, 0, 4)), drawn, SAME),
    ("ten of an empty list", choice([], 10), drawn, SAME),
    # test_choice_nan_probabilities, _p_non_contiguous
    ("weights that are none", choice([42, 1, 2], (), p=[None, None, None]), drawn, WEIGHTS),
    ("weights with strides", choice(5, 3, p=np.array([1, 9] * 5)[::2] / 5), drawn, WEIGHTS),
    # test_choice_return_type, _large_sample, _array_size_empty_tuple
    ("the type of two of four", choice(4, 2), drawn, SAME),
    ("the type, not replaced", choice(4, 2, replace=False), drawn, SAME),
    ("the type, weighted", choice(4, 2, **WEIGHTED), drawn, WEIGHTS),
    ("the type, weighted, not replaced", choice(4, 2, replace=False, **WEIGHTED), drawn, WEIGHTS),
    ("5,000 of 10,000", choice(10_000, 5000, replace=False), different, SAME),
    ("no axis, of three", choice([1, 2, 3], ()), drawn, SAME),
    ("no axis, a row", choice([[1, 2, 3]], ()), drawn, SAME),
    ("no axis, a row of one", choice([[1]], ()), drawn, SAME),
    ("no axis, a column of one", choice([[1]], (), axis=1), drawn, SAME),
    # Regressions.
    ("weights of 16 bits", choice([1, 2, 3], (), p=np.array([4, 4, 2], "f2") / 10), drawn, WEIGHTS),
    ("ten weighted, another generator", choice(10, 10, p=np.ones(10) / 10), drawn, WEIGHTS),
]


def outcome(call, compared):
    try:
        given = call()
    except Exception as error:
        return error
    return compared(given)


def is_same(ours, peers):
    if isinstance(peers, Exception) or isinstance(ours, Exception):
        return isinstance(peers, Exception) and isinstance(ours, type(peers))
    return ours == peers


@pytest.mark.filterwarnings("ignore:you are shuffling a 'list':UserWarning")
@pytest.mark.parametrize("name,calls,compared,verdict", CASES, ids=[case[0] for case in CASES])
def test_a_case_of_numpy(name, calls, compared, verdict):
    if name.startswith("no axis, a ") and np.lib.NumpyVersion(np.__version__) < "2.0.0":
        pytest.skip("a fault of NumPy before 2.0")
    theirs, own = calls
    peers = outcome(lambda: theirs(np.random.default_rng(SEED)), compared)
    ours = outcome(own, compared)
    assert is_same(ours, peers) == (verdict == SAME), (verdict, ours, peers)
    if isinstance(ours, Exception):
        # One line that says what is wrong, and not a failure in the depths.
        assert isinstance(ours, (TypeError, ValueError)) and "\n" not in str(ours)


def test_the_cases_are_counted():
    same = sum(verdict == SAME for *_, verdict in CASES)
    assert len({name for name, *_ in CASES}) == len(CASES)
    assert all(verdict == SAME or verdict.startswith("differs because ") for *_, verdict in CASES)
    text = (pathlib.Path(__file__).resolve().parents[2] / "docs/python.md").read_text()
    said = re.search(r"(\d+)\s+cases\s+of\s+NumPy's\s+own\s+tests:\s+(\d+)\s+the\s+same,\s+(\d+)\s",
                     text)
    assert said, "the document does not say how many there are"
    assert [int(number) for number in said.groups()] == [len(CASES), same, len(CASES) - same]
