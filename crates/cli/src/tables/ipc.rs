//! [`IpcTable`]: the rows of an Arrow IPC file, which is also called Feather.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::iter;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, RecordBatch, make_array, new_empty_array};
use arrow_buffer::Buffer;
use arrow_ipc::reader::{read_dictionary, read_record_batch};
use arrow_ipc::writer::{FileWriter, IpcWriteOptions};
use arrow_ipc::{Block, CompressionType};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};

use super::batches::rows_of;
use super::error::{TableError, checked_sum};
use super::excerpt::{can_be_divided, rows_of_batch};
use super::guard::guarded;
use super::layout::{StoredBatch, TableLayout, garbled, message, read_at};
use super::table::{About, RowBatches, TableFile, TableWriter, part_of};
use crate::files::FilesError;

/// An Arrow IPC file, whose groups are its record batches.
///
/// A record batch that takes more than a quarter of the memory is read in parts, and others are
/// read whole. The dictionaries stay in memory. Columns of dictionaries are moved as the numbers in
/// them, so the dictionary stays as it is. Tables can be joined if they have the same, as the
/// shards of one run have, or as far as one has any that begins as those of the others.
#[derive(Debug)]
pub struct IpcTable {
    file: File,
    /// What the dictionaries may take, and a record batch that is read whole.
    most: u64,
    /// The schema of the file, where that of the batches has numbers in place of dictionaries.
    schema: SchemaRef,
    metadata: HashMap<String, String>,
    compression: Option<CompressionType>,
    batches: Vec<StoredBatch>,
    about: About,
}

impl IpcTable {
    /// Reads the metadata of a file, and the dictionaries.
    ///
    /// # Errors
    ///
    /// [`TableError::Read`], [`TableError::Unsupported`] for a dictionary within a list or a
    /// structure and for a file without columns, and [`TableError::TooLarge`] if the dictionaries
    /// take more than a quarter of `memory` bytes, or a record batch does that cannot be read in
    /// parts, because it is compressed or has columns of unions, of runs, or of views of lists.
    pub fn open(file: File, memory: usize) -> Result<Self, TableError> {
        guarded(|| Self::open_unguarded(file, memory as u64 / 4))
    }

    fn open_unguarded(file: File, most: u64) -> Result<Self, TableError> {
        let TableLayout { schema, metadata, dictionaries: values, batches, compression } =
            TableLayout::read(&file)?;
        if schema.fields().is_empty() {
            return Err(TableError::Unsupported("a file without columns".to_owned()));
        }
        let plain: Result<Vec<Field>, TableError> =
            schema.fields().iter().map(|field| plain_field(field)).collect();
        let plain = Arc::new(Schema::new_with_metadata(plain?, schema.metadata().clone()));
        let of_values = checked_sum(values.iter().map(|stored| stored.cost))?;
        TableError::check_size(|| "its dictionaries take".to_owned(), of_values, most)?;
        let can_be_divided = can_be_divided(&plain);
        for (number, stored) in batches.iter().enumerate() {
            if stored.is_compressed || !can_be_divided {
                let what = || format!("its record batch {number}, counted from 0, takes");
                TableError::check_size(what, stored.cost, most)?;
            }
        }
        let mut by_id = HashMap::new();
        for StoredBatch { block, .. } in values {
            let (head, body) = read_block(&file, &block)?;
            let message = message(&head)?;
            let batch = message.header_as_dictionary_batch().ok_or_else(garbled)?;
            read_dictionary(&body, batch, &schema, &mut by_id, &message.version())
                .map_err(TableError::read)?;
        }
        let dictionary = |field: &Arc<Field>| match field.data_type() {
            DataType::Dictionary(_, values) => {
                #[expect(deprecated, reason = "there is no other way to tell yet")]
                let found = field.dict_id().and_then(|id| by_id.get(&id).cloned());
                // It may be missing if all values are null.
                Some(found.unwrap_or_else(|| new_empty_array(values)))
            }
            _ => None,
        };
        let groups: Vec<u64> = batches.iter().map(|stored| stored.rows).collect();
        checked_sum(groups.iter().copied())?;
        let about = About {
            dictionaries: schema.fields().iter().map(dictionary).collect(),
            bytes: batches.iter().fold(0, |sum, stored| sum.saturating_add(stored.bytes)),
            ..About::new(plain, groups)
        };
        let mut table = Self { file, most, schema, metadata, compression, batches, about };
        table.set_dictionaries(Arc::clone(&table.about.dictionaries));
        Ok(table)
    }

