//! By what first bytes files are known: how they are compressed, by which [`Codec`], whether they
//! are [archives](is_tar), and which other [`Format`]s have no lines.

mod codecs;
mod explained;
mod format;
mod marks;
mod zlib;

pub use codecs::{Codec, Compression, other_packer_of_name};
pub(crate) use explained::{Explained, reworded};
pub use format::Format;
pub use marks::{LONGEST_MARK, LOOKED_AT, MARK, has_checksum, is_tar, is_tfrecord};
pub(crate) use marks::{TFRECORD_HEAD, masked_crc};
