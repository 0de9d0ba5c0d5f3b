//! Times of calls that put work in streams.

use std::error::Error;
use std::time::Instant;

use bijective_shuffle::cuda::cudarc::driver::CudaStream;
use bijective_shuffle::cuda::cudarc::driver::sys::CUevent_flags;

use crate::measure::median;

/// A time in seconds, or why there is none.
pub(crate) type Seconds = Result<f64, Box<dyn Error>>;

/// The median time of a call, of some samples which take `least` seconds or, if these are shorter,
/// `most` calls. `time` gives the time that a number of calls take together.
pub(crate) fn of_calls(
    repeats: usize,
    (least, most): (f64, usize),
    mut time: impl FnMut(usize) -> Seconds,
) -> Seconds {
    let calls = (least / time(1)?).ceil().clamp(1.0, most as f64) as usize;
    let times: Result<Vec<f64>, _> =
        (0..repeats).map(|_| Ok::<_, Box<dyn Error>>(time(calls)? / calls as f64)).collect();
    Ok(median(times?))
}

/// The time of some calls by the clock, from when a function has waited for all streams until it
/// has waited again.
pub(crate) fn by_clock<W: Error + 'static, E: Into<Box<dyn Error>>>(
    calls: usize,
    wait: impl Fn() -> Result<(), W>,
    mut call: impl FnMut() -> Result<(), E>,
) -> Seconds {
    wait()?;
    let start = Instant::now();
    for _ in 0..calls {
        call().map_err(Into::into)?;
    }
    wait()?;
    Ok(start.elapsed().as_secs_f64())
}

/// The time of some calls by events in a stream.
pub(crate) fn by_events<E: Into<Box<dyn Error>>>(
    stream: &CudaStream,
    calls: usize,
    mut call: impl FnMut() -> Result<(), E>,
) -> Seconds {
    let event = || stream.record_event(Some(CUevent_flags::CU_EVENT_DEFAULT));
    let start = event()?;
    for _ in 0..calls {
        call().map_err(Into::into)?;
    }
    let end = event()?;
    end.synchronize()?;
    Ok(f64::from(start.elapsed_ms(&end)?) / 1e3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_has_as_many_calls_as_take_the_time() {
        let mut asked = Vec::new();
        let time = |calls: usize| {
            asked.push(calls);
            Ok(calls as f64 * 0.01)
        };
        assert!((of_calls(3, (0.05, 1000), time).unwrap() - 0.01).abs() < 1e-12);
        assert_eq!(asked, [1, 5, 5, 5]);
        let mut asked = Vec::new();
        let time = |calls: usize| {
            asked.push(calls);
            Ok(calls as f64 * 1e-9)
        };
        of_calls(2, (0.05, 1000), time).unwrap();
        assert_eq!(asked, [1, 1000, 1000]);
    }
}
