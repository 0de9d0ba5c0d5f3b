//! [`ParIter`]: a parallel [`Iter`], on the threads of a rayon pool.

use rayon::iter::plumbing::{Consumer, Producer, ProducerCallback, UnindexedConsumer, bridge};
use rayon::prelude::*;

use super::{Iter, Permutation};
use crate::Bijection;
use crate::bijection::Standard;

/// What [`Permutation::par_iter`] returns, and `into_par_iter` of an [`Iter`].
#[must_use = "iterators are lazy and do nothing unless consumed"]
#[derive(Debug)]
pub struct ParIter<'a, B = Standard>(Iter<'a, B>);

impl<B> Clone for ParIter<'_, B> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<B: Bijection> Permutation<B> {
    /// Iterates over `p[0], p[1], ..` on the threads of the current rayon pool, with all methods of
    /// rayon's indexed iterators, such as `zip`, `enumerate`, `chunks`, `rev` and
    /// `collect_into_vec`. So does `into_par_iter` of a `&Permutation`, and that of an
    /// [`Iter`](crate::iter::Iter) for a range or a shard.
    ///
    /// # Panics
    ///
    /// If there are more indexes than a `usize` can count, as rayon's indexed iterators require, or
    /// if the permutation's index is needed and cannot be built; call
    /// [`build_index`](Self::build_index) beforehand to get an error instead. With a bijection that
    /// breaks its requirements, it panics where [`Indexes`](crate::iter::Indexes) does.
    ///
    /// # Examples
    ///
    /// ```
    /// use bijective_shuffle::Permutation;
    /// use rayon::prelude::*;
    ///
    /// let p = Permutation::new(100_000, 42);
    /// let fixed = p.par_iter().enumerate().filter(|&(place, index)| place as u64 == index).count();
    /// assert!(fixed < 10);
    /// assert_eq!((&p).into_par_iter().max(), Some(99_999));
    /// let tail: Vec<u64> = p.range(90_000..)?.into_par_iter().collect();
    /// assert_eq!(tail, p.to_vec()[90_000..]);
    /// # Ok::<(), bijective_shuffle::Error>(())
    /// ```
    pub fn par_iter(&self) -> impl IndexedParallelIterator<Item = u64> + Clone {
        ParIter(self.iter())
    }
}

impl<'a, B: Bijection> IntoParallelIterator for &'a Permutation<B> {
    type Item = u64;
    type Iter = ParIter<'a, B>;

    fn into_par_iter(self) -> ParIter<'a, B> {
        ParIter(self.iter())
    }
}

impl<'a, B: Bijection> IntoParallelIterator for Iter<'a, B> {
    type Item = u64;
    type Iter = ParIter<'a, B>;

    fn into_par_iter(self) -> ParIter<'a, B> {
        ParIter(self)
    }
}

impl<B: Bijection> ParallelIterator for ParIter<'_, B> {
    type Item = u64;

    fn drive_unindexed<C: UnindexedConsumer<u64>>(self, consumer: C) -> C::Result {
        bridge(self, consumer)
    }

    fn opt_len(&self) -> Option<usize> {
        Some(self.len())
    }
}

impl<B: Bijection> IndexedParallelIterator for ParIter<'_, B> {
    fn len(&self) -> usize {
        usize::try_from(self.0.remaining()).expect("a parallel iterator's length fits a usize")
    }

    fn drive<C: Consumer<u64>>(self, consumer: C) -> C::Result {
        bridge(self, consumer)
    }

    fn with_producer<P: ProducerCallback<u64>>(self, callback: P) -> P::Output {
        self.0.expect_index();
        callback.callback(IndexPiece(self.0))
    }
}

/// A splittable part of the indexes.
struct IndexPiece<'a, B>(Iter<'a, B>);

impl<'a, B: Bijection> Producer for IndexPiece<'a, B> {
    type Item = u64;
    type IntoIter = Counted<'a, B>;

    fn into_iter(self) -> Counted<'a, B> {
        Counted(self.0)
    }

    fn split_at(self, index: usize) -> (Self, Self) {
        let (mut left, mut right) = (self.0.clone(), self.0);
        left.retreat(left.remaining() - index as u64);
        right.advance(index as u64);
        (Self(left), Self(right))
    }
}

/// An iterator whose length fits a `usize`.
struct Counted<'a, B>(Iter<'a, B>);

impl<B: Bijection> Iterator for Counted<'_, B> {
    type Item = u64;

    #[inline]
    fn next(&mut self) -> Option<u64> {
        self.0.next()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }

    fn fold<A, F: FnMut(A, u64) -> A>(self, init: A, f: F) -> A {
        self.0.fold(init, f)
    }
}

impl<B: Bijection> DoubleEndedIterator for Counted<'_, B> {
    #[inline]
    fn next_back(&mut self) -> Option<u64> {
        self.0.next_back()
    }
}

impl<B: Bijection> ExactSizeIterator for Counted<'_, B> {}
