//! The rows of an ensemble's numbers, and how streams fill them.

use core::marker::PhantomData;

use super::Generator;

/// A rectangle of numbers: some columns of some rows.
#[derive(Debug)]
pub struct Rows<'a, N> {
    first: *mut N,
    stride: usize,
    columns: usize,
    rows: usize,
    numbers: PhantomData<&'a mut [N]>,
}

// SAFETY: it is a mutable borrow of its numbers and nothing else.
unsafe impl<N: Send> Send for Rows<'_, N> {}

impl<'a, N> Rows<'a, N> {
    /// All columns of whole rows.
    pub(super) fn new(numbers: &'a mut [N], columns: usize) -> Self {
        let rows = if columns == 0 { 0 } else { numbers.len() / columns };
        Self { first: numbers.as_mut_ptr(), stride: columns, columns, rows, numbers: PhantomData }
    }

    /// How many columns there are.
    #[inline(always)]
    pub(super) fn columns(&self) -> usize {
        self.columns
    }

    /// How many rows there are.
    #[inline(always)]
    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    /// The columns of one row.
    #[inline(always)]
    pub(super) fn row(&mut self, row: usize) -> &mut [N] {
        assert!(row < self.rows);
        // SAFETY: the row is one of those that were borrowed, so its first number is in bounds.
        let first = unsafe { self.first.add(row * self.stride) };
        // SAFETY: `columns` numbers from there on are this rectangle's alone, borrowed for as long as `self` is.
        unsafe { core::slice::from_raw_parts_mut(first, self.columns) }
    }

    /// The same rectangle for a while.
    pub(super) fn reborrow(&mut self) -> Rows<'_, N> {
        Rows { numbers: PhantomData, ..*self }
    }

    /// The first rows, and the others.
    pub(super) fn split_rows(self, rows: usize) -> (Self, Self) {
        assert!(rows <= self.rows);
        // Wrapping, as it may be past the end.
        let second = self.first.wrapping_add(rows * self.stride);
        (Self { rows, ..self }, Self { first: second, rows: self.rows - rows, ..self })
    }

    /// The first columns, and the others.
    pub(super) fn split(self, columns: usize) -> (Self, Self) {
        assert!(columns <= self.columns);
        // Wrapping, as it may be past the end where there are no rows.
        let second = self.first.wrapping_add(columns);
        let rest = self.columns - columns;
        (Self { columns, ..self }, Self { first: second, columns: rest, ..self })
    }
}

/// How a generator with blocks of one word steps many streams at once.
pub(super) trait Columns<const LANES: usize>: Generator {
    /// The state of so many streams, the same word of all side by side.
    type State;

    /// Takes the state of streams.
    fn gather(streams: &[Self; LANES]) -> Self::State;

    /// The next word of each.
    fn step(state: &mut Self::State) -> [u32; LANES];

    /// Puts the state back.
    fn scatter(state: &Self::State, streams: &mut [Self; LANES]);
}

/// [`Steps::next_rows`](super::steps::Steps::next_rows) for blocks of one word, `LANES` streams at a time.
#[inline(always)]
pub(super) fn fill_columns<const LANES: usize, G: Columns<LANES>>(
    streams: &mut [G],
    mut out: Rows<'_, u32>,
) {
    let (chunks, rest) = streams.as_chunks_mut::<LANES>();
    for chunk in chunks {
        let (mut rows, others) = out.split(LANES);
        out = others;
        let mut state = G::gather(chunk);
        for row in 0..rows.rows() {
            rows.row(row).copy_from_slice(&G::step(&mut state));
        }
        G::scatter(&state, chunk);
    }
    if let Some(last) = rest.last() {
        // Lanes to spare step as the last stream does, and are not written.
        let mut padded: [G; LANES] =
            core::array::from_fn(|lane| rest.get(lane).unwrap_or(last).clone());
        let mut state = G::gather(&padded);
        let width = rest.len();
        for row in 0..out.rows() {
            out.row(row).copy_from_slice(&G::step(&mut state)[..width]);
        }
        G::scatter(&state, &mut padded);
        rest.clone_from_slice(&padded[..width]);
    }
}

/// [`Steps::next_rows`](super::steps::Steps::next_rows), stream by stream, for blocks that are long enough to be made in vectors.
#[inline(always)]
pub(super) fn fill_blocks<G: Generator, const VECTOR: usize>(
    streams: &mut [G],
    mut out: Rows<'_, u32>,
) {
    for stream in streams {
        let (mut rows, others) = out.split(G::BLOCK);
        out = others;
        for row in 0..rows.rows() {
            stream.next_words::<VECTOR>(rows.row(row));
        }
    }
}
