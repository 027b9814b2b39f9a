package main

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"hatchel/adapters/mcp/definition"
	"hatchel/cmd/hatchel/console"
	"hatchel/cmd/hatchel/importer"
	"hatchel/cmd/hatchel/importer/mcp"
	"hatchel/cmd/hatchel/oauthclient"
	"hatchel/cmd/hatchel/upstream"
	"hatchel/hcl"
	"hatchel/internal/printable"
)

// mcpRun is one run of import mcp.
type mcpRun struct {
	*mcpFlags
	cmd    *cobra.Command
	abs    string            // the directory
	blocks map[string]string // of the directory, by their headers
	known  []importer.Earlier
	client *mcp.ClientFile // nil without one
	before *importUpdate   // nil without --update
	all    []*mcpServer
	// choices are the flags of each server, with those that its earlier import remembers.
	choices map[string]*mcpChoice
	// counts are the sizes of what is imported without a selection; each has its own limit.
	counts []*importer.TooMany
}

// mcpServer is a server that is imported.
type mcpServer struct {
	*mcp.Server
	choice  *mcpChoice
	options mcp.Options
	listing *mcp.Listing
	result  *importer.Result
	report  *importer.Report
	err     error // why it is not imported
}

var errNotStarted = errors.New("it is a program, which only --start installs and starts")

// begin reads the directory.
func (r *mcpRun) begin() error {
	ignores, err := importIgnores(r.dir)
	if err == nil {
		r.Ignores = ignores
		r.blocks, err = importer.ReadBlocks(r.dir, r.importFlags.Options)
	}
	if err == nil {
		r.known, err = importer.ReadEarlier(r.dir, r.memory.Kind)
	}
	if err == nil {
		r.abs, err = filepath.Abs(r.dir)
	}
	if err != nil {
		return failf("nothing was written to %s: %s", folderName(r.dir), reason(err))
	}
	if r.Update {
		r.before = beginUpdate(r.cmd.Context(), r.dir)
	}
	r.choices = map[string]*mcpChoice{}
	return nil
}

// newCount returns the size of what is imported together.
func (r *mcpRun) newCount() *importer.TooMany {
	r.counts = append(r.counts, importer.NewTooMany("server"))
	return r.counts[len(r.counts)-1]
}

// choose returns the flags of a server: those of the command line and, for an update, those that its earlier import
// remembers and the command line does not set. Imports share none of them.
func (r *mcpRun) choose(name string) (*mcpChoice, error) {
	if known := r.choices[name]; known != nil {
		return known, nil
	}
	c := &mcpChoice{}
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	c.register(flags)
	given := importer.Earlier{Source: mcp.SourceName(name), Flags: r.memory.Flags(r.cmd.Flags())}
	_, err := r.memory.Recall(flags, given)
	if e := r.earlier(name); e != nil && r.Update && err == nil {
		var said string
		if said, err = r.memory.Recall(flags, *e); said != "" {
			fmt.Fprintf(r.cmd.ErrOrStderr(), "%s, as in the earlier import: %s\n", name, printable.Line(said))
		}
	}
	if err != nil {
		return nil, failf("%s", err)
	}
	c.remembered = r.memory.Flags(flags)
	if c.remembered[headerFlag] = mcp.WithoutSecretHeaders(c.headers); c.remembered[headerFlag] == nil {
		delete(c.remembered, headerFlag)
	}
	r.choices[name] = c
	return c, nil
}

// earlier returns the earlier import of a server, or nil.
func (r *mcpRun) earlier(name string) *importer.Earlier {
	i := slices.IndexFunc(r.known, func(e importer.Earlier) bool { return e.Source == mcp.SourceName(name) })
	if i < 0 {
		return nil
	}
	return &r.known[i]
}

// newServer returns a server with its options: those of the flags, and what the directory has of it.
func (r *mcpRun) newServer(s *mcp.Server, declarations *mcp.Declarations, count *importer.TooMany) (*mcpServer, error) {
	choice, err := r.choose(s.Name)
	if err != nil {
		return nil, err
	}
	o, name := choice.Options, s.Name
	o.Declarations = declarations
	if !o.All && len(o.Tools) == 0 {
		o.Count = count
	}
	o.Check = func(files map[string][]byte) ([]importer.Mistake, error) { return checkImported(r.cmd, files, r.abs) }
	o.Taken, o.Removed = importer.Names{}, importer.Names{}
	for header := range r.blocks {
		if tool, isTool := strings.CutPrefix(header, "tool "); isTool {
			o.Taken[tool] = true
		}
	}
	if e := r.earlier(name); e != nil {
		for _, header := range e.Blocks {
			tool, isTool := strings.CutPrefix(header, "tool ")
			if _, exists := r.blocks[header]; isTool && !exists {
				o.Removed[tool] = true
			}
			delete(o.Taken, tool)
		}
	}
	o.File = mcp.DefinitionsFile(name)
	if file := mcp.DefinitionsOf(r.blocks["connection mcp "+name]); file != "" {
		o.File = file
	}
	o.Used = mcp.Used(r.blocks, name)
	if src, err := os.ReadFile(filepath.Join(r.dir, filepath.FromSlash(o.File))); err == nil {
		if pins, err := definition.Read(src); err == nil { // another one does not load, and is written anew
			o.Pins = pins.Tools()
		}
	}
	return &mcpServer{Server: s, choice: choice, options: o}, nil
}

