//! More than `2^31` slots, which the partitioned strategy sorts into larger buckets. It takes 18
//! GiB and minutes, so it belongs to the long forms of the tests, and says how long it took:
//!
//! ```console
//! BIJECTIVE_SHUFFLE_LONG=1 cargo test --release --test conformance far:: -- --nocapture --test-threads 1
//! ```

use bijective_shuffle_laws as laws;
use std::time::Instant;

use bijective_shuffle::Strategy;
use bijective_shuffle::bijection::{MulXorshift, Standard};
use bijective_shuffle::prelude::*;
use memmap2::MmapMut;

fn item(index: usize) -> u8 {
    ((index as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 56) as u8
}

/// Items in huge pages, where there are such.
fn items(len: usize) -> MmapMut {
    let mut items = MmapMut::map_anon(len).unwrap();
    #[cfg(target_os = "linux")]
    let _ = items.advise(memmap2::Advice::HugePage);
    for (index, place) in items.iter_mut().enumerate() {
        *place = item(index);
    }
    items
}

/// Shuffles the items there and back, twice, and leaves them in the order that they have after one
/// shuffle.
fn shuffle(f: &dyn Bijection, items: &mut [u8], strategy: Strategy) {
    let mut workspace = Workspace::new().with_strategy(strategy);
    let mut step = |items: &mut [u8], back: bool| {
        let start = Instant::now();
        if back {
            workspace.unshuffle(f, items).unwrap();
        } else {
            workspace.shuffle(f, items).unwrap();
        }
        let speed = items.len() as f64 / start.elapsed().as_secs_f64() / 1e6;
        let what = if back { "unshuffle" } else { "shuffle" };
        println!("{strategy:?}, {what}: {speed:.0} million items a second");
    };
    for _ in 0..2 {
        step(items, false);
        step(items, true);
        assert!(items.iter().enumerate().all(|(index, &x)| x == item(index)), "{strategy:?}");
    }
    step(items, false);
}

fn strategies_agree(f: &dyn Bijection, len: usize) {
    println!("{len} items of one byte, {} slots", u128::from(f.last()) + 1);
    let [mut partitioned, mut direct] = [items(len), items(len)];
    shuffle(f, &mut partitioned, Strategy::Partitioned);
    shuffle(f, &mut direct, Strategy::Direct);
    assert!(partitioned[..] == direct[..]);
    drop(partitioned);
    let mut in_place = items(len);
    shuffle(f, &mut in_place, Strategy::InPlace);
    assert!(in_place[..] == direct[..]);
}

#[test]
fn strategies_agree_beyond_2_to_the_31_slots() {
    if !laws::long() {
        println!("skipped: takes 18 GiB and minutes, for the long form");
        return;
    }
    let len = (1 << 31) + 1;
    strategies_agree(&Standard::from_seed(len as u64, 1), len);
}

#[test]
fn strategies_agree_beyond_2_to_the_32_slots() {
    if !laws::long() {
        println!("skipped: takes 18 GiB and minutes, for the long form");
        return;
    }
    let f = MulXorshift::<10>::from_seed((1 << 32) + 1, 2);
    strategies_agree(&f, (1 << 30) + (1 << 28));
}
