//! [`Opened`]: the data set that the inputs are.

use bijective_shuffle_cli::dataset::{
    CountedSet, Dataset, Input, RecordForm, Records, ShardSink, ShardTarget, Written, WrittenShard,
    start_of,
};
use bijective_shuffle_cli::files::{FileOrder, FilesError};
use bijective_shuffle_cli::formats::{Compression, is_tar};
use serde_json::{Value, json};

use super::folder_run::asked;
use super::journal::AskedRun;
use super::plan::{self, ShardPlan};
use crate::arguments::Arguments;
use crate::done::{Done, SetDone};
use crate::failure::Failure;
use crate::inputs::Inputs;
use crate::job::{InputJob, explain_input};
use crate::memory::MemorySize;

/// A data set, and what it is to be called.
pub(super) struct Opened<'a> {
    pub(super) set: Dataset<'a>,
    pub(super) inputs: &'a Inputs,
    pub(super) form: RecordForm,
    /// How shards are compressed, and the end of their names.
    pub(super) compression: Compression,
    pub(super) extension: String,
}

/// Opens the inputs as records of what is asked for.
pub(super) fn open<'a>(
    inputs: &'a Inputs,
    arguments: &Arguments,
    job: &InputJob,
) -> Result<Opened<'a>, Failure> {
    MemorySize::give_back(job.memory);
    let known = job.form.as_ref();
    let asked = arguments.sets.records(arguments.delimiter());
    let mut records = match asked.or(known.map(|form| form.records.clone())) {
        Some(records) => records,
        None if are_archives(inputs)? => Records::Samples { are_uneven: false },
        None => Records::Lines(b'\n'),
    };
    if arguments.sets.uneven {
        match &mut records {
            Records::Samples { are_uneven } => *are_uneven = true,
            Records::Csv(csv) => csv.is_uneven = true,
            _ => {
                let why = format!("the inputs have {records}, and neither samples nor rows of CSV");
                return Err(Failure::new("--uneven", why));
            }
        }
    }
    if arguments.text && matches!(records, Records::Samples { .. } | Records::TfRecord) {
        return Err(Failure::new(
            "--text",
            format!("the inputs have {records}, which are not text"),
        ));
    }
    let form = arguments.sets.form(records, known, arguments.text);
    let has_header = form.headers > 0 || !form.header_prefixes.is_empty();
    if matches!(form.records, Records::Samples { .. } | Records::TfRecord) && has_header {
        let why = format!("{} have no header", form.records);
        return Err(Failure::new("options of headers", why));
    }
    let sources = inputs.sources().map(|source| Box::new(source) as Box<dyn Input>).collect();
    let set = Dataset::open(sources, &form, job.memory);
    let set = match arguments.sets.worker {
        Some(worker) => set.and_then(|set| set.divided(worker.ranks)),
        None => set,
    };
    let set = set.map_err(|error| explain(error, inputs))?;
    let compression = arguments.sets.compress.unwrap_or_else(|| set.codec().into());
    let end = compression.codec().extension();
    let dot = if end.is_empty() { "" } else { "." };
    let extension = format!("{}{dot}{end}", plan::extension(inputs.first_name(), &form.records));
    Ok(Opened { set, inputs, form, compression, extension })
}

/// Whether the inputs are archives, as the first is that tells: it has more than zeros, with which
/// an archive ends.
fn are_archives(inputs: &Inputs) -> Result<bool, Failure> {
    for source in inputs.sources() {
        let start = start_of(&source).map_err(|error| explain(error, inputs))?;
        if start.iter().any(|&byte| byte != 0) {
            return Ok(is_tar(&start));
        }
    }
    Ok(false)
}

/// The options on which the records in the shards depend.
pub(super) fn options(form: &RecordForm, compression: Compression) -> Value {
    json!({"form": form, "compression": compression.to_string()})
}

/// Counts the records.
pub(super) fn count(opened: &Opened, job: &InputJob) -> Result<CountedSet, Failure> {
    opened.set.count(job.progress).map_err(|error| explain(error, opened.inputs))
}

impl Opened<'_> {
    /// What is asked for.
    pub(super) fn asked(&self, arguments: &Arguments, job: &InputJob) -> AskedRun {
        let options = options(&self.form, self.compression);
        asked(self.inputs.stamp(), options, &self.extension, arguments, job)
    }

    /// What is known of the shards.
    pub(super) fn plan(&self, counted: &CountedSet) -> ShardPlan {
        let (found, bytes) = (counted.records(), counted.bytes());
        ShardPlan { items: 0, found, bytes, inputs: self.set.inputs() as u64 }
    }

    pub(super) fn shuffle<S: ShardSink>(
        &self,
        job: &InputJob,
        counted: &CountedSet,
        order: &FileOrder,
        target: ShardTarget<S>,
    ) -> Result<Written, FilesError> {
        let store = job.temporary.store_behind(self.set.held());
        let mut store = store.map_err(FilesError::Temporary)?;
        self.set.shuffle(counted, order, &mut store, target, job.progress)
    }

    pub(super) fn done(
        &self,
        counted: &CountedSet,
        written: &Written,
        kept: Vec<WrittenShard>,
    ) -> Done {
        let all = || kept.iter().chain(&written.shards);
        Done {
            found: counted.records(),
            items: all().map(|shard| shard.records).sum(),
            bytes: all().map(|shard| shard.bytes).sum(),
            ends_added: counted.ends_added,
            rewritten: Default::default(),
            empty: counted.empty,
            summary: written.summary,
            records: Some(self.records()),
            set: Some(SetDone {
                shards: all().count() as u64,
                kept: kept.len() as u64,
                is_in_memory: written.summary.is_some_and(|summary| summary.buckets == 0),
                left_out: counted.left_out,
                ..self.read()
            }),
        }
    }

    /// What is read.
    pub(super) fn read(&self) -> SetDone {
        SetDone { codecs: self.set.codecs(), ..SetDone::default() }
    }

    pub(super) fn records(&self) -> String {
        self.form.records.to_string()
    }
}

/// What is said of an error, where shards name themselves.
pub(super) fn explain(error: FilesError, inputs: &Inputs) -> Failure {
    match error {
        FilesError::Write(error) => Failure::named("output", &error),
        error => explain_input(error, inputs.name()),
    }
}
