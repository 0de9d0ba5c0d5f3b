//! [`Plain`]: what a user writes. For tests.

use crate::{Bijection, DeviceSource};

/// A bijection with only the methods that have to be there, and its text: no run, no trust.
pub(crate) struct Plain<B>(pub(crate) B);

impl<B: Bijection> Bijection for Plain<B> {
    fn last(&self) -> u64 {
        self.0.last()
    }

    fn forward(&self, slot: u64) -> u64 {
        self.0.forward(slot)
    }

    fn inverse(&self, index: u64) -> u64 {
        self.0.inverse(index)
    }

    fn device_source(&self) -> Option<DeviceSource> {
        self.0.device_source()
    }
}
