//go:build linux && cgo

// A child that confines itself between its birth and the start of its program. It is made as posix_spawn makes one: it borrows the memory of its parent,
// which waits meanwhile, so that a start costs the same however large the parent is. Nothing may run in it that takes a lock or calls back into Go.

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
#define CLOSE_RANGE_OWN (1U << 1)
#define CLOSE_RANGE_ON_EXEC (1U << 2)
#define STACK_SIZE (64 << 10)
#define STEP_BACK 5 // nice values: from 4 on a process that has just begun comes after one of the parent that wakes

struct child {
	const struct shell_spawn *s;
	char **words, **env;
	volatile int step, failure, listener;
};

// The capabilities that a program of root keeps: what it takes to read and write files, to become another user and to use low ports. The others would open ways around
// the confinement, those over the owner and the mode of any file too: these are no rights of Landlock. Under no_new_privs a program cannot get back at its start what was
// given up here.
#define KEPT (1U << CAP_DAC_OVERRIDE | 1U << CAP_SETGID | 1U << CAP_SETUID | 1U << CAP_NET_BIND_SERVICE)

static int drop_capabilities(void) {
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];
	if (syscall(SYS_capget, &header, data) != 0)
		return -1;
	for (int i = 0; i < _LINUX_CAPABILITY_U32S_3; i++) {
		uint32_t kept = i == 0 ? data[i].permitted & KEPT : 0;
		data[i] = (struct __user_cap_data_struct){.permitted = kept, .effective = kept, .inheritable = data[i].inheritable & kept};
	}
	return syscall(SYS_capset, &header, data);
}

// No handler of the parent may run in the child, which gets the default of every signal that is not ignored.
static void default_signals(void) {
	struct sigaction before, normal;
	memset(&normal, 0, sizeof normal);
	normal.sa_handler = SIG_DFL;
	for (int n = 1; n < NSIG; n++)
		if (sigaction(n, &normal, &before) == 0 && before.sa_handler == SIG_IGN)
			sigaction(n, &before, NULL);
}

// The filter is set while the descriptors are still those of the parent, which so has the listener, and the program never does.
static int set_filter(struct child *c) {
	struct sock_fprog program = {.len = c->s->filter_length, .filter = (struct sock_filter *)c->s->filter};
	int got;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		return -1;
	if ((got = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, c->s->listen, &program)) < 0)
		return -1;
	if (c->s->listen != 0)
		c->listener = got;
	return 0;
}

// From here on the descriptors are the child's own.
static int set_files(const int files[3]) {
	int from[3];
	if (syscall(SYS_close_range, 3U, ~0U, CLOSE_RANGE_OWN | CLOSE_RANGE_ON_EXEC) != 0)
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

// The parent, which stops programs that use too much, gets a processor before they do: processes that double would else leave it none. Nothing confined can take that back.
static int step_back(void) {
	errno = 0;
	int now = getpriority(PRIO_PROCESS, 0);
	return now == -1 && errno != 0 ? -1 : setpriority(PRIO_PROCESS, 0, now + STEP_BACK);
}

static int confine(const struct shell_spawn *s) {
	for (size_t i = 0; i < s->limits_count; i++) {
		struct rlimit have, want = {s->limits[i].value, s->limits[i].value};
		if (getrlimit(s->limits[i].resource, &have) != 0)
			return -1;
		if (have.rlim_max < want.rlim_max)
			want = (struct rlimit){have.rlim_max, have.rlim_max};
		if (setrlimit(s->limits[i].resource, &want) != 0)
			return -1;
	}
	if (step_back() != 0 || drop_capabilities() != 0)
		return -1;
	return syscall(SYS_landlock_restrict_self, s->rules, 0);
}

static int born(void *arg) {
	struct child *c = arg;
	sigset_t none;
	default_signals();
	sigemptyset(&none);
	c->step = SHELL_SPAWN_CONFINE;
	if (setsid() < 0 || set_filter(c) != 0 || set_files(c->s->files) != 0)
		goto failed;
	c->step = SHELL_SPAWN_DIR;
	if (chdir(c->s->dir) != 0)
		goto failed;
	c->step = SHELL_SPAWN_CONFINE;
	if (confine(c->s) != 0)
		goto failed;
	sigprocmask(SIG_SETMASK, &none, NULL);
	c->step = SHELL_SPAWN_EXEC;
	execve(c->s->file, c->words, c->env);
failed:
	c->failure = errno;
	_exit(127);
}

static char **list(const char *texts, size_t count) {
	char **l = malloc((count + 1) * sizeof *l);
	if (l == NULL)
		return NULL;
	for (size_t i = 0; i < count; i++) {
		l[i] = (char *)texts;
		texts += strlen(texts) + 1;
	}
	l[count] = NULL;
	return l;
}

struct shell_spawned shell_spawn(const struct shell_spawn *s) {
	struct child c = {.s = s, .words = list(s->words, s->words_count), .env = list(s->env, s->env_count), .step = SHELL_SPAWN_CLONE, .listener = -1};
	struct shell_spawned done = {.pid = -1, .failure = ENOMEM};
	char *stack = malloc(STACK_SIZE);
	if (c.words != NULL && c.env != NULL && stack != NULL) {
		sigset_t all, before;
		sigfillset(&all);
		pthread_sigmask(SIG_SETMASK, &all, &before);
		done.pid = clone(born, stack + STACK_SIZE, CLONE_VM | CLONE_VFORK | CLONE_FILES | SIGCHLD, &c);
		done.failure = errno;
		pthread_sigmask(SIG_SETMASK, &before, NULL);
	}
	if (done.pid > 0 && c.failure != 0) {
		while (waitpid(done.pid, NULL, 0) < 0 && errno == EINTR)
			;
		if (c.listener >= 0)
			close(c.listener);
		done.failure = c.failure;
		c.listener = done.pid = -1;
	}
	done.step = c.step;
	done.listener = c.listener;
	free(stack);
	free(c.words);
	free(c.env);
	return done;
}

struct question {
	unsigned flags;
	volatile int failure;
};

static int asks(void *arg) {
	struct question *q = arg;
	struct sock_filter all = {.code = BPF_RET | BPF_K, .k = SECCOMP_RET_ALLOW};
	struct sock_fprog program = {.len = 1, .filter = &all};
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, q->flags, &program) < 0)
		q->failure = errno;
	_exit(0);
}

int shell_listen(unsigned flags) {
	struct question q = {.flags = flags};
	sigset_t all, before;
	char *stack = malloc(STACK_SIZE);
	if (stack == NULL)
		return ENOMEM;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	int pid = clone(asks, stack + STACK_SIZE, CLONE_VM | CLONE_VFORK | SIGCHLD, &q);
	if (pid < 0)
		q.failure = errno;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	free(stack);
	return q.failure;
}
