//! [`Contender`]: what fills an array with a kind of numbers.

use std::error::Error;

use bijective_shuffle::cuda::cudarc::driver::{
    CudaStream, CudaViewMut, DevicePtrMut, DeviceRepr, LaunchConfig, PushKernelArg,
};
use bijective_shuffle::cuda::{Cuda, CudaStreams, DeviceGenerator};
use bijective_shuffle::rng::{
    Fill, LaggedFibonacci521, LaggedFibonacci1279, Lcg32, Lcg64, Mwc, Philox4x32Rng, Streams,
    XorShift1024Weyl, Xorwow,
};

use crate::{curand, gpu_time};

/// All are seeded with this number.
const SEED: u64 = 42;

/// How many numbers at the beginning are compared with the CPU's.
const COMPARED: usize = 1 << 20;

/// Streams of generators with a state a thread, a state eight threads, and a state a block.
const ALONE: u64 = 1 << 18;
const EIGHTS: u64 = 1 << 15;
const BLOCKS_OF_64: u64 = 1 << 12;
const BLOCKS_OF_128: u64 = 1 << 11;

/// How long the calls between two events take, at least.
const MEASURED_SECONDS: f64 = 3e-3;
/// The most calls between two events.
const MOST_CALLS: usize = 1000;

/// A number of device memory.
pub(crate) trait Number:
    DeviceRepr + Copy + Default + PartialEq + core::fmt::Debug + Into<f64>
{
}

impl Number for u32 {}
impl Number for f32 {}
impl Number for f64 {}

/// What a [`Contender`] does.
type Work<'a, N> = dyn FnMut(&mut CudaViewMut<'_, N>) -> Result<(), Box<dyn Error>> + 'a;

/// Something that fills an array.
pub(crate) struct Contender<'a, N> {
    pub(crate) name: String,
    pub(crate) fill: Box<Work<'a, N>>,
    /// What the first call shall write at the beginning, if that is known.
    pub(crate) expected: Vec<N>,
    /// The mean and the variance of its numbers, if it draws any.
    pub(crate) moments: Option<(f64, f64)>,
}

impl<N> Contender<'_, N> {
    /// The time of a call in seconds, by events around several.
    pub(crate) fn time(
        &mut self,
        stream: &CudaStream,
        out: &mut CudaViewMut<'_, N>,
    ) -> Result<f64, Box<dyn Error>> {
        // One sample, since contenders take turns.
        gpu_time::of_calls(1, (MEASURED_SECONDS, MOST_CALLS), |calls| {
            gpu_time::by_events(stream, calls, || (self.fill)(out))
        })
    }
}

/// A kind of numbers, and who makes them.
pub(crate) trait Kind {
    type Number: Number;
    const NAME: &'static str;
    /// Mean and variance.
    const MOMENTS: (f64, f64);

    fn philox<const ROUNDS: usize>(
        cuda: &Cuda,
        rng: &mut Philox4x32Rng<ROUNDS>,
        out: &mut CudaViewMut<'_, Self::Number>,
    ) -> Result<(), bijective_shuffle::Error>;

    fn streams<G: DeviceGenerator>(
        streams: &mut CudaStreams<G>,
        out: &mut CudaViewMut<'_, Self::Number>,
    ) -> Result<(), bijective_shuffle::Error>;

    fn cpu(fill: &mut impl Fill, len: usize) -> Vec<Self::Number>;

    fn curand(
        generator: &mut curand::Generator,
        out: &mut CudaViewMut<'_, Self::Number>,
    ) -> Result<(), Box<dyn Error>>;
}

macro_rules! kind {
    ($kind:ident, $number:ty, $name:literal, $fill:ident, $curand:ident, $moments:expr) => {
        pub(crate) struct $kind;

        impl Kind for $kind {
            type Number = $number;
            const NAME: &'static str = $name;
            const MOMENTS: (f64, f64) = $moments;

            fn philox<const ROUNDS: usize>(
                cuda: &Cuda,
                rng: &mut Philox4x32Rng<ROUNDS>,
                out: &mut CudaViewMut<'_, $number>,
            ) -> Result<(), bijective_shuffle::Error> {
                cuda.$fill(rng, out)
            }

            fn streams<G: DeviceGenerator>(
                streams: &mut CudaStreams<G>,
                out: &mut CudaViewMut<'_, $number>,
            ) -> Result<(), bijective_shuffle::Error> {
                streams.$fill(out)
            }

            fn cpu(fill: &mut impl Fill, len: usize) -> Vec<$number> {
                let mut numbers = vec![Default::default(); len];
                fill.$fill(&mut numbers);
                numbers
            }

            fn curand(
                generator: &mut curand::Generator,
                out: &mut CudaViewMut<'_, $number>,
            ) -> Result<(), Box<dyn Error>> {
                Ok(generator.$curand(out)?)
            }
        }
    };
}

/// 2^32.
const WORDS: f64 = 4_294_967_296.0;

kind!(Words, u32, "u32", fill_u32, uniform, (WORDS / 2.0, WORDS * WORDS / 12.0));
kind!(Uniform32, f32, "f32", fill_f32, uniform, (0.5, 1.0 / 12.0));
kind!(Uniform64, f64, "f64", fill_f64, uniform, (0.5, 1.0 / 12.0));
kind!(Normal32, f32, "normal f32", fill_normal_f32, normal, (0.0, 1.0));
kind!(Normal64, f64, "normal f64", fill_normal_f64, normal, (0.0, 1.0));

