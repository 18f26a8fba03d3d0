/* What the example leaves out: messages of the model, contents of all kinds, faults, pages, changes. */

#include <stdlib.h>
#include <string.h>

#include "offers.h"

static bool talk(cd_call *call) {
    cd_text(call, "Who are you?");
    cd_annotate(call, &(cd_annotations){.for_user = true, .priority = 1});
    cd_image(call, "\x89PNG", 4, "image/png");
    cd_text(call, "A library.");
    cd_by_model(call);
    cd_describe(call, "A talk");
    return cd_meta(call, "{\"test/kind\":\"talk\"}");
}

static bool greet(cd_call *call) {
    cd_answer answer;
    CD_TRY(cd_ask_form(call, "name", "Who shall be greeted?",
                       "{\"type\":\"object\",\"required\":[\"value\"],\"properties\":{\"value\":{\"type\":\"string\"}}}",
                       &answer));
    return cd_textf(call, "Greet %s.", cd_string(cd_get(answer.content, "value"), "nobody"));
}

/* Fails as it is asked to; false if it is not. */
static bool fail(cd_call *call, const char *how, bool *failed) {
    *failed = true;
    if (strcmp(how, "refuse") == 0)
        return cd_refuse(call, "it cannot be done");
    if (strcmp(how, "rpc") == 0)
        return cd_fail(call, 7, "a code of its own", "{\"hint\":\"none\"}");
    if (strcmp(how, "lacks") == 0)
        return cd_lacks(call, CD_SAMPLING);
    if (strcmp(how, "structured") == 0)
        return cd_structured(call, "{}");
    if (strcmp(how, "link") == 0)
        return cd_link(call, &(cd_link_to){.uri = "kinds://text", .name = "text"});
    if (strcmp(how, "trap") == 0)
        abort();
    *failed = false;
    return true;
}

static bool failing(cd_call *call) {
    bool failed;
    CD_TRY(fail(call, cd_given(call, "how", ""), &failed));
    return failed || cd_text(call, "It did not fail.");
}

/* A hundred and fifty values, and one that depends on another argument. */
static bool numbers(cd_call *call, const char *typed) {
    (void)typed;
    cd_suggest(call, cd_given(call, "other", "none"));
    for (int n = 0; n < 150; n++) {
        cd_buffer text = {0};
        cd_put(&text, "%d", n);
        cd_suggest(call, text.text);
    }
    return true;
}

static bool broken(cd_call *call, const char *typed) {
    return cd_refuse(call, "nothing begins with %s", typed);
}

static const char *const ways[] = {"refuse", "rpc", "trap", NULL};

const cd_prompt cd_prompts[] = {
    {.name = "talk", .run = talk},
    {.name = "greet", .title = "Greet", .run = greet},
    {
        .name = "failing",
        .arguments = (const cd_argument[]){{.name = "how", .title = "How", .values = ways},
                                           {.name = "number", .optional = true, .complete = numbers},
                                           {.name = "broken", .optional = true, .complete = broken},
                                           {0}},
        .run = failing,
    },
    {0},
};

static bool several(cd_call *call) {
    cd_text(call, "text");
    cd_blob(call, NULL, NULL, "\x00\xff", 2);
    cd_image(call, "\x89PNG", 4, "image/png");
    cd_resource(call, "kinds://other", NULL, cd_uri(call));
    return cd_blob(call, "kinds://bytes", "application/octet-stream", "\x01", 1);
}

static bool failing_read(cd_call *call) {
    bool failed;
    return fail(call, cd_given(call, "how", ""), &failed);
}

static bool numbered(cd_call *call) {
    return cd_textf(call, "number %s", cd_given(call, "number", ""));
}

/* More than a page. */
static bool list_numbered(cd_call *call) {
    for (int n = 0; n < 1001; n++) {
        cd_buffer uri = {0};
        cd_put(&uri, "numbers://%d", n);
        cd_list(call, &(cd_listed){.uri = uri.text, .title = "A number", .size = 7});
    }
    return true;
}

const cd_resource_at cd_resources[] = {
    {
        .uri = "kinds://several",
        .name = "several",
        .mime_type = "text/x-kind",
        .size = 9,
        .annotations = &(const cd_annotations){.for_assistant = true, .priority = 0.5},
        .meta = "{\"test/kind\":\"several\"}",
        .ttl_ms = 7000,
        .private = true,
        .read = several,
    },
    {.uri = "faults://{how}", .read = failing_read},
    {.uri = "numbers://{number}", .list = list_numbered, .read = numbered},
    {0},
};

static bool touch(cd_call *call) {
    cd_resource_updated("kinds://several");
    cd_list_changed(CD_RESOURCES);
    return cd_text(call, "told");
}

const cd_tool cd_tools[] = {{.name = "touch", .run = touch}, {0}};
