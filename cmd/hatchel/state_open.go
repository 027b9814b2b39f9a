package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"hatchel/cmd/hatchel/console"
	"hatchel/hcl"
	"hatchel/runtime/durable/state"
	"hatchel/runtime/edge/server"
)

// stateFlags are the flags of commands that work with what a server keeps in its state, or ask the server.
type stateFlags struct {
	loadFlags
	signInFlags
	dir    string
	state  string
	server string
	asJSON bool

	place statePlace // of the state that was opened
}

func (f *stateFlags) register(cmd *cobra.Command) {
	f.loadFlags.register(cmd)
	dirFlag(cmd, &f.dir)
	fs := cmd.Flags()
	fs.StringVar(&f.state, "state", "", "state `FILE` of the server, if it is served with --state")
	fs.StringVar(&f.server, "server", "", "`URL` of a server that is asked, for example https://tools.example.com")
	f.signInFlags.register(cmd)
	fs.BoolVar(&f.asJSON, "json", false, "print JSON")
}

// openState opens the state of the folder, and returns its configuration. It warns if another state may be meant.
func (f *stateFlags) openState(cmd *cobra.Command) (state.Store, *hcl.Config, error) {
	folder, err := f.decode(cmd.Context(), f.dir, cmd.ErrOrStderr())
	if err != nil {
		return nil, nil, err
	}
	store, place, err := openLocalState(cmd.Context(), stateFolder{
		Config: folder.config, Diags: folder.diags, Name: f.dir, Dir: folder.dir,
	}, f.state)
	if f.place = place; err != nil {
		return nil, nil, err
	}
	if text := place.Warning(); text != "" {
		fmt.Fprintln(cmd.ErrOrStderr(), "hatchel: "+text)
	}
	return store, folder.config, nil
}

// stateFolder is a configuration whose state is opened.
type stateFolder struct {
	Config    *hcl.Config
	Diags     hcl.Diagnostics
	Name, Dir string // as it was named, and its absolute path
}

// statePlace is the state that was opened.
type statePlace struct {
	Name  string // of the file, or of the database
	File  server.StateFile
	Other *server.StateFile // another state that may be meant; nil for none
}

// String names the state and when it was last changed, as in a sentence.
func (p statePlace) String() string {
	if p.File.Served.IsZero() {
		return p.Name
	}
	return "the state " + p.Name + ", last changed " + lastChanged(p.File)
}

func lastChanged(f server.StateFile) string {
	if now := time.Now(); now.Sub(f.Served) > time.Second {
		return relativeTime(f.Served, now)
	}
	return "just now"
}

// Warning says that another state may be meant; empty for none.
func (p statePlace) Warning() string {
	switch {
	case p.Other == nil:
		return ""
	case p.Other.Err != nil:
		return fmt.Sprintf("%s may be the state of the service, and cannot be read: %s. This is %s",
			p.Other.Path, reason(p.Other.Err), p)
	}
	return fmt.Sprintf("there are two states: this is %s; %s was last changed %s, and --state %[2]s reads it", p,
		p.Other.Path, lastChanged(*p.Other))
}

// locateState finds the state: that of --state, that of the state block, or else the default file of the user, or
// of the packaged unit, which has another one. The unit's is preferred for the directory that it serves, and used if
// the user has none.
func locateState(folder stateFolder, file string, unit server.StateFile) (statePlace, error) {
	block := folder.Config.State
	if block != nil && block.Postgres != "" {
		return statePlace{Name: "the database of the state block"}, nil
	}
	path, err := server.StatePath(file, folder.Dir, block)
	if err != nil {
		return statePlace{}, failf("%s", err)
	}
	own := server.FindStateFile(path)
	place := statePlace{Name: path, File: own}
	inDefault := file == "" && (block == nil || block.InDefault)
	if inDefault && path != unit.Path && (unit.Err != nil || !unit.Served.IsZero()) {
		if unit.Err == nil && (own.Served.IsZero() || folder.Dir == server.UnitFolder) {
			place, own, unit = statePlace{Name: unit.Path, File: unit}, unit, own
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
		"state of a server with --state FILE is read with the same flag, and a server elsewhere is asked with "+
		"--server URL", path)
}

// isAudited reports whether a configuration declares an audit log.
func isAudited(cfg *hcl.Config) bool {
	return cfg.Audit != nil && (cfg.Audit.Stdout || cfg.Audit.File != "" || cfg.Audit.Postgres != "")
}

// openLocalState opens the state of a configuration: that in a file, or the one that it declares. Errors in the
// configuration matter only when they hide where the state is and no file is named: tools may need secrets that an
// operator does not have.
func openLocalState(
	ctx context.Context, folder stateFolder, file string,
) (state.Store, statePlace, error) {
	cfg, name := folder.Config, folder.Name
	if folder.Diags.HasErrors() && file == "" && !knowsState(cfg) {
		return nil, statePlace{}, failf("%s has %s, and the location of its state is unknown: "+
			"run hatchel validate %s, or name the file with --state",
			name, console.CountDiagnostics(folder.Diags.Counts()), name)
	}
	if cfg.UnreadSecrets && file == "" && !knowsState(cfg) {
		return nil, statePlace{}, failf("the state of %s is where a secret says that a command prints, and %s: "+
			"use --server URL, or name the file with --state", name, console.NoSecretCommands)
	}
	place, err := locateState(folder, file, server.FindStateFile(server.UnitStateFile))
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
	return store, place, nil
}

// knowsState reports whether a configuration with errors declares the location of the state.
func knowsState(cfg *hcl.Config) bool {
	if cfg.State == nil {
		return !cfg.Partial
	}
	return cfg.State.SQLite != "" || cfg.State.Postgres != "" || cfg.State.InDefault
}
