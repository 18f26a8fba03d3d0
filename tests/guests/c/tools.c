/* The scenarios that a guest in every language plays alike (`tests/guests/scenarios/README.md`). */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cofferdam.h"

#define LENGTH(array) (sizeof(array) / sizeof *(array))

#define OBJECT(properties) "{\"type\":\"object\",\"additionalProperties\":false,\"properties\":{" properties "}}"
#define OBJECT_OF(required, properties) \
    "{\"type\":\"object\",\"additionalProperties\":false,\"required\":[" required "],\"properties\":{" properties "}}"
#define PHASE                                                                       \
    "\"phase\":{\"type\":\"string\",\"enum\":[\"inline\",\"task\"],\"default\":\"inline\"," \
    "\"description\":\"Whether the call becomes a task before anything else\"}"

/* Becomes a task, if the tool is to work as one. */
static bool begin(cd_call *call) {
    const char *phase = cd_string(cd_get(cd_arguments(call), "phase"), "inline");
    return strcmp(phase, "task") != 0 || cd_start_task(call, NULL);
}

/* Asks for a text under each key, all at once. */
static bool values(cd_call *call, const char *const *keys, size_t count, const char **answers) {
    cd_question questions[4];
    cd_answer given[4];
    for (size_t n = 0; n < count; n++) {
        cd_buffer message = {0};
        cd_put(&message, "What is %s?", keys[n]);
        questions[n] = (cd_question){
            .key = keys[n],
            .message = message.text,
            .schema = "{\"type\":\"object\",\"properties\":{\"value\":{\"type\":\"string\"}},\"required\":[\"value\"]}",
        };
    }
    CD_TRY(cd_ask(call, questions, count, given));
    for (size_t n = 0; n < count; n++) {
        if (given[n].action != CD_ACCEPT)
            return cd_refuse(call, "%s: %s", keys[n], given[n].action == CD_DECLINE ? "decline" : "cancel");
        answers[n] = cd_string(cd_get(given[n].content, "value"), "");
    }
    return true;
}

static bool value(cd_call *call, const char *key, const char **answer) {
    return values(call, &key, 1, answer);
}

/* An object of two texts. */
static bool pair(cd_call *call, const char *const keys[2], const char *const texts[2]) {
    cd_buffer json = {0};
    for (int n = 0; n < 2; n++) {
        cd_put(&json, n == 0 ? "{" : ",");
        cd_put_string(&json, keys[n]);
        cd_put(&json, ":");
        cd_put_string(&json, texts[n]);
    }
    cd_put(&json, "}");
    return cd_text(call, json.text);
}

static bool contents(cd_call *call) {
    static const unsigned char png[] = {137, 80, 78, 71}, wav[] = {82, 73, 70, 70, 0}, blob[] = {0, 255};
    cd_text(call, "text");
    cd_annotate(call, &(cd_annotations){true, true, 0.5, "2026-07-28T00:00:00Z"});
    cd_image(call, png, sizeof png, "image/png");
    cd_audio(call, wav, sizeof wav, "audio/wav");
    cd_link(call, &(cd_link_to){
                      .uri = "file:///report.txt",
                      .name = "report",
                      .title = "Report",
                      .description = "A report",
                      .mime_type = "text/plain",
                      .size = 7,
                  });
    cd_resource(call, "test://text", "text/plain", "text");
    return cd_blob(call, "test://blob", "application/octet-stream", blob, sizeof blob);
}

static bool add(cd_call *call) {
    cd_json arguments = cd_arguments(call);
    double sum = cd_number(cd_get(arguments, "a"), 0) + cd_number(cd_get(arguments, "b"), 0);
    cd_buffer json = {0};
    cd_put(&json, "{\"sum\":%.17g}", sum);
    return cd_structured(call, json.text);
}

static bool misfit(cd_call *call) {
    return cd_structured(call, "{\"count\":\"many\"}");
}

static bool strict(cd_call *call) {
    cd_json arguments = cd_arguments(call);
    const char *word = cd_string(cd_get(arguments, "word"), "");
    return cd_textf(call, "%s %g", word, cd_number(cd_get(arguments, "number"), 0));
}

static bool refuse(cd_call *call) {
    return cd_refuse(call, "%s", cd_string(cd_get(cd_arguments(call), "reason"), ""));
}

static bool fault(cd_call *call) {
    CD_TRY(begin(call));
    cd_json arguments = cd_arguments(call);
    int32_t code = (int32_t)cd_number(cd_get(arguments, "code"), 0);
    return cd_fail(call, code, cd_string(cd_get(arguments, "message"), ""), "{\"hint\":\"none\"}");
}

static bool crash(cd_call *call) {
    CD_TRY(begin(call));
    abort();
}

