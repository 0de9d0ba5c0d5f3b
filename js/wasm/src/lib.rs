//! The WebAssembly module of the npm package: orders and samplers behind plain functions, which
//! only `js/src/wasm.ts` calls.
//!
//! Objects are addresses. Lists and texts go through one buffer, and the caller asks for its
//! address. Numbers up to 2^53 travel as `f64`, which JavaScript has without a conversion, and
//! others as 64-bit integers, which are `BigInt`s there.
//!
//! The caller checks what it passes, so that no text of an error is in the module. Nor are the
//! library's engines: what they add in threads and vectors a module cannot have, and an index over
//! a shuffle's order is a page here (`order.rs`). With the order that the packages for C and Python
//! share, the module would be twice as large.

mod order;

use std::cell::UnsafeCell;
use std::ptr;

use bijective_shuffle::bijection::BlockShuffle;
use bijective_shuffle::{Bijection, Sampler, SamplerState, Seed};
use bijective_shuffle_bindings::{Lookup, TAILS};

use order::JsOrder;

/// The words that the buffer holds.
const ROOM: usize = 1 << 12;

/// The buffer. JavaScript reads and writes it between calls.
#[repr(C, align(16))]
struct Buffer(UnsafeCell<[u64; ROOM]>);

// SAFETY: only the module uses it, and WebAssembly without shared memory has one thread.
unsafe impl Sync for Buffer {}

static BUFFER: Buffer = Buffer(UnsafeCell::new([0; ROOM]));

/// The buffer's words.
fn words() -> &'static mut [u64; ROOM] {
    // SAFETY: the module has one thread, no exported function calls another, and each uses one such
    // reference at a time.
    unsafe { &mut *BUFFER.0.get() }
}

/// The buffer as words of 32 bits.
fn narrow_words() -> &'static mut [u32] {
    let words = words();
    // SAFETY: these are the same bytes, aligned for more; any bytes are numbers.
    unsafe { core::slice::from_raw_parts_mut(words.as_mut_ptr().cast(), 2 * ROOM) }
}

/// The seed in the buffer's first words: 4 words of a key if it is one, or a number, and the epoch.
fn seed(is_key: u32) -> Seed {
    let words = words();
    if is_key == 0 {
        return Seed::new(words[0]).with_epoch(words[4]);
    }
    let mut bytes = [0; 32];
    for (bytes, word) in bytes.chunks_mut(8).zip(&*words) {
        bytes.copy_from_slice(&word.to_le_bytes());
    }
    Seed::from_bytes(bytes).with_epoch(words[4])
}

/// What is looked up for an index, or for a place.
fn lookup(of_index: u32) -> Lookup {
    if of_index == 0 { Lookup::Index } else { Lookup::Place }
}

fn boxed<T>(value: T) -> *mut T {
    Box::into_raw(Box::new(value))
}

/// The address of the buffer.
#[unsafe(no_mangle)]
pub extern "C" fn buffer() -> *mut u64 {
    BUFFER.0.get().cast()
}

/// Makes the order of a length and the seed in the buffer.
#[unsafe(no_mangle)]
pub extern "C" fn order(is_walk: u32, len: u64, is_key: u32) -> *mut JsOrder {
    boxed(JsOrder::new(is_walk != 0, len, seed(is_key)))
}

/// Makes the inverse of an order.
///
/// # Safety
///
/// The order was made here and not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn order_inverted(order: *const JsOrder) -> *mut JsOrder {
    // SAFETY: the caller promises a live order.
    boxed(unsafe { &*order }.inverted())
}

/// Frees an order.
///
/// # Safety
///
/// The order was made here, not freed, and is not used any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn order_free(order: *mut JsOrder) {
    // SAFETY: the caller promises that `order` was made by `boxed` here, and frees it once.
    drop(unsafe { Box::from_raw(order) });
}

/// The index at a place, or the place of an index; below the length, and 2^53.
///
/// # Safety
///
/// The order was made here and not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn order_look_up(order: *const JsOrder, number: f64, of_index: u32) -> f64 {
    // SAFETY: the caller promises a live order.
    unsafe { &*order }.look_up(number as u64, lookup(of_index)) as f64
}

