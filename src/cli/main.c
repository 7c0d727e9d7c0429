/* Entry: picks the command. */
#include "cli/command.h"

#include <roofline/version.h>
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

int main(int argc, char **argv)
{
    if (argc < 2) {
        print_usage(stderr);
        return RL_EXIT_USAGE;
    }
    const char *word = argv[1];
    if (strcmp(word, "--version") == 0) {
        puts("roofline " ROOFLINE_VERSION);
        return RL_EXIT_DONE;
    }
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 ||
        (strcmp(word, "help") == 0 && argc == 2)) {
        print_usage(stdout);
        return RL_EXIT_DONE;
    }
    char help[] = "--help";
    char *help_argv[] = {argv[2], help, NULL};
    bool is_help = strcmp(word, "help") == 0;
    const struct rl_command *command = rl_command_find(is_help ? argv[2] : word);
    if (!command) {
        fprintf(stderr, "roofline: '%s' is no command; 'roofline --help' lists them\n",
                is_help ? argv[2] : word);
        return RL_EXIT_USAGE;
    }
    int code =
        is_help ? command->run(command, 2, help_argv) : command->run(command, argc - 1, argv + 1);
    if (fflush(stdout) != 0 || ferror(stdout)) {
        fprintf(stderr, "roofline: standard output: cannot write\n");
        return code == RL_EXIT_DONE ? RL_EXIT_FAILED : code;
    }
    return code;
}
