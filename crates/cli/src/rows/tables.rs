//! The rows of tables to one file, or to a folder of shards.

use std::error::Error;
use std::fmt;
use std::fs::{File, Metadata};
use std::io::{self, Write};
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};

use arrow_schema::Schema;
use bijective_shuffle_cli::files::{FileOrder, FilesError};
use bijective_shuffle_cli::tables::{
    IpcTable, Joined, ParquetTable, TableError, TableFile, TableShuffle, TableWriter,
};
use serde_json::{Value, json};

use super::kinds::{PARQUET, kind_of};
use super::sharded::ShardedWriter;
use crate::arguments::Arguments;
use crate::done::Done;
use crate::failure::{Failure, FailureContext};
use crate::inputs::{CHANGED, stamp};
use crate::job::{InputJob, explain_input};
use crate::memory::MemorySize;
use crate::output::Output;
use crate::sets::{self, FolderRun, ShardPlan};

/// A file that is read, and what is known of it at the start.
struct OpenedFile<'a> {
    path: &'a Path,
    metadata: Metadata,
    file: File,
}

impl<'a> OpenedFile<'a> {
    fn new(path: &'a PathBuf) -> Result<Self, Failure> {
        // To open a pipe would wait for its writer.
        if !path.metadata().context(path.display())?.is_file() {
            let why = "a Parquet or Arrow file must be a regular file";
            return Err(Failure::new(path.display(), why));
        }
        let file = File::open(path).context(path.display())?;
        let metadata = file.metadata().context(path.display())?;
        Ok(Self { path, metadata, file })
    }

    /// The files that have a byte, and how many have none. Those have no row, unless there are
    /// no others, which would say what the columns are.
    fn all(paths: &'a [PathBuf]) -> Result<(Vec<Self>, u64), Failure> {
        let mut opened = paths.iter().map(Self::new).collect::<Result<Vec<_>, _>>()?;
        if opened.iter().any(|one| one.metadata.len() > 0) {
            opened.retain(|one| one.metadata.len() > 0);
        }
        let empty = (paths.len() - opened.len()) as u64;
        Ok((opened, empty))
    }

    fn file(&self) -> Result<File, Failure> {
        self.file.try_clone().context(self.path.display())
    }

    /// Checks that it is as it was.
    fn check(&self) -> Result<(), Failure> {
        let now = self.file.metadata().context(self.path.display())?;
        let is_same = now.len() == self.metadata.len()
            && now.modified().ok() == self.metadata.modified().ok();
        if is_same { Ok(()) } else { Err(Failure::new(self.path.display(), CHANGED)) }
    }
}

/// The rows of files of one format, one file after the other.
pub(super) fn to_file(
    files: &[PathBuf],
    blocks: Option<NonZeroU64>,
    job: &InputJob<'_>,
    output: &mut Output,
) -> Result<Done, Failure> {
    let (opened, empty) = OpenedFile::all(files)?;
    let table = open(&opened, job)?;
    let order = job.order(table.about().groups.iter().sum())?;
    let writer = table.writer(Box::new(&mut *output), job.memory / 4);
    let done = writer.and_then(|writer| write_order(blocks, job, &table, &order, writer));
    let name = match opened.as_slice() {
        [one] => one.path.display().to_string(),
        _ => INPUTS.to_owned(),
    };
    let done = done.map_err(|error| explain(error, &name, |error| output.failure(error)))?;
    output.flush().map_err(|error| output.failure(&error))?;
    opened.iter().try_for_each(OpenedFile::check)?;
    Ok(Done { bytes: output.bytes(), empty, ..done })
}

/// The rows of files of one format to a folder of shards of that format.
pub(super) fn to_folder(
    files: &[PathBuf],
    folder: &Path,
    arguments: &Arguments,
    job: &mut InputJob<'_>,
) -> Result<Done, Failure> {
    let (opened, empty) = OpenedFile::all(files)?;
    let table = open(&opened, job)?;
    let extension = if kind_of(&files[0]) == Some(PARQUET) { "parquet" } else { "arrow" };
    let stamp =
        stamp(opened.iter().map(|OpenedFile { path, metadata, .. }| {
            (path, metadata.len(), metadata.modified().ok())
        }));
    let found: u64 = table.about().groups.iter().sum();
    let bytes = opened.iter().map(|one| one.metadata.len()).sum();
    let plan = ShardPlan { items: 0, found, bytes, inputs: files.len() as u64 };
    let mut run = FolderRun::open(folder, arguments, job, None)?;
    let options = json!({"blocks": arguments.blocks});
    let asked = sets::asked(stamp, options, extension, arguments, job);
    // Tables say how many rows they have, so they are not counted again.
    let (order, shards, kept) = run.begin(asked, plan, Value::Null, job)?;
    let mut written = Vec::new();
    let mut done = Done { found, ..Done::default() };
    if !shards.list().is_empty() {
        let (memory, target) = (job.memory, &mut run.folder);
        let writer = Box::new(ShardedWriter::new(&table, memory, target, &shards, &mut written));
        let shuffled = write_order(arguments.blocks, job, &table, &order, writer);
        // A shard names itself.
        let of_shard = |error: &io::Error| Failure::named(folder.display(), error);
        done = shuffled.map_err(|error| explain(error, INPUTS, of_shard))?;
    }
    opened.iter().try_for_each(OpenedFile::check)?;
    let (items, bytes) = run.finish(found, kept, written, job)?;
    Ok(Done { items, bytes, empty, ..done })
}

