//! [`Plan`]: one permutation of a spread array.

use core::any::Any;
use core::fmt;

use bijective_shuffle::exchange::{Census, Division, Exchange, TaggedExchange};
use bijective_shuffle::{Bijection, Permutation, Workspace};

use crate::agreement::{AgreementPoint, RankBallot};
use crate::buffers::fit;
use crate::error::{Difference, MpiShuffleError};
use crate::fingerprint;
use crate::group::Group;
use crate::spread::Spread;
use crate::times::{Clock, Times};

/// How many items each rank of a [`Spread`] sends to each other rank for a permutation. A plan
/// serves any number of shuffles, of any arrays, in both directions.
///
/// All ranks call the same methods in the same order. No item moves before every rank has packed
/// what it sends; if one of them cannot, all return the same error.
///
/// # Examples
///
/// ```no_run
/// # use bijective_shuffle::Permutation;
/// # use bijective_shuffle_mpi::Spread;
/// # let universe = mpi::initialize().unwrap();
/// # let (mut images, mut labels) = (vec![[0_u8; 28]; 1000], vec![0_u8; 1000]);
/// let mut spread = Spread::new(&universe.world(), images.len())?;
/// let p = Permutation::new(spread.len(), 42);
/// let mut plan = spread.plan(&p)?;
/// plan.shuffle_together((&mut images, &mut labels))?;
/// let mut predictions: Vec<f32> = labels.iter().map(|&label| label.into()).collect();
/// plan.unshuffle(&mut predictions)?; // in the order that the images had
/// # Ok::<(), bijective_shuffle_mpi::MpiShuffleError>(())
/// ```
pub struct Plan<'a, B> {
    pub(crate) p: &'a Permutation<B>,
    pub(crate) group: &'a Group,
    pub(crate) before: &'a Division,
    pub(crate) after: &'a Division,
    census: LazyCensus<'a>,
    /// The most items that a rank holds, before or after.
    pub(crate) largest: u64,
    /// The most items of a message.
    pub(crate) limit: u64,
    /// The most working memory that was asked for, in bytes.
    pub(crate) memory: Option<u64>,
    pub(crate) has_tags: bool,
    /// The number of chunks that was asked for.
    pub(crate) chunks: Option<u64>,
    pub(crate) workspace: &'a mut Workspace,
    pub(crate) columns: &'a mut Vec<Box<dyn Any>>,
    /// The exchanges that were asked for so far: to shuffle, and to undo it.
    pub(crate) exchanges: [Option<Exchange<'a>>; 2],
    /// The same, with tags, and whether they serve on all ranks.
    pub(crate) tagged: [Option<(TaggedExchange<'a>, bool)>; 2],
    /// The most items of a round, for items of some size.
    pub(crate) round: Option<RoundSizes>,
    /// Known from the first exchange in these rounds on.
    pub(crate) counts: Option<RoundCounts>,
    pub(crate) times: Times,
}

/// A census, or where it goes once it is made.
enum LazyCensus<'a> {
    None(Option<&'a mut Option<Census>>),
    Some(&'a Census),
}

/// Which way the items go.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum SendDirection {
    Shuffle,
    Unshuffle,
}

/// How large the rounds are in which items travel without tags.
#[derive(Clone, Copy)]
pub(crate) struct RoundSizes {
    /// The size of the largest items for which that was found out.
    pub(crate) item: u64,
    pub(crate) most: u64,
}

/// How many items a rank exchanges with each rank, round after round.
pub(crate) struct RoundCounts {
    /// Of those that it holds before a shuffle.
    pub(crate) before: Vec<u64>,
    /// Of those that it holds after it.
    pub(crate) after: Vec<u64>,
    /// Whether all ranks' bijections are trusted, so that what is received may take the place of
    /// what was sent.
    pub(crate) are_trusted: bool,
}

impl Spread {
    /// Plans the shuffle of the whole array by a permutation: what each rank sends to each other.
    ///
    /// Where items travel [without tags](Self::with_tags), and for undoing a shuffle, the survivors
    /// of its domain are counted when that is first needed. It takes one evaluation for each point
    /// of the domain, divided among the ranks; none for permutations that fill their domain, such
    /// as [`Permutation::walk`].
    ///
    /// # Errors
    ///
    /// [`MpiShuffleError::Disagreement`] if the ranks have different permutations,
    /// [`MpiShuffleError::LengthMismatch`] if it is not as long as the array,
    /// [`MpiShuffleError::RankFailed`] if there is no memory or the bijection breaks its
    /// requirements, and [`MpiShuffleError::MpiFailed`].
    pub fn plan<'a, B: Bijection>(
        &'a mut self,
        p: &'a Permutation<B>,
    ) -> Result<Plan<'a, B>, MpiShuffleError> {
        agree_on(self, p)?;
        let Spread { group, before, after, largest, limit, memory, has_tags, chunks, .. } = self;
        let Spread { census, workspace, columns, .. } = self;
        Ok(Plan {
            p,
            group,
            before,
            after,
            census: LazyCensus::None(Some(census)),
            largest: *largest,
            limit: *limit,
            memory: *memory,
            has_tags: *has_tags,
            chunks: *chunks,
            workspace,
            columns,
            exchanges: [None, None],
            tagged: [None, None],
            round: None,
            counts: None,
            times: Times::default(),
        })
    }
}

