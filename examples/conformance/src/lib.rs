//! The fixture tools of the official MCP conformance suite.

mod plain;
mod questions;
mod tasks;

// The suite calls the first tool of the list without arguments.
cofferdam_guest::export!(
    plain::test_simple_text,
    plain::test_image_content,
    plain::test_audio_content,
    plain::test_embedded_resource,
    plain::test_multiple_content_types,
    plain::test_error_handling,
    plain::test_tool_with_progress,
    plain::test_logging_tool,
    plain::test_custom_header,
    plain::json_schema_2020_12_tool,
    plain::greet,
    questions::test_missing_capability,
    questions::test_streaming_elicitation,
    questions::test_input_required_result_elicitation,
    questions::test_input_required_result_sampling,
    questions::test_input_required_result_list_roots,
    questions::test_input_required_result_request_state,
    questions::test_input_required_result_multiple_inputs,
    questions::test_input_required_result_multi_round,
    questions::test_input_required_result_tampered_state,
    questions::test_input_required_result_capabilities,
    questions::test_tool_with_task,
    tasks::slow_compute,
    tasks::failing_job,
    tasks::protocol_error_job,
    tasks::confirm_delete,
    tasks::multi_input,
);
