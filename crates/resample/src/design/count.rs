//! How many arrangements a design has: exactly, in 64 bits, and as a logarithm.

use num_bigint::BigUint;
use statrs::function::gamma::ln_gamma;

use super::node::{Form, Node};

/// The number of shifts of a series, with the mirrored ones: a mirror image of fewer than three
/// rows is a shift.
pub(super) fn shifts(len: u64, mirror: bool) -> u64 {
    if mirror && len > 2 { 2 * len } else { len }
}

/// The number of arrangements, if 64 bits hold it.
pub(super) fn narrow(node: &Node) -> Option<u64> {
    let len = node.len.get();
    match &node.form {
        Form::Fixed => Some(1),
        Form::Free => factorial(len),
        Form::Derangement => derangements(len),
        Form::Groups(sizes) => {
            let mut left = len;
            sizes.iter().try_fold(1_u64, |count, &size| {
                let ways = binomial(left, size)?;
                left -= size;
                count.checked_mul(ways)
            })
        }
        Form::Series { mirror } => Some(shifts(len, *mirror)),
        Form::Grid { rows, columns, mirror } => {
            Some(shifts(*rows, *mirror) * shifts(*columns, *mirror))
        }
        Form::Pairs => power_of_two(len / 2),
        Form::FlipEach(inner) => power_of_two(len)?.checked_mul(narrow(inner)?),
        Form::FlipWhole(inner) => narrow(inner)?.checked_mul(2),
        Form::Blocks(parts) => product(parts),
        Form::Exchange(parts, classes) => {
            classes.iter().try_fold(product(parts)?, |count, class| {
                count.checked_mul(factorial(class.len() as u64)?)
            })
        }
        Form::Plots { between, within, alike } => {
            let copies = if *alike { 1 } else { between.len.get() };
            let within = narrow(within)?;
            let within =
                if within == 1 { 1 } else { within.checked_pow(copies.try_into().ok()?)? };
            narrow(between)?.checked_mul(within)
        }
        Form::OnRows(_, inner) => narrow(inner),
    }
}

fn product(parts: &[Node]) -> Option<u64> {
    parts.iter().try_fold(1_u64, |count, part| count.checked_mul(narrow(part)?))
}

fn power_of_two(exponent: u64) -> Option<u64> {
    1_u64.checked_shl(u32::try_from(exponent).ok()?)
}

/// `len!`, which 64 bits hold up to 20.
pub(super) fn factorial(len: u64) -> Option<u64> {
    if len > 20 { None } else { Some((2..=len).product()) }
}

/// How many sets of `size` there are among `len`.
pub(super) fn binomial(len: u64, size: u64) -> Option<u64> {
    if size > len {
        return Some(0);
    }
    let size = size.min(len - size);
    let mut count = 1_u128;
    for k in 0..size {
        // A product of consecutive numbers, divided by as many factors as it has. It grows with k.
        count = count * u128::from(len - k) / u128::from(k + 1);
        if count > u128::from(u64::MAX) {
            return None;
        }
    }
    u64::try_from(count).ok()
}

/// How many permutations of `len` leave nothing in place, which 64 bits hold up to 20.
pub(super) fn derangements(len: u64) -> Option<u64> {
    (len <= 20).then(|| restricted(len, len))
}

/// How many permutations of `len` rows there are in which none of `kept` given rows stays in place.
/// `len` is at most 20.
pub(super) fn restricted(len: u64, kept: u64) -> u64 {
    // Inclusion and exclusion over the rows that do stay: the partial sums may be negative.
    let mut count = 0_i128;
    let mut ways = 1_i128;
    for stay in 0..=kept {
        let others: i128 = (2..=i128::from(len - stay)).product();
        count += if stay % 2 == 0 { ways * others } else { -ways * others };
        ways = ways * i128::from(kept - stay) / i128::from(stay + 1);
    }
    count as u64
}

