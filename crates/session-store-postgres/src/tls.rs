//! Encryption: certificates are always verified.

use std::sync::Arc;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use session_store::StoreError;
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::address::Address;

/// Returns what encrypts a connection.
pub(crate) fn connector(address: &Address) -> Result<MakeRustlsConnect, StoreError> {
    let mut roots = RootCertStore::empty();
    match &address.root_certificate {
        Some(path) => {
            let failed = |error: String| {
                StoreError::session(path, format!("no certificate (sslrootcert): {error}"))
            };
            let found = CertificateDer::pem_file_iter(path);
            for certificate in found.map_err(|error| failed(error.to_string()))? {
                let certificate = certificate.map_err(|error| failed(error.to_string()))?;
                let added = roots.add(certificate);
                added.map_err(|error| failed(error.to_string()))?;
            }
        }
        // One that cannot be read is like one that is absent.
        None => {
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        }
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| StoreError::usage(error.to_string()))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(MakeRustlsConnect::new(config))
}
