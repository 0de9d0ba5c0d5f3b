//! [`Mixture`]: several sets in fixed shares.

use core::fmt;
use core::ops::Range;
use core::str::FromStr;

use bijective_shuffle::{FromSeed, KeyDomain, Seed};
use bijective_shuffle_engine::check::{try_reserve, try_with_capacity, try_with_capacity_u64};
use bijective_shuffle_engine::saved;

use crate::Error;
use crate::batches::Source;
use crate::items::{StandardWalk, check_lengths};

/// The number of mixtures, among what this package draws.
const NUMBER: u32 = 2;

/// A mixture of several sets in the proportions of whole weights. Position `p` holds a set, and an
/// item of that set.
///
/// **Shares.** Let the *quota* be the sum of the weights, divided by their greatest common divisor.
/// Any run of that many places, wherever it begins, holds each set exactly as often as its
/// weight says, divided by the same. Weights are whole numbers: 0.7 and 0.3 are `[7, 3]`.
///
/// The sets are spread evenly. In any run of places, such as a rank's batch, the count of a set
/// differs from its share of the run by less than `ceil(log2(sets))`: by less than 1 with two sets,
/// and by less than 2 with up to four; with one set not at all. In a run that begins at place 0
/// it differs by at most half of that. On either side of a [change](Self::change) these bounds hold
/// by themselves.
///
/// **Items.** Each set goes through a shuffled order of its own, then through another one, and so
/// on. So no item of a set comes again before all others of the set have come.
///
/// Where which set comes is a matter of the weights alone: a random order of the sets would only
/// make the counts less even. What the seed chooses is the order of each set.
///
/// `Display` writes a mixture as text, with its seed and the places of its
/// [changes](Self::change), and `FromStr` reads it: a program that saves the text beside the state
/// of its [`Batches`](crate::Batches) needs nothing else to go on.
///
/// A look-up takes time in proportion to the logarithm of the number of sets, and memory does not
/// depend on the lengths. A mixture's places go on from epoch to epoch: place `p` of epoch `e` of
/// [`Batches`](crate::Batches) with `len` places is place `e * len + p` of the mixture.
///
/// # Examples
///
/// ```
/// use bijective_shuffle_loaders::Mixture;
///
/// // Half of all places hold the first set, and a third of them the second.
/// let mixture = Mixture::new(&[1_000_000_000, 10, 50], &[3, 2, 1], 42)?;
/// assert_eq!(mixture.quota(), 6);
/// let mut counts = [0; 3];
/// let mut of_second = Vec::new();
/// for place in 777..777 + 30 {
///     let (set, item) = mixture.get(place);
///     counts[set] += 1;
///     if set == 1 {
///         of_second.push(item);
///     }
/// }
/// assert_eq!(counts, [15, 10, 5]);
/// # Ok::<(), bijective_shuffle_loaders::Error>(())
/// ```
#[derive(Clone)]
pub struct Mixture {
    seed: Seed,
    /// The seed's child, from which those of the sets are drawn.
    child: Seed,
    lengths: Vec<u64>,
    /// At least one. Each begins where the one before ends.
    stretches: Vec<Stretch>,
}

/// Places with the same weights.
#[derive(Clone)]
struct Stretch {
    from: u64,
    /// The sums of the weights before each set, and of all.
    sums: Vec<u64>,
    /// How many items of each set come before this.
    taken: Vec<u64>,
    quota: u64,
}

impl Mixture {
    /// A mixture of sets, with a length and a weight for each.
    ///
    /// A set of weight 0 does not come, until a [`change`](Self::change) says otherwise.
    ///
    /// # Errors
    ///
    /// [`Error::SetCountMismatch`], [`Error::NoWeight`], [`Error::TotalWeightTooLarge`] or
    /// [`Error::EmptySet`], and [`Error::Shuffle`] if there is too little memory.
    pub fn new(lengths: &[u64], weights: &[u64], seed: impl Into<Seed>) -> Result<Self, Error> {
        let seed = seed.into();
        let child = seed.child(KeyDomain::Loader(NUMBER));
        let mut taken = try_with_capacity(lengths.len())?;
        taken.resize(lengths.len(), 0);
        let first = Stretch::new(0, lengths, weights, taken)?;
        let mut own = try_with_capacity(lengths.len())?;
        own.extend_from_slice(lengths);
        Ok(Self { seed, child, lengths: own, stretches: vec![first] })
    }

