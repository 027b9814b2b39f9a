package server

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"hatchel/hcl"
	"hatchel/internal/sqlitefile"
	"hatchel/runtime/durable/state"
	"hatchel/runtime/durable/store"
)

// NewState returns the state of a server of the directory dir, opened when it is first needed. The
// state block says where it is; --state replaces the file; without either it is in the default
// file.
func NewState(ctx context.Context, file, dir string) *store.State {
	return store.NewDeclared(ctx, func(ctx context.Context, block *hcl.State) (state.Store, error) {
		return OpenState(ctx, file, dir, block)
	}, func(block *hcl.State) bool {
		path, err := StatePath(file, dir, block)
		if err == nil && file == "" {
			_, err = os.Stat(path)
		}
		return err == nil
	})
}

// OpenState opens the state store. The error is a sentence.
func OpenState(ctx context.Context, file, dir string, block *hcl.State) (state.Store, error) {
	if isInDatabase(block) {
		return openDatabase(ctx, file, block)
	}
	path, err := StatePath(file, dir, block)
	if err != nil {
		return nil, err
	}
	store, err := state.Open(ctx, path)
	if errors.Is(err, sqlitefile.ErrNotIncluded) {
		return nil, fmt.Errorf("the state would be in the SQLite database %s, and %w", path, err)
	}
	if err != nil {
		return nil, fmt.Errorf("the state file %s cannot be used: %w. Choose another one with --state FILE", path, err)
	}
	return store, nil
}

func openDatabase(ctx context.Context, file string, block *hcl.State) (state.Store, error) {
	place := fmt.Sprintf("%s:%d", block.Range.File, block.Range.Start.Line)
	if file != "" {
		const text = "the state block at %s names a database, which --state cannot replace. Omit --state"
		return nil, fmt.Errorf(text, place)
	}
	store, err := state.OpenPostgresThrough(ctx, block.Postgres.Reveal(), block.Listen.Reveal())
	if err != nil {
		return nil, fmt.Errorf("the database of the state block at %s cannot be used: %w", place, err)
	}
	return store, nil
}

func isInDatabase(block *hcl.State) bool { return block != nil && block.Postgres != "" }

// CheckState checks that the database of a state block can be used.
func CheckState(ctx context.Context, block *hcl.State) hcl.Diagnostics {
	if !isInDatabase(block) {
		return nil
	}
	if err := state.CheckPostgres(ctx, block.Postgres.Reveal(), block.Listen.Reveal()); err != nil {
		return hcl.Diagnostics{{
			Summary: "State store not usable",
			Detail:  "The database cannot be used: " + err.Error() + ".",
			Subject: block.Range,
		}}
	}
	return nil
}

// StatePath returns the file of a state that is in no database.
func StatePath(file, dir string, block *hcl.State) (string, error) {
	switch {
	case file != "":
		return file, nil
	case block == nil || block.SQLite == "":
		return defaultStatePath(dir)
	case filepath.IsAbs(block.SQLite):
		return block.SQLite, nil
	}
	return filepath.Join(dir, block.SQLite), nil
}

// UnitStateFile is the state of the packaged unit of systemd, whose StateDirectory is hatchel, and UnitFolder the
// directory that the unit serves.
const (
	UnitStateFile = "/var/lib/hatchel/state.db"
	UnitFolder    = "/etc/hatchel/tools"
)

// StateFile is a file that may have the state of a directory.
type StateFile struct {
	Path   string
	Served time.Time // when it was changed last, by a server or by a command; zero if it does not exist
	Err    error     // why it cannot be looked at; nil if it is there or not
}

// FindStateFile looks at a state file. The files of SQLite beside it count, too: they exist while it is open.
func FindStateFile(path string) StateFile {
	f := StateFile{Path: path}
	info, err := os.Stat(path)
	if err != nil {
		if !errors.Is(err, os.ErrNotExist) {
			f.Err = err
		}
		return f
	}
	f.Served = info.ModTime()
	for _, suffix := range []string{"-wal", "-shm"} {
		if journal, err := os.Stat(path + suffix); err == nil && journal.ModTime().After(f.Served) {
			f.Served = journal.ModTime()
		}
	}
	return f
}

// defaultStatePath returns the file for a directory.
func defaultStatePath(dir string) (string, error) {
	parent, ofService, err := stateDirectory()
	if ofService || err != nil {
		return filepath.Join(parent, "state.db"), err
	}
	sum := sha256.Sum256([]byte(dir))
	return filepath.Join(parent, filepath.Base(dir)+"-"+hex.EncodeToString(sum[:6])+".db"), nil
}

// stateDirectory returns the directory for files of the state: the one that systemd provides for this service, or that
// of the user, which all servers of the user share.
func stateDirectory() (dir string, ofService bool, err error) {
	if systemd, _, _ := strings.Cut(os.Getenv("STATE_DIRECTORY"), ":"); systemd != "" {
		return systemd, true, nil
	}
	base := os.Getenv("XDG_STATE_HOME")
	if !filepath.IsAbs(base) {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", false, errors.New("there is no default state file, because HOME is not set. " +
				"Choose one with --state FILE")
		}
		base = filepath.Join(home, ".local", "state")
	}
	return filepath.Join(base, "hatchel"), false, nil
}
