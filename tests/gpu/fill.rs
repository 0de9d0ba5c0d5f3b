//! Random numbers in device memory: those of the CPU, bit for bit.

use bijective_shuffle::Error;
use bijective_shuffle::cuda::cudarc::driver::{
    CudaSlice, CudaViewMut, DeviceRepr, LaunchConfig, PushKernelArg, ValidAsZeroBits,
};
use bijective_shuffle::cuda::{Cuda, CudaStreams, DeviceGenerator};
use bijective_shuffle::error::GpuError;
use bijective_shuffle::rng::{
    Fill, LaggedFibonacci521, LaggedFibonacci1279, Lcg32, Lcg64, Mwc, Philox4x32Rng, Streams,
    XorShift1024Weyl, Xorwow,
};

use super::cuda;
use bijective_shuffle_laws::short;

/// A kind of numbers: how each side fills with it.
trait Kind {
    type Number: DeviceRepr + ValidAsZeroBits + Copy + Default + PartialEq;

    fn cpu(fill: &mut impl Fill, out: &mut [Self::Number]);
    fn philox<const ROUNDS: usize>(
        cuda: &Cuda,
        rng: &mut Philox4x32Rng<ROUNDS>,
        out: &mut CudaViewMut<'_, Self::Number>,
    ) -> Result<(), Error>;
    fn streams<G: DeviceGenerator>(
        streams: &mut CudaStreams<G>,
        out: &mut CudaViewMut<'_, Self::Number>,
    ) -> Result<(), Error>;
}

macro_rules! kind {
    ($($kind:ident: $number:ty, $fill:ident;)*) => {$(
        struct $kind;

        impl Kind for $kind {
            type Number = $number;

            fn cpu(fill: &mut impl Fill, out: &mut [$number]) {
                fill.$fill(out);
            }
            fn philox<const ROUNDS: usize>(
                cuda: &Cuda,
                rng: &mut Philox4x32Rng<ROUNDS>,
                out: &mut CudaViewMut<'_, $number>,
            ) -> Result<(), Error> {
                cuda.$fill(rng, out)
            }
            fn streams<G: DeviceGenerator>(
                streams: &mut CudaStreams<G>,
                out: &mut CudaViewMut<'_, $number>,
            ) -> Result<(), Error> {
                streams.$fill(out)
            }
        }
    )*};
}

kind! {
    Words: u32, fill_u32;
    WideWords: u64, fill_u64;
    Floats: f32, fill_f32;
    Doubles: f64, fill_f64;
    NormalFloats: f32, fill_normal_f32;
    NormalDoubles: f64, fill_normal_f64;
}

/// Numbers before and after those that are filled, which must stay 0.
const GUARD: usize = 64;