/// The same for any number below the length.
///
/// # Safety
///
/// The order was made here and not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn order_look_up_wide(
    order: *const JsOrder,
    number: u64,
    of_index: u32,
) -> u64 {
    // SAFETY: the caller promises a live order.
    unsafe { &*order }.look_up(number, lookup(of_index))
}

/// Looks up a number below the length of a shuffle's order without an index. Returns whether it is
/// so near an end that it is found; then what was found is in the buffer, and behind it its slot.
///
/// # Safety
///
/// The order was made here and not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn order_near(order: *const JsOrder, number: u64, of_index: u32) -> bool {
    // SAFETY: the caller promises a live order.
    let found = unsafe { &*order }.near(number, lookup(of_index));
    found.inspect(|found| words()[..2].copy_from_slice(found)).is_some()
}

/// Writes the indexes at a run of places, all below the length and at most as many as the buffer
/// holds, to the buffer, as words of 64 bits.
///
/// # Safety
///
/// The order was made here and not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn order_run(order: *const JsOrder, first: u64, count: usize) {
    // SAFETY: the caller promises a live order.
    unsafe { &*order }.write_run(first, &mut words()[..count.min(ROOM)]);
}

/// Writes the indexes of a shuffle's order, of at most 2^32, to the buffer as words of 32 bits:
/// those at `slots` slots from one on, at most as many as the buffer holds words. Returns how many
/// there are; -1 behind the last slot.
///
/// # Safety
///
/// The order was made here and not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn order_items(order: *const JsOrder, slot: u64, slots: usize) -> i32 {
    let out = narrow_words();
    let slots = slots.min(out.len());
    // SAFETY: the caller promises a live order.
    unsafe { &*order }.items(slot, &mut out[..slots]).map_or(-1, |count| count as i32)
}

/// The same for any number of items, as words of 64 bits.
///
/// # Safety
///
/// The order was made here and not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn order_items_wide(order: *const JsOrder, slot: u64, slots: usize) -> i32 {
    let out = &mut words()[..slots.min(ROOM)];
    // SAFETY: the caller promises a live order.
    unsafe { &*order }.items_wide(slot, out).map_or(-1, |count| count as i32)
}

/// Writes the slots of a run of a shuffle's items, of at most 2^32, to the buffer as words of 32
/// bits.
///
/// # Safety
///
/// The order was made here and not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn order_slots(order: *const JsOrder, first: f64, count: usize) {
    let out = narrow_words();
    let count = count.min(out.len());
    // SAFETY: the caller promises a live order.
    unsafe { &*order }.slots(first as u64, &mut out[..count]);
}

/// A shuffle of blocks, without what engines ask of one: the vectorised evaluators of all families
/// that blocks can be shuffled by are half of the module's size.
#[derive(Debug)]
struct Blocks(BlockShuffle);

impl Bijection for Blocks {
    fn last(&self) -> u64 {
        self.0.last()
    }
    fn forward(&self, slot: u64) -> u64 {
        self.0.forward(slot)
    }
    fn inverse(&self, index: u64) -> u64 {
        self.0.inverse(index)
    }
    fn forward_run(&self, first: u64, out: &mut [u64]) {
        self.0.forward_run(first, out);
    }
}

/// A sampler, and its batch.
#[derive(Debug)]
pub struct Batches {
    sampler: Sampler,
    batch: Vec<u64>,
}

/// Makes a sampler of the seed and, behind it, the numbers in the buffer: the length, the rank, the
/// number of ranks, the batch, block and window. `tail` is the number of a tail. `order` is 0 for
/// items that are shuffled, 1 for blocks, and 2 for items as they are. Returns null if the numbers
/// do not fit each other.
#[unsafe(no_mangle)]
pub extern "C" fn sampler(is_key: u32, tail: u32, order: u32) -> *mut Batches {
    let seed = seed(is_key);
    let &mut [_, _, _, _, _, len, rank, ranks, batch, block, window, ..] = words();
    let Some(&(_, tail)) = TAILS.get(tail as usize) else { return ptr::null_mut() };
    let builder = Sampler::builder(len, seed).rank(rank, ranks).batch(batch).tail(tail);
    let builder = match order {
        0 => builder,
        1 => {
            builder.order(move |len, seed| Ok(Blocks(BlockShuffle::new(len, block, window, seed)?)))
        }
        _ => builder.sequential(),
    };
    builder.build().map_or(ptr::null_mut(), |sampler| boxed(Batches { sampler, batch: Vec::new() }))
}

