//! [`Times`]: where the time went.

use std::time::{Duration, Instant};

/// How long the steps of a [`Plan`](crate::Plan) and of its last shuffle took on this rank. Each
/// includes the wait for the other ranks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Times {
    /// Counting the survivors of the permutation's domain.
    pub census: Duration,
    /// Finding out how many items each rank sends to each, once for a plan.
    pub counts: Duration,
    /// Sorting the items by the ranks that they go to.
    pub pack: Duration,
    /// Sending and receiving; with tags, only the time in which this rank had nothing to place.
    pub exchange: Duration,
    /// Putting the received items at their places; with tags, while others are on their way.
    pub place: Duration,
}

/// Measures one part of a job after the other.
pub(crate) struct Clock(Instant);

impl Clock {
    pub(crate) fn start() -> Self {
        Self(Instant::now())
    }

    /// The time since the start or the last lap.
    pub(crate) fn lap(&mut self) -> Duration {
        let before = core::mem::replace(&mut self.0, Instant::now());
        self.0 - before
    }
}
