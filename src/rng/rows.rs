//! The rows of an ensemble's numbers, and how streams fill them.

use core::marker::PhantomData;

use super::Generator;
use super::number::{self, Draw, MOST_NUMBERS, MOST_WORDS};

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

    /// The first columns, and the others.
    pub(super) fn split(self, columns: usize) -> (Self, Self) {
        assert!(columns <= self.columns);
        // Wrapping, as it may be past the end where there are no rows.
        let second = self.first.wrapping_add(columns);
        let rest = self.columns - columns;
        (Self { columns, ..self }, Self { first: second, columns: rest, ..self })
    }
}

/// A fill takes a multiple of so many rows: pairs of normal numbers are in two rows, where a block is one word.
pub(super) const fn group<G: Generator, D: Draw>() -> usize {
    if G::BLOCK < D::NUMBERS { D::NUMBERS } else { 1 }
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

/// [`Steps::fill_rows`](super::steps::Steps::fill_rows) for blocks of one word, `LANES` streams at a time.
#[inline(always)]
pub(super) fn fill_columns<const LANES: usize, G, D>(
    streams: &mut [G],
    mut out: Rows<'_, D::Number>,
) where
    G: Columns<LANES>,
    D: Draw,
{
    let (chunks, rest) = streams.as_chunks_mut::<LANES>();
    for chunk in chunks {
        let (mut rows, others) = out.split(LANES);
        out = others;
        fill_lanes::<LANES, G, D>(chunk, rows.rows(), |row, numbers| {
            rows.row(row).copy_from_slice(numbers);
        });
    }
    if let Some(last) = rest.last() {
        // Lanes to spare step as the last stream does, and are not written.
        let mut padded: [G; LANES] =
            core::array::from_fn(|lane| rest.get(lane).unwrap_or(last).clone());
        fill_lanes::<LANES, G, D>(&mut padded, out.rows(), |row, numbers| {
            let row = out.row(row);
            let width = row.len();
            row.copy_from_slice(&numbers[..width]);
        });
        let width = rest.len();
        rest.clone_from_slice(&padded[..width]);
    }
}

#[inline(always)]
fn fill_lanes<const LANES: usize, G: Columns<LANES>, D: Draw>(
    streams: &mut [G; LANES],
    rows: usize,
    mut write: impl FnMut(usize, &[D::Number; LANES]),
) {
    let mut state = G::gather(streams);
    let mut words = [[0; LANES]; MOST_WORDS];
    let mut numbers = [[D::Number::default(); LANES]; MOST_NUMBERS];
    for first in (0..rows).step_by(D::NUMBERS) {
        for word in &mut words[..D::WORDS] {
            *word = G::step(&mut state);
        }
        D::draw(&words, &mut numbers);
        for (k, numbers) in numbers[..D::NUMBERS].iter().enumerate() {
            write(first + k, numbers);
        }
    }
    G::scatter(&state, streams);
}

/// The most words of a block of numbers: two a number, of the longest block.
const MOST_BLOCK: usize = 2 * 512;

/// [`Steps::fill_rows`](super::steps::Steps::fill_rows), stream by stream, for blocks that are long enough to be made in vectors.
#[inline(always)]
pub(super) fn fill_blocks<G: Generator, D: Draw, const VECTOR: usize>(
    streams: &mut [G],
    mut out: Rows<'_, D::Number>,
) {
    let words_of_block = G::BLOCK * D::WORDS / D::NUMBERS;
    let mut words = [0; MOST_BLOCK];
    let words = &mut words[..words_of_block];
    for stream in streams {
        let (mut rows, others) = out.split(G::BLOCK);
        out = others;
        for row in 0..rows.rows() {
            let row = rows.row(row);
            if let Some(row) = D::as_words(row) {
                stream.next_words::<VECTOR>(row);
            } else {
                stream.next_words::<VECTOR>(words);
                number::in_order::<D>(words, row);
            }
        }
    }
}
