//! The alias table of Walker (1977) in whole numbers: an item by its weight from two uniform
//! numbers.
//!
//! With `n` items and a total weight of `T`, each of the `n` columns has room for `T`, and an item
//! of weight `w` fills `n w` of that room. So all columns are exactly full, and no weight is
//! rounded. An item is *light* if `n w < T`, and *heavy* otherwise. A light item leaves a gap of
//! `T - n w` in its column; a heavy item has a surplus of `n w - T`.
//!
//! The surpluses, one heavy item after another, fill the gaps, one light item after another. Both
//! are taken in the order of the items. So who fills which gap follows from the sums of the gaps
//! and surpluses before it, and each part of the table can be built by itself (Hübschle-Schneider
//! and Sanders, *Parallel weighted random sampling*, 2022). With `D(i)` for the sum of all gaps
//! before item `i`, and `E(j)` for the sum of all surpluses up to heavy item `j` and with it:
//!
//! * the alias of a light item `i` is the first heavy item `j` with `E(j) > D(i)`;
//! * a heavy item `j` fills gaps until their sum `D` is at least `E(j)`. Its own column then keeps
//!   `T + E(j) - D` of it, and the next heavy item is its alias.

use core::mem::MaybeUninit;
use core::sync::atomic::{AtomicBool, Ordering};

use bijective_shuffle_engine::{check, memory, parallel};

use crate::{Error, ItemWeights};

/// An entry of a table. The first one has the total weight and the number of items. Each other is a
/// column: the part that its own item fills, and the item that fills the rest.
pub(crate) type Entry = [u64; 2];

/// The entries of a table, which is checked or was built here.
pub(crate) fn entries(table: &[u64]) -> &[Entry] {
    table.as_chunks().0
}

/// How many weights are read at a time. A chunk of columns looks at no more than the square of this
/// number of items, however the weights are spread.
const CHUNK: usize = 1 << 12;

/// How many chunks a thread makes at a time.
const TASK: usize = 8;

/// What lies before a chunk.
#[derive(Clone, Copy, Default)]
struct Before {
    gaps: u128,
    surpluses: u128,
    /// The first heavy item in the chunk or after it, or the number of items.
    next_heavy: usize,
}

/// Weights that are read a chunk at a time.
#[derive(Clone, Copy)]
struct Weights<'a> {
    source: &'a dyn ItemWeights,
    len: usize,
}

impl<'a> Weights<'a> {
    fn new(source: &'a dyn ItemWeights) -> Self {
        // No memory has room for more.
        Self { source, len: usize::try_from(source.count()).unwrap_or(usize::MAX) }
    }

    fn items(self, chunk: usize) -> core::ops::Range<usize> {
        let first = chunk * CHUNK;
        first..self.len.min(first + CHUNK)
    }

    fn read(self, chunk: usize, buffer: &mut [u64; CHUNK]) -> Result<&[u64], Error> {
        let items = self.items(chunk);
        let own = &mut buffer[..items.len()];
        self.source.read(items.start as u64, own)?;
        Ok(own)
    }

    /// What a function says of each chunk, in order, or its first error.
    fn of_each_chunk<T: Send>(
        self,
        of: impl Fn(usize, &[u64]) -> T + Sync,
    ) -> Result<Vec<T>, Error> {
        let chunks = self.len.div_ceil(CHUNK);
        let mut said: Vec<Result<T, Error>> = check::try_with_capacity(chunks)?;
        said.extend((0..chunks).map(|_| Err(Error::NoWeight)));
        parallel::each_chunk(&mut said, TASK, |task, said| {
            let mut buffer = [0; CHUNK];
            for (chunk, said) in (task * TASK..).zip(said) {
                *said = self.read(chunk, &mut buffer).map(|weights| of(chunk, weights));
            }
        });
        said.into_iter().collect()
    }
}

/// The weights, and what lies before each chunk of them and after the last.
struct WeightPlan<'a> {
    weights: Weights<'a>,
    room: u64,
    before: Vec<Before>,
}

