// Package upstream finds out what MCP servers offer, for an import: it installs their programs, opens their
// connections as a server would, and lists their tools.
package upstream

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"hatchel/cmd/hatchel/importer/mcp"
	"hatchel/internal/cut"
	"hatchel/internal/printable"
)

// installTime is how long the installation of a package may take.
const installTime = 10 * time.Minute

// Installer installs the packages of servers into a configuration directory, each once.
type Installer struct {
	Dir   string // absolute
	Notes io.Writer
	// DryRun installs nothing. A package that is not installed is an error.
	DryRun bool
}

// errNotInstalled is returned for what a dry run would install.
var errNotInstalled = errors.New("its package is not installed, and a dry run installs nothing")

// Install installs a package, unless the directory has it, and returns its program.
func (i *Installer) Install(ctx context.Context, server string, p mcp.Package) (mcp.Program, error) {
	ctx, cancel := context.WithTimeout(ctx, installTime)
	defer cancel()
	if p.Python {
		return i.python(ctx, server, p)
	}
	return i.npm(ctx, p)
}

// run prints a command and runs it. Its output is printed if it fails.
func (i *Installer) run(ctx context.Context, words []string) error {
	if i.DryRun {
		return errNotInstalled
	}
	fmt.Fprintf(i.Notes, "$ %s\n", strings.Join(words, " "))
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	var out bytes.Buffer
	cmd.Dir, cmd.Stdout, cmd.Stderr = i.Dir, &out, &out
	cmd.WaitDelay = 5 * time.Second
	if err := cmd.Run(); err != nil {
		if errors.Is(err, exec.ErrNotFound) {
			return fmt.Errorf("%s is not installed", words[0])
		}
		text := strings.TrimSpace(out.String())
		if len(text) > maxOutput {
			text = "… " + text[cut.Before(text, len(text)-maxOutput):]
		}
		fmt.Fprintln(i.Notes, printable.Reveal(text, "\n\t"))
		return fmt.Errorf("%s has failed: %w", words[0], err)
	}
	return nil
}

// maxOutput is how much of the output of a command that fails is printed, in bytes.
const maxOutput = 2000

// makeDir makes a directory below the configuration directory, with a file that stays if it exists.
func (i *Installer) makeDir(dir, name string, content []byte) error {
	if i.DryRun {
		return errNotInstalled
	}
	dir = filepath.Join(i.Dir, filepath.FromSlash(dir))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(filepath.Join(dir, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return nil
	} else if err != nil {
		return err
	}
	_, err = f.Write(content)
	return errors.Join(err, f.Close())
}

// ignore adds a line to .gitignore of the configuration directory, unless it has it.
func (i *Installer) ignore(line string) error {
	if i.DryRun {
		return nil
	}
	name := filepath.Join(i.Dir, ".gitignore")
	src, err := os.ReadFile(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if slices.Contains(strings.Split(string(src), "\n"), line) {
		return nil
	}
	if len(src) > 0 && !bytes.HasSuffix(src, []byte("\n")) {
		src = append(src, '\n')
	}
	return os.WriteFile(name, append(src, line+"\n"...), 0o644)
}
