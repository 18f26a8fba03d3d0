/* Completion: values for what a user types for an argument of a prompt, or a variable of a template. */

#include <string.h>
#include <strings.h>

#include "shared.h"

/* Most values that a client is shown. */
#define SHOWN 100

bool cd_begins(const char *text, const char *start) {
    return strncasecmp(text, start, strlen(start)) == 0;
}

bool cd_suggest(cd_call *call, const char *value) {
    everything_list_string_t *all = &call->suggested;
    all->ptr = cd_grow(all->ptr, all->len, sizeof *all->ptr);
    all->ptr[all->len++] = cd_copy(value);
    return true;
}

/* The rows of what an argument belongs to; NULL if it has none. */
static const cd_argument *arguments_of(const exports_cofferdam_tool_completion_reference_t *reference) {
    if (reference->tag == EXPORTS_COFFERDAM_TOOL_COMPLETION_REFERENCE_PROMPT) {
        const cd_prompt *prompt = cd_prompt_named(reference->val.prompt);
        return prompt != NULL ? prompt->arguments : NULL;
    }
    const cd_resource_at *row = cd_resource_under(reference->val.resource);
    return row != NULL ? row->variables : NULL;
}

static bool complete(cd_call *call, const cd_argument *argument, const char *typed) {
    if (argument->complete != NULL)
        return argument->complete(call, typed);
    for (const char *const *value = argument->values; value != NULL && *value != NULL; value++)
        if (cd_begins(*value, typed))
            cd_suggest(call, *value);
    return true;
}

static bool answer(cd_call *call, const exports_cofferdam_tool_completion_completion_call_t *asked) {
    const tool_string_t *typed = &asked->argument.value;
    if (cd_is_cut(&call->given) || (typed->len > 0 && memchr(typed->ptr, 0, typed->len) != NULL))
        return true;
    const cd_argument *argument = arguments_of(&asked->reference);
    for (; argument != NULL && argument->name != NULL; argument++)
        if (cd_is(asked->argument.name, argument->name))
            return complete(call, argument, cd_ended(typed->ptr, typed->len));
    return true;
}

bool exports_cofferdam_tool_completion_complete_argument(exports_cofferdam_tool_completion_completion_call_t *asked,
                                                         exports_cofferdam_tool_completion_completion_result_t *ret,
                                                         exports_cofferdam_tool_completion_call_error_t *err) {
    cd_call call = {.given = asked->context};
    if (!cd_ends(&call, answer(&call, asked), err))
        return false;
    *ret = (exports_cofferdam_tool_completion_completion_result_t){.values = call.suggested};
    ret->total = (tool_option_u32_t){ret->values.len > SHOWN, (uint32_t)ret->values.len};
    return true;
}
