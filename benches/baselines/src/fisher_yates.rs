//! The sequential shuffle at the bottom of the parallel ones: Fisher-Yates, in the form of
//! Durstenfeld, *Algorithm 235: Random permutation*, CACM 7(7), 1964.

use crate::stream::Stream;

/// Shuffles in place.
pub(crate) fn shuffle<T>(items: &mut [T], stream: &mut Stream) {
    for last in (1..items.len()).rev() {
        items.swap(last, stream.below(last + 1));
    }
}

/// Fills `out` with the items of `source` in random order: the "inside-out" form. What `out` held
/// is lost.
pub(crate) fn shuffle_into<T: Copy>(source: &[T], out: &mut [T], stream: &mut Stream) {
    assert_eq!(source.len(), out.len(), "as many items as places");
    for (place, &item) in source.iter().enumerate() {
        let other = stream.below(place + 1);
        out[place] = out[other];
        out[other] = item;
    }
}
