//! [`StreamShuffle`]: a buffer over an iterator of unknown length.

use core::fmt;
use core::str::FromStr;

use bijective_shuffle::error::SavedError;
use bijective_shuffle::rng::{Fill, Philox4x32Rng};
use bijective_shuffle::{KeyDomain, Seed};
use bijective_shuffle_engine::check::{try_with_capacity, try_with_capacity_u64};
use bijective_shuffle_engine::saved;

use crate::Error;
use crate::items::below;

/// The number of streams, among what this package draws.
const NUMBER: u32 = 7;

/// How many words are drawn at a time.
const WORDS: usize = 256;

/// No buffer has a number of places that an input number cannot be added to.
const MOST: u64 = 1 << 48;

/// No stream has taken as many items of its input. So the number of what it has taken never passes
/// its end, wherever a stream goes on.
const MOST_TAKEN: u64 = 1 << 63;

/// Which place of the buffer of a [`StreamShuffle`] each step takes: a function of the seed, the
/// epoch and the step.
///
/// So the step alone determines which items of the input are in the buffer, and nothing else has to
/// be saved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamOrder {
    size: u64,
    seed: Seed,
}

impl StreamOrder {
    /// The order of a buffer of `buffer_size` items, in the seed's epoch.
    ///
    /// # Errors
    ///
    /// [`Error::WindowSizeOutOfRange`] unless `buffer_size` is from 1 to 2^48.
    pub fn new(buffer_size: u64, seed: impl Into<Seed>) -> Result<Self, Error> {
        if (1..=MOST).contains(&buffer_size) {
            Ok(Self { size: buffer_size, seed: seed.into() })
        } else {
            Err(Error::WindowSizeOutOfRange { size: buffer_size, most: MOST })
        }
    }

    /// The number of items in the buffer, while the input goes on.
    pub fn buffer_size(&self) -> u64 {
        self.size
    }

    /// The seed, with its epoch.
    pub fn seed(&self) -> Seed {
        self.seed
    }

    /// Writes the places of the buffer that the steps from `first` on take, and returns how many it
    /// wrote. `left` is the number of items in the buffer and the input before step `first`, if the
    /// input's end is known; at most that many places are written.
    pub fn fill(&self, first: u64, left: Option<u64>, out: &mut [u64]) -> usize {
        let steps = left.map_or(out.len() as u64, |left| left.min(out.len() as u64)) as usize;
        let out = &mut out[..steps];
        self.words(first, out);
        for (word, step) in out.iter_mut().zip(0..) {
            let items = left.map_or(self.size, |left| self.size.min(left - step));
            *word = below(*word, items);
        }
        steps
    }

    /// Checks that a state is of this order.
    fn check(&self, state: &StreamState) -> Result<(), Error> {
        let is_own = *state == StreamState::new(self, state.emitted, state.taken);
        let is_possible = state.emitted <= state.taken && state.taken < MOST_TAKEN;
        if is_own && is_possible && state.held() <= self.size {
            Ok(())
        } else {
            Err(bijective_shuffle::Error::Saved(SavedError::Foreign).into())
        }
    }

    fn words(&self, first: u64, out: &mut [u64]) {
        let mut rng = Philox4x32Rng::new(self.seed.child(KeyDomain::Loader(NUMBER)), 0);
        // A number takes two words.
        rng.set_position(2 * u128::from(first));
        rng.fill_u64(out);
    }

    /// The items in the buffer of a state, place by place, as their numbers in the input.
    ///
    /// It takes time in proportion to `size * ln(size)`, at any place of the stream: the steps
    /// before are looked at backwards, until each place of the buffer has been taken.
    ///
    /// # Errors
    ///
    /// [`Error::Shuffle`] with [`SavedError::Foreign`] if the state is of another size or seed, or
    /// has been changed; [`Error::Shuffle`] if there is too little memory.
    pub fn buffered(&self, state: &StreamState) -> Result<Vec<u64>, Error> {
        self.check(state)?;
        let StreamState { emitted, taken, .. } = *state;
        // The input has not ended yet, or this is where its end was found.
        let streamed = if taken == 0 { 0 } else { emitted.min(taken.saturating_sub(self.size)) };
        let places = self.size.min(taken);
        let mut held = try_with_capacity_u64(places)?;
        // The room is for as many, so this is no truncation.
        let places = places as usize;
        held.resize(places, u64::MAX);
        let (mut missing, mut end, mut slots) = (places, streamed, [0; WORDS]);
        while end > 0 && missing > 0 {
            let first = end.saturating_sub(WORDS as u64);
            let slots = &mut slots[..(end - first) as usize];
            self.fill(first, None, slots);
            for (step, &slot) in slots.iter().enumerate().rev() {
                let held = &mut held[slot as usize];
                if *held == u64::MAX {
                    (*held, missing) = (self.size + first + step as u64, missing - 1);
                }
            }
            end = first;
        }
        for (held, place) in held.iter_mut().zip(0..) {
            if *held == u64::MAX {
                *held = place;
            }
        }
        let mut step = streamed;
        while step < emitted {
            let steps = (emitted - step).min(WORDS as u64) as usize;
            let steps = self.fill(step, Some(taken - step), &mut slots[..steps]);
            for &slot in &slots[..steps] {
                held.swap_remove(slot as usize);
            }
            step += steps as u64;
        }
        Ok(held)
    }
}

