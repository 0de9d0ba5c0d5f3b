//! Several arrays under one permutation: one call for all of them, and a call for each, which take
//! turns, so that whatever else the machine does hits both alike. Prints a table of medians;
//! `--test` runs everything once at short lengths. What was moved is checked at every length.

use std::time::{Duration, Instant};

use bijective_shuffle::bijection::Standard;
use bijective_shuffle::prelude::*;

/// Whether items are shuffled or put back.
#[derive(Clone, Copy, Debug)]
enum Way {
    Shuffle,
    Unshuffle,
}

/// Some arrays of one length.
trait Arrays {
    const NAME: &str;
    fn new(len: usize) -> Self;
    fn together(&mut self, workspace: &mut Workspace, f: &Standard, way: Way);
    fn one_by_one(&mut self, workspace: &mut Workspace, f: &Standard, way: Way);
    /// Whether the item at a place is that of an index, in every array.
    fn has(&self, place: usize, index: u64) -> bool;
}

fn alone<T: Send>(workspace: &mut Workspace, f: &Standard, way: Way, items: &mut [T]) {
    match way {
        Way::Shuffle => workspace.shuffle(f, items).expect("there is memory"),
        Way::Unshuffle => workspace.unshuffle(f, items).expect("there is memory"),
    }
}

macro_rules! arrays {
    ($struct:ident, $name:literal, $($number:tt: $type:ty = $item:expr),+) => {
        struct $struct($(Vec<$type>),+);

        impl Arrays for $struct {
            const NAME: &str = $name;

            fn new(len: usize) -> Self {
                Self($((0..len as u64).map($item).collect()),+)
            }

            fn together(&mut self, workspace: &mut Workspace, f: &Standard, way: Way) {
                let columns = ($(&mut self.$number,)+);
                match way {
                    Way::Shuffle => workspace.shuffle_together(f, columns),
                    Way::Unshuffle => workspace.unshuffle_together(f, columns),
                }
                .expect("there is memory");
            }

            fn one_by_one(&mut self, workspace: &mut Workspace, f: &Standard, way: Way) {
                $(alone(workspace, f, way, &mut self.$number);)+
            }

            fn has(&self, place: usize, index: u64) -> bool {
                $(
                    let item: fn(u64) -> $type = $item;
                    if self.$number[place] != item(index) {
                        return false;
                    }
                )+
                true
            }
        }
    };
}

fn bytes(x: u64) -> [u8; 12] {
    let mut bytes = [7; 12];
    bytes[..8].copy_from_slice(&x.to_le_bytes());
    bytes
}

arrays!(Mixed, "`u64`, `f32`, `[u8; 12]`", 0: u64 = |x| x, 1: f32 = |x| x as f32, 2: [u8; 12] = bytes);
arrays!(Narrow, "`u32`, `u32`", 0: u32 = |x| x as u32, 1: u32 = |x| !x as u32);
arrays!(Wide, "`u64`, `u64`", 0: u64 = |x| x, 1: u64 = |x| !x);
arrays!(Eight, "eight `u64`", 0: u64 = |x| x, 1: u64 = |x| !x, 2: u64 = |x| x + 2, 3: u64 = |x| x + 3,
    4: u64 = |x| x + 4, 5: u64 = |x| x + 5, 6: u64 = |x| x + 6, 7: u64 = |x| x + 7);

/// How much is measured.
struct Effort {
    /// Both ways are repeated until they have taken so long, and so often.
    budget: Duration,
    repeats: usize,
}

fn measure<A: Arrays>(len: usize, effort: &Effort) {
    let mut arrays = A::new(len);
    let (mut shared, mut each) = (Workspace::new(), Workspace::new());
    check(&mut arrays, len, &mut shared);
    for way in [Way::Shuffle, Way::Unshuffle] {
        let (mut together, mut apart) = (Vec::new(), Vec::new());
        let start = Instant::now();
        let mut seed = 0;
        while together.len() <= effort.repeats || start.elapsed() < effort.budget {
            seed += 1;
            let f = Standard::from_seed(len as u64, seed);
            let time = Instant::now();
            arrays.together(&mut shared, &f, way);
            together.push(time.elapsed().as_secs_f64());
            let time = Instant::now();
            arrays.one_by_one(&mut each, &f, way);
            apart.push(time.elapsed().as_secs_f64());
        }
        let (together, apart) = (median(&mut together), median(&mut apart));
        let rate = |seconds: f64| len as f64 / seconds / 1e6;
        println!(
            "| {} | {way:?} | 2^{} + 1 | {:.0} | {:.0} | {:.2} |",
            A::NAME,
            len.ilog2(),
            rate(together),
            rate(apart),
            apart / together
        );
    }
}

/// Without the first, which gets the memory.
fn median(seconds: &mut Vec<f64>) -> f64 {
    seconds.remove(0);
    seconds.sort_by(f64::total_cmp);
    seconds[seconds.len() / 2]
}

fn check<A: Arrays>(arrays: &mut A, len: usize, workspace: &mut Workspace) {
    let f = Standard::from_seed(len as u64, 42);
    arrays.together(workspace, &f, Way::Shuffle);
    let p = Permutation::new(len as u64, 42);
    assert!(p.iter().enumerate().all(|(place, index)| arrays.has(place, index)), "shuffled");
    arrays.together(workspace, &f, Way::Unshuffle);
    assert!((0..len).all(|place| arrays.has(place, place as u64)), "put back");
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let is_test = arguments.iter().any(|argument| argument == "--test");
    let budget = Duration::from_millis(if is_test { 0 } else { 1000 });
    let effort = Effort { budget, repeats: if is_test { 1 } else { 5 } };
    // Powers of two may be given.
    let given: Vec<u32> = arguments.iter().filter_map(|argument| argument.parse().ok()).collect();
    let powers = match (&given[..], is_test) {
        ([], true) => &[8, 17],
        ([], false) => &[14, 17, 20, 24, 26][..],
        (given, _) => given,
    };
    println!(
        "| arrays | way | length | one call, M/s | a call each, M/s | ratio |\n| - | - | - | - | - | - |"
    );
    for power in powers {
        let len = (1 << power) + 1;
        measure::<Mixed>(len, &effort);
        measure::<Narrow>(len, &effort);
        measure::<Wide>(len, &effort);
        if *power <= 24 {
            measure::<Eight>(len, &effort);
        }
    }
}
