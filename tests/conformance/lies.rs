//! Every kind of lie through every combinator and every entry point of every back end: afterwards
//! each item is there exactly once and is dropped once, and the call has succeeded, refused or
//! unwound.
//!
//! Where a lie is a function of the slot alone, and the same by every method, `Serial` says how the
//! call has to end.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;

use bijective_shuffle::prelude::*;
use bijective_shuffle::{Defect, DeviceSource, Passes, Trusted};

use crate::agreement::in_pools;
use crate::common::hostile::{Counter, End, Liar};
use crate::common::{Numbers, cases};
use crate::items::{COUNTED_SHAPES, Items, Kind, Ledger, Shape, Table, mix, order_of};
use crate::under_test::{Answer, DIRECTIONS, Direction, Given, Indices, UnderTest};

/// How a [`Lies`] lies. `at` is a slot or the number of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lie {
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

use Lie::*;

const LIES: [Lie; 40] = [
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
    WrongRuns,
    RunsAreShort,
    WrongInverseRuns,
    WrongNarrowRuns,
    WrongEach,
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
    PassesOfAnother,
    PassesOfFewer,
    PassesChange,
    ByChance,
];

impl Lie {
    /// Whether all methods give one function of the slot, and one of the index.
    fn is_one_function(self) -> bool {
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
    fn leaves_the_domain(self) -> bool {
        matches!(self, Stray | Far | OffByOne | FarInverse)
    }

    /// Whether it is a bijection and its own inverse's inverse.
    fn is_right(self) -> bool {
        matches!(self, Honest | Trusted | Reenters | Slow | HintChanges | UncompactsItself)
    }
}

type Cipher = VariablePhilox<4>;
type Then = Permutation<Compose<Permutation<Cipher>, Permutation<Cipher>>>;

/// A cipher on `2^bits` points that lies in one way.
struct Lies {
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
    fn new(kind: Lie, bits: u32, at: u64, seed: u64) -> Self {
        let cipher = |bits: u32| Cipher::from_seed(1 << bits, seed);
        let passes = |len| {
            let part = |bits| Permutation::with_bijection(len, cipher(bits)).unwrap();
            part(bits + 1).then(&part(bits).inverse()).unwrap()
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

    /// Wrong in one of six ways, at one of so many slots.
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

    fn forward_run_u32(&self, first: u64, out: &mut [u32]) {
        let lies = self.kind == WrongNarrowRuns;
        for (value, slot) in out.iter_mut().zip(first..) {
            *value = if lies { slot } else { self.forward(slot) } as u32;
        }
    }

    fn forward_each(&self, values: &mut [u64]) {
        match self.kind {
            WrongEach => values.fill(7),
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
            PassesOfAnother => another.passes(),
            PassesOfFewer => fewer.passes(),
            PassesChange => [another.passes(), fewer.passes(), None]
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
    Then,
    Nested,
}

const WRAPS: [Wrap; 11] = [
    Wrap::Reference,
    Wrap::Boxed,
    Wrap::Shared,
    Wrap::Inverse,
    Wrap::RandomSign,
    Wrap::ComposeFirst,
    Wrap::ComposeSecond,
    Wrap::CycleWalk,
    Wrap::Permutation,
    Wrap::Then,
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
        Wrap::Then => {
            let (p, q) = (Permutation::with_bijection(len, f)?, Permutation::new(len, f.at));
            if f.at.is_multiple_of(2) { Box::new(p.then(&q)?) } else { Box::new(q.then(&p)?) }
        }
        Wrap::Nested => Box::new(Inverse::new(RandomSign::new(Compose::new(f, other)?, true))),
    })
}

/// An entry point, with what it is called with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Entry {
    InPlace(Direction),
    Copied(Direction),
    Into(Direction),
    Indices { wide: bool },
    Together(Shape, Direction),
}

/// All of them.
fn entries() -> Vec<Entry> {
    let mut all = vec![Entry::Indices { wide: false }, Entry::Indices { wide: true }];
    for to in DIRECTIONS {
        all.extend([Entry::InPlace(to), Entry::Copied(to), Entry::Into(to)]);
        all.extend(COUNTED_SHAPES.iter().map(|&shape| Entry::Together(shape, to)));
    }
    all
}

impl Entry {
    fn is_back(self) -> bool {
        match self {
            Self::InPlace(to) | Self::Copied(to) | Self::Into(to) | Self::Together(_, to) => {
                to == Direction::Unshuffle
            }
            Self::Indices { .. } => false,
        }
    }

