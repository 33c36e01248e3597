/* A disk that keeps synced data only.
 *
 * Preloaded into a program, this replaces fsync and fdatasync. For a file in
 * FORGETFUL_FOLDER they copy its present contents to FORGETFUL_DISK; a copy replaces the
 * last one atomically, so that there is always a complete one. For the folder itself they
 * delete the copies whose files were deleted. Nothing else that the program wrote,
 * truncated or deleted has reached the disk. */

#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The path of name in folder, which the caller frees. */
static char *in(const char *folder, const char *name)
{
    char *path;
    if (asprintf(&path, "%s/%s", folder, name) < 0)
        abort();
    return path;
}

static void copy(const char *from, const char *to)
{
    char buffer[65536];
    ssize_t count;
    int source = open(from, O_RDONLY | O_CLOEXEC);
    int target = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (source < 0 || target < 0)
        abort();
    while ((count = read(source, buffer, sizeof buffer)) > 0)
        if (write(target, buffer, count) != count)
            abort();
    if (count < 0)
        abort();
    close(source);
    close(target);
}

static void keep(const char *folder, const char *disk, const char *name)
{
    char *from = in(folder, name), *to = in(disk, name), *draft = in(disk, ".draft");
    copy(from, draft);
    if (rename(draft, to) != 0)
        abort();
    free(from);
    free(to);
    free(draft);
}

static void forget_deleted(const char *folder, const char *disk)
{
    struct dirent *entry;
    DIR *copies = opendir(disk);
    if (!copies)
        abort();
    while ((entry = readdir(copies))) {
        char *file = in(folder, entry->d_name), *kept = in(disk, entry->d_name);
        if (entry->d_name[0] != '.' && access(file, F_OK) != 0)
            unlink(kept);
        free(file);
        free(kept);
    }
    closedir(copies);
}

static int sync_file(int file)
{
    const char *folder = getenv("FORGETFUL_FOLDER"), *disk = getenv("FORGETFUL_DISK");
    char link[64], path[PATH_MAX];
    size_t start = strlen(folder);
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0)
        return -1;
    path[length] = 0;
    if (strcmp(path, folder) == 0)
        forget_deleted(folder, disk);
    else if (strncmp(path, folder, start) == 0 && path[start] == '/')
        keep(folder, disk, path + start + 1);
    return 0;
}

int fsync(int file) { return sync_file(file); }

int fdatasync(int file) { return sync_file(file); }
