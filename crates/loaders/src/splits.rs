//! [`Splits`]: training, validation and test sets that do not move when data are appended.

use bijective_shuffle::{Bijection, KeyDomain, Seed};
use bijective_shuffle_core::engine::base::{parallel, saved};

use crate::Error;
use crate::items::{self, below, check_positions};

/// The number of splits, among what this package draws.
const NUMBER: u32 = 8;

/// The largest quota: the order of a quota is evaluated as a whole.
const MOST: u64 = 1 << 20;

/// How many items a thread looks at, at a time.
const TASK: u64 = 1 << 14;

/// Parts of a data set in shares that whole numbers give: the part of an item is a function of the
/// seed and the item's number, and not of the number of items. So data that are appended move no
/// item to another part.
///
/// Let the *quota* be the sum of the shares, divided by their greatest common divisor. Of each
/// quota of items, one after another, a random order says which are in which part, so each part has
/// its exact share of them. Only the last quota may be cut off.
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
    /// Parts in some shares. The seed's epoch counts: other epochs are other splits.
    ///
    /// # Errors
    ///
    /// [`Error::Shares`] if there are no shares or more than 2^16, if all are 0, or if the quota is
    /// above 2^20.
    pub fn new(shares: &[u64], seed: impl Into<Seed>) -> Result<Self, Error> {
        let common = shares.iter().copied().fold(0, crate::mixture::greatest_common_divisor);
        let mut ends = Vec::new();
        let mut sum = 0_u64;
        for share in shares.iter().take(1 << 16) {
            sum = sum.saturating_add(share.checked_div(common).ok_or(Error::Shares)?);
            ends.push(sum);
        }
        if ends.len() < shares.len() || !(1..=MOST).contains(&sum) {
            return Err(Error::Shares);
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
    /// [`Error::BeyondLast`] if an item's number would be 2^64 or more; nothing has been written
    /// then.
    pub fn fill(&self, stratum: u64, first: u64, out: &mut [u32]) -> Result<(), Error> {
        check_positions(first, out.len())?;
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
        let mut places = vec![0; out.len().min(quota as usize)];
        while !out.is_empty() {
            let at = number % quota;
            let (part, rest) = out.split_at_mut(out.len().min((quota - at) as usize));
            let order = items::order(quota, self.quota_seed(stratum, number / quota), NUMBER);
            let places = &mut places[..part.len()];
            order.forward_run(at, places);
            part.iter_mut().zip(places).for_each(|(part, place)| *part = self.part_at(*place));
            (number, out) = (number.wrapping_add(part.len() as u64), rest);
        }
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
