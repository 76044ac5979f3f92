#pragma once

/* The processor's cores that this process may run on. Any thread. */

/* Cores, not hardware threads: two threads of one core share the units that kernels keep busy, and
 * delay each other at every barrier. At least 1. */
unsigned sundog_count_cores(void);
