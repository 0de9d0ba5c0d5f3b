//! [`Lengths`]: batches by tokens and not by items.

use core::fmt;
use std::sync::Arc;

use bijective_shuffle::error::ViewError;
use bijective_shuffle::{Bijection, Seed};
use bijective_shuffle_engine::{check, parallel};

use crate::Error;
use crate::batches::Source;
use crate::items::{self, ItemLengths, PerEpoch, StandardWalk, Survey, own_places};

/// The number of the items' order, and that of the batches' order, among what this package draws.
const NUMBERS: [u32; 2] = [5, 6];

/// The places of a window are numbers of 16 bits.
const MOST: usize = 1 << 16;

/// Batches of items of similar lengths, each with at most `max_tokens` tokens when all its items
/// are padded to the longest: place `k` of an epoch holds the items of a batch.
///
/// The random order of an epoch is cut into windows, the items of a window are put in order of
/// length, the longest first, and cut into batches, each as large as it may be. The batches of all
/// windows then come in a random order. A larger window pads less; a smaller one is closer to a
/// random order of the items. An item without tokens counts as one of length 1.
///
/// Each epoch has a number of batches of its own, the same on all ranks.
/// [`Batches`](crate::Batches) deals them out, in as many steps on all ranks.
/// [`token_counts`](Self::token_counts) says what the padding wastes.
///
/// An index takes 2 bytes an item, 2 bytes a batch and 8 bytes a window. It is built on all cores
/// when an epoch is first asked for, and shared by clones, which keep those of the last two epochs.
///
/// # Examples
///
/// ```
/// use bijective_shuffle_loaders::{BatchOptions, Batches, Lengths};
///
/// let lengths: Vec<u32> = (1..=10_000).map(|item| item * item % 509).collect();
/// let batches = Lengths::new(&lengths[..], 4096, 2048, 42)?;
/// for place in 0..batches.batch_count()? {
///     let items = batches.get(place)?;
///     let longest = items.iter().map(|&item| lengths[item as usize]).max().unwrap();
///     assert!(longest as usize * items.len() <= 4096);
/// }
/// let tokens = batches.token_counts()?;
/// assert!(tokens.items as f64 > 0.98 * tokens.padded as f64);
///
/// let mut dealt = Batches::new(batches, None, BatchOptions::new(1).rank(1, 4))?;
/// let mut batch = Vec::new();
/// while dealt.next_batch(&mut batch)? {
///     let items: &[u64] = &batch[0];
///     // ..
/// #   assert!(!items.is_empty());
/// }
/// # Ok::<(), bijective_shuffle_loaders::Error>(())
/// ```
#[derive(Clone)]
pub struct Lengths<L> {
    lengths: L,
    seed: Seed,
    max_tokens: u64,
    window: usize,
    total: u64,
    index: PerEpoch<EpochBatches>,
}

/// The numbers of tokens in an epoch of [`Lengths`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct TokenCounts {
    /// The tokens of all items.
    pub items: u64,
    /// The tokens of all batches, whose items are padded to the longest.
    pub padded: u64,
}

/// The batches of an epoch.
struct EpochBatches {
    items: StandardWalk,
    batches: StandardWalk,
    /// For each window, in order of length, the places that its items have in the window.
    sorted: Vec<u16>,
    /// For each window, how many batches come before it.
    before: Vec<u64>,
    /// For each batch, the place of its last item among those of its window in order of length.
    lasts: Vec<u16>,
    padded: u64,
}

/// The last items of a window's batches, and the number of tokens with what is padded.
type Window = (Vec<u16>, u64);

impl<L: ItemLengths> Lengths<L> {
    /// Makes batches of at most `max_tokens` tokens of items of these lengths, from windows of
    /// `window` items, at most 65,536. Reads all lengths, on all cores.
    ///
    /// # Errors
    ///
    /// [`Error::WindowSizeOutOfRange`], [`Error::ItemTooLong`], for the longest item, or
    /// [`Error::TotalLengthTooLarge`]; [`Error::Shuffle`] with [`ViewError::NoItems`], or if there
    /// is too little memory.
    pub fn new(
        lengths: L,
        max_tokens: u64,
        window: usize,
        seed: impl Into<Seed>,
    ) -> Result<Self, Error> {
        if !(1..=MOST).contains(&window) {
            return Err(Error::WindowSizeOutOfRange { size: window as u64, most: MOST as u64 });
        }
        if lengths.count() == 0 {
            return Err(bijective_shuffle::Error::View(ViewError::NoItems).into());
        }
        // Windows have fewer items than that, and a length is sorted together with a place.
        let max_tokens = max_tokens.min((1 << 48) - 1);
        let Survey { total, longest, longest_item } = items::survey(&lengths)?;
        if longest > max_tokens || max_tokens == 0 {
            let (item, length) = (longest_item, longest);
            return Err(Error::ItemTooLong { item, length, most: max_tokens });
        }
        let seed = seed.into();
        Ok(Self { lengths, seed, max_tokens, window, total, index: PerEpoch::new() })
    }

    /// The same items at another epoch.
    #[must_use]
    pub fn with_epoch(mut self, epoch: u64) -> Self {
        self.seed = self.seed.with_epoch(epoch);
        self
    }

    /// The seed, with its epoch.
    pub fn seed(&self) -> Seed {
        self.seed
    }

    /// The number of batches in the seed's epoch.
    ///
    /// # Errors
    ///
    /// [`Error::Shuffle`] if there is too little memory for the epoch's index, and
    /// [`Error::LengthsChanged`] if lengths are found to have changed.
    pub fn batch_count(&self) -> Result<u64, Error> {
        Ok(self.index(self.seed.epoch())?.len())
    }

