//! Every kind of lie through every combinator, strategy, pool and form of a call: afterwards each
//! item is there exactly once and is dropped once, and the call has succeeded, refused or unwound.
//!
//! Where a lie is a function of the slot alone, and the same by every method, `Serial` says how the
//! call has to end.

use std::panic::resume_unwind;
use std::sync::Arc;

use crate::common::cases;
use crate::common::hostile::{Counter, End, Liar, survive_in_order, survive_together};
use bijective_shuffle::prelude::*;
use bijective_shuffle::{Strategy, Trusted};
use rayon::ThreadPoolBuilder;

/// How a [`Lies`] lies. `at` is a slot or the number of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
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
    RunsLie,
    /// Writes only half of a run.
    RunsAreShort,
    /// Zeros in runs of the inverse.
    InverseRunsLie,
    /// The slots themselves in 32-bit runs.
    NarrowRunsLie,
    /// Sevens for each of some points.
    EachLies,
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
}

use Kind::*;

const KINDS: [Kind; 36] = [
    Honest,
    Trusted,
    Repeats,
    Stray,
    Far,
    OffByOne,
    Constant,
    Halves,
    LastOnly,
    SwapsTwo,
    WrongInverse,
    FarInverse,
    PanicsInInverse,
    ChangesItsMind,
    Tires,
    PanicsAtCall,
    PanicsAtSlot,
    PerThread,
    Reenters,
    Slow,
    RunsLie,
    RunsAreShort,
    InverseRunsLie,
    NarrowRunsLie,
    EachLies,
    LastShrinks,
    LastGrows,
    LastAlternates,
    HintChanges,
    TrustsFewer,
    TrustsMore,
    TrustsNowAndThen,
    TrustedPanics,
    UncompactsFewer,
    UncompactsConstant,
    UncompactsItself,
];

impl Kind {
    /// Whether all methods give one function of the slot, and one of the index.
    fn is_one_function(self) -> bool {
        match self {
            Honest | Trusted | Repeats | Stray | Far | OffByOne | Constant | Halves | LastOnly
            | SwapsTwo | WrongInverse | FarInverse | PanicsInInverse | PanicsAtSlot | Reenters
            | Slow | HintChanges | UncompactsItself => true,
            ChangesItsMind | Tires | PanicsAtCall | PerThread | RunsLie | RunsAreShort
            | InverseRunsLie | NarrowRunsLie | EachLies | LastShrinks | LastGrows
            | LastAlternates | TrustsFewer | TrustsMore | TrustsNowAndThen | TrustedPanics
            | UncompactsFewer | UncompactsConstant => false,
        }
    }

    /// Whether values or slots may be beyond the domain, where another bijection may answer
    /// anything.
    fn leaves_the_domain(self) -> bool {
        matches!(self, Stray | Far | OffByOne | FarInverse)
    }

    /// Whether it is a bijection and its own inverse's inverse.
    fn is_right(self) -> bool {
        matches!(self, Honest | Trusted | Reenters | Slow | HintChanges | UncompactsItself)
    }
}

type Cipher = VariablePhilox<4>;

/// A cipher on `2^bits` points that lies in one way.
struct Lies {
    kind: Kind,
    honest: Cipher,
    fewer: Cipher,
    more: Cipher,
    constant: Liar<fn(u64) -> u64>,
    panics: Panics,
    last: u64,
    at: u64,
    calls: Counter,
    asked: Counter,
}

