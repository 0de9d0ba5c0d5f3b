//! [`Design`]: what may be exchanged.
//!
//! ```text
//! (mod)        the type
//! node         its form: a tree that is checked as it is built
//! labels       trees from labels of rows
//! count        how many arrangements a tree has
//! draw         arrangement k of a seed
//! unrank       the arrangement of a rank
//! arrangement  an order and signs
//! distinct     iterators over arrangements
//! show         a tree as text
//! ```

mod arrangement;
mod count;
mod distinct;
mod draw;
mod labels;
mod node;
mod show;
#[cfg(test)]
mod tests;
mod unrank;

use core::fmt;
use std::hash::Hash;

use bijective_shuffle::{Seed, Word};
use num_bigint::BigUint;

pub use self::arrangement::Arrangement;
pub use self::distinct::{All, Distinct};
use self::draw::{Drawn, check_rows};
use self::node::{Form, Node};
use crate::Error;

/// Which rows of a data set may be exchanged under the null hypothesis: a set of arrangements, each
/// an order of the rows, with signs where they may be flipped.
///
/// Leaves exchange rows, and are combined to any depth up to 100. With `n` rows:
///
/// | | arrangements | how many |
/// | --- | --- | --- |
/// | [`free`](Self::free) | all orders | `n!` |
/// | [`fixed`](Self::fixed) | every row in its place | 1 |
/// | [`series`](Self::series) | cyclic shifts; those of the reversed rows too | `n`; `2 n` for `n > 2` |
/// | [`grid`](Self::grid) | shifts in two directions | the product of those |
/// | [`derangements`](Self::derangements) | orders that leave no row in its place | `n! / e`, rounded |
/// | [`groups`](Self::groups) | which rows fall to which group | `n!` over the sizes' factorials |
/// | [`pairs`](Self::pairs) | either row of a pair first | `2^(n / 2)` |
/// | [`signs`](Self::signs) | each row with its sign or the other | `2^n` |
/// | [`blocks`](Self::blocks), [`within`](Self::within) | each block by itself | the product |
/// | [`plots`](Self::plots), [`plots_of`](Self::plots_of) | plots of equal size as wholes, and the rows inside each | `b w^p` for `p` plots; `b w` if all are alike |
/// | [`exchange`](Self::exchange), [`tree`](Self::tree) | blocks of one structure as wholes, and the rows inside each | the product, and `c!` for `c` equal blocks |
/// | [`with_signs`](Self::with_signs), [`with_one_sign`](Self::with_one_sign) | signs of rows, or of the whole | `2^n` times as many, twice as many |
///
/// A design is a plain value: it is compared, hashed and printed. It is kept in its simplest form,
/// which `Display` shows: a block of one row is `fixed(1)`, plots of one row are the design between
/// them, and equal blocks that are exchanged are plots.
///
/// # Arrangements of a seed
///
/// [`get`](Self::get) draws arrangement `k` of a seed, a function of the design, the seed and `k`.
/// It takes the time of one row, and nothing is kept between rows. The parts of a design have
/// independent random streams. Every arrangement is equally likely, as far as the words of Philox
/// are uniform:
///
/// * exactly, for shifts, pairs, signs, and for permutations, derangements and groups of up to 256
///   rows, or of up to 256 plots;
/// * within the bounds of the default family for longer ones, which docs/proof.md of the repository
///   computes: the places of any two items are within 2^-22 of uniform in total variation, and
///   within 2^-50 from 2^23 items on. A seed of 64 bits has no more than 2^64 different rows in any
///   case.
///
/// For `free(n)`, arrangement `k` is row `k` of
/// [`Permutations`](bijective_shuffle::Permutations), on GPUs too.
///
/// # Validity
///
/// A permutation test is exact if the arrangements are a group, or assignments to groups, each
/// once. All designs are of that kind except those with derangements, which lack the identity: for
/// them a p-value is only approximate.
///
/// # Sources
///
/// The designs of rows, series, grids, plots and blocks are those of Besag and Clifford,
/// *Generalized Monte Carlo significance tests*, Biometrika 76, 1989, as R's package `permute` has
/// them. Trees are the exchangeability blocks of Winkler, Ridgway, Webster, Smith, Nichols,
/// *Permutation inference for the general linear model*, NeuroImage 92, 2014, and Winkler, Webster,
/// Vidaurre, Nichols, Smith, *Multi-level block permutation*, NeuroImage 123, 2015.
///
/// # Examples
///
/// ```
/// use bijective_shuffle_resample::Design;
///
/// // Three plots of four quadrats along a line: plots are exchanged, and shifted inside.
/// let design = Design::plots(Design::free(3)?, Design::series(4, false)?)?;
/// assert_eq!(design.to_string(), "plots(free(3), within series(4))");
/// assert_eq!(design.count(), 384_u32.into()); // 3! * 4^3
///
/// // Arrangement 1000 of seed 42, without those before it.
/// let arrangement = design.get(1000, 42)?;
/// assert_eq!(arrangement.order().len(), 12);
///
/// let mut all = design.all()?;
/// assert!(all.next().unwrap().is_identity());
/// assert_eq!(all.count(), 383);
/// # Ok::<(), bijective_shuffle_resample::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Design {
    node: Node,
}

