//! Times calls of shared libraries of this project beside the same calls in Rust, in one run:
//!
//! ```console
//! crates/c/install --prefix target/c-speed
//! cargo bench -p bijective-shuffle-c --bench beside_rust -- target/c-speed/lib/libbijective_shuffle.so
//! ```
//!
//! With several libraries they take turns too, and so tell what a change did. The output is rows:
//! the median time of each in seconds, and Rust's time over it. `--items BITS` says how many items
//! there are, 2^26 unless it is given, and `--only TEXT` which cases are run.

use std::ffi::c_void;
use std::time::Instant;

use library::prelude::*;
use library::rng::{Fill, Philox4x32Rng, Streams};
use library::{Permutation, Seed};

type Shuffle = unsafe extern "C" fn(*mut c_void, usize, usize, u64, u64) -> i32;
type Make = unsafe extern "C" fn(u64, u64, u64, *mut *mut c_void) -> i32;
type Get = unsafe extern "C" fn(*const c_void, u64, *mut u64) -> i32;
type Range = unsafe extern "C" fn(*const c_void, u64, usize, *mut u32) -> i32;
type Generator = unsafe extern "C" fn(i32, u64, u64, u64, u64, *mut *mut c_void) -> i32;
type FillF64 = unsafe extern "C" fn(*mut c_void, *mut f64, usize) -> i32;

/// The functions of a library that are timed.
struct Functions {
    shuffle: Shuffle,
    unshuffle: Shuffle,
    new: Make,
    walk: Make,
    get: Get,
    range: Range,
    streams: Generator,
    fill: FillF64,
    normal: unsafe extern "C" fn(*mut c_void, *mut f64, usize, f64, f64) -> i32,
}

impl Functions {
    fn load(path: &str) -> Self {
        // SAFETY: the libraries have no code that runs when they are loaded but Rust's own.
        let library = unsafe { libloading::Library::new(path) }.expect("a library");
        let library: &'static libloading::Library = Box::leak(Box::new(library));
        macro_rules! of {
            ($name:literal) => {
                // SAFETY: the types of the fields are those of the header.
                *unsafe { library.get($name) }.expect("a function of the header")
            };
        }
        Self {
            shuffle: of!(b"bs_shuffle"),
            unshuffle: of!(b"bs_unshuffle"),
            new: of!(b"bs_permutation_new"),
            walk: of!(b"bs_permutation_walk"),
            get: of!(b"bs_permutation_get"),
            range: of!(b"bs_permutation_range_u32"),
            streams: of!(b"bs_generator_streams"),
            fill: of!(b"bs_generator_fill_f64"),
            normal: of!(b"bs_generator_fill_normal_f64"),
        }
    }
}

/// One way to do the work of a case: it returns a number by which the ways are compared.
type Way<'a> = Box<dyn FnMut() -> u64 + 'a>;

/// Times the ways of a case in turns, and prints a row.
fn time(case: &str, runs: usize, ways: &mut [Way]) {
    let expected = ways[0]();
    assert!(ways[1..].iter_mut().all(|way| way() == expected), "{case}: the libraries differ");
    let mut times = vec![Vec::new(); ways.len()];
    for run in 0..runs {
        for k in 0..ways.len() {
            let way = (k + run) % ways.len();
            let began = Instant::now();
            ways[way]();
            times[way].push(began.elapsed().as_secs_f64());
        }
    }
    let medians = times.iter_mut().map(|times| {
        times.sort_by(f64::total_cmp);
        times[times.len() / 2]
    });
    let medians: Vec<f64> = medians.collect();
    print!("{case},{:.4e}", medians[0]);
    medians[1..].iter().for_each(|median| print!(",{median:.4e},{:.3}", medians[0] / median));
    println!();
}

/// A number that all items and their order enter.
fn digest(items: impl IntoIterator<Item = u64>) -> u64 {
    items.into_iter().fold(0, |sum: u64, item| sum.wrapping_mul(31).wrapping_add(item))
}

fn main() {
    let (mut libraries, mut bits, mut only) = (Vec::new(), 26, String::new());
    let mut arguments = std::env::args().skip(1).filter(|argument| argument != "--bench");
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().expect("a value for the option");
        match &*argument {
            "--items" => bits = value().parse::<u32>().expect("the bits of a length"),
            "--only" => only = value(),
            path => libraries.push(Functions::load(path)),
        }
    }
    if libraries.is_empty() {
        // As when all benches are run, or their tests.
        return println!("no library was given: see the top of beside_rust.rs");
    }
    print!("case,Rust");
    (1..=libraries.len()).for_each(|k| print!(",library {k},Rust / library {k}"));
    println!();
    let long = 1_usize << bits;
    let is_wanted = |case: &str| case.contains(&*only);
    for len in [long, long / 2 + 1] {
        shuffles::<u64>(&libraries, len, 31, &is_wanted);
        shuffles::<u32>(&libraries, len, 31, &is_wanted);
    }
    shuffles::<u64>(&libraries, 100_000, 301, &is_wanted);
    orders(&libraries, long / 4, &is_wanted);
    fills(&libraries, long / 4, &is_wanted);
}

