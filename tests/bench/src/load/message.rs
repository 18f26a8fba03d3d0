//! Requests as bytes on the wire, with all that a client of this revision sends: a call is about
//! 480 bytes of JSON. Each carries a number that its answer must bring back.

use memchr::memmem;
use serde_json::json;

const HEAD: &str = "POST /mcp HTTP/1.1\r\n\
    Host: 127.0.0.1\r\n\
    Content-Type: application/json\r\n\
    Accept: application/json, text/event-stream\r\n\
    MCP-Protocol-Version: 2026-07-28\r\n";
const TASKS: &str = r#"{"extensions":{"io.modelcontextprotocol/tasks":{}}}"#;
const FORMS: &str =
    r#"{"elicitation":{"form":{}},"extensions":{"io.modelcontextprotocol/tasks":{}}}"#;
/// Where a number goes. All numbers have as many digits, so that all requests have one length.
const HOLE: &str = "000000000000";

/// Numbers that no other connection uses.
pub(crate) fn first_number(connection: usize) -> u64 {
    100_000_000_000 + 100_000_000 * connection as u64
}

/// A call that differs from the next one in its number only.
pub(crate) struct Call {
    bytes: Vec<u8>,
    holes: Vec<usize>,
}

impl Call {
    /// A call of `echo`.
    pub(crate) fn echo() -> Self {
        Self::telling("echo", "{}")
    }

    /// `tools/list`.
    pub(crate) fn list() -> Self {
        Self::of(message("tools/list", "", HOLE, "", "{}"))
    }

    /// A call of `echo` whose arguments do not fit: its result is an error that says so.
    pub(crate) fn unfit() -> Self {
        Self::new("echo", r#"{"text":1}"#, "{}")
    }

    /// A call of `finish` by a client that knows tasks.
    pub(crate) fn finish() -> Self {
        Self::telling("finish", TASKS)
    }

    /// A call of `ask`: a task without ttl that waits for the text `value`, and ends with it.
    pub(crate) fn ask() -> Self {
        let arguments = r#"{"keys":["value"],"options":{"ttl":"unlimited"}}"#;
        Self::new("ask", arguments, FORMS)
    }

    /// A call of some tool by a client that knows tasks, with arguments in JSON.
    pub(crate) fn task(tool: &str, arguments: &str) -> Self {
        Self::new(tool, arguments, TASKS)
    }

    /// Either tool gives its text back: some prose and the number.
    fn telling(tool: &str, capabilities: &str) -> Self {
        let prose = "The quick brown fox jumps over the lazy dog. ".repeat(4);
        Self::new(
            tool,
            &format!(r##"{{"text":"{prose}#{HOLE}."}}"##),
            capabilities,
        )
    }

    fn new(tool: &str, arguments: &str, capabilities: &str) -> Self {
        let params = format!(r#""name":"{tool}","arguments":{arguments},"#);
        Self::of(request("tools/call", tool, HOLE, &params, capabilities))
    }

    fn of(bytes: Vec<u8>) -> Self {
        let holes = memmem::find_iter(&bytes, HOLE).collect();
        Self { bytes, holes }
    }

    /// The bytes with this number.
    pub(crate) fn numbered(&mut self, number: u64) -> &[u8] {
        let digits = number.to_string();
        for &hole in &self.holes {
            self.bytes[hole..hole + HOLE.len()].copy_from_slice(digits.as_bytes());
        }
        &self.bytes
    }
}

/// `tasks/get`.
pub(crate) fn get_task(task: &str, number: u64) -> Vec<u8> {
    about_task("tasks/get", task, number)
}

/// `tasks/cancel`.
pub(crate) fn cancel_task(task: &str, number: u64) -> Vec<u8> {
    about_task("tasks/cancel", task, number)
}

fn about_task(method: &str, task: &str, number: u64) -> Vec<u8> {
    let params = format!(r#""taskId":"{task}","#);
    request(method, task, &number.to_string(), &params, TASKS)
}

/// `tasks/update` with the answer to `ask`, which is the number.
pub(crate) fn answer_task(task: &str, number: u64) -> Vec<u8> {
    let params = format!(
        r##""taskId":"{task}","inputResponses":{{"value":{{"action":"accept","content":{{"value":"#{number}."}}}}}},"##
    );
    request("tasks/update", task, &number.to_string(), &params, FORMS)
}

/// `subscriptions/listen` to some tasks.
pub(crate) fn listen(tasks: &[&str], number: u64) -> Vec<u8> {
    let params = format!(r#""notifications":{},"#, json!({ "taskIds": tasks }));
    message(
        "subscriptions/listen",
        "",
        &number.to_string(),
        &params,
        TASKS,
    )
}

/// A message whose header repeats a name.
fn request(method: &str, name: &str, id: &str, params: &str, capabilities: &str) -> Vec<u8> {
    let header = format!("Mcp-Name: {name}\r\n");
    message(method, &header, id, params, capabilities)
}

/// `params` is empty or ends with a comma.
fn message(method: &str, header: &str, id: &str, params: &str, capabilities: &str) -> Vec<u8> {
    let body = format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{{params}"_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{{"name":"cofferdam-bench","version":"1.0.0"}},"io.modelcontextprotocol/clientCapabilities":{capabilities}}}}}}}"#
    );
    let length = body.len();
    format!("{HEAD}Mcp-Method: {method}\r\n{header}Content-Length: {length}\r\n\r\n{body}")
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
