#pragma once

/* Removes the folder and what is in it, whatever of it is there. */
void temporary_folder_remove(const char *path);
