//! [`pieces`]: cuts a slice, so that every thread can have its part.

/// Cuts a slice into consecutive pieces of the given lengths.
///
/// # Panics
///
/// If the lengths do not add up to that of the slice.
pub(crate) fn pieces<T>(
    items: &mut [T],
    lengths: impl IntoIterator<Item = usize>,
) -> Vec<&mut [T]> {
    let mut rest = items;
    let pieces = lengths
        .into_iter()
        .map(|len| rest.split_off_mut(..len).expect("as many items as the lengths ask for"))
        .collect();
    assert!(rest.is_empty(), "as many items as the lengths ask for");
    pieces
}
