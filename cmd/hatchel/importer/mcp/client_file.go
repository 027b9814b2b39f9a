package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"hatchel/cmd/hatchel/importer"
	"hatchel/hcl/jsonscan"
)

const (
	// maxClientFile is the maximum size of the file of a client in bytes.
	maxClientFile = 4 << 20
	// maxClientDepth is the maximum number of levels of a client's file.
	maxClientDepth = 64
	// maxServers is the maximum number of servers of a client's file.
	maxServers = 500
)

// ClientFile is a file in which a client of MCP names its servers.
type ClientFile struct {
	Servers []*Server       // those that can be imported, in the order of the file
	Losses  []importer.Loss // what was not read

	name     string   // of the file, for origins
	list     []string // the path to its servers
	short    bool     // $NAME is a reference, too
	inputs   map[string]input
	settings importer.Result // collects losses
}

// input is a value that VS Code asks its user for.
type input struct {
	description string
	password    bool
	fallback    string
	options     []string
}

// Server is a server of MCP as a client's file or a command line describes it.
type Server struct {
	Name   string // of the connection
	Origin string // its place in the source, such as ".mcp.json: github"

	url              text
	command          []text // the program and its arguments; empty for a URL
	env, headers     []setting
	directory        string   // where the client starts the program
	workspace        string   // of the client, for its variable
	include, exclude []string // names of tools that the client shows, or hides
	arguments        []text   // of the program that a launcher starts
	read             []string // paths that the program needs besides those of its command
	directories      []string // that it is given, and may want to write to
	losses           []importer.Loss
	inputs           map[string]input
}

// setting is a named text: a variable of the environment, or a header.
type setting struct {
	name  string
	value text
}

// lists are the members of client files that hold servers, with what they are to their client.
var lists = [][]string{{"mcpServers"}, {"servers"}, {"context_servers"}, {"mcp", "servers"}}

// ReadClientFile reads the servers of claude_desktop_config.json, .mcp.json, .cursor/mcp.json, .vscode/mcp.json and
// the files of other clients that have one of their forms. name is the path of the file, with slashes.
func ReadClientFile(name string, src []byte) (*ClientFile, error) {
	base := path.Base(name)
	switch {
	case len(src) > maxClientFile:
		return nil, fmt.Errorf("%s is larger than %d MiB", base, maxClientFile>>20)
	case strings.HasSuffix(base, ".toml"):
		return nil, fmt.Errorf(tomlText, base)
	}
	src = withoutComments(bytes.TrimPrefix(src, []byte("\ufeff")))
	var scan jsonscan.Scanner
	scan.Reset(src, maxClientDepth)
	_, err := scan.Value()
	if err == nil && !scan.AtEnd() {
		err = scan.Fail("more text after the value")
	}
	if err != nil {
		at := len(src)
		if mistake, ok := errors.AsType[*jsonscan.SyntaxError](err); ok {
			at = min(mistake.Offset, at)
		}
		return nil, fmt.Errorf("%s:%d: it is not valid JSON: %w", base, bytes.Count(src[:at], []byte("\n"))+1, err)
	}
	f := &ClientFile{name: base, inputs: map[string]input{}, short: path.Base(path.Dir(name)) == ".gemini"}
	for _, list := range lists {
		if servers, ok := jsonscan.Lookup(src, list...); ok {
			f.readInputs(src)
			if err := f.readServers(servers); err != nil {
				return nil, err
			}
			f.list, f.Losses = list, f.settings.Losses
			return f, nil
		}
	}
	return nil, fmt.Errorf("%s names no servers: it has none of the members mcpServers, servers, context_servers and "+
		"mcp.servers", base)
}

func (f *ClientFile) lose(server, kind, detail string) {
	f.settings.Lose(server, kind, detail, f.name)
}

// readInputs reads what VS Code asks its user for.
func (f *ClientFile) readInputs(src []byte) {
	list, ok := jsonscan.Lookup(src, "inputs")
	if !ok {
		list, _ = jsonscan.Lookup(src, "mcp", "inputs")
	}
	var all []struct {
		ID, Description, Default string
		Password                 bool
		Options                  []json.RawMessage
	}
	if len(list) > 0 && json.Unmarshal(list, &all) != nil {
		f.lose("inputs", "left out", "it is no list of inputs")
	}
	for _, in := range all {
		one := input{description: in.Description, password: in.Password, fallback: in.Default}
		for _, o := range in.Options {
			var name string
			if json.Unmarshal(o, &name) == nil {
				one.options = append(one.options, name)
			}
		}
		f.inputs[in.ID] = one
	}
}

func (f *ClientFile) readServers(servers []byte) error {
	names := importer.Names{}
	all := 0
	err := jsonscan.Members(servers, maxClientDepth, func(name, value []byte) bool {
		all++
		if s := f.readServer(string(name), value); s != nil {
			s.Name = names.Take(importer.Identifier(s.Name), maxConnectionName)
			f.Servers = append(f.Servers, s)
		}
		return all <= maxServers
	})
	switch {
	case err != nil:
		return err
	case all > maxServers:
		return fmt.Errorf("%s names more than %d servers", f.name, maxServers)
	case all == 0:
		return fmt.Errorf("%s names no servers", f.name)
	}
	return nil
}

// maxConnectionName is the maximum length of the name of a connection.
const maxConnectionName = 40

