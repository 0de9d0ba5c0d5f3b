//! Iterators over arrangements: all of them, and different ones in random order.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use bijective_shuffle::bijection::{CycleWalk, Standard};
use bijective_shuffle::{KeyDomain, Permutation, Seed};
use bijective_shuffle_engine::check::or_panic;

use super::arrangement::Arrangement;
use super::node::{MOST_PARTS, Node};
use super::{count, draw, unrank};
use crate::Error;

/// The number, among what this package draws, of ranks in random order. The parts of a design
/// have those after it.
const NUMBER: u32 = MOST_PARTS as u32;

/// All arrangements of a design, each once, the identity first; see
/// [`Design::all`](super::Design::all).
#[derive(Clone, Debug)]
pub struct All<'a> {
    node: &'a Node,
    next: u64,
    count: u64,
}

impl<'a> All<'a> {
    pub(super) fn new(node: &'a Node) -> Result<Self, Error> {
        let count = count::narrow(node).ok_or(Error::TooManyArrangements)?;
        Ok(Self { node, next: 0, count })
    }
}

/// # Panics
///
/// If there is no memory for an arrangement.
impl Iterator for All<'_> {
    type Item = Arrangement;

    fn next(&mut self) -> Option<Arrangement> {
        (self.next < self.count).then(|| {
            self.next += 1;
            or_panic(unrank::arrangement(self.node, self.next - 1))
        })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = usize::try_from(self.count - self.next);
        (left.unwrap_or(usize::MAX), left.ok())
    }
}

/// Different arrangements of a design in random order; see
/// [`Design::distinct`](super::Design::distinct).
#[derive(Clone, Debug)]
pub struct Distinct<'a> {
    node: &'a Node,
    left: u64,
    source: DistinctSource,
}

#[derive(Clone, Debug)]
enum DistinctSource {
    /// Ranks in random order, without the identity's: the next place, and what is added to a rank.
    Ranks { order: Box<Permutation<CycleWalk<Standard>>>, next: u64, first: u64 },
    /// The seed's arrangements, one after another: the next one's number, and the numbers of
    /// earlier ones by their hashes.
    Rows { seed: Seed, next: u64, seen: HashMap<u64, Vec<u64>> },
}

impl<'a> Distinct<'a> {
    pub(super) fn new(node: &'a Node, asked: u64, seed: Seed) -> Result<Self, Error> {
        let first = u64::from(node.has_identity);
        let source = match count::narrow(node) {
            Some(count) => {
                let available = count - first;
                if asked > available {
                    return Err(Error::TooFewArrangements { asked, available });
                }
                let order = Permutation::walk(available, seed.child(KeyDomain::Resample(NUMBER)));
                DistinctSource::Ranks { order: Box::new(order), next: 0, first }
            }
            None => DistinctSource::Rows { seed, next: 0, seen: HashMap::new() },
        };
        Ok(Self { node, left: asked, source })
    }

    fn draw(&mut self) -> Result<Arrangement, Error> {
        match &mut self.source {
            DistinctSource::Ranks { order, next, first } => {
                let rank = order.get(*next)?;
                *next += 1;
                unrank::arrangement(self.node, rank + *first)
            }
            DistinctSource::Rows { seed, next, seen } => loop {
                let row = *next;
                let arrangement = draw::arrangement(self.node, row, *seed)?;
                *next += 1;
                let mut hasher = DefaultHasher::new();
                arrangement.hash(&mut hasher);
                let alike = seen.entry(hasher.finish()).or_default();
                // Equal hashes are rare, so an earlier arrangement is drawn again to compare.
                let mut is_new = !arrangement.is_identity();
                for &earlier in &*alike {
                    is_new &= draw::arrangement(self.node, earlier, *seed)? != arrangement;
                }
                if is_new {
                    alike.push(row);
                    return Ok(arrangement);
                }
            },
        }
    }
}

/// # Panics
///
/// If there is no memory for an arrangement.
impl Iterator for Distinct<'_> {
    type Item = Arrangement;

    fn next(&mut self) -> Option<Arrangement> {
        self.left = self.left.checked_sub(1)?;
        Some(or_panic(self.draw()))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = usize::try_from(self.left);
        (left.unwrap_or(usize::MAX), left.ok())
    }
}
