//! The contract in `wit/`, as Rust types and functions.
//!
//! Generated, and the only place that touches the component ABI. Types come out of here under the
//! names in the crate root; the functions are called by `host`, `log` and `changes` alone.
//!
//! Each world that a component may include has a module, and an export macro, of its own: a component
//! exports what its [`export!`](macro@crate::export) names, imports what it uses, and nothing else.
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

/// The verbs that tell of changes.
pub mod changes {
    wit_bindgen::generate!({
        world: "with-changes",
        path: "../wit",
        generate_all,
        runtime_path: "::cofferdam_guest::__private::wit_bindgen::rt",
    });
}

/// A world whose types are those above.
macro_rules! world {
    ($world:literal, $module:literal, $export:literal $(, $($with:tt)+)?) => {
        wit_bindgen::generate!({
            world: $world,
            path: "../wit",
            with: {
                "cofferdam:tool/types@0.1.0": crate::bindings::cofferdam::tool::types,
                "cofferdam:tool/task@0.1.0": crate::bindings::cofferdam::tool::task,
                "cofferdam:tool/log@0.1.0": crate::bindings::cofferdam::tool::log,
                $($($with)+)?
            },
            generate_all,
            pub_export_macro: true,
            export_macro_name: $export,
            default_bindings_module: $module,
            additional_derives: [PartialEq],
            runtime_path: "::cofferdam_guest::__private::wit_bindgen::rt",
        });
    };
}

/// Prompts.
pub mod prompts {
    world!(
        "with-prompts",
        "cofferdam_guest::bindings::prompts",
        "export_prompts"
    );
}

/// Resources and their templates.
pub mod resources {
    world!(
        "with-resources",
        "cofferdam_guest::bindings::resources",
        "export_resources",
        "cofferdam:tool/changes@0.1.0": crate::bindings::changes::cofferdam::tool::changes,
    );
}

/// Completion of arguments.
pub mod completion {
    world!(
        "with-completion",
        "cofferdam_guest::bindings::completion",
        "export_completion"
    );
}
