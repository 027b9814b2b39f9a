package upstream

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"

	"hatchel/adapters"
	"hatchel/adapters/all"
	adapter "hatchel/adapters/mcp"
	"hatchel/cmd/hatchel/importer/mcp"
	"hatchel/hcl"
)

// Load loads generated files, by name, as a configuration whose relative paths start from dir, and returns its
// connection with a name.
func Load(files map[string][]byte, dir, name string, o hcl.Options) (*hcl.Connection, error) {
	temp, err := os.MkdirTemp("", "hatchel-import-*")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(temp)
	for file, src := range files {
		if err := os.WriteFile(filepath.Join(temp, file), src, 0o600); err != nil {
			return nil, err
		}
	}
	o.Dir = dir
	config, diags := hcl.Load(os.DirFS(temp), all.Set().Kinds(), o)
	for _, d := range diags {
		if d.Severity == hcl.Error {
			return nil, errors.New(d.Summary + ": " + d.Text())
		}
	}
	i := slices.IndexFunc(config.Connections, func(c *hcl.Connection) bool { return c.Kind == "mcp" && c.Name == name })
	switch {
	case i < 0:
		return nil, errors.New("the connection was not written")
	case config.Connections[i].Incomplete():
		return nil, errors.New("its connection needs a value that is missing")
	}
	return config.Connections[i], nil
}

// Ask opens a connection and lists the tools of its server. The program of a connection is started in its sandbox,
// and ends before Ask returns. The directory of the configuration need not exist yet.
func Ask(ctx context.Context, c *hcl.Connection, dir, version string, log *slog.Logger) (*mcp.Listing, error) {
	var cleanups []func() error
	defer func() {
		for _, cleanup := range slices.Backward(cleanups) {
			_ = cleanup() // nothing was changed
		}
	}()
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		temp, err := os.MkdirTemp("", "hatchel-import-*")
		if err != nil {
			return nil, err
		}
		defer os.RemoveAll(temp)
		dir = temp // of what is not there, programs can read nothing
	}
	connector, _ := all.Set().Connector(c.Kind)
	handle, err := connector.Open(ctx, c, adapters.Env{
		Dir: dir, ConnectionName: c.Name, Log: log, Version: version, Inspect: true,
		Defer: func(cleanup func() error) { cleanups = append(cleanups, cleanup) },
	})
	if err != nil {
		return nil, err
	}
	found, err := adapter.List(ctx, handle)
	if err != nil {
		return nil, err
	}
	l := &mcp.Listing{Instructions: found.Instructions, Protocol: found.Protocol, Unstable: found.Unstable}
	for _, t := range found.Tools {
		l.Add(t)
	}
	return l, nil
}
