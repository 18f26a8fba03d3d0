/* The component: its table of tools, and the verbs of a running call. */

#include "cofferdam.h"

#include <stdlib.h>
#include <string.h>

#include "inside.h"

/* ---- Exports ---- */

static tool_option_bool_t hint(cd_hint hint) {
    return (tool_option_bool_t){hint != CD_UNSAID, hint == CD_YES};
}

static void describe(const cd_tool *tool, exports_cofferdam_tool_handler_tool_t *to) {
    *to = (exports_cofferdam_tool_handler_tool_t){0};
    to->name = cd_copy(tool->name);
    to->title = cd_maybe(tool->title);
    to->description = cd_maybe(tool->description);
    to->input_schema = cd_copy(tool->input != NULL ? tool->input : "{\"type\":\"object\"}");
    to->output_schema.is_some = tool->output != NULL;
    to->output_schema.val = cd_copy(tool->output);
    to->meta.is_some = tool->meta != NULL;
    to->meta.val = cd_copy(tool->meta);
    to->task_support = (exports_cofferdam_tool_handler_task_support_t)tool->task;
    to->hints.is_some = tool->read_only || tool->destructive || tool->idempotent || tool->open_world;
    to->hints.val.read_only = hint(tool->read_only);
    to->hints.val.destructive = hint(tool->destructive);
    to->hints.val.idempotent = hint(tool->idempotent);
    to->hints.val.open_world = hint(tool->open_world);
}

void exports_cofferdam_tool_handler_list_tools(exports_cofferdam_tool_handler_list_tool_t *ret) {
    ret->len = 0;
    while (cd_tools[ret->len].name != NULL)
        ret->len++;
    ret->ptr = cd_take(ret->len * sizeof *ret->ptr);
    for (size_t n = 0; n < ret->len; n++)
        describe(&cd_tools[n], &ret->ptr[n]);
}

bool exports_cofferdam_tool_handler_call_tool(exports_cofferdam_tool_handler_tool_call_t *asked,
                                              exports_cofferdam_tool_handler_tool_result_t *ret,
                                              exports_cofferdam_tool_handler_call_error_t *err) {
    cd_call call = {.features = asked->features};
    call.arguments = cd_json_of(cd_ended(asked->arguments.ptr, asked->arguments.len));
    const char *name = cd_ended(asked->name.ptr, asked->name.len);
    const cd_tool *tool = cd_tools;
    while (tool->name != NULL && strcmp(tool->name, name) != 0)
        tool++;
    bool done = tool->name != NULL ? tool->run(&call) : cd_fail(&call, -32602, "no tool has this name", NULL);
    *ret = call.result;
    *err = call.error;
    return done || call.refused;
}

cd_json cd_arguments(const cd_call *call) {
    return call->arguments;
}

uint8_t cd_features(const cd_call *call) {
    return call->features;
}

/* ---- Tasks ---- */

bool cd_start_task(cd_call *call, const cd_task_options *given) {
    static const cd_task_options none = {0};
    const cd_task_options *wanted = given != NULL ? given : &none;
    cofferdam_tool_task_start_options_t options = {0};
    if (wanted->ttl_ms == CD_UNLIMITED)
        options.ttl.tag = COFFERDAM_TOOL_TASK_TTL_UNLIMITED;
    else if (wanted->ttl_ms > 0)
        options.ttl.tag = COFFERDAM_TOOL_TASK_TTL_MILLIS;
    options.ttl.val.millis = wanted->ttl_ms;
    options.poll_interval_ms = (tool_option_u64_t){wanted->poll_interval_ms > 0, wanted->poll_interval_ms};
    options.max_attempts = (tool_option_u32_t){wanted->max_attempts > 0, wanted->max_attempts};
    options.status_message = cd_maybe(wanted->status);

    cofferdam_tool_task_started_t started;
    cofferdam_tool_task_start_error_t error;
    if (cofferdam_tool_task_start_task(&options, &started, &error))
        return true;
    const tool_string_t *text = &error.val.store_failed;
    switch (error.tag) {
    case COFFERDAM_TOOL_TASK_START_ERROR_ALREADY_STARTED:
        return cd_internal(call, "the call is a task already");
    case COFFERDAM_TOOL_TASK_START_ERROR_NOT_ALLOWED:
        return cd_internal(call, "this tool does not declare that it may become a task");
    case COFFERDAM_TOOL_TASK_START_ERROR_INVALID_OPTION:
        return cd_internal(call, "task option: %.*s", (int)text->len, (const char *)text->ptr);
    case COFFERDAM_TOOL_TASK_START_ERROR_LIMIT_REACHED:
        return cd_internal(call, "Task limit reached");
    case COFFERDAM_TOOL_TASK_START_ERROR_STORE_FAILED:
        return cd_internal(call, "the task could not be stored: %.*s", (int)text->len, (const char *)text->ptr);
    default:
        return cd_over(call);
    }
}

bool cd_progress(cd_call *call, double done, double total, const char *message) {
    cofferdam_tool_task_final_error_t error;
    tool_string_t text = cd_copy(message);
    bool told = cofferdam_tool_task_progress(done, total > 0 ? &total : NULL, message != NULL ? &text : NULL, &error);
    return told || cd_over(call);
}

bool cd_sleep(cd_call *call, uint64_t milliseconds) {
    cofferdam_tool_task_final_error_t error;
    return cofferdam_tool_task_sleep(milliseconds, &error) || cd_over(call);
}

cd_status_of cd_status(void) {
    return (cd_status_of)cofferdam_tool_task_status();
}

bool cd_cancelled(void) {
    return cofferdam_tool_task_cancelled();
}

/* ---- Records ---- */

bool cd_record(cd_call *call, const char *key, const void *bytes, size_t length) {
    tool_string_t name = cd_copy(key);
    tool_list_u8_t value = cd_copy_bytes(bytes, length);
    cofferdam_tool_task_record_error_t error;
    if (cofferdam_tool_task_record(&name, &value, &error))
        return true;
    const tool_string_t *text = &error.val.too_large;
    switch (error.tag) {
    case COFFERDAM_TOOL_TASK_RECORD_ERROR_INVALID_KEY:
        return cd_internal(call, "record: the key is empty or too long");
    case COFFERDAM_TOOL_TASK_RECORD_ERROR_FINAL:
        return cd_over(call);
    default:
        return cd_internal(call, "record: %.*s", (int)text->len, (const char *)text->ptr);
    }
}

bool cd_recall(const char *key, cd_bytes *value) {
    tool_string_t name = cd_copy(key);
    tool_list_u8_t kept;
    if (!cofferdam_tool_task_recall(&name, &kept))
        return false;
    *value = (cd_bytes){cd_ended(kept.ptr, kept.len), kept.len};
    return true;
}

bool cd_step(cd_call *call, const char *name, bool (*work)(cd_call *call, void *context, cd_bytes *value),
             void *context, cd_bytes *value) {
    cd_buffer key = {0};
    cd_put(&key, "step:%s", name);
    if (cd_recall(key.text, value))
        return true;
    CD_TRY(work(call, context, value));
    return cd_record(call, key.text, value->bytes, value->length);
}

/* ---- Log ---- */

void cd_log(cd_level level, const char *message, const char *fields) {
    tool_string_t text = cd_copy(message);
    tool_string_t json = cd_copy(fields);
    cofferdam_tool_log_write((cofferdam_tool_log_level_t)level, &text, fields != NULL ? &json : NULL);
}
