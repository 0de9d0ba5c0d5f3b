//! Several arrays under one permutation: each gets the order that `Serial` gives, whatever the
//! arrays are, and nothing is lost when something fails.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use crate::common::Plain;
use bijective_shuffle::RowsError;
use bijective_shuffle::prelude::*;
use bijective_shuffle::{Defect, Strategy};
use rayon::ThreadPoolBuilder;

fn serial(f: &dyn Bijection, len: usize) -> Vec<usize> {
    let mut p = vec![0_u64; len];
    Serial.indices(f, &mut p).unwrap();
    p.into_iter().map(|index| index as usize).collect()
}

fn mix(x: usize) -> u64 {
    (x as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

/// A column that holds, at each place, what belongs to an index.
fn column<T>(order: &[usize], item: impl Fn(u64) -> T) -> Vec<T> {
    order.iter().map(|&index| item(mix(index))).collect()
}

/// Rows of so many items.
fn matrix(order: &[usize], width: usize) -> Vec<u16> {
    order.iter().flat_map(|&index| (0..width).map(move |k| mix(index + k) as u16)).collect()
}

/// Columns of many kinds, in some order.
#[derive(Clone, Debug, PartialEq)]
struct Everything {
    bytes: Vec<u8>,
    words: Vec<u64>,
    floats: Vec<f32>,
    twelves: Vec<[u8; 12]>,
    units: Vec<()>,
    strings: Vec<String>,
    boxes: Vec<Box<[u32]>>,
    matrix: Vec<u16>,
    many: Vec<Vec<u16>>,
}

/// How wide the matrix is.
const WIDTH: usize = 5;

impl Everything {
    fn new(order: &[usize]) -> Self {
        Self {
            bytes: column(order, |x| x as u8),
            words: column(order, |x| x),
            floats: column(order, |x| (x >> 40) as f32),
            twelves: column(order, |x| u128::from(x).to_le_bytes()[..12].try_into().unwrap()),
            units: vec![(); order.len()],
            strings: column(order, |x| x.to_string()),
            boxes: column(order, |x| Box::from([x as u32])),
            matrix: matrix(order, WIDTH),
            many: vec![column(order, |x| x as u16), column(order, |x| !x as u16)],
        }
    }

    /// Calls with columns of one shape after the other: sizes that are known or not, of no, few or
    /// many bytes together.
    fn each_shape(&mut self, mut call: impl Call) -> Result<(), Error> {
        let Self { bytes, words, floats, twelves, units, strings, boxes, matrix, many } = self;
        call.call((&mut *words, &mut *floats, &mut *twelves))?;
        // 25 bytes, and some of no size.
        call.call((&mut *strings, &mut *units, &mut *bytes))?;
        call.call((boxes, Rows::new(matrix, WIDTH)?))?;
        call.call(many.iter_mut().collect::<Vec<_>>())
    }
}

/// A call with columns of any kind.
trait Call {
    fn call(&mut self, columns: impl Columns) -> Result<(), Error>;
}

struct Shuffle<'a>(&'a mut Workspace, &'a dyn Bijection);
struct Unshuffle<'a>(&'a mut Workspace, &'a dyn Bijection);

impl Call for Shuffle<'_> {
    fn call(&mut self, columns: impl Columns) -> Result<(), Error> {
        self.0.shuffle_together(self.1, columns)
    }
}

impl Call for Unshuffle<'_> {
    fn call(&mut self, columns: impl Columns) -> Result<(), Error> {
        self.0.unshuffle_together(self.1, columns)
    }
}

fn check(f: &dyn Bijection, len: usize, what: &str) {
    let order: Vec<usize> = (0..len).collect();
    let (original, shuffled) = (Everything::new(&order), Everything::new(&serial(f, len)));
    for strategy in [Strategy::Auto, Strategy::Direct, Strategy::Partitioned] {
        let mut workspace = Workspace::new().with_strategy(strategy);
        let mut all = original.clone();
        all.each_shape(Shuffle(&mut workspace, f)).unwrap();
        assert!(all == shuffled, "{what}: shuffled, {strategy:?}, {len}");
        all.each_shape(Unshuffle(&mut workspace, f)).unwrap();
        assert!(all == original, "{what}: put back, {strategy:?}, {len}");
    }
}

