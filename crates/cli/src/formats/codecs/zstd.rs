//! zstd: one or more frames.

use std::io;

use zstd::bulk::Compressor;
use zstd::zstd_safe::CParameter;

use super::super::explained::Explained;
use super::row::{DecoderFault, Row};

pub(super) static ROW: Row = Row {
    name: "zstd",
    extensions: &["zst", "tzst", "zstd"],
    mark: b"\x28\xB5\x2F\xFD",
    is_file: |_| true,
    may_start: |bytes| ROW.mark.starts_with(bytes),
    end: |_| None,
    // A bit is reserved. No program makes dictionaries by itself.
    is_frame: |bytes| bytes.get(4).is_some_and(|descriptor| descriptor & 0b1011 == 0),
    may_skip: true,
    skips_zeros: false,
    levels: 1..=22,
    level: 3,
    decoder: |file| {
        let reader = zstd::Decoder::with_buffer(file)?;
        Ok(Box::new(Explained { reader, explain: explained }))
    },
    encode: |bytes, level| {
        let mut encoder = Compressor::new(level)?;
        encoder.set_parameter(CParameter::ChecksumFlag(true))?;
        encoder.compress(bytes)
    },
};

/// It has no codes of its own for these.
fn explained(error: io::Error) -> io::Error {
    match error.to_string() {
        why if why.contains("Unknown frame descriptor") => DecoderFault::Trailing.into(),
        why if why.contains("requires too much memory") => DecoderFault::Known(
            "its zstd data need a window of more than 128 MiB: try \
             `zstd -dc --long=31 FILE | bshuf`",
        )
        .into(),
        _ => error,
    }
}
