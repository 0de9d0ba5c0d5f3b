//! [`IpcTable`]: the rows of an Arrow IPC file, which is also called Feather.

use std::collections::HashMap;
use std::fmt;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch, make_array};
use arrow_buffer::{Buffer, MutableBuffer};
use arrow_ipc::reader::FileDecoder;
use arrow_ipc::writer::{FileWriter, IpcWriteOptions};
use arrow_ipc::{Block, CompressionType};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};

use super::batches::rows_of;
use super::error::{TableError, checked_sum};
use super::guard::{guarded, guarded_batches};
use super::layout::{Layout, Part};
use super::table::{Batches, Table, TableWriter};

/// An Arrow IPC file, whose groups are its record batches.
///
/// A record batch is read whole, and the dictionaries stay in memory. Columns of dictionaries are
/// moved as the numbers in them, so the dictionary stays as it is.
#[derive(Debug)]
pub struct IpcTable {
    file: File,
    /// Has the dictionaries.
    decoder: FileDecoder,
    /// The schema of the file.
    schema: SchemaRef,
    /// The same, with numbers in place of dictionaries.
    plain: SchemaRef,
    /// The values of those columns that are dictionaries.
    dictionaries: Arc<[Option<ArrayRef>]>,
    metadata: HashMap<String, String>,
    compression: Option<CompressionType>,
    blocks: Vec<Block>,
    groups: Vec<u64>,
    /// What the groups take in memory.
    bytes: Vec<u64>,
}

impl IpcTable {
    /// Reads the metadata of a file, and the dictionaries.
    ///
    /// # Errors
    ///
    /// [`TableError::Read`], [`TableError::Unsupported`] for a dictionary within a list or a
    /// structure and for a file without columns, and [`TableError::TooLarge`] if the dictionaries,
    /// or one of the record batches, take more than a quarter of `memory` bytes.
    pub fn open(file: File, memory: usize) -> Result<Self, TableError> {
        guarded(|| Self::open_unguarded(file, memory as u64 / 4))
    }

    fn open_unguarded(mut file: File, most: u64) -> Result<Self, TableError> {
        let Layout { schema, version, metadata, dictionaries: values, batches, compression } =
            Layout::read(&file)?;
        if schema.fields().is_empty() {
            return Err(TableError::Unsupported("a file without columns".to_owned()));
        }
        let plain: Result<Vec<Field>, TableError> =
            schema.fields().iter().map(|field| plain_field(field)).collect();
        let plain = Arc::new(Schema::new_with_metadata(plain?, schema.metadata().clone()));
        let of_values = checked_sum(values.iter().map(|part| part.cost))?;
        TableError::check_size(|| "its dictionaries take".to_owned(), of_values, most)?;
        for (number, &Part { cost, .. }) in batches.iter().enumerate() {
            let what = || format!("its record batch {number}, counted from 0, takes");
            TableError::check_size(what, cost, most)?;
        }
        let mut decoder = FileDecoder::new(schema.clone(), version);
        for Part { block, .. } in values {
            let buffer = read_block(&mut file, &block)?;
            decoder.read_dictionary(&block, &buffer).map_err(TableError::read)?;
        }
        let groups: Vec<u64> = batches.iter().map(|part| part.rows).collect();
        checked_sum(groups.iter().copied())?;
        let mut table = Self {
            file,
            decoder,
            dictionaries: vec![None; schema.fields().len()].into(),
            schema,
            plain,
            metadata,
            compression,
            blocks: batches.iter().map(|part| part.block).collect(),
            groups,
            bytes: batches.iter().map(|part| part.bytes).collect(),
        };
        if table.plain.fields() != table.schema.fields() && !table.blocks.is_empty() {
            let first = table.batch(0)?;
            let values = |column: &ArrayRef| {
                column.as_any_dictionary_opt().map(|column| column.values().clone())
            };
            table.dictionaries = first.columns().iter().map(values).collect();
        }
        Ok(table)
    }

    /// A record batch as it is in the file.
    fn batch(&self, number: usize) -> Result<RecordBatch, TableError> {
        let mut file = self.file.try_clone().map_err(TableError::read)?;
        let block = &self.blocks[number];
        let buffer = read_block(&mut file, block)?;
        let batch = self.decoder.read_record_batch(block, &buffer).map_err(TableError::read)?;
        batch
            .filter(|batch| batch.num_rows() as u64 == self.groups[number])
            .ok_or(TableError::Changed)
    }

