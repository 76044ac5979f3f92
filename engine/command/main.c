/* sundog: the command line. */

int
main(void)
{
    return 1;
}
