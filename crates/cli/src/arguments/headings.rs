//! The headings of the help. They come in the order in which options of them are declared.

pub(super) const ORDER: &str = "Order";
pub(super) const SELECTION: &str = "Selection";
pub(super) const INPUT: &str = "Input";
pub(super) const RECORDS: &str = "Records";
pub(super) const OUTPUT: &str = "Output";
pub(super) const MACHINES: &str = "Several machines";
pub(super) const MEMORY: &str = "Memory";
pub(super) const REPORT: &str = "Report";
