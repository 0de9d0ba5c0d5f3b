//! Permutes arrays by affine maps in place.
//!
//! An involution swaps tiles, because `V = <e_0, ..> + A <e_0, ..>` is then its own image. A
//! permutation of bits is a product of two involutions, since each of its cycles is a rotation and
//! so two reflections; the added constant takes one more. Any other map uses a copy of the items,
//! as a shuffle does. To do it with less memory one would have to find its cycles of tiles, which
//! are few and long, or use its triangular factors, which takes many passes.

use crate::MatrixError;
use core::mem::MaybeUninit;

use super::mover::Mover;
use super::permute::{Copying, check_length};
use super::shares::TileShares;
use super::subspace::Echelon;
use super::tiles::Tiling;
use super::{BitMatrix, tuning};
use crate::Affine;
use bijective_shuffle_core::Bijection;
use bijective_shuffle_engine::memory::{Buffer, SharedPtr, assume_init};

/// Permutes an array in place by an affine map: item `x` moves to place `A x ^ c`.
///
/// The identity does nothing. A map that is an involution swaps tiles, with hardly any working
/// memory. A permutation of the index's bits, such as a transpose, takes two or three involutions.
/// Any other map uses a copy of the items, which takes as much memory as they do.
///
/// # Errors
///
/// [`MatrixError::LengthMismatch`] if the slice does not have `2^bits` items, and
/// [`MatrixError::OutOfMemory`]. The items are then unchanged.
///
/// # Examples
///
/// ```
/// use bijective_shuffle::affine::{BitMatrix, permute_in_place};
/// use bijective_shuffle::affine::Affine;
/// use bijective_shuffle::prelude::*;
///
/// let mut items: Vec<u32> = (0..8).collect();
/// permute_in_place(&Affine::new(&BitMatrix::bit_reversal(3)?, 0)?, &mut items)?;
/// assert_eq!(items, [0, 4, 2, 6, 1, 5, 3, 7]);
/// # Ok::<(), bijective_shuffle::Error>(())
/// ```
pub fn permute_in_place<T: Copy + Send + Sync>(
    map: &Affine,
    items: &mut [T],
) -> Result<(), MatrixError> {
    check_length(map, items.len())?;
    let (plan, mut memory) = (InPlacePlan::new::<T>(map), PlanMemory::default());
    memory.reserve::<T>(&plan)?;
    plan.run(items, &mut memory)
}

/// Working memory for plans that run one after another.
#[derive(Default)]
pub(super) struct PlanMemory {
    /// The copy of all items.
    copies: Buffer,
    /// The threads' buffers.
    held: Buffer,
}

impl PlanMemory {
    /// Allocates what a plan needs, so that it cannot fail later.
    pub(super) fn reserve<T>(&mut self, plan: &InPlacePlan) -> Result<(), MatrixError> {
        self.copies.room::<T>(plan.copies())?;
        self.held.room::<T>(plan.held())?;
        Ok(())
    }
}

/// A plan for permuting an array in place.
pub(super) struct InPlacePlan {
    /// The number of items.
    len: usize,
    way: InPlaceWay,
}

enum InPlaceWay {
    /// Involutions in order; none if nothing moves.
    Exchanges(Vec<TileExchange>),
    /// A copy of all items, and the copy back.
    Copies(Box<[Copying; 2]>),
}

impl InPlacePlan {
    /// The plan for a map, and for items of the size of `T`.
    pub(super) fn new<T>(map: &Affine) -> Self {
        let len = map.last() as usize + 1;
        let involutions = if size_of::<T>() == 0 { Some(Vec::new()) } else { involutions(map) };
        let way = match involutions {
            Some(all) => InPlaceWay::Exchanges(all.iter().map(TileExchange::new::<T>).collect()),
            None => {
                let identity = map.then(&map.inverted()).expect("of one width");
                InPlaceWay::Copies(Box::new([Copying::new::<T>(map), Copying::new::<T>(&identity)]))
            }
        };
        Self { len, way }
    }

    /// How many items the plan copies.
    fn copies(&self) -> usize {
        if let InPlaceWay::Copies(..) = self.way { self.len } else { 0 }
    }

    /// The threads' working memory, in items.
    fn held(&self) -> usize {
        match &self.way {
            InPlaceWay::Exchanges(all) => {
                all.iter().map(|one| one.shares.room()).max().unwrap_or(0)
            }
            InPlaceWay::Copies(both) => {
                both.each_ref().map(Copying::room).into_iter().max().unwrap_or(0)
            }
        }
    }

