//! [`Ballot`]: what ranks tell each other before a call moves anything.

use crate::bijection::Standard;
use crate::bijection::hooks::{EngineForm, Hooked};
use crate::compact::{Direction, Order, OrderBy};
use crate::cuda::runtime::device::GpuLimits;
use crate::error::ExchangeError;
use crate::{Bijection, Error, FromSeed};

/// The numbers of a ballot.
const WORDS: usize = 14;

/// How many points of a bijection are evaluated for its hash.
const POINTS: u64 = 64;

/// The hash of FNV-1a, by numbers of 64 bits. It only has to tell honest mistakes apart.
fn hash(numbers: impl IntoIterator<Item = u64>) -> u64 {
    let bytes = numbers.into_iter().flat_map(u64::to_le_bytes);
    bytes.fold(0xCBF2_9CE4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01B3)
    })
}

/// A hash of what the items are moved by. How many there are is not known yet, so that a seed has
/// the hash of the bijection of the greatest length that is drawn from it, but not that of the same
/// bijection where it is given itself: other lengths have other bijections.
///
/// # Errors
///
/// [`IndexNotBuilt`](crate::error::ViewError::IndexNotBuilt) for a permutation that would panic,
/// and [`Error::OutOfMemory`].
pub(super) fn fingerprint(order: Order<'_>) -> Result<u64, Error> {
    match order.0 {
        OrderBy::Seed(seed) => Ok(!of_bijection(&Standard::from_seed(u64::MAX, seed))?),
        OrderBy::Bijection(f) => of_bijection(f),
    }
}

/// A hash of a bijection: its values at points all over the domain, what runs on a device, and
/// whether it is trusted. So another seed is another hash. Points at equal distances would have
/// structure, as maps have.
fn of_bijection(f: &dyn Bijection) -> Result<u64, Error> {
    let form = EngineForm::of(f);
    form.build_indexes(false)?;
    let last = form.last();
    let point = |k: u64| {
        let mixed = (k + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let mixed = (mixed ^ mixed >> 29).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        ((u128::from(mixed ^ mixed >> 32) * (u128::from(last) + 1)) >> 64) as u64
    };
    let values = (0..POINTS).map(|k| form.forward(point(k)));
    let source = form.device_source();
    let code = source.iter().flat_map(|source| {
        let form = source.form();
        format!("{}{}", form.type_name(), form.text()).into_bytes()
    });
    let params = source.iter().flat_map(|source| source.params().iter().copied());
    let bytes = code.chain(params).map(u64::from);
    Ok(hash([last, form.is_trusted().into()].into_iter().chain(values).chain(bytes)))
}

/// A hash of the crate's version.
pub(super) fn version() -> u64 {
    hash(env!("CARGO_PKG_VERSION").bytes().map(u64::from))
}

/// What a rank is about to do, on what device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ballot {
    /// A hash of the version of the crate, since other versions may sort in other pieces.
    pub(super) version: u64,
    pub(super) direction: Direction,
    /// A hash of the bijection.
    pub(super) bijection: u64,
    /// The number of the strategy.
    pub(super) strategy: u64,
    /// The bytes of an item.
    pub(super) item: u64,
    /// The bytes of the largest word in which the rank can move its items.
    pub(super) unit: u64,
    /// The items that the rank has before, and afterwards.
    pub(super) lens: [u64; 2],
    pub(super) limits: GpuLimits,
}

impl Ballot {
    /// The numbers of a rank that votes, or of one that has failed.
    pub(super) fn words(ballot: Option<&Self>) -> [u64; WORDS] {
        let Some(ballot) = ballot else { return [0; WORDS] };
        let GpuLimits {
            multiprocessors,
            threads_per_multiprocessor,
            shared_per_block,
            shared_per_multiprocessor,
            l2_bytes,
        } = ballot.limits;
        [
            1,
            ballot.version,
            matches!(ballot.direction, Direction::Unshuffle).into(),
            ballot.bijection,
            ballot.strategy,
            ballot.item,
            ballot.unit,
            ballot.lens[0],
            ballot.lens[1],
            multiprocessors.into(),
            threads_per_multiprocessor.into(),
            shared_per_block as u64,
            shared_per_multiprocessor as u64,
            l2_bytes,
        ]
    }

    /// The ballot that has these numbers; `None` if the rank has failed.
    fn read(words: &[u64]) -> Option<Self> {
        let &[votes, version, back, bijection, strategy, item, unit, from, to, ref limits @ ..] =
            words
        else {
            return None;
        };
        let &[multiprocessors, threads, shared_per_block, shared_per_multiprocessor, l2_bytes] =
            limits
        else {
            return None;
        };
        (votes == 1).then_some(Self {
            version,
            direction: if back == 0 { Direction::Shuffle } else { Direction::Unshuffle },
            bijection,
            strategy,
            item,
            unit,
            lens: [from, to],
            limits: GpuLimits {
                multiprocessors: multiprocessors as u32,
                threads_per_multiprocessor: threads as u32,
                shared_per_block: shared_per_block as usize,
                shared_per_multiprocessor: shared_per_multiprocessor as usize,
                l2_bytes,
            },
        })
    }