    /// The numbers of tokens in the seed's epoch, without and with padding.
    ///
    /// # Errors
    ///
    /// As [`batch_count`](Self::batch_count).
    pub fn token_counts(&self) -> Result<TokenCounts, Error> {
        let padded = self.index(self.seed.epoch())?.padded;
        Ok(TokenCounts { items: self.total, padded })
    }

    /// The lengths of the items.
    pub fn lengths(&self) -> &L {
        &self.lengths
    }

    /// The items of the batch at a place of the seed's epoch, the longest first.
    ///
    /// # Errors
    ///
    /// [`Error::Shuffle`] if the place is not below [`batch_count`](Self::batch_count), and
    /// otherwise as it.
    pub fn get(&self, place: u64) -> Result<Vec<u64>, Error> {
        let index = self.index(self.seed.epoch())?;
        items::check_place(place, index.len())?;
        self.batch(&index, place)
    }

    fn index(&self, epoch: u64) -> Result<Arc<EpochBatches>, Error> {
        self.index.get(epoch, || self.build_index(self.seed.with_epoch(epoch)))
    }

    fn build_index(&self, seed: Seed) -> Result<EpochBatches, Error> {
        // Asked once, since it may be a caller's code that answers.
        let count = self.lengths.count();
        let items = items::order(count, seed, NUMBERS[0]);
        let mut sorted = check::try_with_capacity_u64(count)?;
        // The room is for as many, so this is no truncation.
        let count = count as usize;
        sorted.resize(count, 0_u16);
        let mut windows = check::try_with_capacity(count.div_ceil(self.window))?;
        let each = sorted.chunks_mut(self.window).map(|sorted| (sorted, Ok(Window::default())));
        windows.extend(each);
        parallel::each_mut(&mut windows, |window, (sorted, made)| {
            *made = self.sort(&items, (window * self.window) as u64, sorted);
        });
        let made: Result<Vec<Window>, Error> = windows.into_iter().map(|(_, made)| made).collect();
        let made = made?;
        let mut before = check::try_with_capacity(made.len())?;
        let mut lasts =
            check::try_with_capacity(made.iter().map(|(lasts, _)| lasts.len()).sum::<usize>())?;
        let mut padded = 0_u64;
        for (own, tokens) in made {
            before.push(lasts.len() as u64);
            lasts.extend(own);
            padded = padded.saturating_add(tokens);
        }
        let batches = items::order(lasts.len() as u64, seed, NUMBERS[1]);
        Ok(EpochBatches { items, batches, sorted, before, lasts, padded })
    }

    /// Puts the places of a window, which begins at `first`, in order of length, and cuts them.
    fn sort(&self, items: &StandardWalk, first: u64, sorted: &mut [u16]) -> Result<Window, Error> {
        let mut keys = check::try_with_capacity(sorted.len())?;
        keys.resize(sorted.len(), 0);
        items.forward_run(first, &mut keys);
        for (key, place) in keys.iter_mut().zip(0_u64..) {
            let short = self.max_tokens.checked_sub(self.lengths.length(*key));
            *key = short.ok_or(Error::LengthsChanged)? << 16 | place;
        }
        keys.sort_unstable();
        let (mut lasts, mut padded, mut next) = (Vec::new(), 0_u64, 0);
        while next < keys.len() {
            let longest = (self.max_tokens - (keys[next] >> 16)).max(1);
            let size = (self.max_tokens / longest).min((keys.len() - next) as u64);
            next += size as usize;
            lasts.push((next - 1) as u16);
            padded += size * longest;
        }
        for (place, key) in sorted.iter_mut().zip(keys) {
            *place = key as u16;
        }
        Ok((lasts, padded))
    }

    /// The items of the batch at a place, which is below the number of batches.
    fn batch(&self, index: &EpochBatches, place: u64) -> Result<Vec<u64>, Error> {
        let batch = index.batches.forward(place);
        let window = index.before.partition_point(|&before| before <= batch) - 1;
        let is_first = index.before[window] == batch;
        let last = |batch: u64| usize::from(index.lasts[batch as usize]);
        let first = if is_first { 0 } else { last(batch - 1) + 1 };
        let start = window * self.window;
        let sorted = &index.sorted[start..][first..=last(batch)];
        let mut items: Vec<u64> = check::try_with_capacity(sorted.len())?;
        items.extend(sorted.iter().map(|&place| start as u64 + u64::from(place)));
        index.items.forward_each(&mut items);
        Ok(items)
    }
}

impl EpochBatches {
    fn len(&self) -> u64 {
        self.lasts.len() as u64
    }
}

impl<L: ItemLengths> Source for Lengths<L> {
    type Item = Vec<u64>;

    fn fingerprint(&self) -> u64 {
        let numbers = [self.total, self.max_tokens, self.window as u64];
        items::fingerprint(&self.lengths, &numbers, self.seed)
    }

    fn begin(&self, epoch: u64, places: Option<u64>) -> Result<u64, Error> {
        own_places(places, self.index(epoch)?.len())
    }

    fn items(
        &self,
        epoch: u64,
        _len: u64,
        places: &mut [u64],
        out: &mut Vec<Vec<u64>>,
    ) -> Result<(), Error> {
        let index = self.index(epoch)?;
        check::try_reserve(out, places.len())?;
        for &place in &*places {
            out.push(self.batch(&index, place)?);
        }
        Ok(())
    }
}

impl<L: ItemLengths> fmt::Debug for Lengths<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lengths")
            .field("items", &self.lengths.count())
            .field("max_tokens", &self.max_tokens)
            .field("window", &self.window)
            .field("seed", &self.seed)
            .finish_non_exhaustive()
    }
}
