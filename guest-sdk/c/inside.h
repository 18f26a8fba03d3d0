/* What the parts of this library share. Not for tools. */

#ifndef COFFERDAM_INSIDE_H
#define COFFERDAM_INSIDE_H

#include <stdarg.h>

#include "cofferdam.h"

#ifdef CD_OFFERS
#include "gen/everything.h"
/* In the world `everything` the same types have other names. */
typedef everything_string_t tool_string_t;
typedef everything_list_u8_t tool_list_u8_t;
typedef everything_option_string_t tool_option_string_t;
typedef everything_option_bool_t tool_option_bool_t;
typedef everything_option_f64_t tool_option_f64_t;
typedef everything_option_u32_t tool_option_u32_t;
typedef everything_option_u64_t tool_option_u64_t;
#else
#include "gen/tool.h"
#endif

struct cd_call {
    cd_json arguments;
    uint8_t features;
    /* The result as it grows. */
    cofferdam_tool_types_tool_result_t result;
    /* Why there is none; it counts only when the handler returns false. */
    bool refused;
    cofferdam_tool_types_call_error_t error;
#ifdef CD_OFFERS
    /* The resource that is read; else NULL. */
    const char *uri;
    /* Arguments of a prompt, variables of a template, or what is known when an argument is completed. */
    everything_list_tuple2_string_string_t given;
    /* Of a prompt: its description, and an `a` at the place of each block of the model. */
    const char *description;
    cd_buffer roles;
    /* What is listed, and what an argument may become. */
    exports_cofferdam_tool_resources_list_listed_resource_t listed;
    everything_list_string_t suggested;
#endif
};

/* Memory, or the end of the run. */
void *cd_take(size_t bytes);
/* Copies: the generated code frees what a call returns. */
tool_string_t cd_copy(const char *text);
tool_list_u8_t cd_copy_bytes(const void *bytes, size_t length);
tool_option_string_t cd_maybe(const char *text);
/* A text of the host, with a zero byte behind it. */
char *cd_ended(const void *text, size_t length);

cofferdam_tool_types_annotations_t cd_hints(const cd_annotations *annotations);

void cd_put_list(cd_buffer *buffer, const char *format, va_list arguments);

/* A list with room for one item more. */
void *cd_grow(void *items, size_t length, size_t item);

/* The call is over. Returns false. */
bool cd_over(cd_call *call);
/* The host refused; that is a fault of the tool. Returns false. */
bool cd_internal(cd_call *call, const char *format, ...) CD_FORMAT(2, 3);

#endif
