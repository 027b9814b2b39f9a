// Package mcp turns servers of the Model Context Protocol, as a client's file or a command line names them, and the
// lists of their tools into blocks and files of definitions. It asks no server and starts no program.
package mcp

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"hatchel/adapters/mcp/definition"
	"hatchel/cmd/hatchel/importer"
	"hatchel/internal/wildcard"
)

// Options say what of a server is imported, and how.
type Options struct {
	Tools      []string // patterns of names; empty for all
	Prefix     string   // of the names of tools
	Asks       []string // what the server may ask the user
	AskHosts   []string // of pages that it may open; by default that of its URL
	TrustHints bool     // read_only and the others are written as the server says
	All        bool     // however many tools there are
	OAuth      *OAuth   // how the server wants clients to sign in, if it is known

	Declarations *Declarations // shared by the servers of one import
	// Taken are the names of tools that other imports and authors have.
	Taken importer.Names
	// Count counts the tools, whether they are written or not; it may be nil.
	Count *importer.TooMany
	// File is the name of the file of definitions that the connection has, if the directory has it.
	File string
	// Removed are the names of tools of an earlier import that the author has removed. They are not pinned.
	Removed importer.Names
	// Pins are the definitions of the directory, and Used the names of those that its blocks call.
	Pins []definition.Definition
	Used []string
	// Check loads the files that would be written, by name, and returns mistakes with their places.
	Check func(files map[string][]byte) ([]importer.Mistake, error)
}

// OAuth is what the metadata of a server says of its authorization (RFC 9728 and 8414).
type OAuth struct {
	Resource, TokenURL string
	Scopes             []string
}

// Listing is what a server answers when it is asked for its tools.
type Listing struct {
	Tools        []definition.Definition
	Refused      []Refused // definitions that cannot be pinned
	Instructions string
	Protocol     string
	Unstable     bool // the list was still changing when it was taken
}

// Refused is a definition that cannot be pinned, and why.
type Refused struct{ Name, Reason string }

// generator holds the import of one server.
type generator struct {
	declared
	Options
	listing *Listing
	auth    []string // bodies of an auth block
	tools   []*tool
}

// SourceName returns the name of the import whose connection has a name.
func SourceName(connection string) string { return "mcp " + connection }

// DefinitionsFile returns the name of the file of definitions of a connection.
func DefinitionsFile(connection string) string { return connection + ".tools.json" }

func newGenerator(s *Server, o Options) *generator {
	r := &importer.Result{Source: SourceName(s.Name), Losses: slices.Clone(s.losses)}
	g := &generator{Options: o}
	g.declared = declared{Declarations: o.Declarations, server: s, result: r, isVar: map[*declaration]bool{},
		prefix: importer.Identifier(s.Name)}
	return g
}

func (g *generator) definitions() string { return cmp.Or(g.File, DefinitionsFile(g.server.Name)) }

// Connection generates the connection of a server, with the secrets and variables that it needs, and an empty file of
// definitions. It is what an import loads to ask the server.
func Connection(s *Server, o Options) (*importer.Result, error) {
	g := newGenerator(s, o)
	if err := g.addConnection(); err != nil {
		return nil, err
	}
	return g.result, g.pin(nil)
}

func (g *generator) addConnection() error {
	text, err := g.connection()
	if err != nil {
		return err
	}
	g.blocks(g.file())
	g.add(text, g.server.Origin)
	return nil
}

func (g *generator) file() string { return importer.FileName(g.server.Name) }

func (g *generator) add(text, origin string) {
	g.result.Blocks = append(g.result.Blocks, importer.Block{File: g.file(), Text: text, Origin: origin})
}

// pin writes the file of definitions.
func (g *generator) pin(all []definition.Definition) error {
	f, err := definition.New(all)
	if err != nil {
		return err
	}
	g.result.Files = map[string][]byte{g.definitions(): f.Append(nil)}
	return nil
}

