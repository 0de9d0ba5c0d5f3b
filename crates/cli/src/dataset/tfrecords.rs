//! [`TfRecords`]: the records of TensorFlow's files.

use super::splitter::{Broken, Found, Splitter};
use crate::formats::{TFRECORD_HEAD, is_tfrecord, masked_crc};

/// The size of the checksum behind the bytes of a record.
const TAIL: usize = 4;

/// Finds where TFRecords end: the number of their bytes stands before them, with its checksum, and
/// theirs behind them. Both are verified, and a record is moved with them.
pub(super) struct TfRecords;

impl Splitter for TfRecords {
    fn find(&mut self, text: &[u8], is_end: bool) -> Result<Found, Broken> {
        let more = |why: String| if is_end { Err(Broken(why)) } else { Ok(Found::More) };
        let Some((head, rest)) = text.split_at_checked(TFRECORD_HEAD) else {
            return more("is cut short within its length".to_owned());
        };
        if !is_tfrecord(head) {
            return Err(Broken("is damaged: the checksum of its length does not match".to_owned()));
        }
        let length = head.first_chunk().map_or(0, |length| u64::from_le_bytes(*length));
        let found = rest.len();
        let tail = usize::try_from(length).ok().and_then(|length| {
            let (bytes, rest) = rest.split_at_checked(length)?;
            Some((bytes, rest.first_chunk::<TAIL>()?))
        });
        let Some((bytes, checksum)) = tail else {
            return more(format!(
                "is cut short: {found} bytes follow its length, which is {length}"
            ));
        };
        if masked_crc(bytes) != u32::from_le_bytes(*checksum) {
            return Err(Broken("is damaged: the checksum of its bytes does not match".to_owned()));
        }
        Ok(Found::Record { bytes: TFRECORD_HEAD + bytes.len() + TAIL, end: Vec::new() })
    }
}
