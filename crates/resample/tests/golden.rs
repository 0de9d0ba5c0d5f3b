//! What a second implementation gives: `vectors/make_vectors.py` beside this folder.

use bijective_shuffle::Seed;
use bijective_shuffle_resample::{
    Bootstrap, FixedSizeSample, PoissonSample, RowStatistic, SeriesBlocks,
};
use serde_json::Value;

fn entries(chapter: &str) -> Vec<Value> {
    let all: Value = serde_json::from_str(include_str!("../vectors/resample.json")).unwrap();
    let entries = all[chapter].as_array().unwrap().clone();
    assert!(entries.len() > 2, "{chapter}");
    entries
}

fn number(value: &Value) -> u64 {
    match value.as_str() {
        Some(text) => u64::from_str_radix(text.strip_prefix("0x").unwrap(), 16).unwrap(),
        None => value.as_u64().unwrap(),
    }
}

fn numbers(value: &Value) -> Vec<u64> {
    value.as_array().unwrap().iter().map(number).collect()
}

fn size(value: &Value) -> usize {
    number(value) as usize
}

fn seed(entry: &Value) -> Seed {
    entry["seed"].as_str().unwrap().parse().unwrap()
}

fn digest(words: impl IntoIterator<Item = u64>) -> u64 {
    let bytes = words.into_iter().flat_map(u64::to_le_bytes);
    bytes.fold(0xCBF2_9CE4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3)
    })
}

#[test]
#[cfg(target_pointer_width = "64")]
fn draws_are_the_golden_ones() {
    for entry in entries("draws") {
        let bootstrap = Bootstrap::new(size(&entry["n"]), seed(&entry)).unwrap();
        let mut row = Vec::new();
        bootstrap.with_draws(12).unwrap().indexes(number(&entry["row"]), &mut row).unwrap();
        let row: Vec<_> = row.into_iter().map(|item| item as u64).collect();
        assert_eq!(row, numbers(&entry["draws"]), "{entry}");
    }
}

#[test]
fn rows_are_the_golden_ones() {
    for entry in entries("rows") {
        let (n, number_of) = (size(&entry["n"]), size(&entry["number"]));
        let labels: Vec<_> = (0..n).map(|k| k * k % 3).collect();
        let bootstrap = Bootstrap::new(n, seed(&entry)).unwrap();
        let bootstrap = match entry["kind"].as_str().unwrap() {
            "plain" => bootstrap.with_draws(number_of),
            "strata" => bootstrap.strata(&labels),
            "clusters" => bootstrap.clusters(&labels),
            "moving" => bootstrap.series(SeriesBlocks::Moving(number_of)),
            "circular" => bootstrap.series(SeriesBlocks::Circular(number_of)),
            "stationary" => bootstrap.series(SeriesBlocks::Stationary(number_of)),
            other => panic!("{other}"),
        };
        let mut row = Vec::new();
        bootstrap.unwrap().indexes(number(&entry["row"]), &mut row).unwrap();
        let row: Vec<_> = row.into_iter().map(|item| item as u64).collect();
        assert_eq!(row, numbers(&entry["items"]), "{entry}");
    }
}

#[test]
fn statistics_have_the_golden_bits() {
    for entry in entries("values") {
        let n = number(&entry["n"]);
        let data = |by: u64| -> Vec<f64> {
            (0..n).map(|k| (k * k * by % 1009) as f64 / 1009.0 + k as f64 / n as f64).collect()
        };
        let (x, y) = (data(2_654_435_761), data(40_503));
        let (mean, median) = (RowStatistic::mean(&x), RowStatistic::median(&x).unwrap());
        let weighted = RowStatistic::weighted_mean(&x, &y).unwrap();
        let correlation = RowStatistic::correlation(&x, &y).unwrap();
        let bootstrap = Bootstrap::new(n as usize, seed(&entry)).unwrap();
        let rows = number(&entry["row"])..number(&entry["row"]) + 1;
        let by_counts = [&mean, &weighted, &median, &correlation];
        let mut values = bootstrap.statistics(rows.clone(), &by_counts).unwrap();
        let by_weights = [&mean, &weighted, &correlation];
        values.extend(bootstrap.bayesian_statistics(rows, &by_weights).unwrap());
        let bits: Vec<_> = values.into_iter().map(f64::to_bits).collect();
        assert_eq!(bits, numbers(&entry["bits"]), "{entry}");
    }
}

#[test]
fn poisson_batches_are_the_golden_ones() {
    for entry in entries("batches") {
        let q = entry["q"].as_str().unwrap().parse().unwrap();
        let sample = PoissonSample::new(number(&entry["n"]), q, seed(&entry)).unwrap();
        let mut batch = Vec::new();
        sample.batch(number(&entry["step"]), &mut batch).unwrap();
        assert_eq!(batch.len(), size(&entry["count"]), "{entry}");
        assert_eq!(batch[..batch.len().min(5)], numbers(&entry["head"]), "{entry}");
        assert_eq!(digest(batch), number(&entry["digest"]), "{entry}");
    }
}

#[test]
fn batches_of_a_fixed_size_are_the_golden_ones() {
    for entry in entries("fixed") {
        let (n, size) = (number(&entry["n"]), number(&entry["size"]));
        let sample = FixedSizeSample::new(n, size, seed(&entry)).unwrap();
        let mut batch = Vec::new();
        sample.batch(number(&entry["step"]), &mut batch).unwrap();
        assert_eq!(batch, numbers(&entry["items"]), "{entry}");
    }
}
