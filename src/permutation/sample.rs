//! Samples without replacement: the first items of a shuffled slice, cloned or brought there.

use rayon::prelude::*;

use super::{Permutation, tuning};
use crate::bijection::hooks::Hooked;
use crate::engine::check::try_with_capacity;
use crate::error::Defect;
use crate::{Bijection, Error};

impl<B: Bijection> Permutation<B> {
    /// A random sample without replacement: clones of the first `count` items of the shuffled
    /// slice, or of all if there are fewer, in random order.
    ///
    /// They equal the first items that [`apply`](Self::apply) returns, but only the sample is
    /// cloned. It takes 8 bytes of working memory for each item of the sample. The calling thread
    /// finds the indexes, and all threads of the current rayon pool clone the items.
    ///
    /// # Errors
    ///
    /// [`Error::LengthMismatch`] if the slice does not have the permutation's length, and
    /// [`Error::OutOfMemory`]. For an [inverse](Self::inverted), or where the bijection has 64
    /// points for each item or more, also the errors of [`get`](Self::get). With a
    /// bijection that breaks its requirements, the result is [`Error::NotABijection`], or `count`
    /// items that may repeat.
    ///
    /// # Panics
    ///
    /// If cloning an item panics.
    ///
    /// # Examples
    ///
    /// ```
    /// use bijective_shuffle::Permutation;
    ///
    /// let words = ["zero", "one", "two", "three", "four"];
    /// let p = Permutation::new(words.len() as u64, 42);
    /// assert_eq!(p.sample(&words, 2)?, p.apply(&words)?[..2]);
    /// # Ok::<(), bijective_shuffle::Error>(())
    /// ```
    pub fn sample<T>(&self, source: &[T], count: usize) -> Result<Vec<T>, Error>
    where
        T: Clone + Send + Sync,
    {
        self.check_slice(source.len())?;
        let count = count.min(source.len());
        let indexes = self.first_indexes(count)?;
        let mut sample = try_with_capacity(count)?;
        let clone = |&index: &u64| source[index as usize].clone();
        if count < tuning::SEQUENTIAL_CLONES {
            sample.extend(indexes.iter().map(clone));
        } else {
            indexes.par_iter().map(clone).collect_into_vec(&mut sample);
        }
        Ok(sample)
    }

    /// The first indexes. There are at least as many.
    fn first_indexes(&self, count: usize) -> Result<Vec<u64>, Error> {
        if count > 0 {
            self.bijection.build_indexes(false)?;
        }
        if self.inverted && count > 0 || self.is_listed_sooner(count as u64) {
            self.need_index()?;
        }
        let mut indexes = try_with_capacity(count)?;
        let mut head = self.head(count as u64);
        head.reserve_run()?;
        head.try_for_each_run(|run| indexes.extend_from_slice(run))?;
        Ok(indexes)
    }

    /// Brings the first `count` items of the shuffled slice to their places, and leaves the others
    /// in any order. There are as many items as the permutation has, and at least `count`. Unless
    /// the bijection is trusted, no index may come twice.
    ///
    /// # Errors
    ///
    /// Those of [`sample`](Self::sample); the items are then unchanged.
    pub(crate) fn bring_to_front<T>(
        &self,
        items: &mut [T],
        count: usize,
        is_trusted: bool,
    ) -> Result<(), Error> {
        let indexes = self.first_indexes(count)?;
        if !is_trusted {
            let mut sorted = try_with_capacity(count)?;
            sorted.extend_from_slice(&indexes);
            sorted.sort_unstable();
            if let Some(twice) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
                let defect = Defect::Repeats { index: twice[0], slots: None };
                return Err(Error::NotABijection(defect));
            }
        }
        // Only items from the front are ever displaced. `item_at` has the number of the item that
        // is now at each place of the front, and `place_of` the place of each item from there.
        let (mut item_at, mut place_of) = (try_with_capacity(count)?, try_with_capacity(count)?);
        item_at.extend(0..count);
        place_of.extend(0..count);
        for (place, &index) in indexes.iter().enumerate() {
            let index = index as usize;
            let from = place_of.get(index).copied().unwrap_or(index);
            items.swap(place, from);
            let displaced = item_at[place];
            place_of[displaced] = from;
            if let Some(item) = item_at.get_mut(from) {
                *item = displaced;
            }
        }
        Ok(())
    }

    /// Whether listing the slots of all items takes less time than evaluating the slots between
    /// `places` places: there may be any number of slots for each item.
    pub(super) fn is_listed_sooner(&self, places: u64) -> bool {
        let all = u128::from(self.len) * u128::from(tuning::SPARSE);
        self.is_sparse() && self.slots_between(places) > all
    }
}
