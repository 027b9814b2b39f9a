package approvals

import (
	"context"
	"net/url"
	"os"
	"strings"

	"hatchel/cmd/hatchel/console"
	"hatchel/cmd/hatchel/exit"
	"hatchel/hcl"
	"hatchel/runtime/server"
)

// OpenLocal opens the state of a configuration: that in a file, or the one that it declares. Name is how the directory
// was named, and dir its absolute path. Errors in the configuration matter only when they hide where the state is and
// no file is named: tools may need secrets that an operator does not have. Errors are those of package exit.
func OpenLocal(
	ctx context.Context, cfg *hcl.Config, diags hcl.Diagnostics, name, dir, file, user string,
) (*Local, error) {
	if diags.HasErrors() && file == "" && !knowsState(cfg) {
		return nil, exit.Failf("%s has %s, and the location of its state is unknown: "+
			"run hatchel validate %s, or name the file with --state",
			name, console.CountDiagnostics(diags.Counts()), name)
	}
	if cfg.UnreadSecrets && file == "" && !knowsState(cfg) {
		return nil, exit.Failf("the state of %s is where a secret says that a command prints, and %s: "+
			"use --server URL, or name the file with --state", name, console.NoSecretCommands)
	}
	if err := checkStateExists(file, dir, cfg.State); err != nil {
		return nil, err
	}
	store, err := server.OpenState(ctx, file, dir, cfg.State)
	if err != nil {
		return nil, exit.Failf("%s", err)
	}
	audited := cfg.Audit != nil && (cfg.Audit.Stdout || cfg.Audit.File != "" || cfg.Audit.Postgres != "")
	return NewLocal(ctx, store, user, audited), nil
}

// knowsState reports whether a configuration with errors declares the location of the state.
func knowsState(cfg *hcl.Config) bool {
	if cfg.State == nil {
		return !cfg.Partial
	}
	return cfg.State.SQLite != "" || cfg.State.Postgres != ""
}

// checkStateExists returns an error for a state file that no server has created, because opening it
// would create it.
func checkStateExists(file, dir string, block *hcl.State) error {
	if block != nil && block.Postgres != "" {
		return nil
	}
	path, err := server.StatePath(file, dir, block)
	if err != nil {
		return exit.Failf("%s", err)
	}
	if _, err := os.Stat(path); err != nil {
		return exit.Failf("%s cannot be read: %s. A server creates it with the first approval; "+
			"approvals of a server elsewhere are decided with --server URL", path, exit.Reason(err))
	}
	return nil
}

// KeyVariable holds the credential, because other users of the machine can read command lines.
const KeyVariable = "HATCHEL_KEY"

// NewClient returns the client of a server, given its base URL or that of its MCP endpoint, and where it was given. It
// sends the key of the environment, if there is one; with needsKey there must be one. Errors are those of package exit.
func NewClient(given, address, version string, needsKey bool) (*server.Client, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil || u.RawQuery != "" ||
		u.Fragment != "" {
		// The address is not quoted: it may have a password.
		const text = "%s requires the URL of a server, as in https://example.com, without user, query and fragment"
		return nil, exit.Misusef(text, given)
	}
	key := os.Getenv(KeyVariable)
	switch {
	case key == "" && needsKey:
		return nil, exit.Misusef("%s requires your API key or token in the environment variable %s", given, KeyVariable)
	case key != "" && u.Scheme == "http" && !server.IsLoopback(u.Host) && u.Hostname() != "localhost":
		return nil, exit.Misusef("%s: http would send the key to %s unencrypted. Use https", given, u.Host)
	case strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }):
		return nil, exit.Misusef("%s: the value of %s is not a valid key", given, KeyVariable)
	}
	base := strings.TrimSuffix(strings.TrimSuffix(u.Scheme+"://"+u.Host+u.EscapedPath(), "/"), "/mcp")
	return server.NewClient(base, key, "hatchel/"+version), nil
}
