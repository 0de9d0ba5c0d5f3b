//! Items as words: what moves items of one size and alignment serves every such type.
//!
//! An item is moved by copying its bytes, and which type they make up does not matter. So the
//! engine is compiled for a few words, and not again for each type: a program that shuffles `u64`,
//! `f64`, `Box` and `usize` contains it once.
//!
//! Where generic code is shared between crates, as it is without optimisation, the library contains
//! the engine for the usual words (`compiled`), and those who depend on it need not compile it.

use core::mem::MaybeUninit;
use core::slice;

/// Calls what moves items with slices of words of their shape in place of slices of their type.
/// Items of other shapes are passed as they are. `$cast` is [`words`] or [`words_mut`].
macro_rules! as_words {
    ($type:ident, $($items:ident by $cast:ident),+ => $call:expr) => {
        as_words!(
            @ $type, [u8] [u16] [u32] [u64] [[u64; 2]] [[u64; 3]], [$($items by $cast),+], $call
        )
    };
    (@ $type:ident, [$word:ty] $([$words:ty])*, [$($items:ident by $cast:ident),+], $call:expr) => {
        if const { $crate::compact::cpu::words::are_alike::<$type, $word>() } {
            $(
                #[allow(unused_unsafe, reason = "only one of the two is unsafe")]
                let $items =
                    // SAFETY: the engine moves the items, or overwrites them with copies of others.
                    unsafe { $crate::compact::cpu::words::$cast::<$type, $word>($items) };
            )+
            $call
        } else {
            as_words!(@ $type, $([$words])*, [$($items by $cast),+], $call)
        }
    };
    (@ $type:ident, , [$($items:ident by $cast:ident),+], $call:expr) => { $call };
}
pub(super) use as_words;

/// Whether two types have one shape.
pub(super) const fn are_alike<T, W>() -> bool {
    size_of::<T>() == size_of::<W>() && align_of::<T>() == align_of::<W>()
}

/// Items as words of their shape.
pub(super) fn words<T, W>(items: &[T]) -> &[MaybeUninit<W>] {
    assert!(are_alike::<T, W>());
    // SAFETY: the items are as many words, of the same size and alignment, and any bytes are such a
    // word. They are only read.
    unsafe { slice::from_raw_parts(items.as_ptr().cast(), items.len()) }
}

/// Items as words of their shape.
///
/// # Safety
///
/// When the words are given back, each is one that was there before, whole.
pub(super) unsafe fn words_mut<T, W>(items: &mut [T]) -> &mut [MaybeUninit<W>] {
    assert!(are_alike::<T, W>());
    // SAFETY: the items are as many words, of the same size and alignment, and any bytes are such a
    // word. They are borrowed mutably for as long as the words are, and the caller promises that
    // all of them are items again afterwards.
    unsafe { slice::from_raw_parts_mut(items.as_mut_ptr().cast(), items.len()) }
}

/// The engine for the usual words, so that the library contains it.
#[cfg(debug_assertions)]
mod compiled {
    use core::mem::MaybeUninit;

    use crate::compact::Direction;
    use crate::compact::cpu::call::PlainCall;
    use crate::compact::cpu::checked_permutation::CheckedPermutation;
    use crate::{Bijection, Error, Workspace};

    type InPlace<W, C> =
        fn(&mut Workspace, CheckedPermutation, &mut [MaybeUninit<W>], C) -> Result<(), Error>;
    type Plainly<W> = (InPlace<W, PlainCall<false>>, InPlace<W, PlainCall<true>>);
    type Into<W> = fn(
        &mut Workspace,
        &dyn Bijection,
        &[MaybeUninit<W>],
        &mut [MaybeUninit<W>],
        Direction,
    ) -> Result<(), Error>;

    macro_rules! compiled {
        ($($name:ident $word:ident)+) => {
            $(#[used]
            static $name: (InPlace<$word, Direction>, Plainly<$word>, Into<$word>) = (
                Workspace::reorder_words,
                (Workspace::reorder_words, Workspace::reorder_words),
                Workspace::reorder_words_into,
            );)+
        };
    }

    compiled!(BYTES u8 HALVES u16 WORDS u32 DOUBLES u64);
}
