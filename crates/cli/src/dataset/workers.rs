//! What several workers do of a shuffle, each by itself.
//!
//! The counts of all inputs say which numbers the records of each have, and so their places. How
//! keys are divided into buckets follows from the counts and from the least memory that any worker
//! has. A bucket in which the shards of one worker end and those of the next begin is read by both,
//! and each leaves out what it does not write.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;
use std::path::Path;
use std::{io, iter};

use serde_json::Value;

use super::bundle::{Bundle, NewBundle};
use super::header::LONGEST_HEADER;
use super::piece::{InputPiece, last_byte};
use super::reader::Notes;
use super::records::Records;
use super::set::{CountedSet, Dataset, Described, Reading, Written, named};
use super::shards::{ShardSink, ShardTarget};
use super::store::{BlockCodec, TemporaryStore};
use crate::files::budget::KeySplit;
use crate::files::distribute::{Numbered, numbers};
use crate::files::{
    FileOrder, FileShuffle, FilesError, ItemCount, NamedError, Pieces, Summary, Watch,
};
use crate::formats::Codec;

/// About how many pieces a worker gets of what is divided: enough to be read side by side, and to
/// be dealt evenly.
const PIECES_PER_WORKER: u64 = 4;

/// The least bytes of a piece, which are more than those of a header. Tests have small inputs.
const LEAST_PIECE: u64 = if cfg!(test) { 64 } else { 2 * LONGEST_HEADER as u64 };

/// What all workers of a run know after the first stage, and each has to be told the same.
#[derive(Clone, Copy, Debug)]
pub struct KnownToWorkers<'a> {
    /// What all inputs have.
    pub counted: &'a CountedSet,
    /// The order of the records.
    pub order: &'a FileOrder,
    /// The least memory that a data set of any worker has.
    pub memory: usize,
    /// A text that other runs do not have.
    pub run: &'a str,
}

