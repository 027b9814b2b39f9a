// Package guard ends programs with the process that has started them, however it ends, also by SIGKILL.
//
// The kernel ends the children of a process at most (PR_SET_PDEATHSIG, and only with the thread that forked),
// and not what these have started. Therefore helpers, which are this executable again, wait for the end of a
// pipe that only this process holds open:
//
//   - [Start] and [Wrap] run a program as the child of a helper. The helper is its subreaper: every process
//     that comes of the program, also a daemon in a session of its own, becomes a child of the helper, which
//     kills them all. [Start] has one helper for all programs, so that a start costs no other process.
//     [Wrap] has a helper for each command, which also kills what the command leaves behind when it ends.
//   - [Sessions] records the sessions of programs that cannot leave them. One helper kills the processes of
//     all sessions, so that a start costs nothing.
//
// Helpers are an implementation for Linux. Elsewhere programs are started without one.
package guard
