//! [`Excerpt`]: some rows of a record batch, without the others.

use std::fs::File;
use std::ops::Range;
use std::vec::IntoIter;

use arrow_array::{ArrayRef, OffsetSizeTrait, RecordBatch, make_array};
use arrow_buffer::{BooleanBuffer, Buffer, ScalarBuffer};
use arrow_data::{ArrayData, ArrayDataBuilder, ByteView, MAX_INLINE_VIEW_LEN};
use arrow_ipc::{Block, FieldNode};
use arrow_schema::{DataType, Field, Schema};

use super::error::TableError;
use super::layout::{garbled, message, read_at};
use super::table::part_of;

/// The heads of the arrays of a record batch, and its buffers, which are read in parts.
///
/// The file is read and not mapped. What others do to a mapped file meanwhile would end the program
/// if the file becomes shorter, and would change texts that have been checked already. And pages of
/// a map count as memory of the process once they have been looked at.
pub(super) struct Excerpt<'a> {
    file: &'a File,
    /// Where the buffers begin.
    body: u64,
    nodes: IntoIter<FieldNode>,
    buffers: IntoIter<arrow_ipc::Buffer>,
    /// How many buffers of texts each column of views has.
    counts: IntoIter<i64>,
    /// How many more bytes may be read.
    left: u64,
}

/// Whether some rows of these columns can be read without the others.
pub(super) fn can_be_divided(schema: &Schema) -> bool {
    use DataType::{LargeListView, ListView, RunEndEncoded, Union};

    let is_divided = |field: &&Field| {
        !matches!(field.data_type(), Union(..) | RunEndEncoded(..) | ListView(_) | LargeListView(_))
    };
    schema.flattened_fields().iter().all(is_divided)
}

/// These rows of some columns of a record batch that is not compressed, or `None` if they take more
/// than a number of bytes.
pub(super) fn rows_of_batch(
    file: &File,
    block: &Block,
    schema: &Schema,
    columns: &Range<usize>,
    rows: Range<u64>,
    most: u64,
) -> Result<Option<RecordBatch>, TableError> {
    // Checked when the file was opened.
    let (start, length) = (block.offset() as u64, block.metaDataLength() as usize);
    let head = read_at(file, start, length)?;
    let message = message(&head)?;
    let batch = message.header_as_record_batch().ok_or_else(garbled)?;
    let mut excerpt = Excerpt {
        file,
        body: start + length as u64,
        nodes: batch.nodes().into_iter().flatten().copied().collect::<Vec<_>>().into_iter(),
        buffers: batch.buffers().into_iter().flatten().copied().collect::<Vec<_>>().into_iter(),
        counts: batch.variadicBufferCounts().into_iter().flatten().collect::<Vec<_>>().into_iter(),
        left: most,
    };
    let mut arrays: Vec<ArrayRef> = Vec::new();
    for (number, field) in schema.fields()[..columns.end].iter().enumerate() {
        let is_wanted = columns.contains(&number);
        // Of the others nothing is read.
        match excerpt.array(field.data_type(), if is_wanted { rows.clone() } else { 0..0 }) {
            Ok(array) if is_wanted => arrays.push(make_array(array)),
            Ok(_) => {}
            Err(TableError::TooLarge { .. }) => return Ok(None),
            Err(error) => return Err(error),
        }
    }
    let schema = part_of(schema, columns.clone());
    RecordBatch::try_new(schema, arrays).map(Some).map_err(TableError::read)
}