impl Dataset<'_> {
    /// Divides large inputs into pieces for this many workers. Only uncompressed lines can be
    /// divided: elsewhere nothing tells where a record begins. An input whose last line has no end
    /// stays whole, because its other lines tell what that end is.
    ///
    /// # Errors
    ///
    /// [`FilesError::Read`].
    pub fn divided(mut self, workers: u64) -> Result<Self, FilesError> {
        let Records::Lines(delimiter) = self.form.records else { return Ok(self) };
        let all = self.inputs.iter().fold(0_u64, |all, one| all.saturating_add(one.input.bytes()));
        let most = (all / workers.max(1) / PIECES_PER_WORKER).max(LEAST_PIECE);
        self.pieces.clear();
        for (number, Described { input, codec }) in self.inputs.iter().enumerate() {
            let bytes = input.bytes();
            let last = match codec {
                Codec::Plain if bytes > most => last_byte(&**input),
                _ => Ok(None),
            };
            let last = last.map_err(|error| FilesError::Read(named(&**input, error)))?;
            let pieces = if last == Some(delimiter) { bytes.div_ceil(most) } else { 1 };
            self.pieces.extend(InputPiece::whole(number, bytes).divided(pieces, delimiter));
        }
        Ok(self)
    }

    /// The pieces that one of several workers reads, by their numbers: inputs, or parts of those
    /// that are [divided](Self::divided). All workers have about as many bytes.
    ///
    /// # Panics
    ///
    /// If there is no such worker.
    pub fn share(&self, worker: u64, workers: u64) -> Vec<usize> {
        assert!(worker < workers, "worker {worker} of {workers}");
        let dealt = self.dealt(workers);
        usize::try_from(worker)
            .ok()
            .and_then(|worker| dealt.get(worker).cloned())
            .unwrap_or_default()
    }

    /// The pieces that each worker reads. Workers beyond the last one here have none.
    fn dealt(&self, workers: u64) -> Vec<Vec<usize>> {
        let size = |&piece: &usize| self.pieces[piece].bytes();
        let mut pieces: Vec<usize> = (0..self.pieces.len()).collect();
        pieces.sort_by_key(|piece| Reverse(size(piece)));
        // The largest first, each to the worker that has the least so far. An empty one takes some
        // time, too.
        let busy = workers.min(pieces.len() as u64) as usize;
        let mut loads: BinaryHeap<_> = (0..busy).map(|worker| Reverse((0_u64, worker))).collect();
        let mut dealt = vec![Vec::new(); busy];
        for piece in pieces {
            let Some(Reverse((load, worker))) = loads.pop() else { break };
            dealt[worker].push(piece);
            loads.push(Reverse((load.saturating_add(size(&piece)).saturating_add(1), worker)));
        }
        dealt.iter_mut().for_each(|own| own.sort_unstable());
        dealt
    }

    /// Counts the records of some of the pieces, which are read side by side.
    ///
    /// # Errors
    ///
    /// Those of [`count`](Self::count).
    pub fn count_share(
        &self,
        pieces: &[usize],
        watch: &dyn Watch,
    ) -> Result<CountedSet, FilesError> {
        self.count_some(pieces, 0, watch)
    }

    /// What the workers have [counted](Self::count_share), each its [share](Self::share), in their
    /// order: what all pieces have.
    ///
    /// # Errors
    ///
    /// [`FilesError::Read`] if their samples have other parts, and [`FilesError::Changed`] if they
    /// counted other pieces.
    pub fn join(&self, shares: &[Value]) -> Result<CountedSet, FilesError> {
        let none = ItemCount { items: 0, bytes: 0, is_terminated: true };
        let mut counts = vec![none; self.pieces.len()];
        let (mut ends_added, mut left_out, mut empty) = (0, 0, 0);
        let mut first: Option<(Vec<String>, usize)> = None;
        if shares.is_empty() {
            return Err(FilesError::Changed);
        }
        let dealt = self.dealt(shares.len() as u64).into_iter().chain(iter::repeat(Vec::new()));
        for (value, pieces) in shares.iter().zip(dealt) {
            let share = CountedSet::from_json(value, pieces.len()).ok_or(FilesError::Changed)?;
            ends_added += share.ends_added;
            left_out += share.left_out;
            empty += share.empty;
            for (&piece, count) in pieces.iter().zip(share.counts) {
                counts[piece] = count;
            }
            let (Some(parts), Some(&piece)) = (share.parts, pieces.first()) else { continue };
            let input = self.pieces[piece].input;
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
        Ok(CountedSet { counts, kept: None, ends_added, left_out, empty, parts })
    }

    /// [`CountedSet::to_json`] of what all inputs have, as if none of them were divided.
    pub fn undivided(&self, counted: &CountedSet) -> Value {
        let none = ItemCount { items: 0, bytes: 0, is_terminated: true };
        let mut counts = vec![none; self.inputs.len()];
        for (piece, count) in self.pieces.iter().zip(&counted.counts) {
            counts[piece.input].items += count.items;
            counts[piece.input].bytes += count.bytes;
        }
        let &CountedSet { ends_added, left_out, empty, .. } = counted;
        let parts = counted.parts.clone();
        CountedSet { counts, kept: None, ends_added, left_out, empty, parts }.to_json()
    }

    /// The range of keys, and how all workers divide it.
    fn split(&self, known: KnownToWorkers) -> Result<(Range<u64>, KeySplit), FilesError> {
        let shuffler = FileShuffle::of_any_machine(self.items(), known.memory / 2);
        shuffler.split(known.order, known.counted.bytes())
    }

    /// Writes the records of some of the pieces to a bundle, as many of them as the order has. The
    /// file at `path` is there whole or not at all, on the disk, and what was left of one that was
    /// not complete is removed.
    ///
    /// # Errors
    ///
    /// Those of [`FileShuffle::run_sources`].
    pub fn distribute(
        &self,
        pieces: &[usize],
        known: KnownToWorkers,
        path: &Path,
        codec: BlockCodec,
        watch: &dyn Watch,
    ) -> Result<Summary, FilesError> {
        let (keys, split) = self.split(known)?;
        let all = &known.counted.counts;
        let numbers = numbers(all);
        let items = pieces.iter().map(|&piece| numbers[piece].clone()).collect();
        let counts: Vec<_> = pieces.iter().map(|&piece| all[piece]).collect();
        let notes = Notes::default();
        let reading = Reading { set: self, pieces, notes: &notes, watch: &() };
        let source = Numbered { sources: &reading, counts: &counts, items };
        let mut bundle = NewBundle::new(path, codec).map_err(FilesError::Temporary)?;
        let shuffler = self.shuffler();
        let buckets = shuffler.distribute(known.order, split, source, &mut bundle.store, watch)?;
        let summary = shuffler.summary(&buckets);
        bundle.finish(known.run, &keys, split, buckets).map_err(FilesError::Temporary)?;
        Ok(summary)
    }

    /// Writes shards from the bundles of all workers. The first record of the first shard is the
    /// one at `place` of the order, counted from the order's own first place. The store is empty,
    /// and takes what has to be divided again.
    ///
    /// # Errors
    ///
    /// Those of [`shuffle`](Self::shuffle), and [`FilesError::Changed`] if the bundles do not have
    /// all records.
    pub fn collect<S: ShardSink>(
        &self,
        known: KnownToWorkers,
        bundles: Vec<Bundle>,
        place: u64,
        mut store: TemporaryStore,
        target: ShardTarget<S>,
        watch: &dyn Watch,
    ) -> Result<Written, FilesError> {
        let (keys, split) = self.split(known)?;
        let mut buckets = split.of(&keys);
        let mut items = vec![0; buckets.len()];
        for bundle in &bundles {
            bundle.check(split.shift, buckets.len()).map_err(FilesError::Temporary)?;
            for (all, own) in items.iter_mut().zip(&bundle.items) {
                // A bundle is a file, which may say anything.
                *all = u64::checked_add(*all, *own).ok_or(FilesError::Changed)?;
            }
        }
        let places = known.order.places();
        let all = items.iter().copied().try_fold(0, u64::checked_add);
        if all != Some(places.end - places.start) {
            return Err(FilesError::Changed);
        }
        // The buckets that have any of the places.
        let (mut first, mut start) = (0, 0);
        while first < items.len() && start + items[first] <= place {
            start += items[first];
            first += 1;
        }
        let (mut last, mut end) = (first, start);
        let records = target.shards.records();
        while end < place + records {
            end += items[last];
            last += 1;
        }
        let mut buckets: Vec<_> = buckets.drain(first..last).collect();
        for bundle in bundles {
            let taken = bundle.take_in(first..last, &mut buckets, &mut store);
            taken.map_err(FilesError::Temporary)?;
        }
        buckets.retain(|bucket| bucket.items > 0);
        let mut writer = self.writer(target);
        let mut excerpt = OutputExcerpt::new(&mut writer, place - start, end - start);
        let summary = self.shuffler().place(buckets, &mut store, &mut excerpt, watch)?;
        let summary = Summary { items: records, bytes: excerpt.bytes, ..summary };
        let shards = writer.finish().map_err(FilesError::Write)?;
        Ok(Written { shards, summary: Some(summary) })
    }
}

/// Pieces of an output, without the items before and after them.
struct OutputExcerpt<'o> {
    pieces: &'o mut dyn Pieces,
    ends: Vec<u64>,
    /// How many bytes the pieces have.
    bytes: u64,
}

impl<'o> OutputExcerpt<'o> {
    /// Leaves out the first `skipped` of all `items`, and those after the pieces.
    fn new(pieces: &'o mut dyn Pieces, skipped: u64, items: u64) -> Self {
        let ends = pieces.ends().iter().map(|end| skipped + end);
        let ends = [skipped].into_iter().chain(ends).chain([items]).collect();
        Self { pieces, ends, bytes: 0 }
    }
}

impl Pieces for OutputExcerpt<'_> {
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
