//! [`Permutation`]: one permutation and all of its views.

mod ahead;
mod as_bijection;
mod cursor;
mod index;
mod into_iter;
mod iter;
mod many;
#[cfg(all(
    feature = "cuda",
    target_pointer_width = "64",
    any(target_os = "linux", target_os = "windows")
))]
mod many_on_gpu;
#[cfg(all(
    feature = "cuda",
    target_pointer_width = "64",
    any(target_os = "linux", target_os = "windows")
))]
mod on_gpu;
mod par_iter;
mod places;
mod refill;
mod sample;
mod scan;
mod segments;
#[cfg(all(
    feature = "cuda",
    target_pointer_width = "64",
    any(target_os = "linux", target_os = "windows")
))]
mod segments_on_gpu;
mod then;
mod together;
mod tuning;
mod views;

pub use cursor::Cursor;
use index::SurvivorIndex;
pub use iter::{Indexes, IntoIter, Iter};
pub use many::Permutations;
pub use segments::Segments;

use core::fmt;
use std::sync::{Arc, OnceLock};

use crate::backend::Backend;
use crate::bijection::{CycleWalk, Standard};
use crate::compact::{Compactor, Direction};
use crate::engine::check::{check_length, check_word, or_panic, try_with_capacity};
use crate::engine::parallel;
use crate::{Bijection, Error, FromSeed, Seed, Word};

/// A pseudo-random permutation `p` of `[0, len)`: `p[k]` is the index of the item that moves to
/// place `k`.
///
/// It is stored as a bijection and a length. The length, `len` wherever it is asked for, is a
/// `u64`, since a permutation may be longer than memory. All views agree, bit for bit:
/// [`iter`](Self::iter) iterates over `p`, [`to_vec`](Self::to_vec) returns all of it,
/// [`get`](Self::get) and [`position`](Self::position) look up single values of `p` and of its
/// inverse, and [`apply`](Self::apply) puts item `p[k]` at place `k`.
///
/// | view | memory |
/// | --- | --- |
/// | [`iter`](Self::iter), [`head`](Self::head), [`shard_strided`](crate::iter::Indexes::shard_strided), [`resume`](Self::resume) | constant memory, forwards and not through an inverse |
/// | [`get`](Self::get), [`position`](Self::position), [`range`](Self::range), [`shard`](Self::shard), [`par_iter`](Self::par_iter), backwards, and all of an inverse | constant memory if the length fills the bijection's domain, or near an end, and otherwise an index |
/// | [`to_vec`](Self::to_vec), [`apply`](Self::apply), [`apply_in_place`](Self::apply_in_place), and their ways back | what the engines take |
/// | [`inverted`](Self::inverted), [`then`](Self::then) | give another permutation, with all views |
///
/// # Which order
///
/// A seed has two orders of each length. They are equally good and equally stable, and differ
/// unless the length is a power of two or at most
/// [`Standard::EXACT_MAX`](crate::bijection::Standard::EXACT_MAX).
///
/// | you want | take |
/// | --- | --- |
/// | the order in which slices are shuffled by the seed, or all of an order | [`new`](Self::new) |
/// | single places or ranges of many items, in constant memory | [`walk`](Self::walk) |
///
/// # The index
///
/// The length fills the domain for [`new`](Self::new) if it is a power of two or at most
/// [`Standard::EXACT_MAX`](crate::bijection::Standard::EXACT_MAX). For [`walk`](Self::walk), which
/// is a different permutation, it always does, so all of these views take constant memory.
///
/// The index is built at first use where that takes seconds at most: for up to 2^33 items, a limit
/// that later versions may raise. For single places or ranges of more items, use `walk`: with
/// [`new`](Self::new) those views return
/// [`ViewError::IndexNotBuilt`](crate::error::ViewError::IndexNotBuilt) until
/// [`build_index`](Self::build_index) has been called, which takes minutes for a trillion items.
///
/// # Examples
///
/// ```
/// use bijective_shuffle::prelude::*;
///
/// let p = Permutation::new(5, Seed::new(42).with_epoch(3));
/// let order = p.to_vec();
/// let words = ["zero", "one", "two", "three", "four"];
/// let shuffled = p.apply(&words)?;
/// assert!(shuffled.iter().zip(&order).all(|(word, &index)| *word == words[index as usize]));
/// # Ok::<(), bijective_shuffle::Error>(())
/// ```
///
/// Disjoint training, validation and test sets:
///
/// ```
/// use bijective_shuffle::prelude::*;
///
/// let p = Permutation::new(1000, 42);
/// let (training, validation, test) = (p.range(..800)?, p.range(800..900)?, p.range(900..)?);
/// let mut all: Vec<u64> = training.chain(validation).chain(test).collect();
/// all.sort();
/// assert!(all.into_iter().eq(0..1000));
/// # Ok::<(), bijective_shuffle::Error>(())
/// ```
///
/// Cross-validation with five folds: each is the test set once, and the others are for training.
///
/// ```
/// use bijective_shuffle::prelude::*;
///
/// const FOLDS: u64 = 5;
/// let p = Permutation::new(1003, 42);
/// for fold in 0..FOLDS {
///     let test = p.shard(fold, FOLDS)?;
///     let others = (0..FOLDS).filter(|&other| other != fold);
///     let training = others.map(|other| p.shard(other, FOLDS)).collect::<Result<Vec<_>, _>>()?;
///     let training: Vec<u64> = training.into_iter().flatten().collect();
///     assert_eq!(test.remaining() + training.len() as u64, 1003);
///     assert!(test.into_iter().all(|index| !training.contains(&index)));
/// }
/// # Ok::<(), bijective_shuffle::Error>(())
/// ```
#[derive(Clone)]
pub struct Permutation<B = Standard> {
    len: u64,
    bijection: B,
    /// The seed from which the bijection was drawn, if it was.
    seed: Option<Seed>,
    backend: Backend,
    /// Whether this is the inverse of the permutation that the bijection compacts to.
    inverted: bool,
    /// Built at first use where it is needed, and shared with clones.
    index: OnceLock<Arc<SurvivorIndex>>,
}