    /// A file of the same schema, metadata and compression.
    ///
    /// # Errors
    ///
    /// [`TableError::Write`].
    pub fn writer<W: Write>(&self, output: W) -> Result<IpcWriter<W>, TableError> {
        let options = IpcWriteOptions::default()
            .try_with_compression(self.compression)
            .map_err(TableError::write)?;
        let mut writer = FileWriter::try_new_with_options(output, &self.schema, options)
            .map_err(TableError::write)?;
        for (key, value) in &self.metadata {
            writer.write_metadata(key, value);
        }
        let (schema, dictionaries) = (self.schema.clone(), Arc::clone(&self.dictionaries));
        Ok(IpcWriter { writer, schema, dictionaries })
    }

    /// A batch with numbers in place of dictionaries, which have to be those of the first batch.
    fn plain_batch(&self, batch: &RecordBatch) -> Result<RecordBatch, TableError> {
        let columns = batch.columns().iter().zip(self.dictionaries.iter());
        let columns =
            columns.map(|(column, values)| match (column.as_any_dictionary_opt(), values) {
                (None, _) => Ok(Arc::clone(column)),
                (Some(found), Some(values))
                    if found.values().to_data().ptr_eq(&values.to_data())
                        || found.values() == values =>
                {
                    Ok(make_array(found.keys().to_data()))
                }
                (Some(_), _) => Err(TableError::Unsupported(
                    "a dictionary that changes within a file".to_owned(),
                )),
            });
        let columns = columns.collect::<Result<Vec<_>, _>>()?;
        RecordBatch::try_new(self.plain.clone(), columns).map_err(TableError::read)
    }
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

impl Table for IpcTable {
    fn schema(&self) -> SchemaRef {
        self.plain.clone()
    }

    fn groups(&self) -> &[u64] {
        &self.groups
    }

    fn can_be_joined(&self) -> bool {
        // Another file has other dictionaries, and so other numbers for the same values.
        self.plain.fields() == self.schema.fields()
    }

    fn bytes(&self) -> u64 {
        self.bytes.iter().fold(0, |sum, bytes| sum.saturating_add(*bytes))
    }

    fn read(&self, groups: &[usize], bytes: u64) -> Result<Batches<'_>, TableError> {
        let groups = groups.to_vec();
        let batches = groups.into_iter().map(move |group| {
            let batch = guarded(|| self.plain_batch(&self.batch(group)?))?;
            Ok((batch, rows_of(bytes, self.bytes[group], self.groups[group])))
        });
        Ok(guarded_batches(Box::new(batches.flat_map(|batch| -> Batches<'_> {
            match batch {
                Err(error) => Box::new([Err(error)].into_iter()),
                Ok((batch, rows)) => {
                    let starts = (0..batch.num_rows()).step_by(rows);
                    Box::new(starts.map(move |start| {
                        Ok(batch.slice(start, rows.min(batch.num_rows() - start)))
                    }))
                }
            }
        }))))
    }
}

/// The bytes of a block, all of which is in the file.
fn read_block(file: &mut File, block: &Block) -> Result<Buffer, TableError> {
    // Checked when the file was opened.
    let (offset, length) = (block.offset() as u64, block.metaDataLength() as u64);
    let length = length + block.bodyLength() as u64;
    file.seek(SeekFrom::Start(offset)).map_err(TableError::read)?;
    let length = usize::try_from(length).map_err(TableError::read)?;
    let mut bytes = MutableBuffer::try_from_len_zeroed(length).map_err(TableError::read)?;
    file.read_exact(&mut bytes).map_err(TableError::read)?;
    Ok(bytes.into())
}

/// Writes an Arrow IPC file.
pub struct IpcWriter<W> {
    writer: FileWriter<W>,
    schema: SchemaRef,
    dictionaries: Arc<[Option<ArrayRef>]>,
}

impl<W> fmt::Debug for IpcWriter<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IpcWriter").field("schema", &self.schema).finish_non_exhaustive()
    }
}

impl<W: Write> IpcWriter<W> {
    /// A batch with its dictionaries again.
    fn whole_batch(&self, batch: &RecordBatch) -> Result<RecordBatch, ArrowError> {
        let columns = batch.columns().iter().zip(self.schema.fields()).zip(&*self.dictionaries);
        let columns = columns.map(|((column, field), values)| match values {
            None => Ok(Arc::clone(column)),
            Some(values) => {
                let data = column.to_data().into_builder().data_type(field.data_type().clone());
                data.child_data(vec![values.to_data()]).build().map(make_array)
            }
        });
        RecordBatch::try_new(self.schema.clone(), columns.collect::<Result<_, _>>()?)
    }
}

impl<W: Write> TableWriter for IpcWriter<W> {
    fn write(&mut self, batch: &RecordBatch) -> Result<(), TableError> {
        let batch = self.whole_batch(batch).map_err(TableError::write)?;
        self.writer.write(&batch).map_err(TableError::write)
    }

    fn finish(mut self: Box<Self>) -> Result<(), TableError> {
        self.writer.finish().map_err(TableError::write)
    }
}
