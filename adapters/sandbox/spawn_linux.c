//go:build linux && cgo

// Starts a child that confines itself before it executes its program. As with posix_spawn, the child borrows the
// memory of its parent, which waits in the meantime, so that a start takes the same time however large the parent is.
// Nothing in the child may take a lock or call back into Go.

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "spawn.h"

#ifndef SYS_landlock_restrict_self
#define SYS_landlock_restrict_self 446
#endif
#ifndef SYS_close_range
#define SYS_close_range 436
#endif
#define RANGE_UNSHARE (1U << 1)
#define RANGE_CLOEXEC (1U << 2)
#define STACK_SIZE (64 << 10)

// Added to the nice value of a program. From 4 on, a new process does not delay a waking one of the parent.
#define NICE_INCREMENT 5

struct child {
	const struct sandbox_spawn *spawn;
	const char *file, *dir;
	char **argv, **env;
	volatile int step, failure, listener;
};

// The capabilities that a program of root keeps: to read and write files, to become another user, and to use low
// ports. Others are ways around the confinement; those over the owner and the mode of all files are no rights of
// Landlock. Under no_new_privs the program cannot get back what is dropped here.
#define KEPT_CAPABILITIES (1U << CAP_DAC_OVERRIDE | 1U << CAP_SETGID | 1U << CAP_SETUID | 1U << CAP_NET_BIND_SERVICE)

static int drop_capabilities(void) {
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];
	if (syscall(SYS_capget, &header, data) != 0)
		return -1;
	for (int i = 0; i < _LINUX_CAPABILITY_U32S_3; i++) {
		uint32_t kept = i == 0 ? data[i].permitted & KEPT_CAPABILITIES : 0;
		data[i] = (struct __user_cap_data_struct){
			.permitted = kept, .effective = kept, .inheritable = data[i].inheritable & kept};
	}
	return syscall(SYS_capset, &header, data);
}

// Signal handlers of the parent must not run in the child. Signals that the parent ignores stay ignored.
static void reset_signal_handlers(void) {
	struct sigaction before, normal;
	memset(&normal, 0, sizeof normal);
	normal.sa_handler = SIG_DFL;
	for (int n = 1; n < NSIG; n++)
		if (sigaction(n, &normal, &before) == 0 && before.sa_handler == SIG_IGN)
			sigaction(n, &before, NULL);
}

// Called while the descriptors are shared with the parent, which so gets the listener. The program does not.
static int set_filter(struct child *c) {
	struct sock_fprog program = {.len = c->spawn->filter_len, .filter = (struct sock_filter *)c->spawn->filter};
	int result;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		return -1;
	if ((result = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, c->spawn->listener_flags, &program)) < 0)
		return -1;
	if (c->spawn->listener_flags != 0)
		c->listener = result;
	return 0;
}

// Afterwards the descriptors are the child's own.
static int set_files(const int files[3]) {
	int from[3];
	if (syscall(SYS_close_range, 3U, ~0U, RANGE_UNSHARE | RANGE_CLOEXEC) != 0)
		return -1;
	for (int i = 0; i < 3; i++) {
		from[i] = files[i];
		if (from[i] < 3 && (from[i] = fcntl(from[i], F_DUPFD_CLOEXEC, 3)) < 0)
			return -1;
	}
	for (int i = 0; i < 3; i++)
		if (dup2(from[i], i) < 0)
			return -1;
	return 0;
}

// The parent must get CPU time before programs that multiply, because it stops them. A confined program cannot raise
// its priority again.
static int lower_priority(void) {
	errno = 0;
	int now = getpriority(PRIO_PROCESS, 0);
	return now == -1 && errno != 0 ? -1 : setpriority(PRIO_PROCESS, 0, now + NICE_INCREMENT);
}

