//! Programs: assembling the text of a kernel, compiling it, and keeping the result.
//!
//! There is one program for each kernel. Its text and the bijection's type name determine the
//! compiled code, and the bijection's parameters do not, so one program serves every key of a
//! width. Compiled programs are kept in the process. They are kept on disk only in a folder that
//! the user names, since write access to it is control over what the GPU runs.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fs::{self, File};
use std::hash::{BuildHasher, DefaultHasher, Hash, Hasher, RandomState};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use super::kernel::{BijectionUse, Instance, Library};
use super::kernels;
use super::nvrtc::{CompiledTo, Nvrtc};
use super::plan::{DevicePlan, Evaluated};
use super::word_type::WordType;
use crate::Error;
use crate::bijection::BijectionForm;
use crate::cuda::device_header;
use crate::error::GpuError;

/// What every text may use: integers of fixed width and the markers of device functions.
pub(crate) const PRELUDE: &str = include_str!("../../../gpu/prelude.cuh");

/// The headers that the texts of the project's own bijections consist of.
const HEADERS: [(&str, &str); 9] = [
    ("bijection/affine.cuh", include_str!("../../../gpu/bijection/affine.cuh")),
    ("bijection/combinators.cuh", include_str!("../../../gpu/bijection/combinators.cuh")),
    ("bijection/grid_feistel.cuh", include_str!("../../../gpu/bijection/grid_feistel.cuh")),
    ("bijection/lcg.cuh", include_str!("../../../gpu/bijection/lcg.cuh")),
    ("bijection/mul_xorshift.cuh", include_str!("../../../gpu/bijection/mul_xorshift.cuh")),
    ("bijection/swap_or_not.cuh", include_str!("../../../gpu/bijection/swap_or_not.cuh")),
    ("bijection/table.cuh", include_str!("../../../gpu/bijection/table.cuh")),
    ("bijection/variable_philox.cuh", include_str!("../../../gpu/bijection/variable_philox.cuh")),
    ("rng/philox4x32.cuh", include_str!("../../../gpu/rng/philox4x32.cuh")),
];

/// The texts of every program that permutes, each of which uses those before it.
const LAYERS: &[&str] = &[
    include_str!("../../../gpu/runtime/lookback.cuh"),
    include_str!("../../../gpu/runtime/scan.cuh"),
    include_str!("../../../gpu/shuffle/items.cuh"),
    include_str!("../../../gpu/shuffle/direct.cuh"),
    include_str!("../../../gpu/shuffle/at_once.cuh"),
    include_str!("../../../gpu/shuffle/partitioned.cuh"),
    include_str!("../../../gpu/shuffle/check.cuh"),
    include_str!("../../../gpu/group/shards.cuh"),
    include_str!("../../../gpu/group/exchange.cuh"),
    include_str!("../../../gpu/rng/philox4x32.cuh"),
    include_str!("../../../gpu/batch/draw.cuh"),
    include_str!("../../../gpu/batch/rows.cuh"),
    include_str!("../../../gpu/batch/tiles.cuh"),
    include_str!("../../../gpu/affine.cuh"),
];

/// What follows them in a program of the strategy in place. The texts of the embedded kernels do
/// not depend on it.
const IN_PLACE: &str = concat!(
    include_str!("../../../gpu/shuffle/in_place/blocks.cuh"),
    include_str!("../../../gpu/shuffle/in_place/buckets.cuh"),
);

/// What follows them in a program that moves segments, for the same reason.
const SEGMENTS: &str = include_str!("../../../gpu/batch/segments.cuh");

/// The name of the kernel in every program except a user's.
pub(crate) const ENTRY: &str = "entry";

/// The program of one kernel: exactly what determines the compiled code.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Program {
    /// The type `F`.
    bijection: BijectionForm,
    kernel: KernelText,
}

/// The kernel's own text.
#[allow(clippy::large_enum_variant, reason = "nearly every program is of this crate")]
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum KernelText {
    /// A kernel of this crate.
    Own(Instance),
    /// A user's text, which follows the generators' and defines a kernel.
    User(String),
}

impl Program {
    /// The program of a kernel and of what it evaluates.
    pub(crate) fn new(evaluated: &Evaluated<'_>, kernel: &Instance) -> Self {
        let bijection = form(evaluated).into_owned();
        Self { bijection, kernel: KernelText::Own(kernel.clone()) }
    }

