//! [`Kernel`]: a kernel that calls a function of `gpu/`, with its parameters declared once.
//!
//! A kernel takes at most two parameters: the bijection's struct, and one struct with everything
//! else. The second is a `#[repr(C)]` Rust struct that [`arguments!`] declares. From the same
//! declaration the kernel's text gets the struct in CUDA C++, with a `static_assert` for the size
//! of the struct and for the size and the offset of each field, including fields within fields. So
//! a kernel whose parameters differ from the bytes that the host passes does not compile, and is
//! never launched.

use core::hash::{Hash, Hasher};
use core::marker::PhantomData;

use super::word_type::WordType;
use crate::compact::Direction;

/// The arguments of a kernel, and the function that it calls with them.
///
/// # Safety
///
/// The type is `#[repr(C)]`, [`FIELDS`](Self::FIELDS) are all of its fields with their sizes and
/// offsets, and the device may get its values as plain bytes. [`arguments!`] ensures this.
pub(crate) unsafe trait KernelArguments: Copy {
    /// The function with its template arguments, which are names of the [`Template`] or `F`.
    const CALL: &'static str;
    /// What the function takes of the bijection.
    const BIJECTION: BijectionUse;
    /// The texts that the function is in.
    const LIBRARY: Library;
    /// The struct's fields, which the function takes in this order, after the bijection.
    const FIELDS: &'static [ArgumentField];
}

/// What a kernel's function takes of the bijection, whose type is `F`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum BijectionUse {
    /// Nothing.
    None,
    /// Its type only, as a template argument.
    Type,
    /// The struct itself, as its first argument.
    Value,
}

/// The texts that precede a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Library {
    /// The texts that permute.
    Permutations,
    /// Those, and that of the strategy in place, which no embedded kernel uses.
    InPlace,
    /// Those that permute, and that of segments, which no embedded kernel uses.
    Segments,
    /// The generators, and the kernels that fill.
    Fill,
}

/// A field of a struct of arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ArgumentField {
    pub(crate) name: &'static str,
    /// Its type in CUDA C++, in terms of the [`Template`].
    pub(crate) c_type: &'static str,
    pub(crate) size: usize,
    pub(crate) offset: usize,
    /// Whether it is an array.
    pub(crate) is_array: bool,
    /// The fields of its type, or of an array's elements; empty for a number.
    pub(crate) inner: &'static [ArgumentField],
}

