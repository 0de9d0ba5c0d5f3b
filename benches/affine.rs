//! Arrays permuted by affine maps, beside a parallel copy, which is the bound, and the naive loop:
//! items a second.
//!
//! Memory is in huge pages where the system gives them. `BIJECTIVE_SHUFFLE_LONG=1` adds arrays of
//! 2^26 and 2^28 items, 4 GiB in all. With `BIJECTIVE_SHUFFLE_RATIOS=1` nothing but the ratios to
//! the copy is printed, each the median of rounds in which copy, permutation and naive loop take
//! turns: where the memory's bandwidth changes from second to second, as on shared machines, these
//! are the figures to trust.

use std::time::Instant;

use bijective_shuffle::affine::Affine;
use bijective_shuffle::affine::{BitMatrix, permute, permute_in_place};
use bijective_shuffle::prelude::*;
use divan::Bencher;
use divan::counter::ItemsCount;
use memmap2::{Advice, MmapMut};
use rayon::prelude::*;

fn main() {
    if std::env::var_os("BIJECTIVE_SHUFFLE_RATIOS").is_some() {
        cases().for_each(|(bits, kind)| ratios(bits, kind));
    } else {
        divan::main();
    }
}

/// Prints the speed of a permutation, and of the naive loop, as a part of a copy's.
fn ratios(bits: u32, kind: Kind) {
    let map = map(kind, bits);
    let (mut source, mut out) = (Items::counting(bits), Items::counting(bits));
    let (source, out) = (source.slice(), out.slice());
    let mut time = |what: &mut dyn FnMut(&mut [u64])| {
        let start = Instant::now();
        what(out);
        start.elapsed().as_secs_f64()
    };
    let rounds = if bits > 26 { 7 } else { 15 };
    let mut rows = Vec::new();
    for round in 0..rounds {
        let copied = time(&mut |out| copy(source, out));
        let permuted = time(&mut |out| permute(&map, source, out).expect("the lengths fit"));
        // It is slow.
        let naive = if round % 5 == 0 { time(&mut |out| scatter(&map, source, out)) } else { 0.0 };
        rows.push((copied / permuted, copied / naive, permuted));
    }
    let median = |mut all: Vec<f64>| {
        all.sort_by(f64::total_cmp);
        all[all.len() / 2]
    };
    println!(
        "2^{bits} u64, {kind:?}: {:.2} of a copy, {:.2} G/s; the naive loop {:.3}",
        median(rows.iter().map(|row| row.0).collect()),
        f64::from(1 << bits) / median(rows.iter().map(|row| row.2).collect()) / 1e9,
        median(rows.iter().map(|row| row.1).filter(|ratio| ratio.is_finite()).collect()),
    );
}

/// A copy by all threads, in large pieces, which go past the caches.
fn copy(source: &[u64], out: &mut [u64]) {
    let piece = source.len().div_ceil(rayon::current_num_threads());
    let pieces = out.par_chunks_mut(piece).zip(source.par_chunks(piece));
    pieces.for_each(|(out, source)| out.copy_from_slice(source));
}

/// Every item by itself, by all threads: the index is evaluated, and the item put there.
fn scatter(map: &Affine, source: &[u64], out: &mut [u64]) {
    struct Out(*mut u64);
    // SAFETY: no two threads write to one place, since the map is a bijection.
    unsafe impl Sync for Out {}

    impl Out {
        /// # Safety
        ///
        /// The place is one of the array's, and nobody else uses it.
        unsafe fn put(&self, place: u64, item: u64) {
            // SAFETY: the caller promises that the place is one of the array's, which is there as
            // long as `scatter` borrows it, and that no other thread uses it.
            unsafe { *self.0.wrapping_add(place as usize) = item };
        }
    }

    assert_eq!((source.len() as u64 - 1, out.len()), (map.last(), source.len()));
    let out = Out(out.as_mut_ptr());
    source.par_chunks(1 << 10).enumerate().for_each(|(k, items)| {
        let mut places = [0; 1 << 10];
        map.forward_run((k << 10) as u64, &mut places[..items.len()]);
        for (&place, &item) in places.iter().zip(items) {
            // SAFETY: the map's values are below the length, each once.
            unsafe { out.put(place, item) };
        }
    });
}

