//! What cannot be done is a typed error, after which nothing is lost.

use bijective_shuffle::bijection::{GridFeistel, MulXorshift, Standard};
use bijective_shuffle::{Bijection, Error, FromSeed};
use wgpu::BufferUsages;

use super::gpu;
use crate::{Wgpu, WgpuError, WgslError, WgslSource};

/// A device of its own, with the given limits.
pub(super) fn device(limits: impl FnOnce(&mut wgpu::Limits)) -> Wgpu {
    let instance = wgpu::Instance::default();
    let adapter = pollster::block_on(instance.request_adapter(&Default::default()));
    let mut required_limits = wgpu::Limits::default();
    limits(&mut required_limits);
    let descriptor = wgpu::DeviceDescriptor { required_limits, ..Default::default() };
    let adapter = adapter.expect("there was one before");
    let (device, queue) =
        pollster::block_on(adapter.request_device(&descriptor)).expect("it opens");
    Wgpu::on_device(device, queue)
}

#[test]
fn bijections_without_a_text_are_refused() {
    let Some(gpu) = gpu() else { return };
    struct Backwards;
    impl Bijection for Backwards {
        fn last(&self) -> u64 {
            2
        }
        fn forward(&self, slot: u64) -> u64 {
            2 - slot
        }
        fn inverse(&self, index: u64) -> u64 {
            2 - index
        }
    }
    let mut items = [1, 2, 3_u8];
    let error = gpu.shuffle(&Backwards, &mut items).unwrap_err();
    assert_eq!(error, WgpuError::Wgsl(WgslError::NoSource { family: None }));
    assert!(error.to_string().contains("WgslSource"));
    let grid = GridFeistel::<10>::from_seed(3, 1);
    match gpu.shuffle(&grid, &mut items).unwrap_err() {
        WgpuError::Wgsl(WgslError::NoSource { family: Some(name) }) => {
            assert_eq!(name, "GridFeistel");
        }
        other => panic!("{other:?}"),
    }
    let wide = MulXorshift::<10>::from_seed(1 << 33, 1);
    let error = gpu.shuffle(&wide, &mut items).unwrap_err();
    assert_eq!(error, WgslError::DomainTooWide { last: (1 << 33) - 1 }.into());
    let error = gpu.shuffle(&Standard::from_seed(2, 1), &mut items).unwrap_err();
    assert_eq!(error, Error::LengthExceedsDomain { len: 3, last: 1 }.into());
    assert_eq!(items, [1, 2, 3]);
}

#[test]
fn limits_of_a_device_are_kept() {
    if gpu().is_none() {
        return;
    }
    let gpu = device(|limits| {
        limits.max_storage_buffer_binding_size = 1 << 16;
        limits.max_uniform_buffer_binding_size = 1 << 10;
        limits.max_buffer_size = 1 << 17;
    });
    let original: Vec<u32> = (0..20_000).collect();
    let mut items = original.clone();
    // An array of twice the largest buffer.
    let mut many = vec![7_u32; 1 << 16];
    let error = gpu.shuffle(&Standard::from_seed(1 << 16, 1), &mut many).unwrap_err();
    assert!(matches!(error, WgpuError::LimitExceeded { asked: 0x40000, most: 0x20000, .. }), "{error:?}");
    assert!(error.to_string().starts_with("262144 bytes of one buffer exceed the limit of 131072"));
    // Bytes are moved by indexes, which have to fit a binding.
    let mut bytes = [7_u8; 20_000];
    let error = gpu.shuffle(&Standard::from_seed(20_000, 1), &mut bytes).unwrap_err();
    assert!(matches!(error, WgpuError::LimitExceeded { asked: 80_000, most: 65_536, .. }), "{error:?}");
    // A workspace that has met such an array serves shorter ones.
    let mut workspace = gpu.workspace();
    let usage = BufferUsages::STORAGE | BufferUsages::COPY_DST | BufferUsages::COPY_SRC;
    let [from, into] =
        [0, 1].map(|_| gpu.context().buffer("bytes", 20_000, usage).expect("within the limits"));
    let mut shuffle = |encoder: &mut _, len| {
        let f = Standard::from_seed(len, 1);
        workspace.shuffle_into(encoder, &f, len, 1, from.slice(..), into.slice(..))
    };
    let encoder = || gpu.device().create_command_encoder(&Default::default());
    let error = shuffle(&mut encoder(), 20_000).unwrap_err();
    assert!(matches!(error, WgpuError::LimitExceeded { asked: 80_000, most: 65_536, .. }), "{error:?}");
    shuffle(&mut encoder(), 100).expect("within the limits");
    // An item that does not fit a binding.
    let mut large = [[7_u32; 1 << 14]; 2];
    let error = gpu.shuffle(&Standard::from_seed(2, 1), &mut large).unwrap_err();
    assert!(matches!(error, WgpuError::LimitExceeded { most: 65_536, .. }), "{error:?}");
    let text = "fn forward(slot: u32) -> u32 { return slot; }";
    let error = gpu.shuffle(&WgslSource::new(99, text, [0; 1000]), &mut items[..100]).unwrap_err();
    assert!(matches!(error, WgpuError::LimitExceeded { asked: 4048, most: 1024, .. }), "{error:?}");
    // What is within the limits goes.
    let f = Standard::from_seed(16_000, 1);
    gpu.shuffle(&f, &mut items[..16_000]).expect("within the limits");
    gpu.unshuffle(&f, &mut items[..16_000]).expect("within the limits");
    assert_eq!(items, original);
}

