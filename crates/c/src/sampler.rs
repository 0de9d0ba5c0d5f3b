//! Handles of samplers.

use std::ffi::{CStr, c_char};

use bindings::TAILS;
use library::{Sampler as Inner, SamplerState};

use crate::memory::{self, check, hand_out};
use crate::seed::{of_key, of_word};
use crate::status::{
    BS_END, BS_ERROR_LENGTH, BS_ERROR_STATE, BS_OK, Failure, Status, done, guarded,
};

/// The order is repeated from its start until every rank has the same number of items.
pub const BS_TAIL_PAD: i32 = 0;
/// The remaining items are dealt out; a rank's last batch is shorter, or empty.
pub const BS_TAIL_SHORT: i32 = 1;
/// The order is repeated from its start until every rank has a full batch.
pub const BS_TAIL_FILL: i32 = 2;
/// The last step is skipped, and some items are left out.
pub const BS_TAIL_DROP: i32 = 3;

/// The order of bs_permutation_walk for each epoch.
pub const BS_ORDER_SHUFFLED: i32 = 0;
/// The order of bs_permutation_blocks for each epoch.
pub const BS_ORDER_BLOCKS: i32 = 1;
/// The items in their own order.
pub const BS_ORDER_SEQUENTIAL: i32 = 2;

/// The most bytes that the text of a sampler's state takes, with its terminating zero.
pub const BS_STATE_SIZE: usize = 68;

/// What a sampler deals out, and to whom. Set all fields to zero, and then those that matter.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct SamplerOptions {
    /// The number of items: at least 1.
    pub length: u64,
    /// The seed, unless there is a key.
    pub seed: u64,
    /// 32 bytes that are the seed, or null. They are copied.
    pub key: *const u8,
    /// This rank: from 0 to `ranks - 1`.
    pub rank: u64,
    /// The number of ranks: at least 1.
    pub ranks: u64,
    /// The number of items that a rank takes in a step: at least 1.
    pub batch: u64,
    /// What happens in the last step of an epoch if fewer items are left: BS_TAIL_PAD or another.
    pub tail: i32,
    /// The order of the items: BS_ORDER_SHUFFLED or another.
    pub order: i32,
    /// For BS_ORDER_BLOCKS, the number of items in a block: at least 1.
    pub block: u64,
    /// For BS_ORDER_BLOCKS, the number of blocks in a window: at least 1.
    pub window: u64,
    /// Zeros, or BS_ERROR_ARGUMENT is returned. Later versions may use them.
    pub reserved: [u64; 4],
}

/// Deals out the items of one epoch after another to ranks, in batches.
#[derive(Debug)]
pub struct Sampler {
    inner: Inner,
    /// Kept between steps.
    batch: Vec<u64>,
}

/// # Safety
///
/// The pointer is null, or leads to a sampler that nobody else uses meanwhile.
unsafe fn inner<'a>(sampler: *mut Sampler) -> Result<&'a mut Sampler, Failure> {
    // SAFETY: the caller promises a live sampler that nobody else uses.
    unsafe { memory::exclusive(sampler, "the sampler") }
}

fn make(options: &SamplerOptions) -> Result<Sampler, Failure> {
    let &SamplerOptions {
        length,
        seed,
        key,
        rank,
        ranks,
        batch,
        tail,
        order,
        block,
        window,
        reserved,
    } = options;
    if reserved != [0; 4] {
        return Err(Failure::not_zero("the options"));
    }
    // SAFETY: the header demands 32 bytes, or null.
    let seed = if key.is_null() { of_word(seed, 0) } else { unsafe { of_key(key, 0) }? };
    let known = usize::try_from(tail).ok().and_then(|tail| TAILS.get(tail));
    let Some(&(_, tail)) = known else {
        return Err(Failure::argument(format!("there is no tail {tail}: take a BS_TAIL_..")));
    };
    let builder = Inner::builder(length, seed).rank(rank, ranks).batch(batch).tail(tail);
    let builder = match order {
        BS_ORDER_SHUFFLED => builder,
        BS_ORDER_BLOCKS => builder.blocks(block, window),
        BS_ORDER_SEQUENTIAL => builder.sequential(),
        _ => {
            return Err(Failure::argument(format!(
                "there is no order {order}: take a BS_ORDER_.."
            )));
        }
    };
    Ok(Sampler { inner: builder.build()?, batch: Vec::new() })
}

