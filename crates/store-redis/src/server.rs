//! One server that is written to.

use std::sync::Arc;

use redis::Value;

use crate::batch::{Batches, Terms};
use crate::bus::Bus;
use crate::call::{Call, Manner};
use crate::fault::Fault;
use crate::line::Dialer;
use crate::lines::Lines;
use crate::location::Address;

/// The connections to one server. Dropping it ends them.
pub(crate) struct Server {
    pub(crate) address: Address,
    pub(crate) lines: Lines,
    batches: Option<Batches>,
    pub(crate) bus: Bus,
}

impl Server {
    /// Begins to connect. With `terms`, calls go in batches that are waited for.
    pub(crate) fn start(dialer: &Dialer, address: Address, terms: Option<Terms>, bus: Bus) -> Self {
        let lines = Lines::start(dialer, address.clone());
        let teller = lines.first();
        let batches = terms.map(|terms| Batches::start(dialer, address.clone(), terms, Arc::clone(teller)));
        Self { address, lines, batches, bus }
    }

    /// Runs a script there.
    pub(crate) async fn run(&self, call: &Arc<Call>, manner: Manner) -> Result<Value, Fault> {
        if let Some(batches) = &self.batches {
            return batches.send(call, manner).await;
        }
        let line = self.lines.here();
        if !manner.asking {
            return line.send(&call.command(manner)).await;
        }
        let mut commands = redis::Pipeline::new();
        call.add_to(&mut commands, manner);
        match line.send_all(&commands).await?.0.pop() {
            Some(Value::ServerError(error)) => Err(Fault::of_server_error(&error)),
            Some(answer) => Ok(answer),
            None => Err(Fault::Lost),
        }
    }
}