    /// Changes the weights of all sets from a place on, and appends sets, with the lengths in
    /// `added`. `weights` has those of the new sets too. Every set continues in its order from
    /// there; before that place nothing changes.
    ///
    /// Changes are made in the order of their places. They are part of the mixture and of its
    /// text: a state of [`Batches`](crate::Batches) fits a mixture with the same changes only, at
    /// the same places.
    ///
    /// # Errors
    ///
    /// [`Error::ChangeTooEarly`] if a later change was made before, and otherwise as
    /// [`new`](Self::new). After an error the mixture is unchanged.
    ///
    /// # Examples
    ///
    /// ```
    /// use bijective_shuffle_loaders::Mixture;
    ///
    /// let mut mixture = Mixture::new(&[100, 100], &[1, 1], 42)?;
    /// mixture.change(1000, &[1, 1, 2], &[500])?;
    /// let sets: Vec<usize> = (996..1004).map(|place| mixture.get(place).0).collect();
    /// assert_eq!(sets[..4].iter().filter(|&&set| set == 2).count(), 0);
    /// assert_eq!(sets[4..].iter().filter(|&&set| set == 2).count(), 2);
    /// # Ok::<(), bijective_shuffle_loaders::Error>(())
    /// ```
    pub fn change(&mut self, from: u64, weights: &[u64], added: &[u64]) -> Result<(), Error> {
        let last = self.last_stretch();
        if from < last.from {
            return Err(Error::ChangeTooEarly { from, last: last.from });
        }
        let sets = self.lengths.len() as u64 + added.len() as u64;
        let (mut lengths, mut taken) = (try_with_capacity_u64(sets)?, try_with_capacity_u64(sets)?);
        lengths.extend_from_slice(&self.lengths);
        lengths.extend_from_slice(added);
        taken.extend_from_slice(&last.taken);
        last.count(from - last.from, &mut taken);
        taken.resize(lengths.len(), 0);
        let stretch = Stretch::new(from, &lengths, weights, taken)?;
        self.lengths = lengths;
        self.stretches.push(stretch);
        Ok(())
    }

    /// The seed, with its epoch.
    pub fn seed(&self) -> Seed {
        self.seed
    }

    /// The lengths of the sets, with those that were added.
    pub fn lengths(&self) -> &[u64] {
        &self.lengths
    }

    /// The number of places in which the counts of all sets are exact: the sum of the last
    /// weights, divided by their greatest common divisor.
    pub fn quota(&self) -> u64 {
        self.last_stretch().quota
    }

    /// The number of places, a whole number of quotas, in which each set with a weight comes
    /// completely at least once. It is the natural length of an epoch. `None` if it does not fit 64
    /// bits.
    ///
    /// # Examples
    ///
    /// ```
    /// use bijective_shuffle_loaders::Mixture;
    ///
    /// // Ten of the first set come in four quotas of 3 + 1 places; four of the second in four.
    /// assert_eq!(Mixture::new(&[10, 4], &[3, 1], 42)?.pass(), Some(16));
    /// # Ok::<(), bijective_shuffle_loaders::Error>(())
    /// ```
    pub fn pass(&self) -> Option<u64> {
        let Stretch { sums, quota, .. } = self.last_stretch();
        let common = sums.last()? / quota;
        let quotas = sums.windows(2).zip(&self.lengths).filter_map(|(sums, &len)| {
            let weight = (sums[1] - sums[0]) / common;
            (weight > 0).then(|| len.div_ceil(weight))
        });
        quotas.max()?.checked_mul(*quota)
    }

    /// The set at a place, and the item of that set.
    pub fn get(&self, place: u64) -> (usize, u64) {
        let (set, number) = self.look_up(place);
        let len = self.lengths[set];
        (set, self.order(set, number / len).forward(number % len))
    }

