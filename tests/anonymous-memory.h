#pragma once

#include <stdint.h>
#include <sys/types.h>

/*
 * What a process holds of its own, resident or swapped out: unlike its resident size it does not change
 * with the pages of files and libraries, which the kernel takes and gives back as others need room.
 */

/* In bytes, for a process that lives. */
int64_t anonymous_memory_get(pid_t pid);