impl Lies {
    fn new(kind: Kind, bits: u32, at: u64, seed: u64) -> Self {
        let cipher = |bits: u32| Cipher::from_seed(1 << bits, seed);
        Self {
            kind,
            honest: cipher(bits),
            fewer: cipher(bits - 1),
            more: cipher(bits + 1),
            constant: Liar { last: (1 << bits) - 1, map: |_| 0 },
            panics: Panics { inner: cipher(bits), at, calls: Counter::new(0) },
            last: (1 << bits) - 1,
            at,
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
        let ahead = u64::from(self.kind == RunsLie);
        for (value, slot) in out[..written].iter_mut().zip(first..) {
            *value = self.forward(slot + ahead);
        }
    }

    fn inverse_run(&self, first: u64, out: &mut [u64]) {
        match self.kind {
            InverseRunsLie => out.fill(0),
            _ => out.iter_mut().zip(first..).for_each(|(slot, x)| *slot = self.inverse(x)),
        }
    }

    fn forward_run_u32(&self, first: u64, out: &mut [u32]) {
        let lies = self.kind == NarrowRunsLie;
        for (value, slot) in out.iter_mut().zip(first..) {
            *value = if lies { slot } else { self.forward(slot) } as u32;
        }
    }

    fn forward_each(&self, values: &mut [u64]) {
        match self.kind {
            EachLies => values.fill(7),
            _ => values.iter_mut().for_each(|x| *x = self.forward(*x)),
        }
    }

    fn evaluation_picoseconds(&self) -> u32 {
        match self.kind {
            HintChanges if self.is_late() => u32::MAX,
            HintChanges => 0,
            _ => 10_000,
        }
    }

    fn trusted(&self) -> Option<Trusted<'_>> {
        match self.kind {
            Trusted => Some(Trusted::new(&self.honest)),
            TrustsFewer => Some(Trusted::new(&self.fewer)),
            TrustsMore => Some(Trusted::new(&self.more)),
            TrustsNowAndThen => {
                self.asked.next().is_multiple_of(2).then(|| Trusted::new(&self.honest))
            }
            TrustedPanics => Some(Trusted::new(&self.panics)),
            _ => None,
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

/// What the liar is wrapped in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wrap {
    Reference,
    Boxed,
    Shared,
    Inverse,
    RandomSign,
    ComposeFirst,
    ComposeSecond,
    CycleWalk,
    Permutation,
    Nested,
}

const WRAPS: [Wrap; 10] = [
    Wrap::Reference,
    Wrap::Boxed,
    Wrap::Shared,
    Wrap::Inverse,
    Wrap::RandomSign,
    Wrap::ComposeFirst,
    Wrap::ComposeSecond,
    Wrap::CycleWalk,
    Wrap::Permutation,
    Wrap::Nested,
];

/// The liar in a combinator, if its constructor takes it.
fn wrap<'a>(f: &'a Lies, wrap: Wrap, len: u64) -> Result<Box<dyn Bijection + 'a>, Error> {
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
        Wrap::CycleWalk => Box::new(CycleWalk::to_last(f, f.last - f.at % 3)?),
        Wrap::Permutation => Box::new(Permutation::with_bijection(len + f.at % 2, f)?),
        Wrap::Nested => Box::new(Inverse::new(RandomSign::new(Compose::new(f, other)?, true))),
    })
}

/// The call that is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Workspace,
    Extension,
    Together,
    ExtensionTogether,
    Permutation,
    Shuffled,
    Into,
    Indices,
}

const FORMS: [Form; 8] = [
    Form::Workspace,
    Form::Extension,
    Form::Together,
    Form::ExtensionTogether,
    Form::Permutation,
    Form::Shuffled,
    Form::Into,
    Form::Indices,
];

#[derive(Clone, Copy, Debug)]
struct Case {
    kind: Kind,
    wrap: Wrap,
    form: Form,
    strategy: Strategy,
    back: bool,
    bits: u32,
    len: usize,
    at: u64,
    seed: u64,
}

/// What stays from case to case: a workspace has to serve after any lie.
struct World {
    workspaces: Vec<(Strategy, Workspace)>,
}

impl World {
    fn new() -> Self {
        let workspace = |strategy| (strategy, Workspace::new().with_strategy(strategy));
        let strategies = [Strategy::Auto, Strategy::Direct, Strategy::Partitioned];
        Self { workspaces: strategies.map(workspace).into() }
    }

