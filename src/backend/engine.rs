//! [`Engine`]: one of the engines, chosen at run time.

use crate::bijection::hooks::EngineForm;
use crate::compact::{Compactor, Cpu, passes, sealed};
use crate::cuda::Cuda;
use crate::{Bijection, Error, Word};

/// One of the engines for slices in host memory.
#[derive(Clone, Debug)]
pub(crate) enum Engine {
    /// The threads of the current pool.
    Cpu,
    /// The first GPU.
    Cuda(Cuda),
    /// The first GPU for moving items, and the CPU for what the GPU cannot do.
    Either(Cuda),
}

/// The first GPU's engine, once it has been created.
static CUDA: std::sync::OnceLock<Cuda> = std::sync::OnceLock::new();

impl Engine {
    /// The first GPU's engine, which is created once in a process.
    ///
    /// # Errors
    ///
    /// As [`Cuda::new`](Cuda::new).
    pub(crate) fn cuda() -> Result<Self, Error> {
        // Only success is kept: what failed once, perhaps for lack of memory, may succeed the next
        // time.
        match CUDA.get() {
            Some(cuda) => Ok(Self::Cuda(cuda.clone())),
            None => Cuda::new().map(|cuda| Self::Cuda(CUDA.get_or_init(|| cuda).clone())),
        }
    }

    /// Frees what the first GPU's engine keeps of items, if there is one.
    pub(crate) fn release() {
        if let Some(cuda) = CUDA.get() {
            cuda.release();
        }
    }

    /// The engine that is expected to be fastest for moving `bytes` bytes.
    pub(crate) fn fastest(bytes: u64) -> Self {
        if gpu_wins(bytes, rayon::current_num_threads(), CUDA.get().is_some())
            && let Ok(Self::Cuda(cuda)) = Self::cuda()
        {
            return Self::Either(cuda);
        }
        Self::Cpu
    }
}

/// Whether the GPU is expected to move `bytes` bytes of host memory faster than `threads` threads.
/// If the process has not `started` the GPU yet, the time for that counts too.
///
/// The items have to cross the link twice, so the CPU mostly wins. By this model, which was fitted
/// to measurements, the GPU wins where five threads or fewer would have to move 64 MiB or more, if
/// it is started already.
///
/// Measured with 2^28 + 1 items of 8 bytes, the default bijection, an H200 and the 16 cores of its
/// host: 2 threads take 0.54 ns a byte, and the GPU with the same threads 0.28; 16 threads take
/// 0.127, and the GPU with them 0.153. In both cases one part of the time is divided among the
/// threads (for the GPU, the copies within host memory) and another is not.
fn gpu_wins(bytes: u64, threads: usize, started: bool) -> bool {
    /// Fewer bytes fit the caches, or nearly.
    const FEWEST: u64 = 64 << 20;
    /// Nanoseconds for opening the device and compiling a kernel.
    const START: f64 = 1e9;
    let cpu = (1.09 / threads as f64).max(0.127);
    let gpu = 0.13 + 0.34 / threads as f64;
    let start = if started { 0.0 } else { START };
    bytes >= FEWEST && bytes as f64 * (cpu - gpu) > start
}

impl Compactor for Engine {}

/// Whether the GPU can be tried for moving `len` items. It is not for a bijection that is not
/// trusted: the GPU would check the values of the device text, and the CPU those of the Rust code.
fn suits(bijection: &dyn Bijection, len: usize) -> bool {
    let serves = |f: &dyn Bijection| {
        let form = EngineForm::of(f);
        form.is_trusted() && form.device_source().is_some()
    };
    match passes::passes(bijection, len) {
        Some(passes) => passes::in_order(&passes).all(|(pass, _)| serves(pass)),
        None => serves(bijection),
    }
}

impl sealed::Compact for Engine {
    fn write_indexes_by<N: Word>(
        &self,
        bijection: &dyn Bijection,
        out: &mut [N],
    ) -> Result<(), Error> {
        match self {
            Self::Cpu => Cpu.write_indexes(bijection, out),
            Self::Cuda(cuda) => cuda.write_indexes(bijection, out),
            Self::Either(_) => Cpu.write_indexes(bijection, out),
        }
    }

    fn shuffle_by<T: Send>(&self, bijection: &dyn Bijection, items: &mut [T]) -> Result<(), Error> {
        match self {
            Self::Cuda(cuda) => cuda.shuffle(bijection, items),
            // What fails has left the items as they were.
            Self::Either(cuda)
                if suits(bijection, items.len()) && cuda.shuffle(bijection, items).is_ok() =>
            {
                Ok(())
            }
            _ => Cpu.shuffle(bijection, items),
        }
    }

    fn unshuffle_by<T: Send>(
        &self,
        bijection: &dyn Bijection,
        items: &mut [T],
    ) -> Result<(), Error> {
        match self {
            Self::Cuda(cuda) => cuda.unshuffle(bijection, items),
            // What fails has left the items as they were.
            Self::Either(cuda)
                if suits(bijection, items.len()) && cuda.unshuffle(bijection, items).is_ok() =>
            {
                Ok(())
            }
            _ => Cpu.unshuffle(bijection, items),
        }
    }

    fn shuffled_by<T: Clone + Send + Sync>(
        &self,
        bijection: &dyn Bijection,
        items: &[T],
    ) -> Result<Vec<T>, Error> {
        match self {
            Self::Cuda(cuda) => cuda.shuffled(bijection, items),
            // The CPU clones the items in any case, and cloning may be what takes the time.
            _ => Cpu.shuffled(bijection, items),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gpu_is_for_few_threads_and_many_items() {
        let large = 1 << 31;
        assert!((1..=5).all(|threads| gpu_wins(large, threads, true)));
        assert!((6..=64).all(|threads| !gpu_wins(large, threads, true)));
        assert!(gpu_wins(64 << 20, 2, true));
        assert!(!gpu_wins((64 << 20) - 1, 2, true));
        // The GPU has to make up for the second that it takes to start.
        assert!(!gpu_wins(large, 2, false));
        assert!(gpu_wins(1 << 33, 2, false));
        assert!(gpu_wins(large, 1, false));
    }

    #[test]
    fn cpu_takes_over_what_the_gpu_cannot_do() {
        let Ok(Engine::Cuda(cuda)) = Engine::cuda() else {
            println!("skipped: no CUDA device");
            return;
        };
        let either = Engine::Either(cuda);
        // A table of this many points has no device source.
        let table = <crate::bijection::Table as crate::FromSeed>::from_seed(1000, 1);
        let mut items: Vec<u32> = (0..1000).collect();
        either.shuffle(&table, &mut items).unwrap();
        either.unshuffle(&table, &mut items).unwrap();
        assert!(items.into_iter().eq(0..1000));
    }
}
