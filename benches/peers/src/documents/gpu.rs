//! `benches/notes/gpu.md`, and what other documents quote of it.

use std::error::Error;

use super::computed::{Computed, NOTES};
use super::markdown::{self, NOT_MEASURED, conditions_of, number, numbers, range, table};
use super::results::Results;
use crate::gpu;
use crate::rows::{Length, Measured};
use crate::sheet::Sheet;
use crate::standings::length;

use Length::{Above, Power};

/// How the names of the second GPU's files begin.
pub(super) const SECOND: &str = "gpu-h100-";

pub(super) const GATHER: &str = "gather";
pub(super) const THRUST: &str = "thrust::shuffle_copy";
const KEPT: &str = "thrust::shuffle_copy (memory kept)";
/// An index drawn, and a gather by it.
pub(super) const PYTORCH: &str = "torch x[randperm]";

pub(super) fn compute(results: &Results, computed: &mut Computed) -> Result<(), Box<dyn Error>> {
    let measured = results.measured(&["gpu-ours", "gpu-indexes", "gpu-peers", "gpu-torch"])?;
    let earlier = results.sheet("gpu-earlier")?;
    computed.block("gpu", gpu::report(&measured, &gpu::FIGURE)?);
    computed.drawings.push((NOTES, gpu::FIGURE.file, gpu::drawing(&measured, &gpu::FIGURE)?));
    second(results, computed)?;
    let cold = results.sheet_if_any("gpu-cold")?;
    let cold = cold.map_or_else(|| NOT_MEASURED.into(), |sheet| first_call(&sheet));
    computed.block("gpu cold", cold);
    computed.block("gpu beside a gather", beside_a_gather(&measured, &earlier)?);
    computed.block("gpu beside others", beside_others(&measured)?);
    computed.block("gpu in place", in_place(results)?);
    computed.block("gpu raft", beside_raft(results)?);
    let gather = measured.speed(GATHER, "8", Power(29).items()) / 1e9;
    computed.figure("gpu gather, G/s", gather, 1)?;
    let at = Above(29);
    let cipher = over_gather(&measured, "SinglePass, Philox-24", "8", at);
    computed.figure("gpu single pass, cipher, 2^29 + 1 over gather", cipher, 2)?;
    let partitioned = ["Philox-24", "default"]
        .map(|family| over_gather(&measured, &format!("Partitioned, {family}"), "8", at));
    computed.text("gpu partitioned, 2^29 + 1 over gather", range(partitioned, 1)?);
    Ok(())
}

/// Shuffles within an array's own memory beside those into another array, in billions of items a
/// second.
fn in_place(results: &Results) -> Result<String, Box<dyn Error>> {
    const NAMES: [&str; 4] =
        ["in place, default", "back, in place, default", "Auto, default", "in place, Philox-24"];
    let measured = results.measured(&["gpu-in-place"])?;
    let mut rows = Vec::new();
    for item_bytes in ["8", "4"] {
        for at in [20, 23, 26, 29].into_iter().flat_map(|w| [Power(w), Above(w)]) {
            let speeds = NAMES.map(|name| measured.speed(name, item_bytes, at.items()));
            let [there, _, into_another, _] = speeds;
            let mut row = vec![item_bytes.to_owned(), length(at.items())];
            for speed in speeds {
                row.push(number(speed / 1e9, 2)?);
            }
            row.push(number(there / into_another, 2)?);
            rows.push(row);
        }
    }
    let head = [
        "bytes an item",
        "length",
        "in place",
        "undone",
        "into another array",
        "in place, cipher",
        "in place / into another",
    ];
    Ok(conditions_of(&results.sheet("gpu-in-place")?) + &table(&head, &rows))
}

/// Ours beside other libraries with the paper's cipher, in billions of items a second. Indexes of
/// ours have 4 bytes, those of `cuda.compute` 8.
fn beside_raft(results: &Results) -> Result<String, Box<dyn Error>> {
    const ITEMS: [&str; 5] = [
        "Auto, default",
        "Auto, Philox-24",
        "raft::random::permute",
        "cuda.compute x[ShuffleIterator]",
        KEPT,
    ];
    const INDEXES: [&str; 5] =
        ["indices, default", "indices, Philox-24", "", "cuda.compute.ShuffleIterator", ""];
    const KINDS: [(&str, [&str; 5], [&str; 2]); 3] = [
        ("8 bytes", ITEMS, ["8", "8"]),
        ("4 bytes", ITEMS, ["4", "4"]),
        ("indexes", INDEXES, ["4", "8"]),
    ];
    let measured = results.measured(&["gpu-compute"])?;
    let mut rows = Vec::new();
    for (what, names, [bytes_of_ours, bytes]) in KINDS {
        for at in (11..=29).step_by(3).flat_map(|w| [Power(w), Above(w)]) {
            let speed = |name, bytes| measured.speed(name, bytes, at.items()) / 1e9;
            let [default, cipher, raft, compute, thrust] = names;
            let ours = [default, cipher].map(|name| speed(name, bytes_of_ours));
            let peers = [raft, compute, thrust].map(|name| speed(name, bytes));
            let mut cells = vec![what.to_owned(), length(at.items())];
            let ratios = peers.map(|peer| ours[0] / peer);
            let names = names.iter().chain(&names[2..]);
            for (name, value) in names.zip(ours.into_iter().chain(peers).chain(ratios)) {
                cells.push(if name.is_empty() { String::new() } else { number(value, 2)? });
            }
            rows.push(cells);
        }
    }
    let head = [
        "what",
        "length",
        "ours, default",
        "ours, cipher",
        "RAFT",
        "cuda.compute",
        "Thrust, memory kept",
        "/ RAFT",
        "/ cuda.compute",
        "/ Thrust",
    ];
    Ok(conditions_of(&results.sheet("gpu-compute")?) + &table::<Vec<String>>(&head, &rows))
}