const sandboxText = "The sandbox of %s has no network and no path to write to. If its tools need them, add " +
	"network = true or write = [%s] to it."

// sandboxNote says what the sandbox of the program does not allow, and how an author allows it.
func (s *Server) sandboxNote() string {
	var write []string
	for _, dir := range s.directories {
		write = append(write, importer.Quote(dir))
	}
	if write == nil {
		write = []string{`"…"`}
	}
	return importer.WithoutCredentials(fmt.Sprintf(sandboxText, s.Name, strings.Join(write, ", ")))
}

// Import generates the connection of a server and its tools.
func Import(s *Server, l *Listing, o Options) (*importer.Result, error) {
	g := newGenerator(s, o)
	g.listing = l
	if err := g.addConnection(); err != nil {
		return nil, err
	}
	if s.IsProgram() {
		g.result.Notes = append(g.result.Notes, s.sandboxNote())
	}
	return g.result, g.importTools(len(g.result.Blocks))
}

// Tools generates the tools of a server whose connection the directory has. s has its name alone.
func Tools(s *Server, l *Listing, o Options) (*importer.Result, error) {
	g := newGenerator(s, o)
	g.listing, g.result.OnlyTools = l, true
	// A tool does not depend on how its server is reached, so it is loaded with a connection that needs nothing else.
	g.add(fmt.Sprintf("connection \"mcp\" %s {\nurl = \"https://server.example/mcp\"\ndefinitions = %s\n}",
		importer.Quote(s.Name), importer.Quote(g.definitions())), s.Origin)
	err := g.importTools(1)
	g.result.Blocks = g.result.Blocks[1:]
	return g.result, err
}

// compare notes what the server says otherwise than its definitions in the directory.
func (g *generator) compare() {
	for _, pin := range g.Pins {
		found := slices.IndexFunc(g.listing.Tools, func(d definition.Definition) bool { return d.Name == pin.Name })
		refused := slices.ContainsFunc(g.listing.Refused, func(r Refused) bool { return r.Name == pin.Name })
		note := "The server lists " + pin.Name + " no more."
		if found >= 0 {
			changes := definition.Texts(definition.Compare(pin, g.listing.Tools[found], nil))
			if len(changes) == 0 {
				continue
			}
			note = "At the server, " + pin.Name + " has changed: " + strings.Join(changes, "; ") + "."
		} else if refused {
			continue // reported with what is not imported
		}
		g.result.Notes = append(g.result.Notes, importer.WithoutCredentials(note))
	}
}

// importTools adds the tools behind the blocks of the connection.
func (g *generator) importTools(before int) error {
	g.reportListing()
	g.compare()
	selected, err := g.selectTools()
	if err != nil {
		return err
	}
	g.nameTools(selected)
	if g.Count != nil {
		g.count(g.Count)
	}
	for range 4 {
		g.result.Blocks = g.result.Blocks[:before]
		for _, t := range g.tools {
			if t.text == "" {
				g.write(t)
			}
			g.add(t.text, t.Name)
		}
		if err := g.pin(g.pinned(true)); err != nil { // blocks that the author has removed are loaded, too
			return err
		}
		dropped, err := g.dropMistakes(before)
		if err != nil {
			return err
		}
		if !dropped {
			break
		}
	}
	return g.pin(g.pinned(false))
}

// reportListing reports what is not imported of what the server answered.
func (g *generator) reportListing() {
	for _, r := range g.listing.Refused {
		g.result.Lose(r.Name, "tool left out", "its definition cannot be pinned: "+r.Reason, g.server.Origin)
	}
	if g.listing.Unstable {
		g.lose(g.server.Name, "list that changes", "it was still changing when it was taken; import again with "+
			"--update")
	}
	if text := g.listing.Instructions; text != "" {
		g.result.Lose(g.server.Name, "instructions left out", "of the server, for models: "+
			importer.Sentence(text, maxReported)+"; write what is true of them into server { instructions = … }",
			g.server.Origin)
	}
}

