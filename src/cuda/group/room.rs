//! Working memory for the exchanges of one call, which use it one after the other.

use super::layout::Layout;
use super::sizes::Sizes;
use crate::Error;
use crate::error::GpuError;

/// An exchange that will be made if there is memory for it.
pub(super) struct Candidate {
    pub(super) sizes: Sizes,
    /// Where each member keeps its part.
    pub(super) layouts: Vec<Layout>,
}

impl Candidate {
    pub(super) fn new(sizes: Sizes) -> Self {
        let layouts = (0..sizes.members()).map(|member| Layout::new(&sizes, member)).collect();
        Self { sizes, layouts }
    }

    /// The same exchange with smaller pieces.
    fn in_smaller_pieces(&self) -> Option<Self> {
        self.sizes.in_smaller_pieces().map(Self::new)
    }

    /// The most bytes that a member needs.
    fn most(&self) -> u64 {
        self.layouts.iter().map(|layout| layout.bytes).max().unwrap_or(0)
    }
}

/// Gets memory from a function that takes the bytes of each member and returns their addresses: as
/// much as any of the candidates needs there.
///
/// Where it is short of memory, or another function says that it will be, the candidate that needs
/// the most sends smaller pieces, which need less. If it cannot and candidates may be given up, it
/// is, until there is enough for the others; where none is left, nothing is asked for.
///
/// # Errors
///
/// Those of the function.
pub(super) fn for_all(
    candidates: &mut [Option<Candidate>],
    may_give_up: bool,
    of: &mut impl Members,
) -> Result<Vec<u64>, Error> {
    loop {
        let mut bytes = Vec::new();
        for candidate in candidates.iter().flatten() {
            bytes.resize(candidate.layouts.len(), 0);
            for (most, layout) in bytes.iter_mut().zip(&candidate.layouts) {
                *most = layout.bytes.max(*most);
            }
        }
        if bytes.is_empty() {
            return Ok(Vec::new());
        }
        let largest = candidates.iter_mut().filter(|candidate| candidate.is_some());
        let largest = largest.max_by_key(|of| of.as_ref().map(Candidate::most));
        // The list of bytes has at least one member, so there is a candidate.
        let Some(largest) = largest else { return Ok(Vec::new()) };
        let smaller = largest.as_ref().and_then(Candidate::in_smaller_pieces);
        if smaller.is_some() && !of.may_have(&bytes) {
            *largest = smaller;
            continue;
        }
        match of.memory(&bytes) {
            Err(Error::Gpu(GpuError::OutOfMemory)) if smaller.is_some() || may_give_up => {
                *largest = smaller;
            }
            answer => return answer,
        }
    }
}

/// The members whose memory is needed.
pub(super) trait Members {
    /// Whether there seems to be so much memory. That is known without trying, which takes long.
    fn may_have(&mut self, bytes: &[u64]) -> bool;

    /// The addresses of so much memory on each member.
    fn memory(&mut self, bytes: &[u64]) -> Result<Vec<u64>, Error>;
}

#[cfg(test)]
mod tests {
    use super::super::shards::Shards;
    use super::super::sizes::tests::LIMITS;
    use super::*;
    use crate::cuda::runtime::word_type::WordType;

    /// The exchange of an array of words over two members that hold this many items.
    fn candidate(word: WordType, lens: [usize; 2]) -> Option<Candidate> {
        let array = Shards::new(lens.map(|len| (256, len)), word.bytes());
        let last = array.len() - 1;
        Sizes::new(&LIMITS, word, [last; 2], &array, &array).map(Candidate::new)
    }

    /// Keys on both members, labels of which the second has most, and rows, which are not sent.
    fn candidates() -> [Option<Candidate>; 3] {
        let keys = candidate(WordType::U64, [1 << 20, 1 << 20]);
        [keys, candidate(WordType::U32, [1 << 10, (1 << 21) - (1 << 10)]), None]
    }

    fn bytes(candidate: &Option<Candidate>) -> Vec<u64> {
        candidate.as_ref().unwrap().layouts.iter().map(|layout| layout.bytes).collect()
    }