impl From<Node> for Design {
    fn from(node: Node) -> Self {
        Self { node }
    }
}

impl fmt::Display for Design {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.node.fmt(f)
    }
}

impl fmt::Debug for Design {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Design({self})")
    }
}

/// # Constructors
///
/// All of them return [`Error::NoRows`] for a part without rows, [`Error::TooManyRows`] for 2^62 or
/// more, [`Error::TooManyParts`] for more than 2^26 random streams, [`Error::TooDeep`], and
/// [`Error::Shuffle`] if there is too little memory.
impl Design {
    /// All orders of `len` rows.
    ///
    /// # Errors
    ///
    /// Those of all [constructors](#constructors).
    pub fn free(len: u64) -> Result<Self, Error> {
        Ok(Node::leaf_of(Form::Free, len)?.into())
    }

    /// Every row in its place.
    ///
    /// # Errors
    ///
    /// Those of all [constructors](#constructors).
    pub fn fixed(len: u64) -> Result<Self, Error> {
        Ok(Node::fixed(len)?.into())
    }

    /// Orders that leave no row in its place. The identity is not among them.
    ///
    /// # Errors
    ///
    /// [`Error::NoDerangement`] for one row, and those of all [constructors](#constructors).
    pub fn derangements(len: u64) -> Result<Self, Error> {
        if len == 1 {
            return Err(Error::NoDerangement);
        }
        Ok(Node::leaf(Form::Derangement, len)?.into())
    }

    /// Which rows fall to which of several groups of given sizes: the first rows of an arrangement
    /// are those of group 0, in their order, then come those of group 1, and so on.
    ///
    /// # Errors
    ///
    /// [`Error::NoRows`] also for a group without rows; those of all [constructors](#constructors).
    ///
    /// # Examples
    ///
    /// ```
    /// use bijective_shuffle_resample::Design;
    ///
    /// let orders: Vec<_> = Design::groups(&[1, 2])?.all()?.map(|a| a.order().to_vec()).collect();
    /// assert_eq!(orders, [[0, 1, 2], [1, 0, 2], [2, 0, 1]]);
    /// # Ok::<(), bijective_shuffle_resample::Error>(())
    /// ```
    pub fn groups(sizes: &[u64]) -> Result<Self, Error> {
        if sizes.contains(&0) {
            return Err(Error::NoRows);
        }
        let len = sizes.iter().try_fold(0_u64, |sum, &size| sum.checked_add(size));
        let len = len.ok_or(Error::TooManyRows)?;
        if sizes.len() == 1 {
            return Self::fixed(len);
        }
        let mut own = bijective_shuffle_engine::check::try_with_capacity(sizes.len())?;
        own.extend_from_slice(sizes);
        Ok(Node::leaf(Form::Groups(own.into_boxed_slice()), len)?.into())
    }

