package shelltext

import "strings"

// readsProgram reports whether a command line contains no program for its interpreter, which then
// runs its input.
func readsProgram(words []word) (string, bool) {
	s, ok := newOptionScanner(words)
	if !ok {
		return "", false
	}
	if s.operand == command {
		for i := range words[1:] {
			if inner, ok := readsProgram(words[i+1:]); ok {
				return inner, true
			}
		}
		return "", false
	}
	s.run()
	switch {
	case s.readsInput || s.always:
		return s.name, true
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

// programFile returns the name of the file of code that a command line runs.
func programFile(words []word) *word {
	s, ok := newOptionScanner(unwrap(words))
	if !ok {
		return nil
	}
	s.run()
	return s.program
}

// standardFile reports whether a file name may denote the standard input.
func standardFile(name string) bool {
	return name == "-" || name == "/dev/stdin" || strings.HasPrefix(name, "/dev/fd/") ||
		strings.HasPrefix(name, "/proc/")
}

// unwrap removes programs that only run another one: sudo nice cmd becomes cmd.
func unwrap(words []word) []word {
	for {
		s, ok := newOptionScanner(words)
		if !ok || s.operand != command {
			return words
		}
		s.operand = fileFirst // stops at the first word of the inner command
		s.run()
		if s.at >= len(words) {
			return words
		}
		words = words[s.at:]
	}
}
