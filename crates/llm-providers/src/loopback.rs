//! Recognizes the hosts of this machine.

use std::net::IpAddr;

/// Returns true for the names and addresses of this machine.
pub(crate) fn is_loopback(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    match bare.parse::<IpAddr>() {
        Ok(address) => address.to_canonical().is_loopback(),
        Err(_) => bare == "localhost" || bare.ends_with(".localhost"),
    }
}
