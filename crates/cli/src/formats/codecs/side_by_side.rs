//! [`SideBySide`]: a compressed file of several frames, which several threads decode.
//!
//! A frame is what a codec's program writes for one input: a member of gzip, of which `bgzip` makes
//! one for each 64 KiB, a frame of zstd or LZ4, a stream of bzip2. Only a decoder knows where a
//! frame ends. But it begins with bytes that hardly occur anywhere else. So a file is cut where a
//! frame seems to begin, and the pieces are decoded by themselves. If one of them is no whole
//! number of frames, what the file has from there on is decoded by one decoder, which says what is
//! wrong, if anything is. So nothing depends on the guess but the time.

use std::collections::VecDeque;
use std::io::{self, Cursor, Read};
use std::mem;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use memchr::memmem::Finder;

use super::Codec;

/// How much of a file is read at a time. In tests files are smaller, and so are their pieces.
const STEP: usize = if cfg!(test) { 4 << 10 } else { 256 << 10 };

/// The least and the most bytes of a piece of a file.
const LEAST: usize = STEP;
const MOST: usize = 16 * STEP;

/// The most bytes that a piece may have when it is decoded.
const MOST_DECODED: usize = 64 * STEP;

/// A piece of a file. It stays until it is known to have whole frames.
type FilePiece = Arc<Vec<u8>>;

/// What a piece has, unless it has anything but whole frames.
type DecodedPiece = Option<Vec<u8>>;

/// A compressed file of several frames, which several threads decode.
pub(super) struct SideBySide<'r> {
    codec: Codec,
    /// The file, unless `one` reads it.
    file: Box<dyn Read + Send + 'r>,
    mark: Finder<'static>,
    /// What was read of the file and is in no piece.
    bytes: Vec<u8>,
    is_end: bool,
    work: Sender<(FilePiece, Sender<DecodedPiece>)>,
    /// The pieces that the threads have, in the order of the file, and at most how many.
    pieces: VecDeque<(FilePiece, Receiver<DecodedPiece>)>,
    most: usize,
    /// What is read now.
    text: Cursor<Vec<u8>>,
    /// Decodes what is not cut into pieces.
    one: Option<Box<dyn Read + Send + 'r>>,
}

impl<'r> SideBySide<'r> {
    /// A file that this many threads decode, one at least.
    pub(super) fn new(codec: Codec, file: impl Read + Send + 'r, threads: usize) -> Self {
        let (work, pieces) = channel::<(FilePiece, Sender<DecodedPiece>)>();
        let pieces = Arc::new(Mutex::new(pieces));
        for _ in 0..threads {
            let pieces = Arc::clone(&pieces);
            let decode = move || {
                // The lock is gone before a piece is decoded.
                let next = || pieces.lock().unwrap_or_else(PoisonError::into_inner).recv();
                while let Ok((piece, decoded)) = next() {
                    let text = whole(codec, &piece);
                    // One that was dropped wants no more.
                    let _ = decoded.send(text);
                }
            };
            // One that is refused leaves the work to the others, and all of them to one decoder.
            let _ = thread::Builder::new().spawn(decode);
        }
        Self {
            codec,
            file: Box::new(file),
            mark: Finder::new(codec.row().mark),
            bytes: Vec::new(),
            is_end: false,
            work,
            pieces: VecDeque::new(),
            most: 2 * threads,
            text: Cursor::default(),
            one: None,
        }
    }

    /// Reads until there is a piece, and takes it; `None` if there is none that is short enough.
    fn cut(&mut self) -> io::Result<Option<Vec<u8>>> {
        let mut looked_at = LEAST;
        loop {
            if let Some(at) = self.start(looked_at) {
                let rest = self.bytes.split_off(at);
                return Ok(Some(mem::replace(&mut self.bytes, rest)));
            }
            if self.is_end && self.bytes.len() <= MOST {
                return Ok(Some(mem::take(&mut self.bytes)));
            }
            if self.bytes.len() > MOST {
                return Ok(None);
            }
            looked_at = self.bytes.len().saturating_sub(LONGEST_START).max(LEAST);
            let read = self.file.by_ref().take(STEP as u64).read_to_end(&mut self.bytes)?;
            self.is_end = read < STEP;
        }
    }

    /// Where a frame seems to begin, at this place or later.
    fn start(&self, from: usize) -> Option<usize> {
        let bytes = self.bytes.get(from..)?;
        let starts = self.mark.find_iter(bytes).map(|at| from + at);
        // What may go on behind the end is looked at again.
        starts.into_iter().find(|&at| (self.codec.row().is_frame)(&self.bytes[at..]))
    }

    /// Gives pieces to the threads, until they have enough.
    fn fill(&mut self) -> io::Result<()> {
        while self.one.is_none()
            && self.pieces.len() < self.most
            && !(self.is_end && self.bytes.is_empty())
        {
            let Some(piece) = self.cut()? else {
                return if self.pieces.is_empty() {
                    self.decode_by_one(Vec::new())
                } else {
                    Ok(())
                };
            };
            let (decoded, text) = channel();
            let piece = Arc::new(piece);
            self.pieces.push_back((Arc::clone(&piece), text));
            // If all threads have ended, so has this piece's way back, and one decoder takes it.
            let _ = self.work.send((piece, decoded));
        }
        Ok(())
    }