    /// Writes the set and the item at each of some places. It takes less time than looking them up
    /// one by one: orders are drawn once.
    ///
    /// # Errors
    ///
    /// [`Error::Shuffle`] with [`LengthMismatch`](bijective_shuffle::Error::LengthMismatch) if
    /// `out` is not as long as `places`; nothing has been written then.
    ///
    /// # Examples
    ///
    /// ```
    /// use bijective_shuffle_loaders::Mixture;
    ///
    /// let mixture = Mixture::new(&[100, 10], &[3, 1], 42)?;
    /// let mut found = [(0, 0); 2];
    /// mixture.get_many(&[7, 1_000_000], &mut found)?;
    /// assert_eq!(found, [mixture.get(7), mixture.get(1_000_000)]);
    /// # Ok::<(), bijective_shuffle_loaders::Error>(())
    /// ```
    pub fn get_many(&self, places: &[u64], out: &mut [(usize, u64)]) -> Result<(), Error> {
        check_lengths(places.len(), out.len())?;
        let mut orders: Vec<Option<(u64, StandardWalk)>> = Vec::new();
        // Without room for them, they are drawn again for each place.
        if try_reserve(&mut orders, self.lengths.len()).is_ok() {
            orders.resize_with(self.lengths.len(), || None);
        }
        for (&place, out) in places.iter().zip(out) {
            let (set, number) = self.look_up(place);
            let (epoch, of_set) = (number / self.lengths[set], number % self.lengths[set]);
            let item = match orders.get_mut(set) {
                Some(Some((of, order))) if *of == epoch => order.forward(of_set),
                Some(other) => other.insert((epoch, self.order(set, epoch))).1.forward(of_set),
                None => self.order(set, epoch).forward(of_set),
            };
            *out = (set, item);
        }
        Ok(())
    }

    /// The set at a place, and how many items of it come before.
    fn look_up(&self, place: u64) -> (usize, u64) {
        let number = self.stretches.partition_point(|stretch| stretch.from <= place) - 1;
        let stretch = &self.stretches[number];
        let (set, before) = stretch.look_up(place - stretch.from);
        (set, stretch.taken[set] + before)
    }

    fn order(&self, set: usize, epoch: u64) -> StandardWalk {
        let child = self.child.with_epoch(set as u64).child(KeyDomain::Loader(NUMBER));
        StandardWalk::from_seed(self.lengths[set], child.with_epoch(epoch))
    }

    fn last_stretch(&self) -> &Stretch {
        self.stretches.last().expect("there is one from the beginning")
    }
}

impl Stretch {
    fn new(from: u64, lengths: &[u64], weights: &[u64], taken: Vec<u64>) -> Result<Self, Error> {
        let (sets, given) = (lengths.len() as u64, weights.len() as u64);
        if sets != given {
            return Err(Error::SetCountMismatch { sets, weights: given });
        }
        let mut sums = try_with_capacity_u64(sets.saturating_add(1))?;
        sums.push(0_u64);
        let mut common = 0;
        for (set, (&weight, &len)) in weights.iter().zip(lengths).enumerate() {
            if weight > 0 && len == 0 {
                return Err(Error::EmptySet { set: set as u64 });
            }
            let sum = sums[set].checked_add(weight).ok_or(Error::TotalWeightTooLarge)?;
            sums.push(sum);
            common = greatest_common_divisor(common, weight);
        }
        let quota = sums[lengths.len()].checked_div(common).ok_or(Error::NoWeight)?;
        Ok(Self { from, sums, taken, quota })
    }

    /// The middle of a range of sets, and the weights of those before it and of all.
    ///
    /// Of the first `k` items of these sets, `k half / all` belong to those before the middle,
    /// rounded to the nearest number: Bresenham's line. With `k` up to 2^64 nothing overflows.
    ///
    /// A number of first items is rounded by at most a half, and that of a run, as the difference
    /// of two, by less than one. The items of a half that are within a run are a run of that half,
    /// which takes its share of what the run has too many or too few. So a level adds less than
    /// one.
    fn halves(&self, range: &Range<usize>) -> (usize, u128, u128) {
        let middle = range.start.midpoint(range.end);
        let weight = |end: usize| u128::from(self.sums[end] - self.sums[range.start]);
        (middle, weight(middle), weight(range.end))
    }

    /// The set at a place of this stretch, and how many items of it come before in this stretch.
    fn look_up(&self, place: u64) -> (usize, u64) {
        let (mut range, mut place) = (0..self.taken.len(), u128::from(place));
        while range.len() > 1 {
            let (middle, half, all) = self.halves(&range);
            let sum = place * half + all / 2;
            let before = sum / all;
            // Whether there is one more with the next item.
            if sum - before * all + half >= all {
                (range.end, place) = (middle, before);
            } else {
                (range.start, place) = (middle, place - before);
            }
        }
        // It has not become larger.
        (range.start, place as u64)
    }

