//go:build unix

// SQLite names the index of a WAL after the path of the database, and maps it into memory. The first connection to a
// database truncates the index, unless another process has it open, which SQLite finds by the locks of the file. Those
// of its own process do not show. So after a database was replaced by another file while connections have the former
// one open, a connection to the new file would truncate the index that they have mapped: their next access to it ends
// the process with SIGBUS. What SQLite says of it: https://sqlite.org/howtocorrupt.html, section 2.5.
//
// SQLite opens an index once for all connections of a process to the same file. So an index that is opened while it is
// open would be that of two files, and is refused. SQLite lets its system calls be replaced for such checks.

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "index_guard.h"

typedef void (*system_call)(void);
typedef int (*open_call)(const char *, int, int);
typedef int (*close_call)(int);

// The interface of SQLite to the operating system, of which only the last functions are used. Its form is stable.
struct sqlite3_vfs {
	int version, file_size, max_pathname;
	struct sqlite3_vfs *next;
	const char *name;
	void *data;
	system_call others[13];
	int (*set_system_call)(struct sqlite3_vfs *, const char *name, system_call);
	system_call (*get_system_call)(struct sqlite3_vfs *, const char *name);
};

extern struct sqlite3_vfs *sqlite3_vfs_find(const char *name);

// An open file descriptor of an index.
struct index_file {
	int fd;
	int refused; // SQLite does not have it
	dev_t device;
	ino_t inode;
	struct index_file *next;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct index_file *indexes; // guarded by mutex
static long refusals;              // guarded by mutex
static open_call open_file;
static close_call close_file;

static int is_index(const char *path) {
	static const char suffix[] = "-shm";
	size_t length = strlen(path), end = sizeof suffix - 1;
	return length > end && strcmp(path + length - end, suffix) == 0;
}

// Returns an open descriptor of an index that SQLite has, or NULL. The caller holds the mutex.
static struct index_file *find_open(dev_t device, ino_t inode) {
	struct index_file *f = indexes;
	while (f != NULL && (f->refused || f->device != device || f->inode != inode))
		f = f->next;
	return f;
}

static int refuse(void) {
	refusals++;
	errno = EBUSY;
	return -1;
}

// Opens an index unless it is open. The caller holds the mutex.
static int open_index(const char *path, int flags, int mode) {
	struct stat info;
	if (lstat(path, &info) == 0 && find_open(info.st_dev, info.st_ino) != NULL)
		return refuse();
	struct index_file *f = malloc(sizeof *f);
	if (f == NULL) {
		errno = ENOMEM;
		return -1;
	}
	int fd = open_file(path, flags, mode);
	if (fd < 0 || fstat(fd, &info) != 0) {
		int error = errno;
		free(f);
		if (fd >= 0)
			close_file(fd);
		errno = error;
		return -1;
	}
	// It may have been put there after lstat. Closing it would release the locks that this process has on it, so that
	// is left until SQLite closes it.
	int refused = find_open(info.st_dev, info.st_ino) != NULL;
	*f = (struct index_file){fd, refused, info.st_dev, info.st_ino, indexes};
	indexes = f;
	return refused ? refuse() : fd;
}

static int guarded_open(const char *path, int flags, int mode) {
	if (!is_index(path))
		return open_file(path, flags, mode);
	pthread_mutex_lock(&mutex);
	int fd = open_index(path, flags, mode), error = errno;
	pthread_mutex_unlock(&mutex);
	errno = error;
	return fd;
}

// Returns the open descriptor of an index that SQLite has, or NULL. The caller holds the mutex.
static struct index_file *find_descriptor(int fd) {
	struct index_file *f = indexes;
	while (f != NULL && (f->refused || f->fd != fd))
		f = f->next;
	return f;
}

// Closes the refused descriptors of an index, and forgets it. The caller holds the mutex.
static void forget(struct index_file *index) {
	dev_t device = index->device;
	ino_t inode = index->inode;
	for (struct index_file **at = &indexes; *at != NULL;) {
		struct index_file *f = *at;
		if (f->device != device || f->inode != inode) {
			at = &f->next;
			continue;
		}
		*at = f->next;
		if (f->refused)
			close_file(f->fd);
		free(f);
	}
}

static int guarded_close(int fd) {
	pthread_mutex_lock(&mutex);
	struct index_file *index = find_descriptor(fd);
	if (index != NULL)
		forget(index);
	int result = close_file(fd), error = errno; // before another thread is given the same descriptor
	pthread_mutex_unlock(&mutex);
	errno = error;
	return result;
}

int sqlitefile_guard_indexes(void) {
	struct sqlite3_vfs *vfs = sqlite3_vfs_find("unix");
	if (vfs == NULL || vfs->version < 3)
		return 1;
	open_file = (open_call)vfs->get_system_call(vfs, "open");
	close_file = (close_call)vfs->get_system_call(vfs, "close");
	int error = vfs->set_system_call(vfs, "open", (system_call)guarded_open);
	return error != 0 ? error : vfs->set_system_call(vfs, "close", (system_call)guarded_close);
}

long sqlitefile_refusals(void) {
	pthread_mutex_lock(&mutex);
	long n = refusals;
	pthread_mutex_unlock(&mutex);
	return n;
}
