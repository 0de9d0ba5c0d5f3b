//! The kernels' texts, each put together from one text per idea.
//!
//! Lines that begin with `%K` or `%I` are repeated for every item of a thread, with its number in
//! place of `$k`, so that values stay in registers whatever the driver's compiler does with loops,
//! and those with `%B` for every bin. Lines that begin with `%I` are for items that are moved as
//! one unit, and those with `%R` for rows of several.

use core::fmt::Write as _;

use crate::source::WgslSource;

/// The threads of a workgroup, except in the partitioned strategy.
pub const THREADS: u32 = 256;

/// The words of `bs_state` that are for all launches.
pub const STATE_WORDS: u64 = 8;

/// The launches that one state can serve, each with a number of its own, before it is replaced.
pub const LAUNCHES: u32 = 128;

/// The numbers that kernels are compiled with and chosen by.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tuning {
    /// The slots of a thread where survivors are looked for, by the least last slot. A tile's
    /// indexes take 1024 times as many bytes of a workgroup's memory.
    pub slots: &'static [(u32, u32)],
    /// The items of a thread in the other kernels.
    pub items: u32,
    /// The statuses that a look-back without subgroups reads at a time, at most [`THREADS`].
    pub window: u32,
    /// The turns without progress after which a missing tile is counted again.
    pub patience: u32,
    /// Larger arrays are gathered in phases, each of which reads this many bytes of them: as many
    /// as an H200 reads at full speed (crates/wgpu/results/h200-reach.csv and h200-phases.csv).
    /// AMD, Intel and Apple GPUs have not been measured.
    pub phase: u64,
    /// Arrays of at least this many bytes are partitioned.
    pub partitioned: u64,
    pub partition: PartitionShape,
    /// Whether kernels use subgroups, if there are any.
    pub subgroups: bool,
    /// Whether a dispatch of its own counts all tiles, so that nobody counts one for others.
    pub counts_first: bool,
    /// The most units of an item for which a thread moves units in a loop.
    pub units: u32,
    /// Tests only: one tile in this many posts nothing.
    pub leaves_out: Option<u32>,
    /// Tests only: what statuses are, whatever the length.
    pub status: Option<Status>,
}

/// The sizes of the partitioned strategy, as far as a device's limits allow them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PartitionShape {
    /// Threads of a workgroup in a pass.
    pub threads: u32,
    /// Records of a thread in a pass, by the least bits by which one of them sorts.
    pub records: &'static [(u32, u32)],
    /// The room for a bucket that is put in order. The second is for arrays that a pass would
    /// otherwise sort by more than [`Self::FEW_BITS`].
    pub rooms: [WorkgroupTile; 2],
    /// The most bits by which a pass sorts.
    pub bits: u32,
    /// The standard deviations above the mean for which a bucket has room.
    pub deviations: f64,
}

impl PartitionShape {
    /// A pass by more bits takes longer than to put buckets of twice the size in order.
    pub const FEW_BITS: u32 = 8;

    /// crates/wgpu/results/h200-passes.csv and h200-shapes.csv have the losers.
    pub const STANDARD: Self = Self {
        threads: 256,
        // Of 8 to 11 records fewer workgroups run at a time than of 7, and of 12 fewer still.
        records: &[(7, 11), (0, 7)],
        rooms: [WorkgroupTile { threads: 256, each: 19 }, WorkgroupTile { threads: 512, each: 18 }],
        bits: 10,
        deviations: 8.0,
    };
}

impl Tuning {
    /// The tuning of every GPU so far; crates/wgpu/results/h100-strategies.csv and h100.csv have
    /// the losers.
    pub const STANDARD: Self = Self {
        // Fewer compile in half the time, and short arrays are the first that programs shuffle.
        slots: &[(1 << 16, 8), (0, 2)],
        items: 4,
        window: 64,
        patience: 2,
        phase: 1 << 23,
        partitioned: 1 << 26,
        partition: PartitionShape::STANDARD,
        subgroups: true,
        counts_first: false,
        units: u32::MAX,
        leaves_out: None,
        status: None,
    };

