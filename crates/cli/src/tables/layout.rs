//! [`TableLayout`]: what an Arrow IPC file says of itself, checked before anything is made of it.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::sync::Arc;

use arrow_ipc::convert::try_fb_to_schema;
use arrow_ipc::reader::read_footer_length;
use arrow_ipc::{Block, CompressionType, Message, RecordBatch};
use arrow_ipc::{root_as_footer, root_as_message};
use arrow_schema::SchemaRef;

use super::error::TableError;

/// The length of what ends a file: that of the footer, and a magic word.
const TRAILER: usize = 10;

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

/// A batch that is about to be looked at.
struct BatchHead<'f> {
    file: &'f mut BufReader<File>,
    block: Block,
    /// Where its buffers begin.
    body: u64,
    /// Where the file ends.
    end: u64,
}

impl TableLayout {
    pub(super) fn read(file: &File) -> Result<Self, TableError> {
        let file = file.try_clone().map_err(TableError::read)?;
        let mut file = BufReader::new(file);
        let end = file.seek(SeekFrom::End(0)).map_err(TableError::read)?;
        let start = end.checked_sub(TRAILER as u64).ok_or_else(garbled)?;
        let mut trailer = [0; TRAILER];
        file.seek(SeekFrom::Start(start)).map_err(TableError::read)?;
        file.read_exact(&mut trailer).map_err(TableError::read)?;
        let length = read_footer_length(trailer).map_err(|_| garbled())?;
        let start = start.checked_sub(length as u64).filter(|&at| at >= HEADER);
        let footer = read_at(&mut file, start.ok_or_else(garbled)?, length)?;
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
            let (batch, _) = BatchHead::new(&mut file, block, end)?.stored()?;
            if batch.begins.is_some_and(|dictionary| !begun.insert(dictionary)) {
                let what = "a dictionary that changes within a file";
                return Err(TableError::Unsupported(what.to_owned()));
            }
            layout.dictionaries.push(batch);
        }
        for &block in footer.recordBatches().iter().flatten() {
            let (batch, compression) = BatchHead::new(&mut file, block, end)?.stored()?;
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

impl<'f> BatchHead<'f> {
    /// A block, all of which is in the file.
    fn new(file: &'f mut BufReader<File>, block: Block, end: u64) -> Result<Self, TableError> {
        let number = |number: i64| u64::try_from(number).ok();
        let body = number(block.offset()).zip(number(block.metaDataLength().into()));
        let body = body.and_then(|(offset, length)| offset.checked_add(length));
        let after = body.zip(number(block.bodyLength()));
        let after = after.and_then(|(body, length)| body.checked_add(length));
        if after.is_none_or(|after| after > end) {
            return Err(garbled());
        }
        Ok(Self { file, block, body: body.ok_or_else(garbled)?, end })
    }

    fn stored(mut self) -> Result<(StoredBatch, Option<CompressionType>), TableError> {
        // Neither is negative, and both are within the file.
        let (offset, length) = (self.block.offset() as u64, self.block.metaDataLength() as usize);
        let head = read_at(self.file, offset, length)?;
        let message = message(&head)?;
        let of_dictionary = || message.header_as_dictionary_batch()?.data();
        let batch = message.header_as_record_batch().or_else(of_dictionary);
        let batch = batch.ok_or_else(garbled)?;
        let rows = u64::try_from(batch.length()).map_err(|_| garbled())?;
        let compression = batch.compression().map(|compression| compression.codec());
        let bytes = self.bytes(&batch, compression)?;
        let is_compressed = compression.is_some();
        let compressed = if is_compressed { self.block.bodyLength() as u64 } else { 0 };
        let cost = bytes.checked_add(compressed).ok_or_else(garbled)?;
        let dictionary = message.header_as_dictionary_batch().filter(|batch| !batch.isDelta());
        let begins = dictionary.map(|batch| batch.id());
        Ok((
            StoredBatch { block: self.block, rows, bytes, cost, is_compressed, begins },
            compression,
        ))
    }

    /// What the buffers of a batch take in memory.
    fn bytes(
        &mut self,
        batch: &RecordBatch<'_>,
        compression: Option<CompressionType>,
    ) -> Result<u64, TableError> {
        let mut sum = 0_u64;
        for buffer in batch.buffers().iter().flatten() {
            let offset = u64::try_from(buffer.offset()).map_err(|_| garbled())?;
            let length = u64::try_from(buffer.length()).map_err(|_| garbled())?;
            let end = offset.checked_add(length).ok_or_else(garbled)?;
            if end > self.block.bodyLength() as u64 {
                return Err(garbled());
            }
            let bytes = match compression {
                Some(codec) if length > 0 => self.decompressed(offset, length, codec)?,
                _ => length,
            };
            sum = sum.checked_add(bytes).ok_or_else(garbled)?;
        }
        Ok(sum)
    }

    /// What a compressed buffer says that it has, if it can.
    fn decompressed(
        &mut self,
        offset: u64,
        length: u64,
        codec: CompressionType,
    ) -> Result<u64, TableError> {
        let length = length.checked_sub(8).ok_or_else(garbled)?;
        // Buffers are read one after the other, so most of them are there already.
        let at = self.file.stream_position().map_err(TableError::read)?;
        // Both are within the file, which has fewer than 2^63 bytes.
        let by = (self.body + offset).min(self.end) as i64 - at as i64;
        self.file.seek_relative(by).map_err(TableError::read)?;
        let mut prefix = [0; 8];
        self.file.read_exact(&mut prefix).map_err(TableError::read)?;
        match i64::from_le_bytes(prefix) {
            // It is not compressed.
            -1 => Ok(length),
            bytes => u64::try_from(bytes)
                .ok()
                .filter(|&bytes| codec != CompressionType::LZ4_FRAME || bytes <= LZ4_RATIO * length)
                .ok_or_else(garbled),
        }
    }
}

/// The message that a block begins with, whose length comes first.
pub(super) fn message(head: &[u8]) -> Result<Message<'_>, TableError> {
    // Since version 0.15 of the format a mark of four bytes comes before the length.
    let head = head.strip_prefix(&[0xFF; 4]).unwrap_or(head);
    root_as_message(head.get(4..).ok_or_else(garbled)?).map_err(|_| garbled())
}

pub(super) fn garbled() -> TableError {
    TableError::read(io::Error::new(io::ErrorKind::InvalidData, "is no Arrow IPC file"))
}

/// Bytes of a file, of which there are so many.
fn read_at(file: &mut BufReader<File>, at: u64, length: usize) -> Result<Vec<u8>, TableError> {
    file.seek(SeekFrom::Start(at)).map_err(TableError::read)?;
    let mut bytes = vec![0; length];
    file.read_exact(&mut bytes).map_err(TableError::read)?;
    Ok(bytes)
}
