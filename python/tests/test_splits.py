"""Splits and folds: counts, empty parts, what is appended, and scikit-learn."""

import contextlib
import importlib.util
import os
import warnings

import bijective_shuffle as bs
import numpy as np
import pytest

CASES = 1000 if os.environ.get("BIJECTIVE_SHUFFLE_LONG") == "1" else 60


class Array:
    """One of a library whose items are objects of its own, as those of pyarrow, PyTorch and xarray are."""

    def __init__(self, values):
        self.values = values

    def __len__(self):
        return len(self.values)

    def __iter__(self):
        return (object() for _ in self.values)

    def __array__(self, dtype=None, copy=None):
        return np.array(self.values, dtype)


@pytest.mark.parametrize("library", ["pyarrow", "pandas", "polars", "torch", "xarray"])
def test_arrays_of_other_libraries_have_the_parts_of_their_values(library):
    module = pytest.importorskip(library, reason=f"{library} is not installed")
    make = {"pyarrow": "array", "pandas": "Series", "polars": "Series", "torch": "tensor", "xarray": "DataArray"}
    array, splits = getattr(module, make[library])(list(range(100))), bs.Splits([1, 1, 2], 3)
    for of in ("ids", "labels", "groups"):
        assert np.array_equal(splits.parts(**{of: array}), splits.parts(**{of: list(range(100))}))
    if library == "pyarrow":
        chunks = module.chunked_array([["a", "b"], ["c"]])
        assert np.array_equal(splits.parts(ids=chunks), splits.parts(ids=["a", "b", "c"]))
        with pytest.raises(TypeError, match="an id is bytes, a text or an integer, not NoneType"):
            splits.parts(ids=module.array([1, None]))


def test_splits_do_not_move():
    rng = np.random.default_rng(1)
    labels, groups = rng.choice(list("abcd"), 3000), rng.integers(0, 200, 3000)
    splits = bs.Splits({"train": 0.8, "valid": 0.15, "test": 0.05}, seed=7)
    ids = [f"{k}.jpg" for k in range(3000)]
    for given in ({}, {"labels": labels}, {"groups": groups}, {"ids": ids}):
        n = None if given else 3000
        parts = splits.parts(n, **given)
        for fewer in (0, 1, 777, 1500):
            before = splits.parts(None if given else fewer, **{k: v[:fewer] for k, v in given.items()})
            assert np.array_equal(before, parts[:fewer])
        indexes = splits.indexes(n, **given)
        assert list(indexes) == ["train", "valid", "test"]
        assert np.array_equal(np.sort(np.concatenate(list(indexes.values()))), np.arange(3000))
        for part, name in enumerate(indexes):
            assert (parts[indexes[name]] == part).all() and (np.diff(indexes[name]) > 0).all()
    assert np.bincount(splits.parts(3000)).tolist() == [2400, 450, 150]
    parts = splits.parts(labels=labels)
    for label in "abcd":
        many = (labels == label).sum()
        assert abs((parts[labels == label] == 0).sum() - 0.8 * many) <= 16
    parts = splits.parts(groups=groups)
    assert all(len(set(parts[groups == group])) == 1 for group in range(200))
    # Ids may come in any order.
    assert np.array_equal(splits.parts(ids=ids[::-1]), splits.parts(ids=ids)[::-1])
    assert splits.parts(ids=[7, b"7"]).tolist() == splits.parts(ids=["7", "7"]).tolist()
    assert np.array_equal(splits.parts(ids=Array([str(k) for k in range(1000)])), splits.parts(ids=range(1000)))
    assert splits.parts(labels=np.array(["a", None, 3, "a"], object)).shape == (4,)
    assert bs.Splits([80, 15, 5], 7).parts(99).tolist() == splits.parts(99).tolist()


def test_shares_that_are_computed_are_the_simple_ones_that_are_meant():
    for computed, meant in [
        ([0.8, 1 - 0.8], [8, 2]),
        ([0.7, 0.2, 1 - 0.7 - 0.2], [7, 2, 1]),
        ([1 / 6, 5 / 6], [1, 5]),
        (np.array([2, 5, 7]) / 14, [2, 5, 7]),
        ([1 / 3] * 3, [1, 1, 1]),
        ([0.333, 0.667], [333, 667]),
    ]:
        expected = bs.Splits(meant, 5).parts(3000)
        assert (bs.Splits(computed, 5).parts(3000) == expected).all(), computed
    with pytest.raises(ValueError, match="round them"):
        bs.Splits([0.123456789, 0.876543211], 5)


