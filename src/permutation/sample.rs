//! Samples without replacement: the first items of a shuffled slice.

use rayon::prelude::*;

use super::{Permutation, tuning};
use crate::base::check::try_with_capacity;
use crate::bijection::Bijection;
use crate::error::{Defect, Error};

impl<B: Bijection> Permutation<B> {
    /// The first `count` items of the shuffled slice, or all if there are fewer: clones of a sample
    /// without replacement, in random order.
    ///
    /// They are the first of [`apply`](Self::apply), which clones all items; this clones the sample, and
    /// takes 8 bytes an item of it besides. The indexes are found on the calling thread, and the items
    /// cloned on all of the current rayon pool.
    ///
    /// # Errors
    ///
    /// [`Error::LengthMismatch`] if the slice is not as long as the permutation, [`Error::OutOfMemory`],
    /// and for an [`inverse`](Self::inverse), or where the bijection has 64 points an item or more, what
    /// [`try_get`](Self::try_get) says. A bijection that breaks its requirements gives
    /// [`Error::NotABijection`] or any items.
    ///
    /// # Panics
    ///
    /// If a clone does.
    ///
    /// # Examples
    ///
    /// ```
    /// use bijective_shuffle::Permutation;
    ///
    /// let words = ["zero", "one", "two", "three", "four"];
    /// let p = Permutation::for_slice(&words, 42);
    /// assert_eq!(p.sample(&words, 2)?, p.apply(&words)?[..2]);
    /// # Ok::<(), bijective_shuffle::Error>(())
    /// ```
    pub fn sample<T>(&self, source: &[T], count: usize) -> Result<Vec<T>, Error>
    where
        T: Clone + Send + Sync,
    {
        self.check_slice(source.len())?;
        let count = count.min(source.len());
        if self.inverted && count > 0 || self.is_listed_sooner(count as u64) {
            self.need_index()?;
        }
        let mut indexes = try_with_capacity(count)?;
        indexes.extend(self.head(count as u64));
        self.check_sample(&indexes, count)?;
        let mut sample = try_with_capacity(count)?;
        // No index is beyond the slice.
        let clone = |&index: &u64| source[index as usize].clone();
        if count < tuning::SEQUENTIAL_CLONES {
            sample.extend(indexes.iter().map(clone));
        } else {
            indexes.par_iter().map(clone).collect_into_vec(&mut sample);
        }
        Ok(sample)
    }

    /// Whether to list the slots of all items takes less time than to evaluate those between so many
    /// places: there may be any number of slots an item.
    fn is_listed_sooner(&self, places: u64) -> bool {
        let all = u128::from(self.len) * u128::from(tuning::SPARSE);
        self.is_sparse() && self.slots_between(places) > all
    }

    /// Checks that a sample's indexes are as many as they should be, and below the length.
    fn check_sample(&self, indexes: &[u64], count: usize) -> Result<(), Error> {
        // Of a permutation the slots are places.
        if let Some((slot, &index)) = (0..).zip(indexes).find(|&(_, &index)| index >= self.len) {
            let last = self.len - 1;
            return Err(Error::NotABijection(Defect::OutOfRange { slot, index, last }));
        }
        if indexes.len() < count {
            let (expected, actual) = (self.len, indexes.len() as u64);
            return Err(Error::NotABijection(Defect::Survivors { expected, actual }));
        }
        Ok(())
    }
}
