//! The kernels' texts, each put together from one text per idea.
//!
//! Lines that begin with `%K` or `%I` are repeated for every item of a thread, with its number in
//! place of `$k`, so that values stay in registers whatever the driver's compiler does with loops.
//! Lines that begin with `%I` are for items that are moved as one unit, and those with `%R` for
//! rows of several.

use core::fmt::Write as _;

use crate::source::WgslSource;

/// The threads of a workgroup, in all kernels.
pub(crate) const THREADS: u32 = 256;

/// The words of `bs_state` before the statuses.
pub(crate) const STATE_WORDS: u64 = 8;

/// The numbers that a kernel is compiled with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tuning {
    /// The slots of a thread where survivors are looked for. A tile's indexes take 1024 times as
    /// many bytes of a workgroup's memory.
    pub(crate) slots: u32,
    /// The items of a thread in the other kernels.
    pub(crate) items: u32,
    /// The statuses that a look-back reads at a time, at most [`THREADS`].
    pub(crate) window: u32,
    /// The turns without progress after which a missing tile is counted again.
    pub(crate) patience: u32,
    /// Tests only: one of so many tiles posts nothing.
    pub(crate) leaves_out: Option<u32>,
    /// Tests only: statuses are split whatever the length.
    pub(crate) is_wide: bool,
}

impl Tuning {
    /// The tuning of every device so far; results/h100.csv has the losers.
    pub(crate) const STANDARD: Self =
        Self { slots: 8, items: 8, window: 64, patience: 2, leaves_out: None, is_wide: false };
}

/// What happens to the items of survivors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Move {
    /// `dst[place] = src[index]`
    Gather,
    /// `dst[index] = src[place]`
    Scatter,
    /// `dst[place] = index`
    Indexes,
    /// `dst[index] = place`
    Places,
}

/// A unit of 1, 2 or 4 words, and the number of them in an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Units {
    pub(crate) words: u32,
    pub(crate) count: u32,
}

impl Units {
    pub(crate) const WORD: Self = Self { words: 1, count: 1 };

    /// The largest units that items of so many bytes consist of; `None` if they are no whole words.
    pub(crate) fn of(item_bytes: u32) -> Option<Self> {
        let words = [4, 2, 1].into_iter().find(|words| item_bytes.is_multiple_of(4 * words))?;
        Some(Self { words, count: item_bytes / (4 * words) })
    }

    fn text(self) -> String {
        let unit = ["", "u32", "vec2<u32>", "", "vec4<u32>"][self.words as usize];
        format!("const UNITS: u32 = {}u;\nalias bs_Unit = {unit};\n", self.count)
    }
}

/// The kernel that moves every slot's item, for a length that is the whole domain.
pub(crate) fn whole(
    source: &WgslSource,
    what: Move,
    is_inverted: bool,
    is_windowed: bool,
    units: Units,
    tuning: &Tuning,
) -> String {
    let mut text = header(source.keys.len(), tuning.items);
    text += &bijection(source, is_inverted);
    text += &moves(what, is_windowed, units);
    if units.count > 1 {
        text += include_str!("shaders/staged.wgsl");
        text += include_str!("shaders/rows.wgsl");
    }
    text += include_str!("shaders/whole.wgsl");
    expanded(&text, tuning.items, units.count > 1)
}

/// The kernel that looks for survivors.
pub(crate) fn survivors(
    source: &WgslSource,
    what: Move,
    is_wide: bool,
    is_windowed: bool,
    units: Units,
    tuning: &Tuning,
) -> String {
    let mut text = header(source.keys.len(), tuning.slots);
    let Tuning { window, patience, leaves_out, .. } = tuning;
    let _ = write!(
        text,
        "const bs_WINDOW: u32 = {window}u;\nconst bs_PATIENCE: u32 = {patience}u;\n\
         fn bs_leaves_out(tile: u32) -> bool {{ return {}; }}\n",
        leaves_out.map_or("false".into(), |one_of| format!("tile % {one_of}u == 0u")),
    );
    text += &bijection(source, false);
    text += match is_wide || tuning.is_wide {
        false => include_str!("shaders/status_narrow.wgsl"),
        true => include_str!("shaders/status_wide.wgsl"),
    };
    text += &moves(what, is_windowed, units);
    text += include_str!("shaders/staged.wgsl");
    if units.count > 1 {
        text += include_str!("shaders/rows.wgsl");
    }
    text += include_str!("shaders/survivors.wgsl");
    expanded(&text, tuning.slots, units.count > 1)
}

/// The kernel that moves items by indexes in memory.
pub(crate) fn take(units: Units, tuning: &Tuning) -> String {
    let text = header(0, tuning.items) + &units.text() + include_str!("shaders/take.wgsl");
    expanded(&text, tuning.items, false)
}

/// The same for items of any number of bytes.
pub(crate) fn take_bytes(item_bytes: u32, tuning: &Tuning) -> String {
    let bytes = format!("const BYTES: u32 = {item_bytes}u;\n");
    header(0, tuning.items) + &bytes + include_str!("shaders/take_bytes.wgsl")
}

/// The kernel that checks indexes in memory.
pub(crate) fn check(tuning: &Tuning) -> String {
    header(0, tuning.items) + include_str!("shaders/check.wgsl")
}

/// The kernel that inverts indexes in memory.
pub(crate) fn invert(tuning: &Tuning) -> String {
    header(0, tuning.items) + include_str!("shaders/invert.wgsl")
}

fn header(keys: usize, items: u32) -> String {
    // An array cannot be empty.
    format!(
        "const WORDS_OF_KEYS: u32 = {}u;\nconst bs_K: u32 = {items}u;\n\
         const bs_TILE: u32 = {}u;\n{}",
        keys.max(1),
        THREADS * items,
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
            Move::Gather | Move::Indexes => ("index", "place"),
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
        (Move::Scatter, false) => include_str!("shaders/scatter.wgsl"),
        (Move::Indexes, false) => include_str!("shaders/indexes.wgsl"),
        (Move::Places, false) => include_str!("shaders/places.wgsl"),
        (Move::Gather | Move::Scatter, true) => include_str!("shaders/window_items.wgsl"),
        (Move::Indexes | Move::Places, true) => include_str!("shaders/window_numbers.wgsl"),
    };
    text + include_str!("shaders/store.wgsl")
}

/// A text without the marks at the beginning of lines.
fn expanded(text: &str, items: u32, has_rows: bool) -> String {
    let mut out = String::with_capacity(2 * text.len());
    for line in text.lines() {
        let (mark, rest) = match line.get(..2) {
            Some(mark @ ("%K" | "%I" | "%R")) => (mark, &line[2..]),
            _ => ("", line),
        };
        let times = match mark {
            "%K" => items,
            "%I" if has_rows => 0,
            "%I" => items,
            "%R" => has_rows.into(),
            _ => 1,
        };
        for k in 0..times {
            out += &rest.replace("$k", &k.to_string());
            out.push('\n');
        }
    }
    out
}
