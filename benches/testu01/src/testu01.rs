//! [`battery_test`]: the only function of TestU01 that is called.

use std::error::Error;

use crate::battery::Battery;
use crate::source::Feed;

/// Runs a test of a battery; gives the name and the p-value of each of its statistics.
///
/// TestU01 writes a report to the standard output, and its global variables make it safe for one
/// thread alone: see [`crate::one`].
///
/// # Errors
///
/// If this program is built without TestU01, or TestU01 says something that it should not.
pub(crate) fn battery_test(
    battery: Battery,
    test: usize,
    feed: &mut Feed,
) -> Result<Vec<(String, f64)>, Box<dyn Error>> {
    #[cfg(testu01)]
    return linked::battery_test(battery, test, feed);
    #[cfg(not(testu01))]
    {
        let _ = (battery, test, feed.next());
        Err("built without TestU01: build and run this by benches/testu01/run".into())
    }
}

#[cfg(testu01)]
mod linked {
    use std::error::Error;
    use std::ffi::{CStr, c_char, c_double, c_int, c_ulong, c_void};
    use std::ptr::null_mut;

    use crate::battery::Battery;
    use crate::source::Feed;

    /// How many tests and statistics TestU01 has room for: `1 + NDIM` in its `bbattery.c`.
    const ROOM: usize = 201;

    /// `unif01_Gen` of TestU01's `unif01.h`, what its functions `unif01_CreateExternGenBits` make.
    #[repr(C)]
    struct Generator {
        state: *mut c_void,
        param: *mut c_void,
        name: *mut c_char,
        get_u01: extern "C" fn(*mut c_void, *mut c_void) -> c_double,
        get_bits: extern "C" fn(*mut c_void, *mut c_void) -> c_ulong,
        write: extern "C" fn(*mut c_void),
    }

    #[allow(non_upper_case_globals, reason = "the names are TestU01's")]
    unsafe extern "C" {
        fn bbattery_RepeatSmallCrush(generator: *mut Generator, repeats: *mut c_int);
        fn bbattery_RepeatCrush(generator: *mut Generator, repeats: *mut c_int);
        fn bbattery_RepeatBigCrush(generator: *mut Generator, repeats: *mut c_int);
        static mut bbattery_NTests: c_int;
        static mut bbattery_pVal: [c_double; ROOM];
        static mut bbattery_TestNames: [*const c_char; ROOM];
        static mut swrite_Basic: c_int;
    }

    /// The next word: `GetBits` of a generator.
    extern "C" fn bits(_: *mut c_void, state: *mut c_void) -> c_ulong {
        // SAFETY: TestU01 hands on the state of `Generator`, a `Feed` that nothing else uses while
        // a battery runs.
        c_ulong::from(unsafe { &mut *state.cast::<Feed>() }.next())
    }

    /// The next word as a number in [0, 1): `GetU01` of a generator, 32 bits of it as with
    /// TestU01's own.
    extern "C" fn unit(_: *mut c_void, state: *mut c_void) -> c_double {
        // SAFETY: TestU01 hands on the state of `Generator`, a `Feed` that nothing else uses while
        // a battery runs.
        f64::from(unsafe { &mut *state.cast::<Feed>() }.next()) * 2f64.powi(-32)
    }

    /// Writes the state, which nobody reads: `Write` of a generator.
    extern "C" fn write(_: *mut c_void) {}

    pub(super) fn battery_test(
        battery: Battery,
        test: usize,
        feed: &mut Feed,
    ) -> Result<Vec<(String, f64)>, Box<dyn Error>> {
        assert!((1..=battery.tests()).contains(&test), "TestU01 has no such test");
        let mut generator = Generator {
            state: std::ptr::from_mut(feed).cast(),
            param: null_mut(),
            name: c"generator".as_ptr().cast_mut(),
            get_u01: unit,
            get_bits: bits,
            write,
        };
        let mut repeats = [0; ROOM];
        repeats[test] = 1;
        let run = match battery {
            Battery::SmallCrush => bbattery_RepeatSmallCrush,
            Battery::Crush => bbattery_RepeatCrush,
            Battery::BigCrush => bbattery_RepeatBigCrush,
        };
        // SAFETY: an `int` that TestU01 reads in the calls below, in this thread, the only one of
        // the process.
        unsafe { swrite_Basic = 0 };
        // SAFETY: the generator is laid out as TestU01's, and it and the feed outlive the call;
        // TestU01 writes no name. There are as many repeats as it has room for.
        unsafe { run(&raw mut generator, repeats.as_mut_ptr()) };
        // SAFETY: an `int` that the call above has written.
        let count = usize::try_from(unsafe { bbattery_NTests })?;
        // SAFETY: an array that the call above has written, copied while nothing writes it.
        let values = unsafe { bbattery_pVal };
        // SAFETY: the battery has returned, and no other thread writes this array of pointers.
        let names = unsafe { bbattery_TestNames };
        let statistic = |i: usize| {
            if names[i].is_null() {
                return (String::new(), values[i]);
            }
            // SAFETY: the name of a statistic that there is, which ends with a zero; TestU01 keeps
            // it.
            let name = unsafe { CStr::from_ptr(names[i]) };
            (name.to_string_lossy().trim().to_owned(), values[i])
        };
        if count == 0 || count > ROOM {
            return Err(format!("TestU01 tells of {count} statistics").into());
        }
        Ok((0..count).map(statistic).collect())
    }

    #[cfg(test)]
    mod tests {
        use super::*;
        use crate::contenders;

        #[test]
        fn a_poor_generator_fails_and_a_good_one_does_not() {
            // One test alone: TestU01 is not for several threads, as tests run.
            for (name, fails) in [("lcg32/sequence", true), ("philox10/sequence", false)] {
                let contender = contenders::find(name).unwrap();
                // Test 1: BirthdaySpacings.
                let found = battery_test(
                    Battery::SmallCrush,
                    1,
                    &mut Feed::new((contender.start)(1).unwrap()),
                )
                .unwrap();
                assert_eq!(found.len(), 1);
                assert_eq!(found[0].0, "BirthdaySpacings");
                assert_eq!(found[0].1 < 1e-10, fails, "{name}: {found:?}");
            }
        }
    }
}
