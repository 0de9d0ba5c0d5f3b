//! Programs: the text of a kernel put together, compiled, and kept.

use std::collections::HashMap;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use super::kernel::{Instance, Library};
use super::nvrtc::{Nvrtc, Target};
use super::plan::Evaluated;
use super::word_type::WordType;
use crate::bijection::DeviceSource;
use crate::error::{Error, GpuError};
use crate::rng::device_header;

/// The layers that every program of a bijection has, in the order in which they build on each other.
const LAYERS: &[&str] = &[
    include_str!("../../../gpu/runtime/lookback.cuh"),
    include_str!("../../../gpu/runtime/scan.cuh"),
    include_str!("../../../gpu/shuffle/items.cuh"),
    include_str!("../../../gpu/shuffle/direct.cuh"),
    include_str!("../../../gpu/shuffle/partitioned.cuh"),
    include_str!("../../../gpu/shuffle/check.cuh"),
    include_str!("../../../gpu/rng/philox4x32.cuh"),
    include_str!("../../../gpu/batch/draw.cuh"),
    include_str!("../../../gpu/batch/rows.cuh"),
    include_str!("../../../gpu/affine.cuh"),
];

/// The name of the kernel in every program but a user's.
pub(crate) const ENTRY: &str = "entry";

/// One kernel: what decides the compiled code, and nothing else.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Program {
    bijection: BijectionText,
    kernel: KernelText,
}

/// The bijection's type `F`, and the text that defines it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct BijectionText {
    type_name: String,
    text: String,
    /// How many bytes of parameters the host has for it.
    params: usize,
}

/// The kernel's own text.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum KernelText {
    /// A kernel of this crate's.
    Own(Instance),
    /// A user's text after all generators, which has a kernel of some name.
    User(String),
}

impl Program {
    /// A kernel, for what it evaluates.
    pub(crate) fn new(evaluated: &Evaluated<'_>, kernel: &Instance) -> Self {
        let (type_name, text, params) = parts(evaluated);
        let (type_name, text) = (type_name.into(), text.into());
        let bijection = BijectionText { type_name, text, params };
        Self { bijection, kernel: KernelText::Own(kernel.clone()) }
    }

    /// A user's text, which follows the generators' and has a kernel of this name.
    pub(crate) fn user(text: &str, name: &str) -> Self {
        let bijection = BijectionText { type_name: name.into(), text: String::new(), params: 0 };
        Self { bijection, kernel: KernelText::User(text.into()) }
    }

    /// Whether this is the program that [`new`](Self::new) would make.
    pub(crate) fn is(&self, evaluated: &Evaluated<'_>, kernel: &Instance) -> bool {
        let BijectionText { type_name, text, params } = &self.bijection;
        matches!(&self.kernel, KernelText::Own(own) if own == kernel)
            && (&**type_name, &**text, *params) == parts(evaluated)
    }

    /// The whole text.
    pub(crate) fn full_text(&self) -> String {
        match &self.kernel {
            KernelText::Own(kernel) => {
                let own = kernel.text(ENTRY);
                match kernel.library() {
                    Library::Permutations => self.bijection.permutations(&own),
                    Library::Fill => fill(&own),
                }
            }
            // Lines of the compiler's log are those of the user's own text.
            KernelText::User(text) => format!("{}\n#line 1 \"kernel\"\n{text}", device_header()),
        }
    }

    /// Compiles the program.
    pub(crate) fn compile(&self, target: Target) -> Result<Vec<u8>, Error> {
        compile(&self.full_text(), &self.bijection.type_name, target)
    }

    /// The program compiled for an architecture, from memory or from the folder if it has been compiled before.
    pub(crate) fn image(&self, target: Target, folder: Option<&Path>) -> Result<Arc<[u8]>, Error> {
        type Images = HashMap<(Program, Target), Arc<[u8]>>;
        static IMAGES: Mutex<Option<Images>> = Mutex::new(None);
        let images = || IMAGES.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (self.clone(), target);
        if let Some(image) = images().get_or_insert_default().get(&key) {
            return Ok(image.clone());
        }
        // The lock is not held while the compiler works, so that other programs need not wait.
        let image: Arc<[u8]> = match folder {
            Some(folder) => self.image_on_disk(target, folder)?.into(),
            None => self.compile(target)?.into(),
        };
        Ok(images().get_or_insert_default().entry(key).or_insert(image).clone())
    }

