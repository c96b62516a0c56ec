//! The server's clock as it is known here: to show what is left of a time, and for nothing else.

use std::time::{SystemTime, UNIX_EPOCH};

use whattheshell::{Client, Error};

use crate::words;

/// How far the server's clock is ahead of this machine's.
#[derive(Clone, Copy)]
pub(crate) struct ServerClock {
    ahead_ms: i64,
}

impl ServerClock {
    /// Asks the server for its time.
    ///
    /// # Errors
    /// Those of the call.
    pub(crate) async fn of(client: &Client) -> Result<Self, Error> {
        let info = client.server_info().await?;
        let server_ms = info.server_time.as_ref().map(words::stamp_ms);
        let server_ms = server_ms.map(|ms| i64::try_from(ms).unwrap_or(i64::MAX));
        Ok(Self { ahead_ms: server_ms.map_or(0, |ms| ms.saturating_sub(local_ms())) })
    }

    /// The server's time, milliseconds since 1970.
    pub(crate) fn now_ms(self) -> u64 {
        u64::try_from(local_ms().saturating_add(self.ahead_ms)).unwrap_or_default()
    }
}

fn local_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
