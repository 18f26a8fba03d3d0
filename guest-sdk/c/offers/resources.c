/* Resources: the component's table of them, and what their templates stand for. */

#include <stdlib.h>
#include <string.h>

#include "shared.h"

typedef exports_cofferdam_tool_resources_listed_resource_t listed;

/* Most resources of a page. */
#define PAGE 1000
/* Digits of the largest cursor. */
#define DIGITS 9

static exports_cofferdam_tool_resources_option_annotations_t hints(const cd_annotations *said) {
    exports_cofferdam_tool_resources_option_annotations_t maybe = {.is_some = said != NULL};
    if (said != NULL)
        maybe.val = cd_hints(said);
    return maybe;
}

static exports_cofferdam_tool_resources_option_json_t json(const char *text) {
    exports_cofferdam_tool_resources_option_json_t maybe = {.is_some = text != NULL};
    if (text != NULL)
        maybe.val = cd_copy(text);
    return maybe;
}

/* The first that is there. */
static tool_string_t name_of(const char *name, const char *title, const char *uri) {
    return cd_copy(name != NULL ? name : title != NULL ? title : uri);
}

static listed lower(const cd_listed *said) {
    return (listed){
        .uri = cd_copy(said->uri),
        .name = name_of(said->name, said->title, said->uri),
        .title = cd_maybe(said->title),
        .description = cd_maybe(said->description),
        .mime_type = cd_maybe(said->mime_type),
        .size = {said->size > 0, said->size},
        .annotations = hints(said->annotations),
        .meta = json(said->meta),
    };
}

static listed resource_of(const cd_resource_at *row) {
    return lower(&(cd_listed){
        .uri = row->uri,
        .name = row->name,
        .title = row->title,
        .description = row->description,
        .mime_type = row->mime_type,
        .size = row->size,
        .annotations = row->annotations,
        .meta = row->meta,
    });
}

static exports_cofferdam_tool_resources_resource_template_t template_of(const cd_resource_at *row) {
    return (exports_cofferdam_tool_resources_resource_template_t){
        .uri_template = cd_copy(row->uri),
        .name = name_of(row->name, row->title, row->uri),
        .title = cd_maybe(row->title),
        .description = cd_maybe(row->description),
        .mime_type = cd_maybe(row->mime_type),
        .annotations = hints(row->annotations),
        .meta = json(row->meta),
    };
}

void exports_cofferdam_tool_resources_describe_resources(exports_cofferdam_tool_resources_resource_set_t *ret) {
    *ret = (exports_cofferdam_tool_resources_resource_set_t){0};
    exports_cofferdam_tool_resources_list_listed_resource_t *resources = &ret->resources;
    exports_cofferdam_tool_resources_list_resource_template_t *templates = &ret->templates;
    for (const cd_resource_at *row = cd_resources; row->uri != NULL; row++) {
        ret->dynamic = ret->dynamic || row->list != NULL;
        if (strchr(row->uri, '{') != NULL) {
            templates->ptr = cd_grow(templates->ptr, templates->len, sizeof *templates->ptr);
            templates->ptr[templates->len++] = template_of(row);
        } else {
            resources->ptr = cd_grow(resources->ptr, resources->len, sizeof *resources->ptr);
            resources->ptr[resources->len++] = resource_of(row);
        }
    }
}

const cd_resource_at *cd_resource_under(tool_string_t uri) {
    for (const cd_resource_at *row = cd_resources; row->uri != NULL; row++)
        if (cd_is(uri, row->uri))
            return row;
    return NULL;
}

bool cd_list(cd_call *call, const cd_listed *resource) {
    call->listed.ptr = cd_grow(call->listed.ptr, call->listed.len, sizeof *call->listed.ptr);
    call->listed.ptr[call->listed.len++] = lower(resource);
    return true;
}

/* How many resources are on the pages before this one, which is what a cursor says. */
static bool read_cursor(cd_call *call, const tool_option_string_t *cursor, size_t *before) {
    *before = 0;
    if (!cursor->is_some)
        return true;
    bool fits = cursor->val.len > 0 && cursor->val.len <= DIGITS;
    for (size_t n = 0; fits && n < cursor->val.len; n++) {
        fits = cursor->val.ptr[n] >= '0' && cursor->val.ptr[n] <= '9';
        *before = 10 * *before + (size_t)(cursor->val.ptr[n] - '0');
    }
    return fits || cd_fail(call, -32602, "no page begins at this cursor", NULL);
}

static bool list(cd_call *call) {
    for (const cd_resource_at *row = cd_resources; row->uri != NULL; row++)
        if (row->list != NULL)
            CD_TRY(row->list(call));
    return true;
}

bool exports_cofferdam_tool_resources_list_resources(exports_cofferdam_tool_resources_list_call_t *asked,
                                                     exports_cofferdam_tool_resources_resource_page_t *ret,
                                                     exports_cofferdam_tool_resources_call_error_t *err) {
    cd_call call = {.features = asked->features};
    size_t before;
    if (!cd_ends(&call, read_cursor(&call, &asked->cursor, &before) && list(&call), err))
        return false;
    size_t all = call.listed.len, end = before + PAGE < all ? before + PAGE : all;
    *ret = (exports_cofferdam_tool_resources_resource_page_t){0};
    if (before >= all)
        return true;
    ret->resources.len = end - before;
    ret->resources.ptr = cd_take(ret->resources.len * sizeof(listed));
    memcpy(ret->resources.ptr, call.listed.ptr + before, ret->resources.len * sizeof(listed));
    if (end < all) {
        cd_buffer cursor = {0};
        cd_put(&cursor, "%zu", end);
        ret->next_cursor = cd_maybe(cursor.text);
    }
    return true;
}
