//! Which server has what.
//!
//! For one server that never changes. Sentinels are asked who the primary is, the nodes of a cluster who
//! has which slot: at the start, whenever an answer says that it has changed, and every few seconds.

use std::num::NonZeroU8;
use std::sync::{Arc, PoisonError, RwLock};

use rand::RngExt as _;
use redis::Value;
use tokio::sync::{Notify, watch};

use crate::batch::Terms;
use crate::bus::{Bus, Network};
use crate::fault::Fault;
use crate::hub::Hub;
use crate::line::{Dialer, jittered};
use crate::location::{Address, Location, Shape};
use crate::names::SLOTS;
use crate::scripts::Variant;
use crate::server::Server;

/// Pause between two looks when nothing seems wrong, ms.
const LOOK_MS: u64 = 5_000;

/// The shortest pause between two looks, ms: a failover makes every call ask for one.
const LOOK_MIN_MS: u64 = 100;

/// Nodes of a cluster that are asked before a look is given up.
const ASKED_MAX: usize = 5;

/// Which address has which slot.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct Table {
    addresses: Vec<Address>,
    /// For each slot the place of its owner in `addresses`; empty where one has all.
    owners: Vec<Option<u16>>,
}

impl Table {
    /// A table of one server.
    pub(crate) fn of_one(address: Address) -> Self {
        Self { addresses: vec![address], owners: Vec::new() }
    }

    fn place(&self, slot: u16) -> Option<usize> {
        if self.owners.is_empty() {
            return Some(0);
        }
        self.owners.get(usize::from(slot)).copied().flatten().map(usize::from)
    }

    /// Who has a slot.
    pub(crate) fn owner(&self, slot: u16) -> Option<&Address> {
        self.addresses.get(self.place(slot)?)
    }

    fn assign(&mut self, address: &Address, slots: impl Iterator<Item = u16>) {
        let known = self.addresses.iter().position(|other| other == address);
        let place = known.unwrap_or_else(|| {
            self.addresses.push(address.clone());
            self.addresses.len() - 1
        });
        self.owners.resize(usize::from(SLOTS), None);
        for slot in slots {
            if let Some(owner) = self.owners.get_mut(usize::from(slot)) {
                *owner = u16::try_from(place).ok();
            }
        }
    }
}

/// The servers as they are used: those of the table, and those that were only pointed at.
struct Serving {
    table: Arc<Table>,
    /// In the order of the table's addresses.
    servers: Vec<Arc<Server>>,
    /// Servers that answers pointed at before the table knew them.
    others: Vec<Arc<Server>>,
}

/// The way to every server of a store.
pub(crate) struct Routes {
    location: Arc<Location>,
    dialer: Dialer,
    hub: Arc<Hub>,
    variant: Variant,
    replicas: Option<NonZeroU8>,
    serving: RwLock<Serving>,
    table: watch::Sender<Arc<Table>>,
    stale: Arc<Notify>,
}

impl Routes {
    /// Routes that know no server yet.
    pub(crate) fn new(
        location: Arc<Location>,
        dialer: Dialer,
        hub: Arc<Hub>,
        variant: Variant,
        replicas: Option<NonZeroU8>,
    ) -> Self {
        let table = Arc::new(Table::default());
        Self {
            location,
            dialer,
            hub,
            variant,
            replicas,
            serving: RwLock::new(Serving {
                table: Arc::clone(&table),
                servers: Vec::new(),
                others: Vec::new(),
            }),
            table: watch::Sender::new(table),
            stale: Arc::new(Notify::new()),
        }
    }

    /// The server that has a slot.
    pub(crate) fn server(&self, slot: u16) -> Result<Arc<Server>, Fault> {
        let serving = self.serving.read().unwrap_or_else(PoisonError::into_inner);
        let server = serving.table.place(slot).and_then(|place| serving.servers.get(place));
        server.cloned().ok_or(Fault::Down)
    }

    /// All servers of the table.
    pub(crate) fn addresses(&self) -> Vec<Address> {
        self.table.borrow().addresses.clone()
    }

    pub(crate) fn dialer(&self) -> &Dialer {
        &self.dialer
    }

    /// The server at an address that an answer named.
    pub(crate) fn pointed_at(&self, address: &Address) -> Arc<Server> {
        let mut serving = self.serving.write().unwrap_or_else(PoisonError::into_inner);
        let known = serving.servers.iter().chain(&serving.others);
        if let Some(server) = known.into_iter().find(|server| server.address == *address) {
            return Arc::clone(server);
        }
        let server = Arc::new(self.start(address.clone()));
        // Only the newest few are kept: the next look sorts them out.
        serving.others.truncate(ASKED_MAX);
        serving.others.insert(0, Arc::clone(&server));
        server
    }

    /// A slot was found at another server than the table says.
    pub(crate) fn moved(&self, slot: u16, address: &Address) {
        let mut table = Table::clone(&self.table.borrow());
        if table.owner(slot) != Some(address) && !table.owners.is_empty() {
            table.assign(address, std::iter::once(slot));
            self.serve(table);
        }
        self.stale.notify_one();
    }

    /// The table may be wrong: it is looked at soon.
    pub(crate) fn doubt(&self) {
        self.stale.notify_one();
    }

    /// Keeps the table right, for ever.
    pub(crate) async fn keep(self: Arc<Self>) {
        if self.location.shape == Shape::Single {
            return;
        }
        loop {
            let _ = tokio::time::timeout(jittered(LOOK_MS), self.stale.notified()).await;
            if let Err(fault) = self.look().await {
                tracing::warn!(?fault, "cannot find out who has which slot");
            }
            tokio::time::sleep(jittered(LOOK_MIN_MS)).await;
        }
    }

