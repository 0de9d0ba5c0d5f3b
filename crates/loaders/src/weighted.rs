//! [`Weighted`]: draws with replacement.

use core::fmt;

use bijective_shuffle::rng::Philox4x32Rng;
use bijective_shuffle::{KeyDomain, Seed};
use bijective_shuffle_engine::philox4x32::lanes::{Counters, LOW, encrypt};
use bijective_shuffle_engine::simd::{SimdKernel, SimdLevel};
use bijective_shuffle_engine::stream::prefetch_lines;
use bijective_shuffle_engine::{check, parallel, saved};

use crate::batches::Source;
use crate::items::{check_lengths, check_places};
use crate::table::{self, Entry, entries};
use crate::{Error, IntoWeights};

/// The number of draws by weights, among what this package draws.
const NUMBER: u32 = 0;

/// How many places are drawn side by side.
const LANES: usize = 16;

/// How many places' columns are on their way from memory before the first is looked at.
const BLOCK: usize = 128;

/// The column that stands for a draw that has to be repeated. No table has this many columns.
const REJECTED: usize = usize::MAX;

/// How many places a thread draws at a time.
const TASK: usize = 1 << 14;

/// Draws with replacement: place `p` holds item `i` with a probability of exactly
/// `weights[i] / total`, independently of all other places.
///
/// A draw takes constant time and looks at one entry of a table, which is built on all cores, takes
/// 16 bytes an item, and is exact: weights are whole numbers, and nothing is rounded. Weights of
/// `f64` or `f32` become whole numbers by [`integer_weights`](crate::integer_weights).
///
/// Every epoch of the seed has draws of its own from the same table. If the weights change between
/// epochs, make another `Weighted` of the same seed. [`Batches`](crate::Batches) deals places
/// out to ranks.
///
/// # One table for several processes
///
/// [`table`](Self::table) is plain integers without addresses. A program that writes them to a file
/// lets the others map that file into memory and call [`from_table`](Self::from_table).
///
/// # Examples
///
/// ```
/// use bijective_shuffle_loaders::Weighted;
///
/// let draws = Weighted::new(&[1, 0, 3], 42)?;
/// let mut items = vec![0; 100_000];
/// draws.fill(0, &mut items)?;
/// let thirds = items.iter().filter(|&&item| item == 2).count();
/// assert!((74_000..76_000).contains(&thirds));
/// assert!(!items.contains(&1));
/// assert_eq!(items[777], draws.get(777));
/// # Ok::<(), bijective_shuffle_loaders::Error>(())
/// ```
#[derive(Clone)]
pub struct Weighted<T = Vec<u64>> {
    table: T,
    seed: Seed,
    law: Law,
}

/// What a draw needs besides the table.
#[derive(Clone, Copy)]
struct Law {
    key: u64,
    /// The number of items, and the total weight.
    ranges: [u64; 2],
    /// A word whose remainder is less, for either range, would make some numbers likelier.
    rejected: [u64; 2],
}

impl Weighted {
    /// Builds the table of some weights, on all cores.
    ///
    /// # Errors
    ///
    /// [`Error::NoWeight`] if no weight is above 0, or [`Error::TotalWeightTooLarge`] if their sum
    /// does not fit 64 bits; those of [`IntoWeights::into_weights`] and of
    /// [`ItemWeights::read`](crate::ItemWeights::read), or [`Error::WeightsChanged`] if weights are
    /// found to have changed; [`Error::Shuffle`] if there is too little memory.
    pub fn new(weights: impl IntoWeights, seed: impl Into<Seed>) -> Result<Self, Error> {
        let table = table::build(&weights.into_weights()?)?;
        Ok(Self::of(table, seed.into()))
    }
}

impl<T: AsRef<[u64]>> Weighted<T> {
    /// Draws from a table that [`table`](Self::table) gave, perhaps in another process.
    ///
    /// The memory must not change afterwards. If it does, wrong items are drawn, or a draw panics.
    ///
    /// # Errors
    ///
    /// [`Error::NotATable`] if a draw from it could find no item.
    ///
    /// # Examples
    ///
    /// ```
    /// use bijective_shuffle_loaders::Weighted;
    ///
    /// let first = Weighted::new(&[5, 6, 7], 42)?;
    /// let second = Weighted::from_table(first.table(), 42)?;
    /// assert_eq!(first.get(1_000_000_000_000), second.get(1_000_000_000_000));
    /// # Ok::<(), bijective_shuffle_loaders::Error>(())
    /// ```
    pub fn from_table(table: T, seed: impl Into<Seed>) -> Result<Self, Error> {
        table::verify(table.as_ref())?;
        Ok(Self::of(table, seed.into()))
    }

