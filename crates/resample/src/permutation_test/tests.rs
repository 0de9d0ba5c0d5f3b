//! Tests against the definitions of statistics and p-values.

use bijective_shuffle::{KeyDomain, Seed};
use rayon::ThreadPoolBuilder;

use super::*;
use crate::{Design, Error};

/// Random numbers from -1 to 1, of about 53 bits.
fn noise(len: usize, seed: u64) -> Vec<f64> {
    let mut words = Seed::new(seed).key_stream(KeyDomain::Exact(9));
    let mut number = || (words.next_u64() >> 11) as f64 / (1_u64 << 52) as f64 - 1.0;
    (0..len).map(|_| number()).collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The sum of squares about the mean.
fn squares(values: &[f64]) -> f64 {
    let mean = mean(values);
    values.iter().map(|x| (x - mean).powi(2)).sum()
}

fn median(values: &[f64]) -> f64 {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    let half = values.len() / 2;
    if values.len() % 2 == 1 { values[half] } else { f64::midpoint(values[half - 1], values[half]) }
}

fn correlation(x: &[f64], y: &[f64]) -> f64 {
    let means = [mean(x), mean(y)];
    let product: f64 = x.iter().zip(y).map(|(a, b)| (a - means[0]) * (b - means[1])).sum();
    product / (squares(x) * squares(y)).sqrt()
}

/// Distances of random points.
fn distances(rows: usize, seed: u64) -> Vec<f64> {
    let points: Vec<_> = noise(2 * rows, seed).chunks(2).map(|p| [p[0], p[1]]).collect();
    let distance = |a: &[f64; 2], b: &[f64; 2]| f64::hypot(a[0] - b[0], a[1] - b[1]);
    points.iter().flat_map(|a| points.iter().map(move |b| distance(a, b))).collect()
}

/// The pairs of places of some rows, with the group of each.
fn pairs(rows: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..rows).flat_map(|i| (0..i).map(move |j| (i, j)))
}

fn group_of(place: usize, sizes: &[u64]) -> usize {
    let mut end = 0;
    sizes
        .iter()
        .take_while(|&&size| {
            end += size as usize;
            end <= place
        })
        .count()
}

/// A statistic by its textbook definition.
type Definition<'a> = Box<dyn Fn(&[u32], &[i8]) -> f64 + Sync + 'a>;

/// Compares a statistic's values with those of the definition, for several designs.
fn compare(what: &str, statistic: &dyn Statistic, definition: Definition<'_>, designs: &[Design]) {
    let plain = FnStatistic::new(statistic.rows(), definition);
    for design in designs {
        let test =
            |statistic| PermutationTest::new(design, statistic).permutations(300).keep_null(true);
        let own = test(statistic).run().unwrap();
        let expected = test(&plain).run().unwrap();
        // Large values of ratios are known less well.
        let rounding = |b: f64| 1e-9 * (1.0 + b.abs()) + statistic.rounding(b);
        let close = |a: f64, b: f64| (a - b).abs() <= rounding(b);
        assert!(close(own.observed(), expected.observed()), "{what}: {own:?} {expected:?}");
        let values = own.null().unwrap().iter().zip(expected.null().unwrap());
        for (k, (&own, &expected)) in values.enumerate() {
            assert!(close(own, expected), "{what}, {design}, {k}: {own} {expected}");
        }
        assert_eq!(own.p_value(), expected.p_value(), "{what}, {design}");
        assert!(own.null().unwrap().len() > 100, "{what}, {design}");
    }
}

