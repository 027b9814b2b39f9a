package mcp

import (
	"path"
	"slices"
	"strings"
)

// NewServer returns a server that a command line names by its URL. token is the name of the environment variable of a
// bearer token, or empty. Headers are given as NAME: VALUE.
func NewServer(name, url, token string, headers []string) (*Server, error) {
	s := &Server{Name: name, Origin: url}
	var err error
	if s.url, err = parseText(url, false); err != nil {
		return nil, err
	}
	if token != "" {
		s.headers = append(s.headers, setting{"Authorization", text{{text: "Bearer "}, {kind: "env", name: token}}})
	}
	for _, header := range headers {
		name, value, _ := strings.Cut(header, ":")
		t, err := parseText(strings.TrimSpace(value), false)
		if err != nil {
			return nil, err
		}
		s.headers = append(s.headers, setting{strings.TrimSpace(name), t})
	}
	return s, nil
}

// WithoutSecretHeaders returns headers, NAME: VALUE, without those whose values become secrets.
func WithoutSecretHeaders(headers []string) (others []string) {
	for _, header := range headers {
		name, value, _ := strings.Cut(header, ":")
		t, err := parseText(strings.TrimSpace(value), false)
		constant, isConstant := t.constant()
		isSecret := isConstant && (isCredential(name, constant) || strings.EqualFold(name, "Authorization"))
		if err == nil && !isSecret {
			others = append(others, header)
		}
	}
	return others
}

// ConstantURL returns the URL of the server; empty for a program, and for a URL with a reference.
func (s *Server) ConstantURL() string {
	constant, ok := s.url.constant()
	if !ok {
		return ""
	}
	return constant
}

// IsProgram reports whether the server is a program.
func (s *Server) IsProgram() bool { return s.command != nil }

// Command returns the words of the program, with a reference as it is written in the source.
func (s *Server) Command() (words []string) {
	for _, t := range s.command {
		words = append(words, t.source())
	}
	return words
}

// source returns the text as it is written, with an environment variable as ${NAME}.
func (t text) source() string {
	var out strings.Builder
	for _, p := range t {
		switch p.kind {
		case "":
			out.WriteString(p.text)
		case "env":
			out.WriteString("${" + p.name + "}")
		case "input":
			out.WriteString("${input:" + p.name + "}")
		case "workspace":
			out.WriteString("${workspaceFolder}")
		case "home":
			out.WriteString("${userHome}")
		}
	}
	return out.String()
}

// Place is a file or a directory that a word of a command, or a variable, names.
type Place struct {
	Path  string // for a connection of the configuration directory
	Read  string // what the program must be able to read for it
	IsDir bool
}

// Rewrite replaces the constant words of the command behind the program: a word that is the path of a file as its
// client sees it becomes one that the configuration directory has, with what must be readable for it. The absolute
// paths of variables stay as they are, and what they name becomes readable. find returns what a word names, and
// reports whether it names something.
func (s *Server) Rewrite(find func(word string) (Place, bool)) {
	add := func(p Place) {
		s.read = append(s.read, p.Read)
		if p.IsDir {
			s.directories = append(s.directories, p.Path)
		}
	}
	for i, t := range s.command {
		word, constant := t.constant()
		if !constant || word == "" || strings.HasPrefix(word, "-") {
			continue
		}
		if p, ok := find(word); ok {
			s.command[i] = text{{text: p.Path}}
			add(p)
		}
	}
	for _, v := range s.env {
		name, constant := v.value.constant()
		dir := path.Dir(path.Clean(name))
		if !constant || !path.IsAbs(name) || dir == "/" || slices.Contains(ownVariables, v.name) {
			continue // such as the /api of a URL
		}
		if p, ok := find(name); ok {
			add(p)
		} else if p, ok := find(dir); ok { // of a file that the program makes
			s.directories = append(s.directories, p.Path)
		}
	}
}

// Directory returns the directory in which the client starts the program: the one that its file says, or the
// workspace.
func (s *Server) Directory() string {
	if path.IsAbs(s.directory) {
		return s.directory
	}
	return path.Join(s.workspace, s.directory)
}

// SetWorkspace sets the directory of the client's workspace.
func (s *Server) SetWorkspace(dir string) { s.workspace = dir }

// Known returns a server whose connection a directory has.
func Known(name string) *Server { return &Server{Name: name, Origin: "connection " + name} }
