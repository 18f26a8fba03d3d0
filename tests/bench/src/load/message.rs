//! Requests as bytes on the wire, with all that a client of this revision sends: a call is about
//! 480 bytes of JSON. Each carries a number that its answer must bring back.

use memchr::memmem;

const HEAD: &str = "POST /mcp HTTP/1.1\r\n\
    Host: 127.0.0.1\r\n\
    Content-Type: application/json\r\n\
    Accept: application/json, text/event-stream\r\n\
    MCP-Protocol-Version: 2026-07-28\r\n";
const TASKS: &str = r#"{"extensions":{"io.modelcontextprotocol/tasks":{}}}"#;
/// Where a number goes. All numbers have as many digits, so that all requests have one length.
const HOLE: &str = "000000000000";

/// Numbers that no other connection uses.
pub(super) fn first_number(connection: usize) -> u64 {
    100_000_000_000 + 100_000_000 * connection as u64
}

/// A call that differs from the next one in its number only.
pub(super) struct Call {
    bytes: Vec<u8>,
    holes: Vec<usize>,
}

impl Call {
    /// A call of `echo`.
    pub(super) fn echo() -> Self {
        Self::new("echo", "{}")
    }

    /// A call of `finish` by a client that knows tasks.
    pub(super) fn finish() -> Self {
        Self::new("finish", TASKS)
    }

    /// Either tool gives its text back: some prose and the number.
    fn new(tool: &str, capabilities: &str) -> Self {
        let prose = "The quick brown fox jumps over the lazy dog. ".repeat(4);
        let arguments = format!(r##"{{"text":"{prose}#{HOLE}."}}"##);
        let params = format!(r#""name":"{tool}","arguments":{arguments}"#);
        let bytes = request("tools/call", tool, HOLE, &params, capabilities);
        let holes = memmem::find_iter(&bytes, HOLE).collect();
        Self { bytes, holes }
    }

    /// The bytes with this number.
    pub(super) fn numbered(&mut self, number: u64) -> &[u8] {
        let digits = number.to_string();
        for &hole in &self.holes {
            self.bytes[hole..hole + HOLE.len()].copy_from_slice(digits.as_bytes());
        }
        &self.bytes
    }
}

/// `tasks/get`.
pub(super) fn get_task(task: &str, number: u64) -> Vec<u8> {
    let params = format!(r#""taskId":"{task}""#);
    request("tasks/get", task, &number.to_string(), &params, TASKS)
}

fn request(method: &str, name: &str, id: &str, params: &str, capabilities: &str) -> Vec<u8> {
    let body = format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{{params},"_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{{"name":"cofferdam-bench","version":"1.0.0"}},"io.modelcontextprotocol/clientCapabilities":{capabilities}}}}}}}"#
    );
    let length = body.len();
    format!(
        "{HEAD}Mcp-Method: {method}\r\nMcp-Name: {name}\r\nContent-Length: {length}\r\n\r\n{body}"
    )
    .into_bytes()
}

#[cfg(test)]
mod tests {
    use super::Call;

    #[test]
    fn a_call_is_of_the_size_that_is_told() {
        let mut call = Call::echo();
        let text = String::from_utf8(call.numbered(123_456_789_012).to_vec()).expect("text");
        let (head, body) = text.split_once("\r\n\r\n").expect("a head and a body");
        assert!((460..500).contains(&body.len()), "{}", body.len());
        assert!(
            head.ends_with(&format!("Content-Length: {}", body.len())),
            "{head}"
        );
        let message: serde_json::Value = serde_json::from_str(body).expect("JSON");
        assert_eq!(message["id"], 123_456_789_012_u64);
        assert!(body.contains("dog. #123456789012.\""), "{body}");
    }
}