#[test]
fn statistics_are_those_of_the_textbooks() {
    let rows = 300;
    let (x, y) = (noise(rows, 1), noise(rows, 2));
    let at = |order: &[u32]| -> Vec<f64> { order.iter().map(|&row| x[row as usize]).collect() };
    let free = Design::free(rows as u64).unwrap();
    for first in [1, 2, 77, 250] {
        let rest = rows as u64 - first;
        let groups = Design::groups(&[first, rest]).unwrap();
        // Groups that are not those of the statistic.
        let others = Design::groups(&[first + 1, rest - 1]).unwrap();
        let designs = [free.clone(), groups, others];
        let first = first as usize;
        let means = TwoSamples::difference_of_means(&x, first).unwrap();
        let definition = |order: &[u32], _: &[i8]| {
            let (one, other) = order.split_at(first);
            mean(&at(one)) - mean(&at(other))
        };
        compare("means", &means, Box::new(definition), &designs);
        let medians = TwoSamples::difference_of_medians(&x, first).unwrap();
        let definition = |order: &[u32], _: &[i8]| {
            let (one, other) = order.split_at(first);
            median(&at(one)) - median(&at(other))
        };
        compare("medians", &medians, Box::new(definition), &designs);
        let t = TwoSamples::student_t(&x, first).unwrap();
        let definition = |order: &[u32], _: &[i8]| {
            let (one, other) = order.split_at(first);
            let (one, other) = (at(one), at(other));
            let (n, m) = (one.len() as f64, other.len() as f64);
            let variance = (squares(&one) + squares(&other)) / (n + m - 2.0);
            (mean(&one) - mean(&other)) / (variance * (1.0 / n + 1.0 / m)).sqrt()
        };
        compare("t", &t, Box::new(definition), &designs);
        if first > 1 {
            let welch = TwoSamples::welch_t(&x, first).unwrap();
            let definition = |order: &[u32], _: &[i8]| {
                let (one, other) = order.split_at(first);
                let (one, other) = (at(one), at(other));
                let error = |x: &[f64]| squares(x) / (x.len() as f64 - 1.0) / x.len() as f64;
                (mean(&one) - mean(&other)) / (error(&one) + error(&other)).sqrt()
            };
            compare("welch", &welch, Box::new(definition), &designs);
        }
    }
    let r = Correlation::new(&x, &y).unwrap();
    let definition = |order: &[u32], _: &[i8]| correlation(&at(order), &y);
    let series = Design::series(rows as u64, true).unwrap();
    compare("r", &r, Box::new(definition), &[free.clone(), series]);
    let one = OneSampleMean::new(&x).unwrap();
    let definition = |order: &[u32], signs: &[i8]| {
        order.iter().zip(signs).map(|(&row, &sign)| x[row as usize] * f64::from(sign)).sum::<f64>()
            / rows as f64
    };
    let signs = Design::plots(
        Design::fixed(60).unwrap(),
        Design::free(5).unwrap().with_one_sign().unwrap(),
    );
    let designs = [Design::signs(rows as u64).unwrap(), free.with_signs().unwrap(), signs.unwrap()];
    compare("mean", &one, Box::new(definition), &designs);
}

#[test]
fn statistics_of_groups_and_distances_are_those_of_the_textbooks() {
    for sizes in
        [vec![30, 41], vec![10, 1, 25, 35], vec![1; 70].into_iter().chain([1, 2]).collect()]
    {
        let rows: u64 = sizes.iter().sum();
        let (rows, k) = (rows as usize, sizes.len() as f64);
        let n = rows as f64;
        let values = noise(rows, 3);
        let designs = [Design::free(rows as u64).unwrap(), Design::groups(&sizes).unwrap()];
        let f = GroupsF::new(&values, &sizes).unwrap();
        let definition = |order: &[u32], _: &[i8]| {
            let all: Vec<_> = order.iter().map(|&row| values[row as usize]).collect();
            let mut rest = all.as_slice();
            let within: f64 = sizes
                .iter()
                .map(|&size| {
                    let (group, others) = rest.split_at(size as usize);
                    rest = others;
                    squares(group)
                })
                .sum();
            (squares(&all) - within) / (k - 1.0) / (within / (n - k))
        };
        compare("F", &f, Box::new(definition), &designs);
        let d = distances(rows, 4);
        let entry = |order: &[u32], (i, j)| {
            let [i, j]: [usize; 2] = [i, j];
            d[order[i] as usize * rows + order[j] as usize]
        };
        let is_within = |(i, j)| group_of(i, &sizes) == group_of(j, &sizes);
        let permanova = Permanova::new(&d, &sizes).unwrap();
        let definition = |order: &[u32], _: &[i8]| {
            let square = |pair| entry(order, pair).powi(2);
            let total: f64 = pairs(rows).map(square).sum::<f64>() / n;
            let within = pairs(rows).filter(|&pair| is_within(pair));
            let within: f64 =
                within.map(|pair| square(pair) / sizes[group_of(pair.0, &sizes)] as f64).sum();
            (total - within) / (k - 1.0) / (within / (n - k))
        };
        compare("PERMANOVA", &permanova, Box::new(definition), &designs);
        // Distances with ties.
        let coarse: Vec<f64> = d.iter().map(|d| (d * 8.0).ceil()).collect();
        let anosim = Anosim::new(&coarse, &sizes).unwrap();
        let mut sorted: Vec<f64> = pairs(rows).map(|(i, j)| coarse[i * rows + j]).collect();
        sorted.sort_by(f64::total_cmp);
        let rank = |value: f64| {
            let below = sorted.partition_point(|&other| other < value);
            f64::midpoint(
                (below + 1) as f64,
                sorted.partition_point(|&other| other <= value) as f64,
            )
        };
        let definition = |order: &[u32], _: &[i8]| {
            let rank =
                |(i, j): (usize, usize)| rank(coarse[order[i] as usize * rows + order[j] as usize]);
            let ranks = |within: bool| {
                let ranks: Vec<_> =
                    pairs(rows).filter(|&p| is_within(p) == within).map(rank).collect();
                mean(&ranks)
            };
            (ranks(false) - ranks(true)) / (n * (n - 1.0) / 4.0)
        };
        compare("ANOSIM", &anosim, Box::new(definition), &designs);
        let e = distances(rows, 5);
        let mantel = Mantel::new(&d, &e).unwrap();
        let definition = |order: &[u32], _: &[i8]| {
            let own: Vec<_> = pairs(rows).map(|pair| entry(order, pair)).collect();
            let other: Vec<_> = pairs(rows).map(|(i, j)| e[i * rows + j]).collect();
            correlation(&own, &other)
        };
        compare("Mantel", &mantel, Box::new(definition), &designs[..1]);
    }
}