#[test]
fn every_length_gives_what_serial_gives() {
    for len in (0..300).chain([1000, 65_535, 65_536, 65_537]) {
        check(&Standard::from_seed(len as u64, 1), len, "one pool");
    }
}

#[test]
fn the_number_of_threads_does_not_matter() {
    for threads in [1, 2, 3, 7, 16] {
        let pool = ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        for len in [1, 300, (1 << 17) - 1, 1 << 17, (1 << 17) + 1] {
            let f = Standard::from_seed(len as u64, 2);
            pool.install(|| check(&f, len, &format!("{threads} threads")));
        }
        let f = Standard::from_seed(140_000, 3);
        pool.install(|| check(&Plain(f), 140_000, "untrusted"));
    }
}

/// Buckets overflow, which leaves it to the direct strategy.
#[test]
fn permutations_that_are_not_random_are_moved() {
    let pool = ThreadPoolBuilder::new().num_threads(3).build().unwrap();
    for multiplier in [1, 3, (1 << 16) + 1] {
        let f = Lcg::new(18, multiplier, 5).unwrap();
        pool.install(|| check(&f, 150_000, "Lcg"));
    }
}

/// Rows of any width, alone and beside labels, which are longer together than a record or not.
#[test]
fn rows_of_any_width() {
    for len in [1, 7, 300, 66_000] {
        let order: Vec<usize> = (0..len).collect();
        let f = Standard::from_seed(len as u64, 4);
        let p = serial(&f, len);
        for width in [1, 2, 3, 8, 16, 30, 32, 33, 50] {
            for strategy in [Strategy::Direct, Strategy::Partitioned] {
                let mut workspace = Workspace::new().with_strategy(strategy);
                let mut rows = matrix(&order, width);
                let mut labels = column(&order, |x| x as u32);
                let both = (Rows::new(&mut rows, width).unwrap(), &mut labels);
                workspace.shuffle_together(&f, both).unwrap();
                assert!(rows == matrix(&p, width), "{strategy:?}, {len} rows of {width}");
                assert_eq!(labels, column(&p, |x| x as u32));
                let both = (Rows::new(&mut rows, width).unwrap(), &mut labels);
                workspace.unshuffle_together(&f, both).unwrap();
                assert!(rows == matrix(&order, width), "{strategy:?}, {len} rows of {width}");
                assert_eq!(labels, column(&order, |x| x as u32));
            }
        }
    }
}

#[test]
fn rows_must_be_whole() {
    let mut items = [0_u8; 12];
    for width in [0, 5, 13] {
        let error = Rows::new(&mut items, width).unwrap_err();
        assert_eq!(error, Error::Rows(RowsError::NotWhole { len: width as u64, actual: 12 }));
    }
    assert_eq!(
        error_text(&mut items),
        "a slice of 12 items does not consist of rows of 5: its length must be a multiple of that"
    );
    let mut none: [u8; 0] = [];
    assert!(Rows::new(&mut none, 0).is_err());
    let rows = Rows::new(&mut none, usize::MAX).unwrap();
    assert!(rows.is_empty());
    assert_eq!((rows.len(), rows.width()), (0, usize::MAX));
    (rows, &mut [0_u8; 0]).par_bijective_shuffle_together(1);
}

fn error_text(items: &mut [u8]) -> String {
    Rows::new(items, 5).unwrap_err().to_string()
}