    /// Cyclic shifts of `len` rows, each of which has two neighbours, and with the mirror those of
    /// the reversed rows too.
    ///
    /// # Errors
    ///
    /// Those of all [constructors](#constructors).
    pub fn series(len: u64, mirror: bool) -> Result<Self, Error> {
        Ok(Node::leaf_of(Form::Series { mirror: mirror && len > 2 }, len)?.into())
    }

    /// Cyclic shifts in two directions of a grid of cells, and with the mirror each direction
    /// reversed or not. Row `i` of the data is the cell in row `i / columns` and column
    /// `i % columns`.
    ///
    /// # Errors
    ///
    /// [`Error::TooManyRows`] also for 2^60 cells or more; those of all
    /// [constructors](#constructors).
    pub fn grid(rows: u64, columns: u64, mirror: bool) -> Result<Self, Error> {
        let len = rows.checked_mul(columns).filter(|&len| len < 1 << 60);
        let len = len.ok_or(Error::TooManyRows)?;
        if rows == 1 || columns == 1 {
            return Self::series(len, mirror);
        }
        let mirror = mirror && (rows > 2 || columns > 2);
        Ok(Node::leaf_of(Form::Grid { rows, columns, mirror }, len)?.into())
    }

    /// `pairs` pairs of rows, `j` and `pairs + j`, each of which may be exchanged: two samples of
    /// matched observations, one after the other.
    ///
    /// # Errors
    ///
    /// Those of all [constructors](#constructors).
    pub fn pairs(pairs: u64) -> Result<Self, Error> {
        let len = pairs.checked_mul(2).ok_or(Error::TooManyRows)?;
        Ok(Node::leaf(Form::Pairs, len)?.into())
    }

    /// Every row in its place, with its sign or the other one.
    ///
    /// # Errors
    ///
    /// Those of all [constructors](#constructors).
    pub fn signs(len: u64) -> Result<Self, Error> {
        Self::fixed(len)?.with_signs()
    }

    /// The same orders, with each row's sign flipped or not.
    ///
    /// # Errors
    ///
    /// [`Error::SignsTwice`] if the design flips signs; those of all [constructors](#constructors).
    pub fn with_signs(self) -> Result<Self, Error> {
        Ok(self.node.flipped(true)?.into())
    }

    /// The same orders, with the signs of all rows flipped together or not. This is for blocks
    /// whose rows are not independent of each other.
    ///
    /// # Errors
    ///
    /// As [`with_signs`](Self::with_signs).
    pub fn with_one_sign(self) -> Result<Self, Error> {
        Ok(self.node.flipped(false)?.into())
    }

    /// Blocks of rows, one after another, each with a design of its own.
    ///
    /// # Errors
    ///
    /// Those of all [constructors](#constructors).
    ///
    /// # Examples
    ///
    /// ```
    /// use bijective_shuffle_resample::Design;
    ///
    /// let design = Design::blocks([Design::free(3)?, Design::series(5, true)?])?;
    /// assert_eq!(design.count(), 60_u32.into());
    /// # Ok::<(), bijective_shuffle_resample::Error>(())
    /// ```
    pub fn blocks(blocks: impl IntoIterator<Item = Self>) -> Result<Self, Error> {
        Ok(Node::blocks(nodes(blocks)?)?.into())
    }

    /// Blocks of rows, one after another, each with a design of its own. Blocks whose designs are
    /// equal may be exchanged as wholes.
    ///
    /// # Errors
    ///
    /// Those of all [constructors](#constructors).
    ///
    /// # Examples
    ///
    /// ```
    /// use bijective_shuffle_resample::Design;
    ///
    /// let (twins, triplets) = (Design::free(2)?, Design::free(3)?);
    /// let families = [twins.clone(), triplets, twins];
    /// assert_eq!(Design::exchange(families)?.count(), 48_u32.into()); // 2! 3! 2! * 2!
    /// # Ok::<(), bijective_shuffle_resample::Error>(())
    /// ```
    pub fn exchange(blocks: impl IntoIterator<Item = Self>) -> Result<Self, Error> {
        Ok(Node::exchange(nodes(blocks)?)?.into())
    }

