package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"hatchel/hcl"
	"hatchel/runtime"
	"hatchel/runtime/state"
)

// stateOf is what a server of the folder dir remembers: where the state block says, but for a file in the one that was named, and without either in the one that is the
// folder's own. It is opened when something must be remembered, and not before.
func stateOf(file, dir string) *runtime.State {
	return runtime.NewDeclaredState(func(ctx context.Context, kept *hcl.State) (state.Store, error) {
		return openStore(ctx, file, dir, kept)
	}, func(kept *hcl.State) bool {
		path, err := stateFile(file, dir, kept)
		if err == nil {
			_, err = os.Stat(path)
		}
		return err == nil
	})
}

// openStore opens what a server of the folder dir remembers. Its error is a sentence.
func openStore(ctx context.Context, file, dir string, kept *hcl.State) (state.Store, error) {
	if kept != nil && kept.Postgres != "" {
		return openDatabase(ctx, file, kept)
	}
	path, err := stateFile(file, dir, kept)
	if err != nil {
		return nil, err
	}
	store, err := state.Open(ctx, path)
	if err != nil {
		return nil, fmt.Errorf("the file %s cannot be used: %w. Name another one with --state FILE", path, err)
	}
	return store, nil
}

func openDatabase(ctx context.Context, file string, kept *hcl.State) (state.Store, error) {
	if file != "" {
		return nil, fmt.Errorf("the state block at %s:%d says that it is kept in a database, which a file cannot stand for. Leave --state out", kept.Range.File, kept.Range.Start.Line)
	}
	store, err := state.OpenPostgres(ctx, kept.Postgres.Reveal())
	if err != nil {
		return nil, fmt.Errorf("the database of the state block at %s:%d cannot be used: %w", kept.Range.File, kept.Range.Start.Line, err)
	}
	return store, nil
}

// probeState asks the database of a state block whether it will work.
func probeState(ctx context.Context, kept *hcl.State) hcl.Diagnostics {
	if kept == nil || kept.Postgres == "" {
		return nil
	}
	if err := state.CheckPostgres(ctx, kept.Postgres.Reveal()); err != nil {
		return hcl.Diagnostics{{Summary: "State cannot be kept", Detail: "The database cannot be used: " + err.Error() + ".", Subject: kept.Range}}
	}
	return nil
}

// stateFile is the file of a state that is in no database.
func stateFile(named, dir string, kept *hcl.State) (string, error) {
	switch {
	case named != "":
		return named, nil
	case kept == nil:
		return ownFile(dir)
	case filepath.IsAbs(kept.SQLite):
		return kept.SQLite, nil
	}
	return filepath.Join(dir, kept.SQLite), nil
}

// ownFile is where the state of a folder is kept when nobody says where: where systemd says, or in the user's own place for such files.
func ownFile(dir string) (string, error) {
	if given, _, _ := strings.Cut(os.Getenv("STATE_DIRECTORY"), ":"); given != "" {
		return filepath.Join(given, "state.db"), nil
	}
	base := os.Getenv("XDG_STATE_HOME")
	if !filepath.IsAbs(base) {
		home := os.Getenv("HOME")
		if home == "" {
			return "", errors.New("there is no place for it: HOME is not set. Name a file with --state FILE")
		}
		base = filepath.Join(home, ".local", "state")
	}
	sum := sha256.Sum256([]byte(dir))
	return filepath.Join(base, "hatchel", filepath.Base(dir)+"-"+hex.EncodeToString(sum[:6])+".db"), nil
}
