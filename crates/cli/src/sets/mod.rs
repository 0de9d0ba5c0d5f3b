//! Data sets: folders and compressed files in, shards out. The library's `dataset` does the work.

mod arguments;
mod folder;
mod journal;
mod plan;
mod workers;

use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use bijective_shuffle::Seed;
use bijective_shuffle_cli::dataset::{
    Codec, Compression, Counted, Dataset, Form, Index, Input, Records, Shards, Sink, Walk, Walked,
    Written, WrittenShard, start_of,
};
use bijective_shuffle_cli::files::{FilesError, NamedError, Order};
use bijective_shuffle_cli::formats::is_tar;
use serde_json::Value;

use crate::arguments::Arguments;
use crate::failure::{Context, Failure};
use crate::inputs::{Inputs, Opening};
use crate::job::{Done, Job};
use crate::memory::Memory;
use crate::output::Output;
use crate::selection::Selection;

pub(crate) use arguments::SetArguments;
pub(crate) use folder::ShardFolder;
pub(crate) use journal::Asked;
use journal::Run;
pub(crate) use plan::Plan;

/// What was read and written.
#[derive(Clone, Debug, Default)]
pub(crate) struct SetDone {
    /// How many inputs have each codec.
    pub(crate) codecs: BTreeMap<Codec, u64>,
    /// How many files were written.
    pub(crate) shards: u64,
    /// How many of them were there.
    pub(crate) kept: u64,
    /// Whether all records were in memory until they were written.
    pub(crate) is_in_memory: bool,
    /// The folders in archives, which belong to no record and are left out.
    pub(crate) left_out: u64,
}

impl SetDone {
    /// The fields of an object of JSON. None of the texts needs an escape.
    pub(crate) fn to_json(&self) -> String {
        let Self { shards, kept, is_in_memory, left_out, .. } = self;
        let codecs: Vec<_> =
            self.codecs.iter().map(|(codec, count)| format!("\"{codec}\":{count}")).collect();
        format!(
            "\"codecs\":{{{}}},\"shards\":{shards},\
             \"shards_kept\":{kept},\"in_memory\":{is_in_memory},\"folders_left_out\":{left_out}",
            codecs.join(",")
        )
    }
}

impl fmt::Display for SetDone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { codecs, shards, kept, is_in_memory, left_out } = self;
        let inputs: u64 = codecs.values().sum();
        write!(f, "inputs {inputs}")?;
        for (codec, count) in codecs.iter().filter(|(codec, _)| **codec != Codec::Plain) {
            write!(f, " ({count} {codec})")?;
        }
        write!(f, ", outputs {shards}")?;
        if *kept > 0 {
            write!(f, " ({kept} kept)")?;
        }
        if *is_in_memory {
            write!(f, ", in memory")?;
        }
        if *left_out > 0 {
            write!(f, ", folders in archives left out {left_out}")?;
        }
        Ok(())
    }
}

/// The files that are read, with those of folders in place of them. They may also be listed in a
/// file.
pub(crate) fn files(arguments: &Arguments) -> Result<Walked, Failure> {
    let sets = &arguments.sets;
    let operands = match &sets.files0_from {
        Some(list) => {
            let name = list.display();
            let list = if list.as_os_str() == "-" {
                let mut text = Vec::new();
                io::stdin().read_to_end(&mut text).map(|_| text)
            } else {
                std::fs::read(list)
            };
            let listed = paths(&list.context(&name)?).context(&name)?;
            if listed.is_empty() {
                return Err(Failure::new(name, "names no files"));
            }
            listed
        }
        None => arguments.files(),
    };
    if let Some(output) = &sets.output_dir
        && let Some(folder) = operands.iter().find(|folder| is_within(output, folder))
    {
        let folder = folder.display();
        let why = format!("is in the folder {folder}, which is read: name one outside of it");
        return Err(Failure::new(output.display(), why));
    }
    if arguments.echo || arguments.together {
        return Ok(Walked { files: operands, ..Walked::default() });
    }
    let walked = Walk { is_recursive: sets.recursive }.files(&operands);
    walked.map_err(|error| said(&error).unwrap_or_else(|| Failure::new("input", error)))
}

