//! One body of tests for every back end: the same laws, lengths, items, columns, lies and threads.
//!
//! Each line of `back_ends!` is a back end, and makes a module of tests, one for each law. A new
//! back end is an implementation of [`UnderTest`](under_test::UnderTest) and a line, both in
//! [`back_ends`], or in [`gpu::back_ends`] if it needs a GPU. The command
//! `cargo test --test conformance back_ends::serial::` tests one of them by all laws, and
//! `cargo test --test conformance every_length` all of them by one.
//!
//! The bijections that the back ends are given have laws of their own, in [`bijections`],
//! [`verify`] and [`device_source`]: every family is compiled once, in this program.
//!
//! [`gpu`] has the GPU's lines and what is particular to its engine. Without a GPU its tests are
//! skipped and say so; with `BIJECTIVE_SHUFFLE_REQUIRE_GPU=1` they fail instead.

/// Declares back ends: the names of their modules, and what makes one, if there is such a machine.
/// The laws that each of them has to keep are listed here.
macro_rules! back_ends {
    ($($name:ident: $backend:expr;)+) => {$(
        mod $name {
            #[allow(unused_imports, reason = "not every line needs all of what its module has")]
            use super::*;

            laws! {
                $backend;
                agreement: every_length every_kind_of_item every_family large_lengths
                    maps_that_are_not_random any_number_of_threads random_maps;
                batches: rows_of_every_length rows_from_anywhere;
                compositions: compositions_of_every_kind compositions_of_columns
                    compositions_compacted_again random_compositions
                    compositions_search_for_nothing;
                lies: lies_are_found no_lie_loses_an_item many_items_survive_each_lie;
                permutations: permutations_as_maps permutations_cost_what_their_maps_cost;
                refusals: what_does_not_fit_is_refused;
                together: columns_of_every_length columns_in_pools;
            }
        }
    )+};
}

/// The tests of a back end: modules of this program and their laws.
macro_rules! laws {
    ($backend:expr; $($module:ident: $($law:ident)+;)+) => {
        fn test(law: fn(&mut dyn crate::under_test::UnderTest)) {
            let backend: Option<_> = $backend;
            if let Some(mut backend) = backend {
                law(&mut backend);
            }
        }
        $($(
            #[test]
            fn $law() {
                test(crate::$module::$law);
            }
        )+)+
    };
}

#[path = "../common/mod.rs"]
mod common;
#[path = "../../src/cplusplus.rs"]
mod cplusplus;

#[macro_use]
mod items;
mod agreement;
mod back_ends;
mod batches;
mod bijections;
mod compositions;
mod device_source;
mod far;
// CUDA has no driver for 32 bits, nor for other systems.
#[cfg(all(
    feature = "cuda",
    target_pointer_width = "64",
    any(target_os = "linux", target_os = "windows")
))]
#[path = "../gpu/mod.rs"]
mod gpu;
mod liars;
mod lies;
mod particular;
mod permutations;
mod refusals;
mod sizes;
mod together;
mod under_test;
mod verify;
