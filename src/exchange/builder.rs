//! [`ExchangeBuilder`]: what one rank's plan is made from.

use core::fmt;

use super::census::Census;
use super::division::Division;
use crate::Bijection;
use crate::permutation::Permutation;

/// The settings of an [`Exchange`](super::Exchange), which
/// [`Exchange::builder`](super::Exchange::builder) returns.
///
/// # Examples
///
/// ```
/// use bijective_shuffle::exchange::{Census, Division, Exchange};
/// use bijective_shuffle::prelude::*;
///
/// let p = Permutation::new(10, 42);
/// let census = Census::new(&p)?;
/// let (from, to) = (Division::from_counts(&[7, 3])?, Division::even(10, 2));
/// // Rank 0 of two holds 7 items before the shuffle, and 5 after it.
/// let plan = Exchange::builder(&p, &census, &from, 0).to(&to).shuffle()?;
/// assert_eq!((plan.source_places(), plan.target_places()), (0..7, 0..5));
/// // To undo it, the divisions change sides.
/// let undo = Exchange::builder(&p, &census, &to, 0).to(&from).unshuffle()?;
/// assert_eq!(undo.send_counts()?, plan.receive_counts()?);
/// # Ok::<(), bijective_shuffle::Error>(())
/// ```
#[must_use]
pub struct ExchangeBuilder<'p, B> {
    pub(super) permutation: &'p Permutation<B>,
    pub(super) census: &'p Census,
    pub(super) from: &'p Division,
    pub(super) to: &'p Division,
    pub(super) rank: usize,
    pub(super) most: u64,
}

impl<'p, B: Bijection> ExchangeBuilder<'p, B> {
    /// What each rank holds after the exchange; by default what it holds before.
    pub fn to(self, to: &'p Division) -> Self {
        Self { to, ..self }
    }

    /// Makes the exchange in rounds, in each of which a rank sorts at most this number of items, at
    /// least one. All ranks have to say the same; [`items_of_round`](super::items_of_round) tells
    /// how many go with some memory.
    ///
    /// For a shuffle, a rank sends the items of one run of its places in a round, and receives what
    /// is sent to it then; for undoing one, or an [inverted](Permutation::is_inverted) permutation,
    /// it receives those of one run, and sends what goes there. With a bijection that is not
    /// trusted, every round takes as long as one that has all items.
    ///
    /// # Examples
    ///
    /// ```
    /// use bijective_shuffle::exchange::{Census, Division, Exchange};
    /// use bijective_shuffle::prelude::*;
    ///
    /// let p = Permutation::new(10, 42);
    /// let census = Census::new(&p)?;
    /// let division = Division::from_counts(&[7, 3])?;
    /// let plan = Exchange::builder(&p, &census, &division, 0).in_rounds_of(5).shuffle()?;
    /// assert_eq!(plan.rounds(), 2);
    /// // In the first round five items are sent, and in the second the other two.
    /// let counts = plan.send_counts()?;
    /// assert_eq!([counts[0] + counts[1], counts[2] + counts[3]], [5, 2]);
    /// # Ok::<(), bijective_shuffle::Error>(())
    /// ```
    pub fn in_rounds_of(self, items: u64) -> Self {
        Self { most: items, ..self }
    }
}

impl<B> fmt::Debug for ExchangeBuilder<'_, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { from, to, rank, most, .. } = self;
        f.debug_struct("ExchangeBuilder")
            .field("rank", rank)
            .field("from", from)
            .field("to", to)
            .field("items_of_round", most)
            .finish_non_exhaustive()
    }
}
