package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"hatchel/cmd/hatchel/console"
	"hatchel/cmd/hatchel/exit"
	"hatchel/hcl/schema"
	"hatchel/hcl/spelling"
	"hatchel/internal/printable"
)

// serverHelp is the part about --server in the help of the commands that have it.
const serverHelp = `

With --server the request is made to a running MCP server over HTTP, as a client makes
it. The URL may be that of a toolset, as in http://127.0.0.1:8080/mcp/billing.

` + keyHelp

// serverFlag is the flag of commands that make a request of a directory or of a server.
type serverFlag struct {
	signInFlags
	server string
}

// remoteFlags are the flags that a request to a server can have.
var remoteFlags = []string{"server", "client-id", "json", "kind", "arg", "help"}

func (s *serverFlag) registerServer(cmd *cobra.Command) {
	cmd.Flags().StringVar(&s.server, "server", "",
		"make the request to the MCP server at this `URL`, not to a directory")
	s.signInFlags.register(cmd)
}

// connect connects to the server of the flag.
func (s *serverFlag) connect(cmd *cobra.Command) (*remoteServer, error) {
	var local string
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if !slices.Contains(remoteFlags, f.Name) {
			local = f.Name
		}
	})
	if local != "" {
		return nil, misusef("--%s cannot be used with --server: it is about a directory", local)
	}
	key, err := checkAddress("--server", s.server)
	if err != nil {
		return nil, err
	}
	stop := console.ShowSpinner(cmd.ErrOrStderr(), "connecting to "+s.server)
	defer stop()
	o := remoteOptions{Address: s.server, Key: key, Version: release(), Notes: cmd.ErrOrStderr()}
	if o.Tokens, err = s.tokens(cmd, s.server, key, stop); err != nil {
		return nil, err
	}
	c, err := connectRemote(cmd.Context(), o)
	return c, remoteFailure(cmd.Context(), err)
}

// remoteFailure converts the error of a server to that of a command.
func remoteFailure(ctx context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return failf("the request was cancelled")
	}
	return failf("%s", err)
}

// callServer calls a tool of the server.
func (f *callFlags) callServer(cmd *cobra.Command, args []string) error {
	ctx := cmd.Context()
	c, err := f.connect(cmd)
	if err != nil {
		return err
	}
	defer c.Close()
	tools, err := c.Tools(ctx)
	if err != nil {
		return remoteFailure(ctx, err)
	}
	inputs, names := (*schema.Type)(nil), make([]string, len(tools))
	for i, t := range tools {
		if names[i] = t.Name; t.Name == args[0] {
			inputs = inputsOf(t.InputSchema)
		}
	}
	if inputs == nil {
		hint := ""
		if near := spelling.Nearest(args[0], names); near != "" {
			hint = fmt.Sprintf(" Did you mean %q?", near)
		}
		return failf("there is no tool %q at %s that you may see.%s", args[0], f.server, hint)
	}
	var arguments []byte
	switch words := args[1:]; {
	case len(words) == 0 || !isObject(words[0]):
		if arguments, err = typedArguments(inputs, slices.Concat(words, f.args), nil); err != nil {
			return misusef("%s", err)
		}
	case words[0] != "-":
		arguments, err = checkObject([]byte(words[0]))
	default:
		if arguments, err = io.ReadAll(cmd.InOrStdin()); err != nil {
			return failf("standard input cannot be read: %s", reason(err))
		}
		arguments, err = checkObject(arguments)
	}
	if err != nil {
		return err
	}
	result, err := c.Call(ctx, args[0], arguments)
	if err != nil {
		return remoteFailure(ctx, err)
	}
	var decoded struct {
		IsError bool
		Content []console.Content
		Meta    resultMeta `json:"_meta"`
	}
	if err := json.Unmarshal(result, &decoded); err != nil {
		return failf("the result cannot be decoded: %s", err)
	}
	w := cmd.OutOrStdout()
	switch {
	case f.asJSON:
		fmt.Fprintf(w, "%s\n", printable.EscapeJSON(result))
	case decoded.IsError:
		w = cmd.ErrOrStderr()
		fallthrough
	default:
		for _, content := range decoded.Content {
			content.Print(console.ForTerminal(w))
		}
	}
	if decoded.IsError {
		return &exit.Error{Code: exit.Failed}
	}
	return partlyFailed(cmd.ErrOrStderr(), decoded.Meta.String(), f.asJSON)
}

// inputsOf returns what the notation of arguments needs of a JSON Schema: which inputs are strings, and which are
// lists.
func inputsOf(inputSchema any) *schema.Type {
	inputs := schema.ObjectOf()
	object, _ := inputSchema.(map[string]any)
	properties, _ := object["properties"].(map[string]any)
	for name, property := range properties {
		inputs.Members = append(inputs.Members, &schema.Member{Name: name, Type: typeOfSchema(property)})
	}
	return inputs
}

