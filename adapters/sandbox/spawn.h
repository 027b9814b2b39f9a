// Starts confined programs; see spawn_linux.c.

#include <stddef.h>
#include <stdint.h>

// A resource limit of one process.
struct sandbox_limit {
	int32_t  resource;
	uint32_t unused;
	uint64_t value;
};

// The program to start, and what it may do.
struct sandbox_spawn {
	const char *strings;     // the file, the directory, argc arguments, envc variables; each ends with NUL
	size_t argc, envc;
	int files[3];            // descriptors that become 0, 1 and 2
	int ruleset;             // of Landlock
	const void *filter;      // of seccomp
	size_t filter_len;       // in instructions
	unsigned listener_flags; // of seccomp, to get a listener; 0: none
	int32_t *session;        // where the program records its session, before it is started
	const struct sandbox_limit *limits;
	size_t limits_len;
};

// The step at which a start failed.
enum { SANDBOX_STEP_CLONE = 1, SANDBOX_STEP_CHDIR, SANDBOX_STEP_CONFINE, SANDBOX_STEP_EXEC };

// The result of a start.
struct sandbox_started {
	int pid;      // of the program, or -1
	int step;     // that failed
	int failure;  // its errno
	int listener; // of the filter, or -1
};

// Starts a program.
struct sandbox_started sandbox_start(const struct sandbox_spawn *spawn);

// Lets a child that exits at once ask for a listener. Returns 0, or the errno of the child.
int sandbox_probe_listener(unsigned flags);