// maxReported is how much of a text of a server is printed, in bytes.
const maxReported = 200

// selectTools returns the definitions that the flags and the client's file select.
func (g *generator) selectTools() ([]definition.Definition, error) {
	var names []string
	var selected []definition.Definition
	for _, d := range g.listing.Tools {
		names = append(names, d.Name)
		if g.selects(d.Name) {
			selected = append(selected, d)
		}
	}
	switch {
	case len(names) == 0:
		return nil, errors.New("the server lists no tools")
	case len(selected) == 0:
		return nil, fmt.Errorf("no tool is selected; the server has %s", listed(names))
	}
	return selected, nil
}

func (g *generator) selects(name string) bool {
	matches := func(pattern string) bool { return wildcard.MatchAny(pattern, name) }
	if len(g.Options.Tools) > 0 {
		return slices.ContainsFunc(g.Options.Tools, matches)
	}
	return (len(g.server.include) == 0 || slices.Contains(g.server.include, name)) &&
		!slices.Contains(g.server.exclude, name)
}

// listed returns names for a message.
func listed(names []string) string {
	const most = 20
	if len(names) > most {
		return strings.Join(names[:most], ", ") + fmt.Sprintf(" and %d more", len(names)-most)
	}
	return strings.Join(names, ", ")
}

// pinned returns the definitions of the file: those of the tools and of other blocks of the directory, as the server
// lists them today, or as they are pinned if it lists them no more.
// withRemoved adds those of tools that the author has removed.
func (g *generator) pinned(withRemoved bool) (all []definition.Definition) {
	has := func(all []definition.Definition, name string) bool {
		return slices.ContainsFunc(all, func(d definition.Definition) bool { return d.Name == name })
	}
	for _, t := range g.tools {
		if withRemoved || !g.Removed[t.name] {
			all = append(all, t.Definition)
		}
	}
	for _, from := range [][]definition.Definition{g.listing.Tools, g.Pins} {
		for _, d := range from {
			if slices.Contains(g.Used, d.Name) && !has(all, d.Name) {
				all = append(all, d)
			}
		}
	}
	slices.SortFunc(all, func(a, b definition.Definition) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// loseOnce reports a loss of blocks that are written again when a tool is left out.
func (g *generator) loseOnce(name, kind, detail string) {
	said := func(l importer.Loss) bool { return l.Name == name && l.Kind == kind && l.Detail == detail }
	if !slices.ContainsFunc(g.result.Losses, said) {
		g.lose(name, kind, detail)
	}
}

// forget removes the losses of a tool that is left out.
func (g *generator) forget(name string) {
	g.result.Losses = slices.DeleteFunc(g.result.Losses, func(l importer.Loss) bool {
		return l.Name == lossName(name)
	})
}

// dropMistakes removes the tools that do not load, and reports them. It reports whether there was one.
func (g *generator) dropMistakes(before int) (dropped bool, err error) {
	if g.Check == nil {
		return false, nil
	}
	layout := importer.NewLayout(g.result.Blocks)
	for name, text := range g.result.Files {
		layout.Files[name] = text
	}
	mistakes, err := g.Check(layout.Files)
	left := map[int]bool{}
	for _, m := range mistakes {
		i := layout.Find(m) - before
		switch {
		case m.Warning:
			name := g.server.Name
			if i >= 0 && i < len(g.tools) {
				name = g.tools[i].Name
			}
			g.loseOnce(name, "warning", m.Text)
		case i < 0 || i >= len(g.tools):
			if err == nil {
				err = fmt.Errorf("the connection would not load: %s", m.Text)
			}
		case !left[i]:
			left[i] = true
			g.forget(g.tools[i].Name)
			g.result.Lose(g.tools[i].Name, "tool left out", "it would not load: "+m.Text, g.server.Origin)
		}
	}
	var kept []*tool
	for i, t := range g.tools {
		if !left[i] {
			kept = append(kept, t)
		}
	}
	g.tools = kept
	return len(left) > 0, err
}
