/* The core in a process of its own: a line to it, a line from it. */
#ifndef CORE_H
#define CORE_H

#include <stdio.h>
#include <sys/types.h>

#include "json.h"

struct core {
    FILE *to, *from;
    pid_t process;
    char *line;
    size_t room;
};

/* Starts `python3 -m toolreel_core`, or what TOOLREEL_CORE names instead of python3. */
void core_start(struct core *core);
/* The answer to a line (without a line end); it is valid until the next one. */
json core_ask(struct core *core, const char *line);
void core_end(struct core *core);

/* Events. Each is written by the host and by the conformance kit in the same way. */
void put_response(struct text *to, long ref, int status, const struct text *headers, const struct text *body);
void put_request_failed(struct text *to, long ref, const char *failure, const char *message);
void put_tool_returned(struct text *to, long ref, const struct text *output);
void put_approval(struct text *to, long ref, bool approved, const char *reason);
void put_wait_elapsed(struct text *to, long ref);

/* Sends a request over HTTP/1.1, and writes the event that answers it. */
void send_request(json effect, const char *base_url, const char *key, struct text *event);

#endif