    /// That of CPUs. Mesa's lavapipe ends all loops of a thread after 65,535 turns in all, without
    /// an error. Its threads begin far apart, so that a workgroup would count thousands of tiles,
    /// each of which takes 4 turns or more. If all are counted before, a thread has at most 32,768
    /// turns for the statuses of 2^32 slots, [`Self::window`] at a time, 24,000 for the units of
    /// its items, and fewer than a hundred for sums. Partitions would have loops over tiles, and
    /// took 2^25 items on two cores from 0.95 to 2.03 seconds.
    pub const CPU: Self = Self {
        partitioned: u64::MAX,
        subgroups: false,
        counts_first: true,
        units: 3000,
        ..Self::STANDARD
    };

    /// The tiles of a domain in which survivors are looked for.
    pub fn slots(&self, last: u32) -> WorkgroupTile {
        let each = self.slots.iter().find(|&&(from, _)| last >= from).map_or(8, |&(_, each)| each);
        WorkgroupTile { threads: THREADS, each }
    }

    /// The tiles of the other kernels.
    pub fn tile(&self) -> WorkgroupTile {
        WorkgroupTile { threads: THREADS, each: self.items }
    }
}

/// What happens to the items of survivors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Move {
    /// `dst[place] = src[index]`
    Gather,
    /// The same in phases, where all slots survive
    Phases,
    /// `dst[index] = src[place]`
    Scatter,
    /// `dst[place] = index`
    Indexes,
    /// `dst[index] = place`
    Places,
}

/// A unit of 1, 2 or 4 words, and the number of them in an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Units {
    pub words: u32,
    pub count: u32,
}

impl Units {
    pub const WORD: Self = Self { words: 1, count: 1 };

    /// The largest units that items of `item_bytes` consist of; `None` if these are not whole
    /// words.
    pub fn of(item_bytes: u32) -> Option<Self> {
        let words = [4, 2, 1].into_iter().find(|words| item_bytes.is_multiple_of(4 * words))?;
        Some(Self { words, count: item_bytes / (4 * words) })
    }

    fn text(self) -> String {
        let unit = ["", "u32", "vec2<u32>", "", "vec4<u32>"][self.words as usize];
        format!("const UNITS: u32 = {}u;\nalias bs_Unit = {unit};\n", self.count)
    }
}

/// The threads of a workgroup, and the slots or records of each, which make up a tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkgroupTile {
    pub threads: u32,
    pub each: u32,
}

impl WorkgroupTile {
    #[expect(clippy::len_without_is_empty, reason = "a tile is never empty")]
    pub fn len(self) -> u32 {
        self.threads * self.each
    }
}

/// What a status of a look-back is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// A word with the launch's number and a count of up to 2^23 - 1.
    Short,
    /// A word with a count of up to 2^30 - 1.
    Narrow,
    /// Three words.
    Wide,
}

/// The kernel that moves every slot's item, for a length that is the whole domain.
pub fn whole(
    source: &WgslSource,
    what: Move,
    is_inverted: bool,
    is_windowed: bool,
    units: Units,
    tuning: &Tuning,
) -> String {
    let mut text = header(source.keys.len(), tuning.tile());
    text += &bijection(source, is_inverted);
    text += &moves(what, is_windowed, units);
    if units.count > 1 {
        text += include_str!("shaders/stage.wgsl");
        text += include_str!("shaders/rows.wgsl");
    }
    text += include_str!("shaders/whole.wgsl");
    if what == Move::Phases {
        text = text.replace("$repeat", PHASE);
    }
    expanded(&text, tuning.items, units.count > 1, false)
}

