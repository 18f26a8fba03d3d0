/* Draws numbers as a chart. Where they span several powers of ten, the user is asked for the scale. */

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cofferdam.h"
#include "png.h"

/* Pixels around the chart. */
#define MARGIN 8
/* From so many numbers on, a client that knows tasks gets one. */
#define TASK_VALUES 2000
/* Columns of pixels between two reports of progress. */
#define STRIDE 64
/* A span from which a linear scale hides the small numbers. */
#define WIDE 1000.0

enum { PAPER, GRID, INK, COLOURS };
static const uint8_t palette[COLOURS][3] = {{255, 255, 255}, {220, 224, 230}, {31, 90, 166}};

typedef struct {
    double *values;
    size_t count;
    double least, most;
} series;

typedef struct {
    uint32_t width, height;
    bool bars, logarithmic;
    uint8_t *pixels;
} canvas;

static bool read_series(cd_call *call, cd_json array, series *to) {
    size_t count = cd_length(array);
    *to = (series){.values = calloc(count, sizeof(double)), .least = INFINITY, .most = -INFINITY};
    if (to->values == NULL)
        return cd_refuse(call, "there are too many values: %zu", count);
    for (cd_json item = cd_first(array); cd_is_there(item); item = cd_next(item)) {
        double value = cd_number(item, 0);
        /* JSON has larger numbers than a double. */
        if (!isfinite(value))
            return cd_refuse(call, "value %zu is too large", to->count + 1);
        to->least = fmin(to->least, value);
        to->most = fmax(to->most, value);
        to->values[to->count++] = value;
    }
    return true;
}

/* Makes the call a task, unless it is one. */
static bool begin(cd_call *call) {
    return cd_status() != CD_INLINE || cd_start_task(call, &(cd_task_options){.status = "Reading"});
}

/* Is the scale logarithmic? The arguments say it, or the numbers, or the user. */
static bool choose_scale(cd_call *call, const series *of, bool *logarithmic) {
    const char *scale = cd_string(cd_get(cd_arguments(call), "scale"), "");
    *logarithmic = strcmp(scale, "logarithmic") == 0;
    if (*logarithmic && of->least <= 0)
        return cd_refuse(call, "a logarithmic scale has no place for %g", of->least);
    if (*scale != 0 || of->least <= 0 || of->most / of->least < WIDE)
        return true;
    /* A user takes time. */
    CD_TRY(begin(call));
    char message[128];
    snprintf(message, sizeof message, "The values go from %g to %g. Draw them on a logarithmic scale?", of->least,
             of->most);
    cd_answer answer;
    CD_TRY(cd_ask_form(call, "logarithmic", message,
                       "{\"type\":\"object\",\"required\":[\"logarithmic\"],\"properties\":{\"logarithmic\":"
                       "{\"type\":\"boolean\",\"title\":\"Logarithmic scale\",\"default\":true}}}",
                       &answer));
    *logarithmic = answer.action == CD_ACCEPT && cd_bool(cd_get(answer.content, "logarithmic"), false);
    return true;
}

/* How high a value stands, from 0 to 1. */
static double height_of(const canvas *on, const series *of, double value) {
    double least = of->least, most = of->most;
    if (on->logarithmic) {
        least = log10(least);
        most = log10(most);
        value = log10(value);
    } else if (on->bars) {
        /* Bars stand on zero. */
        least = fmin(least, 0);
        most = fmax(most, 0);
    }
    return most > least ? (value - least) / (most - least) : 0.5;
}

static uint32_t row_of(const canvas *on, double height) {
    double span = on->height - 2 * MARGIN - 1;
    return (uint32_t)(MARGIN + lround((1 - height) * span));
}

static void fill(canvas *on, uint32_t column, uint32_t from, uint32_t to, uint8_t colour) {
    if (from > to) {
        uint32_t other = from;
        from = to;
        to = other;
    }
    for (uint32_t row = from; row <= to; row++)
        on->pixels[row * on->width + column] = colour;
}

static bool draw(cd_call *call, canvas *on, const series *of) {
    uint32_t columns = on->width - 2 * MARGIN;
    double ground = on->bars && !on->logarithmic ? height_of(on, of, 0) : 0;
    uint32_t before = 0;
    for (uint32_t n = 0; n < columns; n++) {
        if (cd_cancelled()) {
            cd_log(CD_INFO, "stopped", NULL);
            return cd_refuse(call, "The call is over.");
        }
        uint32_t column = MARGIN + n;
        for (int tenth = 0; tenth <= 10; tenth += 2)
            fill(on, column, row_of(on, tenth / 10.0), row_of(on, tenth / 10.0), GRID);
        size_t index = (size_t)((uint64_t)n * of->count / columns);
        uint32_t row = row_of(on, height_of(on, of, of->values[index]));
        if (on->bars)
            fill(on, column, row_of(on, ground), row, INK);
        else
            fill(on, column, n == 0 ? row : before, row, INK);
        before = row;
        if ((n + 1) % STRIDE == 0 || n + 1 == columns)
            CD_TRY(cd_progress(call, n + 1, columns, "drawing"));
    }
    return true;
}

static bool chart(cd_call *call) {
    cd_json arguments = cd_arguments(call);
    cd_json values = cd_get(arguments, "values");
    if (cd_length(values) >= TASK_VALUES)
        CD_TRY(begin(call));
    series series;
    CD_TRY(read_series(call, values, &series));
    canvas canvas = {
        .width = (uint32_t)cd_number(cd_get(arguments, "width"), 640),
        .height = (uint32_t)cd_number(cd_get(arguments, "height"), 240),
        .bars = strcmp(cd_string(cd_get(arguments, "kind"), "line"), "bars") == 0,
    };
    CD_TRY(choose_scale(call, &series, &canvas.logarithmic));
    canvas.pixels = calloc(canvas.width, canvas.height);
    if (canvas.pixels == NULL)
        return cd_refuse(call, "there is no room for the picture");
    CD_TRY(draw(call, &canvas, &series));

    png_picture picture = {canvas.width, canvas.height, canvas.pixels, palette, COLOURS};
    size_t length;
    uint8_t *png = png_of(&picture, &length);
    cd_image(call, png, length, "image/png");
    return cd_textf(call, "%zu values from %g to %g, on a %s scale", series.count, series.least, series.most,
                    canvas.logarithmic ? "logarithmic" : "linear");
}

const cd_tool cd_tools[] = {
    {
        .name = "draw-chart",
        .title = "Draw a chart",
        .description = "Draws numbers as a PNG, as a line or as bars.",
        .task = CD_TASK_OPTIONAL,
        .read_only = CD_YES,
        .open_world = CD_NO,
        .input = "{\"type\":\"object\",\"additionalProperties\":false,\"required\":[\"values\"],\"properties\":{"
                 "\"values\":{\"type\":\"array\",\"items\":{\"type\":\"number\"},\"minItems\":1,\"maxItems\":100000},"
                 "\"kind\":{\"type\":\"string\",\"enum\":[\"line\",\"bars\"],\"default\":\"line\"},"
                 "\"scale\":{\"type\":\"string\",\"enum\":[\"linear\",\"logarithmic\"],"
                 "\"description\":\"If it is left out, the user is asked where it matters\"},"
                 "\"width\":{\"type\":\"integer\",\"minimum\":64,\"maximum\":2048,\"default\":640},"
                 "\"height\":{\"type\":\"integer\",\"minimum\":64,\"maximum\":1024,\"default\":240}}}",
        .run = chart,
    },
    {0},
};