/// Arrays in place, there and back.
fn shuffles<T>(libraries: &[Functions], len: usize, runs: usize, is_wanted: &dyn Fn(&str) -> bool)
where
    T: Copy + Send + Into<u64> + TryFrom<u32>,
{
    let case = |what: &str| format!("{what} {len} items of {} bytes in place", size_of::<T>());
    if ![case("shuffle"), case("undo")].iter().any(|case| is_wanted(case)) {
        return;
    }
    let item = |k: usize| T::try_from(k as u32).ok().expect("at least 32 bits");
    let items = &std::cell::RefCell::new((0..len).map(item).collect::<Vec<T>>());
    let some = || digest(items.borrow().iter().step_by(len / 1000).map(|&item| item.into()));
    let by = |function: Shuffle| -> Way {
        Box::new(move || {
            let start = items.borrow_mut().as_mut_ptr().cast();
            // SAFETY: there are so many items of this size.
            assert_eq!(unsafe { function(start, len, size_of::<T>(), 42, 0) }, 0);
            0
        })
    };
    // The shuffles follow each other, and each is the same for any items.
    let mut there: Vec<Way> = vec![Box::new(|| {
        items.borrow_mut().par_bijective_shuffle(42);
        0
    })];
    there.extend(libraries.iter().map(|library| by(library.shuffle)));
    if is_wanted(&case("shuffle")) {
        time(&case("shuffle"), runs, &mut there);
    }
    let mut back: Vec<Way> = vec![Box::new(|| {
        items.borrow_mut().par_bijective_unshuffle(42);
        0
    })];
    back.extend(libraries.iter().map(|library| by(library.unshuffle)));
    if is_wanted(&case("undo")) {
        time(&case("undo"), runs, &mut back);
    }
    // Each gives what Rust gives.
    for (there, back) in there.iter_mut().zip(&mut back) {
        let before = some();
        there();
        let after = some();
        items.borrow_mut().par_bijective_unshuffle(42);
        assert_eq!(some(), before);
        items.borrow_mut().par_bijective_shuffle(42);
        assert_eq!(some(), after);
        back();
        assert_eq!(some(), before);
    }
}

/// Indexes, and single places.
fn orders(libraries: &[Functions], len: usize, is_wanted: &dyn Fn(&str) -> bool) {
    const LOOKUPS: u64 = 100_000;
    let handle = |make: Make, len: u64| {
        let mut made = std::ptr::null_mut();
        // SAFETY: there is room for a pointer.
        assert_eq!(unsafe { make(len, 42, 0, &mut made) }, 0);
        made
    };
    let case = format!("all {} indexes in 32 bits", len + 1);
    if is_wanted(&case) {
        let p = Permutation::new(len as u64 + 1, 42);
        let out = std::cell::RefCell::new(vec![0_u32; len + 1]);
        let some = || digest(out.borrow().iter().step_by(1000).map(|&item| item.into()));
        let mut ways: Vec<Way> = vec![Box::new(|| {
            p.write_indexes(&mut out.borrow_mut()).expect("memory");
            some()
        })];
        for library in libraries {
            let made = handle(library.new, len as u64 + 1);
            let (out, some) = (&out, &some);
            ways.push(Box::new(move || {
                let start = out.borrow_mut().as_mut_ptr();
                // SAFETY: there is room for all items.
                assert_eq!(unsafe { (library.range)(made, 0, len + 1, start) }, 0);
                some()
            }));
        }
        time(&case, 15, &mut ways);
    }
    let case = format!("{LOOKUPS} places of a walk over 10^12");
    if is_wanted(&case) {
        let p = Permutation::walk(1_000_000_000_000, 42);
        let mut ways: Vec<Way> = vec![Box::new(|| {
            digest((0..LOOKUPS).map(|k| p.get(k * 7919).unwrap().expect("a place")))
        })];
        for library in libraries {
            let made = handle(library.walk, 1_000_000_000_000);
            ways.push(Box::new(move || {
                digest((0..LOOKUPS).map(|k| {
                    let mut item = 0;
                    // SAFETY: there is room for an item.
                    assert_eq!(unsafe { (library.get)(made, k * 7919, &mut item) }, 0);
                    item
                }))
            }));
        }
        time(&case, 31, &mut ways);
    }
}

/// Fills with numbers by 1024 streams.
fn fills(libraries: &[Functions], len: usize, is_wanted: &dyn Fn(&str) -> bool) {
    let out = std::cell::RefCell::new(vec![0.0_f64; len]);
    let some = || digest(out.borrow().iter().step_by(1000).map(|number| number.to_bits()));
    for is_normal in [false, true] {
        let case = format!("fill {len} {} f64", if is_normal { "normal" } else { "uniform" });
        if !is_wanted(&case) {
            continue;
        }
        let mut streams = Streams::<Philox4x32Rng>::new(Seed::new(42), 0..1024).expect("streams");
        let mut ways: Vec<Way> = vec![Box::new(|| {
            if is_normal {
                streams.fill_normal_f64_with(0.0, 1.0, &mut out.borrow_mut());
            } else {
                streams.fill_f64(&mut out.borrow_mut());
            }
            some()
        })];
        for library in libraries {
            let mut made = std::ptr::null_mut();
            // SAFETY: there is room for a pointer.
            assert_eq!(unsafe { (library.streams)(0, 42, 0, 0, 1024, &mut made) }, 0);
            let (out, some) = (&out, &some);
            ways.push(Box::new(move || {
                let start = out.borrow_mut().as_mut_ptr();
                let status = if is_normal {
                    // SAFETY: there is room for so many numbers, and the streams exist.
                    unsafe { (library.normal)(made, start, len, 0.0, 1.0) }
                } else {
                    // SAFETY: there is room for so many numbers, and the streams exist.
                    unsafe { (library.fill)(made, start, len) }
                };
                assert_eq!(status, 0);
                some()
            }));
        }
        time(&case, 11, &mut ways);
    }
}
