//! [`NodeBlocks`]: which blocks of a data set each node reads, mostly those that it had.

use core::ops::Range;

use bijective_shuffle::{KeyDomain, Seed, Tail};
use bijective_shuffle_engine::check::try_reserve;
use bijective_shuffle_engine::check::try_with_capacity;

use crate::Error;
use crate::items::{self, StandardWalk};

/// The numbers of orders of a node and of all nodes, among what this package draws.
const OWN: u32 = 9;
const ALL: u32 = 10;

/// The blocks that each node reads in an epoch. Each block is read once, on one node, and a share
/// of each node's blocks is the same in all epochs, so a node that keeps them on its own disk reads
/// only the others again.
///
/// The *home* of a node is a run of a random order of the blocks, the same in all epochs. In each
/// epoch a node reads `kept` of its home, or a little more, chosen at random; all nodes exchange
/// the other blocks at random; and each node reads its blocks in a random order. With another
/// number of nodes, homes are other runs of the same order.
///
/// # Examples
///
/// ```
/// use bijective_shuffle_loaders::NodeBlocks;
///
/// let blocks = NodeBlocks::new(1000, 0.9, 42)?;
/// let (first, second) = (blocks.of_node(0, 3, 8)?, blocks.of_node(1, 3, 8)?);
/// let both = first.iter().filter(|&block| second.contains(block)).count();
/// assert!(first.len() == 125 && both >= 100);
/// # Ok::<(), bijective_shuffle_loaders::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct NodeBlocks {
    blocks: u64,
    kept: f64,
    seed: Seed,
}

/// A run that has read a part of an epoch, for [`NodeBlocks::after`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct NodeRun {
    /// The number of nodes that it had.
    pub nodes: u64,
    /// The number of blocks that each of them read. A node with fewer blocks read them all.
    pub read: u64,
}

/// How the blocks of an epoch are shared out among some nodes.
struct NodeShares {
    /// Where the home of each node begins, and the end of the last.
    homes: Vec<u64>,
    /// How many blocks are exchanged by the nodes before each, and by all.
    moved: Vec<u64>,
    home: StandardWalk,
    exchange: Option<StandardWalk>,
    own: Vec<StandardWalk>,
}

impl NodeBlocks {
    /// A plan for this number of blocks. Each node keeps the share `kept` of its blocks, from 0 to
    /// 1.
    ///
    /// # Errors
    ///
    /// [`Error::NodeCountOutOfRange`] if there is no block, and [`Error::KeptShareOutOfRange`].
    pub fn new(blocks: u64, kept: f64, seed: impl Into<Seed>) -> Result<Self, Error> {
        if blocks == 0 {
            return Err(Error::NodeCountOutOfRange { blocks, nodes: 1 });
        }
        if !(0.0..=1.0).contains(&kept) {
            return Err(Error::KeptShareOutOfRange);
        }
        Ok(Self { blocks, kept, seed: seed.into() })
    }

    /// The blocks that node `node` of `nodes` reads in an epoch, in order.
    ///
    /// # Errors
    ///
    /// [`Error::NodeCountOutOfRange`] unless there is a node, and a block for each;
    /// [`Error::Shuffle`] with [`NoSuchRank`](bijective_shuffle::Error::NoSuchRank) if the node is
    /// not below their number, and with [`OutOfMemory`](bijective_shuffle::Error::OutOfMemory) if
    /// there is no memory for the node's blocks and some numbers for each node.
    pub fn of_node(&self, epoch: u64, node: u64, nodes: u64) -> Result<Vec<u64>, Error> {
        self.after(epoch, &[], node, nodes)
    }

    /// The blocks that remain for a node, in order, after earlier runs have read some of an epoch.
    ///
    /// So the epoch goes on with any number of nodes, each block once: what the nodes of a run have
    /// not read is shared out evenly, and stays with the nodes that had it as far as possible.
    ///
    /// # Errors
    ///
    /// As [`of_node`](Self::of_node), for each number of nodes. After a run, all blocks that it has
    /// left take memory.
    ///
    /// # Examples
    ///
    /// ```
    /// use bijective_shuffle_loaders::{NodeBlocks, NodeRun};
    ///
    /// let blocks = NodeBlocks::new(100, 0.5, 42)?;
    /// let mut read = Vec::new();
    /// for node in 0..4 {
    ///     read.extend_from_slice(&blocks.of_node(7, node, 4)?[..10]);
    /// }
    /// for node in 0..3 {
    ///     read.extend(blocks.after(7, &[NodeRun { nodes: 4, read: 10 }], node, 3)?);
    /// }
    /// read.sort();
    /// assert!(read.into_iter().eq(0..100));
    /// # Ok::<(), bijective_shuffle_loaders::Error>(())
    /// ```
    pub fn after(
        &self,
        epoch: u64,
        runs: &[NodeRun],
        node: u64,
        nodes: u64,
    ) -> Result<Vec<u64>, Error> {
        for nodes in runs.iter().map(|run| run.nodes).chain([nodes]) {
            if nodes == 0 || nodes > self.blocks {
                return Err(Error::NodeCountOutOfRange { blocks: self.blocks, nodes });
            }
        }
        if node >= nodes {
            return Err(bijective_shuffle::Error::NoSuchRank { rank: node, ranks: nodes }.into());
        }
        let Some((&NodeRun { nodes: first, read }, later)) = runs.split_first() else {
            let shares = self.shares(epoch, nodes)?;
            let mut blocks = Vec::new();
            shares.append(node as usize, 0, &self.reading(epoch, node, &shares), &mut blocks)?;
            return Ok(blocks);
        };
        let shares = self.shares(epoch, first)?;
        let mut left = Vec::new();
        for node in 0..first {
            let order = self.reading(epoch, node, &shares);
            shares.append(node as usize, read, &order, &mut left)?;
        }
        for &NodeRun { nodes, read } in later {
            // What is left moves down, over what has been read.
            let (mut end, all) = (0, left.len());
            for node in 0..nodes {
                let part = even_part(all, node, nodes);
                let read = usize::try_from(read).unwrap_or(usize::MAX).min(part.len());
                let behind = part.start + read..part.end;
                left.copy_within(behind.clone(), end);
                end += behind.len();
            }
            left.truncate(end);
        }
        let part = even_part(left.len(), node, nodes);
        let mut blocks = try_with_capacity(part.len())?;
        blocks.extend_from_slice(&left[part]);
        Ok(blocks)
    }

