//! [`WgslSource`]: a bijection in WGSL, and [`AsWgsl`], what can be had as one.

use std::borrow::Cow;

use bijective_shuffle_core::bijection::hooks::{EngineForm, Hooked};
use bijective_shuffle_core::{Bijection, DeviceSource};

use crate::error::WgslError;
use crate::families;

/// A bijection on up to `2^32` points in WGSL, with its parameters.
///
/// The text of your own defines
///
/// ```wgsl
/// fn forward(slot: u32) -> u32
/// ```
///
/// which returns the index of the item that goes to a slot, and everything that it needs. It reads
/// its parameters by `param(i)`. Names that begin with `bs_` belong to the kernels. The function is
/// called for slots of the domain only, from 0 to `last`.
///
/// The text decides what is compiled, and the parameters do not: put what changes from call to
/// call, such as a key, into the parameters.
///
/// Nothing that a text does can harm: the GPU checks every access to memory, and loops end. `Wgpu`
/// checks that its values are a permutation before items move; see `Wgpu::verify` for a
/// `WgpuWorkspace`.
///
/// # Examples
///
/// ```
/// # // Hidden, because the package for wgpu shows this page as its own.
/// # use bijective_shuffle_wgsl::WgslSource;
/// let backwards = WgslSource::new(9, "fn forward(slot: u32) -> u32 { return param(0u) - slot; }", [9]);
/// assert_eq!(backwards.last(), 9);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WgslSource {
    pub(crate) last: u32,
    text: ForwardText,
    /// Vectors of four words, as a uniform buffer has them.
    pub(crate) keys: Vec<[u32; 4]>,
    /// Whether the values are certainly a permutation.
    pub(crate) is_trusted: bool,
}

/// The definition of `forward`.
#[derive(Clone, Debug, PartialEq, Eq)]
enum ForwardText {
    /// Of a user.
    Own(Cow<'static, str>),
    /// Of a family of the library. The second is that of the inverse, under the same name.
    Family { forward: String, inverse: String },
}

impl WgslSource {
    /// A bijection of your own on the points from 0 to `last`.
    pub fn new(
        last: u32,
        text: impl Into<Cow<'static, str>>,
        params: impl IntoIterator<Item = u32>,
    ) -> Self {
        let params: Vec<u32> = params.into_iter().collect();
        let keys = params.chunks(4).map(|words| {
            let mut key = [0; 4];
            key[..words.len()].copy_from_slice(words);
            key
        });
        Self { last, text: ForwardText::Own(text.into()), keys: keys.collect(), is_trusted: false }
    }

    /// A bijection of the library: any family except `GridFeistel` and `SwapOrNot`, a `Table` of at
    /// most 256 points, or a combinator of these except `BlockShuffle`.
    ///
    /// A `Permutation` is the bijection within it.
    ///
    /// # Errors
    ///
    /// [`WgslError::NoSource`] for any other, and [`WgslError::DomainTooWide`] if it or a part of
    /// it has more than `2^32` points.
    ///
    /// # Examples
    ///
    /// ```
    /// use bijective_shuffle::bijection::Standard;
    /// use bijective_shuffle::prelude::*;
    /// # use bijective_shuffle_wgsl::WgslSource;
    ///
    /// let source = WgslSource::from_bijection(&Standard::from_seed(1000, 42))?;
    /// assert_eq!(source.last(), 1023);
    /// # Ok::<(), bijective_shuffle_wgsl::WgslError>(())
    /// ```
    pub fn from_bijection(bijection: &dyn Bijection) -> Result<Self, WgslError> {
        let form = EngineForm::of(bijection.uncompacted().unwrap_or(bijection));
        let wide = form.last();
        let last = u32::try_from(wide).map_err(|_| WgslError::DomainTooWide { last: wide })?;
        let source = form.device_source().ok_or(WgslError::NoSource { family: None })?;
        Ok(Self { is_trusted: form.is_trusted(), ..Self::of_family(last, &source)? })
    }

    /// A bijection of the library that is trusted, and whose last point is `last`: neither is
    /// checked. Unlike [`from_bijection`](Self::from_bijection) it leaves what evaluates the
    /// bijection on the CPU out of a program.
    #[doc(hidden)]
    pub fn of_family(last: u32, source: &DeviceSource) -> Result<Self, WgslError> {
        let ([forward, inverse], keys) = families::translate(&source.view())?;
        Ok(Self { last, text: ForwardText::Family { forward, inverse }, keys, is_trusted: true })
    }

    /// The last point of the domain.
    pub fn last(&self) -> u32 {
        self.last
    }

    /// Whether the values are a permutation for certain.
    #[doc(hidden)]
    pub fn is_trusted(&self) -> bool {
        self.is_trusted
    }

    /// The text of `forward` or of the inverse; users give no inverse.
    #[doc(hidden)]
    pub fn text(&self, is_inverted: bool) -> &str {
        match &self.text {
            ForwardText::Own(text) => text,
            ForwardText::Family { forward, .. } if !is_inverted => forward,
            ForwardText::Family { inverse, .. } => inverse,
        }
    }

    /// Whether the inverse can be evaluated, and is one.
    pub(crate) fn has_inverse(&self) -> bool {
        self.is_trusted && matches!(self.text, ForwardText::Family { .. })
    }
}

/// What the engines take: a [`WgslSource`], or a [`Bijection`] that has one.
pub trait AsWgsl {
    /// The largest length.
    fn last_point(&self) -> u64;

    /// The bijection in WGSL.
    ///
    /// # Errors
    ///
    /// As [`WgslSource::from_bijection`].
    fn as_wgsl(&self) -> Result<Cow<'_, WgslSource>, WgslError>;
}

impl AsWgsl for WgslSource {
    fn last_point(&self) -> u64 {
        self.last.into()
    }

    fn as_wgsl(&self) -> Result<Cow<'_, Self>, WgslError> {
        Ok(Cow::Borrowed(self))
    }
}

impl<B: Bijection> AsWgsl for B {
    fn last_point(&self) -> u64 {
        self.last()
    }

    fn as_wgsl(&self) -> Result<Cow<'_, WgslSource>, WgslError> {
        WgslSource::from_bijection(self).map(Cow::Owned)
    }
}

#[cfg(test)]
mod tests {
    use bijective_shuffle_core::FromSeed as _;
    use bijective_shuffle_core::bijection::{CycleWalk, Inverse, Lcg, MulXorshift, VariablePhilox};

    use super::*;

    #[test]
    fn a_part_that_is_too_wide_is_refused_for_its_width() {
        fn of<B: Bijection>(bits: u32, wide: B) {
            let of_part = Inverse::new(CycleWalk::new(wide, 1000).unwrap());
            let last = (1_u64 << bits) - 1;
            let made = WgslSource::from_bijection(&of_part);
            match bits {
                ..=32 => assert_eq!(made.unwrap().last(), 999),
                _ => assert_eq!(made, Err(WgslError::DomainTooWide { last })),
            }
        }
        for bits in [10, 32, 33, 40, 63] {
            let len = 1 << bits;
            of(bits, MulXorshift::<10>::from_seed(len, 1));
            of(bits, VariablePhilox::<24>::from_seed(len, 1));
            of(bits, Lcg::from_seed(len, 1));
        }
        let all = CycleWalk::new(Lcg::from_seed(u64::MAX, 1), 7).unwrap();
        let error = WgslSource::from_bijection(&all).unwrap_err();
        assert!(error.to_string().contains("18446744073709551616 points"), "{error}");
    }
}