    /// Decodes these bytes, those of all pieces, and the rest of the file, by one decoder.
    fn decode_by_one(&mut self, mut bytes: Vec<u8>) -> io::Result<()> {
        for (piece, _) in self.pieces.drain(..) {
            bytes.extend_from_slice(&piece);
        }
        bytes.append(&mut self.bytes);
        let file = mem::replace(&mut self.file, Box::new(io::empty()));
        self.one = Some(self.codec.one_decoder(Cursor::new(bytes).chain(file))?);
        Ok(())
    }
}

impl Read for SideBySide<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if out.is_empty() {
            return Ok(0);
        }
        loop {
            let read = self.text.read(out)?;
            if read > 0 {
                return Ok(read);
            }
            if let Some(one) = &mut self.one {
                return one.read(out);
            }
            self.fill()?;
            match self.pieces.pop_front() {
                Some((piece, text)) => match text.recv() {
                    Ok(Some(text)) => self.text = Cursor::new(text),
                    _ => self.decode_by_one(piece.to_vec())?,
                },
                None if self.one.is_none() => return Ok(0),
                None => {}
            }
        }
    }
}

/// What a piece has, if it has whole frames and not too many bytes.
fn whole(codec: Codec, piece: &[u8]) -> DecodedPiece {
    let mut text = Vec::new();
    let decoder = codec.one_decoder(piece).ok()?;
    decoder.take(MOST_DECODED as u64 + 1).read_to_end(&mut text).ok()?;
    (text.len() <= MOST_DECODED).then_some(text)
}

/// As many bytes tell whether a frame begins.
const LONGEST_START: usize = 10;

#[cfg(test)]
mod tests {
    use memchr::memmem::find;

    use super::super::Codec::Zstd;
    use super::super::Compression;
    use super::*;

    fn decoded(codec: Codec, file: &[u8]) -> io::Result<(Vec<u8>, bool)> {
        let mut text = Vec::new();
        let mut reader = SideBySide::new(codec, file, 3);
        reader.read_to_end(&mut text)?;
        Ok((text, reader.one.is_some()))
    }

    /// Bytes that hardly get shorter, so that the frames are long enough to be cut apart.
    fn noise(bytes: usize, seed: u32) -> Vec<u8> {
        let step = |x: &mut u32| {
            *x = x.wrapping_mul(0x9E37_79B1).rotate_left(13) ^ 0x85EB_CA6B;
            Some((*x >> 11) as u8)
        };
        std::iter::repeat_n((), bytes).scan(seed, |x, ()| step(x)).collect()
    }

    #[test]
    fn frames_are_decoded_by_several_threads() {
        for codec in &Codec::ALL[1..] {
            let texts: Vec<_> = (1..9).map(|k| noise(LEAST / 3 * (k as usize), k)).collect();
            let frame = |text: &Vec<u8>| Compression::from(*codec).compressed(text).unwrap();
            let file = texts.iter().flat_map(frame).collect::<Vec<_>>();
            let (text, is_by_one) = decoded(*codec, &file).unwrap();
            assert!(text == texts.concat() && !is_by_one, "{codec}");
            // What is wrong in the middle or missing in the end is an error as it is for one.
            let mut damaged = file.clone();
            damaged[file.len() / 2] ^= 0x40;
            assert!(decoded(*codec, &damaged).is_err(), "{codec}");
            assert!(decoded(*codec, &file[..file.len() - 1]).is_err(), "{codec}");
            assert!(decoded(*codec, &[&file[..], b"x"].concat()).is_err(), "{codec}");
            // Zeros behind a frame are what they are for one thread.
            let filled_up = texts.iter().flat_map(|text| [frame(text), vec![0; 512]].concat());
            let filled_up = filled_up.collect::<Vec<_>>();
            match decoded(*codec, &filled_up) {
                Ok((text, _)) => assert!(codec.row().skips_zeros && text == texts.concat()),
                Err(_) => assert!(!codec.row().skips_zeros, "{codec}"),
            }
        }
    }

    #[test]
    fn indivisible_frames_are_decoded_by_one_thread() {
        for codec in &Codec::ALL[1..] {
            let frame = |text: &[u8]| Compression::from(*codec).compressed(text).unwrap();
            // Frames within a frame, which has them as they are.
            let inner: Vec<u8> = (0..6).flat_map(|k| frame(&noise(LEAST, k))).collect::<Vec<_>>();
            // A piece that is long once it is decoded, and a frame that is long before.
            let zeros = vec![0; MOST_DECODED + 1];
            let long = noise(MOST + MOST / 2, 7);
            for (number, middle) in [inner, zeros, long].into_iter().enumerate() {
                let texts = [noise(LEAST, 1), middle, noise(2 * LEAST, 2)];
                let file = texts.iter().flat_map(|text| frame(text)).collect::<Vec<_>>();
                let (text, is_by_one) = decoded(*codec, &file).unwrap();
                assert!(text == texts.concat(), "{codec}");
                // Some codecs keep nothing as it is, as bzip2.
                let is_kept = find(&frame(&texts[1]), &texts[1][..32]).is_some();
                assert!(is_by_one || (number == 0 && !is_kept), "{codec} {number}");
            }
        }
    }

    #[test]
    fn a_thread_that_has_gone_is_missed_by_nobody() {
        let text = noise(5 * LEAST, 3);
        let compression = Compression::from(Zstd);
        let file: Vec<u8> =
            text.chunks(LEAST).flat_map(|text| compression.compressed(text).unwrap()).collect();
        let mut reader = SideBySide::new(Zstd, &file[..], 0);
        reader.most = 2;
        let mut found = Vec::new();
        reader.read_to_end(&mut found).unwrap();
        assert!(found == text && reader.one.is_some());
    }
}
