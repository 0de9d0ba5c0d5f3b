//! [`Movement`]: what a kernel moves and in which direction, with its device type and its argument.

use crate::Error;
use crate::compact::Direction;
use crate::cuda::runtime::kernel::{DeviceType, TemplateValue, device_struct};
use crate::cuda::runtime::plan::{Address, Ground};
use crate::cuda::runtime::word_type::WordType;
use crate::error::GpuError;

/// The most arrays that are moved at once: `MOST_ARRAYS` in gpu/shuffle/items.cuh.
pub(crate) const MOST_ARRAYS: usize = 12;

/// The size of the largest item, in bytes.
pub(crate) const LARGEST_ITEM: usize = 64 << 10;

/// An array: where its items are, where they go, and their size in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MovedArray {
    pub(crate) source: Address,
    pub(crate) out: Address,
    pub(crate) item: usize,
}

impl MovedArray {
    /// An array in the caller's memory.
    pub(crate) const fn given(source: u64, out: u64, item: usize) -> Self {
        Self { source: Address::Given(source), out: Address::Given(out), item }
    }

    /// The largest word that divides an item and to which both addresses are aligned.
    pub(crate) const fn unit(&self) -> WordType {
        let addresses = self.source.alignment_bits() | self.out.alignment_bits();
        WordType::dividing(addresses | self.item as u64 | 16)
    }
}

/// What is moved.
#[derive(Clone, Debug)]
pub(crate) enum Movement {
    /// `out[rank] = index`, in words of 4 or 8 bytes.
    Indices { out: Address, word: WordType },
    /// For each array: `out[rank] = source[index]` to shuffle, `out[index] = source[rank]` to
    /// unshuffle.
    Items { arrays: Vec<MovedArray>, direction: Direction },
}

impl Movement {
    /// A movement of items.
    ///
    /// # Errors
    ///
    /// [`GpuError::TooManyArrays`](crate::error::GpuError::TooManyArrays),
    /// [`GpuError::ItemTooLarge`](crate::error::GpuError::ItemTooLarge).
    pub(crate) fn items(arrays: Vec<MovedArray>, direction: Direction) -> Result<Self, Error> {
        if arrays.len() > MOST_ARRAYS {
            return Err(Error::Gpu(GpuError::TooManyArrays {
                arrays: arrays.len(),
                most: MOST_ARRAYS,
            }));
        }
        match arrays.iter().map(|array| array.item).max() {
            Some(bytes) if bytes > LARGEST_ITEM => {
                Err(Error::Gpu(GpuError::ItemTooLarge { bytes, most: LARGEST_ITEM }))
            }
            _ => Ok(Self::Items { arrays, direction }),
        }
    }

    /// The array and the word of its items, if there is exactly one array and its items are words.
    pub(crate) fn word(&self) -> Option<(MovedArray, WordType)> {
        match self {
            Self::Items { arrays, .. } => match arrays[..] {
                [array] if array.unit().bytes() == array.item => Some((array, array.unit())),
                _ => None,
            },
            Self::Indices { .. } => None,
        }
    }

    /// Whether the items have no bytes. They cannot be told apart, so they need not be moved.
    pub(crate) fn moves_nothing(&self) -> bool {
        match self {
            Self::Items { arrays, .. } => arrays.iter().all(|array| array.item == 0),
            Self::Indices { .. } => false,
        }
    }

    /// The direction. Indexes are written where a shuffle would write items.
    pub(crate) fn direction(&self) -> Direction {
        match self {
            Self::Items { direction, .. } => *direction,
            Self::Indices { .. } => Direction::Shuffle,
        }
    }
}

/// What a kernel that evaluates slots moves.
pub(crate) trait Moves {
    /// Whether it writes the permutation itself.
    fn writes_indexes(&self) -> bool;

    /// Its type in gpu/shuffle or gpu/group.
    fn device_type(&self) -> TemplateValue;

    /// Calls a visitor with the movement's argument.
    fn visit<V: Visit>(&self, visitor: V) -> V::Output;
}

impl Moves for Movement {
    fn writes_indexes(&self) -> bool {
        matches!(self, Self::Indices { .. })
    }

    fn device_type(&self) -> TemplateValue {
        match (self, self.word()) {
            (Self::Indices { word, .. }, _) => TemplateValue::Of("Indices", *word),
            (Self::Items { direction: Direction::Shuffle, .. }, Some((_, word))) => {
                TemplateValue::Of("Gather", word)
            }
            (Self::Items { direction: Direction::Unshuffle, .. }, Some((_, word))) => {
                TemplateValue::Of("Scatter", word)
            }
            (Self::Items { direction, .. }, None) => TemplateValue::Towards("Rows", *direction),
        }
    }