/// Twelve columns, nested, arrays of columns, and none at all.
#[test]
fn any_number_of_columns() {
    let order: Vec<usize> = (0..70_000).collect();
    let f = Standard::from_seed(70_000, 5);
    let p = serial(&f, order.len());
    for strategy in [Strategy::Direct, Strategy::Partitioned] {
        let mut workspace = Workspace::new().with_strategy(strategy);
        let mut all: [Vec<u64>; 12] = core::array::from_fn(|k| column(&order, |x| x ^ k as u64));
        let is = |all: &[Vec<u64>], order: &[usize]| {
            (0..).zip(all).all(|(k, items)| *items == column(order, |x| x ^ k))
        };
        let [a, b, c, d, e, f_, g, h, i, j, k, l] = &mut all;
        workspace.shuffle_together(&f, (a, b, c, d, e, f_, g, h, i, j, k, l)).unwrap();
        assert!(is(&all, &p), "{strategy:?}: a tuple of twelve");
        let [a, b, c, d, e, ..] = &mut all;
        workspace.unshuffle_together(&f, ((a, [b, c]), ((d,), e))).unwrap();
        assert!(is(&all[..5], &order), "{strategy:?}: nested");
        let rest: Vec<_> = all[5..].iter_mut().collect();
        workspace.unshuffle_together(&f, (rest, &mut [(); 70_000])).unwrap();
        assert!(is(&all, &order), "{strategy:?}: as many as there are");
        workspace.shuffle_together(&f, Vec::<&mut [u8]>::new()).unwrap();
    }
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
fn every_view_agrees() {
    for len in [0_u32, 1, 2, 300, 1000, 140_000] {
        let p = Permutation::new(len.into(), 6);
        let (mut a, mut b): (Vec<u32>, Vec<String>) = (0..len).map(|x| (x, x.to_string())).unzip();
        let (mut x, mut y) = (a.clone(), b.clone());
        (&mut a, &mut b).par_bijective_shuffle_together(6);
        x.par_bijective_shuffle(6);
        y.par_bijective_shuffle(6);
        assert!(a == x && b == y, "{len}");
        p.unapply_together((&mut a, &mut b)).unwrap();
        p.apply_together([&mut a]).unwrap();
        assert_eq!(a, x);
        y.par_bijective_unshuffle(6);
        (&mut a[..],).par_bijective_unshuffle_together(6);
        assert!(a.iter().copied().eq(0..len) && b == y, "{len}");
    }
}

#[test]
fn items_of_no_size_take_no_time() {
    let (mut a, mut b) = ([(); usize::MAX], [(); usize::MAX]);
    (&mut a, &mut b).par_bijective_shuffle_together(1);
    (&mut a, &mut b).par_bijective_unshuffle_together(1);
}

/// The GPU gives the same, or says that it is not there and moves nothing.
#[test]
fn back_ends_can_be_chosen() {
    let p = Permutation::new(1000, 7);
    let (mut a, mut b): (Vec<u64>, Vec<u8>) = (0..1000).map(|x| (x, x as u8)).unzip();
    match p.clone().on(Backend::Cuda).apply_together((&mut a, &mut b)) {
        Ok(()) => assert_eq!(a, p.to_vec()),
        Err(error) => {
            assert!(matches!(error, Error::BackendUnavailable { .. }), "{error}");
            assert!(a.iter().copied().eq(0..1000));
        }
    }
    assert!(a.iter().zip(&b).all(|(&a, &b)| a as u8 == b));
}

/// How many times each item was dropped, of two columns.
struct Ledger(Vec<AtomicU32>);

/// An item that signs the ledger when it is dropped; of the size of a type.
struct Item<'a, T> {
    id: usize,
    ledger: &'a Ledger,
    _weight: T,
}

impl<T> Drop for Item<'_, T> {
    fn drop(&mut self) {
        self.ledger.0[self.id].fetch_add(1, Relaxed);
    }
}

