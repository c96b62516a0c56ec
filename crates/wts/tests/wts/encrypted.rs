//! `wts serve` with TLS: its commands connect to it, and its certificates are read again without a pair that cannot
//! be used ever replacing one that can.

use std::fs;
use std::path::Path;
use std::process::Command;

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use tempfile::TempDir;
use tonic::transport::{Certificate, ClientTlsConfig, Endpoint};

use super::server::Server;

/// A signer and its files.
struct Files {
    directory: TempDir,
    issuer: Issuer<'static, KeyPair>,
}

impl Files {
    fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).expect("no name is wrong");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a key");
        let directory = tempfile::tempdir().expect("a directory");
        let pem = params.self_signed(&key).expect("a certificate").pem();
        fs::write(directory.path().join("ca.pem"), pem).expect("it can be written");
        Self { directory, issuer: Issuer::new(params, key) }
    }

    fn path(&self, name: &str) -> String {
        self.directory.path().join(name).display().to_string()
    }

    /// A new certificate and its key, for whoever is called so.
    fn renew(&self, name: &str) -> (String, String) {
        let params = CertificateParams::new(vec!["127.0.0.1".to_owned(), name.to_owned()]).expect("names");
        let key = KeyPair::generate().expect("a key");
        (params.signed_by(&key, &self.issuer).expect("a certificate").pem(), key.serialize_pem())
    }

    fn write(&self, certificate: &str, key: &str) {
        fs::write(self.path("cert.pem"), certificate).expect("it can be written");
        fs::write(self.path("key.pem"), key).expect("it can be written");
    }

    /// Whether the server at this address shows a certificate of this name.
    fn is_shown(&self, server: &Server, name: &str) -> bool {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let ca = fs::read(self.path("ca.pem")).expect("it is there");
        let tls = ClientTlsConfig::new().ca_certificate(Certificate::from_pem(ca)).domain_name(name);
        let endpoint = Endpoint::from_shared(format!("https://{}", server.address())).expect("an address");
        let endpoint = endpoint.tls_config(tls).expect("it can be used");
        runtime.block_on(endpoint.connect()).is_ok()
    }
}

fn token(server: &Server, ca: &Path) -> std::process::Output {
    Command::new(env!("CARGO_BIN_EXE_wts"))
        .args(["token", "--server", &format!("https://{}", server.address()), "--ca"])
        .arg(ca)
        .args(["--as", "ann"])
        .output()
        .expect("wts runs")
}

#[test]
fn certificates_are_read_again_and_a_bad_pair_never_replaces_a_good_one() {
    let files = Files::new();
    let (first, first_key) = files.renew("first.test");
    files.write(&first, &first_key);
    let server = Server::encrypted(&files.path("cert.pem"), &files.path("key.pem"));
    assert!(files.is_shown(&server, "first.test"));

    let minted = token(&server, &files.directory.path().join("ca.pem"));
    assert!(minted.status.success(), "{}", String::from_utf8_lossy(&minted.stderr));
    let stranger = Files::new();
    let refused = token(&server, &stranger.directory.path().join("ca.pem"));
    assert!(!refused.status.success(), "a server that somebody else has signed is believed");

    // The new certificate with the old key, as while both are being copied.
    let (second, second_key) = files.renew("second.test");
    files.write(&second, &first_key);
    server.hang_up();
    server.says("cannot be used");
    assert!(files.is_shown(&server, "first.test"));

    files.write(&second, &second_key);
    server.hang_up();
    server.says("read again");
    assert!(files.is_shown(&server, "second.test") && !files.is_shown(&server, "first.test"));
}
