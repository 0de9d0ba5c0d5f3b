//! What `crates/wgpu/src/source.rs` is to the texts that come from there: a bijection in WGSL.

/// A bijection of the library in WGSL, with its keys.
#[derive(Debug)]
pub(crate) struct WgslSource {
    pub(crate) text: Text,
    pub(crate) keys: Vec<[u32; 4]>,
}

/// The definition of `forward`, and that of the inverse under the same name.
#[derive(Debug)]
pub(crate) enum Text {
    Family { forward: String, inverse: String },
}

impl WgslSource {
    pub(crate) fn text(&self, is_inverted: bool) -> &str {
        let Text::Family { forward, inverse } = &self.text;
        if is_inverted { inverse } else { forward }
    }
}
