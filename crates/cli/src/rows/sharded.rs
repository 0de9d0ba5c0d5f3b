//! [`ShardedWriter`]: rows to shards, one after the other.

use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::RecordBatch;
use bijective_shuffle_cli::dataset::{Hashed, ShardSink, Shards, WrittenShard};
use bijective_shuffle_cli::tables::{TableError, TableFile, TableWriter};

use crate::sets::ShardFolder;

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
pub(super) struct ShardedWriter<'w> {
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

impl<'w> ShardedWriter<'w> {
    /// Rows of a table go to shards in a folder, and those that are whole to `written`.
    pub(super) fn new(
        table: &'w dyn TableFile,
        memory: usize,
        target: &'w mut ShardFolder,
        shards: &'w Shards,
        written: &'w mut Vec<WrittenShard>,
    ) -> Self {
        Self { table, memory, target, shards, open: None, written }
    }

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
        let Some(file) = file else { return Ok(()) };
        let shard = &self.shards.list()[self.written.len()];
        self.written.push(file.commit(self.target, shard, None).map_err(written_error)?);
        Ok(())
    }
}

impl TableWriter for ShardedWriter<'_> {
    fn write(&mut self, batch: &RecordBatch) -> Result<(), TableError> {
        let mut start = 0;
        while start < batch.num_rows() {
            let Some(open) = self.open.as_mut().filter(|open| open.left > 0) else {
                if self.open.is_none() && self.written.len() == self.shards.list().len() {
                    let why = "there are more rows than in all shards";
                    return Err(TableError::Write(why.into()));
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

fn written_error(error: io::Error) -> TableError {
    TableError::Write(error.into())
}
