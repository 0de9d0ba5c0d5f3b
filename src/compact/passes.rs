//! Moving items by several bijections, one after the other, where one alone would have to search
//! for its values: see [`Hooked::passes`].
//!
//! Each pass goes by a [`Trusted`] bijection. So it moves items as safely as any other call, even
//! if the passes are not those of the bijection that returned them.

use super::Direction;
use crate::bijection::hooks::{Hooked, Passes};
use crate::engine::abort::AbortOnUnwind;
use crate::{Bijection, Error, Trusted};

/// The passes of a bijection, if it is best applied to `len` items in that way: if it has as many
/// points, and has passes of that length.
pub(crate) fn passes(bijection: &dyn Bijection, len: usize) -> Option<Passes<Trusted<'_>>> {
    if (len as u64).checked_sub(1)? != bijection.last() {
        return None;
    }
    let passes = bijection.passes()?;
    let fits = passes.as_slice().iter().all(|pass| pass.len == len as u64);
    fits.then_some(passes)
}

/// The passes of a shuffle, in the order in which they are done: each with its bijection and its
/// direction.
pub(crate) fn in_order<'a, 'b>(
    passes: &'a Passes<Trusted<'b>>,
) -> impl ExactSizeIterator<Item = (&'a Trusted<'b>, Direction)> + DoubleEndedIterator {
    passes.as_slice().iter().map(|pass| {
        let direction = match pass.is_inverted {
            false => Direction::Shuffle,
            true => Direction::Unshuffle,
        };
        (&pass.bijection, direction)
    })
}

/// The passes of a shuffle, or those that undo it.
pub(crate) fn in_direction(
    passes: Passes<Trusted<'_>>,
    direction: Direction,
) -> Passes<Trusted<'_>> {
    if direction == Direction::Shuffle { passes } else { passes.inverted() }
}

/// Moves `len` items by a bijection, in a given direction: by its passes, or at once if it has
/// none. `step` moves them at once.
///
/// # Errors
///
/// Those of `step`. If it leaves the items as they were after an error, so does this: it undoes the
/// passes that have been done. The memory for that was there a moment ago; if it is not there any
/// more, the process aborts.
pub(crate) fn reorder(
    bijection: &dyn Bijection,
    len: usize,
    direction: Direction,
    step: &mut dyn FnMut(&dyn Bijection, Direction) -> Result<(), Error>,
) -> Result<(), Error> {
    let Some(passes) = passes(bijection, len) else { return step(bijection, direction) };
    let passes = in_direction(passes, direction);
    // Rayon panics if it cannot start its pool, so the pool is started before anything is moved.
    rayon::current_num_threads();
    let mut guard = None;
    for (done, (bijection, direction)) in in_order(&passes).enumerate() {
        if let Err(error) = step(bijection, direction) {
            for (bijection, direction) in in_order(&passes).take(done).rev() {
                if step(bijection, direction.flip()).is_err() {
                    std::process::abort();
                }
            }
            core::mem::forget(guard);
            return Err(error);
        }
        // Nothing unwinds between two passes or in a later one, since passes are free of panics. If
        // it did, the items would be neither in their new order nor in their old one.
        guard.get_or_insert_with(|| AbortOnUnwind);
    }
    core::mem::forget(guard);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Permutation;
    use crate::compact::{Compactor, Serial};

    #[test]
    fn passes_before_one_that_fails_are_undone() {
        let [p, q, r] = [1, 2, 3].map(|seed| Permutation::new(300, seed));
        let all = p.then(&q.inverted()).unwrap().then(&r).unwrap();
        for direction in [Direction::Shuffle, Direction::Unshuffle] {
            for failing in 0..=3 {
                let (mut items, mut calls): (Vec<u64>, _) = ((0..300).collect(), 0);
                let done = reorder(&all, 300, direction, &mut |pass, direction| {
                    calls += 1;
                    if calls == failing + 1 {
                        return Err(Error::OutOfMemory { bytes: 7 });
                    }
                    match direction {
                        Direction::Shuffle => Serial.shuffle(pass, &mut items),
                        Direction::Unshuffle => Serial.unshuffle(pass, &mut items),
                    }
                });
                assert_eq!(done.is_ok(), failing == 3);
                assert_eq!(calls, if failing == 3 { 3 } else { 2 * failing + 1 });
                assert_eq!(items.into_iter().eq(0..300), failing < 3, "{failing}, {direction:?}");
            }
        }
    }

    #[test]
    fn items_are_moved_at_once_where_there_are_no_passes() {
        let p = Permutation::new(300, 1);
        let both = p.then(&p).unwrap();
        assert!(passes(&both, 300).is_some_and(|passes| passes.as_slice().len() == 2));
        assert!(passes(&both, 299).is_none() && passes(&both, 0).is_none());
        let of_fewer = Permutation::from_bijection(200, both.clone()).unwrap();
        assert!(passes(&of_fewer, 200).is_none());
        // As one pass, and as none, since nothing is searched for.
        assert!(passes(&p.inverted(), 300).is_some_and(|passes| passes.as_slice().len() == 1));
        let walk = Permutation::walk(300, 1);
        assert!(passes(&walk.then(&walk.inverted()).unwrap(), 300).is_none());
    }
}
