//! `docs/results.md`: the figures that matter, each with where it was measured.

use std::error::Error;

use super::computed::Computed;
use super::markdown::{number, table};
use super::results::Results;
use super::{affine, cpu, files, fills, gpu, python, rng};
use crate::bounds;
use crate::ours::DEFAULT;
use crate::peers::{RAND, RIP_PARALLEL};
use crate::rows::{Length, Measured};
use crate::sheet::Sheet;

/// Items of 8 bytes, which most peers move.
const ITEM: &str = "8";

pub(super) fn compute(results: &Results, computed: &mut Computed) -> Result<(), Box<dyn Error>> {
    let mut lines = Lines::default();
    shuffles_on_cpus(results, &mut lines)?;
    shuffles_on_gpus(results, &mut lines)?;
    evaluations(results, &mut lines)?;
    affine_maps(results, &mut lines)?;
    random_numbers(results, &mut lines)?;
    files_of_lines(results, &mut lines)?;
    numpy_arrays(results, &mut lines)?;
    let head = ["what", "speed", "times as fast as", "measured on", "all rows"];
    computed.block("figures that matter", table(&head, &lines.rows));
    Ok(())
}

/// The lines of the table.
#[derive(Debug, Default)]
struct Lines {
    rows: Vec<[String; 5]>,
}

/// What was measured, how fast it is, where, and the page with all rows.
struct Subject<'a> {
    what: &'a str,
    /// A speed with its unit.
    speed: String,
    origins: Vec<String>,
    page: &'a str,
}

impl Lines {
    /// A line: ours, and how many times as fast as each peer it is. Not every run had every peer.
    fn add(&mut self, subject: Subject, peers: &[(&str, f64)]) -> Result<(), String> {
        let mut ratios = Vec::new();
        for &(peer, ratio) in peers.iter().filter(|(_, ratio)| !ratio.is_nan()) {
            let digits = if ratio < 10.0 { 2 } else { 0 };
            ratios.push(format!("{peer}: {}", number(ratio, digits)?));
        }
        if ratios.is_empty() {
            return Err(format!("{}: no peer was measured", subject.what));
        }
        self.push(subject, ratios.join("; "));
        Ok(())
    }

    fn push(&mut self, subject: Subject, ratios: String) {
        let Subject { what, speed, origins, page } = subject;
        let link = format!("[{page}](results/{page}.md)");
        self.rows.push([what.to_owned(), speed, ratios, origins.join("; "), link]);
    }
}

/// The origins of a file. Rows that were converted from a printed table say so.
fn origins_of(sheet: &Sheet) -> Vec<String> {
    let mut origins = sheet.origins();
    if sheet.comments.iter().any(|comment| comment.contains("converted from")) {
        origins.push("digits of a printed table".to_owned());
    }
    origins
}

/// The origins of the rows of some files, each of them once.
fn origins(measured: &Measured) -> Vec<String> {
    let mut origins: Vec<String> = Vec::new();
    for origin in measured.sources.iter().flat_map(|source| &source.origins) {
        if !origins.contains(origin) {
            origins.push(origin.clone());
        }
    }
    origins
}

fn shuffles_on_cpus(results: &Results, lines: &mut Lines) -> Result<(), String> {
    let len = cpu::above(26);
    for (file, what) in [
        ("cpu-two-paper", "shuffle of 2^26 + 1 items of 8 bytes, 2 threads"),
        ("cpu-paper", "shuffle of 2^26 + 1 items of 8 bytes, 16 threads"),
    ] {
        // These lengths take several runs, and need not have been measured.
        let Some(measured) = results.measured_beginning(file)? else { continue };
        let ours = cpu::best_at(&measured, DEFAULT, len);
        if ours.is_nan() {
            continue;
        }
        let speed = format!("{} M/s", number(ours / 1e6, 0)?);
        let over = |peer| ours / measured.speed(peer, ITEM, len);
        let peers = [
            ("parallel `rip_shuffle`", over(RIP_PARALLEL)),
            ("`rand` on one thread", over(RAND)),
            ("a gather by a given index", over(bounds::GATHER)),
        ];
        lines.add(Subject { what, speed, origins: origins(&measured), page: "cpu" }, &peers)?;
    }
    Ok(())
}

fn shuffles_on_gpus(results: &Results, lines: &mut Lines) -> Result<(), String> {
    let at = Length::Above(29);
    let first = results.measured(&["gpu-ours", "gpu-peers", "gpu-torch"])?;
    for measured in [Some(first), results.measured_beginning(gpu::SECOND)?].into_iter().flatten() {
        let ours = crate::gpu::best(&measured, ITEM, at);
        if ours.is_nan() {
            // A second GPU need not have been measured at this length.
            continue;
        }
        let over = |peer| ours / measured.speed(peer, ITEM, at.items());
        let subject = Subject {
            what: "shuffle of 2^29 + 1 items of 8 bytes in device memory",
            speed: format!("{} G/s", number(ours / 1e9, 1)?),
            origins: origins(&measured),
            page: "gpu",
        };
        let peers = [
            ("`thrust::shuffle_copy`", over(gpu::THRUST)),
            ("`x[randperm]` of PyTorch", over(gpu::PYTORCH)),
            ("a gather by a given index", over(gpu::GATHER)),
        ];
        lines.add(subject, &peers)?;
    }
    Ok(())
}

