//! [`Permutation`]: one permutation, every view of it.

mod together;

use core::fmt;
use core::iter::FusedIterator;

use crate::backend::Backend;
use crate::bijection::{Bijection, FromSeed, Standard};
use crate::compact::{Compactor, check_length, try_with_capacity};
use crate::error::Error;
use crate::seed::Seed;
use crate::word::Word;

/// A pseudo-random permutation `p` of `[0, len)`: `p[k]` is the index of the item that comes to place `k`.
///
/// It is held as a bijection and a length; beyond a table for few items, nothing of the size of the length is stored.
/// All views agree: applying it puts item `p[k]` at place `k`, for the `p` that [`iter`](Self::iter) runs through and
/// [`to_vec`](Self::to_vec) writes out.
///
/// # Examples
///
/// ```
/// use bijective_shuffle::prelude::*;
///
/// let p = Permutation::new(5, Seed::new(42).epoch(3));
/// let order = p.to_vec();
/// let words = ["zero", "one", "two", "three", "four"];
/// let shuffled = p.apply(&words)?;
/// assert!(shuffled.iter().zip(&order).all(|(word, &index)| *word == words[index as usize]));
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Copy)]
pub struct Permutation<B = Standard> {
    len: u64,
    bijection: B,
    backend: Backend,
}

impl Permutation {
    /// The permutation of `len` items that a seed chooses from the [`Standard`] family.
    ///
    /// It is the same on every machine and back end, and in every version of this crate with the same major number
    /// (before 1.0.0: the same minor number).
    ///
    /// # Examples
    ///
    /// ```
    /// use bijective_shuffle::Permutation;
    ///
    /// assert_eq!(Permutation::new(5, 42).to_vec(), Permutation::new(5, 42).to_vec());
    /// ```
    pub fn new(len: u64, seed: impl Into<Seed>) -> Self {
        Self { len, bijection: Standard::from_seed(len, seed), backend: Backend::Auto }
    }
}