    /// The programs that a plan and its alternative launch, and the one that initialises the memory
    /// of a look-back.
    pub(crate) fn all(plan: &DevicePlan<'_>) -> Vec<Self> {
        let launched = plan.launches().into_iter();
        let launched = launched.map(|launch| Self::new(&launch.evaluated, &launch.kernel));
        let initialised = Self::new(&Evaluated::Nothing, &kernels::new_tile_states().erase());
        launched.chain([initialised]).collect()
    }

    /// The program of a user's text, which follows the generators' and defines a kernel of this
    /// name.
    pub(crate) fn user(text: &str, name: &str) -> Self {
        let bijection = BijectionForm::of_text(name.to_owned().into(), "".into(), 0);
        Self { bijection, kernel: KernelText::User(text.into()) }
    }

    /// Whether this is the program that [`new`](Self::new) would return.
    pub(crate) fn is(&self, evaluated: &Evaluated<'_>, kernel: &Instance) -> bool {
        matches!(&self.kernel, KernelText::Own(own) if own == kernel)
            && self.bijection == *form(evaluated)
    }

    /// What its code is like: the bijection that it evaluates and the function that it calls, or
    /// the library that the function is in.
    pub(crate) fn group(&self) -> String {
        let type_name = self.bijection.type_name();
        match &self.kernel {
            KernelText::Own(kernel) if kernel.bijection() == BijectionUse::None => {
                format!("{:?}", kernel.library())
            }
            KernelText::Own(kernel) => format!("{type_name} {}", kernel.function()),
            KernelText::User(_) => type_name,
        }
    }

    /// The whole text.
    pub(crate) fn full_text(&self) -> String {
        match &self.kernel {
            KernelText::Own(kernel) => {
                let own = kernel.text(ENTRY);
                match kernel.library() {
                    Library::Permutations => permutations(&self.bijection, "", &own),
                    Library::InPlace => permutations(&self.bijection, IN_PLACE, &own),
                    Library::Segments => permutations(&self.bijection, SEGMENTS, &own),
                    Library::Fill => fill(&own),
                }
            }
            // The compiler's log then has the line numbers of the user's text.
            KernelText::User(text) => format!("{}\n#line 1 \"kernel\"\n{text}", device_header()),
        }
    }

    /// Compiles the program.
    pub(crate) fn compile(&self, target: CompiledTo) -> Result<Vec<u8>, Error> {
        compile(&self.full_text(), &self.bijection.type_name(), target)
    }

    /// The program's code for a target: from memory or from the folder, if it has been compiled
    /// before.
    pub(crate) fn image(
        &self,
        target: CompiledTo,
        folder: Option<&Path>,
    ) -> Result<Arc<[u8]>, Error> {
        type Images = HashMap<(Program, CompiledTo), Arc<[u8]>>;
        static IMAGES: Mutex<Option<Images>> = Mutex::new(None);
        let images = || IMAGES.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (self.clone(), target);
        if let Some(image) = images().get_or_insert_default().get(&key) {
            return Ok(image.clone());
        }
        // The lock is not held while the compiler runs, so that other programs need not wait.
        let image: Arc<[u8]> = match folder {
            Some(folder) => self.image_on_disk(target, folder)?.into(),
            None => self.compile(target)?.into(),
        };
        Ok(images().get_or_insert_default().entry(key).or_insert(image).clone())
    }

    /// Reads the program's code from a folder, or compiles the program and stores the code there. A
    /// folder that cannot be read or written is no error, since it only saves time.
    fn image_on_disk(&self, target: CompiledTo, folder: &Path) -> Result<Vec<u8>, Error> {
        let version = Nvrtc::get().map_err(Error::no_cuda)?.version;
        // The file holds the whole key, and the image's length and hash. So neither a file of
        // another program with the same hash nor a truncated file is taken for this program.
        let (major, minor) = version;
        let text = self.full_text();
        let key = format!("bijective-shuffle 1\n{target}\nNVRTC {major}.{minor}\n{text}\0");
        let path = file(folder, &key);
        if let Some(image) = fs::read(&path).ok().and_then(|file| unwrap(&file, &key)) {
            return Ok(image);
        }
        let image = self.compile(target)?;
        let written = fs::create_dir_all(folder)
            .and_then(|()| write_whole(&path, &[key.as_bytes(), &seal(&image), &image]));
        drop(written);
        Ok(image)
    }
}

