//! Compiles the kernels that the crate `bijective-shuffle-kernels` holds, and writes its files.
//!
//! The machine code is made by NVRTC 13.0, whose code is the one that the figures in the documents
//! were measured with. The PTX is made by NVRTC 12.0, because a driver refuses the PTX of a newer
//! compiler, and that of CUDA 12.0 is the oldest that is supported. `crates/kernels/make/run`
//! installs both and calls this program for all targets. No GPU is needed.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Mutex;
use std::{fs, io, thread};

use bijective_shuffle::cuda::make_kernels::{self, Promised};
use clap::{Parser, ValueEnum};
use file::{ImageContent, file};

mod file;

/// Compiles the kernels that the crate `bijective-shuffle-kernels` holds.
#[derive(Parser)]
struct Options {
    /// What to compile for.
    #[arg(value_enum, required = true)]
    targets: Vec<ImageTarget>,
    /// The folder of the crate's files.
    #[arg(long, default_value = "crates/kernels/data")]
    out: PathBuf,
    /// A folder for compiled kernels, from which those of texts that have not changed are taken.
    #[arg(long, default_value = "target/kernels")]
    compiled: PathBuf,
    /// Compiles everything again, writes nothing, and fails if a file differs.
    #[arg(long)]
    check: bool,
}

/// A target, with the name of its file.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ImageTarget {
    #[value(name = "sm_80")]
    Sm80,
    #[value(name = "sm_90")]
    Sm90,
    #[value(name = "ptx_70")]
    Ptx70,
}

impl ImageTarget {
    fn name(self) -> &'static str {
        match self {
            Self::Sm80 => "sm_80",
            Self::Sm90 => "sm_90",
            Self::Ptx70 => "ptx_70",
        }
    }

    fn architecture(self) -> u32 {
        match self {
            Self::Sm80 => 80,
            Self::Sm90 => 90,
            Self::Ptx70 => 70,
        }
    }

    /// The version of NVRTC that its files are made by.
    fn compiler(self) -> (u32, u32) {
        if self == Self::Ptx70 { (12, 0) } else { (13, 0) }
    }
}

fn main() -> ExitCode {
    match run(&Options::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn run(options: &Options) -> Result<(), Box<dyn std::error::Error>> {
    let version = make_kernels::compiler()?;
    for &target in &options.targets {
        if version != target.compiler() {
            let ((major, minor), name) = (target.compiler(), target.name());
            let message = format!("{name} is made by NVRTC {major}.{minor}, and not {version:?}");
            return Err(message.into());
        }
        let kernels = make_kernels::kernels(target.architecture())?;
        let folder = options.compiled.join(target.name());
        let known = (!options.check).then_some(&*folder);
        let images = compiled(&kernels, target, known)?;
        let is =
            if target == ImageTarget::Ptx70 { ImageContent::Text } else { ImageContent::Machine };
        let file = file(&kernels, &images, is)?;
        let path = options.out.join(target.name()).with_extension("bin");
        println!(
            "{}: {} kernels, {} bytes, compressed {}",
            target.name(),
            kernels.len(),
            images.iter().map(Vec::len).sum::<usize>(),
            file.len()
        );
        if !options.check {
            fs::write(path, file)?;
        } else if fs::read(&path)? != file {
            return Err(format!("{} is not what this tree makes", path.display()).into());
        }
    }
    Ok(())
}

/// Compiles kernels on all cores. Those that a folder has are taken from there.
fn compiled(
    kernels: &[Promised],
    target: ImageTarget,
    folder: Option<&Path>,
) -> Result<Vec<Vec<u8>>, Box<dyn std::error::Error>> {
    if let Some(folder) = folder {
        fs::create_dir_all(folder)?;
    }
    let next = Mutex::new(0..kernels.len());
    let take = || next.lock().ok()?.next();
    let work = || {
        let mut done = Vec::new();
        while let Some(number) = take() {
            done.push((number, image(&kernels[number], target, folder)?));
        }
        Ok::<_, String>(done)
    };
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let done: Vec<_> = thread::scope(|scope| {
        let workers: Vec<_> = (0..cores).map(|_| scope.spawn(work)).collect();
        workers.into_iter().map(|worker| worker.join().map_err(|_| "a thread panicked")).collect()
    });
    let mut images = vec![Vec::new(); kernels.len()];
    for done in done {
        for (number, image) in done?? {
            images[number] = image;
        }
    }
    Ok(images)
}

fn image(kernel: &Promised, target: ImageTarget, folder: Option<&Path>) -> Result<Vec<u8>, String> {
    let path = folder.map(|folder| folder.join(format!("{:032x}", kernel.key)));
    let known = path.as_ref().map_or(Err(io::ErrorKind::NotFound.into()), fs::read);
    if let Ok(image) = known {
        return Ok(image);
    }
    let image =
        make_kernels::compile(&kernel.text, target.architecture(), target == ImageTarget::Ptx70)
            .map_err(|error| error.to_string())?;
    if let Some(path) = path {
        keep(&path, &image).map_err(|error| error.to_string())?;
    }
    Ok(image)
}

/// Writes a file that is there as a whole or not at all, even if this program is stopped or runs
/// twice at a time.
fn keep(path: &Path, image: &[u8]) -> io::Result<()> {
    let unfinished = path.with_extension(std::process::id().to_string());
    fs::write(&unfinished, image)?;
    fs::rename(unfinished, path)
}
