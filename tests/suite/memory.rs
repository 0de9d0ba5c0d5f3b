//! Memory that is not there: calls that need it say so and leave the items alone, and a shuffle in
//! place does without.

use std::process::Command;

use bijective_shuffle::Strategy;
use bijective_shuffle::prelude::*;

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
