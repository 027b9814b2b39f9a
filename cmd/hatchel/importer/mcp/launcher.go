package mcp

import (
	"errors"
	"path"
	"slices"
	"strings"
)

// Package is what a launcher such as npx downloads and starts.
type Package struct {
	Python     bool   // of PyPI, and otherwise of npm
	Spec       string // as the launcher was told, such as "@scope/server@1.2"
	Executable string // of the package; empty for the one that the launcher chooses
}

// launcher is a command that downloads a program at each start.
type launcher struct {
	words    []string // how it begins
	python   bool
	packages []string // options that name the package; the next word is then the executable
	valued   []string // other options that have a value
}

var launchers = []launcher{
	{words: []string{"npx"}, packages: []string{"-p", "--package"}, valued: []string{"-c", "--call", "--registry"}},
	{words: []string{"npm", "exec"}, packages: []string{"--package"}, valued: []string{"--registry"}},
	{words: []string{"npm", "x"}, packages: []string{"--package"}, valued: []string{"--registry"}},
	{words: []string{"bunx"}, packages: []string{"-p", "--package"}},
	{words: []string{"bun", "x"}, packages: []string{"-p", "--package"}},
	{words: []string{"pnpm", "dlx"}, packages: []string{"--package"}},
	{words: []string{"pnpx"}, packages: []string{"--package"}},
	{words: []string{"yarn", "dlx"}, packages: []string{"-p", "--package"}},
	{words: []string{"uvx"}, python: true, packages: []string{"--from"}, valued: uvOptions},
	{words: []string{"uv", "tool", "run"}, python: true, packages: []string{"--from"}, valued: uvOptions},
	{words: []string{"pipx", "run"}, python: true, packages: []string{"--spec"},
		valued: []string{"--python", "--pip-args"}},
}

var uvOptions = []string{"--python", "-p", "--with", "--index", "--index-url", "--extra-index-url", "--default-index"}

var (
	errDocker = errors.New("it runs a container, which talks to a daemon with all rights: run the container as a " +
		"service of its own, and import its URL")
	errUV = errors.New("uv run makes its environment anew at each start: name the Python of the environment and its " +
		"program in the client's file")
	errLauncher   = errors.New("its launcher names no package")
	errReference  = errors.New("its launcher gets the package from a reference, so it is not known what it starts")
	errUnpackable = errors.New("its launcher starts a directory, a URL or a repository: install it, and name its " +
		"program")
)

// Launched returns the package that a launcher in the command downloads. It returns nil for a program that is
// installed. The error says why a command cannot be imported.
func (s *Server) Launched() (*Package, error) {
	words, rest := s.words()
	if len(words) == 0 {
		return nil, nil
	}
	switch name := path.Base(words[0]); {
	case name == "docker" || name == "podman" || name == "nerdctl":
		return nil, errDocker
	case name == "uv" && slices.Contains(words, "run") && !(len(words) > 1 && words[1] == "tool"):
		return nil, errUV
	}
	for _, l := range launchers {
		if len(words) >= len(l.words) && path.Base(words[0]) == l.words[0] &&
			slices.Equal(words[1:len(l.words)], l.words[1:]) {
			p, used, err := l.read(words[len(l.words):])
			if err != nil {
				return nil, err
			}
			s.arguments = rest[len(l.words)+used:]
			return p, nil
		}
	}
	return nil, nil
}

// words returns the words of the command without references, up to the first word that has one, and all words. What
// Windows writes before a launcher is left out.
func (s *Server) words() (words []string, all []text) {
	all = s.command
	if len(all) > 2 {
		first, _ := all[0].constant()
		flag, _ := all[1].constant()
		if strings.EqualFold(strings.TrimSuffix(first, ".exe"), "cmd") && strings.EqualFold(flag, "/c") {
			all = all[2:]
		}
	}
	for _, t := range all {
		word, ok := t.constant()
		if !ok {
			word = "${}"
		}
		words = append(words, strings.TrimSuffix(word, ".cmd"))
	}
	return words, all
}

// read reads the words after those of the launcher. used is the number of words before the arguments of the program.
func (l launcher) read(words []string) (p *Package, used int, err error) {
	p = &Package{Python: l.python}
	for used < len(words) {
		word := words[used]
		used++
		option, value, inline := strings.Cut(word, "=")
		switch {
		case word == "--":
			if used < len(words) {
				p.take(words[used])
				used++
			}
			return p, used, p.check()
		case slices.Contains(l.packages, option):
			if !inline && used < len(words) {
				value = words[used]
				used++
			}
			p.Spec = value
		case slices.Contains(l.valued, option):
			if !inline {
				used++
			}
		case strings.HasPrefix(word, "-"):
		default:
			p.take(word)
			return p, used, p.check()
		}
	}
	return p, min(used, len(words)), p.check()
}

// take takes the word that names what is started: the package, or the executable of a package that an option names.
func (p *Package) take(word string) {
	if p.Spec == "" {
		p.Spec = word
		return
	}
	p.Executable = word
}

func (p *Package) check() error {
	switch {
	case p.Spec == "":
		return errLauncher
	case strings.Contains(p.Spec, "${}") || strings.Contains(p.Executable, "${}"):
		return errReference
	case strings.Contains(p.Spec, "://") || strings.HasPrefix(p.Spec, ".") || strings.HasPrefix(p.Spec, "/") ||
		strings.Contains(p.Spec, "git+") || strings.Contains(p.Spec, "github:"):
		return errUnpackable
	}
	return nil
}

// Program is an installed program.
type Program struct {
	Words []string // with its path relative to the configuration directory
	Read  []string // what the program must be able to read, likewise
}

// SetProgram replaces a launcher by the program that was installed in its place.
func (s *Server) SetProgram(p Program) {
	var command []text
	for _, word := range p.Words {
		command = append(command, text{{text: word}})
	}
	s.command = append(command, s.arguments...)
	s.read = append(s.read, p.Read...)
}
