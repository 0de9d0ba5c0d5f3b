//! The exact energy and specific heat of the finite lattice: Kaufman's partition function (Phys.
//! Rev. 76, 1949, 1232) and its derivatives, as Ferdinand and Fisher give them (Phys. Rev. 185,
//! 1969, 832).
//!
//! With K = beta J and m rows of n spins, both with periodic boundaries,
//!
//! ```text
//! Z = 1/2 (2 sinh 2K)^(mn/2) (Z_1 + Z_2 + Z_3 + Z_4)
//! Z_1 = prod_r 2 cosh(m gamma_(2r+1) / 2)      Z_3 = prod_r 2 cosh(m gamma_(2r) / 2)
//! Z_2 = prod_r 2 sinh(m gamma_(2r+1) / 2)      Z_4 = prod_r 2 sinh(m gamma_(2r) / 2)      r = 0, .., n - 1
//! cosh gamma_l = cosh 2K coth 2K - cos(l pi / n)                                          0 < l < 2n
//! gamma_0 = 2K + ln tanh K
//! ```
//!
//! gamma_0 changes its sign at the critical point of the infinite lattice, and Z_4 with it.

use std::f64::consts::PI;

/// K = beta J at the critical point of the infinite lattice (Onsager 1944): ln(1 + sqrt 2) / 2.
pub(crate) const CRITICAL: f64 = 0.440_686_793_509_771_5;

/// What the canonical ensemble of a finite lattice gives, a spin, with J = k_B = 1.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Exact {
    /// The mean of the sum over bonds of the products of their spins: minus the internal energy,
    /// the sign of [RNG].
    pub(crate) energy: f64,
    /// The specific heat, beta^2 (<E^2> - <E>^2) / N.
    pub(crate) specific_heat: f64,
}

impl Exact {
    /// The lattice of `rows` times `columns` spins at the inverse temperature `beta`.
    ///
    /// A side of 2 counts both ways around as bonds.
    ///
    /// # Panics
    ///
    /// If a side is 0, or `beta` is not above 0.
    pub(crate) fn new(rows: u32, columns: u32, beta: f64) -> Self {
        assert!(rows > 0 && columns > 0 && beta > 0.0, "{rows} x {columns} spins at {beta}");
        let spins = f64::from(rows) * f64::from(columns);
        let (sinh, cosh) = ((2.0 * beta).sinh(), (2.0 * beta).cosh());
        let sum = partial_sums(rows, columns, beta);
        Self {
            energy: cosh / sinh + sum.first / spins,
            specific_heat: beta * beta * (sum.second / spins - 2.0 / (sinh * sinh)),
        }
    }
}

/// The first and second derivative of a logarithm by K.
#[derive(Clone, Copy, Debug, Default)]
struct Derivatives {
    first: f64,
    second: f64,
}

/// x = m gamma / 2 with its derivatives by K.
#[derive(Clone, Copy, Debug)]
struct Angle {
    value: f64,
    by: Derivatives,
}

/// A product of factors, by its logarithm.
#[derive(Clone, Copy, Debug, Default)]
struct Product {
    logarithm: f64,
    by: Derivatives,
}

impl Product {
    /// Times 2 cosh x.
    fn times_cosh(&mut self, x: Angle) {
        let tanh = x.value.tanh();
        self.logarithm += x.value.abs() + (-2.0 * x.value.abs()).exp().ln_1p();
        self.by.first += x.by.first * tanh;
        self.by.second += x.by.second * tanh + x.by.first.powi(2) * (1.0 - tanh * tanh);
    }

    /// Times 2 sinh x, for x above 0.
    fn times_sinh(&mut self, x: Angle) {
        let coth = 1.0 / x.value.tanh();
        self.logarithm += x.value + (-(-2.0 * x.value).exp_m1()).ln();
        self.by.first += x.by.first * coth;
        // 1 - coth^2 = -1 / sinh^2.
        self.by.second += x.by.second * coth - (x.by.first / x.value.sinh()).powi(2);
    }
}

/// The logarithm of Z_1 + Z_2 + Z_3 + Z_4, of which only the derivatives are wanted.
///
/// All four are divided by the largest, so that nothing overflows, and by exp(K times the
/// derivative of ln Z_1), so that the second derivative, of the order of N, is not the difference
/// of two numbers of the order of N^2.
fn partial_sums(rows: u32, columns: u32, beta: f64) -> Derivatives {
    let angle = |l| angle(l, rows, columns, beta);
    let mut products = [Product::default(); 4];
    let [z1, z2, z3, z4] = &mut products;
    for r in 0..columns {
        let odd = angle(2 * r + 1);
        z1.times_cosh(odd);
        z2.times_sinh(odd);
        let even = angle(2 * r);
        z3.times_cosh(even);
        if r > 0 {
            z4.times_sinh(even);
        }
    }
    // The factor of Z_4 that may be 0: 2 sinh x and 2 cosh x over exp |x|, which goes to the
    // logarithm.
    let zero = angle(0);
    let shrunk = (-2.0 * zero.value.abs()).exp();
    let (sinh, cosh) = ((1.0 - shrunk).copysign(zero.value), 1.0 + shrunk);
    z4.logarithm += zero.value.abs();

    let largest = products.iter().map(|z| z.logarithm).fold(f64::MIN, f64::max);
    let origin = products[0].by.first;
    // The sum of the terms, and of their derivatives.
    let (mut z, mut first, mut second) = (0.0, 0.0, 0.0);
    for (k, product) in products.iter().enumerate() {
        let weight = (product.logarithm - largest).exp();
        let g1 = product.by.first - origin;
        let g2 = product.by.second + g1 * g1;
        if k < 3 {
            z += weight;
            first += weight * g1;
            second += weight * g2;
        } else {
            let Derivatives { first: x1, second: x2 } = zero.by;
            z += weight * sinh;
            first += weight * (cosh * x1 + sinh * g1);
            second += weight * (sinh * (x1 * x1 + g2) + cosh * (x2 + 2.0 * x1 * g1));
        }
    }
    Derivatives { first: origin + first / z, second: second / z - (first / z).powi(2) }
}

