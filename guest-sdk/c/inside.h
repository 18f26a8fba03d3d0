/* What the parts of this library share. Not for tools. */

#ifndef COFFERDAM_INSIDE_H
#define COFFERDAM_INSIDE_H

#include <stdarg.h>

#include "cofferdam.h"
#include "gen/tool.h"

struct cd_call {
    cd_json arguments;
    uint8_t features;
    /* The result as it grows. */
    cofferdam_tool_types_tool_result_t result;
    /* Why there is none; it counts only when the handler returns false. */
    bool refused;
    cofferdam_tool_types_call_error_t error;
};

/* Memory, or the end of the run. */
void *cd_take(size_t bytes);
/* Copies: the generated code frees what a call returns. */
tool_string_t cd_copy(const char *text);
tool_list_u8_t cd_copy_bytes(const void *bytes, size_t length);
tool_option_string_t cd_maybe(const char *text);
/* A text of the host, with a zero byte behind it. */
char *cd_ended(const void *text, size_t length);

void cd_put_list(cd_buffer *buffer, const char *format, va_list arguments);

/* The call is over. Returns false. */
bool cd_over(cd_call *call);
/* The host refused; that is a fault of the tool. Returns false. */
bool cd_internal(cd_call *call, const char *format, ...) CD_FORMAT(2, 3);

#endif
