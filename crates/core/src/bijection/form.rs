//! [`BijectionForm`]: what a bijection is to those who write its code in another language.
//!
//! A family says its form once, where it makes its [`DeviceSource`](super::DeviceSource): the name,
//! the numbers on which its code depends, its parts, and the names of its parameters in the order
//! in which they lie in memory. CUDA's types are made from that. A writer of another language takes
//! the values by their names, through [`BijectionView`].

use alloc::borrow::Cow;
use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

/// A bijection without the values of its parameters: all that determines its code.
///
/// It is a struct of a family, with the forms of its parts, or another struct: then only its name,
/// its text and its size are known.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct BijectionForm {
    name: Cow<'static, str>,
    /// The text that defines the struct in CUDA C++.
    text: Cow<'static, str>,
    is_family: bool,
    pub(super) parts: Vec<Self>,
    /// The other arguments of the template. The one with the name [`WORD`] is an unsigned integer
    /// of this many bits.
    pub(super) numbers: Vec<(&'static str, u32)>,
    pub(super) fields: Vec<Field>,
    /// The bytes of the parameters, those of the parts included.
    pub(super) bytes: usize,
}

pub(super) const WORD: &str = "word";

/// A member of a struct with parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Field {
    pub(super) name: &'static str,
    /// The bytes of one of its words.
    pub(super) word: usize,
    /// Where it begins, and its bytes.
    pub(super) offset: usize,
    pub(super) bytes: usize,
}

impl BijectionForm {
    /// A struct of the project's own namespace, without parts, numbers and parameters yet.
    pub(super) fn family(name: &'static str, text: &'static str) -> Self {
        Self { is_family: true, ..Self::of_text(name.into(), text.into(), 0) }
    }

    /// Another struct, with this many bytes of parameters.
    pub fn of_text(name: Cow<'static, str>, text: Cow<'static, str>, bytes: usize) -> Self {
        let (parts, numbers, fields) = (Vec::new(), Vec::new(), Vec::new());
        Self { name, text, is_family: false, parts, numbers, fields, bytes }
    }

    /// The struct's name in CUDA C++, with its namespace and template arguments.
    pub fn type_name(&self) -> String {
        let namespace = if self.is_family { "bijective_shuffle::" } else { "" };
        let numbers = self.numbers.iter().map(|(name, number)| match *name {
            WORD => format!("uint{number}_t"),
            _ => number.to_string(),
        });
        let arguments: Vec<String> =
            self.parts.iter().map(Self::type_name).chain(numbers).collect();
        match &arguments[..] {
            [] => format!("{namespace}{}", self.name),
            arguments => format!("{namespace}{}<{}>", self.name, arguments.join(", ")),
        }
    }

    /// The text in CUDA C++ that defines the struct and its parts.
    pub fn text(&self) -> Cow<'_, str> {
        if self.parts.is_empty() {
            return Cow::Borrowed(&self.text);
        }
        // A text may end without a newline, in the middle of a preprocessor line.
        let texts = self.parts.iter().map(Self::text).chain([Cow::Borrowed(&*self.text)]);
        texts.flat_map(|text| [text, Cow::Borrowed("\n")]).collect::<String>().into()
    }

    /// The bytes of the parameters.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The members with parameters of the struct itself: their names, where they begin, and their
    /// bytes.
    pub fn fields(&self) -> impl Iterator<Item = (&'static str, usize, usize)> {
        self.fields.iter().map(|field| (field.name, field.offset, field.bytes))
    }
}

/// A form with the values of its parameters.
#[derive(Clone, Copy, Debug)]
pub struct BijectionView<'a> {
    pub(super) form: &'a BijectionForm,
    pub(super) params: &'a [u8],
}

impl<'a> BijectionView<'a> {
    /// The name of the family; `None` for a struct of none.
    pub fn family(&self) -> Option<&'a str> {
        self.form.is_family.then_some(&*self.form.name)
    }

    /// A number on which the code depends.
    pub fn number(&self, name: &str) -> Option<u32> {
        self.form.numbers.iter().find(|(other, _)| *other == name).map(|(_, number)| *number)
    }

    /// The words of a parameter.
    pub fn words(&self, name: &str) -> Option<impl Iterator<Item = u64> + use<'a>> {
        let field = self.form.fields.iter().find(|field| field.name == name)?;
        let words = self.params[field.offset..][..field.bytes].chunks_exact(field.word);
        Some(words.map(|word| word.iter().rfold(0, |all, &byte| all << 8 | u64::from(byte))))
    }

    /// The parts, in order.
    pub fn parts(&self) -> impl Iterator<Item = Self> + use<'a> {
        let mut rest = self.params;
        self.form.parts.iter().map(move |form| {
            let (params, behind) = rest.split_at(form.bytes);
            rest = behind;
            Self { form, params }
        })
    }
}