/// Frees a sampler.
///
/// # Safety
///
/// The sampler was made here, not freed, and is not used any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sampler_free(sampler: *mut Batches) {
    // SAFETY: the caller promises that `sampler` was made by `boxed` here, and frees it once.
    drop(unsafe { Box::from_raw(sampler) });
}

/// Takes the next batch, and returns its length; -1 if the epoch is over, and -2 if there is no
/// memory for it.
///
/// # Safety
///
/// The sampler was made here and not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sampler_next(sampler: *mut Batches) -> i32 {
    // SAFETY: the caller promises a live sampler; the module has one thread and no nested calls.
    let Batches { sampler, batch } = unsafe { &mut *sampler };
    match sampler.next_batch(batch) {
        Ok(true) => batch.len() as i32,
        Ok(false) => -1,
        Err(_) => -2,
    }
}

/// The address of the batch that was taken last.
///
/// # Safety
///
/// The sampler was made here and not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sampler_batch(sampler: *const Batches) -> *const u64 {
    // SAFETY: the caller promises a live sampler.
    unsafe { &*sampler }.batch.as_ptr()
}

/// Goes to the beginning of an epoch. Returns whether it could be drawn.
///
/// # Safety
///
/// The sampler was made here and not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sampler_set_epoch(sampler: *mut Batches, epoch: u64) -> bool {
    // SAFETY: the caller promises a live sampler; the module has one thread and no nested calls.
    unsafe { &mut *sampler }.sampler.set_epoch(epoch).is_ok()
}

/// Writes the epoch, the places consumed, and the steps of an epoch and left to the buffer.
///
/// # Safety
///
/// The sampler was made here and not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sampler_numbers(sampler: *const Batches) {
    // SAFETY: the caller promises a live sampler.
    let s = &unsafe { &*sampler }.sampler;
    words()[..4].copy_from_slice(&[s.epoch(), s.consumed(), s.steps(), s.steps_remaining()]);
}

/// Writes the state's text to the buffer, a character to a word of 32 bits, and returns its length.
///
/// # Safety
///
/// The sampler was made here and not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sampler_state(sampler: *const Batches) -> usize {
    // SAFETY: the caller promises a live sampler.
    write_state(&unsafe { &*sampler }.sampler.state())
}

/// Writes, as [`sampler_state`] does, the state after `consumed` items of an epoch. Returns 0 if
/// there are fewer, or the epoch's order cannot be drawn.
///
/// # Safety
///
/// The sampler was made here and not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sampler_state_at(
    sampler: *const Batches,
    epoch: u64,
    consumed: u64,
) -> usize {
    // SAFETY: the caller promises a live sampler.
    let state = unsafe { &*sampler }.sampler.state_at(epoch, consumed);
    state.map_or(0, |state| write_state(&state))
}

fn write_state(state: &SamplerState) -> usize {
    let text = state.to_string();
    for (word, byte) in narrow_words().iter_mut().zip(text.bytes()) {
        *word = u32::from(byte);
    }
    text.len()
}

/// Resumes from the text in the buffer, of `len` bytes. Returns whether it is a state of this
/// sampler.
///
/// # Safety
///
/// The sampler was made here and not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sampler_resume(sampler: *mut Batches, len: usize) -> bool {
    // SAFETY: the caller promises a live sampler; the module has one thread and no nested calls.
    let sampler = &mut unsafe { &mut *sampler }.sampler;
    let characters = narrow_words().iter().take(len);
    let text: Option<String> = characters.map(|&character| char::from_u32(character)).collect();
    let state = text.and_then(|text| text.parse::<SamplerState>().ok());
    state.is_some_and(|state| sampler.resume(&state).is_ok())
}
