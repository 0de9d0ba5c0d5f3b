//! The kernels' texts: each instantiates one function of gpu/ for a bijection `F` and the types it is used with.

use super::tuning::{self, FillShape, RowShape, Shape};

/// The device type of slots and indexes.
pub(super) fn index_type(last: u64) -> &'static str {
    if u32::try_from(last).is_ok() { "uint32_t" } else { "uint64_t" }
}

/// A kernel with the name that every kernel has.
fn entry(threads: u32, blocks: u32, parameters: &str, body: &str) -> String {
    format!(
        "extern \"C\" __global__ void __launch_bounds__({threads}, {blocks}) entry({parameters}) {{ {body} }}"
    )
}

/// `(f, len, move)`: every slot survives.
pub(super) fn dense(index: &str, shape: Shape, movement: &str) -> String {
    let parameters = format!(
        "const __grid_constant__ F f, uint64_t len, const __grid_constant__ {movement} move"
    );
    let Shape { threads, slots, blocks } = shape;
    let body = format!("move_dense<{index}, {threads}, {slots}>(f, len, move);");
    entry(threads, blocks, &parameters, &body)
}

/// How a tile gets its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Places {
    /// `Chain*`: by look-back.
    Chained,
    /// `const uint64_t*`: each tile's, from an earlier kernel.
    Given,
}

/// `(f, last, len, places, move, only_if)`: the survivors. If the last pointer is not null, nothing is done unless the
/// word there is other than 0.
pub(super) fn survivors(index: &str, shape: Shape, places: Places, movement: &str) -> String {
    let (pointer, value) = match places {
        Places::Chained => ("Chain*", "Chained{places, {}}"),
        Places::Given => ("const uint64_t*", "Given{places, 0}"),
    };
    let parameters = format!(
        "const __grid_constant__ F f, uint64_t last, uint64_t len, {pointer} places, \
         const __grid_constant__ {movement} move, const uint32_t* only_if"
    );
    let Shape { threads, slots, blocks } = shape;
    let body = format!(
        "if (only_if != nullptr && *only_if == 0) return; \
         move_survivors<{index}, {threads}, {slots}>(f, last, len, {value}, move);"
    );
    entry(threads, blocks, &parameters, &body)
}

/// `(f, last, len, counts)`: how many survive in each tile.
pub(super) fn count(index: &str, Shape { threads, slots, .. }: Shape) -> String {
    let body = format!("count_survivors<{index}, {threads}, {slots}>(f, last, len, counts);");
    let parameters = "const __grid_constant__ F f, uint64_t last, uint64_t len, uint32_t* counts";
    entry(threads, 1, parameters, &body)
}

/// `(counts, len, bases)`: the sums before each count, by one block.
pub(super) fn scan() -> String {
    let parameters = "const uint32_t* counts, uint32_t len, uint64_t* bases";
    entry(1024, 1, parameters, "scan_counts<1024>(counts, len, bases);")
}

/// `(chain, capacity)`: makes a chain of new memory.
pub(super) fn new_chain() -> String {
    entry(tuning::THREADS, 1, "Chain* chain, uint32_t capacity", "new_chain(chain, capacity);")
}

/// `(words, len)`: sets 32-bit words to zero.
pub(super) fn clear() -> String {
    entry(tuning::THREADS, 1, "uint32_t* words, uint64_t len", "clear_words(words, len);")
}

/// `(indexes, len, chain, seen, repeats)`: the check.
pub(super) fn find_repeats(word: &str) -> String {
    let parameters = format!(
        "const {word}* indexes, uint64_t len, const Chain* chain, uint32_t* seen, uint32_t* repeats"
    );
    entry(tuning::THREADS, 1, &parameters, "find_repeats(indexes, len, chain, seen, repeats);")
}

/// The sizes of a pass of the partitioned strategy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pass {
    pub(super) records: u32,
    pub(super) bits: u32,
    /// The device type of the keys that it writes.
    pub(super) key: &'static str,
}

impl Pass {
    fn template(self) -> String {
        format!("{}, {}, {}", tuning::PASS_THREADS, self.records, self.bits)
    }

    fn entry(parameters: &str, body: &str) -> String {
        entry(tuning::PASS_THREADS, 2, parameters, body)
    }
}