impl<'a> WeightPlan<'a> {
    fn new(weights: Weights<'a>, room: u64) -> Result<Self, Error> {
        let mut plan = Self { weights, room, before: Vec::new() };
        let mut before = weights.of_each_chunk(|chunk, weights| plan.sums(chunk, weights))?;
        let mut next_heavy = weights.len;
        for before in before.iter_mut().rev() {
            next_heavy = next_heavy.min(before.next_heavy);
            before.next_heavy = next_heavy;
        }
        before.push(Before { next_heavy: weights.len, ..Before::default() });
        let mut sums = Before::default();
        for before in &mut before {
            let own = *before;
            *before = Before { next_heavy: own.next_heavy, ..sums };
            sums.gaps += own.gaps;
            sums.surpluses += own.surpluses;
        }
        plan.before = before;
        Ok(plan)
    }

    /// A chunk's own sums, and its first heavy item.
    fn sums(&self, chunk: usize, weights: &[u64]) -> Before {
        let mut sums = Before { next_heavy: self.weights.len, ..Before::default() };
        for (item, &weight) in self.weights.items(chunk).zip(weights) {
            sums.gaps += self.gap(weight).unwrap_or(0);
            if let Some(surplus) = self.surplus(weight) {
                sums.surpluses += surplus;
                sums.next_heavy = sums.next_heavy.min(item);
            }
        }
        sums
    }

    /// `n w`, which 128 bits hold.
    fn filled(&self, weight: u64) -> u128 {
        self.weights.len as u128 * u128::from(weight)
    }

    /// The gap of a light item.
    fn gap(&self, weight: u64) -> Option<u128> {
        u128::from(self.room).checked_sub(self.filled(weight)).filter(|&gap| gap > 0)
    }

    /// The surplus of a heavy item, which may be 0.
    fn surplus(&self, weight: u64) -> Option<u128> {
        self.filled(weight).checked_sub(u128::from(self.room))
    }

    /// Writes all of some columns, of chunks from a number on, or returns `None`, if weights are
    /// found to have changed.
    fn fill(&self, first_chunk: usize, columns: &mut [MaybeUninit<Entry>]) -> Option<()> {
        let mut buffer = [0; CHUNK];
        let mut heavy_items =
            TableCursor::new(|weight| self.surplus(weight), |before| before.surpluses);
        let mut light_items = TableCursor::new(|weight| self.gap(weight), |before| before.gaps);
        for (chunk, columns) in (first_chunk..).zip(columns.chunks_mut(CHUNK)) {
            for column in &mut *columns {
                column.write([0; 2]);
            }
            // SAFETY: all of them have just been written.
            let columns = unsafe { memory::assume_init_mut(columns) };
            let first = chunk * CHUNK;
            let Before { mut gaps, mut surpluses, .. } = self.before[chunk];
            let mut last_heavy = None;
            for (item, &weight) in (first..).zip(self.weights.read(chunk, &mut buffer).ok()?) {
                if let Some(gap) = self.gap(weight) {
                    let (alias, _) = heavy_items.seek(self, |sum| sum > gaps)?;
                    // It is below the room, which 64 bits hold.
                    columns[item - first] = [self.filled(weight) as u64, alias as u64];
                    gaps += gap;
                    continue;
                }
                surpluses += self.surplus(weight).unwrap_or(0);
                // Without a surplus so far, no gap has been filled.
                let filled = match surpluses {
                    0 => 0,
                    _ => light_items.seek(self, |sum| sum >= surpluses)?.1,
                };
                // The last gap was begun with some of this surplus or one before, and is at most as
                // large as the room.
                let kept = (u128::from(self.room) + surpluses).checked_sub(filled);
                columns[item - first] = [kept? as u64, item as u64];
                if let Some(last) = last_heavy.replace(item) {
                    columns[last - first][1] = item as u64;
                }
            }
            // The last heavy item of all keeps its whole column.
            if let Some(last) = last_heavy
                && self.before[chunk + 1].next_heavy < self.weights.len
            {
                columns[last - first][1] = self.before[chunk + 1].next_heavy as u64;
            }
        }
        Some(())
    }
}

/// Goes through the items of one kind, with the sum of what they have of it.
struct TableCursor<A, B> {
    amount: A,
    sum_before: B,
    /// The item that was found last, and the sum with it.
    found: (usize, u128),
    /// The item after that one.
    next: usize,
    /// The chunk whose weights are in the buffer.
    chunk: usize,
    buffer: [u64; CHUNK],
}