/// The kernel that looks for survivors and moves their items. If it is a resort, it does nothing
/// unless a bucket of the partitioned strategy has overflowed.
#[expect(clippy::too_many_arguments, reason = "each is another text")]
pub fn survivors(
    source: &WgslSource,
    what: Move,
    status: Status,
    is_windowed: bool,
    is_resort: bool,
    units: Units,
    tile: WorkgroupTile,
    tuning: &Tuning,
) -> String {
    let mut text = header(source.keys.len(), tile);
    text += &bijection(source, false);
    text += scan(tuning);
    text += include_str!("shaders/stage.wgsl");
    text += include_str!("shaders/values.wgsl");
    let Tuning { window, patience, leaves_out, subgroups, .. } = tuning;
    let bits = if status == Status::Short { 23 } else { 30 };
    let _ = write!(
        text,
        "const bs_BITS: u32 = {bits}u;\nconst bs_WINDOW: u32 = {window}u;\nconst bs_PATIENCE: u32 = {patience}u;\n\
         fn bs_leaves_out(tile: u32) -> bool {{ return {}; }}\n",
        leaves_out.map_or("false".into(), |one_of| format!("tile % {one_of}u == 0u")),
    );
    text += match status {
        Status::Short | Status::Narrow => include_str!("shaders/status_narrow.wgsl"),
        Status::Wide => include_str!("shaders/status_wide.wgsl"),
    };
    text += match subgroups {
        false => include_str!("shaders/search_plain.wgsl"),
        true => include_str!("shaders/search_subgroups.wgsl"),
    };
    text += include_str!("shaders/look_back.wgsl");
    if is_resort {
        text += include_str!("shaders/resort.wgsl");
    }
    text += &moves(what, is_windowed, units);
    text += include_str!("shaders/staged.wgsl");
    if units.count > 1 {
        text += include_str!("shaders/rows.wgsl");
    }
    text += include_str!("shaders/survivors.wgsl");
    if tuning.counts_first {
        text = text.replace("$repeat", COUNT);
    }
    if is_resort {
        text = text.replace("$repeat", REPEAT[0]).replace("$end", REPEAT[1]);
    }
    expanded(&text, tile.each, units.count > 1, tuning.subgroups)
}

/// What kernels have there that may be told to count their tiles and no more.
const COUNT: &str = "$repeat if (bs_params.sizes.x != 0u) { if (tile < bs_params.tiles) { \
                     bs_post(t, tile, bs_scan(t, bs_count(t, tile)).y); } return; }";

/// What the last resort has around the work on a tile. Other workgroups have one tile each.
const REPEAT: [&str; 2] = [
    "if (bs_counts[0] == 0u) { return; } loop {",
    "tile += groups.x * groups.y; workgroupBarrier(); }",
];

/// What a gather in phases has there. Workgroups begin by their numbers, more or less.
const PHASE: &str =
    "bs_first = tile / bs_params.tiles * bs_params.windows.y; tile %= bs_params.tiles;";

fn scan(tuning: &Tuning) -> &'static str {
    match tuning.subgroups {
        false => include_str!("shaders/scan_plain.wgsl"),
        true => include_str!("shaders/scan_subgroups.wgsl"),
    }
}

/// Where the records of a pass of the partitioned strategy come from.
#[derive(Clone, Copy, Debug)]
pub enum RecordSource<'a> {
    /// The source, in order; the key is the bijection's value or, if inverted, its inverse's.
    Source { source: &'a WgslSource, is_inverted: bool },
    /// The source, in order, with keys in memory.
    Listed,
    /// The buckets of the first pass.
    Bucket,
}

/// How the records of the partitioned strategy lie in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordLayout {
    /// Keys and items, each an array.
    Apart,
    /// Pairs of words.
    Pairs,
    /// Pairs of words in two arrays, since one would be larger than a binding.
    Halves,
}

/// A pass of the partitioned strategy.
pub fn distribute(
    records: RecordSource<'_>,
    units: Units,
    layout: RecordLayout,
    tile: WorkgroupTile,
    bins: u32,
    tuning: &Tuning,
) -> String {
    let mut text = match records {
        RecordSource::Source { source, is_inverted } => {
            header(source.keys.len(), tile) + &bijection(source, is_inverted)
        }
        RecordSource::Listed => header(0, tile) + include_str!("shaders/listed.wgsl"),
        RecordSource::Bucket => header(0, tile),
    };
    text += &units.text();
    let _ = writeln!(text, "const bs_BINS: u32 = {bins}u;");
    text += scan(tuning);
    let [to, from] = texts_of_records(layout);
    text += to;
    text += include_str!("shaders/record.wgsl");
    text += match layout {
        RecordLayout::Apart => include_str!("shaders/kept_apart.wgsl"),
        RecordLayout::Pairs | RecordLayout::Halves => include_str!("shaders/kept_pairs.wgsl"),
    };
    text += include_str!("shaders/distribute.wgsl");
    match records {
        RecordSource::Bucket => {
            text += from;
            text += include_str!("shaders/distribute_bucket.wgsl");
        }
        RecordSource::Source { .. } | RecordSource::Listed => {
            text += include_str!("shaders/distribute_source.wgsl");
        }
    }
    text += include_str!("shaders/distribute_records.wgsl");
    let text = repeated(&text, "%B", bins / tile.threads);
    expanded(&text, tile.each, false, tuning.subgroups)
}

