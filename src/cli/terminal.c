/* What only a program may hold: its streams, its environment, its signals. */
#include "cli/command.h"

#include "render/text.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static bool is_quiet;
static volatile sig_atomic_t interrupted;
static volatile sig_atomic_t nothing_to_save;

void rl_set_quiet(bool quiet)
{
    is_quiet = quiet;
}

bool rl_is_quiet(void)
{
    return is_quiet;
}

/* Whoever is about to say what failed still needs errno. */
static unsigned columns_of(FILE *out)
{
    struct winsize size;
    int error = errno;
    bool is_terminal = ioctl(fileno(out), TIOCGWINSZ, &size) == 0 && size.ws_col;
    errno = error;
    return is_terminal ? size.ws_col : 0;
}

unsigned rl_error_columns(void)
{
    return columns_of(stderr);
}

void rl_put_wrapped(FILE *out, const char *head, unsigned indent, const char *text)
{
    unsigned columns = columns_of(out);
    size_t size = strlen(text) * 3 + 1; /* a bad byte becomes three */
    char *clean = columns ? malloc(size) : NULL;
    unsigned used = rl_text_columns(head);
    if (!clean) {
        fprintf(out, "%s%s\n", head, text);
        return;
    }
    rl_text_clean(clean, size, text, true);
    fputs(head, out);
    bool is_first = true;
    for (char *save = NULL, *word = strtok_r(clean, " ", &save); word;
         word = strtok_r(NULL, " ", &save)) {
        unsigned width = rl_text_columns(word);
        bool fits = is_first || used + 1 + width <= columns;
        if (!fits)
            fprintf(out, "\n%*s", (int)indent, "");
        fprintf(out, "%s%s", fits && !is_first ? " " : "", word);
        used = (fits ? used + !is_first : indent) + width;
        is_first = false;
    }
    fputc('\n', out);
    free(clean);
}

static void tell(const char *head, const char *fmt, va_list args)
    __attribute__((format(printf, 2, 0)));

static void tell(const char *head, const char *fmt, va_list args)
{
    char *text = NULL;
    if (vasprintf(&text, fmt, args) < 0)
        return;
    rl_put_wrapped(stderr, head, 4, text);
    free(text);
}

int rl_report_error(const struct rl_error *err)
{
    static const int exit_of[] = {
        [-RL_EINVAL] = RL_EXIT_USAGE,        [-RL_EDATA] = RL_EXIT_FAILED,
        [-RL_ENODATA] = RL_EXIT_FAILED,      [-RL_EUNAVAIL] = RL_EXIT_UNAVAILABLE,
        [-RL_ESYS] = RL_EXIT_FAILED,         [-RL_ENOMEM] = RL_EXIT_FAILED,
        [-RL_ECANCEL] = RL_EXIT_INTERRUPTED,
    };
    rl_put_wrapped(stderr, "roofline: ", 4, err->text[0] ? err->text : "no memory");
    return exit_of[-err->status];
}

void rl_warn(const char *fmt, ...)
{
    if (is_quiet)
        return;
    va_list args;
    va_start(args, fmt);
    tell("roofline: warning: ", fmt, args);
    va_end(args);
}

void rl_say(const char *fmt, ...)
{
    if (is_quiet)
        return;
    va_list args;
    va_start(args, fmt);
    tell("", fmt, args);
    va_end(args);
}

bool rl_use_colour(int fd)
{
    const char *no_color = getenv("NO_COLOR");
    const char *term = getenv("TERM");
    return isatty(fd) && !(no_color && *no_color) && term && strcmp(term, "dumb") != 0;
}

static unsigned from_environment(const char *name, unsigned fallback)
{
    const char *text = getenv(name);
    long value = text ? strtol(text, NULL, 10) : 0;
    return value > 0 && value < 10000 ? (unsigned)value : fallback;
}

void rl_terminal_size(unsigned *ret_columns, unsigned *ret_rows)
{
    struct winsize size;
    *ret_columns = from_environment("COLUMNS", 80);
    *ret_rows = from_environment("LINES", 24);
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col && size.ws_row) {
        *ret_columns = size.ws_col;
        *ret_rows = size.ws_row;
    }
}

unsigned rl_table_columns(void)
{
    unsigned columns;
    unsigned rows;
    rl_terminal_size(&columns, &rows);
    return isatty(STDOUT_FILENO) ? columns : 0;
}

static void on_interrupt(int signo)
{
    const unsigned grace_s = 1;
    bool is_first = !interrupted;
    interrupted = signo;
    if (nothing_to_save && is_first)
        alarm(grace_s);
}

/* Nobody has looked at the flag: one call of a kernel may take minutes. */
static void on_grace_over(int signo)
{
    static const char text[] = "roofline: interrupted; nothing was written\n";
    (void)signo;
    if (!nothing_to_save)
        return;
    (void)!write(STDERR_FILENO, text, sizeof text - 1);
    _exit(RL_EXIT_INTERRUPTED);
}

void rl_end_when_interrupted(bool yes)
{
    struct sigaction action = {.sa_handler = on_grace_over};
    sigemptyset(&action.sa_mask);
    if (yes)
        sigaction(SIGALRM, &action, NULL);
    nothing_to_save = yes;
    if (!yes)
        alarm(0);
}

void rl_catch_interrupts(void)
{
    static const int asks_to_end[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction action = {.sa_handler = on_interrupt};
    struct sigaction before;
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof asks_to_end / sizeof *asks_to_end; i++)
        if (sigaction(asks_to_end[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
            sigaction(asks_to_end[i], &action, NULL);
}

bool rl_interrupted(void *unused)
{
    (void)unused;
    return interrupted != 0;
}
