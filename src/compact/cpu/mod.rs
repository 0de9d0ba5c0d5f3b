//! [`Cpu`]: the engine on the threads of a rayon pool.
//!
//! Each line uses those above it, and none below:
//!
//! ```text
//! call                 what the compiler knows of a call
//! tuning               sizes and thresholds, with the measurements that chose them
//! pack                 packing survivors, with vector instructions
//! survivors            evaluating runs of slots and keeping the survivors
//! places               where items are read from and written to
//! buckets              runs of slots, or of indexes, that fit the cache
//! exact                lengths drawn exactly: exchanges of the items themselves
//! taken                which slots of a bucket are taken, and how many before each
//! gaps                 closing the gaps among a bucket's slots
//! each_once            checking that indexes are a permutation
//! direct               the direct strategy: survivors in order, in runs
//! relocation           copies by the direct strategy that together are a move
//! partitioned          the partitioned strategy: items sorted into buckets, and then in the cache
//! in_place             the strategy in place: blocks of items exchanged within the array
//! checked_permutation  permutations that items may be moved by
//! cycles               wide items moved within the array, along the permutation's cycles
//! strategy             which strategy moves the items
//! workspace            working memory
//! words                items as words of their shape
//! short                lengths of a single run: moved by way of the stack
//! slices               moving the items of a slice: from the call to the store
//! columns              moving the items of several columns
//! (mod)                the engine
//! ```
//!
//! # Words
//!
//! | word | meaning |
//! | --- | --- |
//! | far | items are *far* if random access to them misses the caches: they are too many (`tuning::is_far`) |
//! | sparse | items are *sparse* if they are few for their slots, at least `tuning::SPARSE` slots for each, so that evaluating every slot costs more than sorting the items |
//! | attempt | a strategy that may give up before it moves an item; the direct strategy, which cannot, follows the last attempt |
//! | crew | the threads of one call, which stay awake until its end (`crates/engine/src/crew`) |
//! | pool | the threads of rayon, which do other work too and may sleep between two tasks |

mod buckets;
pub(crate) mod call;
mod checked_permutation;
mod columns;
mod cycles;
pub(crate) mod direct;
mod each_once;
pub(crate) mod exact;
mod gaps;
mod in_place;
mod pack;
pub(crate) mod partitioned;
mod places;
mod relocation;
mod short;
mod slices;
mod strategy;
pub(crate) mod survivors;
mod taken;
pub(crate) mod tuning;
mod words;
mod workspace;

pub use strategy::Strategy;
pub use workspace::Workspace;

use rayon::prelude::*;

use self::checked_permutation::{fits_u32, uncompacted};
use super::{Compactor, Direction, cloned, passes, sealed};
use crate::bijection::hooks::EngineForm;
use crate::engine::check::{check_length, check_word, try_with_capacity};
use crate::engine::memory::Buffer;
use crate::engine::parallel;
use crate::{Bijection, Error, Word};

/// The engine on the threads of the current rayon pool, or on the calling thread alone where that
/// is faster.
///
/// # Memory
///
/// Moving items takes working memory for one copy of them if they fit the caches. Otherwise they
/// are moved [in place](Strategy::InPlace) where that serves: two bytes an item (four beyond 2^29
/// slots) and a few MiB. Several columns take at most 1.5 times the size of the items, each with
/// two extra bytes (four beyond 2^30 slots); see [`Strategy`]. A bijection that is not
/// [trusted](crate::TrustedBijection) takes 4 more bytes an item for the indexes (8 for more than
/// 2^32 items), and one bit an item for the check. So does a shuffled copy, except one of many
/// items by a trusted bijection, for which the items are copied first and then shuffled. Each
/// thread takes some 4 MiB more. A [`Workspace`] keeps all of this from call to call. Calls without
/// one leave some of it to later ones: the calling thread keeps up to 4 MiB from short lengths, and
/// the process up to 24 MiB, and 2 MiB for each thread of the pool, from longer ones. There are
/// copies of the last items in it. [`Backend::release_memory`](crate::Backend::release_memory)
/// frees it.
///
/// # Examples
///
/// ```
/// use bijective_shuffle::bijection::VariablePhilox;
/// use bijective_shuffle::Cpu;
/// use bijective_shuffle::prelude::*;
///
/// let f = VariablePhilox::<24>::from_seed(6, 1);
/// let words = "one two three four five six".split(' ');
/// let mut items: Vec<String> = words.map(String::from).collect();
/// let sorted = items.clone();
/// Cpu.shuffle(&f, &mut items)?;
/// Cpu.unshuffle(&f, &mut items)?;
/// assert_eq!(items, sorted);
/// # Ok::<(), bijective_shuffle::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Cpu;

