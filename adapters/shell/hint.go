package shell

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"hatchel/adapters"
	"hatchel/adapters/program"
	"hatchel/internal/lazyregexp"
)

// Hints are for the author of the tool. The model cannot change the sandbox.
var (
	errNoNetworkHint = errors.New("the sandbox of the tool has no network: write sandbox { network = true }")
	errFileHint      = errors.New("the sandbox of the tool may be the reason: programs read the system's files, the " +
		"files of the configuration directory that the command names, and what sandbox { read = […] } names, such as " +
		"a directory with a program and its modules; they write to TMPDIR and to what write = […] names")
)

// Messages that programs write when the kernel denies access to a file, when an interpreter may not list a directory
// and finds no module in it, and when there is no network. Programs that write in another language than English are
// recognised by the paths that they name alone.
var (
	fileDenied = lazyregexp.New(`(?i)permission denied|operation not permitted|insufficient permissions|` +
		`\bEACCES\b|\bEPERM\b|\berrno 13\b|\bos error 13\b`)
	moduleMissing = lazyregexp.New(`(?i)no module named|cannot find module|can't locate|cannot load such file`)
	networkDenied = lazyregexp.New(`(?i)could(?: not|n't) (?:connect|resolve)|failed to connect|network is ` +
		`unreachable|name resolution|resolve host|\bsocket\b`)
	programMissing = lazyregexp.New(`(?i)spawn(?:Sync)? (\S+) ENOENT|"([^"]+)": executable file not found|` +
		`can't exec "([^"]+)"|no such file or directory - (\S+)`)
)

// hinter finds out why programs of a sandbox may have failed.
type hinter struct {
	*commandPlan
	job   *job     // nil for a program that was not started
	lines []string // of the error output without secrets, the last one first; none is empty
}

// maxHintLines is how many lines of an output are searched for names.
const maxHintLines = 100

// newHinter returns a hinter for programs with an output.
func (p *commandPlan) newHinter(output string, j *job) *hinter {
	h := &hinter{commandPlan: p, job: j}
	for _, line := range slices.Backward(strings.Split(adapters.Scrub(output, p.secrets), "\n")) {
		if line = strings.TrimSpace(line); line != "" && len(h.lines) < maxHintLines {
			h.lines = append(h.lines, line)
		}
	}
	return h
}

// matches reports whether a line matches.
func (h *hinter) matches(re *lazyregexp.Regexp) bool {
	return slices.ContainsFunc(h.lines, re.MatchString)
}

// find returns what the author of the tool can write; nil for nothing. What the kernel has denied is a fact. What the
// output says is one where a path in it is one that the rules deny.
func (h *hinter) find(exitCode int) error {
	if h.sandbox == nil {
		return h.missingProgram(exitCode)
	}
	internet, local := false, false
	if h.job != nil && h.job.workspace != nil {
		internet, local = h.job.workspace.DeniedSockets()
	}
	if !h.sandbox.Network && (internet || h.matches(networkDenied) && (local || h.sandbox.Modes || h.job == nil)) {
		return errNoNetworkHint
	}
	for _, find := range []func() error{
		func() error { return h.missingProgram(exitCode) }, h.deniedPath, h.homePath,
	} {
		if err := find(); err != nil {
			return err
		}
	}
	switch {
	case local && !h.sandbox.Network:
		return errNoNetworkHint
	case h.matches(fileDenied), h.matches(moduleMissing):
		return errFileHint
	}
	return nil
}

