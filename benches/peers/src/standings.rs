//! [`Standings`]: what was measured, as a table.

use crate::contender::{Label, Side};

/// The speeds of some contenders at several lengths.
#[derive(Debug)]
pub(crate) struct Standings {
    /// What the first columns are called.
    pub(crate) leads: Vec<&'static str>,
    pub(crate) labels: Vec<Label>,
    pub(crate) rows: Vec<Row>,
}

/// The speeds at one length.
#[derive(Debug)]
pub(crate) struct Row {
    /// What the first columns say.
    pub(crate) lead: Vec<String>,
    pub(crate) len: usize,
    /// Items a second, a number for each label; not a number where nothing was measured.
    pub(crate) speeds: Vec<f64>,
}

/// A column that compares.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ratio {
    pub(crate) over: Over,
    /// The name of the contender that it is compared with.
    pub(crate) to: &'static str,
}

/// What is compared.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Over {
    /// The best of ours.
    Best,
    /// The contender with this name.
    Named(&'static str),
}

impl Standings {
    /// The table in Markdown.
    pub(crate) fn markdown(&self, ratios: &[Ratio]) -> String {
        let heads = self.leads.iter().map(|&lead| lead.to_owned());
        let heads = heads.chain(self.labels.iter().map(|label| label.name.clone()));
        let heads: Vec<String> = heads.chain(ratios.iter().map(Ratio::head)).collect();
        let rule = vec!["---".to_owned(); heads.len()];
        let rows = self.rows.iter().map(|row| {
            let speeds = row.speeds.iter().map(|&speed| millions(speed));
            let ratios = ratios.iter().map(|ratio| {
                self.ratio(row, ratio).map_or("-".into(), |ratio| format!("{ratio:.2}"))
            });
            row.lead.iter().cloned().chain(speeds).chain(ratios).collect()
        });
        let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
        [heads, rule].into_iter().chain(rows).map(line).collect()
    }

    /// How many times as fast the one is as the other, if both were measured.
    fn ratio(&self, row: &Row, ratio: &Ratio) -> Option<f64> {
        let named = |name| {
            self.labels.iter().position(|label| label.name == name).map(|column| row.speeds[column])
        };
        let speed = match ratio.over {
            Over::Best => self
                .labels
                .iter()
                .zip(&row.speeds)
                .filter(|(label, _)| label.side == Side::Ours)
                .map(|(_, &speed)| speed)
                .reduce(f64::max),
            Over::Named(name) => named(name),
        };
        Some(speed? / named(ratio.to)?).filter(|ratio| !ratio.is_nan())
    }
}

impl Ratio {
    fn head(&self) -> String {
        let over = match self.over {
            Over::Best => "best of ours",
            Over::Named(name) => name,
        };
        format!("{over} / {}", self.to)
    }
}

/// A speed in millions of items a second, with three digits or more, and no more than one behind
/// the point; a dash for what was not measured.
pub(crate) fn millions(speed: f64) -> String {
    match speed / 1e6 {
        value if value.is_nan() => "-".into(),
        value if value < 99.95 => format!("{value:.1}"),
        value => format!("{value:.0}"),
    }
}

/// A length, by its nearest power of two if that is near.
pub(crate) fn length(len: usize) -> String {
    let power = (len.max(1)).ilog2();
    match len - (1 << power).min(len) {
        0 if len >= 256 => format!("2^{power}"),
        more @ 1..10 if len >= 256 => format!("2^{power} + {more}"),
        _ => len.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_has_speeds_and_ratios() {
        let label = |name: &str, side| Label { name: name.into(), side };
        let standings = Standings {
            leads: vec!["length"],
            labels: vec![label("a", Side::Ours), label("b", Side::Ours), label("c", Side::Peer)],
            rows: vec![Row { lead: vec!["10".into()], len: 10, speeds: vec![2e6, 3e9, 1.5e9] }],
        };
        let ratios = [
            Ratio { over: Over::Best, to: "c" },
            Ratio { over: Over::Named("a"), to: "b" },
            Ratio { over: Over::Best, to: "left out" },
        ];
        let expected = "\
            | length | a | b | c | best of ours / c | a / b | best of ours / left out |\n\
            | --- | --- | --- | --- | --- | --- | --- |\n\
            | 10 | 2.0 | 3000 | 1500 | 2.00 | 0.00 | - |\n";
        assert_eq!(standings.markdown(&ratios), expected);
    }

    #[test]
    fn what_was_not_measured_is_a_dash() {
        let label = |name: &str, side| Label { name: name.into(), side };
        let standings = Standings {
            leads: vec!["length"],
            labels: vec![label("a", Side::Ours), label("b", Side::Peer)],
            rows: [(10, [f64::NAN, 123.4e6]), (20, [7.5e6, f64::NAN]), (30, [1e8, 25e6])]
                .map(|(len, speeds)| Row {
                    lead: vec![len.to_string()],
                    len,
                    speeds: speeds.into(),
                })
                .into(),
        };
        let expected = "\
            | length | a | b | best of ours / b |\n\
            | --- | --- | --- | --- |\n\
            | 10 | - | 123 | - |\n\
            | 20 | 7.5 | - | - |\n\
            | 30 | 100 | 25.0 | 4.00 |\n";
        assert_eq!(standings.markdown(&[Ratio { over: Over::Best, to: "b" }]), expected);
    }

    #[test]
    fn lengths_are_written_as_powers_where_they_are_near() {
        for (len, text) in
            [(0, "0"), (255, "255"), (256, "2^8"), (257, "2^8 + 1"), (266, "266"), (511, "511")]
        {
            assert_eq!(length(len), text);
        }
    }
}
