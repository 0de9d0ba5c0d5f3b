//! Arrays permuted by affine maps where they are.

use core::mem::MaybeUninit;

use super::mover::Mover;
use super::permute::{Copying, check_length};
use super::shares::Shares;
use super::subspace::Echelon;
use super::tiles::Tiling;
use super::{BitMatrix, tuning};
use crate::affine::Affine;
use crate::base::memory::{Buffer, SharedPtr, assume_init};
use crate::bijection::Bijection;
use crate::error::Error;

/// Brings an array into the order of an affine map: item `x` comes to place `A x ^ c`.
///
/// A map that is an involution exchanges tiles, and takes no memory to speak of; nothing at all
/// happens for the map that changes nothing. A permutation of the index's bits, such as a
/// transpose, is two or three involutions. Any other map goes through a copy of the items, which
/// takes as much memory as they do.
///
/// # Errors
///
/// [`Error::LengthMismatch`] if the slice is not of `2^bits` items, and [`Error::OutOfMemory`]; the
/// items are where they were.
///
/// # Examples
///
/// ```
/// use bijective_shuffle::affine::{BitMatrix, permute_in_place};
/// use bijective_shuffle::prelude::*;
///
/// let mut items: Vec<u32> = (0..8).collect();
/// permute_in_place(&Affine::new(&BitMatrix::bit_reversal(3)?, 0)?, &mut items)?;
/// assert_eq!(items, [0, 4, 2, 6, 1, 5, 3, 7]);
/// # Ok::<(), Error>(())
/// ```
pub fn permute_in_place<T: Copy + Send + Sync>(map: &Affine, items: &mut [T]) -> Result<(), Error> {
    check_length(map, items.len())?;
    let (plan, mut memory) = (InPlace::new::<T>(map), Memory::default());
    memory.reserve::<T>(&plan)?;
    plan.run(items, &mut memory)
}

/// Working memory of plans, one after the other.
#[derive(Default)]
pub(super) struct Memory {
    /// Of all items.
    copies: Buffer,
    /// Of the threads.
    held: Buffer,
}

impl Memory {
    /// Gets what a plan needs, so that it cannot fail.
    pub(super) fn reserve<T>(&mut self, plan: &InPlace) -> Result<(), Error> {
        self.copies.room::<T>(plan.copies())?;
        self.held.room::<T>(plan.held())?;
        Ok(())
    }
}

/// How the items of an array are brought into a map's order where they are.
pub(super) struct InPlace {
    /// How many items there are.
    len: usize,
    way: Way,
}

enum Way {
    /// Involutions, one after the other; none if nothing moves.
    Exchanges(Vec<Exchange>),
    /// A copy of all items, and the way back.
    Copies(Box<[Copying; 2]>),
}

impl InPlace {
    /// For items that are of one size with `T`.
    pub(super) fn new<T>(map: &Affine) -> Self {
        let len = map.last() as usize + 1;
        let involutions = if size_of::<T>() == 0 { Some(Vec::new()) } else { involutions(map) };
        let way = match involutions {
            Some(all) => Way::Exchanges(all.iter().map(Exchange::new::<T>).collect()),
            None => {
                let identity = map.then(&map.inverted()).expect("of one width");
                Way::Copies(Box::new([Copying::new::<T>(map), Copying::new::<T>(&identity)]))
            }
        };
        Self { len, way }
    }

    /// How many items it copies.
    fn copies(&self) -> usize {
        if let Way::Copies(..) = self.way { self.len } else { 0 }
    }

    /// How many items of working memory the threads need.
    fn held(&self) -> usize {
        match &self.way {
            Way::Exchanges(all) => all.iter().map(|one| one.shares.room()).max().unwrap_or(0),
            Way::Copies(both) => both.each_ref().map(Copying::room).into_iter().max().unwrap_or(0),
        }
    }

