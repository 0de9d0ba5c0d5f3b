//! The crate that is measured. No other file calls it.

use bijective_shuffle::prelude::*;

use crate::arena::Arena;
use crate::contender::{Contender, Runner, Side};
use crate::item::Item;

/// `VariablePhilox` with a given key, on short lengths.
pub(crate) const PHILOX_GIVEN: &str = "ours, Philox-24, key given";
/// The default family with a given key, on short lengths.
pub(crate) const DEFAULT_GIVEN: &str = "ours, default, key given";
/// What most programs call, on short lengths.
pub(crate) const WHOLE_CALL: &str = "ours, `par_bijective_shuffle`";

/// What our calls keep from one to the next: nothing yet.
pub(crate) struct Engine(());

/// A way to ask the engine for a shuffle.
#[derive(Clone, Copy)]
enum Form {
    /// In place, with scratch memory that is allocated by each call.
    Fresh,
}

impl Form {
    /// All forms, with their names.
    const ALL: [(Self, &str); 1] = [(Self::Fresh, "fresh")];

    /// The form that short lengths are measured with.
    const SMALL: Self = Self::Fresh;
}

impl Engine {
    pub(crate) fn new() -> Self {
        Self(())
    }

    fn in_place<T: Item>(
        &mut self,
        form: Form,
        f: &dyn Bijection,
        items: &mut [T],
    ) -> Result<(), Error> {
        match form {
            Form::Fresh => Cpu.shuffle(f, items),
        }
    }
}

/// All forms with both families, and the call that most programs make.
pub(crate) fn all<T: Item>() -> Vec<Contender<T>> {
    let mut all = Vec::new();
    for (form, name) in Form::ALL {
        all.push(given::<T, VariablePhilox<24>>(form, format!("ours, Philox-24, {name}")));
    }
    for (form, name) in Form::ALL {
        all.push(given::<T, Standard>(form, format!("ours, default, {name}")));
    }
    let [philox, default] = ["ours, Philox-24", "ours, default"];
    let mut all: Vec<_> = all
        .into_iter()
        .map(|contender| {
            let curve = if contender.label.name.starts_with(philox) { philox } else { default };
            contender.on_curve(curve)
        })
        .collect();
    all.push(whole_call().on_curve(default));
    all
}

/// What is measured on short lengths.
pub(crate) fn small<T: Item>() -> Vec<Contender<T>> {
    vec![
        given::<T, VariablePhilox<24>>(Form::SMALL, PHILOX_GIVEN.into()),
        given::<T, Standard>(Form::SMALL, DEFAULT_GIVEN.into()),
        whole_call(),
    ]
}