    /// Reads the ballots of all ranks, and compares them with the first one's.
    ///
    /// # Errors
    ///
    /// The same on all ranks: [`RankFailed`](ExchangeError::RankFailed) and
    /// [`Disagreement`](ExchangeError::Disagreement), each with the lowest rank that it is about.
    pub(super) fn read_all(words: &[Vec<u64>]) -> Result<Vec<Self>, ExchangeError> {
        let ballots = words.iter().enumerate();
        let ballots = ballots
            .map(|(rank, words)| Self::read(words).ok_or(ExchangeError::RankFailed { rank }));
        let ballots: Vec<Self> = ballots.collect::<Result<_, _>>()?;
        for (rank, ballot) in ballots.iter().enumerate() {
            if let Some(about) = ballot.difference(&ballots[0]) {
                return Err(ExchangeError::Disagreement { rank, about });
            }
        }
        Ok(ballots)
    }

    /// In what it differs from another, where ranks must not.
    fn difference(&self, other: &Self) -> Option<&'static str> {
        [
            (self.version != other.version, "the version of bijective-shuffle"),
            (self.direction != other.direction, "the direction"),
            (self.bijection != other.bijection, "the bijection"),
            (self.strategy != other.strategy, "the strategy"),
            (self.item != other.item, "the size of an item"),
        ]
        .into_iter()
        .find_map(|(differs, about)| differs.then_some(about))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Seed;
    use crate::affine::{Affine, BitMatrix};
    use crate::error::ViewError;
    use crate::permutation::Permutation;

    fn ballot(rank: u64) -> Ballot {
        Ballot {
            version: 7,
            direction: Direction::Unshuffle,
            bijection: u64::MAX,
            strategy: 0,
            item: 8,
            unit: 8 >> rank,
            lens: [rank, 10 - rank],
            limits: GpuLimits {
                multiprocessors: 132 - rank as u32,
                threads_per_multiprocessor: 2048,
                shared_per_block: 227 << 10,
                shared_per_multiprocessor: 228 << 10,
                l2_bytes: 50 << 20,
            },
        }
    }

    /// Bijections that agree on points in a grid.
    #[test]
    fn transposes_of_other_shapes_differ() {
        let rotation = |by: u32| {
            let rows = (0..24).map(|row| 1_u64 << ((row + by) % 24)).collect::<Vec<_>>();
            Affine::<u64>::new(&BitMatrix::from_rows(&rows).unwrap(), 0).unwrap()
        };
        let all: Vec<_> = [6, 12, 18].map(|by| fingerprint((&rotation(by)).into()).unwrap()).into();
        assert!(all[0] != all[1] && all[1] != all[2] && all[0] != all[2]);
        assert_eq!(fingerprint((&rotation(6)).into()), Ok(all[0]));
    }

    #[test]
    fn another_seed_or_its_bijection_is_another_order() {
        let seeds = [Seed::new(42), Seed::new(43), Seed::new(42).with_epoch(1)];
        let mut all: Vec<u64> = seeds.map(|seed| fingerprint(seed.into()).unwrap()).into();
        all.extend([1, 257, 1 << 40, u64::MAX].map(|len| {
            let f = Standard::from_seed(len, 42);
            fingerprint((&f).into()).unwrap()
        }));
        assert_eq!(fingerprint(42.into()), Ok(all[0]));
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 7);
    }

    #[test]
    fn a_permutation_without_its_index_is_refused() {
        let p = Permutation::new((1 << 33) + 1, 1);
        let last = p.bijection().last();
        assert_eq!(fingerprint((&p).into()), Err(Error::View(ViewError::IndexNotBuilt { last })));
        assert!(fingerprint(p.bijection().into()).is_ok());
        assert!(fingerprint((&Permutation::new(99, 1)).into()).is_ok());
    }

    #[test]
    fn ballots_come_back_from_their_numbers() {
        let all: Vec<_> = (0..3).map(|rank| Ballot::words(Some(&ballot(rank))).to_vec()).collect();
        assert_eq!(Ballot::read_all(&all), Ok((0..3).map(ballot).collect()));
    }

    #[test]
    fn the_lowest_rank_that_fails_or_differs_is_named() {
        let words = |ballot: Option<Ballot>| Ballot::words(ballot.as_ref()).to_vec();
        let failed = [words(Some(ballot(0))), words(None), words(None)];
        assert_eq!(Ballot::read_all(&failed), Err(ExchangeError::RankFailed { rank: 1 }));
        type Change = (fn(&mut Ballot), &'static str);
        let changes: [Change; 5] = [
            (|ballot| ballot.version += 1, "the version of bijective-shuffle"),
            (|ballot| ballot.direction = Direction::Shuffle, "the direction"),
            (|ballot| ballot.bijection = 0, "the bijection"),
            (|ballot| ballot.strategy = 1, "the strategy"),
            (|ballot| ballot.item = 4, "the size of an item"),
        ];
        for (change, about) in changes {
            let mut other = ballot(2);
            change(&mut other);
            let all = [ballot(0), ballot(1), other].map(|ballot| words(Some(ballot)));
            let difference = Err(ExchangeError::Disagreement { rank: 2, about });
            assert_eq!(Ballot::read_all(&all), difference);
        }
    }
}
