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
use parquet::file::properties::WriterProperties;

use super::error::TableError;
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
    bytes: u64,
}

impl ParquetTable {
    /// Reads the metadata of a file.
    ///
    /// # Errors
    ///
    /// [`TableError::Read`], and [`TableError::Unsupported`] for a column of type INT96, which
    /// could not be written again, and for a file without columns.
    pub fn open(file: File) -> Result<Self, TableError> {
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
        let of_group = |size: i64| u64::try_from(size).unwrap_or(0);
        let groups = metadata.metadata().row_groups();
        let bytes = groups.iter().map(|group| of_group(group.total_byte_size())).sum();
        let groups = groups.iter().map(|group| of_group(group.num_rows())).collect();
        Ok(Self { file, metadata, groups, bytes })
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
        self.bytes
    }

    fn read(&self, groups: &[usize], rows: usize) -> Result<Batches<'_>, TableError> {
        let file = self.file.try_clone().map_err(TableError::read)?;
        let metadata = self.metadata.clone();
        let reader = ParquetRecordBatchReaderBuilder::new_with_metadata(file, metadata)
            .with_row_groups(groups.to_vec())
            .with_batch_size(rows)
            .build()
            .map_err(TableError::read)?;
        Ok(Box::new(reader.map(|batch| batch.map_err(TableError::read))))
    }
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
