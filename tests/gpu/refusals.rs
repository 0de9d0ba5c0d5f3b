//! What cannot be done is refused with an error that says why, and nothing is lost.

use bijective_shuffle::DeviceSource;
use bijective_shuffle::Error;
use bijective_shuffle::bijection::{Standard, Table, VariablePhilox};
use bijective_shuffle::cuda::cudarc::driver::CudaContext;
use bijective_shuffle::cuda::{Cuda, CudaWorkspace, RawArray};
use bijective_shuffle::error::{Defect, GpuError};
use bijective_shuffle::prelude::*;

use super::cuda;

/// What its device text says it is.
pub(super) struct Claims {
    pub(super) last: u64,
    pub(super) forward: &'static str,
    /// How many words of parameters the device text has, and the host.
    pub(super) words: usize,
    pub(super) params: usize,
}

impl Bijection for Claims {
    fn last(&self) -> u64 {
        self.last
    }
    fn forward(&self, slot: u64) -> u64 {
        slot
    }
    fn inverse(&self, index: u64) -> u64 {
        index
    }
    fn device_source(&self) -> Option<DeviceSource> {
        let text = format!(
            "struct Claims {{
                uint64_t unused[{}];
                __device__ uint64_t forward(uint64_t slot) const {{ return {}; }}
                __device__ uint64_t inverse(uint64_t index) const {{ return index; }}
            }};",
            self.words, self.forward
        );
        // SAFETY: the functions end and touch nothing, whatever they answer.
        Some(unsafe { DeviceSource::new("Claims", text, vec![0; 8 * self.params]) })
    }
}

#[test]
fn a_text_that_does_not_compile_is_shown() {
    let Some(cuda) = cuda() else { return };
    let f = Claims { last: 9, forward: "nonsense(slot)", words: 1, params: 1 };
    let mut items = [1, 2, 3];
    let Err(Error::Gpu(GpuError::CompileFailed { type_name, log })) = cuda.shuffle(&f, &mut items)
    else {
        panic!("it should not compile");
    };
    assert_eq!(type_name, "Claims");
    assert!(log.contains("nonsense"), "{log}");
    assert_eq!(items, [1, 2, 3]);
}

#[test]
fn parameters_of_another_size_than_the_struct_are_refused() {
    let Some(cuda) = cuda() else { return };
    let mut items = [1, 2, 3];
    for (words, params) in [(2, 1), (1, 2), (1, 0)] {
        let f = Claims { last: 9, forward: "slot", words, params };
        let Err(Error::Gpu(GpuError::CompileFailed { log, .. })) = cuda.shuffle(&f, &mut items)
        else {
            panic!("{words} words and {params} should not compile");
        };
        assert!(log.contains("the parameters are the struct's bytes"), "{log}");
    }
    assert_eq!(items, [1, 2, 3]);
}

/// A bijection with fewer surviving slots on the device than on the host.
#[test]
fn views_count_the_survivors_of_a_bijection_that_is_not_trusted() {
    let Some(cuda) = cuda() else { return };
    let mut workspace = CudaWorkspace::new(&cuda);
    let wrong = Err(Error::NotABijection(Defect::Survivors { expected: 5, actual: 1 }));
    let f = || Claims { last: 9, forward: "slot == 3 ? 2 : 8", words: 1, params: 1 };
    for places in [0..5, 0..3, 1..4] {
        let p = Permutation::from_bijection(5, f()).unwrap();
        let mut out =
            cuda.stream().alloc_zeros::<u64>((places.end - places.start) as usize).unwrap();
        assert_eq!(workspace.write_range(&p, places.clone(), &mut out), wrong, "{places:?}");
    }
}

#[test]
fn views_have_room_for_the_same_parameters_as_shuffles() {
    let Some(cuda) = cuda() else { return };
    let mut workspace = CudaWorkspace::new(&cuda);
    let mut out = cuda.stream().alloc_zeros::<u64>(5).unwrap();
    for (words, fits) in [(400, true), (430, false), (600, false)] {
        for last in [4, 9] {
            let f = Claims { last, forward: "slot", words, params: words };
            let answer = workspace.write_indexes(&f, &mut out);
            let refused = matches!(answer, Err(Error::Gpu(GpuError::ParamsTooLarge { .. })));
            assert!(if fits { answer.is_ok() } else { refused }, "{words} words: {answer:?}");
            let p = Permutation::from_bijection(5, f).unwrap();
            assert_eq!(workspace.write_range(&p, .., &mut out), answer, "{words} words, {last}");
        }
    }
}

