//! [`check`]: sentences have no figure that was measured, unless a marker says where it comes from.

use std::path::Path;

/// What is looked at: the pages for users, and the first page.
const PAGES: [&str; 2] = ["docs/", "README.md"];
/// Pages whose figures are not between markers yet.
const LATER: [&str; 2] = ["docs/quality.md", "docs/proof.md"];

/// What makes a number before it a measurement.
const UNITS: [&str; 23] = [
    "times",
    "s",
    "ms",
    "us",
    "ns",
    "seconds",
    "minutes",
    "milliseconds",
    "microseconds",
    "nanoseconds",
    "%",
    "percent",
    "M",
    "G",
    "M/s",
    "G/s",
    "GB/s",
    "TB/s",
    "GiB/s",
    "MB/s",
    "MiB/s",
    "faster",
    "slower",
];

/// An error if a page has a number with a unit outside code, tables and markers.
pub(super) fn check(file: &Path, text: &str) -> Result<(), String> {
    let name = file.to_string_lossy().replace('\\', "/");
    if LATER.contains(&name.as_str()) || !PAGES.iter().any(|page| name.starts_with(page)) {
        return Ok(());
    }
    match figure(text) {
        Some(figure) => Err(format!("{name}: \"{figure}\" is in a sentence and in no marker")),
        None => Ok(()),
    }
}

/// The first such number, with its unit.
fn figure(text: &str) -> Option<String> {
    let mut prose = String::new();
    let (mut code, mut block) = (false, false);
    for line in text.lines() {
        let trimmed = line.trim_start();
        code ^= trimmed.starts_with("```");
        block |= trimmed.starts_with("<!-- peers ") && trimmed.ends_with(" begin -->");
        if !code && !block && !trimmed.starts_with("```") {
            prose += line;
        }
        prose.push(' ');
        block &= !(trimmed.starts_with("<!-- peers ") && trimmed.ends_with(" end -->"));
    }
    let mut plain = String::new();
    let mut rest = prose.as_str();
    while let Some((before, after)) = rest.split_once("<!-- figure:") {
        plain += before;
        plain += " quoted ";
        rest = after.split_once("<!-- /figure -->").map_or("", |(_, after)| after);
    }
    plain += rest;
    // Every second part is code.
    let parts = plain.split('`').step_by(2).collect::<Vec<_>>().join(" code ");
    let words: Vec<&str> = parts.split_whitespace().collect();
    let pair = words.windows(2).find(|pair| {
        let number = pair[0].trim_matches(|c: char| !c.is_ascii_digit());
        let unit = pair[1].trim_matches(|c: char| ".,;:()*".contains(c));
        number.parse::<f64>().is_ok() && !pair[0].contains('^') && UNITS.contains(&unit)
    })?;
    Some(pair.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_with_a_unit_needs_a_marker() {
        for text in ["It is 2.5 times as fast.\n", "It takes (3\nms), and so on.", "**0.41 s**"] {
            assert!(figure(text).is_some(), "{text}");
        }
        for text in [
            "It is <!-- figure: x -->2.5<!-- /figure --> times as fast, on 2 threads.",
            "CUDA 12.0, 2^26 s and `3 ms`.\n```console\nsleep 3 s\n```\n",
            "<!-- peers table begin -->\n| 3 s |\n<!-- peers table end -->\n",
        ] {
            assert_eq!(figure(text), None);
        }
        let wrong = "It is 3 times as fast.";
        assert!(check(Path::new("docs/results/cpu.md"), wrong).is_err());
        assert!(check(Path::new("docs/gpu.md"), wrong).is_err());
        assert!(check(Path::new("README.md"), wrong).is_err());
        assert!(check(Path::new("benches/notes/cpu.md"), wrong).is_ok());
    }
}
