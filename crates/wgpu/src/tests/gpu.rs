//! The GPU of this machine, for the unit tests and for `tests/conformance.rs`.

use std::sync::OnceLock;

use super::Wgpu;

/// The GPU of this machine.
pub(crate) fn gpu() -> Option<&'static Wgpu> {
    static GPU: OnceLock<Option<Wgpu>> = OnceLock::new();
    let gpu = GPU.get_or_init(|| match Wgpu::new() {
        Ok(gpu) => {
            println!("{:?}", gpu.device().adapter_info());
            Some(gpu)
        }
        Err(error) => {
            let is_required = std::env::var_os("BIJECTIVE_SHUFFLE_REQUIRE_WGPU").is_some();
            assert!(!is_required, "{error}");
            println!("skipped: {error}");
            None
        }
    });
    gpu.as_ref()
}
