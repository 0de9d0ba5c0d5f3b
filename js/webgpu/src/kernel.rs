//! The kernel of a shuffle on a GPU: its text in WGSL, which `crates/wgpu` puts together, and its
//! parameters.

use bijective_shuffle::bijection::Standard;
use bijective_shuffle::{Bijection, FromSeed, Seed};

use crate::families;
use crate::shader::{self, LAUNCHES, Move, STATE_WORDS, Status, Tuning, Units};
use crate::source::WgslSource;

/// What a kernel is launched with.
#[derive(Debug)]
pub(crate) struct Kernel {
    pub(crate) text: String,
    /// The workgroups.
    pub(crate) groups: u32,
    /// The words of the look-back's state, all zero at first; none where nothing is looked for.
    pub(crate) state: u32,
    /// The words of the uniform buffer.
    pub(crate) params: Vec<u32>,
}

impl Kernel {
    /// The kernel that shuffles items, or undoes that; `None` if there are none, or if they are no
    /// whole words.
    pub(crate) fn new(len: u32, item_bytes: u32, is_undo: bool, seed: Seed) -> Option<Self> {
        let at_end = len.checked_sub(1)?;
        // In a browser subgroups have no numbers, by which the crate's kernels number threads.
        let tuning = Tuning { subgroups: false, ..Tuning::STANDARD };
        let bijection = Standard::from_seed(len.into(), seed);
        let last = u32::try_from(bijection.last()).ok()?;
        let ([forward, inverse], keys) = families::translate(&bijection.device_source()?)?;
        let source = WgslSource { forward, inverse, keys };
        let units = Units::of(item_bytes)?;
        let (text, tile, words) = if at_end == last {
            let text = shader::whole(&source, Move::Gather, is_undo, false, units, &tuning);
            (text, tuning.tile(), None)
        } else {
            let (status, words) =
                if len < 1 << 30 { (Status::Narrow, 1) } else { (Status::Wide, 3) };
            let what = if is_undo { Move::Scatter } else { Move::Gather };
            let tile = tuning.slots(last);
            let text = shader::survivors(&source, what, status, false, false, units, tile, &tuning);
            (text, tile, Some(words))
        };
        let groups = last / tile.len() + 1;
        let state = words.map_or(0, |words| STATE_WORDS as u32 + LAUNCHES + groups * words);
        let params = [len, last, groups].into_iter().chain([0; 9]);
        let params = params.chain(source.keys.into_iter().flatten()).collect();
        Some(Self { text, groups, state, params })
    }
}