    /// Finds out who has what.
    pub(crate) async fn look(&self) -> Result<(), Fault> {
        let table = match &self.location.shape {
            Shape::Single => self.location.addresses.first().cloned().map(Table::of_one),
            Shape::Sentinel { service } => Some(Table::of_one(self.ask_sentinels(service).await?)),
            Shape::Cluster => Some(self.ask_nodes().await?),
        };
        self.serve(table.ok_or(Fault::Down)?);
        Ok(())
    }

    async fn ask_sentinels(&self, service: &str) -> Result<Address, Fault> {
        let dialer = self.dialer.for_sentinels();
        let mut fault = Fault::Down;
        for sentinel in from_anywhere(self.location.addresses.clone()) {
            let mut command = redis::cmd("SENTINEL");
            command.arg("GET-MASTER-ADDR-BY-NAME").arg(service);
            match ask(&dialer, &sentinel, &command).await {
                Ok(answer) => match read_address(&answer) {
                    Some(address) => return Ok(address),
                    None => fault = Fault::NotNow("a sentinel knows no such service".to_owned()),
                },
                Err(found) => fault = found,
            }
        }
        Err(fault)
    }

    async fn ask_nodes(&self) -> Result<Table, Fault> {
        let mut known = self.addresses();
        for address in &self.location.addresses {
            if !known.contains(address) {
                known.push(address.clone());
            }
        }
        let mut fault = Fault::Down;
        for node in from_anywhere(known).into_iter().take(ASKED_MAX) {
            let mut command = redis::cmd("CLUSTER");
            command.arg("SLOTS");
            match ask(&self.dialer, &node, &command).await {
                Ok(answer) => match read_slots(&answer, &node) {
                    Some(table) => return Ok(table),
                    None => fault = Fault::NotNow("a node knows no slots".to_owned()),
                },
                Err(found) => fault = found,
            }
        }
        Err(fault)
    }

    /// Serves by a table from now on. Servers that it does not know are left.
    fn serve(&self, table: Table) {
        let mut serving = self.serving.write().unwrap_or_else(PoisonError::into_inner);
        if *serving.table == table {
            return;
        }
        let servers = table.addresses.iter().map(|address| {
            let known = serving.servers.iter().chain(&serving.others);
            let known = known.into_iter().find(|server| server.address == *address);
            known.cloned().unwrap_or_else(|| Arc::new(self.start(address.clone())))
        });
        let (servers, others) = (servers.collect(), Vec::new());
        let table = Arc::new(table);
        *serving = Serving { servers, others, table: Arc::clone(&table) };
        drop(serving);
        self.table.send_replace(table);
    }

    fn start(&self, address: Address) -> Server {
        let network = Network {
            hub: Arc::clone(&self.hub),
            dialer: self.dialer.clone(),
            sharded: self.variant.sharded,
            table: self.table.subscribe(),
            stale: Arc::clone(&self.stale),
        };
        let publish = self.variant.publish();
        let terms = self.replicas.map(|replicas| Terms { replicas, publish });
        Server::start(&self.dialer, address.clone(), terms, Bus::start(network, address))
    }
}

/// Asks a server one thing on a connection of its own.
pub(crate) async fn ask(dialer: &Dialer, address: &Address, command: &redis::Cmd) -> Result<Value, Fault> {
    let connection = dialer.dial(address, None).await;
    let mut connection = connection.map_err(|error| Fault::of_error(&error))?;
    match connection.send_packed_command(command).await {
        Ok(Value::ServerError(error)) => Err(Fault::of_server_error(&error)),
        Ok(answer) => Ok(answer),
        Err(error) => Err(Fault::of_error(&error)),
    }
}

/// Addresses in their order, but beginning anywhere: a dead one must not be in everybody's way.
fn from_anywhere(mut addresses: Vec<Address>) -> Vec<Address> {
    let count = addresses.len();
    if count > 1 {
        addresses.rotate_left(rand::rng().random_range(0..count));
    }
    addresses
}

fn text(value: &Value) -> Option<String> {
    match value {
        Value::BulkString(bytes) => String::from_utf8(bytes.clone()).ok(),
        Value::SimpleString(text) => Some(text.clone()),
        Value::VerbatimString { text, .. } => Some(text.clone()),
        _ => None,
    }
}

fn read_address(answer: &Value) -> Option<Address> {
    let Value::Array(parts) = answer else { return None };
    let [host, port] = &parts[..] else { return None };
    Some(Address { host: text(host)?, port: text(port)?.parse().ok()? })
}

/// Reads the answer to CLUSTER SLOTS. A node may leave out its own host: then it is the one that was asked.
fn read_slots(answer: &Value, asked: &Address) -> Option<Table> {
    let Value::Array(ranges) = answer else { return None };
    let mut table = Table::default();
    for range in ranges {
        let Value::Array(range) = range else { return None };
        let [Value::Int(first), Value::Int(last), Value::Array(primary), ..] = &range[..] else {
            return None;
        };
        let [host, Value::Int(port), ..] = &primary[..] else { return None };
        let host = text(host).filter(|host| !host.is_empty()).unwrap_or_else(|| asked.host.clone());
        let address = Address { host, port: u16::try_from(*port).ok()? };
        let (first, last) = (u16::try_from(*first).ok()?, u16::try_from(*last).ok()?);
        table.assign(&address, first..=last.min(SLOTS - 1));
    }
    (!table.addresses.is_empty()).then_some(table)
}
