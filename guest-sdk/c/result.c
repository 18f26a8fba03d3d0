/* What a tool returns, and what it fails with. */

#include <stdlib.h>
#include <string.h>

#include "inside.h"

typedef cofferdam_tool_types_content_t content;

void *cd_take(size_t bytes) {
    void *memory = calloc(1, bytes > 0 ? bytes : 1);
    if (memory == NULL)
        abort();
    return memory;
}

char *cd_ended(const void *text, size_t length) {
    char *copy = cd_take(length + 1);
    if (length > 0)
        memcpy(copy, text, length);
    return copy;
}

tool_list_u8_t cd_copy_bytes(const void *bytes, size_t length) {
    return (tool_list_u8_t){(uint8_t *)cd_ended(bytes, length), length};
}

tool_string_t cd_copy(const char *text) {
    size_t length = text == NULL ? 0 : strlen(text);
    return (tool_string_t){(uint8_t *)cd_ended(text, length), length};
}

tool_option_string_t cd_maybe(const char *text) {
    tool_option_string_t maybe = {.is_some = text != NULL};
    if (text != NULL)
        maybe.val = cd_copy(text);
    return maybe;
}

void *cd_grow(void *items, size_t length, size_t item) {
    void *grown = realloc(items, (length + 1) * item);
    if (grown == NULL)
        abort();
    return grown;
}

static bool add(cd_call *call, content block) {
    cofferdam_tool_types_list_content_t *all = &call->result.content;
    all->ptr = cd_grow(all->ptr, all->len, sizeof block);
    all->ptr[all->len++] = block;
    return true;
}

bool cd_text(cd_call *call, const char *text) {
    content block = {.tag = COFFERDAM_TOOL_TYPES_CONTENT_TEXT};
    block.val.text.text = cd_copy(text);
    return add(call, block);
}

bool cd_textf(cd_call *call, const char *format, ...) {
    cd_buffer buffer = {0};
    va_list arguments;
    va_start(arguments, format);
    cd_put_list(&buffer, format, arguments);
    va_end(arguments);
    return cd_text(call, buffer.text);
}

bool cd_image(cd_call *call, const void *bytes, size_t length, const char *mime_type) {
    content block = {.tag = COFFERDAM_TOOL_TYPES_CONTENT_IMAGE};
    block.val.image.data = cd_copy_bytes(bytes, length);
    block.val.image.mime_type = cd_copy(mime_type);
    return add(call, block);
}

bool cd_audio(cd_call *call, const void *bytes, size_t length, const char *mime_type) {
    content block = {.tag = COFFERDAM_TOOL_TYPES_CONTENT_AUDIO};
    block.val.audio.data = cd_copy_bytes(bytes, length);
    block.val.audio.mime_type = cd_copy(mime_type);
    return add(call, block);
}

static content embedded(const char *uri, const char *mime_type) {
    content block = {.tag = COFFERDAM_TOOL_TYPES_CONTENT_EMBEDDED_RESOURCE};
    block.val.embedded_resource.uri = cd_copy(uri);
    block.val.embedded_resource.mime_type = cd_maybe(mime_type);
    return block;
}

bool cd_resource(cd_call *call, const char *uri, const char *mime_type, const char *text) {
    content block = embedded(uri, mime_type);
    block.val.embedded_resource.body.tag = COFFERDAM_TOOL_TYPES_RESOURCE_BODY_TEXT;
    block.val.embedded_resource.body.val.text = cd_copy(text);
    return add(call, block);
}

bool cd_blob(cd_call *call, const char *uri, const char *mime_type, const void *bytes, size_t length) {
    content block = embedded(uri, mime_type);
    block.val.embedded_resource.body.tag = COFFERDAM_TOOL_TYPES_RESOURCE_BODY_BLOB;
    block.val.embedded_resource.body.val.blob = cd_copy_bytes(bytes, length);
    return add(call, block);
}

