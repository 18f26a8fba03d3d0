/* Reading a resource: what its function adds is what it holds. */

#include "shared.h"

typedef exports_cofferdam_tool_resources_resource_content_t part;
typedef exports_cofferdam_tool_resources_list_resource_content_t parts;

const char *cd_uri(const cd_call *call) {
    return call->uri;
}

static part bytes_of(const cofferdam_tool_types_media_content_t *media) {
    part held = {.mime_type = {true, media->mime_type}};
    held.body.tag = COFFERDAM_TOOL_TYPES_RESOURCE_BODY_BLOB;
    held.body.val.blob = media->data;
    return held;
}

/* Makes a part of a block, under the URI that is read if it has none. */
static bool hold(cd_call *call, const cofferdam_tool_types_content_t *block, const cd_resource_at *row, part *to) {
    *to = (part){0};
    switch (block->tag) {
    case COFFERDAM_TOOL_TYPES_CONTENT_TEXT:
        to->body.tag = COFFERDAM_TOOL_TYPES_RESOURCE_BODY_TEXT;
        to->body.val.text = block->val.text.text;
        break;
    case COFFERDAM_TOOL_TYPES_CONTENT_IMAGE:
        *to = bytes_of(&block->val.image);
        break;
    case COFFERDAM_TOOL_TYPES_CONTENT_AUDIO:
        *to = bytes_of(&block->val.audio);
        break;
    case COFFERDAM_TOOL_TYPES_CONTENT_EMBEDDED_RESOURCE:
        to->uri = block->val.embedded_resource.uri;
        to->mime_type = block->val.embedded_resource.mime_type;
        to->body = block->val.embedded_resource.body;
        break;
    default:
        return cd_internal(call, "cd_link: a resource holds text and bytes");
    }
    if (to->uri.len == 0) {
        to->uri = cd_copy(call->uri);
        if (!to->mime_type.is_some)
            to->mime_type = cd_maybe(row->mime_type);
    }
    return true;
}

static bool fill(cd_call *call, const cd_resource_at *row, parts *to) {
    if (row == NULL || cd_is_cut(&call->given))
        return true;
    CD_TRY(row->read(call));
    const cofferdam_tool_types_list_content_t *blocks = &call->result.content;
    to->ptr = cd_take(blocks->len * sizeof *to->ptr);
    for (; to->len < blocks->len; to->len++)
        CD_TRY(hold(call, &blocks->ptr[to->len], row, &to->ptr[to->len]));
    return true;
}

bool exports_cofferdam_tool_resources_read_resource(exports_cofferdam_tool_resources_resource_call_t *asked,
                                                    exports_cofferdam_tool_resources_resource_contents_t *ret,
                                                    exports_cofferdam_tool_resources_call_error_t *err) {
    cd_call call = {.features = asked->features, .given = asked->variables};
    call.uri = cd_ended(asked->uri.ptr, asked->uri.len);
    const cd_resource_at *row = cd_resource_under(asked->template_.is_some ? asked->template_.val : asked->uri);
    *ret = (exports_cofferdam_tool_resources_resource_contents_t){0};
    if (!cd_ends(&call, fill(&call, row, &ret->contents), err))
        return false;
    ret->cache.is_some = row != NULL && row->ttl_ms > 0;
    if (ret->cache.is_some)
        ret->cache.val = (exports_cofferdam_tool_resources_cache_hint_t){row->ttl_ms, row->private};
    ret->meta.is_some = call.result.meta.is_some;
    ret->meta.val = call.result.meta.val;
    return true;
}
