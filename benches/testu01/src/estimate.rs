//! [`Estimates`]: how long a test will take, so that the long ones are begun first.

use std::collections::HashMap;

use crate::battery::Battery;
use crate::rows::Row;

/// Seconds of a test that nothing is known of: about what the tests of BigCrush take in the mean.
const UNKNOWN: f64 = 100.0;

/// How long tests take.
#[derive(Debug)]
pub(crate) struct Estimates {
    /// Of tests that were run: the sum of their seconds, and how many there were.
    seen: HashMap<(Battery, usize), (f64, f64)>,
    /// Of tests that ran here: what they took, and what had been said before.
    took: f64,
    said: f64,
}

impl Estimates {
    /// From earlier results, and where there are none from what was measured once.
    pub(crate) fn new(rows: &[Row]) -> Self {
        let mut seen = HashMap::new();
        for row in rows.iter().filter(|row| row.statistic == 1) {
            let (sum, count) = seen.entry((row.battery, row.test)).or_insert((0.0, 0.0));
            *sum += row.seconds;
            *count += 1.0;
        }
        Self { seen, took: 0.0, said: 0.0 }
    }

    /// The seconds that this test took elsewhere.
    pub(crate) fn elsewhere(&self, battery: Battery, test: usize) -> f64 {
        match self.seen.get(&(battery, test)) {
            Some((sum, count)) => sum / count,
            None => battery.seconds().get(test - 1).copied().map_or(UNKNOWN, f64::from),
        }
    }

    /// The seconds that this test will take here, going by those that ended here so far.
    pub(crate) fn here(&self, battery: Battery, test: usize) -> f64 {
        let factor = if self.said > 0.0 { self.took / self.said } else { 1.0 };
        self.elsewhere(battery, test) * factor
    }

    /// Learns that this test took so many seconds here.
    pub(crate) fn learn(&mut self, battery: Battery, test: usize, seconds: f64) {
        self.said += self.elsewhere(battery, test);
        self.took += seconds;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn estimates_follow_what_was_seen() {
        let mut estimates = Estimates::new(&[]);
        let before = estimates.here(Battery::Crush, 1);
        estimates.learn(Battery::Crush, 1, 2.0 * before);
        assert!((estimates.here(Battery::Crush, 1) - 2.0 * before).abs() < 1e-9);
        let other = estimates.elsewhere(Battery::Crush, 2);
        assert!((estimates.here(Battery::Crush, 2) - 2.0 * other).abs() < 1e-9);
    }
}