// importServers imports servers that a client's file or the command line describes. from is remembered as their
// source.
func (r *mcpRun) importServers(servers []*mcp.Server, from string) error {
	declarations, count := mcp.NewDeclarations(servers), r.newCount()
	for _, one := range servers {
		s, err := r.newServer(one, declarations, count)
		if err != nil {
			return err
		}
		r.all = append(r.all, s)
	}
	if r.from != "" {
		l, err := r.list(r.cmd)
		if err != nil {
			return err
		}
		r.all[0].listing = l
	} else {
		r.prepare()
		r.ask(declarations)
	}
	taken := importer.Names{}
	for _, s := range r.all {
		if s.err != nil {
			continue
		}
		for name := range taken {
			s.options.Taken[name] = true
		}
		if s.result, s.err = mcp.Import(s.Server, s.listing, s.options); s.err != nil {
			continue
		}
		s.result.From = importer.WithoutCredentials(from)
		for _, b := range s.result.Blocks {
			if name, isTool := strings.CutPrefix(importer.HeaderOf(b.Text), "tool "); isTool {
				taken[name] = true
			}
		}
	}
	return r.finish()
}

// prepare installs the programs, and finds what they need.
func (r *mcpRun) prepare() {
	installer := &upstream.Installer{Dir: r.abs, Notes: r.cmd.ErrOrStderr(), DryRun: r.DryRun}
	for _, s := range r.all {
		if !s.IsProgram() {
			continue
		}
		var p *mcp.Package
		if p, s.err = s.Launched(); s.err != nil {
			continue
		}
		if !r.start {
			s.err = errNotStarted
			continue
		}
		command := printable.Line(strings.Join(s.Command(), " "))
		fmt.Fprintf(r.cmd.ErrOrStderr(), "%s: %s\n", s.Name, importer.WithoutCredentials(command))
		if p != nil {
			var program mcp.Program
			if program, s.err = installer.Install(r.cmd.Context(), s.Name, *p); s.err != nil {
				continue
			}
			s.SetProgram(program)
		}
		s.Rewrite(func(word string) (mcp.Place, bool) { return upstream.Find(r.abs, s.Directory(), word) })
	}
}

// ask asks the servers for their tools, several at a time, with the values of secrets that the source has.
func (r *mcpRun) ask(declarations *mcp.Declarations) {
	defer console.ShowSpinner(r.cmd.ErrOrStderr(), "asking the servers for their tools")()
	files := make([]map[string][]byte, len(r.all))
	for i, s := range r.all {
		if s.err == nil {
			files[i], s.err = s.files() // declares its secrets
		}
	}
	values := declarations.Values()
	getenv := func(name string) (string, bool) {
		if value, ok := os.LookupEnv(name); ok {
			return value, true
		}
		value, ok := values[name]
		return value, ok
	}
	runParallel(len(r.all), func(i int) {
		if s := r.all[i]; s.err == nil {
			s.listing, s.err = r.askServer(s, files[i], getenv)
		}
	})
	for _, s := range r.all {
		if s.err != nil && s.ConstantURL() != "" && upstream.WantsToken(s.err) {
			r.signIn(s, getenv)
		}
	}
}

// files returns what is loaded to ask a server.
func (s *mcpServer) files() (map[string][]byte, error) {
	result, err := mcp.Connection(s.Server, s.options)
	if err != nil {
		return nil, err
	}
	files := importer.NewLayout(result.Blocks).Files
	for name, src := range result.Files {
		files[name] = src
	}
	return files, nil
}

// askServer asks one server by the connection that is written for it.
func (r *mcpRun) askServer(
	s *mcpServer, files map[string][]byte, getenv func(string) (string, bool),
) (*mcp.Listing, error) {
	c, err := upstream.Load(files, r.abs, s.Name, hcl.Options{Start: true, Getenv: getenv})
	if err != nil {
		return nil, err
	}
	return r.askConnection(c)
}

