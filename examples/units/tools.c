/* Units of measure: each is a resource, a prompt makes an amount of one imaginable, and a tool converts
 * amounts and links to the units. */

#include <string.h>

#include "offers.h"

#define HOUR_MS 3600000

typedef struct {
    const char *quantity, *name;
    /* How many of the quantity's first unit it is. */
    double size;
} unit;

static const unit units[] = {
    {"length", "metre", 1},
    {"length", "foot", 0.3048},
    {"length", "fathom", 1.8288},
    {"length", "nautical-mile", 1852},
    {"mass", "kilogram", 1},
    {"mass", "pound", 0.45359237},
    {"mass", "stone", 6.35029318},
    {"volume", "litre", 1},
    {"volume", "pint", 0.56826125},
    {"volume", "gallon", 4.54609},
    {0},
};

static const char *const quantities[] = {"length", "mass", "volume", NULL};

static bool is_same(const char *one, const char *other) {
    return strcmp(one, other) == 0;
}

static const unit *unit_named(const char *name) {
    for (const unit *it = units; it->name != NULL; it++)
        if (is_same(it->name, name))
            return it;
    return NULL;
}

/* The unit that the others of its quantity are measured in. */
static const unit *base_of(const char *quantity) {
    const unit *it = units;
    while (!is_same(it->quantity, quantity))
        it++;
    return it;
}

static const char *uri_of(const unit *it) {
    cd_buffer uri = {0};
    cd_put(&uri, "units://%s/%s", it->quantity, it->name);
    return uri.text;
}

/* ---- Resources ---- */

static bool read_quantities(cd_call *call) {
    cd_buffer all = {0};
    for (const char *const *it = quantities; *it != NULL; it++)
        cd_put(&all, "%s\n", *it);
    return cd_text(call, all.text);
}

static bool read_unit(cd_call *call) {
    const unit *it = unit_named(cd_given(call, "unit", ""));
    if (it == NULL || !is_same(it->quantity, cd_given(call, "quantity", "")))
        return true;
    return cd_textf(call, "1 %s = %.9g %s", it->name, it->size, base_of(it->quantity)->name);
}

static bool list_units(cd_call *call) {
    for (const unit *it = units; it->name != NULL; it++)
        cd_list(call, &(cd_listed){.uri = uri_of(it), .name = it->name, .mime_type = "text/plain"});
    return true;
}

/* The units that begin so, of the quantity that is chosen already, if one is. */
static bool complete_unit(cd_call *call, const char *typed) {
    const char *quantity = cd_given(call, "quantity", NULL);
    for (const unit *it = units; it->name != NULL; it++)
        if (cd_begins(it->name, typed) && (quantity == NULL || is_same(it->quantity, quantity)))
            cd_suggest(call, it->name);
    return true;
}

const cd_resource_at cd_resources[] = {
    {
        .uri = "units://quantities",
        .title = "Quantities",
        .description = "What there are units of.",
        .mime_type = "text/plain",
        .ttl_ms = HOUR_MS,
        .read = read_quantities,
    },
    {
        .uri = "units://{quantity}/{unit}",
        .title = "Unit",
        .description = "How large a unit is.",
        .mime_type = "text/plain",
        .ttl_ms = HOUR_MS,
        .variables = (const cd_argument[]){{.name = "quantity", .values = quantities},
                                           {.name = "unit", .complete = complete_unit},
                                           {0}},
        .list = list_units,
        .read = read_unit,
    },
    {0},
};

/* ---- Prompts ---- */

/* The amount that was given, or that the user tells; without an answer it is one. */
static bool choose_amount(cd_call *call, const unit *of, const char **amount) {
    *amount = cd_given(call, "amount", NULL);
    if (*amount != NULL)
        return true;
    *amount = "1";
    if (!(cd_features(call) & CD_ELICITATION_FORM))
        return true;
    cd_buffer message = {0};
    cd_put(&message, "How much, in the unit %s?", of->name);
    cd_answer answer;
    CD_TRY(cd_ask_form(call, "amount", message.text,
                       "{\"type\":\"object\",\"required\":[\"amount\"],\"properties\":{\"amount\":"
                       "{\"type\":\"string\",\"title\":\"Amount\",\"default\":\"1\"}}}",
                       &answer));
    if (answer.action == CD_ACCEPT)
        *amount = cd_string(cd_get(answer.content, "amount"), "1");
    return true;
}

static bool imagine(cd_call *call) {
    const char *name = cd_given(call, "unit", "");
    const unit *it = unit_named(name);
    if (it == NULL) {
        cd_buffer message = {0};
        cd_put(&message, "there is no unit %s", name);
        return cd_fail(call, -32602, message.text, NULL);
    }
    const char *amount;
    CD_TRY(choose_amount(call, it, &amount));
    return cd_textf(call, "How much is %s %s? Compare it with things that everybody knows. 1 %s is %.9g %s.", amount,
                    it->name, it->name, it->size, base_of(it->quantity)->name);
}

const cd_prompt cd_prompts[] = {
    {
        .name = "imagine",
        .title = "Imagine an amount",
        .description = "Makes an amount of a unit imaginable.",
        .arguments = (const cd_argument[]){{.name = "unit", .description = "The unit", .complete = complete_unit},
                                           {.name = "amount", .description = "How much of it", .optional = true},
                                           {0}},
        .run = imagine,
    },
    {0},
};

/* ---- Tools ---- */

static bool link_to(cd_call *call, const unit *it) {
    return cd_link(call, &(cd_link_to){.uri = uri_of(it), .name = it->name, .mime_type = "text/plain"});
}

static bool convert(cd_call *call) {
    cd_json arguments = cd_arguments(call);
    double amount = cd_number(cd_get(arguments, "amount"), 0);
    const unit *ends[2];
    for (int n = 0; n < 2; n++) {
        const char *name = cd_string(cd_get(arguments, n == 0 ? "from" : "to"), "");
        ends[n] = unit_named(name);
        if (ends[n] == NULL)
            return cd_refuse(call, "There is no unit %s.", name);
    }
    const unit *from = ends[0], *to = ends[1];
    if (!is_same(from->quantity, to->quantity))
        return cd_refuse(call, "%s is of %s, and %s of %s.", from->name, from->quantity, to->name, to->quantity);
    link_to(call, from);
    link_to(call, to);
    return cd_textf(call, "%.9g %s = %.9g %s", amount, from->name, amount * from->size / to->size, to->name);
}

const cd_tool cd_tools[] = {
    {
        .name = "convert-units",
        .title = "Convert units",
        .description = "Converts an amount from one unit into another, and links to both.",
        .read_only = CD_YES,
        .open_world = CD_NO,
        .input = "{\"type\":\"object\",\"additionalProperties\":false,\"required\":[\"amount\",\"from\",\"to\"],"
                 "\"properties\":{\"amount\":{\"type\":\"number\"},"
                 "\"from\":{\"type\":\"string\",\"description\":\"A unit, such as fathom\"},"
                 "\"to\":{\"type\":\"string\",\"description\":\"A unit of the same quantity\"}}}",
        .run = convert,
    },
    {0},
};
