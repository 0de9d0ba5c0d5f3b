//! [`Columns`]: arrays that are shuffled together, under one permutation.

mod list;
mod rows;
mod set;
mod static_row;
mod tuples;

pub(crate) use list::{Column, item_bytes};
pub use rows::Rows;
pub(crate) use set::ColumnSet;
pub(crate) use static_row::StaticRow;

use list::ColumnList;
pub(crate) use sealed::ColumnForm;
use static_row::{ColumnStart, UnknownRow};
use tuples::for_tuples;

mod sealed {
    use super::list::ColumnList;
    use super::static_row::StaticRow;

    /// A type of the form of [`Columns`](super::Columns), whatever its items are. All of these have
    /// the methods for columns, so that the compiler says why one does not qualify.
    pub trait ColumnForm {}

    /// The hidden part of [`Columns`](super::Columns): how columns are listed.
    pub trait ListColumns: ColumnForm {
        /// The columns' addresses, if the compiler knows their number and the sizes of their items.
        type Starts: StaticRow;

        /// Lists the columns.
        fn list<'a>(self, list: &mut ColumnList<'a>) -> Self::Starts
        where
            Self: 'a;
    }
}

/// Arrays of one length that are shuffled together: item `k` of each array goes to the same place
/// as item `k` of every other.
///
/// A column is
///
/// * a slice, `&mut [T]`, and so `&mut Vec<T>` and `&mut [T; N]`;
/// * the [`Rows`] of a matrix, of any width;
/// * several columns: a tuple of up to eight columns of different types, or a `Vec<C>` or `[C; N]`
///   of any number of columns of one type. They may be nested. A tuple of one, such as
///   `(Rows::new(&mut matrix, width)?,)`, shuffles the rows of one matrix.
///
/// Items are moved, never cloned, and need not be `Clone`, `Copy` or `Sync`. Each column gets the
/// order that it would get alone, but the columns share the work. On the CPU the bijection is
/// evaluated once for all columns or, where the columns exceed the caches, once for each group of
/// columns with up to 64 bytes an item. On a GPU it is evaluated once for each column.
/// [`Workspace::shuffle_together`](crate::Workspace::shuffle_together) has the details.
///
/// For a table of columns in vectors, a `Vec<Vec<T>>`, collect its `iter_mut()` first. (A mutable
/// reference to the table is one column, whose items are vectors.)
///
/// The trait is sealed.
///
/// # Examples
///
/// Keys and their values:
///
/// ```
/// use bijective_shuffle::prelude::*;
///
/// let mut keys = [1, 2, 3, 4];
/// let mut values = ["one", "two", "three", "four"];
/// (&mut keys, &mut values).par_bijective_shuffle_together(42);
/// assert_eq!(values[keys.iter().position(|&key| key == 3).unwrap()], "three");
/// ```
///
/// A struct of arrays:
///
/// ```
/// use bijective_shuffle::prelude::*;
///
/// struct Particles {
///     places: Vec<[f32; 3]>,
///     masses: Vec<f64>,
///     names: Vec<String>,
/// }
///
/// let mut particles = Particles {
///     places: vec![[0.0; 3], [1.0; 3], [2.0; 3]],
///     masses: vec![10.0, 11.0, 12.0],
///     names: vec!["a".into(), "b".into(), "c".into()],
/// };
/// let Particles { places, masses, names } = &mut particles;
/// (places, masses, names).par_bijective_shuffle_together(42);
/// let mut rows = particles.masses.iter().zip(&particles.places);
/// assert!(rows.all(|(mass, place)| *mass == f64::from(place[0]) + 10.0));
/// ```
///
/// A number of columns that is known only at run time:
///
/// ```
/// use bijective_shuffle::prelude::*;
///
/// let mut table = vec![vec![1, 2, 3], vec![10, 20, 30]];
/// let columns: Vec<&mut [i32]> = table.iter_mut().map(|column| &mut column[..]).collect();
/// columns.par_bijective_shuffle_together(42);
/// assert!(table[0].iter().zip(&table[1]).all(|(a, b)| 10 * a == *b));
/// ```
///
/// Items that are not `Send` do not compile:
///
/// ```compile_fail,E0277
/// use bijective_shuffle::prelude::*;
///
/// let mut counted = [std::rc::Rc::new(1), std::rc::Rc::new(2)];
/// (&mut [1, 2], &mut counted).par_bijective_shuffle_together(42);
/// ```
///
/// A vector itself is not a column, only a mutable reference to it is:
///
/// ```compile_fail,E0277
/// use bijective_shuffle::prelude::*;
///
/// (vec![1, 2], vec![3, 4]).par_bijective_shuffle_together(42);
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a column that can be shuffled together with others",
    label = "not a column",
    note = "a column is a mutable slice of items that are `Send`: `&mut vec`, `&mut array` or \
            `values.as_mut_slice()`; or `Rows::new(&mut matrix, width)?`",
    note = "several columns are a tuple of up to eight, such as `(&mut keys, &mut values)`, or a \
            `Vec` or an array of columns of one type"
)]
pub trait Columns: sealed::ListColumns {}

