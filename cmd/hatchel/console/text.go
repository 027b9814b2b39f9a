// Package console prints what commands show to a person.
package console

import (
	"cmp"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
)

// Plural returns a number of things, as in "1 tool" or "2 tools".
func Plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// Count is a number of things with a name.
type Count struct {
	N    int
	Noun string
}

// JoinCounts returns a phrase as in "2 tools, 1 prompt", or none when all numbers are 0.
func JoinCounts(separator, none string, counts ...Count) string {
	var parts []string
	for _, c := range counts {
		if c.N > 0 {
			parts = append(parts, Plural(c.N, c.Noun))
		}
	}
	return cmp.Or(strings.Join(parts, separator), none)
}

// CountDiagnostics returns a phrase as in "2 errors and 1 warning".
func CountDiagnostics(errors, warnings int) string {
	return JoinCounts(" and ", "no errors", Count{N: errors, Noun: "error"}, Count{N: warnings, Noun: "warning"})
}

// FolderName returns a directory as a sentence names it.
func FolderName(dir string) string {
	if filepath.Clean(dir) == "." {
		return "this directory"
	}
	return dir
}

// QuoteList returns a phrase as in `"a", "b" and "c"`. There must be a name.
func QuoteList(names []string) string {
	quoted := make([]string, len(names))
	for i, name := range names {
		quoted[i] = strconv.Quote(name)
	}
	if last := len(quoted) - 1; last > 0 {
		return strings.Join(quoted[:last], ", ") + " and " + quoted[last]
	}
	return quoted[0]
}

// FirstLine returns the first line of a text that is not blank.
func FirstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return line
}

// JoinLines collapses white space, so that a text fits into a table.
func JoinLines(text string) string { return strings.Join(strings.Fields(text), " ") }

// CountCapabilities returns a phrase as in "2 tools, 1 prompt".
func CountCapabilities(tools, prompts, resources, skills int) string {
	return JoinCounts(", ", "nothing", Count{tools, "tool"}, Count{prompts, "prompt"}, Count{resources, "resource"},
		Count{skills, "skill"})
}

// ServedLine returns what a server serves, as in "38 tools, revision 3f9a41c2, stale".
func ServedLine(tools, prompts, resources, skills int, revision string, stale bool) string {
	line := CountCapabilities(tools, prompts, resources, skills) + ", revision " + revision
	if stale {
		line += ", stale"
	}
	return line
}

// NoSecretCommands is a phrase for what commands that only read say of a value that they need.
const NoSecretCommands = "this command does not run it (only serve, call, read, prompt and validate --connect do, " +
	"with --allow-secret-commands)"
