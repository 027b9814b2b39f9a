package shelltext

import (
	"path"
	"strings"
)

// readsProgram reports whether a command line contains no program for its interpreter, which then
// runs its input.
func readsProgram(words []word) (string, bool) {
	s, ok := newOptionScanner(words)
	if !ok {
		return "", false
	}
	s.run()
	switch {
	case s.inner > 0:
		return readsInnerProgram(words[s.inner:])
	case s.readsInput || s.always:
		return s.name, true
	case s.remote && s.firstCode > 0:
		return readsInnerProgram(remoteWords(words[s.firstCode:]))
	case !s.stdin:
		return "", false
	}
	for _, w := range words[1:] {
		if w.constant && (standardFile(w.text) || s.shell && w.text == "-s") {
			return s.name, true
		}
	}
	return s.name, !s.codeGiven && !s.hasC && (s.operands <= s.skip || s.operand == data)
}

// readsInnerProgram is readsProgram for the command that another program runs. An unknown program may be an
// argument of an unknown option.
func readsInnerProgram(words []word) (string, bool) {
	for i := range words {
		if _, _, known := lookup(words[i].text); known || i == len(words)-1 {
			return readsProgram(words[i:])
		}
	}
	return "", false
}

// remoteWords returns the words of a command line that the shell of another machine splits.
func remoteWords(words []word) (out []word) {
	for _, w := range words {
		if !w.constant {
			out = append(out, w)
		}
		for text := range strings.FieldsSeq(w.text) {
			out = append(out, word{text: text, constant: true})
		}
	}
	return out
}

// commandLines returns a command line and those inside of it: of sudo, or of find -exec.
func commandLines(words []word) [][]word {
	lines := [][]word{words}
	if words[0].constant && path.Base(words[0].text) == "find" {
		for _, inner := range execCommands(words) {
			if len(inner) > 0 {
				lines = append(lines, commandLines(inner)...)
			}
		}
	}
	if s, ok := newOptionScanner(words); ok {
		if s.run(); s.inner > 0 && !s.remote {
			lines = append(lines, commandLines(words[s.inner:])...)
		}
	}
	return lines
}

// programFiles returns the names of the files of code that a command line runs.
func programFiles(words []word) (files []word) {
	if program := words[0]; strings.Contains(program.text, "/") || !program.constant {
		files = append(files, program)
	}
	if s, ok := newOptionScanner(words); ok {
		s.run()
		files = append(files, s.programs...)
	}
	return files
}

// standardFile reports whether a file name may denote the standard input.
func standardFile(name string) bool {
	return name == "-" || name == "/dev/stdin" || strings.HasPrefix(name, "/dev/fd/") ||
		strings.HasPrefix(name, "/proc/")
}
