package shell

import (
	"context"
	"errors"
	"time"

	"hatchel/adapters"
	"hatchel/hcl"
)

// connection is a connection "shell" block. It is its own handle: nothing is opened.
type connection struct {
	Command    []string
	Env        *hcl.KeyValues
	InheritEnv []string
	Dir        string
	OKCodes    []int
	Timeout    time.Duration
	Sandbox    *sandbox
}

func (c *connection) spec() hcl.Spec {
	return hcl.Spec{
		hcl.Attr(&c.Command, "command", "The words that the command of a block follows, as in [\"kubectl\", \"--context\", \"prod\"]."),
		hcl.Attr(&c.Env, "env", "Variables of the environment, under those of the block.").AllowSecret().FixedKeys(),
		hcl.Attr(&c.InheritEnv, "inherit_env", "Names of variables that are passed on from the environment of the server, beside PATH, HOME and TMPDIR."),
		hcl.Attr(&c.Dir, "dir", "The working folder of blocks that name none.").DefaultDoc("the folder of the configuration"),
		hcl.Attr(&c.OKCodes, "ok_codes", "The exit codes that are answers, for blocks that name none.").DefaultDoc("[0]"),
		hcl.Attr(&c.Timeout, "timeout", "How long a call may take, for blocks that do not say.").DefaultDoc("the tool's"),
		hcl.Block(&c.Sandbox, "sandbox", "What the programs of blocks may do that have no sandbox of their own.", (*sandbox).spec),
	}
}

// Words are what the command of a block follows.
func (c *connection) Words() []string { return c.Command }

// Check implements hcl.Checked.
func (c *connection) Check() error {
	errs := checkCodes(&c.OKCodes)
	if len(c.Command) > 0 && c.Command[0] == "" {
		errs = append(errs, hcl.Blame(&c.Command, "The first word of a command names the program, and here it is empty."))
	}
	errs = append(errs, c.Sandbox.check()...)
	return errors.Join(append(errs, checkNames(&c.Env, c.Env.Names(), &c.InheritEnv, c.InheritEnv)...)...)
}

func open(_ context.Context, c *connection, env adapters.Env) (any, error) {
	return c, c.Sandbox.missing(env.Dir)
}