    /// Shares the memory of another table's dictionaries if its own are equal.
    pub fn share(&mut self, other: &Self) {
        if self.about.dictionaries == other.about.dictionaries {
            self.set_dictionaries(Arc::clone(&other.about.dictionaries));
        }
    }

    fn set_dictionaries(&mut self, dictionaries: Arc<[Option<ArrayRef>]>) {
        let held = dictionaries.iter().flatten().map(|values| values.get_array_memory_size());
        let whole = self.batches.iter().map(|stored| stored.cost).filter(|&cost| cost <= self.most);
        self.about.held = (held.sum::<usize>() as u64).saturating_add(whole.max().unwrap_or(0));
        self.about.dictionaries = dictionaries;
    }

    /// A record batch, with numbers in place of dictionaries.
    fn whole(&self, number: usize) -> Result<RecordBatch, TableError> {
        let (head, body) = read_block(&self.file, &self.batches[number].block)?;
        let message = message(&head)?;
        let batch = message.header_as_record_batch().ok_or_else(garbled)?;
        let (plain, none) = (self.about.schema.clone(), HashMap::new());
        let batch = read_record_batch(&body, batch, plain, &none, None, &message.version())
            .map_err(TableError::read)?;
        if batch.num_rows() as u64 != self.about.groups[number] {
            return Err(FilesError::Changed.into());
        }
        let columns = 0..batch.num_columns();
        self.checked(batch, columns)
    }

    /// At most this many rows of some columns of a record batch from this one on, or fewer if they
    /// take much more than this many bytes.
    fn rows_from(
        &self,
        number: usize,
        columns: &Range<usize>,
        start: u64,
        rows: u64,
        bytes: u64,
    ) -> Result<RecordBatch, TableError> {
        let end = self.about.groups[number].min(start.saturating_add(rows));
        let most = if end - start > 1 { bytes.saturating_mul(4).min(self.most) } else { self.most };
        let block = &self.batches[number].block;
        match rows_of_batch(&self.file, block, &self.about.schema, columns, start..end, most)? {
            Some(batch) => self.checked(batch, columns.clone()),
            None if end - start > 1 => {
                self.rows_from(number, columns, start, (end - start) / 2, bytes)
            }
            None => Err(TableError::TooLarge {
                what: format!(
                    "row {start} of record batch {number}, both counted from 0, takes more than"
                ),
                bytes: most,
                most,
            }),
        }
    }

    /// A batch in which all numbers in these columns are of values in the dictionaries.
    fn checked(
        &self,
        batch: RecordBatch,
        columns: Range<usize>,
    ) -> Result<RecordBatch, TableError> {
        let schema = part_of(&self.schema, columns.clone());
        let whole = whole_batch(&batch, &schema, &self.about.dictionaries[columns]);
        whole.map(|_| batch).map_err(TableError::read)
    }
}

/// A batch with its dictionaries again.
fn whole_batch(
    batch: &RecordBatch,
    schema: &SchemaRef,
    dictionaries: &[Option<ArrayRef>],
) -> Result<RecordBatch, ArrowError> {
    let columns = batch.columns().iter().zip(schema.fields()).zip(dictionaries);
    let columns = columns.map(|((column, field), values)| match values {
        None => Ok(Arc::clone(column)),
        Some(values) => {
            let data = column.to_data().into_builder().data_type(field.data_type().clone());
            data.child_data(vec![values.to_data()]).build().map(make_array)
        }
    });
    RecordBatch::try_new(schema.clone(), columns.collect::<Result<_, _>>()?)
}

/// The field with numbers in place of a dictionary.
fn plain_field(field: &Field) -> Result<Field, TableError> {
    match field.data_type() {
        DataType::Dictionary(key, _) => {
            Ok(Field::new(field.name(), (**key).clone(), field.is_nullable()))
        }
        _ => {
            let schema = Schema::new(vec![field.clone()]);
            let is_dictionary = |one: &&Field| matches!(one.data_type(), DataType::Dictionary(..));
            if schema.flattened_fields().iter().any(is_dictionary) {
                let what = format!("column {}, which has a dictionary in it,", field.name());
                return Err(TableError::Unsupported(what));
            }
            Ok(field.clone())
        }
    }
}

