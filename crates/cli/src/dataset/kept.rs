//! [`Keep`]: the records of a data set, if they fit memory.

use std::sync::{Mutex, PoisonError};

/// The records of all inputs, each in chunks of whole ones.
#[derive(Debug, Default)]
pub(super) struct KeptInputs {
    texts: Vec<Vec<Vec<u8>>>,
    /// How much memory they take.
    pub(super) bytes: usize,
}

impl KeptInputs {
    /// All chunks, in their order.
    pub(super) fn chunks(&self) -> Vec<&[u8]> {
        self.texts.iter().flatten().map(Vec::as_slice).collect()
    }
}

/// Keeps what is read of inputs, all or nothing.
pub(super) struct Keep {
    kept: Mutex<Option<KeptInputs>>,
    most: usize,
}

impl Keep {
    /// Inputs of these sizes, in at most `most` bytes. If one is larger as it is, encoded or not,
    /// nothing is kept.
    pub(super) fn new(mut sizes: impl ExactSizeIterator<Item = u64>, most: usize) -> Self {
        let texts = vec![Vec::new(); sizes.len()];
        let fits = sizes.all(|size| size <= most as u64);
        Self { kept: Mutex::new(fits.then_some(KeptInputs { texts, bytes: 0 })), most }
    }

    /// More of an input is read. Returns memory for what is read next.
    pub(super) fn push(&self, input: usize, chunk: Vec<u8>) -> Vec<u8> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(KeptInputs { texts, bytes }) = kept.as_mut() else { return chunk };
        // What a chunk has room for counts, and not what it has.
        let is_full = chunk.capacity() - chunk.len() <= chunk.len() / 16;
        let room = if is_full { chunk.capacity() } else { chunk.len() };
        *bytes = bytes.saturating_add(room + size_of::<Vec<u8>>());
        let mut exact = Vec::new();
        if *bytes > self.most || !is_full && exact.try_reserve_exact(chunk.len()).is_err() {
            *kept = None;
            return chunk;
        }
        if is_full {
            texts[input].push(chunk);
            return Vec::new();
        }
        exact.extend_from_slice(&chunk);
        texts[input].push(exact);
        chunk
    }

    /// All of it, if it fits.
    pub(super) fn finish(self) -> Option<KeptInputs> {
        self.kept.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_are_kept_all_or_none() {
        let full = |byte: u8| vec![byte; 200];
        let keep = Keep::new([10, 10, 0].into_iter(), 800);
        // Memory that is full is given away, and other memory comes back.
        assert_eq!(keep.push(0, full(1)).capacity(), 0);
        let mut sparse = Vec::with_capacity(1000);
        sparse.extend([2; 10]);
        assert_eq!(keep.push(1, sparse).capacity(), 1000);
        assert_eq!(keep.push(0, full(3)).capacity(), 0);
        let kept = keep.finish().unwrap();
        assert_eq!(kept.chunks(), [&full(1)[..], &full(3), &[2; 10]]);
        assert!(kept.bytes <= 800 && kept.bytes >= 410);
        // What is too much is not kept, nor is anything before or behind it.
        let keep = Keep::new([10, 10].into_iter(), 500);
        assert_eq!(keep.push(0, full(1)).capacity(), 0);
        assert_eq!(keep.push(1, vec![5; 600]), vec![5; 600]);
        assert_eq!(keep.push(1, full(6)), full(6));
        assert!(keep.finish().is_none());
        assert!(Keep::new([10, 1000].into_iter(), 900).finish().is_none());
        assert!(Keep::new([0, 0].into_iter(), 0).finish().unwrap().chunks().is_empty());
    }
}
