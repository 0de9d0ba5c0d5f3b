//! [`Batches`]: what a rank takes in each step.

use bijective_shuffle::error::ViewError;
use bijective_shuffle::{Sampler, SamplerState, Seed, Tail};
use bijective_shuffle_engine::check;

use crate::Error;

/// What [`Batches`] deal out, such as [`Weighted`](crate::Weighted) and
/// [`Packed`](crate::Packed): an item for each place of each epoch.
///
/// An implementation has to give the same item for the same epoch and place, on every rank.
pub trait Source {
    /// What a place holds.
    type Item;

    /// A hash of everything that the items depend on besides epoch and place, by which a state of
    /// another source is recognised.
    fn fingerprint(&self) -> u64;

    /// Prepares an epoch of the given number of places, or with `None` of the epoch's own number.
    /// Returns that number.
    ///
    /// # Errors
    ///
    /// [`Error::EpochTooLarge`] for [`Mixture`](crate::Mixture), [`Error::EpochLengthMismatch`] for
    /// sources whose epochs have a number of places of their own, and the errors of building an
    /// index.
    fn begin(&self, epoch: u64, places: Option<u64>) -> Result<u64, Error>;

    /// Appends the items at some places, each below `len`, of an epoch of `len` places. The
    /// contents of `places` are unspecified afterwards.
    ///
    /// # Errors
    ///
    /// As [`begin`](Self::begin). What has been appended then is unspecified.
    fn items(
        &self,
        epoch: u64,
        len: u64,
        places: &mut [u64],
        out: &mut Vec<Self::Item>,
    ) -> Result<(), Error>;
}

impl<S: Source + ?Sized> Source for &S {
    type Item = S::Item;

    fn fingerprint(&self) -> u64 {
        (**self).fingerprint()
    }

    fn begin(&self, epoch: u64, places: Option<u64>) -> Result<u64, Error> {
        (**self).begin(epoch, places)
    }

    fn items(
        &self,
        epoch: u64,
        len: u64,
        places: &mut [u64],
        out: &mut Vec<S::Item>,
    ) -> Result<(), Error> {
        (**self).items(epoch, len, places, out)
    }
}

/// How [`Batches`] deal out the places of a [`Source`]: by default all to one rank, with
/// [`Tail::Pad`] at the end of an epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchOptions {
    rank: u64,
    ranks: u64,
    batch: u64,
    tail: Tail,
}

impl BatchOptions {
    /// Batches of `batch` items.
    pub const fn new(batch: u64) -> Self {
        Self { rank: 0, ranks: 1, batch, tail: Tail::Pad }
    }

    /// The batches of one of several ranks.
    #[must_use]
    pub const fn rank(self, rank: u64, ranks: u64) -> Self {
        Self { rank, ranks, ..self }
    }

    /// What happens at the end of an epoch.
    #[must_use]
    pub const fn tail(self, tail: Tail) -> Self {
        Self { tail, ..self }
    }

    /// The sampler that deals out the places of an epoch, at its beginning.
    fn sampler(self, len: u64, seed: Seed, epoch: u64) -> Result<Sampler, Error> {
        let builder = Sampler::builder(len, seed).sequential().rank(self.rank, self.ranks);
        let mut sampler = builder.batch(self.batch).tail(self.tail).build()?;
        sampler.set_epoch(epoch)?;
        Ok(sampler)
    }
}

/// The batches of a training loop on several ranks, from a [`Source`].
///
/// A step takes the next `ranks * batch` places of the epoch, and each rank gets a run of them: the
/// first `batch` places are those of rank 0, the next those of rank 1, and so on. (A [`Sampler`]
/// deals its places out in turn. From a mixture of two equal sets, two ranks would then get a set
/// each.) The ranks do not communicate. A state says how many places are done, so it fits any
/// number of ranks and any batch size: a run that is resumed goes on with the places that are left,
/// each once.
///
/// The last step may have fewer places left, and [`Tail`] says what happens then, as for
/// [`Sampler`]. The ranks share what places it has as equally as possible, and the first ones get
/// those that are over.
///
/// # Examples
///
/// Four ranks stop after some steps, and three go on:
///
/// ```
/// use bijective_shuffle_loaders::{BatchOptions, Batches, Weighted};
///
/// let draws = Weighted::new(&[1, 2, 3, 4], 42)?;
/// let (mut items, mut batch, mut state) = (Vec::new(), Vec::new(), None);
/// for rank in 0..4 {
///     let options = BatchOptions::new(10).rank(rank, 4);
///     let mut batches = Batches::new(&draws, Some(1000), options)?;
///     for _ in 0..7 {
///         batches.next_batch(&mut batch)?;
///         items.extend_from_slice(&batch);
///     }
///     state = Some(batches.state());
/// }
/// for rank in 0..3 {
///     let options = BatchOptions::new(16).rank(rank, 3);
///     let mut batches = Batches::from_state(&draws, Some(1000), &state.unwrap(), options)?;
///     while batches.next_batch(&mut batch)? {
///         items.extend_from_slice(&batch);
///     }
/// }
///
/// // All draws of the epoch, each once.
/// let mut expected = vec![0; 1000];
/// draws.fill(0, &mut expected)?;
/// items.sort();
/// expected.sort();
/// assert_eq!(items, expected);
/// # Ok::<(), bijective_shuffle_loaders::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Batches<S> {
    source: S,
    sampler: Sampler,
    options: BatchOptions,
    /// What was asked for.
    len: Option<u64>,
    places: Vec<u64>,
}

