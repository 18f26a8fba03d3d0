/* JSON: read where it lies, which is simple because the host has checked that it is JSON; and
 * written to a buffer. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inside.h"

static const char *skip_space(const char *at, const char *end) {
    while (at < end && (*at == ' ' || *at == '\t' || *at == '\n' || *at == '\r'))
        at++;
    return at;
}

/* Where the string that begins here ends, behind its quote. */
static const char *skip_string(const char *at, const char *end) {
    for (at++; at < end && *at != '"'; at++)
        if (*at == '\\')
            at++;
    return at < end ? at + 1 : end;
}

/* Where the value that begins here ends. */
static const char *skip_value(const char *at, const char *end) {
    size_t depth = 0;
    while (at < end) {
        switch (*at) {
        case '"':
            at = skip_string(at, end);
            break;
        case '[':
        case '{':
            depth++;
            at++;
            break;
        case ']':
        case '}':
            if (depth == 0)
                return at;
            depth--;
            at++;
            break;
        case ',':
        case ':':
        case ' ':
        case '\t':
        case '\n':
        case '\r':
            if (depth == 0)
                return at;
            at++;
            continue;
        default:
            at++;
            continue;
        }
        if (depth == 0)
            return at;
    }
    return end;
}

cd_json cd_json_of(const char *text) {
    const char *end = text + strlen(text);
    return (cd_json){skip_space(text, end), end};
}

bool cd_is_there(cd_json value) {
    return value.at != NULL && value.at < value.end;
}

static bool is(cd_json value, char first) {
    return cd_is_there(value) && *value.at == first;
}

/* What comes at this place, unless the object or array ends there. */
static cd_json value_at(const char *at, const char *end) {
    at = skip_space(at, end);
    if (at < end && *at == ',')
        at = skip_space(at + 1, end);
    if (at >= end || *at == ']' || *at == '}')
        return (cd_json){0};
    return (cd_json){at, end};
}

cd_json cd_first(cd_json array) {
    return is(array, '[') ? value_at(array.at + 1, array.end) : (cd_json){0};
}

cd_json cd_next(cd_json item) {
    return cd_is_there(item) ? value_at(skip_value(item.at, item.end), item.end) : (cd_json){0};
}

size_t cd_length(cd_json array) {
    size_t length = 0;
    for (cd_json item = cd_first(array); cd_is_there(item); item = cd_next(item))
        length++;
    return length;
}

cd_json cd_get(cd_json object, const char *name) {
    if (!is(object, '{'))
        return (cd_json){0};
    cd_json member = value_at(object.at + 1, object.end);
    while (cd_is_there(member)) {
        const char *behind = skip_space(skip_string(member.at, member.end), member.end);
        cd_json value = {skip_space(behind + 1, member.end), member.end};
        if (strcmp(cd_string(member, ""), name) == 0)
            return value;
        member = cd_next(value);
    }
    return (cd_json){0};
}

double cd_number(cd_json value, double otherwise) {
    if (!cd_is_there(value) || !(*value.at == '-' || (*value.at >= '0' && *value.at <= '9')))
        return otherwise;
    return strtod(value.at, NULL);
}

bool cd_bool(cd_json value, bool otherwise) {
    return is(value, 't') || (!is(value, 'f') && otherwise);
}

static unsigned four_digits(const char *at) {
    char digits[5] = {at[0], at[1], at[2], at[3], 0};
    return (unsigned)strtoul(digits, NULL, 16);
}

/* Writes a character in UTF-8, and returns where the next one goes. */
static char *put_character(char *to, unsigned character) {
    if (character < 0x80) {
        *to++ = (char)character;
    } else if (character < 0x800) {
        *to++ = (char)(0xc0 | character >> 6);
        *to++ = (char)(0x80 | (character & 0x3f));
    } else if (character < 0x10000) {
        *to++ = (char)(0xe0 | character >> 12);
        *to++ = (char)(0x80 | (character >> 6 & 0x3f));
        *to++ = (char)(0x80 | (character & 0x3f));
    } else {
        *to++ = (char)(0xf0 | character >> 18);
        *to++ = (char)(0x80 | (character >> 12 & 0x3f));
        *to++ = (char)(0x80 | (character >> 6 & 0x3f));
        *to++ = (char)(0x80 | (character & 0x3f));
    }
    return to;
}

const char *cd_string(cd_json value, const char *otherwise) {
    if (!is(value, '"'))
        return otherwise;
    const char *end = skip_string(value.at, value.end) - 1;
    /* No escape is shorter than what it stands for. */
    char *text = cd_take((size_t)(end - value.at) + 1), *to = text;
    for (const char *at = value.at + 1; at < end; at++) {
        if (*at != '\\') {
            *to++ = *at;
            continue;
        }
        static const char escapes[] = "bfnrt", meant[] = "\b\f\n\r\t";
        const char *escape = strchr(escapes, *++at);
        if (*at != 'u') {
            *to++ = escape != NULL && *at != 0 ? meant[escape - escapes] : *at;
            continue;
        }
        unsigned character = four_digits(at + 1);
        at += 4;
        if (character >= 0xd800 && character < 0xdc00 && end - at > 6 && at[1] == '\\' && at[2] == 'u') {
            character = 0x10000 + ((character - 0xd800) << 10) + (four_digits(at + 3) - 0xdc00);
            at += 6;
        }
        to = put_character(to, character);
    }
    *to = 0;
    return text;
}

static void reserve(cd_buffer *buffer, size_t more) {
    if (buffer->length + more < buffer->room)
        return;
    buffer->room = 2 * (buffer->length + more) + 64;
    buffer->text = realloc(buffer->text, buffer->room);
    if (buffer->text == NULL)
        abort();
}

void cd_put_list(cd_buffer *buffer, const char *format, va_list arguments) {
    va_list again;
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, again);
    va_end(again);
    if (length < 0)
        abort();
    reserve(buffer, (size_t)length);
    vsnprintf(buffer->text + buffer->length, (size_t)length + 1, format, arguments);
    buffer->length += (size_t)length;
}

void cd_put(cd_buffer *buffer, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    cd_put_list(buffer, format, arguments);
    va_end(arguments);
}

void cd_put_string(cd_buffer *buffer, const char *text) {
    cd_put(buffer, "\"");
    for (; *text != 0; text++) {
        if (*text == '"' || *text == '\\')
            cd_put(buffer, "\\%c", *text);
        else if ((unsigned char)*text < 0x20)
            cd_put(buffer, "\\u%04x", *text);
        else
            cd_put(buffer, "%c", *text);
    }
    cd_put(buffer, "\"");
}
