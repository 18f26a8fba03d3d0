/* Prompts, resources, and the completion of their arguments, beside tools.
 *
 *     static bool read_note(cd_call *call) {
 *         const char *text = note_of(cd_given(call, "day", ""));
 *         return text == NULL || cd_text(call, text);
 *     }
 *
 *     const cd_resource_at cd_resources[] = {
 *         { .uri = "notes://{day}", .mime_type = "text/plain", .read = read_note },
 *         { 0 },
 *     };
 *
 *     const cd_prompt cd_prompts[] = { { 0 } };
 *     const cd_tool cd_tools[] = { { 0 } };
 *
 * A component that has them is compiled for the world `everything`, and so is this library: with
 * `CD_OFFERS` defined for all sources, with those in `offers/`, and with `gen/everything.c` and its
 * object file in place of `gen/tool.c` and that one's.
 *
 * A function of a prompt, a resource or a list is run like a tool's: in a fresh instance, which may ask
 * its user but never becomes a task. A client that is told of a failure gets a JSON-RPC error, as no model
 * reads it: `cd_refuse` is answered with -32603 and its text. */

#ifndef COFFERDAM_OFFERS_H
#define COFFERDAM_OFFERS_H

#include "cofferdam.h"

#ifndef CD_OFFERS
#error "compile this component and its library with -DCD_OFFERS"
#endif

/* ---- What is given ---- */

/* The value of a prompt's argument or of a template's variable, or `otherwise` if it was not given. Where
 * an argument is completed: of another one that has a value already. A variable is what the client
 * chose, with percent-encoding undone: if you make a path of it, look for `..`.
 * A value has no zero byte: a prompt is refused with -32602 before it is run, a read leads to nothing, and
 * a completion has no values. */
const char *cd_given(const cd_call *call, const char *name, const char *otherwise);

/* An argument of a prompt, or a variable of a template. What is 0 is left out; only `name` is needed. */
typedef struct {
    const char *name;
    /* Of a prompt's argument. */
    const char *title;
    const char *description;
    /* Of a prompt's argument: a client need not give it. One that leaves out another one is refused
     * before `run`. */
    bool optional;
    /* All values that there are, closed by NULL: those that begin with what was typed complete it. */
    const char *const *values;
    /* In place of `values`: adds what completes it with `cd_suggest`. Nothing can be asked here. */
    bool (*complete)(cd_call *call, const char *typed);
} cd_argument;

/* Adds a value to those of a completion, the best first. Clients are shown 100, and told how many there
 * are. Returns true. */
bool cd_suggest(cd_call *call, const char *value);

/* Does a text begin with another one, whatever the case of letters from A to Z? */
bool cd_begins(const char *text, const char *start);

/* ---- Prompts ---- */

/* A prompt: messages that a user chooses to begin with. What is 0 is left out; only `name` and `run` are
 * needed. Clients see them in this order, at most 1 000. */
typedef struct {
    const char *name;
    const char *title;
    const char *description;
    /* At most 64, closed by a row of zeros. */
    const cd_argument *arguments;
    /* Members for the prompt's `_meta`, a JSON object. */
    const char *meta;
    /* Each block that it adds, with `cd_text` and its like, is a message of the user. */
    bool (*run)(cd_call *call);
} cd_prompt;

/* The prompts of the component: yours to define, closed by a row of zeros. */
extern const cd_prompt cd_prompts[];

/* The block that was added last is a message of the model. */
bool cd_by_model(cd_call *call);
/* Describes what the prompt came to. Returns true. */
bool cd_describe(cd_call *call, const char *text);

/* ---- Resources ---- */

/* A resource, or a family of them. What is 0 is left out; only `uri` and `read` are needed. */
typedef struct {
    /* An absolute URI; or a template, in which `{name}` stands for one or more characters but `/`, `?` and
     * `#`, and `{+name}` for one or more of any, with text between them. At most 4 096 bytes and 16
     * variables. At most 1 000 resources and 64 templates. */
    const char *uri;
    /* For programs and, if there is no title, for people; the title or the URI if left out. */
    const char *name;
    const char *title;
    const char *description;
    const char *mime_type;
    /* Bytes; not of a template. */
    uint64_t size;
    const cd_annotations *annotations;
    /* Members for its `_meta`, a JSON object. */
    const char *meta;
    /* How long a client may keep what it read, in milliseconds: not at all if left out. Only the caller may,
     * no shared cache, if it is `private`. */
    uint64_t ttl_ms;
    bool private;
    /* Of a template: variables that are completed, closed by a row of zeros. */
    const cd_argument *variables;
    /* Of a template: adds all that it stands for with `cd_list`, in the same order each time. Nothing can
     * be asked here. */
    bool (*list)(cd_call *call);
    /* Adds what it holds; if that is nothing, the client is answered that there is no such resource.
     *
     * `cd_text` adds a text, `cd_blob` bytes, and `cd_resource` a text of another type. The URI that these
     * two take is that of the part; NULL is the one that is read, and its MIME type is the row's if none is
     * given. `cd_image` and `cd_audio` add bytes of that type; `cd_link` is a fault. Hints of
     * `cd_annotate` have no place in it. */
    bool (*read)(cd_call *call);
} cd_resource_at;

/* The resources of the component: yours to define, closed by a row of zeros. */
extern const cd_resource_at cd_resources[];

/* The URI that is read; else NULL. */
const char *cd_uri(const cd_call *call);

/* A resource as clients see it in a list; members are those of `cd_resource_at`. */
typedef struct {
    const char *uri, *name, *title, *description, *mime_type;
    uint64_t size;
    const cd_annotations *annotations;
    const char *meta;
} cd_listed;

/* Adds a resource to the list, which clients see in pages of 1 000. It must match a template of this
 * component, or its page is refused. Returns true. */
bool cd_list(cd_call *call, const cd_listed *resource);

/* ---- Changes ---- */

/* Tells clients that listen that a resource of this component changed. A tool may tell so, too; a run that
 * is repeated tells nothing twice. */
void cd_resource_updated(const char *uri);

typedef enum { CD_TOOLS, CD_PROMPTS, CD_RESOURCES } cd_changed;

/* Tells clients that listen that a list of this component changed. */
void cd_list_changed(cd_changed what);

#endif
