/* Write Cofferdam tools in C.
 *
 * A tool is a function, with a row in the table `cd_tools`:
 *
 *     static bool add(cd_call *call) {
 *         cd_json arguments = cd_arguments(call);
 *         double a = cd_number(cd_get(arguments, "a"), 0);
 *         return cd_textf(call, "%g", a + 1);
 *     }
 *
 *     const cd_tool cd_tools[] = {
 *         { .name = "add", .description = "Adds one.", .run = add,
 *           .input = "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"number\"}}}" },
 *         { 0 },
 *     };
 *
 * Failing. A function that returns `bool` returns false when the call has failed: what its client is
 * told is noted in the call, and all that is left to do is to return false, too. `CD_TRY` does that.
 *
 * Memory. An instance runs one call, and is dropped with all its memory: nothing has to be freed.
 * What is handed to a function here is copied, so literals and locals will do. What a function hands
 * out lives as long as the call. Texts are UTF-8 and end with a zero byte.
 *
 * A handler is straight-line code. A server may run it again from its first line, after a crash or a
 * long wait: verbs, clocks and random numbers then answer as they did before. `cd_step` spares what was
 * worked out. */

#ifndef COFFERDAM_H
#define COFFERDAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Returns false from the function it stands in if the call has failed. */
#define CD_TRY(done)      \
    do {                  \
        if (!(done))      \
            return false; \
    } while (0)

#if defined(__GNUC__)
#define CD_FORMAT(text, first) __attribute__((format(printf, text, first)))
#else
#define CD_FORMAT(text, first)
#endif

/* One running call. */
typedef struct cd_call cd_call;

/* ---- Tools ---- */

/* May a call of a tool become a task? If the client knows tasks; or always, and others are refused. */
typedef enum { CD_TASK_NONE, CD_TASK_OPTIONAL, CD_TASK_REQUIRED } cd_task_support;

/* A hint to clients. */
typedef enum { CD_UNSAID, CD_YES, CD_NO } cd_hint;

/* A tool. What is 0 is left out; only `name` and `run` are needed. Clients see them in this order. */
typedef struct {
    const char *name;
    const char *title;
    const char *description;
    /* JSON Schema of the arguments, an object. What does not fit never reaches `run`. */
    const char *input;
    /* JSON Schema of `cd_structured`. */
    const char *output;
    /* Members for the tool's `_meta`, a JSON object. */
    const char *meta;
    cd_task_support task;
    cd_hint read_only, destructive, idempotent, open_world;
    bool (*run)(cd_call *call);
} cd_tool;

/* The tools of the component: yours to define, closed by a row of zeros. */
extern const cd_tool cd_tools[];

/* ---- JSON ---- */

/* A value inside a JSON text; without a text it is the value that is not there. */
typedef struct {
    const char *at, *end;
} cd_json;

/* A whole text, which must be JSON. What comes from the host is. */
cd_json cd_json_of(const char *text);
bool cd_is_there(cd_json value);
/* The member of an object, or what is not there. */
cd_json cd_get(cd_json object, const char *name);
/* The first item of an array, and the one after an item; after the last one, what is not there. */
cd_json cd_first(cd_json array);
cd_json cd_next(cd_json item);
size_t cd_length(cd_json array);
/* What the value says, or `otherwise` if it is not there or of another kind. */
double cd_number(cd_json value, double otherwise);
bool cd_bool(cd_json value, bool otherwise);
const char *cd_string(cd_json value, const char *otherwise);

/* A text that grows. Begin with `{ 0 }`. */
typedef struct {
    char *text;
    size_t length, room;
} cd_buffer;

void cd_put(cd_buffer *buffer, const char *format, ...) CD_FORMAT(2, 3);
/* The text in quotes, as JSON has it. */
void cd_put_string(cd_buffer *buffer, const char *text);

/* ---- What a tool knows, returns, and fails with ---- */

cd_json cd_arguments(const cd_call *call);

/* What the calling client can do. */
enum {
    CD_ELICITATION_FORM = 1,
    CD_ELICITATION_URL = 2,
    CD_SAMPLING = 4,
    CD_SAMPLING_TOOLS = 8,
    CD_ROOTS = 16,
    CD_TASKS = 32,
};
uint8_t cd_features(const cd_call *call);

/* Each of these adds a block to the result. They return true, so that a handler can end with one. */
bool cd_text(cd_call *call, const char *text);
bool cd_textf(cd_call *call, const char *format, ...) CD_FORMAT(2, 3);
bool cd_image(cd_call *call, const void *bytes, size_t length, const char *mime_type);
bool cd_audio(cd_call *call, const void *bytes, size_t length, const char *mime_type);
/* A resource inside the result. */
bool cd_resource(cd_call *call, const char *uri, const char *mime_type, const char *text);
bool cd_blob(cd_call *call, const char *uri, const char *mime_type, const void *bytes, size_t length);

