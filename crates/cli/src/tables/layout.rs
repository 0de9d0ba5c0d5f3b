//! [`TableLayout`]: what an Arrow IPC file says of itself, checked before anything is made of it.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::sync::Arc;

use arrow_buffer::{Buffer, MutableBuffer};
use arrow_ipc::convert::try_fb_to_schema;
use arrow_ipc::reader::read_footer_length;
use arrow_ipc::{Block, CompressionType, Message};
use arrow_ipc::{root_as_footer, root_as_message};
use arrow_schema::SchemaRef;

use super::error::TableError;

/// The length of what ends a file: that of the footer, and a magic word.
const TRAILER: usize = 10;

/// What a compressed buffer begins with: its length once it is decompressed.
const PREFIX: usize = 8;

/// What every file of the format begins with, padded.
const HEADER: u64 = 8;

/// A block of LZ4 has at most this many bytes for each of its own.
const LZ4_RATIO: u64 = 255;

/// The most rows of a batch that have no bytes at all, as those of columns of nulls. Rows with any
/// column of another kind take at least a bit each.
const MOST_EMPTY_ROWS: u64 = 1 << 20;

/// The footer of a file, and the heads of its batches.
pub(super) struct TableLayout {
    pub(super) schema: SchemaRef,
    pub(super) metadata: HashMap<String, String>,
    pub(super) dictionaries: Vec<StoredBatch>,
    pub(super) batches: Vec<StoredBatch>,
    /// That of the first batch that has any.
    pub(super) compression: Option<CompressionType>,
}

/// A batch of rows, or of the values of a dictionary.
#[derive(Clone, Copy, Debug)]
pub(super) struct StoredBatch {
    pub(super) block: Block,
    pub(super) rows: u64,
    /// What its buffers take in memory.
    pub(super) bytes: u64,
    /// What it takes to read it: its bytes, and what they are decompressed from.
    pub(super) cost: u64,
    pub(super) is_compressed: bool,
    /// The dictionary that it begins, if it does.
    begins: Option<i64>,
}

impl TableLayout {
    pub(super) fn read(file: &File) -> Result<Self, TableError> {
        let end = file.metadata().map_err(TableError::read)?.len();
        let start = end.checked_sub(TRAILER as u64).ok_or_else(garbled)?;
        let trailer =
            *read_at(file, start, TRAILER)?.first_chunk::<TRAILER>().ok_or_else(garbled)?;
        let length = read_footer_length(trailer).map_err(|_| garbled())?;
        let start = start.checked_sub(length as u64).filter(|&at| at >= HEADER);
        let footer = read_at(file, start.ok_or_else(garbled)?, length)?;
        let footer = root_as_footer(&footer).map_err(|_| garbled())?;
        let schema = footer.schema().ok_or_else(garbled)?;
        if !schema.endianness().equals_to_target_endianness() {
            let what = "a file whose numbers have another order of bytes than this machine's";
            return Err(TableError::Unsupported(what.to_owned()));
        }
        let schema = Arc::new(try_fb_to_schema(schema).map_err(TableError::read)?);
        let pairs = footer.custom_metadata().into_iter().flatten();
        let pairs = pairs.map(|pair| Some((pair.key()?.to_owned(), pair.value()?.to_owned())));
        let metadata = pairs.collect::<Option<_>>().ok_or_else(garbled)?;
        let mut layout = Self {
            schema,
            metadata,
            dictionaries: Vec::new(),
            batches: Vec::new(),
            compression: None,
        };
        let mut begun = HashSet::new();
        for &block in footer.dictionaries().iter().flatten() {
            let (batch, _) = stored(file, block, end)?;
            if batch.begins.is_some_and(|dictionary| !begun.insert(dictionary)) {
                let what = "a dictionary that changes within a file";
                return Err(TableError::Unsupported(what.to_owned()));
            }
            layout.dictionaries.push(batch);
        }
        for &block in footer.recordBatches().iter().flatten() {
            let (batch, compression) = stored(file, block, end)?;
            let most = batch.bytes.saturating_mul(8).saturating_add(MOST_EMPTY_ROWS);
            if batch.rows > most {
                let (number, StoredBatch { rows, bytes, .. }) = (layout.batches.len(), batch);
                return Err(TableError::read(format!(
                    "record batch {number}, counted from 0, says that it has {rows} rows, and has \
                     {bytes} bytes for them"
                )));
            }
            layout.compression = layout.compression.or(compression);
            layout.batches.push(batch);
        }
        Ok(layout)
    }
}

