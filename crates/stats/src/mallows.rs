//! [`DiscordantPairs`] and [`Mallows`]: how much two permutations differ in order, and a kernel of
//! that distance.

/// Counts the pairs of items that two permutations put in different order: Kendall's distance.
///
/// It keeps about `4.2 n` bytes of scratch memory, which it reuses from call to call.
#[derive(Clone, Debug, Default)]
pub(crate) struct DiscordantPairs {
    relabelled: Vec<u32>,
    ranks: Ranks,
}

impl DiscordantPairs {
    /// A counter, which has no memory yet.
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// The number of inversions of `p`: pairs of places `i < k` with `p[i] > p[k]`. It is from 0 to
    /// `n (n - 1) / 2`.
    ///
    /// It takes time `n log(n / 64)`, using the rank of each value among the values before it. In
    /// measurements that is 5 times as fast as counting in a merge sort (Knight, *A computer method
    /// for calculating Kendall's tau with ungrouped data*, JASA 61, 1966) from 1000 items on; below
    /// 50 items neither is clearly better.
    ///
    /// # Panics
    ///
    /// If a value is not below the length. Repeated values are not detected, and then the count is
    /// meaningless.
    pub(crate) fn inversions(&mut self, permutation: &[u32]) -> u64 {
        self.ranks.inversions(permutation)
    }

    /// The number of pairs of places `i < k` at which `a[i] < a[k]` and `b[i] > b[k]`, or vice
    /// versa.
    ///
    /// Rearranging the places of both in the same way does not change the count, so it equals the
    /// number of inversions of `b` rearranged to where `a` is sorted. The time is that of
    /// [`inversions`](Self::inversions).
    ///
    /// # Panics
    ///
    /// If the lengths differ, or as [`inversions`](Self::inversions) does.
    pub(crate) fn between(&mut self, a: &[u32], b: &[u32]) -> u64 {
        assert_eq!(a.len(), b.len(), "permutations of different lengths have no pairs in common");
        self.relabelled.resize(a.len(), 0);
        for (&index, &value) in a.iter().zip(b) {
            self.relabelled[index as usize] = value;
        }
        self.ranks.inversions(&self.relabelled)
    }
}

/// A set of numbers that can count its members below a given number: one bit for each number, and a
/// Fenwick tree over the counts of whole words (Fenwick, *A new data structure for cumulative
/// frequency tables*, 1994).
#[derive(Clone, Debug, Default)]
struct Ranks {
    bits: Vec<u64>,
    /// Node `k`, counted from 1, counts the words `k - (k & -k) .. k`.
    tree: Vec<u32>,
}

impl Ranks {
    /// The sum, over all values, of the number of greater values before each.
    fn inversions(&mut self, values: &[u32]) -> u64 {
        self.clear(values.len());
        let mut inversions = 0;
        for (earlier, &value) in values.iter().enumerate() {
            inversions += earlier as u64 - self.insert(value);
        }
        inversions
    }

    fn clear(&mut self, len: usize) {
        let words = len.div_ceil(64);
        self.bits.clear();
        self.bits.resize(words, 0);
        self.tree.clear();
        self.tree.resize(words + 1, 0);
    }

    /// Inserts a value into the set, and returns the number of lesser values in it.
    #[inline]
    fn insert(&mut self, value: u32) -> u64 {
        let word = (value / 64) as usize;
        let bit = 1_u64 << (value % 64);
        let mut lesser = (self.bits[word] & (bit - 1)).count_ones();
        self.bits[word] |= bit;
        let mut node = word;
        while node > 0 {
            lesser += self.tree[node];
            node &= node - 1;
        }
        node = word + 1;
        while let Some(count) = self.tree.get_mut(node) {
            *count += 1;
            node += node & node.wrapping_neg();
        }
        u64::from(lesser)
    }
}

/// The Mallows kernel of permutations of one length, `K = exp(-lambda d / C(n, 2))` for two
/// permutations that differ in the order of `d` pairs; and its moments when one of the two is
/// uniform.
///
/// `K` is 1 for equal permutations and `exp(-lambda)` for opposite ones. See Mitchell et al., 2022,
/// section 5, and Jiao, Vert, *The Kendall and Mallows kernels for permutations*, ICML 2015.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Mallows {
    len: usize,
    lambda: f64,
    /// What each discordant pair adds to the exponent: `lambda / C(n, 2)`.
    rate: f64,
}

impl Mallows {
    /// The `lambda` of the paper.
    pub(crate) const LAMBDA: f64 = 5.0;