    /// Moves the items, with memory that has been [reserved](Memory::reserve).
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`] if it has not, and the items are where they were.
    ///
    /// # Panics
    ///
    /// If there are not as many items as the map has points.
    pub(super) fn run<T: Copy + Send + Sync>(
        &self,
        items: &mut [T],
        memory: &mut Memory,
    ) -> Result<(), Error> {
        assert_eq!(items.len(), self.len);
        let held = memory.held.room(self.held())?;
        match &self.way {
            Way::Exchanges(all) => {
                for exchange in all {
                    exchange.run(items, &mut held[..exchange.shares.room()]);
                }
            }
            Way::Copies(both) => {
                let [there, back] = &**both;
                let copies = memory.copies.room::<T>(self.len)?;
                let (from, to) = (items.as_ptr(), copies.as_mut_ptr().cast());
                // SAFETY: there is room for as many items as the map has points, apart from the
                // items.
                unsafe { there.run(from, to, &mut held[..there.room()]) };
                // SAFETY: an item has been written to every place.
                let copies = unsafe { assume_init(copies) };
                // SAFETY: as many items, and elsewhere.
                unsafe { back.run(copies.as_ptr(), items.as_mut_ptr(), &mut held[..back.room()]) };
            }
        }
        Ok(())
    }
}

/// Involutions that make a map, one after the other: none for the identity, one for an involution,
/// two for a permutation of bits, and one more for what is added then. For other maps it is not
/// known how few there are.
fn involutions(map: &Affine) -> Option<Vec<Affine>> {
    if map.is_identity() {
        return Some(Vec::new());
    }
    if map.is_involution() {
        return Some(vec![map.clone()]);
    }
    let matrix = map.matrix();
    if !matrix.is_bit_permutation() {
        return None;
    }
    // A rotation of a circle is two reflections, and each of the permutation's cycles is one: from
    // its place i to -i, and from there to 1 - (-i) = i + 1.
    let bits = map.bits();
    let to: Vec<u32> = matrix.columns().iter().map(|column| column.trailing_zeros()).collect();
    let (mut first, mut second) = (vec![u32::MAX; to.len()], vec![0; to.len()]);
    for start in 0..bits {
        if first[start as usize] != u32::MAX {
            continue;
        }
        let next = |&bit: &u32| Some(to[bit as usize]).filter(|&bit| bit != start);
        let cycle: Vec<u32> = core::iter::successors(Some(start), next).collect();
        let len = cycle.len();
        for (i, &bit) in cycle.iter().enumerate() {
            first[bit as usize] = cycle[(len - i) % len];
            second[bit as usize] = cycle[(len + 1 - i) % len];
        }
    }
    let reflection = |to: &[u32]| Affine::new(&BitMatrix::bit_permutation(to).ok()?, 0).ok();
    let all =
        [reflection(&first)?, reflection(&second)?, Affine::translation(bits, map.offset()).ok()?];
    Some(all.into_iter().filter(|map| !map.is_identity()).collect())
}

/// Exchanges the tiles of an involution: its `V` is its own image, so that each tile belongs to one
/// place, whose items belong where the tile is.
struct Exchange {
    map: Affine,
    mover: Mover,
    span: Echelon,
    shares: Shares,
}

impl Exchange {
    fn new<T>(map: &Affine) -> Self {
        // No more than the runs, since more bits would have to come in pairs.
        let mover = Mover::new(Tiling::new(map, tuning::run_bits::<T>(), 0));
        let span = Echelon::span(mover.tiling.source.iter().copied());
        let (tiles, items) = (mover.tiling.tiles(), 1 << mover.tiling.tile_bits());
        let shares = Shares::new::<T>(tiles, items, mover.room(2));
        Self { map: map.clone(), mover, span, shares }
    }

    fn run<T: Copy + Send>(&self, items: &mut [T], memory: &mut [MaybeUninit<T>]) {
        let Self { map, mover, span, shares } = self;
        assert_eq!(items.len() as u64, map.last() + 1);
        let base = SharedPtr::new(items.as_mut_ptr());
        shares.run(memory, |tiles, memory| {
            let (ours, rest) = memory.split_at_mut(1 << mover.tiling.tile_bits());
            let theirs = &mut rest[..ours.len()];
            let mut tile = mover.tiling.tile(tiles.start);
            let all = tiles.map(|number| {
                let next = mover.tiling.next(tile, number);
                core::mem::replace(&mut tile, next)
            });
            // Of two tiles the lower one's thread does both.
            let places =
                |tile: &super::tiles::Tile| (span.reduce(tile.source), span.reduce(tile.target));
            let mut all =
                all.map(|tile| (tile, places(&tile))).filter(|(_, (a, b))| a <= b).peekable();
            while let Some((tile, (here, there))) = all.next() {
                let next = all.peek().map(|(tile, _)| tile);
                // SAFETY: the tile is one of the map's, and there is room for it in the buffer.
                // Nobody else touches the two tiles, as they are each other's image, and only the
                // lower one's thread gets here.
                unsafe { mover.fetch(tile.source, &base, ours) };
                if here < there {
                    let back = mover.tile_at(map, tile.target);
                    // SAFETY: the image of this tile is one of the map's tiles as well, the other
                    // buffer has room for it, and only this thread touches the two.
                    unsafe { mover.fetch(back.source, &base, theirs) };
                    // SAFETY: as above, and all of this tile's items are in the other buffer.
                    unsafe { mover.put(back, theirs, &base, next.map(|next| next.target)) };
                }
                // SAFETY: as above, and all of the other tile's items have been fetched.
                unsafe { mover.put(tile, ours, &base, next.map(|next| next.source)) };
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bijection::FromSeed;

    /// The bits' places, and what is added.
    fn check(to: &[u32], offset: u64) {
        let map = Affine::new(&BitMatrix::bit_permutation(to).unwrap(), offset).unwrap();
        let all = involutions(&map).unwrap();
        assert!(all.iter().all(Affine::is_involution), "{map:?}");
        assert!(all.len() <= 2 + usize::from(offset != 0), "{map:?}");
        let nothing = Affine::translation(map.bits(), 0).unwrap();
        let product = all.iter().fold(nothing, |product, next| product.then(next).unwrap());
        assert_eq!(product, map);
        assert_eq!(map.is_identity(), all.is_empty());
    }

    #[test]
    fn permutations_of_bits_are_made_of_involutions() {
        check(&[], 0);
        for bits in 1..=64_u32 {
            for seed in 0..5 {
                let to = crate::Permutation::new(bits.into(), seed).to_vec();
                let to: Vec<u32> = to.into_iter().map(|bit| bit as u32).collect();
                check(&to, 0);
                check(&to, (u64::MAX / 3) >> (64 - bits));
            }
        }
        assert!(involutions(&Affine::from_seed(1 << 20, 1)).is_none());
    }

    #[test]
    fn nothing_is_needed_to_move_nothing() {
        let plan = InPlace::new::<u64>(&Affine::translation(20, 0).unwrap());
        assert_eq!((plan.copies(), plan.held()), (0, 0));
        let rotation = Affine::new(&BitMatrix::rotation(20, 3).unwrap(), 5).unwrap();
        let plan = InPlace::new::<u64>(&rotation);
        assert_eq!(plan.copies(), 0);
        assert!(plan.held() > 0);
        let gray = Affine::new(&BitMatrix::gray_code(20).unwrap(), 0).unwrap();
        assert_eq!(InPlace::new::<u64>(&gray).copies(), 1 << 20);
    }
}