@pytest.mark.parametrize(("shares", "n", "dealt"), [
    ([9, 1], 8, [7, 1]), ([8, 1, 1], 5, [3, 1, 1]), ([8, 1, 1], 3, [1, 1, 1]), ([4, 0, 1], 4, [3, 0, 1]),
    ([997, 2, 1], 12, [10, 1, 1]),
])
def test_no_part_with_a_share_is_empty(shares, n, dealt):
    for seed in range(200):
        splits = bs.Splits(shares, seed)
        # Where the items of the first quota are, when it is whole.
        known = splits.parts(sum(shares))[:n]
        for given in ({"n": n}, {"groups": np.repeat(np.arange(n), 3)}):
            parts = splits.parts(**given)[:: len(given.get("groups", range(n))) // n]
            sizes = np.bincount(parts, minlength=len(shares)).tolist()
            if set(known.tolist()) == {part for part, share in enumerate(shares) if share}:
                assert (parts == known).all()
            else:
                assert sizes == dealt
            assert [len(rows) for rows in splits.indexes(**given)] == [
                size * len(given.get("groups", range(n))) // n for size in sizes]


def test_labels_leave_no_part_empty():
    labels = np.repeat(np.arange(10), 2)
    for seed in range(200):
        train, test = bs.Splits([9, 1], seed).indexes(labels=labels)
        assert len(test) > 0 and sorted([*train, *test]) == list(range(20))


def test_each_group_may_fill_a_part_that_would_be_empty():
    often = np.zeros(4, int)
    for seed in range(2000):
        often[bs.Splits([0.8, 0.2], seed).indexes(4)[1]] += 1
    assert often.min() > 420 and often.max() < 580, often


def test_parts_that_must_be_empty_are_refused():
    splits = bs.Splits({"train": 0.9, "test": 0.1}, 1)
    for given, told in (({"n": 1}, "1 items cannot .* 2 parts"), ({"n": 0}, "0 items"),
                        ({"groups": [7] * 9}, "1 groups cannot .* 2 parts"), ({"labels": ["a"]}, "1 items"),
                        ({"ids": ["a"]}, "none of 1 ids falls to part 'train'")):
        with pytest.raises(ValueError, match=told):
            splits.indexes(**given)
    # The part of an item is known without the others, so `parts` leaves parts empty.
    three = bs.Splits([1, 1, 1], 1)
    assert three.parts(2).tolist() == three.parts(3)[:2].tolist()
    with pytest.raises(ValueError, match="2 items cannot .* 3 parts"):
        three.indexes(2)
    assert splits.parts(1).tolist() == splits.parts(2000)[:1].tolist()
    assert bs.Splits([1], 1).indexes(1)[0].tolist() == [0]


@pytest.mark.parametrize("unit", ["ns", "us", "s", "D"])
def test_times_are_no_ids(unit):
    splits = bs.Splits([1, 1], 1)
    for kind in ("datetime64", "timedelta64"):
        array = np.arange(10).astype(f"{kind}[{unit}]")
        given = [array, list(array), array.astype(object) if unit != "ns" else array, Array(array)]
        for library, make in (("pandas", "Series"), ("xarray", "DataArray"), ("polars", "Series"), ("pyarrow", "array")):
            # Polars has no days of durations, and other libraries convert units.
            if importlib.util.find_spec(library):
                with contextlib.suppress(NotImplementedError, ValueError):
                    given.append(getattr(importlib.import_module(library), make)(array))
        for ids in given:
            with pytest.raises(TypeError, match="an id is bytes, a text or an integer, not "):
                splits.parts(ids=ids)
    assert splits.parts(ids=np.arange(10).astype(f"datetime64[{unit}]").astype(str)).shape == (10,)


def test_folds_are_a_splitter_of_scikit_learn():
    model_selection = pytest.importorskip("sklearn.model_selection", reason="scikit-learn is not installed")
    from sklearn.linear_model import LinearRegression
    from sklearn.neighbors import KNeighborsClassifier

    rng = np.random.default_rng(1)
    x = rng.normal(size=(600, 3))
    target = x @ [1, 2, 3]
    scores = model_selection.cross_val_score(LinearRegression(), x, target, cv=bs.Folds(5, 42))
    assert len(scores) == 5 and (scores > 0.99).all()
    labels = (rng.random(600) < 0.1).astype(int)
    stratified = bs.Folds(4, 42, by="labels")
    predicted = model_selection.cross_val_predict(KNeighborsClassifier(), x, labels, cv=stratified)
    assert predicted.shape == (600,)
    counts = [labels[test].sum() for _, test in stratified.split(x, labels)]
    assert max(counts) - min(counts) <= 1
    groups = rng.integers(0, 40, 600)
    results = model_selection.cross_validate(
        LinearRegression(), x, target, groups=groups, cv=bs.Folds(5, 42, by="groups"), return_indices=True
    )
    tests = results["indices"]["test"]
    assert sorted(np.concatenate(tests).tolist()) == list(range(600))
    for train, test in zip(results["indices"]["train"], tests, strict=True):
        assert not set(groups[train]) & set(groups[test])
    search = model_selection.GridSearchCV(KNeighborsClassifier(), {"n_neighbors": [1, 5]}, cv=stratified)
    assert search.fit(x, labels).n_splits_ == 4 == stratified.get_n_splits()


def test_folds_refuse_what_would_leave_some_empty():
    for folds, n in ((bs.Folds(5, 1), 4), (bs.Folds(3, 1), 0)):
        with pytest.raises(ValueError, match="use fewer folds"):
            list(folds.split(np.zeros(n)))
    with pytest.raises(ValueError, match="5 folds of 3 groups"):
        list(bs.Folds(5, 1, by="groups").split(np.zeros(9), groups=[1, 1, 1, 2, 2, 2, 3, 3, 3]))
    with pytest.raises(ValueError, match="9 items have 2 labels"):
        list(bs.Folds(2, 1, by="labels").split(np.zeros(9), [1, 2]))
    with pytest.raises(ValueError, match="need y"):
        list(bs.Folds(2, 1, by="labels").split(np.zeros(5)))
    with pytest.raises(ValueError, match="need groups"):
        list(bs.Folds(2, 1, by="groups").split(np.zeros(5)))
    with pytest.raises(ValueError):
        bs.Folds(1, 1)
    with pytest.raises(ValueError):
        bs.Folds(3, 1, by="rows")


def test_folds_by_labels_have_counts_that_no_seed_changes():
    for y, k, size in ((np.repeat(np.arange(30), 7), 5, 42), (np.repeat(np.arange(10), 2), 5, 4)):
        for seed in range(200):
            folds = [test for _, test in bs.Folds(k, seed, by="labels").split(y, y)]
            assert [len(test) for test in folds] == [size] * k
            assert sorted(np.concatenate(folds).tolist()) == list(range(len(y)))


def test_folds_by_labels_move_the_last_items_of_a_label_only():
    y = np.random.default_rng(3).integers(0, 5, 500)
    folds = np.empty(500, int)
    for fold, (_, test) in enumerate(bs.Folds(4, 9, by="labels").split(y, y)):
        folds[test] = fold
    for fewer in (100, 333):
        for fold, (_, test) in enumerate(bs.Folds(4, 9, by="labels").split(y[:fewer], y[:fewer])):
            for row in test:
                number, many = (y[:row] == y[row]).sum(), (y[:fewer] == y[row]).sum()
                assert folds[row] == fold or number >= many - many % 4


def test_counts_are_those_of_scikit_learn():
    model_selection = pytest.importorskip("sklearn.model_selection", reason="scikit-learn is not installed")
    rng = np.random.default_rng(7)

    def tests_of(splitter, *given, **named):
        return [test for _, test in splitter.split(*given, **named)]

    for case in range(CASES):
        n, k = int(rng.integers(2, 400)), int(rng.integers(2, 12))
        y = rng.integers(0, rng.integers(1, 40), n)
        groups = rng.integers(0, rng.integers(1, 60), n)
        if n >= k:
            ours = tests_of(bs.Folds(k, case), y)
            theirs = tests_of(model_selection.KFold(k, shuffle=True, random_state=case), y)
            assert sorted(map(len, ours)) == sorted(map(len, theirs))
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    theirs = tests_of(model_selection.StratifiedKFold(k, shuffle=True, random_state=case), y, y)
            except ValueError as error:
                # It refuses where no label has an item for each fold.
                assert "number of members in each class" in str(error)
            else:
                ours = tests_of(bs.Folds(k, case, by="labels"), y, y)
                assert [np.bincount(y[test]).tolist() for test in ours] == [
                    np.bincount(y[test]).tolist() for test in theirs]
        if len(set(groups)) >= k:
            ours = tests_of(bs.Folds(k, case, by="groups"), y, groups=groups)
            theirs = tests_of(model_selection.GroupKFold(k, shuffle=True, random_state=case), y, groups=groups)
            assert sorted(len(set(groups[test])) for test in ours) == sorted(
                len(set(groups[test])) for test in theirs)
        share = int(rng.integers(1, 10))
        ours = [len(part) for part in bs.Splits([10 - share, share], case).indexes(n)]
        assert min(ours) > 0
        if n % 10 == 0:
            theirs = model_selection.train_test_split(y, test_size=share / 10, random_state=case)
            assert ours == list(map(len, theirs))


def test_labels_are_classes():
    utils = pytest.importorskip("sklearn.utils.multiclass", reason="scikit-learn is not installed")
    for y in ([0.5, 1, 2], [1.0, 2.0, 1.0], [1, 2, 1], ["a", "b", "a"], [True, False, True],
              np.array([[1], [2], [1]])):
        y, refuses = np.asarray(y), "continuous" in _kind(utils, y)
        for call in (lambda: list(bs.Folds(2, 1, by="labels").split(y, y)),
                     lambda: bs.Splits([1, 1], 1).indexes(labels=y),
                     lambda: bs.Splits([1, 1], 1).indexes(labels=y.astype(object))):
            if refuses:
                with pytest.raises(ValueError, match="continuous"):
                    call()
            else:
                call()


def _kind(utils, y):
    """What scikit-learn calls a target, or that it refuses it."""
    try:
        return utils.type_of_target(y)
    except ValueError as error:
        return f"continuous: {error}"


def test_values_that_are_no_numbers_are_one_label():
    for labels in ([1.0, float("nan"), 2.0, float("nan")], [1, None, 2, None]):
        array = np.array(labels, object)
        same = bs.Splits([1, 1], 1).parts(groups=array)
        assert same.tolist() == bs.Splits([1, 1], 1).parts(groups=["a", "b", "c", "b"]).tolist()
        assert same.tolist() == bs.Splits([1, 1], 1).parts(groups=labels).tolist()


def test_groups_are_routed_as_metadata():
    sklearn = pytest.importorskip("sklearn", reason="scikit-learn is not installed")
    from sklearn import model_selection
    from sklearn.linear_model import LinearRegression, Ridge
    from sklearn.utils.metadata_routing import get_routing_for_object

    rng = np.random.default_rng(1)
    x, groups = rng.normal(size=(120, 3)), rng.integers(0, 20, 120)
    target = x @ [1, 2, 3]
    folds = bs.Folds(5, 42, by="groups")
    assert model_selection.check_cv(folds) is folds
    search = model_selection.GridSearchCV(Ridge(), {"alpha": [1, 2]}, cv=folds)
    before = search.fit(x, target, groups=groups).cv_results_
    scores = model_selection.cross_val_score(LinearRegression(), x, target, cv=folds, groups=groups)
    with sklearn.config_context(enable_metadata_routing=True):
        routed = sklearn.clone(search).fit(x, target, groups=groups).cv_results_
        assert (routed["mean_test_score"] == before["mean_test_score"]).all()
        again = model_selection.cross_val_score(LinearRegression(), x, target, cv=folds, params={"groups": groups})
        assert (again == scores).all()
        # Under another name, or not at all.
        named = bs.Folds(5, 42, by="groups").set_split_request(groups="patients")
        renamed = model_selection.GridSearchCV(Ridge(), {"alpha": [1, 2]}, cv=named)
        assert (renamed.fit(x, target, patients=groups).cv_results_["mean_test_score"]
                == before["mean_test_score"]).all()
        theirs = get_routing_for_object(model_selection.GroupKFold(5))
        assert repr(get_routing_for_object(folds).split.requests) == repr(theirs.split.requests)
        silent = bs.Folds(5, 42, by="groups").set_split_request(groups=False)
        with pytest.raises(ValueError, match="need groups"):
            model_selection.GridSearchCV(Ridge(), {"alpha": [1]}, cv=silent, error_score="raise").fit(x, target)
        # Folds that know no groups ask for none.
        for by in (None, "labels"):
            assert not get_routing_for_object(bs.Folds(5, 42, by=by)).split.requests
            with pytest.raises(TypeError, match="ask for no groups"):
                bs.Folds(5, 42, by=by).set_split_request(groups=True)
        plain = model_selection.GridSearchCV(Ridge(), {"alpha": [1, 2]}, cv=bs.Folds(5, 42))
        assert plain.fit(x, target).n_splits_ == 5
    with pytest.raises(TypeError, match="True, False, None or a name"):
        folds.set_split_request(groups=3)
