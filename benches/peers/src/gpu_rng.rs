//! Times random numbers that fill device memory: ours, cuRAND's, and a kernel that only writes.

mod contenders;

use std::error::Error;

use bijective_shuffle::cuda::Cuda;
use bijective_shuffle::cuda::cudarc::driver::{CudaSlice, CudaViewMut};

use crate::arguments::{Common, GpuNumbers};
use crate::contender::Choice;
use crate::curand;
use crate::measure::median;
use crate::sheet::Sheet;

use contenders::{Contender, Number};

/// How many numbers at the beginning and at the end have their mean and variance looked at.
const LOOKED_AT: usize = 1 << 16;

/// What a contender answers.
type Done = Result<(), Box<dyn Error>>;

/// Measures everything, and prints rows.
pub(crate) fn run(numbers: &GpuNumbers, common: &Common) -> Done {
    let cuda = Cuda::new()?;
    let repeats = common.effort().repeats;
    let curand = match curand::is_there().then(curand::version) {
        Some(version) => format!("cuRAND {}", version.unwrap_or(0)),
        None => "no cuRAND: put the folder of libcurand.so.10 in LD_LIBRARY_PATH".into(),
    };
    let number = format!("seconds: of one call, median of {repeats}; {curand}");
    let sheet = Sheet::of_gpu(&cuda, &number, &["name", "numbers", "length", "seconds"])?;
    let mut memory = cuda.stream().alloc_zeros::<u32>(1 << numbers.power)?;
    let choice = Choice { only: &numbers.only, skip: &common.skip };
    let bench = Bench { cuda: &cuda, sheet: &sheet, repeats, choice };
    bench.kind::<contenders::Words>(&mut memory)?;
    bench.kind::<contenders::Uniform32>(&mut memory)?;
    bench.kind::<contenders::Normal32>(&mut memory)?;
    bench.kind::<contenders::Uniform64>(&mut memory)?;
    bench.kind::<contenders::Normal64>(&mut memory)
}

struct Bench<'a> {
    cuda: &'a Cuda,
    sheet: &'a Sheet,
    repeats: usize,
    choice: Choice<'a>,
}

impl Bench<'_> {
    /// All contenders for a kind of numbers, as many as fill the memory; prints a row for each.
    fn kind<K: contenders::Kind>(&self, memory: &mut CudaSlice<u32>) -> Done {
        let len = memory.len() * 4 / size_of::<K::Number>();
        // SAFETY: all bits are a number, and there are as many bytes.
        let mut out = unsafe { memory.transmute_mut::<K::Number>(len) }.ok_or("too short")?;
        let mut contenders = contenders::all::<K>(self.cuda, len)?;
        contenders.retain(|contender| self.choice.takes(&contender.name));
        contenders.retain_mut(|contender| match self.check(contender, &mut out) {
            Ok(()) => true,
            Err(error) => {
                println!("# {}, {}: {error}", contender.name, K::NAME);
                false
            }
        });
        let mut times = vec![Vec::new(); contenders.len()];
        for _ in 0..self.repeats {
            for (contender, times) in contenders.iter_mut().zip(&mut times) {
                times.push(contender.time(self.cuda.stream(), &mut out)?);
            }
        }
        for (contender, times) in contenders.iter().zip(times) {
            let seconds = format!("{:e}", median(times));
            let row = [&contender.name, K::NAME, &len.to_string(), &seconds];
            self.sheet.row(&row)?;
        }
        Ok(())
    }

    /// Lets a contender work once, and looks at what it wrote.
    fn check<N: Number>(
        &self,
        contender: &mut Contender<'_, N>,
        out: &mut CudaViewMut<'_, N>,
    ) -> Done {
        let stream = self.cuda.stream();
        stream.memset_zeros(&mut zeros(out)?)?;
        (contender.fill)(out)?;
        let len = contender.expected.len();
        let got = stream.clone_dtoh(&out.slice(..len.min(out.len())))?;
        stream.synchronize()?;
        if !contender.expected.starts_with(&got) {
            return Err("other numbers than the CPU's".into());
        }
        let Some((mean, variance)) = contender.moments else { return Ok(()) };
        let looked_at = LOOKED_AT.min(out.len());
        for start in [0, out.len() - looked_at] {
            let numbers = stream.clone_dtoh(&out.slice(start..start + looked_at))?;
            stream.synchronize()?;
            let numbers = || numbers.iter().map(|&x| x.into());
            let count = looked_at as f64;
            let found = numbers().sum::<f64>() / count;
            let spread = numbers().map(|x: f64| (x - mean).powi(2)).sum::<f64>() / count;
            // Six standard deviations of the mean; the variance's is at most sqrt(2 / count) of it.
            let (off, wide) = ((found - mean).abs(), (spread / variance - 1.0).abs());
            if off > 6.0 * (variance / count).sqrt() || wide > 6.0 * (2.0 / count).sqrt() {
                return Err(format!("mean {found}, variance {spread}").into());
            }
        }
        Ok(())
    }
}

/// The same memory as bytes, which may be set to zero.
fn zeros<'a, N>(out: &'a mut CudaViewMut<'_, N>) -> Result<CudaViewMut<'a, u8>, Box<dyn Error>> {
    let bytes = out.len() * size_of::<N>();
    // SAFETY: the view has as many bytes as the numbers have, it borrows them for writing, and
    // whatever is written there is a number again: integers and floating-point numbers have no
    // invalid bits.
    Ok(unsafe { out.transmute_mut::<u8>(bytes) }.ok_or("too short")?)
}