    /// With a table that has been checked.
    fn of(table: T, seed: Seed) -> Self {
        let [total, items] = entries(table.as_ref())[0];
        let ranges = [items, total];
        let rejected = ranges.map(|range| range.wrapping_neg() % range);
        Self { table, seed, law: Law { key: key(seed), ranges, rejected } }
    }

    /// The same weights at another epoch.
    #[must_use]
    pub fn with_epoch(mut self, epoch: u64) -> Self {
        self.seed = self.seed.with_epoch(epoch);
        self.law.key = key(self.seed);
        self
    }

    /// The seed, with its epoch.
    pub fn seed(&self) -> Seed {
        self.seed
    }

    /// The number of items that have weights.
    #[expect(clippy::len_without_is_empty, reason = "there is at least one item")]
    pub fn len(&self) -> u64 {
        self.law.ranges[0]
    }

    /// The sum of all weights.
    pub fn total(&self) -> u64 {
        self.law.ranges[1]
    }

    /// The table, for [`from_table`](Self::from_table): two integers for each item, and two before
    /// them. `crates/loaders/vectors/README.md` in the repository says what they mean.
    pub fn table(&self) -> &[u64] {
        self.table.as_ref()
    }

    /// The item at a place.
    pub fn get(&self, place: u64) -> u64 {
        self.law.draw(self.columns(), place, 0)
    }

    /// Writes the items at consecutive places, on all cores.
    ///
    /// # Errors
    ///
    /// [`Error::PlacesOutOfRange`] if a place would be 2^64 or more; nothing has been written then.
    pub fn fill(&self, first: u64, out: &mut [u64]) -> Result<(), Error> {
        check_places(first, out.len())?;
        let (law, columns) = (&self.law, self.columns());
        in_tasks(out, |task, out| {
            let first = first + (task * TASK) as u64;
            for (k, out) in out.iter_mut().enumerate() {
                *out = first + k as u64;
            }
            law.replace(columns, out);
        });
        Ok(())
    }

    /// Writes the item at each of some places, on all cores.
    ///
    /// # Errors
    ///
    /// [`Error::Shuffle`] with [`LengthMismatch`](bijective_shuffle::Error::LengthMismatch) if
    /// `out` is not as long as `places`; nothing has been written then.
    ///
    /// # Examples
    ///
    /// ```
    /// use bijective_shuffle_loaders::Weighted;
    ///
    /// let draws = Weighted::new(&[5, 6, 7], 42)?;
    /// let mut items = [0; 2];
    /// draws.get_many(&[9, 1_000_000_000_000], &mut items)?;
    /// assert_eq!(items, [draws.get(9), draws.get(1_000_000_000_000)]);
    /// # Ok::<(), bijective_shuffle_loaders::Error>(())
    /// ```
    pub fn get_many(&self, places: &[u64], out: &mut [u64]) -> Result<(), Error> {
        check_lengths(places.len(), out.len())?;
        out.copy_from_slice(places);
        let (law, columns) = (&self.law, self.columns());
        in_tasks(out, |_, places| law.replace(columns, places));
        Ok(())
    }

    fn columns(&self) -> &[Entry] {
        &entries(self.table.as_ref())[1..]
    }
}

/// Calls a task with each piece of some places. A single piece is the calling thread's, which then
/// wakes no other.
fn in_tasks(places: &mut [u64], task: impl Fn(usize, &mut [u64]) + Sync) {
    if places.len() <= TASK {
        task(0, places);
    } else {
        parallel::each_chunk(places, TASK, task);
    }
}

/// The key of the generator whose words are the draws.
fn key(seed: Seed) -> u64 {
    Philox4x32Rng::new(seed.child(KeyDomain::Loader(NUMBER)), 0).key()
}