/// How records are written and read.
fn texts_of_records(layout: RecordLayout) -> [&'static str; 2] {
    match layout {
        RecordLayout::Apart => {
            [include_str!("shaders/apart_to.wgsl"), include_str!("shaders/apart_from.wgsl")]
        }
        RecordLayout::Pairs => {
            [include_str!("shaders/pairs_to.wgsl"), include_str!("shaders/pairs_from.wgsl")]
        }
        RecordLayout::Halves => {
            [include_str!("shaders/halves_to.wgsl"), include_str!("shaders/halves_from.wgsl")]
        }
    }
}

/// The kernel that puts each bucket in order; a tile has room for one.
pub fn place(
    is_dense: bool,
    units: Units,
    layout: RecordLayout,
    tile: WorkgroupTile,
    tuning: &Tuning,
) -> String {
    let mut text = header(0, tile) + &units.text() + include_str!("shaders/record.wgsl");
    text += texts_of_records(layout)[1];
    if !is_dense {
        text += scan(tuning);
        text += include_str!("shaders/ranks.wgsl");
    }
    text += include_str!("shaders/place.wgsl");
    if !is_dense {
        text += include_str!("shaders/place_base.wgsl");
    }
    text += include_str!("shaders/place_records.wgsl");
    text += match is_dense {
        true => include_str!("shaders/place_dense.wgsl"),
        false => include_str!("shaders/place_gaps.wgsl"),
    };
    text += include_str!("shaders/place_end.wgsl");
    expanded(&text, tile.each, false, !is_dense && tuning.subgroups)
}

/// The kernel that moves items by indexes in memory.
pub fn take(units: Units, tuning: &Tuning) -> String {
    let text = header(0, tuning.tile()) + &units.text() + include_str!("shaders/take.wgsl");
    expanded(&text, tuning.items, false, false)
}

/// The same for items of any number of bytes.
pub fn take_bytes(item_bytes: u32, tuning: &Tuning) -> String {
    let bytes = format!("const BYTES: u32 = {item_bytes}u;\n");
    simple(&(bytes + include_str!("shaders/take_bytes.wgsl")), tuning)
}

/// The kernel that checks indexes in memory.
pub fn check(tuning: &Tuning) -> String {
    simple(include_str!("shaders/check.wgsl"), tuning)
}

/// The kernel that inverts indexes in memory.
pub fn invert(tuning: &Tuning) -> String {
    simple(include_str!("shaders/invert.wgsl"), tuning)
}

/// What a fill makes of words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FillNumbers {
    U32,
    F32,
    NormalF32,
    U64,
    F64,
}

impl FillNumbers {
    /// The words of a number.
    pub fn words(self) -> u64 {
        if matches!(self, Self::U64 | Self::F64) { 2 } else { 1 }
    }

    /// The words that numbers are drawn from together, which make as many words of numbers.
    pub fn group(self) -> u64 {
        if self == Self::NormalF32 { 2 } else { self.words() }
    }

    /// The function `bs_numbers` that makes them of words.
    pub fn text(self) -> &'static str {
        match self {
            // A number of 64 bits has its low word first.
            Self::U32 | Self::U64 => include_str!("shaders/numbers_u32.wgsl"),
            Self::F32 => include_str!("shaders/numbers_f32.wgsl"),
            Self::NormalF32 => include_str!("shaders/numbers_normal_f32.wgsl"),
            Self::F64 => include_str!("shaders/numbers_f64.wgsl"),
        }
    }
}

/// The kernel that fills with a stream of Philox4x32.
pub fn fill(numbers: FillNumbers, rounds: usize) -> String {
    let mut text = header(0, WorkgroupTile { threads: THREADS, each: 4 });
    text += include_str!("shaders/fill.wgsl");
    text += numbers.text();
    let rounds = vec!["x = bs_round(x, key);"; rounds];
    let rounds = rounds.join(" key += vec2(0x9E3779B9u, 0xBB67AE85u);\n");
    expanded(&text.replace("$rounds", &rounds), 4, false, false)
}

