//! [`ParquetTable`]: the rows of a Parquet file.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Write;
use std::ops::Range;
use std::slice;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{DataType, Field, Fields, Schema, TimeUnit};
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder,
};
use parquet::arrow::arrow_writer::ArrowWriterOptions;
use parquet::arrow::{ArrowWriter, ProjectionMask};
use parquet::basic::Type;
use parquet::column::page::Page;
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::schema::types::SchemaDescriptor;

use super::batches::rows_of;
use super::error::{TableError, checked_sum};
use super::guard::guarded;
use super::int96::{Int96Column, Lost, name_of, retyped, written};
use super::table::{About, RowBatches, TableFile, TableWriter};

/// A Parquet file.
///
/// Its columns are read as their Parquet types say, and not as the Arrow schema that some programs
/// store beside them. So they are written as they were, and that schema is kept as it is.
///
/// The exception is the deprecated type INT96, which is written as a timestamp of 64 bits: in
/// microseconds, or in nanoseconds where a value needs them and all of them fit. It has no time
/// zone, as other readers of the type say too.
#[derive(Debug)]
pub struct ParquetTable {
    file: File,
    int96: Vec<Int96Column>,
    metadata: ArrowReaderMetadata,
    /// What the columns of each group take in memory.
    bytes: Vec<Vec<u64>>,
    about: About,
}

/// The most bytes of a page, as programs write them. There may be larger ones.
const PAGE: u64 = 1 << 20;

/// What the table takes by which the writer finds the values of a dictionary, for each column: it
/// has room for 4096 of them from the start.
const DICTIONARY: usize = 80 << 10;

impl ParquetTable {
    /// Reads the metadata of a file.
    ///
    /// # Errors
    ///
    /// [`TableError::Read`], [`TableError::Unsupported`] for a file without columns, and for times
    /// of type INT96 that Spark would take for others, [`TableError::Timestamp`] for those that no
    /// unit can hold, and
    /// [`TableError::TooLarge`] if a page and the dictionary of one column take more than half of
    /// `memory` bytes.
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
        let reader = SerializedFileReader::new(file.try_clone().map_err(TableError::read)?);
        let reader = reader.map_err(TableError::read)?;
        let width = metadata.schema().fields().len();
        let (mut groups, mut bytes) = (Vec::new(), Vec::new());
        // The most that a page of each column takes in any group.
        let mut pages = vec![0_u64; width];
        for (number, group) in metadata.metadata().row_groups().iter().enumerate() {
            let (of_pages, of_rows) = sizes_of_columns(&reader, &metadata, number)?;
            for ((most_of_page, of_page), field) in
                pages.iter_mut().zip(of_pages).zip(metadata.schema().fields())
            {
                let what =
                    || format!("a page of column {} with its dictionary takes", field.name());
                TableError::check_size(what, of_page, most)?;
                *most_of_page = of_page.max(*most_of_page);
            }
            groups.push(size(group.num_rows(), number)?);
            bytes.push(of_rows);
        }
        checked_sum(groups.iter().copied())?;
        let (cuts, pages) = cuts(&pages, most / 2);
        let int96 = columns.iter().enumerate();
        let int96 = int96.filter(|(_, column)| column.physical_type() == Type::INT96);
        let int96 = int96.map(|(number, _)| Int96Column::read(&reader, number));
        let int96 = int96.collect::<Result<_, _>>()?;
        let all_bytes =
            bytes.iter().flatten().fold(0, |sum: u64, bytes| sum.saturating_add(*bytes));
        let about = About {
            bytes: all_bytes,
            // A page and what it is decoded to, as of a dictionary.
            held: pages.saturating_mul(2),
            cuts,
            ..About::new(metadata.schema().clone(), groups)
        };
        let mut table = Self { file, int96, metadata, bytes, about };
        Self::agree(slice::from_mut(&mut table))?;
        Ok(table)
    }

    /// The column of type INT96 that has this number among those of Parquet.
    fn int96(&self, number: usize) -> Option<&Int96Column> {
        self.int96.iter().find(|column| column.number == number)
    }

    /// The types of the columns of Parquet, with those that were chosen for INT96.
    fn kinds(&self) -> impl Iterator<Item = DataType> {
        leaves(self.metadata.schema()).enumerate().map(|(number, kind)| {
            self.int96(number).map_or_else(|| kind.clone(), |column| column.kind.clone())
        })
    }

    /// The schema with timestamps of 64 bits in place of INT96.
    fn written_schema(&self) -> Result<SchemaDescriptor, TableError> {
        let schema = written(self.metadata.parquet_schema().root_schema(), &mut self.kinds())?;
        Ok(SchemaDescriptor::new(Arc::new(schema)))
    }
}