/// A block, all of which is in a file that ends there, and how it is compressed.
fn stored(
    file: &File,
    block: Block,
    end: u64,
) -> Result<(StoredBatch, Option<CompressionType>), TableError> {
    let number = |number: i64| u64::try_from(number).map_err(|_| garbled());
    let (offset, head) = (number(block.offset())?, number(block.metaDataLength().into())?);
    let (body, length) = (offset.checked_add(head), number(block.bodyLength())?);
    let body = body.filter(|body| body.checked_add(length).is_some_and(|after| after <= end));
    let body = body.ok_or_else(garbled)?;
    let head = read_at(file, offset, head as usize)?;
    let message = message(&head)?;
    let of_dictionary = || message.header_as_dictionary_batch()?.data();
    let batch = message.header_as_record_batch().or_else(of_dictionary);
    let batch = batch.ok_or_else(garbled)?;
    let rows = number(batch.length())?;
    let compression = batch.compression().map(|compression| compression.codec());
    let mut bytes = 0_u64;
    for buffer in batch.buffers().iter().flatten() {
        let (offset, of_buffer) = (number(buffer.offset())?, number(buffer.length())?);
        if offset.checked_add(of_buffer).is_none_or(|end| end > length) {
            return Err(garbled());
        }
        let of_buffer = match compression {
            Some(codec) if of_buffer > 0 => {
                decompressed(&read_at(file, body + offset, PREFIX)?, of_buffer, codec)
            }
            _ => Some(of_buffer),
        };
        bytes = of_buffer.and_then(|more| bytes.checked_add(more)).ok_or_else(garbled)?;
    }
    let is_compressed = compression.is_some();
    let cost = bytes.checked_add(if is_compressed { length } else { 0 }).ok_or_else(garbled)?;
    let dictionary = message.header_as_dictionary_batch().filter(|batch| !batch.isDelta());
    let begins = dictionary.map(|batch| batch.id());
    Ok((StoredBatch { block, rows, bytes, cost, is_compressed, begins }, compression))
}

/// The size that a compressed buffer of this many bytes gives at its start, unless it cannot be
/// true.
fn decompressed(prefix: &[u8], length: u64, codec: CompressionType) -> Option<u64> {
    let length = length.checked_sub(PREFIX as u64)?;
    match i64::from_le_bytes(*prefix.first_chunk()?) {
        // It is not compressed.
        -1 => Some(length),
        bytes => u64::try_from(bytes)
            .ok()
            .filter(|&bytes| codec != CompressionType::LZ4_FRAME || bytes <= LZ4_RATIO * length),
    }
}

/// The message that a block begins with, whose length comes first.
pub(super) fn message(head: &[u8]) -> Result<Message<'_>, TableError> {
    // Since version 0.15 of the format a mark of four bytes comes before the length.
    let head = head.strip_prefix(&[0xFF; 4]).unwrap_or(head);
    root_as_message(head.get(4..).ok_or_else(garbled)?).map_err(|_| garbled())
}

pub(super) fn garbled() -> TableError {
    TableError::read(io::Error::new(io::ErrorKind::InvalidData, "is not an Arrow IPC file"))
}

/// So many bytes of a file, where all of them have to be.
pub(super) fn read_at(file: &File, start: u64, length: usize) -> Result<Buffer, TableError> {
    let mut bytes = MutableBuffer::try_from_len_zeroed(length).map_err(TableError::read)?;
    let mut file = file;
    if length > 0 {
        file.seek(SeekFrom::Start(start)).map_err(TableError::read)?;
    }
    file.read_exact(&mut bytes).map_err(TableError::read)?;
    Ok(bytes.into())
}
