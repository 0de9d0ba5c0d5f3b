//! [`KeptInputs`]: what fits memory of the inputs, as a shuffle reads it.

use std::io::{Cursor, Read};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// The records of an input, in chunks of whole ones.
type RecordChunks = Vec<Vec<u8>>;

/// The inputs that fit memory, each whole or not at all.
#[derive(Debug, Default)]
pub(super) struct KeptInputs {
    /// None if nothing was kept.
    texts: Vec<Option<RecordChunks>>,
    /// How much memory they take.
    bytes: usize,
}

impl KeptInputs {
    /// How much memory they take.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// A reader of an input, if it was kept.
    pub(super) fn reader(&self, input: usize) -> Option<Box<dyn Read + Send + '_>> {
        let chunks = self.texts.get(input)?.as_ref()?;
        Some(Box::new(Chained { chunks, first: Cursor::new(&[]) }))
    }

    /// All chunks, in their order, if so many inputs were kept, which are all.
    pub(super) fn whole(&self, inputs: usize) -> Option<Vec<&[u8]>> {
        let texts: Option<Vec<_>> = self.texts.iter().map(Option::as_ref).collect();
        let texts = texts.filter(|texts| texts.len() == inputs)?;
        Some(texts.into_iter().flatten().map(Vec::as_slice).collect())
    }
}

/// Chunks, one after the other.
struct Chained<'k> {
    chunks: &'k [Vec<u8>],
    first: Cursor<&'k [u8]>,
}

impl Read for Chained<'_> {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        loop {
            let read = self.first.read(out)?;
            let (0, false, [first, others @ ..]) = (read, out.is_empty(), self.chunks) else {
                return Ok(read);
            };
            (self.first, self.chunks) = (Cursor::new(first.as_slice()), others);
        }
    }
}

/// Keeps what is read of inputs, of each all or nothing, as long as there is memory for it.
pub(super) struct Keep {
    texts: Vec<Mutex<Option<RecordChunks>>>,
    most: usize,
    left: AtomicUsize,
}

impl Keep {
    /// Inputs of these sizes. One that is larger than the memory as it is, encoded or not, is not
    /// kept at all.
    pub(super) fn new(sizes: impl Iterator<Item = u64>, most: usize) -> Self {
        let fits = |size| size <= most as u64;
        let texts = sizes.map(|size| Mutex::new(fits(size).then(Vec::new))).collect();
        Self { texts, most, left: AtomicUsize::new(most) }
    }

    /// More of an input is read. Returns memory for what is read next.
    pub(super) fn push(&self, input: usize, chunk: Vec<u8>) -> Vec<u8> {
        let mut kept = self.texts[input].lock().unwrap_or_else(PoisonError::into_inner);
        let Some(chunks) = kept.as_mut() else { return chunk };
        // What a chunk has room for counts, and not what it has.
        let is_full = chunk.capacity() - chunk.len() <= chunk.len() / 16;
        let room = if is_full { chunk.capacity() } else { chunk.len() };
        let room = room + size_of::<Vec<u8>>();
        let take = |left: usize| left.checked_sub(room);
        if self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).is_ok() {
            if is_full {
                chunks.push(chunk);
                return Vec::new();
            }
            let mut exact = Vec::new();
            if exact.try_reserve_exact(chunk.len()).is_ok() {
                exact.extend_from_slice(&chunk);
                chunks.push(exact);
                return chunk;
            }
            self.left.fetch_add(room, Ordering::Relaxed);
        }
        let room = |chunk: &Vec<u8>| chunk.capacity() + size_of::<Vec<u8>>();
        self.left.fetch_add(chunks.iter().map(room).sum(), Ordering::Relaxed);
        *kept = None;
        chunk
    }

    pub(super) fn finish(self) -> KeptInputs {
        let bytes = self.most - self.left.into_inner();
        let texts = self.texts.into_iter();
        let texts =
            texts.map(|text| text.into_inner().unwrap_or_else(PoisonError::into_inner)).collect();
        KeptInputs { texts, bytes }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_are_kept_whole_or_not_at_all() {
        let keep = Keep::new([10, 10, 1000, 0].into_iter(), 900);
        let full = |byte: u8| vec![byte; 200];
        // Memory that is full is given away, and other memory comes back.
        assert_eq!(keep.push(0, full(1)).capacity(), 0);
        let mut sparse = Vec::with_capacity(1000);
        sparse.extend([2; 10]);
        assert_eq!(keep.push(0, sparse).capacity(), 1000);
        assert_eq!(keep.push(1, full(3)).capacity(), 0);
        assert_eq!(keep.push(2, full(4)), full(4));
        // What does not fit makes room for others.
        let long = vec![5; 600];
        assert_eq!(keep.push(1, long.clone()), long);
        assert_eq!(keep.push(1, full(6)), full(6));
        assert_eq!(keep.push(3, vec![7; 500]).capacity(), 0);
        let kept = keep.finish();
        let read = |input| {
            kept.reader(input).map(|mut reader| {
                let mut text = Vec::new();
                reader.read_to_end(&mut text).unwrap();
                text
            })
        };
        assert_eq!(read(0), Some([&[1; 200][..], &[2; 10]].concat()));
        assert_eq!((read(1), read(2), read(3)), (None, None, Some(vec![7; 500])));
        assert!(kept.bytes() <= 900 && kept.bytes() >= 710);
        assert!(kept.whole(4).is_none());
        assert!(
            Keep::new([0, 0].into_iter(), 0).finish().whole(2).is_some_and(|all| all.is_empty())
        );
        assert!(
            KeptInputs::default().whole(0).is_some() && KeptInputs::default().whole(1).is_none()
        );
    }
}
