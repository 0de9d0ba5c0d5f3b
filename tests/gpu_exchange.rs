//! Ranks that exchange items: threads of this program, by NCCL, and processes, which copy into each
//! other's memory. With one GPU there is one rank, which shows what a rank does; with
//! `BIJECTIVE_SHUFFLE_REQUIRE_GPUS=n` it fails where there are fewer than n, or where n processes
//! do not reach each other's memory. Skipped where there is no GPU or no NCCL.

// NCCL is a library for Linux, and CUDA has no driver for 32 bits.
#![cfg(all(target_pointer_width = "64", target_os = "linux"))]

mod common;

use std::path::Path;
use std::process::{Child, Command};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use bijective_shuffle::Error;
use bijective_shuffle::Serial;
use bijective_shuffle::bijection::{Lcg, MulXorshift, Standard};
use bijective_shuffle::cuda::cudarc::driver::{CudaSlice, DeviceRepr};
use bijective_shuffle::cuda::{Cuda, CudaExchange, CudaStrategy, NcclId};
use bijective_shuffle::error::{ExchangeError, GpuError};
use bijective_shuffle::prelude::*;
use rayon::prelude::*;

use bijective_shuffle_laws::{Numbers, lengths, long};
use common::group::{divisions, even};

/// Held by the test that uses the devices.
static DEVICES: Mutex<()> = Mutex::new(());

/// How long a rank waits for another.
const LIMIT: Duration = Duration::from_secs(60);

/// Items before and behind each run.
const GUARD: usize = 512;

/// How many ranks there can be, 1, 2 or 4.
fn ranks() -> Vec<usize> {
    let devices = common::cuda().map_or(0, |_| Cuda::device_count().unwrap());
    let required = required();
    assert!(devices >= required, "{devices} devices, of {required}");
    match NcclId::new() {
        Ok(_) => [1, 2, 4].into_iter().filter(|&ranks| ranks <= devices).collect(),
        Err(error) => {
            assert_eq!(required, 0, "{error}");
            println!("skipped: {error}");
            Vec::new()
        }
    }
}

/// How many GPUs there have to be.
fn required() -> usize {
    let required = std::env::var("BIJECTIVE_SHUFFLE_REQUIRE_GPUS").unwrap_or("0".into());
    required.parse().expect("BIJECTIVE_SHUFFLE_REQUIRE_GPUS is a number")
}

fn rank(id: NcclId, rank: usize, ranks: usize, strategy: CudaStrategy) -> CudaExchange {
    rank_within(LIMIT, id, rank, ranks, strategy)
}

fn rank_within(
    limit: Duration,
    id: NcclId,
    rank: usize,
    ranks: usize,
    strategy: CudaStrategy,
) -> CudaExchange {
    // In some tests there are more processes than devices.
    let device = rank % Cuda::device_count().unwrap();
    let cuda = Cuda::on_device(device).unwrap().with_strategy(strategy);
    CudaExchange::new(&cuda, &id, rank, ranks, limit).unwrap()
}

