//! [`Arena`]: the items that all contenders shuffle, one after the other.

use rayon::prelude::*;

use crate::item::Numbered;

/// Items, and room for as many. Contenders share it, so that they all meet the same memory.
pub(crate) struct Arena {
    pub(crate) items: Vec<u64>,
    /// Empty until somebody asks for it.
    out: Vec<u64>,
}

impl Arena {
    /// `len` items, in order.
    pub(crate) fn new(len: usize) -> Self {
        let items = (0..len as u64).into_par_iter().collect();
        Self { items, out: Vec::new() }
    }

    /// Puts the items in order again.
    pub(crate) fn reset(&mut self) {
        let items = self.items.par_iter_mut().enumerate();
        items.for_each(|(number, item)| *item = number as u64);
    }

    /// Lets `fill` write all items to another array, which is the items from then on.
    pub(crate) fn out_of_place<R>(&mut self, fill: impl FnOnce(&[u64], &mut [u64]) -> R) -> R {
        if self.out.is_empty() {
            self.out = self.items.par_iter().copied().collect();
        }
        let result = fill(&self.items, &mut self.out);
        std::mem::swap(&mut self.items, &mut self.out);
        result
    }

    /// What the items have in common with themselves in any other order, and not with other items.
    pub(crate) fn census(&self) -> u64 {
        self.items.par_iter().map(u64::fingerprint).reduce(|| 0, u64::wrapping_add)
    }

    /// How many items are not where they were at first.
    pub(crate) fn moved(&self) -> usize {
        let items = self.items.par_iter().enumerate();
        items.filter(|&(number, item)| *item != number as u64).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_census_sees_losses_and_no_moves() {
        let mut arena = Arena::new(1000);
        let census = arena.census();
        arena.items.reverse();
        assert_eq!((arena.census(), arena.moved()), (census, 1000));
        arena.items[3] = arena.items[4];
        assert_ne!(arena.census(), census);
        arena.reset();
        assert_eq!((arena.census(), arena.moved()), (census, 0));
        arena.out_of_place(|items, out| {
            out.copy_from_slice(items);
            out.swap(0, 1);
        });
        assert_eq!((arena.census(), arena.moved()), (census, 2));
    }
}