// deniedPath returns the argument that lets programs at a path that they may not read, or else at one that they may
// not write, if something says that they were denied something.
func (h *hinter) deniedPath() error {
	var named, words []string
	for _, line := range h.lines {
		named = append(named, h.pathsIn(line)...)
	}
	for _, argv := range h.stages {
		for _, word := range argv[min(1, len(argv)):] {
			for _, m := range pathText.FindAllStringSubmatch(word, -1) {
				words = append(words, h.absolute(m[1]))
			}
			if _, err := os.Lstat(h.absolute(word)); err == nil {
				words = append(words, h.absolute(word))
			}
		}
	}
	denied := h.matches(fileDenied) || h.isLocalized()
	for _, search := range []struct {
		paths    []string
		argument func(path string) string
		applies  bool
	}{
		{named, h.readArgument, true}, {named, h.writeArgument, denied},
		{words, h.readArgument, true}, {words, h.writeArgument, denied},
	} {
		for _, path := range search.paths {
			if argument := search.argument(path); search.applies && argument != "" {
				return errors.New("the sandbox of the tool is the reason: write " + argument)
			}
		}
	}
	return nil
}

// readArgument returns the argument that lets programs read what is at a path; nothing if they may, or if the server
// may not either.
func (h *hinter) readArgument(path string) string {
	info, err := os.Stat(path)
	if h.isTemporary(path) || path == "/" || err != nil || !adapters.MayRead(path) {
		return ""
	}
	if read, _ := h.sandbox.Allows(path); read {
		return ""
	}
	if info.IsDir() || info.Mode()&0o111 != 0 {
		path = belowHome(path)
	}
	name := strconv.Quote(h.relative(path))
	return fmt.Sprintf("sandbox { read = [%s] }, or write = [%[1]s] if it is changed", name)
}

// writeArgument returns the argument that lets programs write what is at a path, or make it; nothing if they may, or if
// the server may not either. Programs are not written to.
func (h *hinter) writeArgument(path string) string {
	info, err := os.Stat(path)
	switch {
	case err != nil && strings.HasPrefix(filepath.Base(path), "-"):
		return ""
	case err != nil:
		path = filepath.Dir(path)
	case info.Mode().IsRegular() && info.Mode()&0o111 != 0:
		return ""
	}
	if h.isTemporary(path) || path == "/" || !adapters.MayWrite(path) {
		return ""
	}
	if _, write := h.sandbox.Allows(path); write {
		return ""
	}
	if h.sandbox.ContainsConfig(path) {
		return "dir = \"data\" and sandbox { write = [\"data\"] }, with a directory of its own: programs that write " +
			"to that of the configuration could change the tools"
	}
	return fmt.Sprintf("sandbox { write = [%q] }", h.relative(path))
}

// belowHome returns the directory directly below the home directory of the server's user that has a path, as a
// program needs more than one file of such as ~/.pyenv. Another path is returned as it is.
func belowHome(path string) string {
	home := os.Getenv("HOME")
	rest, ok := strings.CutPrefix(path, strings.TrimSuffix(home, "/")+"/")
	if !ok || home == "" || !strings.HasPrefix(rest, ".") {
		return path
	}
	first, _, _ := strings.Cut(rest, "/")
	return filepath.Join(home, first)
}

// homePath returns what lets programs at a file of the home directory of the server's user, if they have looked for it
// in their own, which is the temporary directory of the call.
func (h *hinter) homePath() error {
	home, temp := os.Getenv("HOME"), h.tempDir()
	if temp == "" || h.env.Get("HOME") != temp {
		return nil
	}
	const format = "HOME of the program is the temporary directory of the call: write inherit_env = [\"HOME\"] and " +
		"sandbox { read = [%q] }"
	for _, line := range h.lines {
		for _, path := range h.pathsIn(line) {
			name, ok := strings.CutPrefix(path, temp+"/")
			if !ok || home == "" {
				continue
			}
			real := filepath.Join(home, name)
			if _, err := os.Stat(real); err == nil {
				return fmt.Errorf(format, belowHome(real))
			}
		}
		if strings.Contains(line, "HOME") || strings.Contains(line, "~/") {
			return fmt.Errorf(format, "~/…")
		}
	}
	return nil
}

