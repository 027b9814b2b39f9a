package main

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"hatchel/adapters"

	"hatchel/adapters/all"
	"hatchel/cmd/hatchel/console"
	"hatchel/cmd/hatchel/importer"
	"hatchel/cmd/hatchel/review"
	"hatchel/hcl"
	"hatchel/hcl/surface"
	"hatchel/runtime/load/access"
	"hatchel/runtime/load/source"
)

// importIgnores returns what a configuration directory excludes.
func importIgnores(dir string) (func(name string) bool, error) {
	text, err := source.ReadRegularFile(filepath.Join(dir, source.IgnoreFile), 1<<20)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return source.Ignores(text)
}

// checkBlocks reports the first mistake of blocks. The values of secrets, and of variables without a default, are
// unknown. Its error is an importer.Warnings if they load with warnings.
func checkBlocks(blocks ...string) error {
	dir, err := os.MkdirTemp("", "hatchel-import-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	text := strings.Join(blocks, "\n")
	if err := os.WriteFile(filepath.Join(dir, "import.hcl"), []byte(text), 0o600); err != nil {
		return err
	}
	_, diags := hcl.Load(os.DirFS(dir), all.Set().Kinds(), hcl.Options{Dir: dir, UnsetVars: true}.ForCheck())
	var warnings importer.Warnings
	for _, d := range diags {
		if d.Severity == hcl.Error {
			return errors.New(d.Summary + ": " + d.Text())
		}
		warnings = append(warnings, d.Summary+": "+d.Detail)
	}
	if warnings != nil {
		return warnings
	}
	return nil
}

// findDatabase returns the connection with a name, or with a kind and a name.
func findDatabase(connections []*hcl.Connection, name string) (*hcl.Connection, error) {
	var found []*hcl.Connection
	var names []string
	for _, c := range connections {
		full := c.Kind + "." + c.Name
		if c.Kind != "postgres" && c.Kind != "mysql" && c.Kind != "sqlite" {
			continue
		}
		names = append(names, full)
		if name == c.Name || name == full {
			found = append(found, c)
		}
	}
	switch {
	case len(names) == 0:
		return nil, misusef(`there is no connection to a database; hatchel init --from postgres, mysql or ` +
			`sqlite writes one`)
	case len(found) == 0:
		return nil, misusef("there is no connection %q to a database; there is %s", name,
			strings.Join(names, ", "))
	case len(found) > 1:
		return nil, misusef("%q names several connections: %s", name, strings.Join(names, ", "))
	case found[0].Incomplete():
		return nil, failf("connection %q needs a value that is missing", name)
	}
	return found[0], nil
}

// openDatabase opens a connection of a directory for reading, until closeAll is called.
func openDatabase(
	ctx context.Context, conn *hcl.Connection, dir string,
) (handle any, closeAll func(), err error) {
	var cleanups []func() error
	closeAll = func() {
		for _, cleanup := range slices.Backward(cleanups) {
			_ = cleanup() // nothing was changed
		}
	}
	connector, _ := all.Set().Connector(conn.Kind)
	handle, err = connector.Open(ctx, conn, adapters.Env{
		Dir: dir, Log: slog.New(slog.DiscardHandler), Version: release(), Inspect: true,
		Defer: func(cleanup func() error) { cleanups = append(cleanups, cleanup) },
	})
	if err != nil {
		closeAll()
		return nil, nil, failf("connection %q cannot be opened: %s", conn.Name, reason(err))
	}
	return handle, closeAll, nil
}

// importUpdate is a directory before an import with --update.
type importUpdate struct {
	dir    string
	folder *source.Folder
	before *source.Snapshot
}

// beginUpdate reads a directory before an import changes it. It returns nil if there is none.
func beginUpdate(ctx context.Context, dir string) *importUpdate {
	folder, err := source.NewFolder(dir)
	if err != nil {
		return nil
	}
	before, err := folder.Snapshot(ctx)
	if err != nil {
		return nil
	}
	return &importUpdate{dir, folder, before}
}

// Keep keeps the content that files have now, which the import replaces. Other files than *.hcl are read when they are
// needed, and so after the import.
func (u *importUpdate) Keep(files map[string][]byte) {
	now := map[string][]byte{}
	for name := range files {
		if content, err := u.before.ReadFile(name); err == nil {
			now[name] = content
		}
	}
	u.before = u.before.With(now)
}

// Compare returns the differences between the directory before the import and after it; what a dry run has not written
// is in its report. It needs no values of secrets and variables. It fails if the directory does not load before the
// import or after it.
func (u *importUpdate) Compare(
	ctx context.Context, report *importer.Report, dryRun bool, options func(*source.Folder) (hcl.Options, error),
) (*review.Report, error) {
	load, err := options(u.folder)
	if err != nil {
		return nil, err
	}
	load.UnsetVars = true
	after, name := u.before.With(report.Contents), console.FolderName(u.dir)
	if !dryRun {
		if after, err = u.folder.Snapshot(ctx); err != nil {
			return nil, failf("%s cannot be read: %s", name, reason(err))
		}
	}
	diff, err := review.Between(u.dir, name, func(side int) (*hcl.Config, hcl.Diagnostics) {
		return hcl.Load([]*source.Snapshot{u.before, after}[side], all.Set().Kinds(), load)
	}, func(config *hcl.Config) *surface.Surface { return access.Surface(config, load.Parallel) })
	if err != nil {
		return nil, failf("%s", err)
	}
	return diff, nil
}
