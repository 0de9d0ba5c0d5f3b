//! Parquet and Arrow IPC files, known by their names.

use std::num::NonZeroU64;
use std::path::{Path, PathBuf};

use crate::failure::Failure;
use crate::job::{Done, Job};
use crate::output::Output;

/// What is to be done with the rows of some files.
#[derive(Clone, Copy)]
pub(crate) struct Rows<'a> {
    pub(crate) files: &'a [PathBuf],
    /// How many row groups make a window, if groups are shuffled and then rows in windows of them.
    #[cfg_attr(not(feature = "tables"), expect(dead_code))]
    pub(crate) blocks: Option<NonZeroU64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Parquet,
    Ipc,
}

impl Format {
    fn of(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()?.to_ascii_lowercase().as_str() {
            "parquet" => Some(Self::Parquet),
            "arrow" | "feather" => Some(Self::Ipc),
            _ => None,
        }
    }
}

/// Whether a file has rows of columns, by its name.
pub(crate) fn is_table(path: &Path) -> bool {
    Format::of(path).is_some()
}

/// Writes the rows of files in their new order, to a file of the same format.
pub(crate) fn shuffle<'o>(
    rows: Rows<'_>,
    job: &Job<'_>,
    output: impl FnOnce() -> Result<&'o mut Output, Failure>,
) -> Result<Done, Failure> {
    let [first, others @ ..] = rows.files else { return Ok(Done::default()) };
    let format = Format::of(first);
    if let Some(other) = others.iter().find(|path| Format::of(path) != format) {
        return Err(Failure::new(other.display(), "is of another format than the first file"));
    }
    if job.is_repeated {
        return Err(Failure::new(first.display(), "rows of a table are not repeated"));
    }
    run(rows, job, output)
}

#[cfg(not(feature = "tables"))]
fn run<'o>(
    rows: Rows<'_>,
    _: &Job<'_>,
    _: impl FnOnce() -> Result<&'o mut Output, Failure>,
) -> Result<Done, Failure> {
    let why = "this bshuf was built without the feature `tables`, for Parquet and Arrow files";
    Err(Failure::new(rows.files[0].display(), why))
}

#[cfg(feature = "tables")]
use enabled::run;

#[cfg(feature = "tables")]
mod enabled {
    use std::error::Error;
    use std::fs::{File, Metadata};
    use std::io::{self, BufWriter, Write};
    use std::path::{Path, PathBuf};
    use std::sync::Arc;

    use bijective_shuffle_cli::files::Summary;
    use bijective_shuffle_cli::tables::{
        IpcTable, Joined, ParquetTable, Table, TableError, TableShuffle, TableWriter,
    };

    use super::{Format, Rows};
    use crate::failure::{Context, Failure};
    use crate::inputs::CHANGED;
    use crate::job::{Done, Job};
    use crate::memory::Memory;
    use crate::output::Output;

    /// A file that is read, and what is known of it at the start.
    struct Opened<'a> {
        path: &'a Path,
        metadata: Metadata,
        file: File,
    }

    impl<'a> Opened<'a> {
        fn new(path: &'a PathBuf) -> Result<Self, Failure> {
            let file = File::open(path).context(path.display())?;
            let metadata = file.metadata().context(path.display())?;
            if !metadata.is_file() {
                let why = "a Parquet or Arrow file has to be a regular file";
                return Err(Failure::new(path.display(), why));
            }
            Ok(Self { path, metadata, file })
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

    /// The output, and how much went there.
    struct Counted<'o> {
        output: &'o mut Output,
        bytes: u64,
    }

    impl Write for Counted<'_> {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let count = self.output.write(bytes)?;
            self.bytes += count as u64;
            Ok(count)
        }

        fn flush(&mut self) -> io::Result<()> {
            self.output.flush()
        }
    }

    /// The rows of files of one format, one file after the other.
    pub(super) fn run<'o>(
        rows: Rows<'_>,
        job: &Job<'_>,
        output: impl FnOnce() -> Result<&'o mut Output, Failure>,
    ) -> Result<Done, Failure> {
        let opened = rows.files.iter().map(Opened::new).collect::<Result<Vec<_>, _>>()?;
        let mut output = Counted { output: output()?, bytes: 0 };
        let memory = job.memory;
        Memory::give_back(memory);
        let done = match Format::of(opened[0].path) {
            Some(Format::Parquet) => {
                let (like, table) = open(&opened, |file| ParquetTable::open(file, memory))?;
                let writer = like.writer(&mut output, memory / 4);
                write(rows, job, &table, writer.map(|writer| Box::new(writer) as _))
            }
            _ => {
                let (like, table) = open(&opened, |file| IpcTable::open(file, memory))?;
                let writer = like.writer(BufWriter::new(&mut output));
                write(rows, job, &table, writer.map(|writer| Box::new(writer) as _))
            }
        };
        let name = match opened.as_slice() {
            [one] => one.path.display().to_string(),
            _ => "the inputs".to_owned(),
        };
        let done = done.map_err(|error| explain(error, &name, output.output))?;
        output.flush().map_err(|error| output.output.failure(&error))?;
        opened.iter().try_for_each(Opened::check)?;
        Ok(Done { bytes: output.bytes, ..done })
    }

    /// The first table, and all of them as one.
    fn open<T: Table + Send + 'static>(
        opened: &[Opened<'_>],
        open: impl Fn(File) -> Result<T, TableError>,
    ) -> Result<(Arc<T>, Joined), Failure> {
        let open = |one: &Opened<'_>| {
            let table = open(one.file()?);
            table.map(Arc::new).map_err(|error| Failure::new(one.path.display(), line(&error)))
        };
        let tables = opened.iter().map(open).collect::<Result<Vec<_>, _>>()?;
        let first = Arc::clone(&tables[0]);
        let tables = tables.into_iter().map(|table| Box::new(table) as Box<dyn Table>);
        let joined = Joined::new(tables.collect()).map_err(|error| match error {
            TableError::OtherColumns { table } => {
                Failure::new(opened[table].path.display(), "has other columns than the first file")
            }
            error => Failure::new("the inputs", line(&error)),
        })?;
        Ok((first, joined))
    }

    fn write(
        rows: Rows<'_>,
        job: &Job<'_>,
        table: &dyn Table,
        writer: Result<Box<dyn TableWriter + '_>, TableError>,
    ) -> Result<Done, TableError> {
        let mut writer = writer?;
        // It could not be joined if the sum could not be counted.
        let found = table.groups().iter().sum();
        let order = job.selection.order(found)?;
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
                (shuffle.run(&order, table, &mut store, &mut *writer, job.progress)?, true)
            }
        };
        writer.finish()?;
        let items = summary.items;
        Ok(Done { found, items, summary: is_outside.then_some(summary), ..Done::default() })
    }

    /// What is said of an error.
    fn explain(error: TableError, inputs: &str, output: &Output) -> Failure {
        match &error {
            TableError::Write(_) => match io_error(&error) {
                Some(error) => output.failure(error),
                None => output.failure(&io::Error::other(line(&error))),
            },
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
    fn io_error<'e>(error: &'e (dyn Error + 'static)) -> Option<&'e io::Error> {
        error.downcast_ref().or_else(|| error.source().and_then(io_error))
    }

    /// An error in one line.
    fn line(error: &TableError) -> String {
        let advice = match error {
            TableError::TooLarge { .. } => ": raise --memory",
            _ => "",
        };
        error.to_string().replace('\n', " ") + advice
    }
}
