//! Matrices as text: one line of digits for each row, the first row first.

use core::fmt::{self, Write as _};
use core::str::FromStr;

use super::BitMatrix;
use crate::MatrixError;

impl fmt::Display for BitMatrix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for row in 0..self.bits() {
            if row > 0 {
                f.write_char('\n')?;
            }
            for column in 0..self.bits() {
                f.write_char(if self.get(row, column) { '1' } else { '0' })?;
            }
        }
        Ok(())
    }
}

/// Reads one row from each line that is not blank: digits 0 and 1, with or without spaces between
/// them.
///
/// # Examples
///
/// ```
/// use bijective_shuffle::affine::BitMatrix;
///
/// let a: BitMatrix = "
///     0 1 0
///     0 0 1
///     1 1 0
/// ".parse()?;
/// assert_eq!(a.apply(0b001), 0b100);
/// assert_eq!(a.to_string().parse(), Ok(a));
/// # Ok::<(), bijective_shuffle::Error>(())
/// ```
impl FromStr for BitMatrix {
    type Err = MatrixError;

    /// # Errors
    ///
    /// [`MatrixError::Text`] with the number of the first row that does not have one digit, 0 or 1,
    /// for each row of the matrix, and
    /// [`BijectionError::BitsOutOfRange`](bijective_shuffle_core::error::BijectionError::BitsOutOfRange)
    /// for more than 64 rows.
    fn from_str(text: &str) -> Result<Self, MatrixError> {
        let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
        let bits = Self::zero(u32::try_from(lines.len()).unwrap_or(u32::MAX))?.bits();
        let mut rows = Vec::with_capacity(lines.len());
        for line in lines {
            let row = rows.len() as u32;
            rows.push(parse_row(line, bits).ok_or(MatrixError::Text { row, bits })?);
        }
        Self::from_rows(&rows)
    }
}

fn parse_row(line: &str, bits: u32) -> Option<u64> {
    let (mut row, mut column) = (0, 0);
    for digit in line.chars().filter(|digit| !digit.is_whitespace()) {
        if column == bits {
            return None;
        }
        row |= u64::from(digit.to_digit(2)?) << column;
        column += 1;
    }
    (column == bits).then_some(row)
}

#[cfg(test)]
mod tests {
    use super::*;
    use bijective_shuffle_core::error::BijectionError;

    #[test]
    fn text_is_read_as_it_is_written() {
        for bits in 0..=64 {
            let a = BitMatrix::random(bits, u64::from(bits)).unwrap();
            assert_eq!(a.to_string().parse(), Ok(a));
            let spaced: String = a.to_string().chars().flat_map(|digit| [digit, ' ']).collect();
            assert_eq!(format!("\n{spaced}\n\n").parse(), Ok(a));
        }
    }

    #[test]
    fn texts_of_no_matrix_are_refused_with_their_row() {
        for (text, row) in [("10\n1", 1), ("10\n0", 1), ("1 0\n\n012", 1), ("12\n01", 0), ("1", 9)]
        {
            let expected = match row {
                9 => BitMatrix::identity(1),
                row => Err(MatrixError::Text { row, bits: 2 }),
            };
            assert_eq!(text.parse::<BitMatrix>(), expected, "{text}");
        }
        let tall = "1\n".repeat(65);
        let error =
            MatrixError::Bijection(BijectionError::BitsOutOfRange { bits: 65, min: 0, max: 64 });
        assert_eq!(tall.parse::<BitMatrix>(), Err(error));
    }
}
