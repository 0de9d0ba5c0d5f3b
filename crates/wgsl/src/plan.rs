//! [`Planner`]: which kernels move items.

use crate::launch::{BoundBytes, KernelLaunch, KernelMemory, Params, ShuffleCall, bytes_of};
use crate::limits::{Excess, Limits};
use crate::partition::SortSizes;
use crate::shader::{self, Move, Tuning, Units};

/// The longest text of a bijection whose evaluation is cheap. That of `MulXorshift<20>` has 3283
/// bytes, and 2^23 words take 131 us in four phases and 170 in one; that of `VariablePhilox<24>`
/// has 9801, and they take 381 and 174 (crates/wgpu/results/h200-phases.csv).
const CHEAP_TEXT: usize = 3500;

/// What plans depend on.
#[derive(Clone, Copy, Debug)]
pub struct Planner {
    pub limits: Limits,
    pub tuning: Tuning,
}

impl Planner {
    /// The same without the partitioned strategy.
    pub fn without_buckets(&self) -> Self {
        Self { tuning: Tuning { partitioned: u64::MAX, ..self.tuning }, ..*self }
    }

    /// The launches that move items of any size from the source to the target.
    pub fn items<'a>(
        &self,
        job: ShuffleCall<'a>,
        what: Move,
        item_bytes: u32,
    ) -> Result<Vec<KernelLaunch<'a>>, Excess> {
        if let Some(units) = Units::of(item_bytes).filter(|units| units.count <= self.tuning.units)
        {
            return self.moved(job, what, units, Some(KernelMemory::Source), KernelMemory::Target);
        }
        let mut launches = self.indexes(job, what, KernelMemory::Indexes)?;
        launches.push(self.taken(job.len(), item_bytes)?);
        Ok(launches)
    }

    /// The launches that write where each place's item comes from.
    pub fn indexes<'a>(
        &self,
        job: ShuffleCall<'a>,
        what: Move,
        into: KernelMemory,
    ) -> Result<Vec<KernelLaunch<'a>>, Excess> {
        let what = if what == Move::Gather { Move::Indexes } else { Move::Places };
        self.moved(job, what, Units::WORD, None, into)
    }

    /// The launch that moves items by indexes in memory.
    pub fn taken(&self, len: u32, item_bytes: u32) -> Result<KernelLaunch<'static>, Excess> {
        let tuning = &self.tuning;
        let bytes = bytes_of(len, item_bytes);
        // Kernels count the bytes of an array in a word.
        let size = bytes.next_multiple_of(4);
        Excess::check("bytes of an array", size, u32::MAX.into())?;
        for size in [size, bytes_of(len, 4)] {
            Excess::check("bytes of one binding", size, self.limits.binding)?;
        }
        let bytes = bytes as u32;
        let (text, count) = match Units::of(item_bytes) {
            Some(units) => (shader::take(units, tuning), bytes / (4 * units.words)),
            None => (shader::take_bytes(item_bytes, tuning), bytes.div_ceil(4)),
        };
        let tiles = count.div_ceil(tuning.tile().len());
        Ok(KernelLaunch {
            text: text.into(),
            is_own: true,
            params: Params { len: count, last: bytes, tiles, ..Params::default() },
            bindings: vec![
                BoundBytes::new(1, KernelMemory::Source, size),
                BoundBytes::new(2, KernelMemory::Target, size),
                BoundBytes::new(4, KernelMemory::Indexes, bytes_of(len, 4)),
            ],
        })
    }

    /// The kernels that evaluate the bijection: those of the partitioned strategy, or one, or where
    /// arrays are larger than a binding one for each pair of their parts.
    fn moved<'a>(
        &self,
        job: ShuffleCall<'a>,
        what: Move,
        units: Units,
        from: Option<KernelMemory>,
        into: KernelMemory,
    ) -> Result<Vec<KernelLaunch<'a>>, Excess> {
        // Kernels number units in words of 32 bits.
        let most = self.limits.binding.min(1 << 32);
        let item_bytes = 4 * u64::from(units.words) * u64::from(units.count);
        let len = u64::from(job.len());
        if len * item_bytes <= most {
            if from.is_some()
                && let Some(sizes) = SortSizes::new(job, what, units, &self.limits, &self.tuning)
            {
                let launches = sizes.launches(job, &self.tuning)?;
                let arrays = launches.iter().map(|launch| launch.bindings.len()).max();
                // A program may have asked for fewer than WebGPU guarantees.
                if arrays <= Some(self.limits.arrays as usize) {
                    return Ok(launches);
                }
            }
            let mut launch = self.mover(job, what, units, false)?;
            let from = from.map(|from| BoundBytes::new(1, from, len * item_bytes));
            launch.bindings.extend(from);
            launch.bindings.push(BoundBytes::new(2, into, len * item_bytes));
            return Ok(vec![launch]);
        }
        // Any number of items that is a multiple of the alignment is aligned.
        let items = most / item_bytes / self.limits.alignment * self.limits.alignment;
        if items == 0 {
            return Err(Excess { what: "bytes of one binding", asked: len * item_bytes, most });
        }
        let mover = self.mover(job, what, units, true)?;
        let parts: Vec<(u64, u64)> = (0..len.div_ceil(items))
            .map(|part| (part * items, items.min(len - part * items)))
            .collect();
        let bound = |number, place, (first, count): (u64, u64)| BoundBytes {
            offset: first * item_bytes,
            ..BoundBytes::new(number, place, count * item_bytes)
        };
        // Indexes come from no array.
        let sources = if from.is_some() { &parts[..] } else { &parts[..1] };
        let launches =
            parts.iter().flat_map(|&target| sources.iter().map(move |&source| (source, target)));
        let launches = launches.map(|(source, target)| {
            let mut launch = mover.clone();
            let windows = [source.0, source.1, target.0, target.1];
            launch.params.windows = windows.map(|word| word as u32);
            launch.bindings.extend(from.map(|from| bound(1, from, source)));
            launch.bindings.push(bound(2, into, target));
            launch
        });
        Ok(launches.collect())
    }

    /// One kernel that evaluates the bijection at every slot, without the arrays.
    fn mover<'a>(
        &self,
        job: ShuffleCall<'a>,
        what: Move,
        units: Units,
        is_windowed: bool,
    ) -> Result<KernelLaunch<'a>, Excess> {
        let (source, tuning) = (job.source(), &self.tuning);
        if !job.is_whole() {
            let tile = tuning.slots(source.last);
            return KernelLaunch::survivors(job, tile, units, tuning, |status| {
                shader::survivors(source, what, status, is_windowed, false, units, tile, tuning)
            });
        }
        // A gather by the inverse reads far apart and writes in order, which is faster than the
        // reverse. Only a bijection of the library has an inverse that is sure to be one.
        let (what, is_inverted) = match what {
            Move::Scatter if source.has_inverse() => (Move::Gather, true),
            Move::Places if source.has_inverse() => (Move::Indexes, true),
            what => (what, false),
        };
        let tiles = job.tiles(tuning.tile(), units)?;
        let phases = match what {
            Move::Gather if !is_windowed && units.count == 1 => {
                self.phases(job, units.words, source.text(is_inverted))
            }
            _ => 1,
        };
        let what = if phases > 1 { Move::Phases } else { what };
        let text = shader::whole(source, what, is_inverted, is_windowed, units, tuning);
        Ok(KernelLaunch {
            text: text.into(),
            is_own: source.is_trusted,
            params: Params {
                len: job.len(),
                last: source.last,
                tiles,
                groups: Some(tiles * phases),
                windows: [0, job.len().div_ceil(phases), 0, 0],
                keys: &source.keys,
                ..Params::default()
            },
            bindings: Vec::new(),
        })
    }

    /// The phases in which items are gathered, each of which evaluates all of them. The length of a
    /// text tells what that takes, since rounds are written out; that of a loop nothing does.
    fn phases(&self, job: ShuffleCall<'_>, words: u32, text: &str) -> u32 {
        let needed = bytes_of(job.len(), 4 * words).div_ceil(self.tuning.phase);
        let is_cheap = text.len() <= CHEAP_TEXT && !text.contains("for (");
        let most = if words == 4 { 2 } else { 4 };
        if job.source().has_inverse() && is_cheap && needed <= most { needed as u32 } else { 1 }
    }
}