macro_rules! slices {
    ($($column:ty $(, $len:ident)?);+) => {$(
        impl<T: Send $(, const $len: usize)?> Columns for $column {}

        impl<T $(, const $len: usize)?> ColumnForm for $column {}

        impl<T: Send $(, const $len: usize)?> sealed::ListColumns for $column {
            type Starts = ColumnStart<T>;

            fn list<'a>(self, list: &mut ColumnList<'a>) -> Self::Starts
            where
                Self: 'a,
            {
                list.add(self, 1)
            }
        }
    )+};
}

slices!(&mut [T]; &mut Vec<T>; &mut [T; N], N);

impl<T: Send> Columns for Rows<'_, T> {}

impl<T> ColumnForm for Rows<'_, T> {}

impl<T: Send> sealed::ListColumns for Rows<'_, T> {
    type Starts = UnknownRow;

    fn list<'a>(self, list: &mut ColumnList<'a>) -> Self::Starts
    where
        Self: 'a,
    {
        let (items, width) = self.into_parts();
        list.add(items, width);
        UnknownRow
    }
}

impl<C: Columns> Columns for Vec<C> {}

impl<C> ColumnForm for Vec<C> {}

impl<C: Columns> sealed::ListColumns for Vec<C> {
    type Starts = UnknownRow;

    fn list<'a>(self, list: &mut ColumnList<'a>) -> Self::Starts
    where
        Self: 'a,
    {
        for columns in self {
            columns.list(list);
        }
        UnknownRow
    }
}

impl<C: Columns, const N: usize> Columns for [C; N] {}

impl<C, const N: usize> ColumnForm for [C; N] {}

impl<C: Columns, const N: usize> sealed::ListColumns for [C; N] {
    type Starts = [C::Starts; N];

    fn list<'a>(self, list: &mut ColumnList<'a>) -> Self::Starts
    where
        Self: 'a,
    {
        self.map(|columns| columns.list(list))
    }
}

macro_rules! tuples {
    ($(($($column:ident)+))+) => {$(
        impl<$($column: Columns),+> Columns for ($($column,)+) {}

        impl<$($column),+> ColumnForm for ($($column,)+) {}

        impl<$($column: Columns),+> sealed::ListColumns for ($($column,)+) {
            type Starts = ($($column::Starts,)+);

            fn list<'a>(self, list: &mut ColumnList<'a>) -> Self::Starts
            where
                Self: 'a,
            {
                #[expect(non_snake_case, reason = "values by the names of their types")]
                let ($($column,)+) = self;
                ($($column.list(list),)+)
            }
        }
    )+};
}

for_tuples!(tuples);
