//! Shuffles of Parquet and Arrow IPC files that are larger than memory, by rows.
//!
//! A [`TableShuffle`] reads the rows of a [`TableFile`] and hands them to a [`TableWriter`] in
//! another [`FileOrder`](crate::files::FileOrder), the one that lines or records of that number
//! have. All columns of a row stay together. The order depends on the number of rows and on the
//! seed alone.
//!
//! | pass | reads | writes |
//! | --- | --- | --- |
//! | 1 | the table, in order | each row, and its key, to its bucket in the [`Store`](crate::files::Store) |
//! | 2 | the buckets, one after the other | the rows, in order |
//!
//! Pass 1 collects batches of rows up to a quarter of the memory, and then appends to the store,
//! for each bucket, one record batch in the format of Arrow IPC with the rows that belong there.
//! Which bucket that is follows from the seed, as in [`files`](crate::files).
//!
//! [`TableShuffle::run_blocks`] takes the order of a
//! [`BlockShuffle`](bijective_shuffle::bijection::BlockShuffle) instead, whose blocks are the row
//! groups. It reads each group once, needs no store, and holds one window of groups in memory.
//!
//! # Examples
//!
//! ```
//! use std::fs::File;
//! use std::sync::Arc;
//!
//! use arrow_array::{ArrayRef, Int64Array, RecordBatch};
//! use bijective_shuffle_cli::files::{FileOrder, TemporaryFile};
//! use bijective_shuffle_cli::tables::{IpcTable, TableFile, TableShuffle, TableWriter};
//!
//! let folder = tempfile::tempdir()?;
//! let path = folder.path().join("rows.arrow");
//! let column = Arc::new(Int64Array::from_iter_values(0..1000)) as ArrayRef;
//! let batch = RecordBatch::try_from_iter([("number", column)])?;
//! let mut writer = arrow_ipc::writer::FileWriter::try_new(File::create(&path)?, &batch.schema())?;
//! writer.write(&batch)?;
//! writer.finish()?;
//!
//! let table = IpcTable::open(File::open(&path)?, 1 << 20)?;
//! let order = FileOrder::shuffle(table.about().groups.iter().sum(), 42);
//! let mut store = TemporaryFile::in_folder(folder.path())?;
//! let mut shuffled = Vec::new();
//! let mut writer = table.writer(Box::new(&mut shuffled), 1 << 20)?;
//! TableShuffle::new(1 << 20).run(&order, &table, &mut store, &mut *writer, &())?;
//! writer.finish()?;
//! assert!(shuffled.starts_with(b"ARROW1"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod batches;
mod blocks;
mod buckets;
mod error;
mod excerpt;
mod guard;
mod int96;
mod ipc;
mod joined;
mod layout;
mod parquet;
mod place;
mod shuffle;
mod table;
#[cfg(test)]
mod tests;

pub use error::TableError;
pub use ipc::IpcTable;
pub use joined::Joined;
pub use parquet::ParquetTable;
pub use shuffle::TableShuffle;
pub use table::{About, RowBatches, TableFile, TableWriter};