/// Shuffles an iterator of unknown length through a buffer: each step takes a random item of the
/// buffer, and the next item of the input comes into its place. When the input has ended, the
/// buffer is taken in random order.
///
/// An item comes at most `size - 1` places too early. It comes more than `k * size` places too late
/// with a probability of `exp(-1 - k)`, for a large buffer; so half of all items are moved by less
/// than the size. Over longer distances the stream keeps its order, so shuffle the files that it is
/// read from, too.
///
/// A [`state`](Self::state) is a few numbers. It says which items of the input were in the buffer.
/// So a run [resumes](Self::resume) exactly, at any place: with an input that can begin at an item,
/// by reading what was in the buffer, and with any other from its beginning. A program that would
/// rather save the items themselves takes them from [`buffer`](Self::buffer).
///
/// # Examples
///
/// ```
/// use bijective_shuffle_loaders::{StreamOrder, StreamShuffle};
///
/// let order = StreamOrder::new(100, 42)?;
/// let mut stream = StreamShuffle::new(0..10_000, order);
/// let first: Vec<u32> = stream.by_ref().take(3000).collect();
/// let state = stream.state();
///
/// // Another process goes on. Its input begins with the first item that is needed.
/// let from = order.buffered(&state)?.into_iter().min().unwrap();
/// let rest = StreamShuffle::resume(from as u32..10_000, from, order, &state)?;
/// let mut items: Vec<u32> = first.into_iter().chain(rest).collect();
/// items.sort();
/// assert!(items.into_iter().eq(0..10_000));
/// # Ok::<(), bijective_shuffle_loaders::Error>(())
/// ```
pub struct StreamShuffle<I: Iterator> {
    source: I,
    order: StreamOrder,
    /// Fewer items than the order's size only before the first step, and when the input has ended.
    buffer: Vec<I::Item>,
    has_ended: bool,
    emitted: u64,
    words: [u64; WORDS],
    /// The number of words that have been used; `WORDS` if there are none.
    used: usize,
}

impl<I: Iterator> StreamShuffle<I> {
    /// Shuffles an iterator, from its beginning. Nothing is taken from it before the first step.
    pub fn new(source: I, order: StreamOrder) -> Self {
        Self {
            source,
            order,
            buffer: Vec::new(),
            has_ended: false,
            emitted: 0,
            words: [0; WORDS],
            used: WORDS,
        }
    }

    /// Continues from a state. The iterator begins at item `from` of the input, counted from 0,
    /// which is at or before the first item that was in the buffer.
    ///
    /// # Errors
    ///
    /// Those of [`StreamOrder::buffered`] and [`restore`](Self::restore), and
    /// [`Error::StreamItemMissing`] if the iterator begins after an item that was in the buffer, or
    /// ends before it.
    pub fn resume(
        mut source: I,
        from: u64,
        order: StreamOrder,
        state: &StreamState,
    ) -> Result<Self, Error> {
        let items = order.buffered(state)?;
        let mut held: Vec<(u64, usize)> = try_with_capacity(items.len())?;
        held.extend(items.into_iter().zip(0..));
        held.sort_unstable();
        let mut places = try_with_capacity(held.len())?;
        places.resize_with(held.len(), || None);
        let mut at = from;
        for (item, place) in held {
            let skipped = item.checked_sub(at).ok_or(Error::StreamItemMissing { item })?;
            at = item + 1;
            let found = usize::try_from(skipped).ok().and_then(|skipped| source.nth(skipped));
            places[place] = Some(found.ok_or(Error::StreamItemMissing { item })?);
        }
        let next = state.taken.checked_sub(at);
        let skipped = next.ok_or(Error::StreamItemMissing { item: state.taken })?;
        if let Some(last) = skipped.checked_sub(1) {
            let last = usize::try_from(last).unwrap_or(usize::MAX);
            source.nth(last).ok_or(Error::StreamItemMissing { item: state.taken - 1 })?;
        }
        let mut buffer = try_with_capacity(places.len())?;
        buffer.extend(places.into_iter().flatten());
        Self::restore(source, order, state, buffer)
    }

