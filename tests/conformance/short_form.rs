//! What an interpreter and sanitizers run (`.ci/sanitize`): a few hundred items, by every entry
//! point of every back end. Under Miri they are enough for the way of many items, in chunks, tiles,
//! waves and buckets on two threads (`src/compact/cpu/tuning.rs`). It takes seconds for each call,
//! so it gets a part of the cases.

use bijective_shuffle::Strategy;
use bijective_shuffle::prelude::*;
use rayon::ThreadPoolBuilder;

use crate::agreement::{check, in_pools, reference};
use crate::bijections::{check_at, check_everywhere};
use crate::common::{Plain, every_family};
use crate::items::{KINDS, Kind, SHAPES};
use crate::under_test::{Given, UnderTest};
use crate::{batches, lies, together};

/// Orders that are drawn exactly and that are not, with gaps and without; from bijections that
/// nobody vouches for, or with few items for their slots, or with buckets that overflow.
pub(crate) fn short_form(backend: &mut dyn UnderTest) {
    let is_whole = !cfg!(miri);
    in_pools(backend, if is_whole { &[1, 2] } else { &[2] }, |backend| {
        for len in if is_whole { &[0, 3, 257, 700][..] } else { &[300] } {
            let seed = Seed::new(*len);
            let f = Standard::from_seed(*len, seed);
            let order = reference(&f, *len as usize);
            let given = Given { bijection: &f, seed: Some(seed) };
            let kinds = if is_whole { KINDS } else { &[Kind::Counted] };
            check(backend, &given, &order, kinds, "short form");
            let shapes = if is_whole { SHAPES } else { &SHAPES[2..3] };
            together::check(backend, &given, *len as usize, shapes, "short form");
        }
        let plain = Plain(Lcg::new(9, 5, 3).unwrap());
        let [full, sparse, counter] =
            [(9, 5, 3), (12, 5, 3), (10, 1, 0)].map(|(bits, a, c)| Lcg::new(bits, a, c).unwrap());
        let all = [(&plain as &dyn Bijection, 300), (&full, 512), (&sparse, 300), (&counter, 600)];
        for (f, len) in &all[..if is_whole { 4 } else { 1 }] {
            let (given, order) = (Given::by(*f), reference(*f, *len));
            check(backend, &given, &order, &[Kind::NineWords], "short form");
        }
        if is_whole {
            batches::short_form(backend);
        }
    });
    if is_whole {
        lies::short_form(backend);
    }
}

/// Boxes: an item that is lost or doubled is memory that is leaked or freed twice.
#[test]
fn short_form_of_boxes() {
    let pool = ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    for &len in if cfg!(miri) { &[300_u64][..] } else { &[3, 257, 700, 5000] } {
        let f = Standard::from_seed(len, 7);
        let in_order: Vec<u64> = (0..len).collect();
        let order = reference(&f, len as usize);
        let boxed = |order: &[u64]| order.iter().map(|&index| Box::new(index)).collect::<Vec<_>>();
        // So wide that in place they are moved along cycles.
        let wide = |order: &[u64]| {
            order.iter().map(|&index| ([index; 23], Box::new(index))).collect::<Vec<_>>()
        };
        for strategy in [Strategy::Direct, Strategy::Partitioned, Strategy::InPlace] {
            let mut workspace = Workspace::new().with_strategy(strategy);
            let (mut items, mut rows) = (boxed(&in_order), wide(&in_order));
            pool.install(|| {
                workspace.shuffle_by_seed(7, &mut items).unwrap();
                assert_eq!(items, boxed(&order), "{strategy:?}");
                workspace.unshuffle_by_seed(7, &mut items).unwrap();
                assert_eq!(items, boxed(&in_order), "{strategy:?}");
                workspace.shuffle_together_by_seed(7, (&mut items, &mut rows)).unwrap();
                assert_eq!((&items, &rows), (&boxed(&order), &wide(&order)), "{strategy:?}");
                workspace.unshuffle_together_by_seed(7, (&mut items, &mut rows)).unwrap();
                assert_eq!((&items, &rows), (&boxed(&in_order), &wide(&in_order)), "{strategy:?}");
            });
        }
    }
}

/// Every family and combinator, on small domains and at a point of wide ones.
#[test]
fn short_form_of_every_family() {
    for &bits in if cfg!(miri) { &[4][..] } else { &[1, 2, 7] } {
        for (name, f) in every_family(bits, 3) {
            check_everywhere(&*f, name);
        }
    }
    if cfg!(miri) {
        return;
    }
    for bits in [33, 64] {
        for (name, f) in every_family(bits, 3) {
            check_at(&*f, 0x0123_4567_89AB_CDEF, name);
        }
    }
}
