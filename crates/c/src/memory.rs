//! Pointers from outside, checked as far as that is possible.

use std::slice;

use crate::status::Failure;

/// Writes a result.
///
/// # Safety
///
/// The pointer is null or may be written to.
pub(crate) unsafe fn write<T>(to: *mut T, value: T, what: &str) -> Result<(), Failure> {
    check(to, what)?;
    // SAFETY: it is not null, so the caller promises that it may be written to; it is aligned.
    unsafe { to.write(value) };
    Ok(())
}

/// Checks a pointer that is going to be written to, before anything else happens.
pub(crate) fn check<T>(pointer: *const T, what: &str) -> Result<(), Failure> {
    if pointer.is_null() {
        return Err(Failure::null(what));
    }
    if !pointer.is_aligned() {
        let text = format!("the pointer to {what} is not a multiple of {}", align_of::<T>());
        return Err(Failure::argument(text));
    }
    Ok(())
}

/// What a pointer leads to.
///
/// # Safety
///
/// The pointer is null, or leads to a value that nobody changes as long as it is borrowed.
pub(crate) unsafe fn shared<'a, T>(pointer: *const T, what: &str) -> Result<&'a T, Failure> {
    check(pointer, what)?;
    // SAFETY: it is neither null nor misaligned, so the caller promises a value that nobody
    // changes.
    Ok(unsafe { &*pointer })
}

/// What a pointer leads to, to be changed.
///
/// # Safety
///
/// The pointer is null, or leads to a value that nobody else uses as long as it is borrowed.
pub(crate) unsafe fn exclusive<'a, T>(pointer: *mut T, what: &str) -> Result<&'a mut T, Failure> {
    check(pointer, what)?;
    // SAFETY: it is neither null nor misaligned, so the caller promises a value that nobody else
    // uses.
    Ok(unsafe { &mut *pointer })
}

/// The number of bytes of an array, if there can be one.
pub(crate) fn bytes(count: usize, item_size: usize, what: &str) -> Result<usize, Failure> {
    count.checked_mul(item_size).filter(|&bytes| isize::try_from(bytes).is_ok()).ok_or_else(|| {
        Failure::argument(format!(
            "{what} of {count} items of {item_size} bytes exceed the address space"
        ))
    })
}

/// An array of numbers that is read.
///
/// # Safety
///
/// The pointer is null, or leads to `count` numbers that nobody writes to as long as they are
/// borrowed.
pub(crate) unsafe fn items<'a, T>(
    pointer: *const T,
    count: usize,
    what: &str,
) -> Result<&'a [T], Failure> {
    if count == 0 {
        return Ok(&[]);
    }
    check(pointer, what)?;
    bytes(count, size_of::<T>(), what)?;
    // SAFETY: it is neither null nor misaligned, and the size is one that an array may have. The
    // caller promises `count` numbers there, to which nobody writes.
    Ok(unsafe { slice::from_raw_parts(pointer, count) })
}

/// An array that is written to.
///
/// # Safety
///
/// The pointer is null, or leads to memory for `count` items, each of which is a `T` whatever its
/// bytes are; nobody else uses them as long as they are borrowed.
pub(crate) unsafe fn items_mut<'a, T>(
    pointer: *mut T,
    count: usize,
    what: &str,
) -> Result<&'a mut [T], Failure> {
    if count == 0 {
        return Ok(&mut []);
    }
    check(pointer, what)?;
    bytes(count, size_of::<T>(), what)?;
    // SAFETY: it is neither null nor misaligned, and the size is one that an array may have. The
    // caller promises memory for `count` items there, which nobody else uses, whose bytes are a T
    // whatever they are.
    Ok(unsafe { slice::from_raw_parts_mut(pointer, count) })
}

/// Hands an object to the caller.
///
/// # Safety
///
/// The pointer is null or may be written to.
pub(crate) unsafe fn hand_out<T>(
    to: *mut *mut T,
    what: &str,
    make: impl FnOnce() -> Result<T, Failure>,
) -> Result<(), Failure> {
    check(to, what)?;
    let made = Box::into_raw(Box::new(make()?));
    // SAFETY: it is neither null nor misaligned, so the caller promises that it may be written to.
    unsafe { to.write(made) };
    Ok(())
}

/// Frees an object that was handed out.
///
/// # Safety
///
/// The pointer is null or comes from [`hand_out`], and nobody uses it any more.
pub(crate) unsafe fn take_back<T>(pointer: *mut T) {
    if !pointer.is_null() {
        // SAFETY: the caller promises that it comes from `Box::into_raw` and is not used any more.
        drop(unsafe { Box::from_raw(pointer) });
    }
}
