/* What prompts, resources and completion share. Not for tools. */

#ifndef COFFERDAM_OFFERS_SHARED_H
#define COFFERDAM_OFFERS_SHARED_H

#include "../inside.h"
#include "../offers.h"

/* Is this text of the host that of C? */
bool cd_is(tool_string_t text, const char *of);
/* Has a value a zero byte, behind which C would not see it? */
bool cd_is_cut(const everything_list_tuple2_string_string_t *given);
const cd_prompt *cd_prompt_named(tool_string_t name);
/* The row under a URI or a template, as it stands there. */
const cd_resource_at *cd_resource_under(tool_string_t uri);

/* Did it come to something? Else `error` says why: what a tool tells a model is the error's text. */
bool cd_ends(cd_call *call, bool done, cofferdam_tool_types_call_error_t *error);

#endif
