/* Prompts: the component's table of them, and their messages. */

#include "shared.h"

static exports_cofferdam_tool_prompts_prompt_argument_t argument(const cd_argument *said) {
    return (exports_cofferdam_tool_prompts_prompt_argument_t){
        .name = cd_copy(said->name),
        .title = cd_maybe(said->title),
        .description = cd_maybe(said->description),
        .required = !said->optional,
    };
}

static void describe(const cd_prompt *prompt, exports_cofferdam_tool_prompts_prompt_t *to) {
    *to = (exports_cofferdam_tool_prompts_prompt_t){0};
    to->name = cd_copy(prompt->name);
    to->title = cd_maybe(prompt->title);
    to->description = cd_maybe(prompt->description);
    to->meta.is_some = prompt->meta != NULL;
    to->meta.val = cd_copy(prompt->meta);
    for (const cd_argument *said = prompt->arguments; said != NULL && said->name != NULL; said++) {
        to->arguments.ptr = cd_grow(to->arguments.ptr, to->arguments.len, sizeof *to->arguments.ptr);
        to->arguments.ptr[to->arguments.len++] = argument(said);
    }
}

void exports_cofferdam_tool_prompts_list_prompts(exports_cofferdam_tool_prompts_list_prompt_t *ret) {
    ret->len = 0;
    while (cd_prompts[ret->len].name != NULL)
        ret->len++;
    ret->ptr = cd_take(ret->len * sizeof *ret->ptr);
    for (size_t n = 0; n < ret->len; n++)
        describe(&cd_prompts[n], &ret->ptr[n]);
}

const cd_prompt *cd_prompt_named(tool_string_t name) {
    for (const cd_prompt *prompt = cd_prompts; prompt->name != NULL; prompt++)
        if (cd_is(name, prompt->name))
            return prompt;
    return NULL;
}

bool cd_by_model(cd_call *call) {
    size_t blocks = call->result.content.len;
    if (blocks == 0)
        return cd_internal(call, "cd_by_model: there is no block yet");
    while (call->roles.length < blocks)
        cd_put(&call->roles, "%c", call->roles.length + 1 < blocks ? 'u' : 'a');
    return true;
}

bool cd_describe(cd_call *call, const char *text) {
    call->description = text;
    return true;
}

static bool is_by_model(const cd_call *call, size_t block) {
    return block < call->roles.length && call->roles.text[block] == 'a';
}

static bool run(cd_call *call, tool_string_t name) {
    const cd_prompt *prompt = cd_prompt_named(name);
    if (prompt == NULL)
        return cd_fail(call, -32602, "no prompt has this name", NULL);
    if (cd_is_cut(&call->given))
        return cd_fail(call, -32602, "an argument has a zero byte", NULL);
    return prompt->run(call);
}

bool exports_cofferdam_tool_prompts_get_prompt(exports_cofferdam_tool_prompts_prompt_call_t *asked,
                                               exports_cofferdam_tool_prompts_prompt_result_t *ret,
                                               exports_cofferdam_tool_prompts_call_error_t *err) {
    cd_call call = {.features = asked->features, .given = asked->arguments};
    if (!cd_ends(&call, run(&call, asked->name), err))
        return false;
    const cofferdam_tool_types_list_content_t *blocks = &call.result.content;
    *ret = (exports_cofferdam_tool_prompts_prompt_result_t){.description = cd_maybe(call.description)};
    ret->messages.ptr = cd_take(blocks->len * sizeof *ret->messages.ptr);
    ret->messages.len = blocks->len;
    for (size_t n = 0; n < blocks->len; n++) {
        bool by_model = is_by_model(&call, n);
        ret->messages.ptr[n].role = by_model ? COFFERDAM_TOOL_TYPES_ROLE_ASSISTANT : COFFERDAM_TOOL_TYPES_ROLE_USER;
        ret->messages.ptr[n].content = blocks->ptr[n];
    }
    ret->meta.is_some = call.result.meta.is_some;
    ret->meta.val = call.result.meta.val;
    return true;
}
