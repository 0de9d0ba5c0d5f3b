//! Data sets: folders and compressed files in, shards out. The library's `dataset` does the work.

mod checks;
mod folder;
mod folder_run;
mod journal;
mod opened;
mod plan;
mod workers;

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use bijective_shuffle::Seed;
use bijective_shuffle_cli::dataset::{
    RecordForm, Records, ShardSink, ShardTarget, Shards, Subfolders, Walked, Written, WrittenShard,
    walk,
};
use bijective_shuffle_cli::formats::Codec;

use crate::arguments::Arguments;
use crate::done::Done;
use crate::failure::{Failure, FailureContext};
use crate::inputs::Inputs;
use crate::job::InputJob;
use crate::output::Output;

pub(crate) use folder_run::FolderRun;
#[cfg(feature = "tables")]
pub(crate) use {folder::ShardFolder, folder_run::asked, plan::ShardPlan};

use folder_run::seed_of;
use opened::{count, explain, open};

/// The files that are read, with those of folders in place of them. They may also be listed in a
/// file. With a host they are not standard input, which is the host's own.
pub(crate) fn files(arguments: &Arguments, has_host: bool) -> Result<Walked, Failure> {
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
            if has_host && listed.iter().any(|path| path.as_os_str() == "-") {
                let why = "names standard input, which is not read here: name files or folders";
                return Err(Failure::new(name, why));
            }
            listed
        }
        None => arguments.files(),
    };
    if !arguments.echo {
        checks::check_streams(sets.files0_from.as_deref(), &operands)?;
    }
    if let Some(output) = &sets.output_dir {
        checks::check_folder(output, &operands)?;
    }
    if arguments.echo || arguments.together {
        return Ok(Walked { files: operands, ..Walked::default() });
    }
    let subfolders = if sets.recursive { Subfolders::Walk } else { Subfolders::Refuse };
    let walked = walk(&operands, subfolders);
    let walked = walked.map_err(|error| Failure::named("input", &error))?;
    checks::check_output(arguments, &operands, &walked)?;
    Ok(walked)
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
            return Err("has an empty name");
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
    job: &mut InputJob,
) -> Result<(), Failure> {
    job.form.clone_from(&walked.form);
    let folder = arguments.operands.first().map_or(Path::new("the shards"), Path::new).display();
    let delimiter = arguments.delimiter();
    let is_as_written = is_as_written(arguments, walked.form.as_ref());
    // What is drawn is lines.
    let is_drawn =
        |form: &RecordForm| arguments.repeat && *form != RecordForm::new(Records::Lines(delimiter));
    if let Some(form) = &walked.form
        && (arguments.undo && !is_as_written || arguments.record.is_some() || is_drawn(form))
    {
        let why = format!("was written as {form}: leave out the options that say otherwise");
        return Err(Failure::new(folder, why));
    }
    let Some(index) = &walked.index else {
        if arguments.undo && arguments.seed().is_none() {
            return Err(Failure::new("--undo", "there is no index with a seed: give --seed"));
        }
        return Ok(());
    };
    job.expected = is_as_written.then(|| index.shard_records());
    if !arguments.undo {
        return Ok(());
    }
    if index.is_undone {
        return Err(Failure::new(folder, "has records that were restored, and not shuffled"));
    }
    if !index.is_whole() {
        return Err(Failure::new(
            folder,
            "has only a part of the records, which cannot be restored",
        ));
    }
    let seed: Seed = index.seed.parse().context(format!("{folder}: the index"))?;
    job.selection.seed = seed_of(seed.with_epoch(index.epoch), arguments, folder)?;
    Ok(())
}

/// Whether records are read as they were written, as far as that is known.
fn is_as_written(arguments: &Arguments, form: Option<&RecordForm>) -> bool {
    let asked = arguments.sets.records(arguments.delimiter());
    let headers = arguments.sets.header_lines;
    let prefixes = arguments.sets.header_prefixes();
    form.is_none_or(|form| {
        asked.is_none_or(|records| records == form.records)
            && headers.is_none_or(|headers| headers == form.headers)
            && prefixes.is_none_or(|prefixes| prefixes == form.header_prefixes)
    })
}