#[test]
fn ties_are_counted_as_in_exact_arithmetic() {
    // Tenths, whose sums round differently in every order.
    let tenths: [i64; 11] = [1, 2, 3, 7, 1, 2, 3, 7, 6, 4, 5];
    let values = tenths.map(|x| x as f64 / 10.0);
    for first in 1..=10 {
        let sizes = [first as u64, 11 - first as u64];
        let design = Design::groups(&sizes).unwrap();
        let exact = |order: &[u64]| -> i64 {
            let (one, other) = order.split_at(first);
            let sum = |rows: &[u64]| rows.iter().map(|&row| tenths[row as usize]).sum::<i64>();
            sum(one) * other.len() as i64 - sum(other) * one.len() as i64
        };
        let all: Vec<_> = design.all().unwrap().map(|a| exact(a.order())).collect();
        let share = |is_extreme: &dyn Fn(i64) -> bool| {
            all.iter().filter(|&&value| is_extreme(value)).count() as f64 / all.len() as f64
        };
        let observed = all[0];
        let greater = share(&|value| value >= observed);
        let less = share(&|value| value <= observed);
        let absolute = share(&|value| value.abs() >= observed.abs());
        let two = (2.0 * greater.min(less)).min(1.0);
        let statistics: [Box<dyn Statistic>; 2] = [
            Box::new(TwoSamples::difference_of_means(&values, first).unwrap()),
            Box::new(TwoSamples::student_t(&values, first).unwrap()),
        ];
        for statistic in &statistics {
            for (alternative, expected) in [
                (Alternative::Greater, greater),
                (Alternative::Less, less),
                (Alternative::TwoSided, two),
                (Alternative::Absolute, absolute),
            ] {
                let test = PermutationTest::new(&design, &**statistic).alternative(alternative);
                let result = test.run().unwrap();
                assert!(result.is_exact() && result.standard_error() == 0.0);
                assert_eq!(result.p_value(), expected, "{first} {alternative:?} {statistic:p}");
                assert_eq!(result.interval(0.9), (expected, expected));
            }
        }
        // F is the square of t.
        let f = GroupsF::new(&values, &sizes).unwrap();
        let test = PermutationTest::new(&design, &f).alternative(Alternative::Greater);
        assert_eq!(test.run().unwrap().p_value(), absolute);
    }
}

