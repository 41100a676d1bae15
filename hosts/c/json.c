#include "json.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void put(struct text *to, const char *bytes, size_t size) {
    if (to->room - to->size <= size) {
        to->room = 2 * (to->size + size) + 64;
        to->bytes = realloc(to->bytes, to->room);
        if (to->bytes == NULL) {
            perror("realloc");
            exit(1);
        }
    }
    if (size > 0) memcpy(to->bytes + to->size, bytes, size);
    to->size += size;
    to->bytes[to->size] = '\0'; /* so that a text can be read as a line */
}

void put_format(struct text *to, const char *format, ...) {
    va_list values, again;
    va_start(values, format);
    va_copy(again, values);
    int size = vsnprintf(NULL, 0, format, values);
    char *bytes = malloc((size_t)size + 1);
    if (bytes == NULL) exit(1);
    vsnprintf(bytes, (size_t)size + 1, format, again);
    put(to, bytes, (size_t)size);
    free(bytes);
    va_end(again);
    va_end(values);
}

void put_string(struct text *to, const char *bytes, size_t size) {
    put(to, "\"", 1);
    for (size_t i = 0; i < size; i++) {
        unsigned char byte = (unsigned char)bytes[i];
        if (byte < 0x20)
            put_format(to, "\\u%04x", byte);
        else if (byte == '"' || byte == '\\')
            put_format(to, "\\%c", byte);
        else
            put(to, bytes + i, 1);
    }
    put(to, "\"", 1);
}

static json past_space(json at) { return at + strspn(at, " \t\r\n"); }

json json_end(json at) {
    if (*at == '"') {
        for (at++; *at != '\0' && *at != '"'; at++)
            if (*at == '\\' && at[1] != '\0') at++;
        return *at == '"' ? at + 1 : at;
    }
    if (*at != '{' && *at != '[') return at + strcspn(at, ",:]} \t\r\n");
    int depth = 0;
    do {
        if (*at == '"') {
            at = json_end(at);
        } else {
            depth += (*at == '{' || *at == '[') - (*at == '}' || *at == ']');
            at++;
        }
    } while (*at != '\0' && depth > 0);
    return at;
}

json json_first(json value) {
    if (value == NULL || (*value != '{' && *value != '[')) return NULL;
    json at = past_space(value + 1);
    return *at == '\0' || *at == ']' || *at == '}' ? NULL : at;
}

json json_next(json value) {
    json at = past_space(json_end(value));
    return *at == ',' ? past_space(at + 1) : NULL;
}

json json_value(json key) {
    json at = past_space(json_end(key));
    return *at == ':' ? past_space(at + 1) : at;
}

json json_at(json object, const char *name) {
    if (object == NULL || *object != '{') return NULL;
    for (json key = json_first(object); key != NULL; key = json_next(json_value(key)))
        if (json_is(key, name)) return json_value(key);
    return NULL;
}

long json_number(json value) { return value == NULL ? 0 : strtol(value, NULL, 10); }

bool json_is(json string, const char *word) {
    size_t size = strlen(word); /* words that a host looks for have no escapes */
    return string != NULL && *string == '"' && strncmp(string + 1, word, size) == 0 && string[size + 1] == '"';
}

/* The code unit of \uXXXX, or 0xFFFD if it is not one. */
static uint32_t code_unit(json at) {
    uint32_t unit = 0;
    for (int i = 2; i < 6; i++) {
        const char *digits = "0123456789abcdefABCDEF", *digit = strchr(digits, at[i]);
        if (at[i] == '\0' || digit == NULL) return 0xFFFD;
        unit = unit * 16 + (uint32_t)(digit - digits - (digit - digits > 15 ? 6 : 0));
    }
    return unit;
}

static void put_code_point(struct text *to, uint32_t point) {
    if (point < 0x80)
        put_format(to, "%c", (int)point);
    else if (point < 0x800)
        put_format(to, "%c%c", (int)(0xC0 | point >> 6), (int)(0x80 | (point & 63)));
    else if (point < 0x10000)
        put_format(to, "%c%c%c", (int)(0xE0 | point >> 12), (int)(0x80 | (point >> 6 & 63)), (int)(0x80 | (point & 63)));
    else
        put_format(to, "%c%c%c%c", (int)(0xF0 | point >> 18), (int)(0x80 | (point >> 12 & 63)),
                   (int)(0x80 | (point >> 6 & 63)), (int)(0x80 | (point & 63)));
}

void json_text(json string, struct text *to) {
    put(to, "", 0);
    if (string == NULL || *string != '"') return;
    json end = json_end(string) - 1;
    for (json at = string + 1; at < end; at++) {
        if (*at != '\\') {
            put(to, at, 1);
            continue;
        }
        if (at[1] == 'u') {
            uint32_t point = code_unit(at);
            at += 5;
            if (point >> 10 == 0x36 && at[1] == '\\' && at[2] == 'u' && code_unit(at + 1) >> 10 == 0x37) {
                point = 0x10000 + ((point & 0x3FF) << 10) + (code_unit(at + 1) & 0x3FF);
                at += 6;
            }
            put_code_point(to, point >> 11 == 0x1B ? 0xFFFD : point); /* half of a pair is no character */
        } else {
            const char *escapes = "\"\\/bfnrt", *found = strchr(escapes, *++at);
            put(to, found == NULL ? at : "\"\\/\b\f\n\r\t" + (found - escapes), 1);
        }
    }
}