    /// Adds how many items of each set are among the first `count` of this stretch.
    fn count(&self, count: u64, sums: &mut [u64]) {
        let mut halves = vec![(0..self.taken.len(), u128::from(count))];
        while let Some((range, count)) = halves.pop() {
            if range.len() == 1 {
                sums[range.start] += count as u64;
                continue;
            }
            let (middle, half, all) = self.halves(&range);
            // Sets without a weight have no items.
            let first = (count * half + all / 2).checked_div(all).unwrap_or(0);
            halves.push((range.start..middle, first));
            halves.push((middle..range.end, count - first));
        }
    }
}

pub(crate) fn greatest_common_divisor(a: u64, b: u64) -> u64 {
    let (mut a, mut b) = (a, b);
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a
}

impl Source for Mixture {
    type Item = (usize, u64);

    fn fingerprint(&self) -> u64 {
        let seed = [&[self.seed.epoch()], self.seed.keys()].concat();
        let lengths = [&[self.lengths.len() as u64][..], &self.lengths].concat();
        let stretches = self.stretches.iter().flat_map(|stretch| {
            [stretch.from, stretch.taken.len() as u64].into_iter().chain(stretch.sums.clone())
        });
        saved::check(seed.into_iter().chain(lengths).chain(stretches))
    }

    /// An epoch has as many places as are asked for, and otherwise those of a [`pass`](Self::pass).
    fn begin(&self, epoch: u64, places: Option<u64>) -> Result<u64, Error> {
        let len = places.or(self.pass()).unwrap_or(u64::MAX);
        let end = epoch.checked_add(1).and_then(|epochs| epochs.checked_mul(len));
        end.map(|_| len).ok_or(Error::EpochTooLarge { epoch, len })
    }

    fn items(
        &self,
        epoch: u64,
        len: u64,
        places: &mut [u64],
        out: &mut Vec<(usize, u64)>,
    ) -> Result<(), Error> {
        for place in &mut *places {
            *place += epoch * len;
        }
        try_reserve(out, places.len())?;
        let first = out.len();
        out.resize(first + places.len(), (0, 0));
        self.get_many(places, &mut out[first..])
    }
}

/// The seed, the lengths, and for each stretch its place and weights.
impl fmt::Display for Mixture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ", self.seed)?;
        saved::write(f, &self.lengths)?;
        for Stretch { from, sums, .. } in &self.stretches {
            let weights = sums.windows(2).map(|sums| sums[1] - sums[0]);
            f.write_str(" ")?;
            saved::write(f, &[*from].into_iter().chain(weights).collect::<Vec<_>>())?;
        }
        Ok(())
    }
}

impl FromStr for Mixture {
    type Err = Error;

    /// Reads a mixture's text.
    ///
    /// # Errors
    ///
    /// [`Error::NotAMixture`] or the error of the seed's text, and the errors of [`new`](Self::new)
    /// and [`change`](Self::change).
    fn from_str(text: &str) -> Result<Self, Error> {
        let not_a_mixture = || Error::NotAMixture;
        let mut parts = text.split(' ');
        let seed: Seed = parts.next().unwrap_or_default().parse()?;
        let mut lists = parts.map(|part| numbers(part).ok_or_else(not_a_mixture));
        let lengths = lists.next().ok_or_else(not_a_mixture)??;
        let mut mixture: Option<Self> = None;
        for list in lists {
            let list = list?;
            let (&from, weights) = list.split_first().ok_or_else(not_a_mixture)?;
            let known = mixture.as_ref().map_or(0, |mixture| mixture.lengths.len());
            let added = lengths.get(known..weights.len()).ok_or_else(not_a_mixture)?;
            match &mut mixture {
                Some(mixture) => mixture.change(from, weights, added)?,
                None if from == 0 => mixture = Some(Self::new(added, weights, seed)?),
                None => return Err(not_a_mixture()),
            }
        }
        mixture.filter(|mixture| mixture.lengths == lengths).ok_or_else(not_a_mixture)
    }
}

/// Reads numbers of a text, which dashes separate.
fn numbers(text: &str) -> Option<Vec<u64>> {
    text.split('-').map(|number| saved::read::<1>(number).map(|[number]| number)).collect()
}

impl fmt::Debug for Mixture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mixture")
            .field("sets", &self.lengths.len())
            .field("quota", &self.quota())
            .field("changed_at", &self.last_stretch().from)
            .field("seed", &self.seed)
            .finish_non_exhaustive()
    }
}
