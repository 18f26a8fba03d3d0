//! guest-sdk
