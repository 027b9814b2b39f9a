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

	"hatchel/runtime"
	"hatchel/runtime/state"
)

// stateOf is what a server of the folder dir remembers, in the file that was named or in the one that is the folder's own. The file is opened when something must be
// remembered, and not before.
func stateOf(file, dir string) *runtime.State {
	return runtime.NewState(func(ctx context.Context) (state.Store, error) {
		path := file
		if path == "" {
			var err error
			if path, err = stateFile(dir); err != nil {
				return nil, err
			}
		}
		store, err := state.Open(ctx, path)
		if err != nil {
			return nil, fmt.Errorf("the file %s cannot be used: %w. Name another one with --state FILE", path, err)
		}
		return store, nil
	})
}

// stateFile is where the state of a folder is kept when nobody says where: where systemd says, or in the user's own place for such files.
func stateFile(dir string) (string, error) {
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
