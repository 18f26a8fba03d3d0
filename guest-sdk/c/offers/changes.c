/* Tells clients that listen what changed. */

#include "shared.h"

void cd_resource_updated(const char *uri) {
    tool_string_t text = cd_copy(uri);
    cofferdam_tool_changes_resource_updated(&text);
}

void cd_list_changed(cd_changed what) {
    cofferdam_tool_changes_list_changed((cofferdam_tool_changes_changed_list_t)what);
}