#[test]
fn results_are_the_same_on_any_number_of_threads_and_when_resumed() {
    let values = noise(400, 7);
    let statistics: [Box<dyn Statistic>; 4] = [
        Box::new(TwoSamples::welch_t(&values, 150).unwrap()),
        Box::new(GroupsF::new(&values, &[100, 200, 100]).unwrap()),
        Box::new(Correlation::new(&values, &noise(400, 8)).unwrap()),
        Box::new(Permanova::new(&distances(400, 9), &[100, 200, 100]).unwrap()),
    ];
    let designs = [
        Design::groups(&[150, 250]).unwrap(),
        Design::plots(Design::free(20).unwrap(), Design::free(20).unwrap()).unwrap(),
    ];
    let bits = |result: TestResult| -> Vec<u64> {
        result.null().unwrap().iter().chain([&result.p_value()]).map(|x| x.to_bits()).collect()
    };
    for (statistic, design) in statistics.iter().flat_map(|s| designs.iter().map(move |d| (s, d))) {
        let test = PermutationTest::new(design, &**statistic).permutations(3000).seed(42);
        let test = test.keep_null(true).alternative(Alternative::Greater);
        let expected = bits(test.run().unwrap());
        for threads in [1, 2, 16] {
            let pool = ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            assert_eq!(pool.install(|| bits(test.run().unwrap())), expected, "{threads} threads");
        }
        // Stopped at every look, and gone on with.
        let test = test.stop(EarlyStop::Exceedances(u64::MAX));
        let (mut tally, mut looks) = (Tally::new(), 0);
        loop {
            let seen = tally.arrangements();
            if test.run_while(&mut tally, |tally| tally.arrangements() == seen).unwrap() {
                break;
            }
            looks += 1;
        }
        assert!(looks > 1);
        assert_eq!(bits(test.result(tally).unwrap()), expected);
        // The values are those of arrangements by themselves, whatever was drawn before.
        let k = 1234;
        let own = design.get(k, 42).unwrap();
        let order: Vec<u32> = own.order().iter().map(|&row| row as u32).collect();
        let batch = ArrangementBatch { len: 400, orders: &order, signs: &[] };
        let mut value = [0.0];
        statistic.evaluate(batch, &mut value).unwrap();
        let close = (f64::from_bits(expected[k as usize]) - value[0]).abs();
        assert!(close < 1e-10, "{close}");
    }
}

#[test]
fn p_values_of_drawn_arrangements_count_the_identity() {
    // Nothing but the identity is as extreme as this.
    let values: Vec<f64> = (0..200).map(f64::from).collect();
    let statistic = TwoSamples::difference_of_means(&values, 100).unwrap();
    let design = Design::groups(&[100, 100]).unwrap();
    let test = PermutationTest::new(&design, &statistic).permutations(999);
    for seed in [0, 1, 42] {
        let result = test.seed(seed).alternative(Alternative::Less).run().unwrap();
        assert_eq!((result.p_value(), result.extreme()), (0.001, 0));
        assert_eq!(result.arrangements(), 999);
        assert_eq!(test.seed(seed).run().unwrap().p_value(), 0.002);
    }
    // Seeds are different, and none is without effect, 0 included.
    let null = |seed: u64| test.seed(seed).keep_null(true).run().unwrap().null().unwrap().to_vec();
    assert_ne!(null(0), null(1));
    assert!(null(0).iter().all(|&value| value.abs() < 50.0));
}

#[test]
fn a_statistic_that_fails_once_changes_nothing() {
    use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

    let values = noise(40, 12);
    let is_well = AtomicBool::new(true);
    let statistic = FnStatistic::new(40, |order: &[u32], _: &[i8]| {
        let sum: f64 = order[..20].iter().map(|&row| values[row as usize]).sum();
        // Some arrangements of the second round.
        if order[0] == 7 && !is_well.load(Relaxed) { f64::NAN } else { sum }
    });
    let design = Design::groups(&[20, 20]).unwrap();
    let stop = EarlyStop::Exceedances(u64::MAX);
    let test = PermutationTest::new(&design, &statistic).permutations(5000).seed(1).stop(stop);
    let test = test.alternative(Alternative::Less).keep_null(true);
    let expected = test.run().unwrap();
    let mut tally = Tally::new();
    let error = test.run_while(&mut tally, |tally| {
        is_well.store(tally.arrangements() == 0, Relaxed);
        true
    });
    assert!(matches!(error, Err(Error::NotANumber { arrangement: Some(1024..) })), "{error:?}");
    assert_eq!(tally.arrangements(), 1024);
    is_well.store(true, Relaxed);
    assert!(test.run_while(&mut tally, |_| true).unwrap());
    assert_eq!(test.result(tally).unwrap(), expected);
}

