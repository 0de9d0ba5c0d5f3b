//! `docs/results/rng.md`.

use super::computed::Computed;
use super::markdown::{conditions, number, range, table};
use super::results::Results;
use crate::rows::Measured;

const KINDS: [&str; 5] = ["u32", "f32", "normal f32", "f64", "normal f64"];
pub(super) const WRITE_ONLY: &str = "write only";
pub(super) const PHILOX: &str = "Philox4x32-10";
const ANYWHERE: &str = "Philox4x32-10, anywhere";
/// Of cuRAND, in its default order; the other order is this with [`DYNAMIC`].
pub(super) const CURAND_PHILOX: &str = "cuRAND PHILOX4_32_10";
const CURAND_XORWOW: &str = "cuRAND XORWOW";
const DYNAMIC: &str = ", dynamic";

pub(super) fn compute(results: &Results, computed: &mut Computed) -> Result<(), String> {
    let measured = results.measured(&["gpu-rng"])?;
    computed.block("gpu-rng", conditions(&measured.sources) + &by_generator(&measured)?);
    computed.block("gpu-rng ratios", ratios(&measured)?);
    let dynamic = |name: &str| format!("{name}{DYNAMIC}");
    for kind in ["normal f32", "normal f64"] {
        let peers = [CURAND_PHILOX.to_owned(), dynamic(CURAND_PHILOX)];
        let ratios = peers.map(|peer| over(&measured, PHILOX, &peer, kind));
        computed.text(&format!("philox over cuRAND, {kind}"), range(ratios, 2)?);
    }
    for kind in ["u32", "f32", "f64"] {
        let share = over(&measured, ANYWHERE, WRITE_ONLY, kind);
        computed.figure(&format!("anywhere over write only, {kind}"), share, 2)?;
    }
    let xorwow = over(&measured, &dynamic(CURAND_XORWOW), WRITE_ONLY, "u32");
    computed.figure("cuRAND XORWOW dynamic over write only", xorwow, 2)?;
    let bytes = 4.0 * speed(&measured, "Philox4x32-7", "u32") / 1e12;
    computed.figure("philox 7 rounds, TB/s", bytes, 1)
}

/// The speed at the longest length of a kind, of the contender whose name begins so and has a
/// number of streams, or of the one of this name.
pub(super) fn speed(measured: &Measured, name: &str, kind: &str) -> f64 {
    let streams = format!("{name}, ");
    let is_named =
        |other: &&str| *other == name || other.starts_with(&streams) && other.ends_with(" streams");
    let Some(full) = measured.names(kind).into_iter().find(is_named) else { return f64::NAN };
    let longest = measured.all_lengths(kind).pop().expect("a row for each name");
    measured.speed(full, kind, longest)
}

fn over(measured: &Measured, name: &str, other: &str, kind: &str) -> f64 {
    speed(measured, name, kind) / speed(measured, other, kind)
}

fn by_generator(measured: &Measured) -> Result<String, String> {
    let mut rows = Vec::new();
    for name in measured.names("u32") {
        let mut cells = vec![name.to_owned()];
        for kind in KINDS {
            cells.push(number(speed(measured, name, kind) / 1e9, 0).unwrap_or_else(|_| "-".into()));
        }
        cells.push(number(over(measured, name, WRITE_ONLY, "u32"), 2)?);
        rows.push(cells);
    }
    let head = [&["generator"][..], &KINDS, &["u32, of write only"]].concat();
    Ok(table(&head, &rows))
}

fn ratios(measured: &Measured) -> Result<String, String> {
    let peers = [
        ("Philox4x32-10 / cuRAND's", PHILOX, CURAND_PHILOX, "1"),
        ("XorShift1024Weyl / XORWOW", "XorShift1024Weyl", CURAND_XORWOW, "1"),
        ("Mwc / XORWOW", "Mwc", CURAND_XORWOW, "1.5"),
        ("Lcg64 / XORWOW", "Lcg64", CURAND_XORWOW, "1.5"),
    ];
    let mut rows = Vec::new();
    for (what, name, peer, aim) in peers {
        let default = number(over(measured, name, peer, "u32"), 2)?;
        let dynamic = number(over(measured, name, &format!("{peer}{DYNAMIC}"), "u32"), 2)?;
        rows.push([what.to_owned(), default, dynamic, aim.to_owned()]);
    }
    let seven = number(over(measured, "Philox4x32-7", WRITE_ONLY, "u32"), 2)?;
    let row = ["Philox4x32-7 / write only".to_owned(), seven, String::new(), "0.9".to_owned()];
    rows.insert(1, row);
    Ok(table(&["u32", "cuRAND's default order", "its dynamic order", "aimed at"], &rows))
}
