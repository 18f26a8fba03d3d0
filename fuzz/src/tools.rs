//! A component with three tools, made from `wit/` and a little WebAssembly.
//!
//! `echo` answers with its arguments; `typed` as well, but has schemas, and an argument that clients
//! repeat in a header; `asks` asks its client a question and for its roots, and answers then.

use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::Resolve;

/// `TASK_SUPPORT` of the contract.
const OPTIONAL: u8 = 1;

const ANY_OBJECT: &str = r#"{"type":"object"}"#;
const TYPED_INPUT: &str = r#"{"type":"object","properties":{"number":{"type":"integer","maximum":10,"x-mcp-header":"Number"},"text":{"type":"string","pattern":"^[a-z]*$"},"list":{"type":"array","maxItems":3,"items":{"type":"boolean"}}},"additionalProperties":false}"#;
const TYPED_OUTPUT: &str = r#"{"type":"object","properties":{"number":{"minimum":0}}}"#;
const FORM: &str = r#"{"type":"object","properties":{"name":{"type":"string","maxLength":5},"count":{"type":"integer"}},"required":["name"]}"#;

/// Where the module's data begins, where what the host hands over does.
const DATA: usize = 1_024;
const HEAP: usize = 65_536;

/// The component.
///
/// # Panics
/// If the contract is another than these tools are written for.
#[must_use]
pub fn component() -> Vec<u8> {
    let mut data = Data::default();
    let tools = [
        data.tool("echo", ANY_OBJECT, None),
        data.tool("typed", TYPED_INPUT, Some(TYPED_OUTPUT)),
        data.tool("asks", ANY_OBJECT, None),
    ];
    let count = tools.len() as u32;
    let tools = data.put(&tools.concat());
    let list = data.put(&words([tools, count]));
    let questions = data.questions();
    let questions = data.put(&questions);
    let answer = data.put(&[0; 64]);
    let asked = data.put(&[0; 64]);
    let text: String = data
        .bytes
        .iter()
        .map(|byte| format!("\\{byte:02x}"))
        .collect();
    let module = format!(
        r#"(module
            (import "cofferdam:tool/task@0.1.0" "require-input"
                (func $require_input (param i32 i32 i32)))
            (memory (export "memory") 16)
            (data (i32.const {DATA}) "{text}")
            (global $end (mut i32) (i32.const {HEAP}))
            (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32)
                (local $place i32)
                (local.set $place
                    (i32.and (i32.add (global.get $end) (i32.const 7)) (i32.const -8)))
                (global.set $end (i32.add (local.get $place) (local.get 3)))
                (local.get $place))
            (func (export "cofferdam:tool/handler@0.1.0#list-tools") (result i32)
                (i32.const {list}))
            (func (export "cofferdam:tool/handler@0.1.0#call-tool")
                (param $name i32) (param i32) (param $arguments i32) (param $length i32) (param i32)
                (result i32)
                (if (i32.eq (i32.load8_u (local.get $name)) (i32.const {asks}))
                    (then (call $require_input
                        (i32.const {questions}) (i32.const 2) (i32.const {asked}))))
                ;; ok; no content; structured content: the arguments
                (i32.store8 (i32.const {structured}) (i32.const 1))
                (i32.store (i32.const {text_at}) (local.get $arguments))
                (i32.store (i32.const {length_at}) (local.get $length))
                (i32.const {answer})))"#,
        asks = b'a',
        structured = answer + 12,
        text_at = answer + 16,
        length_at = answer + 20,
    );
    let mut module = wat::parse_str(module).expect("the module is WebAssembly");
    let mut resolve = Resolve::default();
    let wit = concat!(env!("CARGO_MANIFEST_DIR"), "/../wit");
    let (package, _) = resolve.push_path(wit).expect("wit/ is WIT");
    let world = resolve
        .select_world(&[package], Some("tool"))
        .expect("wit/ has the world \"tool\"");
    embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8)
        .expect("the contract can be written down");
    ComponentEncoder::default()
        .module(&module)
        .and_then(|encoder| encoder.validate(true).encode())
        .expect("the module keeps the contract")
}

fn words<const N: usize>(words: [u32; N]) -> Vec<u8> {
    words.into_iter().flat_map(u32::to_le_bytes).collect()
}

/// The module's data, in the canonical ABI's form.
#[derive(Default)]
struct Data {
    bytes: Vec<u8>,
}

impl Data {
    /// Gives where it lies.
    fn put(&mut self, bytes: &[u8]) -> u32 {
        self.bytes.resize(self.bytes.len().next_multiple_of(8), 0);
        let place = DATA + self.bytes.len();
        self.bytes.extend_from_slice(bytes);
        assert!(
            DATA + self.bytes.len() <= HEAP,
            "the data has outgrown its place"
        );
        place as u32
    }

    fn text(&mut self, text: &str) -> [u32; 2] {
        [self.put(text.as_bytes()), text.len() as u32]
    }

    fn option(&mut self, text: Option<&str>) -> [u32; 3] {
        let Some(text) = text else { return [0; 3] };
        let [place, length] = self.text(text);
        [1, place, length]
    }

    /// `handler.tool`.
    fn tool(&mut self, name: &str, input: &str, output: Option<&str>) -> Vec<u8> {
        let mut tool = words(self.text(name));
        // No title and no description.
        tool.extend(words([0; 6]));
        tool.extend(words(self.text(input)));
        tool.extend(words(self.option(output)));
        // No hints, with room for the four of them; whether calls may become tasks; no metadata.
        tool.extend([0; 9]);
        tool.push(OPTIONAL);
        tool.extend([0; 2]);
        tool.extend(words([0; 3]));
        tool
    }

    /// A form and the roots, as a `list<tuple<string, input-request>>`.
    fn questions(&mut self) -> Vec<u8> {
        // The largest case of the variant, a sampling request, says how long each is.
        const LENGTH: usize = 112;
        let mut form = words(self.text("form"));
        form.extend([0; 8]);
        form.extend(words(self.text("Who are you?")));
        form.extend(words(self.text(FORM)));
        form.resize(LENGTH, 0);
        let mut roots = words(self.text("roots"));
        roots.extend([3]);
        roots.resize(LENGTH, 0);
        [form, roots].concat()
    }
}
