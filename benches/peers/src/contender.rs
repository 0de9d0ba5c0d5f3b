//! [`Contender`]: something that is measured.

use crate::arena::Arena;

/// A contender's work. The time of [`run`](Self::run) is measured, and that of
/// [`prepare`](Self::prepare) is not.
pub(crate) trait Runner {
    /// Gets ready for a number of calls on `len` items: call `k` is to use `seed + k`, if it takes
    /// a seed.
    fn prepare(&mut self, len: usize, seed: u64, calls: usize);

    /// Does the work once.
    fn run(&mut self, arena: &mut Arena, call: usize);

    /// Whether the items are to be in another order afterwards, and not in the same.
    fn moves(&self) -> bool {
        true
    }
}

/// A [`Runner`] with its name.
pub(crate) struct Contender {
    pub(crate) name: String,
    pub(crate) runner: Box<dyn Runner>,
}

impl Contender {
    pub(crate) fn new(name: impl Into<String>, runner: impl Runner + 'static) -> Self {
        Self { name: name.into(), runner: Box::new(runner) }
    }
}

/// What a [`Seeded`] does.
type Shuffle<T> = dyn FnMut(&mut [T], u64);

/// A shuffle in place by a seed, with its name: what is measured from the first call on.
pub(crate) struct Seeded<T> {
    pub(crate) name: &'static str,
    pub(crate) shuffle: Box<Shuffle<T>>,
}

impl<T> Seeded<T> {
    pub(crate) fn new(name: &'static str, shuffle: impl FnMut(&mut [T], u64) + 'static) -> Self {
        Self { name, shuffle: Box::new(shuffle) }
    }
}

/// Which contenders take part.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Choice<'a> {
    /// Only those whose name contains one of these, if there are any.
    pub(crate) only: &'a [String],
    /// And none whose name contains one of these.
    pub(crate) skip: &'a [String],
}

impl Choice<'_> {
    /// Whether a contender with this name does.
    pub(crate) fn takes(self, name: &str) -> bool {
        let has = |texts: &[String]| texts.iter().any(|text| name.contains(&**text));
        (self.only.is_empty() || has(self.only)) && !has(self.skip)
    }
}