    /// Plots of equal size, one after another: `between` exchanges whole plots, as many as it has
    /// rows, and `within` the rows inside each of them.
    ///
    /// # Errors
    ///
    /// [`Error::SignsBetween`] if `between` flips signs; those of all
    /// [constructors](#constructors).
    ///
    /// # Examples
    ///
    /// Six schools of thirty pupils, three of which were treated:
    ///
    /// ```
    /// use bijective_shuffle_resample::Design;
    ///
    /// let design = Design::plots(Design::groups(&[3, 3])?, Design::fixed(30)?)?;
    /// assert_eq!(design.count(), 20_u32.into());
    /// # Ok::<(), bijective_shuffle_resample::Error>(())
    /// ```
    pub fn plots(between: Self, within: Self) -> Result<Self, Error> {
        Ok(Node::plots(between.node, within.node, false)?.into())
    }

    /// As [`plots`](Self::plots), with the rows of all plots in the same arrangement.
    ///
    /// # Errors
    ///
    /// As [`plots`](Self::plots).
    pub fn plots_alike(between: Self, within: Self) -> Result<Self, Error> {
        Ok(Node::plots(between.node, within.node, true)?.into())
    }

    /// The plots of rows with equal labels, wherever these rows are. Plots are in the order in
    /// which their labels first occur; the design is otherwise as [`plots`](Self::plots).
    ///
    /// # Errors
    ///
    /// [`Error::PlotSize`] if a plot has not as many rows as `within`, [`Error::PlotCount`] if
    /// there are not as many plots as rows of `between`, and as [`plots`](Self::plots).
    pub fn plots_of<L: Eq + Hash>(
        labels: &[L],
        between: Self,
        within: Self,
    ) -> Result<Self, Error> {
        Ok(labels::plots(labels, between.node, within.node, false)?.into())
    }

    /// All orders that exchange only rows with equal labels.
    ///
    /// # Errors
    ///
    /// Those of all [constructors](#constructors).
    ///
    /// # Examples
    ///
    /// ```
    /// use bijective_shuffle_resample::Design;
    ///
    /// let design = Design::within(&["a", "b", "a", "b", "a"])?;
    /// assert_eq!(design.to_string(), "blocks(free(3), free(2)) on rows [0, 2, 4, 1, 3]");
    /// # Ok::<(), bijective_shuffle_resample::Error>(())
    /// ```
    pub fn within<L: Eq + Hash>(labels: &[L]) -> Result<Self, Error> {
        Ok(labels::within(labels)?.into())
    }

    /// A tree of blocks in the notation of PALM: for each row its labels, from the outermost block
    /// inwards. A block's label is above 0 if the blocks of the next level in it may be exchanged
    /// as wholes where their structures are equal, and below 0 if they stay. The parts of a block
    /// of the last level are its rows, and the outermost blocks stay.
    ///
    /// # Errors
    ///
    /// [`Error::TreeLevels`] if rows have different numbers of labels, [`Error::TreeLabel`] for a
    /// label that is 0 or has both signs in one block, and those of all
    /// [constructors](#constructors).
    ///
    /// # Examples
    ///
    /// ```
    /// use bijective_shuffle_resample::Design;
    ///
    /// // Two families of two that may change places, and one of three, all free inside.
    /// let rows = [[1, 1], [1, 1], [1, 2], [1, 2], [1, 3], [1, 3], [1, 3]];
    /// let design = Design::tree(&rows)?;
    /// assert_eq!(design.to_string(), "exchange(2 x free(2), free(3))");
    ///
    /// let within = Design::tree(&[[-1, 1], [-1, 1], [-1, 2], [-1, 2]])?;
    /// assert_eq!(within, Design::within(&["a", "a", "b", "b"])?);
    /// # Ok::<(), bijective_shuffle_resample::Error>(())
    /// ```
    pub fn tree(labels: &[impl AsRef<[i64]>]) -> Result<Self, Error> {
        Ok(labels::tree(labels)?.into())
    }