impl<S: Source> Batches<S> {
    /// Batches of a source at the beginning of epoch 0. An epoch has `len` places, or with `None`
    /// the source's own number.
    ///
    /// # Errors
    ///
    /// Those of [`SamplerBuilder::build`](bijective_shuffle::SamplerBuilder::build) and of
    /// [`Source::begin`].
    pub fn new(source: S, len: Option<u64>, options: BatchOptions) -> Result<Self, Error> {
        Self::at(source, len, 0, options)
    }

    /// Batches at the position of a state, as [`resume`](Self::resume) sets it, without first
    /// building the index of epoch 0.
    ///
    /// # Errors
    ///
    /// Those of [`new`](Self::new) and of [`resume`](Self::resume).
    pub fn from_state(
        source: S,
        len: Option<u64>,
        state: &SamplerState,
        options: BatchOptions,
    ) -> Result<Self, Error> {
        let mut batches = Self::at(source, len, state.epoch(), options)?;
        batches.sampler.resume(state)?;
        Ok(batches)
    }

    /// Batches at the beginning of an epoch.
    fn at(source: S, len: Option<u64>, epoch: u64, options: BatchOptions) -> Result<Self, Error> {
        let places = source.begin(epoch, len)?;
        // The check of a sampler's state includes its seed.
        let sampler = options.sampler(places, source.fingerprint().into(), epoch)?;
        Ok(Self { sampler, source, options, len, places: Vec::new() })
    }

    /// A sampler for an epoch, at its beginning.
    fn sampler_of(&self, epoch: u64) -> Result<Sampler, Error> {
        self.options.sampler(self.source.begin(epoch, self.len)?, self.sampler.seed(), epoch)
    }

    /// Replaces a vector's contents with this rank's items of the next step. Returns whether there
    /// was a step.
    ///
    /// # Errors
    ///
    /// [`Error::Shuffle`] if there is too little memory, and those of [`Source::items`]. The step
    /// is then not taken, and the vector is empty.
    pub fn next_batch(&mut self, batch: &mut Vec<S::Item>) -> Result<bool, Error> {
        batch.clear();
        let mut ahead = self.sampler.clone();
        let is_step = ahead.next_batch(&mut self.places)?;
        self.deal();
        check::try_reserve(batch, self.places.len())?;
        let (epoch, len) = (self.sampler.epoch(), self.sampler.len());
        self.source.items(epoch, len, &mut self.places, batch).inspect_err(|_| batch.clear())?;
        self.sampler = ahead;
        Ok(is_step)
    }

    /// Puts a run of places where the sampler has put every `ranks`-th one, as many as it has.
    fn deal(&mut self) {
        let (sampler, own) = (&self.sampler, self.places.len() as u64);
        let (rank, ranks, len) = (sampler.rank(), sampler.ranks(), sampler.len());
        let left = len - sampler.consumed();
        let places = match sampler.tail() {
            Tail::Short => left.min(ranks * sampler.batch()),
            // All ranks have as many.
            _ => own * ranks,
        };
        let (each, over) = (places / ranks, places % ranks);
        let first = rank * each + rank.min(over);
        debug_assert_eq!(own, each + u64::from(rank < over));
        for (place, offset) in self.places.iter_mut().zip(first..) {
            // Behind its end the epoch begins again.
            *place =
                if offset < left { sampler.consumed() + offset } else { (offset - left) % len };
        }
    }

    /// Goes to the beginning of an epoch.
    ///
    /// # Errors
    ///
    /// Those of [`Source::begin`]. After an error nothing has changed.
    pub fn set_epoch(&mut self, epoch: u64) -> Result<(), Error> {
        self.sampler = self.sampler_of(epoch)?;
        Ok(())
    }

    /// Goes to the beginning of the next epoch.
    ///
    /// # Errors
    ///
    /// [`Error::Shuffle`] with [`ViewError::LastEpoch`] in epoch 2^64 - 1, and otherwise as
    /// [`set_epoch`](Self::set_epoch). After an error nothing has changed.
    pub fn next_epoch(&mut self) -> Result<(), Error> {
        let next = self.sampler.epoch().checked_add(1).ok_or(ViewError::LastEpoch);
        self.set_epoch(next.map_err(bijective_shuffle::Error::View)?)
    }

    /// The current position, which can be saved and [resumed](Self::resume) in another process.
    pub fn state(&self) -> SamplerState {
        self.sampler.state()
    }

    /// Goes to the position of a state, which must come from the same source, with as many places
    /// in an epoch. Rank, ranks, batch and tail may differ.
    ///
    /// # Errors
    ///
    /// [`Error::Shuffle`] with
    /// [`SavedError::Foreign`](bijective_shuffle::error::SavedError::Foreign) if the state comes
    /// from elsewhere, or has been changed, and those of [`Source::begin`]. After an error nothing
    /// has changed.
    pub fn resume(&mut self, state: &SamplerState) -> Result<(), Error> {
        let mut resumed = self.sampler_of(state.epoch())?;
        resumed.resume(state)?;
        self.sampler = resumed;
        Ok(())
    }

    /// The sampler that deals out the places.
    pub fn sampler(&self) -> &Sampler {
        &self.sampler
    }

    /// The source.
    pub fn source(&self) -> &S {
        &self.source
    }
}