    /// Makes the call, and gives its end and the order of the items, having seen that none is lost;
    /// `None` if the back end has no such entry point.
    fn call(self, backend: &mut dyn UnderTest, f: &dyn Bijection, len: usize) -> Option<Outcome> {
        let given = Given::by(f);
        let in_order: Vec<u64> = (0..len as u64).collect();
        let ledger = Ledger::new(len);
        let (end, order) = match self {
            Self::InPlace(to) => {
                let mut items = Items::new(Kind::Counted, &in_order, &ledger);
                let end = end_of(|| backend.in_place(&given, &mut items, to))?;
                assert!(ledger.each_is_alive(1), "dropped on the way: {end:?}");
                let Items::Counted(items) = items else { unreachable!("counted items") };
                (end, order_of(&items))
            }
            Self::Together(shape, to) => {
                let mut table = Table::new(shape, &in_order, &ledger);
                let end = end_of(|| backend.together(&given, &mut table, to))?;
                let order = table.order();
                let columns = if shape == Shape::List { 5 } else { 1 };
                assert!(ledger.each_is_alive(columns), "dropped on the way: {end:?}");
                // It does not panic, as each of the items is there.
                assert!(table == Table::new(shape, &order, &ledger), "torn apart: {end:?}");
                (end, order)
            }
            Self::Copied(to) => {
                let source = Items::new(Kind::Counted, &in_order, &ledger);
                let mut order = in_order.clone();
                let end = end_of(|| {
                    Some(backend.copied(&given, &source, to)?.map(|copy| {
                        let Items::Counted(copy) = copy else { unreachable!("counted items") };
                        order = order_of(&copy);
                    }))
                })?;
                assert!(ledger.each_is_alive(1), "clones are dropped once: {end:?}");
                (end, order)
            }
            Self::Into(to) => {
                let source = Items::new(Kind::Word, &in_order, &ledger);
                let mut out = source.clone();
                let end = end_of(|| backend.into(&given, &source, &mut out, to))?;
                let Items::Word(out) = out else { unreachable!("words") };
                let order: Vec<u64> = out.into_iter().map(unmix).collect();
                assert!(order.iter().all(|&item| item < len as u64), "made up: {end:?}");
                // It may have been overwritten in part.
                (end.clone(), if end == End::Done { order } else { in_order })
            }
            Self::Indices { wide } => {
                let [narrow, both] = Indices::both(len);
                let mut out = if wide { both } else { narrow };
                let end = end_of(|| backend.indices(&given, &mut out))?;
                let order = match out {
                    Indices::Narrow(out) => out.into_iter().map(u64::from).collect(),
                    Indices::Wide(out) => out,
                };
                (end.clone(), if end == End::Done { order } else { in_order })
            }
        };
        assert!(ledger.each_is_alive(0), "not every item was dropped once: {end:?}");
        let mut ids = order.clone();
        if end == End::Done {
            ids.sort_unstable();
        }
        assert!(ids.into_iter().eq(0..len as u64), "an item has moved or is missing: {end:?}");
        Some((end, order))
    }
}

/// How a call has ended, and the order of the items.
type Outcome = (End, Vec<u64>);

/// How a call ends; `None` if there is none.
fn end_of(call: impl FnOnce() -> Answer) -> Option<End> {
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(None) => None,
        Ok(Some(Ok(()))) => Some(End::Done),
        Ok(Some(Err(error))) => Some(End::Refused(error)),
        Err(_) => Some(End::Unwound),
    }
}

/// The index that is mixed to a number: by the inverse of the multiplier.
fn unmix(item: u64) -> u64 {
    item.wrapping_mul(0xF1DE_83E1_9937_733D)
}

#[derive(Clone, Copy, Debug)]
struct Case {
    kind: Lie,
    wrap: Wrap,
    bits: u32,
    len: usize,
    at: u64,
    seed: u64,
}

impl Case {
    /// On a domain of some bits, with a length up to one too many.
    fn random(numbers: &mut Numbers, bits: u32) -> Self {
        let slots = 1 << bits;
        let least = if bits > 10 { slots / 2 } else { 0 };
        // Where it is that of the domain, a bijection is asked for passes.
        let len = match numbers.below(4) {
            0 => slots,
            _ => least + numbers.below(slots + 2 - least),
        };
        // Among the slots, at their end, or among all calls.
        let at =
            [numbers.below(slots), slots - 1, numbers.below(4 * slots)][numbers.below(3) as usize];
        Self {
            kind: if numbers.below(4) == 0 { ByChance } else { numbers.pick(&LIES) },
            wrap: numbers.pick(&WRAPS),
            bits,
            len: len as usize,
            at,
            seed: numbers.next(),
        }
    }

