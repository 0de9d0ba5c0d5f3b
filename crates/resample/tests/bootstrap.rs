//! Laws of the bootstrap: rows, statistics, and what does not change them.

use bijective_shuffle_resample::{
    Bootstrap, Error, RowStatistic, SeriesBlocks, bca_interval, percentile_interval, standard_error,
};
use proptest::prelude::*;

/// Numbers without a pattern.
fn numbers(len: usize, seed: u64) -> Vec<f64> {
    let mut word = seed | 1;
    let mut next = || {
        word = word.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(0x1405_7B7E_F767_814F);
        (word >> 40) as f64 / f64::from(1 << 24)
    };
    (0..len).map(|_| next() + next() * next()).collect()
}

fn plans(items: usize, seed: u64) -> Vec<Bootstrap> {
    let labels: Vec<_> = (0..items).map(|item| item * item % 3).collect();
    let new = || Bootstrap::new(items, seed).unwrap();
    vec![
        new(),
        new().with_draws(2 * items + 1).unwrap(),
        new().with_draws(0).unwrap(),
        new().strata(&labels).unwrap(),
        new().clusters(&labels).unwrap(),
        new().series(SeriesBlocks::Moving(items.div_ceil(3))).unwrap(),
        new().series(SeriesBlocks::Circular(items.div_ceil(2))).unwrap(),
        new().series(SeriesBlocks::Stationary(items.div_ceil(4))).unwrap(),
        new().series(SeriesBlocks::Circular(items)).unwrap().with_draws(3 * items).unwrap(),
    ]
}

proptest! {
    #[test]
    fn indexes_counts_and_single_places_are_one_row(items in 1..60_usize, seed: u64, row: u64) {
        for bootstrap in plans(items, seed) {
            let (mut indexes, mut counts) = (vec![7; 3], vec![9; items]);
            bootstrap.indexes(row, &mut indexes).unwrap();
            bootstrap.counts(row, &mut counts).unwrap();
            for (place, &item) in indexes.iter().enumerate() {
                prop_assert_eq!(bootstrap.get(row, place), Some(item), "{:?}", &bootstrap);
                counts[item] = counts[item].wrapping_sub(1);
            }
            prop_assert_eq!(bootstrap.get(row, indexes.len()), None);
            prop_assert!(counts.iter().all(|&count| count == 0), "{:?}", &bootstrap);
        }
    }

    #[test]
    fn statistics_of_counts_are_those_of_the_drawn_items(items in 2..50_usize, seed: u64) {
        let (x, y) = (numbers(items, seed), numbers(items, seed ^ 77));
        let all = [
            RowStatistic::mean(&x),
            RowStatistic::weighted_mean(&x, &y).unwrap(),
            RowStatistic::median(&x).unwrap(),
            RowStatistic::quantile(&x, 0.83).unwrap(),
            RowStatistic::correlation(&x, &y).unwrap(),
        ];
        let of = |row: &[usize]| {
            let [x, y] = [&x, &y].map(|all| row.iter().map(|&item| all[item]).collect::<Vec<_>>());
            plain(&x, &y)
        };
        let close = |ours: f64, plain: f64| {
            (ours - plain).abs() < 1e-9 || ours.is_nan() && plain.is_nan()
        };
        let everything: Vec<_> = (0..items).collect();
        for (ours, plain) in all.iter().zip(of(&everything)) {
            prop_assert!(close(ours.observed(), plain));
        }
        for (k, left_out) in all.iter().map(|one| one.leave_one_out().unwrap()).enumerate() {
            for (item, &without) in left_out.iter().enumerate() {
                let rest: Vec<_> = (0..items).filter(|&other| other != item).collect();
                prop_assert!(close(without, of(&rest)[k]), "{} {}", k, item);
            }
        }
        for bootstrap in plans(items, seed) {
            let one_by_one: Vec<_> = all.iter().collect();
            let values = bootstrap.statistics(3..9, &one_by_one).unwrap();
            let mut row = Vec::new();
            for (number, values) in (3..9).zip(values.chunks(all.len())) {
                bootstrap.indexes(number, &mut row).unwrap();
                for (k, (&ours, plain)) in values.iter().zip(of(&row)).enumerate() {
                    prop_assert!(close(ours, plain), "{} {:?} {} {}", k, &row, ours, plain);
                }
            }
        }
    }
}