/// Table 2 and figure 12, if a second GPU was measured.
fn second(results: &Results, computed: &mut Computed) -> Result<(), Box<dyn Error>> {
    let Some(measured) = results.measured_beginning(SECOND)? else {
        computed.block("second-gpu", NOT_MEASURED.into());
        return Ok(());
    };
    let figure = &gpu::SECOND_FIGURE;
    computed.block("second-gpu", gpu::report(&measured, figure)?);
    computed.drawings.push((NOTES, figure.file, gpu::drawing(&measured, figure)?));
    Ok(())
}

/// What a file of first calls says about itself, and its rows.
fn first_call(sheet: &Sheet) -> String {
    conditions_of(sheet) + &markdown::rows(sheet)
}

fn over_gather(measured: &Measured, name: &str, item_bytes: &str, at: Length) -> f64 {
    let speed = |name| measured.speed(name, item_bytes, at.items());
    speed(name) / speed(GATHER)
}

/// Rows of a table: what it is called, the strategy, the size of the items, the length, and what
/// was aimed at.
const STRATEGIES: [(&str, &str, &str, Length, &str); 8] = [
    ("single pass, 2^29 items of 8 bytes", "SinglePass", "8", Power(29), "0.98"),
    ("single pass, 2^26", "SinglePass", "8", Power(26), "0.98"),
    ("single pass, 2^29 + 1", "SinglePass", "8", Above(29), "0.95, 0.98"),
    ("single pass, 2^26 + 1", "SinglePass", "8", Above(26), "0.95"),
    ("partitioned, 2^29, 8 bytes", "Partitioned", "8", Power(29), "1.25, 1.4"),
    ("partitioned, 2^29 + 1, 8 bytes", "Partitioned", "8", Above(29), "1.25, 1.4"),
    ("partitioned, 2^29, 4 bytes", "Partitioned", "4", Power(29), "1.5, 1.75"),
    ("partitioned, 2^29 + 1, 4 bytes", "Partitioned", "4", Above(29), "1.5, 1.75"),
];

fn beside_a_gather(measured: &Measured, earlier: &Sheet) -> Result<String, String> {
    let mut rows = Vec::new();
    for (what, strategy, item_bytes, at, aim) in STRATEGIES {
        let name = |family| format!("{strategy}, {family}");
        let ratio = |family| over_gather(measured, &name(family), item_bytes, at);
        let cell = numbers(["Philox-24", "default"].map(ratio), 2, ", ")?;
        let mut before = earlier.rows.iter().filter(|row| row[3] == what);
        let before = before.next().map_or_else(String::new, |row| row[4..].join(", "));
        rows.push([what.to_owned(), aim.to_owned(), cell, before]);
    }
    let gather = number(measured.speed(GATHER, "8", Power(29).items()) / 1e9, 1)?;
    let head = format!("cipher, default, beside a gather of {gather} G/s");
    Ok(table(&["", "aimed at", &head, "earlier, beside one of 34.6 G/s"], &rows))
}

fn beside_others(measured: &Measured) -> Result<String, String> {
    let over = |other, w| {
        gpu::best(measured, "8", Above(w)) / measured.speed(other, "8", Above(w).items())
    };
    let (short, long) = ([8, 11, 14, 17], [20, 23, 26, 29]);
    let indexes = |family: &str, at: &[Length]| {
        let name = format!("indices, {family}");
        let speed = |at: &Length| measured.speed(&name, "4", at.items()) / 1e9;
        numbers(at.iter().map(speed), 0, ", ")
    };
    let join = |first: String, second: String| format!("{first}; {second}");
    let cipher = join(
        indexes("Philox-24", &[Power(29), Power(30)])?,
        indexes("Philox-24", &[Above(29), Above(30)])?,
    );
    let default = join(
        indexes("default", &[Power(29), Power(30)])?,
        indexes("default", &[Above(29), Above(30)])?,
    );
    let ratios = |other, powers: [u32; 4]| numbers(powers.map(|w| over(other, w)), 2, ", ");
    let rows = [
        [
            "/ `thrust::shuffle_copy`, 8 bytes, 2^8 + 1, 2^11 + 1, 2^14 + 1, 2^17 + 1",
            "4",
            &ratios(THRUST, short)?,
        ],
        ["/ the same with its memory kept", "", &ratios(KEPT, short)?],
        [
            "/ `thrust::shuffle_copy`, 8 bytes, 2^20 + 1, 2^23 + 1, 2^26 + 1, 2^29 + 1",
            "2",
            &ratios(THRUST, long)?,
        ],
        ["/ the same with its memory kept", "", &ratios(KEPT, long)?],
        [
            "indexes in 4 bytes, G/s: cipher 2^29, 2^30; 2^29 + 1, 2^30 + 1",
            "150 (even widths), 60",
            &cipher,
        ],
        ["indexes in 4 bytes, G/s: default 2^29, 2^30; 2^29 + 1, 2^30 + 1", "450, 200", &default],
        [
            "/ an index and a gather by it in PyTorch, 8 bytes, 2^20 + 1 .. 2^29 + 1",
            "4",
            &range(long.map(|w| over(PYTORCH, w)), 2)?,
        ],
    ];
    Ok(table(&["best of ours", "aimed at", "measured"], &rows.map(|row| row.map(str::to_owned))))
}
