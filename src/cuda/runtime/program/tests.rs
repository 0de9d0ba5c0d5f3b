//! Tests that programs are assembled, compiled and kept, and functions by which the tests of other
//! rooms compile their kernels.

use std::collections::BTreeSet;
use std::sync::Mutex;

use super::*;

use crate::DeviceSource;
use crate::error::GpuError;

/// The compiler, if this machine has one. The environment can require that it has.
pub(crate) fn compiler() -> Option<&'static Nvrtc> {
    let nvrtc = Nvrtc::get();
    if let Err(reason) = &nvrtc {
        println!("skipped: {reason}");
        assert!(std::env::var_os("BIJECTIVE_SHUFFLE_REQUIRE_NVRTC").is_none(), "{reason}");
    }
    nvrtc.ok()
}

/// The oldest architecture that the compiler knows, and the newest.
fn targets(nvrtc: &Nvrtc) -> Vec<CompiledTo> {
    let ends = [nvrtc.architectures.first(), nvrtc.architectures.last()];
    ends.into_iter().flatten().map(|&arch| CompiledTo::Cubin(arch)).collect()
}

/// Whether a test is the only one of its process. If it is not, it is run in a process of its own,
/// and has passed there: NVRTC 13 does not forget that [`compile_all`] wanted little optimisation,
/// so what it compiles afterwards in the process is not what it compiles for others.
pub(crate) fn is_alone(test: &str) -> bool {
    const ALONE: &str = "BIJECTIVE_SHUFFLE_ALONE";
    if std::env::var_os(ALONE).is_some() {
        return true;
    }
    let mut program = std::process::Command::new(std::env::current_exe().unwrap());
    let output = program.args([test, "--exact"]).env(ALONE, "1").output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains(" 1 passed"), "{text}");
    false
}

/// Compiles several kernels of one library, with what they evaluate, as one program. Each kernel's
/// text asserts that its arguments have the same sizes and offsets as on the host. Nobody runs the
/// code, so a compiler that can optimises it little, in a fifth of the time; in the long form
/// it does all that it does for users.
pub(crate) fn compile_all(evaluated: &Evaluated<'_>, kernels: &[Instance]) {
    let Some(nvrtc) = compiler() else { return };
    let named = kernels.iter().enumerate();
    let texts: Vec<String> = named.map(|(k, kernel)| kernel.text(&format!("entry_{k}"))).collect();
    let bijection = &form(evaluated);
    let text = match kernels[0].library() {
        Library::Permutations => super::permutations(bijection, "", &texts.concat()),
        Library::InPlace => super::permutations(bijection, IN_PLACE, &texts.concat()),
        Library::Segments => super::permutations(bijection, SEGMENTS, &texts.concat()),
        Library::Fill => fill(&texts.concat()),
    };
    let is_long = std::env::var_os("BIJECTIVE_SHUFFLE_LONG").is_some();
    let can_hurry = nvrtc.version >= (13, 0) && !is_long;
    let more: &[&str] = if can_hurry { &["--Ofast-compile=max"] } else { &[] };
    for target in targets(nvrtc) {
        let image =
            nvrtc.compile_by(&text, target, more).unwrap_or_else(|log| panic!("{target:?}: {log}"));
        assert!(!image.is_empty());
    }
}

/// The text of a program that permutes by a bijection, without kernels.
pub(crate) fn permutations(source: &DeviceSource) -> String {
    super::permutations(source.form(), &[IN_PLACE, SEGMENTS].concat(), "")
}

/// Compiles all kernels that some plans launch, unless another test has done so.
pub(crate) fn compile_plans<'p>(plans: impl IntoIterator<Item = &'p DevicePlan<'p>>) {
    static COMPILED: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    let mut by_bijection: Vec<(&Evaluated<'_>, Vec<Instance>)> = Vec::new();
    let mut launches = 0;
    for launch in plans.into_iter().flat_map(DevicePlan::launches) {
        launches += 1;
        let (evaluated, kernel) = (&launch.evaluated, &launch.kernel);
        let text = format!("{:?}{}", form(evaluated), kernel.text("entry"));
        if !COMPILED.lock().unwrap().insert(text) {
            continue;
        }
        let is_alike = |(other, kernels): &&mut (&Evaluated<'_>, Vec<Instance>)| {
            form(other) == form(evaluated) && kernels[0].library() == kernel.library()
        };
        match by_bijection.iter_mut().find(is_alike) {
            Some((_, kernels)) => kernels.push(kernel.clone()),
            None => by_bijection.push((evaluated, vec![kernel.clone()])),
        }
    }
    assert!(launches > 0);
    for (evaluated, kernels) in by_bijection {
        compile_all(evaluated, &kernels);
    }
}

#[test]
fn kernels_of_the_runtime_compile() {
    compile_all(&Evaluated::Nothing, &kernels::all());
}

#[test]
fn arguments_that_are_not_the_hosts_do_not_compile() {
    let Some(nvrtc) = compiler() else { return };
    let [clear, _] = kernels::all();
    let text = clear.text("entry");
    let moved = text.replace("uint64_t len;", "uint32_t len;");
    assert_ne!(text, moved);
    let plain = form(&Evaluated::Nothing);
    let log = compile(&super::permutations(&plain, "", &moved), "moved", targets(nvrtc)[0]);
    let Err(Error::Gpu(GpuError::CompileFailed { log, .. })) = log else {
        panic!("it should not compile")
    };
    assert!(log.contains("as on the host"), "{log}");
}