    fn lies(&self) -> Lies {
        Lies::new(self.kind, self.bits, self.at, self.seed)
    }

    /// Makes a call, and checks its end; whether the back end has such an entry point.
    fn check(&self, backend: &mut dyn UnderTest, entry: Entry) -> bool {
        let f = self.lies();
        let Ok(wrapped) = wrap(&f, self.wrap, self.len as u64) else { return true };
        let Some((end, order)) = entry.call(backend, &*wrapped, self.len) else { return false };
        if let Some((expected, expected_order)) = self.expected(entry, &self.lies()) {
            assert_eq!(end, expected, "{self:?}, {entry:?}");
            assert!(end != End::Done || order == expected_order, "another order: {self:?}");
            assert!(
                end == End::Done || !self.kind.is_right() || self.len as u64 > wrapped.last() + 1,
                "what is right is refused: {self:?}, {entry:?}"
            );
        }
        true
    }

    /// How the call has to end, and in which order, if that is sure.
    fn expected(&self, entry: Entry, f: &Lies) -> Option<Outcome> {
        let composed = matches!(self.wrap, Wrap::ComposeFirst | Wrap::CycleWalk | Wrap::Nested);
        // An index may be made by forward or by inverse evaluations.
        let by_index = matches!(self.wrap, Wrap::Permutation | Wrap::Then) && !self.kind.is_right();
        let is_sure = self.kind.is_one_function()
            && !(composed && self.kind.leaves_the_domain())
            && !by_index;
        if !is_sure {
            return None;
        }
        let wrapped = wrap(f, self.wrap, self.len as u64).ok()?;
        let mut order = vec![0_u64; self.len];
        let end = End::of(|| Serial.indices(&*wrapped, &mut order));
        if end == End::Done && entry.is_back() {
            for (place, index) in order.clone().into_iter().enumerate() {
                order[index as usize] = place as u64;
            }
        }
        Some((end, order))
    }
}

/// Whether it takes bijections that have no text for a GPU.
fn takes_lies(backend: &dyn UnderTest) -> bool {
    backend.serves(&Given::by(&Lies::new(Honest, 3, 0, 0)))
}

/// Any lie in any wrapping, by any entry point, in pools of several numbers of threads.
pub(crate) fn no_lie_loses_an_item(backend: &mut dyn UnderTest) {
    if !takes_lies(backend) {
        return;
    }
    let (mut numbers, entries) = (Numbers(1), entries());
    in_pools(backend, &[1, 2, 3, 7], |backend| {
        for _ in 0..cases(3000) {
            let bits = 2 + numbers.below(8) as u32;
            Case::random(&mut numbers, bits).check(backend, numbers.pick(&entries));
        }
        // Each kind by each entry point, so that none is left to chance.
        for kind in LIES {
            for &entry in &entries {
                let case = Case::random(&mut numbers, 6);
                Case { kind, ..case }.check(backend, entry);
            }
        }
    });
}

/// Domains from which on there are threads, and waves of tiles for them.
pub(crate) fn many_items_survive_each_lie(backend: &mut dyn UnderTest) {
    if !takes_lies(backend) || !backend.has_threads() {
        return;
    }
    let (mut numbers, entries) = (Numbers(2), entries());
    for kind in LIES {
        for _ in 0..cases(1) {
            let bits = 18 + u32::from(numbers.below(8) == 0);
            let case = Case { kind, ..Case::random(&mut numbers, bits) };
            let threads = numbers.pick(&[1, 2, 3, 7]);
            in_pools(
                backend,
                &[threads],
                |backend| {
                    while !case.check(backend, numbers.pick(&entries)) {}
                },
            );
        }
    }
}

/// A lie that a GPU can be told as well.
struct Told {
    last: u64,
    map: fn(u64) -> u64,
    text: &'static str,
}

impl Bijection for Told {
    fn last(&self) -> u64 {
        self.last
    }
    fn forward(&self, slot: u64) -> u64 {
        (self.map)(slot)
    }
    fn inverse(&self, index: u64) -> u64 {
        index
    }
    fn device_source(&self) -> Option<DeviceSource> {
        let text = format!(
            "struct Told {{
                uint64_t unused;
                __device__ uint64_t forward(uint64_t slot) const {{ return {}; }}
                __device__ uint64_t inverse(uint64_t index) const {{ return index; }}
            }};",
            self.text
        );
        // SAFETY: the functions end and touch nothing, whatever they answer.
        Some(unsafe { DeviceSource::new("Told", text, vec![0; 8]) })
    }
}

