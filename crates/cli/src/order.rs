//! Which lines are written, in which order.

use bijective_shuffle::{Backend, Error, Permutation, Word};

/// What the command line asks for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Selection {
    /// All lines, shuffled.
    Shuffled,
    /// So many lines, or all that there are, from the start of the shuffled order.
    Head(u64),
    /// All lines, put back from the shuffled order.
    PutBack,
}

/// Whether a back end can be had, found out before there is anything to shuffle.
pub(crate) fn check_backend(backend: Backend) -> Result<(), Error> {
    Permutation::new(0, 0).on(backend).write_indices::<u32>(&mut [])
}

/// The numbers of the lines, counted from 0, in the order in which they are written.
pub(crate) fn select<W: Word>(
    permutation: &Permutation,
    selection: Selection,
) -> Result<Vec<W>, Error> {
    match selection {
        Selection::Shuffled => shuffled(permutation),
        Selection::Head(count) => head(permutation, count),
        Selection::PutBack => put_back(permutation),
    }
}

fn shuffled<W: Word>(permutation: &Permutation) -> Result<Vec<W>, Error> {
    let mut order = vec![W::zero(); permutation.len() as usize];
    permutation.write_indices(&mut order)?;
    Ok(order)
}

fn head<W: Word>(permutation: &Permutation, count: u64) -> Result<Vec<W>, Error> {
    // The start of the order takes one thread, in proportion; the whole order takes all of them.
    if count < permutation.len() / rayon::current_num_threads() as u64 {
        return Ok(permutation.iter().take(count as usize).map(W::wrap).collect());
    }
    let mut order = shuffled(permutation)?;
    order.truncate(usize::try_from(count).unwrap_or(usize::MAX));
    Ok(order)
}

/// Shuffling brings line `order[k]` to place `k`, so that line `k` goes back to place `order[k]`:
/// the numbers themselves are put back.
fn put_back<W: Word>(permutation: &Permutation) -> Result<Vec<W>, Error> {
    let mut order: Vec<W> = (0..permutation.len()).map(W::wrap).collect();
    permutation.unapply_in_place(&mut order)?;
    Ok(order)
}
