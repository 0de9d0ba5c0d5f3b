//! [`Cpu`]: the engine on the threads of a rayon pool.

pub(crate) mod direct;
pub(crate) mod tuning;

use rayon::prelude::*;

use super::relocate::{Order, Relocation};
use super::{Compactor, check_length, check_permutation};
use crate::bijection::Bijection;
use crate::error::Error;
use crate::word::Word;

/// The engine on the threads of the current rayon pool, or on the calling thread alone where that is faster.
///
/// Moving items takes working memory for one copy of them, and 4 bytes an item for the permutation, 8 from
/// 2^32 items on.
///
/// # Examples
///
/// ```
/// use bijective_shuffle::prelude::*;
///
/// let f = VariablePhilox::<24>::from_seed(6, 1);
/// let mut items: Vec<String> = "one two three four five six".split(' ').map(String::from).collect();
/// let sorted = items.clone();
/// Cpu.shuffle(&f, &mut items)?;
/// Cpu.unshuffle(&f, &mut items)?;
/// assert_eq!(items, sorted);
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Cpu;

/// The permutation in the narrowest words that hold it.
enum AnyOrder {
    Narrow(Order<u32>),
    Wide(Order<u64>),
}

impl AnyOrder {
    fn new(bijection: &dyn Bijection, len: usize) -> Result<Self, Error> {
        check_length(len as u64, bijection.last())?;
        if len as u64 <= 1 << 32 {
            Order::new(bijection, len).map(Self::Narrow)
        } else {
            Order::new(bijection, len).map(Self::Wide)
        }
    }
}

impl Compactor for Cpu {
    fn indices<N: Word>(&self, bijection: &dyn Bijection, out: &mut [N]) -> Result<(), Error> {
        match bijection.trusted() {
            Some(trusted) => direct::fill(&trusted, out),
            None => {
                direct::fill(bijection, out)?;
                check_permutation(out)
            }
        }
    }

    fn shuffle<T: Send>(&self, bijection: &dyn Bijection, items: &mut [T]) -> Result<(), Error> {
        if size_of::<T>() == 0 {
            // Items without bits cannot be told apart: any order is every order.
            return check_length(items.len() as u64, bijection.last());
        }
        let order = AnyOrder::new(bijection, items.len())?;
        let relocation = Relocation::new(items)?;
        match order {
            AnyOrder::Narrow(order) => relocation.gather(&order),
            AnyOrder::Wide(order) => relocation.gather(&order),
        }
        Ok(())
    }

    fn unshuffle<T: Send>(&self, bijection: &dyn Bijection, items: &mut [T]) -> Result<(), Error> {
        if size_of::<T>() == 0 {
            return check_length(items.len() as u64, bijection.last());
        }
        let order = AnyOrder::new(bijection, items.len())?;
        let relocation = Relocation::new(items)?;
        match order {
            AnyOrder::Narrow(order) => relocation.scatter(&order),
            AnyOrder::Wide(order) => relocation.scatter(&order),
        }
        Ok(())
    }

    fn shuffled<T: Clone + Send + Sync>(
        &self,
        bijection: &dyn Bijection,
        items: &[T],
    ) -> Result<Vec<T>, Error> {
        if size_of::<T>() == 0 {
            check_length(items.len() as u64, bijection.last())?;
            return Ok(items.to_vec());
        }
        match AnyOrder::new(bijection, items.len())? {
            AnyOrder::Narrow(order) => clone_in_order(items, order.indices()),
            AnyOrder::Wide(order) => clone_in_order(items, order.indices()),
        }
    }
}

fn clone_in_order<T: Clone + Send + Sync, N: Word>(
    items: &[T],
    indices: &[N],
) -> Result<Vec<T>, Error> {
    let mut out = super::try_with_capacity(items.len())?;
    let pick = |index: &N| items[index.widen() as usize].clone();
    if items.len() < tuning::SEQUENTIAL_ITEMS {
        out.extend(indices.iter().map(pick));
    } else {
        indices.par_iter().with_min_len(tuning::MOVE_CHUNK).map(pick).collect_into_vec(&mut out);
    }
    Ok(out)
}