/// `(f, source, len, shift, to)`: the first pass, by the slots of the source's items, or on the way `back` by the
/// indexes of the slots.
pub(super) fn distribute_source(pass: Pass, word: &str, back: bool) -> String {
    let parameters = format!(
        "const __grid_constant__ F f, const {word}* source, uint64_t len, int shift, \
         const __grid_constant__ Buckets<{word}, {}> to",
        pass.key
    );
    let template = pass.template();
    let body = format!("distribute_source<{template}, {back}>(f, source, len, shift, to);");
    Pass::entry(&parameters, &body)
}

/// `(f, last, len, chain, source, shift, to)`: the first pass on the way back, by the indexes of the survivors.
pub(super) fn distribute_survivors(pass: Pass, word: &str) -> String {
    let parameters = format!(
        "const __grid_constant__ F f, uint64_t last, uint64_t len, Chain* chain, const {word}* source, \
         int shift, const __grid_constant__ Buckets<{word}, {}> to",
        pass.key
    );
    let template = pass.template();
    let body = format!("distribute_survivors<{template}>(f, last, len, chain, source, shift, to);");
    Pass::entry(&parameters, &body)
}

/// `(from, shift, to)`: the second pass.
pub(super) fn distribute_bucket(pass: Pass, word: &str) -> String {
    let parameters = format!(
        "const __grid_constant__ Buckets<{word}, uint32_t> from, int shift, \
         const __grid_constant__ Buckets<{word}, {}> to",
        pass.key
    );
    let body = format!("distribute_bucket<{}>(from, shift, to);", pass.template());
    Pass::entry(&parameters, &body)
}

/// `(from, bases, out)`: the buckets' items to their places.
pub(super) fn place(word: &str, bucket_bits: u32, dense: bool) -> String {
    let parameters = format!(
        "const __grid_constant__ Buckets<{word}, uint16_t> from, const uint64_t* bases, {word}* out"
    );
    let tuning::Place { threads, blocks, together } = tuning::place(dense);
    let body =
        format!("place_bucket<{threads}, {together}, {bucket_bits}, {dense}>(from, bases, out);");
    entry(threads, blocks, &parameters, &body)
}

/// `(keys, shares, first, rows, out)`: rows of a batch that are drawn exactly.
pub(super) fn exact_rows(word: &str) -> String {
    let parameters = format!(
        "const __grid_constant__ Keys keys, const __grid_constant__ Shares shares, uint64_t first, \
         uint64_t rows, {word}* out"
    );
    let threads = tuning::EXACT_ROWS;
    let body = format!("write_exact_rows<{threads}>(keys, shares, first, rows, out);");
    entry(threads, 1, &parameters, &body)
}

/// `(keys, last, most, first, rows, out)`: rows of a batch that chains like the bijection compact to, or, if they are `dense`, are.
pub(super) fn chain_rows(index: &str, shape: RowShape, dense: bool, word: &str) -> String {
    let parameters = format!(
        "const __grid_constant__ Keys keys, uint64_t last, uint64_t most, uint64_t first, uint64_t rows, \
         {word}* out"
    );
    let RowShape { warps, row_warps, slots, blocks } = shape;
    let body = format!(
        "write_chain_rows<{index}, {warps}, {row_warps}, {slots}, {dense}, F>(keys, last, most, first, rows, out);"
    );
    entry(shape.threads(), blocks, &parameters, &body)
}

/// The sizes of a kernel that permutes an array by an affine map: powers of two, each as its logarithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct AffineShape {
    /// Items that a thread loads and stores at once.
    pub(super) item_bits: u32,
    /// Threads of a block.
    pub(super) thread_bits: u32,
    /// How often each thread loads and stores for a tile.
    pub(super) round_bits: u32,
    /// Tiles that a block takes one after the other, where there are enough for all blocks.
    pub(super) block_bits: u32,
    /// Blocks that a multiprocessor should hold, which limits their registers; not a logarithm.
    pub(super) blocks: u32,
}

impl AffineShape {
    /// Threads of a block.
    pub(super) const fn threads(self) -> u32 {
        1 << self.thread_bits
    }

    /// Items of a tile, as a logarithm.
    pub(super) const fn tile_bits(self) -> u32 {
        self.item_bits + self.thread_bits + self.round_bits
    }
}