impl Law {
    /// Draws at a place, with words of the streams from a number on.
    fn draw(&self, columns: &[Entry], place: u64, first_stream: u64) -> u64 {
        let philox = bijective_shuffle::rng::Philox4x32::<10>::new(halves(self.key));
        let [low, high] = halves(place);
        let mut stream = first_stream;
        loop {
            let [stream_low, stream_high] = halves(stream);
            let block = philox.block([low, high, stream_low, stream_high]).map(u64::from);
            if let Some(item) = item(columns, self.choose(block)) {
                return item;
            }
            stream += 1;
        }
    }

    /// The column that a block of four words chooses, and the part of it. The column is
    /// [`REJECTED`] if a word would make it too likely.
    #[inline(always)]
    fn choose(&self, block: [u64; 4]) -> (usize, u64) {
        let words = [block[1] << 32 | block[0] & LOW, block[3] << 32 | block[2] & LOW];
        let products: [u128; 2] =
            core::array::from_fn(|k| u128::from(words[k]) * u128::from(self.ranges[k]));
        let is_rejected =
            (products[0] as u64) < self.rejected[0] || (products[1] as u64) < self.rejected[1];
        let [column, part] = products.map(|product| (product >> 64) as u64);
        (if is_rejected { REJECTED } else { column as usize }, part)
    }

    fn replace(&self, columns: &[Entry], places: &mut [u64]) {
        let level = SimdLevel::current();
        for places in places.chunks_mut(BLOCK) {
            level.run(ReplaceByItems { law: self, columns, places });
        }
    }
}

/// The item of a column's part, or none for [`REJECTED`].
#[inline(always)]
fn item(columns: &[Entry], (column, part): (usize, u64)) -> Option<u64> {
    let &[own, alias] = columns.get(column)?;
    // Either is about as likely, so a branch would be mispredicted.
    Some(core::hint::select_unpredictable(part < own, column as u64, alias))
}

/// Replaces up to [`BLOCK`] places by their items.
struct ReplaceByItems<'a> {
    law: &'a Law,
    columns: &'a [Entry],
    places: &'a mut [u64],
}

impl SimdKernel for ReplaceByItems<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let mut chosen = [(0, 0); BLOCK];
        for (places, chosen) in self.places.chunks(LANES).zip(chosen.chunks_mut(LANES)) {
            let mut x: Counters<LANES> = [[0; LANES]; 4];
            for (lane, &place) in places.iter().enumerate() {
                (x[0][lane], x[1][lane]) = (place, place >> 32);
            }
            encrypt(self.law.key, &mut x);
            for (lane, chosen) in chosen.iter_mut().enumerate() {
                *chosen = self.law.choose(core::array::from_fn(|word| x[word][lane]));
                prefetch_lines(self.columns.as_ptr().wrapping_add(chosen.0).cast(), 1);
            }
        }
        for (place, chosen) in self.places.iter_mut().zip(chosen) {
            *place = match item(self.columns, chosen) {
                Some(item) => item,
                None => self.law.draw(self.columns, *place, 1),
            };
        }
    }
}

fn halves(word: u64) -> [u32; 2] {
    [word as u32, (word >> 32) as u32]
}

impl<T: AsRef<[u64]>> Source for Weighted<T> {
    type Item = u64;

    fn fingerprint(&self) -> u64 {
        let columns = self.columns();
        let samples = saved::sample_points(columns.len() as u64 - 1);
        let samples = samples.flat_map(|column| columns[column as usize]);
        let seed = self.seed.keys().iter().copied();
        saved::check(self.law.ranges.into_iter().chain(seed).chain(samples))
    }

    /// An epoch has as many places as are asked for, and otherwise as many as there are weights.
    fn begin(&self, _epoch: u64, places: Option<u64>) -> Result<u64, Error> {
        Ok(places.unwrap_or(self.len()))
    }

    fn items(
        &self,
        epoch: u64,
        _len: u64,
        places: &mut [u64],
        out: &mut Vec<u64>,
    ) -> Result<(), Error> {
        let law = Law { key: key(self.seed.with_epoch(epoch)), ..self.law };
        let columns = self.columns();
        in_tasks(places, |_, places| law.replace(columns, places));
        check::try_reserve(out, places.len())?;
        out.extend_from_slice(places);
        Ok(())
    }
}

impl<T: AsRef<[u64]>> fmt::Debug for Weighted<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Weighted")
            .field("len", &self.len())
            .field("total", &self.total())
            .field("seed", &self.seed)
            .finish_non_exhaustive()
    }
}
