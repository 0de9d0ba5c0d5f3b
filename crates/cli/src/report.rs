//! [`Report`]: what was done, in one line.

use std::fmt;
use std::time::Duration;

use bijective_shuffle_cli::files::Summary;

use crate::done::Done;
use crate::selection::Selection;

/// What was done: enough to repeat it, and to undo it.
pub(crate) struct Report {
    pub(crate) selection: Selection,
    /// The number of files, or of arguments.
    pub(crate) inputs: usize,
    pub(crate) done: Done,
    pub(crate) elapsed: Duration,
    /// Whether it is for programs.
    pub(crate) is_json: bool,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_json {
            return f.write_str(&self.to_json());
        }
        let Done { items, bytes, ends_added, empty, rewritten, .. } = &self.done;
        let (backend, seed) = (self.selection.backend, self.selection.seed);
        let (seed, epoch) = (seed.with_epoch(0), seed.epoch());
        let seconds = self.elapsed.as_secs_f64();
        write!(
            f,
            "{} {items}, bytes {bytes}, seconds {seconds:.3}, backend {backend}, seed {seed}, \
             epoch {epoch}",
            self.done.records()
        )?;
        if *ends_added > 0 {
            write!(f, ", line ends added {ends_added}")?;
        }
        if *empty > 0 {
            write!(f, ", empty inputs skipped {empty}")?;
        }
        let mut last = None;
        for (how, column) in rewritten {
            if last.replace(how) != Some(how) {
                write!(f, ", columns of {how}:")?;
            }
            write!(f, " {column}")?;
        }
        if let Some(set) = &self.done.set {
            write!(f, ", {set}")?;
        }
        Ok(())
    }
}

impl Report {
    /// An object of JSON.
    pub(crate) fn to_json(&self) -> String {
        let Done { items, bytes, ends_added, empty, summary, rewritten, .. } = &self.done;
        let (backend, seed) = (self.selection.backend, self.selection.seed);
        let (seed, epoch) = (seed.with_epoch(0), seed.epoch());
        let (seconds, inputs) = (self.elapsed.as_secs_f64(), self.inputs);
        let Summary { buckets, splits, temporary_bytes, .. } = summary.unwrap_or_default();
        // Digits and letters need no escapes. A seed of 64 bits may be too large for a number.
        let json = format!(
            "{{\"lines\":{items},\"bytes\":{bytes},\"seconds\":{seconds:.6},\
             \"backend\":\"{backend}\",\"seed\":\"{seed}\",\"epoch\":{epoch},\
             \"buckets\":{buckets},\"splits\":{splits},\"temporary_bytes\":{temporary_bytes},\
             \"line_ends_added\":{ends_added},\"inputs\":{inputs},\"empty_inputs\":{empty},\
             \"columns_rewritten\":{},\"records\":\"{}\"",
            rewritten.len(),
            self.done.records()
        );
        if let Some(set) = &self.done.set {
            return format!("{json},{}}}", set.to_json());
        }
        format!("{json}}}")
    }
}
