//! [`Splits`]: training, validation and test sets that do not move when data are appended.

use bijective_shuffle::{Bijection, KeyDomain, Seed};
use bijective_shuffle_engine::check::{try_reserve, try_with_capacity_u64};
use bijective_shuffle_engine::{parallel, saved};

use crate::Error;
use crate::deal::{self, Sequence};
use crate::items::{self, below, check_places};

/// The number of splits, among what this package draws.
const NUMBER: u32 = 8;

/// The largest quota: the order of a quota is evaluated as a whole.
const MOST: u64 = 1 << 20;

/// How many items a thread looks at, at a time.
const TASK: u64 = 1 << 14;

/// How many places are evaluated at a time.
const PLACES: usize = 1 << 9;

/// Splits a data set into parts in the proportions of whole numbers. An item's part depends on the
/// seed and the item's number, not on the number of items, so appending data moves no item to
/// another part.
///
/// Let the *quota* be the sum of the shares, divided by their greatest common divisor. Of each
/// quota of items, one after another, a random order says which are in which part, so each part has
/// its exact share of them. Only the last quota may be cut off. What is left of it is a random
/// draw, and fewer items than a quota may leave a part empty: [`deal`](Self::deal) shares out a
/// whole data set by counts instead.
///
/// Items are numbered within a *stratum*. For a split that is stratified by labels, give each label
/// a stratum of its own, and number its items; to keep the items of a group together, number the
/// groups. If items have no lasting numbers, split them by their [ids](Self::part_of_id).
///
/// # Examples
///
/// ```
/// use bijective_shuffle_loaders::Splits;
///
/// // Training, validation and test.
/// let splits = Splits::new(&[8, 1, 1], 42)?;
/// let mut parts = vec![0; 1000];
/// splits.fill(0, 0, &mut parts)?;
/// assert_eq!([0, 1, 2].map(|part| parts.iter().filter(|&&p| p == part).count()), [800, 100, 100]);
/// assert_eq!(splits.part(0, 777), parts[777]);
/// # Ok::<(), bijective_shuffle_loaders::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Splits {
    child: Seed,
    /// Where each part ends, among the places of a quota.
    ends: Vec<u64>,
}

impl Splits {
    /// Parts in these shares. The seed's epoch counts: other epochs are other splits.
    ///
    /// # Errors
    ///
    /// [`Error::SharesOutOfRange`] if there are no shares or more than 2^16, if all are 0, or if
    /// the quota is above 2^20.
    pub fn new(shares: &[u64], seed: impl Into<Seed>) -> Result<Self, Error> {
        let common = shares.iter().copied().fold(0, crate::mixture::greatest_common_divisor);
        let mut ends = Vec::new();
        let mut sum = 0_u64;
        for share in shares.iter().take(1 << 16) {
            sum = sum.saturating_add(share.checked_div(common).ok_or(Error::SharesOutOfRange)?);
            ends.push(sum);
        }
        if ends.len() < shares.len() || !(1..=MOST).contains(&sum) {
            return Err(Error::SharesOutOfRange);
        }
        Ok(Self { child: seed.into().child(KeyDomain::Loader(NUMBER)), ends })
    }

    /// The number of items in which each part has its exact share.
    pub fn quota(&self) -> u64 {
        self.ends[self.ends.len() - 1]
    }

    /// The number of parts.
    #[expect(clippy::len_without_is_empty, reason = "there is at least one part")]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// The part of item `number` of a stratum.
    pub fn part(&self, stratum: u64, number: u64) -> u32 {
        let quota = self.quota();
        let order = items::order(quota, self.quota_seed(stratum, number / quota), NUMBER);
        self.part_at(order.forward(number % quota))
    }

    /// Writes the parts of consecutive items of a stratum, on all cores.
    ///
    /// # Errors
    ///
    /// [`Error::PlacesOutOfRange`] if an item's number would be 2^64 or more; nothing has been
    /// written then.
    pub fn fill(&self, stratum: u64, first: u64, out: &mut [u32]) -> Result<(), Error> {
        check_places(first, out.len())?;
        let quota = self.quota();
        let before = (first % quota) as usize;
        // Whole quotas; the first piece is shorter by what comes before it.
        let piece = (TASK.div_ceil(quota) * quota) as usize;
        let (head, tail) = out.split_at_mut(out.len().min(piece - before));
        self.fill_piece(stratum, first, head);
        // Without a tail this may be 2^64, and has no meaning.
        let first = first.wrapping_add(head.len() as u64);
        parallel::each_chunk(tail, piece, |number, out| {
            self.fill_piece(stratum, first + (number * piece) as u64, out);
        });
        Ok(())
    }

