//! Tables 1 and 2 and figures 10 to 12 of Mitchell et al., of what was measured on a GPU, or on a second one.

use std::error::Error;
use std::fmt::Write;
use std::path::PathBuf;

use crate::arguments::Common;
use crate::contender::{Label, Side};
use crate::figure::Figure;
use crate::rows::{Length, Measured};
use crate::standings::{Over, Ratio, Row, Standings, Unit, length};
use crate::{machine, report};

/// The document with all the tables of the GPU, below the folder of the documents.
const DOCUMENT: &str = "results/gpu.md";

/// Figure 10 of the paper.
const FIGURE: Figure = Figure {
    file: "figures/figure-10-gpu.svg",
    title: "Shuffles of 2^w + 1 items of 8 bytes on a GPU",
};
/// Figure 12 of the paper: the same on another GPU.
const SECOND_FIGURE: Figure = Figure {
    file: "figures/figure-12-second-gpu.svg",
    title: "Shuffles of 2^w + 1 items of 8 bytes on a second GPU",
};
const FIGURE_BYTES: usize = 8;

/// The name of a curve for lengths 2^w, which are the domain's own.
const BEST_CASE: &str = "best of ours, 2^w items (n = m)";

/// What is no shuffle, but cannot well be beaten by one.
const BOUNDS: [&str; 5] = ["copy", "gather", "gather (our kernel)", "scatter", "torch x[p]"];

/// How the names of others begin. All that is not in one of the lists is ours.
const PEERS: [&str; 5] = ["thrust::", "torch", "cupy", "sort-shuffle", "dart throwing"];

/// How the names begin of what moves no items, but writes the indexes of a permutation: these have tables of their own.
const INDEXES: [&str; 2] = ["indices", "torch.randperm"];

const RATIOS: [Ratio; 6] = [
    Ratio { over: Over::Best, to: "gather" },
    Ratio { over: Over::Best, to: "gather (our kernel)" },
    Ratio { over: Over::Best, to: "thrust::shuffle_copy" },
    Ratio { over: Over::Best, to: "thrust::shuffle_copy (memory kept)" },
    Ratio { over: Over::Best, to: "torch x[randperm]" },
    Ratio { over: Over::Best, to: "torch.randperm" },
];

/// Reads files, prints the tables, and writes what was asked for. A second GPU has markers and a figure of its own.
pub(crate) fn run(files: &[PathBuf], second: bool, common: &Common) -> Result<(), Box<dyn Error>> {
    let (drawn, name) = if second { (SECOND_FIGURE, "second-gpu") } else { (FIGURE, "gpu") };
    let measured = Measured::read(files)?;
    let tables = tables(&measured);
    if tables.is_empty() {
        return Err("there are no rows with lengths 2^w or 2^w + 1".into());
    }
    let figure = figure(&measured);
    let mut text = conditions(&measured);
    if !figure.rows.is_empty() {
        write!(text, "\n![{}](../{})\n", drawn.title, drawn.file)?;
        if common.write {
            drawn.write(&figure, &common.docs)?;
        }
    }
    text.push_str(&tables);
    report::publish_text(DOCUMENT, name, &text, common)
}

/// What the files say about themselves.
fn conditions(measured: &Measured) -> String {
    let mut text = format!("```console\n{}\n```\n\n", machine::command());
    for (file, comments) in &measured.comments {
        writeln!(text, "* `{file}`").expect("a string");
        for comment in comments {
            writeln!(text, "  * {comment}").expect("a string");
        }
    }
    text
}

/// All tables, each with its title.
fn tables(measured: &Measured) -> String {
    let mut text = String::new();
    for indexes in [false, true] {
        for item_bytes in measured.sizes() {
            for above in [true, false] {
                let standings = standings(measured, item_bytes, indexes, above);
                if standings.rows.is_empty() {
                    continue;
                }
                let what = if indexes { "Indexes" } else { "Items" };
                let lengths = if above { "2^w + 1" } else { "2^w" };
                let unit = standings.unit.name();
                let title = format!("{what} of {item_bytes} bytes, lengths {lengths}, {unit}");
                let table = standings.markdown(&ratios(&standings));
                write!(text, "\n#### {title}\n\n{table}").expect("a string");
            }
        }
    }
    text
}

