//! TLS: who the server is, which back end calls, and certificates that are replaced while it runs.

use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair, PublicKeyData as _};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use service::{BackendKeys, NodeConfig, Pems, Tls};
use service_tests::{API_KEY, Cluster, Setup, soon};
use sha2::{Digest as _, Sha256};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use whattheshell::{Client, Error, v1};
use wire::v1::ErrorReason;

/// The back end that is known by its certificate.
const LOBBY: &str = "lobby";

/// Signs certificates.
struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pem: String,
}

/// A certificate with its key.
struct Issued {
    pem: String,
    key_pem: String,
    /// The SHA-256 of its public key.
    key_digest: [u8; 32],
}

impl Authority {
    fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let pem = params.self_signed(&key).unwrap().pem();
        Self { issuer: Issuer::new(params, key), pem }
    }

    /// A certificate for this machine, or for whom its holder says that he is.
    fn issue(&self, name: &str) -> Issued {
        let params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        let key = KeyPair::generate().unwrap();
        Issued {
            pem: params.signed_by(&key, &self.issuer).unwrap().pem(),
            key_pem: key.serialize_pem(),
            key_digest: Sha256::digest(key.subject_public_key_info()).into(),
        }
    }

    fn server(&self, client_ca: Option<&Self>) -> Pems {
        let issued = self.issue("127.0.0.1");
        Pems {
            certificates: issued.pem.into_bytes(),
            key: issued.key_pem.into_bytes(),
            client_ca: client_ca.map(|signer| signer.pem.clone().into_bytes()),
        }
    }
}

/// A node that shows these, with the handle to replace them.
async fn node(pems: &Pems, backends: BackendKeys) -> (Cluster, Tls) {
    let tls = Tls::new(pems, backends).expect("the certificates can be used");
    let config = NodeConfig { tls: Some(tls.clone()), ..Setup::default().config };
    (Cluster::start(Setup { config, dev: true, ..Setup::default() }).await, tls)
}

fn url(cluster: &Cluster) -> String {
    format!("https://{}", cluster.nodes[0].address)
}

async fn connect(cluster: &Cluster, builder: &whattheshell::ClientBuilder) -> Result<Client, Error> {
    soon("a connection", builder.connect(&url(cluster))).await
}

fn trusting(authority: &Authority) -> whattheshell::ClientBuilder {
    Client::builder().ca_certificates(&authority.pem)
}

/// What the server shows to somebody who connects now.
async fn shown(cluster: &Cluster, authority: &Authority) -> CertificateDer<'static> {
    let mut roots = rustls::RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(authority.pem.as_bytes()).unwrap()).unwrap();
    let config =
        rustls::ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
    let socket = TcpStream::connect(cluster.nodes[0].address).await.unwrap();
    let name = "127.0.0.1".try_into().unwrap();
    let shaken = TlsConnector::from(Arc::new(config)).connect(name, socket);
    let stream = soon("a handshake", shaken).await.expect("it is trusted");
    stream.get_ref().1.peer_certificates().unwrap()[0].clone()
}

/// What of a certificate is in its file.
fn in_file(pems: &Pems) -> CertificateDer<'static> {
    CertificateDer::from_pem_slice(&pems.certificates).unwrap()
}

