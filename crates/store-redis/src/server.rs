//! One server that is written to.

use std::sync::Arc;

use redis::Value;

use crate::batch::{Batches, Terms};
use crate::bus::Bus;
use crate::call::{Call, Manner};
use crate::fault::Fault;
use crate::line::{Dialer, Line};
use crate::location::Address;

/// The connections to one server. Dropping it ends them.
pub(crate) struct Server {
    pub(crate) address: Address,
    pub(crate) line: Arc<Line>,
    batches: Option<Batches>,
    pub(crate) bus: Bus,
}

impl Server {
    /// Begins to connect. With `terms`, calls go in batches that are waited for.
    pub(crate) fn start(dialer: &Dialer, address: Address, terms: Option<Terms>, bus: Bus) -> Self {
        let line = Arc::new(Line::start(dialer, address.clone()));
        let batches = terms.map(|terms| Batches::start(dialer, address.clone(), terms, Arc::clone(&line)));
        Self { address, line, batches, bus }
    }

    /// Runs a script there.
    pub(crate) async fn run(&self, call: &Arc<Call>, manner: Manner) -> Result<Value, Fault> {
        if let Some(batches) = &self.batches {
            return batches.send(call, manner).await;
        }
        if !manner.asking {
            return self.line.send(&call.command(manner)).await;
        }
        let mut commands = redis::Pipeline::new();
        call.add_to(&mut commands, manner);
        match self.line.send_all(&commands).await?.0.pop() {
            Some(Value::ServerError(error)) => Err(Fault::of_server_error(&error)),
            Some(answer) => Ok(answer),
            None => Err(Fault::Lost),
        }
    }
}