impl<B: Bijection> Permutation<B> {
    /// The permutation that any bijection on at least `len` points compacts to.
    ///
    /// # Errors
    ///
    /// [`Error::LengthExceedsDomain`] if the bijection has fewer points.
    ///
    /// # Examples
    ///
    /// ```
    /// use bijective_shuffle::prelude::*;
    ///
    /// let f = Lcg::new(3, 5, 3)?; // 3 0 5 2 7 4 1 6
    /// let p = Permutation::with_bijection(5, f)?;
    /// assert_eq!(p.to_vec(), [3, 0, 2, 4, 1]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn with_bijection(len: u64, bijection: B) -> Result<Self, Error> {
        check_length(len, bijection.last())?;
        Ok(Self { len, bijection, backend: Backend::Auto })
    }

    /// The same permutation, computed on a certain back end.
    #[must_use]
    pub fn on(self, backend: Backend) -> Self {
        Self { backend, ..self }
    }

    /// The number of items.
    pub const fn len(&self) -> u64 {
        self.len
    }

    /// Whether there are no items.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The bijection that is compacted.
    pub const fn bijection(&self) -> &B {
        &self.bijection
    }

    /// The back end that was asked for.
    pub const fn backend(&self) -> Backend {
        self.backend
    }

    /// Runs through `p[0], p[1], ..` on the calling thread, in constant memory.
    ///
    /// With a bijection that breaks its requirements the iterator ends early, repeats items or leaves some out.
    ///
    /// # Examples
    ///
    /// ```
    /// use bijective_shuffle::Permutation;
    ///
    /// let p = Permutation::new(1 << 40, 42);
    /// let sample: Vec<u64> = p.iter().take(3).collect();
    /// assert_eq!(sample.len(), 3);
    /// ```
    pub fn iter(&self) -> Iter<'_, B> {
        Iter::new(&self.bijection, self.len)
    }

    /// All of `p`.
    ///
    /// # Panics
    ///
    /// If the memory does not suffice, the back end is not available, or the bijection breaks its requirements;
    /// [`try_to_vec`](Self::try_to_vec) says so instead.
    ///
    /// # Examples
    ///
    /// ```
    /// use bijective_shuffle::Permutation;
    ///
    /// let mut p = Permutation::new(1000, 42).to_vec();
    /// p.sort();
    /// assert!(p.into_iter().eq(0..1000));
    /// ```
    #[track_caller]
    pub fn to_vec(&self) -> Vec<u64> {
        match self.try_to_vec() {
            Ok(indices) => indices,
            Err(error) => panic!("{error}"),
        }
    }

    /// All of `p`.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`], [`Error::BackendUnavailable`] and [`Error::NotABijection`]; and
    /// [`Error::LengthExceedsDomain`] from a bijection whose [trusted](Bijection::trusted) form is another one.
    pub fn try_to_vec(&self) -> Result<Vec<u64>, Error> {
        let out_of_memory = || Error::OutOfMemory { bytes: self.len.saturating_mul(8) };
        let len = usize::try_from(self.len).map_err(|_| out_of_memory())?;
        let mut indices = try_with_capacity(len)?;
        indices.resize(len, 0_u64);
        self.write_indices(&mut indices)?;
        Ok(indices)
    }

    /// Writes all of `p` into a slice of 32-bit or 64-bit words.
    ///
    /// # Errors
    ///
    /// [`Error::LengthMismatch`] if the slice is not as long as the permutation, [`Error::IndexTooWide`] if the
    /// word does not hold its indexes, and else as [`try_to_vec`](Self::try_to_vec), after which the slice holds
    /// unspecified values.
    ///
    /// # Examples
    ///
    /// ```
    /// use bijective_shuffle::Permutation;
    ///
    /// let mut order = [0_u32; 5];
    /// Permutation::new(5, 42).write_indices(&mut order)?;
    /// # Ok::<(), bijective_shuffle::Error>(())
    /// ```
    pub fn write_indices<N: Word>(&self, out: &mut [N]) -> Result<(), Error> {
        self.check_slice(out.len())?;
        self.backend.engine(0)?.indices(&self.bijection, out)
    }

    /// A shuffled copy of a slice: item `k` is a clone of `source[p[k]]`.
    ///
    /// # Errors
    ///
    /// [`Error::LengthMismatch`] if the slice is not as long as the permutation, and else as
    /// [`try_to_vec`](Self::try_to_vec).
    ///
    /// # Examples
    ///
    /// ```
    /// use bijective_shuffle::prelude::*;
    ///
    /// let p = Permutation::new(3, 42);
    /// assert_eq!(p.apply(&[0, 1, 2])?, p.to_vec());
    /// assert!(matches!(p.apply(&[0, 1]), Err(Error::LengthMismatch { expected: 3, actual: 2 })));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn apply<T: Clone + Send + Sync>(&self, source: &[T]) -> Result<Vec<T>, Error> {
        self.check_slice(source.len())?;
        self.backend.engine(size_of_val(source) as u64)?.shuffled(&self.bijection, source)
    }

    /// Shuffles a slice: item `p[k]` comes to place `k`. Items are moved, not cloned.
    ///
    /// The working memory is got anew for every call; [`Workspace::shuffle`](crate::Workspace::shuffle) with this
    /// [`bijection`](Self::bijection) keeps it.
    ///
    /// # Errors
    ///
    /// As [`apply`](Self::apply); the items are then where they were.
    ///
    /// # Examples
    ///
    /// ```
    /// use bijective_shuffle::Permutation;
    ///
    /// let p = Permutation::new(3, 42);
    /// let mut v = vec!["a", "b", "c"];
    /// p.apply_in_place(&mut v)?;
    /// p.unapply_in_place(&mut v)?;
    /// assert_eq!(v, ["a", "b", "c"]);
    /// # Ok::<(), bijective_shuffle::Error>(())
    /// ```
    pub fn apply_in_place<T: Send>(&self, items: &mut [T]) -> Result<(), Error> {
        self.check_slice(items.len())?;
        self.backend.engine(size_of_val(items) as u64)?.shuffle(&self.bijection, items)
    }

    /// Undoes [`apply_in_place`](Self::apply_in_place): item `k` comes to place `p[k]`.
    ///
    /// # Errors
    ///
    /// As [`apply`](Self::apply); the items are then where they were.
    pub fn unapply_in_place<T: Send>(&self, items: &mut [T]) -> Result<(), Error> {
        self.check_slice(items.len())?;
        self.backend.engine(size_of_val(items) as u64)?.unshuffle(&self.bijection, items)
    }

    fn check_slice(&self, actual: usize) -> Result<(), Error> {
        let actual = actual as u64;
        if actual == self.len {
            Ok(())
        } else {
            Err(Error::LengthMismatch { expected: self.len, actual })
        }
    }
}

