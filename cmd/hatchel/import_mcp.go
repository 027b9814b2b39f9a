package main

import (
	"cmp"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"hatchel/cmd/hatchel/importer"
	"hatchel/cmd/hatchel/importer/mcp"
	"hatchel/internal/credential"
	"hatchel/internal/lazyregexp"
	"hatchel/internal/wildcard"
)

// mcpFlags are the flags of import mcp.
type mcpFlags struct {
	importFlags
	mcpChoice
	url, from string
	only      []string
	start     bool
}

// mcpChoice has the flags that an import remembers for each of its servers.
type mcpChoice struct {
	mcp.Options
	bearer     string
	headers    []string
	remembered map[string][]string // for the next import
}

func importMCPCommand() *cobra.Command {
	f := &mcpFlags{importFlags: importFlags{memory: mcpMemory}}
	cmd := &cobra.Command{
		Use:   "mcp [NAME --url URL | FILE | NAME --update]",
		Short: "Write tools for those of other MCP servers",
		Long: `Write a tool for each tool of an MCP server, with its connection and a file of
definitions: what the server says of its tools today. Calls of a tool whose definition
differs from the file are refused, until an import with --update has written the
difference and you have reviewed it.

FILE is the file of a client: claude_desktop_config.json, .mcp.json, .cursor/mcp.json,
.vscode/mcp.json, or one of their form. All its servers are imported, and the file is
not changed. Values of credentials become secrets, and are not written.

Programs are code, so only URLs are asked without --start. With it their packages are
installed once, below .mcp of the directory, in exact versions and without running their
scripts, and each program runs in the sandbox of the connection that was written for it.

Models read every tool, so an import of more than 40 tools or 25,000 tokens is refused
without --tool or --all. What a server says that its tools do, such as that one only
reads, is written as comments: it is a claim of the server.`,
		Example: `  hatchel import mcp github --url https://mcp.github.example/mcp --bearer GITHUB_TOKEN -o tools
  hatchel import mcp .mcp.json -o tools --start
  hatchel import mcp github --update --dry-run`,
		Args: f.sourceArg("import mcp requires the name of a server, or the file of a client"),
		RunE: f.run,
	}
	f.registerOutput(cmd)
	f.load.register(cmd)
	f.load.registerSecretCommands(cmd)
	flags := cmd.Flags()
	f.mcpChoice.register(flags)
	flags.StringVar(&f.url, "url", "", "`URL` of the server")
	flags.StringVar(&f.from, "from", "", "read the list of tools from a `FILE` with the answer to tools/list; - is "+
		"standard input")
	flags.StringSliceVar(&f.only, "server", nil, "only servers of the client's file whose name matches one of these "+
		"`PATTERNS`")
	flags.BoolVar(&f.start, "start", false, "install and start programs")
	return cmd
}

func (c *mcpChoice) register(flags *pflag.FlagSet) {
	flags.StringVar(&c.bearer, "bearer", "", "`NAME` of the environment variable with the bearer token of the server")
	flags.StringArrayVar(&c.headers, headerFlag, nil, "a header of every request, `NAME: VALUE`, with ${VARIABLE} for "+
		"one of the environment; may be repeated")
	flags.StringSliceVar(&c.Options.Tools, "tool", nil, "only tools whose name matches one of these `PATTERNS`, as in "+
		"get_*,list_*")
	flags.StringVar(&c.Prefix, "prefix", "", "`TEXT` before the names of the tools")
	flags.BoolVar(&c.All, "all", false, "import everything, however large it is")
	flags.BoolVar(&c.TrustHints, "trust-hints", false, "write read_only and the like as arguments, where the server "+
		"says so")
	flags.StringSliceVar(&c.Asks, "asks", nil, "what servers may ask the user: elicitation, elicitation.url, sampling")
	flags.StringSliceVar(&c.AskHosts, "ask-host", nil, "`HOSTS` of pages that servers may open")
}

// mcpMemory is what an import of a server remembers.
var mcpMemory = importMemory{"mcp", []string{"tool", "all"}, []string{"prefix", "trust-hints",
	"asks", "ask-host", "bearer", headerFlag}}

