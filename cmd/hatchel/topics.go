package main

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"hatchel/hcl"
	programs "hatchel/hcl/eval/exprlang"
	"hatchel/hcl/functions"
)

func documentTypes(w io.Writer) error {
	out := bufio.NewWriter(w)
	paragraph(out, "", "The type of an input says what a caller may send. Clients see it as JSON Schema, and what they send is held to it.")
	fmt.Fprintln(out)
	columns(out, [][2]string{
		{"string number integer bool any", "One value."},
		{"list(T) set(T) map(T)", "Several values of one type; a set holds each once, a map has keys."},
		{"object({ id = integer, note = optional(string) })", "A value with named members."},
		{`enum("open", "paid")`, "One of some values."},
		{`enum({ open = "Open orders" })`, "One of some values, each with its title."},
		{"file(\"A scan\", { max_size = \"10MiB\", types = [\"image/*\"] })", "What a caller has uploaded with POST /files, for inputs of tools. hatchel docs files says more."},
		{"optional(T)", "May be left out, and is null then. For inputs and members."},
		{"optional(T, default)", "May be left out, and is the default then."},
		{"nullable(T)", "May be null."},
		{"type.name", `What a type "name" block declares.`},
	})
	fmt.Fprintln(out)
	paragraph(out, "", "Every type but enum takes a description and keywords, inside optional and nullable, too:")
	fmt.Fprint(out, `
  input "name" { type = string("Who to greet", { max_length = 80 }) }
  input "tags" { type = optional(list(string, { max_items = 5 }), []) }

`)
	paragraph(out, "", "An input may have the keywords beside its type instead. hatchel docs input says what each means.")
	return out.Flush()
}

func documentNames(w io.Writer) error {
	out := bufio.NewWriter(w)
	columns(out, [][2]string{
		{"var.<name>", "A variable. Known when the files are loaded."},
		{"local.<name>", "A local, of a file or of the tool."},
		{"secret.<name>", "A secret, in templates only, and only where nobody sees it. hatchel docs BLOCK marks where."},
		{"input.<name>", "An argument of the call or of the prompt, or a variable of the URI, checked, its default applied. In complete: what was typed, a text, and the others, each a text or null."},
		{"input.<file>.<member>", "Of an input that takes a file: file_id, filename, content_type, size and sha256; in templates also path, a copy for the programs of this call, and url, a signed address of this server."},
		{"output", "What the one backend of a tool answered. In a step and its expect: what that step's backend answered."},
		{"step.<name>", "What a step before this one answered; null when it was skipped. With each it is a list, or a map. Of a step that asks: step.<name>.<ask>."},
		{"each.key each.value", "The element in hand, where a block has each."},
		{"caller", "Who calls, as the auth block finds out: caller.subject, or null, caller.groups, caller.scopes, caller.claims, and caller.headers, those that it lists. As the client says itself: caller.client, and caller.capabilities, what the client says that it can do: 'sampling' in caller.capabilities."},
		{"error", "In error texts: error.message, error.status, error.code, error.step."},
	})
	fmt.Fprintln(out)
	paragraph(out, "", "The members of output are listed with each backend: hatchel docs http, sql, shell, csv, file.")
	fmt.Fprintln(out)
	paragraph(out, "", `In a template, ${input.name} is a value, and %{if input.name != null} ... %{else} ... %{endif} and %{for r in input.rows} ... %{endfor} `+
		`are the author's own text; $${ writes ${, and %%{ writes %{. A program is written without ${...}: when = "input.name != null".`)
	return out.Flush()
}

func documentFunctions(w io.Writer) error {
	out := bufio.NewWriter(w)
	paragraph(out, "", "These functions mean the same in templates and in programs.")
	for _, f := range functions.Table() {
		entry(out, f.Name+"("+strings.Join(parameters(f), ", ")+")", f.Doc)
	}
	fmt.Fprintln(out)
	paragraph(out, "", "These stand in templates only, where their meaning is known.")
	for _, f := range hcl.TemplateFunctions() {
		entry(out, f.Usage, f.Doc)
	}
	fmt.Fprintln(out)
	paragraph(out, "", "These stand in programs only. A predicate reads the element as # and its members as .name: output.rows | filter(.amount > 0).")
	for _, f := range programs.Builtins() {
		entry(out, f.Usage, f.Doc)
	}
	return out.Flush()
}

func parameters(f functions.Function) (params []string) {
	for _, p := range f.Params {
		name := p.Name
		switch {
		case p.Variadic:
			name += "..."
		case p.Optional:
			name = "[" + name + "]"
		}
		params = append(params, name)
	}
	return params
}

func entry(w io.Writer, usage, doc string) {
	fmt.Fprintln(w)
	paragraph(w, "", usage)
	paragraph(w, "    ", doc)
}

// width is how wide a line may be: what a terminal has at least.
const width = 80

// paragraph prints a text in lines of at most width characters.
func paragraph(w io.Writer, indent, text string) {
	for _, line := range lines(text, width-len(indent)) {
		fmt.Fprintln(w, indent+line)
	}
}

// columns prints what is on the left beside what is on the right; where the left is wide the right follows below it.
func columns(w io.Writer, rows [][2]string) {
	left := 0
	for _, r := range rows {
		if n := utf8.RuneCountInString(r[0]); n <= width/2 {
			left = max(left, n)
		}
	}
	indent := strings.Repeat(" ", left+2)
	for _, r := range rows {
		rest := lines(r[1], width-len(indent))
		if n := utf8.RuneCountInString(r[0]); n <= left {
			fmt.Fprintln(w, r[0]+indent[n:]+rest[0])
			rest = rest[1:]
		} else {
			fmt.Fprintln(w, r[0])
		}
		for _, line := range rest {
			fmt.Fprintln(w, indent+line)
		}
	}
}

// lines cuts a text between its words.
func lines(text string, width int) (out []string) {
	line := ""
	for _, word := range strings.Fields(text) {
		switch {
		case line == "":
			line = word
		case utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) <= width:
			line += " " + word
		default:
			out = append(out, line)
			line = word
		}
	}
	return append(out, line)
}
