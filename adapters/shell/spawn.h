// How a confined program comes to life; see spawn_linux.c.

#include <stddef.h>
#include <stdint.h>

// A limit of the kernel for one process.
struct shell_limit {
	int32_t  resource;
	uint32_t unused;
	uint64_t value;
};

// What is started, and what it may do. Texts end with NUL; words and env hold one behind the other.
struct shell_spawn {
	const char *file, *dir;
	const char *words, *env;
	size_t words_count, env_count;
	int files[3];                // descriptors that become 0, 1 and 2
	int rules;                   // a Landlock ruleset
	const void *filter;          // of seccomp
	size_t filter_length;        // in instructions
	unsigned listen;             // flags of seccomp that ask for a listener; 0: none
	const struct shell_limit *limits;
	size_t limits_count;
};

// The step at which a start has failed.
enum { SHELL_SPAWN_CLONE = 1, SHELL_SPAWN_DIR, SHELL_SPAWN_CONFINE, SHELL_SPAWN_EXEC };

// How a start has ended.
struct shell_spawned {
	int pid;       // of the program, or -1
	int step;      // that failed
	int failure;   // its errno
	int listener;  // a descriptor that hears of what the filter tells, or -1
};

// Starts a program.
struct shell_spawned shell_spawn(const struct shell_spawn *s);

// Has a child that ends at once ask for a listener, and returns 0 or the errno that it got.
int shell_listen(unsigned flags);