/// The same statistics of items that were copied out.
fn plain(x: &[f64], y: &[f64]) -> [f64; 5] {
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let weighted = x.iter().zip(y).map(|(x, y)| x * y).sum::<f64>() / y.iter().sum::<f64>();
    let mut sorted = x.to_vec();
    sorted.sort_by(f64::total_cmp);
    let quantile = |q: f64| {
        let place = q * (sorted.len() as f64 - 1.0);
        let high = sorted.get(place as usize + 1).or(sorted.last());
        let low = sorted.get(place as usize)?;
        Some(low + (high? - low) * place.fract())
    };
    let (mean_x, mean_y) = (mean(x), mean(y));
    let products = |a: &[f64], mean_a: f64, b: &[f64], mean_b: f64| {
        a.iter().zip(b).map(|(a, b)| (a - mean_a) * (b - mean_b)).sum::<f64>()
    };
    let [xx, yy] = [products(x, mean_x, x, mean_x), products(y, mean_y, y, mean_y)];
    let is_constant = xx < 1e-12 || yy < 1e-12;
    let correlation = products(x, mean_x, y, mean_y) / (xx * yy).sqrt();
    [
        mean_x,
        weighted,
        quantile(0.5).unwrap_or(f64::NAN),
        quantile(0.83).unwrap_or(f64::NAN),
        if is_constant { f64::NAN } else { correlation },
    ]
}

#[test]
fn values_do_not_depend_on_threads_nor_on_how_rows_are_asked_for() {
    let (x, y) = (numbers(1003, 1), numbers(1003, 2));
    let correlation = RowStatistic::correlation(&x, &y).unwrap();
    let mean = RowStatistic::mean(&x);
    for bootstrap in plans(1003, 5).into_iter().filter(|plan| plan.get(0, 0).is_some()) {
        let values = |threads: usize, rows: std::ops::Range<u64>| -> Vec<u64> {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let values = pool.install(|| {
                let mut values =
                    bootstrap.statistics(rows.clone(), &[&mean, &correlation]).unwrap();
                values.extend(bootstrap.bayesian_statistics(rows.clone(), &[&mean]).unwrap());
                let first = |row: &[usize]| x[row[0]] + x[row[row.len() - 1]];
                values.extend(bootstrap.distribution(rows, first).unwrap());
                values
            });
            values.into_iter().map(f64::to_bits).collect()
        };
        let one = values(1, 0..40);
        assert_eq!(one, values(2, 0..40));
        assert_eq!(one, values(16, 0..40));
        let resumed = [values(3, 0..17), values(3, 17..40)];
        assert_eq!(one[..34], resumed[0][..34]);
        assert_eq!(one[34..80], resumed[1][..46]);
    }
}

#[test]
fn each_item_is_as_likely_as_the_plan_says() {
    const ROWS: u64 = 20_000;
    let items = 7;
    let labels = [0, 1, 1, 0, 2, 1, 0];
    let new = || Bootstrap::new(items, 11).unwrap();
    // Of moving blocks of 3, item 0 is in one, item 1 in two, and so on.
    let moving = |item: usize| {
        let first = |offset: usize| {
            let blocks = (0..5).filter(|start| start + offset == item).count();
            blocks as f64 / 5.0
        };
        // Blocks of 3, 3 and 1.
        (0..7).map(|place| first(place % 3)).sum::<f64>()
    };
    let flat = |_: usize| 1.0;
    let cases: [(Bootstrap, &dyn Fn(usize) -> f64); 6] = [
        (new(), &flat),
        (new().strata(&labels).unwrap(), &flat),
        (new().clusters(&labels).unwrap(), &flat),
        (new().series(SeriesBlocks::Circular(3)).unwrap(), &flat),
        (new().series(SeriesBlocks::Stationary(3)).unwrap(), &flat),
        (new().series(SeriesBlocks::Moving(3)).unwrap(), &moving),
    ];
    for (bootstrap, expected) in cases {
        let (mut sums, mut squares, mut counts) = ([0.0; 7], [0.0; 7], [0; 7]);
        for row in 0..ROWS {
            bootstrap.counts(row, &mut counts).unwrap();
            for (item, &count) in counts.iter().enumerate() {
                sums[item] += f64::from(count);
                squares[item] += f64::from(count) * f64::from(count);
            }
        }
        for item in 0..items {
            let mean = sums[item] / ROWS as f64;
            let error = ((squares[item] / ROWS as f64 - mean * mean) / ROWS as f64).sqrt();
            let off = (mean - expected(item)).abs();
            assert!(off <= 5.0 * error, "{bootstrap:?}, item {item}: {mean} by {error}");
        }
    }
}