/// The contenders that fill an array of `len` numbers, the bound first.
pub(crate) fn all<K: Kind>(
    cuda: &Cuda,
    len: usize,
) -> Result<Vec<Contender<'_, K::Number>>, Box<dyn Error>> {
    let few = len.min(COMPARED);
    let mut all = vec![
        write_only(cuda)?,
        philox::<K, 10>(cuda, few),
        philox::<K, 7>(cuda, few),
        streams::<K, Lcg32>(cuda, "Lcg32", ALONE, few)?,
        streams::<K, Lcg64>(cuda, "Lcg64", ALONE, few)?,
        streams::<K, Mwc>(cuda, "Mwc", ALONE, few)?,
        streams::<K, Xorwow>(cuda, "Xorwow", ALONE, few)?,
        streams::<K, XorShift1024Weyl>(cuda, "XorShift1024Weyl", EIGHTS, few)?,
        streams::<K, LaggedFibonacci521>(cuda, "LaggedFibonacci521", BLOCKS_OF_64, few)?,
        streams::<K, LaggedFibonacci1279>(cuda, "LaggedFibonacci1279", BLOCKS_OF_128, few)?,
        streams::<K, Philox4x32Rng>(cuda, "Philox4x32Rng", ALONE, few)?,
    ];
    if curand::is_there() {
        all.extend(peers::<K>(cuda));
    }
    Ok(all)
}

/// Stores of 16 bytes, and nothing else.
fn write_only<N: Number>(cuda: &Cuda) -> Result<Contender<'_, N>, Box<dyn Error>> {
    let text = "
        extern \"C\" __global__ void __launch_bounds__(256) write_only(uint4* out, uint64_t fours) {
            const uint32_t mine = blockIdx.x * 256 + threadIdx.x, all = gridDim.x * 256;
            for (uint64_t place = mine; place < fours; place += all) __stcs(out + place, make_uint4(mine, 1, 2, 3));
        }
    ";
    let kernel = cuda.kernel(text, "write_only")?;
    let stream = cuda.stream();
    let blocks = 8 * 4 * multiprocessors(cuda)?;
    let shape =
        LaunchConfig { grid_dim: (blocks, 1, 1), block_dim: (256, 1, 1), shared_mem_bytes: 0 };
    let fill = Box::new(move |out: &mut CudaViewMut<'_, N>| {
        let fours = (out.len() * size_of::<N>() / 16) as u64;
        let (address, _guard) = out.device_ptr_mut(stream);
        let mut launch = stream.launch_builder(&kernel);
        launch.arg(&address).arg(&fours);
        // SAFETY: the arguments are the kernel's. It writes that number of times 16 bytes: the
        // slice, borrowed for writing.
        unsafe { launch.launch(shape) }?;
        Ok(())
    });
    Ok(Contender { name: "write only".into(), fill, expected: Vec::new(), moments: None })
}

/// How many multiprocessors the device has.
fn multiprocessors(cuda: &Cuda) -> Result<u32, Box<dyn Error>> {
    use bijective_shuffle::cuda::cudarc::driver::sys::CUdevice_attribute as Attribute;
    let attribute = Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT;
    Ok(cuda.stream().context().attribute(attribute)? as u32)
}

fn philox<K: Kind, const ROUNDS: usize>(cuda: &Cuda, few: usize) -> Contender<'_, K::Number> {
    let mut rng = Philox4x32Rng::<ROUNDS>::from_key(SEED, 0);
    let expected = K::cpu(&mut rng.clone(), few);
    Contender {
        name: format!("Philox4x32-{ROUNDS}"),
        fill: Box::new(move |out| Ok(K::philox(cuda, &mut rng, out)?)),
        expected,
        moments: Some(K::MOMENTS),
    }
}

fn streams<'a, K: Kind, G: DeviceGenerator>(
    cuda: &'a Cuda,
    name: &str,
    count: u64,
    few: usize,
) -> Result<Contender<'a, K::Number>, Box<dyn Error>> {
    let mut streams = Streams::<G>::new(SEED, 0..count)?;
    let mut on_device = CudaStreams::new(cuda, &streams)?;
    let expected = K::cpu(&mut streams, few);
    Ok(Contender {
        name: format!("{name}, {count} streams"),
        fill: Box::new(move |out| Ok(K::streams(&mut on_device, out)?)),
        expected,
        moments: Some(K::MOMENTS),
    })
}

/// cuRAND's, as far as the library has them.
fn peers<K: Kind>(cuda: &Cuda) -> Vec<Contender<'_, K::Number>> {
    let mut peers = Vec::new();
    for (name, kind) in curand::KINDS {
        for (with, ordering) in curand::ORDERINGS {
            let name = format!("cuRAND {name}{with}");
            match curand::Generator::new(kind, ordering, SEED, cuda.stream()) {
                Ok(mut generator) => peers.push(Contender {
                    name,
                    fill: Box::new(move |out| K::curand(&mut generator, out)),
                    expected: Vec::new(),
                    moments: Some(K::MOMENTS),
                }),
                Err(error) => println!("# {name}: {error}"),
            }
        }
    }
    peers
}
