//! Energy and specific heat from a series of measurements, with errors that allow for its
//! correlations.

use crate::failure::Failure;

/// A value and its standard error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Estimate {
    pub(crate) value: f64,
    pub(crate) error: f64,
}

impl Estimate {
    /// How far it is from what it should be, in standard errors.
    pub(crate) fn deviation(self, exact: f64) -> f64 {
        (self.value - exact) / self.error
    }

    /// The value with its error in units of the last two digits, as physicists write it:
    /// 1.1060788(15).
    pub(crate) fn rounded(self) -> String {
        // Without an error, as of a frozen lattice, all digits are good.
        let exponent = self.error.log10().floor().clamp(-14.0, 1.0);
        let digits = 1 - exponent as i32;
        let units = (self.error * 10_f64.powi(digits)).round();
        format!("{:.*}({units})", digits as usize, self.value)
    }
}

/// What a run has measured.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Observables {
    /// The energy a spin.
    pub(crate) energy: Estimate,
    /// The specific heat a spin.
    pub(crate) specific_heat: Estimate,
}

/// The bins of a series. Errors come from how bins differ, so a bin must be many autocorrelation
/// times long. This many bins give the error itself to about a twentieth.
const BINS: usize = 200;

impl Observables {
    /// From the energies of a lattice of `sites` spins, in the order in which they were measured.
    /// What does not fill a bin at the end is left out.
    ///
    /// The specific heat is a nonlinear function of means, so its error, and its bias of the order
    /// of one over the length, are taken from the jackknife over bins (Efron 1982, chapter 3).
    ///
    /// # Errors
    ///
    /// If there are fewer than two measurements a bin.
    pub(crate) fn new(energies: &[i32], sites: usize, beta: f64) -> Result<Self, Failure> {
        if energies.len() < 2 * BINS {
            return Err(
                format!("{} measurements are too few for {BINS} bins", energies.len()).into()
            );
        }
        let length = energies.len() / BINS;
        let energies = &energies[..length * BINS];
        let sites = sites as f64;
        // Sums about a value in the middle, so that squares lose no digits.
        let origin = energies.iter().map(|&e| f64::from(e)).sum::<f64>() / energies.len() as f64;
        let moments = |bin: &[i32]| {
            let sums = bin.iter().fold([0.0; 2], |[first, second], &e| {
                let e = f64::from(e) - origin;
                [first + e, second + e * e]
            });
            sums.map(|sum| sum / bin.len() as f64)
        };
        let bins: Vec<[f64; 2]> = energies.chunks_exact(length).map(moments).collect();
        let all = moments(energies);

        let heat = |[first, second]: [f64; 2]| beta * beta * (second - first * first) / sites;
        let count = BINS as f64;
        let without =
            |bin: &[f64; 2]| heat([0, 1].map(|k| (count * all[k] - bin[k]) / (count - 1.0)));
        let left: Vec<f64> = bins.iter().map(without).collect();
        let mean_left = left.iter().sum::<f64>() / count;
        let spread = left.iter().map(|x| (x - mean_left).powi(2)).sum::<f64>();
        let specific_heat = Estimate {
            value: count * heat(all) - (count - 1.0) * mean_left,
            error: ((count - 1.0) / count * spread).sqrt(),
        };

        let variance =
            bins.iter().map(|bin| (bin[0] - all[0]).powi(2)).sum::<f64>() / (count - 1.0);
        let energy =
            Estimate { value: (origin + all[0]) / sites, error: (variance / count).sqrt() / sites };
        Ok(Self { energy, specific_heat })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bijective_shuffle::rng::Philox4x32Rng;
    use rand_core::Rng;

    /// A uniform number in [-1, 1), of variance 1/3.
    fn uniform(rng: &mut impl Rng) -> f64 {
        f64::from(rng.next_u32()) * 2_f64.powi(-31) - 1.0
    }

    #[test]
    fn errors_allow_for_correlations() {
        // x' = a x + u has autocorrelation time (1 + a) / (1 - a) / 2 and variance 1 / 3 / (1 -
        // a^2).
        const A: f64 = 0.9;
        const SCALE: f64 = 1e6;
        let (sites, beta) = (100, 0.5);
        let variance = SCALE * SCALE / 3.0 / (1.0 - A * A);
        let heat = beta * beta * variance / sites as f64;
        let (mut deviations, mut heats) = (Vec::new(), Vec::new());
        for seed in 0..40 {
            let mut rng = Philox4x32Rng::new(seed, 0);
            let mut x = 0.0;
            let series: Vec<i32> = (0..40_000)
                .map(|_| {
                    x = A * x + uniform(&mut rng);
                    (SCALE * (x + 30.0)) as i32
                })
                .collect();
            let found = Observables::new(&series[100..], sites, beta).unwrap();
            deviations.push(found.energy.deviation(30.0 * SCALE / sites as f64));
            heats.push(found.specific_heat.deviation(heat));
        }
        for deviations in [deviations, heats] {
            // Standard normals: their squares add up to 40, give or take 9.
            let squares: f64 = deviations.iter().map(|x| x * x).sum();
            assert!((10.0..90.0).contains(&squares), "{deviations:?}");
        }
    }

    #[test]
    fn two_digits_of_the_error() {
        let rounded = |value, error| Estimate { value, error }.rounded();
        assert_eq!(rounded(1.106_078_83, 0.000_001_52), "1.1060788(15)");
        assert_eq!(rounded(0.832_86, 0.000_45), "0.83286(45)");
        assert_eq!(rounded(1.5, 0.25), "1.50(25)");
    }
}
