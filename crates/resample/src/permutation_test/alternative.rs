//! [`Alternative`]: which values speak against the null hypothesis.

/// Which values of a statistic are as extreme as the observed one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Alternative {
    /// Those that are not below it.
    Greater,
    /// Those that are not above it.
    Less,
    /// Twice the smaller of the p-values of the two tails, at most 1, as in SciPy.
    #[default]
    TwoSided,
    /// Those whose absolute value is not below that of the observed one.
    Absolute,
}

/// How many values there were in each tail.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct TailCounts {
    pub(super) greater: u64,
    pub(super) less: u64,
    pub(super) absolute: u64,
}

impl TailCounts {
    /// Adds a value that is compared with the observed one. Values that differ by no more than
    /// `rounding` are equal.
    #[inline]
    pub(super) fn add(&mut self, value: f64, observed: f64, rounding: f64) {
        self.greater += u64::from(value >= observed - rounding);
        self.less += u64::from(value <= observed + rounding);
        self.absolute += u64::from(value.abs() >= observed.abs() - rounding);
    }

    /// The number of values that are as extreme.
    pub(super) fn extreme(&self, alternative: Alternative) -> u64 {
        match alternative {
            Alternative::Greater => self.greater,
            Alternative::Less => self.less,
            Alternative::TwoSided => self.greater.min(self.less),
            Alternative::Absolute => self.absolute,
        }
    }
}

impl Alternative {
    /// A p-value, or a limit of one, from that of the tail.
    pub(super) fn of_tail(self, tail: f64) -> f64 {
        if self == Self::TwoSided { (2.0 * tail).min(1.0) } else { tail }
    }
}
