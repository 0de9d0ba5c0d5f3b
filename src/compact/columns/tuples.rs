//! Tuples of one to eight columns.

/// Calls a macro with the type parameters of every tuple of one to eight columns.
macro_rules! for_tuples {
    ($macro:ident) => {
        $macro! {
            (A)
            (A B)
            (A B C)
            (A B C D)
            (A B C D E)
            (A B C D E F)
            (A B C D E F G)
            (A B C D E F G H)
        }
    };
}
pub(super) use for_tuples;