// silentMembers are members of a server that say nothing for an import: what clients show, and which form is meant.
var silentMembers = []string{"type", "description", "gallery", "version", "icon", "source", "enabled", "trust"}

const tomlText = "%s is a TOML file, and files of clients are read in JSON: import each server by its URL, or write " +
	`its command to a file such as {"mcpServers": {"NAME": {"command": …}}}`

var errEnvFile = errors.New(
	"its envFile is not read, because it has credentials: write what it has to env, as ${NAME}")

// readServer reads one server. It returns nil, and reports the reason, for one that is not imported.
func (f *ClientFile) readServer(name string, value []byte) *Server {
	s := &Server{Name: name, Origin: f.name + ": " + name, inputs: f.inputs}
	var kind, command string
	var arguments []string
	var off bool
	var problem error
	address := ""
	read := func(to any, raw []byte) {
		if err := json.Unmarshal(raw, to); err != nil && problem == nil {
			problem = errors.New("it cannot be read: " + err.Error())
		}
	}
	keep := func(err error) {
		if problem == nil {
			problem = err
		}
	}
	err := jsonscan.Members(value, maxClientDepth, func(key, raw []byte) bool {
		switch k := string(key); k {
		case "type", "transport":
			read(&kind, raw)
		case "command":
			if bytes.HasPrefix(raw, []byte("{")) { // an older form of Zed
				var of struct {
					Path string
					Args []string
					Env  json.RawMessage
				}
				read(&of, raw)
				command, arguments = of.Path, of.Args
				keep(f.readSettings(&s.env, of.Env))
				break
			}
			read(&command, raw)
		case "args":
			read(&arguments, raw)
		case "url", "serverUrl", "httpUrl":
			read(&address, raw)
			if k == "url" && f.short && kind == "" {
				kind = "sse" // of the Gemini CLI, whose httpUrl is the other transport
			}
		case "env":
			keep(f.readSettings(&s.env, raw))
		case "headers":
			keep(f.readSettings(&s.headers, raw))
		case "disabled":
			read(&off, raw)
		case "enabled":
			on := true
			read(&on, raw)
			off = off || !on
		case "includeTools", "tools", "enabledTools":
			read(&s.include, raw)
		case "excludeTools", "disabledTools":
			read(&s.exclude, raw)
		case "cwd":
			read(&s.directory, raw)
		case "envFile":
			keep(errEnvFile)
		default:
			if !slices.Contains(silentMembers, k) {
				f.lose(name, "member left out", k)
			}
		}
		return true
	})
	s.include = slices.DeleteFunc(s.include, func(one string) bool { return one == "*" })
	keep(err)
	words := append([]string{command}, arguments...)
	if command == "" {
		words = nil
	}
	if bridged, ok := bridgedURL(words); ok && problem == nil {
		if address, words, problem = bridged.url, nil, bridged.problem; problem == nil {
			problem = f.bridge(s, bridged)
		}
	}
	switch {
	case off:
		f.lose(name, "server left out", "its client has disabled it")
	case problem != nil:
		f.lose(name, "server left out", problem.Error())
	case address == "" && words == nil:
		f.lose(name, "server left out", "it has neither a URL nor a command")
	case address != "" && words != nil:
		f.lose(name, "server left out", "it has a URL and a command")
	case kind == "sse":
		f.lose(name, "server left out", "its transport is that of 2024-11-05 (SSE), in which the server chooses the "+
			"address of requests: give the URL of its Streamable HTTP transport, which often ends in /mcp")
	case kind == "ws" || kind == "websocket":
		f.lose(name, "server left out", "its transport is a WebSocket, which the protocol does not have")
	default:
		if s.url, err = parseText(address, f.short); err == nil {
			s.command, err = f.texts(words)
		}
		if err == nil {
			return s
		}
		f.lose(name, "server left out", err.Error())
	}
	return nil
}

func (f *ClientFile) texts(words []string) ([]text, error) {
	var all []text
	for _, word := range words {
		t, err := parseText(word, f.short)
		if err != nil {
			return nil, err
		}
		all = append(all, t)
	}
	return all, nil
}

// readSettings reads an object of texts.
func (f *ClientFile) readSettings(to *[]setting, raw []byte) (problem error) {
	if len(raw) == 0 || bytes.Equal(raw, []byte("null")) {
		return nil
	}
	err := jsonscan.Members(raw, maxClientDepth, func(name, value []byte) bool {
		var said string
		if json.Unmarshal(value, &said) != nil {
			said = string(value) // a number or a boolean
			if value[0] == '{' || value[0] == '[' || said == "null" {
				problem = fmt.Errorf("the value of %s is no text", name)
				return false
			}
		}
		var t text
		if t, problem = parseText(said, f.short); problem != nil {
			return false
		}
		*to = append(*to, setting{string(name), t})
		return true
	})
	if problem == nil {
		problem = err
	}
	return problem
}

// Client returns a file of the same form whose only server is Hatchel, which serves a directory over stdio.
func (f *ClientFile) Client(dir string) []byte {
	type server struct {
		Command string   `json:"command"`
		Args    []string `json:"args"`
	}
	var v any = map[string]any{"hatchel": server{"hatchel", []string{"serve", "--stdio", dir}}}
	for _, name := range slices.Backward(f.list) {
		v = map[string]any{name: v}
	}
	out, _ := json.MarshalIndent(v, "", "  ") // of texts
	return append(out, '\n')
}
