package shell

import (
	"context"
	"time"

	"hatchel/adapters"
	"hatchel/adapters/program"
	"hatchel/adapters/sandbox"
	"hatchel/hcl"
)

// connection is a connection "shell" block. It is its own handle: nothing is opened.
type connection struct {
	Command      []string
	DataPrograms []string
	Env          *hcl.KeyValues
	InheritEnv   []string
	Dir          string
	OKCodes      []int
	Timeout      time.Duration
	Sandbox      *sandbox.Block
}

func (c *connection) spec() hcl.Spec {
	return hcl.Spec{
		hcl.Attr(&c.Command, "command", "The beginning of the command, which the blocks continue, as in "+
			"[\"kubectl\", \"--context\", \"prod\"]."),
		hcl.Attr(&c.DataPrograms, "data_programs", docDataPrograms+" It adds to that of blocks."),
		hcl.Attr(&c.Env, "env", "Environment variables. Those of the block override them.").AllowSecret().FixedKeys(),
		hcl.Attr(&c.InheritEnv, "inherit_env", docInheritEnv),
		hcl.Attr(&c.Dir, "dir", "The working directory of blocks without dir.").
			DefaultDoc("the configuration directory"),
		hcl.Attr(&c.OKCodes, "ok_codes", "The exit codes that mean success, for blocks, and first "+
			"stages of pipes, without ok_codes.").
			DefaultDoc("[0]"),
		hcl.Attr(&c.Timeout, "timeout", "How long a block may take, for blocks without timeout.").
			DefaultDoc("the tool's"),
		hcl.Block(&c.Sandbox, "sandbox", "The permissions of the programs of blocks without a sandbox.",
			(*sandbox.Block).Spec),
	}
}

// Effects implements hcl.EffectLister.
func (c *connection) Effects(*hcl.Connection) (effects []hcl.Effect) {
	if c.Command != nil {
		effects = append(effects, hcl.Effect{Verb: "RUN", Source: []any{&c.Command}})
	}
	if c.DataPrograms != nil {
		effects = append(effects, hcl.Effect{Verb: "DATA", Source: []any{&c.DataPrograms}})
	}
	if c.Dir != "" {
		effects = append(effects, hcl.Effect{Verb: "DIR", Source: []any{&c.Dir}})
	}
	if c.InheritEnv != nil {
		effects = append(effects, hcl.Effect{Verb: "INHERIT", Source: []any{&c.InheritEnv}})
	}
	return append(effects, c.Sandbox.Effects()...)
}

// Words returns the beginning of the commands of blocks.
func (c *connection) Words() []string { return c.Command }

// TrustedPrograms returns the programs that take the words of blocks for data.
func (c *connection) TrustedPrograms() []string { return c.DataPrograms }

// Check implements hcl.Checker.
func (c *connection) Check() error {
	var checks adapters.Checks
	checkExitCodes(&checks, &c.OKCodes)
	checks.Refuse(len(c.Command) > 0 && c.Command[0] == "", &c.Command,
		"The first element of a command names the program and must not be empty.")
	c.Sandbox.Check(&checks)
	program.CheckVariableNames(&checks, &c.Env, &c.InheritEnv)
	return checks.Err()
}

func open(_ context.Context, c *connection, env adapters.Env) (any, error) {
	return c, c.Sandbox.CheckPaths(env.Dir)
}
