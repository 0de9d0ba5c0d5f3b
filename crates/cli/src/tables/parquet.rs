//! [`ParquetTable`]: the rows of a Parquet file.

use std::fmt;
use std::fs::File;
use std::io::Write;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder,
};
use parquet::arrow::arrow_writer::ArrowWriterOptions;
use parquet::basic::Type;
use parquet::column::page::Page;
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader, SerializedFileReader};

use super::batches::rows_of;
use super::error::{TableError, checked_sum};
use super::guard::{guarded, guarded_batches};
use super::table::{Batches, Table, TableWriter};

/// A Parquet file.
///
/// Its columns are read as their Parquet types say, and not as the Arrow schema that some programs
/// store beside them. So they are written as they were, and that schema is kept as it is.
#[derive(Debug)]
pub struct ParquetTable {
    file: File,
    metadata: ArrowReaderMetadata,
    groups: Vec<u64>,
    /// What the groups take in memory.
    bytes: Vec<u64>,
}

/// The most bytes of a page, as programs write them. There may be larger ones.
const PAGE: u64 = 1 << 20;

impl ParquetTable {
    /// Reads the metadata of a file.
    ///
    /// # Errors
    ///
    /// [`TableError::Read`], [`TableError::Unsupported`] for a column of type INT96, which could
    /// not be written again, and for a file without columns, and [`TableError::TooLarge`] if a page
    /// of each column takes more than half of `memory` bytes.
    pub fn open(file: File, memory: usize) -> Result<Self, TableError> {
        guarded(|| Self::open_unguarded(file, memory as u64 / 2))
    }

    fn open_unguarded(file: File, most: u64) -> Result<Self, TableError> {
        let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
        let metadata = ArrowReaderMetadata::load(&file, options).map_err(TableError::read)?;
        let columns = metadata.parquet_schema().columns();
        if columns.is_empty() {
            return Err(TableError::Unsupported("a file without columns".to_owned()));
        }
        if let Some(column) = columns.iter().find(|one| one.physical_type() == Type::INT96) {
            let what = format!("column {} of the old type INT96", column.path().string());
            return Err(TableError::Unsupported(what));
        }
        let reader = SerializedFileReader::new(file.try_clone().map_err(TableError::read)?);
        let reader = reader.map_err(TableError::read)?;
        let (mut groups, mut bytes) = (Vec::new(), Vec::new());
        for (number, group) in metadata.metadata().row_groups().iter().enumerate() {
            let what = || format!("row group {number}, counted from 0, has a size that is none");
            let size = |size: i64| u64::try_from(size).map_err(|_| TableError::read(what()));
            let mut of_pages = 0_u64;
            let mut of_rows = 0_u64;
            for (index, column) in group.columns().iter().enumerate() {
                let encoded = size(column.uncompressed_size())?;
                let values = size(column.num_values())?;
                let (dictionary, longest) = match column.column_type() {
                    Type::BYTE_ARRAY => dictionary_of_texts(&reader, number, index)?,
                    _ => (PAGE, 0),
                };
                of_pages = of_pages.saturating_add(encoded.min(PAGE + dictionary));
                let decoded = decoded_bytes(column, encoded, values, longest);
                of_rows = of_rows.saturating_add(decoded);
            }
            let columns = group.num_columns();
            let what = || format!("a page of each of its {columns} columns takes");
            TableError::check_size(what, of_pages, most)?;
            groups.push(size(group.num_rows())?);
            bytes.push(of_rows);
        }
        checked_sum(groups.iter().copied())?;
        Ok(Self { file, metadata, groups, bytes })
    }

    /// The rows of a group, so many at a time.
    fn read_group(&self, group: usize, rows: usize) -> Result<Batches<'_>, TableError> {
        let file = self.file.try_clone().map_err(TableError::read)?;
        let reader =
            ParquetRecordBatchReaderBuilder::new_with_metadata(file, self.metadata.clone())
                .with_row_groups(vec![group])
                .with_batch_size(rows)
                .build()
                .map_err(TableError::read)?;
        Ok(Box::new(reader.map(|batch| batch.map_err(TableError::read))))
    }

    /// A file of the same schema, metadata and compression. Its row groups have as many rows as the
    /// largest of this file, unless they would take more than this many bytes of memory.
    ///
    /// # Errors
    ///
    /// [`TableError::Write`].
    pub fn writer<W: Write + Send>(
        &self,
        output: W,
        group_bytes: usize,
    ) -> Result<ParquetWriter<W>, TableError> {
        let metadata = self.metadata.metadata();
        let rows = self.groups.iter().copied().max().unwrap_or(0).max(1);
        let mut properties = WriterProperties::builder()
            .set_max_row_group_row_count(usize::try_from(rows).ok())
            .set_max_row_group_bytes(Some(group_bytes.max(1)))
            .set_key_value_metadata(metadata.file_metadata().key_value_metadata().cloned());
        // All groups of a file are usually compressed alike.
        for column in metadata.row_groups().first().iter().flat_map(|group| group.columns()) {
            let path = column.column_path();
            let has_dictionary = column.dictionary_page_offset().is_some();
            properties = properties
                .set_column_compression(path.clone(), column.compression())
                .set_column_dictionary_enabled(path.clone(), has_dictionary);
        }
        let options = ArrowWriterOptions::new()
            .with_properties(properties.build())
            .with_skip_arrow_metadata(true)
            .with_parquet_schema(self.metadata.parquet_schema().clone());
        let writer = ArrowWriter::try_new_with_options(output, self.schema(), options);
        Ok(ParquetWriter { writer: writer.map_err(TableError::write)? })
    }
}