static int confine(const struct sandbox_spawn *spawn) {
	for (size_t i = 0; i < spawn->limits_len; i++) {
		struct rlimit have, want = {spawn->limits[i].value, spawn->limits[i].value};
		if (getrlimit(spawn->limits[i].resource, &have) != 0)
			return -1;
		if (have.rlim_max < want.rlim_max)
			want = (struct rlimit){have.rlim_max, have.rlim_max};
		if (setrlimit(spawn->limits[i].resource, &want) != 0)
			return -1;
	}
	if (lower_priority() != 0 || drop_capabilities() != 0)
		return -1;
	return syscall(SYS_landlock_restrict_self, spawn->ruleset, 0);
}

static int run_child(void *arg) {
	struct child *c = arg;
	sigset_t none;
	*c->spawn->session = getpid(); // which setsid makes the ID of the session
	reset_signal_handlers();
	sigemptyset(&none);
	c->step = SANDBOX_STEP_CONFINE;
	if (setsid() < 0 || set_filter(c) != 0 || set_files(c->spawn->files) != 0)
		goto failed;
	c->step = SANDBOX_STEP_CHDIR;
	if (chdir(c->dir) != 0)
		goto failed;
	c->step = SANDBOX_STEP_CONFINE;
	if (confine(c->spawn) != 0)
		goto failed;
	sigprocmask(SIG_SETMASK, &none, NULL);
	c->step = SANDBOX_STEP_EXEC;
	execve(c->file, c->argv, c->env);
failed:
	c->failure = errno;
	_exit(127);
}

// Runs a function in a child that borrows the memory of this process, until it exits or executes a program.
static int clone_child(int (*run)(void *), void *arg, int flags) {
	sigset_t all, before;
	char *stack = malloc(STACK_SIZE);
	if (stack == NULL)
		return -1;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	int pid = clone(run, stack + STACK_SIZE, CLONE_VM | CLONE_VFORK | SIGCHLD | flags, arg);
	int failure = errno;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	free(stack);
	errno = failure;
	return pid;
}

static void reap(int pid) {
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
}

// Splits strings, each of which ends with NUL, and returns what follows the last one.
static const char *split(const char *strings, char **into, size_t count) {
	for (size_t i = 0; i < count; i++) {
		into[i] = (char *)strings;
		strings += strlen(strings) + 1;
	}
	return strings;
}

struct sandbox_started sandbox_start(const struct sandbox_spawn *spawn) {
	struct child c = {.spawn = spawn, .step = SANDBOX_STEP_CLONE, .listener = -1};
	struct sandbox_started result = {.pid = -1, .step = SANDBOX_STEP_CLONE, .failure = ENOMEM, .listener = -1};
	char **list = calloc(spawn->argc + spawn->envc + 2, sizeof *list);
	if (list == NULL)
		return result;
	c.file = spawn->strings;
	c.dir = c.file + strlen(c.file) + 1;
	c.argv = list;
	c.env = list + spawn->argc + 1;
	split(split(c.dir + strlen(c.dir) + 1, c.argv, spawn->argc), c.env, spawn->envc);
	result.pid = clone_child(run_child, &c, CLONE_FILES);
	result.failure = errno;
	free(list);
	if (result.pid > 0 && c.failure != 0) {
		reap(result.pid);
		if (c.listener >= 0)
			close(c.listener);
		result.failure = c.failure;
		c.listener = result.pid = -1;
	}
	result.step = c.step;
	result.listener = c.listener;
	return result;
}

struct probe {
	unsigned flags;
	volatile int failure;
};

static int run_probe(void *arg) {
	struct probe *p = arg;
	struct sock_filter allow = {.code = BPF_RET | BPF_K, .k = SECCOMP_RET_ALLOW};
	struct sock_fprog program = {.len = 1, .filter = &allow};
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
	    syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, p->flags, &program) < 0)
		p->failure = errno;
	_exit(0);
}

int sandbox_probe_listener(unsigned flags) {
	struct probe p = {.flags = flags};
	int pid = clone_child(run_probe, &p, 0);
	if (pid < 0)
		return errno;
	reap(pid);
	return p.failure;
}