#[test]
fn p_values_are_uniform_where_there_is_no_effect() {
    let design = Design::groups(&[9, 11]).unwrap();
    let (sets, mut below) = (2000, [0; 3]);
    for set in 0..sets {
        let values = noise(20, 1000 + set);
        let statistic = TwoSamples::welch_t(&values, 9).unwrap();
        let test = PermutationTest::new(&design, &statistic).permutations(199).seed(set);
        let p = test.alternative(Alternative::Absolute).run().unwrap().p_value();
        for (below, level) in below.iter_mut().zip([0.05, 0.1, 0.5]) {
            *below += u64::from(p <= level);
        }
    }
    for (below, level) in below.into_iter().zip([0.05, 0.1, 0.5]) {
        let (expected, sigma) = (level * sets as f64, (level * (1.0 - level) * sets as f64).sqrt());
        assert!((below as f64 - expected).abs() < 4.0 * sigma, "{below} at {level}");
    }
}

#[test]
fn tests_end_where_a_look_at_each_value_would_end_them() {
    let design = Design::free(50).unwrap();
    let values = noise(50, 11);
    for (seed, shift) in [(1, 0.0), (2, 0.2), (3, 0.4), (4, 0.9)] {
        let shifted: Vec<_> =
            (0..50).map(|k| values[k] + if k < 25 { shift } else { 0.0 }).collect();
        let statistic = TwoSamples::difference_of_means(&shifted, 25).unwrap();
        let alternative = Alternative::Greater;
        let test = PermutationTest::new(&design, &statistic).alternative(alternative).seed(seed);
        let test = test.permutations(20_000);
        let all = test.keep_null(true).run().unwrap();
        let extreme = |value: f64| value >= all.observed() - 1e-12;
        let null = all.null().unwrap();
        for h in [1, 10, 300] {
            let hits = (1..).zip(null).filter(|&(_, &value)| extreme(value));
            let expected = hits.map(|(l, _)| l).nth(h - 1);
            let result = test.stop(EarlyStop::Exceedances(h as u64)).run().unwrap();
            match expected {
                Some(l) => {
                    assert_eq!((result.arrangements(), result.has_stopped()), (l, true));
                    assert_eq!(result.p_value(), h as f64 / l as f64);
                    let (low, high) = result.interval(0.95);
                    assert!(low < result.p_value() && result.p_value() <= high);
                }
                None => assert_eq!(result.p_value(), all.p_value()),
            }
        }
        let rule = EarlyStop::Decision { threshold: 0.05, risk: 0.001 };
        let mut boundaries = stop::Boundaries::new(0.05, 0.001).unwrap();
        let mut count = 0;
        let decided = (1..).zip(null).find_map(|(l, &value)| {
            count += u64::from(extreme(value));
            boundaries.step().unwrap();
            boundaries.decision(count).map(|decision| (l, decision))
        });
        let result = test.stop(rule).run().unwrap();
        assert_eq!(decided.map(|(_, decision)| decision), result.decision());
        assert_eq!(decided.map_or(20_000, |(l, _)| l), result.arrangements());
        if let Some((_, decision)) = decided {
            assert_eq!(result.p_value() <= 0.05, decision);
        }
        // Resumed in the middle, and after its end.
        let mut tally = Tally::new();
        test.stop(rule).run_while(&mut tally, |tally| tally.arrangements() == 0).unwrap();
        let mut tally: Tally = tally.to_string().parse().unwrap();
        assert!(test.stop(rule).run_while(&mut tally, |_| true).unwrap());
        assert!(test.stop(rule).run_while(&mut tally, |_| true).unwrap());
        assert_eq!(test.stop(rule).result(tally).unwrap(), result);
    }
}

#[test]
fn intervals_are_those_of_clopper_and_pearson() {
    let result = |extreme, arrangements| TestResult {
        observed: 0.0,
        alternative: Alternative::Greater,
        extreme,
        arrangements,
        is_exact: false,
        has_stopped: false,
        decision: None,
        null: None,
    };
    // From tables of binomial limits.
    for (b, m, low, high) in [
        (0, 10, 0.0, 0.308_497_1),
        (1, 10, 0.002_528_579, 0.445_016_1),
        (5, 10, 0.187_086_0, 0.812_914_0),
        (10, 10, 0.691_502_9, 1.0),
    ] {
        let interval = result(b, m).interval(0.95);
        assert!((interval.0 - low).abs() < 1e-6, "{b} of {m}: {interval:?}");
        assert!((interval.1 - high).abs() < 1e-6, "{b} of {m}: {interval:?}");
    }
    let wide = result(499, 9999);
    assert!((wide.standard_error() - (0.05_f64 * 0.95 / 9999.0).sqrt()).abs() < 1e-12);
    let two = TestResult { alternative: Alternative::TwoSided, ..wide.clone() };
    assert_eq!(two.interval(0.9).0, 2.0 * wide.interval(0.9).0);
}

