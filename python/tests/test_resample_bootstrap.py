"""The bootstrap: its rows, scipy's arguments, fields and values, and scipy's own examples."""

import inspect
import pickle
import threading
import warnings

import numpy as np
import pytest
from bijective_shuffle.resample import Bootstrap, DegenerateDataWarning, bootstrap

# Row 0 of 20 draws of 7 items, seed 42, by the second implementation, which is in
# crates/resample/vectors/resample.json.
GOLDEN = [4, 2, 1, 4, 0, 4, 0, 4, 4, 1, 5, 1, 0, 4, 0, 3, 5, 4, 4, 0]


@pytest.fixture
def stats():
    return pytest.importorskip("scipy.stats", reason="scipy is not installed")


def test_rows_are_those_of_the_second_implementation():
    row = Bootstrap(7, 42, draws=20).indexes(0)
    assert row.tolist() == Bootstrap(7, 42, draws=20).indexes(0, 3)[0].tolist()
    assert row.tolist() == GOLDEN


@pytest.mark.parametrize("how", [{}, {"draws": 30}, {"draws": 0}, {"strata": list("abacbbaccaab")}, {"clusters": [1, 1, 2] * 4},
                                 {"moving": 3}, {"circular": 5}, {"stationary": 4}, {"circular": 4, "draws": 31}])
def test_indexes_counts_and_single_rows_agree(how):
    rows = Bootstrap(12, b"\1" * 32, epoch=5, **how)
    counts = rows.counts(2**63, 4)
    assert counts.shape == (4, 12) and counts.dtype == np.uint32
    for k in range(4):
        items = rows.indexes(2**63 + k)
        assert items.dtype == np.int64 and (np.bincount(items, minlength=12) == counts[k]).all()
        assert (rows.counts(2**63 + k) == counts[k]).all()
    if "clusters" in how:
        with pytest.raises(ValueError, match="rows of clusters differ in length"):
            rows.indexes(0, 2)
        assert (rows.indexes(3, 1)[0] == rows.indexes(3)).all()
    else:
        assert (rows.indexes(2**63, 4)[3] == rows.indexes(2**63 + 3)).all()
    weights = rows.weights(7, 3)
    assert weights.shape == (3, 12) and np.allclose(weights.sum(1), 1) and (weights[2] == rows.weights(9)).all()


def test_statistics_are_those_of_the_drawn_items():
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(2, 3, 50)), rng.random((2, 3, 50))
    rows = Bootstrap(50, 3)
    items, weights = rows.indexes(10, 7), rows.weights(10, 7)
    assert np.allclose(rows.statistics("mean", x, first=10, count=7), x[..., items].mean(-1))
    assert np.allclose(rows.statistics("median", x, first=10, count=7), np.median(x[..., items], -1))
    assert np.allclose(rows.statistics("quantile", x, q=0.9, first=10, count=7), np.quantile(x[..., items], 0.9, -1))
    means = rows.statistics("weighted_mean", x, y, first=10, count=7)
    assert np.allclose(means, np.average(x[..., items], -1, y[..., items]))
    by_weights = rows.statistics("mean", x, first=10, count=7, bayesian=True)
    assert np.allclose(by_weights, (x[..., None, :] * weights).sum(-1))
    correlations = rows.statistics("correlation", x[0, 0], y[0, 0], first=10, count=7)
    assert np.allclose(correlations, [np.corrcoef(x[0, 0, row], y[0, 0, row])[0, 1] for row in items])


def test_bad_input_is_refused():
    for wrong in ({"n": 0}, {"n": 3, "moving": 0}, {"n": 3, "circular": 4}, {"n": 3, "strata": [1, 2]},
                  {"n": 3, "moving": 2, "stationary": 2}, {"n": 3, "strata": [[1, 2, 3]]}, {"n": 2, "clusters": [1, 1], "draws": 3}):
        with pytest.raises(ValueError):
            Bootstrap(seed=1, **wrong)
    with pytest.raises((ValueError, MemoryError)):
        Bootstrap(2**40, 1).indexes(0)
    with pytest.raises(ValueError, match="is none of: mean, median"):
        Bootstrap(3, 1).statistics("mode", [1, 2, 3])
    with pytest.raises(ValueError, match="5 numbers were given for 4 items"):
        Bootstrap(4, 1).statistics("mean", np.ones(5))
    data = (np.arange(5.0),)
    for wrong in ({"n_resamples": -1}, {"n_resamples": 1.5}, {"batch": 0}, {"alternative": "both"}, {"method": "t"},
                  {"confidence_level": 1.0}, {"confidence_level": np.nan}, {"n_resamples": 0}, {"seed": -1}):
        with pytest.raises(ValueError):
            bootstrap(data, np.mean, **wrong)
    for wrong in (([],), ([1.0],), 5.0):
        with pytest.raises(ValueError):
            bootstrap(wrong, np.mean)
    with pytest.raises(ValueError, match="paired samples have one length"):
        bootstrap(([1, 2, 3], [1, 2]), "correlation")
    with pytest.raises(ValueError, match="no statistic of 2 samples"):
        bootstrap(([1, 2], [1, 2]), "mean")
    with pytest.raises(TypeError, match="a statistic is a function or a name"):
        bootstrap(data, 7)