impl Permutation {
    /// The permutation of `len` items that a seed determines, from the [`Standard`] family.
    ///
    /// It is the same on every machine and back end, and in every version of this crate with the
    /// same major number (before 1.0.0: the same minor number).
    ///
    /// To look up single places among more than 2^33 items, use [`walk`](Permutation::walk), a
    /// different permutation that needs no index for that.
    ///
    /// # Examples
    ///
    /// ```
    /// use bijective_shuffle::Permutation;
    ///
    /// assert_eq!(Permutation::new(5, 42).to_vec(), Permutation::new(5, 42).to_vec());
    /// ```
    pub fn new(len: u64, seed: impl Into<Seed>) -> Self {
        let seed = seed.into();
        Self { seed: Some(seed), ..Self::of(len, Standard::from_seed(len, seed)) }
    }
}

impl Permutation<CycleWalk<Standard>> {
    /// A different permutation of `len` items that a seed determines, which needs no index for any
    /// view at any length: none of its views fails for want of one. A value beyond the length is
    /// sent through the bijection again until it is below the length; see [`CycleWalk`].
    ///
    /// It differs from that of [`new`](Permutation::new), unless the length is a power of two or
    /// small enough to be drawn exactly, but its values are just as stable. Walking takes up to two
    /// evaluations for each index on average. The permutation is as uniform as the family, also in
    /// its sign near powers of two. Up to [`Standard::EXACT_MAX`] items, where the family is not
    /// uniform enough, it is drawn exactly.
    ///
    /// # Examples
    ///
    /// ```
    /// use bijective_shuffle::Permutation;
    ///
    /// let p = Permutation::walk(u64::MAX, 42);
    /// let index = p.get(1 << 63)?;
    /// assert_eq!(p.position(index)?, 1 << 63);
    /// # Ok::<(), bijective_shuffle::Error>(())
    /// ```
    pub fn walk(len: u64, seed: impl Into<Seed>) -> Self {
        let seed = seed.into();
        Self { seed: Some(seed), ..Self::of(len, CycleWalk::from_seed(len, seed)) }
    }
}