/// The types of the columns of Parquet, in their order.
fn leaves(schema: &Schema) -> impl Iterator<Item = &DataType> {
    let fields = schema.flattened_fields().into_iter();
    fields.map(Field::data_type).filter(|kind| !kind.is_nested())
}

impl TableFile for ParquetTable {
    fn agree(tables: &mut [Self]) -> Result<(), TableError> {
        // Files of other columns cannot be joined anyway.
        let paths = |table: &Self| {
            let columns = table.metadata.parquet_schema().columns();
            columns.iter().map(|column| column.path().clone()).collect::<Vec<_>>()
        };
        if tables.windows(2).any(|two| paths(&two[0]) != paths(&two[1])) {
            return Ok(());
        }
        let numbers = tables.iter().flat_map(|table| &table.int96).map(|column| column.number);
        for number in numbers.collect::<BTreeSet<_>>() {
            let kind = common_kind(tables, number)?;
            let columns = tables.iter_mut().flat_map(|table| &mut table.int96);
            for column in columns.filter(|column| column.number == number) {
                column.kind = kind.clone();
            }
        }
        for table in tables.iter_mut().filter(|table| !table.int96.is_empty()) {
            let (schema, mut kinds) = (table.about.schema.clone(), table.kinds());
            let fields = schema.fields().iter().map(|field| retyped(field, &mut kinds));
            let fields: Fields = fields.collect();
            drop(kinds);
            let schema = Schema::new_with_metadata(fields, schema.metadata().clone());
            let options = ArrowReaderOptions::new().with_schema(Arc::new(schema));
            let metadata = ArrowReaderMetadata::try_new(table.metadata.metadata().clone(), options);
            table.metadata = metadata.map_err(TableError::read)?;
            table.about.schema = table.metadata.schema().clone();
            let rewritten = table.int96.iter().map(|Int96Column { number, kind, .. }| {
                let path = table.metadata.parquet_schema().column(*number).path().string();
                (format!("INT96 written as TIMESTAMP({})", name_of(kind)), path)
            });
            table.about.rewritten = rewritten.collect();
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
        let file = self.file.try_clone().map_err(TableError::read)?;
        let of_rows = self.bytes[group][columns.clone()].iter();
        let of_rows = of_rows.fold(0, |sum: u64, bytes| sum.saturating_add(*bytes));
        let mask = ProjectionMask::roots(self.metadata.parquet_schema(), columns);
        let reader =
            ParquetRecordBatchReaderBuilder::new_with_metadata(file, self.metadata.clone())
                .with_row_groups(vec![group])
                .with_projection(mask)
                .with_batch_size(rows_of(bytes, of_rows, self.about.groups[group]))
                .build()
                .map_err(TableError::read)?;
        Ok(Box::new(reader.map(|batch| batch.map_err(TableError::read))))
    }

    /// The row groups have as many rows as the largest of this file, if those fit. Columns that
    /// have dictionaries get them again, unless there are so many columns that the writer's
    /// tables, of 80 KiB each, would take more than a row group may.
    fn writer<'w>(
        &self,
        output: Box<dyn Write + Send + 'w>,
        group_bytes: usize,
    ) -> Result<Box<dyn TableWriter + 'w>, TableError> {
        let metadata = self.metadata.metadata();
        let rows = self.about.groups.iter().copied().max().unwrap_or(0).max(1);
        let mut properties = WriterProperties::builder()
            .set_max_row_group_row_count(usize::try_from(rows).ok())
            .set_max_row_group_bytes(Some(group_bytes.max(1)))
            .set_key_value_metadata(metadata.file_metadata().key_value_metadata().cloned());
        let columns = self.metadata.parquet_schema().num_columns();
        let may_have_dictionaries = columns.saturating_mul(DICTIONARY) <= group_bytes;
        // All groups of a file are usually compressed alike.
        for column in metadata.row_groups().first().iter().flat_map(|group| group.columns()) {
            let path = column.column_path();
            let has_dictionary = may_have_dictionaries && column.dictionary_page_offset().is_some();
            properties = properties
                .set_column_compression(path.clone(), column.compression())
                .set_column_dictionary_enabled(path.clone(), has_dictionary);
        }
        let options = ArrowWriterOptions::new()
            .with_properties(properties.build())
            .with_skip_arrow_metadata(true)
            .with_parquet_schema(self.written_schema()?);
        let writer = ArrowWriter::try_new_with_options(output, self.about.schema.clone(), options);
        Ok(Box::new(ParquetWriter(writer.map_err(TableError::write)?)))
    }
}