#[test]
fn shuffles_refuse_unsuitable_bijections() {
    let Some(cuda) = cuda() else { return };
    let mut items = [1, 2, 3, 4, 5];
    let f = VariablePhilox::<24>::new(2, [1; 24]).unwrap();
    assert_eq!(cuda.shuffle(&f, &mut items), Err(Error::LengthExceedsDomain { len: 5, last: 3 }));
    let f = Table::from_seed(1000, 1);
    assert_eq!(cuda.shuffle(&f, &mut items), Err(Error::Gpu(GpuError::NoSource)));
    let f = Claims { last: 9, forward: "slot", words: 600, params: 600 };
    assert!(matches!(
        cuda.shuffle(&f, &mut items),
        Err(Error::Gpu(GpuError::ParamsTooLarge { bytes: 4800, .. }))
    ));
    assert_eq!(items, [1, 2, 3, 4, 5]);

    let stream = cuda.stream();
    let f = Standard::from_seed(100, 1);
    let source = stream.alloc_zeros::<u64>(100).unwrap();
    let mut out = stream.alloc_zeros::<u64>(99).unwrap();
    let mut workspace = CudaWorkspace::new(&cuda);
    assert_eq!(
        workspace.shuffle_into(&f, &source, &mut out),
        Err(Error::LengthMismatch { expected: 100, actual: 99 })
    );
    let p = Standard::from_seed(1 << 33, 1);
    let mut large = stream.alloc_zeros::<u8>(8).unwrap();
    let array = RawArray { source: 256, out: 1 << 60, len: 1 << 33, item_bytes: (64 << 10) + 1 };
    // SAFETY: it fails before anything is launched.
    let unallocated = unsafe { workspace.shuffle_raw(&p, array) };
    assert!(matches!(unallocated, Err(Error::Gpu(GpuError::ItemTooLarge { .. }))));
    // SAFETY: overlapping arrays are refused before anything is launched.
    let overlapping = unsafe { workspace.shuffle_raw(&p, RawArray { out: 256, ..array }) };
    assert_eq!(overlapping, Err(Error::Gpu(GpuError::ArraysOverlap)));
    stream.memset_zeros(&mut large).unwrap();
}

#[test]
fn a_slice_of_another_context_is_refused() {
    let Some(cuda) = cuda() else { return };
    let Ok(context) = CudaContext::new_non_primary(0, 0) else {
        println!("skipped: no second context");
        return;
    };
    let foreign = context.new_stream().unwrap().alloc_zeros::<u64>(100).unwrap();
    let mut out = cuda.stream().alloc_zeros::<u64>(100).unwrap();
    let f = Standard::from_seed(100, 1);
    let error = CudaWorkspace::new(&cuda).shuffle_into(&f, &foreign, &mut out);
    assert_eq!(error, Err(Error::Gpu(GpuError::WrongDevice { expected: 0, actual: 0 })));
    // Nor is one of another handle of the same context, which would not be waited for.
    let handle = CudaContext::new(0).unwrap();
    let foreign_handle = handle.new_stream().unwrap().alloc_zeros::<u64>(100).unwrap();
    let error = CudaWorkspace::new(&cuda).shuffle_into(&f, &foreign_handle, &mut out);
    assert_eq!(error, Err(Error::Gpu(GpuError::WrongDevice { expected: 0, actual: 0 })));
    // An engine of that context takes it.
    let there = Cuda::on_stream(context.default_stream()).unwrap();
    let mut out = there.stream().alloc_zeros::<u64>(100).unwrap();
    CudaWorkspace::new(&there).shuffle_into(&f, &foreign, &mut out).unwrap();
    there.stream().synchronize().unwrap();
}
