//! Lengths beyond a bijection's domain are refused with an error that says so, and nothing moves.

use bijective_shuffle::Error;
use bijective_shuffle::bijection::Lcg;

use crate::items::{Items, KINDS, Kind, Ledger, SHAPES, Table};
use crate::under_test::{DIRECTIONS, Given, Indices, UnderTest};

pub fn lengths_beyond_the_domain_are_refused(backend: &mut dyn UnderTest) {
    let small = Lcg::new(3, 5, 3).unwrap();
    let given = Given::by(&small);
    if !backend.serves(&given) {
        return;
    }
    let too_long = Error::LengthExceedsDomain { len: 9, last: 7 };
    let in_order: Vec<u64> = (0..9).collect();
    let ledger = Ledger::new(9);
    for mut out in Indices::both(9) {
        if let Some(done) = backend.write_indexes(&given, &mut out) {
            assert_eq!(done, Err(too_long.clone()));
        }
    }
    for direction in DIRECTIONS {
        for &kind in KINDS {
            let original = Items::new(kind, &in_order, &ledger);
            let mut items = original.clone();
            if let Some(done) = backend.in_place(&given, &mut items, direction) {
                assert_eq!(done, Err(too_long.clone()), "{kind:?}, {direction:?}");
            }
            if let Some(copy) = backend.copied(&given, &items, direction) {
                assert_eq!(copy.map(drop), Err(too_long.clone()), "{kind:?}, {direction:?}");
            }
            let mut out = items.clone();
            if let Some(done) = backend.into(&given, &items, &mut out, direction) {
                assert_eq!(done, Err(too_long.clone()), "{kind:?}, {direction:?}");
            }
            assert!(items == original && out == original, "{kind:?}, {direction:?}");
        }
        for &shape in SHAPES {
            let original = Table::new(shape, &in_order, &ledger);
            let mut table = original.clone();
            if let Some(done) = backend.together(&given, &mut table, direction) {
                assert_eq!(done, Err(too_long.clone()), "{shape:?}, {direction:?}");
            }
            assert!(table == original, "{shape:?}, {direction:?}");
        }
        // Slices of two lengths.
        let source = Items::new(Kind::Word, &in_order[..8], &ledger);
        let mut out = Items::new(Kind::Word, &in_order[..4], &ledger);
        let few = out.clone();
        if let Some(done) = backend.into(&given, &source, &mut out, direction) {
            assert_eq!(done, Err(Error::LengthMismatch { expected: 8, actual: 4 }));
        }
        assert!(out == few);
    }
    assert!(ledger.each_is_alive(0));
}