    /// Moves the items, using memory that has been [reserved](PlanMemory::reserve).
    ///
    /// # Errors
    ///
    /// [`MatrixError::OutOfMemory`] if it has not been reserved and cannot be allocated. The items
    /// are then unchanged.
    ///
    /// # Panics
    ///
    /// If the number of items is not the map's number of points.
    pub(super) fn run<T: Copy + Send + Sync>(
        &self,
        items: &mut [T],
        memory: &mut PlanMemory,
    ) -> Result<(), MatrixError> {
        assert_eq!(items.len(), self.len);
        let held = memory.held.room(self.held())?;
        match &self.way {
            InPlaceWay::Exchanges(all) => {
                for exchange in all {
                    exchange.run(items, &mut held[..exchange.shares.room()]);
                }
            }
            InPlaceWay::Copies(both) => {
                let [there, back] = &**both;
                let copies = memory.copies.room::<T>(self.len)?;
                let (from, to) = (items.as_ptr(), copies.as_mut_ptr().cast());
                // SAFETY: `from` has an item and `to` a place for every point of the map; `to` is a
                // separate buffer, which only this call uses.
                unsafe { there.run(from, to, &mut held[..there.room()]) };
                // SAFETY: the copy has written an item to every place, since the map is a
                // bijection.
                let copies = unsafe { assume_init(copies) };
                // SAFETY: both arrays have as many items as the map has points, the copies are in a
                // separate buffer, and `items` is borrowed for writing.
                unsafe { back.run(copies.as_ptr(), items.as_mut_ptr(), &mut held[..back.room()]) };
            }
        }
        Ok(())
    }
}

/// Involutions whose product, in order, is the map: none for the identity, one for an involution,
/// two for a permutation of bits, and one more if a constant is added. `None` for all other maps,
/// for which no short product is known.
#[inline]
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
    // A rotation of a circle is two reflections. Each cycle of the permutation is a rotation: place
    // i goes to -i, and from there to 1 - (-i) = i + 1.
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

/// Swaps the tiles of an involution. `V` is its own image, so the image of a tile is a tile, and
/// the items of the one belong in the other.
struct TileExchange {
    map: Affine,
    mover: Mover,
    span: Echelon,
    shares: TileShares,
}

impl TileExchange {
    fn new<T>(map: &Affine) -> Self {
        // Tiles no larger than the runs require, since further dimensions would have to be added in
        // pairs.
        let mover = Mover::new(Tiling::new(map, tuning::run_bits::<T>(), 0));
        let span = Echelon::span(mover.tiling.source.iter().copied());
        let (tiles, items) = (mover.tiling.tiles(), 1 << mover.tiling.tile_bits());
        let shares = TileShares::new::<T>(tiles, items, mover.room(2));
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
            // Of two tiles that are swapped, the thread of the lower one does both.
            let places =
                |tile: &super::tiles::Tile| (span.reduce(tile.source), span.reduce(tile.target));
            let mut all =
                all.map(|tile| (tile, places(&tile))).filter(|(_, (a, b))| a <= b).peekable();
            while let Some((tile, (here, there))) = all.next() {
                let next = all.peek().map(|(tile, _)| tile);
                // SAFETY: the tile is one of the map's, `items` has an item for each of its points,
                // and the buffer has room for the tile. Only the thread of the lower of two tiles
                // gets here, and each is the other's image, so nobody else touches them.
                unsafe { mover.fetch(tile.source, &base, ours) };
                if here < there {
                    let back = mover.tile_at(map, tile.target);
                    // SAFETY: the image of this tile is one of the map's tiles, too, and the other
                    // buffer has room for it. Only this thread touches the two tiles.
                    unsafe { mover.fetch(back.source, &base, theirs) };
                    // SAFETY: `theirs` holds the whole tile `back`. Its image is this tile, whose
                    // items are all in the other buffer and which only this thread touches. The
                    // next tile is one of the map's.
                    unsafe { mover.put(back, theirs, &base, next.map(|next| next.target)) };
                }
                // SAFETY: `ours` holds the whole tile. Its image is the tile itself or the other
                // tile, whose items have been fetched; only this thread touches them. The next tile
                // is one of the map's.
                unsafe { mover.put(tile, ours, &base, next.map(|next| next.source)) };
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bijective_shuffle_core::FromSeed;

    /// Checks the map that moves bit `j` to place `to[j]` and adds `offset`.
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
                let to = bijective_shuffle::Permutation::new(bits.into(), seed).to_vec();
                let to: Vec<u32> = to.into_iter().map(|bit| bit as u32).collect();
                check(&to, 0);
                check(&to, (u64::MAX / 3) >> (64 - bits));
            }
        }
        assert!(involutions(&Affine::from_seed(1 << 20, 1)).is_none());
    }

    #[test]
    fn identity_needs_no_memory_in_place() {
        let plan = InPlacePlan::new::<u64>(&Affine::translation(20, 0).unwrap());
        assert_eq!((plan.copies(), plan.held()), (0, 0));
        let rotation = Affine::new(&BitMatrix::rotation(20, 3).unwrap(), 5).unwrap();
        let plan = InPlacePlan::new::<u64>(&rotation);
        assert_eq!(plan.copies(), 0);
        assert!(plan.held() > 0);
        let gray = Affine::new(&BitMatrix::gray_code(20).unwrap(), 0).unwrap();
        assert_eq!(InPlacePlan::new::<u64>(&gray).copies(), 1 << 20);
    }
}