    /// The same design on other rows: what it does to row `j` is done to row `rows[j]`.
    ///
    /// # Errors
    ///
    /// [`Error::NotRows`] unless the list has each row of the design once; those of all
    /// [constructors](#constructors).
    pub fn on_rows(self, rows: &[u64]) -> Result<Self, Error> {
        Ok(self.node.on_rows(rows)?.into())
    }
}

/// The forms of some designs.
fn nodes(designs: impl IntoIterator<Item = Design>) -> Result<Vec<Node>, Error> {
    let mut nodes = Vec::new();
    for design in designs {
        bijective_shuffle_engine::check::try_reserve(&mut nodes, 1)?;
        nodes.push(design.node);
    }
    Ok(nodes)
}

impl Design {
    /// The number of rows, at least 1.
    #[expect(clippy::len_without_is_empty, reason = "no design is empty")]
    pub fn len(&self) -> u64 {
        self.node.len.get()
    }

    /// Whether arrangements have signs.
    pub fn is_signed(&self) -> bool {
        self.node.is_signed
    }

    /// Whether the identity is among the arrangements: not if there are derangements.
    pub fn has_identity(&self) -> bool {
        self.node.has_identity
    }

    /// The number of arrangements.
    ///
    /// It is a long number for many rows: that of a million free rows has 5.6 million digits and
    /// takes seconds. [`ln_count`](Self::ln_count) is quick.
    pub fn count(&self) -> BigUint {
        count::wide(&self.node)
    }

    /// The number of arrangements, or `None` if 64 bits do not hold it.
    pub fn count_u64(&self) -> Option<u64> {
        count::narrow(&self.node)
    }

    /// The natural logarithm of the number of arrangements, to a few units in the last place of its
    /// largest term.
    pub fn ln_count(&self) -> f64 {
        count::logarithm(&self.node)
    }

    /// Arrangement `k` of a seed. The seed's own epoch is not used.
    ///
    /// # Errors
    ///
    /// [`Error::BeyondLast`] for `k` of 2^64 - 1, and [`Error::Shuffle`] if there is too little
    /// memory.
    ///
    /// # Examples
    ///
    /// ```
    /// use bijective_shuffle::prelude::*;
    /// use bijective_shuffle_resample::Design;
    ///
    /// let arrangement = Design::free(100)?.get(7, 42)?;
    /// assert_eq!(arrangement.order(), Permutations::new(8, 100, 42).row(7).unwrap().to_vec());
    /// # Ok::<(), bijective_shuffle_resample::Error>(())
    /// ```
    pub fn get(&self, k: u64, seed: impl Into<Seed>) -> Result<Arrangement, Error> {
        draw::arrangement(&self.node, k, seed.into())
    }

    /// Writes the arrangements of a seed from number `first` on, as many as the slice of orders
    /// holds: row after row, in 32-bit or 64-bit words. `signs` is a slice of the same length if
    /// the design is signed, and empty otherwise.
    ///
    /// # Errors
    ///
    /// [`Error::SliceLength`] if `orders` does not consist of whole rows or `signs` has another
    /// length, [`Error::BeyondLast`] if the last row is beyond 2^64 - 2, and [`Error::Shuffle`] if
    /// the word is too narrow for the rows or there is too little memory. The slices then hold
    /// unspecified values.
    ///
    /// # Examples
    ///
    /// ```
    /// use bijective_shuffle_resample::Design;
    ///
    /// let design = Design::free(5)?.with_signs()?;
    /// let (mut orders, mut signs) = ([0_u32; 2 * 5], [0; 2 * 5]);
    /// design.write_rows(1000, 42, &mut orders, &mut signs)?;
    /// let second = design.get(1001, 42)?;
    /// assert_eq!(second.signs(), Some(&signs[5..]));
    /// # Ok::<(), bijective_shuffle_resample::Error>(())
    /// ```
    pub fn write_rows<N: Word>(
        &self,
        first: u64,
        seed: impl Into<Seed>,
        orders: &mut [N],
        signs: &mut [i8],
    ) -> Result<(), Error> {
        self.draw_rows(first, seed.into(), orders, signs, true)
    }