/// Whether a path, which need not be there, is a folder or in it. Shards would be inputs of the run
/// that goes on, or of the next.
fn is_within(path: &Path, folder: &Path) -> bool {
    let there = |path: &Path| {
        let path = if path == Path::new("") { Path::new(".") } else { path };
        path.canonicalize().ok()
    };
    let found = path.ancestors().find_map(there);
    folder.is_dir()
        && found.zip(there(folder)).is_some_and(|(path, folder)| path.starts_with(folder))
}

/// The operands, which are not looked at.
pub(crate) fn unread(arguments: &Arguments) -> Walked {
    Walked { files: arguments.files(), ..Walked::default() }
}

/// Paths that each end with a NUL, but the last may not.
fn paths(text: &[u8]) -> Result<Vec<PathBuf>, &'static str> {
    let text = text.strip_suffix(b"\0").unwrap_or(text);
    if text.is_empty() {
        return Ok(Vec::new());
    }
    let path = |name: &[u8]| {
        if name.is_empty() {
            return Err("has a name without characters");
        }
        #[cfg(unix)]
        {
            use std::os::unix::ffi::OsStrExt;
            Ok(PathBuf::from(std::ffi::OsStr::from_bytes(name)))
        }
        #[cfg(not(unix))]
        std::str::from_utf8(name).map(PathBuf::from).map_err(|_| "has a name that is not UTF-8")
    };
    text.split(|&byte| byte == 0).map(path).collect()
}

/// Takes from the indexes of the folders that are read what the command line leaves open: what the
/// records are, how many there are, and the seed that puts them back.
pub(crate) fn take_index(
    walked: &Walked,
    arguments: &Arguments,
    job: &mut Job,
) -> Result<(), Failure> {
    job.form.clone_from(&walked.form);
    let folder = arguments.operands.first().map_or(Path::new("the shards"), Path::new).display();
    let delimiter = arguments.delimiter();
    let is_as_written = is_as_written(arguments, walked.form.as_ref());
    // What is drawn is lines.
    let is_drawn = |form: &Form| arguments.repeat && *form != Form::new(Records::Lines(delimiter));
    if let Some(form) = &walked.form
        && (arguments.is_undone() && !is_as_written || arguments.record.is_some() || is_drawn(form))
    {
        let why = format!("was written as {form}: leave out the options that say otherwise");
        return Err(Failure::new(folder, why));
    }
    let Some(index) = &walked.index else {
        if arguments.is_undone() && arguments.seed().is_none() {
            return Err(Failure::new("--undo", "there is no index with a seed: give --seed"));
        }
        return Ok(());
    };
    job.expected = is_as_written.then(|| index.shard_records());
    if !arguments.is_undone() {
        return Ok(());
    }
    if index.is_undone {
        return Err(Failure::new(folder, "has records that were put back, and not shuffled"));
    }
    if !index.is_whole() {
        return Err(Failure::new(folder, "has a part of the records, which cannot be put back"));
    }
    let seed: Seed = index.seed.parse().context(format!("{folder}: the index"))?;
    job.selection.seed = seed_of(seed.with_epoch(index.epoch), arguments, folder)?;
    Ok(())
}

/// Whether records are read as they were written, as far as that is known.
fn is_as_written(arguments: &Arguments, form: Option<&Form>) -> bool {
    let asked = arguments.sets.records(arguments.delimiter());
    let headers = arguments.sets.header_lines;
    form.is_none_or(|form| {
        asked.is_none_or(|records| records == *form.records())
            && headers.is_none_or(|headers| headers == form.headers())
    })
}

/// The seed with which a folder was shuffled. If one is given, or an epoch, it has to be the same.
fn seed_of(seed: Seed, arguments: &Arguments, folder: impl fmt::Display) -> Result<Seed, Failure> {
    let epoch = arguments.epoch.unwrap_or(seed.epoch());
    if arguments.seed().unwrap_or(seed.with_epoch(epoch)) == seed {
        return Ok(seed);
    }
    let why = format!("was shuffled with the seed {seed}, and another seed or epoch is given");
    Err(Failure::new(folder, why))
}