/// What several files are called in messages.
const INPUTS: &str = "the inputs";

/// The tables of files of one format as one.
fn open(opened: &[OpenedFile<'_>], job: &InputJob<'_>) -> Result<Joined, Failure> {
    MemorySize::give_back(job.memory);
    match kind_of(opened[0].path) {
        Some(PARQUET) => joined(opened, |file, _| ParquetTable::open(file, job.memory)),
        _ => joined(opened, |file, first| {
            let mut table = IpcTable::open(file, job.memory)?;
            if let Some(first) = first {
                table.share(first);
            }
            Ok(table)
        }),
    }
}

fn joined<T: TableFile + 'static>(
    opened: &[OpenedFile<'_>],
    open: impl Fn(File, Option<&T>) -> Result<T, TableError>,
) -> Result<Joined, Failure> {
    let mut tables = Vec::new();
    for one in opened {
        let table = open(one.file()?, tables.first());
        tables.push(table.map_err(|error| named(one.path.display(), &error))?);
    }
    T::agree(&mut tables).map_err(|error| {
        let table = match error {
            TableError::Timestamp { table, .. } | TableError::OtherDictionary { table, .. } => {
                table
            }
            _ => 0,
        };
        named(opened[table].path.display(), &error)
    })?;
    let schemas: Vec<_> = tables.iter().map(|table| table.about().schema.clone()).collect();
    let tables = tables.into_iter().map(|table| Box::new(table) as Box<dyn TableFile>);
    Joined::new(tables.collect()).map_err(|error| match error {
        TableError::OtherColumns { table } => {
            let why = difference(&schemas[0], &schemas[table]);
            Failure::new(opened[table].path.display(), why)
        }
        error => named(INPUTS, &error),
    })
}

/// How the columns of a file differ from those of the first.
fn difference(first: &Schema, other: &Schema) -> String {
    let fields = other.fields().iter().enumerate();
    let mut others = fields.filter(|(at, field)| first.fields().get(*at) != Some(field));
    let missing = first.fields().get(other.fields().len());
    match (others.next(), missing) {
        (Some((_, field)), _) => {
            format!("has another column `{}` than the first file", field.name())
        }
        (None, Some(field)) => format!("lacks the column `{}` of the first file", field.name()),
        (None, None) => "has other columns than the first file".to_owned(),
    }
}

/// Writes the rows that an order has, to a writer that ends with them.
fn write_order(
    blocks: Option<NonZeroU64>,
    job: &InputJob<'_>,
    table: &dyn TableFile,
    order: &FileOrder,
    mut writer: Box<dyn TableWriter + '_>,
) -> Result<Done, TableError> {
    let shuffle = TableShuffle::new(job.memory);
    let (seed, places, watch) = (job.selection.seed, order.places(), job.progress);
    let (target, mut is_outside) = (&mut *writer, false);
    let summary = if let Some(window) = blocks {
        shuffle.run_blocks(window.get(), seed, places, table, target, watch)?
    } else {
        is_outside = true;
        let mut store = job.temporary.store().map_err(FilesError::Temporary)?;
        shuffle.run(order, table, &mut store, target, watch)?
    };
    writer.finish()?;
    let (items, rewritten) = (summary.items, table.about().rewritten.clone());
    let summary = is_outside.then_some(summary);
    Ok(Done { found: order.len(), items, summary, rewritten, ..Done::default() })
}

/// What is said of an error of inputs of this name, or of an output.
fn explain(
    error: TableError,
    inputs: &str,
    of_output: impl FnOnce(&io::Error) -> Failure,
) -> Failure {
    match error {
        TableError::Files(error) => explain_input(error, inputs),
        TableError::Write(_) => match io_error(&error) {
            Some(error) => of_output(error),
            None => of_output(&io::Error::other(line(&error))),
        },
        TableError::WindowTooLarge { .. } => {
            Failure::new(inputs, "a window does not fit memory: raise --memory, or lower --blocks")
        }
        error => named(inputs, &error),
    }
}

/// The error of the system that is behind another one.
fn io_error<'e>(error: &'e (dyn Error + 'static)) -> Option<&'e io::Error> {
    error.downcast_ref().or_else(|| error.source().and_then(io_error))
}

/// The failure that an error of something with this name is.
fn named(what: impl fmt::Display, error: &TableError) -> Failure {
    Failure::caused(what, line(error), error)
}

/// An error in one line.
fn line(error: &TableError) -> String {
    let advice = match error {
        TableError::TooLarge { .. } => ": raise --memory",
        _ => "",
    };
    error.to_string().replace('\n', " ") + advice
}
