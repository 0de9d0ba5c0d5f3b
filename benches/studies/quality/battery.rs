//! [`Battery`]: all the tests of [`bijective_shuffle_stats`] on the same permutations.

use bijective_shuffle_stats::{
    Cycles, Differences, Displacement, Distance, FixedPoints, Mmd, Orders, Outcome, Places, Signs,
    Successors, Test,
};

/// Up to this length every index and place has a cell of its own.
const FINE: usize = 256;

/// Up to this length all orders can be counted.
pub(crate) const ALL_ORDERS: usize = 8;

/// The tests that need three items.
type Others = (
    (Mmd, Mmd, Signs, Places),
    (Displacement, Displacement),
    (Successors, Differences, Cycles, FixedPoints),
);

/// Every test that a length has.
pub(crate) struct Battery {
    len: usize,
    /// None for two items: there are two orders, and all else is the same question asked again.
    others: Option<Others>,
    orders: Option<Orders>,
}

/// What one test says.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Judged {
    pub(crate) name: &'static str,
    pub(crate) outcome: Outcome,
    /// The fewest samples that its p-value can be trusted with, as `bijective-shuffle-stats` has
    /// them.
    pub(crate) fewest: u64,
}

impl Battery {
    /// # Panics
    ///
    /// If the length is below 2 or above `2^32`.
    pub(crate) fn new(len: usize) -> Self {
        let bins = len.min(FINE);
        let others = || {
            (
                (Mmd::pairs(len), Mmd::identity(len), Signs::new(len), Places::coarse(len, bins)),
                (
                    Displacement::new(len, Distance::Absolute),
                    Displacement::new(len, Distance::Squared),
                ),
                (
                    Successors::new(len),
                    Differences::new(len),
                    Cycles::new(len),
                    FixedPoints::new(len),
                ),
            )
        };
        Self {
            len,
            others: (len > 2).then(others),
            orders: (len <= ALL_ORDERS).then(|| Orders::new(len)),
        }
    }

    /// What each test says, in a fixed order.
    pub(crate) fn judged(&self) -> Vec<Judged> {
        let judged =
            |name, test: &dyn Test, fewest| Judged { name, outcome: test.outcome(), fewest };
        let mut all = Vec::new();
        if let Some((order, moves, local)) = &self.others {
            all.extend([
                judged("MMD by pairs", &order.0, 200),
                judged("MMD against the identity", &order.1, 100),
                judged("signs", &order.2, 20),
                judged("places", &order.3, order.3.bins() as u64),
                judged("displacement", &moves.0, 30),
                judged("displacement squared", &moves.1, 30),
                judged("successors", &local.0, 50),
                judged("differences", &local.1, 10),
                judged("cycles", &local.2, 50),
                judged("fixed points", &local.3, 50),
            ]);
        }
        if let Some(orders) = &self.orders {
            let count = (1..=self.len as u64).product::<u64>();
            all.push(judged("all orders", orders, 5 * count));
        }
        all
    }
}

impl Test for Battery {
    fn record(&mut self, permutation: &[u32]) {
        if let Some(others) = &mut self.others {
            others.record(permutation);
        }
        if let Some(orders) = &mut self.orders {
            orders.record(permutation);
        }
    }

    fn merge(&mut self, other: Self) {
        if let (Some(others), Some(more)) = (&mut self.others, other.others) {
            others.merge(more);
        }
        if let (Some(orders), Some(more)) = (&mut self.orders, other.orders) {
            orders.merge(more);
        }
    }

    /// The smallest p-value, corrected for the number of tests.
    fn outcome(&self) -> Outcome {
        let judged = self.judged();
        let count = judged.len() as f64;
        let outcomes = judged.into_iter().map(|judged| judged.outcome);
        let worst = outcomes.min_by(|a, b| a.p_value.total_cmp(&b.p_value));
        let worst = worst.expect("every length has a test");
        Outcome::new(worst.statistic, (worst.p_value * count).min(1.0), worst.samples)
    }
}
