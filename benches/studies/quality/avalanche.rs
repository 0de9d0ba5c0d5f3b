//! The avalanche of each family: how often each bit of the value changes with each bit of the slot.

use bijective_shuffle::bijection::{GridFeistel, MulXorshift, SwapOrNot, VariablePhilox};
use bijective_shuffle::prelude::*;
use rayon::prelude::*;
use statrs::distribution::{ContinuousCDF, Normal};

use crate::compare;
use crate::families::Draw;

/// The width of the maps.
const BITS: u32 = 32;

/// A family with some rounds, and whether they are those in use.
struct Mapped {
    family: &'static str,
    rounds: usize,
    in_use: bool,
    draw: Draw,
}

macro_rules! mapped {
    ($family:ident, $rounds:literal, $in_use:literal) => {
        Mapped {
            family: stringify!($family),
            rounds: $rounds,
            in_use: $in_use,
            draw: |len, seed| Box::new($family::<$rounds>::from_seed(len, seed)),
        }
    };
}

/// Each family with two rounds, to show what is found, and with the rounds in use.
const MAPPED: [Mapped; 7] = [
    mapped!(MulXorshift, 2, false),
    mapped!(MulXorshift, 10, true),
    mapped!(VariablePhilox, 2, false),
    mapped!(VariablePhilox, 24, true),
    mapped!(GridFeistel, 2, false),
    mapped!(GridFeistel, 12, true),
    // It has as many rounds as the bound asks for: so many in its first level.
    Mapped {
        family: "SwapOrNot",
        rounds: 335,
        in_use: true,
        draw: |len, seed| Box::new(SwapOrNot::from_seed(len, seed)),
    },
];

/// The shares of slots at which a bit of the value changes, in one member: a row for each bit of
/// the slot, and in it each bit of the value, the lowest first.
///
/// It is one member, since over many even a single multiplication by a random number changes every
/// higher bit half of the time.
fn map(draw: Draw, slots: u64, seed: u64) -> Vec<Vec<f64>> {
    let bits = BITS as usize;
    let f = draw(1 << BITS, Seed::new(seed));
    let empty = || vec![0_u64; bits * bits];
    let counts = (0..slots).into_par_iter().fold(empty, |mut counts, k| {
        let slot = k.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (64 - BITS);
        let mut values: Vec<u64> = (0..BITS).map(|input| slot ^ 1 << input).collect();
        values.push(slot);
        f.forward_each(&mut values);
        for (counts, value) in counts.chunks_mut(bits).zip(&values) {
            let change = value ^ values[bits];
            counts.iter_mut().enumerate().for_each(|(bit, count)| *count += change >> bit & 1);
        }
        counts
    });
    let counts = counts.reduce(empty, |mut all, some| {
        all.iter_mut().zip(some).for_each(|(all, some)| *all += some);
        all
    });
    let share = |&count: &u64| count as f64 / slots as f64;
    counts.chunks(bits).map(|row| row.iter().map(share).collect()).collect()
}

/// The p-value of the share that is furthest from one half, corrected for the number of shares.
fn p_value(map: &[Vec<f64>], slots: u64) -> f64 {
    let furthest = map.iter().flatten().map(|share| (share - 0.5).abs()).fold(0.0, f64::max);
    let deviations = furthest * 2.0 * (slots as f64).sqrt();
    compare::corrected(2.0 * Normal::standard().sf(deviations), map.len() * map.len())
}

/// Prints a row for each bit of the slot, of each map, behind what says where it comes from;
/// returns whether the rounds in use change every bit half of the time.
pub(crate) fn print(slots: u64, seed: u64, origin: &str) -> bool {
    println!("date,revision,machine,family,rounds,slots,p,slot bit,shares");
    let mut passed = true;
    for Mapped { family, rounds, in_use, draw } in MAPPED {
        let map = map(draw, slots, seed);
        let p = p_value(&map, slots);
        passed &= !in_use || p >= 1e-3;
        for (bit, shares) in map.iter().enumerate() {
            let shares: Vec<String> = shares.iter().map(|share| format!("{share:.3}")).collect();
            println!("{origin},{family},{rounds},{slots},{p:.1e},{bit},{}", shares.join(" "));
        }
    }
    passed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg_attr(debug_assertions, ignore = "takes long where it is not optimised")]
    fn the_rounds_in_use_mix_every_bit_and_two_do_not() {
        for Mapped { family, rounds, in_use, draw } in MAPPED {
            let slots = 20_000;
            let p = p_value(&map(draw, slots, 5), slots);
            assert_eq!(p >= 1e-3, in_use, "{family}, {rounds} rounds: {p}");
        }
    }
}
