package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hatchel/hcl"
	"hatchel/runtime/edge/server"
)

func TestTheStateOfTheUnitIsFoundAndTwoStatesAreNamed(t *testing.T) {
	home, dir := t.TempDir(), t.TempDir()
	t.Setenv("XDG_STATE_HOME", home)
	t.Setenv("STATE_DIRECTORY", "")
	folder := stateFolder{Config: &hcl.Config{}, Name: "tools", Dir: dir}
	own, err := server.StatePath("", dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	unit := filepath.Join(dir, "state.db")
	touch := func(path string, age time.Duration) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, time.Time{}, time.Now().Add(-age)); err != nil {
			t.Fatal(err)
		}
	}
	check := func(what, file, want, warning string) {
		t.Helper()
		place, err := locateState(folder, file, server.FindStateFile(unit))
		text := place.String()
		if err != nil {
			text = err.Error()
		}
		if !strings.Contains(text, want) || (warning == "") != (place.Warning() == "") || !strings.Contains(place.Warning(), warning) {
			t.Errorf("%s: %s (%s)", what, text, place.Warning())
		}
	}
	check("no configuration", "", "tools has no .hcl files, and no state: name the directory of the configuration", "")
	check("a named one that is missing", unit+"x", unit+"x cannot be read: it does not exist", "")
	folder.Config.Sources = map[string][]byte{"tools.hcl": nil}
	check("none", "", own+" cannot be read: it does not exist. A server creates it when it first needs it", "")
	touch(unit, 3*time.Hour)
	check("that of the unit", "", "the state "+unit+", last changed 3h0m", "")
	touch(own, 2*time.Minute)
	check("both", "", "the state "+own+", last changed 2m", "there are two states: this is the state "+own)
	check("both", "", "", unit+" was last changed 3h0m0s ago, and --state "+unit+" reads it")
	check("a named one", unit, "the state "+unit, "")
	touch(own+"-wal", 0)
	check("a journal", "", "last changed just now", "two states")
	folder.Dir = server.UnitFolder
	if own, err = server.StatePath("", server.UnitFolder, nil); err != nil {
		t.Fatal(err)
	}
	touch(own, time.Minute)
	check("the directory of the unit", "", "the state "+unit, "two states: this is the state "+unit)
	folder.Config.State = &hcl.State{InDefault: true}
	check("a state block with keys alone", "", "the state "+unit, "two states: this is the state "+unit)
	folder.Config.State = &hcl.State{SQLite: own}
	check("a state block", "", "the state "+own, "")
	folder.Config.State = &hcl.State{Postgres: "postgres://x"}
	check("a database", "", "the database of the state block", "")
}

func TestAStateOfTheUnitThatCannotBeReadIsNamed(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	t.Setenv("STATE_DIRECTORY", "")
	folder := stateFolder{Config: &hcl.Config{}, Name: "tools", Dir: t.TempDir()}
	unit := server.StateFile{Path: "/var/lib/hatchel/state.db", Err: os.ErrPermission}
	_, err := locateState(folder, "", unit)
	if err == nil || !strings.Contains(err.Error(), "/var/lib/hatchel/state.db, which may be the state of the service, cannot be read: permission denied") {
		t.Errorf("%v", err)
	}
}

func TestTimesAreRelative(t *testing.T) {
	now := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	for d, want := range map[time.Duration]string{
		-300 * time.Millisecond: "just now", -2 * time.Second: "2s ago", 0: "in 0s", 118 * time.Second: "in 1m58s",
		-3*time.Hour - 5*time.Second: "3h0m0s ago",
	} {
		if got := relativeTime(now.Add(d), now); got != want {
			t.Errorf("%s: %q, want %q", d, got, want)
		}
	}
}