#[test]
fn blocks_of_the_stationary_bootstrap_are_geometric() {
    let bootstrap = Bootstrap::new(1000, 3).unwrap().series(SeriesBlocks::Stationary(4)).unwrap();
    let (mut row, mut ends, mut places) = (Vec::new(), 0_u32, 0_u32);
    for number in 0..200 {
        bootstrap.indexes(number, &mut row).unwrap();
        ends += row.windows(2).filter(|two| two[1] != (two[0] + 1) % 1000).count() as u32;
        places += 999;
    }
    // A new block begins by chance where the old one would have gone on, too.
    let (p, places) = (0.25 * 0.999, f64::from(places));
    let off = f64::from(ends) - p * places;
    assert!(off.abs() < 5.0 * (places * p * (1.0 - p)).sqrt(), "{off}");
}

#[test]
fn weights_are_uniform_over_the_simplex() {
    const ROWS: u64 = 40_000;
    let bootstrap = Bootstrap::new(5, 3).unwrap();
    let (mut weights, mut squares, mut below) = ([0.0; 5], 0.0, 0_u32);
    for row in 0..ROWS {
        bootstrap.weights(row, &mut weights).unwrap();
        assert!(weights.iter().all(|weight| (0.0..=1.0).contains(weight)));
        squares += weights[3] * weights[3];
        below += u32::from(weights[3] < 0.2);
    }
    // A weight has the beta law of 1 and 4: mean of squares 2 / (5 * 6), of fourth powers 1 / 70.
    let rows = ROWS as f64;
    let error = ((1.0 / 70.0 - 1.0 / 225.0) / rows).sqrt();
    assert!((squares / rows - 1.0 / 15.0).abs() < 5.0 * error);
    let p = 1.0 - 0.8_f64.powi(4);
    assert!((f64::from(below) / rows - p).abs() < 5.0 * (p * (1.0 - p) / rows).sqrt());
}

#[test]
fn quantiles_by_weights_are_those_of_the_weighted_distribution() {
    let median = RowStatistic::median(&[3.0, 1.0, 2.0]).unwrap();
    assert_eq!(median.of_weights(&[0.2, 0.5, 0.3]), 1.0);
    assert_eq!(median.of_weights(&[0.2, 0.4, 0.4]), 2.0);
    assert_eq!(median.of_weights(&[0.6, 0.2, 0.2]), 3.0);
    assert_eq!(median.of_counts(&[1, 0, 1]), 2.5);
}

#[test]
fn undefined_statistics_are_nan() {
    let constant = RowStatistic::correlation(&[0.1; 9], &[1.0; 9]).unwrap();
    assert!(constant.observed().is_nan());
    let data = [1.0, f64::NAN, 3.0];
    for statistic in [RowStatistic::mean(&data), RowStatistic::median(&data).unwrap()] {
        assert!(statistic.observed().is_nan());
        assert!(statistic.of_counts(&[1, 1, 1]).is_nan());
        let left_out = statistic.leave_one_out().unwrap();
        assert!(left_out[0].is_nan() && left_out[2].is_nan());
    }
    let median = RowStatistic::median(&data).unwrap();
    assert_eq!(median.of_counts(&[2, 0, 1]), 1.0);
    assert_eq!(median.leave_one_out().unwrap()[1], 2.0);
    assert!(median.of_counts(&[0, 0, 0]).is_nan());
    assert!(RowStatistic::mean(&data).of_counts(&[0, 0, 0]).is_nan());
    // A mean of no items: NumPy has NaN, too.
    assert!(RowStatistic::mean(&[5.0]).leave_one_out().unwrap()[0].is_nan());
}

