//! [`Passes`]: compactions that are done one after the other.

use alloc::{vec, vec::Vec};

/// The compactions that together move items as one bijection does, in the order in which they are
/// done. [`EngineHooks::passes`](super::hooks::EngineHooks::passes) returns them.
///
/// They cannot be looked into. A bijection that wraps another passes them on.
#[derive(Debug)]
pub struct Passes<B>(Vec<Pass<B>>);

/// One compaction: the bijection, and the length to which it is compacted.
#[doc(hidden)]
#[derive(Debug)]
pub struct Pass<B> {
    pub bijection: B,
    pub len: u64,
    /// Whether it is undone instead.
    pub is_inverted: bool,
}

impl<B> Passes<B> {
    /// One pass, which compacts a bijection to a length.
    pub(super) fn one(bijection: B, len: u64) -> Self {
        Self(vec![Pass { bijection, len, is_inverted: false }])
    }

    /// These passes, and then others.
    pub(super) fn then(mut self, others: Self) -> Self {
        self.0.extend(others.0);
        self
    }

    /// The passes that undo these.
    #[doc(hidden)]
    pub fn inverted(mut self) -> Self {
        self.0.reverse();
        self.0.iter_mut().for_each(|pass| pass.is_inverted = !pass.is_inverted);
        self
    }

    /// The same passes, of other forms of their bijections; `None` if one has none.
    #[doc(hidden)]
    pub fn map<'a, C>(&'a self, form: impl Fn(&'a B) -> Option<C>) -> Option<Passes<C>> {
        let pass = |pass: &'a Pass<B>| {
            let &Pass { ref bijection, len, is_inverted } = pass;
            Some(Pass { bijection: form(bijection)?, len, is_inverted })
        };
        self.0.iter().map(pass).collect::<Option<_>>().map(Passes)
    }

    #[doc(hidden)]
    pub fn as_slice(&self) -> &[Pass<B>] {
        &self.0
    }
}
