/* What was given to a prompt, a resource or a completion, and how it fails. */

#include "shared.h"

#include <string.h>

bool cd_is(tool_string_t text, const char *of) {
    return text.len == strlen(of) && memcmp(text.ptr, of, text.len) == 0;
}

bool cd_is_cut(const everything_list_tuple2_string_string_t *given) {
    for (size_t n = 0; n < given->len; n++) {
        const tool_string_t *value = &given->ptr[n].f1;
        if (value->len > 0 && memchr(value->ptr, 0, value->len) != NULL)
            return true;
    }
    return false;
}

const char *cd_given(const cd_call *call, const char *name, const char *otherwise) {
    for (size_t n = 0; n < call->given.len; n++) {
        const everything_tuple2_string_string_t *pair = &call->given.ptr[n];
        if (cd_is(pair->f0, name))
            return cd_ended(pair->f1.ptr, pair->f1.len);
    }
    return otherwise;
}

bool cd_ends(cd_call *call, bool done, cofferdam_tool_types_call_error_t *error) {
    /* A refusal is the first text of a result that is an error. */
    if (call->result.is_error && (done || call->refused)) {
        const tool_string_t *text = &call->result.content.ptr[0].val.text.text;
        done = cd_internal(call, "%.*s", (int)text->len, (const char *)text->ptr);
    } else if (done && call->result.structured.is_some) {
        done = cd_internal(call, "cd_structured: only a tool has a structured result");
    }
    *error = call->error;
    return done;
}
