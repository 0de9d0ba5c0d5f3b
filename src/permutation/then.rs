//! [`Permutation::then`]: one permutation after another.
//!
//! What is composed here says that it is made of several passes (`EngineHooks::passes`). Whether
//! items are moved by these is decided in `compact/passes.rs`, and for a GPU in
//! `cuda/shuffle/passes.rs`.

use super::Permutation;
use crate::bijection::Compose;
use crate::{Bijection, Error};

impl<B: Bijection> Permutation<B> {
    /// The composition of this permutation and another: applying it is the same as applying this
    /// one and then the other, so that its `p[k]` is `self[other[k]]`.
    ///
    /// Items are moved, and [`to_vec`](Self::to_vec) is written, in just that way: by the one
    /// permutation and then by the other, on every back end. It takes as long as both calls, and no
    /// index is built. If the second runs out of memory, the first is undone.
    ///
    /// All views of single places evaluate both permutations point by point. Where the length does
    /// not fill a permutation's domain, that is a query of its
    /// [index](Self::build_index) for every place. The composition builds the indexes
    /// when they are first needed; it shares those that have been built before. They are needed
    /// for [`iter`](Self::iter) too, which panics without, as an [inverse](Self::inverted)'s
    /// iterator does.
    ///
    /// Items are moved in that way too, with a query for every item, if a bijection is not
    /// [trusted](crate::TrustedBijection) or not [free of panics](crate::Trusted::panic_free).
    ///
    /// # Errors
    ///
    /// [`Error::LengthMismatch`] if the lengths are not equal.
    ///
    /// # Examples
    ///
    /// ```
    /// use bijective_shuffle::prelude::*;
    ///
    /// let (p, q) = (Permutation::new(300, 42), Permutation::new(300, 43));
    /// let items: Vec<u64> = (0..300).collect();
    /// assert_eq!(p.then(&q)?.apply(&items)?, q.apply(&p.apply(&items)?)?);
    /// # Ok::<(), bijective_shuffle::Error>(())
    /// ```
    pub fn then<C: Bijection + Clone>(
        &self,
        other: &Permutation<C>,
    ) -> Result<Permutation<Compose<Permutation<C>, Self>>, Error>
    where
        B: Clone,
    {
        if self.len != other.len {
            return Err(Error::LengthMismatch { expected: self.len, actual: other.len });
        }
        let both = Compose::new(other.clone(), self.clone())?;
        Ok(Permutation { backend: self.backend, ..Permutation::of(self.len, both) })
    }
}
