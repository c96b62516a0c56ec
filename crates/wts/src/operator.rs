//! An operator's connection to a node.

use std::time::Duration;

use anyhow::{Context as _, anyhow};
use clap::Args;
use tonic::metadata::{Ascii, MetadataValue};
use tonic::service::Interceptor;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::{Channel, Endpoint};
use tonic::{Request, Status};
use wire::ApiError;
use wire::admin::v1::admin_service_client::AdminServiceClient;

/// How long connecting may take: a node in the same network is there within a round trip or two.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// How long a call may take. The slowest one counts what all shards of a store hold.
const CALL_TIMEOUT: Duration = Duration::from_secs(10);

/// The header that carries the key.
const KEY_HEADER: &str = "x-api-key";

/// Where operators are listened to if nothing else is said.
pub(crate) const SERVER_DEFAULT: &str = "http://127.0.0.1:7655";

/// The key of an operator.
#[derive(Args)]
pub(crate) struct OperatorKey {
    /// The API key of an operator
    #[arg(long, env = "WTS_ADMIN_API_KEY", value_name = "KEY", hide_env_values = true, global = true)]
    api_key: Option<String>,
}

/// Shows the key with every call.
#[derive(Clone)]
pub(crate) struct Key(MetadataValue<Ascii>);

impl Interceptor for Key {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        request.metadata_mut().insert(KEY_HEADER, self.0.clone());
        request.set_timeout(CALL_TIMEOUT);
        Ok(request)
    }
}

/// A client of the operators' service.
pub(crate) type Operator = AdminServiceClient<InterceptedService<Channel, Key>>;

impl OperatorKey {
    /// A connection to the operators' listener at this address, made with the first call and again whenever it was
    /// lost.
    ///
    /// # Errors
    /// The address or the key is none.
    pub(crate) fn connect(&self, url: &str) -> anyhow::Result<Operator> {
        let key =
            self.api_key.as_ref().context("an operator shows a key: --api-key, or WTS_ADMIN_API_KEY")?;
        let mut key: MetadataValue<Ascii> =
            key.parse().map_err(|_| anyhow!("--api-key has characters that no key has"))?;
        key.set_sensitive(true);
        let endpoint =
            Endpoint::from_shared(url.to_owned()).with_context(|| format!("{url} is no http://HOST:PORT"))?;
        let channel = endpoint.connect_timeout(CONNECT_TIMEOUT).connect_lazy();
        Ok(AdminServiceClient::with_interceptor(channel, Key(key)))
    }
}

/// A new name for a request.
pub(crate) fn request_id() -> String {
    format!("{:032x}", rand::random::<u128>())
}

/// What went wrong, in words.
pub(crate) fn explain(status: Status) -> anyhow::Error {
    match ApiError::from_status(&status) {
        Some(error) => {
            let reason = error.name().to_owned();
            anyhow!("{} ({reason})", error.message())
        }
        None => anyhow!("the operators' listener does not answer: {}", status.message()),
    }
}