/// The speeds with items or indexes of a size, at lengths above powers of two or at them: without lengths and
/// contenders that were not measured.
fn standings(measured: &Measured, item_bytes: usize, indexes: bool, above: bool) -> Standings {
    let begins = |name: &str, list: &[&str]| list.iter().any(|&begin| name.starts_with(begin));
    let mut lengths = measured.lengths(item_bytes);
    lengths.retain(|length| matches!(length, Length::Above(_)) == above);
    let mut names = measured.names(item_bytes);
    names.retain(|name| begins(name, &INDEXES) == indexes);
    names.retain(|name| {
        lengths.iter().any(|&length| !measured.speed(name, item_bytes, length).is_nan())
    });
    let mut labels: Vec<Label> = names
        .into_iter()
        .map(|name| {
            let side = match name {
                _ if BOUNDS.contains(&name) => Side::Bound,
                _ if begins(name, &PEERS) => Side::Peer,
                _ => Side::Ours,
            };
            Label { name: name.into(), side, curve: name.into() }
        })
        .collect();
    labels.sort_by_key(|label| match label.side {
        Side::Ours => 0,
        Side::Peer => 1,
        Side::Bound => 2,
    });
    let row = |&at: &Length| {
        let len = at.items();
        let speeds = labels.iter().map(|label| measured.speed(&label.name, item_bytes, at));
        Row { lead: vec![length(len)], len, speeds: speeds.collect() }
    };
    let mut rows: Vec<Row> = lengths.iter().map(row).collect();
    rows.retain(|row| row.speeds.iter().any(|speed| !speed.is_nan()));
    Standings { leads: vec!["length"], unit: Unit::Billions, labels, rows }
}

/// The comparisons that there are contenders for.
fn ratios(standings: &Standings) -> Vec<Ratio> {
    let labels = &standings.labels;
    let ours = labels.iter().any(|label| label.side == Side::Ours);
    let compared = |ratio: &Ratio| ours && labels.iter().any(|label| label.name == ratio.to);
    RATIOS.into_iter().filter(compared).collect()
}

/// The worst case of all, and the best case of whichever of ours is the fastest there.
fn figure(measured: &Measured) -> Standings {
    let mut standings = standings(measured, FIGURE_BYTES, false, true);
    let best = self::standings(measured, FIGURE_BYTES, false, false);
    let ours = best.labels.iter().filter(|label| label.side == Side::Ours);
    for (column, label) in ours.enumerate() {
        let name = format!("{} (n = m)", label.name);
        standings.labels.push(Label { name, side: Side::Ours, curve: BEST_CASE.into() });
        for row in &mut standings.rows {
            let same = best.rows.iter().find(|best| best.len + 1 == row.len);
            row.speeds.push(same.map_or(f64::NAN, |best| best.speeds[column]));
        }
    }
    standings
}

#[cfg(test)]
mod tests {
    use std::fs;

    use clap::Parser;

    use super::*;
    use crate::arguments::Arguments;

    /// Made up for these tests, and measured by nobody.
    const MADE_UP: &str = "\
        # GPU: made up\n\
        name,item_bytes,length,seconds\n\
        copy,8,257,2.57e-9\n\
        gather,8,257,5.14e-9\n\
        thrust::shuffle_copy,8,257,2.57e-7\n\
        SinglePass,8,257,1.028e-8\n\
        SinglePass,8,256,5.12e-9\n\
        Partitioned,8,257,2.57e-8\n\
        SinglePass,8,513,5.13e-9\n\
        SinglePass,4,257,2.57e-9\n\
        torch.randperm,8,257,1\n\
        indices,8,257,5e-1\n\
        SinglePass,8,300,1\n";

    fn made_up() -> Measured {
        let mut measured = Measured::default();
        measured.add("made-up.csv", MADE_UP).unwrap();
        measured
    }