/// Calls with two columns, and checks that no item is lost, dropped or moved apart from its
/// neighbour, whatever happens; and that none has moved, if the call did not succeed.
fn survive(f: &dyn Bijection, len: usize, strategy: Strategy) -> Option<Result<(), Error>> {
    let ledger = Ledger((0..2 * len).map(|_| AtomicU32::new(0)).collect());
    let mut a: Vec<_> =
        (0..len).map(|id| Item { id, ledger: &ledger, _weight: id as u8 }).collect();
    let mut b: Vec<_> =
        (len..2 * len).map(|id| Item { id, ledger: &ledger, _weight: [id as u64; 3] }).collect();
    let mut workspace = Workspace::new().with_strategy(strategy);
    let mut end = None;
    for back in [false, true] {
        let call = || match back {
            false => workspace.shuffle_together(f, (&mut a, &mut b)),
            true => workspace.unshuffle_together(f, (&mut a, &mut b)),
        };
        let result = catch_unwind(AssertUnwindSafe(call)).ok();
        assert!(ledger.0.iter().all(|count| count.load(Relaxed) == 0), "dropped on the way");
        assert!(a.iter().zip(&b).all(|(a, b)| a.id + len == b.id), "torn apart: {result:?}");
        if !matches!(result, Some(Ok(()))) {
            assert!(a.iter().map(|item| item.id).eq(0..len), "an item has moved: {result:?}");
        } else {
            let mut ids: Vec<_> = a.iter().map(|item| item.id).collect();
            ids.sort_unstable();
            assert!(ids.into_iter().eq(0..len), "an item is missing");
            a.sort_by_key(|item| item.id);
            b.sort_by_key(|item| item.id);
        }
        end = end.or(Some(result));
    }
    drop((a, b));
    assert!(
        ledger.0.iter().all(|count| count.load(Relaxed) == 1),
        "not every item was dropped once"
    );
    end.flatten()
}

/// Wraps a function that need not be a bijection at all.
struct Liar<F>(u64, F);

impl<F: Fn(u64) -> u64 + Send + Sync> Bijection for Liar<F> {
    fn last(&self) -> u64 {
        self.0
    }
    fn forward(&self, slot: u64) -> u64 {
        self.1(slot)
    }
    fn inverse(&self, index: u64) -> u64 {
        self.1(index)
    }
}

/// A true bijection that panics from one call on.
struct Panicking<B>(B, AtomicU32);

impl<B> Panicking<B> {
    fn call(&self) {
        assert!(self.1.fetch_sub(1, Relaxed) > 1, "as it should");
    }
}

impl<B: TrustedBijection> Bijection for Panicking<B> {
    fn last(&self) -> u64 {
        self.0.last()
    }
    fn forward(&self, slot: u64) -> u64 {
        self.call();
        self.0.forward(slot)
    }
    fn inverse(&self, index: u64) -> u64 {
        self.call();
        self.0.inverse(index)
    }
    fn trusted(&self) -> Option<Trusted<'_>> {
        Some(Trusted::new(self))
    }
}

// SAFETY: every answer is that of a built-in bijection, if there is one.
unsafe impl<B: TrustedBijection> TrustedBijection for Panicking<B> {}

#[test]
fn liars_lose_nothing() {
    for len in [100, 140_000] {
        let last = (len as u64).next_power_of_two() - 1;
        for strategy in [Strategy::Auto, Strategy::Direct, Strategy::Partitioned] {
            let repeats = survive(&Liar(last, |x| x & !1), len, strategy);
            let expected = Error::NotABijection(Defect::Repeats { index: 0, slots: Some([0, 1]) });
            assert_eq!(repeats, Some(Err(expected)));
            let strays = survive(&Liar(last, |x| if x == 3 { u64::MAX } else { x }), len, strategy);
            assert!(matches!(strays, Some(Err(Error::NotABijection(Defect::Survivors { .. })))));
            let calls = AtomicU32::new(0);
            let call = || u64::from(calls.fetch_add(1, Relaxed));
            survive(&Liar(last, |x| (x + call() / 7) & last), len, strategy);
            let stop = len as u64 / 2;
            let panics = Liar(last, |x| if x == stop { panic!("as it should") } else { x });
            assert_eq!(survive(&panics, len, strategy), None);
            assert_eq!(survive(&Liar(last, |x| x), len, strategy), Some(Ok(())));
        }
    }
}

/// Those that are trusted are evaluated while items travel, and may panic even so.
#[test]
fn panics_of_trusted_bijections_lose_nothing() {
    for len in [100, 140_000_u32] {
        for strategy in [Strategy::Direct, Strategy::Partitioned] {
            for calls in [1, len / 2, len - 1] {
                let f = Panicking(Standard::from_seed(len.into(), 8), AtomicU32::new(calls));
                assert_eq!(survive(&f, len as usize, strategy), None, "{strategy:?}, {calls}");
            }
        }
    }
}
