package shelltext

import (
	"iter"
	"path"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"hatchel/hcl/template"
)

// word is the part of one word of a command line that is known at load.
type word struct {
	text     string // the constant text before the first value
	constant bool   // it contains no value, so text is complete
	taint

	arg   *Arg         // in a list of words
	node  *syntax.Word // in a script
	texts []string     // in a script: patterns of the texts that it can have; see wordTexts
}

// codeWord is a word with a value that a program would run as code.
type codeWord struct {
	word    word
	program string // the program
	option  string // the option before the code, or ""
	strict  bool   // numbers are not allowed either
	command bool   // it is the name of the program to run
	file    bool   // it is the name of a file of code to run
	reads   bool   // it is the name of a file
	hint    string
}

// hintFor returns the hint for a value.
func (f *codeWord) hintFor(source string) string {
	return strings.ReplaceAll(f.hint, "%s", source)
}

// findCode returns the words with values that a command line runs as code.
func findCode(words []word) []codeWord {
	if len(words) == 0 || !words[0].constant {
		return nil
	}
	s, ok := newOptionScanner(words)
	if !ok {
		return nestedCommands(words)
	}
	s.run()
	if s.operand == data {
		s.found = append(s.found, nestedCommands(words)...)
	}
	return s.found
}

// nestedCommands finds code in a command line inside another program's words: kubectl exec pod --
// sh -c code.
func nestedCommands(words []word) []codeWord {
	var found []codeWord
	if path.Base(words[0].text) == "find" {
		return append(findPaths(words), findExec(words)...)
	}
	for i := 1; i < len(words); i++ {
		if _, p, _ := lookup(words[i].text); !words[i].constant || !p.shell && p.operand != fileFirst {
			continue
		}
		for _, f := range findCode(words[i:]) {
			if f.strict {
				found = append(found, f)
			}
		}
	}
	return found
}

// findPaths finds the folders in which find searches, and the files that its tests and actions name.
func findPaths(words []word) []codeWord {
	var found []codeWord
	roots := true
	for i := 1; i < len(words); i++ {
		w := words[i]
		if w.text == "-H" || w.text == "-L" || w.text == "-P" {
			continue
		}
		roots = roots && !strings.HasPrefix(w.text, "-") && w.text != "(" && w.text != "!"
		if !w.constant && (roots || findFiles[words[i-1].text]) {
			found = append(found, codeWord{word: w, program: "find", reads: true})
		}
	}
	return found
}

var findFiles = template.WordSet(`-newer -anewer -cnewer -samefile -fprint -fprint0 -fprintf -fls -files0-from`)

// findExec finds code in the commands that find runs.
func findExec(words []word) (found []codeWord) {
	for option, inner := range execCommands(words) {
		found = append(found, innerCommand("find "+option, inner)...)
	}
	return found
}

// execCommands iterates over the commands of find: an option such as -exec, and the words after it.
func execCommands(words []word) iter.Seq2[string, []word] {
	return func(yield func(string, []word) bool) { eachExec(words, yield) }
}

func eachExec(words []word, yield func(option string, inner []word) bool) {
	for i := 1; i < len(words); i++ {
		switch words[i].text {
		case "-exec", "-execdir", "-ok", "-okdir":
		default:
			continue
		}
		end := i + 1
		for end < len(words) && !(words[end].constant && (words[end].text == ";" || words[end].text == "+" &&
			words[end-1].text == "{}")) {
			end++
		}
		if !yield(words[i].text, words[i+1:end]) {
			return
		}
		i = end
	}
}

func innerCommand(outer string, words []word) []codeWord {
	if len(words) > 0 && !words[0].constant {
		return []codeWord{{word: words[0], program: outer, command: true, hint: hintFixed}}
	}
	return findCode(words)
}