    /// As [`write_rows`](Self::write_rows); the rows of each group may be left as they are drawn.
    pub(crate) fn draw_rows<N: Word>(
        &self,
        first: u64,
        seed: Seed,
        orders: &mut [N],
        signs: &mut [i8],
        sorts_groups: bool,
    ) -> Result<(), Error> {
        let len = check_rows::<N>(self.len())?;
        let rows = orders.len() / len;
        if !orders.len().is_multiple_of(len) {
            let expected = (rows as u64 + 1).saturating_mul(self.len());
            return Err(Error::SliceLength { expected, actual: orders.len() as u64 });
        }
        let expected = if self.is_signed() { orders.len() } else { 0 };
        if signs.len() != expected {
            let (expected, actual) = (expected as u64, signs.len() as u64);
            return Err(Error::SliceLength { expected, actual });
        }
        let drawn = Drawn::new(seed, first, rows)?;
        let drawn = if sorts_groups { drawn } else { drawn.without_sorting() };
        drawn.all(&self.node, orders, signs)
    }

    /// Whether the design is one of groups, some of which end at each of these places.
    pub(crate) fn splits_at(&self, places: &[u64]) -> bool {
        let Form::Groups(sizes) = &self.node.form else { return false };
        let mut end = 0;
        let mut ends = sizes.iter().map(|size| {
            end += size;
            end
        });
        // Both are in order.
        places.iter().all(|place| ends.any(|end| end == *place))
    }

    /// The arrangement of a rank. All arrangements have ranks from 0 on, and that of rank 0 is the
    /// identity, if the design has it.
    ///
    /// # Errors
    ///
    /// [`Error::TooManyArrangements`] if there are 2^64 or more, [`Error::NoSuchRank`], and
    /// [`Error::Shuffle`] if there is too little memory.
    pub fn at_rank(&self, rank: u64) -> Result<Arrangement, Error> {
        unrank::arrangement(&self.node, rank)
    }

    /// All arrangements, each once, in the order of their ranks: the identity first.
    ///
    /// # Errors
    ///
    /// [`Error::TooManyArrangements`] if there are 2^64 or more.
    pub fn all(&self) -> Result<All<'_>, Error> {
        All::new(&self.node)
    }

    /// `count` arrangements of a seed in random order, different from each other and from the
    /// identity.
    ///
    /// If there are fewer than 2^64 arrangements, each set of `count` is drawn through a
    /// permutation of their ranks, in constant memory. Otherwise these are the seed's arrangements
    /// from number 0 on ([`get`](Self::get)), without those that were there before and the
    /// identity; 24 bytes for each are kept meanwhile, or more.
    ///
    /// # Errors
    ///
    /// [`Error::TooFewArrangements`].
    ///
    /// # Examples
    ///
    /// ```
    /// use bijective_shuffle_resample::Design;
    ///
    /// let design = Design::series(6, false)?;
    /// let mut shifts: Vec<_> = design.distinct(5, 42)?.map(|a| a.order()[0]).collect();
    /// shifts.sort();
    /// assert_eq!(shifts, [1, 2, 3, 4, 5]);
    /// # Ok::<(), bijective_shuffle_resample::Error>(())
    /// ```
    pub fn distinct(&self, count: u64, seed: impl Into<Seed>) -> Result<Distinct<'_>, Error> {
        Distinct::new(&self.node, count, seed.into())
    }
}