/// The fields of a struct of arguments. Those of one struct are mostly in one place in memory, and
/// then they are equal without being compared: a call with a prepared kernel looks for it by them.
#[derive(Clone, Copy, Debug, Eq)]
struct Fields(&'static [ArgumentField]);

impl PartialEq for Fields {
    fn eq(&self, other: &Self) -> bool {
        core::ptr::eq(self.0, other.0) || self.0 == other.0
    }
}

impl Hash for Fields {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

/// A type that a field of a kernel's arguments may have: a number, a struct of such fields, or an
/// array.
///
/// # Safety
///
/// The type is a number without [`FIELDS`](Self::FIELDS), or `#[repr(C)]` with all of its fields in
/// `FIELDS`, or an array with those of its element. [`device_struct!`] ensures this for structs.
pub(crate) unsafe trait DeviceType: Copy {
    const IS_ARRAY: bool = false;
    const FIELDS: &'static [ArgumentField] = &[];
}

// SAFETY: `i32` is a number without fields, and has the layout of `int` on the device.
unsafe impl DeviceType for i32 {}
// SAFETY: `u32` is a number without fields, and has the layout of `uint32_t` on the device.
unsafe impl DeviceType for u32 {}
// SAFETY: `u64` is a number without fields, and has the layout of `uint64_t` on the device.
unsafe impl DeviceType for u64 {}

// SAFETY: Rust and C++ both lay out an array as its elements, one after the other without padding,
// and the fields are those of an element.
unsafe impl<T: DeviceType, const LEN: usize> DeviceType for [T; LEN] {
    const IS_ARRAY: bool = true;
    const FIELDS: &'static [ArgumentField] = T::FIELDS;
}

/// The fields of a struct, with the compiler's own sizes and offsets.
macro_rules! fields {
    ($($field:ident: $type:ty => $c_type:expr,)*) => {
        &[$(
            $crate::cuda::runtime::kernel::ArgumentField {
                name: stringify!($field),
                c_type: $c_type,
                size: size_of::<$type>(),
                offset: core::mem::offset_of!(Self, $field),
                is_array: <$type as $crate::cuda::runtime::kernel::DeviceType>::IS_ARRAY,
                inner: <$type as $crate::cuda::runtime::kernel::DeviceType>::FIELDS,
            },
        )*]
    };
}

pub(crate) use fields;

/// Declares a struct that is the type of a field of arguments. Its fields have the same names as in
/// `gpu/`, so that a kernel's text can assert where each of them is.
macro_rules! device_struct {
    (
        $(#[$doc:meta])*
        $visibility:vis struct $name:ident {
            $($(#[$field_doc:meta])* $field_visibility:vis $field:ident: $type:ty,)*
        }
    ) => {
        $(#[$doc])*
        #[repr(C)]
        #[derive(Clone, Copy, Debug)]
        $visibility struct $name {
            $($(#[$field_doc])* $field_visibility $field: $type,)*
        }

        // SAFETY: the struct is `repr(C)` and `Copy`, and the list below is generated from the list
        // of its fields.
        unsafe impl $crate::cuda::runtime::kernel::DeviceType for $name {
            const FIELDS: &'static [$crate::cuda::runtime::kernel::ArgumentField] =
                $crate::cuda::runtime::kernel::fields! { $($field: $type => "",)* };
        }
    };
}

pub(crate) use device_struct;

/// Declares the arguments of a kernel: a struct, the function that takes its fields, and the type
/// of each field in CUDA C++.
macro_rules! arguments {
    (
        $(#[$doc:meta])*
        $visibility:vis struct $name:ident $(<$generic:ident>)? => $library:ident, $use:ident, $call:literal {
            $($(#[$field_doc:meta])* $field:ident: $type:ty => $c_type:literal,)*
        }
    ) => {
        $(#[$doc])*
        #[repr(C)]
        #[derive(Clone, Copy, Debug)]
        $visibility struct $name $(<$generic>)? {
            $($(#[$field_doc])* $visibility $field: $type,)*
        }

        // SAFETY: the struct is `repr(C)` and `Copy`. The list below is generated from the list of
        // its fields, with the compiler's own sizes and offsets.
        unsafe impl $(<$generic: $crate::cuda::runtime::kernel::DeviceType>)?
            $crate::cuda::runtime::kernel::KernelArguments for $name $(<$generic>)? {
            const CALL: &'static str = $call;
            const BIJECTION: $crate::cuda::runtime::kernel::BijectionUse =
                $crate::cuda::runtime::kernel::BijectionUse::$use;
            const LIBRARY: $crate::cuda::runtime::kernel::Library =
                $crate::cuda::runtime::kernel::Library::$library;
            const FIELDS: &'static [$crate::cuda::runtime::kernel::ArgumentField] =
                $crate::cuda::runtime::kernel::fields! { $($field: $type => $c_type,)* };
        }
    };
}

pub(crate) use arguments;

/// The value of a template argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum TemplateValue {
    /// A word.
    Word(WordType),
    /// A type of the device library.
    Type(&'static str),
    /// A template of the device library, instantiated with a word.
    Of(&'static str, WordType),
    /// A template of the device library, instantiated with a direction.
    Towards(&'static str, Direction),
    /// A number.
    Number(u32),
    /// A flag.
    Flag(bool),
    /// A direction.
    Way(Direction),
}

impl TemplateValue {
    /// The definition, in CUDA C++, of a name with this value.
    fn definition(self, name: &str) -> String {
        match self {
            Self::Word(word) => format!("using {name} = {};\n", word.name()),
            Self::Type(other) => format!("using {name} = {other};\n"),
            Self::Of(template, word) => format!("using {name} = {template}<{}>;\n", word.name()),
            Self::Towards(template, direction) => {
                format!("using {name} = {template}<{}>;\n", device_direction(direction))
            }
            Self::Number(number) => format!("constexpr int {name} = {number};\n"),
            Self::Flag(flag) => format!("constexpr bool {name} = {flag};\n"),
            Self::Way(direction) => {
                format!("constexpr Direction {name} = {};\n", device_direction(direction))
            }
        }
    }
}

/// The direction's name in CUDA C++.
const fn device_direction(direction: Direction) -> &'static str {
    match direction {
        Direction::Shuffle => "Direction::Shuffle",
        Direction::Unshuffle => "Direction::Unshuffle",
    }
}

/// The most template arguments that a kernel has.
const MOST_VALUES: usize = 8;

/// The names and values of a kernel's template arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Template([Option<(&'static str, TemplateValue)>; MOST_VALUES]);

impl<const VALUES: usize> From<[(&'static str, TemplateValue); VALUES]> for Template {
    fn from(values: [(&'static str, TemplateValue); VALUES]) -> Self {
        const { assert!(VALUES <= MOST_VALUES) };
        Self(core::array::from_fn(|k| values.get(k).copied()))
    }
}

/// A kernel that takes arguments of type A.
#[derive(Debug)]
pub(crate) struct Kernel<A> {
    instance: Instance,
    arguments: PhantomData<fn(A)>,
}

impl<A: KernelArguments> Kernel<A> {
    /// A kernel with these template arguments, for blocks of `threads` threads. A multiprocessor
    /// should hold `blocks` of them, which limits their registers.
    pub(crate) fn new(template: impl Into<Template>, threads: u32, blocks: u32) -> Self {
        let (call, bijection, library, fields) =
            (A::CALL, A::BIJECTION, A::LIBRARY, Fields(A::FIELDS));
        let (size, template) = (size_of::<A>(), template.into());
        let instance =
            Instance { call, bijection, library, fields, size, template, threads, blocks };
        Self { instance, arguments: PhantomData }
    }

    /// The kernel without the type of its arguments.
    pub(crate) fn erase(self) -> Instance {
        self.instance
    }
}

/// Everything except the bijection that determines a kernel's compiled code.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Instance {
    call: &'static str,
    bijection: BijectionUse,
    library: Library,
    fields: Fields,
    /// The size of the struct of arguments.
    size: usize,
    template: Template,
    threads: u32,
    blocks: u32,
}

impl Instance {
    /// Threads of a block.
    pub(crate) fn threads(&self) -> u32 {
        self.threads
    }

    /// The size of the struct of arguments.
    #[cfg(test)]
    pub(crate) fn size(&self) -> usize {
        self.size
    }

    /// What its function takes of the bijection.
    pub(crate) fn bijection(&self) -> BijectionUse {
        self.bijection
    }

    /// The texts that it needs.
    pub(crate) fn library(&self) -> Library {
        self.library
    }

    /// The name of the function that it calls.
    pub(crate) fn function(&self) -> &'static str {
        self.call.split('<').next().unwrap_or_default()
    }

    /// Its text: a namespace of its own, with the definitions and the kernel, whose name is
    /// `entry`.
    pub(crate) fn text(&self, entry: &str) -> String {
        let mut text = format!("namespace of_{entry} {{\n");
        for (name, value) in self.template.0.iter().flatten() {
            text.push_str(&value.definition(name));
        }
        text.push_str("struct Arguments {");
        for ArgumentField { name, c_type, .. } in self.fields.0 {
            text.push_str(&format!(" {c_type} {name};"));
        }
        let size = self.size;
        text.push_str(&format!(
            " }};\nstatic_assert(sizeof(Arguments) == {size}, \"as on the host\");\n"
        ));
        assert_layout("Arguments::", self.fields.0, &mut text);
        let (parameter, bijection) = match self.bijection {
            BijectionUse::Value => ("const __grid_constant__ F f, ", Some("f".to_string())),
            BijectionUse::None | BijectionUse::Type => ("", None),
        };
        let fields = self.fields.0.iter().map(|field| format!("arguments.{}", field.name));
        let passed: Vec<String> = bijection.into_iter().chain(fields).collect();
        let (Self { call, threads, blocks, .. }, passed) = (self, passed.join(", "));
        text.push_str(&format!(
            "extern \"C\" __global__ void __launch_bounds__({threads}, {blocks}) \
             {entry}({parameter}const __grid_constant__ Arguments arguments) \
             {{ {call}({passed}); }}\n}}\n"
        ));
        text
    }
}

/// Adds assertions that fields, which a path leads to, are where they are on the host, and so are
/// theirs.
fn assert_layout(path: &str, fields: &[ArgumentField], text: &mut String) {
    // NVRTC has no `offsetof`. Both languages lay a struct out in this way.
    let mut end = 0;
    for ArgumentField { name, size, offset, is_array, inner, .. } in fields {
        let at = format!("{path}{name}");
        text.push_str(&format!(
            "static_assert(sizeof({at}) == {size} && \
             next_multiple({end}, alignof(decltype({at}))) == {offset}, \"as on the host\");\n"
        ));
        end = offset + size;
        let element = if *is_array { "[0]" } else { "" };
        assert_layout(&format!("{at}{element}."), inner, text);
    }
}

/// A value's bytes, as the initialiser of a C++ array.
#[cfg(test)]
pub(crate) fn initialiser<T: Copy>(value: &T) -> String {
    // SAFETY: the pointer is that of a borrowed `T`, which has `size_of::<T>()` bytes. The structs
    // that tests pass have no padding, so all of these bytes are initialised.
    let bytes =
        unsafe { core::slice::from_raw_parts((&raw const *value).cast::<u8>(), size_of::<T>()) };
    bytes.iter().fold(String::new(), |all, byte| all + &format!("{byte},"))
}
