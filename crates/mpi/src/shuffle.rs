//! The shuffles of a [`Plan`]: with tags where they serve, and otherwise without.

use bijective_shuffle::Bijection;
use bytemuck::Pod;

use crate::agreement::{AgreementPoint, RankBallot};
use crate::arrays::Arrays;
use crate::buffers::{Commit, fit};
use crate::error::{Difference, MpiShuffleError};
use crate::fingerprint;
use crate::plan::{Plan, SendDirection};

impl<B: Bijection> Plan<'_, B> {
    /// Shuffles an array: place `k` of the whole array receives item `p[k]`. The vector has the
    /// items that this rank holds; afterwards it has those that it then holds.
    ///
    /// # Errors
    ///
    /// [`MpiShuffleError::Disagreement`] if the ranks do not all shuffle items of one size with one
    /// message limit, [`MpiShuffleError::RankFailed`] if a rank has an array of the wrong length or
    /// no memory, or if the bijection breaks its requirements, and [`MpiShuffleError::MpiFailed`].
    /// The items are then unchanged.
    pub fn shuffle<T: Pod + Send + Sync>(
        &mut self,
        items: &mut Vec<T>,
    ) -> Result<(), MpiShuffleError> {
        self.shuffle_together((items,))
    }

    /// Undoes [`shuffle`](Self::shuffle): item `k` of the whole array moves to place `p[k]`.
    ///
    /// # Errors
    ///
    /// As [`shuffle`](Self::shuffle).
    pub fn unshuffle<T: Pod + Send + Sync>(
        &mut self,
        items: &mut Vec<T>,
    ) -> Result<(), MpiShuffleError> {
        self.unshuffle_together((items,))
    }

    /// [`shuffle`](Self::shuffle)s several arrays alike, given as a tuple of `&mut Vec`.
    ///
    /// # Errors
    ///
    /// As [`shuffle`](Self::shuffle); no array has moved without the others.
    pub fn shuffle_together(&mut self, arrays: impl Arrays) -> Result<(), MpiShuffleError> {
        self.run(SendDirection::Shuffle, arrays)
    }

    /// Undoes [`shuffle_together`](Self::shuffle_together).
    ///
    /// # Errors
    ///
    /// As [`shuffle_together`](Self::shuffle_together).
    pub fn unshuffle_together(&mut self, arrays: impl Arrays) -> Result<(), MpiShuffleError> {
        self.run(SendDirection::Unshuffle, arrays)
    }

    /// The indexes of the items that come to this rank's places in a [`shuffle`](Self::shuffle):
    /// `p[k]` for each place `k` that it [then](crate::Spread::after) holds.
    ///
    /// Each rank evaluates its own slots, and no items are exchanged. For an
    /// [inverted](bijective_shuffle::Permutation::is_inverted) permutation the numbers of all items
    /// are shuffled.
    ///
    /// # Errors
    ///
    /// As [`shuffle`](Self::shuffle).
    pub fn write_indexes(&mut self) -> Result<Vec<u64>, MpiShuffleError> {
        if !self.p.is_inverted() {
            return self.slot_indexes();
        }
        let places = self.before.places(self.group.rank());
        let mut numbers = self.group.agree(AgreementPoint::Indexes, || {
            let mut numbers = Vec::new();
            fit(&mut numbers, places.end - places.start)?;
            numbers.iter_mut().zip(places).for_each(|(number, place)| *number = place);
            Ok(numbers)
        })?;
        self.shuffle(&mut numbers)?;
        Ok(numbers)
    }

    /// Moves arrays.
    fn run(
        &mut self,
        direction: SendDirection,
        mut arrays: impl Arrays,
    ) -> Result<(), MpiShuffleError> {
        self.group.agree(self.ballot(direction, &arrays), || Ok(()))?;
        if self.run_tagged(direction, &mut arrays)? {
            let Ok(()) = arrays.visit(&mut Commit { columns: self.columns });
            return Ok(());
        }
        self.run_untagged(direction, &mut arrays)
    }

    /// What the ranks have to agree on before they move arrays.
    fn ballot(&self, direction: SendDirection, arrays: &impl Arrays) -> RankBallot {
        let step = [AgreementPoint::Shuffle, AgreementPoint::Unshuffle][direction as usize];
        let numbers = [
            (Difference::Arrays, fingerprint::hash(arrays.sizes())),
            (Difference::MessageLimits, self.limit),
            // No limit is not the same as that of any number of bytes.
            (Difference::MemoryLimits, fingerprint::hash(self.memory)),
            (Difference::Tags, self.has_tags.into()),
            (Difference::Chunks, fingerprint::hash(self.chunks)),
        ];
        RankBallot { step, numbers }
    }
}