#[test]
fn corrected_p_values_are_those_of_the_definition() {
    let (rows, columns) = (14, 37);
    let mut values = noise(rows * columns, 13);
    for row in 0..6 {
        values[row * columns + 3] += 1.5;
        values[row * columns + 35] -= 2.0;
    }
    for row in 0..rows {
        values[row * columns + 20] = 5.0; // constant
    }
    let column = |column: usize, order: &[u32]| -> Vec<f64> {
        order.iter().map(|&row| values[row as usize * columns + column]).collect()
    };
    let covariate = noise(rows, 14);
    let t_of = |r: f64, freedom: f64| r * (freedom / (1.0 - r * r)).sqrt();
    let means = |c, order: &[u32], _: &[i8]| {
        let x = column(c, order);
        mean(&x[..6]) - mean(&x[6..])
    };
    let student = |c, order: &[u32], _: &[i8]| {
        let in_first: Vec<_> = (0..rows).map(|place| f64::from(u8::from(place < 6))).collect();
        t_of(correlation(&column(c, order), &in_first), rows as f64 - 2.0)
    };
    let correlations = |c, order: &[u32], _: &[i8]| {
        t_of(correlation(&column(c, order), &covariate), rows as f64 - 2.0)
    };
    let one_sample = |c, order: &[u32], signs: &[i8]| {
        let mut x = column(c, order);
        x.iter_mut().zip(signs).for_each(|(x, &sign)| *x *= f64::from(sign));
        let n = rows as f64;
        mean(&x) / (squares(&x) / (n - 1.0) / n).sqrt()
    };
    type ColumnStatistic<'a> = &'a (dyn Fn(usize, &[u32], &[i8]) -> f64 + Sync);
    let groups = Design::groups(&[6, 8]).unwrap();
    let (free, signs) = (Design::free(14).unwrap(), Design::signs(14).unwrap());
    let cases: [(MaxT, ColumnStatistic<'_>, &Design); 5] = [
        (MaxT::difference_of_means(&values, columns, 6).unwrap(), &means, &groups),
        (MaxT::student_t(&values, columns, 6).unwrap(), &student, &groups),
        (MaxT::student_t(&values, columns, 6).unwrap(), &student, &free),
        (MaxT::correlation(&values, columns, &covariate).unwrap(), &correlations, &free),
        (MaxT::one_sample_t(&values, columns).unwrap(), &one_sample, &signs),
    ];
    for (test, statistic, design) in cases {
        for alternative in [Alternative::Absolute, Alternative::Greater, Alternative::Less] {
            let extremeness = |value: f64| match alternative {
                Alternative::Greater => value,
                Alternative::Less => -value,
                _ => value.abs(),
            };
            // 3003 groups are enumerated, or drawn; other arrangements are drawn.
            let all = design.count_u64().unwrap();
            for permutations in if all == 3003 { vec![500, 3003] } else { vec![500] } {
                let test = test.clone().alternative(alternative).permutations(permutations).seed(5);
                let results = test.run(design).unwrap();
                let is_exact = all <= permutations;
                let rows: Vec<_> = if is_exact {
                    design.all().unwrap().collect()
                } else {
                    (0..permutations).map(|k| design.get(k, 5).unwrap()).collect()
                };
                let identity: Vec<u32> = (0..14).collect();
                let used: Vec<_> =
                    (0..columns).filter(|&c| results[c].p_value.is_finite()).collect();
                let observed: Vec<_> =
                    (0..columns).map(|c| statistic(c, &identity, &[1; 14])).collect();
                let null: Vec<Vec<f64>> = rows
                    .iter()
                    .map(|row| {
                        let order: Vec<u32> = row.order().iter().map(|&row| row as u32).collect();
                        let signs = row.signs().unwrap_or(&[1; 14]);
                        (0..columns).map(|c| extremeness(statistic(c, &order, signs))).collect()
                    })
                    .collect();
                let own = if is_exact { 0.0 } else { 1.0 };
                let share = |count: usize| (count as f64 + own) / (rows.len() as f64 + own);
                let mut order = used.clone();
                order.sort_by(|&a, &b| {
                    f64::total_cmp(&extremeness(observed[b]), &extremeness(observed[a]))
                });
                let mut least = 0.0;
                for (place, &c) in order.iter().enumerate() {
                    let limit = extremeness(observed[c]) - 1e-10;
                    let [own, expected] = [results[c].observed, observed[c]];
                    assert!(
                        own == expected || (own - expected).abs() < 1e-9,
                        "{c}: {own} {expected}"
                    );
                    let alone = null.iter().filter(|values| values[c] >= limit).count();
                    assert_eq!(results[c].p_value, share(alone), "{c} {alternative:?} {design}");
                    let maximum =
                        |values: &&Vec<f64>| order[place..].iter().any(|&c| values[c] >= limit);
                    least = share(null.iter().filter(maximum).count()).max(least);
                    assert_eq!(results[c].corrected, least, "{c} {alternative:?} {design}");
                }
                // The constant column has no p-value where its statistic divides by the spread.
                assert_eq!(results[20].p_value.is_nan(), used.len() == columns - 1);
            }
        }
    }
}

#[test]
fn many_columns_are_the_same_on_any_number_of_threads_and_when_resumed() {
    let values = noise(30 * 500, 17);
    let design = Design::groups(&[13, 17]).unwrap();
    let test = MaxT::student_t(&values, 500, 13).unwrap().permutations(20_000).seed(3);
    let expected = test.run(&design).unwrap();
    for threads in [1, 2, 16] {
        let pool = ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        assert_eq!(pool.install(|| test.run(&design).unwrap()), expected, "{threads} threads");
    }
    let pool = ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let (mut tally, mut looks) = (ColumnTally::new(), 0);
    let go_on = |tally: &mut ColumnTally| {
        let seen = tally.arrangements();
        pool.install(|| test.run_while(&design, tally, |tally| tally.arrangements() == seen))
    };
    while !go_on(&mut tally).unwrap() {
        looks += 1;
    }
    assert!(looks > 1);
    assert_eq!(test.result(&design, &tally).unwrap(), expected);
    let other = MaxT::student_t(&values, 250, 13).unwrap();
    assert_eq!(
        other.result(&design, &tally).unwrap_err(),
        Error::RowCount { expected: 30, actual: 60 }
    );
}

#[test]
fn data_that_make_no_sense_are_errors() {
    let nan = [1.0, f64::NAN, 2.0, 4.0];
    let x = [1.0, 3.0, 2.0, 4.0];
    let not_finite = |index| Err(Error::NotFinite { index });
    let means = |x: &[f64], first| TwoSamples::difference_of_means(x, first).map(|_| ());
    assert_eq!(means(&nan, 2), not_finite(1));
    assert_eq!(means(&[1.0, f64::INFINITY], 1), not_finite(1));
    assert_eq!(means(&x, 0), Err(Error::SmallSample { rows: 0, least: 1 }));
    assert_eq!(means(&x, 4), Err(Error::SmallSample { rows: 0, least: 1 }));
    assert_eq!(means(&x, 9), Err(Error::SmallSample { rows: 0, least: 1 }));
    let welch = TwoSamples::welch_t(&x, 1).map(|_| ());
    assert_eq!(welch, Err(Error::SmallSample { rows: 1, least: 2 }));
    assert_eq!(TwoSamples::student_t(&[0.3; 9], 4).map(|_| ()), Err(Error::Constant));
    assert_eq!(TwoSamples::welch_t(&[1e300; 9], 4).map(|_| ()), Err(Error::Constant));
    assert_eq!(GroupsF::new(&[0.1; 9], &[4, 5]).map(|_| ()), Err(Error::Constant));
    assert_eq!(GroupsF::new(&x, &[1, 1, 1]).map(|_| ()), Err(Error::GroupSizes { rows: 4 }));
    assert_eq!(GroupsF::new(&x, &[4]).map(|_| ()), Err(Error::GroupSizes { rows: 4 }));
    let small = GroupsF::new(&x, &[1, 1, 1, 1]).map(|_| ());
    assert_eq!(small, Err(Error::SmallSample { rows: 4, least: 5 }));
    assert_eq!(Correlation::new(&x, &[1.0; 4]).map(|_| ()), Err(Error::Constant));
    let uneven = Correlation::new(&x, &x[1..]).map(|_| ());
    assert_eq!(uneven, Err(Error::RowCount { expected: 4, actual: 3 }));
    assert_eq!(Permanova::new(&x[1..], &[1, 2]).map(|_| ()), Err(Error::NotSquare { items: 3 }));
    let one_sided = Permanova::new(&[0.0, 1.0, 2.0, 0.0], &[1, 1]).map(|_| ());
    assert_eq!(one_sided, Err(Error::NotDistances { row: 1, column: 0 }));
    let negative = Anosim::new(&[0.0, -1.0, -1.0, 0.0], &[1, 1]).map(|_| ());
    assert_eq!(negative, Err(Error::NotDistances { row: 1, column: 0 }));
    assert_eq!(Permanova::new(&[0.0; 9], &[1, 2]).map(|_| ()), Err(Error::Constant));
    assert_eq!(Mantel::new(&[0.0; 9], &distances(3, 1)).map(|_| ()), Err(Error::Constant));
    let small = MaxT::student_t(&x, 2, 1).map(|_| ());
    assert_eq!(small, Err(Error::SmallSample { rows: 2, least: 3 }));
    assert_eq!(MaxT::difference_of_means(&nan, 2, 1).map(|_| ()), not_finite(1));
    let ragged = MaxT::difference_of_means(&x, 3, 1).map(|_| ());
    assert_eq!(ragged, Err(Error::RowCount { expected: 3, actual: 4 }));

    let statistic = TwoSamples::difference_of_means(&x, 2).unwrap();
    let run = |design: Design| PermutationTest::new(&design, &statistic).run().map(|_| ());
    assert_eq!(run(Design::free(5).unwrap()), Err(Error::RowCount { expected: 5, actual: 4 }));
    assert_eq!(run(Design::signs(4).unwrap()), Err(Error::SignsUnused));
    let design = Design::free(30).unwrap();
    let late = FnStatistic::new(30, |order: &[u32], _: &[i8]| {
        let is_identity = order.windows(2).all(|pair| pair[0] < pair[1]);
        if is_identity { 1.0 } else { f64::NAN }
    });
    let test = PermutationTest::new(&design, &late);
    assert_eq!(test.run(), Err(Error::NotANumber { arrangement: Some(0) }));
    let never = FnStatistic::new(30, |_: &[u32], _: &[i8]| f64::NAN);
    let test = PermutationTest::new(&design, &never);
    assert_eq!(test.run(), Err(Error::NotANumber { arrangement: None }));
    let fine = FnStatistic::new(30, |order: &[u32], _: &[i8]| f64::from(order[0]));
    let test = PermutationTest::new(&design, &fine).stop(EarlyStop::Exceedances(3));
    assert_eq!(test.run(), Err(Error::StopRule));
    for rule in [
        EarlyStop::Exceedances(0),
        EarlyStop::Decision { threshold: 0.0, risk: 0.1 },
        EarlyStop::Decision { threshold: 0.05, risk: 0.5 },
        EarlyStop::Decision { threshold: f64::NAN, risk: 0.1 },
    ] {
        assert_eq!(test.alternative(Alternative::Less).stop(rule).run(), Err(Error::StopRule));
    }
    let test = PermutationTest::new(&design, &fine).permutations(100);
    let mut long: Tally = "101 3 4 5".parse().unwrap();
    assert_eq!(test.run_while(&mut long, |_| true), Err(Error::Tally));
    for text in ["", "1 2 3", "1 2 0 0", "1 0 0 0 0", "1 0 0 0 end", "-1 0 0 0"] {
        assert_eq!(text.parse::<Tally>(), Err(Error::Tally), "{text}");
    }
    // Infinite values are compared, and equal to themselves.
    let infinite =
        FnStatistic::new(
            4,
            |order: &[u32], _: &[i8]| {
                if order[0] < 2 { f64::INFINITY } else { f64::from(order[0]) }
            },
        );
    let design = Design::free(4).unwrap();
    let test = PermutationTest::new(&design, &infinite).alternative(Alternative::Greater);
    assert_eq!(test.run().unwrap().p_value(), 0.5);
    // Samples that are constant by themselves.
    let apart = [1.0, 1.0, 2.0, 2.0];
    let design = Design::groups(&[2, 2]).unwrap();
    for statistic in [TwoSamples::student_t(&apart, 2), TwoSamples::welch_t(&apart, 2)] {
        let statistic = statistic.unwrap();
        let result = PermutationTest::new(&design, &statistic).keep_null(true).run().unwrap();
        assert_eq!(result.observed(), f64::NEG_INFINITY);
        assert_eq!(result.p_value(), 2.0 / 6.0);
    }
}
