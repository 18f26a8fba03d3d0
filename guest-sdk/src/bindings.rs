//! The contract in `wit/`, as Rust types and functions.
//!
//! Generated, and the only place that touches the component ABI. Types come out of here under the
//! names in the crate root; the functions are called by `host` and `log` alone.
#![allow(missing_docs, unsafe_code)]

wit_bindgen::generate!({
    world: "tool",
    path: "../wit",
    generate_all,
    pub_export_macro: true,
    export_macro_name: "export_handler",
    default_bindings_module: "cofferdam_guest::bindings",
    additional_derives: [PartialEq],
    runtime_path: "::cofferdam_guest::__private::wit_bindgen::rt",
});