static bool count(cd_call *call) {
    CD_TRY(begin(call));
    int to = (int)cd_number(cd_get(cd_arguments(call), "to"), 0);
    for (int n = 1; n <= to; n++) {
        char message[32];
        snprintf(message, sizeof message, "counted %d", n);
        CD_TRY(cd_progress(call, n, to, message));
    }
    return cd_textf(call, "counted to %d", to);
}

static bool say(cd_call *call) {
    static const char *const levels[] = {"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"};
    cd_json arguments = cd_arguments(call);
    const char *level = cd_string(cd_get(arguments, "level"), "");
    for (size_t n = 0; n < LENGTH(levels); n++) {
        if (strcmp(levels[n], level) != 0)
            continue;
        cd_log((cd_level)n, cd_string(cd_get(arguments, "message"), ""), "{\"from\":\"scenarios\"}");
        return cd_text(call, "said");
    }
    return cd_refuse(call, "there is no level %s", level);
}

static bool confirm(cd_call *call) {
    CD_TRY(begin(call));
    cd_answer answer;
    CD_TRY(cd_ask_form(call, "sure", "Are you sure?",
                       "{\"type\":\"object\",\"properties\":{\"sure\":{\"type\":\"boolean\"}},\"required\":[\"sure\"]}",
                       &answer));
    switch (answer.action) {
    case CD_ACCEPT:
        return cd_text(call, cd_bool(cd_get(answer.content, "sure"), false) ? "yes" : "no");
    case CD_DECLINE:
        return cd_text(call, "decline");
    default:
        return cd_text(call, "cancel");
    }
}

static bool sequence(cd_call *call) {
    static const char *const keys[] = {"first", "second"};
    const char *answers[2];
    CD_TRY(begin(call));
    CD_TRY(value(call, keys[0], &answers[0]));
    CD_TRY(value(call, keys[1], &answers[1]));
    return pair(call, keys, answers);
}

static bool two_keys(cd_call *call) {
    static const char *const keys[] = {"left", "right"};
    const char *answers[2];
    CD_TRY(begin(call));
    CD_TRY(values(call, keys, 2, answers));
    return pair(call, keys, answers);
}

