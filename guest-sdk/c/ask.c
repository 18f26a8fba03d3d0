/* Questions to the client, and its answers. */

#include <string.h>

#include "inside.h"

typedef cofferdam_tool_task_tuple2_string_input_request_t request;

static void lower(const cd_question *question, request *to) {
    to->f0 = cd_copy(question->key);
    cofferdam_tool_task_input_request_t *asked = &to->f1;
    asked->tag = (uint8_t)question->kind;
    switch (question->kind) {
    case CD_ASK_FORM:
        asked->val.form.message = cd_copy(question->message);
        asked->val.form.schema = cd_copy(question->schema);
        break;
    case CD_ASK_URL:
        asked->val.url.message = cd_copy(question->message);
        asked->val.url.url = cd_copy(question->url);
        break;
    case CD_ASK_MODEL: {
        cofferdam_tool_task_sampling_message_t *message = cd_take(sizeof *message);
        message->role = COFFERDAM_TOOL_TYPES_ROLE_USER;
        message->content.len = 1;
        message->content.ptr = cd_take(sizeof *message->content.ptr);
        message->content.ptr->tag = COFFERDAM_TOOL_TASK_SAMPLING_CONTENT_TEXT;
        message->content.ptr->val.text = cd_copy(question->message);
        asked->val.sampling.messages.ptr = message;
        asked->val.sampling.messages.len = 1;
        asked->val.sampling.max_tokens = question->max_tokens;
        break;
    }
    case CD_ASK_ROOTS:
        break;
    }
}

/* What the model wrote; content of another kind than text is left out. */
static const char *written(const cofferdam_tool_task_list_sampling_content_t *content) {
    cd_buffer all = {0};
    cd_put(&all, "%s", "");
    for (size_t n = 0; n < content->len; n++) {
        if (content->ptr[n].tag != COFFERDAM_TOOL_TASK_SAMPLING_CONTENT_TEXT)
            continue;
        const tool_string_t *text = &content->ptr[n].val.text;
        cd_put(&all, "%.*s", (int)text->len, (const char *)text->ptr);
    }
    return all.text;
}

static cd_json as_json(const cofferdam_tool_task_list_root_t *roots) {
    cd_buffer all = {0};
    cd_put(&all, "[");
    for (size_t n = 0; n < roots->len; n++) {
        const cofferdam_tool_task_root_t *root = &roots->ptr[n];
        cd_put(&all, n > 0 ? ",{\"uri\":" : "{\"uri\":");
        cd_put_string(&all, cd_ended(root->uri.ptr, root->uri.len));
        if (root->name.is_some) {
            cd_put(&all, ",\"name\":");
            cd_put_string(&all, cd_ended(root->name.val.ptr, root->name.val.len));
        }
        cd_put(&all, "}");
    }
    cd_put(&all, "]");
    return cd_json_of(all.text);
}

static void lift(const cofferdam_tool_task_input_answer_t *given, cd_answer *to) {
    *to = (cd_answer){0};
    switch (given->tag) {
    case COFFERDAM_TOOL_TASK_INPUT_ANSWER_ELICITATION: {
        const cofferdam_tool_task_elicitation_answer_t *answer = &given->val.elicitation;
        to->action = (cd_action)answer->action;
        if (answer->content.is_some)
            to->content = cd_json_of(cd_ended(answer->content.val.ptr, answer->content.val.len));
        break;
    }
    case COFFERDAM_TOOL_TASK_INPUT_ANSWER_SAMPLING:
        to->text = written(&given->val.sampling.content);
        break;
    default:
        to->content = as_json(&given->val.roots);
        break;
    }
}

static bool refused(cd_call *call, const cofferdam_tool_task_input_error_t *error) {
    const tool_string_t *text = &error->val.invalid;
    switch (error->tag) {
    case COFFERDAM_TOOL_TASK_INPUT_ERROR_INVALID:
        return cd_internal(call, "input request: %.*s", (int)text->len, (const char *)text->ptr);
    case COFFERDAM_TOOL_TASK_INPUT_ERROR_DUPLICATE_KEYS:
        text = error->val.duplicate_keys.ptr;
        return cd_internal(call, "input request: used before: %.*s", (int)text->len, (const char *)text->ptr);
    case COFFERDAM_TOOL_TASK_INPUT_ERROR_MISSING_FEATURES:
        return cd_lacks(call, error->val.missing_features);
    case COFFERDAM_TOOL_TASK_INPUT_ERROR_UNAVAILABLE:
        return cd_refuse(call, "This tool needs an answer from its user, but nothing can be asked in this call.");
    case COFFERDAM_TOOL_TASK_INPUT_ERROR_STORE_FAILED:
        return cd_internal(call, "the input request could not be stored: %.*s", (int)text->len,
                           (const char *)text->ptr);
    default:
        return cd_over(call);
    }
}

bool cd_ask(cd_call *call, const cd_question *questions, size_t count, cd_answer *answers) {
    cofferdam_tool_task_list_tuple2_string_input_request_t asked = {cd_take(count * sizeof(request)), count};
    for (size_t n = 0; n < count; n++)
        lower(&questions[n], &asked.ptr[n]);
    cofferdam_tool_task_list_tuple2_string_input_answer_t given;
    cofferdam_tool_task_input_error_t error;
    if (!cofferdam_tool_task_require_input(&asked, &given, &error))
        return refused(call, &error);
    /* The host answers each, in the order of the questions. */
    for (size_t n = 0; n < count && n < given.len; n++)
        lift(&given.ptr[n].f1, &answers[n]);
    return true;
}

bool cd_ask_form(cd_call *call, const char *key, const char *message, const char *schema, cd_answer *answer) {
    cd_question question = {.key = key, .kind = CD_ASK_FORM, .message = message, .schema = schema};
    return cd_ask(call, &question, 1, answer);
}