fn files_of_lines(results: &Results, lines: &mut Lines) -> Result<(), String> {
    let sheet = results.sheet("files-memory")?;
    let seconds = |name| files::cell(&sheet, files::NOTHING, name, "seconds");
    let ours = seconds(files::OURS)?;
    let subject = Subject {
        what: "lines of 80 bytes, a file of 1 GiB to /dev/null, 2 threads",
        speed: format!("{} GiB/s", number(1.0 / ours, 1)?),
        origins: origins_of(&sheet),
        page: "lines",
    };
    let peers = [("`shuf`", seconds("shuf")? / ours), ("terashuf", seconds("terashuf")? / ours)];
    lines.add(subject, &peers)
}

fn numpy_arrays(results: &Results, lines: &mut Lines) -> Result<(), String> {
    let mut sheet = results.sheet(python::FILE)?;
    let case = sheet.column("case")?;
    sheet.rows.retain(|row| row[case] == "arrays");
    let seconds = |column| python::cell(&sheet, "arrays", "67108864 int64", column);
    let ours = seconds("ours")?;
    let subject = Subject {
        what: "2^26 `int64` of a NumPy array in place, 2 threads",
        speed: format!("{} M/s", number(f64::from(1 << 26) / ours / 1e6, 0)?),
        origins: origins_of(&sheet),
        page: "python",
    };
    lines.add(subject, &[("`Generator.shuffle`", seconds("theirs")? / ours)])
}

fn evaluations(results: &Results, lines: &mut Lines) -> Result<(), String> {
    let mut sheet = results.sheet("cpu-evaluations")?;
    let places = [sheet.column("family")?, sheet.column("instructions")?, sheet.column("24")?];
    // Other families may have been measured at another time.
    sheet.rows.retain(|row| row[places[0]] == cpu::STANDARD && row[places[1]] == "AVX-512");
    let row = sheet.rows.first().ok_or("an evaluation is missing")?;
    let millions: f64 =
        row[places[2]].parse().map_err(|_| format!("`{}` is no number", row[places[2]]))?;
    let ours = millions / 1e3;
    let subject = Subject {
        what: "evaluations of the default family, 24 bits, one core with AVX-512",
        speed: format!("{} G/s", number(ours, 1)?),
        origins: origins_of(&sheet),
        page: "cpu",
    };
    let cipher = cpu::evaluated(&results.sheet("cpu-evaluations")?, cpu::CIPHER, "AVX-512")?;
    let ratio = number(ours / cipher, 1)?;
    lines.push(subject, format!("`VariablePhilox<24>`: {ratio}"));
    Ok(())
}

fn affine_maps(results: &Results, lines: &mut Lines) -> Result<(), String> {
    let sheet: Sheet = results.sheet("affine-gpu")?;
    let case = ("4 bytes", "2^30");
    let parts = affine::parts(&sheet, [case.0, case.1, "random BMMC", affine::OURS_BESIDE])?;
    let subject = Subject {
        what: "a random affine map of 2^30 items of 4 bytes in device memory",
        speed: format!("{} of a copy", number(affine::median(parts), 2)?),
        origins: origins_of(&sheet),
        page: "affine",
    };
    let ratio = affine::over_two_passes(&sheet, case, "paper: tile + banks")?;
    lines.add(subject, &[("the two passes of Bouverot-Dupuis and Sheeran", ratio)])
}

fn random_numbers(results: &Results, lines: &mut Lines) -> Result<(), String> {
    let words = results.sheet("rng-words")?;
    let speed = |generator| rng::speed(&words, generator, "AVX-512, 2^13");
    let ours = speed(rng::PHILOX)?;
    let subject = Subject {
        what: "words of Philox4x32-10, one core with AVX-512",
        speed: format!("{} G/s", number(ours, 1)?),
        origins: origins_of(&words),
        page: "rng",
    };
    let peers = [
        ("`rand`'s ChaCha8", ours / speed(rng::CHACHA)?),
        ("`SmallRng`", ours / speed(rng::SMALL)?),
    ];
    lines.add(subject, &peers)?;
    let measured = results.measured(&["gpu-rng"])?;
    let speed = |name| fills::speed(&measured, name, "u32");
    let ours = speed(fills::PHILOX);
    let subject = Subject {
        what: "words of Philox4x32-10 into device memory",
        speed: format!("{} G/s", number(ours / 1e9, 0)?),
        origins: origins(&measured),
        page: "rng",
    };
    let peers = [
        ("the same generator of cuRAND", ours / speed(fills::CURAND_PHILOX)),
        ("a kernel that only writes", ours / speed(fills::WRITE_ONLY)),
    ];
    lines.add(subject, &peers)
}
