//! What `crates/wgpu/src/source.rs` is to the texts that come from there: a bijection in WGSL.

/// A bijection of the library in WGSL, with its keys.
#[derive(Debug)]
pub(crate) struct WgslSource {
    /// The definition of `forward`, and that of the inverse under the same name.
    pub(crate) forward: String,
    pub(crate) inverse: String,
    pub(crate) keys: Vec<[u32; 4]>,
}

impl WgslSource {
    pub(crate) fn text(&self, is_inverted: bool) -> &str {
        if is_inverted { &self.inverse } else { &self.forward }
    }
}
