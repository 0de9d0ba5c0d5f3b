//! [`Frames`]: files that are compressed by all threads.

use std::io::{self, Write};

use rayon::prelude::*;
use sha2::{Digest, Sha256};

use crate::formats::Compression;

/// How many bytes are compressed by themselves. Where they begin depends on nothing else, so that
/// the file is the same for any number of threads. It is several times what a codec looks back.
const FRAME: usize = 4 << 20;

/// The most frames that wait, as small files may have many.
const MOST_FRAMES: usize = 256;

/// Files, one after the other, in frames that are compressed side by side: those of one file, and
/// those of small files together.
pub(super) struct Frames {
    compression: Compression,
    /// What is not compressed yet, at most `most` bytes.
    bytes: Vec<u8>,
    most: usize,
    /// The frames that are whole.
    whole: Vec<WrittenFrame>,
}

/// A frame, which begins where the one before ends.
#[derive(Clone, Copy)]
struct WrittenFrame {
    end: usize,
    /// How many bytes its file has, if that ends with it.
    file: Option<u64>,
}

impl Frames {
    /// Frames that take about this much memory, or what one takes.
    pub(super) fn new(compression: Compression, memory: usize) -> Self {
        // What comes of a frame takes as much again.
        let most = (memory / 2).clamp(FRAME, 2 * rayon::current_num_threads() * FRAME);
        Self { compression, bytes: Vec::new(), most, whole: Vec::new() }
    }

    /// Whether frames have to be [taken](Self::take) before there is room for more.
    pub(super) fn are_full(&self) -> bool {
        self.bytes.len() == self.most || self.whole.len() >= MOST_FRAMES
    }

    /// Takes some of these bytes of a file, and returns how many.
    pub(super) fn push(&mut self, bytes: &[u8]) -> usize {
        let end = self.start() + FRAME;
        let taken = bytes.len().min(end.min(self.most) - self.bytes.len());
        self.bytes.extend_from_slice(&bytes[..taken]);
        if self.bytes.len() == end {
            self.whole.push(WrittenFrame { end, file: None });
        }
        taken
    }

    /// A file ends, which has this many bytes.
    pub(super) fn end(&mut self, bytes: u64) {
        self.whole.push(WrittenFrame { end: self.bytes.len(), file: Some(bytes) });
    }

    /// Where the frame begins that is not whole.
    fn start(&self) -> usize {
        self.whole.last().map_or(0, |frame| frame.end)
    }

    /// The frames that are whole, compressed, each with the number of its file's bytes, if that
    /// ends with it.
    pub(super) fn take(&mut self) -> io::Result<Vec<(Vec<u8>, Option<u64>)>> {
        let compressed = |number: usize| {
            let start = number.checked_sub(1).map_or(0, |before| self.whole[before].end);
            let WrittenFrame { end, file } = self.whole[number];
            // A file without a frame would not be one of the codec.
            let frame = if start < end || file == Some(0) {
                self.compression.compressed(&self.bytes[start..end])?
            } else {
                Vec::new()
            };
            Ok((frame, file))
        };
        let numbers = (0..self.whole.len()).into_par_iter().with_max_len(1);
        let taken = numbers.map(compressed).collect::<io::Result<_>>()?;
        self.bytes.drain(..self.start());
        self.whole.clear();
        Ok(taken)
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
    /// Wraps a file to which nothing was written yet.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::Codec;

    #[test]
    fn files_have_the_frames_that_each_has_by_itself() {
        let compression = Compression::from(Codec::Zstd);
        let sizes = [0, 1, FRAME - 1, FRAME, 7, FRAME + 1, 0, 2 * FRAME, 3];
        let text: Vec<u8> = (0..2 * FRAME).map(|k| (k / 5) as u8).collect();
        for memory in [0, 2 * FRAME + 10, 1 << 30] {
            let mut frames = Frames::new(compression, memory);
            let mut files = vec![Vec::new()];
            let mut taken = |frames: &mut Frames| {
                for (frame, end) in frames.take().unwrap() {
                    files.last_mut().unwrap().extend(frame);
                    if let Some(bytes) = end {
                        assert_eq!(bytes, sizes[files.len() - 1] as u64);
                        files.push(Vec::new());
                    }
                }
            };
            for size in sizes {
                let mut rest = &text[..size];
                while !rest.is_empty() {
                    if frames.are_full() {
                        taken(&mut frames);
                    }
                    rest = &rest[frames.push(rest)..];
                }
                frames.end(size as u64);
            }
            taken(&mut frames);
            for (size, file) in sizes.iter().zip(&files) {
                let own = match size {
                    0 => compression.compressed(b"").unwrap(),
                    _ => {
                        let frames = text[..*size].chunks(FRAME);
                        frames.flat_map(|frame| compression.compressed(frame).unwrap()).collect()
                    }
                };
                assert!(*file == own, "{size} {memory}");
            }
            assert_eq!(files.len(), sizes.len() + 1);
        }
    }
}