/// What is evaluated. Without a bijection, any type will do.
fn form<'a>(evaluated: &'a Evaluated<'_>) -> Cow<'a, BijectionForm> {
    let name = match evaluated {
        Evaluated::Nothing => "uint64_t",
        Evaluated::Bijection(source) => return Cow::Borrowed(source.form()),
        Evaluated::Lookup(WordType::U32, _) => "bijective_shuffle::Lookup<uint32_t>",
        Evaluated::Lookup(_, _) => "bijective_shuffle::Lookup<uint64_t>",
    };
    Cow::Owned(BijectionForm::of_text(name.into(), "".into(), 8))
}

/// The text of a program that permutes by a bijection, with more of the library and with these
/// kernels.
fn permutations(bijection: &BijectionForm, more: &str, kernels: &str) -> String {
    let mut text = String::from(PRELUDE);
    for layer in LAYERS {
        text.push_str(layer);
    }
    text.push_str(more);
    text.push_str(&with_headers(&bijection.text()));
    // The bijection's text is outside the crate's namespace, and no name of the crate is visible
    // to it. The parameters that the host passes must have the size of its struct: the driver
    // copies as many bytes as the struct has, whatever the host holds.
    let (type_name, params) = (bijection.type_name(), bijection.bytes());
    text.push_str(&format!(
        "\nusing BijectiveShuffleF = {type_name};\n\
         static_assert(sizeof(BijectiveShuffleF) == {params} && alignof(BijectiveShuffleF) <= 8, \
         \"the parameters are the struct's bytes\");\n\
         namespace bijective_shuffle {{\nusing F = BijectiveShuffleF;\n{kernels}\n}}\n"
    ));
    text
}

/// A bijection's text, in which the project's headers stand in the place of what includes them.
pub(crate) fn with_headers(text: &str) -> String {
    HEADERS.iter().fold(text.into(), |text, (name, header)| {
        text.replace(&format!("#include \"{name}\""), header)
    })
}

/// The text of a program that fills arrays with random numbers, with these kernels.
fn fill(kernels: &str) -> String {
    let (header, fill) = (device_header(), include_str!("../../../gpu/fill.cuh"));
    format!("{header}{fill}\nnamespace bijective_shuffle {{\n{kernels}\n}}\n")
}

/// Compiles a text. An error reports it under this name.
pub(crate) fn compile(text: &str, name: &str, target: CompiledTo) -> Result<Vec<u8>, Error> {
    let nvrtc = Nvrtc::get().map_err(Error::no_cuda)?;
    nvrtc
        .compile(text, target)
        .map_err(|log| Error::Gpu(GpuError::CompileFailed { type_name: name.into(), log }))
}

/// An image's length and its hash.
fn seal(image: &[u8]) -> [u8; 16] {
    let mut seal = [0; 16];
    seal[..8].copy_from_slice(&(image.len() as u64).to_le_bytes());
    seal[8..].copy_from_slice(&hash(image).to_le_bytes());
    seal
}

/// The image in a file, if the file has this key and is complete.
fn unwrap(file: &[u8], key: &str) -> Option<Vec<u8>> {
    let (sealed, image) = file.strip_prefix(key.as_bytes())?.split_at_checked(16)?;
    (sealed == seal(image)).then(|| image.to_vec())
}

fn hash(value: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// The path of the file for a key.
fn file(folder: &Path, key: &str) -> PathBuf {
    folder.join(format!("{:016x}.bin", hash(key)))
}

/// Writes a file whole or not at all. Until it is whole it has a random name beside its own. Only
/// its owner may read and write it, where files have such permissions.
fn write_whole(path: &Path, parts: &[&[u8]]) -> io::Result<()> {
    let random = RandomState::new().build_hasher().finish();
    let unfinished = path.with_extension(format!("{random:016x}"));
    let mut options = File::options();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(&unfinished)?;
    let written = parts.iter().try_for_each(|part| file.write_all(part));
    drop(file);
    let moved = written.and_then(|()| fs::rename(&unfinished, path));
    if moved.is_err() {
        // The first error says more than one of removing the file.
        let _ = fs::remove_file(&unfinished);
    }
    moved
}

#[cfg(test)]
pub(crate) mod tests;