    /// The kernel of permutations of `len` items with the sharpness `lambda`.
    ///
    /// # Panics
    ///
    /// If `lambda` is negative or not finite, or `len` is above `2^32`.
    pub(crate) fn new(len: usize, lambda: f64) -> Self {
        assert!(
            lambda >= 0.0 && lambda.is_finite(),
            "lambda is {lambda}, but must be finite and >= 0"
        );
        assert!(len as u64 <= 1 << 32, "indexes are held in 32 bits");
        let pairs = len as f64 * (len as f64 - 1.0) / 2.0;
        Self { len, lambda, rate: if len < 2 { 0.0 } else { lambda / pairs } }
    }

    /// The length of the permutations.
    pub(crate) const fn len(&self) -> usize {
        self.len
    }

    /// The kernel's value for two permutations that order `discordant` pairs differently.
    #[inline]
    pub(crate) fn value(&self, discordant: u64) -> f64 {
        (-self.rate * discordant as f64).exp()
    }

    /// The kernel's expectation when one of the permutations is uniform, whatever the other is.
    ///
    /// It is the product over `j` from 1 to `n` of `(1 - q^j) / (j (1 - q))` with
    /// `q = exp(-lambda / C(n, 2))`: the discordant pairs that item `j` adds are uniform on `0..j`,
    /// and independent of the others. With `y = lambda / (2 C(n, 2))` each factor is
    /// `exp(-(j - 1) y) S(j y) / S(y)` for `S(y) = sinh(y) / y`, and the exponentials multiply to
    /// `exp(-lambda / 2)`. The logarithms of the rest are positive and are added one by one. The
    /// relative error is about 1e-13 at most, for `n` up to 10^6 and `lambda` up to 100.
    ///
    /// Time `n`.
    pub(crate) fn mean(&self) -> f64 {
        if self.len < 2 {
            return 1.0;
        }
        (self.sum_over_items(ln_sinhc) - self.lambda / 2.0).exp()
    }

    /// The kernel's variance when one of the permutations is uniform, whatever the other is.
    ///
    /// It is the difference between the mean at `2 lambda` and the square of the mean, which agree
    /// in all but a few digits if `n` is large or `lambda` small. It is therefore computed as
    /// `mean^2 (exp(D) - 1)`, where `D` is the difference of the logarithms. In the notation of
    /// [`mean`](Self::mean) the factors `exp(-lambda)` cancel exactly. Since
    /// `S(2 y) / S(y)^2 = y coth(y)`, the rest of `D` is the sum over `j` of
    /// `ln(j y coth(j y)) - ln(y coth(y))`, which has no negative terms. The relative error is
    /// about 1e-13 at most, as for the mean.
    ///
    /// Time `n`.
    pub(crate) fn variance(&self) -> f64 {
        self.mean().powi(2) * self.sum_over_items(ln_y_coth).exp_m1()
    }

    /// The sum of `f(j y) - f(y)` over the items `j`, for `y = lambda / (2 C(n, 2))`.
    fn sum_over_items(&self, f: impl Fn(f64) -> f64) -> f64 {
        let y = self.rate / 2.0;
        let first = f(y);
        (2..=self.len).map(|j| f(j as f64 * y) - first).sum()
    }
}

/// `ln(sinh(y) / y)` for `y >= 0`.
fn ln_sinhc(y: f64) -> f64 {
    if y > 1.0 {
        return y - (2.0 * y).ln() + (-(-2.0 * y).exp()).ln_1p();
    }
    // The power series of sinh(y) / y - 1, by Horner's rule: y^2 / 3! (1 + y^2 / (4 * 5) (1 + ..)).
    // 9 terms leave out less than 1e-18 of it.
    let square = y * y;
    let series = (1..=9).rev().fold(0.0, |rest, k| {
        let k = f64::from(2 * k);
        square / (k * (k + 1.0)) * (1.0 + rest)
    });
    series.ln_1p()
}