/// A text of its own behind the header.
pub fn simple(text: &str, tuning: &Tuning) -> String {
    expanded(&(header(0, tuning.tile()) + text), tuning.items, false, false)
}

fn header(keys: usize, tile: WorkgroupTile) -> String {
    // An array cannot be empty.
    format!(
        "const WORDS_OF_KEYS: u32 = {}u;\nconst bs_THREADS: u32 = {}u;\n\
         const bs_K: u32 = {}u;\nconst bs_TILE: u32 = {}u;\n{}",
        keys.max(1),
        tile.threads,
        tile.each,
        tile.len(),
        include_str!("shaders/header.wgsl"),
    )
}

fn bijection(source: &WgslSource, is_inverted: bool) -> String {
    // The bound is for texts that ask for more parameters than there are.
    let last = source.keys.len().max(1) - 1;
    format!(
        "fn param(i: u32) -> u32 {{ return bs_params.keys[min(i >> 2u, {last}u)][i & 3u]; }}\n{}\n",
        source.text(is_inverted)
    )
}

fn moves(what: Move, is_windowed: bool, units: Units) -> String {
    let mut text = units.text();
    if is_windowed {
        let (start, end) = match what {
            Move::Gather | Move::Phases | Move::Indexes => ("index", "place"),
            Move::Scatter | Move::Places => ("place", "index"),
        };
        for (name, number) in [("start", start), ("end", end)] {
            let _ = writeln!(
                text,
                "fn bs_{name}(place: u32, index: u32) -> u32 {{ return {number}; }}"
            );
        }
    }
    text += match (what, is_windowed) {
        (Move::Gather, false) => include_str!("shaders/gather.wgsl"),
        (Move::Phases, _) => include_str!("shaders/gather_phase.wgsl"),
        (Move::Scatter, false) => include_str!("shaders/scatter.wgsl"),
        (Move::Indexes, false) => include_str!("shaders/indexes.wgsl"),
        (Move::Places, false) => include_str!("shaders/places.wgsl"),
        (Move::Gather | Move::Scatter, true) => include_str!("shaders/window_items.wgsl"),
        (Move::Indexes | Move::Places, true) => include_str!("shaders/window_numbers.wgsl"),
    };
    text + include_str!("shaders/store.wgsl")
}

/// The parameters of an entry point without and with subgroups, and what it begins with: `t` is the
/// number of the thread, and `number` that of the workgroup.
const ENTRIES: [[&str; 2]; 2] = [
    ["@builtin(local_invocation_index) t: u32", ""],
    [
        "@builtin(subgroup_id) subgroup: u32, @builtin(subgroup_invocation_id) lane: u32, \
         @builtin(subgroup_size) lanes: u32",
        "let t = subgroup * lanes + lane; bs_lane = lane; bs_lanes = lanes; ",
    ],
];

/// A text in which the lines with a mark are repeated, with their number in place of `$k`.
fn repeated(text: &str, mark: &str, times: u32) -> String {
    let mut out = String::with_capacity(2 * text.len());
    for line in text.lines() {
        match line.strip_prefix(mark) {
            None => out.extend([line, "\n"]),
            Some(line) => {
                (0..times).for_each(|k| out.extend([&line.replace("$k", &k.to_string()), "\n"]));
            }
        }
    }
    out
}

/// A text without the marks at the beginning of lines, and with its entry point.
fn expanded(text: &str, items: u32, has_rows: bool, has_subgroups: bool) -> String {
    let [parameters, begin] = ENTRIES[usize::from(has_subgroups)];
    let text = repeated(text, "%K", items);
    let text = repeated(&text, "%I", if has_rows { 0 } else { items });
    let out = repeated(&text, "%R", has_rows.into());
    let entry = format!(
        "{parameters}, @builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: \
         vec3<u32>"
    );
    let begin = format!("{begin}let number = group.y * groups.x + group.x;");
    let out = out.replace("$entry", &entry).replace("$begin", &begin);
    out.replace("$repeat", "").replace("$end", "")
}