/// Whether a data set is asked for, also by the name of an output, or the index of a folder says
/// that one is read, whatever the inputs are.
pub(crate) fn is_asked_for(arguments: &Arguments, form: Option<&RecordForm>, output: &str) -> bool {
    // An output of draws, arguments or records of one size is written as it always was.
    let is_plain = arguments.repeat || arguments.echo || arguments.record.is_some();
    let codec = Codec::of_name(Path::new(output));
    arguments.sets.is_asked_for()
        || !is_plain
            && (codec != Codec::Plain || form.is_some_and(|form| *form != RecordForm::lines()))
}

/// The records of inputs to one output.
pub(crate) fn to_file(
    inputs: &Inputs,
    arguments: &Arguments,
    job: &InputJob,
    output: &mut Output,
) -> Result<Done, Failure> {
    let opened = open(inputs, arguments, job)?;
    let codec = Codec::of_name(Path::new(output.name()));
    let compression = arguments.sets.compress.unwrap_or_else(|| codec.into());
    let counted = count(&opened, job)?;
    let order = job.order(counted.records())?;
    let shards = Shards::single("", job.items(&order));
    let mut sink = OneFile(Some(output));
    let target = ShardTarget { shards: &shards, compression, sink: &mut sink };
    let written = opened.shuffle(job, &counted, &order, target);
    let written = written.map_err(|error| crate::job::explain(error, inputs, output))?;
    Ok(opened.done(&counted, &written, Vec::new()))
}

/// The records of inputs to a folder of shards.
pub(crate) fn to_folder(
    files: &[PathBuf],
    folder: &Path,
    arguments: &Arguments,
    job: &mut InputJob,
) -> Result<Done, Failure> {
    if arguments.blocks.is_some() {
        return Err(Failure::new("--blocks", "there is no Parquet or Arrow file"));
    }
    let inputs = Inputs::open(files, &job.opening(arguments, None, true))?;
    let opened = open(&inputs, arguments, job)?;
    if let (Some(worker), Some(stage)) = (arguments.sets.worker, arguments.sets.stage) {
        return workers::run(worker, stage, &opened, folder, arguments, job);
    }
    let mut run = FolderRun::open(folder, arguments, job, Some(opened.form.clone()))?;
    // What was counted before is counted for ever, if the inputs are the same.
    let before = run.folder.counted(&inputs.stamp());
    let counted = match before.and_then(|counted| opened.set.recall(counted)) {
        Some(counted) => counted,
        None => count(&opened, job)?,
    };
    let asked = opened.asked(arguments, job);
    let plan = opened.plan(&counted);
    let (order, shards, kept) = run.begin(asked, plan, counted.to_json(), job)?;
    let written = if shards.list().is_empty() {
        Written::default()
    } else {
        let (compression, sink) = (opened.compression, &mut run.folder);
        let target = ShardTarget { shards: &shards, compression, sink };
        let written = opened.shuffle(job, &counted, &order, target);
        written.map_err(|error| explain(error, &inputs))?
    };
    inputs.check()?;
    let done = opened.done(&counted, &written, kept.clone());
    run.finish(counted.records(), kept, written.shards, job)?;
    Ok(done)
}

/// An output that takes everything.
struct OneFile<'o>(Option<&'o mut Output>);

impl<'o> ShardSink for OneFile<'o> {
    type File = &'o mut Output;

    fn create(&mut self, _: &Path) -> io::Result<&'o mut Output> {
        self.0.take().ok_or_else(|| io::ErrorKind::InvalidInput.into())
    }

    fn commit(&mut self, _: &'o mut Output, _: &WrittenShard) -> io::Result<()> {
        Ok(())
    }
}
