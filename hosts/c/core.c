#define _GNU_SOURCE
#include "core.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

void core_start(struct core *core) {
    int down[2], up[2];
    const char *given = getenv("TOOLREEL_CORE"), *python = given ? given : "python3";
    if (pipe2(down, O_CLOEXEC) != 0 || pipe2(up, O_CLOEXEC) != 0 || (core->process = fork()) < 0) {
        perror("cannot start the core");
        exit(1);
    }
    if (core->process == 0) {
        dup2(down[0], STDIN_FILENO);
        dup2(up[1], STDOUT_FILENO);
        execlp(python, python, "-m", "toolreel_core", (char *)NULL);
        perror("cannot start the core");
        _exit(127);
    }
    close(down[0]);
    close(up[1]);
    core->to = fdopen(down[1], "w");
    core->from = fdopen(up[0], "r");
    core->line = NULL;
    core->room = 0;
}

json core_ask(struct core *core, const char *line) {
    fprintf(core->to, "%s\n", line);
    if (fflush(core->to) != 0 || getline(&core->line, &core->room, core->from) < 0) {
        fputs("the core has ended\n", stderr);
        exit(1);
    }
    core->line[strcspn(core->line, "\n")] = '\0';
    return core->line;
}

void core_end(struct core *core) {
    fclose(core->to);
    fclose(core->from);
    waitpid(core->process, NULL, 0);
    free(core->line);
}

void put_response(struct text *to, long ref, int status, const struct text *headers, const struct text *body) {
    put_format(to, "{\"type\":\"http_response\",\"ref\":%ld,\"status\":%d,\"headers\":%s,\"body\":", ref, status,
               headers->bytes);
    put_string(to, body->bytes, body->size);
    put(to, "}", 1);
}

void put_request_failed(struct text *to, long ref, const char *failure, const char *message) {
    put_format(to, "{\"type\":\"request_failed\",\"ref\":%ld,\"failure\":\"%s\",\"message\":", ref, failure);
    put_string(to, message, strlen(message));
    put(to, "}", 1);
}

void put_tool_returned(struct text *to, long ref, const struct text *output) {
    put_format(to, "{\"type\":\"tool_returned\",\"ref\":%ld,\"output\":", ref);
    put_string(to, output->bytes, output->size);
    put(to, "}", 1);
}

void put_approval(struct text *to, long ref, bool approved, const char *reason) {
    put_format(to, "{\"type\":\"approval_given\",\"ref\":%ld,\"approved\":%s,\"reason\":", ref,
               approved ? "true" : "false");
    put_string(to, reason, strlen(reason));
    put(to, "}", 1);
}

void put_wait_elapsed(struct text *to, long ref) { put_format(to, "{\"type\":\"wait_elapsed\",\"ref\":%ld}", ref); }