#[tokio::test]
async fn a_match_is_played_over_tls() {
    let authority = Authority::new();
    let (cluster, _) = node(&authority.server(None), BackendKeys::new()).await;
    let client = connect(&cluster, &trusting(&authority)).await.unwrap();
    let mut players = Vec::new();
    for name in ["players/ann", "players/bob"] {
        players.push(client.player(&client.mint_token(name).await.unwrap().token).unwrap());
    }
    let request = v1::CreateInviteRequest { invitee: "players/bob".to_owned(), ..Default::default() };
    let invite = players[0].invite(request).await.unwrap().invite.unwrap();
    let accepted = players[1].accept_invite(&invite.name, None).await.unwrap();
    let black = players[0].join(&accepted.r#match).await.unwrap();
    let white = players[1].join(&accepted.r#match).await.unwrap();
    let mut stream = black.watch();
    black.seal(1, super::rust_client::cell("A1")).await.unwrap();
    white.seal(1, super::rust_client::cell("I9")).await.unwrap();
    assert_eq!(super::rust_client::turn(&mut stream).await.turn, 1);
}

#[tokio::test]
async fn a_server_that_somebody_else_has_signed_is_not_believed() {
    let (cluster, _) = node(&Authority::new().server(None), BackendKeys::new()).await;
    let refused = connect(&cluster, &trusting(&Authority::new())).await;
    assert!(matches!(refused, Err(Error::Connect { .. })), "{refused:?}");
}

#[tokio::test]
async fn plain_text_is_refused_at_once() {
    let (cluster, _) = node(&Authority::new().server(None), BackendKeys::new()).await;
    let mut socket = TcpStream::connect(cluster.nodes[0].address).await.unwrap();
    socket.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").await.unwrap();
    let mut answer = Vec::new();
    // It may break instead of ending.
    let _ = soon("the end of the connection", socket.read_to_end(&mut answer)).await;
    assert!(!answer.windows(4).any(|bytes| bytes == b"HTTP"), "an alert of TLS at most");
}

#[tokio::test]
async fn a_back_end_is_known_by_its_certificate_alone() {
    let authority = Authority::new();
    let backend = authority.issue("lobby.test");
    let backends = BackendKeys::from([(backend.key_digest, Arc::from(LOBBY))]);
    let (cluster, _) = node(&authority.server(Some(&authority)), backends).await;
    let builder = trusting(&authority).client_certificate(&backend.pem, &backend.key_pem);
    let client = connect(&cluster, &builder).await.unwrap();
    let lobby = client.backend_by_certificate();
    let request = v1::MintPlayerTokenRequest { player: "players/ann".to_owned(), ..Default::default() };
    // Development mode mints for everyone; to act for a player takes a back end.
    let token = lobby.mint_token(request).await.unwrap().token;
    let listed = |player: &str| v1::ListMatchesRequest { player: player.to_owned(), ..Default::default() };
    let channel = tonic_channel(&cluster, &authority, Some(&backend)).await;
    let mut matches = v1::match_service_client::MatchServiceClient::new(channel.clone());
    matches.list_matches(listed("players/ann")).await.expect("a back end may ask for anybody");

    // What a call shows goes before what its connection has shown.
    let mut as_ann = tonic::Request::new(listed("players/bob"));
    as_ann.metadata_mut().insert("authorization", format!("Bearer {token}").parse().unwrap());
    let status = matches.list_matches(as_ann).await.unwrap_err();
    assert_eq!(service_tests::reason(&status), ErrorReason::ScopeMissing, "it is ann's call");
    let mut with_its_key = tonic::Request::new(listed("players/bob"));
    with_its_key.metadata_mut().insert("x-api-key", API_KEY.parse().unwrap());
    matches.list_matches(with_its_key).await.expect("the key is the same back end's");
}

#[tokio::test]
async fn the_key_of_another_beside_a_certificate_is_refused() {
    let authority = Authority::new();
    let other = authority.issue("shop.test");
    let backends = BackendKeys::from([(other.key_digest, Arc::from("shop"))]);
    let (cluster, _) = node(&authority.server(Some(&authority)), backends).await;
    let channel = tonic_channel(&cluster, &authority, Some(&other)).await;
    let mut request = tonic::Request::new(v1::ListMatchesRequest {
        player: "players/bob".to_owned(),
        ..Default::default()
    });
    request.metadata_mut().insert("x-api-key", API_KEY.parse().unwrap());
    let mut matches = v1::match_service_client::MatchServiceClient::new(channel);
    let status = matches.list_matches(request).await.unwrap_err();
    assert_eq!(service_tests::reason(&status), ErrorReason::TokenInvalid);
}

#[tokio::test]
async fn a_certificate_names_no_back_end_unless_its_key_is_known_and_a_stranger_signs_none() {
    let (authority, stranger) = (Authority::new(), Authority::new());
    let known = authority.issue("lobby.test");
    let backends = BackendKeys::from([(known.key_digest, Arc::from(LOBBY))]);
    let (cluster, _) = node(&authority.server(Some(&authority)), backends).await;
    let ask = async |issued: Option<&Issued>| {
        let channel = tonic_channel(&cluster, &authority, issued).await;
        let request = v1::ListMatchesRequest { player: "players/bob".to_owned(), ..Default::default() };
        let mut matches = v1::match_service_client::MatchServiceClient::new(channel);
        soon("an answer", matches.list_matches(request)).await.unwrap_err()
    };
    for nobody in [None, Some(authority.issue("lobby.test"))] {
        assert_eq!(service_tests::reason(&ask(nobody.as_ref()).await), ErrorReason::TokenMissing);
    }
    // The server ends the handshake: no call gets through.
    let refused = ask(Some(&stranger.issue("lobby.test"))).await;
    assert!(wire::ApiError::from_status(&refused).is_none(), "{refused:?}");
}

#[tokio::test]
async fn new_certificates_are_shown_to_who_comes_and_who_is_there_stays() {
    let authority = Authority::new();
    let (first, second) = (authority.server(None), authority.server(None));
    let (cluster, tls) = node(&first, BackendKeys::new()).await;
    let client = connect(&cluster, &trusting(&authority)).await.unwrap();
    assert_eq!(shown(&cluster, &authority).await, in_file(&first));
    tls.replace(&second).unwrap();
    assert_eq!(shown(&cluster, &authority).await, in_file(&second));
    client.server_info().await.expect("its connection lives on");
}

#[tokio::test]
async fn what_cannot_be_used_never_replaces_what_can() {
    let authority = Authority::new();
    let good = authority.server(Some(&authority));
    let (cluster, tls) = node(&good, BackendKeys::new()).await;
    let other = authority.server(None);
    let bad = [
        ("a key of another certificate", Pems { key: other.key.clone(), ..good.clone() }),
        ("no certificate", Pems { certificates: Vec::new(), ..good.clone() }),
        ("no key", Pems { key: b"half a file".to_vec(), ..good.clone() }),
        ("a key where certificates are to be", Pems { certificates: good.key.clone(), ..good.clone() }),
        ("a file that was cut off", Pems { key: good.key[..good.key.len() / 2].to_vec(), ..good.clone() }),
        ("no signer of clients", Pems { client_ca: Some(Vec::new()), ..good.clone() }),
    ];
    for (what, pems) in bad {
        assert!(tls.replace(&pems).is_err(), "{what} was taken");
        assert_eq!(shown(&cluster, &authority).await, in_file(&good), "{what}");
    }
}

/// A connection for generated clients.
async fn tonic_channel(
    cluster: &Cluster,
    authority: &Authority,
    issued: Option<&Issued>,
) -> tonic::transport::Channel {
    use tonic::transport::{Certificate, ClientTlsConfig, Endpoint, Identity};
    let mut tls = ClientTlsConfig::new().ca_certificate(Certificate::from_pem(&authority.pem));
    if let Some(issued) = issued {
        tls = tls.identity(Identity::from_pem(&issued.pem, &issued.key_pem));
    }
    Endpoint::from_shared(url(cluster)).unwrap().tls_config(tls).unwrap().connect_lazy()
}
