package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"hatchel/cmd/hatchel/console"
	"hatchel/hcl"
	"hatchel/internal/hostname"
	"hatchel/internal/lazyregexp"
	"hatchel/runtime/edge/server"
)

// approvalsFolder is a configuration whose approvals are opened.
type approvalsFolder struct {
	Config    *hcl.Config
	Diags     hcl.Diagnostics
	Name, Dir string // as it was named, and its absolute path
}

// approvalsPlace is the state that was opened.
type approvalsPlace struct {
	Name  string // of the file, or of the database
	File  server.StateFile
	Other *server.StateFile // another state that may be meant; nil for none
}

// String names the state and when it was last served, as in a sentence.
func (p approvalsPlace) String() string {
	if p.File.Served.IsZero() {
		return p.Name
	}
	return "the state " + p.Name + ", last served " + lastServed(p.File)
}

func lastServed(f server.StateFile) string {
	if now := time.Now(); now.Sub(f.Served) > time.Second {
		return relativeTime(f.Served, now)
	}
	return "just now"
}

// Warning says that another state may be meant; empty for none.
func (p approvalsPlace) Warning() string {
	switch {
	case p.Other == nil:
		return ""
	case p.Other.Err != nil:
		return fmt.Sprintf("%s may be the state of the service, and cannot be read: %s. This is %s",
			p.Other.Path, reason(p.Other.Err), p)
	}
	return fmt.Sprintf("there are two states: this is %s; %s was last served %s, and --state %[2]s reads it", p,
		p.Other.Path, lastServed(*p.Other))
}

// locateApprovals finds the state: that of --state, that of the state block, or else the default file of the user, or
// of the packaged unit, which has another one. The unit's is preferred for the directory that it serves, and used if
// the user has none.
func locateApprovals(folder approvalsFolder, file string, unit server.StateFile) (approvalsPlace, error) {
	block := folder.Config.State
	if block != nil && block.Postgres != "" {
		return approvalsPlace{Name: "the database of the state block"}, nil
	}
	path, err := server.StatePath(file, folder.Dir, block)
	if err != nil {
		return approvalsPlace{}, failf("%s", err)
	}
	own := server.FindStateFile(path)
	place := approvalsPlace{Name: path, File: own}
	if file == "" && block == nil && path != unit.Path && (unit.Err != nil || !unit.Served.IsZero()) {
		if unit.Err == nil && (own.Served.IsZero() || folder.Dir == server.UnitFolder) {
			place, own, unit = approvalsPlace{Name: unit.Path, File: unit}, unit, own
		}
		if unit.Err != nil || !unit.Served.IsZero() {
			place.Other = &unit
		}
	}
	switch {
	case !own.Served.IsZero():
		return place, nil
	case own.Err != nil:
		return place, failf("%s cannot be read: %s", path, reason(own.Err))
	case place.Other != nil:
		return place, failf("%s does not exist, and %s, which may be the state of the service, cannot be "+
			"read: %s. Run the command as root, or use --server URL", path, place.Other.Path, reason(place.Other.Err))
	}
	if len(folder.Config.Sources) == 0 && file == "" {
		return place, failf("%s has no .hcl files, and no state: name the directory of the configuration, or the "+
			"state with --state FILE", folder.Name)
	}
	return place, failf("%s cannot be read: it does not exist. A server creates it when it first needs it. The "+
		"state of a server with --state FILE is read with the same flag, and approvals of a server elsewhere are "+
		"decided with --server URL", path)
}

// openLocalApprovals opens the state of a configuration: that in a file, or the one that it declares. Errors in the
// configuration matter only when they hide where the state is and no file is named: tools may need secrets that an
// operator does not have.
func openLocalApprovals(
	ctx context.Context, folder approvalsFolder, file, user string,
) (*localApprovals, approvalsPlace, error) {
	cfg, name := folder.Config, folder.Name
	if folder.Diags.HasErrors() && file == "" && !knowsState(cfg) {
		return nil, approvalsPlace{}, failf("%s has %s, and the location of its state is unknown: "+
			"run hatchel validate %s, or name the file with --state",
			name, console.CountDiagnostics(folder.Diags.Counts()), name)
	}
	if cfg.UnreadSecrets && file == "" && !knowsState(cfg) {
		return nil, approvalsPlace{}, failf("the state of %s is where a secret says that a command prints, and %s: "+
			"use --server URL, or name the file with --state", name, console.NoSecretCommands)
	}
	place, err := locateApprovals(folder, file, server.FindStateFile(server.UnitStateFile))
	if err != nil {
		return nil, place, err
	}
	if place.File.Path != "" {
		file = place.File.Path // which must exist, because opening it would create it
	}
	store, err := server.OpenState(ctx, file, folder.Dir, cfg.State)
	if err != nil {
		return nil, place, failf("%s", err)
	}
	audited := cfg.Audit != nil && (cfg.Audit.Stdout || cfg.Audit.File != "" || cfg.Audit.Postgres != "")
	return newLocalApprovals(ctx, store, user, audited), place, nil
}

// knowsState reports whether a configuration with errors declares the location of the state.
func knowsState(cfg *hcl.Config) bool {
	if cfg.State == nil {
		return !cfg.Partial
	}
	return cfg.State.SQLite != "" || cfg.State.Postgres != ""
}

// keyVariable holds the credential, because other users of the machine can read command lines.
const keyVariable = "HATCHEL_KEY"

// plainAddress matches a host with a port and nothing that could be a password.
var plainAddress = lazyregexp.New(`^[A-Za-z0-9.-]+:[0-9]{1,5}$`)

// checkAddress checks the URL of a server, and where it was given, and returns the key of the environment for it; with
// needsKey there must be one.
func checkAddress(given, address string, needsKey bool) (key string, err error) {
	u, problem := hostname.ParseURL(address, 0)
	if problem != "" {
		if plainAddress.MatchString(address) {
			scheme := "https"
			if server.IsLoopback(address) || strings.HasPrefix(address, "localhost:") {
				scheme = "http"
			}
			return "", misusef("%s requires the URL of a server: write %s://%s", given, scheme, address)
		}
		// The address is not quoted: it may have a password.
		return "", misusef("%s requires the URL of a server, as in https://example.com: %s", given, problem)
	}
	key = os.Getenv(keyVariable)
	switch {
	case key == "" && needsKey:
		return "", misusef("%s requires your API key or token in the environment variable %s", given, keyVariable)
	case key != "" && hostname.IsReadable(u):
		return "", misusef("%s: http would send the key to %s unencrypted. Use https", given, u.Host)
	case strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }):
		return "", misusef("%s: the value of %s is not a valid key", given, keyVariable)
	}
	return key, nil
}

// newNamedClient returns the client of a server, given its base URL or that of its MCP endpoint, and where it was
// given. It sends the key of the environment, if there is one; with needsKey there must be one.
func newNamedClient(given, address string, needsKey bool) (*server.Client, error) {
	key, err := checkAddress(given, address, needsKey)
	if err != nil {
		return nil, err
	}
	base := strings.TrimSuffix(strings.TrimSuffix(address, "/"), "/mcp")
	return server.NewClient(base, key, "hatchel/"+release()), nil
}