impl<B> Permutation<B> {
    /// The permutation of a bijection with a large enough domain.
    fn of(len: u64, bijection: B) -> Self {
        let (backend, index) = (Backend::default(), OnceLock::new());
        Self { len, bijection, seed: None, backend, inverted: false, index }
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
    /// use bijective_shuffle::bijection::Lcg;
    /// use bijective_shuffle::prelude::*;
    ///
    /// let f = Lcg::new(3, 5, 3)?; // 3 0 5 2 7 4 1 6
    /// let p = Permutation::from_bijection(5, f)?;
    /// assert_eq!(p.to_vec(), [3, 0, 2, 4, 1]);
    /// # Ok::<(), bijective_shuffle::Error>(())
    /// ```
    pub fn from_bijection(len: u64, bijection: B) -> Result<Self, Error> {
        check_length(len, bijection.last())?;
        Ok(Self::of(len, bijection))
    }

    /// The same permutation, computed on a back end other than the default, [`Backend::Cpu`].
    ///
    /// [`apply_together`](Self::apply_together) and [`unapply_together`](Self::unapply_together)
    /// run on the CPU all the same.
    #[must_use]
    pub fn with_backend(self, backend: Backend) -> Self {
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

    /// The seed that [`new`](Permutation::new) or [`walk`](Permutation::walk) was given, also for
    /// their [inverse](Self::inverted); `None` if a bijection was given instead.
    ///
    /// # Examples
    ///
    /// ```
    /// use bijective_shuffle::bijection::Lcg;
    /// use bijective_shuffle::prelude::*;
    ///
    /// let seed = Seed::new(42).with_epoch(3);
    /// assert_eq!(Permutation::new(5, seed).seed(), Some(seed));
    /// assert_eq!(Permutation::from_bijection(5, Lcg::new(3, 5, 3)?)?.seed(), None);
    /// # Ok::<(), bijective_shuffle::Error>(())
    /// ```
    pub const fn seed(&self) -> Option<Seed> {
        self.seed
    }

    /// Whether this is the inverse of the permutation that the bijection compacts to, as
    /// [`inverted`](Self::inverted) returns it. With the length and the bijection, it determines
    /// the permutation.
    pub const fn is_inverted(&self) -> bool {
        self.inverted
    }

    /// All of `p`.
    ///
    /// # Panics
    ///
    /// If there is not enough memory, the back end is not available, or the bijection breaks its
    /// requirements; [`try_to_vec`](Self::try_to_vec) returns an error instead.
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
        or_panic(self.try_to_vec())
    }

    /// All of `p`.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`], [`Error::BackendUnavailable`] and [`Error::NotABijection`]; and
    /// [`Error::LengthExceedsDomain`] for a bijection whose [trusted](Bijection::trusted) form has
    /// fewer points.
    pub fn try_to_vec(&self) -> Result<Vec<u64>, Error> {
        let out_of_memory = || Error::OutOfMemory { bytes: self.len.saturating_mul(8) };
        let len = usize::try_from(self.len).map_err(|_| out_of_memory())?;
        let mut indices = try_with_capacity(len)?;
        indices.resize(len, 0_u64);
        self.write_indexes(&mut indices)?;
        Ok(indices)
    }

    /// Writes all of `p` into a slice of 32-bit or 64-bit words.
    ///
    /// # Errors
    ///
    /// [`Error::LengthMismatch`] if the slice does not have the permutation's length,
    /// [`Error::IndexTooWide`] if the word cannot hold its indexes, and otherwise as
    /// [`try_to_vec`](Self::try_to_vec), after which the slice holds unspecified values.
    ///
    /// # Examples
    ///
    /// ```
    /// use bijective_shuffle::Permutation;
    ///
    /// let mut order = [0_u32; 5];
    /// Permutation::new(5, 42).write_indexes(&mut order)?;
    /// # Ok::<(), bijective_shuffle::Error>(())
    /// ```
    pub fn write_indexes<N: Word>(&self, out: &mut [N]) -> Result<(), Error> {
        self.check_slice(out.len())?;
        let engine = self.backend.engine(0)?;
        if !self.inverted {
            return engine.write_indexes(&self.bijection, out);
        }
        check_word::<N>(out.len())?;
        parallel::count_up(out, N::wrap);
        engine.unshuffle(&self.bijection, out)
    }

    /// Returns a shuffled copy of a slice: item `k` is a clone of `source[p[k]]`.
    ///
    /// # Errors
    ///
    /// [`Error::LengthMismatch`] if the slice does not have the permutation's length, and otherwise
    /// as [`try_to_vec`](Self::try_to_vec).
    ///
    /// # Examples
    ///
    /// ```
    /// use bijective_shuffle::Error;
    /// use bijective_shuffle::prelude::*;
    ///
    /// let p = Permutation::new(3, 42);
    /// assert_eq!(p.apply(&[0, 1, 2])?, p.to_vec());
    /// assert!(matches!(p.apply(&[0, 1]), Err(Error::LengthMismatch { expected: 3, actual: 2 })));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn apply<T: Clone + Send + Sync>(&self, source: &[T]) -> Result<Vec<T>, Error> {
        self.reordered(source, Direction::Shuffle)
    }