func typeOfSchema(s any) *schema.Type {
	object, _ := s.(map[string]any)
	types, _ := object["type"].([]any)
	if name, ok := object["type"].(string); ok {
		types = []any{name}
	}
	types = slices.DeleteFunc(slices.Clone(types), func(name any) bool { return name == "null" })
	switch {
	case len(types) != 1:
		return &schema.Type{Kind: schema.Any}
	case types[0] == "string":
		return &schema.Type{Kind: schema.String}
	case types[0] == "array":
		return schema.ListOf(typeOfSchema(object["items"]))
	}
	return &schema.Type{Kind: schema.Any}
}

// readServer reads a resource of the server.
func (f *readFlags) readServer(cmd *cobra.Command, uri string) error {
	c, err := f.connect(cmd)
	if err != nil {
		return err
	}
	defer c.Close()
	result, err := c.Read(cmd.Context(), uri)
	if err != nil {
		return remoteFailure(cmd.Context(), err)
	}
	return printContents(cmd.OutOrStdout(), result, f.asJSON)
}

// listServer lists what the server offers.
func (f *listFlags) listServer(cmd *cobra.Command) error {
	c, err := f.connect(cmd)
	if err != nil {
		return err
	}
	defer c.Close()
	var all struct {
		Tools     []*mcp.Tool             `json:"tools,omitempty"`
		Prompts   []*mcp.Prompt           `json:"prompts,omitempty"`
		Resources []*mcp.Resource         `json:"resources,omitempty"`
		Templates []*mcp.ResourceTemplate `json:"resourceTemplates,omitempty"`
		Skills    []*remoteSkill          `json:"skills,omitempty"`
	}
	ctx, wants := cmd.Context(), func(kind string) bool { return !f.asJSON || f.kind == kind }
	if wants("tools") {
		all.Tools, err = c.Tools(ctx)
	}
	if wants("prompts") && err == nil {
		all.Prompts, err = c.Prompts(ctx)
	}
	if wants("resources") && err == nil {
		all.Resources, err = c.Resources(ctx)
	}
	if wants("templates") && err == nil {
		all.Templates, err = c.Templates(ctx)
	}
	if wants("skills") && err == nil {
		all.Skills, err = c.Skills(ctx)
	}
	if err != nil {
		return remoteFailure(ctx, err)
	}
	if f.asJSON {
		return printJSON(cmd.OutOrStdout(), all)
	}
	var tools, prompts, resources, skills []string
	for _, t := range all.Tools {
		tools = append(tools, t.Name+"\t"+schemaInputs(t.InputSchema)+"\t"+console.FirstLine(t.Description))
	}
	for _, p := range all.Prompts {
		var names []string
		for _, a := range p.Arguments {
			names = append(names, bracketed(a.Name, a.Required))
		}
		prompts = append(prompts, p.Name+"\t"+strings.Join(names, " ")+"\t"+console.FirstLine(p.Description))
	}
	for _, r := range all.Resources {
		if slices.ContainsFunc(all.Skills, func(s *remoteSkill) bool { return s.URI == r.URI }) {
			continue // the SKILL.md of a skill is in the list of resources, too
		}
		resources = append(resources, r.Name+"\t"+r.URI+"\t"+console.FirstLine(r.Description))
	}
	for _, t := range all.Templates {
		resources = append(resources, t.Name+"\t"+t.URITemplate+"\t"+console.FirstLine(t.Description))
	}
	for _, s := range all.Skills {
		skills = append(skills, s.text("name")+"\t"+s.URI+"\t"+console.FirstLine(s.text("description")))
	}
	return writeError(printSections(cmd.OutOrStdout(), [][]string{tools, prompts, resources, skills}))
}

// schemaInputs returns the names of the inputs of a JSON Schema, with optional ones in brackets.
func schemaInputs(inputSchema any) string {
	object, _ := inputSchema.(map[string]any)
	properties, _ := object["properties"].(map[string]any)
	required, _ := object["required"].([]any)
	var names []string
	for name := range properties {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int {
		if first := slices.Index(required, any(a)) < 0; first != (slices.Index(required, any(b)) < 0) {
			if first {
				return 1
			}
			return -1
		}
		return strings.Compare(a, b)
	})
	for i, name := range names {
		names[i] = bracketed(name, slices.Contains(required, any(name)))
	}
	return strings.Join(names, " ")
}

func bracketed(name string, required bool) string {
	if required {
		return name
	}
	return "[" + name + "]"
}

// printSections prints tools, prompts and resources, with headings when there are not only tools. What a server says is
// printed without control characters.
func printSections(w io.Writer, sections [][]string) error {
	headings := len(slices.Concat(sections[1:]...)) > 0
	for i, lines := range sections {
		if len(lines) == 0 {
			continue
		}
		indent := ""
		if headings {
			fmt.Fprintln(w, []string{"Tools", "Prompts", "Resources", "Skills"}[i])
			indent = "  "
		}
		out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		for _, line := range lines {
			columns := strings.Split(line, "\t")
			for i, column := range columns {
				columns[i] = printable.Line(column)
			}
			fmt.Fprintln(out, indent+strings.TrimRight(strings.Join(columns, "\t"), "\t"))
		}
		if err := out.Flush(); err != nil {
			return err
		}
	}
	return nil
}