impl TableFile for IpcTable {
    fn agree(tables: &mut [Self]) -> Result<(), TableError> {
        let Some((first, others)) = tables.split_first() else { return Ok(()) };
        // Files of other columns cannot be joined anyway.
        if others.iter().any(|table| table.schema.fields() != first.schema.fields()) {
            return Ok(());
        }
        let longest = |column: usize| {
            let found = tables.iter().filter_map(|table| table.about.dictionaries[column].as_ref());
            // The first of those, so that others are the ones that differ.
            found.reduce(|one, other| if other.len() > one.len() { other } else { one }).cloned()
        };
        let all: Arc<[_]> = (0..first.about.dictionaries.len()).map(longest).collect();
        for (number, table) in tables.iter_mut().enumerate() {
            // The tables of one run share it.
            let other = table.about.dictionaries.iter().zip(all.iter()).position(|(own, all)| {
                let pair = own.as_ref().zip(all.as_ref());
                pair.is_some_and(|(own, all)| *own != all.slice(0, own.len()))
            });
            if let Some(column) = other {
                let column = table.schema.field(column).name().clone();
                return Err(TableError::OtherDictionary { table: number, column });
            }
            table.set_dictionaries(Arc::clone(&all));
        }
        Ok(())
    }

    fn about(&self) -> &About {
        &self.about
    }

    fn read(
        &self,
        group: usize,
        columns: Range<usize>,
        bytes: u64,
    ) -> Result<RowBatches<'_>, TableError> {
        let (stored, all) = (self.batches[group], self.about.groups[group]);
        // A part of the columns takes about its part of the bytes.
        let of_columns =
            stored.bytes / self.about.schema.fields().len() as u64 * columns.len() as u64;
        let rows = rows_of(bytes, of_columns, all) as u64;
        let whole = if stored.cost > self.most || all == 0 {
            None
        } else {
            let columns: Vec<usize> = columns.clone().collect();
            Some(self.whole(group)?.project(&columns).map_err(TableError::read)?)
        };
        let mut start = 0;
        Ok(Box::new(iter::from_fn(move || {
            (start < all).then(|| {
                let batch = match &whole {
                    Some(whole) => whole.slice(start as usize, rows.min(all - start) as usize),
                    None => self.rows_from(group, &columns, start, rows, bytes)?,
                };
                start += batch.num_rows() as u64;
                Ok(batch)
            })
        })))
    }

    fn writer<'w>(
        &self,
        output: Box<dyn Write + Send + 'w>,
        _: usize,
    ) -> Result<Box<dyn TableWriter + 'w>, TableError> {
        let options = IpcWriteOptions::default()
            .try_with_compression(self.compression)
            .map_err(TableError::write)?;
        let output = BufWriter::new(output);
        let mut writer = FileWriter::try_new_with_options(output, &self.schema, options)
            .map_err(TableError::write)?;
        for (key, value) in &self.metadata {
            writer.write_metadata(key, value);
        }
        let (schema, dictionaries) = (self.schema.clone(), Arc::clone(&self.about.dictionaries));
        Ok(Box::new(IpcWriter { writer, schema, dictionaries }))
    }
}

/// The head of a block, all of which is in the file, and its buffers.
fn read_block(file: &File, block: &Block) -> Result<(Buffer, Buffer), TableError> {
    // Checked when the file was opened.
    let (offset, head) = (block.offset() as u64, block.metaDataLength() as usize);
    let length = usize::try_from(head as u64 + block.bodyLength() as u64);
    let block = read_at(file, offset, length.map_err(TableError::read)?)?;
    Ok((block.slice_with_length(0, head), block.slice(head)))
}

struct IpcWriter<W> {
    writer: FileWriter<W>,
    schema: SchemaRef,
    dictionaries: Arc<[Option<ArrayRef>]>,
}

impl<W: Write + Send> TableWriter for IpcWriter<W> {
    fn write(&mut self, batch: &RecordBatch) -> Result<(), TableError> {
        let batch = whole_batch(batch, &self.schema, &self.dictionaries);
        self.writer.write(&batch.map_err(TableError::write)?).map_err(TableError::write)
    }

    fn finish(mut self: Box<Self>) -> Result<(), TableError> {
        self.writer.finish().map_err(TableError::write)
    }
}