    /// The number of steps of an epoch, in each of which every node reads one block: the most
    /// blocks of any node, or with [`Tail::Drop`] the fewest. With [`Tail::Pad`] and [`Tail::Fill`]
    /// a node that has one block fewer reads its first one again, and with [`Tail::Short`] it does
    /// without.
    pub fn steps(&self, nodes: u64, tail: Tail) -> u64 {
        match tail {
            Tail::Drop => self.blocks / nodes.max(1),
            _ => self.blocks.div_ceil(nodes.max(1)),
        }
    }

    fn shares(&self, epoch: u64, nodes: u64) -> Result<NodeShares, Error> {
        let seed = self.seed.with_epoch(epoch);
        let start =
            |node: u64| (u128::from(self.blocks) * u128::from(node) / u128::from(nodes)) as u64;
        let count = usize::try_from(nodes).unwrap_or(usize::MAX);
        let mut homes: Vec<u64> = try_with_capacity(count.saturating_add(1))?;
        homes.extend((0..=nodes).map(start));
        let mut moved = try_with_capacity(homes.len())?;
        moved.push(0);
        for (node, bounds) in homes.windows(2).enumerate() {
            let len = bounds[1] - bounds[0];
            // What is kept is rounded up.
            let kept = ((len as f64 * self.kept).ceil() as u64).min(len);
            moved.push(moved[node] + len - kept);
        }
        let all = moved[count];
        let child = seed.child(KeyDomain::Loader(OWN));
        let mut own = try_with_capacity(count)?;
        let orders = homes.windows(2).zip(0..);
        own.extend(orders.map(|(bounds, node)| {
            items::order(bounds[1] - bounds[0], child.with_epoch(node), OWN)
        }));
        Ok(NodeShares {
            own,
            home: items::order(self.blocks, self.seed.with_epoch(0), OWN),
            exchange: (all > 0).then(|| items::order(all, seed, ALL)),
            homes,
            moved,
        })
    }

    /// The order in which a node reads.
    fn reading(&self, epoch: u64, node: u64, shares: &NodeShares) -> StandardWalk {
        let child = self.seed.with_epoch(epoch).child(KeyDomain::Loader(ALL));
        let len = shares.homes[node as usize + 1] - shares.homes[node as usize];
        items::order(len, child.with_epoch(node), ALL)
    }
}

impl NodeShares {
    /// Appends the blocks of a node, which reads them in some order, without the first `read`.
    fn append(
        &self,
        node: usize,
        read: u64,
        reading: &StandardWalk,
        to: &mut Vec<u64>,
    ) -> Result<(), Error> {
        let len = self.homes[node + 1] - self.homes[node];
        let moved = self.moved[node + 1] - self.moved[node];
        let block = |place| match &self.exchange {
            Some(exchange) if place < moved => {
                let from = exchange.forward(self.moved[node] + place);
                let other = self.moved.partition_point(|&before| before <= from) - 1;
                self.block(other, from - self.moved[other])
            }
            _ => self.block(node, place),
        };
        let rest = read.min(len)..len;
        try_reserve(to, usize::try_from(rest.end - rest.start).unwrap_or(usize::MAX))?;
        to.extend(rest.map(|k| block(reading.forward(k))));
        Ok(())
    }

    /// A block of a node's home. The first ones of a home are exchanged.
    fn block(&self, node: usize, place: u64) -> u64 {
        self.home.forward(self.homes[node] + self.own[node].forward(place))
    }
}

/// A part of an even division of this many items.
fn even_part(items: usize, part: u64, parts: u64) -> Range<usize> {
    let bound = |part: u64| (items as u128 * u128::from(part) / u128::from(parts)) as usize;
    bound(part)..bound(part + 1)
}
