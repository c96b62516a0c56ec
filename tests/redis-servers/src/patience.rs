//! Waits until a state is seen.

use std::future::Future;
use std::time::{Duration, Instant};

use crate::Error;

/// How often a state is looked at: short beside what a start takes, long beside what a look costs.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Looks until `look` finds what is awaited.
///
/// `look` answers `Ok(Ok(value))` when it is there, `Ok(Err(seen))` with what is there instead, and `Err` when
/// waiting on makes no sense.
///
/// # Errors
/// [`Error::TooLate`] after `bound`, with what was seen last; whatever `look` fails with.
pub(crate) async fn until<T, F>(what: &str, bound: Duration, mut look: impl FnMut() -> F) -> Result<T, Error>
where
    F: Future<Output = Result<Result<T, String>, Error>>,
{
    let begin = Instant::now();
    loop {
        match look().await? {
            Ok(value) => return Ok(value),
            Err(last) if begin.elapsed() >= bound => {
                return Err(Error::TooLate { what: what.to_owned(), bound, last });
            }
            Err(_) => tokio::time::sleep(LOOK_EVERY).await,
        }
    }
}