    /// Reads the program from a folder, or compiles it and leaves it there. A folder that cannot be read or written is
    /// no reason to fail: it only saves time.
    fn image_on_disk(&self, target: Target, folder: &Path) -> Result<Vec<u8>, Error> {
        let version = Nvrtc::get().map_err(Error::no_cuda)?.version;
        // The whole key stands in the file, and what the image must be like, so that a file of the same name by chance,
        // or half a file, is not mistaken for the program.
        let key = format!("bijective-shuffle 1\n{target:?}\n{version:?}\n{}\0", self.full_text());
        let path = file(folder, &key);
        if let Some(image) = fs::read(&path).ok().and_then(|file| unwrap(&file, &key)) {
            return Ok(image);
        }
        let image = self.compile(target)?;
        let written = fs::create_dir_all(folder)
            .and_then(|()| tempfile::NamedTempFile::new_in(folder))
            .and_then(|mut new| {
                new.write_all(key.as_bytes())?;
                new.write_all(&seal(&image))?;
                new.write_all(&image)?;
                new.persist(&path)?;
                Ok(())
            });
        drop(written);
        Ok(image)
    }
}

/// The type, the text and the size of the parameters; without a bijection, any type will do.
fn parts<'a>(evaluated: &'a Evaluated<'_>) -> (&'a str, &'a str, usize) {
    match evaluated {
        Evaluated::Nothing => ("uint64_t", "", 8),
        Evaluated::Bijection(source) => (source.type_name(), source.text(), source.params().len()),
        Evaluated::Lookup(WordType::U32, _) => ("bijective_shuffle::Lookup<uint32_t>", "", 8),
        Evaluated::Lookup(_, _) => ("bijective_shuffle::Lookup<uint64_t>", "", 8),
    }
}

impl BijectionText {
    /// A program that permutes, with these kernels.
    fn permutations(&self, kernels: &str) -> String {
        let mut text = String::from(DeviceSource::PRELUDE);
        for layer in LAYERS {
            text.push_str(layer);
        }
        text.push_str(&self.text);
        // The bijection's own text is outside of our namespace, and none of our names is let out of
        // it. What the host passes for its struct must be as long as it is: the driver copies that
        // much.
        let Self { type_name, params, .. } = self;
        text.push_str(&format!(
            "\nusing BijectiveShuffleF = {type_name};\n\
             static_assert(sizeof(BijectiveShuffleF) == {params} && alignof(BijectiveShuffleF) <= 8, \
             \"the parameters are the struct's bytes\");\n\
             namespace bijective_shuffle {{\nusing F = BijectiveShuffleF;\n{kernels}\n}}\n"
        ));
        text
    }
}

/// A program that fills arrays with random numbers, with these kernels.
fn fill(kernels: &str) -> String {
    let (header, fill) = (device_header(), include_str!("../../../gpu/fill.cuh"));
    format!("{header}{fill}\nnamespace bijective_shuffle {{\n{kernels}\n}}\n")
}

/// Compiles a text, of which an error has this name.
fn compile(text: &str, name: &str, target: Target) -> Result<Vec<u8>, Error> {
    let nvrtc = Nvrtc::get().map_err(Error::no_cuda)?;
    nvrtc
        .compile(text, target)
        .map_err(|log| Error::Gpu(GpuError::Compile { type_name: name.into(), log }))
}

/// An image's length and its hash.
fn seal(image: &[u8]) -> [u8; 16] {
    let mut seal = [0; 16];
    seal[..8].copy_from_slice(&(image.len() as u64).to_le_bytes());
    seal[8..].copy_from_slice(&hash(image).to_le_bytes());
    seal
}

/// The image in a file with a key, if it is whole.
fn unwrap(file: &[u8], key: &str) -> Option<Vec<u8>> {
    let (sealed, image) = file.strip_prefix(key.as_bytes())?.split_at_checked(16)?;
    (sealed == seal(image)).then(|| image.to_vec())
}

fn hash(value: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// Where a program with a key is kept.
fn file(folder: &Path, key: &str) -> PathBuf {
    folder.join(format!("{:016x}.bin", hash(key)))
}

#[cfg(test)]
#[path = "program_tests.rs"]
pub(crate) mod tests;