/// The failure that an error of a file is.
fn said(error: &io::Error) -> Option<Failure> {
    NamedError::of(error).map(|NamedError { name, why }| Failure::new(name, why))
}

/// A data set, and what it is to be called.
struct Opened<'a> {
    set: Dataset<'a>,
    inputs: &'a Inputs,
    form: Form,
    /// How shards are compressed, and the end of their names.
    compression: Compression,
    extension: String,
}

/// Whether a data set is asked for, or the index of a folder says that one is read, whatever the
/// inputs are.
pub(crate) fn is_asked_for(arguments: &Arguments, form: Option<&Form>) -> bool {
    // An output of draws, arguments or records of one size is written as it always was.
    let is_plain = arguments.repeat || arguments.echo || arguments.record.is_some();
    let codec = arguments.output().map_or(Codec::Plain, Codec::of_name);
    arguments.sets.is_asked_for()
        || !is_plain && (codec != Codec::Plain || form.is_some_and(|form| *form != Form::lines()))
}

/// The records of inputs to one output.
pub(crate) fn to_file(
    inputs: &Inputs,
    arguments: &Arguments,
    job: &Job,
    output: &mut Output,
) -> Result<Done, Failure> {
    let opened = open(inputs, arguments, job)?;
    let codec = Codec::of_name(Path::new(output.name()));
    let compression = arguments.sets.compress.unwrap_or_else(|| codec.into());
    let counted = count(&opened, job)?;
    let order = job.order(counted.records())?;
    let shards = Shards::single("", job.items(&order));
    let mut sink = OneFile(Some(output));
    let written = opened.shuffle(job, (&counted, &order), (&shards, compression, &mut sink));
    let written = written.map_err(|error| crate::job::explain(error, inputs, output))?;
    Ok(opened.done(&counted, &written, Vec::new()))
}

/// The records of inputs to a folder of shards.
pub(crate) fn to_folder(
    files: &[PathBuf],
    folder: &Path,
    arguments: &Arguments,
    job: &mut Job,
) -> Result<Done, Failure> {
    let opening = Opening {
        delimiter: None,
        decodes: true,
        is_resumed: arguments.sets.resume || arguments.sets.worker.is_some(),
        // A data set keeps so much of its inputs.
        memory: job.memory / 4,
        longest: job.longest(b'\n'),
        temporary_folder: job.temporary.folder(),
        progress: job.progress,
    };
    let inputs = Inputs::open(files, &opening)?;
    let opened = open(&inputs, arguments, job)?;
    if let (Some(worker), Some(stage)) = (arguments.sets.worker, arguments.sets.stage) {
        return workers::run(worker, stage, &opened, (folder, arguments), job);
    }
    let mut run = FolderRun::open(folder, arguments, job, Some(opened.form.clone()))?;
    // What was counted before is counted for ever, if the inputs are the same.
    let before = run.folder.counted(&inputs.stamp());
    let counted = match before.and_then(|counted| opened.set.recall(counted)) {
        Some(counted) => counted,
        None => count(&opened, job)?,
    };
    let asked = opened.asked(arguments, job);
    let found = (opened.plan(&counted), counted.to_json());
    let (order, shards, kept) = run.begin((asked, &opened.extension), found, job)?;
    let written = if shards.list().is_empty() {
        Written::default()
    } else {
        let target = (&shards, opened.compression, &mut run.folder);
        let written = opened.shuffle(job, (&counted, &order), target);
        written.map_err(|error| explain(error, &inputs))?
    };
    inputs.check()?;
    let done = opened.done(&counted, &written, kept.clone());
    run.finish(counted.records(), kept, written.shards, job)?;
    Ok(done)
}

/// A run that writes a folder of shards.
pub(crate) struct FolderRun<'a> {
    pub(crate) folder: ShardFolder,
    arguments: &'a Arguments,
    /// What the records are, if their files do not say it.
    form: Option<Form>,
    hash: String,
}