func (r *mcpRun) askConnection(c *hcl.Connection) (*mcp.Listing, error) {
	return upstream.Ask(r.cmd.Context(), c, r.abs, release(), slog.New(slog.DiscardHandler))
}

// signIn finds out which tokens a server accepts that has refused to list its tools, and asks it with such a token.
func (r *mcpRun) signIn(s *mcpServer, getenv func(string) (string, bool)) {
	c, err := oauthclient.New(oauthclient.Options{Endpoint: s.ConstantURL(), Agent: "hatchel/" + release()})
	if err != nil {
		return // its address is not encrypted: no token is sent there
	}
	defer c.Close()
	found, err := c.Metadata(r.cmd.Context())
	if err != nil {
		s.err = fmt.Errorf("%w; %w", s.err, err)
	}
	if found == nil {
		return
	}
	s.options.OAuth = &mcp.OAuth{Resource: found.Resource, TokenURL: found.TokenURL, Scopes: found.Scopes}
	files, err := s.files()
	if err != nil {
		return
	}
	refused := s.err
	if s.listing, s.err = r.askServer(s, files, getenv); s.err != nil {
		s.err = fmt.Errorf("%w; it accepts tokens of %s: %w", refused, found.TokenURL, s.err)
	}
}

// updateTools imports the tools of the connection with a name that the directory has, or without a name those of all
// earlier imports.
func (r *mcpRun) updateTools(name string) error {
	names := []string{name}
	if name == "" {
		names = nil
		for _, e := range r.known {
			names = append(names, strings.TrimPrefix(e.Source, r.memory.Kind+" "))
		}
	}
	if elsewhere := r.elsewhere(); elsewhere != "" {
		return misusef("%s has no import of the kind mcp to update, and %s has: add -o %[2]s", folderName(r.dir),
			elsewhere)
	}
	if len(names) == 0 {
		return misusef("%s has no import of the kind mcp to update: name what to import", folderName(r.dir))
	}
	config := &hcl.Config{}
	if slices.ContainsFunc(names, func(name string) bool { return r.blocks["connection mcp "+name] != "" }) {
		folder, err := r.connections()
		if err != nil {
			return err
		}
		config = folder.config
	}
	for _, name := range names {
		s, err := r.newServer(mcp.Known(name), mcp.NewDeclarations(nil), r.newCount())
		if err != nil {
			return err
		}
		r.all = append(r.all, s)
	}
	r.askKnown(config)
	for _, s := range r.all {
		if s.err != nil {
			continue
		}
		if s.result, s.err = mcp.Tools(s.Server, s.listing, s.options); s.err == nil {
			if e := r.earlier(s.Name); e != nil {
				s.result.From = e.From
			}
		}
	}
	return r.finish()
}

// elsewhere returns the directory below this one that has imports of servers, if this one has none and it is the only
// one.
func (r *mcpRun) elsewhere() string {
	found, _ := filepath.Glob(filepath.Join(r.dir, "*", importer.ManifestFile))
	if len(r.known) > 0 || len(found) != 1 {
		return ""
	}
	dir := filepath.Dir(found[0])
	if known, err := importer.ReadEarlier(dir, r.memory.Kind); err != nil || len(known) == 0 {
		return ""
	}
	return dir
}

// connections loads the directory.
func (r *mcpRun) connections() (*loadedFolder, error) {
	r.load.runsCommands = true
	folder, err := r.load.decode(r.cmd.Context(), r.dir, r.cmd.ErrOrStderr())
	if err != nil {
		return nil, err
	}
	if folder.diags.HasErrors() {
		folder.print(r.cmd.ErrOrStderr())
		return nil, failf("%s has %s", folderName(r.dir), countDiagnostics(folder.diags))
	}
	return folder, nil
}

// askKnown asks the servers of connections of the directory.
func (r *mcpRun) askKnown(config *hcl.Config) {
	defer console.ShowSpinner(r.cmd.ErrOrStderr(), "asking the servers for their tools")()
	if r.from != "" {
		r.all[0].listing, r.all[0].err = r.list(r.cmd)
		return
	}
	runParallel(len(r.all), func(i int) {
		s := r.all[i]
		at := slices.IndexFunc(config.Connections, func(c *hcl.Connection) bool {
			return c.Kind == "mcp" && c.Name == s.Name
		})
		switch {
		case at < 0:
			s.err = fmt.Errorf("the directory has no connection \"mcp\" %q; --url URL imports it", s.Name)
		case config.Connections[at].Incomplete():
			s.err = errors.New("its connection needs a value that is missing")
		default:
			s.listing, s.err = r.askConnection(config.Connections[at])
		}
	})
}
