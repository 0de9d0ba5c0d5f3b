//! What several workers do of a shuffle, each by itself.
//!
//! The counts of all inputs say which numbers the records of each have, and so their places. How
//! keys are divided into buckets follows from the counts and from the least memory that any worker
//! has. A bucket in which the shards of one worker end and those of the next begin is read by both,
//! and each leaves out what it does not write.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::ops::Range;
use std::path::Path;

use serde_json::Value;

use super::Compression;
use super::bundle::{Bundle, NewBundle};
use super::kept::Kept;
use super::reader::Notes;
use super::set::{Counted, Dataset, Reading, Written};
use super::shards::{Shards, Sink};
use super::store::Temporary;
use crate::files::budget::Split;
use crate::files::distribute::{Source, numbers};
use crate::files::{Count, FileShuffle, FilesError, NamedError, Order, Pieces, Summary, Watch};

/// What all workers of a run know after the first stage, and each has to be told the same.
#[derive(Clone, Copy, Debug)]
pub struct Known<'a> {
    /// What all inputs have.
    pub counted: &'a Counted,
    /// The order of the records.
    pub order: &'a Order,
    /// The least memory that a data set of any worker has.
    pub memory: usize,
    /// A text that other runs do not have.
    pub run: &'a str,
}

impl Dataset<'_> {
    /// The inputs that one of several workers reads, by their numbers. Whole inputs are dealt, so
    /// that all workers have about as many bytes.
    ///
    /// # Panics
    ///
    /// If there is no such worker.
    pub fn share(&self, worker: u64, workers: u64) -> Vec<usize> {
        assert!(worker < workers, "worker {worker} of {workers}");
        let owners = self.owners(workers).into_iter().enumerate();
        owners.filter(|&(_, owner)| owner == worker).map(|(input, _)| input).collect()
    }

    /// The worker that reads each input.
    fn owners(&self, workers: u64) -> Vec<u64> {
        let sizes: Vec<u64> = self.inputs.iter().map(|one| one.input.bytes()).collect();
        let mut inputs: Vec<usize> = (0..sizes.len()).collect();
        inputs.sort_by_key(|&input| Reverse(sizes[input]));
        // The largest first, each to the worker that has the least so far. An empty one takes some
        // time, too.
        let busy = workers.min(sizes.len() as u64);
        let mut loads: BinaryHeap<_> = (0..busy).map(|worker| Reverse((0_u64, worker))).collect();
        let mut owners = vec![0; sizes.len()];
        for input in inputs {
            let Some(Reverse((load, worker))) = loads.pop() else { break };
            owners[input] = worker;
            loads.push(Reverse((load.saturating_add(sizes[input]).saturating_add(1), worker)));
        }
        owners
    }

    /// Counts the records of some of the inputs, which are read side by side.
    ///
    /// # Errors
    ///
    /// Those of [`count`](Self::count).
    pub fn count_share(&self, inputs: &[usize], watch: &dyn Watch) -> Result<Counted, FilesError> {
        self.count_some(inputs, 0, watch)
    }

    /// What the workers have [counted](Self::count_share), each its [share](Self::share), in their
    /// order: what all inputs have.
    ///
    /// # Errors
    ///
    /// [`FilesError::Read`] if their samples have other parts, and [`FilesError::Changed`] if they
    /// counted other inputs.
    pub fn join(&self, shares: &[Value]) -> Result<Counted, FilesError> {
        let none = Count { items: 0, bytes: 0, is_terminated: true };
        let mut counts = vec![none; self.inputs.len()];
        let (mut ends_added, mut left_out) = (0, 0);
        let mut first: Option<(Vec<String>, usize)> = None;
        if shares.is_empty() {
            return Err(FilesError::Changed);
        }
        let mut dealt = vec![Vec::new(); shares.len()];
        for (input, owner) in self.owners(shares.len() as u64).into_iter().enumerate() {
            dealt[owner as usize].push(input);
        }
        for (value, inputs) in shares.iter().zip(dealt) {
            let share = Counted::from_json(value, inputs.len()).ok_or(FilesError::Changed)?;
            ends_added += share.ends_added;
            left_out += share.left_out;
            for (&input, count) in inputs.iter().zip(share.counts) {
                counts[input] = count;
            }
            let (Some(parts), Some(&input)) = (share.parts, inputs.first()) else { continue };
            let (others, other) = first.get_or_insert_with(|| (parts.clone(), input));
            if *others != parts {
                let name = |input: usize| self.inputs[input].input.name();
                let why = format!(
                    "has samples with the parts {}, and those of {} have {}: give --uneven if that \
                     is as it should be",
                    parts.join(", "),
                    name(*other),
                    others.join(", ")
                );
                return Err(FilesError::Read(NamedError::io(name(input), why)));
            }
        }
        let parts = first.map(|(parts, _)| parts);
        Ok(Counted { counts, kept: Kept::default(), ends_added, left_out, parts })
    }

    /// The range of keys, and how all workers divide it.
    fn split(&self, known: Known) -> Result<(Range<u64>, Split), FilesError> {
        let shuffler = FileShuffle::of_any_machine(self.items(), known.memory / 2);
        shuffler.split(known.order, known.counted.bytes())
    }

    /// Writes the records of some of the inputs to a bundle, as many of them as the order has. The
    /// file is there whole or not at all, on the disk, and what was left of one that was not
    /// complete is removed.
    ///
    /// # Errors
    ///
    /// Those of [`FileShuffle::run_parts`].
    pub fn distribute(
        &self,
        inputs: &[usize],
        known: Known,
        (path, is_compressed): (&Path, bool),
        watch: &dyn Watch,
    ) -> Result<Summary, FilesError> {
        let (keys, split) = self.split(known)?;
        let all = &known.counted.counts;
        let numbers = numbers(all);
        let items = inputs.iter().map(|&input| numbers[input].clone()).collect();
        let counts: Vec<_> = inputs.iter().map(|&input| all[input]).collect();
        let notes = Notes::default();
        let inputs = Some(inputs);
        let kept = &Kept::default();
        let reading = Reading { set: self, inputs, kept, notes: &notes, watch: &() };
        let source = Source { parts: &reading, counts: &counts, items };
        let mut bundle = NewBundle::new(path, is_compressed).map_err(FilesError::Temporary)?;
        let shuffler = self.shuffler();
        let buckets = shuffler.distribute(known.order, split, source, &mut bundle.store, watch)?;
        let summary = shuffler.summary(&buckets);
        bundle.finish(known.run, (&keys, split), buckets).map_err(FilesError::Temporary)?;
        Ok(summary)
    }

    /// Writes shards, of which the first begins at a place of the order, counted from its first,
    /// from the bundles of all workers. The store is empty, and takes what has to be divided again.
    ///
    /// # Errors
    ///
    /// Those of [`shuffle`](Self::shuffle), and [`FilesError::Changed`] if the bundles do not have
    /// all records.
    pub fn collect<S: Sink>(
        &self,
        known: Known,
        (bundles, place): (Vec<Bundle>, u64),
        mut store: Temporary,
        (shards, compression, sink): (&Shards, Compression, &mut S),
        watch: &dyn Watch,
    ) -> Result<Written, FilesError> {
        let (keys, split) = self.split(known)?;
        let mut buckets = split.of(&keys);
        let mut items = vec![0; buckets.len()];
        for bundle in &bundles {
            bundle.check(split.shift, buckets.len()).map_err(FilesError::Temporary)?;
            items.iter_mut().zip(&bundle.items).for_each(|(all, own)| *all += own);
        }
        let places = known.order.places();
        if items.iter().sum::<u64>() != places.end - places.start {
            return Err(FilesError::Changed);
        }
        // The buckets that have any of the places.
        let (mut first, mut start) = (0, 0);
        while first < items.len() && start + items[first] <= place {
            start += items[first];
            first += 1;
        }
        let (mut last, mut end) = (first, start);
        while end < place + shards.records() {
            end += items[last];
            last += 1;
        }
        let mut buckets: Vec<_> = buckets.drain(first..last).collect();
        for bundle in bundles {
            let taken = bundle.take_in(first..last, &mut buckets, &mut store);
            taken.map_err(FilesError::Temporary)?;
        }
        buckets.retain(|bucket| bucket.items > 0);
        let mut writer = self.writer((shards, compression, sink));
        let mut excerpt = Excerpt::new(&mut writer, place - start, end - start);
        let summary = self.shuffler().place(buckets, &mut store, &mut excerpt, watch)?;
        let (items, bytes) = (shards.records(), excerpt.bytes);
        let shards = writer.finish().map_err(FilesError::Write)?;
        Ok(Written { shards, summary: Some(Summary { items, bytes, ..summary }) })
    }
}

/// Pieces of an output, without the items before and behind them.
struct Excerpt<'o> {
    pieces: &'o mut dyn Pieces,
    ends: Vec<u64>,
    /// How many bytes the pieces have.
    bytes: u64,
}

impl<'o> Excerpt<'o> {
    /// Leaves out so many items, and those behind the pieces, of so many.
    fn new(pieces: &'o mut dyn Pieces, skipped: u64, items: u64) -> Self {
        let ends = pieces.ends().iter().map(|end| skipped + end);
        let ends = [skipped].into_iter().chain(ends).chain([items]).collect();
        Self { pieces, ends, bytes: 0 }
    }
}

impl Pieces for Excerpt<'_> {
    fn ends(&self) -> &[u64] {
        &self.ends
    }

    fn write(&mut self, piece: usize, items: &[u8]) -> io::Result<()> {
        match piece.checked_sub(1) {
            Some(piece) if piece < self.ends.len() - 2 => {
                self.bytes += items.len() as u64;
                self.pieces.write(piece, items)
            }
            _ => Ok(()),
        }
    }
}
