//! What `crates/wgpu/src/source.rs` is to the texts that come from there: a bijection in WGSL.

/// A bijection of the library in WGSL, with its keys.
#[derive(Debug)]
pub(crate) struct WgslSource {
    pub(crate) last: u32,
    /// The definition of `forward`, and that of the inverse under the same name.
    pub(crate) forward: String,
    pub(crate) inverse: String,
    pub(crate) keys: Vec<[u32; 4]>,
    /// Always, as it is of the library.
    pub(crate) is_trusted: bool,
}

impl WgslSource {
    pub(crate) fn text(&self, is_inverted: bool) -> &str {
        if is_inverted { &self.inverse } else { &self.forward }
    }

    pub(crate) fn has_inverse(&self) -> bool {
        self.is_trusted
    }
}
