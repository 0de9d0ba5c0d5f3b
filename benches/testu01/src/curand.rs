//! The generators of NVIDIA's cuRAND, if `libcurand.so` is there: on the CPU, for the batteries; on
//! a GPU, to compare.

use std::error::Error;
use std::sync::Arc;

use cudarc::curand::result::{self, UniformFill};
use cudarc::curand::sys::{self, curandRngType_t as Kind};
use cudarc::driver::{CudaContext, CudaSlice, CudaStream, DevicePtrMut};

use crate::arguments::Curand;
use crate::source::{Source, Started};

/// The generators that the batteries have, by their orders in the list of contenders.
const KINDS: [(&str, Kind); 3] = [
    ("xorwow", Kind::CURAND_RNG_PSEUDO_XORWOW),
    ("mtgp32", Kind::CURAND_RNG_PSEUDO_MTGP32),
    ("philox", Kind::CURAND_RNG_PSEUDO_PHILOX4_32_10),
];

/// How many words of a GPU come at once.
const BLOCK: usize = 1 << 20;

/// Whether there is the library. Without it the bindings would panic.
pub(crate) fn is_there() -> bool {
    // SAFETY: it loads the library, if there is one, whose initializers are NVIDIA's.
    unsafe { sys::is_culib_present() }
}

/// A generator that computes on the CPU, with cuRAND's own order of words.
pub(crate) fn on_the_cpu<const KIND: usize>(seed: u64) -> Started {
    Ok(Box::new(Host(Handle::new(KINDS[KIND].1, seed, false)?)))
}

/// One of the streams that cuRAND's order is made of: of every `OF` words the first `WORDS`.
pub(crate) fn one_stream<const KIND: usize, const WORDS: usize, const OF: usize>(
    seed: u64,
) -> Started {
    let turn = vec![0; OF];
    Ok(Box::new(OneStream {
        host: Host(Handle::new(KINDS[KIND].1, seed, false)?),
        turn,
        words: WORDS,
    }))
}

/// Compares the words that cuRAND makes on the CPU with those that it makes on a GPU.
pub(crate) fn compare(arguments: &Curand) -> Result<(), Box<dyn Error>> {
    let mut different = Vec::new();
    for (name, kind) in KINDS {
        let mut host = Host(Handle::new(kind, arguments.seed, false)?);
        let mut device = Device::new(kind, arguments.seed)?;
        let mut words = [vec![0; BLOCK], vec![0; BLOCK]];
        let blocks = arguments.words.div_ceil(BLOCK);
        let place = (0..blocks).find_map(|block| {
            host.fill(&mut words[0]);
            device.fill(&mut words[1]);
            let place = words[0].iter().zip(&words[1]).position(|(ours, theirs)| ours != theirs)?;
            Some(block * BLOCK + place)
        });
        match place {
            None => println!("curand/{name}: {} words are the same", blocks * BLOCK),
            Some(place) => {
                println!("curand/{name}: word {place} is another on the GPU");
                different.push(name);
            }
        }
    }
    if different.is_empty() { Ok(()) } else { Err(different.join(", ").into()) }
}

/// A generator of cuRAND's.
struct Handle(sys::curandGenerator_t);

impl Handle {
    /// The generator of a kind, with the library's standard order of words.
    fn new(kind: Kind, seed: u64, on_device: bool) -> Result<Self, Box<dyn Error>> {
        if !is_there() {
            return Err("libcurand.so is not where the system, or LD_LIBRARY_PATH, looks".into());
        }
        let handle = if on_device {
            result::create_generator_kind(kind)?
        } else {
            let mut handle = std::ptr::null_mut();
            // SAFETY: it writes a handle to where the pointer points.
            unsafe { sys::curandCreateGeneratorHost(&mut handle, kind) }.result()?;
            handle
        };
        let generator = Self(handle);
        // SAFETY: the generator has just been made.
        unsafe { result::set_seed(handle, seed) }?;
        Ok(generator)
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        // SAFETY: the generator was made by `new`, and nothing uses it any more. What cuRAND says
        // of it changes nothing.
        let _ = unsafe { result::destroy_generator(self.0) };
    }
}

/// Words made on the CPU.
struct Host(Handle);

impl Source for Host {
    fn row(&self) -> usize {
        1
    }

    fn fill(&mut self, out: &mut [u32]) {
        // SAFETY: the generator is one of the CPU, and writes so many words to memory that is ours.
        let status = unsafe { sys::curandGenerate(self.0.0, out.as_mut_ptr(), out.len()) };
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

/// Words made on a GPU.
struct Device {
    handle: Handle,
    stream: Arc<CudaStream>,
    words: CudaSlice<u32>,
}

impl Device {
    fn new(kind: Kind, seed: u64) -> Result<Self, Box<dyn Error>> {
        // SAFETY: it loads the driver, if there is one, whose initializers are NVIDIA's.
        if !unsafe { cudarc::driver::sys::is_culib_present() } {
            return Err("there is no NVIDIA driver".into());
        }
        // The context is current from now on, and so the generator's.
        let stream = CudaContext::new(0)?.default_stream();
        let handle = Handle::new(kind, seed, true)?;
        let words = stream.alloc_zeros(BLOCK)?;
        Ok(Self { handle, stream, words })
    }
}

impl Source for Device {
    fn row(&self) -> usize {
        BLOCK
    }

    fn fill(&mut self, out: &mut [u32]) {
        for out in out.chunks_exact_mut(BLOCK) {
            let (address, guard) = self.words.device_ptr_mut(&self.stream);
            // SAFETY: the generator is one of the GPU, and writes `BLOCK` words, which the memory
            // has, by the default stream, as this stream is: the copy below comes after it.
            unsafe { UniformFill::<u32>::fill(self.handle.0, address as *mut u32, BLOCK) }
                .expect("cuRAND made the words before these");
            drop(guard);
            self.stream.memcpy_dtoh(&self.words, out).expect("the driver copied the words before");
            self.stream.synchronize().expect("the driver copied the words before");
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
            Host(Handle::new(kind, 1, false).unwrap()).fill(&mut whole);
            let mut feed = Feed::new(Box::new(Host(Handle::new(kind, 1, false).unwrap())));
            assert!(whole.iter().all(|&word| word == feed.next()), "{name}");
            assert!(whole.iter().any(|&word| word != whole[0]), "{name}");
        }
    }
}