/// Makes a sampler, at the beginning of epoch 0.
///
/// # Safety
///
/// `options` leads to options whose key is null or leads to 32 bytes, and `sampler` to memory for a
/// pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bs_sampler_new(
    options: *const SamplerOptions,
    sampler: *mut *mut Sampler,
) -> Status {
    // SAFETY: the caller promises options at `options`, whose key is null or 32 bytes.
    let make = || make(unsafe { memory::shared(options, "the options") }?);
    // SAFETY: the caller promises memory for a pointer at `sampler`.
    done(|| unsafe { hand_out(sampler, "the sampler", make) })
}

/// Frees a sampler.
///
/// # Safety
///
/// `sampler` is null, or was made by this library, has not been freed and is not used any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bs_sampler_free(sampler: *mut Sampler) {
    // SAFETY: the caller promises a sampler that this library made and that is not used any more.
    unsafe { memory::take_back(sampler) };
}

/// Takes the rank's next batch: writes its items to `items` and their number to `*count`. Returns
/// BS_END, and writes nothing, if the epoch is over. A step may have no items for a rank, with the
/// tail BS_TAIL_SHORT.
///
/// `room` is the number of items that there is memory for. While there is a step left, less than a
/// batch is refused by BS_ERROR_LENGTH, and the batch is not taken.
///
/// # Safety
///
/// `sampler` was made by this library and not freed; `items` leads to memory for `room` numbers,
/// and `count` to memory for one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bs_sampler_next_batch(
    sampler: *mut Sampler,
    items: *mut u64,
    room: usize,
    count: *mut usize,
) -> Status {
    guarded(|| {
        check(count, "the number of items")?;
        // SAFETY: the caller promises a live sampler that nobody else uses.
        let sampler = unsafe { inner(sampler) }?;
        if sampler.inner.steps_remaining() == 0 {
            return Ok(BS_END);
        }
        let batch = sampler.inner.batch();
        if (room as u64) < batch {
            let text = format!("there is memory for {room} items, and a batch has {batch}");
            return Err(Failure::new(BS_ERROR_LENGTH, text));
        }
        // SAFETY: the caller promises memory for `room` numbers at `items`.
        let out = unsafe { memory::items_mut(items, room, "the items") }?;
        if !sampler.inner.next_batch(&mut sampler.batch)? {
            return Ok(BS_END);
        }
        let taken = sampler.batch.len();
        out[..taken].copy_from_slice(&sampler.batch);
        // SAFETY: the caller promises memory for a number at `count`.
        unsafe { memory::write(count, taken, "the number of items") }?;
        Ok(BS_OK)
    })
}

/// Goes to the beginning of the next epoch. Epoch 2^64 - 1 is the last: there the call returns
/// BS_ERROR_RANGE, and the sampler stays where it is.
///
/// # Safety
///
/// `sampler` was made by this library and not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bs_sampler_next_epoch(sampler: *mut Sampler) -> Status {
    // SAFETY: the caller promises a live sampler that nobody else uses.
    done(|| Ok(unsafe { inner(sampler) }?.inner.next_epoch()?))
}

/// Goes to the beginning of an epoch.
///
/// # Safety
///
/// `sampler` was made by this library and not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bs_sampler_set_epoch(sampler: *mut Sampler, epoch: u64) -> Status {
    // SAFETY: the caller promises a live sampler that nobody else uses.
    done(|| Ok(unsafe { inner(sampler) }?.inner.set_epoch(epoch)?))
}

/// The epoch that a sampler is in; 0 for a null pointer.
///
/// # Safety
///
/// `sampler` is null, or was made by this library and not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bs_sampler_epoch(sampler: *const Sampler) -> u64 {
    // SAFETY: the caller promises a live sampler that nobody changes.
    unsafe { memory::shared(sampler, "the sampler") }.map_or(0, |sampler| sampler.inner.epoch())
}

/// The number of places of the epoch that all ranks together have consumed; 0 for a null pointer.
///
/// # Safety
///
/// `sampler` is null, or was made by this library and not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bs_sampler_consumed(sampler: *const Sampler) -> u64 {
    // SAFETY: the caller promises a live sampler that nobody changes.
    unsafe { memory::shared(sampler, "the sampler") }.map_or(0, |sampler| sampler.inner.consumed())
}

