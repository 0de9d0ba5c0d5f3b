//! What is done for a bijection that nobody vouches for.

use cudarc::driver::result;

use super::direct::lookup;
use super::{Job, Mode, Runner, WIDEST_KEPT};
use crate::base::check::{check_in_order, try_with_capacity};
use crate::compact::wrong_count;
use crate::cuda::device::failed;
use crate::cuda::kernels;
use crate::cuda::movement::{Movement, word_type};
use crate::cuda::tuning;
use crate::error::{Defect, Error};

/// Where `Chain` in gpu/lookback.cuh has the number of survivors.
const CHAIN_TOTAL: u64 = 16;

impl Runner {
    /// The indexes first, then the check, and then the movement, if there is one.
    pub(super) fn checked(&mut self, job: &Job) -> Result<(), Error> {
        if job.len > WIDEST_KEPT {
            return Err(Error::DeviceMemory);
        }
        let word = match job.movement {
            Movement::Indices { word, .. } => word,
            Movement::Items { .. } => 8,
        };
        let seen_bytes = (job.len.div_ceil(32) * 4 + 4).next_multiple_of(256);
        let own = match job.movement {
            Movement::Indices { .. } => 0,
            Movement::Items { .. } => job.len * 8,
        };
        let text = kernels::find_repeats(word_type(word));
        let find = self.kernel(None, text, tuning::THREADS, 0)?;
        let seen = self.scratch(seen_bytes + own)?;
        let repeats = seen + job.len.div_ceil(32) * 4;
        let indices = match job.movement {
            Movement::Indices { out, .. } => out,
            Movement::Items { .. } => seen + seen_bytes,
        };
        // Not only slots but also values in 64 bits, since nothing says that they are in the domain; and survivors
        // are looked for even where every slot should survive.
        let to_indices = Movement::Indices { out: indices, word };
        self.survivors(&job.source, job.last, job.len, "uint64_t", &to_indices, 0)?;
        let movement = |runner: &mut Self| match job.movement {
            Movement::Indices { .. } => Ok(()),
            Movement::Items { .. } => {
                runner.dense(&lookup(indices, 8), job.len, "uint64_t", &job.movement)
            }
        };
        self.clear(seen, seen_bytes)?;
        if self.mode != Mode::Run {
            return movement(self);
        }
        let chain = self.chain(1)?;
        let arguments = [indices, job.len, chain, seen, repeats].map(u64::to_le_bytes);
        let arguments = arguments.each_ref().map(|bytes| &bytes[..]);
        let grid = self.resident(&find, job.len.div_ceil(u64::from(tuning::THREADS)));
        self.launch(&find, (grid, 1), tuning::THREADS, 0, &arguments)?;
        let total = chain + CHAIN_TOTAL;
        let (mut survivors, mut repeated) = ([0_u64], [0_u32]);
        self.read(total, &mut survivors)?;
        self.read(repeats, &mut repeated)?;
        let len = usize::try_from(job.len).map_err(|_| Error::DeviceMemory)?;
        if survivors[0] != job.len {
            return Err(wrong_count(len, survivors[0] as usize));
        }
        if repeated[0] != 0 {
            return Err(self.defect(indices, len, word));
        }
        movement(self)
    }

    /// What is wrong with indexes that repeat.
    fn defect(&self, indices: u64, len: usize, word: usize) -> Error {
        let found = if word == 4 {
            self.first_defect::<u32>(indices, len)
        } else {
            self.first_defect::<u64>(indices, len)
        };
        match found {
            // The places are those of the survivors, and only the device knows their slots.
            Err(Error::NotABijection(Defect::Repeats { index, .. })) => {
                Error::NotABijection(Defect::Repeats { index, slots: None })
            }
            Err(error) => error,
            // The device has seen a repetition, so there is one.
            Ok(()) => Error::NotABijection(Defect::Repeats { index: 0, slots: None }),
        }
    }

    fn first_defect<N: crate::Word>(&self, indices: u64, len: usize) -> Result<(), Error> {
        let mut words = try_with_capacity(len)?;
        words.resize(len, N::zero());
        self.read(indices, &mut words)?;
        check_in_order(&words)
    }

    /// Reads what the stream has written, when it is done.
    fn read<N: Copy>(&self, address: u64, out: &mut [N]) -> Result<(), Error> {
        let failed = |error| failed(error, "read from the device");
        // SAFETY: the address is of as many numbers of the working memory, or of the caller's, and any bits are one.
        // `out` is borrowed until they are there.
        unsafe { result::memcpy_dtoh_async(out, address, self.stream.cu_stream()) }
            .map_err(failed)?;
        self.stream.synchronize().map_err(failed)
    }
}