    /// Members with so much memory, who know it or not, and the sizes that they were asked for.
    struct Given {
        have: u64,
        know: bool,
        answer: Result<(), Error>,
        asked: Vec<Vec<u64>>,
    }

    impl Given {
        fn new(have: u64, know: bool) -> Self {
            Self { have, know, answer: Ok(()), asked: Vec::new() }
        }
    }

    impl Members for Given {
        fn may_have(&mut self, bytes: &[u64]) -> bool {
            !self.know || bytes.iter().all(|&bytes| bytes <= self.have)
        }

        fn memory(&mut self, bytes: &[u64]) -> Result<Vec<u64>, Error> {
            self.asked.push(bytes.to_vec());
            self.answer.clone()?;
            let is_enough = bytes.iter().all(|&bytes| bytes <= self.have);
            if is_enough { Ok(vec![256, 512]) } else { short() }
        }
    }

    fn short() -> Result<Vec<u64>, Error> {
        Err(Error::Gpu(GpuError::OutOfMemory))
    }

    #[test]
    fn there_is_as_much_as_any_needs() {
        let mut all = candidates();
        let [keys, labels] = [bytes(&all[0]), bytes(&all[1])];
        let most = [keys[0].max(labels[0]), keys[1].max(labels[1])];
        let mut members = Given::new(u64::MAX, true);
        assert_eq!(for_all(&mut all, false, &mut members), Ok(vec![256, 512]));
        assert_eq!(members.asked, [most.to_vec()]);
        assert!(all[0].is_some() && all[1].is_some());
    }

    #[test]
    fn pieces_become_smaller_where_memory_is_short() {
        let usual = || [candidate(WordType::U64, [1 << 25; 2])];
        let [of_usual] = usual();
        let (pieces, most) = (of_usual.as_ref().unwrap().sizes.pieces, bytes(&of_usual)[0]);
        assert_eq!(pieces, 5);
        // Of the bytes of usual pieces, those that the boxes take become half.
        for (have, pieces) in [(most, 5), (most - 1, 9), (most * 3 / 4, 17), (most * 3 / 5, 33)] {
            for (know, may_give_up) in [(true, true), (true, false), (false, true), (false, false)]
            {
                let (mut all, mut members) = (usual(), Given::new(have, know));
                let memory = for_all(&mut all, may_give_up, &mut members);
                assert_eq!(memory, Ok(vec![256, 512]), "{pieces}");
                assert_eq!(all[0].as_ref().unwrap().sizes.pieces, pieces);
                assert!(bytes(&all[0]).into_iter().all(|bytes| bytes <= have));
                // Who knows does not try in vain.
                assert!(!know || members.asked.len() == 1);
            }
        }
    }

    #[test]
    fn the_largest_is_given_up_first() {
        for know in [true, false] {
            let mut all = candidates();
            let least = all[..2].iter().map(|of| bytes(of).into_iter().max()).min();
            let least = least.unwrap().unwrap();
            let is_kept: Vec<_> =
                all.iter().map(|of| of.as_ref().is_some_and(|of| of.most() == least)).collect();
            assert_eq!(is_kept.iter().filter(|&&is| is).count(), 1);
            assert_eq!(for_all(&mut all, true, &mut Given::new(least, know)), Ok(vec![256, 512]));
            assert_eq!(all.iter().map(Option::is_some).collect::<Vec<_>>(), is_kept);
            // Where there is no memory at all, none is left, but it has been tried.
            let mut members = Given::new(0, know);
            assert_eq!(for_all(&mut all, true, &mut members), Ok(vec![]));
            assert!(all.iter().all(Option::is_none) && members.asked.len() == 1);
        }
    }

    #[test]
    fn other_errors_are_reported_and_so_is_want_of_memory_without_a_choice() {
        let failed = Error::Gpu(GpuError::Driver { code: 700, during: "a test" });
        let mut all = candidates();
        let mut members = Given { answer: Err(failed.clone()), ..Given::new(u64::MAX, true) };
        assert_eq!(for_all(&mut all, true, &mut members), Err(failed));
        assert_eq!(for_all(&mut all, false, &mut Given::new(0, true)), short());
        assert!(all[0].is_some() && all[1].is_some());
    }
}
