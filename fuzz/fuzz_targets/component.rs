//! The bytes of a component's file, at the look before it is compiled: it takes memory in proportion
//! to the file.

#![no_main]

use cofferdam::limits::COMPONENT_NESTING;
use cofferdam::runtime::{Defect, inspect};
use cofferdam_fuzz::memory;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let most = (64 << 10) + 64 * bytes.len();
    match memory::within(most, || inspect(bytes)) {
        Ok(()) => assert!(bytes.starts_with(b"\0asm")),
        Err(Defect::Broken { at, what }) => {
            assert!(
                at <= bytes.len() as u64 && !what.is_empty(),
                "byte {at}: {what}"
            );
        }
        Err(Defect::TooMany { count, limit, .. }) => assert!(count > limit.into()),
        Err(Defect::TooDeep { .. }) => assert!(bytes.len() > COMPONENT_NESTING),
        Err(Defect::Foreign | Defect::CoreModule) => {}
    }
});
