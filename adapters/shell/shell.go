// Package shell implements the shell block, which runs programs, and connection "shell", which
// several blocks share.
//
// A command is a list of arguments that no shell reads, a pipe of such lists, or a script whose
// text is the same in every call. Values of a call reach a program as whole arguments, through the
// environment or through standard input.
//
// A call is a job. Each of its programs leads a session without a terminal. When the call is
// cancelled or times out, the job gets SIGTERM, and SIGKILL after a grace period. No process
// outlives a confined call. In a call that is not confined, a background process that has closed
// the output is left running.
//
// A program sees only the environment that it is given: PATH of the server, LANG=C.UTF-8, the
// variables of inherit_env and env, and HOME and TMPDIR, the temporary directory of the call.
// Unless mode = "none", programs are confined: see package sandbox.
package shell

import (
	"context"

	"hatchel/adapters"
	"hatchel/adapters/sandbox"
)

const summary = "Runs a program, a pipe of programs or a script. The label names a connection, whose command is " +
	"continued. The output has stdout, stderr and code, and with parse also json or lines."

// Adapter returns the adapter of the shell block of tools and steps.
func Adapter() adapters.Adapter { return newAdapter(sandbox.LandlockABI) }

// newAdapter returns an adapter that confines programs with a version of Landlock, which the kernel
// has.
func newAdapter(landlockABI func() sandbox.ABI) adapters.Adapter {
	bind := func(_ context.Context, b *block, env adapters.Env) (adapters.Action, error) {
		return newAction(b, env, landlockABI())
	}
	a := adapters.New("shell", summary, (*block).spec, bind).WithConnections(false, "shell").WithMock(mockKind())
	a.Kind.Snippets, a.Kind.Program = snippets, true
	a.Kind.Misplaced = map[string]string{
		"sandbox": ` A sandbox confines programs: it belongs in a shell block, or in a connection "shell".`,
	}
	return a
}

// Connectors returns the connector of connection "shell".
func Connectors() []adapters.Connector {
	return []adapters.Connector{adapters.NewConnector("shell",
		"Settings shared by shell blocks: the beginning of their commands, their environment and their directory.",
		(*connection).spec, open)}
}