impl<'a> FolderRun<'a> {
    /// A run that begins, or is resumed. If no seed is given, it is that of the run before.
    pub(crate) fn open(
        path: &Path,
        arguments: &'a Arguments,
        job: &mut Job,
        form: Option<Form>,
    ) -> Result<Self, Failure> {
        let folder = ShardFolder::open(path, arguments.sets.resume, job.temporary.folder())?;
        if let Some(seed) = folder.seed().context(path.display())? {
            job.selection.seed = seed_of(seed, arguments, path.display())?;
        }
        Ok(Self { folder, arguments, form, hash: String::new() })
    }

    /// Plans the shards, and looks which of them are there. Returns the order of the others'
    /// records, these shards, and those that are kept. The stamp is of the inputs, and so is what
    /// was counted.
    pub(crate) fn begin(
        &mut self,
        asked: (Asked, &str),
        found: (Plan, Value),
        job: &Job,
    ) -> Result<(Order, Shards, Vec<WrittenShard>), Failure> {
        let (order, shards, run) = planned(asked, found, self.arguments, job)?;
        self.hash = run.hash();
        let kept = self.folder.begin(&run, &shards)?;
        let places: u64 = kept.iter().map(|shard| shard.records).sum();
        let order = order.range(places..shards.records()).context("cannot shuffle")?;
        Ok((order, shards.skip(kept.len()), kept))
    }

    /// Writes the index, and returns the numbers of all records and bytes.
    pub(crate) fn finish(
        self,
        found: u64,
        kept: Vec<WrittenShard>,
        written: Vec<WrittenShard>,
        job: &Job,
    ) -> Result<(u64, u64), Failure> {
        let shards: Vec<_> = kept.into_iter().chain(written).collect();
        let sum = |number: fn(&WrittenShard) -> u64| shards.iter().map(number).sum();
        let sums = (sum(|shard| shard.records), sum(|shard| shard.bytes));
        self.folder.finish(&index((self.hash, self.form), (found, shards), job))?;
        Ok(sums)
    }
}

/// What is asked for, of inputs with a stamp, and shards whose names have this end. The options are
/// those of the format.
pub(crate) fn asked(
    (stamp, options): (String, String),
    extension: &str,
    arguments: &Arguments,
    job: &Job,
) -> Asked {
    let Selection { seed, is_undone, shard, range, head, .. } = job.selection;
    let rest = (extension, arguments.sets.division(), is_undone, shard, range, head);
    Asked { seed, stamp, options: format!("{options} {rest:?}") }
}

/// What follows once the records are counted: their order, the shards, and the run.
fn planned(
    (asked, extension): (Asked, &str),
    (plan, counted): (Plan, Value),
    arguments: &Arguments,
    job: &Job,
) -> Result<(Order, Shards, Run), Failure> {
    let order = job.order(plan.found)?;
    let plan = Plan { items: job.items(&order), ..plan };
    let shards = plan.shards(&arguments.sets, extension)?;
    let run = Run { asked, counted, shards: format!("{:?}", (&shards, order.places())) };
    Ok((order, shards, run))
}

/// The index of a run that found so many records.
fn index(
    (run, form): (String, Option<Form>),
    (records, shards): (u64, Vec<WrittenShard>),
    job: &Job,
) -> Index {
    let seed = job.selection.seed;
    Index {
        run,
        seed: seed.with_epoch(0).to_string(),
        epoch: seed.epoch(),
        form,
        records,
        is_undone: job.selection.is_undone,
        shards,
    }
}

