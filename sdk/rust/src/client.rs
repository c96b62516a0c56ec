//! The connection to a server.

use std::sync::Arc;
use std::time::Duration;

use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint, Identity};
use wire::v1;
use wire::v1::player_service_client::PlayerServiceClient;

use crate::call::Caller;
use crate::credential::Credential;
use crate::player::Player;
use crate::tokens::Tokens;
use crate::{Backend, Error, retry};

/// How long a connection may take to come up.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// How long the answer to a ping may take.
const KEEP_ALIVE_TIMEOUT: Duration = Duration::from_secs(10);

/// A connection to a server, for everyone who uses it in this process. Cheap to clone; it connects again
/// by itself.
#[derive(Clone, Debug)]
pub struct Client {
    caller: Caller,
}

impl Client {
    /// Connects to a server with the default options; see [`ClientBuilder`] for others.
    ///
    /// # Errors
    /// [`Error::Connect`]: the address is not one, or nobody answers there.
    ///
    /// ```no_run
    /// # async fn example() -> Result<(), whattheshell::Error> {
    /// let client = whattheshell::Client::connect("http://127.0.0.1:7654").await?;
    /// println!("{}", client.server_info().await?.server_version);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn connect(url: &str) -> Result<Self, Error> {
        Self::builder().connect(url).await
    }

    /// A client with other options.
    pub fn builder() -> ClientBuilder {
        ClientBuilder::default()
    }

    /// What the server is and can do. Needs no credential.
    ///
    /// # Errors
    /// [`Error::Api`], [`Error::Transport`].
    pub async fn server_info(&self) -> Result<v1::GetServerInfoResponse, Error> {
        self.caller.server_info().await
    }

    /// A token for `players/{player}`, by a server in development mode, which mints for everyone.
    /// Elsewhere tokens come from a back end: [`Backend::mint_token`].
    ///
    /// # Errors
    /// [`Error::Api`]: TOKEN_MISSING on a server that is not in development mode; FIELD_INVALID for a
    /// name that no player can have.
    pub async fn mint_token(&self, player: &str) -> Result<v1::MintPlayerTokenResponse, Error> {
        self.mint_token_with(v1::MintPlayerTokenRequest { player: player.to_owned(), ..Default::default() })
            .await
    }

    /// [`Client::mint_token`] with a lifetime, scopes or a public key of one's choice.
    ///
    /// # Errors
    /// [`Error::Api`]: as for [`Client::mint_token`]; FIELD_INVALID also for a lifetime out of range.
    pub async fn mint_token_with(
        &self,
        request: v1::MintPlayerTokenRequest,
    ) -> Result<v1::MintPlayerTokenResponse, Error> {
        mint(&self.caller, request).await
    }

    /// A session that acts as the player whose token this is, and ends with it. A session for longer is
    /// made by [`Client::player_with`].
    ///
    /// # Errors
    /// [`Error::Credential`]: it is not a player's token. Whether it is valid shows with the first call.
    pub fn player(&self, token: &str) -> Result<Player, Error> {
        let (credential, player) = Credential::token(token)?;
        Ok(Player::new(self.caller.with(credential), player, false))
    }

    /// A session that acts as one player for longer than a token lives. `source` is asked for a token now,
    /// a little before each one's end, and whenever the server says that one has expired: once, however
    /// many calls are refused with it. Calls are then repeated by themselves, and streams go on after the
    /// last turn.
    ///
    /// All tokens must be the same player's. The source may take as long as half of a call's deadline; what
    /// goes wrong in it is an [`Error::TokenSource`] of the call that needs the token.
    ///
    /// # Errors
    /// [`Error::TokenSource`]: the source gives no first token. [`Error::Credential`]: what it gives is not
    /// a player's token.
    ///
    /// ```no_run
    /// # use whattheshell::{Client, Error};
    /// # async fn ask_your_back_end() -> Result<String, Error> { Ok(String::new()) }
    /// # async fn example(client: Client) -> Result<(), Error> {
    /// // Your back end knows who its player is, and mints.
    /// let ann = client.player_with(|| ask_your_back_end()).await?;
    ///
    /// // A server in development mode mints for everyone.
    /// let minting = client.clone();
    /// let bob = client.player_with(move || {
    ///     let minting = minting.clone();
    ///     async move { Ok::<_, Error>(minting.mint_token("players/bob").await?.token) }
    /// });
    /// println!("{} against {}", ann.name(), bob.await?.name());
    /// # Ok(())
    /// # }
    /// ```
    pub async fn player_with<S, F, E>(&self, source: S) -> Result<Player, Error>
    where
        S: Fn() -> F + Send + Sync + 'static,
        F: Future<Output = Result<String, E>> + Send + 'static,
        E: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let tokens = Tokens::of(source, self.caller.deadline() / 2).await?;
        let player = tokens.player().to_owned();
        Ok(Player::new(self.caller.with(Credential::Tokens(Arc::new(tokens))), player, false))
    }

    /// A session of a back end, by its API key.
    ///
    /// # Errors
    /// [`Error::Credential`]: the key has characters that no key has.
    pub fn backend(&self, api_key: &str) -> Result<Backend, Error> {
        Ok(Backend::new(self.caller.with(Credential::api_key(api_key)?)))
    }

    /// A session of the back end that the server knows by the certificate of this connection; see
    /// [`ClientBuilder::client_certificate`]. Whether it does shows with the first call.
    #[must_use]
    pub fn backend_by_certificate(&self) -> Backend {
        Backend::new(self.caller.with(Credential::Anonymous))
    }
}

