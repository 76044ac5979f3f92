#pragma once

/* What the kernel killed for want of memory, so that such a SIGKILL is told from one that a person or a
 * tool sent. Any thread. */

#include <stdint.h>

/* Processes of this machine that the kernel killed so since it started, as the file (NULL: /proc/vmstat)
 * has it; 0 where it does not say. Source: "oom_kill" of proc_vmstat(5). */
uint64_t sundog_memory_kills_count(const char *file);