fn open<'a>(inputs: &'a Inputs, arguments: &Arguments, job: &Job) -> Result<Opened<'a>, Failure> {
    Memory::give_back(job.memory);
    let known = job.form.as_ref();
    let asked = arguments.sets.records(arguments.delimiter());
    let records = match asked.or(known.map(|form| form.records().clone())) {
        Some(records) => records,
        None if are_archives(inputs)? => Records::Samples { are_uneven: arguments.sets.uneven },
        None => Records::Lines(b'\n'),
    };
    let headers = arguments.sets.header_lines.or(known.map(Form::headers)).unwrap_or(0);
    if matches!(records, Records::Samples { .. }) && headers > 0 {
        return Err(Failure::new("--header-lines", "an archive has no header"));
    }
    let form = Form::new(records).with_headers(headers);
    let parts = inputs.parts().map(|part| Box::new(part) as Box<dyn Input>).collect();
    let set = Dataset::open(parts, &form, job.memory);
    let set = match arguments.sets.worker {
        Some(worker) => set.and_then(|set| set.divided(worker.world)),
        None => set,
    };
    let set = set.map_err(|error| explain(error, inputs))?;
    let compression = arguments.sets.compress.unwrap_or_else(|| set.codec().into());
    let end = compression.codec().extension();
    let dot = if end.is_empty() { "" } else { "." };
    let extension = format!("{}{dot}{end}", plan::extension(inputs.first_name(), form.records()));
    Ok(Opened { set, inputs, form, compression, extension })
}

/// Whether the inputs are archives, as the first is that tells: it has more than zeros, with which
/// an archive ends.
fn are_archives(inputs: &Inputs) -> Result<bool, Failure> {
    for part in inputs.parts() {
        let start = start_of(&part).map_err(|error| explain(error, inputs))?;
        if start.iter().any(|&byte| byte != 0) {
            return Ok(is_tar(&start));
        }
    }
    Ok(false)
}

fn count(opened: &Opened, job: &Job) -> Result<Counted, Failure> {
    opened.set.count(job.progress).map_err(|error| explain(error, opened.inputs))
}

impl Opened<'_> {
    /// What is asked for.
    fn asked(&self, arguments: &Arguments, job: &Job) -> Asked {
        let options = format!("{:?}", (&self.form, self.compression));
        asked((self.inputs.stamp(), options), &self.extension, arguments, job)
    }

    /// What is known of the shards.
    fn plan(&self, counted: &Counted) -> Plan {
        let (found, bytes) = (counted.records(), counted.bytes());
        Plan { items: 0, found, bytes, inputs: self.set.inputs() as u64 }
    }

    fn shuffle<S: Sink>(
        &self,
        job: &Job,
        what: (&Counted, &Order),
        target: (&Shards, Compression, &mut S),
    ) -> Result<Written, FilesError> {
        let store = job.temporary.store_behind(self.set.held(what.0));
        let mut store = store.map_err(FilesError::Temporary)?;
        self.set.shuffle(what, &mut store, target, job.progress)
    }

    fn done(&self, counted: &Counted, written: &Written, kept: Vec<WrittenShard>) -> Done {
        let all = || kept.iter().chain(&written.shards);
        Done {
            found: counted.records(),
            items: all().map(|shard| shard.records).sum(),
            bytes: all().map(|shard| shard.bytes).sum(),
            ends_added: counted.ends_added(),
            summary: written.summary,
            records: Some(self.records()),
            set: Some(SetDone {
                shards: all().count() as u64,
                kept: kept.len() as u64,
                is_in_memory: written.summary.is_some_and(|summary| summary.buckets == 0),
                left_out: counted.left_out(),
                ..self.read()
            }),
        }
    }

    /// What is read.
    fn read(&self) -> SetDone {
        SetDone { codecs: self.set.codecs(), ..SetDone::default() }
    }

    fn records(&self) -> String {
        self.form.records().to_string()
    }
}

/// What is said of an error, where shards name themselves.
fn explain(error: FilesError, inputs: &Inputs) -> Failure {
    match error {
        FilesError::Write(error) => said(&error).unwrap_or_else(|| Failure::new("output", error)),
        error => crate::job::explain_input(error, inputs),
    }
}

/// An output that takes everything.
struct OneFile<'o>(Option<&'o mut Output>);

impl<'o> Sink for OneFile<'o> {
    type File = &'o mut Output;

    fn create(&mut self, _: &Path) -> io::Result<&'o mut Output> {
        self.0.take().ok_or_else(|| io::ErrorKind::InvalidInput.into())
    }

    fn commit(&mut self, _: &'o mut Output, _: &WrittenShard) -> io::Result<()> {
        Ok(())
    }
}
