//! Tuples of up to twelve columns.

/// Calls a macro with the type parameters of every tuple of up to twelve columns.
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
            (A B C D E F G H I)
            (A B C D E F G H I J)
            (A B C D E F G H I J K)
            (A B C D E F G H I J K L)
        }
    };
}
pub(super) use for_tuples;
