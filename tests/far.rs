//! More than `2^31` slots, which the partitioned strategy sorts into larger buckets. It takes 16 GiB and minutes, so it
//! has to be asked for, and says how long it took:
//!
//! ```console
//! cargo test --release --test far -- --ignored --nocapture
//! ```

use std::time::Instant;

use bijective_shuffle::Strategy;
use bijective_shuffle::prelude::*;

/// Shuffles and back again by one strategy; the shuffled items.
fn there_and_back(f: &dyn Bijection, original: &[u8], strategy: Strategy) -> Vec<u8> {
    let mut items = original.to_vec();
    let mut workspace = Workspace::new().with_strategy(strategy);
    let mut timed = |what: &str, mut step: Box<dyn FnMut(&mut Workspace) + '_>| {
        for call in ["first call", "second call"] {
            let start = Instant::now();
            step(&mut workspace);
            let speed = original.len() as f64 / start.elapsed().as_secs_f64() / 1e6;
            println!("{strategy:?}, {what}, {call}: {speed:.0} million items a second");
        }
    };
    let mut out = vec![0; items.len()];
    timed(
        "shuffle_into",
        Box::new(|workspace| workspace.shuffle_into(f, &items, &mut out).unwrap()),
    );
    timed("shuffle", Box::new(|workspace| workspace.shuffle(f, &mut items).unwrap()));
    timed("unshuffle", Box::new(|workspace| workspace.unshuffle(f, &mut items).unwrap()));
    assert!(items == original, "{strategy:?}: back");
    out
}

fn strategies_agree(f: &dyn Bijection, len: usize) {
    println!("{len} items of one byte, {} slots", u128::from(f.last()) + 1);
    let original: Vec<u8> =
        (0..len as u64).map(|x| (x.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 56) as u8).collect();
    let expected = there_and_back(f, &original, Strategy::Direct);
    assert!(there_and_back(f, &original, Strategy::Partitioned) == expected);
}

#[test]
#[ignore = "takes 16 GiB and minutes"]
fn strategies_agree_beyond_2_to_the_31_slots() {
    let len = (1 << 31) + 1;
    strategies_agree(&Standard::from_seed(len as u64, 1), len);
}

#[test]
#[ignore = "takes 16 GiB and minutes"]
fn strategies_agree_beyond_2_to_the_32_slots() {
    let f = MulXorshift::<10>::from_seed((1 << 32) + 1, 2);
    strategies_agree(&f, (1 << 31) + (1 << 29));
}