/* A pointer to a resource that the client may read. What is 0 is left out. */
typedef struct {
    const char *uri, *name, *title, *description, *mime_type;
    uint64_t size;
} cd_link_to;
bool cd_link(cd_call *call, const cd_link_to *link);

/* Hints about the block that was added last. */
typedef struct {
    bool for_user, for_assistant;
    /* From 0.0 to 1.0; less than 0 is left out. */
    double priority;
    /* ISO 8601, or NULL. */
    const char *last_modified;
} cd_annotations;
bool cd_annotate(cd_call *call, const cd_annotations *annotations);

/* The structured result, and the result's `_meta`: JSON. */
bool cd_structured(cd_call *call, const char *json);
bool cd_meta(cd_call *call, const char *json);

/* Fails: these return false. The tool could not do what was asked; a model reads the text. */
bool cd_refuse(cd_call *call, const char *format, ...) CD_FORMAT(2, 3);
/* A JSON-RPC error: -32602, -32603, or a code of your own outside -32768 to -32000. `data` is JSON or
 * NULL. */
bool cd_fail(cd_call *call, int32_t code, const char *message, const char *data);
/* The client lacks these features, and is told so: -32021. */
bool cd_lacks(cd_call *call, uint8_t features);

/* ---- Verbs ---- */

/* How a task is to be. What is 0 is the server's default. */
typedef struct {
    /* A deadline for the work, then the end of the record; `CD_UNLIMITED` is none. */
    uint64_t ttl_ms;
    uint64_t poll_interval_ms;
    const char *status;
    uint32_t max_attempts;
} cd_task_options;
#define CD_UNLIMITED UINT64_MAX

/* Makes the call a task: the client is answered with the task's id at once. For a client that does not
 * know tasks nothing happens. `options` may be NULL. */
bool cd_start_task(cd_call *call, const cd_task_options *options);

/* Reports progress, which must grow. `total` of 0 and `message` of NULL are left out. */
bool cd_progress(cd_call *call, double done, double total, const char *message);

/* Waits without use of CPU time; the instance may be given back meanwhile. */
bool cd_sleep(cd_call *call, uint64_t milliseconds);

typedef enum { CD_INLINE, CD_WORKING, CD_INPUT_REQUIRED, CD_COMPLETED, CD_FAILED, CD_CANCELLED } cd_status_of;
cd_status_of cd_status(void);

/* True once nobody wants the result: clean up and return. It tells nothing of a server that stops. */
bool cd_cancelled(void);

/* Keeps a value under a key for this call: at most 1 MiB a value, 16 MiB a call. */
bool cd_record(cd_call *call, const char *key, const void *bytes, size_t length);

typedef struct {
    /* A zero byte follows them. */
    const char *bytes;
    size_t length;
} cd_bytes;

/* The value last kept under a key. False, and no failure, if there is none. */
bool cd_recall(const char *key, cd_bytes *value);

/* Does a piece of work once in a call: when the handler is run again, `value` is recalled in place of
 * working again. What the work reads reaches the rest of the handler only through the value. */
bool cd_step(cd_call *call, const char *name, bool (*work)(cd_call *call, void *context, cd_bytes *value),
             void *context, cd_bytes *value);

/* ---- Questions ---- */

typedef enum { CD_ASK_FORM, CD_ASK_URL, CD_ASK_MODEL, CD_ASK_ROOTS } cd_question_kind;

/* What to ask. A key is good once in a call. */
typedef struct {
    const char *key;
    cd_question_kind kind;
    /* To the user, or the model. */
    const char *message;
    /* Of a form: its JSON schema, a flat object. Never ask for secrets in it. */
    const char *schema;
    /* Of a page. */
    const char *url;
    /* Of a model: most tokens, at least 1. */
    uint32_t max_tokens;
} cd_question;

typedef enum { CD_ACCEPT, CD_DECLINE, CD_CANCEL } cd_action;

/* The answer. A refusal is one, not a failure. */
typedef struct {
    /* Of a form or a page. */
    cd_action action;
    /* The filled form; or the roots, an array of `{"uri":…,"name":…}`. */
    cd_json content;
    /* What the model wrote. */
    const char *text;
} cd_answer;

/* Asks at most 32 questions at once, and returns when all are answered, in `answers` in their order. */
bool cd_ask(cd_call *call, const cd_question *questions, size_t count, cd_answer *answers);
/* Asks for a form. */
bool cd_ask_form(cd_call *call, const char *key, const char *message, const char *schema, cd_answer *answer);

/* ---- Log ---- */

typedef enum { CD_DEBUG, CD_INFO, CD_NOTICE, CD_WARNING, CD_ERROR, CD_CRITICAL, CD_ALERT, CD_EMERGENCY } cd_level;

/* Writes a line to the server's log, and to the client if it asked. `fields` is a JSON object or
 * NULL. What is written to stdout and stderr goes there, too. */
void cd_log(cd_level level, const char *message, const char *fields);

#endif
