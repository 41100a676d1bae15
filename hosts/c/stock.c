/* A host with one tool: stock PLAN.json BASE_URL JOURNAL. The key is in the environment variable API_KEY. */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core.h"

static void run_tool(json effect, struct text *event) {
    struct text arguments = {0}, part = {0}, output = {0};
    json_text(json_at(effect, "arguments"), &arguments);
    json_text(json_at(arguments.bytes, "part"), &part);
    bool pin = strcmp(part.bytes, "pin") == 0;
    if (pin || strcmp(part.bytes, "shim") == 0)
        put_format(&output, "{\"ok\":true,\"data\":%d}", pin ? 4 : 0);
    else
        put_format(&output, "{\"ok\":false,\"errors\":[{\"code\":\"NOT_FOUND\",\"message\":\"no such part\"}]}");
    put_tool_returned(event, json_number(json_at(effect, "ref")), &output);
    free(arguments.bytes);
    free(part.bytes);
    free(output.bytes);
}

static void ask_approval(json effect, struct text *event) {
    struct text call = {0};
    char answer[8] = "";
    json_text(json_at(effect, "name"), &call);
    put(&call, " ", 1);
    json_text(json_at(effect, "arguments"), &call);
    fprintf(stderr, "Run %s? [y/n] ", call.bytes);
    bool approved = fgets(answer, sizeof answer, stdin) != NULL && answer[0] == 'y';
    put_approval(event, json_number(json_at(effect, "ref")), approved, "");
    free(call.bytes);
}

static void wait_for(json effect, struct text *event) {
    long ms = json_number(json_at(effect, "ms"));
    struct timespec left = {ms / 1000, ms % 1000 * 1000000};
    while (nanosleep(&left, &left) != 0 && errno == EINTR) {}
    put_wait_elapsed(event, json_number(json_at(effect, "ref")));
}

static void perform(json effect, const char *base_url, struct text *event) {
    json type = json_at(effect, "type");
    if (json_is(type, "send_request"))
        send_request(effect, base_url, getenv("API_KEY"), event);
    else if (json_is(type, "run_tool"))
        run_tool(effect, event);
    else if (json_is(type, "ask_approval"))
        ask_approval(effect, event);
    else
        wait_for(effect, event);
}

/* Asks, and appends what belongs in the journal, before anything of the answer is performed. */
static json ask(struct core *core, const char *line, FILE *journal) {
    json answer = core_ask(core, line);
    for (json each = json_first(json_at(answer, "journal")); each != NULL; each = json_next(each)) {
        struct text text = {0};
        json_text(each, &text);
        fprintf(journal, "%s\n", text.bytes);
        free(text.bytes);
    }
    if (fflush(journal) != 0 || json_at(answer, "error") != NULL) {
        fprintf(stderr, "%s\n", answer);
        exit(1);
    }
    return answer;
}

int main(int argc, char **argv) {
    FILE *plan = argc == 4 ? fopen(argv[1], "r") : NULL, *journal = plan ? fopen(argv[3], "wx") : NULL;
    if (journal == NULL) {
        perror("usage: stock PLAN.json BASE_URL JOURNAL");
        return 2;
    }
    struct text line = {0};
    put_format(&line, "{\"toolreel\":1,\"run\":\"stock\",\"with\":[\"journal\"],\"start\":");
    for (int c; (c = fgetc(plan)) != EOF;) put_format(&line, "%c", c == '\n' || c == '\r' ? ' ' : c);
    put(&line, "}", 1);
    fclose(plan);

    signal(SIGPIPE, SIG_IGN); /* a core that has ended is an error of write */
    struct core core;
    core_start(&core);
    json answer = ask(&core, line.bytes, journal);
    while (*json_at(answer, "outcome") == 'n') {
        json effect = json_first(json_at(answer, "effects"));
        if (effect == NULL) { /* nothing new; others are pending */
            answer = ask(&core, "{\"toolreel\":1,\"run\":\"stock\",\"with\":[\"journal\"]}", journal);
            continue;
        }
        line.size = 0;
        put_format(&line, "{\"toolreel\":1,\"run\":\"stock\",\"with\":[\"journal\"],\"event\":");
        perform(effect, argv[2], &line);
        put(&line, "}", 1);
        answer = ask(&core, line.bytes, journal);
    }
    json outcome = json_at(answer, "outcome");
    printf("%.*s\n", (int)(json_end(outcome) - outcome), outcome);
    fclose(journal);
    free(line.bytes);
    core_end(&core);
    return 0;
}
