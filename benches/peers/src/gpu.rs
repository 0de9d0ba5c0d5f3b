//! Tables 1 and 2 and figures 10 to 12 of Mitchell et al., of what was measured on a GPU, or on a
//! second one.

use std::error::Error;
use std::fmt::Write;

use crate::contender::{Label, Side};
use crate::figure::Figure;
use crate::rows::{Length, Measured, Source};
use crate::standings::{Over, Ratio, Standings, Unit};

/// Figure 10 of the paper.
pub(crate) const FIGURE: Figure = Figure {
    file: "figures/figure-10-gpu.svg",
    title: "Shuffles of 2^w + 1 items of 8 bytes on a GPU",
};
/// Figure 12 of the paper: the same on another GPU.
pub(crate) const SECOND_FIGURE: Figure = Figure {
    file: "figures/figure-12-second-gpu.svg",
    title: "Shuffles of 2^w + 1 items of 8 bytes on a second GPU",
};
const FIGURE_BYTES: &str = "8";

/// The name of a curve for lengths 2^w, which are the domain's own.
const BEST_CASE: &str = "best of ours, 2^w items (n = m)";

/// In which tables a contender stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Table {
    /// Items in device memory are moved.
    Items,
    /// Items in host memory are moved.
    HostSlices,
    /// The indexes of a permutation are written, and no items moved.
    Indexes,
}

use Side::{Bound, Ours, Peer, Unranked};
use Table::{HostSlices, Indexes, Items};

/// All contenders. Ours are those that are ranked: shuffles on the GPU by a family that passes the
/// report in `docs/quality.md`, which are `Standard` and `VariablePhilox<24>`. Not an LCG, which
/// does not pass; not the way back nor in place, which are other tasks than that of the peers; and
/// nothing that the CPU does or that goes over the link.
const CONTENDERS: &[(&str, Side, Table)] = &[
    ("SinglePass, Philox-24", Ours, Items),
    ("SinglePass, default", Ours, Items),
    ("Partitioned, Philox-24", Ours, Items),
    ("Partitioned, default", Ours, Items),
    ("TwoPass, Philox-24", Ours, Items),
    ("TwoPass, default", Ours, Items),
    ("Unfused, Philox-24", Ours, Items),
    ("Unfused, default", Ours, Items),
    ("SinglePass, LCG", Unranked, Items),
    ("Auto, Philox-24", Ours, Items),
    ("Auto, default", Ours, Items),
    ("back, SinglePass, default", Unranked, Items),
    ("back, Partitioned, default", Unranked, Items),
    ("in place, Philox-24", Unranked, Items),
    ("in place, default", Unranked, Items),
    ("back, in place, Philox-24", Unranked, Items),
    ("back, in place, default", Unranked, Items),
    ("host slice, GPU, default", Unranked, HostSlices),
    ("host slice, CPU, default", Unranked, HostSlices),
    ("indices, Philox-24", Ours, Indexes),
    ("indices, default", Ours, Indexes),
    ("thrust::shuffle_copy", Peer, Items),
    ("thrust::shuffle_copy (memory kept)", Peer, Items),
    ("sort-shuffle", Peer, Items),
    ("dart throwing", Peer, Items),
    ("torch x[randperm]", Peer, Items),
    ("cupy.random.permutation", Peer, Items),
    ("cuda.compute x[ShuffleIterator]", Peer, Items),
    ("raft::random::permute", Peer, Items),
    ("torch.randperm", Peer, Indexes),
    ("cuda.compute.ShuffleIterator", Peer, Indexes),
    ("copy", Bound, Items),
    ("gather", Bound, Items),
    ("gather (our kernel)", Bound, Items),
    ("scatter", Bound, Items),
    ("torch x[p]", Bound, Items),
];

const RATIOS: [Ratio; 6] = [
    Ratio { over: Over::Best, to: "gather" },
    Ratio { over: Over::Best, to: "gather (our kernel)" },
    Ratio { over: Over::Best, to: "thrust::shuffle_copy" },
    Ratio { over: Over::Best, to: "thrust::shuffle_copy (memory kept)" },
    Ratio { over: Over::Best, to: "torch x[randperm]" },
    Ratio { over: Over::Best, to: "torch.randperm" },
];

