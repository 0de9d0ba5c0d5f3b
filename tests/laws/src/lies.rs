//! Every kind of lie through every combinator and every entry point of every back end: afterwards
//! each item is there exactly once and is dropped once, and the call has succeeded, refused or
//! unwound.
//!
//! Where a lie is a function of the slot alone, and the same by every method, `Serial` says how the
//! call has to end.

use std::panic::{AssertUnwindSafe, catch_unwind};

use bijective_shuffle::DeviceSource;
use bijective_shuffle::Error;
use bijective_shuffle::Serial;
use bijective_shuffle::error::Defect;
use bijective_shuffle::prelude::*;

use crate::agreement::in_pools;
use crate::hostile::End;
use crate::items::{COUNTED_SHAPES, Items, Kind, Ledger, Shape, Table, order_of};
use crate::liars::{LIES, Lie, Lies, WRAPS, Wrap, wrap};
use crate::under_test::{Answer, DIRECTIONS, Direction, Given, Indices, UnderTest};
use crate::{Numbers, cases, long};

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
                let end = end_of(|| backend.write_indexes(&given, &mut out))?;
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
            kind: if numbers.below(4) == 0 { Lie::ByChance } else { numbers.pick(LIES) },
            wrap: numbers.pick(WRAPS),
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
            let is_expected = end == expected || end == without_slots(&expected);
            assert!(is_expected, "{end:?}, not {expected:?}: {self:?}, {entry:?}");
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
        let end = End::of(|| Serial.write_indexes(&*wrapped, &mut order));
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
    backend.serves(&Given::by(&Lies::new(Lie::Honest, 3, 0, 0)))
}

/// Any lie in any wrapping, by any entry point, in pools of several numbers of threads.
pub fn no_lie_loses_an_item(backend: &mut dyn UnderTest) {
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
        for &kind in LIES {
            for &entry in &entries {
                let case = Case::random(&mut numbers, 6);
                Case { kind, ..case }.check(backend, entry);
            }
        }
    });
}

/// Domains from which on there are threads, and waves of tiles for them.
pub fn many_items_survive_each_lie(backend: &mut dyn UnderTest) {
    if !takes_lies(backend) || !backend.has_threads() {
        return;
    }
    let (mut numbers, entries) = (Numbers(2), entries());
    // Few items are told all of them.
    for &kind in LIES.iter().step_by(if long() { 1 } else { 3 }) {
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
pub fn lies_are_found(backend: &mut dyn UnderTest) {
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
        let expected = End::of(|| Serial.write_indexes(&lie, &mut order));
        assert!(matches!(expected, End::Refused(Error::NotABijection(_))));
        in_pools(backend, &[1, 3], |backend| {
            for entry in entries() {
                if let Some((end, _)) = entry.call(backend, &lie, len) {
                    let is_found = end == expected || end == without_slots(&expected);
                    assert!(is_found, "{}, {entry:?}: {end:?}, not {expected:?}", lie.text);
                }
            }
        });
    }
}

/// An end as those say it who do not look for the slots.
fn without_slots(end: &End) -> End {
    match *end {
        End::Refused(Error::NotABijection(Defect::Repeats { index, .. })) => {
            End::Refused(Error::NotABijection(Defect::Repeats { index, slots: None }))
        }
        _ => end.clone(),
    }
}
