//! Items of a few types, erased: a case names a [`Kind`] and is not generic, so that each entry
//! point of an engine is compiled once for each type, in the engine's own file here.

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use bijective_shuffle::Error;
use bijective_shuffle::Rows;
use bijective_shuffle::prelude::*;

/// A number that differs from its neighbours in all bytes.
pub fn mix(index: u64) -> u64 {
    index.wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

/// Declares the types that can be copied, to a GPU too; a kind of item is a name, a type, and the
/// item of an index.
macro_rules! kinds {
    ($($kind:ident: $item:ty, $of:expr;)+) => {
        /// A type of items.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Kind {
            /// Nothing is moved, and lengths are checked nevertheless.
            Unit,
            $($kind,)+
            /// [`Item`]s, which are counted.
            Counted,
        }

        /// Every kind.
        pub const KINDS: &[Kind] = &[Kind::Unit, $(Kind::$kind,)+ Kind::Counted];

        /// A vector of items of one kind.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Items<'a> {
            Unit(Vec<()>),
            $($kind(Vec<$item>),)+
            Counted(Vec<Item<'a>>),
        }

        impl<'a> Items<'a> {
            /// What belongs to the indexes of an order.
            pub fn new(kind: Kind, order: &[u64], ledger: &'a Ledger) -> Self {
                match kind {
                    Kind::Unit => Self::Unit(vec![(); order.len()]),
                    $(Kind::$kind => {
                        let of: fn(u64) -> $item = $of;
                        Self::$kind(order.iter().map(|&index| of(index)).collect())
                    })+
                    Kind::Counted => {
                        let item = |&index: &u64| Item::new(index as usize, ledger);
                        Self::Counted(order.iter().map(item).collect())
                    }
                }
            }
        }

        /// An expression of a vector of whichever type.
        #[macro_export]
        macro_rules! with_items {
            ($items:expr, $vector:ident => $call:expr) => {
                match $items {
                    $crate::items::Items::Unit($vector) => $call,
                    $($crate::items::Items::$kind($vector) => $call,)+
                    $crate::items::Items::Counted($vector) => $call,
                }
            };
        }

        /// An expression of two vectors of one type that can be copied to a GPU, or `None`.
        #[macro_export]
        macro_rules! with_device_copies {
            ($source:expr, $out:expr, $a:ident, $b:ident => $call:expr) => {
                match ($source, $out) {
                    $((
                        $crate::items::Items::$kind($a),
                        $crate::items::Items::$kind($b),
                    ) => Some($call),)+
                    _ => None,
                }
            };
        }

        /// An expression of two vectors of one type that can be copied, or `None`.
        #[macro_export]
        macro_rules! with_copies {
            ($source:expr, $out:expr, $a:ident, $b:ident => $call:expr) => {
                match ($source, $out) {
                    ($crate::items::Items::Unit($a), $crate::items::Items::Unit($b)) => {
                        Some($call)
                    }
                    $((
                        $crate::items::Items::$kind($a),
                        $crate::items::Items::$kind($b),
                    ) => Some($call),)+
                    _ => None,
                }
            };
        }

        /// The same function of a vector of each type.
        #[macro_export]
        macro_rules! map_items {
            ($items:expr, $vector:ident => $call:expr) => {
                match $items {
                    $crate::items::Items::Unit($vector) => $call.map($crate::items::Items::Unit),
                    $($crate::items::Items::$kind($vector) => {
                        $call.map($crate::items::Items::$kind)
                    })+
                    $crate::items::Items::Counted($vector) => {
                        $call.map($crate::items::Items::Counted)
                    }
                }
            };
        }
    };
}

kinds! {
    Byte: u8, |x| (mix(x) >> 56) as u8;
    // No power of two, and a block of memory ends within one.
    ThreeBytes: [u8; 3], |x| [(mix(x) >> 56) as u8, x as u8, (x >> 8) as u8];
    Half: u32, |x| (mix(x) >> 32) as u32;
    Word: u64, mix;
    ThreeWords: [u64; 3], |x| [mix(x), x, !x];
    // The largest that the partitioned strategy sorts, and one that it leaves to the other.
    EightWords: [u64; 8], |x| [mix(x); 8];
    NineWords: [u64; 9], |x| [mix(x); 9];
}

/// How many of each item there are.
#[derive(Debug)]
pub struct Ledger {
    alive: Vec<AtomicU32>,
    clones: AtomicU32,
    most_clones: u32,
}

impl Ledger {
    pub fn new(len: usize) -> Self {
        Self::with_clones(len, u32::MAX)
    }

    /// A clone after `most` of them panics.
    pub fn with_clones(len: usize, most_clones: u32) -> Self {
        let alive = (0..len).map(|_| AtomicU32::new(0)).collect();
        Self { alive, clones: AtomicU32::new(0), most_clones }
    }

    /// Whether there are `times` of each item. An item that is dropped twice makes that number
    /// huge.
    pub fn each_is_alive(&self, times: u32) -> bool {
        self.alive.iter().all(|count| count.load(Relaxed) == times)
    }

    /// Items in order, one of each.
    pub fn items(&self) -> Vec<Item<'_>> {
        (0..self.alive.len()).map(|id| Item::new(id, self)).collect()
    }
}

