/* JSON without a tree: values are found in the text, and written into a text that grows. */
#ifndef JSON_H
#define JSON_H

#include <stdbool.h>
#include <stddef.h>

/* Bytes with their number, since a JSON string may contain U+0000. Begins as {0}; end it with free(text.bytes). */
struct text {
    char *bytes;
    size_t size, room;
};

void put(struct text *to, const char *bytes, size_t size);
__attribute__((format(printf, 2, 3))) void put_format(struct text *to, const char *format, ...);
/* The bytes as a JSON string, with quotes. */
void put_string(struct text *to, const char *bytes, size_t size);

/* Points at the first character of a value, in a line that ends with a zero byte. The functions accept NULL, so
   that what is missing at any place of a path is missing. They never read beyond the end of the line. */
typedef const char *json;

json json_at(json object, const char *key); /* NULL if it is missing */
json json_first(json list_or_object);       /* the first value, or key; NULL if there is none */
json json_next(json value);                 /* what follows it: a value or a key; NULL if it is the last */
json json_value(json key);                  /* the value of a key */
json json_end(json value);                  /* just behind the value */
long json_number(json value);
bool json_is(json string, const char *word);
void json_text(json string, struct text *to); /* appends the characters of a string, in UTF-8 */

#endif