/// The number of arrangements.
pub(super) fn wide(node: &Node) -> BigUint {
    let len = node.len.get();
    match &node.form {
        Form::Free => wide_factorial(len),
        Form::Derangement => {
            let (mut count, mut is_even) = (BigUint::from(0_u8), true);
            for k in 2..=len {
                count *= k;
                if is_even {
                    count += 1_u8;
                } else {
                    count -= 1_u8;
                }
                is_even = !is_even;
            }
            count
        }
        Form::Groups(sizes) => {
            let orders =
                sizes.iter().fold(BigUint::from(1_u8), |count, &size| count * wide_factorial(size));
            wide_factorial(len) / orders
        }
        Form::Pairs => BigUint::from(1_u8) << (len / 2),
        Form::FlipEach(inner) => wide(inner) << len,
        Form::FlipWhole(inner) => wide(inner) << 1_u8,
        Form::Blocks(parts) => wide_product(parts),
        Form::Exchange(parts, classes) => classes
            .iter()
            .fold(wide_product(parts), |count, class| count * wide_factorial(class.len() as u64)),
        Form::Plots { between, within, alike } => {
            let copies = if *alike { 1 } else { between.len.get() };
            let within = wide(within);
            // A part with one arrangement may have any number of copies.
            let one = BigUint::from(1_u8);
            let within = if within == one { one } else { within.pow(copies as u32) };
            wide(between) * within
        }
        Form::OnRows(_, inner) => wide(inner),
        Form::Fixed | Form::Series { .. } | Form::Grid { .. } => {
            BigUint::from(narrow(node).unwrap_or(1))
        }
    }
}

fn wide_product(parts: &[Node]) -> BigUint {
    // Pairwise, so that factors are of similar lengths.
    match parts {
        [] => BigUint::from(1_u8),
        [part] => wide(part),
        _ => {
            let (left, right) = parts.split_at(parts.len() / 2);
            wide_product(left) * wide_product(right)
        }
    }
}

fn wide_factorial(len: u64) -> BigUint {
    fn product(first: u64, last: u64) -> BigUint {
        if last - first < 8 {
            return (first..=last).fold(BigUint::from(1_u8), |count, k| count * k);
        }
        let middle = first + (last - first) / 2;
        product(first, middle) * product(middle + 1, last)
    }
    if len < 2 { BigUint::from(1_u8) } else { product(2, len) }
}

/// The natural logarithm of the number of arrangements.
pub(super) fn logarithm(node: &Node) -> f64 {
    let factorial = |len: u64| ln_gamma(len as f64 + 1.0);
    let two = core::f64::consts::LN_2;
    let len = node.len.get();
    match &node.form {
        Form::Free => factorial(len),
        Form::Derangement => match derangements(len) {
            Some(count) => (count as f64).ln(),
            // The number is len! / e, rounded.
            None => factorial(len) - 1.0,
        },
        Form::Groups(sizes) => {
            factorial(len) - sizes.iter().map(|&size| factorial(size)).sum::<f64>()
        }
        Form::Pairs => (len / 2) as f64 * two,
        Form::FlipEach(inner) => len as f64 * two + logarithm(inner),
        Form::FlipWhole(inner) => two + logarithm(inner),
        Form::Blocks(parts) => parts.iter().map(logarithm).sum(),
        Form::Exchange(parts, classes) => {
            let wholes = classes.iter().map(|class| factorial(class.len() as u64));
            wholes.sum::<f64>() + parts.iter().map(logarithm).sum::<f64>()
        }
        Form::Plots { between, within, alike } => {
            let copies = if *alike { 1 } else { between.len.get() };
            logarithm(between) + copies as f64 * logarithm(within)
        }
        Form::OnRows(_, inner) => logarithm(inner),
        Form::Fixed => 0.0,
        Form::Series { .. } | Form::Grid { .. } => (narrow(node).unwrap_or(1) as f64).ln(),
    }
}
