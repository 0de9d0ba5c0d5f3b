//! [`Computed`]: what the pages compute, by the names that documents have it under.

use super::markdown::number;

/// Where the documents are that have drawings.
pub(super) const DOCS: &str = "docs";
/// Where the complete tables are, and what was tried.
pub(super) const NOTES: &str = "benches/notes";

/// All that is computed, by name.
#[derive(Debug, Default)]
pub(super) struct Computed {
    /// What stands between `<!-- peers NAME begin -->` and `<!-- peers NAME end -->`.
    pub(super) blocks: Vec<(&'static str, String)>,
    /// What stands between `<!-- figure: NAME -->` and `<!-- /figure -->`.
    pub(super) figures: Vec<(String, String)>,
    /// Drawings: a folder of documents, the file below it, and what is in it.
    pub(super) drawings: Vec<(&'static str, &'static str, String)>,
}

impl Computed {
    pub(super) fn block(&mut self, name: &'static str, text: String) {
        self.blocks.push((name, text));
    }

    /// A figure with so many digits behind the point; one that was not measured is an error.
    pub(super) fn figure(&mut self, name: &str, value: f64, digits: usize) -> Result<(), String> {
        self.text(name, number(value, digits).map_err(|why| format!("{name}: {why}"))?);
        Ok(())
    }

    pub(super) fn text(&mut self, name: &str, text: String) {
        self.figures.push((name.into(), text));
    }
}
