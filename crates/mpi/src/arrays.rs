//! [`Arrays`]: one rank's parts of arrays that move together.

use bytemuck::Pod;

/// The parts that one rank holds of arrays that move together: a tuple of up to eight `&mut Vec`,
/// whose items are [`Pod`].
///
/// Items travel as their bytes, so they must have no pointers and no padding, and any bytes that
/// arrive must be an item. `Pod` promises that; bytemuck derives it for structures.
pub trait Arrays: sealed::Arrays {}

impl<A: sealed::Arrays> Arrays for A {}

pub(crate) use sealed::VisitArray;

mod sealed {
    use bytemuck::Pod;

    /// What is done with each array.
    pub trait VisitArray {
        /// Why it may fail.
        type Error;

        /// Does it with the array of a number, counted from 0.
        fn visit<T: Pod + Send + Sync>(
            &mut self,
            number: usize,
            items: &mut Vec<T>,
        ) -> Result<(), Self::Error>;
    }

    /// The methods of [`Arrays`](super::Arrays).
    pub trait Arrays {
        /// The number of items of the first array.
        fn items(&self) -> usize;

        /// The size of each array's items in bytes.
        fn sizes(&self) -> Vec<u64>;

        /// Visits each array in order, up to the first error.
        fn visit<V: VisitArray>(&mut self, visit: &mut V) -> Result<(), V::Error>;
    }
}

/// Implements [`Arrays`] for a tuple.
macro_rules! tuple {
    ($first:ident 0 $($type:ident $index:tt)*) => {
        impl<$first, $($type),*> sealed::Arrays for (&mut Vec<$first>, $(&mut Vec<$type>),*)
        where
            $first: Pod + Send + Sync,
            $($type: Pod + Send + Sync),*
        {
            fn items(&self) -> usize {
                self.0.len()
            }

            fn sizes(&self) -> Vec<u64> {
                vec![size_of::<$first>() as u64, $(size_of::<$type>() as u64),*]
            }

            fn visit<V: VisitArray>(&mut self, visit: &mut V) -> Result<(), V::Error> {
                visit.visit(0, self.0)?;
                $(visit.visit($index, self.$index)?;)*
                Ok(())
            }
        }
    };
}

tuple!(A 0);
tuple!(A 0 B 1);
tuple!(A 0 B 1 C 2);
tuple!(A 0 B 1 C 2 D 3);
tuple!(A 0 B 1 C 2 D 3 E 4);
tuple!(A 0 B 1 C 2 D 3 E 4 F 5);
tuple!(A 0 B 1 C 2 D 3 E 4 F 5 G 6);
tuple!(A 0 B 1 C 2 D 3 E 4 F 5 G 6 H 7);
