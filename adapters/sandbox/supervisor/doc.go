// Package supervisor changes modes, groups and times of files on behalf of sandboxed programs.
//
// Landlock has no access right for chmod, chown and utimensat: with Landlock alone, a confined program could change
// the attributes of every file that its user owns, wherever the file is. The seccomp filter of the sandbox therefore
// sends these system calls to the server as notifications (SECCOMP_RET_USER_NOTIF, see seccomp_unotify(2)). A
// [Supervisor] decides whether the file is in one of the [Roots], makes the change itself, and returns the result to
// the program. [AttrSyscalls] lists the system calls.
//
// It also denies sockets, all of which the filter sends to it where programs have no network, and remembers their
// families: a program rarely says why it has no connection.
//
// # Threat model
//
// The program is hostile and knows how the supervisor works. It has several threads and processes that change memory,
// paths, links and descriptors at any moment, also between two steps of the supervisor. It can be killed while it
// waits, and its thread ID can then be given to another process. It must not be able to
//
//   - change an attribute of a file outside of the roots,
//   - make a change that the kernel refuses to the program's own user, groups and capabilities,
//   - set the setuid or setgid bit, which give rights to any user who runs the file,
//   - reach a file, a descriptor or a lock of the server.
//
// The kernel, the server and processes outside of the sandbox are trusted.
//
// # What is judged
//
// A change is made when all of this holds; otherwise the call fails with the error that the kernel would return, or
// with EPERM:
//
//  1. The file, as opened by the supervisor, is in a root: see Roots.Contains.
//  2. The kernel accepts the change from the identity of the calling thread.
//  3. The new mode has neither the setuid nor the setgid bit. The seccomp filter refuses this before the supervisor.
//
// # On whose behalf
//
// The serving thread opens and changes the file with the file system user and group, the supplementary groups and the
// effective capabilities of the calling thread, read from /proc/TID/status. Of the capabilities only CAP_DAC_OVERRIDE
// is taken over, the only one about files that a sandboxed program keeps. No other thread of the server changes its
// identity. If the thread cannot return to its own identity, it ends, the listener is closed, and later calls of the
// program fail with ENOSYS.
//
// # Races
//
//   - Arguments in memory are read once. What the program writes there afterwards has no effect.
//   - A path is resolved once, to an O_PATH descriptor. The same descriptor is judged and changed, so that replacing
//     a directory by a link between the two has no effect.
//   - No call is ever continued in the kernel (SECCOMP_USER_NOTIF_FLAG_CONTINUE): the kernel would read the arguments
//     a second time.
//   - Everything read through a thread ID counts only if the notification is still valid afterwards
//     (SECCOMP_IOCTL_NOTIF_ID_VALID). Until then the thread is blocked in its call and the ID cannot be reused.
//   - The roots are descriptors, opened for the Landlock rules of the same call. Renaming a root, or putting another
//     directory in its place, does not change what is writable.
//   - Magic links of /proc lead to objects of the process that follows them, which is the server. They are not
//     followed. A path that begins with /proc/self/fd/N is translated to descriptor N of the calling thread.
//   - A descriptor of the program is opened anew through /proc/TID/fd with O_PATH. Duplicating it with pidfd_getfd
//     and closing the duplicate would release POSIX locks that the server holds on the same file.
//
// A file that somebody else moves out of a root between the judgement and the change is changed. Landlock behaves the
// same way: it checks a file when it is opened.
package supervisor
