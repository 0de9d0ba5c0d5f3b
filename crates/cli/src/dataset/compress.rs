//! [`Frames`]: a file that is compressed by all threads.

use std::io::{self, Write};

use rayon::prelude::*;
use sha2::{Digest, Sha256};

use super::codec::Compression;
use crate::formats::Codec;

/// How many bytes are compressed by themselves. Where they begin depends on nothing else, so that
/// the file is the same for any number of threads. It is several times what a codec looks back.
const FRAME: usize = 4 << 20;

/// Writes a file compressed, in frames that are compressed side by side.
pub(super) struct Frames<W> {
    file: Hashed<W>,
    compression: Compression,
    /// What is not compressed yet, at most so many bytes.
    bytes: Vec<u8>,
    most: usize,
    written: u64,
}

/// What was written to a file.
pub(super) struct Sum {
    /// The bytes before they were compressed.
    pub(super) plain_bytes: u64,
    /// The bytes of the file.
    pub(super) bytes: u64,
    /// The hash of the file, SHA-256.
    pub(super) hash: String,
}

impl<W: Write + Send> Frames<W> {
    /// A file of this compression, which takes about so much memory, or what a frame takes.
    pub(super) fn new(file: W, compression: Compression, memory: usize) -> Self {
        let frames = (memory / (2 * FRAME)).clamp(1, 2 * rayon::current_num_threads());
        let file = Hashed::new(file);
        Self { file, compression, bytes: Vec::new(), most: frames * FRAME, written: 0 }
    }

    /// Compresses what there is and writes it.
    fn compress(&mut self) -> io::Result<()> {
        let compression = self.compression;
        let frames: Vec<_> =
            self.bytes.par_chunks(FRAME).map(|frame| compression.compressed(frame)).collect();
        self.bytes.clear();
        frames.into_iter().try_for_each(|frame| self.file.write_all(&frame?))
    }

    /// Writes what is left, and returns the file.
    pub(super) fn finish(mut self) -> io::Result<(W, Sum)> {
        // A file without a frame would not be one of the codec.
        let is_empty = self.written == 0 && self.compression.codec() != Codec::Plain;
        self.compress()?;
        if is_empty {
            self.file.write_all(&self.compression.compressed(b"")?)?;
        }
        self.file.flush()?;
        let (file, bytes, hash) = self.file.finish();
        Ok((file, Sum { plain_bytes: self.written, bytes, hash }))
    }
}

impl<W: Write + Send> Write for Frames<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.compression.codec() == Codec::Plain {
            self.file.write_all(bytes)?;
            self.written += bytes.len() as u64;
            return Ok(bytes.len());
        }
        let taken = bytes.len().min(self.most - self.bytes.len());
        self.bytes.extend_from_slice(&bytes[..taken]);
        self.written += taken as u64;
        if self.bytes.len() == self.most {
            self.compress()?;
        }
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A file whose bytes are counted and hashed by SHA-256.
#[derive(Debug)]
pub struct Hashed<W> {
    file: W,
    hash: Sha256,
    bytes: u64,
}

impl<W> Hashed<W> {
    /// A file to which nothing was written.
    pub fn new(file: W) -> Self {
        Self { file, hash: Sha256::new(), bytes: 0 }
    }

    /// The file, how many bytes were written, and their hash in hexadecimal digits.
    pub fn finish(self) -> (W, u64, String) {
        let hash = self.hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        (self.file, self.bytes, hash)
    }
}

impl<W: Write + Send> Write for Hashed<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // The two take about as long as each other.
        let (file, hash) = (&mut self.file, &mut self.hash);
        let (written, ()) = rayon::join(|| file.write_all(bytes), || hash.update(bytes));
        written?;
        self.bytes += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}