// headerFlag is the flag of headers. Those with a credential in them are not remembered.
const headerFlag = "header"

func (f *mcpFlags) run(cmd *cobra.Command, args []string) error {
	name := ""
	if len(args) > 0 {
		name = args[0]
	}
	isFile := f.url == "" && f.from == "" && (strings.ContainsAny(name, "/\\.") || isRegularFile(name))
	if err := f.check(name, isFile); err != nil {
		return err
	}
	run := &mcpRun{mcpFlags: f, cmd: cmd}
	if err := run.begin(); err != nil {
		return err
	}
	switch {
	case isFile:
		return run.file(name)
	case f.url != "":
		name = importer.Identifier(name)
		choice, err := run.choose(name)
		if err != nil {
			return err
		}
		s, err := mcp.NewServer(name, f.url, choice.bearer, choice.headers)
		if err != nil {
			return misusef("%s", err)
		}
		return run.importServers([]*mcp.Server{s}, f.url)
	}
	return run.updateTools(name)
}

func isRegularFile(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.Mode().IsRegular()
}

var variableName = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_]*$`)

// check checks the flags together.
func (f *mcpFlags) check(name string, isFile bool) error {
	_, isCredential := credential.Find(f.bearer)
	switch {
	case isFile && (f.bearer != "" || f.headers != nil):
		return misusef("--bearer and --header belong to --url: a client's file has its own credentials")
	case !isFile && f.only != nil:
		return misusef("--server selects servers of a client's file")
	case !isFile && f.url == "" && !f.Update:
		return misusef("a server needs --url URL, or --update if the directory has its connection")
	case isURL(name):
		return misusef("give the server a name, as in hatchel import mcp NAME --url %s",
			importer.WithoutCredentials(name))
	case f.bearer != "" && (isCredential || !variableName.MatchString(f.bearer)):
		return misusef("--bearer is the name of an environment variable, as in --bearer GITHUB_TOKEN")
	case f.url != "" && name == "":
		return misusef("give the server a name, as in hatchel import mcp NAME --url …")
	}
	for _, ask := range f.Asks {
		if !slices.Contains([]string{"elicitation", "elicitation.url", "sampling"}, ask) {
			return misusef("--asks is a list of elicitation, elicitation.url and sampling, not %q", ask)
		}
	}
	return nil
}

// file imports the servers of a client's file.
func (r *mcpRun) file(name string) error {
	src, err := readSource(name)
	if err != nil {
		return failf("%s cannot be read: %s", name, reason(err))
	}
	abs, err := filepath.Abs(name)
	if err != nil {
		return failf("%s cannot be read: %s", name, reason(err))
	}
	f, err := mcp.ReadClientFile(filepath.ToSlash(abs), src)
	if err != nil {
		return failf("%s", err)
	}
	workspace := filepath.Dir(abs)
	if slices.Contains([]string{".vscode", ".cursor", ".gemini", ".windsurf"}, filepath.Base(workspace)) {
		workspace = filepath.Dir(workspace)
	}
	r.client = f
	servers := slices.DeleteFunc(slices.Clone(f.Servers), func(s *mcp.Server) bool {
		return len(r.only) > 0 && !slices.ContainsFunc(r.only, func(pattern string) bool {
			return wildcard.MatchAny(pattern, s.Name)
		})
	})
	if len(servers) == 0 && len(f.Servers) > 0 {
		return misusef("no server of %s matches --server", filepath.Base(name))
	}
	for _, s := range servers {
		s.SetWorkspace(workspace)
	}
	return r.importServers(servers, cmp.Or(relativeSource(r.dir, name), name))
}

// list returns the list of tools that --from names.
func (f *mcpFlags) list(cmd *cobra.Command) (*mcp.Listing, error) {
	var src []byte
	var err error
	if f.from == "-" {
		src, err = io.ReadAll(io.LimitReader(cmd.InOrStdin(), 9<<20))
	} else {
		src, err = readSource(f.from)
	}
	if err != nil {
		return nil, failf("%s cannot be read: %s", f.from, reason(err))
	}
	l, err := mcp.ReadList(src)
	if err != nil {
		return nil, failf("%s: %s", f.from, err)
	}
	return l, nil
}
