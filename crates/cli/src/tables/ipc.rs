//! [`IpcTable`]: the rows of an Arrow IPC file, which is also called Feather.

use std::collections::HashMap;
use std::fmt;
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch, make_array};
use arrow_ipc::reader::{FileReader, read_footer_length};
use arrow_ipc::writer::{FileWriter, IpcWriteOptions};
use arrow_ipc::{CompressionType, root_as_footer, root_as_message};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};

use super::error::TableError;
use super::table::{Batches, Table, TableWriter};

/// The length of what ends a file: that of the footer, and a magic word.
const TRAILER: usize = 10;

/// What every file of the format begins with, padded.
const HEADER: u64 = 8;

/// An Arrow IPC file, whose groups are its record batches.
///
/// A record batch is read whole. Columns of dictionaries are moved as the numbers in them, so the
/// dictionary stays as it is.
#[derive(Debug)]
pub struct IpcTable {
    file: File,
    /// The schema of the file.
    schema: SchemaRef,
    /// The same, with numbers in place of dictionaries.
    plain: SchemaRef,
    /// The values of those columns that are dictionaries.
    dictionaries: Arc<[Option<ArrayRef>]>,
    metadata: HashMap<String, String>,
    compression: Option<CompressionType>,
    groups: Vec<u64>,
    bytes: u64,
}

impl IpcTable {
    /// Reads the metadata of a file.
    ///
    /// # Errors
    ///
    /// [`TableError::Read`], and [`TableError::Unsupported`] for a dictionary within a list or a
    /// structure, and for a file without columns.
    pub fn open(mut file: File) -> Result<Self, TableError> {
        let Layout { groups, compression, bytes } = Layout::read(&mut file)?;
        file.rewind().map_err(TableError::read)?;
        let clone = file.try_clone().map_err(TableError::read)?;
        let mut reader = FileReader::try_new(clone, None).map_err(TableError::read)?;
        let (schema, metadata) = (reader.schema(), reader.custom_metadata().clone());
        if schema.fields().is_empty() {
            return Err(TableError::Unsupported("a file without columns".to_owned()));
        }
        let plain: Result<Vec<Field>, TableError> =
            schema.fields().iter().map(|field| plain_field(field)).collect();
        let plain = Arc::new(Schema::new_with_metadata(plain?, schema.metadata().clone()));
        let mut dictionaries = vec![None; schema.fields().len()];
        if plain.fields() != schema.fields()
            && let Some(first) = reader.next()
        {
            let first = first.map_err(TableError::read)?;
            let values = |column: &ArrayRef| {
                column.as_any_dictionary_opt().map(|column| column.values().clone())
            };
            dictionaries = first.columns().iter().map(values).collect();
        }
        let dictionaries = dictionaries.into();
        Ok(Self { file, schema, plain, dictionaries, metadata, compression, groups, bytes })
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

/// What the footer and the heads of the record batches say.
struct Layout {
    groups: Vec<u64>,
    /// That of the first batch.
    compression: Option<CompressionType>,
    /// The bytes of all batches.
    bytes: u64,
}

impl Layout {
    fn read(file: &mut File) -> Result<Self, TableError> {
        let garbled =
            || TableError::read(io::Error::new(io::ErrorKind::InvalidData, "is no Arrow IPC file"));
        let end = file.seek(SeekFrom::End(0)).map_err(TableError::read)?;
        let start = end.checked_sub(TRAILER as u64).ok_or_else(garbled)?;
        let mut file = BufReader::new(file);
        let mut trailer = [0; TRAILER];
        file.seek(SeekFrom::Start(start)).map_err(TableError::read)?;
        file.read_exact(&mut trailer).map_err(TableError::read)?;
        let length = read_footer_length(trailer).map_err(|_| garbled())?;
        let start = start.checked_sub(length as u64).filter(|&at| at >= HEADER);
        let footer = read_at(&mut file, start.ok_or_else(garbled)?, length)?;
        let footer = root_as_footer(&footer).map_err(|_| garbled())?;
        let mut layout = Self { groups: Vec::new(), compression: None, bytes: 0 };
        for block in footer.recordBatches().iter().flatten() {
            let (offset, length) = (block.offset(), block.metaDataLength());
            let (offset, length) = offset
                .try_into()
                .ok()
                .zip(usize::try_from(length).ok())
                .filter(|&(offset, length): &(u64, usize)| {
                    offset.checked_add(length as u64).is_some_and(|after| after <= end)
                })
                .ok_or_else(garbled)?;
            let head = read_at(&mut file, offset, length)?;
            // Since version 0.15 of the format a mark of four bytes comes before the length.
            let head = head.strip_prefix(&[0xFF; 4]).unwrap_or(&head);
            let message = root_as_message(head.get(4..).ok_or_else(garbled)?);
            let message = message.map_err(|_| garbled())?;
            let batch = message.header_as_record_batch().ok_or_else(garbled)?;
            layout.groups.push(u64::try_from(batch.length()).map_err(|_| garbled())?);
            let compression = batch.compression().map(|compression| compression.codec());
            layout.compression = layout.compression.or(compression);
            layout.bytes += u64::try_from(block.bodyLength()).map_err(|_| garbled())?;
        }
        Ok(layout)
    }
}

fn read_at(file: &mut (impl Read + Seek), at: u64, length: usize) -> Result<Vec<u8>, TableError> {
    file.seek(SeekFrom::Start(at)).map_err(TableError::read)?;
    let mut bytes = vec![0; length];
    file.read_exact(&mut bytes).map_err(TableError::read)?;
    Ok(bytes)
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
        self.bytes
    }

    fn read(&self, groups: &[usize], rows: usize) -> Result<Batches<'_>, TableError> {
        let mut file = self.file.try_clone().map_err(TableError::read)?;
        file.rewind().map_err(TableError::read)?;
        let mut reader = FileReader::try_new_buffered(file, None).map_err(TableError::read)?;
        let groups = groups.to_vec();
        let batches = groups.into_iter().map(move |group| {
            reader.set_index(group).map_err(TableError::read)?;
            let batch = reader.next().ok_or(TableError::Changed)?.map_err(TableError::read)?;
            self.plain_batch(&batch)
        });
        Ok(Box::new(batches.flat_map(move |batch| -> Batches<'_> {
            match batch {
                Err(error) => Box::new([Err(error)].into_iter()),
                Ok(batch) => {
                    let starts = (0..batch.num_rows()).step_by(rows);
                    Box::new(starts.map(move |start| {
                        Ok(batch.slice(start, rows.min(batch.num_rows() - start)))
                    }))
                }
            }
        })))
    }
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
