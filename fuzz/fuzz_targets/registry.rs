//! What registries and signers write: a manifest, a reference, the text of a signature.
//!
//! Each is refused with a word of why, or what comes of it is within its limits and can be written
//! down again. Nobody forges a signature by chance.

#![no_main]

use cofferdam::limits::{COMPONENT_BYTES, REFERENCE_BYTES};
use cofferdam::registry::{Digest, Manifest, Reference};
use cofferdam::signature::{PublicKey, verify};
use cofferdam_fuzz::memory;
use libfuzzer_sys::fuzz_target;
use std::sync::LazyLock;

/// A published key.
static KEY: LazyLock<PublicKey> = LazyLock::new(|| {
    let key = "RWQf6LRCGA9i53mlYecO4IzT51TGPpvWucNSCh1CBM0QTaLn73Y7GFO3";
    key.parse().expect("a key")
});

fuzz_target!(|bytes: &[u8]| {
    let most = (64 << 10) + 64 * bytes.len();
    match memory::within(most, || Manifest::read(bytes.to_vec())) {
        Ok(manifest) => {
            assert!(manifest.size <= COMPONENT_BYTES);
            assert_eq!(manifest.digest, Digest::of(bytes));
            assert_eq!(manifest.component.hex().len(), 64);
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    match text.parse::<Reference>() {
        Ok(reference) => {
            assert!(text.len() <= REFERENCE_BYTES);
            assert!(reference.tag().is_some() || reference.digest().is_some());
            assert_eq!(reference.to_string().parse(), Ok(reference));
        }
        Err(error) => assert!(error.to_string().contains("oci://HOST")),
    }
    // `seeds/registry/signature` is one of other bytes.
    let signed = verify(
        b"nobody signed this",
        Some(text),
        std::slice::from_ref(&KEY),
    );
    assert!(signed.is_err());
});