static uint64_t now(clockid_t clock) {
    struct timespec time;
    if (clock_gettime(clock, &time) != 0)
        abort();
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static bool nap(cd_call *call) {
    CD_TRY(begin(call));
    uint64_t ms = (uint64_t)cd_number(cd_get(cd_arguments(call), "ms"), 0);
    uint64_t before = now(CLOCK_MONOTONIC);
    CD_TRY(cd_sleep(call, ms));
    return cd_text(call, now(CLOCK_MONOTONIC) - before >= ms * 1000000 ? "slept" : "woke early");
}

static bool linger(cd_call *call) {
    CD_TRY(begin(call));
    /* That it is over is what the loop asks. */
    while (!cd_cancelled())
        cd_sleep(call, 10);
    cd_log(CD_INFO, "cleaned up", NULL);
    return true;
}

static bool draw_and_ask(cd_call *call) {
    unsigned char drawn[16], again[16];
    const char *go;
    cd_bytes kept;
    CD_TRY(begin(call));
    if (getentropy(drawn, sizeof drawn) != 0)
        abort();
    CD_TRY(cd_record(call, "drawn", drawn, sizeof drawn));
    CD_TRY(value(call, "go", &go));
    if (getentropy(again, sizeof again) != 0 || memcmp(drawn, again, sizeof drawn) == 0)
        abort();
    bool same = cd_recall("drawn", &kept) && kept.length == sizeof drawn && memcmp(kept.bytes, drawn, sizeof drawn) == 0;
    cd_buffer json = {0};
    cd_put(&json, "{\"same\":%s,\"answer\":", same ? "true" : "false");
    cd_put_string(&json, go);
    cd_put(&json, "}");
    return cd_text(call, json.text);
}

static bool read_clocks(cd_call *call) {
    const char *go;
    cd_bytes kept;
    CD_TRY(begin(call));
    uint64_t read[2] = {now(CLOCK_REALTIME), now(CLOCK_MONOTONIC)};
    CD_TRY(cd_record(call, "read", read, sizeof read));
    CD_TRY(value(call, "go", &go));
    bool ordered = now(CLOCK_REALTIME) >= read[0] && now(CLOCK_MONOTONIC) >= read[1];
    bool same = cd_recall("read", &kept) && kept.length == sizeof read && memcmp(kept.bytes, read, sizeof read) == 0;
    cd_buffer json = {0};
    cd_put(&json, "{\"same\":%s,\"ordered\":%s,\"answer\":", same ? "true" : "false", ordered ? "true" : "false");
    cd_put_string(&json, go);
    cd_put(&json, "}");
    return cd_text(call, json.text);
}

/* FNV-1a, 32 bits, of a thousand bytes that depend on a seed. */
static bool checksum(cd_call *call, void *context, cd_bytes *value) {
    (void)call;
    uint32_t seed = *(const uint32_t *)context, hash = 0x811c9dc5;
    for (uint32_t n = 0; n < 1000; n++)
        hash = (hash ^ ((seed + n) & 0xff)) * 0x01000193;
    cd_buffer text = {0};
    cd_put(&text, "%08x", (unsigned)hash);
    *value = (cd_bytes){text.text, text.length};
    return true;
}

static bool steps(cd_call *call) {
    const char *go = "";
    CD_TRY(begin(call));
    cd_buffer json = {0};
    cd_put(&json, "{\"steps\":[");
    for (uint32_t n = 0; n < 5; n++) {
        char name[32];
        cd_bytes taken;
        snprintf(name, sizeof name, "checksum %u", (unsigned)n);
        CD_TRY(cd_step(call, name, checksum, &n, &taken));
        cd_put(&json, n > 0 ? ",\"%s\"" : "\"%s\"", taken.bytes);
        if (n == 2)
            CD_TRY(value(call, "go", &go));
    }
    cd_put(&json, "],\"answer\":");
    cd_put_string(&json, go);
    cd_put(&json, "}");
    return cd_text(call, json.text);
}

const cd_tool cd_tools[] = {
    {.name = "contents",
     .title = "Contents",
     .description = "One block of each kind",
     .read_only = CD_YES,
     .input = OBJECT(""),
     .run = contents},
    {.name = "add",
     .description = "Adds two numbers",
     .input = OBJECT_OF("\"a\",\"b\"", "\"a\":{\"type\":\"number\"},\"b\":{\"type\":\"number\"}"),
     .output = OBJECT_OF("\"sum\"", "\"sum\":{\"type\":\"number\"}"),
     .run = add},
    {.name = "misfit",
     .description = "Promises a count, and returns something else",
     .output = OBJECT_OF("\"count\"", "\"count\":{\"type\":\"integer\"}"),
     .run = misfit},
    {.name = "strict",
     .description = "Takes only what is within bounds",
     .input = OBJECT_OF("\"word\",\"number\"",
                        "\"word\":{\"type\":\"string\",\"minLength\":1,\"maxLength\":5},"
                        "\"number\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":10}"),
     .run = strict},
    {.name = "refuse",
     .description = "Cannot do what is asked",
     .input = OBJECT_OF("\"reason\"", "\"reason\":{\"type\":\"string\"}"),
     .run = refuse},
    {.name = "fault",
     .description = "Fails with a JSON-RPC error",
     .task = CD_TASK_OPTIONAL,
     .input = OBJECT_OF("\"code\",\"message\"",
                        "\"code\":{\"type\":\"integer\"},\"message\":{\"type\":\"string\"}," PHASE),
     .run = fault},
    {.name = "crash", .description = "Has a bug", .task = CD_TASK_OPTIONAL, .input = OBJECT(PHASE), .run = crash},
    {.name = "count",
     .description = "Counts, and tells how far it is",
     .task = CD_TASK_OPTIONAL,
     .input = OBJECT_OF("\"to\"", "\"to\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":100}," PHASE),
     .run = count},
    {.name = "say",
     .description = "Writes a line to the log",
     .input = OBJECT_OF("\"level\",\"message\"", "\"level\":{\"type\":\"string\"},\"message\":{\"type\":\"string\"}"),
     .run = say},
    {.name = "confirm",
     .description = "Asks whether the user is sure",
     .task = CD_TASK_OPTIONAL,
     .input = OBJECT(PHASE),
     .run = confirm},
    {.name = "sequence",
     .description = "Asks one question, then another",
     .task = CD_TASK_OPTIONAL,
     .input = OBJECT(PHASE),
     .run = sequence},
    {.name = "two_keys",
     .description = "Asks two questions at once",
     .task = CD_TASK_OPTIONAL,
     .input = OBJECT(PHASE),
     .run = two_keys},
    {.name = "nap",
     .description = "Sleeps",
     .task = CD_TASK_OPTIONAL,
     .input = OBJECT_OF("\"ms\"", "\"ms\":{\"type\":\"integer\",\"minimum\":0}," PHASE),
     .run = nap},
    {.name = "linger",
     .description = "Goes on until it is cancelled, and cleans up",
     .task = CD_TASK_OPTIONAL,
     .input = OBJECT(PHASE),
     .run = linger},
    {.name = "random",
     .description = "Draws random numbers before a question and after it",
     .task = CD_TASK_OPTIONAL,
     .input = OBJECT(PHASE),
     .run = draw_and_ask},
    {.name = "clock",
     .description = "Reads the clocks before a question and after it",
     .task = CD_TASK_OPTIONAL,
     .input = OBJECT(PHASE),
     .run = read_clocks},
    {.name = "steps",
     .description = "Takes five steps, each once, and asks a question after the third",
     .task = CD_TASK_OPTIONAL,
     .input = OBJECT(PHASE),
     .run = steps},
    {0},
};
