//! Memory that is not there: calls that need it say so and leave the items alone, and a shuffle in
//! place does without. Its long form takes most of the machine's memory:
//!
//! ```console
//! BIJECTIVE_SHUFFLE_LONG=1 cargo test --release --test suite memory:: -- --nocapture --test-threads 1
//! ```

use std::process::Command;
use std::time::Instant;

use bijective_shuffle::Error;
use bijective_shuffle::Strategy;
use bijective_shuffle::bijection::Standard;
use bijective_shuffle::prelude::*;

use bijective_shuffle_laws as laws;

/// Set in the process whose memory is limited.
const CHILD: &str = "BIJECTIVE_SHUFFLE_TEST_LIMITED";

/// 256 MiB of items, for which there is memory, but not for a copy of them: only for a third of
/// one.
const LEN: usize = 1 << 25;

/// How much may be mapped, in KiB: the items, the test itself, and some.
const LIMIT: usize = 500 << 10;

fn is_untouched(items: &[u64]) -> bool {
    items.iter().copied().eq(0..LEN as u64)
}

fn is_out_of_memory<T>(result: Result<T, Error>) -> bool {
    matches!(result, Err(Error::OutOfMemory { bytes }) if bytes >= 8 * LEN as u64 / 2)
}

#[test]
fn items_are_untouched_where_memory_is_short() {
    if std::env::var_os(CHILD).is_some() {
        return fail_in_every_way();
    }
    let test = std::env::current_exe().unwrap();
    let script = format!("ulimit -v {LIMIT} && exec \"$0\" --exact --nocapture \"$1\"");
    let output = Command::new("sh")
        .args(["-c", &script])
        .arg(test)
        .arg("memory::items_are_untouched_where_memory_is_short")
        .env(CHILD, "1")
        // Every thread maps a stack of its own, and glibc's an arena.
        .env("RAYON_NUM_THREADS", "2")
        .env("MALLOC_ARENA_MAX", "1")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    assert!(text.contains("every way failed"), "the child did not run: {text}");
}

fn fail_in_every_way() {
    let mut items: Vec<u64> = (0..LEN as u64).collect();
    items.try_par_bijective_shuffle(1).unwrap();
    assert!(!is_untouched(&items));
    items.try_par_bijective_unshuffle(1).unwrap();
    assert!(is_untouched(&items));
    assert!(is_out_of_memory(items.try_par_bijective_shuffled(1)));
    let f = Standard::from_seed(LEN as u64, 1);
    for strategy in [Strategy::Direct, Strategy::Partitioned] {
        let mut workspace = Workspace::new().with_strategy(strategy);
        assert!(is_out_of_memory(workspace.shuffle(&f, &mut items)), "{strategy:?}");
        assert!(is_untouched(&items), "{strategy:?}");
        assert!(is_out_of_memory(workspace.unshuffle(&f, &mut items)), "{strategy:?}");
        assert!(is_untouched(&items), "{strategy:?}");
    }
    assert!(is_out_of_memory(Permutation::new(LEN as u64, 1).try_to_vec()));
    // There is memory for less.
    items.truncate(1 << 20);
    items.shrink_to_fit();
    items.try_par_bijective_shuffle(1).unwrap();
    items.try_par_bijective_unshuffle(1).unwrap();
    assert!(items.iter().copied().eq(0..1 << 20));
    println!("every way failed as it should");
}

/// The memory that the machine has to give, in bytes.
fn available() -> usize {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:")).unwrap();
    line.trim().trim_end_matches("kB").trim_end().parse::<usize>().unwrap() << 10
}

/// A slice of 60 % of the memory is shuffled and put back by plain calls: 14 GiB where there are
/// 24. A second copy would have no room.
#[test]
fn more_than_half_of_the_memory_is_shuffled() {
    if !laws::long() {
        println!("skipped: takes 80 % of the memory, and minutes, for the long form");
        return;
    }
    let len = available() / 10 * 6 / 8;
    let mut items: Vec<u64> = Vec::new();
    items.try_reserve_exact(len).unwrap();
    items.extend(0..len as u64);
    let start = Instant::now();
    items.try_par_bijective_shuffle(1).unwrap();
    let speed = len as f64 / start.elapsed().as_secs_f64() / 1e6;
    println!("{len} items of 8 bytes: {speed:.0} million a second");
    // Some of the order: all of it would take as much memory again.
    let p = Permutation::new(len as u64, 1);
    assert!(p.iter().take(1 << 20).eq(items[..1 << 20].iter().copied()));
    assert!(p.iter().rev().take(1 << 20).eq(items.iter().rev().take(1 << 20).copied()));
    let add = |sum: u64, k: u64| sum.wrapping_add(k.wrapping_mul(k | 1));
    let expected = (0..len as u64).fold(0, add);
    assert_eq!(items.iter().copied().fold(0, add), expected, "an item is lost");
    items.try_par_bijective_unshuffle(1).unwrap();
    assert!(items.iter().copied().eq(0..len as u64));
}