impl<A: Fn(u64) -> Option<u128>, B: Fn(&Before) -> u128> TableCursor<A, B> {
    fn new(amount: A, sum_before: B) -> Self {
        let (found, next, chunk) = ((0, 0), 0, usize::MAX);
        Self { amount, sum_before, found, next, chunk, buffer: [0; CHUNK] }
    }

    /// The first item with which the sum has reached something, and that sum. What it is to reach
    /// is more than 0, it never becomes less from call to call, and the sum of all items reaches
    /// it, unless weights have changed.
    #[inline]
    fn seek(
        &mut self,
        plan: &WeightPlan<'_>,
        reached: impl Fn(u128) -> bool,
    ) -> Option<(usize, u128)> {
        if !reached(self.found.1) {
            self.go_on(plan, reached)?;
        }
        Some(self.found)
    }

    #[inline(never)]
    fn go_on(&mut self, plan: &WeightPlan<'_>, reached: impl Fn(u128) -> bool) -> Option<()> {
        let (ends, mut sum) = (&plan.before[1..], self.found.1);
        let mut chunk = self.next / CHUNK;
        let behind = ends.get(chunk..)?;
        if !reached((self.sum_before)(behind.first()?)) {
            chunk += behind.partition_point(|end| !reached((self.sum_before)(end)));
            ends.get(chunk)?;
            (self.next, sum) = (chunk * CHUNK, (self.sum_before)(&plan.before[chunk]));
        }
        if self.chunk != chunk {
            plan.weights.read(chunk, &mut self.buffer).ok()?;
            self.chunk = chunk;
        }
        let left = &self.buffer[self.next % CHUNK..plan.weights.items(chunk).len()];
        for (item, &weight) in (self.next..).zip(left) {
            if let Some(amount) = (self.amount)(weight) {
                sum += amount;
                if reached(sum) {
                    (self.found, self.next) = ((item, sum), item + 1);
                    return Some(());
                }
            }
        }
        // The chunk does not have what it had when it was added up.
        None
    }
}

/// The sum of the weights.
fn total(weights: Weights<'_>) -> Result<u64, Error> {
    let of_chunk = |_, weights: &[u64]| weights.iter().copied().map(u128::from).sum::<u128>();
    let sum: u128 = weights.of_each_chunk(of_chunk)?.into_iter().sum();
    match u64::try_from(sum) {
        Ok(0) => Err(Error::NoWeight),
        Ok(total) => Ok(total),
        Err(_) => Err(Error::TotalWeightTooLarge),
    }
}

/// Builds the table of some weights, on all cores.
///
/// # Errors
///
/// Those of [`Weighted::new`](crate::Weighted::new).
pub(crate) fn build(weights: &dyn ItemWeights) -> Result<Vec<u64>, Error> {
    let weights = Weights::new(weights);
    let total = total(weights)?;
    let plan = WeightPlan::new(weights, total)?;
    let len = weights.len + 1;
    let mut table: Vec<Entry> = memory::try_in_huge_pages(len)?;
    table.push([total, weights.len as u64]);
    let has_changed = AtomicBool::new(false);
    // Fresh pages take as long as what is written into them, so each thread asks for its own.
    let columns = &mut table.spare_capacity_mut()[..len - 1];
    parallel::each_chunk(columns, TASK * CHUNK, |task, columns| {
        if plan.fill(task * TASK, columns).is_none() {
            has_changed.store(true, Ordering::Relaxed);
        }
    });
    if has_changed.into_inner() {
        return Err(Error::WeightsChanged);
    }
    // SAFETY: there was room for that many, and each task has written its own.
    unsafe { table.set_len(len) };
    Ok(table.into_flattened())
}

/// Checks that draws from a table find an item, whatever it was made from.
pub(crate) fn verify(table: &[u64]) -> Result<(), Error> {
    let (entries, []) = table.as_chunks() else { return Err(Error::NotATable) };
    let Some((&[total, items], columns)) = entries.split_first() else {
        return Err(Error::NotATable);
    };
    let is_column = |&[kept, alias]: &Entry| kept <= total && alias < items;
    let has_size = total > 0 && items > 0 && items == columns.len() as u64;
    if has_size && columns.iter().all(is_column) { Ok(()) } else { Err(Error::NotATable) }
}