/// Lies that are found by whichever back end, and what each finds.
pub(crate) fn lies_are_found(backend: &mut dyn UnderTest) {
    let told = |last, map, text| Told { last, map, text };
    let lies: [(usize, Told); 15] = [
        (1000, told(1023, |_| 0, "0")),
        (512, told(1023, |x| x / 2, "slot / 2")),
        (1000, told(1023, |x| x / 2, "slot / 2")),
        (1024, told(1023, |x| x ^ u64::from(x == 5), "slot ^ (slot == 5)")),
        // As many survivors as items, since 77 never comes and 78 twice.
        (1000, told(1023, |x| if x == 77 { 78 } else { x }, "slot == 77 ? 78 : slot")),
        (1024, told(1023, |x| x + 1, "slot + 1")),
        (1000, told(1023, |x| x + 100, "slot + 100")),
        (100, told(1023, |_| u64::MAX, "~uint64_t(0)")),
        (1024, told(1023, |x| x + (1 << 32), "slot + (uint64_t(1) << 32)")),
        (100, told(99_999, |x| x % 100, "slot % 100")),
        (70_000, told(99_999, |x| x % 70_000, "slot % 70000")),
        (140_000, told((1 << 18) - 1, |x| x & !1, "slot & ~uint64_t(1)")),
        (
            300_000,
            told(
                (1 << 19) - 1,
                |x| if x == 3 { u64::MAX } else { x },
                "slot == 3 ? ~uint64_t(0) : slot",
            ),
        ),
        (
            300_000,
            told((1 << 19) - 1, |x| if x == 299_999 { 0 } else { x }, "slot == 299999 ? 0 : slot"),
        ),
        (
            300_000,
            told((1 << 19) - 1, |x| if x >= 299_000 { 1 } else { x }, "slot >= 299000 ? 1 : slot"),
        ),
    ];
    for (len, lie) in lies {
        if !backend.serves(&Given::by(&lie)) {
            continue;
        }
        let mut order = vec![0_u64; len];
        let expected = Serial.indices(&lie, &mut order).unwrap_err();
        assert!(matches!(expected, Error::NotABijection(_)));
        in_pools(backend, &[1, 3], |backend| {
            for entry in entries() {
                if let Some((end, _)) = entry.call(backend, &lie, len) {
                    let End::Refused(error) = end else { panic!("{}: {end:?}", lie.text) };
                    let is_found = error == expected || error == without_slots(&expected);
                    assert!(is_found, "{}, {entry:?}: {error}, not {expected}", lie.text);
                }
            }
        });
    }
}

/// An error as those say it who do not look for the slots.
fn without_slots(error: &Error) -> Error {
    match *error {
        Error::NotABijection(Defect::Repeats { index, .. }) => {
            Error::NotABijection(Defect::Repeats { index, slots: None })
        }
        _ => error.clone(),
    }
}
