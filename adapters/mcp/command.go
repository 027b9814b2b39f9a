package mcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"hatchel/adapters"
	"hatchel/adapters/guard"
	"hatchel/adapters/mcp/client"
	"hatchel/adapters/mcp/pool"
	"hatchel/adapters/mcp/process"
	"hatchel/adapters/program"
	"hatchel/adapters/sandbox"
	"hatchel/hcl"
)

// newLauncher returns what starts the program of the connection. Changed is called when its state has changed.
func (c *connection) newLauncher(env adapters.Env, changed func()) (*process.Launcher, error) {
	if err := guard.Supported(); err != nil {
		return nil, hcl.Blame(&c.Command, "The connection starts a program: %v.", err)
	}
	rules := c.Sandbox
	if rules == nil {
		rules = sandbox.NewBlock()
	}
	config := process.Config{
		Command: c.Command, Dir: env.Dir, StartTimeout: cmp.Or(c.StartTimeout, defaultStartTimeout), Log: env.Log,
		Changed: changed,
	}
	base := program.NewEnvironment(program.DirectoryVars...)
	if rules.Mode != sandbox.ModeNone {
		base = program.NewEnvironment()
		config.TempVars = slices.DeleteFunc(slices.Clone(program.DirectoryVars), func(name string) bool {
			return slices.Contains(c.Env.Names(), name)
		})
	}
	config.Env = func(ctx context.Context) (program.Environment, []string, error) {
		return c.environment(ctx, env.Dir, base)
	}
	searched := base.Get("PATH")
	err := errors.Join(rules.CheckPaths(env.Dir), c.checkProgram(env.Dir, searched))
	if err == nil && rules.Mode != sandbox.ModeNone {
		policy := rules.PolicyIn(env.Dir, searched)
		policy.AllowFiles(env.Dir, c.Command)
		config.Sandbox, err = sandbox.New(policy, sandbox.LandlockABI())
		if err == nil {
			env.Defer(config.Sandbox.Close)
		}
	}
	if err != nil {
		return nil, err
	}
	return process.NewLauncher(config), nil
}

// environment returns the variables of the program, and the secrets in them.
func (c *connection) environment(
	ctx context.Context, dir string, base program.Environment,
) (program.Environment, []string, error) {
	entries, err := c.Env.Eval(hcl.NewFrame(ctx, dir, time.Now))
	if err != nil {
		return nil, nil, err
	}
	env, secrets := append(make(program.Environment, 0, len(base)+len(entries)), base...), []string(nil)
	for _, e := range entries {
		text, err := program.VariableText(e.Name, e.Value)
		if err != nil {
			return nil, nil, err
		}
		if env = env.Set(e.Name, text); c.Env.Secret(e.Name) {
			secrets = append(secrets, text)
		}
	}
	return env, secrets, nil
}

const installDoc = "Install what it needs, as in npm ci --ignore-scripts --prefix .mcp/npm, or correct the command."

// checkProgram refuses a program that this machine does not have, and a file of it in the configuration directory.
func (c *connection) checkProgram(dir, searched string) error {
	if c.Env.MayHave("PATH") {
		searched = c.Env.Constant("PATH")
	}
	name, where := c.Command[0], "in the PATH of the program, "+searched
	missing := ""
	if strings.Contains(name, "/") {
		where = "on this machine"
		if _, err := os.Stat(adapters.Absolute(dir, name)); err != nil {
			missing = name
		}
	} else if _, err := program.SearchPath(name, searched); err != nil && searched != "" {
		missing = name
	}
	for _, word := range c.Command[1:] {
		if missing == "" && isInstalled(word) {
			if _, err := os.Stat(filepath.Join(dir, word)); err != nil {
				missing, where = word, "in the configuration directory"
			}
		}
	}
	if missing == "" {
		return nil
	}
	return &adapters.MissingError{
		Name: fmt.Sprintf("the program %q", name),
		Err:  hcl.Blame(&c.Command, "%q is not %s. %s", missing, where, installDoc),
	}
}