/// What a column is read as that has the type INT96 in some tables: the timestamp that it is in
/// another one, or else one that loses no value.
fn common_kind(tables: &[ParquetTable], number: usize) -> Result<DataType, TableError> {
    let others = tables.iter().filter(|table| table.int96(number).is_none());
    let mut others = others.filter_map(|table| leaves(table.metadata.schema()).nth(number));
    let known = others.find(|kind| matches!(kind, DataType::Timestamp(..))).cloned();
    let lost = |kind: &DataType| {
        let mut all = tables.iter().enumerate();
        all.find_map(|(at, table)| Some((at, table.int96(number)?.lost(kind)?)))
    };
    let [micros, nanos] =
        [TimeUnit::Microsecond, TimeUnit::Nanosecond].map(|unit| DataType::Timestamp(unit, None));
    let needs_nanos = lost(&micros).is_some() && lost(&nanos).is_none();
    let kind = known.unwrap_or(if needs_nanos { nanos } else { micros });
    let Some((table, Lost { group, nanoseconds })) = lost(&kind) else { return Ok(kind) };
    let column = tables[table].metadata.parquet_schema().column(number).path().string();
    Err(TableError::Timestamp { table, column, group, nanoseconds, unit: name_of(&kind) })
}

/// A size of a row group, if it can be one.
fn size(size: i64, group: usize) -> Result<u64, TableError> {
    let why = || format!("row group {group}, counted from 0, has an invalid size");
    u64::try_from(size).map_err(|_| TableError::read(why()))
}

/// What a page of each column of a row group takes in memory, and what all its rows do.
fn sizes_of_columns(
    reader: &SerializedFileReader<File>,
    metadata: &ArrowReaderMetadata,
    number: usize,
) -> Result<(Vec<u64>, Vec<u64>), TableError> {
    let width = metadata.schema().fields().len();
    let (mut of_pages, mut of_rows) = (vec![0_u64; width], vec![0_u64; width]);
    for (index, column) in metadata.metadata().row_group(number).columns().iter().enumerate() {
        let encoded = size(column.uncompressed_size(), number)?;
        let values = size(column.num_values(), number)?;
        let (dictionary, longest) = match column.column_type() {
            Type::BYTE_ARRAY => dictionary_of_texts(reader, number, index)?,
            _ => (PAGE, 0),
        };
        // A list or a structure has several columns of Parquet.
        let root = metadata.parquet_schema().get_column_root_idx(index);
        of_pages[root] = of_pages[root].saturating_add(encoded.min(PAGE + dictionary));
        let decoded = decoded_bytes(column, encoded, values, longest);
        of_rows[root] = of_rows[root].saturating_add(decoded);
    }
    Ok((of_pages, of_rows))
}

/// Where columns are cut, so that pages of those of each slice take at most this much together, or
/// there is one column; and the most that those of a slice take.
fn cuts(pages: &[u64], most: u64) -> (Vec<usize>, u64) {
    let (mut cuts, mut held, mut most_held) = (Vec::new(), 0_u64, 0);
    for (column, &bytes) in pages.iter().enumerate() {
        held = held.saturating_add(bytes);
        if held > most && column > 0 {
            cuts.push(column);
            held = bytes;
        }
        most_held = held.max(most_held);
    }
    (cuts, most_held)
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

struct ParquetWriter<W: Write + Send>(ArrowWriter<W>);

impl<W: Write + Send> TableWriter for ParquetWriter<W> {
    fn write(&mut self, batch: &RecordBatch) -> Result<(), TableError> {
        self.0.write(batch).map_err(TableError::write)
    }

    fn finish(self: Box<Self>) -> Result<(), TableError> {
        self.0.close().map(drop).map_err(TableError::write)
    }
}
