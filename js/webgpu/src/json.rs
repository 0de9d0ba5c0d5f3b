//! The launches of a shuffle on a GPU as JSON, which is how a page gets them.

use core::fmt::Write as _;
use std::rc::Rc;

use bijective_shuffle_core::bijection::Standard;
use bijective_shuffle_core::{Bijection, FromSeed, Seed};
use bijective_shuffle_wgsl::WgslSource;
use bijective_shuffle_wgsl::launch::{BoundBytes, KernelLaunch, ShuffleCall};
use bijective_shuffle_wgsl::plan::Planner;
use bijective_shuffle_wgsl::shader::Move;

/// What a text begins with that uses subgroups. The first subgroup alone looks back, which the
/// compilers of browsers take for a fault.
const SUBGROUPS: &str = "enable subgroups;\ndiagnostic(off, subgroup_uniformity);\n";

/// The launches that shuffle items, or undo that: `{"texts", "launches"}`, or `{"what", "asked",
/// "most"}` for what exceeds a limit; nothing if there are no items.
pub(crate) fn launches(
    planner: &Planner,
    len: u32,
    item_bytes: u32,
    is_undo: bool,
    seed: Seed,
) -> Option<String> {
    if len == 0 {
        return None;
    }
    let bijection = Standard::from_seed(len.into(), seed);
    let last = u32::try_from(bijection.last()).ok()?;
    let source = WgslSource::of_family(last, &bijection.device_source()?).ok()?;
    let what = if is_undo { Move::Scatter } else { Move::Gather };
    let launches = match planner.items(ShuffleCall::new(&source, len), what, item_bytes) {
        Ok(launches) => launches,
        Err(excess) => {
            let (what, asked, most) = (excess.what, excess.asked, excess.most);
            return Some(format!(r#"{{"what":"{what}","asked":{asked},"most":{most}}}"#));
        }
    };
    let mut texts: Vec<Rc<str>> = Vec::new();
    let mut all = String::from(r#"{"launches":["#);
    for KernelLaunch { text, params, bindings, .. } in launches {
        // Those of the parts of an array share one.
        if texts.last().is_none_or(|last| !Rc::ptr_eq(last, &text)) {
            texts.push(text);
        }
        let separator = if all.ends_with('[') { "" } else { "," };
        let (text, groups, words) = (texts.len() - 1, params.groups(), params.words());
        let _ = write!(
            all,
            r#"{separator}{{"text":{text},"groups":{groups},"params":{words:?},"bindings":["#
        );
        for (k, BoundBytes { number, place, offset, bytes, is_cleared }) in
            bindings.iter().enumerate()
        {
            let separator = if k == 0 { "" } else { "," };
            let _ = write!(
                all,
                r#"{separator}{{"number":{number},"place":"{place}","offset":{offset},"#
            );
            let _ = write!(all, r#""bytes":{bytes},"isCleared":{is_cleared}}}"#);
        }
        all += "]}";
    }
    all += r#"],"texts":["#;
    let begin = if planner.tuning.subgroups { SUBGROUPS } else { "" };
    for (k, text) in texts.iter().enumerate() {
        let separator = if k == 0 { "" } else { "," };
        // The texts are ASCII, and JSON escapes their line feeds as Rust does.
        let _ = write!(all, "{separator}{:?}", format!("{begin}{text}"));
    }
    all += "]}";
    Some(all)
}
