//! Bijections that are functions of the caller.

use std::ffi::c_void;
use std::panic::resume_unwind;
use std::sync::Arc;

use crate::memory;
use crate::status::Failure;

/// A bijection of your own: it maps the points 0 to `last` to the same points, no two to one.
///
/// The functions are called by several threads at the same time, and have to return the same values
/// whenever they are asked. They must neither jump nor throw out of a call; the C++ header catches
/// what yours throw. That the values are a permutation is checked before any item is moved by them,
/// so a wrong function loses nothing.
///
/// A value above `last` ends the call with BS_ERROR_NOT_A_BIJECTION. So a function that fails
/// returns UINT64_MAX, unless that is `last`.
///
/// Set all fields to zero, and then those that matter.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Bijection {
    /// Passed to every function. May be null.
    pub context: *mut c_void,
    /// The last point: the number of points, less 1.
    pub last: u64,
    /// The value of a point from 0 to `last`.
    pub forward: Option<unsafe extern "C-unwind" fn(context: *mut c_void, point: u64) -> u64>,
    /// The point of a value from 0 to `last`.
    pub inverse: Option<unsafe extern "C-unwind" fn(context: *mut c_void, value: u64) -> u64>,
    /// Writes the values of the points `first`, `first + 1` and so on to `values`, `count` of them.
    /// May be null; it saves calls.
    pub forward_run: Option<
        unsafe extern "C-unwind" fn(
            context: *mut c_void,
            first: u64,
            values: *mut u64,
            count: usize,
        ),
    >,
    /// Frees the context. May be null. It is called once, by the thread that frees the last
    /// permutation of this bijection, and not at all if no permutation was made.
    pub free_context: Option<unsafe extern "C-unwind" fn(context: *mut c_void)>,
    /// Null pointers, or BS_ERROR_ARGUMENT is returned. Later versions may use them.
    pub reserved: [*mut c_void; 4],
}

type Value = unsafe extern "C-unwind" fn(*mut c_void, u64) -> u64;

/// The caller's functions, until the context is freed.
#[derive(Debug)]
struct Functions {
    given: Bijection,
    forward: Value,
    inverse: Value,
}

// SAFETY: the header demands functions that any thread may call with the context.
unsafe impl Send for Functions {}
// SAFETY: it demands that several threads may call them at the same time.
unsafe impl Sync for Functions {}

impl Drop for Functions {
    fn drop(&mut self) {
        if let Some(free) = self.given.free_context {
            // SAFETY: nobody calls the other functions any more, and this happens once.
            unsafe { free(self.given.context) };
        }
    }
}

/// A bijection of the caller's functions. The library checks what it moves items by.
#[derive(Clone, Debug)]
pub(crate) struct Custom(Arc<Functions>);

impl Custom {
    /// # Safety
    ///
    /// The pointer is null, or leads to a bijection that keeps the rules of the header.
    pub(crate) unsafe fn new(bijection: *const Bijection) -> Result<Self, Failure> {
        // SAFETY: the caller promises a bijection at `bijection`.
        let given = *unsafe { memory::shared(bijection, "the bijection") }?;
        if given.reserved.iter().any(|reserved| !reserved.is_null()) {
            return Err(Failure::not_zero("the bijection"));
        }
        let forward = given.forward.ok_or_else(|| Failure::null("the function `forward`"))?;
        let inverse = given.inverse.ok_or_else(|| Failure::null("the function `inverse`"))?;
        Ok(Self(Arc::new(Functions { given, forward, inverse })))
    }

    /// A value that is a point. Any other ends the call here: as it is above the length, it would
    /// pass for the value of a slot without an item, and the function may have failed at one with
    /// an item. No item has moved yet: the library evaluates all that it moves items by beforehand.
    fn point(&self, value: u64) -> u64 {
        if value > self.0.given.last {
            resume_unwind(Box::new(Failure::not_a_bijection()));
        }
        value
    }

    /// Leaves the context to the caller: no permutation was made.
    pub(crate) fn give_back(self) {
        if let Some(mut functions) = Arc::into_inner(self.0) {
            functions.given.free_context = None;
        }
    }
}

impl library::Bijection for Custom {
    fn last(&self) -> u64 {
        self.0.given.last
    }

    fn forward(&self, slot: u64) -> u64 {
        // SAFETY: the header demands a function that any thread may call with this context.
        self.point(unsafe { (self.0.forward)(self.0.given.context, slot) })
    }

    fn inverse(&self, index: u64) -> u64 {
        // SAFETY: the header demands a function that any thread may call with this context.
        self.point(unsafe { (self.0.inverse)(self.0.given.context, index) })
    }

    fn forward_run(&self, first: u64, out: &mut [u64]) {
        let Some(run) = self.0.given.forward_run else {
            let mut slot = first;
            for value in out {
                *value = self.forward(slot);
                slot = slot.wrapping_add(1);
            }
            return;
        };
        // SAFETY: the header demands a function that any thread may call with this context, and
        // there is room for as many values as are asked for.
        unsafe { run(self.0.given.context, first, out.as_mut_ptr(), out.len()) };
        self.point(out.iter().copied().max().unwrap_or(0));
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::{CStr, c_void};
    use std::ptr;

    use super::*;
    use crate::items::{Array, bs_permutation_apply};
    use crate::permutation::{
        bs_permutation_free, bs_permutation_from_bijection, bs_permutation_get,
    };
    use crate::status::{BS_ERROR_INTERNAL, BS_OK, bs_error_text};

    unsafe extern "C-unwind" fn panics(_: *mut c_void, point: u64) -> u64 {
        assert_ne!(point, 70_000, "thrown by the caller's function");
        point
    }

    #[test]
    fn a_panic_of_the_callers_function_stays_within_and_moves_nothing() {
        const LEN: usize = 1 << 17;
        let f = Bijection {
            context: ptr::null_mut(),
            last: LEN as u64 - 1,
            forward: Some(panics),
            inverse: Some(panics),
            forward_run: None,
            free_context: None,
            reserved: [ptr::null_mut(); 4],
        };
        let (mut p, mut item) = (ptr::null_mut(), 77);
        let mut items: Vec<u64> = (0..LEN as u64).collect();
        let array = Array { items: items.as_mut_ptr().cast(), item_size: 8 };
        // SAFETY: the bijection and the pointer are there.
        assert_eq!(unsafe { bs_permutation_from_bijection(LEN as u64, &f, &mut p) }, BS_OK);
        // SAFETY: the permutation has been made, and the array has as many items.
        assert_eq!(unsafe { bs_permutation_apply(p, &array, 1, LEN) }, BS_ERROR_INTERNAL);
        // SAFETY: it is a text that ends with a zero, until the next failure.
        let text = unsafe { CStr::from_ptr(bs_error_text()) }.to_str().unwrap();
        assert!(text.contains("thrown by the caller's function"), "{text}");
        // SAFETY: the permutation has been made, and `item` is a local variable.
        assert_eq!(unsafe { bs_permutation_get(p, 70_000, &mut item) }, BS_ERROR_INTERNAL);
        // SAFETY: it is not used any more.
        unsafe { bs_permutation_free(p) };
        assert!(items.into_iter().eq(0..LEN as u64) && item == 77);
    }
}