/// What is in device memory after a fill of `len` numbers, from the place after `before` others.
fn filled<N: DeviceRepr + ValidAsZeroBits + Copy + Default + PartialEq>(
    cuda: &Cuda,
    before: usize,
    len: usize,
    fill: impl FnOnce(&mut CudaViewMut<'_, N>) -> Result<(), Error>,
) -> Vec<N> {
    let stream = cuda.stream();
    let mut out: CudaSlice<N> = stream.alloc_zeros(before + len + 2 * GUARD).unwrap();
    let first = GUARD + before;
    fill(&mut out.slice_mut(first..first + len)).unwrap();
    let mut all = stream.clone_dtoh(&out).unwrap();
    stream.synchronize().unwrap();
    assert!(all[first + len..].iter().all(|&x| x == N::default()), "written beyond the end");
    all.truncate(first + len);
    let numbers = all.split_off(first);
    assert!(all.iter().all(|&x| x == N::default()), "written before the beginning");
    numbers
}

fn philox<K: Kind, const ROUNDS: usize>(cuda: &Cuda) {
    // Lengths up to some tiles, starts at every alignment, positions within a block and across the
    // end of the low word; each is filled from where the last one ended.
    for position in [0, 1, (1 << 34) - 7] {
        for before in 0..4 {
            let mut rng = Philox4x32Rng::<ROUNDS>::from_key(42, 7);
            rng.set_position(position);
            let mut on_device = rng.clone();
            for len in [0, 1, 2, 3, 127, 4096, 70_001, 600_000] {
                let mut expected = vec![K::Number::default(); len];
                K::cpu(&mut rng, &mut expected);
                let got = filled(cuda, before, len, |out| K::philox(cuda, &mut on_device, out));
                assert!(got == expected, "{len} from {position}, {before} before");
                assert_eq!(on_device, rng);
            }
        }
    }
}

#[test]
fn a_stream_of_philox_is_that_of_the_cpu() {
    let Some(cuda) = cuda() else { return };
    philox::<Words, 10>(&cuda);
    philox::<Words, 7>(&cuda);
    philox::<WideWords, 10>(&cuda);
    philox::<Floats, 10>(&cuda);
    philox::<Doubles, 10>(&cuda);
    philox::<NormalFloats, 10>(&cuda);
    philox::<NormalDoubles, 10>(&cuda);
    // The shapes for many words, whose blocks take several tiles each.
    many::<Words>(&cuda, &[(0, 0), (3, 0), (0, 3), (3, 1)]);
    many::<Doubles>(&cuda, &[(0, 0), (3, 1)]);
    many::<NormalDoubles>(&cuda, &[(2, 0), (3, 1)]);
}

/// More than 2^26 words from each position on, a number of places after an aligned one.
fn many<K: Kind>(cuda: &Cuda, places: &[(u128, usize)]) {
    let len = (1 << 28) / size_of::<K::Number>() + 1001;
    for &(position, before) in &places[..if short() { 1 } else { places.len() }] {
        let mut rng = Philox4x32Rng::<10>::from_key(42, 7);
        rng.set_position(position);
        let mut on_device = rng.clone();
        let mut expected = vec![K::Number::default(); len];
        K::cpu(&mut rng, &mut expected);
        let got = filled(cuda, before, len, |out| K::philox(cuda, &mut on_device, out));
        assert!(got == expected, "{len} from {position}, {before} before");
        assert_eq!(on_device, rng);
    }
}

fn streams<K: Kind, G: DeviceGenerator + PartialEq>(cuda: &Cuda, streams: &Streams<G>) {
    for before in [0, 1] {
        let mut on_cpu = streams.clone();
        let mut on_device = CudaStreams::new(cuda, streams).unwrap();
        assert_eq!(on_device.len(), streams.len());
        let row = streams.row_len();
        for len in [3 * row, 1, 0, 9 * row + row / 3, 2 * row + 1] {
            let mut expected = vec![K::Number::default(); len];
            K::cpu(&mut on_cpu, &mut expected);
            let got = filled(cuda, before, len, |out| K::streams(&mut on_device, out));
            assert!(got == expected, "{len} numbers of {} streams", streams.len());
        }
        let back = on_device.to_streams().unwrap();
        assert!(back.generators() == on_cpu.generators(), "{} streams", streams.len());
    }
}

fn every_kind<G: DeviceGenerator + PartialEq>(cuda: &Cuda, counts: &[u64]) {
    for &count in counts {
        let ensemble = Streams::<G>::new(42, 3..3 + count).unwrap();
        streams::<Words, G>(cuda, &ensemble);
        streams::<WideWords, G>(cuda, &ensemble);
        streams::<Floats, G>(cuda, &ensemble);
        streams::<Doubles, G>(cuda, &ensemble);
        streams::<NormalFloats, G>(cuda, &ensemble);
        streams::<NormalDoubles, G>(cuda, &ensemble);
    }
}

#[test]
fn streams_of_a_thread_are_those_of_the_cpu() {
    let Some(cuda) = cuda() else { return };
    // Few, not a multiple of four, and enough that a thread takes several.
    let counts = [1, 1000, 1001, 1 << 18];
    every_kind::<Lcg32>(&cuda, &counts);
    every_kind::<Lcg64>(&cuda, &counts);
    every_kind::<Mwc>(&cuda, &counts);
    every_kind::<Xorwow>(&cuda, &counts);
    streams::<Words, Mwc>(&cuda, &Streams::<Mwc>::different(42, 1000).unwrap());
    streams::<Words, Lcg32>(&cuda, &Streams::<Lcg32>::leapfrog(42, 1000).unwrap());
}

#[test]
fn streams_of_several_threads_are_those_of_the_cpu() {
    let Some(cuda) = cuda() else { return };
    // Few, rows that end within a block of threads, and more streams than the device holds threads.
    every_kind::<Philox4x32Rng>(&cuda, &[1, 2, 1001, (1 << 18) + (1 << 14)]);
    every_kind::<Philox4x32Rng<7>>(&cuda, &[1001]);
    every_kind::<XorShift1024Weyl>(&cuda, &[1, 3, 333]);
    every_kind::<LaggedFibonacci521>(&cuda, &[1, 33]);
    every_kind::<LaggedFibonacci1279>(&cuda, &[1, 33]);
}

/// Blocks of a user's kernel, with these numbers of threads and streams, draw some rows.
fn drawn<G: DeviceGenerator>(
    cuda: &Cuda,
    text: &str,
    (blocks, threads, streams): (u32, u32, u32),
    rows: usize,
) -> (Vec<u32>, Vec<u32>) {
    let count = blocks * streams;
    let mut ensemble = Streams::<G>::new(5, 0..u64::from(count)).unwrap();
    let mut on_device = CudaStreams::new(cuda, &ensemble).unwrap();
    let len = rows * ensemble.row_len();
    let kernel = cuda.kernel(text, "draw").unwrap();
    let stream = cuda.stream();
    let mut out = stream.alloc_zeros::<u32>(len).unwrap();
    let (streams, drawn) = (u64::from(count), rows as u32);
    let mut launch = stream.launch_builder(&kernel);
    let mut states = on_device.states_mut();
    launch.arg(&mut states).arg(&streams).arg(&drawn).arg(&mut out);
    let shape =
        LaunchConfig { grid_dim: (blocks, 1, 1), block_dim: (threads, 1, 1), shared_mem_bytes: 0 };
    // SAFETY: the arguments are the kernel's, which writes a row of blocks at a time.
    unsafe { launch.launch(shape) }.unwrap();
    let got = stream.clone_dtoh(&out).unwrap();
    stream.synchronize().unwrap();
    let mut expected = vec![0; len];
    ensemble.fill_u32(&mut expected);
    // What the kernel has stored goes on.
    let mut more = vec![0; ensemble.row_len()];
    let mut more_on_device = stream.alloc_zeros::<u32>(more.len()).unwrap();
    ensemble.fill_u32(&mut more);
    on_device.fill_u32(&mut more_on_device).unwrap();
    expected.extend(more);
    let mut all = got;
    all.extend(stream.clone_dtoh(&more_on_device).unwrap());
    stream.synchronize().unwrap();
    (all, expected)
}

#[test]
fn a_users_kernel_draws_the_same_words() {
    let Some(cuda) = cuda() else { return };
    let text = |generator: &str, make: &str, step: &str| {
        format!(
            "using namespace bijective_shuffle;
             extern \"C\" __global__ void draw(uint32_t* states, uint64_t count, uint32_t rows, uint32_t* out) {{
                 using Rng = {generator};
                 const uint32_t thread = threadIdx.x % Rng::THREADS;
                 const uint64_t stream = (blockIdx.x * blockDim.x + threadIdx.x) / Rng::THREADS;
                 {make}
                 rng.load(states, count, stream);
                 __syncthreads();
                 for (uint32_t t = 0; t < rows; ++t) {{
                     uint32_t* place = out + (t * count + stream) * Rng::BLOCK;
                     {step}
                 }}
                 rng.store(states, count, stream);
             }}"
        )
    };
    fn check<G: DeviceGenerator>(cuda: &Cuda, text: &str, threads: u32, streams: u32) {
        let (got, expected) = drawn::<G>(cuda, text, (12, threads, streams), 20);
        assert!(got == expected, "{text}");
    }
    let (alone, thread) = ("Rng rng;", "Rng rng(thread);");
    let ring = "alignas(16) __shared__ uint32_t ring[Rng::RING]; Rng rng(ring, thread);";
    let word = "place[thread] = rng.next();";
    let four = "uint32_t words[4]; rng.next4(words); \
                for (uint32_t k = 0; k < 4; ++k) place[4 * thread + k] = words[k];";
    check::<Xorwow>(&cuda, &text("Xorwow", alone, word), 5, 5);
    let block = "uint32_t words[4]; rng.next_block(words); \
                 for (uint32_t k = 0; k < 4; ++k) place[k] = words[k];";
    check::<Philox4x32Rng>(&cuda, &text("Philox4x32Rng<10>", alone, block), 5, 5);
    let words = "for (uint32_t k = 0; k < 4; ++k) place[k] = rng.next();";
    check::<Philox4x32Rng<7>>(&cuda, &text("Philox4x32Rng<7>", alone, words), 5, 5);
    check::<XorShift1024Weyl>(&cuda, &text("XorShift1024Weyl", thread, word), 64, 2);
    check::<XorShift1024Weyl>(&cuda, &text("XorShift1024WeylQuads", thread, four), 64, 8);
    check::<LaggedFibonacci1279>(&cuda, &text("LaggedFibonacci1279", ring, word), 512, 1);
    let quads = text("LaggedFibonacci<521, 353, 64>", ring, four);
    check::<LaggedFibonacci521>(&cuda, &quads, 64, 1);
}

