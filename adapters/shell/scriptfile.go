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

// longestInterpreter is how long a #! line may be, as on Linux.
const longestInterpreter = 256

// scriptFile is the command that runs a script below the folder of the configuration. The file need not be executable. Its error blames what
// was written.
func scriptFile(folder string, written *string) ([]string, error) {
	name := *written
	if !filepath.IsLocal(name) {
		return nil, hcl.Blame(written, "A script file is in the folder of the configuration: %q must be relative and must not climb out with \"..\".", name)
	}
	f, err := os.OpenInRoot(folder, name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, hcl.Blame(written, "There is no file %q in the folder of the configuration.", name)
	case errors.Is(err, fs.ErrPermission):
		return nil, hcl.Blame(written, "The file %q may not be read: permission denied.", name)
	case err != nil:
		return nil, hcl.Blame(written, "The file %q cannot be reached within the folder of the configuration; a link may lead out of it.", name)
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, hcl.Blame(written, "%q is not a file.", name)
	}
	line, err := bufio.NewReader(io.LimitReader(f, longestInterpreter)).ReadString('\n')
	if err != nil && err != io.EOF {
		return nil, hcl.Blame(written, "The file %q cannot be read.", name)
	}
	return append(interpreter(line), filepath.Join(folder, name)), nil
}

// interpreter is the program that a #! line names, with everything behind it as one word, as the system takes it.
func interpreter(line string) []string {
	line, ok := strings.CutPrefix(strings.TrimRight(line, "\r\n"), "#!")
	if line = strings.TrimSpace(line); !ok || line == "" {
		return []string{"/bin/sh"}
	}
	if i := strings.IndexAny(line, " \t"); i >= 0 {
		return []string{line[:i], strings.TrimSpace(line[i:])}
	}
	return []string{line}
}
