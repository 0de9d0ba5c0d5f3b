//! Philox4x32, a counter-based generator: Salmon, Moraes, Dror, Shaw, *Parallel random numbers: as
//! easy as 1, 2, 3*, SC'11, section 4.2 and figure 4.

#[doc(hidden)]
pub mod lanes;

/// The two multipliers: for the first and the third word of the counter.
#[doc(hidden)]
pub const MULTIPLIERS: [u32; 2] = [0xD251_1F53, 0xCD9E_8D57];
/// The increments of the two key words after each round: the golden ratio less 1 and the square
/// root of 3 less 1, as fractions of 2^32.
#[doc(hidden)]
pub const WEYL: [u32; 2] = [0x9E37_79B9, 0xBB67_AE85];

/// Philox4x32 with a 64-bit key: a bijection on 128-bit counters whose values are random numbers.
///
/// 10 rounds are the recommended number; 7 are the fewest that passed BigCrush in the paper.
///
/// # Examples
///
/// ```
/// use bijective_shuffle::rng::Philox4x32;
///
/// let philox = Philox4x32::<10>::new([0, 0]);
/// assert_eq!(philox.block([0; 4]), [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Philox4x32<const ROUNDS: usize = 10> {
    key: [u32; 2],
}

impl<const ROUNDS: usize> Philox4x32<ROUNDS> {
    /// The generator with the given key.
    pub const fn new(key: [u32; 2]) -> Self {
        Self { key }
    }

    /// The block of four random words for a counter. Words are in the order of the reference
    /// implementation, Random123: the first word of a counter is its least significant one.
    #[inline]
    pub const fn block(&self, counter: [u32; 4]) -> [u32; 4] {
        let mut x = counter;
        let mut key = self.key;
        let mut round = 0;
        while round < ROUNDS {
            let a = x[0] as u64 * MULTIPLIERS[0] as u64;
            let b = x[2] as u64 * MULTIPLIERS[1] as u64;
            x = [
                (b >> 32) as u32 ^ x[1] ^ key[0],
                b as u32,
                (a >> 32) as u32 ^ x[3] ^ key[1],
                a as u32,
            ];
            key = [key[0].wrapping_add(WEYL[0]), key[1].wrapping_add(WEYL[1])];
            round += 1;
        }
        x
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What Random123 ships as a known answer.
    struct Known {
        counter: [u32; 4],
        key: [u32; 2],
        ten_rounds: [u32; 4],
        seven_rounds: [u32; 4],
    }

    const KNOWN: [Known; 3] = [
        Known {
            counter: [0; 4],
            key: [0; 2],
            ten_rounds: [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8],
            seven_rounds: [0x5f6f_b709, 0x0d89_3f64, 0x4f12_1f81, 0x4f73_0a48],
        },
        Known {
            counter: [u32::MAX; 4],
            key: [u32::MAX; 2],
            ten_rounds: [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd],
            seven_rounds: [0x5207_ddc2, 0x4516_5e59, 0x4d8e_e751, 0x8c52_f662],
        },
        Known {
            counter: [0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344],
            key: [0xa409_3822, 0x299f_31d0],
            ten_rounds: [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1],
            seven_rounds: [0x4dfc_caba, 0x190a_87f0, 0xc473_62ba, 0xb6b5_242a],
        },
    ];

    #[test]
    fn philox_gives_known_answers() {
        for known in &KNOWN {
            assert_eq!(Philox4x32::<10>::new(known.key).block(known.counter), known.ten_rounds);
            assert_eq!(Philox4x32::<7>::new(known.key).block(known.counter), known.seven_rounds);
        }
    }
}
