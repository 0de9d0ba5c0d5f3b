//! [`publish`]: prints a table, and writes its rows into a file.

use std::error::Error;
use std::fs;

use crate::arguments::Common;
use crate::machine::{self, Origin};
use crate::sheet;
use crate::standings::{Ratio, Row, Standings};

/// Prints a table with the conditions that it was measured under, and, if asked, writes its rows
/// into a file. The size of a row's items is what `item_bytes` says.
pub(crate) fn publish(
    standings: &Standings,
    ratios: &[Ratio],
    item_bytes: impl Fn(&Row) -> String,
    common: &Common,
) -> Result<(), Box<dyn Error>> {
    println!("{}\n{}", machine::conditions(common).join("\n"), standings.markdown(ratios));
    if let Some(file) = &common.csv {
        let failed = |error| format!("{}: {error}", file.display());
        let origin = Origin::new(&machine::name())?;
        fs::write(file, csv(standings, item_bytes, &machine::conditions(common), &origin))
            .map_err(failed)?;
        eprintln!(
            "written to {}; `benches/documents.py` brings it into the documents",
            file.display()
        );
    }
    Ok(())
}

fn csv(
    standings: &Standings,
    item_bytes: impl Fn(&Row) -> String,
    conditions: &[String],
    origin: &Origin,
) -> String {
    let mut text: String = conditions.iter().map(|line| format!("# {line}\n")).collect();
    text += &origin.head(&["name", "item_bytes", "length", "items_per_second"]);
    text.push('\n');
    for row in &standings.rows {
        for (label, speed) in standings.labels.iter().zip(&row.speeds) {
            let (bytes, len, speed) = (item_bytes(row), row.len.to_string(), format!("{speed:.0}"));
            text += &origin.row(&[&label.name, &bytes, &len, &speed]);
            text.push('\n');
        }
    }
    debug_assert!(sheet::Sheet::parse(&text).is_ok(), "{text}");
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contender::{Label, Side};

    #[test]
    fn rows_that_are_written_can_be_read() {
        let label = |name: &str| Label { name: name.into(), side: Side::Ours };
        let standings = Standings {
            leads: vec!["length"],
            labels: vec![label("a, b"), label("c")],
            rows: vec![Row { lead: vec!["257".into()], len: 257, speeds: vec![2e6, 3e9] }],
        };
        let origin = Origin::made_up();
        let text = csv(&standings, |_| "8".into(), &["$ a command".into()], &origin);
        let sheet = sheet::Sheet::parse(&text).unwrap();
        assert_eq!(sheet.comments, ["$ a command"]);
        let cells: Vec<&[String]> = sheet.rows.iter().map(|row| &row[3..]).collect();
        assert_eq!(cells, [["a, b", "8", "257", "2000000"], ["c", "8", "257", "3000000000"]]);
    }
}