impl<B: Bijection> fmt::Debug for Permutation<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Permutation")
            .field("len", &self.len)
            .field("last", &self.bijection.last())
            .field("backend", &self.backend)
            .finish_non_exhaustive()
    }
}

impl<'a, B: Bijection> IntoIterator for &'a Permutation<B> {
    type Item = u64;
    type IntoIter = Iter<'a, B>;

    fn into_iter(self) -> Iter<'a, B> {
        self.iter()
    }
}

/// How many slots the iterator evaluates at a time.
const RUN: usize = 256;

/// The iterator over a permutation's indexes; [`Permutation::iter`] makes it.
pub struct Iter<'a, B = Standard> {
    bijection: &'a B,
    len: u64,
    /// How many indexes are still to come.
    left: u64,
    /// The first slot that was not evaluated; none is left after the last.
    next_slot: Option<u64>,
    /// Survivors among the slots that were evaluated; those from `taken` to `count` are still to come.
    survivors: [u64; RUN],
    taken: usize,
    count: usize,
}

impl<'a, B: Bijection> Iter<'a, B> {
    fn new(bijection: &'a B, len: u64) -> Self {
        let next_slot = (len > 0).then_some(0);
        Self { bijection, len, left: len, next_slot, survivors: [0; RUN], taken: 0, count: 0 }
    }

    /// Evaluates runs until there is a survivor; whether there is one.
    #[cold]
    fn refill(&mut self) -> bool {
        let last = self.bijection.last();
        self.taken = 0;
        self.count = 0;
        while let (0, Some(first)) = (self.count, self.next_slot) {
            let slots = last.saturating_sub(first).min(RUN as u64 - 1) as usize + 1;
            let run = &mut self.survivors[..slots];
            self.bijection.forward_run(first, run);
            for slot in 0..slots {
                let index = self.survivors[slot];
                self.survivors[self.count] = index;
                self.count += usize::from(index < self.len);
            }
            self.next_slot = first.checked_add(slots as u64).filter(|&next| next <= last);
        }
        self.count > 0
    }
}

impl<B: Bijection> Iterator for Iter<'_, B> {
    type Item = u64;

    #[inline]
    fn next(&mut self) -> Option<u64> {
        if self.left == 0 || (self.taken == self.count && !self.refill()) {
            self.left = 0;
            return None;
        }
        let index = self.survivors[self.taken];
        self.taken += 1;
        self.left -= 1;
        Some(index)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        match usize::try_from(self.left) {
            Ok(left) => (left, Some(left)),
            Err(_) => (usize::MAX, None),
        }
    }
}

impl<B: Bijection> FusedIterator for Iter<'_, B> {}

impl<B: Bijection> Clone for Iter<'_, B> {
    fn clone(&self) -> Self {
        Self { ..*self }
    }
}

impl<B: Bijection> fmt::Debug for Iter<'_, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Iter")
            .field("len", &self.len)
            .field("left", &self.left)
            .finish_non_exhaustive()
    }
}