#[test]
fn bad_input_is_refused() {
    let new = || Bootstrap::new(5, 1).unwrap();
    let count = |given| Err(Error::ItemCount { items: 5, given });
    assert_eq!(Bootstrap::new(0, 1).map(drop), Err(Error::NoItems));
    let (draws, mut row) = (1 << 31, vec![1]);
    let many = new().with_draws(draws).unwrap();
    assert_eq!(many.indexes(0, &mut row), Err(Error::TooManyDraws { draws }));
    assert_eq!(many.counts(0, &mut [0; 5]), Err(Error::TooManyDraws { draws }));
    assert_eq!(new().strata(&[1, 2]).map(drop), count(2));
    assert_eq!(new().clusters(&[1; 6]).map(drop), count(6));
    assert_eq!(new().strata(&[1; 5]).unwrap().with_draws(3).map(drop), Err(Error::OwnDraws));
    for length in [0, 6] {
        let wrong = Err(Error::BlockLength { length, items: 5 });
        assert_eq!(new().series(SeriesBlocks::Circular(length)).map(drop), wrong);
    }
    assert_eq!(new().counts(0, &mut [0; 4]), count(4));
    assert_eq!(new().weights(0, &mut [0.0; 6]), count(6));
    let mean = RowStatistic::mean(&[1.0; 4]);
    assert_eq!(new().statistics(0..3, &[&mean]).map(drop), count(4));
    let (first, end) = (3, 2);
    let wrong = Err(Error::RowRange { first, end });
    assert_eq!(new().distribution(first..end, |_| 0.0).map(drop), wrong);
    assert!(new().distribution(0..u64::MAX, |_| 0.0).is_err());
    let weight = RowStatistic::weighted_mean(&[1.0, 2.0], &[1.0, -1.0]).map(drop);
    assert_eq!(weight, Err(Error::NotAWeight { index: 1 }));
    let wrong = RowStatistic::quantile(&[1.0], 1.5).map(drop);
    assert_eq!(wrong, Err(Error::NotBetweenZeroAndOne { given: 1.5 }));
    // A statistic that panics does so in the caller.
    let panic = std::panic::catch_unwind(|| new().distribution(0..9, |_| panic!("mine")));
    assert!(panic.is_err());
    for error in [Error::NoItems, Error::OwnDraws, Error::Degenerate, Error::NoValues] {
        assert!(error.to_string().contains(": "));
    }
}

/// Intervals of the mean of skewed data contain the true mean about as often as they say.
fn coverage(sets: u64, rows: u64) -> [f64; 2] {
    const ITEMS: usize = 60;
    let mut covered = [0.0; 2];
    for set in 0..sets {
        let mut data = vec![0.0; ITEMS];
        let mut rng = bijective_shuffle::rng::Philox4x32Rng::<10>::from_key(99, set);
        bijective_shuffle::rng::Fill::fill_normal_f64(&mut rng, &mut data);
        let mean = RowStatistic::mean(&data);
        let values = Bootstrap::new(ITEMS, set).unwrap().statistics(0..rows, &[&mean]).unwrap();
        assert!(standard_error(&values) > 0.0);
        let left_out = mean.leave_one_out().unwrap();
        let intervals = [
            percentile_interval(&values, 0.05).unwrap(),
            bca_interval(&values, mean.observed(), &[&left_out], 0.05).unwrap(),
        ];
        for (covered, [low, high]) in covered.iter_mut().zip(intervals) {
            *covered += f64::from(u8::from(low <= 0.0 && 0.0 <= high)) / sets as f64;
        }
    }
    covered
}

#[test]
fn intervals_cover_about_as_often_as_they_say() {
    // 5 standard errors of 300 sets are 0.087.
    assert!(coverage(300, 400).iter().all(|&share| (share - 0.9).abs() < 0.09));
}

#[test]
#[ignore = "half a minute; the long form of the test above"]
fn intervals_cover_as_often_as_they_say() {
    // 3 standard errors of 2,000 sets are 0.020; the intervals of 60 items lack one percent.
    let covered = coverage(2000, 1000);
    println!("covered of 0.9: {covered:?}");
    assert!(covered.iter().all(|&share| (share - 0.9).abs() < 0.03));
}
