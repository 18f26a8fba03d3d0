//! The attribute of `cofferdam-guest`. Use it from there.

mod expand;
mod options;
mod signature;

use proc_macro::TokenStream;

/// Makes a function a tool.
///
/// The function's documentation is the tool's description. Its parameters are the arguments:
///
/// * `call: &Call`, only as the first: the verbs of the running call. Optional.
/// * Plain parameters, each a property of the input schema under its name. Their types implement
///   `Deserialize` and `JsonSchema`; an `Option` may be left out. Documentation on a parameter
///   describes the property, and `#[serde(…)]` and `#[schemars(…)]` work as on a field, for example
///   `#[schemars(range(min = 1, max = 10))]` or `#[schemars(extend("x-mcp-header" = "Region"))]`.
///   Arguments under other names are refused.
/// * Or one `Args(args): Args<T>`: all arguments as one `T`, with its schema.
///
/// It returns anything that is `IntoToolResult`. The function itself stays as it is, and can be
/// called in tests.
///
/// # Options
///
/// | option | meaning |
/// |---|---|
/// | `name = "…"` | the tool's name, if not the function's: 1 to 128 of `A-Z a-z 0-9 _ - .` |
/// | `title = "…"` | a name for people |
/// | `description = "…"` | in place of the documentation |
/// | `task = "none"` | a call never becomes a task; the default |
/// | `task = "optional"` | it may, for a client that knows tasks |
/// | `task = "required"` | other clients are refused |
/// | `read_only`, `destructive`, `idempotent`, `open_world` | hints for clients, true, or `= false` |
/// | `schema = …` | the input schema as JSON text: a literal or a `&str` constant |
/// | `output_schema = …` | the output schema likewise, in place of that of `Structured<T>` |
/// | `meta = …` | the tool's `_meta` likewise |
#[proc_macro_attribute]
pub fn tool(options: TokenStream, function: TokenStream) -> TokenStream {
    expand::tool(options.into(), function.into())
        .unwrap_or_else(syn::Error::into_compile_error)
        .into()
}