    /// Runs a case in the current pool.
    fn run(&mut self, case: Case) {
        let Case { kind, len, .. } = case;
        let lies = || Lies::new(kind, case.bits, case.at, case.seed);
        let f = lies();
        let Ok(wrapped) = wrap(&f, case.wrap, len as u64) else { return };
        let mut workspaces = self.workspaces.iter_mut();
        let (_, workspace) = workspaces.find(|(strategy, _)| *strategy == case.strategy).unwrap();
        let (end, order) = case.call(&*wrapped, workspace);
        if end == End::Done {
            let mut ids = order.clone();
            ids.sort_unstable();
            assert!(ids.into_iter().eq(0..len), "no permutation: {case:?}");
        }
        if let Some((expected, expected_order)) = case.expected(&lies()) {
            assert_eq!(end, expected, "{case:?}");
            assert!(end != End::Done || order == expected_order, "another order: {case:?}");
            assert!(
                end == End::Done || !kind.is_right() || len as u64 > wrapped.last() + 1,
                "what is right is refused: {case:?}"
            );
        }
    }
}

impl Case {
    fn random(numbers: &mut Numbers, large: bool) -> Self {
        // A domain from which on there are threads, or any small one; and a length up to one too
        // many.
        let bits = if large { 18 } else { 2 + numbers.below(8) as u32 };
        let most = (1 << bits) + 2;
        let least = if large { most / 2 } else { 0 };
        let len = least + numbers.below(most - least);
        // Among the slots, at their end, or among all calls.
        let slots = 1 << bits;
        let at =
            [numbers.below(slots), slots - 1, numbers.below(4 * slots)][numbers.below(3) as usize];
        Self {
            kind: numbers.pick(&KINDS),
            wrap: numbers.pick(&WRAPS),
            form: numbers.pick(&FORMS),
            strategy: numbers.pick(&[Strategy::Auto, Strategy::Direct, Strategy::Partitioned]),
            back: numbers.below(2) == 1,
            bits,
            len: len as usize,
            at,
            seed: numbers.next(),
        }
    }

    /// Makes the call, and gives its end and the items' order, having seen that none is lost.
    fn call(&self, f: &dyn Bijection, workspace: &mut Workspace) -> (End, Vec<usize>) {
        let (len, back) = (self.len, self.back);
        match self.form {
            Form::Workspace if back => survive_in_order(len, |items| workspace.unshuffle(f, items)),
            Form::Workspace => survive_in_order(len, |items| workspace.shuffle(f, items)),
            Form::Extension => survive_in_order(len, |items| match back {
                true => items.par_bijective_unshuffle_with(f),
                false => items.par_bijective_shuffle_with(f),
            }),
            Form::Together => survive_together(len, |a, b| match back {
                true => workspace.unshuffle_together(f, (a, b)),
                false => workspace.shuffle_together(f, (a, b)),
            }),
            Form::ExtensionTogether => survive_together(len, |a, b| match back {
                true => (a, b).par_bijective_unshuffle_together_with(f),
                false => (a, b).par_bijective_shuffle_together_with(f),
            }),
            Form::Permutation => survive_in_order(len, |items| {
                let p = Permutation::with_bijection(items.len() as u64, f)?;
                if back { p.unapply_in_place(items) } else { p.apply_in_place(items) }
            }),
            Form::Shuffled => shuffled(len, f),
            Form::Into => {
                let source: Vec<usize> = (0..len).collect();
                let mut out = source.clone();
                let end = End::of(|| workspace.shuffle_into(f, &source, &mut out));
                assert!(out.iter().all(|&item| item < len), "made up: {self:?}");
                (end, out)
            }
            Form::Indices => {
                let mut out = vec![0_u64; len];
                let end = End::of(|| Cpu.indices(f, &mut out));
                (end, out.into_iter().map(|index| index as usize).collect())
            }
        }
    }

