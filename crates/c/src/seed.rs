//! Seeds of 32 bytes.

use library::Seed;

use crate::memory::check;
use crate::status::Failure;

/// The seed of a number and an epoch.
pub(crate) fn of_word(seed: u64, epoch: u64) -> Seed {
    Seed::new(seed).with_epoch(epoch)
}

/// The seed of a key and an epoch.
///
/// # Safety
///
/// The pointer is null or leads to 32 bytes that nobody changes meanwhile.
pub(crate) unsafe fn of_key(key: *const u8, epoch: u64) -> Result<Seed, Failure> {
    check(key, "the key")?;
    // SAFETY: it is not null, so the caller promises 32 bytes; an array of bytes is aligned
    // anywhere.
    let bytes = unsafe { key.cast::<[u8; 32]>().read() };
    Ok(Seed::from_bytes(bytes).with_epoch(epoch))
}
