//! [`Arrangement`]: an order of rows, with signs where the design has them.

use core::ops::Neg;

/// One arrangement of a [`Design`](super::Design): place `i` gets row `order()[i]`, multiplied by
/// `signs()[i]` if there are signs.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Arrangement {
    pub(super) order: Vec<u64>,
    pub(super) signs: Option<Vec<i8>>,
}

impl Arrangement {
    /// For each place, the row that comes there.
    pub fn order(&self) -> &[u64] {
        &self.order
    }

    /// For each place, 1 or -1; `None` if the design flips no signs.
    pub fn signs(&self) -> Option<&[i8]> {
        self.signs.as_deref()
    }

    /// Whether each row stays in its place and keeps its sign.
    pub fn is_identity(&self) -> bool {
        let mut signs = self.signs.iter().flatten();
        (0..).zip(&self.order).all(|(place, &row)| row == place) && signs.all(|&sign| sign == 1)
    }

    /// The values in this arrangement.
    ///
    /// # Panics
    ///
    /// If there are not as many values as rows.
    ///
    /// # Examples
    ///
    /// ```
    /// use bijective_shuffle_resample::Design;
    ///
    /// let design = Design::series(4, false)?;
    /// assert_eq!(design.at_rank(1)?.apply(&[1, 2, 3, 4]), [2, 3, 4, 1]);
    /// # Ok::<(), bijective_shuffle_resample::Error>(())
    /// ```
    #[track_caller]
    pub fn apply<T: Copy + Neg<Output = T>>(&self, values: &[T]) -> Vec<T> {
        assert_eq!(values.len(), self.order.len(), "there must be a value for each row");
        let mut all: Vec<T> = self.order.iter().map(|&row| values[row as usize]).collect();
        for (value, &sign) in all.iter_mut().zip(self.signs.iter().flatten()) {
            if sign < 0 {
                *value = -*value;
            }
        }
        all
    }
}