impl Excerpt<'_> {
    /// These rows of the next array.
    fn array(&mut self, kind: &DataType, rows: Range<u64>) -> Result<ArrayData, TableError> {
        use DataType::*;

        let node = self.nodes.next().ok_or_else(garbled)?;
        if u64::try_from(node.length()).map_err(|_| garbled())? < rows.end {
            return Err(garbled());
        }
        let len = usize::try_from(rows.end - rows.start).map_err(TableError::read)?;
        let mut builder = ArrayData::builder(kind.clone()).len(len);
        if !matches!(kind, Null) {
            let validity = self.buffer()?;
            if node.null_count() > 0 {
                builder = builder.null_bit_buffer(Some(self.bits(validity, &rows)?));
            }
        }
        let builder = match kind {
            Null => builder,
            Boolean => {
                let bits = self.buffer()?;
                builder.add_buffer(self.bits(bits, &rows)?)
            }
            Utf8 | Binary => self.texts::<i32>(builder, &rows)?,
            LargeUtf8 | LargeBinary => self.texts::<i64>(builder, &rows)?,
            Utf8View | BinaryView => self.views(builder, &rows)?,
            List(field) | Map(field, _) => {
                let (offsets, items) = self.offsets::<i32>(&rows)?;
                builder.add_buffer(offsets).add_child_data(self.array(field.data_type(), items)?)
            }
            LargeList(field) => {
                let (offsets, items) = self.offsets::<i64>(&rows)?;
                builder.add_buffer(offsets).add_child_data(self.array(field.data_type(), items)?)
            }
            FixedSizeList(field, size) => {
                let items = times(&rows, (*size).try_into().map_err(|_| garbled())?)?;
                builder.add_child_data(self.array(field.data_type(), items)?)
            }
            Struct(fields) => {
                let children =
                    fields.iter().map(|field| self.array(field.data_type(), rows.clone()));
                builder.child_data(children.collect::<Result<_, _>>()?)
            }
            FixedSizeBinary(size) => {
                builder.add_buffer(self.items(&rows, (*size).try_into().map_err(|_| garbled())?)?)
            }
            kind => {
                let width = kind.primitive_width().ok_or_else(|| {
                    TableError::Unsupported(format!("a part of a column of type {kind}"))
                })?;
                builder.add_buffer(self.items(&rows, width as u64)?)
            }
        };
        builder.build().map_err(TableError::read)
    }

    fn buffer(&mut self) -> Result<Range<u64>, TableError> {
        let buffer = self.buffers.next().ok_or_else(garbled)?;
        // They are within the batch, or the file has changed since it was opened.
        let start = u64::try_from(buffer.offset()).map_err(|_| garbled())?;
        let end = u64::try_from(buffer.length()).ok().and_then(|length| start.checked_add(length));
        Ok(start..end.ok_or_else(garbled)?)
    }

    /// Some bytes of a buffer.
    fn bytes(&mut self, buffer: Range<u64>, bytes: Range<u64>) -> Result<Buffer, TableError> {
        if bytes.start > bytes.end || bytes.end > buffer.end - buffer.start {
            return Err(garbled());
        }
        let length = bytes.end - bytes.start;
        let what = || "the rows take".to_owned();
        TableError::check_size(what, length, self.left)?;
        self.left -= length;
        let start = self.body.checked_add(buffer.start + bytes.start).ok_or_else(garbled)?;
        read_at(self.file, start, usize::try_from(length).map_err(TableError::read)?)
    }

    /// The bits of these rows.
    fn bits(&mut self, buffer: Range<u64>, rows: &Range<u64>) -> Result<Buffer, TableError> {
        let bytes = self.bytes(buffer, rows.start / 8..rows.end.div_ceil(8))?;
        let (first, len) = ((rows.start % 8) as usize, (rows.end - rows.start) as usize);
        Ok(BooleanBuffer::new(bytes, first, len).sliced())
    }

    /// What is of one size, of these rows.
    fn items(&mut self, rows: &Range<u64>, size: u64) -> Result<Buffer, TableError> {
        let buffer = self.buffer()?;
        self.bytes(buffer, times(rows, size)?)
    }

    /// Where the texts or lists of these rows begin and end, counted from the first, and what is
    /// between the first and the last.
    fn offsets<O: OffsetSizeTrait>(
        &mut self,
        rows: &Range<u64>,
    ) -> Result<(Buffer, Range<u64>), TableError> {
        if rows.is_empty() {
            // Where there are no rows there may be no offset either.
            self.buffer()?;
            return Ok((Buffer::from_vec(vec![O::default()]), 0..0));
        }
        let ends = rows.start..rows.end.checked_add(1).ok_or_else(garbled)?;
        let offsets: ScalarBuffer<O> = self.items(&ends, size_of::<O>() as u64)?.into();
        let (first, last) = (offsets[0].as_usize(), offsets[offsets.len() - 1].as_usize());
        let from_first = |offset: &O| O::from_usize(offset.as_usize().checked_sub(first)?);
        let counted: Option<Vec<O>> = offsets.iter().map(from_first).collect();
        Ok((Buffer::from_vec(counted.ok_or_else(garbled)?), first as u64..last as u64))
    }

    fn texts<O: OffsetSizeTrait>(
        &mut self,
        builder: ArrayDataBuilder,
        rows: &Range<u64>,
    ) -> Result<ArrayDataBuilder, TableError> {
        let (offsets, bytes) = self.offsets::<O>(rows)?;
        let texts = self.buffer()?;
        Ok(builder.add_buffer(offsets).add_buffer(self.bytes(texts, bytes)?))
    }

    /// Views, and of each buffer of texts what lies between the first and the last that they show.
    fn views(
        &mut self,
        builder: ArrayDataBuilder,
        rows: &Range<u64>,
    ) -> Result<ArrayDataBuilder, TableError> {
        let views: ScalarBuffer<u128> = self.items(rows, size_of::<u128>() as u64)?.into();
        let count = self.counts.next().and_then(|count| usize::try_from(count).ok());
        let count = count.filter(|&count| count <= self.buffers.len()).ok_or_else(garbled)?;
        let none = Range { start: u64::MAX, end: 0 };
        let mut shown = vec![none; count];
        let is_long = |view: &ByteView| view.length > MAX_INLINE_VIEW_LEN;
        for view in views.iter().copied().map(ByteView::from).filter(is_long) {
            let shown = shown.get_mut(view.buffer_index as usize).ok_or_else(garbled)?;
            let (start, length) = (u64::from(view.offset), u64::from(view.length));
            *shown = start.min(shown.start)..(start + length).max(shown.end);
        }
        let moved = views.iter().copied().map(ByteView::from).map(|view| {
            let first = || shown[view.buffer_index as usize].start as u32;
            let offset = if is_long(&view) { view.offset - first() } else { view.offset };
            ByteView { offset, ..view }.as_u128()
        });
        let mut buffers = vec![Buffer::from_vec(moved.collect::<Vec<u128>>())];
        for shown in &shown {
            let (buffer, is_any) = (self.buffer()?, shown.start < shown.end);
            buffers.push(self.bytes(buffer, if is_any { shown.clone() } else { 0..0 })?);
        }
        Ok(builder.buffers(buffers))
    }
}

/// Where the items of these rows are, if each row has this many.
fn times(rows: &Range<u64>, size: u64) -> Result<Range<u64>, TableError> {
    let bound = |row: u64| row.checked_mul(size).ok_or_else(garbled);
    Ok(bound(rows.start)?..bound(rows.end)?)
}