/// `(tiles, row, source, out)`: an array by an affine map, tile by tile; with `gaps`, of items that are not of a power of two of
/// words.
pub(super) fn permute_tiles(word: &str, shape: AffineShape, gaps: bool) -> String {
    let AffineShape { item_bits, thread_bits, round_bits, blocks, .. } = shape;
    let sizes = format!("{item_bits}, {thread_bits}, {round_bits}");
    let parameters = format!(
        "const __grid_constant__ Tiles<{sizes}> tiles, const __grid_constant__ Row<{gaps}> row, \
         const {word}* source, {word}* out"
    );
    let body = format!("permute_tiles<{word}, {sizes}>(tiles, row, source, out);");
    entry(shape.threads(), blocks, &parameters, &body)
}

/// `(map, source, out, units)`: an array by an affine map, row by row of so many units.
pub(super) fn permute_rows(unit: &str) -> String {
    let parameters = format!(
        "const __grid_constant__ AffineMap map, const {unit}* source, {unit}* out, uint64_t units"
    );
    entry(tuning::THREADS, 1, &parameters, "permute_rows(map, source, out, units);")
}

/// `(items, pairs)`: the pairs of neighbours in order, of a device type of numbers.
pub(super) fn order_pairs(number: &str) -> String {
    entry(
        tuning::THREADS,
        1,
        &format!("{number}* items, uint64_t pairs"),
        "order_pairs(items, pairs);",
    )
}

/// `(key, stream, block, out, first, end)`: numbers of a stream of Philox4x32, where its blocks come to aligned places.
pub(super) fn fill_philox(number: &str, rounds: usize, shape: FillShape) -> String {
    let parameters = "uint64_t key, uint64_t stream, uint64_t block, uint32_t* out, uint64_t first, uint64_t end";
    let FillShape { threads, together, blocks } = shape;
    let body = format!(
        "fill_philox<{number}, {rounds}, {threads}, {together}>(key, stream, block, out, first, end);"
    );
    entry(threads, blocks, parameters, &body)
}

/// `(key, stream, block, skip, out, words)`: the same anywhere.
pub(super) fn fill_philox_anywhere(number: &str, rounds: usize, shape: FillShape) -> String {
    let FillShape { threads, together, blocks } = shape;
    let parameters = "uint64_t key, uint64_t stream, uint64_t block, uint64_t skip, uint32_t* out, uint64_t words";
    let body = format!(
        "fill_philox_anywhere<{number}, {rounds}, {threads}, {together}>(key, stream, block, skip, out, words);"
    );
    entry(threads, blocks, parameters, &body)
}

/// `(states, count, out, words)`: numbers of streams of Philox4x32.
pub(super) fn fill_philox_streams(number: &str, rounds: usize, shape: FillShape) -> String {
    let FillShape { threads, together, blocks } = shape;
    let parameters = "uint32_t* states, uint64_t count, uint32_t* out, uint64_t words";
    let body = format!(
        "fill_philox_streams<{number}, {rounds}, {threads}, {together}>(states, count, out, words);"
    );
    entry(threads, blocks, parameters, &body)
}

/// `(states, count, out, len)`: numbers of streams that step alone, so many neighbouring ones a thread.
pub(super) fn fill_streams(
    generator: &str,
    number: &str,
    streams: u32,
    shape: FillShape,
) -> String {
    let FillShape { threads, together, blocks } = shape;
    let parameters = format!("uint32_t* states, uint64_t count, {number}::Type* out, uint64_t len");
    let body = format!(
        "fill_streams<{generator}, {number}, {threads}, {streams}, {together}>(states, count, out, len);"
    );
    entry(threads, blocks, &parameters, &body)
}

/// `(states, count, out, words)`: numbers of streams that threads of a warp share.
pub(super) fn fill_warps(generator: &str, number: &str, shape: FillShape) -> String {
    let FillShape { threads, blocks, .. } = shape;
    let parameters = "uint32_t* states, uint64_t count, uint32_t* out, uint64_t words";
    let body = format!("fill_warps<{generator}, {number}, {threads}>(states, count, out, words);");
    entry(threads, blocks, parameters, &body)
}

/// `(states, count, out, words)`: numbers of streams that a block of so many threads shares.
pub(super) fn fill_rings(generator: &str, number: &str, threads: u32) -> String {
    let parameters = "uint32_t* states, uint64_t count, uint32_t* out, uint64_t words";
    let body = format!("fill_rings<{generator}, {number}>(states, count, out, words);");
    entry(threads, 1, parameters, &body)
}
