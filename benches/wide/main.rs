//! The families' evaluators written with the vectors of the crate `wide`, beside ours: one thread,
//! 1024 points at a time.
//!
//! `wide` takes its instructions when it is compiled, so in the default build these are SSE2. They
//! are to be compared with ours at the portable level:
//!
//! ```console
//! BIJECTIVE_SHUFFLE_SIMD=portable cargo bench --bench wide
//! ```
//!
//! An argument chooses families by a part of their names. A row has the family, its bits, the
//! direction, the vectors and how many of them are computed at once, the millions of points a
//! second of ours and of `wide`, and their ratio.

mod contest;
mod grid_feistel;
mod halves;
mod lcg;
mod mul_xorshift;
mod variable_philox;
mod vector;

use std::env;

use contest::Task;

fn main() {
    // Cargo passes this to benches, but not when it runs them as tests.
    let is_timed = env::args().any(|argument| argument == "--bench");
    let filter = env::args().skip(1).find(|argument| !argument.starts_with('-'));
    let task = Task { is_timed, filter: filter.unwrap_or_default() };
    mul_xorshift::contests::<false>(&task);
    mul_xorshift::contests::<true>(&task);
    grid_feistel::contests::<false>(&task);
    grid_feistel::contests::<true>(&task);
    variable_philox::contests::<false>(&task);
    variable_philox::contests::<true>(&task);
    lcg::contests::<false>(&task);
    lcg::contests::<true>(&task);
}
