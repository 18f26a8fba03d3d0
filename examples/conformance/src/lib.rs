//! The tools, prompts and resources that the official conformance suite asks for. It prescribes their
//! names, arguments and answers.

mod arguments;
mod changed;
mod content;
mod earlier;
mod prompts;
mod questions;
mod resources;
mod stream;
mod tasks;

// The suite calls the first tool of the list without arguments and without capabilities.
cofferdam_guest::export! {
    tools: [
        content::test_simple_text,
        content::test_image_content,
        content::test_audio_content,
        content::test_embedded_resource,
        content::test_multiple_content_types,
        content::test_error_handling,
        stream::test_tool_with_progress,
        stream::test_logging_tool,
        arguments::json_schema_2020_12_tool,
        arguments::test_custom_header,
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
        earlier::test_tool_with_logging,
        earlier::test_sampling,
        earlier::test_elicitation,
        earlier::test_elicitation_sep1034_defaults,
        earlier::test_elicitation_sep1330_enums,
        tasks::greet,
        tasks::slow_compute,
        tasks::failing_job,
        tasks::protocol_error_job,
        tasks::confirm_delete,
        tasks::multi_input,
        tasks::test_tool_with_task,
        changed::test_trigger_tool_change,
        changed::test_trigger_prompt_change,
        changed::test_trigger_resource_change,
    ],
    prompts: [
        prompts::test_simple_prompt,
        prompts::test_prompt_with_arguments,
        prompts::test_prompt_with_embedded_resource,
        prompts::test_prompt_with_image,
        prompts::test_input_required_result_prompt,
    ],
    resources: [
        resources::static_text,
        resources::static_binary,
        resources::watched_resource,
        resources::template,
    ],
    completion,
}
