//! Steps many streams at once: in parallel lanes, or one stream after another.

use super::Generator;
use super::rectangle::Rectangle;

/// How a generator with blocks of one word steps many streams in parallel lanes.
pub(super) trait LockStep<const LANES: usize>: Generator {
    /// The states of `LANES` streams, transposed: the same word of all streams side by side.
    type State;

    /// Reads the states of streams.
    fn gather(streams: &[Self; LANES]) -> Self::State;

    /// Returns the next word of each stream.
    fn step(state: &mut Self::State) -> [u32; LANES];

    /// Writes the states back.
    fn scatter(state: &Self::State, streams: &mut [Self; LANES]);
}

/// [`Steps::next_rows`](super::steps::Steps::next_rows) for blocks of one word, with `LANES`
/// streams at a time.
#[inline(always)]
pub(super) fn fill_columns<const LANES: usize, G: LockStep<LANES>>(
    streams: &mut [G],
    mut out: Rectangle<'_, u32>,
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
        // Spare lanes repeat the last stream, and their words are not written.
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

/// [`Steps::next_rows`](super::steps::Steps::next_rows) stream by stream, for blocks that are long
/// enough to be made in vectors.
#[inline(always)]
pub(super) fn fill_blocks<G: Generator, const VECTOR: usize>(
    streams: &mut [G],
    mut out: Rectangle<'_, u32>,
) {
    for stream in streams {
        let (mut rows, others) = out.split(G::BLOCK);
        out = others;
        for row in 0..rows.rows() {
            stream.next_words::<VECTOR>(rows.row(row));
        }
    }
}