/// An item that is counted while it lives. It can be moved and cloned, and not copied.
#[derive(Debug)]
pub struct Item<'a> {
    pub id: usize,
    ledger: &'a Ledger,
}

impl<'a> Item<'a> {
    fn new(id: usize, ledger: &'a Ledger) -> Self {
        ledger.alive[id].fetch_add(1, Relaxed);
        Self { id, ledger }
    }
}

impl Clone for Item<'_> {
    fn clone(&self) -> Self {
        if self.ledger.clones.fetch_add(1, Relaxed) >= self.ledger.most_clones {
            resume_unwind(Box::new("one clone too many"));
        }
        Self::new(self.id, self.ledger)
    }
}

impl Drop for Item<'_> {
    fn drop(&mut self) {
        self.ledger.alive[self.id].fetch_sub(1, Relaxed);
    }
}

impl PartialEq for Item<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id
    }
}

/// Columns that are moved together, by the form in which they are given.
#[derive(Clone, Debug, PartialEq)]
pub enum Table<'a> {
    One(Vec<Item<'a>>),
    Known(Vec<Item<'a>>, Vec<()>, Vec<u8>),
    Rows(Vec<Item<'a>>, Vec<u16>),
    List([Vec<Item<'a>>; 5]),
    Eight([Vec<u8>; 8]),
    Nested(Vec<u64>, Vec<u32>, Vec<()>, Vec<u8>),
}

/// How wide the matrix of a [`Table::Rows`] is.
const WIDTH: usize = 5;

/// Which columns there are in a [`Table`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// One column of counted items.
    One,
    /// Three of known sizes, one of which has no size.
    Known,
    /// Counted items beside rows of a matrix.
    Rows,
    /// A list of counted items, longer together than a record.
    List,
    /// A tuple of eight columns.
    Eight,
    /// Tuples and arrays within tuples.
    Nested,
}

/// Every shape.
pub const SHAPES: &[Shape] =
    &[Shape::One, Shape::Known, Shape::Rows, Shape::List, Shape::Eight, Shape::Nested];

/// The shapes that have a column of counted items.
pub const COUNTED_SHAPES: &[Shape] = &[Shape::One, Shape::Known, Shape::Rows, Shape::List];

/// A call with columns of any type.
pub trait Call {
    fn call(&mut self, columns: impl Columns) -> Result<(), Error>;
}

impl<'a> Table<'a> {
    /// What belongs to the indexes of an order.
    pub fn new(shape: Shape, order: &[u64], ledger: &'a Ledger) -> Self {
        fn column<T>(order: &[u64], item: impl Fn(u64) -> T) -> Vec<T> {
            order.iter().map(|&index| item(index)).collect()
        }
        let items = || column(order, |x| Item::new(x as usize, ledger));
        let bytes = |shift: usize| column(order, |x| (mix(x) >> shift) as u8);
        let units = || vec![(); order.len()];
        match shape {
            Shape::One => Self::One(items()),
            Shape::Known => Self::Known(items(), units(), bytes(56)),
            Shape::Rows => {
                let row = |&index: &u64| (0..WIDTH as u64).map(move |k| mix(index + k) as u16);
                Self::Rows(items(), order.iter().flat_map(row).collect())
            }
            Shape::List => Self::List(core::array::from_fn(|_| items())),
            Shape::Eight => Self::Eight(core::array::from_fn(|k| bytes(4 * k))),
            Shape::Nested => {
                let halves = column(order, |x| (mix(x) >> 32) as u32);
                Self::Nested(column(order, mix), halves, units(), bytes(56))
            }
        }
    }

    /// Makes a call with the columns.
    pub fn call(&mut self, mut call: impl Call) -> Result<(), Error> {
        match self {
            Self::One(items) => call.call(items),
            Self::Known(items, units, bytes) => call.call((items, units, bytes)),
            Self::Rows(items, matrix) => call.call((items, Rows::new(matrix, WIDTH)?)),
            Self::List(columns) => call.call(columns.iter_mut().collect::<Vec<_>>()),
            Self::Eight([a, b, c, d, e, f, g, h]) => call.call((a, b, c, d, e, f, g, h)),
            Self::Nested(words, halves, units, bytes) => {
                call.call(((words, [halves]), (units, bytes)))
            }
        }
    }

    pub fn len(&self) -> usize {
        match self {
            Self::One(items) | Self::Known(items, ..) | Self::Rows(items, _) => items.len(),
            Self::List(columns) => columns[0].len(),
            Self::Eight(columns) => columns[0].len(),
            Self::Nested(words, ..) => words.len(),
        }
    }

    /// The order that its counted items are in.
    pub fn order(&self) -> Vec<u64> {
        match self {
            Self::One(items) | Self::Known(items, ..) | Self::Rows(items, _) => order_of(items),
            Self::List(columns) => order_of(&columns[0]),
            Self::Eight(..) | Self::Nested(..) => panic!("no items are counted"),
        }
    }
}

/// The order that items are in.
pub fn order_of(items: &[Item]) -> Vec<u64> {
    items.iter().map(|item| item.id as u64).collect()
}