    /// Whether the call moves items back.
    fn is_back(&self) -> bool {
        self.back && !matches!(self.form, Form::Shuffled | Form::Into | Form::Indices)
    }

    /// How the call has to end, and in which order, if that is sure.
    fn expected(&self, f: &Lies) -> Option<(End, Vec<usize>)> {
        let composed = matches!(self.wrap, Wrap::ComposeFirst | Wrap::CycleWalk | Wrap::Nested);
        // An index may be made by forward or by inverse evaluations.
        let by_index = self.wrap == Wrap::Permutation && !self.kind.is_right();
        let is_sure = self.kind.is_one_function()
            && !(composed && self.kind.leaves_the_domain())
            && !by_index;
        if !is_sure {
            return None;
        }
        let wrapped = wrap(f, self.wrap, self.len as u64).ok()?;
        let mut order = vec![0_u64; self.len];
        let end = End::of(|| Serial.indices(&*wrapped, &mut order));
        let mut order: Vec<usize> = order.into_iter().map(|index| index as usize).collect();
        if end == End::Done && self.is_back() {
            let places = order.clone();
            for (place, index) in places.into_iter().enumerate() {
                order[index] = place;
            }
        }
        Some((end, order))
    }
}

/// An item whose clones and drops are counted.
struct Clones<'a> {
    id: usize,
    clones: &'a Counter,
    drops: &'a Counter,
}

impl Clone for Clones<'_> {
    fn clone(&self) -> Self {
        self.clones.next();
        Self { ..*self }
    }
}

impl Drop for Clones<'_> {
    fn drop(&mut self) {
        self.drops.next();
    }
}

/// Makes a shuffled copy, and checks that each clone is dropped once.
fn shuffled(len: usize, f: &dyn Bijection) -> (End, Vec<usize>) {
    let (clones, drops) = (Counter::new(0), Counter::new(0));
    let mut order = Vec::new();
    let items: Vec<_> = (0..len).map(|id| Clones { id, clones: &clones, drops: &drops }).collect();
    let end = End::of(|| {
        let copy = items.par_bijective_shuffled_with(f)?;
        order.extend(copy.iter().map(|item| item.id));
        Ok(())
    });
    assert_eq!(drops.get(), clones.get(), "clones are dropped once: {end:?}");
    drop(items);
    assert_eq!(drops.get(), clones.get() + len as u64, "items are dropped once: {end:?}");
    if end == End::Done {
        let mut ids = order.clone();
        ids.sort_unstable();
        assert!(ids.into_iter().eq(0..len), "a clone is missing");
    }
    (end, order)
}

/// A sequence of numbers: SplitMix64.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let x = (self.0 ^ self.0 >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let x = (x ^ x >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        x ^ x >> 31
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    fn pick<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len() as u64) as usize]
    }
}

/// Makes a call in pools of several numbers of threads. It stays in one for many cases, as to enter
/// takes longer than most of them.
fn in_each_pool(mut call: impl FnMut() + Send) {
    for threads in [1, 2, 3, 7] {
        let pool = ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(&mut call);
    }
}

#[test]
fn no_lie_loses_an_item() {
    let (mut world, mut numbers) = (World::new(), Numbers(1));
    in_each_pool(|| {
        for number in 0..cases(6_000) / 4 {
            world.run(Case::random(&mut numbers, number % 400 == 399));
        }
    });
}

/// Each kind through each form, so that none is left to chance.
#[test]
fn every_kind_meets_every_form() {
    let (mut world, mut numbers) = (World::new(), Numbers(2));
    in_each_pool(|| {
        for kind in KINDS {
            for form in FORMS {
                for back in [false, true] {
                    let case = Case::random(&mut numbers, false);
                    world.run(Case { kind, form, back, ..case });
                }
            }
        }
    });
}
