/* sundog-engine: one core, frames on standard input and output. */

int
main(void)
{
    return 1;
}
