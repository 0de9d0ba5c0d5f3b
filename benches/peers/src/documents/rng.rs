//! `benches/notes/rng.md`.

use super::computed::Computed;
use super::markdown::verbatim;
use super::results::Results;
use crate::sheet::Sheet;

pub(super) const PHILOX: &str = "`Philox4x32Rng`";
pub(super) const CHACHA: &str = "`ChaCha8Rng` (`rand` 0.10)";
pub(super) const SMALL: &str = "`SmallRng` (`rand` 0.10)";
const FASTRAND: &str = "`fastrand` 2.5";

pub(super) fn compute(results: &Results, computed: &mut Computed) -> Result<(), String> {
    let words = results.sheet("rng-words")?;
    computed.block("rng words", verbatim(&words));
    computed.figure("philox words, G", speed(&words, PHILOX, "AVX-512, 2^13")?, 1)?;
    let mut over = |name: &str, peer, column, digits| {
        let ratio = speed(&words, PHILOX, column)? / speed(&words, peer, column)?;
        computed.figure(&format!("philox over {name}"), ratio, digits)
    };
    over("ChaCha8, AVX-512", CHACHA, "AVX-512, 2^13", 1)?;
    over("ChaCha8, AVX-512, 2^26", CHACHA, "AVX-512, 2^26", 1)?;
    over("ChaCha8, AVX2", CHACHA, "AVX2, 2^13", 1)?;
    over("ChaCha8, AVX2, 2^26", CHACHA, "AVX2, 2^26", 1)?;
    over("ChaCha8, SSE2", CHACHA, "SSE2, 2^13", 2)?;
    over("fastrand, AVX-512", FASTRAND, "AVX-512, 2^13", 1)?;
    over("SmallRng, AVX-512", SMALL, "AVX-512, 2^13", 1)?;
    over("fastrand, AVX2", FASTRAND, "AVX2, 2^13", 2)
}

/// Billions of words a second.
pub(super) fn speed(words: &Sheet, generator: &str, column: &str) -> Result<f64, String> {
    let (name, of) = (words.column("generator")?, words.column(column)?);
    let row = words.rows.iter().find(|row| row[name] == generator);
    let row = row.ok_or_else(|| format!("{generator} was not measured"))?;
    row[of].parse().map_err(|_| format!("`{}` is no number", row[of]))
}