def test_one_seed_is_one_result_whatever_the_batch_and_however_it_is_continued():
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=30), rng.normal(size=20)

    def difference(a, b, axis=-1):
        return np.mean(a, axis=axis) - np.mean(b, axis=axis)

    whole = bootstrap((x, y), difference, seed=5, n_resamples=200)
    assert whole.seed == 5
    for batch in (1, 7, 1000):
        other = bootstrap((x, y), difference, seed=5, n_resamples=200, batch=batch)
        assert np.allclose(other.bootstrap_distribution, whole.bootstrap_distribution, rtol=1e-14, atol=1e-14)
    slow = bootstrap((x, y), lambda a, b: difference(a, b), seed=5, n_resamples=200)
    assert np.allclose(slow.bootstrap_distribution, whole.bootstrap_distribution)
    assert np.allclose(slow.confidence_interval, whole.confidence_interval)
    part = bootstrap((x, y), difference, seed=5, n_resamples=80)
    rest = bootstrap((x, y), difference, n_resamples=120, bootstrap_result=part)
    assert (rest.bootstrap_distribution == whole.bootstrap_distribution).all() and rest.seed == 5
    # Row by row, as documented: sample s at epoch s.
    rows = Bootstrap(30, 5).indexes(0, 200), Bootstrap(20, 5, epoch=1).indexes(0, 200)
    assert np.allclose(difference(x[rows[0]], y[rows[1]]), whole.bootstrap_distribution)
    # Seeds that were not given are kept, and differ.
    two = [bootstrap((x,), "mean", n_resamples=9) for _ in range(2)]
    assert two[0].seed != two[1].seed
    again = bootstrap((x,), "mean", n_resamples=9, seed=two[0].seed)
    assert (again.bootstrap_distribution == two[0].bootstrap_distribution).all()
    by_rng = [bootstrap((x,), "mean", n_resamples=9, rng=np.random.default_rng(3)).seed for _ in range(2)]
    assert by_rng[0] == by_rng[1]
    assert pickle.loads(pickle.dumps(whole)).confidence_interval == whole.confidence_interval


def test_functions_of_numpy_and_names_are_one_statistic():
    x = np.random.default_rng(2).normal(size=(40, 3))
    named = bootstrap((x,), "median", seed=1, n_resamples=99)
    own = bootstrap((x,), lambda a, axis: np.median(a, axis), seed=1, n_resamples=99)
    assert (bootstrap((x,), np.median, seed=1, n_resamples=99).bootstrap_distribution == named.bootstrap_distribution).all()
    assert np.allclose(named.bootstrap_distribution, own.bootstrap_distribution)
    assert named.bootstrap_distribution.shape == (3, 99) and named.standard_error.shape == (3,)
    assert np.allclose(named.confidence_interval, own.confidence_interval)
    # Complex values have no order.
    with pytest.raises(TypeError, match="complex"):
        bootstrap((x[:, 0] + 1j,), np.mean, seed=1, n_resamples=9)


def test_degenerate_data_have_nan_and_a_warning():
    for statistic in (np.mean, lambda x, axis: np.mean(x, axis=axis)):
        with pytest.warns(DegenerateDataWarning, match="undefined"):
            result = bootstrap((np.ones(9),), statistic, seed=1, n_resamples=99)
        assert np.isnan(result.confidence_interval).all()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert bootstrap((np.ones(9),), np.mean, seed=1, method="basic").confidence_interval == (1, 1)
    result = bootstrap(([1.0, np.nan, 3.0],), np.mean, seed=1, n_resamples=999, method="percentile")
    assert np.isnan(result.confidence_interval).all()


