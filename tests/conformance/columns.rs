//! Columns of every kind, by the methods that take them.

use std::panic::{AssertUnwindSafe, catch_unwind};

use bijective_shuffle::Error;
use bijective_shuffle::Rows;
use bijective_shuffle::Strategy;
use bijective_shuffle::bijection::{Lcg, Standard};
use bijective_shuffle::error::ViewError;
use bijective_shuffle::prelude::*;
use bijective_shuffle_laws::agreement::reference;
use bijective_shuffle_laws::items::mix;

/// Rows of any width beside labels, which are longer together than a record or not.
#[test]
fn rows_of_any_width() {
    let matrix = |order: &[u64], width: u64| -> Vec<u16> {
        order.iter().flat_map(|&index| (0..width).map(move |k| mix(index + k) as u16)).collect()
    };
    let labels = |order: &[u64]| -> Vec<u32> { order.iter().map(|&x| mix(x) as u32).collect() };
    for len in [1, 7, 300, 66_000] {
        let in_order: Vec<u64> = (0..len).collect();
        let f = Standard::from_seed(len, 4);
        let order = reference(&f, len as usize);
        for width in [1, 2, 3, 8, 16, 30, 32, 33, 50] {
            for strategy in [Strategy::Direct, Strategy::Partitioned] {
                let mut workspace = Workspace::new().with_strategy(strategy);
                let mut rows = matrix(&in_order, width);
                let mut marks = labels(&in_order);
                let both = (Rows::new(&mut rows, width as usize).unwrap(), &mut marks);
                workspace.shuffle_together(&f, both).unwrap();
                assert!(rows == matrix(&order, width), "{strategy:?}, {len} rows of {width}");
                assert!(marks == labels(&order), "{strategy:?}, {len} rows of {width}");
                let both = (Rows::new(&mut rows, width as usize).unwrap(), &mut marks);
                workspace.unshuffle_together(&f, both).unwrap();
                assert!(rows == matrix(&in_order, width), "{strategy:?}, {len} rows of {width}");
                assert!(marks == labels(&in_order), "{strategy:?}, {len} rows of {width}");
            }
        }
    }
}

#[test]
fn rows_must_be_whole() {
    let mut items = [0_u8; 12];
    for width in [0, 5, 13] {
        let error = Rows::new(&mut items, width).unwrap_err();
        assert_eq!(error, Error::View(ViewError::NotWholeRows { len: width as u64, actual: 12 }));
    }
    assert_eq!(
        error_text(&mut items),
        "a slice of 12 items does not consist of rows of 5: its length must be a multiple of 5"
    );
    let mut none: [u8; 0] = [];
    assert!(Rows::new(&mut none, 0).is_err());
    let rows = Rows::new(&mut none, usize::MAX).unwrap();
    (rows, &mut [0_u8; 0]).par_bijective_shuffle_together(1);
}

fn error_text(items: &mut [u8]) -> String {
    Rows::new(items, 5).unwrap_err().to_string()
}

#[test]
fn no_columns_at_all() {
    let f = Standard::from_seed(9, 5);
    Workspace::new().shuffle_together(&f, Vec::<&mut [u8]>::new()).unwrap();
    Vec::<&mut [u8]>::new().par_bijective_shuffle_together(1);
    Permutation::new(9, 1).apply_together([[[0_u8; 9]; 2]; 0].each_mut()).unwrap();
}

#[test]
fn columns_of_two_lengths_are_refused() {
    let (mut a, mut b, mut c) = ([1, 2, 3, 4], vec![1_u8, 2, 3], [(); 5]);
    let f = Standard::from_seed(100, 1);
    let error = Error::LengthMismatch { expected: 4, actual: 3 };
    let mut workspace = Workspace::new();
    assert_eq!(workspace.shuffle_together(&f, (&mut a, &mut b)), Err(error.clone()));
    assert_eq!(workspace.unshuffle_together(&f, (&mut a, &mut b)), Err(error.clone()));
    assert_eq!((&mut a, &mut b).try_par_bijective_shuffle_together(1), Err(error.clone()));
    assert_eq!((&mut a, &mut b).try_par_bijective_unshuffle_together(1), Err(error.clone()));
    let p = Permutation::new(4, 1);
    assert_eq!(p.apply_together((&mut a, &mut b)), Err(error.clone()));
    assert_eq!(p.unapply_together(&mut b), Err(error));
    let error = Error::LengthMismatch { expected: 4, actual: 5 };
    assert_eq!(p.apply_together((&mut a, &mut c)), Err(error), "items of no size count");
    let error = Error::LengthExceedsDomain { len: 5, last: 3 };
    let small = Lcg::new(2, 1, 0).unwrap();
    assert_eq!(workspace.shuffle_together(&small, (&mut c, &mut [0; 5])), Err(error.clone()));
    assert_eq!(workspace.shuffle_together(&small, &mut c), Err(error));
    assert_eq!((a, &b[..]), ([1, 2, 3, 4], &[1, 2, 3][..]));
    let panics = || (&mut a, &mut b).par_bijective_shuffle_together(1);
    assert!(catch_unwind(AssertUnwindSafe(panics)).is_err());
    assert_eq!((a, &b[..]), ([1, 2, 3, 4], &[1, 2, 3][..]));
}

#[test]
fn items_of_no_size_take_no_time() {
    let (mut a, mut b) = ([(); usize::MAX], [(); usize::MAX]);
    (&mut a, &mut b).par_bijective_shuffle_together(1);
    (&mut a, &mut b).par_bijective_unshuffle_together(1);
}
