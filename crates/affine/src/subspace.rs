//! [`Echelon`]: subspaces of the space of 64-bit vectors.

/// A subspace, given by a basis in reduced echelon form: each basis vector has a highest bit that
/// no other basis vector has set.
#[derive(Clone, Debug, Default)]
pub struct Echelon {
    basis: Vec<u64>,
}

impl Echelon {
    /// The span of the given vectors.
    pub fn span(vectors: impl IntoIterator<Item = u64>) -> Self {
        let mut span = Self::default();
        for vector in vectors {
            span.insert(vector);
        }
        span
    }

    /// The representative of the vector's coset in which the highest bit of every basis vector
    /// is 0. It is zero exactly for the vectors of the subspace.
    pub fn reduce(&self, vector: u64) -> u64 {
        self.basis.iter().fold(vector, |rest, &basis| {
            if rest & highest_bit(basis) == 0 { rest } else { rest ^ basis }
        })
    }

    /// Adds a vector to the basis. Returns `false`, and changes nothing, if the subspace already
    /// contains it.
    pub fn insert(&mut self, vector: u64) -> bool {
        let vector = self.reduce(vector);
        if vector == 0 {
            return false;
        }
        let bit = highest_bit(vector);
        for basis in &mut self.basis {
            if *basis & bit != 0 {
                *basis ^= vector;
            }
        }
        self.basis.push(vector);
        true
    }

    #[cfg(test)]
    pub fn contains(&self, vector: u64) -> bool {
        self.reduce(vector) == 0
    }

    pub fn dimension(&self) -> usize {
        self.basis.len()
    }
}

fn highest_bit(vector: u64) -> u64 {
    1 << vector.ilog2()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn echelon_form_is_the_span(vectors in prop::collection::vec(0..256_u64, 0..10)) {
            let span = Echelon::span(vectors.iter().copied());
            let mut sums = vec![0];
            for vector in &vectors {
                let more: Vec<u64> = sums.iter().map(|sum| sum ^ vector).collect();
                sums.extend(more);
                sums.sort_unstable();
                sums.dedup();
            }
            prop_assert_eq!(sums.len(), 1 << span.dimension());
            for x in 0..256 {
                prop_assert_eq!(span.contains(x), sums.contains(&x));
                // All vectors of a coset have the same representative.
                prop_assert!(sums.iter().all(|sum| span.reduce(x ^ sum) == span.reduce(x)));
                prop_assert!(sums.contains(&(span.reduce(x) ^ x)));
            }
        }
    }
}