#[test]
fn a_users_text_finds_every_generator() {
    let Some(nvrtc) = compiler() else { return };
    let text = "
        using namespace bijective_shuffle;
        extern \"C\" __global__ void draw(uint32_t* states, uint64_t count, uint32_t* out, double* normal) {
            alignas(16) __shared__ uint32_t ring[LaggedFibonacci521::RING];
            LaggedFibonacci521 all(ring, threadIdx.x);
            all.load(states, count, blockIdx.x);
            __syncthreads();
            XorShift1024Weyl warp(threadIdx.x % 32);
            warp.load(states, count, threadIdx.x / 32);
            Xorwow alone;
            alone.load(states, count, threadIdx.x);
            Philox4x32Rng<7> rng(42, threadIdx.x, 3);
            out[threadIdx.x] = all.next() ^ warp.next() ^ alone.next() ^ rng.next();
            normal_f64(joined(rng.next(), rng.next()), joined(rng.next(), rng.next()), normal);
            warp.store(states, count, threadIdx.x / 32);
            rng.load(states, count, threadIdx.x);
            uint32_t words[4], four[4];
            rng.next_block(words);
            XorShift1024WeylQuads quads(threadIdx.x % 8);
            quads.load(states, count, threadIdx.x / 8);
            quads.next4(four);
            NormalF64::make(four, normal + NormalF64::NUMBERS);
            alignas(16) __shared__ uint32_t other[LaggedFibonacci<1279, 861, 128>::RING];
            LaggedFibonacci<1279, 861, 128> of_four(other, threadIdx.x);
            of_four.next4(four);
            philox4x32<10>(joined(words[0], words[1]), four);
            out[threadIdx.x] ^= four[0];
        }
    ";
    for target in targets(nvrtc) {
        assert!(!Program::user(text, "draw").compile(target).unwrap().is_empty());
        let wrong = Program::user("\nint wrong = ;", "wrong").compile(target);
        let Err(Error::Gpu(GpuError::CompileFailed { type_name, log })) = wrong else {
            panic!("it should not compile");
        };
        assert_eq!(type_name, "wrong");
        assert!(log.starts_with("kernel(2)"), "{log}");
    }
}

/// A kernel that takes a bijection.
fn calls_forward() -> Instance {
    use crate::cuda::runtime::kernel::{Kernel, TemplateValue, arguments};

    arguments! {
        struct Count => Permutations, Value, "count_survivors<Index, 32, 1>" {
            last: u64 => "uint64_t",
            len: u64 => "uint64_t",
            counts: u64 => "uint32_t*",
        }
    }
    let kernel: Kernel<Count> = Kernel::new([("Index", TemplateValue::Word(WordType::U64))], 32, 1);
    kernel.erase()
}

#[test]
fn compile_errors_have_the_bijections_name_and_the_log() {
    if compiler().is_none() {
        return;
    }
    let text = "struct Wrong {
        uint64_t unused;
        __device__ uint64_t forward(uint64_t x) const { return y; }
    };";
    // SAFETY: the text does not compile, so it never runs on a device.
    let source = unsafe { DeviceSource::new("Wrong", text, vec![0; 8]) };
    let program = Program::new(&source.into(), &calls_forward());
    let target = targets(compiler().unwrap())[0];
    let Err(Error::Gpu(GpuError::CompileFailed { type_name, log })) = program.compile(target)
    else {
        panic!("it should not compile");
    };
    assert_eq!(type_name, "Wrong");
    assert!(log.contains("\"y\" is undefined"), "{log}");
}

#[test]
fn files_are_written_whole_or_not_at_all() {
    let folder = tempfile::tempdir().unwrap();
    let files = || fs::read_dir(folder.path()).unwrap().count();
    let path = folder.path().join("a.bin");
    write_whole(&path, &[b"one", b", two"]).unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"one, two");
    write_whole(&path, &[b"three"]).unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"three");
    assert_eq!(files(), 1);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }
    // Nothing is left of a file that cannot get its name.
    let taken = folder.path().join("folder.bin");
    fs::create_dir(&taken).unwrap();
    fs::write(taken.join("file"), b"").unwrap();
    write_whole(&taken, &[b"four"]).unwrap_err();
    assert_eq!(files(), 2);
}

#[test]
fn programs_are_kept_on_disk() {
    let Some(nvrtc) = compiler() else { return };
    if !is_alone("cuda::runtime::program::tests::programs_are_kept_on_disk") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let target = targets(nvrtc)[0];
    let program = Program::new(&Evaluated::Nothing, &kernels::all()[0]);
    let image = program.image_on_disk(target, folder.path()).unwrap();
    let files: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|f| f.unwrap().path()).collect();
    assert_eq!(files.len(), 1);
    assert_eq!(program.image_on_disk(target, folder.path()).unwrap(), image);
    // Neither half a file nor a file of another program is taken for it.
    fs::write(&files[0], &fs::read(&files[0]).unwrap()[..1000]).unwrap();
    assert_eq!(program.image_on_disk(target, folder.path()).unwrap(), image);
    fs::write(&files[0], b"something else").unwrap();
    assert_eq!(program.image_on_disk(target, folder.path()).unwrap(), image);
    // It is no error if the folder cannot be written.
    assert_eq!(program.image_on_disk(target, Path::new("/proc/nowhere")).unwrap(), image);
}
