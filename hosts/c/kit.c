/* Plays conversations of the conformance kit with this host's reader and writer: kit FILE...; a report in TAP. */
#define _GNU_SOURCE
#include <math.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core.h"

static uint32_t rotated(uint32_t word, int bits) { return word >> bits | word << (32 - bits); }

/* The SHA-256 of a text in hexadecimal digits (FIPS 180-4); the text gets its padding. */
static void sha256(struct text *text, char digest[65]) {
    /* The first 32 bits of the fractions of the cube roots of the first 64 primes, and of their square roots. */
    uint32_t constants[64], state[8];
    for (int prime = 2, n = 0; n < 64; prime++) {
        bool is_prime = true;
        for (int divisor = 2; divisor * divisor <= prime; divisor++) is_prime &= prime % divisor != 0;
        if (!is_prime) continue;
        long double cube = cbrtl(prime), square = sqrtl(prime);
        if (n < 8) state[n] = (uint32_t)((square - floorl(square)) * 4294967296.0L);
        constants[n++] = (uint32_t)((cube - floorl(cube)) * 4294967296.0L);
    }
    uint64_t bits = (uint64_t)text->size * 8;
    put(text, "\x80", 1);
    while (text->size % 64 != 56) put(text, "", 1);
    for (int shift = 56; shift >= 0; shift -= 8) put(text, (char[]){(char)(bits >> shift)}, 1);
    for (size_t at = 0; at < text->size; at += 64) {
        uint32_t w[64], v[8];
        for (int i = 0; i < 16; i++) {
            const unsigned char *four = (const unsigned char *)text->bytes + at + 4 * i;
            w[i] = (uint32_t)four[0] << 24 | (uint32_t)four[1] << 16 | (uint32_t)four[2] << 8 | four[3];
        }
        for (int i = 16; i < 64; i++)
            w[i] = w[i - 16] + w[i - 7] + (rotated(w[i - 15], 7) ^ rotated(w[i - 15], 18) ^ w[i - 15] >> 3) +
                   (rotated(w[i - 2], 17) ^ rotated(w[i - 2], 19) ^ w[i - 2] >> 10);
        memcpy(v, state, sizeof v);
        for (int i = 0; i < 64; i++) {
            uint32_t one = v[7] + (rotated(v[4], 6) ^ rotated(v[4], 11) ^ rotated(v[4], 25)) +
                           ((v[4] & v[5]) ^ (~v[4] & v[6])) + constants[i] + w[i];
            uint32_t two = (rotated(v[0], 2) ^ rotated(v[0], 13) ^ rotated(v[0], 22)) +
                           ((v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]));
            memmove(v + 1, v, 7 * sizeof *v);
            v[4] += one;
            v[0] = one + two;
        }
        for (int i = 0; i < 8; i++) state[i] += v[i];
    }
    for (int i = 0; i < 8; i++) sprintf(digest + 8 * i, "%08x", state[i]);
}

/* Whether two values are the same JSON, whatever the order of keys. */
static bool json_equal(json one, json other) {
    if (one == NULL || other == NULL || *one != *other) return one == other;
    if (*one == '{') {
        size_t left = 0;
        for (json key = json_first(other); key != NULL; key = json_next(json_value(key))) left++;
        for (json key = json_first(one); key != NULL; key = json_next(json_value(key)), left--) {
            json match = json_first(other);
            while (match != NULL && !json_equal(key, match)) match = json_next(json_value(match));
            if (match == NULL || !json_equal(json_value(key), json_value(match))) return false;
        }
        return left == 0;
    }
    if (*one == '[') {
        for (one = json_first(one), other = json_first(other); one != NULL && other != NULL;
             one = json_next(one), other = json_next(other))
            if (!json_equal(one, other)) return false;
        return one == other;
    }
    struct text a = {0}, b = {0};
    if (*one == '"') {
        json_text(one, &a);
        json_text(other, &b);
    } else {
        put(&a, one, (size_t)(json_end(one) - one));
        put(&b, other, (size_t)(json_end(other) - other));
    }
    bool equal = a.size == b.size && memcmp(a.bytes, b.bytes, a.size) == 0;
    free(a.bytes);
    free(b.bytes);
    return equal;
}