#[test]
fn kernels_that_are_wrong_are_refused() {
    let Some(cuda) = cuda() else { return };
    let text = "extern \"C\" __global__ void nothing() {}";
    assert!(cuda.kernel(text, "nothing").is_ok());
    for (text, name) in [("int x = ;", "nothing"), (text, "something"), (text, "not\0hing")] {
        let error = cuda.kernel(text, name).unwrap_err();
        assert!(
            matches!(&error, Error::Gpu(GpuError::CompileFailed { type_name, .. }) if type_name == name),
            "{error}"
        );
    }
}

#[test]
fn numbers_for_another_context_are_refused() {
    use bijective_shuffle::cuda::cudarc::driver::CudaContext;
    let Some(cuda) = cuda() else { return };
    let other = CudaContext::new_non_primary(0, 0).unwrap().new_stream().unwrap();
    let mut out = other.alloc_zeros::<u32>(100).unwrap();
    let mut rng = Philox4x32Rng::new(1, 0);
    let before = rng.clone();
    let refused = Err(Error::Gpu(GpuError::WrongDevice { expected: 0, actual: 0 }));
    assert_eq!(cuda.fill_u32(&mut rng, &mut out), refused);
    assert_eq!(rng, before);
    let ensemble = Streams::<Mwc>::new(1, 0..10).unwrap();
    let mut on_device = CudaStreams::new(&cuda, &ensemble).unwrap();
    assert_eq!(on_device.fill_u32(&mut out), refused);
    assert!(on_device.to_streams().unwrap().generators() == ensemble.generators());
}