    fn visit<V: Visit>(&self, visitor: V) -> V::Output {
        match (self, self.word()) {
            (&Self::Indices { out, .. }, _) => {
                visitor.visit(move |at: &Ground| IndicesArgument { out: at.at(out) })
            }
            (Self::Items { .. }, Some((MovedArray { source, out, .. }, _))) => visitor
                .visit(move |at: &Ground| WordsArgument { source: at.at(source), out: at.at(out) }),
            (Self::Items { arrays, .. }, None) => {
                let arrays = arrays.clone();
                visitor.visit(move |at: &Ground| RowsArgument::new(&arrays, at))
            }
        }
    }
}

/// A function that is generic over the type of a movement's argument.
pub(crate) trait Visit {
    type Output;

    /// Takes a movement's argument, which is computed once the addresses are known.
    fn visit<M: DeviceType + 'static>(
        self,
        movement: impl Fn(&Ground) -> M + 'static,
    ) -> Self::Output;
}

device_struct! {
    /// `Indices` in gpu/shuffle/items.cuh.
    struct IndicesArgument {
        out: u64,
    }
}

device_struct! {
    /// `Gather` and `Scatter` in gpu/shuffle/items.cuh.
    struct WordsArgument {
        source: u64,
        out: u64,
    }
}

device_struct! {
    /// `MovedArray` in gpu/shuffle/items.cuh.
    #[derive(Default)]
    struct ArrayArgument {
        source: u64,
        out: u64,
        units: u32,
        unit_log: u32,
    }
}

device_struct! {
    /// `Rows` in gpu/shuffle/items.cuh.
    struct RowsArgument {
        arrays_used: u64,
        arrays: [ArrayArgument; MOST_ARRAYS],
    }
}

impl RowsArgument {
    fn new(arrays: &[MovedArray], at: &Ground) -> Self {
        let mut all = [ArrayArgument::default(); MOST_ARRAYS];
        for (argument, array) in all.iter_mut().zip(arrays) {
            let unit = array.unit().bytes();
            *argument = ArrayArgument {
                source: at.at(array.source),
                out: at.at(array.out),
                units: (array.item / unit) as u32,
                unit_log: unit.trailing_zeros(),
            };
        }
        Self { arrays_used: arrays.len() as u64, arrays: all }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_as_large_as_size_and_addresses_allow() {
        let unit = |source, out, item| MovedArray::given(source, out, item).unit().bytes();
        assert_eq!(unit(256, 512, 16), 16);
        assert_eq!(unit(256, 512, 64), 16);
        assert_eq!(unit(256, 512, 12), 4);
        assert_eq!(unit(256, 520, 16), 8);
        assert_eq!(unit(257, 512, 16), 1);
        assert_eq!(unit(256, 512, 7), 1);
    }

    #[test]
    fn movements_have_the_device_types_of_their_arrays() {
        let array = MovedArray::given(256, 512, 8);
        let words = Movement::items(vec![array], Direction::Shuffle).unwrap();
        assert_eq!(words.device_type(), TemplateValue::Of("Gather", WordType::U64));
        let rows = vec![array, MovedArray { item: 12, ..array }];
        let rows = Movement::items(rows, Direction::Unshuffle).unwrap();
        assert_eq!(rows.device_type(), TemplateValue::Towards("Rows", Direction::Unshuffle));
        assert!(matches!(
            Movement::items(vec![array; 13], Direction::Shuffle),
            Err(Error::Gpu(GpuError::TooManyArrays { arrays: 13, most: 12 }))
        ));
        let large = MovedArray { item: LARGEST_ITEM + 1, ..array };
        let large = Movement::items(vec![large], Direction::Shuffle);
        assert!(matches!(large, Err(Error::Gpu(GpuError::ItemTooLarge { .. }))));
    }

    #[test]
    fn rows_are_counted_in_units() {
        let ground = Ground::for_tests(1 << 20);
        let arrays = [
            MovedArray::given(256, 512, 8),
            MovedArray { source: Address::Scratch(256), ..MovedArray::given(0, 512, 12) },
        ];
        let RowsArgument { arrays_used, arrays } = RowsArgument::new(&arrays, &ground);
        assert_eq!((arrays_used, arrays[0].units, arrays[0].unit_log), (2, 1, 3));
        assert_eq!((arrays[1].units, arrays[1].unit_log), (3, 2));
        assert_eq!(arrays[1].source, (1 << 20) + 256);
    }
}
