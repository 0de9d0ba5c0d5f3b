//! The back ends that need no GPU: their lines, and how each is called.

use bijective_shuffle::Error;
use bijective_shuffle::Strategy;
use bijective_shuffle::prelude::*;
use bijective_shuffle::{Cpu, Serial};

use bijective_shuffle_laws::items::{Call, Items, Table};
use bijective_shuffle_laws::under_test::{Answer, Direction, Given, Indices, UnderTest};

back_ends! {
    serial: Some(Engine(Serial));
    cpu: Some(Engine(Cpu));
    workspace: Some(Engine(Workspace::new()));
    workspace_direct: Some(Engine(Workspace::new().with_strategy(Strategy::Direct)));
    workspace_partitioned: Some(Engine(Workspace::new().with_strategy(Strategy::Partitioned)));
    workspace_in_place: Some(Engine(Workspace::new().with_strategy(Strategy::InPlace)));
    workspace_by_seed: Some(Seeded(Workspace::new()));
    slices: Some(Slices);
    view: Some(View(Backend::Cpu));
}

/// An engine on host memory by the trait that all of them have.
pub(crate) struct Engine<C>(pub(crate) C);

impl UnderTest for Engine<Serial> {
    fn write_indexes(&mut self, given: &Given, out: &mut Indices) -> Answer {
        Some(with_indices!(out, out => self.0.write_indexes(given.bijection, out)))
    }

    fn in_place(&mut self, given: &Given, items: &mut Items, direction: Direction) -> Answer {
        Some(with_items!(items, items => compact(&self.0, given, items, direction)))
    }

    fn copied<'a>(
        &mut self,
        given: &Given,
        source: &Items<'a>,
        direction: Direction,
    ) -> Option<Result<Items<'a>, Error>> {
        Some(map_items!(source, source => match direction {
            Direction::Shuffle => self.0.shuffled(given.bijection, source),
            Direction::Unshuffle => self.0.unshuffled(given.bijection, source),
        }))
    }
}

impl UnderTest for Engine<Cpu> {
    fn has_threads(&self) -> bool {
        true
    }

    fn write_indexes(&mut self, given: &Given, out: &mut Indices) -> Answer {
        Some(with_indices!(out, out => self.0.write_indexes(given.bijection, out)))
    }

    fn in_place(&mut self, given: &Given, items: &mut Items, direction: Direction) -> Answer {
        Some(with_items!(items, items => compact(&self.0, given, items, direction)))
    }

    fn copied<'a>(
        &mut self,
        given: &Given,
        source: &Items<'a>,
        direction: Direction,
    ) -> Option<Result<Items<'a>, Error>> {
        Some(map_items!(source, source => match direction {
            Direction::Shuffle => self.0.shuffled(given.bijection, source),
            Direction::Unshuffle => self.0.unshuffled(given.bijection, source),
        }))
    }

    fn rows(&mut self, permutations: &Permutations, first: u64, out: &mut Indices) -> Answer {
        Some(with_indices!(out, out => permutations.write_rows(first, out)))
    }
}

/// Moves items in place by an engine.
pub(crate) fn compact<T: Send>(
    engine: &impl Compactor,
    given: &Given,
    items: &mut [T],
    direction: Direction,
) -> Result<(), Error> {
    match direction {
        Direction::Shuffle => engine.shuffle(given.bijection, items),
        Direction::Unshuffle => engine.unshuffle(given.bijection, items),
    }
}

impl UnderTest for Engine<Workspace> {
    fn has_threads(&self) -> bool {
        true
    }

    fn in_place(&mut self, given: &Given, items: &mut Items, direction: Direction) -> Answer {
        Some(with_items!(items, items => match direction {
            Direction::Shuffle => self.0.shuffle(given.bijection, items),
            Direction::Unshuffle => self.0.unshuffle(given.bijection, items),
        }))
    }

    fn into(&mut self, given: &Given, source: &Items, out: &mut Items, to: Direction) -> Answer {
        with_copies!(source, out, source, out => match to {
            Direction::Shuffle => self.0.shuffle_into(given.bijection, source, out),
            Direction::Unshuffle => self.0.unshuffle_into(given.bijection, source, out),
        })
    }

    fn together(&mut self, given: &Given, table: &mut Table, direction: Direction) -> Answer {
        struct Together<'a>(&'a mut Workspace, &'a dyn Bijection, Direction);

        impl Call for Together<'_> {
            fn call(&mut self, columns: impl Columns) -> Result<(), Error> {
                match self.2 {
                    Direction::Shuffle => self.0.shuffle_together(self.1, columns),
                    Direction::Unshuffle => self.0.unshuffle_together(self.1, columns),
                }
            }
        }

        Some(table.call(Together(&mut self.0, given.bijection, direction)))
    }
}

/// A workspace that is given seeds.
pub(crate) struct Seeded(pub(crate) Workspace);

impl UnderTest for Seeded {
    fn serves(&self, given: &Given) -> bool {
        given.seed.is_some()
    }

    fn has_threads(&self) -> bool {
        true
    }

    fn in_place(&mut self, given: &Given, items: &mut Items, direction: Direction) -> Answer {
        let (workspace, seed) = (&mut self.0, given.seed?);
        Some(with_items!(items, items => match direction {
            Direction::Shuffle => workspace.shuffle(seed, items),
            Direction::Unshuffle => workspace.unshuffle(seed, items),
        }))
    }

