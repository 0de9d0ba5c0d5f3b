//! Parquet and Arrow IPC files, known by their names.

use std::num::NonZeroU64;
use std::path::{Path, PathBuf};

use crate::arrays::is_array;
use crate::done::Done;
use crate::failure::Failure;
use crate::job::InputJob;
use crate::output::Output;

/// What is to be done with the rows of some files.
#[derive(Clone, Copy)]
pub(crate) struct FileRows<'a> {
    pub(crate) files: &'a [PathBuf],
    /// How many row groups make a window, if groups are shuffled and then rows in windows of them.
    #[cfg_attr(not(feature = "tables"), expect(dead_code))]
    pub(crate) blocks: Option<NonZeroU64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RowsFormat {
    Parquet,
    Ipc,
}

impl RowsFormat {
    fn of(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()?.to_ascii_lowercase().as_str() {
            "parquet" => Some(Self::Parquet),
            "arrow" | "feather" => Some(Self::Ipc),
            _ => None,
        }
    }
}

/// What a file is by its name, if that is the name of a table or an array.
pub(crate) fn kind_of(path: &Path) -> Option<&'static str> {
    match RowsFormat::of(path) {
        Some(RowsFormat::Parquet) => Some("a Parquet file"),
        Some(RowsFormat::Ipc) => Some("an Arrow file"),
        None => is_array(path).then_some("a NumPy array"),
    }
}

/// Whether a file has rows of columns, by its name.
pub(crate) fn is_table(path: &Path) -> bool {
    RowsFormat::of(path).is_some()
}

/// Writes the rows of files in their new order, to a file of the same format.
pub(crate) fn shuffle(
    rows: FileRows<'_>,
    job: &InputJob<'_>,
    output: &mut Output,
) -> Result<Done, Failure> {
    check_formats(rows.files)?;
    if job.is_repeated {
        return Err(Failure::new(rows.files[0].display(), "rows of a table are not repeated"));
    }
    run(rows, job, output)
}

/// Checks that files, one at least, have the format of the first.
fn check_formats(files: &[PathBuf]) -> Result<(), Failure> {
    let format = RowsFormat::of(&files[0]);
    match files.iter().find(|path| RowsFormat::of(path) != format) {
        Some(other) => {
            Err(Failure::new(other.display(), "is of another format than the first file"))
        }
        None => Ok(()),
    }
}

/// Writes the rows of files in their new order to a folder of shards.
#[cfg(not(feature = "tables"))]
pub(crate) fn to_folder(
    files: &[PathBuf],
    _: &Path,
    _: &crate::arguments::Arguments,
    _: &mut InputJob<'_>,
) -> Result<Done, Failure> {
    let table = files.iter().find(|path| is_table(path));
    Err(Failure::new(table.unwrap_or(&files[0]).display(), NO_TABLES))
}

/// What is said where tables are not read.
#[cfg(not(feature = "tables"))]
const NO_TABLES: &str = "Parquet and Arrow files need the feature `tables` of the program: \
                         cargo install bijective-shuffle-cli --features tables";

#[cfg(not(feature = "tables"))]
fn run(rows: FileRows<'_>, _: &InputJob<'_>, _: &mut Output) -> Result<Done, Failure> {
    Err(Failure::new(rows.files[0].display(), NO_TABLES))
}

#[cfg(feature = "tables")]
use enabled::run;
#[cfg(feature = "tables")]
pub(crate) use shards::to_folder;

#[cfg(feature = "tables")]
mod enabled {
    use std::error::Error;
    use std::fs::{File, Metadata};
    use std::io::{self, Write};
    use std::path::{Path, PathBuf};

    use arrow_schema::Schema;
    use bijective_shuffle_cli::files::{FileOrder, Summary};
    use bijective_shuffle_cli::tables::{
        IpcTable, Joined, ParquetTable, TableError, TableFile, TableShuffle, TableWriter,
    };

    use super::{FileRows, RowsFormat};
    use crate::done::Done;
    use crate::failure::{Failure, FailureContext};
    use crate::inputs::CHANGED;
    use crate::job::InputJob;
    use crate::memory::MemorySize;
    use crate::output::Output;