    #[test]
    fn each_size_and_kind_of_length_has_a_table() {
        let tables = tables(&made_up());
        let heads: Vec<&str> = tables.lines().filter(|line| line.starts_with('#')).collect();
        let expected = [
            "#### Items of 4 bytes, lengths 2^w + 1, billions of items a second",
            "#### Items of 8 bytes, lengths 2^w + 1, billions of items a second",
            "#### Items of 8 bytes, lengths 2^w, billions of items a second",
            "#### Indexes of 8 bytes, lengths 2^w + 1, billions of items a second",
        ];
        assert_eq!(heads, expected);
        let table = "\
            | length | SinglePass | Partitioned | thrust::shuffle_copy | copy | gather | \
            best of ours / gather | best of ours / thrust::shuffle_copy |\n\
            | --- | --- | --- | --- | --- | --- | --- | --- |\n\
            | 2^8 + 1 | 25.0 | 10.0 | 1.00 | 100 | 50.0 | 0.50 | 25.00 |\n\
            | 2^9 + 1 | 100 | - | - | - | - | - | - |\n";
        assert!(tables.contains(table), "{tables}");
        let table = "\
            | length | indices | torch.randperm | best of ours / torch.randperm |\n\
            | --- | --- | --- | --- |\n\
            | 2^8 + 1 | 0.00000 | 0.00000 | 2.00 |\n";
        assert!(tables.contains(table), "{tables}");
    }

    #[test]
    fn the_figure_has_the_best_case_of_ours_as_well() {
        let standings = figure(&made_up());
        let names: Vec<&str> = standings.labels.iter().map(|label| label.name.as_str()).collect();
        let all = ["SinglePass", "Partitioned", "thrust::shuffle_copy", "copy", "gather"];
        assert_eq!(names, [&all[..], &["SinglePass (n = m)"]].concat());
        assert!((standings.rows[0].speeds[5] / 50e9 - 1.0).abs() < 1e-9);
        assert!(standings.rows[1].speeds[5].is_nan());
        let svg = FIGURE.svg(&standings).unwrap();
        assert!(all.iter().chain(&[BEST_CASE]).all(|name| svg.contains(name)), "{svg}");
    }

    #[test]
    fn documents_are_written_where_they_are_asked_for() {
        let folder = tempfile::tempdir().unwrap();
        for part in ["results", "figures"] {
            fs::create_dir(folder.path().join(part)).unwrap();
        }
        let (rows, document) = (folder.path().join("made-up.csv"), folder.path().join(DOCUMENT));
        fs::write(&rows, MADE_UP).unwrap();
        let markers = |name| format!("<!-- peers {name} begin -->\n<!-- peers {name} end -->\n");
        fs::write(&document, ["gpu", "second-gpu"].map(markers).concat()).unwrap();
        let words = ["peers", "gpu-table", "--write", "--docs"].map(Into::into);
        let words = words.into_iter().chain([folder.path().into(), "--rows".into(), rows.clone()]);
        let arguments = Arguments::parse_from(words);
        run(std::slice::from_ref(&rows), false, &arguments.common).unwrap();
        let text = fs::read_to_string(&document).unwrap();
        for part in [
            "* `made-up.csv`\n  * GPU: made up\n",
            "](../figures/figure-10-gpu.svg)",
            "| 2^8 + 1 |",
        ] {
            assert!(text.contains(part), "{text}");
        }
        assert!(folder.path().join(FIGURE.file).exists());
        assert!(!folder.path().join(SECOND_FIGURE.file).exists());
        run(std::slice::from_ref(&rows), true, &arguments.common).unwrap();
        let both = fs::read_to_string(&document).unwrap();
        assert!(both.starts_with(text.split("<!-- peers gpu end").next().unwrap()), "{both}");
        assert!(both.contains("](../figures/figure-12-second-gpu.svg)"), "{both}");
        assert!(folder.path().join(SECOND_FIGURE.file).exists());
        fs::write(&rows, "copy,8,300,1\n").unwrap();
        assert!(run(&[rows], false, &arguments.common).is_err());
    }

    #[test]
    fn the_document_has_the_markers() {
        let document = include_str!("../../../docs/results/gpu.md");
        for name in ["gpu", "second-gpu"] {
            for side in ["begin", "end"] {
                let marker = format!("<!-- peers {name} {side} -->");
                assert_eq!(document.matches(&marker).count(), 1, "{marker}");
            }
        }
    }
}
