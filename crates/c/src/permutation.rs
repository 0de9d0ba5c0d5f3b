//! Handles of permutations.

use bindings::{AnyOrder, Lookup, OrderKind, PlaceRun};
use library::{Error, Seed, Word};

use crate::bijection::{Bijection, Custom};
use crate::memory::{self, check, hand_out};
use crate::seed::{of_key, of_word};
use crate::status::{BS_ERROR_RANGE, Failure, Status, done};
use crate::threads;

/// A permutation of the numbers from 0 up to, but not including, a length. It stores a few numbers,
/// whatever its length.
#[derive(Debug)]
pub struct Permutation(AnyOrder);

/// # Safety
///
/// The pointer is null, or leads to a permutation that is not freed as long as it is borrowed.
pub(crate) unsafe fn order<'a>(permutation: *const Permutation) -> Result<&'a AnyOrder, Failure> {
    // SAFETY: the caller promises a live permutation, and permutations do not change.
    unsafe { memory::shared(permutation, "the permutation") }.map(|permutation| &permutation.0)
}

fn make(kind: OrderKind, length: u64, seed: Seed) -> Result<Permutation, Failure> {
    Ok(Permutation(AnyOrder::new(kind, length, seed)?))
}

/// Makes the permutation of `length` items that a seed determines: the order of bs_shuffle.
///
/// If the length is at most 256 or a power of two, a place or an index is looked up by one
/// evaluation. Otherwise one near either end is found by counting from there, and the first look-up
/// elsewhere builds an index of about 0.1 bits an item, by one pass over all items. For more than
/// 2^33 items only bs_permutation_build_index builds it; until then, look-ups more than about 2^19
/// places from both ends return BS_ERROR_INDEX_NOT_BUILT. Use bs_permutation_walk to look up single
/// places of long orders.
///
/// # Safety
///
/// `permutation` leads to memory for a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bs_permutation_new(
    length: u64,
    seed: u64,
    epoch: u64,
    permutation: *mut *mut Permutation,
) -> Status {
    let make = || make(OrderKind::Compacted, length, of_word(seed, epoch));
    // SAFETY: the caller promises memory for a pointer at `permutation`.
    done(|| unsafe { hand_out(permutation, "the permutation", make) })
}

/// bs_permutation_new with a key of 32 bytes.
///
/// # Safety
///
/// `key` leads to 32 bytes, and `permutation` to memory for a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bs_permutation_new_keyed(
    length: u64,
    key: *const u8,
    epoch: u64,
    permutation: *mut *mut Permutation,
) -> Status {
    // SAFETY: the caller promises 32 bytes at `key`.
    let make = || make(OrderKind::Compacted, length, unsafe { of_key(key, epoch) }?);
    // SAFETY: the caller promises memory for a pointer at `permutation`.
    done(|| unsafe { hand_out(permutation, "the permutation", make) })
}

/// Makes another permutation of `length` items that a seed determines, in which any place and any
/// index is looked up at once, at any length.
///
/// # Safety
///
/// `permutation` leads to memory for a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bs_permutation_walk(
    length: u64,
    seed: u64,
    epoch: u64,
    permutation: *mut *mut Permutation,
) -> Status {
    let make = || make(OrderKind::Walk, length, of_word(seed, epoch));
    // SAFETY: the caller promises memory for a pointer at `permutation`.
    done(|| unsafe { hand_out(permutation, "the permutation", make) })
}

/// bs_permutation_walk with a key of 32 bytes.
///
/// # Safety
///
/// `key` leads to 32 bytes, and `permutation` to memory for a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bs_permutation_walk_keyed(
    length: u64,
    key: *const u8,
    epoch: u64,
    permutation: *mut *mut Permutation,
) -> Status {
    // SAFETY: the caller promises 32 bytes at `key`.
    let make = || make(OrderKind::Walk, length, unsafe { of_key(key, epoch) }?);
    // SAFETY: the caller promises memory for a pointer at `permutation`.
    done(|| unsafe { hand_out(permutation, "the permutation", make) })
}

/// Makes an order for items that are stored in blocks of `block` items; the last block may be
/// shorter. Whole blocks are read in random order, and the items of each `window` consecutive
/// blocks of that order are shuffled among each other. All three numbers are at least 1. Any place
/// and any index is looked up at once.
///
/// # Safety
///
/// `permutation` leads to memory for a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bs_permutation_blocks(
    length: u64,
    block: u64,
    window: u64,
    seed: u64,
    epoch: u64,
    permutation: *mut *mut Permutation,
) -> Status {
    let make = || make(OrderKind::Blocks { block, window }, length, of_word(seed, epoch));
    // SAFETY: the caller promises memory for a pointer at `permutation`.
    done(|| unsafe { hand_out(permutation, "the permutation", make) })
}

