//! The laws that back ends have to keep, and the macros that make tests of them.

/// Declares back ends: the names of their modules, and what makes one, if there is such a machine.
/// The laws that each of them has to keep are listed here.
#[macro_export]
macro_rules! back_ends {
    ($($name:ident: $backend:expr;)+) => {$(
        mod $name {
            #[allow(unused_imports, reason = "not every line needs all of what its module has")]
            use super::*;

            $crate::laws! {
                $backend;
                agreement: every_length every_kind_of_item every_family large_lengths
                    maps_that_are_not_random any_number_of_threads random_maps;
                batches: rows_of_every_length rows_from_anywhere;
                compositions: compositions_of_every_kind compositions_of_columns
                    compositions_compacted_again random_compositions
                    compositions_search_for_nothing;
                lies: lies_are_found no_lie_loses_an_item many_items_survive_each_lie;
                permutations: permutations_as_maps permutations_cost_what_their_maps_cost;
                refusals: lengths_beyond_the_domain_are_refused;
                together: columns_of_every_length columns_in_pools;
            }
        }
    )+};
}

/// The tests of a back end: modules of this package and their laws.
#[doc(hidden)]
#[macro_export]
macro_rules! laws {
    ($backend:expr; $($module:ident: $($law:ident)+;)+) => {
        fn test(law: fn(&mut dyn $crate::under_test::UnderTest)) {
            let backend: Option<_> = $backend;
            if let Some(mut backend) = backend {
                law(&mut backend);
            }
        }
        $($(
            #[test]
            fn $law() {
                test($crate::$module::$law);
            }
        )+)+
    };
}
