//! Bijections that lie, each in its own way, and what they are wrapped in.

use std::panic::resume_unwind;
use std::sync::Arc;

use bijective_shuffle::Error;
use bijective_shuffle::Trusted;
use bijective_shuffle::TrustedBijection;
use bijective_shuffle::bijection::hooks::{EngineHooks, Passes};
use bijective_shuffle::bijection::{Compose, CycleWalk, Inverse, RandomSign, VariablePhilox};
use bijective_shuffle::prelude::*;

use crate::hostile::{Counter, Liar};
use crate::items::mix;

/// Writes an enum, and the list of its variants.
macro_rules! listed {
    ($(#[$of_all:meta])* pub enum $name:ident = $list:ident {
        $($(#[$of_one:meta])* $variant:ident,)*
    }) => {
        $(#[$of_all])*
        pub enum $name {
            $($(#[$of_one])* $variant,)*
        }

        pub const $list: &[$name] = &[$($name::$variant,)*];
    };
}

listed! {
    /// How a [`Lies`] lies. `at` is a slot or the number of a call.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Lie = LIES {
        /// Does not.
        Honest,
        /// Neither, and is vouched for.
        Trusted,
        /// The value of another slot, at one.
        Repeats,
        /// A value just beyond the domain, at one slot.
        Stray,
        /// The largest number there is, at one slot.
        Far,
        /// The next value, everywhere: the last is beyond the domain.
        OffByOne,
        /// One value everywhere.
        Constant,
        /// Half of each value.
        Halves,
        /// The slot itself, at the last.
        LastOnly,
        /// The values of two slots exchanged, and not in the inverse.
        SwapsTwo,
        /// Another inverse than that of the values.
        WrongInverse,
        /// An inverse that is beyond the domain everywhere.
        FarInverse,
        /// Panics in the inverse.
        PanicsInInverse,
        /// Another bijection from some call on.
        ChangesItsMind,
        /// A constant from some call on.
        Tires,
        /// Panics at some call.
        PanicsAtCall,
        /// Panics at one slot.
        PanicsAtSlot,
        /// Another bijection for each thread.
        PerThread,
        /// Right, but it enters rayon while it is evaluated.
        Reenters,
        /// Right, but it gives its time away.
        Slow,
        /// Values of the next slots in runs.
        WrongRuns,
        /// Writes only half of a run.
        RunsAreShort,
        /// Zeros in runs of the inverse.
        WrongInverseRuns,
        /// The slots themselves in 32-bit runs.
        WrongNarrowRuns,
        /// Sevens for each of some points.
        WrongEach,
        /// A domain of fewer points from some call on.
        LastShrinks,
        /// A domain of more points from some call on.
        LastGrows,
        /// Domains of more and fewer points in turn.
        LastAlternates,
        /// Now dear and now free.
        HintChanges,
        /// Vouches for a bijection on fewer points.
        TrustsFewer,
        /// Vouches for a bijection on more points.
        TrustsMore,
        /// Vouches only every other time.
        TrustsNowAndThen,
        /// Vouches for one that panics at some call.
        TrustedPanics,
        /// Says that it compacts from a bijection on fewer points.
        UncompactsFewer,
        /// Says that it compacts from a constant.
        UncompactsConstant,
        /// Says that it compacts from itself.
        UncompactsItself,
        /// Has the passes of another permutation.
        PassesOfAnother,
        /// Has passes of another length.
        PassesOfFewer,
        /// Has passes, and others, and none in turn.
        PassesChange,
        /// Something wrong now and then.
        ByChance,
    }
}

use Lie::*;

impl Lie {
    /// Whether all methods give one function of the slot, and one of the index.
    pub fn is_one_function(self) -> bool {
        match self {
            Honest | Trusted | Repeats | Stray | Far | OffByOne | Constant | Halves | LastOnly
            | SwapsTwo | WrongInverse | FarInverse | PanicsInInverse | PanicsAtSlot | Reenters
            | Slow | HintChanges | UncompactsItself => true,
            ChangesItsMind | Tires | PanicsAtCall | PerThread | WrongRuns | RunsAreShort
            | WrongInverseRuns | WrongNarrowRuns | WrongEach | LastShrinks | LastGrows
            | LastAlternates | TrustsFewer | TrustsMore | TrustsNowAndThen | TrustedPanics
            | UncompactsFewer | UncompactsConstant | PassesOfAnother | PassesOfFewer
            | PassesChange | ByChance => false,
        }
    }

    /// Whether values or slots may be beyond the domain, where another bijection may answer
    /// anything.
    pub fn leaves_the_domain(self) -> bool {
        matches!(self, Stray | Far | OffByOne | FarInverse)
    }

    /// Whether it is a bijection and its own inverse's inverse.
    pub fn is_right(self) -> bool {
        matches!(self, Honest | Trusted | Reenters | Slow | HintChanges | UncompactsItself)
    }
}

type Cipher = VariablePhilox<4>;
type Then = Permutation<Compose<Permutation<Cipher>, Permutation<Cipher>>>;

/// A cipher on `2^bits` points that lies in one way.
pub struct Lies {
    kind: Lie,
    honest: Cipher,
    fewer: Cipher,
    more: Cipher,
    constant: Liar<fn(u64) -> u64>,
    /// Permutations of as many items as points, and of fewer.
    passes: [Then; 2],
    panics: Panics,
    last: u64,
    at: u64,
    seed: u64,
    calls: Counter,
    asked: Counter,
}

impl Lies {
    pub fn new(kind: Lie, bits: u32, at: u64, seed: u64) -> Self {
        let cipher = |bits: u32| Cipher::from_seed(1 << bits, seed);
        let passes = |len| {
            let part = |bits| Permutation::from_bijection(len, cipher(bits)).unwrap();
            part(bits + 1).then(&part(bits).inverted()).unwrap()
        };
        Self {
            kind,
            honest: cipher(bits),
            fewer: cipher(bits - 1),
            more: cipher(bits + 1),
            constant: Liar { last: (1 << bits) - 1, map: |_| 0 },
            passes: [passes(1 << bits), passes((1 << bits) - 1)],
            panics: Panics { inner: cipher(bits), at, calls: Counter::new(0) },
            last: (1 << bits) - 1,
            at,
            seed,
            calls: Counter::new(0),
            asked: Counter::new(0),
        }
    }

    /// Whether it is time to lie about what is asked once in a call.
    fn is_late(&self) -> bool {
        self.asked.next() > self.at % 5
    }

    fn right(&self, slot: u64) -> u64 {
        self.honest.forward(slot & self.last)
    }

    /// Wrong in one of six ways, at one slot in `rate`.
    fn by_chance(&self, slot: u64, call: u64) -> u64 {
        let (way, rate) = (self.seed % 6, 1 + self.seed / 6 % 200);
        let dice = mix(slot ^ self.seed) >> 20;
        if !dice.is_multiple_of(rate) {
            return self.right(slot);
        }
        match way {
            0 => self.right(dice),
            1 => dice,
            2 => u64::MAX,
            3 => self.right(slot) ^ call & self.last,
            4 => call & self.last,
            _ => unwind(),
        }
    }
}

fn unwind<R>() -> R {
    // Unwinds as a panic does, without the message.
    resume_unwind(Box::new("as it should"))
}

impl Bijection for Lies {
    fn last(&self) -> u64 {
        match self.kind {
            LastShrinks if self.is_late() => self.last / 2,
            LastGrows if self.is_late() => self.last * 2 + 1,
            LastAlternates => {
                [self.last, self.last / 2, self.last * 2][self.asked.next() as usize % 3]
            }
            _ => self.last,
        }
    }

    fn forward(&self, slot: u64) -> u64 {
        let call = self.calls.next();
        match self.kind {
            Repeats if slot == self.at => self.right(slot ^ 1),
            Stray if slot == self.at => self.last + 1 + self.at,
            Far if slot == self.at => u64::MAX,
            OffByOne => self.right(slot) + 1,
            Constant => self.at & self.last,
            Halves => self.right(slot) / 2,
            LastOnly if slot == self.last => slot,
            SwapsTwo if slot | 1 == self.at | 1 => self.right(slot ^ 1),
            ChangesItsMind if call >= self.at => self.right(slot ^ 1),
            Tires if call >= self.at => 0,
            PanicsAtCall if call == self.at => unwind(),
            PanicsAtSlot if slot == self.at => unwind(),
            PerThread => self.right(slot ^ rayon::current_thread_index().unwrap_or(9) as u64),
            Reenters if call % 1024 == self.at % 1024 => {
                rayon::join(|| self.right(slot), || self.right(slot)).0
            }
            Slow if call.is_multiple_of(64) => {
                std::thread::yield_now();
                self.right(slot)
            }
            ByChance => self.by_chance(slot, call),
            _ => self.right(slot),
        }
    }

    fn inverse(&self, index: u64) -> u64 {
        let call = self.calls.next();
        match self.kind {
            WrongInverse => self.right(index),
            FarInverse => index | !self.last,
            PanicsInInverse => unwind(),
            Constant => self.at & self.last,
            PanicsAtCall if call == self.at => unwind(),
            Tires if call >= self.at => 0,
            _ => self.honest.inverse(index & self.last),
        }
    }

    fn forward_run(&self, first: u64, out: &mut [u64]) {
        let written = if self.kind == RunsAreShort { out.len() / 2 } else { out.len() };
        let ahead = u64::from(self.kind == WrongRuns);
        for (value, slot) in out[..written].iter_mut().zip(first..) {
            *value = self.forward(slot + ahead);
        }
    }

    fn inverse_run(&self, first: u64, out: &mut [u64]) {
        match self.kind {
            WrongInverseRuns => out.fill(0),
            _ => out.iter_mut().zip(first..).for_each(|(slot, x)| *slot = self.inverse(x)),
        }
    }

    fn forward_each(&self, values: &mut [u64]) {
        match self.kind {
            WrongEach => values.fill(7),
            _ => values.iter_mut().for_each(|x| *x = self.forward(*x)),
        }
    }

    fn trusted(&self) -> Option<Trusted<'_>> {
        let vouch = |cipher| match self.seed & 1 {
            0 => Trusted::new(cipher),
            _ => Trusted::new(cipher).panic_free(),
        };
        match self.kind {
            Trusted => Some(vouch(&self.honest)),
            TrustsFewer => Some(vouch(&self.fewer)),
            TrustsMore => Some(vouch(&self.more)),
            TrustsNowAndThen => self.asked.next().is_multiple_of(2).then(|| vouch(&self.honest)),
            TrustedPanics => Some(Trusted::new(&self.panics)),
            _ => None,
        }
    }

    fn hooks(&self) -> Option<&dyn EngineHooks> {
        Some(self)
    }
}

impl EngineHooks for Lies {
    fn forward_run_u32(&self, first: u64, out: &mut [u32]) {
        let lies = self.kind == WrongNarrowRuns;
        for (value, slot) in out.iter_mut().zip(first..) {
            *value = if lies { slot } else { self.forward(slot) } as u32;
        }
    }

    fn evaluation_picoseconds(&self) -> u32 {
        match self.kind {
            HintChanges if self.is_late() => u32::MAX,
            HintChanges => 0,
            _ => 10_000,
        }
    }

    fn uncompacted(&self) -> Option<&dyn Bijection> {
        match self.kind {
            UncompactsFewer => Some(&self.fewer),
            UncompactsConstant => Some(&self.constant),
            UncompactsItself => Some(self),
            _ => None,
        }
    }

    fn passes(&self) -> Option<Passes<Trusted<'_>>> {
        let [another, fewer] = &self.passes;
        match self.kind {
            PassesOfAnother => EngineHooks::passes(another),
            PassesOfFewer => EngineHooks::passes(fewer),
            PassesChange => [EngineHooks::passes(another), EngineHooks::passes(fewer), None]
                .into_iter()
                .nth(self.asked.next() as usize % 3)?,
            _ => None,
        }
    }
}

/// A cipher that panics at some call.
struct Panics {
    inner: Cipher,
    at: u64,
    calls: Counter,
}

impl Panics {
    fn call(&self) {
        if self.calls.next() == self.at {
            unwind::<()>();
        }
    }
}

impl Bijection for Panics {
    fn last(&self) -> u64 {
        self.inner.last()
    }
    fn forward(&self, slot: u64) -> u64 {
        self.call();
        self.inner.forward(slot)
    }
    fn inverse(&self, index: u64) -> u64 {
        self.call();
        self.inner.inverse(index)
    }
}

// SAFETY: every answer is that of a built-in bijection, if there is one.
unsafe impl TrustedBijection for Panics {}

listed! {
    /// What the liar is wrapped in.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Wrap = WRAPS {
        Reference,
        Boxed,
        Shared,
        Inverse,
        RandomSign,
        ComposeFirst,
        ComposeSecond,
        CycleWalk,
        Permutation,
        Then,
        Nested,
    }
}

/// The liar in a combinator, if its constructor takes it.
pub fn wrap<'a>(f: &'a Lies, wrap: Wrap, len: u64) -> Result<Box<dyn Bijection + 'a>, Error> {
    let other = Cipher::from_seed(f.last + 1, f.at);
    Ok(match wrap {
        Wrap::Reference => Box::new(f),
        Wrap::Boxed => Box::new(Box::new(f) as Box<dyn Bijection + 'a>),
        Wrap::Shared => Box::new(Arc::new(f)),
        Wrap::Inverse => Box::new(Inverse::new(f)),
        Wrap::RandomSign => Box::new(RandomSign::new(f, true)),
        Wrap::ComposeFirst => Box::new(Compose::new(f, other)?),
        Wrap::ComposeSecond => Box::new(Compose::new(other, f)?),
        // A walk ends after as many steps as there are points outside.
        Wrap::CycleWalk => Box::new(CycleWalk::from_last(f, f.last - f.at % 3)?),
        Wrap::Permutation => Box::new(Permutation::from_bijection(len + f.at % 2, f)?),
        Wrap::Then => {
            let (p, q) = (Permutation::from_bijection(len, f)?, Permutation::new(len, f.at));
            if f.at.is_multiple_of(2) { Box::new(p.then(&q)?) } else { Box::new(q.then(&p)?) }
        }
        Wrap::Nested => Box::new(Inverse::new(RandomSign::new(Compose::new(f, other)?, true))),
    })
}