/// bs_permutation_blocks with a key of 32 bytes.
///
/// # Safety
///
/// `key` leads to 32 bytes, and `permutation` to memory for a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bs_permutation_blocks_keyed(
    length: u64,
    block: u64,
    window: u64,
    key: *const u8,
    epoch: u64,
    permutation: *mut *mut Permutation,
) -> Status {
    let kind = OrderKind::Blocks { block, window };
    // SAFETY: the caller promises 32 bytes at `key`.
    let make = || make(kind, length, unsafe { of_key(key, epoch) }?);
    // SAFETY: the caller promises memory for a pointer at `permutation`.
    done(|| unsafe { hand_out(permutation, "the permutation", make) })
}

/// Makes the permutation of `length` items from a bijection of your own: its values at 0, 1 and so
/// on that are below `length`. There must be `length` of them. The bijection has at least `length`
/// points.
///
/// If the functions are not a bijection, moving items by them or writing all indexes returns
/// BS_ERROR_NOT_A_BIJECTION.
///
/// # Safety
///
/// `bijection` leads to a bijection that keeps the rules of its type; it is copied. `permutation`
/// leads to memory for a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bs_permutation_from_bijection(
    length: u64,
    bijection: *const Bijection,
    permutation: *mut *mut Permutation,
) -> Status {
    let make = || {
        // SAFETY: the caller promises a bijection that keeps the rules of its type.
        let bijection = unsafe { Custom::new(bijection) }?;
        let made = AnyOrder::given(length, bijection.clone());
        if made.is_err() {
            bijection.give_back();
        }
        Ok(Permutation(made?))
    };
    // SAFETY: the caller promises memory for a pointer at `permutation`.
    done(|| unsafe { hand_out(permutation, "the permutation", make) })
}

/// Makes the inverse of a permutation: its index at place k is the place of index k.
///
/// # Safety
///
/// `permutation` was made by this library and not freed, and `inverse` leads to memory for a
/// pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bs_permutation_inverted(
    permutation: *const Permutation,
    inverse: *mut *mut Permutation,
) -> Status {
    // SAFETY: the caller promises a live permutation.
    let make = || Ok(Permutation(unsafe { order(permutation) }?.inverted()));
    // SAFETY: the caller promises memory for a pointer at `inverse`.
    done(|| unsafe { hand_out(inverse, "the inverse", make) })
}

/// Frees a permutation.
///
/// # Safety
///
/// `permutation` is null, or was made by this library, has not been freed and is not used any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bs_permutation_free(permutation: *mut Permutation) {
    done(|| {
        // SAFETY: the caller promises a permutation that this library made and that is not used any
        // more.
        unsafe { memory::take_back(permutation) };
        Ok(())
    });
}

/// The number of items of a permutation; 0 for a null pointer.
///
/// # Safety
///
/// `permutation` is null, or was made by this library and not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bs_permutation_length(permutation: *const Permutation) -> u64 {
    // SAFETY: the caller promises a live permutation.
    unsafe { order(permutation) }.map_or(0, AnyOrder::len)
}

/// Writes the index at a place to `*index`: bs_permutation_apply moves the item at that index to
/// the place.
///
/// # Safety
///
/// `permutation` was made by this library and not freed, and `index` leads to memory for a number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bs_permutation_get(
    permutation: *const Permutation,
    place: u64,
    index: *mut u64,
) -> Status {
    // SAFETY: the caller promises a live permutation, and memory for a number at `index`.
    done(|| unsafe { look_up(permutation, place, Lookup::Index, index, "the index") })
}

/// Writes the place of an index to `*place`: the `place` at which bs_permutation_get gives `index`.
///
/// # Safety
///
/// `permutation` was made by this library and not freed, and `place` leads to memory for a number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bs_permutation_position(
    permutation: *const Permutation,
    index: u64,
    place: *mut u64,
) -> Status {
    // SAFETY: the caller promises a live permutation, and memory for a number at `place`.
    done(|| unsafe { look_up(permutation, index, Lookup::Place, place, "the place") })
}

