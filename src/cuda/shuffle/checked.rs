//! The plan for a bijection that is not trusted.

use super::job::{Job, Slots};
use super::movement::{Movement, Moves};
use super::{direct, kernels};
use crate::compact::wrong_count;
use crate::cuda::runtime::kernels::THREADS;
use crate::cuda::runtime::plan::{
    Address, DevicePlan, Evaluated, Grid, Ground, Launch, MOST_POINTS,
};
use crate::cuda::runtime::reader::StreamReader;
use crate::cuda::runtime::word_type::WordType;
use crate::engine::check::{check_in_order, try_with_capacity};
use crate::error::{Defect, GpuError};
use crate::{Error, Word};

/// Writes the indexes first, then checks them, and then moves the items, if there are any.
pub(in crate::cuda) fn plan<'a>(job: &'a Job) -> Result<DevicePlan<'a>, Error> {
    if job.len > MOST_POINTS {
        return Err(Error::Gpu(GpuError::OutOfMemory));
    }
    let seen_words = job.len.div_ceil(32);
    let seen_bytes = (seen_words * 4 + 4).next_multiple_of(256);
    let (seen, repeats) = (Address::Scratch(0), Address::Scratch(seen_words * 4));
    // A job that writes indexes has room for them; one that moves items needs working memory.
    let (indices, word, own) = match job.movement {
        Movement::Indices { out, word } => (out, word, 0),
        Movement::Items { .. } => (Address::Scratch(seen_bytes), WordType::U64, job.len * 8),
    };
    let mut plan = DevicePlan::new();
    plan.take_scratch(seen_bytes + own);
    // Values are evaluated in 64 bits, since they may be outside the domain. Survivors are selected
    // even where every slot should survive.
    let slots = Slots { last: job.last, len: job.len, index: WordType::U64 };
    let to_indices = Movement::Indices { out: indices, word };
    direct::survivors(&mut plan, (&job.source).into(), slots, &to_indices, None)?;
    plan.clear(seen, seen_bytes);
    let len = job.len;
    let grid = Grid::Resident(len.div_ceil(u64::from(THREADS)));
    plan.launch(Launch::new(kernels::find_repeats(word), grid, move |at| kernels::FindRepeats {
        indexes: at.at(indices),
        len,
        states: at.tile_states,
        seen: at.at(seen),
        repeats: at.at(repeats),
    }));
    plan.check(move |reader, at| verdict(reader, at, len, CheckResults { indices, word, repeats }));
    if !job.movement.writes_indexes() {
        let lookup = Evaluated::Lookup(WordType::U64, indices);
        plan.launch(direct::dense(lookup, len, WordType::U64, &job.movement)?);
    }
    Ok(plan)
}

/// Where the check has left its results on the device.
#[derive(Clone, Copy)]
struct CheckResults {
    indices: Address,
    word: WordType,
    /// A word that is not 0 if an index came twice.
    repeats: Address,
}

/// Checks that there are exactly `len` survivors, each once.
fn verdict(
    reader: &StreamReader<'_>,
    at: &Ground,
    len: u64,
    found: CheckResults,
) -> Result<(), Error> {
    let (mut survivors, mut repeated) = ([0_u64], [0_u32]);
    // SAFETY: this plan has taken the memory of a look-back, in which the address is that of a
    // 64-bit number.
    unsafe { reader.read(at.survivors(), &mut survivors) }?;
    // SAFETY: the plan's working memory has a 32-bit word there, after the bitmap of the indexes
    // that have been seen.
    unsafe { reader.read(at.at(found.repeats), &mut repeated) }?;
    let len = usize::try_from(len).map_err(|_| Error::Gpu(GpuError::OutOfMemory))?;
    if survivors[0] != len as u64 {
        return Err(wrong_count(len, survivors[0] as usize));
    }
    if repeated[0] == 0 {
        return Ok(());
    }
    let indices = at.at(found.indices);
    let first = match found.word {
        // SAFETY: the `len` survivors, whose number has just been checked, have been written there
        // in words of this size.
        WordType::U32 => unsafe { first_defect::<u32>(reader, indices, len) },
        // SAFETY: the `len` survivors, whose number has just been checked, have been written there
        // in words of 8 bytes, the only other size of indexes.
        _ => unsafe { first_defect::<u64>(reader, indices, len) },
    };
    Err(match first {
        // The error has places among the survivors, and only the device knows their slots.
        Err(Error::NotABijection(Defect::Repeats { index, .. })) => {
            Error::NotABijection(Defect::Repeats { index, slots: None })
        }
        Err(error) => error,
        // The device has found a repetition, so there is one.
        Ok(()) => Error::NotABijection(Defect::Repeats { index: 0, slots: None }),
    })
}

/// Finds the first defect of indexes that are no permutation.
///
/// # Safety
///
/// There are `len` words of type N at the address, which the stream may read.
unsafe fn first_defect<N: Word>(
    reader: &StreamReader<'_>,
    indices: u64,
    len: usize,
) -> Result<(), Error> {
    let mut words = try_with_capacity(len)?;
    words.resize(len, N::ZERO);
    // SAFETY: the caller promises `len` words at the address, and any bits are a valid word.
    unsafe { reader.read(indices, &mut words) }?;
    Ok(check_in_order(&words)?)
}
