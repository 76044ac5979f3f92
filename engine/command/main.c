/* sundog: the command line, and as `sundog serve` the server. */

#include "engine/command/command.h"

#include <locale.h>
#include <signal.h>

int
main(int argc, char **argv)
{
    setlocale(LC_ALL, "");
    /* A closed pipe is an error of the write that meets it, not the end of the process. */
    signal(SIGPIPE, SIG_IGN);
    return sundog_command_main(argc, argv);
}
