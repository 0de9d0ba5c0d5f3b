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

use bijective_shuffle_core::engine::base::{check, memory, parallel};

use crate::Error;

/// An entry of a table. The first one has the total weight and the number of items. Each other is a
/// column: the part that its own item fills, and the item that fills the rest.
pub(crate) type Entry = [u64; 2];

/// How many columns a thread makes at a time. A task looks at no more than the square of this
/// number of items, however the weights are spread.
const CHUNK: usize = 1 << 12;

/// What lies before a chunk.
#[derive(Clone, Copy, Default)]
struct Before {
    gaps: u128,
    surpluses: u128,
    /// The first heavy item in the chunk or behind it, or the number of items.
    next_heavy: usize,
}

/// The weights, and what lies before each chunk of them and behind the last.
struct Plan<'a> {
    weights: &'a [u64],
    room: u64,
    before: Vec<Before>,
}

impl<'a> Plan<'a> {
    fn new(weights: &'a [u64], room: u64) -> Result<Self, Error> {
        let chunks = weights.len().div_ceil(CHUNK);
        let mut before = check::try_with_capacity(chunks + 1)?;
        before.resize(chunks + 1, Before { next_heavy: weights.len(), ..Before::default() });
        let mut plan = Self { weights, room, before: Vec::new() };
        parallel::each_chunk(&mut before[..chunks], 1, |number, own| own[0] = plan.sums(number));
        for chunk in (0..chunks).rev() {
            if before[chunk].next_heavy == weights.len() {
                before[chunk].next_heavy = before[chunk + 1].next_heavy;
            }
        }
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
    fn sums(&self, chunk: usize) -> Before {
        let mut sums = Before { next_heavy: self.weights.len(), ..Before::default() };
        for item in self.items(chunk) {
            sums.gaps += self.gap(item).unwrap_or(0);
            if let Some(surplus) = self.surplus(item) {
                sums.surpluses += surplus;
                sums.next_heavy = sums.next_heavy.min(item);
            }
        }
        sums
    }

    fn items(&self, chunk: usize) -> core::ops::Range<usize> {
        let first = chunk * CHUNK;
        first..self.weights.len().min(first + CHUNK)
    }

    /// `n w`, which 128 bits hold.
    fn filled(&self, item: usize) -> u128 {
        self.weights.len() as u128 * u128::from(self.weights[item])
    }

    /// The gap of a light item.
    fn gap(&self, item: usize) -> Option<u128> {
        u128::from(self.room).checked_sub(self.filled(item)).filter(|&gap| gap > 0)
    }

    /// The surplus of a heavy item, which may be 0.
    fn surplus(&self, item: usize) -> Option<u128> {
        self.filled(item).checked_sub(u128::from(self.room))
    }

    /// Makes a chunk of the columns.
    fn fill(&self, chunk: usize, columns: &mut [Entry]) {
        let first = chunk * CHUNK;
        let Before { mut gaps, mut surpluses, .. } = self.before[chunk];
        let mut heavy_items = Cursor::new(|item| self.surplus(item), |before| before.surpluses);
        let mut light_items = Cursor::new(|item| self.gap(item), |before| before.gaps);
        let mut last_heavy = None;
        for item in self.items(chunk) {
            if let Some(gap) = self.gap(item) {
                let (alias, _) = heavy_items.seek(self, |sum| sum > gaps);
                // It is below the room, which 64 bits hold.
                columns[item - first] = [self.filled(item) as u64, alias as u64];
                gaps += gap;
                continue;
            }
            surpluses += self.surplus(item).unwrap_or(0);
            // Without a surplus so far, no gap has been filled.
            let filled = match surpluses {
                0 => 0,
                _ => light_items.seek(self, |sum| sum >= surpluses).1,
            };
            // The last gap was begun with some of this surplus or one before, and is at most as
            // large as the room.
            let kept = u128::from(self.room) + surpluses - filled;
            columns[item - first] = [kept as u64, item as u64];
            if let Some(last) = last_heavy.replace(item) {
                columns[last - first][1] = item as u64;
            }
        }
        // The last heavy item of all keeps its whole column.
        if let Some(last) = last_heavy
            && self.before[chunk + 1].next_heavy < self.weights.len()
        {
            columns[last - first][1] = self.before[chunk + 1].next_heavy as u64;
        }
    }
}

/// Goes through the items of one kind, with the sum of what they have of it.
struct Cursor<A, B> {
    amount: A,
    sum_before: B,
    item: usize,
    sum: u128,
}

impl<A: Fn(usize) -> Option<u128>, B: Fn(&Before) -> u128> Cursor<A, B> {
    fn new(amount: A, sum_before: B) -> Self {
        Self { amount, sum_before, item: 0, sum: 0 }
    }