impl Compactor for Cpu {}

impl sealed::Compact for Cpu {
    fn write_indexes_by<N: Word>(
        &self,
        bijection: &dyn Bijection,
        out: &mut [N],
    ) -> Result<(), Error> {
        let Some(passes) = passes::passes(bijection, out.len()) else {
            return indices_at_once(bijection, out);
        };
        check_word::<N>(out.len())?;
        // The first pass is written, and what it has written is moved by the others.
        let mut passes = passes::in_order(&passes).peekable();
        match passes.next_if(|&(_, direction)| direction == Direction::Shuffle) {
            Some((first, _)) => indices_at_once(first, out)?,
            None => parallel::count_up(out, N::wrap),
        }
        let mut workspace = Workspace::once();
        passes.try_for_each(|(pass, direction)| workspace.reorder_at_once(pass, out, direction))
    }

    fn shuffle_by<T: Send>(&self, bijection: &dyn Bijection, items: &mut [T]) -> Result<(), Error> {
        Workspace::once().reorder_by(bijection, items, Direction::Shuffle)
    }

    fn unshuffle_by<T: Send>(
        &self,
        bijection: &dyn Bijection,
        items: &mut [T],
    ) -> Result<(), Error> {
        Workspace::once().reorder_by(bijection, items, Direction::Unshuffle)
    }

    fn shuffled_by<T: Clone + Send + Sync>(
        &self,
        bijection: &dyn Bijection,
        items: &[T],
    ) -> Result<Vec<T>, Error> {
        if size_of::<T>() == 0 {
            check_length(items.len() as u64, bijection.last())?;
            return Ok(items.to_vec());
        }
        let far = tuning::is_far::<T>(items.len());
        let is_vouched = || passes::passes(bijection, items.len()).is_some();
        let bijection = uncompacted(bijection, items.len())?;
        if far && (is_vouched() || EngineForm::of(bijection).is_trusted()) {
            let mut copy = cloned(items)?;
            self.shuffle(bijection, &mut copy)?;
            return Ok(copy);
        }
        if fits_u32(items.len()) {
            clone_in_order::<T, u32>(bijection, items)
        } else {
            clone_in_order::<T, u64>(bijection, items)
        }
    }
}

/// Writes the permutation, not by passes.
fn indices_at_once<N: Word>(bijection: &dyn Bijection, out: &mut [N]) -> Result<(), Error> {
    let bijection = uncompacted(bijection, out.len())?;
    match EngineForm::of(bijection) {
        EngineForm::Trusted(trusted) if !direct::is_parallel(trusted.last()) => {
            direct::fill_alone(&trusted, out, &mut Buffer::new())
        }
        EngineForm::Trusted(trusted) => {
            let mut workspace = Workspace::once();
            if direct::keeps_tiles(trusted.last()) {
                workspace.adopt();
            }
            direct::fill_trusted(&trusted, out, &mut workspace.partition.tiles)
        }
        EngineForm::Unchecked(bijection) => direct::fill_checked(bijection, out),
    }
}

/// A shuffled copy, made from indexes of type N, which is wide enough for them.
fn clone_in_order<T: Clone + Send + Sync, N: Word>(
    bijection: &dyn Bijection,
    items: &[T],
) -> Result<Vec<T>, Error> {
    let mut indices = try_with_capacity(items.len())?;
    indices.resize(items.len(), N::ZERO);
    Cpu.write_indexes(bijection, &mut indices)?;
    let mut out = try_with_capacity(items.len())?;
    let pick = |index: &N| items[index.widen() as usize].clone();
    if tuning::is_sequential(items.len(), size_of::<T>()) {
        out.extend(indices.iter().map(pick));
    } else {
        indices.par_iter().with_min_len(tuning::MOVE_CHUNK).map(pick).collect_into_vec(&mut out);
    }
    Ok(out)
}
