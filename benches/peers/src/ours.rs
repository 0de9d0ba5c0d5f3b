//! The crate that is measured. No other file calls it.

use std::cell::RefCell;
use std::mem;
use std::rc::Rc;

use bijective_shuffle::Strategy;
use bijective_shuffle::bijection::{Standard, VariablePhilox};
use bijective_shuffle::prelude::*;

use crate::arena::Arena;
use crate::contender::{Contender, Runner, Seeded, Side};
use crate::item::Item;

/// `VariablePhilox` with a given key, on short lengths.
pub(crate) const PHILOX_GIVEN: &str = "ours, Philox-24, key given";
/// The default family with a given key, on short lengths.
pub(crate) const DEFAULT_GIVEN: &str = "ours, default, key given";
/// What most programs call: the key is drawn, and the memory allocated, by each call.
pub(crate) const WHOLE_CALL: &str = "ours, `par_bijective_shuffle`";

/// How the names of all forms begin.
pub(crate) const PHILOX: &str = "ours, Philox-24";
pub(crate) const DEFAULT: &str = "ours, default";

/// A way to ask the engine for a shuffle.
#[derive(Clone, Copy, Debug)]
struct Form {
    strategy: Strategy,
    place: Place,
}

#[derive(Clone, Copy, Debug)]
enum Place {
    /// Back into the slice that the items are from.
    Same,
    /// Into another.
    Other,
}

/// All forms, with their names.
const FORMS: &[(Form, &str)] = &[
    (Form { strategy: Strategy::Auto, place: Place::Same }, "auto"),
    (Form { strategy: Strategy::Direct, place: Place::Same }, "direct"),
    (Form { strategy: Strategy::Partitioned, place: Place::Same }, "partitioned"),
    (Form { strategy: Strategy::InPlace, place: Place::Same }, "in place"),
    (Form { strategy: Strategy::Auto, place: Place::Other }, "auto, out of place"),
    (Form { strategy: Strategy::Direct, place: Place::Other }, "direct, out of place"),
    (Form { strategy: Strategy::Partitioned, place: Place::Other }, "partitioned, out of place"),
];

/// The form that short lengths are measured with.
const SMALL: Form = Form { strategy: Strategy::Auto, place: Place::Same };

/// The strategies of a workspace that is kept from the first call on, with their names.
const KEPT: &[(Strategy, &str)] = &[
    (Strategy::Auto, "ours, workspace kept, auto"),
    (Strategy::Direct, "ours, workspace kept, direct"),
    (Strategy::Partitioned, "ours, workspace kept, partitioned"),
    (Strategy::InPlace, "ours, workspace kept, in place"),
];

/// One workspace for all forms, so that its memory is there once.
type SharedWorkspace = Rc<RefCell<Workspace>>;

/// All forms with both families, and the call that most programs make.
pub(crate) fn all<T: Item>() -> Vec<Contender<T>> {
    let workspace = SharedWorkspace::default();
    let mut all = Vec::new();
    for &(form, name) in FORMS {
        let philox = given::<T, VariablePhilox<24>>(&workspace, form, format!("{PHILOX}, {name}"));
        let default = given::<T, Standard>(&workspace, form, format!("{DEFAULT}, {name}"));
        all.extend([philox, default]);
    }
    all.push(whole_call());
    all
}

/// What is measured on short lengths.
pub(crate) fn small<T: Item>() -> Vec<Contender<T>> {
    let workspace = SharedWorkspace::default();
    vec![
        given::<T, VariablePhilox<24>>(&workspace, SMALL, PHILOX_GIVEN),
        given::<T, Standard>(&workspace, SMALL, DEFAULT_GIVEN),
        whole_call(),
    ]
}

/// What is measured from the first call on: all of it draws the key in each call.
pub(crate) fn cold<T: Send + 'static>() -> Vec<Seeded<T>> {
    let whole_call = |items: &mut [T], seed| items.par_bijective_shuffle(seed);
    let mut all = vec![Seeded::new(WHOLE_CALL, whole_call)];
    all.extend(KEPT.iter().map(|&(strategy, name)| {
        let mut workspace = Workspace::new().with_strategy(strategy);
        Seeded::new(name, move |items, seed| {
            workspace.shuffle(seed, items).expect("enough memory, and threads");
        })
    }));
    all
}

/// Shuffles by bijections that are drawn before the time is taken.
struct Given<B> {
    workspace: SharedWorkspace,
    form: Form,
    drawn: Vec<B>,
}

impl<T: Item, B: FromSeed + Bijection> Runner<T> for Given<B> {
    fn prepare(&mut self, len: usize, seed: u64, calls: usize) {
        let seeds = (0..calls as u64).map(|call| seed.wrapping_add(call));
        self.drawn.clear();
        self.drawn.extend(seeds.map(|seed| B::from_seed(len as u64, seed)));
        let mut workspace = self.workspace.borrow_mut();
        *workspace = mem::take(&mut *workspace).with_strategy(self.form.strategy);
    }

    fn run(&mut self, arena: &mut Arena<T>, call: usize) {
        let (f, mut workspace) = (&self.drawn[call], self.workspace.borrow_mut());
        let result = match self.form.place {
            Place::Same => workspace.shuffle(f, &mut arena.items),
            Place::Other => arena.out_of_place(|items, out| workspace.shuffle_into(f, items, out)),
        };
        result.expect("a bijection that was drawn for the length, and enough memory");
    }
}

fn given<T: Item, B: FromSeed + Bijection + 'static>(
    workspace: &SharedWorkspace,
    form: Form,
    name: impl Into<String>,
) -> Contender<T> {
    let given = Given::<B> { workspace: Rc::clone(workspace), form, drawn: Vec::new() };
    Contender::new(Side::Ours, name, given)
}

/// Draws the key in each call.
struct WholeCall {
    seed: u64,
}

impl<T: Item> Runner<T> for WholeCall {
    fn prepare(&mut self, _: usize, seed: u64, _: usize) {
        self.seed = seed;
    }

    fn run(&mut self, arena: &mut Arena<T>, call: usize) {
        arena.items.par_bijective_shuffle(self.seed.wrapping_add(call as u64));
    }
}

fn whole_call<T: Item>() -> Contender<T> {
    Contender::new(Side::Ours, WHOLE_CALL, WholeCall { seed: 0 })
}
