//! Compiles every kernel of a group for the oldest and the newest architecture.

pub(super) mod emulated;

use super::direct;
use super::exchange::MemberExchange;
use super::given::nowhere;
use super::layout::MemberLayout;
use super::movement::Sharded;
use super::phase::Phase;
use super::shards::MemberShards;
use super::sizes::{GroupSizes, tests::LIMITS};
use crate::bijection::Lcg;
use crate::compact::Direction;
use crate::cuda::runtime::plan::DevicePlan;
use crate::cuda::runtime::program::tests::compile_plans;
use crate::cuda::runtime::word_type::WordType;
use crate::cuda::shuffle::job::{Job, MOST_PARAMS};
use crate::{Bijection, DeviceSource, FromSeed};

const DIRECTIONS: [Direction; 2] = [Direction::Shuffle, Direction::Unshuffle];

/// An array of `len` items in two halves.
fn halves(len: u64, item: usize) -> MemberShards {
    MemberShards::new([(256, (len / 2) as usize), (512, (len - len / 2) as usize)], item)
}

/// A bijection with the most parameters.
struct Heavy {
    last: u64,
}

impl Bijection for Heavy {
    fn last(&self) -> u64 {
        self.last
    }
    fn forward(&self, slot: u64) -> u64 {
        slot
    }
    fn inverse(&self, index: u64) -> u64 {
        index
    }
    fn device_source(&self) -> Option<DeviceSource> {
        // SAFETY: it is never compiled.
        Some(unsafe { DeviceSource::new("Heavy", "", vec![0; MOST_PARAMS]) })
    }
}

#[test]
fn the_largest_bijection_leaves_room_for_all_arguments() {
    let mut largest = 0;
    let mut check = |plan: &DevicePlan<'_>| {
        for launch in plan.launches() {
            let [bijection, arguments] = launch.parameter_bytes();
            assert!(bijection <= MOST_PARAMS + 24 && bijection + arguments <= 4096);
            largest = largest.max(arguments);
        }
    };
    let len = 1 << 20;
    for last in [len - 1, 2 * len - 1] {
        let job = Job::new(&Heavy { last }, len, nowhere()).unwrap();
        for item in [8, 12] {
            let (source, out) = (halves(len, item), halves(len, item));
            for direction in DIRECTIONS {
                let of = Sharded::Items { source: &source, out: &out, direction };
                check(&direct::plan(&job, of, 1).unwrap());
                check(&direct::by_table(256, of, 1).unwrap());
            }
        }
        let array = halves(len, 8);
        for direction in DIRECTIONS {
            let end = if direction == Direction::Shuffle { last } else { len - 1 };
            let sizes =
                GroupSizes::new(&LIMITS, WordType::U64, [end, last], &array, &array).unwrap();
            let exchange = MemberExchange {
                job: &job,
                source: &array,
                out: &array,
                direction,
                layouts: &[MemberLayout::new(&sizes, 0), MemberLayout::new(&sizes, 1)],
                sizes: &sizes,
                memory: &[1 << 40, 1 << 41],
            };
            let phases = exchange.phases().unwrap();
            phases.iter().flat_map(Phase::plans).for_each(|(_, plan)| check(plan));
        }
    }
    // As `MOST_PARAMS` says.
    assert_eq!(largest, 344);
}

fn job(points: u64, len: u64) -> Job {
    Job::new(&Lcg::from_seed(points, 1), len, nowhere()).unwrap()
}

#[test]
fn kernels_of_groups_gathers_compile() {
    let (dense, gaps) = (job(1 << 20, 1 << 20), job(1 << 20, 1 << 19));
    let mut plans = Vec::new();
    for job in [&dense, &gaps] {
        for item in [1, 2, 4, 8, 16, 12, 24] {
            let (source, out) = (halves(job.len, item), halves(job.len, item));
            for direction in DIRECTIONS {
                let of = Sharded::Items { source: &source, out: &out, direction };
                plans.push(direct::plan(job, of, 1).unwrap());
                plans.push(direct::by_table(256, of, 1).unwrap());
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
fn kernels_of_groups_partitions_compile() {
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
                        let sizes = GroupSizes::new(&LIMITS, **word, keys, array, array).unwrap();
                        let layouts =
                            vec![MemberLayout::new(&sizes, 0), MemberLayout::new(&sizes, 1)];
                        (direction, sizes, layouts)
                    })
                })
                .collect();
            let mut phases = Vec::new();
            for ((_, array), both) in arrays.iter().zip(&sizes) {
                for (direction, sizes, layouts) in both {
                    let exchange = MemberExchange {
                        job: &job,
                        source: array,
                        out: array,
                        direction: *direction,
                        sizes,
                        layouts,
                        memory: &[1 << 40, 1 << 41],
                    };
                    phases.extend(exchange.phases().unwrap());
                }
            }
            compile_plans(phases.iter().flat_map(Phase::plans).map(|(_, plan)| plan));
        }
    }
}