    fn fill_piece(&self, stratum: u64, first: u64, out: &mut [u32]) {
        let (quota, mut number, mut out) = (self.quota(), first, out);
        let mut places = [0; PLACES];
        while !out.is_empty() {
            let at = number % quota;
            let left = out.len().min((quota - at) as usize);
            let (part, rest) = out.split_at_mut(left.min(PLACES));
            let order = items::order(quota, self.quota_seed(stratum, number / quota), NUMBER);
            let places = &mut places[..part.len()];
            order.forward_run(at, places);
            part.iter_mut().zip(places).for_each(|(part, place)| *part = self.part_at(*place));
            (number, out) = (number.wrapping_add(part.len() as u64), rest);
        }
    }

    /// The parts of a whole data set, with counts as close to the shares as possible: first the
    /// parts of the `counts[0]` items of stratum 0, then those of the `counts[1]` items of stratum
    /// 1, and so on.
    ///
    /// Items of whole quotas have the part that [`part`](Self::part) says. What is left of all
    /// strata, fewer items than a quota of each, is shared out by the method of largest remainders,
    /// and evenly along the strata. So the number of items that a part gets from a stratum depends
    /// on `counts` alone, and no part with a share is empty. With equal shares, the counts of two
    /// parts differ by at most one, in all and in each stratum. The seed says which items they are.
    ///
    /// Data that are appended may move items of the last quota of a stratum, and no others.
    ///
    /// # Errors
    ///
    /// [`Error::TooFewItems`] if there are fewer items than parts with a share, and
    /// [`Error::Shuffle`] if there is too little memory.
    ///
    /// # Examples
    ///
    /// ```
    /// use bijective_shuffle_loaders::Splits;
    ///
    /// // Five folds of 30 labels with 7 items each: 42 items in each fold.
    /// let folds = Splits::new(&[1; 5], 42)?.deal(&[7; 30])?;
    /// assert!((0..5).all(|fold| folds.iter().filter(|&&f| f == fold).count() == 42));
    /// # Ok::<(), bijective_shuffle_loaders::Error>(())
    /// ```
    pub fn deal(&self, counts: &[u64]) -> Result<Vec<u32>, Error> {
        let (quota, shares) = (self.quota(), self.shares());
        let items = counts.iter().fold(0_u64, |sum, &count| sum.saturating_add(count));
        let parts = shares.iter().filter(|&&share| share > 0).count() as u64;
        if items < parts {
            return Err(Error::TooFewItems { items, parts });
        }
        let mut dealt = try_with_capacity_u64(items)?;
        dealt.resize(items as usize, 0);
        let left: u64 = counts.iter().map(|count| count % quota).sum();
        // A whole quota has items of all parts.
        let least = u64::from(left == items);
        let mut sequence = Sequence::new(&deal::counts(&shares, left, least));
        let (mut rest, mut places) = (&mut dealt[..], Vec::new());
        for (stratum, &count) in (0..).zip(counts) {
            let (whole, own);
            (whole, rest) = rest.split_at_mut((count - count % quota) as usize);
            (own, rest) = rest.split_at_mut((count % quota) as usize);
            self.fill(stratum, 0, whole)?;
            places.clear();
            try_reserve(&mut places, own.len())?;
            places.resize(own.len(), 0);
            let seed = self.quota_seed(stratum, count / quota);
            items::order(quota, seed, NUMBER).forward_run(0, &mut places);
            // Each place with its item: a quota has fewer than 2^32.
            places.iter_mut().zip(0..).for_each(|(place, item)| *place = *place << 32 | item);
            places.sort_unstable();
            for (place, part) in places.iter().zip(&mut sequence) {
                own[*place as u32 as usize] = part;
            }
        }
        Ok(dealt)
    }

    /// The part of an item by its id alone: no numbers are needed, and the order of the items does
    /// not matter. The counts of the parts are then random, and near their shares for many items.
    pub fn part_of_id(&self, id: &[u8]) -> u32 {
        let words = id.chunks(8).map(|bytes| {
            let mut word = [0; 8];
            word[..bytes.len()].copy_from_slice(bytes);
            u64::from_le_bytes(word)
        });
        let seed = self.child.keys().iter().copied();
        let hash = saved::check(seed.chain([id.len() as u64]).chain(words));
        self.part_at(below(hash, self.quota()))
    }

    /// The share of each part in a quota.
    fn shares(&self) -> Vec<u64> {
        let starts = [0].into_iter().chain(self.ends.iter().copied());
        self.ends.iter().zip(starts).map(|(end, start)| end - start).collect()
    }

    /// The seed of the order of a quota of items, from which it is drawn as all orders are here.
    fn quota_seed(&self, stratum: u64, quota: u64) -> Seed {
        let child = self.child.with_epoch(stratum).child(KeyDomain::Loader(NUMBER));
        child.with_epoch(quota)
    }

    /// The part that has a place of a quota.
    fn part_at(&self, place: u64) -> u32 {
        self.ends.partition_point(|&end| end <= place) as u32
    }
}
