/* Entry: picks the command. */
#include "cli/command.h"

#include <errno.h>
#include <roofline/version.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

static void print_usage(FILE *out)
{
    fputs("usage: roofline <command> [<options>]\n\n"
          "Measures what this machine can do, places kernels under that roof, says what binds "
          "them.\n\n"
          "commands:\n",
          out);
    for (size_t i = 0; i < rl_n_commands; i++)
        if (!rl_commands[i]->hidden)
            fprintf(out, "  %-10s %s\n", rl_commands[i]->name, rl_commands[i]->summary);
    fputs("\n'roofline <command> --help' shows a command's options; 'roofline --version' the "
          "version.\n",
          out);
}

/* `roofline help COMMAND` is `roofline COMMAND --help`. */
static int run_command(const char *name, int argc, char **argv,
                       const struct rl_command **ret_command)
{
    const struct rl_command *command = *ret_command = rl_command_find(name);
    if (!command) {
        fprintf(stderr, "roofline: '%s' is no command; 'roofline --help' lists them\n", name);
        return RL_EXIT_USAGE;
    }
    return command->run(command, argc, argv);
}

/* `*ret_command` is what was run, NULL if nothing was. */
static int dispatch(int argc, char **argv, const struct rl_command **ret_command)
{
    const char *word = argc > 1 ? argv[1] : NULL;
    if (!word) {
        print_usage(stderr);
        return RL_EXIT_USAGE;
    }
    if (strcmp(word, "--version") == 0) {
        puts("roofline " ROOFLINE_VERSION);
        return RL_EXIT_DONE;
    }
    bool is_help = strcmp(word, "help") == 0;
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || (is_help && argc == 2)) {
        print_usage(stdout);
        return RL_EXIT_DONE;
    }
    char option[] = "--help";
    char *help_argv[] = {argv[argc > 2 ? 2 : 1], option, NULL};
    return is_help ? run_command(argv[2], 2, help_argv, ret_command)
                   : run_command(word, argc - 1, argv + 1, ret_command);
}

static void on_file_too_large(int number)
{
    (void)number;
}

/* A limit on file sizes (ulimit -f) makes a write fail, which is said, rather than end the tool.
 * Unlike an ignored signal a handler is not inherited by the programs that are run. */
static void survive_file_size_limit(void)
{
    struct sigaction old, handle = {.sa_handler = on_file_too_large, .sa_flags = SA_RESTART};
    if (sigaction(SIGXFSZ, NULL, &old) == 0 && old.sa_handler == SIG_DFL)
        sigaction(SIGXFSZ, &handle, NULL);
}

int main(int argc, char **argv)
{
    survive_file_size_limit();
    const struct rl_command *command = NULL;
    int code = dispatch(argc, argv, &command);
    if (fflush(stdout) != 0 || ferror(stdout)) {
        fprintf(stderr, "roofline: standard output: cannot write: %s\n", strerror(errno));
        int failed = command && command->wraps ? RL_EXIT_WRAPPER : RL_EXIT_FAILED;
        return code == RL_EXIT_DONE ? failed : code;
    }
    return code;
}