/// What was measured on what, and all tables, below the figure.
pub(crate) fn report(measured: &Measured, figure: &Figure) -> Result<String, String> {
    let tables = tables(measured)?;
    if tables.is_empty() {
        return Err("there are no rows with lengths 2^w or 2^w + 1".into());
    }
    let mut text = conditions(&measured.sources);
    write!(text, "\n![{}]({})\n{tables}", figure.title, figure.file).expect("a string");
    Ok(text)
}

/// A figure as text.
pub(crate) fn drawing(measured: &Measured, figure: &Figure) -> Result<String, Box<dyn Error>> {
    figure.svg(&self::figure(measured)?)
}

/// The best speed of ours with items of a size, in items a second.
pub(crate) fn best(measured: &Measured, item_bytes: &str, at: Length) -> f64 {
    let ours = CONTENDERS.iter().filter(|&&(_, side, table)| side == Ours && table == Items);
    let speeds = ours.map(|&(name, ..)| measured.speed(name, item_bytes, at.items()));
    speeds.fold(f64::NAN, f64::max)
}

/// The names of what moves items in device memory.
pub(crate) fn moves_items() -> impl Iterator<Item = &'static str> {
    CONTENDERS.iter().filter(|(_, _, table)| *table == Items).map(|&(name, ..)| name)
}

/// What files say about themselves.
fn conditions(sources: &[Source]) -> String {
    let mut text = String::new();
    for Source { file, origins, comments } in sources {
        writeln!(text, "* `{file}`").expect("a string");
        for comment in comments {
            match comment.strip_prefix("$ ") {
                Some(command) => writeln!(text, "  * `{command}`"),
                None => writeln!(text, "  * {comment}"),
            }
            .expect("a string");
        }
        for origin in origins {
            writeln!(text, "  * {origin}").expect("a string");
        }
    }
    text
}

/// All tables, each with its title.
fn tables(measured: &Measured) -> Result<String, String> {
    let mut text = String::new();
    for table in [Items, HostSlices, Indexes] {
        for item_bytes in measured.kinds() {
            for above in [true, false] {
                let standings = standings(measured, item_bytes, table, above)?;
                if standings.rows.is_empty() {
                    continue;
                }
                let what = match table {
                    Items => "Items",
                    HostSlices => "Slices in host memory, items",
                    Indexes => "Indexes",
                };
                let lengths = if above { "2^w + 1" } else { "2^w" };
                let unit = standings.unit.name();
                let title = format!("{what} of {item_bytes} bytes, lengths {lengths}, {unit}");
                let table = standings.markdown(&ratios(&standings));
                write!(text, "\n#### {title}\n\n{table}").expect("a string");
            }
        }
    }
    Ok(text)
}

/// The speeds with items or indexes of a size, at lengths above powers of two or at them: without
/// lengths and contenders that were not measured.
fn standings(
    measured: &Measured,
    item_bytes: &str,
    table: Table,
    above: bool,
) -> Result<Standings, String> {
    let mut lengths = measured.lengths(item_bytes);
    lengths.retain(|length| matches!(length, Length::Above(_)) == above);
    let lens = || lengths.iter().map(|length| length.items());
    let mut labels = Vec::new();
    for name in measured.names(item_bytes) {
        let (side, stands_in) = contender(name)?;
        if stands_in == table && lens().any(|len| !measured.speed(name, item_bytes, len).is_nan()) {
            labels.push(Label { name: name.into(), side, curve: name.into() });
        }
    }
    labels.sort_by_key(|label| match label.side {
        Ours | Unranked => 0,
        Peer => 1,
        Bound => 2,
    });
    Ok(measured.standings(item_bytes, lens(), labels, Unit::Billions))
}