bool cd_link(cd_call *call, const cd_link_to *link) {
    content block = {.tag = COFFERDAM_TOOL_TYPES_CONTENT_RESOURCE_LINK};
    cofferdam_tool_types_resource_link_t *to = &block.val.resource_link;
    to->uri = cd_copy(link->uri);
    to->name = cd_copy(link->name);
    to->title = cd_maybe(link->title);
    to->description = cd_maybe(link->description);
    to->mime_type = cd_maybe(link->mime_type);
    to->size = (tool_option_u64_t){link->size > 0, link->size};
    return add(call, block);
}

static cofferdam_tool_types_option_annotations_t *hints_of(content *block) {
    switch (block->tag) {
    case COFFERDAM_TOOL_TYPES_CONTENT_TEXT:
        return &block->val.text.annotations;
    case COFFERDAM_TOOL_TYPES_CONTENT_IMAGE:
        return &block->val.image.annotations;
    case COFFERDAM_TOOL_TYPES_CONTENT_AUDIO:
        return &block->val.audio.annotations;
    case COFFERDAM_TOOL_TYPES_CONTENT_RESOURCE_LINK:
        return &block->val.resource_link.annotations;
    default:
        return &block->val.embedded_resource.annotations;
    }
}

cofferdam_tool_types_annotations_t cd_hints(const cd_annotations *annotations) {
    cofferdam_tool_types_annotations_t hints = {0};
    hints.audience.ptr = cd_take(2);
    if (annotations->for_user)
        hints.audience.ptr[hints.audience.len++] = COFFERDAM_TOOL_TYPES_ROLE_USER;
    if (annotations->for_assistant)
        hints.audience.ptr[hints.audience.len++] = COFFERDAM_TOOL_TYPES_ROLE_ASSISTANT;
    hints.priority = (tool_option_f64_t){annotations->priority >= 0, annotations->priority};
    hints.last_modified = cd_maybe(annotations->last_modified);
    return hints;
}

bool cd_annotate(cd_call *call, const cd_annotations *annotations) {
    cofferdam_tool_types_list_content_t *all = &call->result.content;
    if (all->len == 0)
        return cd_internal(call, "cd_annotate: there is no block yet");
    *hints_of(&all->ptr[all->len - 1]) = (cofferdam_tool_types_option_annotations_t){true, cd_hints(annotations)};
    return true;
}

bool cd_structured(cd_call *call, const char *json) {
    call->result.structured.is_some = true;
    call->result.structured.val = cd_copy(json);
    return true;
}

bool cd_meta(cd_call *call, const char *json) {
    call->result.meta.is_some = true;
    call->result.meta.val = cd_copy(json);
    return true;
}

/* A tool error, as a result of one text. */
static bool refuse(cd_call *call, const char *text) {
    call->result = (cofferdam_tool_types_tool_result_t){.is_error = true};
    call->refused = true;
    cd_text(call, text);
    return false;
}

bool cd_refuse(cd_call *call, const char *format, ...) {
    cd_buffer buffer = {0};
    va_list arguments;
    va_start(arguments, format);
    cd_put_list(&buffer, format, arguments);
    va_end(arguments);
    return refuse(call, buffer.text);
}

bool cd_over(cd_call *call) {
    return refuse(call, "The call is over.");
}

bool cd_fail(cd_call *call, int32_t code, const char *message, const char *data) {
    call->refused = false;
    call->error.tag = COFFERDAM_TOOL_TYPES_CALL_ERROR_RPC;
    cofferdam_tool_types_rpc_error_t *error = &call->error.val.rpc;
    error->code = code;
    error->message = cd_copy(message);
    error->data.is_some = data != NULL;
    if (data != NULL)
        error->data.val = cd_copy(data);
    return false;
}

bool cd_internal(cd_call *call, const char *format, ...) {
    cd_buffer buffer = {0};
    va_list arguments;
    va_start(arguments, format);
    cd_put_list(&buffer, format, arguments);
    va_end(arguments);
    return cd_fail(call, -32603, buffer.text, NULL);
}

bool cd_lacks(cd_call *call, uint8_t features) {
    call->refused = false;
    call->error.tag = COFFERDAM_TOOL_TYPES_CALL_ERROR_MISSING_FEATURES;
    call->error.val.missing_features = features;
    return false;
}
