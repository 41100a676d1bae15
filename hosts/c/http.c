/* HTTP/1.1 over a socket, for a server on this machine or in this network; use libcurl where you need TLS. */
#define _GNU_SOURCE
#include <errno.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "core.h"

enum { LIMIT = 64 * 1024 * 1024, TIMEOUT_S = 600 };

static int connected(const char *host, const char *port) {
    struct addrinfo wanted = {.ai_socktype = SOCK_STREAM}, *found = NULL;
    if (getaddrinfo(host, port, &wanted, &found) != 0) return -1;
    int connection = -1;
    for (struct addrinfo *each = found; each != NULL && connection < 0; each = each->ai_next) {
        connection = socket(each->ai_family, each->ai_socktype | SOCK_CLOEXEC, each->ai_protocol);
        if (connection >= 0 && connect(connection, each->ai_addr, each->ai_addrlen) != 0) {
            close(connection);
            connection = -1;
        }
    }
    freeaddrinfo(found);
    struct timeval timeout = {.tv_sec = TIMEOUT_S};
    if (connection >= 0) setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
    return connection;
}

/* A server may say the key back; it must not get into a journal. */
static void mask(char *bytes, size_t size, const char *key) {
    size_t length = key == NULL ? 0 : strlen(key);
    for (char *found = bytes; length > 0 && (found = memmem(found, size - (size_t)(found - bytes), key, length));)
        memset(found, 'X', length);
}

/* Appends the body of a chunked response; false if it is not complete. */
static bool unchunked(const char *at, const char *end, struct text *body) {
    for (;;) {
        char *line_end;
        size_t size = strtoul(at, &line_end, 16);
        const char *data = memmem(line_end, (size_t)(end - line_end), "\r\n", 2);
        if (line_end == at || data == NULL) return false;
        if (size == 0) return true;
        data += 2;
        if ((size_t)(end - data) < size || (size_t)(end - data) - size < 2) return false;
        put(body, data, size);
        at = data + size + 2;
    }
}

/* What stands behind a name and its colon, in the head of a response; NULL if it is not there. */
static const char *header(const struct text *got, const char *head_end, const char *name) {
    const char *found = strcasestr(got->bytes, name);
    return found != NULL && found < head_end ? found + strlen(name) + strspn(found + strlen(name), " ") : NULL;
}

/* Whether `got` is a complete response, as far as it says how long it is; its body, if so. */
static bool complete(const struct text *got, bool closed, struct text *body) {
    const char *head_end = got->size > 0 ? memmem(got->bytes, got->size, "\r\n\r\n", 4) : NULL;
    if (head_end == NULL || strncmp(got->bytes, "HTTP/1.", 7) != 0) return false;
    const char *content = head_end + 4, *end = got->bytes + got->size;
    const char *coding = header(got, head_end, "\r\ntransfer-encoding:");
    if (coding != NULL && strncasecmp(coding, "chunked", 7) == 0) {
        body->size = 0;
        bool is_last = end - content >= 5 && memcmp(end - 5, "0\r\n\r\n", 5) == 0;
        return (is_last || closed) && unchunked(content, end, body);
    }
    const char *length = header(got, head_end, "\r\ncontent-length:");
    size_t size = length != NULL ? strtoul(length, NULL, 10) : (size_t)(end - content);
    if ((size_t)(end - content) < size || (length == NULL && !closed)) return false;
    put(body, content, size);
    return true;
}

/* The event of a complete response. */
static void put_complete(const struct text *got, long ref, const char *key, struct text *body, struct text *event) {
    const char *head_end = memmem(got->bytes, got->size, "\r\n\r\n", 4);
    struct text headers = {0};
    int status = 0;
    sscanf(got->bytes, "HTTP/1.%*d %d", &status);
    mask(got->bytes, (size_t)(head_end - got->bytes), key);
    put(body, "", 0);
    mask(body->bytes, body->size, key);
    /* What the core reads of the headers. To pass on all, write each name once: keys of JSON are unique. */
    const char *names[] = {"retry-after", "retry-after-ms", "date", "x-should-retry"};
    put(&headers, "{", 1);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char wanted[32];
        snprintf(wanted, sizeof wanted, "\r\n%s:", names[i]);
        const char *value = header(got, head_end, wanted);
        if (value == NULL) continue;
        put_format(&headers, "%s\"%s\":", headers.size > 1 ? "," : "", names[i]);
        put_string(&headers, value, strcspn(value, "\r"));
    }
    put(&headers, "}", 1);
    put_response(event, ref, status, &headers, body);
    free(headers.bytes);
}

void send_request(json effect, const char *base_url, const char *key, struct text *event) {
    json wanted = json_at(effect, "request");
    long ref = json_number(json_at(effect, "ref"));
    char host[256], port[6] = "80", prefix[256] = "";
    if (sscanf(base_url, "http://%255[^:/]:%5[0-9]%255s", host, port, prefix) < 2 &&
        sscanf(base_url, "http://%255[^:/]%255s", host, prefix) < 1) {
        fprintf(stderr, "%s: expected http://HOST:PORT/PATH\n", base_url);
        exit(2);
    }
    struct text head = {0}, body = {0}, got = {0};
    json_text(json_at(wanted, "body"), &body);
    json_text(json_at(wanted, "method"), &head);
    put_format(&head, " %s", prefix);
    json_text(json_at(wanted, "path"), &head);
    put_format(&head, " HTTP/1.1\r\nhost: %s:%s\r\nconnection: close\r\ncontent-length: %zu\r\n", host, port, body.size);
    for (json name = json_first(json_at(wanted, "headers")); name != NULL; name = json_next(json_value(name))) {
        json_text(name, &head);
        put(&head, ": ", 2);
        json_text(json_value(name), &head);
        put(&head, "\r\n", 2);
    }
    if (key != NULL) {
        bool bearer = json_is(json_at(wanted, "key_header"), "authorization");
        put_format(&head, bearer ? "authorization: Bearer %s\r\n" : "x-api-key: %s\r\n", key);
    }
    put(&head, "\r\n", 2);
    put(&head, body.bytes, body.size);

    int connection = connected(host, port);
    bool done = false;
    ssize_t size = connection < 0 ? -1 : 1;
    for (size_t sent = 0; size > 0 && sent < head.size; sent += (size_t)size)
        if ((size = send(connection, head.bytes + sent, head.size - sent, MSG_NOSIGNAL)) < 0) break;
    char piece[16384];
    body.size = 0;
    while (size > 0 && !done && got.size <= LIMIT) {
        if ((size = recv(connection, piece, sizeof piece, 0)) > 0) put(&got, piece, (size_t)size);
        done = complete(&got, size == 0, &body);
    }
    if (connection < 0)
        put_request_failed(event, ref, "connect", strerror(errno));
    else if (done)
        put_complete(&got, ref, key, &body, event);
    else if (got.size > LIMIT)
        put_request_failed(event, ref, "too_large", "more than 64 MiB");
    else if (size < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
        put_request_failed(event, ref, "timeout", "no answer in time");
    else
        put_request_failed(event, ref, "broken", "the response is incomplete, or not HTTP");
    if (connection >= 0) close(connection);
    free(head.bytes);
    free(body.bytes);
    free(got.bytes);
}