impl<'a, B: Bijection> Plan<'a, B> {
    /// Where the time went on this rank.
    pub fn times(&self) -> Times {
        self.times
    }

    /// The census, which is taken the first time that it is needed.
    pub(crate) fn census(&mut self) -> Result<&'a Census, MpiShuffleError> {
        let room = match &mut self.census {
            LazyCensus::Some(census) => return Ok(census),
            LazyCensus::None(room) => room,
        };
        let mut clock = Clock::start();
        let census = census(self.group, self.p)?;
        self.times.census = clock.lap();
        let room = room.take().expect("it is taken once");
        let census: &Census = room.insert(census);
        self.census = LazyCensus::Some(census);
        Ok(census)
    }
}

/// Checks that all ranks have the same permutation, as long as the array.
fn agree_on<B: Bijection>(spread: &Spread, p: &Permutation<B>) -> Result<(), MpiShuffleError> {
    let Spread { group, before, .. } = spread;
    // A bijection that panics must not do so before the other ranks are told.
    let hash = group.agree(AgreementPoint::Plan, || Ok(fingerprint::of_permutation(p)))?;
    let mut ballot = RankBallot::from(AgreementPoint::Permutation);
    ballot.numbers[0] = (Difference::Lengths, p.len());
    ballot.numbers[1] = (Difference::Permutations, hash);
    group.agree(ballot, || Ok(()))?;
    let (permutation, items) = (p.len(), before.len());
    if permutation != items {
        return Err(MpiShuffleError::LengthMismatch { permutation, items });
    }
    Ok(())
}

/// Counts the survivors of a permutation's domain: each rank a part of it.
fn census<B: Bijection>(group: &Group, p: &Permutation<B>) -> Result<Census, MpiShuffleError> {
    let part =
        group.agree(AgreementPoint::Census, || Census::part(p, group.rank(), group.ranks()))?;
    let counts = group.gather([part.len() as u64])?;
    let counts: Vec<u64> = counts.into_iter().map(|[count]| count).collect();
    let mut parts = group.agree(AgreementPoint::Parts, || {
        let mut parts = Vec::new();
        // There are at most 2^18.
        fit(&mut parts, counts.iter().sum())?;
        Ok(parts)
    })?;
    group.gather_parts(&part, &counts, &mut parts)?;
    group.agree(AgreementPoint::GatheredCensus, || Census::from_parts(p, &parts))
}

impl<B: Bijection> fmt::Debug for Plan<'_, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Plan")
            .field("permutation", &self.p)
            .field("rank", &self.group.rank())
            .field("before", &self.before)
            .field("after", &self.after)
            .field("times", &self.times)
            .finish_non_exhaustive()
    }
}