/// Mints a token under a caller's credential.
pub(crate) async fn mint(
    caller: &Caller,
    request: v1::MintPlayerTokenRequest,
) -> Result<v1::MintPlayerTokenResponse, Error> {
    let call = async |channel, request| PlayerServiceClient::new(channel).mint_player_token(request).await;
    caller.unary(request, call).await
}

/// The options of a [`Client`]. The defaults suit players on the internet.
///
/// ```no_run
/// # async fn example() -> Result<(), whattheshell::Error> {
/// use std::time::Duration;
/// let client = whattheshell::Client::builder()
///     .deadline(Duration::from_secs(3))
///     .keep_alive(Duration::from_secs(30), Duration::from_secs(5))
///     .connect("http://127.0.0.1:7654")
///     .await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct ClientBuilder {
    deadline: Duration,
    connect_timeout: Duration,
    keep_alive: (Duration, Duration),
    stream_window_bytes: Option<u32>,
    connection_window_bytes: Option<u32>,
    signers: Vec<Certificate>,
    identity: Option<Identity>,
}

impl Default for ClientBuilder {
    fn default() -> Self {
        Self {
            deadline: retry::DEADLINE,
            connect_timeout: CONNECT_TIMEOUT,
            keep_alive: (Self::KEEP_ALIVE_INTERVAL, KEEP_ALIVE_TIMEOUT),
            stream_window_bytes: None,
            connection_window_bytes: None,
            signers: Vec::new(),
            identity: None,
        }
    }
}

impl ClientBuilder {
    /// How often a connection with open calls is pinged, unless it is built otherwise: a dead network shows
    /// within this and the 10 s that the answer may take. More often would cost a phone its battery and
    /// earn a proxy's GOAWAY.
    pub const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(20);

    /// The time each call has, its retries included; the server is told. Streams have none. Default 10 s.
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.deadline = deadline;
        self
    }

    /// How long a connection may take to come up. Default 5 s.
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.connect_timeout = timeout;
        self
    }

    /// How often to ping a connection with open calls, and how long the answer may take; then the
    /// connection is dead. Default 20 s and 10 s.
    pub fn keep_alive(mut self, interval: Duration, timeout: Duration) -> Self {
        self.keep_alive = (interval, timeout);
        self
    }

    /// The HTTP/2 window of each call, bytes. Default 2 MiB.
    pub fn stream_window_bytes(mut self, bytes: u32) -> Self {
        self.stream_window_bytes = Some(bytes);
        self
    }

    /// The HTTP/2 window of the whole connection, bytes. Default 5 MiB; many streams on one connection
    /// want more.
    pub fn connection_window_bytes(mut self, bytes: u32) -> Self {
        self.connection_window_bytes = Some(bytes);
        self
    }

    /// The certificates, PEM, that a server at `https://` must be signed by; may be called again for more. Default:
    /// those that the system trusts.
    pub fn ca_certificates(mut self, pem: impl AsRef<[u8]>) -> Self {
        self.signers.push(Certificate::from_pem(pem));
        self
    }

    /// The client's own certificate and its private key, PEM, for a server that knows back ends by theirs. Default:
    /// none.
    pub fn client_certificate(
        mut self,
        certificate_pem: impl AsRef<[u8]>,
        key_pem: impl AsRef<[u8]>,
    ) -> Self {
        self.identity = Some(Identity::from_pem(certificate_pem, key_pem));
        self
    }

    /// Connects to a server at `http://host:port`, or over TLS at `https://host:port`.
    ///
    /// # Errors
    /// [`Error::Connect`]: the address is not one, nobody answers there, or not whom the certificates are of.
    pub async fn connect(&self, url: &str) -> Result<Client, Error> {
        let failed = |source| Error::Connect { url: url.to_owned(), source };
        let channel = self.endpoint(url)?.connect().await.map_err(failed)?;
        Ok(self.over(channel))
    }

    /// A client that connects with its first call.
    ///
    /// # Errors
    /// [`Error::Connect`]: the address is not one.
    pub fn connect_lazy(&self, url: &str) -> Result<Client, Error> {
        Ok(self.over(self.endpoint(url)?.connect_lazy()))
    }

    /// A client over a channel that is there already: with a balancer or a connector of your own.
    /// Of these options only the deadline applies; give the channel its keepalive yourself, and no
    /// `Endpoint::timeout`, which would cut streams and pass for a cancellation.
    #[must_use]
    pub fn over(&self, channel: Channel) -> Client {
        Client { caller: Caller::new(channel, self.deadline) }
    }

    fn endpoint(&self, url: &str) -> Result<Endpoint, Error> {
        let failed = |source| Error::Connect { url: url.to_owned(), source };
        let endpoint = Endpoint::from_shared(url.to_owned()).map_err(failed)?;
        let (interval, timeout) = self.keep_alive;
        let endpoint = endpoint
            .connect_timeout(self.connect_timeout)
            .http2_keep_alive_interval(interval)
            .keep_alive_timeout(timeout)
            .initial_stream_window_size(self.stream_window_bytes)
            .initial_connection_window_size(self.connection_window_bytes);
        if endpoint.uri().scheme_str() != Some("https") {
            return Ok(endpoint);
        }
        endpoint.tls_config(self.tls()).map_err(failed)
    }

    fn tls(&self) -> ClientTlsConfig {
        let tls = ClientTlsConfig::new().timeout(self.connect_timeout);
        let tls = match self.signers.is_empty() {
            true => tls.with_native_roots(),
            false => tls.ca_certificates(self.signers.iter().cloned()),
        };
        match &self.identity {
            Some(identity) => tls.identity(identity.clone()),
            None => tls,
        }
    }
}