impl Table for ParquetTable {
    fn schema(&self) -> SchemaRef {
        self.metadata.schema().clone()
    }

    fn groups(&self) -> &[u64] {
        &self.groups
    }

    fn bytes(&self) -> u64 {
        self.bytes.iter().fold(0, |sum, bytes| sum.saturating_add(*bytes))
    }

    fn read(&self, groups: &[usize], bytes: u64) -> Result<Batches<'_>, TableError> {
        let groups = groups.to_vec();
        let batches = groups.into_iter().flat_map(move |group| {
            self.read_group(group, rows_of(bytes, self.bytes[group], self.groups[group]))
                .unwrap_or_else(|error| Box::new([Err(error)].into_iter()))
        });
        Ok(guarded_batches(Box::new(batches)))
    }
}

/// The length of the dictionary of a column, and of the longest text in it, if there is one.
fn dictionary_of_texts(
    reader: &SerializedFileReader<File>,
    group: usize,
    column: usize,
) -> Result<(u64, u64), TableError> {
    let group = reader.get_row_group(group).map_err(TableError::read)?;
    if group.metadata().column(column).dictionary_page_offset().is_none() {
        return Ok((0, 0));
    }
    let mut pages = group.get_column_page_reader(column).map_err(TableError::read)?;
    let page = pages.get_next_page().map_err(TableError::read)?;
    let Some(Page::DictionaryPage { buf, .. }) = page else { return Ok((0, 0)) };
    // Each text has its length before it.
    let (mut rest, mut longest) = (&buf[..], 0);
    while let Some((length, texts)) = rest.split_first_chunk() {
        let length = u32::from_le_bytes(*length);
        longest = longest.max(length.into());
        rest = texts.get(length as usize..).unwrap_or_default();
    }
    Ok((buf.len() as u64, longest))
}

/// About what the values of a column take in memory, at least where they are of one size or the
/// file says so, and else at most.
fn decoded_bytes(column: &ColumnChunkMetaData, encoded: u64, values: u64, longest: u64) -> u64 {
    let width = match column.column_type() {
        Type::BOOLEAN => 1,
        Type::INT32 | Type::FLOAT => 4,
        Type::INT64 | Type::DOUBLE => 8,
        Type::INT96 => 12,
        Type::FIXED_LEN_BYTE_ARRAY => {
            u64::try_from(column.column_descr().type_length()).unwrap_or(0)
        }
        Type::BYTE_ARRAY => 4,
    };
    // Where lists begin and end, and what is null, is decoded too.
    let levels = 2 * u64::from(column.column_descr().max_rep_level() > 0)
        + 2 * u64::from(column.column_descr().max_def_level() > 0);
    let texts = match column.unencoded_byte_array_data_bytes() {
        Some(bytes) => u64::try_from(bytes).unwrap_or(0),
        None => values.saturating_mul(longest),
    };
    let texts = if column.column_type() == Type::BYTE_ARRAY { texts.max(encoded) } else { 0 };
    values.saturating_mul(width + levels).saturating_add(texts)
}

/// Writes a Parquet file.
pub struct ParquetWriter<W: Write> {
    writer: ArrowWriter<W>,
}

impl<W: Write> fmt::Debug for ParquetWriter<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ParquetWriter").finish_non_exhaustive()
    }
}

impl<W: Write + Send> TableWriter for ParquetWriter<W> {
    fn write(&mut self, batch: &RecordBatch) -> Result<(), TableError> {
        self.writer.write(batch).map_err(TableError::write)
    }

    fn finish(self: Box<Self>) -> Result<(), TableError> {
        self.writer.close().map(drop).map_err(TableError::write)
    }
}