    /// The first item with which the sum has reached something, and that sum. What it is to reach
    /// never becomes less from call to call, and the sum of all items reaches it.
    fn seek(&mut self, plan: &Plan<'_>, reached: impl Fn(u128) -> bool) -> (usize, u128) {
        let ends = &plan.before[1..];
        let chunk = self.item / CHUNK;
        if !reached((self.sum_before)(&ends[chunk])) {
            let behind = &ends[chunk..];
            let chunk = chunk + behind.partition_point(|end| !reached((self.sum_before)(end)));
            (self.item, self.sum) = (chunk * CHUNK, (self.sum_before)(&plan.before[chunk]));
        }
        loop {
            if let Some(amount) = (self.amount)(self.item) {
                if reached(self.sum + amount) {
                    return (self.item, self.sum + amount);
                }
                self.sum += amount;
            }
            self.item += 1;
        }
    }
}

/// The sum of the weights.
///
/// # Errors
///
/// [`Error::NoWeight`] if it is 0, and [`Error::TotalWeight`] if it does not fit 64 bits.
pub(crate) fn total(weights: &[u64]) -> Result<u64, Error> {
    let mut sums = check::try_with_capacity(weights.len().div_ceil(CHUNK))?;
    sums.resize(weights.len().div_ceil(CHUNK), 0_u128);
    parallel::each_chunk(&mut sums, 1, |chunk, sum| {
        let own = weights.chunks(CHUNK).nth(chunk).unwrap_or_default();
        sum[0] = own.iter().copied().map(u128::from).sum();
    });
    let sum: u128 = sums.into_iter().sum();
    match u64::try_from(sum) {
        Ok(0) => Err(Error::NoWeight),
        Ok(total) => Ok(total),
        Err(_) => Err(Error::TotalWeight),
    }
}

/// Builds the table of some weights, on all cores.
///
/// # Errors
///
/// Those of [`total`], and [`Error::Shuffle`] if there is too little memory.
pub(crate) fn build(weights: &[u64]) -> Result<Vec<Entry>, Error> {
    let total = total(weights)?;
    let plan = Plan::new(weights, total)?;
    let len = weights.len() + 1;
    let mut table = memory::try_in_huge_pages(len)?;
    table.push([total, weights.len() as u64]);
    // Fresh pages take as long as what is written into them, so each thread asks for its own.
    parallel::each_chunk(&mut table.spare_capacity_mut()[..len - 1], CHUNK, |chunk, columns| {
        for column in &mut *columns {
            column.write([0; 2]);
        }
        // SAFETY: all of them have just been written.
        plan.fill(chunk, unsafe { memory::assume_init_mut(columns) });
    });
    // SAFETY: there was room for that many, and each chunk has written its own.
    unsafe { table.set_len(len) };
    Ok(table)
}

/// Checks that draws from a table find an item, whatever it was made from.
pub(crate) fn verify(table: &[Entry]) -> Result<(), Error> {
    let Some((&[total, items], columns)) = table.split_first() else {
        return Err(Error::NotATable);
    };
    let is_column = |&[kept, alias]: &Entry| kept <= total && alias < items;
    let has_size = total > 0 && items > 0 && items == columns.len() as u64;
    if has_size && columns.iter().all(is_column) { Ok(()) } else { Err(Error::NotATable) }
}