// missingProgram returns which program is not where programs look for others; nil for none.
func (h *hinter) missingProgram(exitCode int) error {
	const commandNotFound = 127 // of all shells
	for _, line := range h.lines {
		var names []string
		if m := programMissing.FindStringSubmatch(line); m != nil {
			names = m[1:]
		} else if exitCode == commandNotFound {
			names = append(quotedNames(line), strings.Split(line, ":")...)
		}
		for _, name := range names {
			name = strings.TrimSpace(name)
			if !programName.MatchString(name) || h.isStage(name) {
				continue
			}
			if _, err := program.SearchPath(name, h.env.Get("PATH")); err != nil {
				return fmt.Errorf("the program %s is not in the PATH of the tool, %s: install it there, or declare "+
					"env = { PATH = \"…\" } in its connection", name, h.env.Get("PATH"))
			}
		}
	}
	return nil
}

// programName matches the names of programs that a line may have between colons.
var programName = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_.+-]*$`)

// isStage reports whether a name is that of a program of the command itself.
func (h *hinter) isStage(name string) bool {
	return slices.ContainsFunc(h.stages, func(argv []string) bool { return filepath.Base(argv[0]) == name })
}

var (
	// quotedText matches what programs write between the quotation marks of many languages.
	quotedText = lazyregexp.New("['\"`‘“„«‚]([^'\"`‘’“”„«»‚]+)['\"`’”“»‘]")
	pathText   = lazyregexp.New("(?:^|[\\s'\"`‘“„«=:(\\[,])((?:\\.{1,2})?/[^\\s'\"`‘’“”„«»()\\[\\],;:]+)")
)

func quotedNames(line string) (names []string) {
	for _, m := range quotedText.FindAllStringSubmatch(line, -1) {
		names = append(names, m[1])
	}
	return names
}

// pathsIn returns what a line names and may be a path, absolute: what has a slash, and what is between quotation marks
// or colons.
func (h *hinter) pathsIn(line string) (paths []string) {
	add := func(name string) {
		if name = strings.TrimRight(strings.TrimSpace(name), ".,"); name != "" && !strings.HasPrefix(name, "//") {
			paths = append(paths, h.absolute(name))
		}
	}
	for _, name := range quotedNames(line) {
		if !strings.Contains(name, ":") {
			add(name)
		}
	}
	for _, m := range slices.Backward(pathText.FindAllStringSubmatch(line, -1)) { // the program itself comes first
		add(m[1])
	}
	if parts := strings.Split(line, ":"); len(parts) > 2 { // the program, what it is about, and why
		for _, part := range parts[1 : len(parts)-1] {
			words := strings.Fields(part)
			if len(words) > 0 && !strings.ContainsAny(words[len(words)-1], "0123456789/'\"") {
				add(words[len(words)-1])
			}
		}
	}
	return paths
}

// absolute returns a path in the working directory of the programs.
func (h *hinter) absolute(name string) string { return adapters.Absolute(h.dir, name) }

// relative returns a path as the configuration names it: one in its directory relative to that.
func (h *hinter) relative(path string) string {
	if name, err := filepath.Rel(h.sandbox.Config, path); err == nil && filepath.IsLocal(name) {
		return name
	}
	return path
}

// tempDir returns the temporary directory of the call; nothing for programs that were not started.
func (h *hinter) tempDir() string {
	if h.job == nil || h.job.workspace == nil {
		return ""
	}
	return h.job.workspace.TempDir()
}

// isTemporary reports whether programs may do anything at a path, because it belongs to the call.
func (h *hinter) isTemporary(path string) bool {
	temp := h.tempDir()
	return temp != "" && (path == temp || strings.HasPrefix(path, temp+"/")) ||
		h.uploads != "" && strings.HasPrefix(path, h.uploads)
}

// isLocalized reports whether programs may write messages in another language than English.
func (h *hinter) isLocalized() bool {
	for _, name := range []string{"LC_ALL", "LC_MESSAGES", "LANG"} {
		if locale := h.env.Get(name); locale != "" {
			language := h.env.Get("LANGUAGE")
			return language != "" ||
				!strings.HasPrefix(locale, "C") && locale != "POSIX" && !strings.HasPrefix(locale, "en")
		}
	}
	return false
}