def test_threads_of_python_share_a_plan():
    rows, expected, wrong = Bootstrap(1000, 1), Bootstrap(1000, 1).counts(0, 40), []
    threads = [threading.Thread(target=lambda k=k: (rows.counts(k) != expected[k]).any() and wrong.append(k)) for k in range(40)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_arguments_are_those_of_scipy(stats):
    theirs, ours = (inspect.signature(of).parameters for of in (stats.bootstrap, bootstrap))
    # `random_state` is the old name of `rng`.
    for name in theirs.keys() - {"random_state"}:
        assert ours[name].default == theirs[name].default, name


@pytest.mark.parametrize("method", ["percentile", "basic", "BCa"])
@pytest.mark.parametrize("alternative", ["two-sided", "less", "greater"])
def test_intervals_of_one_distribution_are_those_of_scipy(stats, method, alternative):
    rng = np.random.default_rng(1)
    x, y = rng.gamma(2, size=(3, 40)), rng.gamma(3, size=25)

    def ratio(a, b, axis=-1):
        return np.mean(a, axis=axis) / np.mean(b, axis=axis)

    def two(a, axis=-1):
        return np.array([np.mean(a, axis=axis), np.std(a, axis=axis)])

    def correlation(a, b, axis=-1):
        return stats.pearsonr(a, b, axis=axis)[0]

    cases = [((x,), two, {}), ((x, y), ratio, {}), ((x[0], x[1]), correlation, {"paired": True}), ((x,), np.mean, {})]
    for data, statistic, how in cases:
        how = {"axis": -1, "method": method, "alternative": alternative, "confidence_level": 0.9, **how}
        ours = bootstrap(data, statistic, seed=7, n_resamples=500, **how)
        theirs = stats.bootstrap(data, statistic, n_resamples=0, bootstrap_result=ours, **how)
        assert np.allclose(ours.confidence_interval, theirs.confidence_interval, rtol=1e-12, atol=0)
        assert np.allclose(ours.standard_error, theirs.standard_error, rtol=1e-12)
        assert ours.bootstrap_distribution.shape == theirs.bootstrap_distribution.shape


def test_names_have_scipys_intervals(stats):
    rng = np.random.default_rng(4)
    x, y = rng.gamma(2, size=(2, 40))
    weighted = bootstrap((x, y), "weighted_mean", seed=7, n_resamples=500)
    theirs = stats.bootstrap((x, y), lambda a, b, axis: np.average(a, axis=axis, weights=b), paired=True,
                             n_resamples=0, bootstrap_result=weighted)
    assert np.allclose(weighted.confidence_interval, theirs.confidence_interval, rtol=1e-12)
    correlation = bootstrap((x, y), "correlation", seed=7, n_resamples=500)
    theirs = stats.bootstrap((x, y), lambda a, b, axis: stats.pearsonr(a, b, axis=axis)[0], paired=True,
                             n_resamples=0, bootstrap_result=correlation)
    assert np.allclose(correlation.confidence_interval, theirs.confidence_interval, rtol=1e-10)


def test_distributions_are_like_those_of_scipy(stats):
    x = np.random.default_rng(3).gamma(2, size=30)
    for statistic in (np.mean, np.median, np.std):
        ours = bootstrap((x,), statistic, seed=1, n_resamples=4000)
        theirs = stats.bootstrap((x,), statistic, rng=np.random.default_rng(1), n_resamples=4000)
        assert stats.ks_2samp(ours.bootstrap_distribution, theirs.bootstrap_distribution).pvalue > 1e-4
        assert abs(ours.standard_error / theirs.standard_error - 1) < 0.08


def test_scipys_examples_run_by_a_changed_import(stats):
    """The code of the examples in scipy's documentation, without the lines that plot."""
    lines = inspect.getdoc(stats.bootstrap).partition("Examples\n--------")[2].splitlines()
    code = "\n".join(line[4:] for line in lines if line[:4] in (">>> ", "... "))
    code = "\n".join(line for line in code.splitlines() if not any(word in line for word in ("plt", "ax.")))
    assert code.count("bootstrap(") >= 6 and "from scipy.stats import bootstrap\n" in code
    code = code.replace("from scipy.stats import bootstrap\n", "from bijective_shuffle.resample import bootstrap\n")
    code = code.replace("default_rng()", "default_rng(5)")
    names = {}
    exec(code, names)
    assert names["bootstrap"] is bootstrap
    assert 80 <= names["ci_contains_true_std"] <= 98
    low, high = names["ci_l"], names["ci_u"]
    assert low.shape == (100,) and 80 <= np.sum((low < 4) & (4 < high)) <= 98
    assert len(names["res"].bootstrap_distribution) == 10_999
    assert names["res2"].confidence_interval.low > names["res"].confidence_interval.low
