//! Tables in Markdown, what stands above them, and the numbers in them.

use std::fmt::Write;

use crate::rows::Source;
use crate::sheet::{ORIGIN, Sheet};

/// From so many standard errors on a deviation is in bold.
const BOLD: f64 = 4.0;

/// What stands in place of a table whose rows need not be there.
pub(super) const NOT_MEASURED: &str = "Not measured yet.";

/// What files say about themselves, above a table.
pub(super) fn conditions(sources: &[Source]) -> String {
    let comments = || sources.iter().flat_map(|source| &source.comments);
    let commands: Vec<&str> = comments().filter_map(|line| line.strip_prefix("$ ")).collect();
    let mut text = String::new();
    if !commands.is_empty() {
        write!(text, "```console\n{}\n```\n\n", commands.join("\n")).expect("a string");
    }
    let mut lines: Vec<&str> = Vec::new();
    let notes = comments().filter(|line| !line.starts_with("$ "));
    for line in notes.chain(sources.iter().flat_map(|source| &source.origins)) {
        if !lines.contains(&line.as_str()) {
            lines.push(line);
        }
    }
    lines.iter().for_each(|line| writeln!(text, "* {line}").expect("a string"));
    text.push('\n');
    text
}

/// What one file says about itself, above its table.
pub(super) fn conditions_of(sheet: &Sheet) -> String {
    let (origins, comments) = (sheet.origins(), sheet.comments.clone());
    conditions(&[Source { file: String::new(), origins, comments }])
}

/// A table in Markdown.
pub(super) fn table<R: AsRef<[String]>>(head: &[&str], rows: &[R]) -> String {
    let cell = |text: &String| if text.is_empty() { " |".into() } else { format!(" {text} |") };
    let line = |cells: &[String]| format!("|{}\n", cells.iter().map(cell).collect::<String>());
    let head: Vec<String> = head.iter().map(ToString::to_string).collect();
    let rule = vec!["---".to_owned(); head.len()];
    let rows = rows.iter().map(|row| line(row.as_ref()));
    [line(&head), line(&rule)].into_iter().chain(rows).collect()
}

/// A number with so many digits behind the point.
pub(super) fn number(value: f64, digits: usize) -> Result<String, String> {
    if value.is_finite() { Ok(format!("{value:.digits$}")) } else { Err("not measured".into()) }
}

/// Several of them.
pub(super) fn numbers(
    values: impl IntoIterator<Item = f64>,
    digits: usize,
    between: &str,
) -> Result<String, String> {
    let texts: Result<Vec<_>, _> = values.into_iter().map(|value| number(value, digits)).collect();
    Ok(texts?.join(between))
}

/// From the least to the greatest.
pub(super) fn range(
    values: impl IntoIterator<Item = f64>,
    digits: usize,
) -> Result<String, String> {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_by(f64::total_cmp);
    let (Some(&least), Some(&most)) = (values.first(), values.last()) else {
        return Err("not measured".into());
    };
    let (least, most) = (number(least, digits)?, number(most, digits)?);
    Ok(if least == most { least } else { format!("{least} to {most}") })
}

/// All columns but the origin's, with great deviations in bold.
pub(super) fn verbatim(sheet: &Sheet) -> String {
    let origins = sheet.origins().into_iter().map(|origin| format!("* {origin}\n"));
    origins.collect::<String>() + "\n" + &rows(sheet)
}

/// The same without where the rows come from.
pub(super) fn rows(sheet: &Sheet) -> String {
    let head: Vec<&str> = sheet.head.iter().skip(ORIGIN.len()).map(String::as_str).collect();
    let rows = sheet.rows.iter().map(|row| {
        let cells = row.iter().skip(ORIGIN.len()).zip(&head);
        let cells = cells.map(|(cell, head)| match cell.parse::<f64>() {
            Ok(value) if is_deviation(head) && value.abs() >= BOLD => format!("**{cell}**"),
            _ => cell.clone(),
        });
        cells.collect::<Vec<_>>()
    });
    table(&head, &rows.collect::<Vec<_>>())
}

/// Whether a column has deviations of ours.
fn is_deviation(head: &str) -> bool {
    head == "deviation" || head == "C_V, deviation"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_with_their_digits() {
        assert_eq!(number(2.345, 1).unwrap(), "2.3");
        assert!(number(f64::NAN, 1).is_err());
        assert_eq!(range([2.0, 1.0, 1.5], 1).unwrap(), "1.0 to 2.0");
        assert_eq!(range([1.01, 1.02], 1).unwrap(), "1.0");
        assert!(range([], 1).is_err());
        assert!(range([1.0, f64::NAN], 1).is_err());
    }
}