/// m gamma_l / 2.
fn angle(l: u32, rows: u32, columns: u32, beta: f64) -> Angle {
    let half_rows = f64::from(rows) / 2.0;
    let (sinh, cosh) = ((2.0 * beta).sinh(), (2.0 * beta).cosh());
    let (gamma, by) = if l == 0 {
        let first = 2.0 + 2.0 / sinh;
        (2.0 * beta + beta.tanh().ln(), Derivatives { first, second: -4.0 * cosh / (sinh * sinh) })
    } else {
        // (cosh gamma - 1) / 2 = sinh^2(gamma / 2), as a sum of squares.
        let sine = (f64::from(l) * PI / (2.0 * f64::from(columns))).sin();
        let half = ((sinh - 1.0).powi(2) / (2.0 * sinh) + sine * sine).sqrt().asinh();
        let gamma = 2.0 * half;
        // The derivatives of cosh 2K coth 2K.
        let first = 2.0 * cosh * (1.0 - 1.0 / (sinh * sinh));
        let second = 4.0 * sinh - 4.0 / sinh + 8.0 * cosh * cosh / sinh.powi(3);
        let by = first / gamma.sinh();
        (gamma, Derivatives { first: by, second: (second - gamma.cosh() * by * by) / gamma.sinh() })
    };
    Angle {
        value: half_rows * gamma,
        by: Derivatives { first: half_rows * by.first, second: half_rows * by.second },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By the definition: the sum over all states.
    fn enumerated(rows: u32, columns: u32, beta: f64) -> Exact {
        let spins = rows * columns;
        let (mut z, mut sum, mut squares) = (0.0, 0.0, 0.0);
        for state in 0_u32..1 << spins {
            let spin = |row: u32, column: u32| {
                i32::from(state >> (row % rows * columns + column % columns) & 1 == 1) * 2 - 1
            };
            let mut energy = 0;
            for (row, column) in (0..spins).map(|k| (k / columns, k % columns)) {
                energy += spin(row, column) * (spin(row + 1, column) + spin(row, column + 1));
            }
            let weight = (beta * f64::from(energy)).exp();
            z += weight;
            sum += weight * f64::from(energy);
            squares += weight * f64::from(energy).powi(2);
        }
        let (mean, spins) = (sum / z, f64::from(spins));
        Exact {
            energy: mean / spins,
            specific_heat: beta * beta * (squares / z - mean * mean) / spins,
        }
    }

    fn assert_close(a: Exact, b: Exact, tolerance: f64, what: &str) {
        assert!((a.energy - b.energy).abs() < tolerance, "{what}: {a:?}, {b:?}");
        assert!((a.specific_heat - b.specific_heat).abs() < tolerance, "{what}: {a:?}, {b:?}");
    }

    #[test]
    fn is_the_sum_over_all_states() {
        for (rows, columns) in [(2, 2), (2, 3), (3, 2), (3, 3), (4, 3), (4, 4), (2, 7)] {
            // On both sides of the critical point and at it, where Z_4 is 0.
            for beta in [0.05, 0.3, 0.4, CRITICAL - 1e-9, CRITICAL, 0.45, 0.8] {
                let exact = Exact::new(rows, columns, beta);
                let what = format!("{rows} x {columns} at {beta}");
                // The sums of squares lose digits, the derivatives do not.
                assert_close(exact, enumerated(rows, columns, beta), 1e-10, &what);
            }
        }
    }

    #[test]
    fn has_the_digits_of_a_large_lattice() {
        // Kaufman's formula and Onsager's elliptic integral in 40 digits agree on these.
        let digits =
            Exact { energy: 1.106_079_203_745_791, specific_heat: 0.861_698_356_830_763_6 };
        let exact = Exact::new(1024, 1024, 0.4);
        assert_close(exact, digits, 1e-12, "1024 x 1024");
        // The paper prints these, which agree to 8 digits.
        let paper = Exact { energy: 1.106_079_207, specific_heat: 0.861_698_359_4 };
        assert_close(exact, paper, 5e-9, "the paper");
    }

    #[test]
    fn rows_and_columns_may_be_exchanged() {
        for beta in [0.2, 0.43, 0.44, CRITICAL, 0.45, 1.0] {
            let (flat, tall) = (Exact::new(24, 100, beta), Exact::new(100, 24, beta));
            assert_close(flat, tall, 1e-10, &format!("at {beta}"));
        }
    }

    #[test]
    fn at_the_critical_point_it_is_what_ferdinand_and_fisher_found() {
        // The energy of the infinite lattice, sqrt 2, and the first term in 1 / n of a square one
        // (theirs is by theta functions).
        const SLOPE: f64 = 0.622_439_460_781_28;
        let exact = |side| Exact::new(side, side, CRITICAL);
        let term = |side| (exact(side).energy - 2_f64.sqrt()) * f64::from(side);
        assert!((term(512) - SLOPE).abs() < 1e-5, "{}", term(512));
        assert!((term(2048) - SLOPE).abs() < 1e-6, "{}", term(2048));
        // The maximum grows as a logarithm: (8 / pi) K_c^2 ln n.
        let growth = exact(2048).specific_heat - exact(1024).specific_heat;
        let expected = 8.0 / PI * CRITICAL.powi(2) * 2_f64.ln();
        assert!((growth - expected).abs() < 1e-4, "{growth}, {expected}");
    }
}