/// The quotients and roots of `normal_f32` skip a branch that the device's correctly rounded
/// operations have for rare operands. All operands that a normal number can need have the same
/// bits.
#[test]
fn quotients_and_roots_of_normal_numbers_are_rounded() {
    let Some(cuda) = cuda() else { return };
    let text = "
        using namespace bijective_shuffle;
        using namespace bijective_shuffle::rounded;
        extern \"C\" __global__ void compare(uint64_t* differing) {
            const uint64_t thread = blockIdx.x * uint64_t(blockDim.x) + threadIdx.x;
            const uint64_t threads = uint64_t(gridDim.x) * blockDim.x;
            unsigned long long quotients = 0, roots = 0;
            // Each mantissa from the root of a half up to the root of two.
            for (uint64_t k = thread; k < uint64_t(1) << 23; k += threads) {
                const float f = sub(from_bits(uint32_t(k) + 0x3F3304F4u), 1.0f);
                quotients += to_bits(div(f, add(2.0f, f))) != to_bits(__fdiv_rn(f, add(2.0f, f)));
            }
            // Each word of a radius; its lowest bit is not used.
            for (uint64_t k = thread; k < uint64_t(1) << 31; k += threads) {
                const float uniform = add(mul(float(int(k)), 0x1p-31f), 0x1p-32f);
                const float square = -twice_ln(uniform);
                roots += to_bits(root(square)) != to_bits(__fsqrt_rn(square));
                float numbers[2];
                normal_f32(uint32_t(k) << 1, 0, numbers);
                roots += to_bits(numbers[0]) != to_bits(__fsqrt_rn(square));
            }
            if (quotients != 0) atomicAdd(reinterpret_cast<unsigned long long*>(differing), quotients);
            if (roots != 0) atomicAdd(reinterpret_cast<unsigned long long*>(differing + 1), roots);
        }";
    let kernel = cuda.kernel(text, "compare").unwrap();
    let stream = cuda.stream();
    let mut differing = stream.alloc_zeros::<u64>(2).unwrap();
    let shape =
        LaunchConfig { grid_dim: (1024, 1, 1), block_dim: (256, 1, 1), shared_mem_bytes: 0 };
    let mut launch = stream.launch_builder(&kernel);
    launch.arg(&mut differing);
    // SAFETY: the argument is the kernel's, which adds to two words.
    unsafe { launch.launch(shape) }.unwrap();
    let differing = stream.clone_dtoh(&differing).unwrap();
    stream.synchronize().unwrap();
    assert_eq!(differing, [0, 0]);
}
