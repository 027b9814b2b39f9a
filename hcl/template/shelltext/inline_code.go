package shelltext

import (
	"cmp"
	"path"
	"regexp"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"hatchel/hcl/template"
)

// word is the part of one word of a command line that is known at load.
type word struct {
	text     string // the constant text before the first value
	constant bool   // it contains no value, so text is complete
	taint

	arg  *Arg         // in a list of words
	node *syntax.Word // in a script
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
func findExec(words []word) []codeWord {
	var found []codeWord
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
		found = append(found, innerCommand("find "+words[i].text, words[i+1:end])...)
		i = end
	}
	return found
}

func innerCommand(outer string, words []word) []codeWord {
	if len(words) > 0 && !words[0].constant {
		return []codeWord{{word: words[0], program: outer, command: true, hint: hintFixed}}
	}
	return findCode(words)
}

// optionScanner reads one command line.
type optionScanner struct {
	name  string
	words []word
	commandSpec
	found        []codeWord
	at           int
	operands     int
	codeGiven    bool  // an option contained the code
	readsInput   bool  // an option names the standard input as the program
	program      *word // the name of the file of code
	hasC         bool  // the shell has the option -c
	optionsEnded bool  // all further words are operands
}

// newOptionScanner returns a scanner of a command line whose program is known.
func newOptionScanner(words []word) (*optionScanner, bool) {
	if len(words) == 0 || !words[0].constant {
		return nil, false
	}
	name, spec, ok := lookup(words[0].text)
	return &optionScanner{name: name, commandSpec: spec, words: words}, ok
}

func (s *optionScanner) run() {
	for s.at = 1; s.at < len(s.words); s.at++ {
		w := s.words[s.at]
		switch {
		case s.optionsEnded || len(w.text) < 2 || w.text[0] != '-' && !(s.shell && w.text[0] == '+'):
			if s.scanOperand(w) {
				return
			}
		case w.text == "--" && w.constant:
			s.optionsEnded = true
		default:
			s.scanOption(w)
		}
	}
}

// scanOption reads one option and the argument that belongs to it.
func (s *optionScanner) scanOption(w word) {
	name, _, inline := strings.Cut(w.text, "=")
	kind := s.kindOf(name, s.codes, s.long)
	switch {
	case kind != noArgument:
		s.scanArgument(w, name, inline || !w.constant, kind)
		if name == "--arg" || name == "--argjson" {
			s.at++
		}
		return
	case strings.HasPrefix(w.text, "--"):
		if !w.constant && !inline && s.operand != data && s.operand != file {
			s.report(w, "", false)
		}
		s.patternGiven(name)
		s.rest = s.rest && name != "--args" && name != "--jsonargs"
		return
	}
	s.patternGiven(w.text)
	for i := 1; i < len(w.text); i++ {
		letter := w.text[i : i+1]
		last := i == len(w.text)-1 && w.constant
		if s.shell && letter == "c" {
			s.hasC = true
			continue
		}
		if kind := s.kindOf("-"+letter, dashed(s.code), dashed(s.takes)); kind != noArgument {
			s.scanArgument(w, "-"+letter, !last, kind)
			return
		}
	}
	if !w.constant && s.operand != data && s.operand != file {
		s.report(w, "", false)
	}
}

// patternGiven makes the first operand of a search a file if an option gives the pattern.
func (s *optionScanner) patternGiven(option string) {
	if s.operand == file && s.skip > 0 && searchPattern.MatchString(option) {
		s.skip = 0
	}
}

var searchPattern = regexp.MustCompile(`^(-[A-Za-z]*[ef].*|--regexp|--file)$`)

// argumentKind is the meaning of an option's argument.
type argumentKind int

const (
	noArgument argumentKind = iota
	dataArgument
	codeArgument
	fileArgument // a file of code
	loadArgument // code that does not replace the program
	pathArgument // a file or a folder
)

// kindOf returns the meaning of the argument of an option. Codes and data are the options of those
// kinds.
func (s *optionScanner) kindOf(option, codes, data string) argumentKind {
	for kind, list := range []string{dataArgument: data, codeArgument: codes, fileArgument: s.files,
		loadArgument: s.loads, pathArgument: s.paths} {
		if slices.Contains(strings.Fields(list), option) {
			return argumentKind(kind)
		}
	}
	return noArgument
}

// dashed returns the short options of some letters.
func dashed(letters string) string {
	var out strings.Builder
	for _, letter := range letters {
		out.WriteString(" -" + string(letter))
	}
	return out.String()
}

// scanArgument reads the argument of an option: the rest of its own word, or the next one.
func (s *optionScanner) scanArgument(w word, option string, inline bool, kind argumentKind) {
	s.codeGiven = s.codeGiven || kind == codeArgument || kind == fileArgument
	if !inline {
		s.at++
		if s.at >= len(s.words) {
			return
		}
		w = s.words[s.at]
	}
	if option == "--slurpfile" || option == "--rawfile" { // a name comes before the file
		s.at++
		if s.at >= len(s.words) {
			return
		}
		w = s.words[s.at]
	}
	if kind == fileArgument {
		s.program = &w
	}
	switch {
	case kind == dataArgument:
	case w.constant && kind == fileArgument:
		_, rest, _ := strings.Cut(w.text, option)
		s.readsInput = s.readsInput || standardFile(strings.TrimPrefix(rest, "=")) || standardFile(w.text)
	case !w.constant:
		s.report(w, option, kind == codeArgument)
		f := &s.found[len(s.found)-1]
		f.file, f.reads = kind == fileArgument || kind == loadArgument, kind == pathArgument
	}
}

// scanOperand reads one operand and reports whether the rest of the line is data.
func (s *optionScanner) scanOperand(w word) (done bool) {
	if s.name == "env" && strings.Contains(w.text, "=") {
		return false
	}
	s.operands++
	if sub, ok := commandSpecs[s.name+"-"+w.text]; ok && s.operands == 1 && w.constant {
		s.commandSpec = sub
		return false
	}
	if s.operands <= s.skip {
		if !w.constant && !s.optionsEnded && w.text == "" && s.operand == command {
			s.report(w, "", false)
		}
		return false
	}
	switch s.operand {
	case codeFirst:
		switch {
		case s.codeGiven && s.rest && !strings.Contains(w.text, "="): // awk assigns with NAME=value
			s.reportFile(w)
		case !s.codeGiven && !w.constant:
			s.report(w, "", true)
		}
		if s.rest {
			s.codeGiven = true
			return false
		}
		return true
	case fileFirst:
		switch {
		case s.hasC && !w.constant:
			s.report(w, "-c", true)
		case !s.codeGiven && !s.hasC:
			s.program = &w
			if !w.constant {
				s.report(w, "", false)
				s.found[len(s.found)-1].file = true
			}
		}
		return true
	case codeRest:
		if !w.constant {
			s.report(w, "", false)
		}
	case command:
		s.found = append(s.found, innerCommand(s.name, s.words[s.at:])...)
		return true
	case file:
		s.reportFile(w)
	case assignment:
		if !w.constant && (w.text == "" || strings.Contains(w.text, "=")) {
			s.report(w, "", false)
		}
	}
	return false
}

// reportFile reports a value that names a file.
func (s *optionScanner) reportFile(w word) {
	if !w.constant {
		s.report(w, "", false)
		s.found[len(s.found)-1].reads = true
	}
}

func (s *optionScanner) report(w word, option string, strict bool) {
	s.found = append(s.found, codeWord{word: w, program: s.name, option: option, strict: strict,
		hint: cmp.Or(s.hint, hintFixed)})
}
