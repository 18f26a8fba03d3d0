/* A tool that asks its user a question while it runs. */

#include <stdio.h>
#include <string.h>

#include "cofferdam.h"

/* Counts the letters of a name: the bytes that begin one. */
static bool count_letters(cd_call *call, void *name, cd_bytes *value) {
    (void)call;
    int letters = 0;
    for (const char *at = name; *at != 0; at++)
        letters += (*at & 0xc0) != 0x80;
    cd_buffer text = {0};
    cd_put(&text, "%d", letters);
    *value = (cd_bytes){text.text, text.length};
    return true;
}

static bool greet(cd_call *call) {
    const char *name = cd_string(cd_get(cd_arguments(call), "name"), "");
    /* A client that knows tasks is answered now, and need not wait for the user. */
    CD_TRY(cd_start_task(call, &(cd_task_options){.status = "Thinking"}));
    /* A step is done once, also if the server is stopped meanwhile and the tool run again. */
    cd_bytes letters;
    CD_TRY(cd_step(call, "letters", count_letters, (void *)name, &letters));
    cd_buffer message = {0}, question = {0};
    cd_put(&message, "%s letters", letters.bytes);
    CD_TRY(cd_progress(call, 1, 2, message.text));
    cd_put(&question, "How shall %s be greeted?", name);
    cd_answer answer;
    CD_TRY(cd_ask_form(call, "manner", question.text,
                       "{\"type\":\"object\",\"required\":[\"manner\"],\"properties\":{\"manner\":"
                       "{\"type\":\"string\",\"title\":\"How to greet\",\"enum\":[\"formal\",\"friendly\"]}}}",
                       &answer));
    if (answer.action != CD_ACCEPT)
        return cd_textf(call, "%s was not greeted.", name);
    bool formal = strcmp(cd_string(cd_get(answer.content, "manner"), ""), "formal") == 0;
    return formal ? cd_textf(call, "Good day, %s.", name) : cd_textf(call, "Hi %s!", name);
}

const cd_tool cd_tools[] = {
    {
        .name = "greet",
        .title = "Greet",
        .description = "Greets someone in the manner that the user chooses.",
        .task = CD_TASK_OPTIONAL,
        .read_only = CD_YES,
        .open_world = CD_NO,
        .input = "{\"type\":\"object\",\"additionalProperties\":false,\"required\":[\"name\"],\"properties\":{"
                 "\"name\":{\"type\":\"string\",\"description\":\"Who is greeted.\"}}}",
        .run = greet,
    },
    {0},
};