/// The number of steps of a whole epoch, the same for every rank; 0 for a null pointer.
///
/// # Safety
///
/// `sampler` is null, or was made by this library and not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bs_sampler_steps(sampler: *const Sampler) -> u64 {
    // SAFETY: the caller promises a live sampler that nobody changes.
    unsafe { memory::shared(sampler, "the sampler") }.map_or(0, |sampler| sampler.inner.steps())
}

/// The number of steps that remain in the epoch, the same for every rank; 0 for a null pointer.
///
/// # Safety
///
/// `sampler` is null, or was made by this library and not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bs_sampler_steps_remaining(sampler: *const Sampler) -> u64 {
    // SAFETY: the caller promises a live sampler that nobody changes.
    unsafe { memory::shared(sampler, "the sampler") }
        .map_or(0, |sampler| sampler.inner.steps_remaining())
}

/// Writes a state's text, with its zero, to `size` bytes from `text` on.
///
/// # Safety
///
/// `text` is null, or leads to memory for `size` bytes.
unsafe fn write_state(state: &SamplerState, text: *mut c_char, size: usize) -> Result<(), Failure> {
    // SAFETY: the caller promises memory for `size` bytes at `text`.
    let out = unsafe { memory::items_mut(text.cast::<u8>(), size, "the text") }?;
    let state = state.to_string();
    let Some(out) = out.get_mut(..=state.len()) else {
        let text = format!(
            "there is memory for {size} bytes, and the state takes {}: make it BS_STATE_SIZE",
            state.len() + 1
        );
        return Err(Failure::new(BS_ERROR_LENGTH, text));
    };
    out[..state.len()].copy_from_slice(state.as_bytes());
    out[state.len()] = 0;
    Ok(())
}

/// Writes the sampler's state as a zero-terminated text, to `size` bytes from `text` on.
/// BS_STATE_SIZE bytes are always enough; fewer than the text takes are refused by BS_ERROR_LENGTH.
///
/// The state says how far all ranks are, so that a sampler of the same length, seed and order
/// resumes from it, with any rank, number of ranks, batch and tail.
///
/// # Safety
///
/// `sampler` was made by this library and not freed, and `text` leads to memory for `size` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bs_sampler_state(
    sampler: *const Sampler,
    text: *mut c_char,
    size: usize,
) -> Status {
    done(|| {
        // SAFETY: the caller promises a live sampler that nobody changes.
        let sampler = unsafe { memory::shared(sampler, "the sampler") }?;
        // SAFETY: the caller promises that `text` has room for `size` bytes.
        unsafe { write_state(&sampler.inner.state(), text, size) }
    })
}

/// Writes the state that the sampler, and any other of its length, seed and order, has after all
/// ranks together have taken `consumed` items of an epoch, as bs_sampler_state writes one. It draws
/// no items, and the sampler stays where it is. More items than an epoch has are refused by
/// BS_ERROR_RANGE.
///
/// # Safety
///
/// `sampler` was made by this library and not freed, and `text` leads to memory for `size` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bs_sampler_state_at(
    sampler: *const Sampler,
    epoch: u64,
    consumed: u64,
    text: *mut c_char,
    size: usize,
) -> Status {
    done(|| {
        // SAFETY: the caller promises a live sampler that nobody changes.
        let sampler = unsafe { memory::shared(sampler, "the sampler") }?;
        // SAFETY: the caller promises that `text` has room for `size` bytes.
        unsafe { write_state(&sampler.inner.state_at(epoch, consumed)?, text, size) }
    })
}

/// Continues from a saved state. A text that is not a state, or is the state of a sampler with
/// another length, seed or order, returns BS_ERROR_STATE, and the sampler stays where it is.
///
/// # Safety
///
/// `sampler` was made by this library and not freed, and `text` leads to a text that ends with a
/// zero.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bs_sampler_resume(sampler: *mut Sampler, text: *const c_char) -> Status {
    done(|| {
        // SAFETY: the caller promises a live sampler that nobody else uses.
        let sampler = unsafe { inner(sampler) }?;
        check(text, "the text")?;
        // SAFETY: it is not null, so the caller promises a text that ends with a zero.
        let text = unsafe { CStr::from_ptr(text) };
        let text = text.to_str().map_err(|_| {
            Failure::new(BS_ERROR_STATE, "the text of the state is not ASCII: it is no state")
        })?;
        let state: SamplerState = text.parse()?;
        Ok(sampler.inner.resume(&state)?)
    })
}
