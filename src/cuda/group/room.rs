//! [`Room`]: working memory for an exchange.

use super::layout::MemberLayout;
use super::sizes::GroupSizes;
use crate::Error;
use crate::error::GpuError;

/// An exchange, and the memory for it.
pub(super) struct Room {
    pub(super) sizes: GroupSizes,
    /// Where each member keeps its part.
    pub(super) layouts: Vec<MemberLayout>,
    /// Where each member's working memory begins.
    pub(super) memory: Vec<u64>,
}

impl Room {
    /// Gets memory for an exchange. Where members are short of it, or say that they will be,
    /// smaller pieces are sent, which need less. If those still need too much, the answer is an
    /// error or, if the exchange `may_fail`, `None`.
    ///
    /// # Errors
    ///
    /// Those of [`RoomMembers::memory`].
    pub(super) fn find(
        mut sizes: GroupSizes,
        may_fail: bool,
        of: &mut impl RoomMembers,
    ) -> Result<Option<Self>, Error> {
        loop {
            let layouts = (0..sizes.members()).map(|member| MemberLayout::new(&sizes, member));
            let layouts: Vec<_> = layouts.collect();
            let bytes: Vec<_> = layouts.iter().map(|layout| layout.bytes).collect();
            let smaller = sizes.in_smaller_pieces();
            let memory = match smaller.is_none() || of.may_have(&bytes) {
                true => of.memory(&bytes),
                false => Err(GpuError::OutOfMemory.into()),
            };
            match (memory, smaller) {
                (Err(Error::Gpu(GpuError::OutOfMemory)), Some(smaller)) => sizes = smaller,
                (Err(Error::Gpu(GpuError::OutOfMemory)), None) if may_fail => return Ok(None),
                (memory, _) => return Ok(Some(Self { sizes, layouts, memory: memory? })),
            }
        }
    }
}

/// The members whose memory is needed.
pub(super) trait RoomMembers {
    /// Whether there seems to be that much memory. This asks without trying, since a trial takes
    /// long.
    fn may_have(&mut self, bytes: &[u64]) -> bool;

    /// The addresses of that much memory on each member.
    fn memory(&mut self, bytes: &[u64]) -> Result<Vec<u64>, Error>;
}

#[cfg(test)]
mod tests {
    use super::super::shards::MemberShards;
    use super::super::sizes::tests::LIMITS;
    use super::*;
    use crate::cuda::runtime::word_type::WordType;

    /// The exchange of an array of words over two members that hold this many items.
    fn sizes(lens: [usize; 2]) -> GroupSizes {
        let array = MemberShards::new(lens.map(|len| (256, len)), 8);
        GroupSizes::new(&LIMITS, WordType::U64, [array.len() - 1; 2], &array, &array).unwrap()
    }

    fn bytes(sizes: &GroupSizes) -> Vec<u64> {
        (0..2).map(|member| MemberLayout::new(sizes, member).bytes).collect()
    }

    /// Members with this much memory, which know that or not, and the sizes that they were asked
    /// for.
    struct GivenRoom {
        have: u64,
        know: bool,
        answer: Result<(), Error>,
        asked: Vec<Vec<u64>>,
    }

    impl GivenRoom {
        fn new(have: u64, know: bool) -> Self {
            Self { have, know, answer: Ok(()), asked: Vec::new() }
        }
    }

    impl RoomMembers for GivenRoom {
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
    fn each_member_is_asked_for_what_it_needs() {
        let sizes = sizes([1 << 20, 1 << 10]);
        let mut members = GivenRoom::new(u64::MAX, true);
        let room = Room::find(sizes.clone(), false, &mut members).unwrap().unwrap();
        assert_eq!((room.memory, room.sizes), (vec![256, 512], sizes.clone()));
        assert_eq!(members.asked, [bytes(&sizes)]);
    }

    #[test]
    fn pieces_become_smaller_where_memory_is_short() {
        let usual = sizes([1 << 25; 2]);
        let (pieces, most) = (usual.pieces, bytes(&usual)[0]);
        assert_eq!(pieces, 5);
        // Of the bytes of usual pieces, those that the boxes take become half.
        for (have, pieces) in [(most, 5), (most - 1, 9), (most * 3 / 4, 17), (most * 3 / 5, 33)] {
            for (know, may_fail) in [(true, true), (true, false), (false, true), (false, false)] {
                let mut members = GivenRoom::new(have, know);
                let room = Room::find(usual.clone(), may_fail, &mut members).unwrap().unwrap();
                assert_eq!((room.sizes.pieces, room.memory), (pieces, vec![256, 512]));
                assert!(room.layouts.iter().all(|layout| layout.bytes <= have));
                // Who knows does not try in vain.
                assert!(!know || members.asked.len() == 1);
            }
        }
    }

    #[test]
    fn want_of_memory_is_an_error_or_none_and_others_are_reported() {
        let failed = Error::Gpu(GpuError::DriverFailed { code: 700, during: "a test" });
        for may_fail in [true, false] {
            let mut members =
                GivenRoom { answer: Err(failed.clone()), ..GivenRoom::new(u64::MAX, true) };
            let room = Room::find(sizes([1 << 20; 2]), may_fail, &mut members);
            assert_eq!(room.map(drop), Err(failed.clone()));
            // It has been tried all the same.
            let mut members = GivenRoom::new(0, true);
            let room = Room::find(sizes([1 << 20; 2]), may_fail, &mut members);
            assert_eq!(members.asked.len(), 1);
            match may_fail {
                true => assert!(matches!(room, Ok(None))),
                false => assert_eq!(room.map(drop), short().map(drop)),
            }
        }
    }
}