/// Does something on all ranks at the same time, each of which is a thread.
fn on_all<R: Send>(
    ranks: usize,
    strategy: CudaStrategy,
    work: impl Fn(&mut CudaExchange) -> R + Sync,
) -> Vec<R> {
    let id = NcclId::new().unwrap();
    std::thread::scope(|scope| {
        let work = &work;
        let one = move |number| work(&mut rank(id, number, ranks, strategy));
        let threads: Vec<_> = (0..ranks).map(|number| scope.spawn(move || one(number))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

/// A rank's run of an array on its device, within a guard.
struct Run<T> {
    slice: CudaSlice<T>,
    len: usize,
    poison: T,
}

impl<T: DeviceRepr + Copy + PartialEq + std::fmt::Debug> Run<T> {
    fn new(of: &CudaExchange, items: &[T], poison: T) -> Self {
        let guard = [poison; GUARD];
        let slice = of.stream().clone_htod(&[&guard, items, &guard].concat()).unwrap();
        Self { slice, len: items.len(), poison }
    }

    /// The items, after a look at the guard.
    fn read(&self, of: &CudaExchange) -> Vec<T> {
        let mut all = of.stream().clone_dtoh(&self.slice).unwrap();
        of.stream().synchronize().unwrap();
        let behind = all.split_off(GUARD + self.len);
        let items = all.split_off(GUARD);
        assert!(all.iter().chain(&behind).all(|&item| item == self.poison), "beside the run");
        items
    }
}

/// A rank's part of a shuffle of an array, there and back. `from` and `to` are how many items the
/// ranks have before and afterwards.
fn check<T>(
    of: &mut CudaExchange,
    f: &dyn Bijection,
    order: &[u64],
    lens: [&[usize]; 2],
    item: fn(u64) -> T,
) where
    T: DeviceRepr + Copy + PartialEq + std::fmt::Debug,
{
    let own = |lens: &[usize]| {
        let first: usize = lens[..of.rank()].iter().sum();
        first..first + lens[of.rank()]
    };
    let [from, to] = lens.map(own);
    let poison = item(u64::MAX);
    let original = |places: std::ops::Range<usize>| -> Vec<T> {
        places.map(|place| item(place as u64)).collect()
    };
    let shuffled = |places: std::ops::Range<usize>| -> Vec<T> {
        order[places].iter().map(|&index| item(index)).collect()
    };
    let what = format!("{} of {lens:?}, {} bytes", of.rank(), size_of::<T>());

    let source = Run::new(of, &original(from.clone()), poison);
    let mut out = Run::new(of, &vec![poison; to.len()], poison);
    let view = source.slice.slice(GUARD..GUARD + from.len());
    of.shuffle_into(f, &view, &mut out.slice.slice_mut(GUARD..GUARD + to.len())).unwrap();
    of.synchronize().unwrap();
    assert!(out.read(of) == shuffled(to.clone()), "{what}");
    assert!(source.read(of) == original(from.clone()), "{what}: the source was written");

    let source = Run::new(of, &shuffled(from.clone()), poison);
    let mut out = Run::new(of, &vec![poison; to.len()], poison);
    let view = source.slice.slice(GUARD..GUARD + from.len());
    of.unshuffle_into(f, &view, &mut out.slice.slice_mut(GUARD..GUARD + to.len())).unwrap();
    of.synchronize().unwrap();
    assert!(out.read(of) == original(to), "{what}: back");
}

/// The values below the length, in the order of their slots.
fn reference(f: &impl Bijection, len: u64) -> Vec<u64> {
    (0..f.last() + 1).into_par_iter().map(|slot| f.forward(slot)).filter(|&x| x < len).collect()
}

const fn word(index: u64) -> u64 {
    index.wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

#[test]
fn ranks_exchange_every_length_and_division() {
    let _alone = DEVICES.lock();
    for ranks in ranks() {
        for strategy in [CudaStrategy::Partitioned, CudaStrategy::SinglePass] {
            let lens = lengths(if long() { 20 } else { 12 });
            on_all(ranks, strategy, |of| {
                for &len in &lens {
                    let f = Standard::from_seed(len, len ^ 3);
                    let order = reference(&f, len);
                    // All ranks draw the same divisions.
                    let mut numbers = Numbers(len);
                    let all = divisions(len as usize, ranks, &mut numbers);
                    for from in &all {
                        let to = &all[numbers.below(all.len() as u64) as usize];
                        check(of, &f, &order, [from, to], word);
                    }
                }
            });
        }
    }
}

#[test]
fn ranks_exchange_large_lengths_and_all_widths() {
    let _alone = DEVICES.lock();
    for ranks in ranks() {
        on_all(ranks, CudaStrategy::Auto, |of| {
            // The last ones are sent in pieces.
            for len in [1_000_003, (1 << 22) + 1, 1 << 25, (1 << 25) + 3] {
                let f = Standard::from_seed(len, 8);
                let order = reference(&f, len);
                let even = even(len as usize, ranks);
                let mut all_on_last = vec![0; ranks];
                all_on_last[ranks - 1] = len as usize;
                check(of, &f, &order, [&even, &even], word);
                check(of, &f, &order, [&all_on_last, &even], word);
                if len > 1 << 23 {
                    continue;
                }
                check(of, &f, &order, [&even, &even], |index| index as u8 ^ (index >> 8) as u8);
                check(of, &f, &order, [&even, &even], |index| {
                    (index as u32).wrapping_mul(0x9E37_79B1)
                });
                check(of, &f, &order, [&even, &even], |index| [word(index), !index]);
                check(of, &f, &order, [&even, &even], |index| [index as u32, !index as u32, 7]);
            }
        });
    }
}

/// Maps that keep neighbours together, and ones that have to be checked.
#[test]
fn maps_that_are_not_sent_in_pieces() {
    let _alone = DEVICES.lock();
    for ranks in ranks() {
        on_all(ranks, CudaStrategy::Partitioned, |of| {
            for multiplier in [1, 3, (1 << 17) + 1] {
                let f = Lcg::new(19, multiplier, 5).unwrap();
                for len in [300_000, 1 << 19] {
                    let even = even(len as usize, ranks);
                    check(of, &f, &reference(&f, len), [&even, &even], word);
                }
            }
            // Eight points for each item.
            let f = MulXorshift::<10>::from_seed(1 << 20, 3);
            let even = even(100_003, ranks);
            check(of, &f, &reference(&f, 100_003), [&even, &even], word);
        });
    }
}

/// Calls in a row, while other work delays this or that rank.
#[test]
fn delays_of_a_rank_change_nothing() {
    let _alone = DEVICES.lock();
    for ranks in ranks() {
        let len = 120_007_u64;
        let lens = even(len as usize, ranks);
        let calls = if long() { 2000 } else { 200 };
        let mut expected: Vec<u64> = (0..len).collect();
        for seed in 0..calls {
            Serial.shuffle(&Standard::from_seed(len, seed), &mut expected).unwrap();
        }
        let runs = on_all(ranks, CudaStrategy::Partitioned, |of| {
            let stream = of.stream().clone();
            let first: usize = lens[..of.rank()].iter().sum();
            let own = lens[of.rank()];
            let items: Vec<u64> = (first as u64..(first + own) as u64).collect();
            let mut arrays =
                [stream.clone_htod(&items).unwrap(), stream.alloc_zeros::<u64>(own).unwrap()];
            let mut ballast = stream.alloc_zeros::<u8>(1 << 26).unwrap();
            let mut numbers = Numbers(of.rank() as u64);
            for seed in 0..calls {
                let bytes = numbers.below(1 << 26) as usize;
                if bytes.is_multiple_of(3) {
                    stream.memset_zeros(&mut ballast.slice_mut(..bytes)).unwrap();
                }
                let [source, out] = &mut arrays;
                of.shuffle_into(seed, source, out).unwrap();
                arrays.swap(0, 1);
            }
            of.synchronize().unwrap();
            stream.clone_dtoh(&arrays[0]).unwrap()
        });
        assert!(runs.concat() == expected, "{ranks} ranks");
    }
}

/// All ranks get an error, nothing is moved, and they go on.
#[test]
fn ranks_that_disagree_or_fail() {
    let _alone = DEVICES.lock();
    for ranks in ranks().into_iter().filter(|&ranks| ranks > 1) {
        on_all(ranks, CudaStrategy::Auto, |of| {
            let (stream, rank) = (of.stream().clone(), of.rank());
            let items: Vec<u64> = (0..1000).collect();
            let source = stream.clone_htod(&items).unwrap();
            let mut out = stream.alloc_zeros::<u64>(1000).unwrap();
            let len = 1000 * ranks as u64;
            let f = Standard::from_seed(len, 1);
            let other = Standard::from_seed(len, if rank == 1 { 2 } else { 1 });
            let about =
                |about| Err(Error::Exchange(ExchangeError::Disagreement { rank: 1, about }));
            assert_eq!(of.shuffle_into(&other, &source, &mut out), about("the bijection"));
            // The order is the same, but what a seed means is only known with the lengths.
            let by_seed = if rank == 1 {
                of.shuffle_into(1, &source, &mut out)
            } else {
                of.shuffle_into(&f, &source, &mut out)
            };
            assert_eq!(by_seed, about("the bijection"));
            let back = if rank == 1 {
                of.unshuffle_into(&f, &source, &mut out)
            } else {
                of.shuffle_into(&f, &source, &mut out)
            };
            assert_eq!(back, about("the direction"));
            let of_words = if rank == 1 {
                let source = stream.alloc_zeros::<u32>(1000).unwrap();
                let mut out = stream.alloc_zeros::<u32>(1000).unwrap();
                of.shuffle_into(&f, &source, &mut out)
            } else {
                of.shuffle_into(&f, &source, &mut out)
            };
            assert_eq!(of_words, about("the size of an item"));
            let mut long = stream.alloc_zeros::<u64>(1001).unwrap();
            let uneven = if rank == 0 {
                of.shuffle_into(&f, &source, &mut long)
            } else {
                of.shuffle_into(&f, &source, &mut out)
            };
            assert_eq!(uneven, Err(Error::LengthMismatch { expected: len, actual: len + 1 }));
            // One rank's slice is another device's, whose context is the thread's then.
            let foreign = Cuda::on_device(0).unwrap().stream().alloc_zeros::<u64>(1000).unwrap();
            let failed = if rank == 1 {
                of.shuffle_into(&f, &foreign, &mut out)
            } else {
                of.shuffle_into(&f, &source, &mut out)
            };
            let expected = match rank {
                1 => Error::Gpu(GpuError::WrongDevice { expected: 1, actual: 0 }),
                _ => Error::Exchange(ExchangeError::RankFailed { rank: 1 }),
            };
            assert_eq!(failed, Err(expected));
            let narrow = Lcg::new(5, 1, 0).unwrap();
            let too_long = Err(Error::LengthExceedsDomain { len, last: narrow.last() });
            assert_eq!(of.shuffle_into(&narrow, &source, &mut out), too_long);
            of.shuffle_into(&f, &source, &mut out).unwrap();
            of.synchronize().unwrap();
        });
    }
}

#[test]
fn ranks_with_different_strategies() {
    let _alone = DEVICES.lock();
    if !ranks().contains(&2) {
        return;
    }
    let id = NcclId::new().unwrap();
    std::thread::scope(|scope| {
        let strategies = [CudaStrategy::Partitioned, CudaStrategy::SinglePass];
        for (number, strategy) in strategies.into_iter().enumerate() {
            scope.spawn(move || {
                let mut of = rank(id, number, 2, strategy);
                let source = of.stream().alloc_zeros::<u64>(1000).unwrap();
                let mut out = of.stream().alloc_zeros::<u64>(1000).unwrap();
                let done = of.shuffle_into(&Standard::from_seed(2000, 1), &source, &mut out);
                let about = "the strategy";
                let differs = ExchangeError::Disagreement { rank: 1, about };
                assert_eq!(done, Err(Error::Exchange(differs)));
            });
        }
    });
}

#[test]
fn ranks_beyond_their_number_are_refused() {
    let _alone = DEVICES.lock();
    if ranks().is_empty() {
        return;
    }
    let (cuda, id) = (Cuda::new().unwrap(), NcclId::new().unwrap());
    let new = |rank, ranks| CudaExchange::new(&cuda, &id, rank, ranks, LIMIT).map(drop);
    let no_such = |rank: u64, ranks: u64| Err(Error::NoSuchRank { rank, ranks });
    assert_eq!(new(0, 0), no_such(0, 0));
    assert_eq!(new(2, 2), no_such(2, 2));
    let many = GpuError::GroupSizeOutOfRange { members: 513, most: 512 };
    assert_eq!(new(0, 513), Err(many.into()));
    // A rank that nobody joins.
    let begin = Instant::now();
    let alone = CudaExchange::new(&cuda, &id, 0, 2, Duration::from_secs(2)).map(drop);
    assert!(matches!(alone, Err(Error::Gpu(GpuError::TimedOut { own_rank: 0, .. }))), "{alone:?}");
    assert!(begin.elapsed() < LIMIT);
}

/// The variable that makes this program a rank, and says which: its folder, rank and ranks.
const RANK: &str = "BIJECTIVE_SHUFFLE_TEST_RANK";

fn start(folder: &Path, rank: usize, ranks: usize, job: &str) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", "a_rank_of_its_own_process", "--nocapture"])
        .env(RANK, format!("{}\n{rank}\n{ranks}\n{job}", folder.display()));
    if ranks > Cuda::device_count().unwrap() {
        // NCCL would refuse ranks that share a device. So it takes each process for a host of its
        // own, and sends by sockets.
        command.env("NCCL_HOSTID", rank.to_string()).env("NCCL_NET", "Socket");
    }
    command.spawn().unwrap()
}

/// What a process does that `start` has made: an exchange, or its death before one.
#[test]
fn a_rank_of_its_own_process() {
    let Ok(told) = std::env::var(RANK) else { return };
    let told: Vec<&str> = told.lines().collect();
    let [folder, number, ranks, job] = told[..] else { panic!("{told:?}") };
    let (number, ranks): (usize, usize) = (number.parse().unwrap(), ranks.parse().unwrap());
    let id = std::fs::read(Path::new(folder).join("id")).unwrap();
    let id = NcclId::from_bytes(id.try_into().unwrap());
    // Within one host NCCL notices a death at the limit and not before.
    let limit = if job.starts_with("die") { Duration::from_secs(15) } else { LIMIT };
    if job == "many" {
        return one_of_many(&mut rank_within(limit, id, number, ranks, CudaStrategy::Partitioned));
    }
    let mut of = rank_within(limit, id, number, ranks, CudaStrategy::Auto);
    let len = 3_000_001;
    let f = Standard::from_seed(len, 5);
    let (order, lens) = (reference(&f, len), even(len as usize, ranks));
    check(&mut of, &f, &order, [&lens, &lens], word);
    if required() == ranks && ranks > 1 {
        // It is not by NCCL that they come.
        assert!(format!("{of:?}").contains("near: Some"), "{of:?}");
    }
    if job == "move" {
        // In pieces, for which memory grows, on all ranks or on one, and then with fewer items.
        let mut all_on_last = vec![0; ranks];
        all_on_last[ranks - 1] = 1 << 25;
        for len in [1 << 25, (1 << 25) + 3, 1 << 20] {
            let f = Standard::from_seed(len, 6);
            let (order, lens) = (reference(&f, len), even(len as usize, ranks));
            check(&mut of, &f, &order, [&lens, &lens], word);
            check(&mut of, &f, &order, [&lens, &lens], |index| index as u32 ^ 7);
            if len == 1 << 25 {
                check(&mut of, &f, &order, [&all_on_last, &lens], word);
            }
        }
    }
    if job == "move" && ranks > 1 {
        call_while_others_fetch(&mut of);
    }
    if job == "die" && number == 1 {
        // Without any of what a program does at its end.
        std::process::abort();
    }
    if job == "die amid" && number == 1 {
        // While the devices of others wait for this one's.
        std::thread::spawn(|| {
            std::thread::sleep(Duration::from_millis(20));
            std::process::abort();
        });
    }
    if job != "move" {
        let even = lens;
        let source = of.stream().alloc_zeros::<u64>(even[number]).unwrap();
        let mut out = of.stream().alloc_zeros::<u64>(even[number]).unwrap();
        let begin = Instant::now();
        let lost = (0..).map(|_| of.shuffle_into(&f, &source, &mut out)).find(Result::is_err);
        let lost = lost.unwrap();
        let is_typed = |error: &Error| {
            matches!(
                error,
                Error::Gpu(
                    GpuError::PeerLost { .. }
                        | GpuError::TimedOut { .. }
                        | GpuError::NcclFailed { .. }
                )
            )
        };
        assert!(lost.as_ref().is_err_and(is_typed), "{lost:?}");
        assert!(begin.elapsed() < 3 * limit);
        assert_eq!(of.shuffle_into(&f, &source, &mut out), lost, "every later call says the same");
    }
}

/// The second rank puts in order what the first one holds, and begins another call, with the same
/// memory, while the first still has much to do before it fetches that.
fn call_while_others_fetch(of: &mut CudaExchange) {
    let (rank, stream) = (of.rank(), of.stream().clone());
    let (len, last) = (1_usize << 28, 1_usize << 21);
    // A little more than half of the last bucket, which has 2^21 places.
    let behind = last / 2 + 5;
    let even = even(len, of.ranks());
    let mut most_on_first = vec![0; of.ranks()];
    (most_on_first[0], most_on_first[1]) = (len - behind, behind);
    let f = Standard::from_seed(len as u64, 3);
    let first: usize = even[..rank].iter().sum();
    let items: Vec<u64> = (first as u64..(first + even[rank]) as u64).collect();
    let source = stream.clone_htod(&items).unwrap();
    let mut out = stream.alloc_zeros::<u64>(most_on_first[rank].max(1)).unwrap();
    let mut other = stream.alloc_zeros::<u64>(even[rank]).unwrap();
    for _ in 0..3 {
        of.shuffle_into(&f, &source, &mut other).unwrap();
        of.shuffle_into(&f, &source, &mut out.slice_mut(..most_on_first[rank])).unwrap();
        of.shuffle_into(&f, &source, &mut other).unwrap();
        of.synchronize().unwrap();
        if rank == 0 {
            let fetched = stream.clone_dtoh(&out.slice(len - last..)).unwrap();
            stream.synchronize().unwrap();
            let slots = (len - last) as u64..(len - behind) as u64;
            assert!(fetched.into_iter().eq(slots.map(|slot| f.forward(slot))));
        }
        stream.memset_zeros(&mut out).unwrap();
    }
}

/// What each of many ranks does. They share devices, and so take turns.
fn one_of_many(of: &mut CudaExchange) {
    let ranks = of.ranks();
    if ranks > 16 || required() > 0 {
        assert_eq!(format!("{of:?}").contains("near: Some"), ranks <= 16, "{of:?}");
    }
    for len in [1 << 18, (1 << 18) + 1] {
        let f = Standard::from_seed(len, 9);
        let even = even(len as usize, ranks);
        let mut uneven = even.clone();
        let moved: usize = uneven[1..ranks.div_ceil(3)].iter_mut().map(std::mem::take).sum();
        uneven[ranks - 1] += moved;
        check(of, &f, &reference(&f, len), [&uneven, &even], word);
    }
}

/// More ranks than there are devices, and more than copy into each other's memory.
#[test]
fn many_ranks_in_processes_get_their_items() {
    let _alone = DEVICES.lock();
    if !ranks().is_empty() {
        in_processes(5, "many");
        in_processes(if long() { 64 } else { 17 }, "many");
    }
}

#[test]
fn ranks_in_processes() {
    let _alone = DEVICES.lock();
    ranks().into_iter().for_each(|ranks| in_processes(ranks, "move"));
}

/// The last number of ranks that there can be, but two at least, which may share a device.
fn two_or_more() -> Option<usize> {
    ranks().last().map(|&ranks| ranks.max(2))
}

#[test]
fn a_process_that_dies_between_calls() {
    let _alone = DEVICES.lock();
    two_or_more().into_iter().for_each(|ranks| in_processes(ranks, "die"));
}

#[test]
fn a_process_that_dies_amid_a_call() {
    let _alone = DEVICES.lock();
    two_or_more().into_iter().for_each(|ranks| in_processes(ranks, "die amid"));
}

/// Starts processes that do a job, and waits for all of them.
fn in_processes(ranks: usize, job: &str) {
    let folder = tempfile::tempdir().unwrap();
    let id = NcclId::new().unwrap();
    std::fs::write(folder.path().join("id"), id.to_bytes()).unwrap();
    let children: Vec<_> = (0..ranks).map(|rank| start(folder.path(), rank, ranks, job)).collect();
    for (rank, mut child) in children.into_iter().enumerate() {
        let dies = job.starts_with("die") && rank == 1;
        assert_eq!(child.wait().unwrap().success(), !dies, "{job}: rank {rank} of {ranks}");
    }
}