/// `ln(y coth(y))` for `y >= 0`.
fn ln_y_coth(y: f64) -> f64 {
    if y > 1.0 {
        return (y / y.tanh()).ln();
    }
    // Lambert's continued fraction, y coth(y) - 1 = y^2 / (3 + y^2 / (5 + ..)), has positive terms
    // only. 9 of them leave out less than 1e-17.
    let square = y * y;
    let excess = (1..=9).rev().fold(0.0, |rest, k| square / (f64::from(2 * k + 1) + rest));
    excess.ln_1p()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The definition, in time `n^2`.
    fn discordant(a: &[u32], b: &[u32]) -> u64 {
        let differ = |i: usize, k: usize| (a[i] < a[k]) != (b[i] < b[k]);
        (0..a.len()).map(|k| (0..k).filter(|&i| differ(i, k)).count() as u64).sum()
    }

    #[test]
    fn pairs_are_those_of_the_definition() {
        let mut rng = fastrand::Rng::with_seed(1);
        let mut pairs = DiscordantPairs::new();
        for len in [0, 1, 2, 3, 5, 63, 64, 65, 127, 128, 129, 500, 4097] {
            let identity: Vec<u32> = (0..len).collect();
            let (mut a, mut b) = (identity.clone(), identity.clone());
            rng.shuffle(&mut a);
            rng.shuffle(&mut b);
            assert_eq!(pairs.between(&a, &b), discordant(&a, &b), "length {len}");
            assert_eq!(pairs.inversions(&a), discordant(&identity, &a), "length {len}");
            assert_eq!(pairs.between(&a, &a), 0);
            b.copy_from_slice(&identity);
            b.reverse();
            let all = u64::from(len) * u64::from(len.saturating_sub(1)) / 2;
            assert_eq!(pairs.between(&identity, &b), all, "length {len}");
        }
    }

    #[test]
    #[should_panic(expected = "different lengths")]
    fn lengths_that_differ_are_refused() {
        DiscordantPairs::new().between(&[0, 1], &[0]);
    }

    /// Length, lambda, mean and variance, by mpmath with 60 digits. For lengths 2 to 8 they come
    /// from the number of permutations with each number of inversions (for 2 to 7 by enumerating
    /// all `n!`); for larger lengths, from the products.
    const MOMENTS: &[(usize, f64, f64, f64)] = &[
        (2, 5.0, 0.5033689734995427, 0.24664237648289788),
        (2, 0.001, 0.9995002499166875, 2.4975014577085485e-07),
        (3, 5.0, 0.242639523228119, 0.12011583747212225),
        (3, 0.001, 0.9995001758796395, 1.0175006075849719e-07),
        (4, 5.0, 0.16551258774936717, 0.04729533890522388),
        (4, 0.001, 0.9995001550567197, 6.012503419903054e-08),
        (5, 5.0, 0.1355106870660059, 0.023451023915079715),
        (5, 0.001, 0.9995001458020887, 4.162502295495549e-08),
        (6, 5.0, 0.12054506486009187, 0.01402942866114771),
        (6, 0.001, 0.9995001407120417, 3.145001700297876e-08),
        (7, 5.0, 0.1118184192609216, 0.009497668858673697),
        (7, 0.001, 0.9995001375390254, 2.5107156249006264e-08),
        (8, 5.0, 0.10618204316043361, 0.006980340616166621),
        (8, 0.001, 0.999500135390629, 2.081251099434397e-08),
        (100, 5.0, 0.08327383949415568, 0.00020225745573337236),
        (100, 0.001, 0.9995001255540782, 1.1492430012136853e-09),
        (100, 100.0, 5.421191097457506e-20, 7.303882571349961e-35),
        (1000, 5.0, 0.0821994846969672, 1.8860729922326566e-05),
        (1000, 0.001, 0.9995001250348916, 1.11388944639119e-10),
        (1000, 100.0, 3.367808403213932e-22, 2.3192605855352536e-43),
        (1000000, 5.0, 0.08208511263131953, 1.8716662935934186e-08),
        (1000000, 0.001, 0.9995001249792248, 1.1100044403764304e-13),
        (1000000, 100.0, 1.9298216771111604e-22, 4.1403272472090917e-47),
    ];

    #[test]
    fn moments_are_accurate() {
        for &(len, lambda, mean, variance) in MOMENTS {
            let kernel = Mallows::new(len, lambda);
            let off = kernel.mean() / mean - 1.0;
            assert!(off.abs() < 1e-13, "mean at length {len}, lambda {lambda}: off by {off:e}");
            let off = kernel.variance() / variance - 1.0;
            assert!(off.abs() < 2e-13, "variance at length {len}, lambda {lambda}: off by {off:e}");
        }
    }

    /// Half of the pairs of permutations of two items agree, and half differ in the only pair.
    #[test]
    fn the_kernel_of_two_items_has_two_values() {
        let kernel = Mallows::new(2, 5.0);
        let (same, opposite) = (kernel.value(0), kernel.value(1));
        assert_eq!((same, opposite), (1.0, (-5.0_f64).exp()));
        assert!((kernel.mean() - (same + opposite) / 2.0).abs() < 1e-15);
        assert!((kernel.variance() - (same - opposite).powi(2) / 4.0).abs() < 1e-15);
    }

    #[test]
    fn a_constant_kernel_has_no_variance() {
        for kernel in [Mallows::new(0, 5.0), Mallows::new(1, 5.0), Mallows::new(100, 0.0)] {
            assert_eq!((kernel.value(0), kernel.mean(), kernel.variance()), (1.0, 1.0, 0.0));
        }
    }
}
