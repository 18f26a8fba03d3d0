//! The macros of `cofferdam-guest`. Use them from there.

mod argument;
mod expand;
mod export;
mod options;
mod prompt;
mod resource;
mod signature;
mod template;

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

/// Makes a function a prompt.
///
/// The function's documentation is the prompt's description. Its parameters are the arguments:
///
/// * `call: &Call`, only as the first: the verbs of the running call. Optional.
/// * Plain parameters, whose types implement `FromStr`; an `Option` may be left out. Documentation on
///   a parameter describes the argument. A value that does not parse is refused with -32602.
///
/// It returns anything that is `IntoPromptResult`. The function itself stays as it is, and can be
/// called in tests.
///
/// # Options
///
/// | option | meaning |
/// |---|---|
/// | `name = "…"` | the prompt's name, if not the function's: 1 to 128 of `A-Z a-z 0-9 _ - .` |
/// | `title = "…"` | a name for people |
/// | `description = "…"` | in place of the documentation |
/// | `meta = …` | the prompt's `_meta` as JSON text: a literal or a `&str` constant |
///
/// On a parameter, `#[arg(…)]` takes:
///
/// | option | meaning |
/// |---|---|
/// | `name = "…"` | the argument's name, if not the parameter's |
/// | `title = "…"` | a name for people |
/// | `complete = path` | the function that completes it: `Completer` says which may |
#[proc_macro_attribute]
pub fn prompt(options: TokenStream, function: TokenStream) -> TokenStream {
    prompt::prompt(options.into(), function.into())
        .unwrap_or_else(syn::Error::into_compile_error)
        .into()
}

/// Makes a function a resource, or a family of resources.
///
/// The URI comes first. Without variables it is one resource, which is listed; with variables, such as
/// `notes://{year}/{+path}`, it is a template. `{name}` stands for one or more characters but `/`, `?`
/// and `#`; `{+name}` for one or more of any; text stands between two of them.
///
/// The function's documentation is the description. Its parameters are:
///
/// * `call: &Call`, only as the first: the verbs of the running call. Optional.
/// * The variables of the template under their names. Their types implement `FromStr`; where a value
///   does not parse, there is no such resource. They are what the client chose: whoever makes a path
///   of one must look for `..` and the like.
///
/// It returns anything that is `IntoResourceContents`. The function itself stays as it is, and can be
/// called in tests. Beside it, `NAME::uri(…)` makes a URI, with a value for each variable.
///
/// # Options
///
/// | option | meaning |
/// |---|---|
/// | `name = "…"` | a name for programs, if not the function's |
/// | `title = "…"` | a name for people |
/// | `description = "…"` | in place of the documentation |
/// | `mime_type = …` | what it holds, unless what is returned says another: a `&str` |
/// | `list = path` | the function that lists what a template stands for: `Lister` says which may |
/// | `ttl_ms = …` | how long a client may keep what it read, unless what is returned says so: a `u64` |
/// | `private` | only the caller may keep it |
/// | `meta = …` | its `_meta` as JSON text: a literal or a `&str` constant |
///
/// On a parameter, `#[arg(…)]` takes `name` and `complete`, as with prompts.
#[proc_macro_attribute]
pub fn resource(options: TokenStream, function: TokenStream) -> TokenStream {
    resource::resource(options.into(), function.into())
        .unwrap_or_else(syn::Error::into_compile_error)
        .into()
}

/// Makes the named functions what this component offers. Once in a crate.
///
/// Each is a function with the attribute of its kind, and may be named by a path. Clients see them in
/// this order. A component with tools alone names them plainly:
///
/// ```text
/// cofferdam_guest::export!(add, sum);
/// ```
///
/// Any other names each kind that it has. `completion` is for those whose arguments have `complete`:
///
/// ```text
/// cofferdam_guest::export! {
///     tools: [search],
///     prompts: [explain],
///     resources: [contents, chapter],
///     completion,
/// }
/// ```
#[proc_macro]
pub fn export(items: TokenStream) -> TokenStream {
    export::export(items.into())
        .unwrap_or_else(syn::Error::into_compile_error)
        .into()
}

/// What a macro says is wrong; nothing, if it says nothing.
#[cfg(test)]
fn refusal<T>(result: syn::Result<T>) -> String {
    result
        .err()
        .map(|error| error.to_string())
        .unwrap_or_default()
}
