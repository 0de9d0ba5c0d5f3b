//! [`filled`]: the documents, with what was computed between their markers.

use std::collections::BTreeSet;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

use super::computed::{Computed, NOTES};
use super::{prose, short};

/// The folders with documents, and the one that lies by itself.
const FOLDERS: [&str; 3] = ["docs", "docs/results", NOTES];
const README: &str = "README.md";

const BLOCK: [&str; 3] = ["<!-- peers ", " begin -->", " end -->"];
const FIGURE: [&str; 3] = ["<!-- figure: ", " -->", "<!-- /figure -->"];

/// All documents that have markers. Markers of what is not computed are errors, and so is what no
/// document quotes.
pub(super) fn filled(
    root: &Path,
    computed: &Computed,
) -> Result<Vec<(PathBuf, String)>, Box<dyn Error>> {
    let mut files = vec![PathBuf::from(README)];
    for folder in FOLDERS {
        for entry in fs::read_dir(root.join(folder))? {
            let name = Path::new(folder).join(entry?.file_name());
            if name.extension().is_some_and(|extension| extension == "md") {
                files.push(name);
            }
        }
    }
    files.sort();
    let mut used = BTreeSet::new();
    let mut documents = Vec::new();
    for file in files {
        let failed = |why: &dyn std::fmt::Display| format!("{}: {why}", file.display());
        let text = fs::read_to_string(root.join(&file)).map_err(|error| failed(&error))?;
        let text = fill(&text, computed, &mut used).map_err(|error| failed(&error))?;
        prose::check(&file, &text)?;
        documents.push((file, text));
    }
    let blocks = computed.blocks.iter().map(|(name, _)| *name);
    let names = blocks.chain(computed.figures.iter().map(|(name, _)| name.as_str()));
    let unused: Vec<&str> = names.filter(|&name| !used.contains(name)).collect();
    if !unused.is_empty() {
        return Err(format!("computed, and in no document: {}", unused.join(", ")).into());
    }
    Ok(documents)
}

/// A document with what was computed between its markers. Notes which names it has.
fn fill(text: &str, computed: &Computed, used: &mut BTreeSet<String>) -> Result<String, String> {
    let blocks: Vec<(&str, &str)> =
        computed.blocks.iter().map(|(name, text)| (*name, text.as_str())).collect();
    let figures: Vec<(&str, &str)> =
        computed.figures.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    // Markdown would take it, and the rest of its line, for a block of HTML.
    if let Some(line) = text.lines().find(|line| line.trim_start().starts_with(FIGURE[0])) {
        return Err(format!("a line begins with a marker: {line}"));
    }
    let [open, begin, end] = BLOCK;
    let text = replace(text, [open, begin], &blocks, used, |name, text| {
        (format!("\n\n{}\n\n", text.trim()), format!("{open}{name}{end}"))
    })?;
    let [open, begin, end] = FIGURE;
    let known = |name: &str| figures.iter().any(|(known, _)| *known == name);
    let cells: Vec<(String, String)> = names(&text, FIGURE)
        .filter(|name| !known(name))
        .filter_map(|name| Some((name.to_owned(), short::cell(computed, name)?)))
        .collect();
    let cells = cells.iter().map(|(name, cell)| (name.as_str(), cell.as_str()));
    let figures: Vec<(&str, &str)> = figures.iter().copied().chain(cells).collect();
    replace(&text, [open, begin], &figures, used, |_, text| (text.to_owned(), end.to_owned()))
}

/// What the markers of a kind name.
fn names<'a>(text: &'a str, [open, begin, _]: [&'a str; 3]) -> impl Iterator<Item = &'a str> {
    text.split(open).skip(1).filter_map(move |rest| Some(rest.split_once(begin)?.0))
}

/// Replaces what follows each marker `open NAME begin`, up to its end. `by` says by what, and what
/// the end is.
fn replace(
    text: &str,
    [open, begin]: [&str; 2],
    known: &[(&str, &str)],
    used: &mut BTreeSet<String>,
    by: impl Fn(&str, &str) -> (String, String),
) -> Result<String, String> {
    let mut done = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(open) {
        let (name, after) = after.split_once("-->").ok_or("a marker does not end")?;
        let name = format!("{name}-->");
        let name =
            name.strip_suffix(begin).ok_or_else(|| format!("`{open}{name}` is no marker"))?;
        let found = known.iter().find(|(known, _)| *known == name);
        let (_, new) = found.ok_or_else(|| format!("`{name}` is computed by nothing"))?;
        let (new, end) = by(name, new);
        let missing = || format!("`{open}{name}{begin}` has no `{end}`");
        let (old, after) = after.split_once(&end).ok_or_else(missing)?;
        if old.contains(open) {
            return Err(missing());
        }
        for part in [before, open, name, begin, &new, &end] {
            done.push_str(part);
        }
        used.insert(name.to_owned());
        rest = after;
    }
    Ok(done + rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled_text(text: &str) -> Result<String, String> {
        let mut computed = Computed::default();
        computed.block("table", "| new |\n".into());
        computed.text("speed", "2.5".into());
        fill(text, &computed, &mut BTreeSet::new())
    }

    #[test]
    fn only_what_is_between_markers_is_replaced() {
        let text = "a <!-- figure: speed -->1<!-- /figure --> b <!-- figure: speed --><!-- /figure -->\n\
                    <!-- peers table begin -->\nold\n<!-- peers table end -->\nrest\n";
        let new = "a <!-- figure: speed -->2.5<!-- /figure --> b <!-- figure: speed -->2.5<!-- /figure -->\n\
                   <!-- peers table begin -->\n\n| new |\n\n<!-- peers table end -->\nrest\n";
        assert_eq!(filled_text(text).unwrap(), new);
        assert_eq!(filled_text(new).unwrap(), new);
        assert_eq!(filled_text("nothing\n").unwrap(), "nothing\n");
    }

    #[test]
    fn unknown_and_open_markers_are_errors() {
        for text in [
            "a <!-- figure: other -->1<!-- /figure -->",
            "a <!-- figure: speed -->1",
            "a <!-- figure: speed -->1 <!-- figure: speed -->1<!-- /figure -->",
            "a <!-- figure: speed",
            "a\n  <!-- figure: speed -->1<!-- /figure -->",
            "<!-- peers other begin --><!-- peers other end -->",
            "<!-- peers table begin -->\n",
            "<!-- peers table end -->",
        ] {
            assert!(filled_text(text).is_err(), "{text}");
        }
    }
}
