//! TLS: who the server is, and which back end its peer.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::sync::Arc;

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ParsedCertificate, WebPkiClientVerifier};
use rustls::{RootCertStore, ServerConfig};
use sha2::{Digest as _, Sha256};
use thiserror::Error;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::watch;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

/// What a server speaks over TLS, as ALPN names it: gRPC, and gRPC-Web.
const PROTOCOLS: [&[u8]; 2] = [b"h2", b"http/1.1"];

/// What a server shows, and whom it believes: the contents of files in PEM.
#[derive(Clone, PartialEq, Eq)]
pub struct Pems {
    /// Its certificate, and those between that and one that clients know.
    pub certificates: Vec<u8>,
    /// The private key of the first of them.
    pub key: Vec<u8>,
    /// The certificates that client certificates must be signed by. None: clients are asked for no certificate.
    pub client_ca: Option<Vec<u8>>,
}

/// Keys are secret.
impl fmt::Debug for Pems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pems").finish_non_exhaustive()
    }
}

/// The back ends that are known by their certificates: the SHA-256 of the public key (the DER of a certificate's
/// SubjectPublicKeyInfo), and the name. A certificate that is renewed with its key is the same back end's.
pub type BackendKeys = BTreeMap<[u8; 32], Arc<str>>;

/// Why a server cannot show these certificates.
#[derive(Debug, Error)]
pub enum TlsError {
    /// There is none, or it is no PEM.
    #[error("no certificate in PEM: {0}")]
    Certificates(rustls::pki_types::pem::Error),
    /// There is none, or it is no PEM.
    #[error("no private key in PEM: {0}")]
    Key(rustls::pki_types::pem::Error),
    /// The key is not the certificate's, or of a kind that is not known.
    #[error("the certificate and its key cannot be used: {0}")]
    Pair(rustls::Error),
    /// There is none, or it is no PEM.
    #[error("no certificate of clients' signers in PEM: {0}")]
    ClientCa(rustls::pki_types::pem::Error),
    /// It cannot sign clients' certificates.
    #[error("clients' certificates cannot be checked by this: {0}")]
    ClientVerifier(#[from] rustls::server::VerifierBuilderError),
}

/// The TLS of a server. Copies are of one: what replaces its certificates holds for all, from the next connection
/// on.
#[derive(Clone)]
pub struct Tls {
    current: Arc<watch::Sender<Arc<ServerConfig>>>,
    backends: Arc<BackendKeys>,
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tls").field("backends", &self.backends.values()).finish_non_exhaustive()
    }
}

impl Tls {
    /// A server that shows these certificates. Clients may show one that is signed as `pems` say: the one whose key
    /// is in `backends` is that back end.
    ///
    /// # Errors
    /// The certificates cannot be used.
    pub fn new(pems: &Pems, backends: BackendKeys) -> Result<Self, TlsError> {
        let current = Arc::new(watch::Sender::new(Arc::new(config(pems)?)));
        Ok(Self { current, backends: Arc::new(backends) })
    }

    /// Shows these certificates from now on. Connections that are there live on.
    ///
    /// # Errors
    /// They cannot be used; those before them stay.
    pub fn replace(&self, pems: &Pems) -> Result<(), TlsError> {
        self.current.send_replace(Arc::new(config(pems)?));
        Ok(())
    }

    /// Shakes hands over a connection.
    pub(crate) async fn accept<Io>(&self, io: Io) -> io::Result<Handshaken<Io>>
    where
        Io: AsyncRead + AsyncWrite + Unpin,
    {
        let config = Arc::clone(&self.current.borrow());
        let stream = Box::new(TlsAcceptor::from(config).accept(io).await?);
        let shown = stream.get_ref().1.peer_certificates().and_then(<[_]>::first);
        let backend = shown.and_then(key_digest).and_then(|digest| self.backends.get(&digest)).cloned();
        Ok(Handshaken { stream, backend })
    }
}

/// A connection after its handshake.
pub(crate) struct Handshaken<Io> {
    // It is larger than all else that a connection has.
    pub(crate) stream: Box<TlsStream<Io>>,
    /// The back end that the peer's verified certificate is of.
    pub(crate) backend: Option<Arc<str>>,
}

/// The SHA-256 of a certificate's public key.
fn key_digest(certificate: &CertificateDer<'_>) -> Option<[u8; 32]> {
    let parsed = ParsedCertificate::try_from(certificate).ok()?;
    Some(Sha256::digest(parsed.subject_public_key_info()).into())
}

fn config(pems: &Pems) -> Result<ServerConfig, TlsError> {
    let certificates = certificates(&pems.certificates).map_err(TlsError::Certificates)?;
    let key = PrivateKeyDer::from_pem_slice(&pems.key).map_err(TlsError::Key)?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(TlsError::Pair)?;
    let builder = match &pems.client_ca {
        None => builder.with_no_client_auth(),
        Some(signers) => {
            let mut roots = RootCertStore::empty();
            for signer in self::certificates(signers).map_err(TlsError::ClientCa)? {
                roots.add(signer).map_err(TlsError::Pair)?;
            }
            // Players show none.
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
            builder.with_client_cert_verifier(verifier.allow_unauthenticated().build()?)
        }
    };
    let mut config = builder.with_single_cert(certificates, key).map_err(TlsError::Pair)?;
    config.alpn_protocols = PROTOCOLS.map(<[_]>::to_vec).to_vec();
    // Phones come back often: a ticket spares them a signature, and the server a table of sessions.
    config.ticketer = rustls::crypto::ring::Ticketer::new().map_err(TlsError::Pair)?;
    Ok(config)
}

/// At least one.
fn certificates(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, rustls::pki_types::pem::Error> {
    let certificates = CertificateDer::pem_slice_iter(pem).collect::<Result<Vec<_>, _>>()?;
    if certificates.is_empty() {
        return Err(rustls::pki_types::pem::Error::NoItemsFound);
    }
    Ok(certificates)
}