    /// Continues from a state with the items that were in the [`buffer`](Self::buffer). The
    /// iterator begins at item [`StreamState::taken`] of the input.
    ///
    /// # Errors
    ///
    /// [`Error::StreamTooLong`] if the iterator has an item, and the input of the state had ended.
    ///
    /// [`Error::Shuffle`] with [`SavedError::Foreign`] if the state is of another size or seed, or
    /// has been changed, or there are more or fewer items.
    pub fn restore(
        mut source: I,
        order: StreamOrder,
        state: &StreamState,
        buffer: Vec<I::Item>,
    ) -> Result<Self, Error> {
        order.check(state)?;
        let StreamState { emitted, taken, .. } = *state;
        if buffer.len() as u64 != state.held() {
            return Err(bijective_shuffle::Error::Saved(SavedError::Foreign).into());
        }
        let has_ended = taken > 0 && state.held() < order.size;
        if has_ended && source.next().is_some() {
            return Err(Error::StreamTooLong { items: taken });
        }
        Ok(Self { buffer, has_ended, emitted, ..Self::new(source, order) })
    }

    /// The items in the buffer, place by place.
    pub fn buffer(&self) -> &[I::Item] {
        &self.buffer
    }

    /// The order, with its seed.
    pub fn order(&self) -> StreamOrder {
        self.order
    }

    /// The position, as a few numbers.
    pub fn state(&self) -> StreamState {
        // A buffer that is being filled when the input panics has not been drawn from.
        let is_filled = self.has_ended || self.buffer.len() as u64 == self.order.size;
        let held = if is_filled { self.buffer.len() as u64 } else { 0 };
        StreamState::new(&self.order, self.emitted, self.emitted + held)
    }
}

impl<I: Iterator> Iterator for StreamShuffle<I> {
    type Item = I::Item;

    fn next(&mut self) -> Option<I::Item> {
        while !self.has_ended && (self.buffer.len() as u64) < self.order.size {
            match self.source.next() {
                Some(item) => self.buffer.push(item),
                None => self.has_ended = true,
            }
        }
        // If this panics, nothing has changed.
        let incoming = if self.has_ended { None } else { self.source.next() };
        if self.buffer.is_empty() {
            return None;
        }
        if self.used == WORDS {
            self.order.words(self.emitted, &mut self.words);
            self.used = 0;
        }
        let slot = below(self.words[self.used], self.buffer.len() as u64) as usize;
        self.used += 1;
        self.emitted += 1;
        match incoming {
            Some(item) => Some(core::mem::replace(&mut self.buffer[slot], item)),
            None => {
                self.has_ended = true;
                Some(self.buffer.swap_remove(slot))
            }
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let (least, most) = if self.has_ended { (0, Some(0)) } else { self.source.size_hint() };
        let held = self.buffer.len();
        (least.saturating_add(held), most.and_then(|most| most.checked_add(held)))
    }
}

impl<I: Iterator> fmt::Debug for StreamShuffle<I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StreamShuffle")
            .field("order", &self.order)
            .field("held", &self.buffer.len())
            .field("emitted", &self.emitted)
            .finish_non_exhaustive()
    }
}

/// The position of a [`StreamShuffle`]: five numbers, whatever the size of its buffer.
///
/// `Display` writes it as text, and `FromStr` reads it. It contains a checksum, so a state that was
/// changed, or belongs to another seed, epoch or size, is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct StreamState {
    size: u64,
    epoch: u64,
    emitted: u64,
    taken: u64,
    check: u64,
}

impl StreamState {
    /// The state after `emitted` steps, for which `taken` items were taken from the input.
    pub fn new(order: &StreamOrder, emitted: u64, taken: u64) -> Self {
        let (size, epoch) = (order.size, order.seed.epoch());
        let numbers = [size, epoch, emitted, taken];
        let check = saved::check(numbers.into_iter().chain(order.seed.keys().iter().copied()));
        Self { size, epoch, emitted, taken, check }
    }

    /// The epoch.
    pub const fn epoch(&self) -> u64 {
        self.epoch
    }

    /// The number of steps that were taken.
    pub const fn emitted(&self) -> u64 {
        self.emitted
    }

    /// The number of items that were taken from the input.
    pub const fn taken(&self) -> u64 {
        self.taken
    }

    /// The number of items in the buffer.
    const fn held(&self) -> u64 {
        self.taken.saturating_sub(self.emitted)
    }
}

impl fmt::Display for StreamState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        saved::write(f, &[self.size, self.epoch, self.emitted, self.taken, self.check])
    }
}

impl FromStr for StreamState {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let words =
            saved::read(text).ok_or(bijective_shuffle::Error::Saved(SavedError::NotAState))?;
        let [size, epoch, emitted, taken, check] = words;
        Ok(Self { size, epoch, emitted, taken, check })
    }
}
