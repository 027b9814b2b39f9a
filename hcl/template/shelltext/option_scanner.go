package shelltext

import (
	"cmp"
	"slices"
	"strings"

	"hatchel/hcl/template"
	"hatchel/internal/lazyregexp"
)

// optionScanner reads one command line.
type optionScanner struct {
	name  string
	words []word
	commandSpec
	found        []codeWord
	at           int
	operands     int    // after the subcommand
	subcommand   string // with the name of the program: git-grep
	codeGiven    bool   // an option contained the code
	readsInput   bool   // an option names the standard input as the program
	programs     []word // the names of files of code, and code in options
	shellCode    int    // the index of code for a shell, or 0
	inner        int    // the index of the command that it runs, or 0
	firstCode    int    // the index of the first operand if all are code, or 0
	hasC         bool   // the shell has the option -c
	opened       bool   // an option of opens was given
	runsNext     bool   // the next operand is code of Redis
	optionsEnded bool   // all further words are operands
}

// newOptionScanner returns a scanner of a command line whose program is known.
func newOptionScanner(words []word) (*optionScanner, bool) {
	if len(words) == 0 || !words[0].constant {
		return nil, false
	}
	name, spec, ok := lookup(words[0].text)
	return &optionScanner{name: name, subcommand: name, commandSpec: spec, words: words}, ok
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
		s.opened = s.opened || strings.Contains(s.opens, letter)
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

var searchPattern = lazyregexp.New(`^(-[A-Za-z]*[ef].*|--regexp|--file)$`)

// argumentKind is the meaning of an option's argument.
type argumentKind int

const (
	noArgument argumentKind = iota
	dataArgument
	codeArgument
	fileArgument // a file of code
	loadArgument // code, or a file of it, that does not replace the program
	addArgument  // code that does not replace the program
	pathArgument // a file or a folder
)

// kindOf returns the meaning of the argument of an option. Codes and data are the options of those
// kinds.
func (s *optionScanner) kindOf(option, codes, data string) argumentKind {
	for kind, list := range []string{dataArgument: data, codeArgument: codes, fileArgument: s.files,
		loadArgument: s.loads, addArgument: s.adds, pathArgument: s.paths} {
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
	if kind == dataArgument {
		return
	}
	if kind != pathArgument {
		s.programs = append(s.programs, w)
	}
	if s.runsShell && !inline {
		s.shellCode = s.at
	}
	if !w.constant {
		s.report(w, option, kind == codeArgument || kind == addArgument)
		f := &s.found[len(s.found)-1]
		f.file, f.reads = kind == fileArgument || kind == loadArgument, kind == pathArgument
		return
	}
	_, rest, _ := strings.Cut(w.text, option)
	s.readsInput = s.readsInput || kind != pathArgument &&
		(standardFile(strings.TrimPrefix(rest, "=")) || standardFile(w.text))
}

// scanOperand reads one operand and reports whether the rest of the line is data.
func (s *optionScanner) scanOperand(w word) (done bool) {
	if variable, _, ok := strings.Cut(w.text, "="); ok && (s.name == "env" || s.name == "sudo") {
		if !w.constant && LoadsCode(variable) {
			s.report(w, "", false)
		}
		return false
	}
	s.operands++
	if sub, ok := commandSpecs()[s.subcommand+"-"+w.text]; ok && s.operands == 1 && w.constant {
		s.commandSpec, s.subcommand, s.operands = sub, s.subcommand+"-"+w.text, 0
		return false
	}
	if s.operands <= s.skip {
		if !w.constant && !s.optionsEnded && w.text == "" && s.operand == command && s.subcommand == s.name {
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
		case s.hasC:
			if s.shellCode = s.at; !w.constant {
				s.report(w, "-c", true)
			}
		case s.codeGiven && s.opened:
			if !w.constant && w.wild {
				s.report(w, "", false)
			}
			return false
		case !s.codeGiven:
			s.programs = append(s.programs, w)
			if !w.constant {
				s.report(w, "", false)
				s.found[len(s.found)-1].file = true
			}
		}
		return true
	case codeRest:
		if s.optionsEnded = true; s.firstCode == 0 {
			s.firstCode = s.at
		}
		if !w.constant {
			s.report(w, "", false)
		}
	case command:
		s.inner = s.at
		found := innerCommand(s.name, s.words[s.at:])
		if s.remote {
			found = slices.DeleteFunc(found, func(f codeWord) bool { return f.reads })
		}
		s.found = append(s.found, found...)
		return true
	case file:
		if s.plus && !w.constant && w.text == "" && w.wild && !s.optionsEnded {
			s.report(w, "", false)
			return false
		}
		s.reportFile(w)
	case remoteURL:
		allowed := func(w word) bool { return strings.Contains(w.text, "protocol.") } // which git does not by itself
		if s.operands == s.skip+1 && !w.constant && w.text == "" && w.loose && slices.ContainsFunc(s.words, allowed) {
			s.report(w, "", false)
			s.found[len(s.found)-1].hint = hintURL
		}
	case redis:
		if !w.constant && (s.operands == 1 || s.runsNext) {
			s.report(w, "", false)
		}
		s.runsNext = w.constant && redisCode[strings.ToLower(w.text)]
	case assignment:
		if !w.constant && (w.text == "" || strings.Contains(w.text, "=")) {
			s.report(w, "", false)
		}
	}
	return false
}

// redisCode are commands of Redis whose next word is code.
var redisCode = template.WordSet("eval eval_ro script function load debug module loadex")

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