    /// Undoes [`apply`](Self::apply): returns a copy in which a clone of item `k` is at place
    /// `p[k]`.
    ///
    /// # Errors
    ///
    /// As [`apply`](Self::apply).
    ///
    /// # Examples
    ///
    /// ```
    /// use bijective_shuffle::Permutation;
    ///
    /// let p = Permutation::new(3, 42);
    /// assert_eq!(p.unapply(&p.apply(&["a", "b", "c"])?)?, ["a", "b", "c"]);
    /// # Ok::<(), bijective_shuffle::Error>(())
    /// ```
    pub fn unapply<T: Clone + Send + Sync>(&self, items: &[T]) -> Result<Vec<T>, Error> {
        self.reordered(items, Direction::Unshuffle)
    }

    /// Shuffles a slice: item `p[k]` moves to place `k`. Items are moved, not cloned.
    ///
    /// Every call allocates its working memory anew;
    /// [`Workspace::shuffle`](crate::Workspace::shuffle) with this [`bijection`](Self::bijection)
    /// keeps it.
    ///
    /// # Errors
    ///
    /// As [`apply`](Self::apply); the items are then unchanged.
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
        self.reorder(items, Direction::Shuffle)
    }

    /// Undoes [`apply_in_place`](Self::apply_in_place): item `k` moves to place `p[k]`.
    ///
    /// # Errors
    ///
    /// As [`apply`](Self::apply); the items are then unchanged.
    pub fn unapply_in_place<T: Send>(&self, items: &mut [T]) -> Result<(), Error> {
        self.reorder(items, Direction::Unshuffle)
    }

    /// Clones items in the order of the permutation, in a given direction.
    fn reordered<T: Clone + Send + Sync>(
        &self,
        items: &[T],
        direction: Direction,
    ) -> Result<Vec<T>, Error> {
        self.check_slice(items.len())?;
        let engine = self.backend.engine(size_of_val(items) as u64)?;
        match if self.inverted { direction.flip() } else { direction } {
            Direction::Shuffle => engine.shuffled(&self.bijection, items),
            Direction::Unshuffle => engine.unshuffled(&self.bijection, items),
        }
    }

    /// Moves items by the permutation, in a given direction.
    fn reorder<T: Send>(&self, items: &mut [T], direction: Direction) -> Result<(), Error> {
        self.check_slice(items.len())?;
        let engine = self.backend.engine(size_of_val(items) as u64)?;
        match if self.inverted { direction.flip() } else { direction } {
            Direction::Shuffle => engine.shuffle(&self.bijection, items),
            Direction::Unshuffle => engine.unshuffle(&self.bijection, items),
        }
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
            .field("seed", &self.seed)
            .field("backend", &self.backend)
            .field("inverted", &self.inverted)
            .finish_non_exhaustive()
    }
}
