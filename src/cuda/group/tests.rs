//! Compiles every kernel of a group for the oldest and the newest architecture.

use super::direct;
use super::movement::Sharded;
use super::partitioned::Exchange;
use super::shards::Shards;
use super::sizes::Sizes;
use crate::bijection::{FromSeed, Lcg};
use crate::compact::Direction;
use crate::cuda::runtime::device::Limits;
use crate::cuda::runtime::plan::Address;
use crate::cuda::runtime::program::tests::compile_plans;
use crate::cuda::runtime::word_type::WordType;
use crate::cuda::shuffle::job::Job;
use crate::cuda::shuffle::movement::Movement;

const LIMITS: Limits = Limits {
    multiprocessors: 132,
    threads_per_multiprocessor: 2048,
    shared_per_block: 227 << 10,
    shared_per_multiprocessor: 228 << 10,
    l2_bytes: 50 << 20,
};

const DIRECTIONS: [Direction; 2] = [Direction::Shuffle, Direction::Unshuffle];

/// An array of so many items in two halves.
fn halves(len: u64, item: usize) -> Shards {
    Shards::new([(256, (len / 2) as usize), (512, (len - len / 2) as usize)], item)
}

fn job(points: u64, len: u64) -> Job {
    let nowhere = Movement::Indices { out: Address::Given(256), word: WordType::U64 };
    Job::new(&Lcg::from_seed(points, 1), len, nowhere).unwrap()
}

#[test]
fn kernels_of_the_direct_strategy_compile() {
    let (dense, gaps) = (job(1 << 20, 1 << 20), job(1 << 20, 1 << 19));
    let mut plans = Vec::new();
    for job in [&dense, &gaps] {
        for item in [1, 2, 4, 8, 16, 12, 24] {
            let (source, out) = (halves(job.len, item), halves(job.len, item));
            for direction in DIRECTIONS {
                let of = Sharded::Items { source: &source, out: &out, direction };
                plans.push(direct::plan(job, of, 1).unwrap());
                plans.push(direct::by_table(256, job.len, of, 1).unwrap());
            }
        }
        for word in [WordType::U32, WordType::U64] {
            let out = halves(job.len, word.bytes());
            plans.push(direct::plan(job, Sharded::Indices { out: &out, word }, 1).unwrap());
        }
    }
    compile_plans(&plans);
}

#[test]
fn kernels_of_the_partitioned_strategy_compile() {
    for (points, words) in [
        (1 << 13, &WordType::ALL[..]),
        (1 << 27, &[WordType::U32, WordType::U64]),
        (1 << 31, &[WordType::U64]),
        (1 << 33, &[WordType::U64]),
    ] {
        for len in [points, points / 2 + 1] {
            let job = job(points, len);
            let arrays: Vec<_> =
                words.iter().map(|word| (word, halves(len, word.bytes()))).collect();
            let sizes: Vec<_> = arrays
                .iter()
                .map(|(word, array)| {
                    DIRECTIONS.map(|direction| {
                        let last = match direction {
                            Direction::Shuffle => job.last,
                            Direction::Unshuffle => len - 1,
                        };
                        let keys = [last, job.last];
                        let sizes = Sizes::new(&LIMITS, **word, keys, array, array).unwrap();
                        let layouts = vec![sizes.layout(0), sizes.layout(1)];
                        (direction, sizes, layouts)
                    })
                })
                .collect();
            let mut plans = Vec::new();
            for ((_, array), both) in arrays.iter().zip(&sizes) {
                for (direction, sizes, layouts) in both {
                    let exchange = Exchange {
                        job: &job,
                        source: array,
                        out: array,
                        direction: *direction,
                        sizes,
                        layouts,
                        memory: &[1 << 40, 1 << 41],
                    };
                    plans.extend(exchange.phases().unwrap().into_iter().flatten());
                }
            }
            compile_plans(&plans);
        }
    }
}