/// # Safety
///
/// The pointers are null, or lead to a permutation and to memory for a number.
unsafe fn look_up(
    permutation: *const Permutation,
    number: u64,
    lookup: Lookup,
    found: *mut u64,
    what: &str,
) -> Result<(), Failure> {
    check(found, what)?;
    // SAFETY: the caller promises a live permutation.
    let order = unsafe { order(permutation) }?;
    let len = order.len();
    if number >= len {
        let asked = if lookup == Lookup::Index { "place" } else { "index" };
        let text = format!("there is no {asked} {number} in a permutation of {len} items");
        return Err(Failure::new(BS_ERROR_RANGE, text));
    }
    let value = if order.is_at_hand(number, lookup) {
        order.look_up(number, lookup)
    } else {
        threads::on_all(|| order.look_up(number, lookup))?
    }?;
    // SAFETY: the caller promises memory for a number at `found`.
    unsafe { memory::write(found, value, what) }
}

/// Builds the index that single places need, if they need one, by one pass over all items. It takes
/// about 0.1 bits an item.
///
/// # Safety
///
/// `permutation` was made by this library and not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bs_permutation_build_index(permutation: *const Permutation) -> Status {
    done(|| {
        // SAFETY: the caller promises a live permutation.
        let order = unsafe { order(permutation) }?;
        Ok(threads::on_all(|| order.build_index_while(|| true))??)
    })
}

/// Writes the indexes at the places `first`, `first + 1` and so on to `indexes`, `count` of them.
/// All places at once are written by all threads.
///
/// After BS_ERROR_NOT_A_BIJECTION, BS_ERROR_MEMORY and BS_ERROR_INTERNAL the numbers in `indexes`
/// are unspecified.
///
/// # Safety
///
/// `permutation` was made by this library and not freed, and `indexes` leads to memory for `count`
/// numbers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bs_permutation_range(
    permutation: *const Permutation,
    first: u64,
    count: usize,
    indexes: *mut u64,
) -> Status {
    // SAFETY: the caller promises a live permutation, and memory for `count` numbers at `indexes`.
    done(|| unsafe { write(permutation, first, count, indexes) })
}

/// bs_permutation_range for numbers of 32 bits. Permutations of more than 2^32 items are refused.
///
/// # Safety
///
/// As for bs_permutation_range.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bs_permutation_range_u32(
    permutation: *const Permutation,
    first: u64,
    count: usize,
    indexes: *mut u32,
) -> Status {
    // SAFETY: the caller promises a live permutation, and memory for `count` numbers at `indexes`.
    done(|| unsafe { write(permutation, first, count, indexes) })
}

/// Writes the indexes at a run of places, on all threads if it is long or builds an index.
///
/// # Safety
///
/// The pointers are null, or lead to a permutation and to memory for `count` numbers.
unsafe fn write<N: Word>(
    permutation: *const Permutation,
    first: u64,
    count: usize,
    indexes: *mut N,
) -> Result<(), Failure> {
    // SAFETY: the caller promises a live permutation.
    let order = unsafe { order(permutation) }?;
    let len = order.len();
    if len > 0 && len - 1 > N::MAX.widen() {
        return Err(Error::IndexTooWide { len, bits: N::BITS }.into());
    }
    if first.checked_add(count as u64).is_none_or(|end| end > len) {
        let text = format!(
            "{count} places from {first} on were asked for: the permutation has {len} items"
        );
        return Err(Failure::new(BS_ERROR_RANGE, text));
    }
    // SAFETY: the caller promises memory for `count` numbers at `indexes`.
    let out = unsafe { memory::items_mut(indexes, count, "the indexes") }?;
    let run = PlaceRun { start: first, step: 1, count: count as u64 };
    let bytes = run.count * size_of::<u64>() as u64;
    Ok(if run == PlaceRun::first(len) {
        threads::on_points(order.points(), bytes, || order.write_all(out))?
    } else if order.is_random_access() {
        threads::on_points(run.count, bytes, || order.write(run, out))?
    } else {
        threads::on_all(|| order.write(run, out))?
    }?)
}

/// Writes the first place of a worker's share to `*first`, and the number of its places to
/// `*count`. The shares of the ranks 0 to `ranks - 1` are the places in order, and differ in length
/// by at most 1.
///
/// # Safety
///
/// `permutation` was made by this library and not freed; `first` and `count` lead to memory for
/// numbers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bs_permutation_shard(
    permutation: *const Permutation,
    rank: u64,
    ranks: u64,
    first: *mut u64,
    count: *mut u64,
) -> Status {
    done(|| {
        check(first, "the first place")?;
        check(count, "the number of places")?;
        // SAFETY: the caller promises a live permutation.
        let share = PlaceRun::shard(unsafe { order(permutation) }?.len(), rank, ranks)?;
        // SAFETY: the caller promises memory for a number at `first`.
        unsafe { memory::write(first, share.start, "the first place") }?;
        // SAFETY: the caller promises memory for a number at `count`.
        unsafe { memory::write(count, share.count, "the number of places") }
    })
}