#[test]
fn lost_device_is_an_error() {
    if gpu().is_none() {
        return;
    }
    for listens in [false, true] {
        let gpu = device(|_| ());
        if listens {
            gpu.context().listen();
        }
        let f = Standard::from_seed(1000, 1);
        let mut items: Vec<u32> = (0..1000).collect();
        gpu.shuffle(&f, &mut items).expect("it is there");
        let mut workspace = gpu.workspace();
        let into =
            gpu.context().buffer("indexes", 4000, BufferUsages::STORAGE).expect("it is there");
        gpu.device().destroy();
        let before = items.clone();
        let check = |error| match error {
            WgpuError::DeviceLost { message } => assert!(!message.is_empty()),
            // The program listens itself then.
            WgpuError::DriverFailed { .. } if !listens => {}
            other => panic!("{other:?}"),
        };
        check(gpu.shuffle(&f, &mut items).unwrap_err());
        check(
            gpu.verify(&WgslSource::new(9, "fn forward(x: u32) -> u32 { return x; }", []), 9)
                .unwrap_err(),
        );
        // Recording notices it too, or leaves it to the program's submission.
        let mut encoder = gpu.device().create_command_encoder(&Default::default());
        let into = into.slice(..);
        if let Err(error) = workspace.write_indexes(&mut encoder, &f, 1000, into) {
            check(error);
        }
        assert_eq!(items, before);
    }
}

#[test]
fn buffers_that_do_not_fit_are_refused() {
    let Some(gpu) = gpu() else { return };
    let buffer = |usage| {
        gpu.device().create_buffer(&wgpu::BufferDescriptor {
            label: None,
            size: 4096,
            usage,
            mapped_at_creation: false,
        })
    };
    let (a, b) = (buffer(BufferUsages::STORAGE), buffer(BufferUsages::STORAGE));
    let plain = buffer(BufferUsages::COPY_DST);
    let f = Standard::from_seed(1000, 1);
    let mut workspace = gpu.workspace();
    let mut encoder = gpu.device().create_command_encoder(&Default::default());
    let mut fault =
        |from, into, len| match workspace.shuffle_into(&mut encoder, &f, len, 4, from, into) {
            Err(WgpuError::UnsuitableBuffer { fault }) => fault,
            other => panic!("{other:?}"),
        };
    assert!(fault(a.slice(..), a.slice(..), 1000).contains("one buffer"));
    assert!(fault(a.slice(..2000), b.slice(..), 1000).contains("shorter"));
    assert!(fault(a.slice(..), b.slice(256..), 1000).contains("shorter"));
    assert!(fault(a.slice(..), b.slice(4..), 500).contains("alignment"));
    assert!(fault(a.slice(..), plain.slice(..), 500).contains("STORAGE"));
    let error = workspace.shuffle(&mut encoder, &f, 1000, &[(a.slice(..), 4)]).unwrap_err();
    assert!(matches!(error, WgpuError::UnsuitableBuffer { fault } if fault.contains("COPY_SRC")));
    workspace
        .shuffle_into(&mut encoder, &f, 0, 4, a.slice(..), a.slice(..))
        .expect("nothing to do");
    workspace.shuffle_into(&mut encoder, &f, 1000, 4, a.slice(..), b.slice(..)).expect("it fits");
}

/// Two arrays that share memory would be moved one after the other, and un-shuffled in the wrong
/// order.
#[test]
fn arrays_of_one_call_share_no_memory() {
    let Some(gpu) = gpu() else { return };
    let usage = BufferUsages::STORAGE | BufferUsages::COPY_SRC | BufferUsages::COPY_DST;
    let label = None;
    let describe = wgpu::BufferDescriptor { label, size: 8192, usage, mapped_at_creation: false };
    let (a, b) = (gpu.device().create_buffer(&describe), gpu.device().create_buffer(&describe));
    let f = Standard::from_seed(500, 1);
    let mut workspace = gpu.workspace();
    let mut encoder = gpu.device().create_command_encoder(&Default::default());
    let mut refused = |arrays: &[(wgpu::BufferSlice<'_>, u32)]| {
        let there = workspace.shuffle(&mut encoder, &f, 500, arrays);
        assert_eq!(workspace.unshuffle(&mut encoder, &f, 500, arrays), there);
        match there {
            Ok(()) => None,
            Err(WgpuError::ArraysOverlap { arrays }) => Some(arrays),
            Err(other) => panic!("{other:?}"),
        }
    };
    let whole = a.slice(..);
    assert_eq!(refused(&[(whole, 4), (whole, 4)]), Some([0, 1]));
    assert_eq!(refused(&[(b.slice(..), 4), (a.slice(..2048), 4), (whole, 4)]), Some([1, 2]));
    // 500 items of 4 bytes end at 2000, and of 3 bytes at 1500.
    assert_eq!(refused(&[(a.slice(1792..), 8), (whole, 4)]), Some([0, 1]));
    assert_eq!(refused(&[(a.slice(1536..), 8), (whole, 3)]), None);
    assert_eq!(refused(&[(a.slice(2048..), 4), (whole, 4), (b.slice(..), 4)]), None);
    // Items without bytes share none.
    assert_eq!(refused(&[(whole, 0), (whole, 4)]), None);
    let text = WgpuError::ArraysOverlap { arrays: [0, 1] }.to_string();
    assert!(text.starts_with("arrays 0 and 1 share memory"), "{text}");
}
