// Package shell runs programs. Adapter is the shell block, Connectors brings the connection that several blocks share.
//
// A command is a list of words that no shell sees, a pipe of such lists, or a script whose text is the same in every call; values reach them as whole
// words or through the environment. Everything that a call starts is a session of its own without a terminal, and is ended whole when the call is: first
// asked with SIGTERM, then killed. No process outlives a confined call; of a call that is not confined, what a program
// starts in the background and lets go of the output is left to itself.
//
// A program sees only the environment that it is given: PATH and HOME of the server, LANG=C.UTF-8, what inherit_env names, and env; and TMPDIR, which is the call's
// own or, when the call is not confined, the server's.
//
// Unless its block says otherwise a program is confined: cell.go says what it can write to, rules_linux.go what it can read, refusals_linux.go which system calls it is
// refused, emptying_linux.go which others on kernels that have an old version of Landlock, supervisor_linux.go which the server makes for it, spawn_linux.c how that begins to hold before the program does, and meter_linux.go what the
// programs of a call may use together.
package shell

import (
	"context"

	"hatchel/adapters"
)

// Adapter declares the shell block of tools and steps.
func Adapter() adapters.Adapter { return adapter(landlock) }

// adapter is Adapter where programs are confined by a version of Landlock, which the kernel has.
func adapter(confinedBy func() version) adapters.Adapter {
	bind := func(_ context.Context, b *block, env adapters.Env) (adapters.Action, error) {
		return bind(b, env, confinedBy())
	}
	return adapters.New("shell", "Runs a program, a pipe of programs or a script. Its label names a connection, whose command the words follow. Gives output.stdout, output.stderr and output.code; with parse output.json or output.lines.", (*block).spec, bind).
		Over(false, "shell")
}

// Connectors declares connection "shell": what several blocks share.
func Connectors() []adapters.Connector {
	return []adapters.Connector{adapters.NewConnector("shell", "What several shell blocks share: the beginning of their commands, their environment, their folder.", (*connection).spec, open)}
}