    fn into(&mut self, given: &Given, source: &Items, out: &mut Items, to: Direction) -> Answer {
        let (workspace, seed) = (&mut self.0, given.seed?);
        with_copies!(source, out, source, out => match to {
            Direction::Shuffle => workspace.shuffle_into(seed, source, out),
            Direction::Unshuffle => workspace.unshuffle_into(seed, source, out),
        })
    }

    fn together(&mut self, given: &Given, table: &mut Table, direction: Direction) -> Answer {
        struct Together<'a>(&'a mut Workspace, Seed, Direction);

        impl Call for Together<'_> {
            fn call(&mut self, columns: impl Columns) -> Result<(), Error> {
                match self.2 {
                    Direction::Shuffle => self.0.shuffle_together(self.1, columns),
                    Direction::Unshuffle => self.0.unshuffle_together(self.1, columns),
                }
            }
        }

        Some(table.call(Together(&mut self.0, given.seed?, direction)))
    }
}

/// The methods of slices, by the seed where there is one.
pub(crate) struct Slices;

impl UnderTest for Slices {
    fn has_threads(&self) -> bool {
        true
    }

    fn in_place(&mut self, given: &Given, items: &mut Items, direction: Direction) -> Answer {
        let f = given.bijection;
        Some(with_items!(items, items => match (given.seed, direction) {
            (None, Direction::Shuffle) => items.try_par_bijective_shuffle(f),
            (None, Direction::Unshuffle) => items.try_par_bijective_unshuffle(f),
            (Some(seed), Direction::Shuffle) => items.try_par_bijective_shuffle(seed),
            (Some(seed), Direction::Unshuffle) => items.try_par_bijective_unshuffle(seed),
        }))
    }

    fn copied<'a>(
        &mut self,
        given: &Given,
        source: &Items<'a>,
        direction: Direction,
    ) -> Option<Result<Items<'a>, Error>> {
        let f = given.bijection;
        Some(map_items!(source, source => match (given.seed, direction) {
            (None, Direction::Shuffle) => source.try_par_bijective_shuffled(f),
            (None, Direction::Unshuffle) => source.try_par_bijective_unshuffled(f),
            (Some(seed), Direction::Shuffle) => source.try_par_bijective_shuffled(seed),
            (Some(seed), Direction::Unshuffle) => source.try_par_bijective_unshuffled(seed),
        }))
    }

    fn together(&mut self, given: &Given, table: &mut Table, direction: Direction) -> Answer {
        struct Together<'a>(&'a Given<'a>, Direction);

        impl Call for Together<'_> {
            fn call(&mut self, columns: impl Columns) -> Result<(), Error> {
                let f = self.0.bijection;
                match (self.0.seed, self.1) {
                    (None, Direction::Shuffle) => columns.try_par_bijective_shuffle_together(f),
                    (None, Direction::Unshuffle) => columns.try_par_bijective_unshuffle_together(f),
                    (Some(seed), Direction::Shuffle) => {
                        columns.try_par_bijective_shuffle_together(seed)
                    }
                    (Some(seed), Direction::Unshuffle) => {
                        columns.try_par_bijective_unshuffle_together(seed)
                    }
                }
            }
        }

        Some(table.call(Together(given, direction)))
    }
}

/// A [`Permutation`], whose engine is chosen by a name.
pub(crate) struct View(pub(crate) Backend);

impl View {
    fn of<'a>(
        &self,
        given: &Given<'a>,
        len: usize,
    ) -> Result<Permutation<&'a dyn Bijection>, Error> {
        Ok(Permutation::from_bijection(len as u64, given.bijection)?.with_backend(self.0))
    }
}

impl UnderTest for View {
    fn has_threads(&self) -> bool {
        self.0 != Backend::Cuda
    }

    fn serves(&self, given: &Given) -> bool {
        self.has_threads() || given.bijection.device_source().is_some()
    }

    fn serves_passes(&self) -> bool {
        true
    }

    fn write_indexes(&mut self, given: &Given, out: &mut Indices) -> Answer {
        Some(with_indices!(out, out => {
            self.of(given, out.len()).and_then(|view| view.write_indexes(out))
        }))
    }

    fn in_place(&mut self, given: &Given, items: &mut Items, direction: Direction) -> Answer {
        Some(with_items!(items, items => {
            self.of(given, items.len()).and_then(|view| match direction {
                Direction::Shuffle => view.apply_in_place(items),
                Direction::Unshuffle => view.unapply_in_place(items),
            })
        }))
    }

    fn copied<'a>(
        &mut self,
        given: &Given,
        source: &Items<'a>,
        direction: Direction,
    ) -> Option<Result<Items<'a>, Error>> {
        Some(map_items!(source, source => {
            self.of(given, source.len()).and_then(|view| match direction {
                Direction::Shuffle => view.apply(source),
                Direction::Unshuffle => view.unapply(source),
            })
        }))
    }

    fn together(&mut self, given: &Given, table: &mut Table, direction: Direction) -> Answer {
        struct Together<'a>(Permutation<&'a dyn Bijection>, Direction);

        impl Call for Together<'_> {
            fn call(&mut self, columns: impl Columns) -> Result<(), Error> {
                match self.1 {
                    Direction::Shuffle => self.0.apply_together(columns),
                    Direction::Unshuffle => self.0.unapply_together(columns),
                }
            }
        }

        let view = self.of(given, table.len());
        Some(view.and_then(|view| table.call(Together(view, direction))))
    }
}