/// On which side a contender stands, and in which tables: an unknown one is not taken for anything.
fn contender(name: &str) -> Result<(Side, Table), String> {
    let known = CONTENDERS.iter().find(|(known, ..)| *known == name);
    let unknown =
        || format!("`{name}` is not in the list of contenders in benches/peers/src/gpu.rs");
    known.map(|&(_, side, table)| (side, table)).ok_or_else(unknown)
}

/// The comparisons that there are contenders for.
fn ratios(standings: &Standings) -> Vec<Ratio> {
    let labels = &standings.labels;
    let ours = labels.iter().any(|label| label.side == Ours);
    let compared = |ratio: &Ratio| ours && labels.iter().any(|label| label.name == ratio.to);
    RATIOS.into_iter().filter(compared).collect()
}

/// The worst case of all, and the best case of whichever of ours is the fastest there.
fn figure(measured: &Measured) -> Result<Standings, String> {
    let mut standings = standings(measured, FIGURE_BYTES, Items, true)?;
    let best = self::standings(measured, FIGURE_BYTES, Items, false)?;
    for (column, label) in best.labels.iter().enumerate().filter(|(_, label)| label.side == Ours) {
        let name = format!("{} (n = m)", label.name);
        standings.labels.push(Label { name, side: Ours, curve: BEST_CASE.into() });
        for row in &mut standings.rows {
            let same = best.rows.iter().find(|best| best.len + 1 == row.len);
            row.speeds.push(same.map_or(f64::NAN, |best| best.speeds[column]));
        }
    }
    Ok(standings)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sheet::Sheet;

    /// Made up for these tests, and measured by nobody.
    const MADE_UP: &[&str] = &[
        "copy,8,257,2.57e-9",
        "gather,8,257,5.14e-9",
        "thrust::shuffle_copy,8,257,2.57e-7",
        "\"SinglePass, default\",8,257,1.028e-8",
        "\"SinglePass, default\",8,256,5.12e-9",
        "\"Partitioned, default\",8,257,2.57e-8",
        "\"SinglePass, default\",8,513,5.13e-9",
        "\"SinglePass, default\",4,257,2.57e-9",
        "torch.randperm,8,257,1",
        "\"indices, default\",8,257,5e-1",
        "\"SinglePass, default\",8,300,1",
    ];

    fn measured(rows: &[&str]) -> Measured {
        let rows = rows.iter().map(|row| format!("2026-01-02,0123abc,made up,{row}\n"));
        let head = "# $ a command\ndate,revision,machine,name,item_bytes,length,seconds\n";
        let sheet = Sheet::parse(&(head.to_owned() + &rows.collect::<String>())).unwrap();
        let mut measured = Measured::default();
        measured.add("made-up.csv", &sheet).unwrap();
        measured
    }

    #[test]
    fn each_size_and_kind_of_length_has_a_table() {
        let tables = tables(&measured(MADE_UP)).unwrap();
        let heads: Vec<&str> = tables.lines().filter(|line| line.starts_with('#')).collect();
        let expected = [
            "#### Items of 4 bytes, lengths 2^w + 1, billions of items a second",
            "#### Items of 8 bytes, lengths 2^w + 1, billions of items a second",
            "#### Items of 8 bytes, lengths 2^w, billions of items a second",
            "#### Indexes of 8 bytes, lengths 2^w + 1, billions of items a second",
        ];
        assert_eq!(heads, expected);
        let table = "\
            | length | SinglePass, default | Partitioned, default | thrust::shuffle_copy | copy | gather | \
            best of ours / gather | best of ours / thrust::shuffle_copy |\n\
            | --- | --- | --- | --- | --- | --- | --- | --- |\n\
            | 2^8 + 1 | 25.0 | 10.0 | 1.00 | 100 | 50.0 | 0.50 | 25.00 |\n\
            | 2^9 + 1 | 100 | - | - | - | - | - | - |\n";
        assert!(tables.contains(table), "{tables}");
        let table = "\
            | length | indices, default | torch.randperm | best of ours / torch.randperm |\n\
            | --- | --- | --- | --- |\n\
            | 2^8 + 1 | 0.00000 | 0.00000 | 2.00 |\n";
        assert!(tables.contains(table), "{tables}");
    }

    #[test]
    fn the_best_of_ours_is_a_shuffle_on_the_gpu_by_a_family_that_passes_the_quality_report() {
        // What is faster, and must not count.
        let others = [
            "\"SinglePass, LCG\",8,257,1e-12",
            "\"host slice, CPU, default\",8,257,1e-12",
            "\"host slice, GPU, default\",8,257,1e-12",
            "\"back, Partitioned, default\",8,257,1e-12",
            "\"SinglePass, LCG\",8,256,1e-12",
            "\"host slice, CPU, default\",8,256,1e-12",
        ];
        let plain = measured(MADE_UP);
        let measured = measured(&[MADE_UP, &others].concat());
        let at = Length::Above(8);
        assert_eq!(best(&measured, "8", at), best(&plain, "8", at));
        let table = standings(&measured, "8", Items, true).unwrap().markdown(&RATIOS[..1]);
        let row = table.lines().find(|line| line.contains("2^8 + 1")).unwrap();
        assert!(row.ends_with("| 0.50 |"), "{table}");
        let curve = |measured| {
            let standings = figure(measured).unwrap();
            let labels = standings.labels.iter().map(|label| label.curve.clone());
            let mut curve: Vec<_> = labels.zip(standings.rows[0].speeds.clone()).collect();
            curve.retain(|(curve, _)| curve == BEST_CASE);
            curve
        };
        assert_eq!(curve(&measured), curve(&plain));
    }

    #[test]
    fn every_one_of_ours_names_a_family_that_passes_the_quality_report() {
        for (name, side, _) in CONTENDERS {
            let passes = name.ends_with(", Philox-24") || name.ends_with(", default");
            assert!(*side != Ours || passes, "{name}");
            assert!(*side != Ours || !name.starts_with("host slice"), "{name}");
        }
    }

    #[test]
    fn an_unknown_name_is_an_error() {
        let measured = measured(&["SinglePass,8,257,1"]);
        assert!(
            report(&measured, &FIGURE).unwrap_err().contains("`SinglePass` is not in the list")
        );
        assert!(drawing(&measured, &FIGURE).is_err());
    }

    #[test]
    fn all_contenders_of_the_programs_are_known() {
        let peers = include_str!("../cuda/peers.cu");
        let torch = include_str!("../cuda/torch_peers.py");
        let lists = [
            peers.lines().filter_map(|line| line.trim().strip_prefix("{\"")).collect::<Vec<_>>(),
            torch.lines().filter_map(|line| line.trim().strip_prefix("yield \"")).collect(),
        ];
        for list in lists {
            assert!(list.len() >= 4, "{list:?}");
            for line in list {
                let name = line.split('"').next().unwrap();
                assert!(contender(name).is_ok(), "{name}");
            }
        }
    }

    #[test]
    fn the_figure_has_the_best_case_of_ours_as_well() {
        let standings = figure(&measured(MADE_UP)).unwrap();
        let names: Vec<&str> = standings.labels.iter().map(|label| label.name.as_str()).collect();
        let all = [
            "SinglePass, default",
            "Partitioned, default",
            "thrust::shuffle_copy",
            "copy",
            "gather",
        ];
        assert_eq!(names, [&all[..], &["SinglePass, default (n = m)"]].concat());
        assert!((standings.rows[0].speeds[5] / 50e9 - 1.0).abs() < 1e-9);
        assert!(standings.rows[1].speeds[5].is_nan());
        let svg = FIGURE.svg(&standings).unwrap();
        assert!(all.iter().chain(&[BEST_CASE]).all(|name| svg.contains(name)), "{svg}");
    }

    #[test]
    fn a_report_says_what_was_measured_when_and_of_which_revision() {
        let text = report(&measured(MADE_UP), &SECOND_FIGURE).unwrap();
        let head = "* `made-up.csv`\n  * `a command`\n  * 2026-01-02, revision 0123abc, made up\n";
        assert!(text.starts_with(head), "{text}");
        assert!(text.contains("](figures/figure-12-second-gpu.svg)"), "{text}");
    }
}
