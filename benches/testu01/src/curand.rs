//! The generators of NVIDIA's cuRAND on the CPU, if `libcurand.so` is there.

use std::error::Error;

use cudarc::curand::result;
use cudarc::curand::sys::{self, curandRngType_t as Kind};

use crate::source::{Source, Started};

/// The generators that the batteries have, by their orders in the list of contenders.
const KINDS: [(&str, Kind); 3] = [
    ("xorwow", Kind::CURAND_RNG_PSEUDO_XORWOW),
    ("mtgp32", Kind::CURAND_RNG_PSEUDO_MTGP32),
    ("philox", Kind::CURAND_RNG_PSEUDO_PHILOX4_32_10),
];

/// Whether there is the library. Without it the bindings would panic.
pub(crate) fn is_there() -> bool {
    // SAFETY: it loads the library, if there is one, whose initializers are NVIDIA's.
    unsafe { sys::is_culib_present() }
}

/// A generator that computes on the CPU, with cuRAND's own order of words.
pub(crate) fn on_the_cpu<const KIND: usize>(seed: u64) -> Started {
    Ok(Box::new(Host::new(KINDS[KIND].1, seed)?))
}

/// One of the streams that cuRAND's order is made of: of every `OF` words the first `WORDS`.
pub(crate) fn one_stream<const KIND: usize, const WORDS: usize, const OF: usize>(
    seed: u64,
) -> Started {
    let turn = vec![0; OF];
    Ok(Box::new(OneStream { host: Host::new(KINDS[KIND].1, seed)?, turn, words: WORDS }))
}

/// A generator of cuRAND's that computes on the CPU.
struct Host(sys::curandGenerator_t);

impl Host {
    /// The generator of a kind, with the library's standard order of words.
    fn new(kind: Kind, seed: u64) -> Result<Self, Box<dyn Error>> {
        if !is_there() {
            return Err("libcurand.so is not where the system, or LD_LIBRARY_PATH, looks".into());
        }
        let mut handle = std::ptr::null_mut();
        // SAFETY: it writes a handle to where the pointer points.
        unsafe { sys::curandCreateGeneratorHost(&mut handle, kind) }.result()?;
        let generator = Self(handle);
        // SAFETY: the generator has just been made.
        unsafe { result::set_seed(handle, seed) }?;
        Ok(generator)
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        // SAFETY: the generator was made by `new`, and nothing uses it any more. What cuRAND says
        // of it changes nothing.
        let _ = unsafe { result::destroy_generator(self.0) };
    }
}

impl Source for Host {
    fn row(&self) -> usize {
        1
    }

    fn fill(&mut self, out: &mut [u32]) {
        // SAFETY: the generator is one of the CPU, and writes `out.len()` words to memory that is
        // ours.
        let status = unsafe { sys::curandGenerate(self.0, out.as_mut_ptr(), out.len()) };
        status.result().expect("cuRAND made the words before these");
    }
}

/// The words of one stream, of all that are made on the CPU.
struct OneStream {
    host: Host,
    /// The words of all streams.
    turn: Vec<u32>,
    /// How many of them are of the first.
    words: usize,
}

impl Source for OneStream {
    fn row(&self) -> usize {
        self.words
    }

    fn fill(&mut self, out: &mut [u32]) {
        for out in out.chunks_exact_mut(self.words) {
            self.host.fill(&mut self.turn);
            out.copy_from_slice(&self.turn[..self.words]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::Feed;

    /// Skips without the library, where there is nothing to test.
    #[test]
    fn words_are_the_same_however_many_come_at_once() {
        if !is_there() {
            assert!(on_the_cpu::<0>(1).is_err());
            return;
        }
        for (name, kind) in KINDS {
            let mut whole = vec![0; 1 << 18];
            Host::new(kind, 1).unwrap().fill(&mut whole);
            let mut feed = Feed::new(Box::new(Host::new(kind, 1).unwrap()));
            assert!(whole.iter().all(|&word| word == feed.next()), "{name}");
            assert!(whole.iter().any(|&word| word != whole[0]), "{name}");
        }
    }
}
