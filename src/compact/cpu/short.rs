//! Lengths whose slots are a single run, in calls without a workspace: moved by way of the stack.
//!
//! Such a call takes less than a microsecond. To take a workspace from the thread, to look for a
//! strategy and to give the workspace back would be a sixth of it.

use core::mem::MaybeUninit;

use super::direct::in_one_run;
use super::relocation::{Gather, Relocation, Scatter};
use super::survivors::Values;
use super::tuning;
use super::words::as_words;
use crate::compact::Direction;
use crate::engine::bijection::StandardCipher;
use crate::engine::memory::{Buffer, SharedPtr};
use crate::{Error, Seed};

/// The largest items: with a run of them on the stack, it is 16 KiB.
const MOST_BYTES: usize = 16;

/// Whether this many items of type T are moved here.
pub(super) const fn is_short<T>(len: usize) -> bool {
    size_of::<T>() <= MOST_BYTES && size_of::<T>() > 0 && len <= tuning::RUN
}

/// Moves the items by the permutation of a seed, which is not [drawn
/// exactly](super::exact::is_exact).
///
/// # Errors
///
/// [`Error::OutOfMemory`]; the items are then unchanged.
///
/// # Panics
///
/// If there are more items than slots in a run.
#[inline]
pub(super) fn reorder<T: Send>(
    seed: Seed,
    items: &mut [T],
    direction: Direction,
) -> Result<(), Error> {
    let cipher = StandardCipher::of_seed(items.len() as u64, seed);
    as_words!(T, items by words_mut => reorder_words(&cipher, items, direction))
}

fn reorder_words<T: Send>(
    cipher: &StandardCipher,
    items: &mut [T],
    direction: Direction,
) -> Result<(), Error> {
    let (trusted, len) = (cipher.trust(), items.len());
    let mut tiles = Buffer::new();
    let values = Values::on_one_thread(&trusted, len, &mut tiles)?;
    let mut room = [const { MaybeUninit::uninit() }; tuning::RUN];
    let moving = Relocation { items, scratch: &mut room[..len] };
    match direction {
        Direction::Shuffle => {
            let gather = Gather(SharedPtr::new(moving.items.as_mut_ptr()));
            in_one_run::<_, u16>(&values, &mut *moving.scratch, &gather)?;
        }
        Direction::Unshuffle => {
            let scatter = Scatter(SharedPtr::new(moving.scratch.as_mut_ptr()));
            in_one_run::<_, u16>(&values, &mut *moving.items, &scatter)?;
        }
    }
    // SAFETY: the cipher's permutation has each index exactly once, and each place was in the run.
    // So each item has been copied once, and each scratch place holds an item.
    unsafe { moving.commit() };
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compact::Workspace;

    fn check<T: Copy + Send + PartialEq + core::fmt::Debug>(item: impl Fn(usize) -> T) {
        for len in [257, 300, 511, 512, 513, 1000, 1023, 1024] {
            assert!(is_short::<T>(len));
            let items: Vec<T> = (0..len).map(&item).collect();
            let (mut expected, mut moved) = (items.clone(), items.clone());
            Workspace::new().shuffle(len as u64, &mut expected).unwrap();
            reorder(Seed::new(len as u64), &mut moved, Direction::Shuffle).unwrap();
            assert_eq!(moved, expected, "{len}");
            reorder(Seed::new(len as u64), &mut moved, Direction::Unshuffle).unwrap();
            assert_eq!(moved, items, "{len}, undone");
        }
    }

    #[test]
    fn short_calls_give_what_a_workspace_gives() {
        check(|k| k as u8);
        check(|k| k as u16);
        check(|k| [k as u8; 3]);
        check(|k| k as u32);
        check(|k| k as u64);
        check(|k| [k as u64, 7]);
        assert!(!is_short::<u64>(1025) && !is_short::<[u64; 3]>(300) && !is_short::<()>(300));
    }
}
