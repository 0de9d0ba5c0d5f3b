//! Working memory for the exchanges of one call, which use it one after the other.

use super::layout::Layout;
use super::sizes::Sizes;
use crate::error::{Error, GpuError};

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

    /// The most bytes that a member needs.
    fn most(&self) -> u64 {
        self.layouts.iter().map(|layout| layout.bytes).max().unwrap_or(0)
    }
}

/// Gets memory from a function that takes the bytes of each member and returns their addresses: as
/// much as any of the candidates needs there. If it is short of memory and candidates may be given
/// up, the one that needs the most is, until there is enough for the others; where none is left,
/// nothing is asked for.
///
/// # Errors
///
/// Those of the function.
pub(super) fn for_all(
    candidates: &mut [Option<Candidate>],
    may_give_up: bool,
    mut memory: impl FnMut(&[u64]) -> Result<Vec<u64>, Error>,
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
        match memory(&bytes) {
            Err(Error::Gpu(GpuError::OutOfMemory)) if may_give_up => {
                let largest = candidates.iter_mut().filter(|candidate| candidate.is_some());
                let largest = largest.max_by_key(|of| of.as_ref().map(Candidate::most));
                // The list of bytes has at least one member, so there is a candidate.
                largest.into_iter().for_each(|candidate| *candidate = None);
            }
            answer => return answer,
        }
    }
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

    #[test]
    fn there_is_as_much_as_any_needs() {
        let mut all = candidates();
        let [keys, labels] = [bytes(&all[0]), bytes(&all[1])];
        let most = [keys[0].max(labels[0]), keys[1].max(labels[1])];
        let mut asked = Vec::new();
        let memory = for_all(&mut all, false, |bytes| {
            asked.push(bytes.to_vec());
            Ok(vec![256, 512])
        });
        assert_eq!((memory, asked), (Ok(vec![256, 512]), vec![most.to_vec()]));
        assert!(all[0].is_some() && all[1].is_some());
    }

    #[test]
    fn the_largest_is_given_up_first() {
        let short = || Err(Error::Gpu(GpuError::OutOfMemory));
        let mut all = candidates();
        let least = all[..2].iter().map(|of| bytes(of).into_iter().max()).min().unwrap().unwrap();
        let is_kept: Vec<_> =
            all.iter().map(|of| of.as_ref().is_some_and(|of| of.most() == least)).collect();
        assert_eq!(is_kept.iter().filter(|&&is| is).count(), 1);
        let within = |bytes: &[u64]| {
            if bytes.iter().all(|&bytes| bytes <= least) { Ok(vec![256; 2]) } else { short() }
        };
        assert_eq!(for_all(&mut all, true, within), Ok(vec![256; 2]));
        assert_eq!(all.iter().map(Option::is_some).collect::<Vec<_>>(), is_kept);
        // Where there is no memory at all, none is left.
        assert_eq!(for_all(&mut all, true, |_| short()), Ok(vec![]));
        assert!(all.iter().all(Option::is_none));
    }

    #[test]
    fn other_errors_are_reported_and_so_is_want_of_memory_without_a_choice() {
        let failed = Err(Error::Gpu(GpuError::Driver { code: 700, during: "a test" }));
        let mut all = candidates();
        assert_eq!(for_all(&mut all, true, |_| failed.clone()), failed);
        let short = Err(Error::Gpu(GpuError::OutOfMemory));
        assert_eq!(for_all(&mut all, false, |_| short.clone()), short);
        assert!(all[0].is_some() && all[1].is_some());
    }
}