#[cfg(test)]
mod tests {
    use bijective_shuffle_core::FromSeed;
    use bijective_shuffle_core::bijection::{CycleWalk, MulXorshift, Standard, VariablePhilox};

    use super::*;
    use crate::{AsWgsl, WgslSource};

    /// The launches, and the workgroups for each tile of the first.
    fn planned(f: &impl AsWgsl, len: u32, what: Move, item_bytes: u32) -> (usize, u32) {
        let limits = Limits {
            binding: 1 << 30,
            arrays: 8,
            buffer: 1 << 30,
            alignment: 256,
            threads: 256,
            storage: 16 << 10,
        };
        let source = f.as_wgsl().expect("it has a text");
        let job = ShuffleCall::new(&source, len);
        let planner = Planner { limits, tuning: Tuning::STANDARD };
        let launches = planner.items(job, what, item_bytes).expect("it fits");
        let params = launches[0].params;
        (launches.len(), params.groups() / params.tiles)
    }

    #[test]
    fn arrays_are_gathered_in_phases_where_an_evaluation_is_cheap() {
        for (width, item_bytes, expected) in [
            (21, 4, 1),
            (22, 4, 2),
            (23, 4, 4),
            (22, 8, 4),
            (23, 8, 1),
            (20, 16, 2),
            (21, 16, 1),
            (22, 12, 1),
        ] {
            let f = Standard::from_seed(1 << width, 1);
            for what in [Move::Gather, Move::Scatter] {
                assert_eq!(planned(&f, 1 << width, what, item_bytes), (1, expected), "2^{width}");
                let less = planned(&f, (1 << width) - 1, what, item_bytes);
                assert_eq!(less, (1, 1), "2^{width} - 1");
            }
        }
        let philox = VariablePhilox::<24>::from_seed(1 << 22, 1);
        assert_eq!(planned(&philox, 1 << 22, Move::Gather, 4), (1, 1));
        let walk = CycleWalk::<MulXorshift<10>>::from_seed(1 << 22, 1);
        assert_eq!(planned(&walk, 1 << 22, Move::Gather, 4), (1, 1));
        let text = "fn forward(slot: u32) -> u32 { return param(0u) - slot; }";
        let last = (1 << 22) - 1;
        let own = WgslSource::new(last, text, [last]);
        assert_eq!(planned(&own, 1 << 22, Move::Gather, 4), (1, 1));
    }

    #[test]
    fn larger_items_are_sorted_only_where_they_would_be_scattered() {
        let (whole, more) = (1 << 24, (1 << 24) + 1);
        for (len, what, item_bytes, launches) in [
            (whole, Move::Gather, 4, 3),
            (more, Move::Gather, 4, 4),
            (whole, Move::Scatter, 8, 1),
            (more, Move::Gather, 8, 1),
            (more, Move::Scatter, 8, 4),
            (more, Move::Scatter, 12, 1),
        ] {
            let f = Standard::from_seed(len.into(), 1);
            let name = format!("{what:?} of {len} items of {item_bytes} bytes");
            assert_eq!(planned(&f, len, what, item_bytes).0, launches, "{name}");
        }
    }
}
