//! The crate that is measured.

use std::cell::RefCell;
use std::mem;
use std::rc::Rc;

use bijective_shuffle::Strategy;
use bijective_shuffle::bijection::{Standard, VariablePhilox};
use bijective_shuffle::prelude::*;

use crate::arena::Arena;
use crate::contender::{Contender, Runner, Seeded};
use crate::peers::by_seed;

/// What most programs call: the key is drawn, and the memory allocated, by each call.
const WHOLE_CALL: &str = "ours, `par_bijective_shuffle`";

/// All strategies with their names.
const STRATEGIES: [(Strategy, &str); 4] = [
    (Strategy::Auto, "auto"),
    (Strategy::Direct, "direct"),
    (Strategy::Partitioned, "partitioned"),
    (Strategy::InPlace, "in place"),
];

/// One workspace for all strategies, so that its memory is there once.
type SharedWorkspace = Rc<RefCell<Workspace>>;

/// All strategies with both families, and the call that most programs make.
pub(crate) fn all() -> Vec<Contender> {
    let workspace = SharedWorkspace::default();
    let mut all = vec![whole_call()];
    for (strategy, name) in STRATEGIES {
        let philox = format!("ours, Philox-24, {name}");
        all.push(given::<VariablePhilox<24>>(&workspace, strategy, philox));
        all.push(given::<Standard>(&workspace, strategy, format!("ours, default, {name}")));
    }
    all
}

/// What is measured on short lengths.
pub(crate) fn small() -> [Contender; 2] {
    let given = given::<Standard>(&SharedWorkspace::default(), Strategy::Auto, "ours, default");
    [given, whole_call()]
}

/// What is measured from the first call on: all of it draws the key in each call.
pub(crate) fn cold<T: Send + 'static>() -> Vec<Seeded<T>> {
    let mut workspace = Workspace::new().with_strategy(Strategy::Partitioned);
    vec![
        Seeded::new(WHOLE_CALL, |items: &mut [T], seed| items.par_bijective_shuffle(seed)),
        Seeded::new("ours, workspace kept, partitioned", move |items, seed| {
            workspace.shuffle(seed, items).expect("enough memory, and threads");
        }),
    ]
}

/// Shuffles by bijections that are drawn before the time is taken.
struct Given<B> {
    workspace: SharedWorkspace,
    strategy: Strategy,
    drawn: Vec<B>,
}

impl<B: FromSeed + Bijection> Runner for Given<B> {
    fn prepare(&mut self, len: usize, seed: u64, calls: usize) {
        let seeds = (0..calls as u64).map(|call| seed.wrapping_add(call));
        self.drawn.clear();
        self.drawn.extend(seeds.map(|seed| B::from_seed(len as u64, seed)));
        let mut workspace = self.workspace.borrow_mut();
        *workspace = mem::take(&mut *workspace).with_strategy(self.strategy);
    }

    fn run(&mut self, arena: &mut Arena, call: usize) {
        let result = self.workspace.borrow_mut().shuffle(&self.drawn[call], &mut arena.items);
        result.expect("a bijection that was drawn for the length, and enough memory");
    }
}

fn given<B: FromSeed + Bijection + 'static>(
    workspace: &SharedWorkspace,
    strategy: Strategy,
    name: impl Into<String>,
) -> Contender {
    let workspace = Rc::clone(workspace);
    Contender::new(name, Given::<B> { workspace, strategy, drawn: Vec::new() })
}

fn whole_call() -> Contender {
    by_seed(WHOLE_CALL, |items, seed| items.par_bijective_shuffle(seed))
}