/* Reads an event of the kit, and writes it as this host does; false if this host never writes such an event. */
static bool rewritten(json event, struct text *to) {
    json type = json_at(event, "type");
    long ref = json_number(json_at(event, "ref"));
    struct text one = {0}, other = {0};
    bool known = true;
    if (json_at(event, "at_ms") != NULL || json_at(event, "parts") != NULL) {
        known = false;
    } else if (json_is(type, "http_response")) {
        json headers = json_at(event, "headers");
        put(&one, headers ? headers : "{}", headers ? (size_t)(json_end(headers) - headers) : 2);
        json_text(json_at(event, "body"), &other);
        put_response(to, ref, (int)json_number(json_at(event, "status")), &one, &other);
    } else if (json_is(type, "request_failed")) {
        json_text(json_at(event, "failure"), &one);
        json_text(json_at(event, "message"), &other);
        put_request_failed(to, ref, one.bytes, other.bytes);
    } else if (json_is(type, "tool_returned")) {
        json_text(json_at(event, "output"), &one);
        put_tool_returned(to, ref, &one);
    } else if (json_is(type, "approval_given")) {
        json_text(json_at(event, "reason"), &one);
        put_approval(to, ref, *json_at(event, "approved") == 't', one.bytes);
    } else if (json_is(type, "wait_elapsed")) {
        put_wait_elapsed(to, ref);
    } else {
        known = false;
    }
    free(one.bytes);
    free(other.bytes);
    return known;
}

/* The line to send for a line of the kit, with this host's own event where it has one; false if that differs. */
static bool line_for(json given, struct text *line) {
    json event = json_at(given, "event"), run = json_at(given, "run");
    struct text own = {0};
    bool equal = true;
    if (event != NULL && run != NULL && rewritten(event, &own)) {
        put_format(line, "{\"toolreel\":1,\"run\":%.*s,\"with\":[\"journal\"],\"event\":%s}", (int)(json_end(run) - run),
                   run, own.bytes);
        equal = json_equal(line->bytes, given);
    } else {
        put(line, given, strlen(given));
    }
    free(own.bytes);
    return equal;
}

/* Adds the lines of an answer to the journal of a run, whose line of the kit is `= NAME DIGEST`. */
static void gather(json answer, const char *name, size_t size, struct text *journal) {
    struct text run = {0};
    json_text(json_at(answer, "run"), &run);
    /* A conversation without names is one run. */
    if (run.size == 0 || (run.size == size && memcmp(run.bytes, name, size) == 0))
        for (json each = json_first(json_at(answer, "journal")); each != NULL; each = json_next(each)) {
            json_text(each, journal);
            put(journal, "\n", 1);
        }
    free(run.bytes);
}

/* Whether the answers so far, one a line, have the journal with the digest of a line of the kit. */
static bool has_digest(const struct text *answers, const char *given) {
    const char *digest = strrchr(given, ' ');
    struct text journal = {0};
    char computed[65];
    for (const char *at = answers->bytes; digest != NULL && *at != '\0'; at += strcspn(at, "\n") + 1)
        gather(at, given, (size_t)(digest - given), &journal);
    sha256(&journal, computed);
    free(journal.bytes);
    return digest != NULL && strcmp(digest + 1, computed) == 0;
}

/* Plays one conversation; the number of the first line that differs, 0 if none does. */
static int play(struct core *core, FILE *file) {
    char *given = NULL;
    size_t room = 0;
    struct text said = {0}, answers = {0};
    int number = 0, wrong = 0;
    while (wrong == 0 && getline(&given, &room, file) > 0) {
        number++;
        given[strcspn(given, "\n")] = '\0';
        if (strncmp(given, "> ", 2) == 0) {
            said.size = 0;
            put(&said, given + 2, strlen(given + 2));
        } else if (strncmp(given, "< ", 2) == 0) {
            struct text line = {0};
            if (json_at(given + 2, "error") != NULL) /* the line is wrong, and no host writes it */
                put(&line, said.bytes, said.size);
            else if (!line_for(said.bytes, &line))
                wrong = number - 1;
            json answer = core_ask(core, line.bytes);
            if (strcmp(given + 2, answer) != 0) {
                printf("# expected %s\n#      got %s\n", given + 2, answer);
                wrong = number;
            }
            put_format(&answers, "%s\n", answer);
            free(line.bytes);
        } else if (strncmp(given, "= ", 2) == 0 && !has_digest(&answers, given + 2)) {
            wrong = number;
        }
    }
    free(given);
    free(said.bytes);
    free(answers.bytes);
    return wrong;
}

int main(int argc, char **argv) {
    signal(SIGPIPE, SIG_IGN);
    struct core core;
    core_start(&core);
    int failed = 0;
    printf("1..%d\n", argc - 1);
    for (int i = 1; i < argc; i++) {
        FILE *file = fopen(argv[i], "r");
        if (file == NULL) {
            perror(argv[i]);
            return 2;
        }
        int wrong = play(&core, file);
        if (wrong != 0)
            printf("not ok %d - %s, line %d\n", i, argv[i], wrong);
        else
            printf("ok %d - %s\n", i, argv[i]);
        failed += wrong != 0;
        fclose(file);
    }
    core_end(&core);
    return failed != 0;
}
