package shell

import (
	"bufio"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"hatchel/hcl"
)

// maxShebang is how long a #! line may be, as on Linux.
const maxShebang = 256

// scriptFileCommand returns the command that runs a script in the configuration directory. The file need not be
// executable. The error blames field, which holds the name.
func scriptFileCommand(configDir string, field *string) ([]string, error) {
	name := *field
	if !filepath.IsLocal(name) {
		return nil, hcl.Blame(field, "A script file must be in the configuration directory: %q must be relative and "+
			"must not leave it with \"..\".", name)
	}
	f, err := os.OpenInRoot(configDir, name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, hcl.Blame(field, "The configuration directory has no file %q.", name)
	case errors.Is(err, fs.ErrPermission):
		return nil, hcl.Blame(field, "The file %q cannot be read: permission denied.", name)
	case err != nil:
		return nil, hcl.Blame(field, "The file %q cannot be opened within the configuration directory. A symbolic "+
			"link may lead out of it.", name)
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, hcl.Blame(field, "%q is not a regular file.", name)
	}
	line, err := bufio.NewReader(io.LimitReader(f, maxShebang)).ReadString('\n')
	if err != nil && err != io.EOF {
		return nil, hcl.Blame(field, "The file %q cannot be read.", name)
	}
	return append(parseShebang(line), filepath.Join(configDir, name)), nil
}

// parseShebang returns the interpreter of a #! line, with the rest of the line as one argument, as Linux does.
func parseShebang(line string) []string {
	line, ok := strings.CutPrefix(strings.TrimRight(line, "\r\n"), "#!")
	if line = strings.TrimSpace(line); !ok || line == "" {
		return []string{"/bin/sh"}
	}
	if i := strings.IndexAny(line, " \t"); i >= 0 {
		return []string{line[:i], strings.TrimSpace(line[i:])}
	}
	return []string{line}
}