// Code implements hcl.CodeRunner: a program is that of the connection. What an import has installed is known by its
// lists, so the thousands of files there are not read.
func (b *block) Code(conn *hcl.Connection) hcl.Code {
	c := conn.Config.(*connection)
	if c.Command == nil {
		return hcl.Code{}
	}
	code := hcl.Code{Words: slices.DeleteFunc(slices.Concat(c.Command, c.Env.Constants()), isInstalled)}
	if c.Sandbox != nil {
		code.Granted = slices.DeleteFunc(slices.Clone(c.Sandbox.Read), isInstalled)
		code.Writable = c.Sandbox.Write
		code.Free = c.Sandbox.Mode == sandbox.ModeNone
	}
	for _, word := range c.Command {
		if isInstalled(word) {
			code.Installed = append(append(code.Installed, word), packageLists(path.Clean(word))...)
		}
	}
	return code
}

// packageLists returns the lists of the packages with which a file was installed.
func packageLists(file string) []string {
	parts := strings.Split(file, "/")
	switch {
	case len(parts) > 2 && parts[1] == "npm":
		return []string{".mcp/npm/package.json", ".mcp/npm/package-lock.json"}
	case len(parts) > 3 && parts[1] == "py":
		return []string{".mcp/py/" + parts[2] + ".txt"}
	}
	return nil
}

// isInstalled reports whether a word of a command names a file that an import has installed.
func isInstalled(word string) bool { return strings.HasPrefix(strings.TrimPrefix(word, "./"), ".mcp/") }

// staysRunning reports whether a program runs also while no call needs it.
func (s *server) staysRunning() bool {
	return s.launcher != nil && s.Start != startCall && s.Sessions == sessionsShared
}

// servesOneCall reports whether a session serves one call at a time: over pipes, questions of the earlier revisions do
// not name their call.
func (s *server) servesOneCall(session *session) bool {
	asks := slices.ContainsFunc(s.Asks, func(ask string) bool { return ask != asksRoots })
	return s.launcher != nil && asks && session.Protocol() != client.Revision20260728
}

// signOfLife is how long a program that has left a request without an answer may take to answer another one.
const signOfLife = 10 * time.Second

// release gives back the session of a request that ended with an error, or nil. A program that has not answered it may
// answer nothing any more: unless it gives a sign of life, later calls get another one. If the program serves one call
// at a time, they do in any case: what it still asks about this call would be taken for a question of the next one.
func (s *server) release(lease *pool.Lease[*session], err error) {
	session := lease.Session()
	failed, ok := errors.AsType[*client.Error](err)
	isOpen := ok && !errors.Is(err, client.ErrClosed) && s.launcher != nil && s.Sessions != sessionsCall
	switch {
	case isOpen && s.servesOneCall(session) && (failed.Kind == client.Unknown || failed.Kind == client.Invalid):
		lease.Discard()
	case isOpen && failed.Kind == client.Unknown:
		asking := func(ctx context.Context) {
			defer lease.Release()
			limited, cancel := context.WithTimeout(ctx, signOfLife)
			defer cancel()
			failed, ok := errors.AsType[*client.Error](session.Ping(limited))
			if ok && failed.Kind != client.Rejected && ctx.Err() == nil {
				session.process.RecordSilence()
				lease.Discard()
			}
		}
		if s.starting.Go(asking) {
			return
		}
	}
	lease.Release()
}

// startAtLoad starts the program before its first call if the connection says so. Nothing waits for it.
func (s *server) startAtLoad() {
	if s.Start == startCall {
		return
	}
	s.starting.Go(func(ctx context.Context) {
		s.launcher.KeepRunning(ctx, s.staysRunning(), func(ctx context.Context) (<-chan struct{}, error) {
			started, err := s.sessions.Warm(ctx, "")
			if err != nil {
				return nil, err
			}
			s.report()
			return started.Done(), nil
		})
	})
}

// pingProgram asks a program that runs for a sign of life. It starts none.
func (s *server) pingProgram(ctx context.Context) error {
	if open := s.sessions.Sessions(); len(open) > 0 {
		return open[0].Ping(ctx)
	}
	if failure := s.launcher.State().Failure; failure != "" {
		return errors.New(failure)
	}
	return nil
}