    /// A file that is read, and what is known of it at the start.
    pub(super) struct OpenedFile<'a> {
        pub(super) path: &'a Path,
        pub(super) metadata: Metadata,
        file: File,
    }

    impl<'a> OpenedFile<'a> {
        pub(super) fn new(path: &'a PathBuf) -> Result<Self, Failure> {
            // To open a pipe would wait for its writer.
            if !path.metadata().context(path.display())?.is_file() {
                let why = "a Parquet or Arrow file has to be a regular file";
                return Err(Failure::new(path.display(), why));
            }
            let file = File::open(path).context(path.display())?;
            let metadata = file.metadata().context(path.display())?;
            Ok(Self { path, metadata, file })
        }

        /// The files that have a byte, and how many have none. Those have no row, unless there are
        /// no others, which would say what the columns are.
        pub(super) fn all(paths: &'a [PathBuf]) -> Result<(Vec<Self>, u64), Failure> {
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
        pub(super) fn check(&self) -> Result<(), Failure> {
            let now = self.file.metadata().context(self.path.display())?;
            let is_same = now.len() == self.metadata.len()
                && now.modified().ok() == self.metadata.modified().ok();
            if is_same { Ok(()) } else { Err(Failure::new(self.path.display(), CHANGED)) }
        }
    }

    /// The rows of files of one format, one file after the other.
    pub(super) fn run(
        rows: FileRows<'_>,
        job: &InputJob<'_>,
        output: &mut Output,
    ) -> Result<Done, Failure> {
        let (opened, empty) = OpenedFile::all(rows.files)?;
        let memory = job.memory;
        MemorySize::give_back(memory);
        let table = open(&opened, memory)?;
        let order = job.order(table.groups().iter().sum())?;
        let writer = table.writer(Box::new(&mut *output), memory / 4);
        let done = writer.and_then(|writer| write_order(rows, job, &table, &order, writer));
        let name = match opened.as_slice() {
            [one] => one.path.display().to_string(),
            _ => "the inputs".to_owned(),
        };
        let done = done.map_err(|error| explain_all(error, &name, output))?;
        output.flush().map_err(|error| output.failure(&error))?;
        opened.iter().try_for_each(OpenedFile::check)?;
        Ok(Done { bytes: output.bytes(), empty, ..done })
    }

    /// The tables of files of one format as one.
    pub(super) fn open(opened: &[OpenedFile<'_>], memory: usize) -> Result<Joined, Failure> {
        match RowsFormat::of(opened[0].path) {
            Some(RowsFormat::Parquet) => joined(opened, |file, _| ParquetTable::open(file, memory)),
            _ => joined(opened, |file, first| {
                let mut table = IpcTable::open(file, memory)?;
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
            tables.push(table.map_err(|error| Failure::new(one.path.display(), line(&error)))?);
        }
        T::agree(&mut tables).map_err(|error| {
            let table = match error {
                TableError::Timestamp { table, .. } | TableError::OtherDictionary { table, .. } => {
                    table
                }
                _ => 0,
            };
            Failure::new(opened[table].path.display(), line(&error))
        })?;
        let schemas: Vec<_> = tables.iter().map(TableFile::schema).collect();
        let tables = tables.into_iter().map(|table| Box::new(table) as Box<dyn TableFile>);
        Joined::new(tables.collect()).map_err(|error| match error {
            TableError::OtherColumns { table } => {
                let why = difference(&schemas[0], &schemas[table]);
                Failure::new(opened[table].path.display(), why)
            }
            error => Failure::new("the inputs", line(&error)),
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

    /// Writes the rows that an order has.
    pub(super) fn write_order(
        rows: FileRows<'_>,
        job: &InputJob<'_>,
        table: &dyn TableFile,
        order: &FileOrder,
        mut writer: Box<dyn TableWriter + '_>,
    ) -> Result<Done, TableError> {
        let found = order.len();
        let shuffle = TableShuffle::new(job.memory);
        let (summary, is_outside): (Summary, bool) = match rows.blocks {
            Some(window) => {
                let (window, seed, places) = (window.get(), job.selection.seed, order.places());
                let writer = &mut *writer;
                (shuffle.run_blocks(window, seed, places, table, writer, job.progress)?, false)
            }
            None => {
                let store = job.temporary.store();
                let mut store = store.map_err(TableError::Temporary)?;
                (shuffle.run(order, table, &mut store, &mut *writer, job.progress)?, true)
            }
        };
        writer.finish()?;
        let (items, rewritten) = (summary.items, table.rewritten());
        let summary = is_outside.then_some(summary);
        Ok(Done { found, items, summary, rewritten, ..Done::default() })
    }

    /// What is said of an error.
    fn explain_all(error: TableError, inputs: &str, output: &Output) -> Failure {
        match &error {
            TableError::Write(_) => match io_error(&error) {
                Some(error) => output.failure(error),
                None => output.failure(&io::Error::other(line(&error))),
            },
            _ => explain(error, inputs),
        }
    }

    /// What is said of an error that is not one of the output.
    pub(super) fn explain(error: TableError, inputs: &str) -> Failure {
        match &error {
            TableError::Temporary(error) => Failure::new("temporary file", error),
            TableError::Changed => Failure::new(inputs, CHANGED),
            TableError::WindowTooLarge { .. } => Failure::new(
                inputs,
                "a window does not fit memory: raise --memory, or lower --blocks",
            ),
            TableError::Order(error) => Failure::new("cannot shuffle", error),
            _ => Failure::new(inputs, line(&error)),
        }
    }

    /// The error of the system that is behind another one.
    pub(super) fn io_error<'e>(error: &'e (dyn Error + 'static)) -> Option<&'e io::Error> {
        error.downcast_ref().or_else(|| error.source().and_then(io_error))
    }

    /// An error in one line.
    pub(super) fn line(error: &TableError) -> String {
        let advice = match error {
            TableError::TooLarge { .. } => ": raise --memory",
            _ => "",
        };
        error.to_string().replace('\n', " ") + advice
    }
}

/// Tables to folders of shards.
#[cfg(feature = "tables")]
mod shards {
    use std::io::{self, Write};
    use std::path::{Path, PathBuf};
    use std::sync::{Arc, Mutex, PoisonError};

    use arrow_array::RecordBatch;
    use bijective_shuffle_cli::dataset::{Hashed, ShardSink, Shards, WrittenShard};
    use bijective_shuffle_cli::files::NamedError;
    use bijective_shuffle_cli::tables::{TableError, TableFile, TableWriter};
    use serde_json::Value;

    use super::enabled::{OpenedFile, explain, open, write_order};
    use super::{FileRows, RowsFormat, check_formats};
    use crate::arguments::Arguments;
    use crate::done::Done;
    use crate::failure::Failure;
    use crate::inputs::stamp;
    use crate::job::InputJob;
    use crate::memory::MemorySize;
    use crate::sets::{self, FolderRun, ShardFolder, ShardPlan};

    /// The rows of files of one format to a folder of shards of that format.
    pub(crate) fn to_folder(
        files: &[PathBuf],
        folder: &Path,
        arguments: &Arguments,
        job: &mut InputJob<'_>,
    ) -> Result<Done, Failure> {
        arguments.check_for_rows()?;
        if arguments.sets.worker.is_some() {
            let why = "the rows of tables are shuffled by one worker: leave it out";
            return Err(Failure::new("--worker", why));
        }
        check_formats(files)?;
        let (opened, empty) = OpenedFile::all(files)?;
        let memory = job.memory;
        MemorySize::give_back(memory);
        let rows = FileRows { files, blocks: arguments.blocks };
        let table = open(&opened, memory)?;
        let is_parquet = RowsFormat::of(&files[0]) == Some(RowsFormat::Parquet);
        let extension = if is_parquet { "parquet" } else { "arrow" };
        let done = write((rows, extension), &opened, &table, (folder, arguments), job)?;
        Ok(Done { empty, ..done })
    }

    fn write(
        (rows, extension): (FileRows<'_>, &str),
        opened: &[OpenedFile<'_>],
        table: &dyn TableFile,
        (folder, arguments): (&Path, &Arguments),
        job: &mut InputJob<'_>,
    ) -> Result<Done, Failure> {
        let known = opened.iter().map(|OpenedFile { path, metadata, .. }| {
            (path, metadata.len(), metadata.modified().ok())
        });
        let stamp = stamp(known);
        let found: u64 = table.groups().iter().sum();
        let bytes = opened.iter().map(|one| one.metadata.len()).sum();
        let plan = ShardPlan { items: 0, found, bytes, inputs: rows.files.len() as u64 };
        let mut run = FolderRun::open(folder, arguments, job, None)?;
        let options = format!("{extension} {:?}", rows.blocks);
        // Tables say how many rows they have, so they are not counted again.
        let counted = Value::Null;
        let asked = sets::asked((stamp, options), extension, arguments, job);
        let (order, shards, kept) = run.begin((asked, extension), (plan, counted), job)?;
        let mut written = Vec::new();
        let mut done = Done { found, ..Done::default() };
        if !shards.list().is_empty() {
            let (target, shards, memory) = (&mut run.folder, &shards, job.memory);
            let (open, written) = (None, &mut written);
            let writer = ShardedWriter { table, memory, target, shards, open, written };
            let shuffled = write_order(rows, job, table, &order, Box::new(writer));
            done = shuffled.map_err(|error| match error {
                TableError::Write(_) => explain_written(&error, folder),
                _ => explain(error, "the inputs"),
            })?;
        }
        opened.iter().try_for_each(OpenedFile::check)?;
        let (items, bytes) = run.finish(found, kept, written, job)?;
        Ok(Done { items, bytes, ..done })
    }

    /// What is said of an error of a shard, which names itself.
    fn explain_written(error: &TableError, folder: &Path) -> Failure {
        let named = super::enabled::io_error(error).and_then(NamedError::of);
        match named {
            Some(NamedError { name, why }) => Failure::new(name, why),
            None => Failure::new(folder.display(), super::enabled::line(error)),
        }
    }

    fn written_error(error: io::Error) -> TableError {
        TableError::Write(error.into())
    }

    /// A file that its writer and those who give it its name share.
    #[derive(Clone)]
    struct SharedFile(Arc<Mutex<Option<Hashed<<ShardFolder as ShardSink>::File>>>>);

    impl Write for SharedFile {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let mut file = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            file.as_mut().ok_or(io::ErrorKind::NotConnected)?.write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// Writes rows to shards, one after the other.
    struct ShardedWriter<'w> {
        table: &'w dyn TableFile,
        memory: usize,
        target: &'w mut ShardFolder,
        shards: &'w Shards,
        open: Option<OpenShard>,
        written: &'w mut Vec<WrittenShard>,
    }

    struct OpenShard {
        writer: Box<dyn TableWriter>,
        file: SharedFile,
        /// How many rows it still gets.
        left: u64,
    }

    impl ShardedWriter<'_> {
        /// Ends the open shard, if it has all its rows, and begins the next.
        fn next(&mut self) -> Result<(), TableError> {
            self.end()?;
            if let Some(shard) = self.shards.list().get(self.written.len()) {
                let file = self.target.create(&shard.name).map_err(written_error)?;
                let file = SharedFile(Arc::new(Mutex::new(Some(Hashed::new(file)))));
                let writer = self.table.writer(Box::new(file.clone()), self.memory / 4)?;
                self.open = Some(OpenShard { writer, file, left: shard.records });
            }
            Ok(())
        }

        fn end(&mut self) -> Result<(), TableError> {
            let Some(OpenShard { writer, file, .. }) = self.open.take() else { return Ok(()) };
            writer.finish()?;
            let file = file.0.lock().unwrap_or_else(PoisonError::into_inner).take();
            let Some(mut file) = file else { return Ok(()) };
            file.flush().map_err(written_error)?;
            let shard = self.shards.list()[self.written.len()].clone();
            let (file, bytes, sha256) = file.finish();
            let (name, records, plain_bytes) = (shard.name, shard.records, bytes);
            let shard = WrittenShard { name, records, bytes, plain_bytes, sha256 };
            self.target.commit(file, &shard).map_err(written_error)?;
            self.written.push(shard);
            Ok(())
        }
    }

    impl TableWriter for ShardedWriter<'_> {
        fn write(&mut self, batch: &RecordBatch) -> Result<(), TableError> {
            let mut start = 0;
            while start < batch.num_rows() {
                let Some(open) = self.open.as_mut().filter(|open| open.left > 0) else {
                    if self.open.is_none() && self.written.len() == self.shards.list().len() {
                        return Err(TableError::Write(
                            "there are more rows than in all shards".into(),
                        ));
                    }
                    self.next()?;
                    continue;
                };
                let left = usize::try_from(open.left).unwrap_or(usize::MAX);
                let rows = left.min(batch.num_rows() - start);
                open.writer.write(&batch.slice(start, rows))?;
                open.left -= rows as u64;
                start += rows;
            }
            Ok(())
        }

        fn finish(mut self: Box<Self>) -> Result<(), TableError> {
            while self.written.len() < self.shards.list().len() {
                self.next()?;
            }
            Ok(())
        }
    }
}