fn widths() -> Vec<u32> {
    let mut widths = vec![16, 20, 24];
    if std::env::var_os("BIJECTIVE_SHUFFLE_LONG").is_some() {
        widths.extend([26, 28]);
    }
    widths
}

/// An array of `2^bits` items that count up, aligned to a page.
struct Items {
    memory: MmapMut,
    bits: u32,
}

impl Items {
    fn counting(bits: u32) -> Self {
        let memory = MmapMut::map_anon(8 << bits).expect("there is memory");
        #[cfg(target_os = "linux")]
        let _ = memory.advise(Advice::HugePage);
        let mut items = Self { memory, bits };
        items.slice().par_iter_mut().enumerate().for_each(|(k, item)| *item = k as u64);
        items
    }

    fn slice(&mut self) -> &mut [u64] {
        // SAFETY: any bits are a u64.
        let (before, items, _) = unsafe { self.memory.align_to_mut() };
        assert!(before.is_empty());
        &mut items[..1 << self.bits]
    }
}

/// Times copying from one array to another, and checks some of the items' places.
fn times(
    bencher: Bencher,
    bits: u32,
    map: &Affine,
    mut copy: impl FnMut(&Affine, &[u64], &mut [u64]),
) {
    let (mut source, mut out) = (Items::counting(bits), Items::counting(bits));
    let (source, out) = (source.slice(), out.slice());
    bencher.counter(ItemsCount::new(source.len())).bench_local(|| copy(map, source, out));
    for x in (0..1 << bits).step_by(9973) {
        assert_eq!(out[map.forward(x) as usize], x);
    }
}

/// The maps by name.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Reversal,
    BitPermutation,
    Random,
}

const KINDS: [Kind; 3] = [Kind::Reversal, Kind::BitPermutation, Kind::Random];

fn map(kind: Kind, bits: u32) -> Affine {
    let matrix = match kind {
        Kind::Reversal => BitMatrix::bit_reversal(bits),
        Kind::BitPermutation => {
            let to = Permutation::new(bits.into(), 1).to_vec();
            BitMatrix::bit_permutation(&to.iter().map(|&bit| bit as u32).collect::<Vec<_>>())
        }
        Kind::Random => BitMatrix::random(bits, 1),
    };
    Affine::new(&matrix.expect("a width that there is"), 0).expect("all of them have inverses")
}

fn cases() -> impl Iterator<Item = (u32, Kind)> {
    widths().into_iter().flat_map(|bits| KINDS.map(|kind| (bits, kind)))
}

#[divan::bench(args = widths(), sample_count = 9, sample_size = 1)]
fn parallel_copy(bencher: Bencher, bits: u32) {
    let identity = Affine::translation(bits, 0).expect("a width that there is");
    times(bencher, bits, &identity, |_, source, out| copy(source, out));
}

#[divan::bench(args = cases(), sample_count = 9, sample_size = 1)]
fn permuted(bencher: Bencher, (bits, kind): (u32, Kind)) {
    times(bencher, bits, &map(kind, bits), |map, source, out| {
        permute(map, source, out).expect("the lengths fit");
    });
}

#[divan::bench(args = cases(), sample_count = 3, sample_size = 1)]
fn naive(bencher: Bencher, (bits, kind): (u32, Kind)) {
    times(bencher, bits, &map(kind, bits), scatter);
}

/// Back and forth, so that after an even number of times the items are where they were.
#[divan::bench(args = cases(), sample_count = 9, sample_size = 1)]
fn in_place(bencher: Bencher, (bits, kind): (u32, Kind)) {
    let mut items = Items::counting(bits);
    let map = map(kind, bits);
    let maps = [map.clone(), map.inverted()];
    let mut times = 0;
    bencher.counter(ItemsCount::new(1_usize << bits)).bench_local(|| {
        permute_in_place(&maps[times % 2], items.slice()).expect("the lengths fit");
        times += 1;
    });
    if times % 2 == 1 {
        permute_in_place(&maps[1], items.slice()).expect("the lengths fit");
    }
    assert!(items.slice().iter().copied().eq(0..1 << bits));
}
