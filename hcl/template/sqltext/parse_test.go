package sqltext

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	hclv2 "github.com/hashicorp/hcl/v2"

	"hatchel/hcl/template"
	"hatchel/hcl/value"
)

// scope is the frame of the tests: values by the source that names them.
type scope map[string]any

// A notation is a small stand-in for HCL's template syntax: ${source}, ${ident(a, b)}, ${raw(a)}, %{if cond}, %{else}, %{endif}, %{for v in list}, %{endfor}.
type notation struct {
	t     testing.TB
	src   string
	types map[string]template.Type
	marks [][]int
	next  int
	at    int
}

var mark = regexp.MustCompile(`(?s)\$\{(.*?)\}|%\{(.*?)\}`)

func parse(t testing.TB, src string, types map[string]template.Type) *template.Tree {
	t.Helper()
	n := &notation{t: t, src: src, types: types, marks: mark.FindAllStringSubmatchIndex(src, -1)}
	nodes, end := n.nodes()
	if end != "" {
		t.Fatalf("unexpected %%{%s} in %q", end, src)
	}
	return &template.Tree{Nodes: nodes, Range: n.span(0, len(src))}
}

func (n *notation) span(from, to int) hclv2.Range {
	return hclv2.Range{Start: n.pos(from), End: n.pos(to)}
}

func (n *notation) pos(at int) hclv2.Pos {
	before := n.src[:at]
	return hclv2.Pos{Line: 1 + strings.Count(before, "\n"), Column: at - strings.LastIndexByte(before, '\n'), Byte: at}
}

// nodes reads up to a directive that ends them, which it returns.
func (n *notation) nodes() (list []template.Node, end string) {
	for {
		stop := len(n.src)
		if n.next < len(n.marks) {
			stop = n.marks[n.next][0]
		}
		if from := n.at; stop > from {
			list = append(list, &template.Text{Value: n.src[from:stop], Place: func(a, b int) hclv2.Range { return n.span(from+a, from+b) }})
		}
		if n.next == len(n.marks) {
			n.at = stop
			return list, ""
		}
		m := n.marks[n.next]
		n.next++
		n.at = m[1]
		if m[2] >= 0 {
			list = append(list, n.interpolation(m[0], m[1], n.src[m[2]:m[3]]))
			continue
		}
		node, ended := n.directive(n.src[m[4]:m[5]], n.span(m[4], m[5]))
		if node == nil {
			return list, ended
		}
		list = append(list, node)
	}
}

func (n *notation) directive(text string, at hclv2.Range) (template.Node, string) {
	word, rest, _ := strings.Cut(text, " ")
	switch word {
	case "if":
		node := &template.If{Condition: template.Condition{Cond: lookup(rest)}, Range: at}
		var end string
		if node.Then, end = n.nodes(); end == "else" {
			node.Else, _ = n.nodes()
		}
		return node, ""
	case "for":
		name, list, _ := strings.Cut(rest, " in ")
		node := &template.For{Range: at, Over: func(f template.Frame, body func(template.Frame) error) error {
			elements, _ := f.(scope)[list].([]any)
			for i, e := range elements {
				inner := scope{"first": i == 0, "more": i > 0, "notlast": i < len(elements)-1}
				for k, v := range f.(scope) {
					if _, ok := inner[k]; !ok {
						inner[k] = v
					}
				}
				inner[name] = e
				if err := body(inner); err != nil {
					return err
				}
			}
			return nil
		}}
		node.Body, _ = n.nodes()
		return node, ""
	}
	return nil, word
}

var call = regexp.MustCompile(`^(ident|raw|path|under)\((.*)\)$`)

func (n *notation) interpolation(from, to int, source string) *template.Interpolation {
	h := &template.Interpolation{Value: lookup(source), Source: source, Range: n.span(from, to)}
	if m := call.FindStringSubmatch(source); m != nil {
		h.Func = m[1]
		for arg := range strings.SplitSeq(m[2], ",") {
			if arg = strings.TrimSpace(arg); arg == "" {
				continue
			}
			at := from + strings.Index(n.src[from:to], arg)
			h.Args = append(h.Args, &template.Interpolation{Value: lookup(arg), Source: arg, Range: n.span(at, at+len(arg)), Type: n.typeOf(arg)})
		}
		return h
	}
	h.Type = n.typeOf(source)
	return h
}

func (n *notation) typeOf(source string) template.Type {
	if strings.HasPrefix(source, `"`) {
		return template.Type{Kind: template.String, Known: true, Constant: strings.Trim(source, `"`)}
	}
	t, ok := n.types[source]
	if !ok {
		n.t.Fatalf("no type for %s", source)
	}
	return t
}

func lookup(source string) template.Value {
	if strings.HasPrefix(source, `"`) {
		return func(template.Frame) (any, error) { return strings.Trim(source, `"`), nil }
	}
	return func(f template.Frame) (any, error) {
		v, ok := f.(scope)[source]
		if !ok {
			return nil, fmt.Errorf("no value for %s", source)
		}
		return v, nil
	}
}

// parseTypes reads lines of a source and its type: string, list(string), enum(a b), tuple(string integer), known("json"), each with ? for nullable.
func parseTypes(t testing.TB, text string) map[string]template.Type {
	types := map[string]template.Type{}
	for line := range strings.Lines(text) {
		source, typ, ok := strings.Cut(strings.TrimSpace(line), " ")
		if ok {
			types[source] = parseType(t, strings.TrimSpace(typ))
		}
	}
	return types
}

func parseType(t testing.TB, s string) template.Type {
	if rest, ok := strings.CutSuffix(s, "?"); ok {
		typ := parseType(t, rest)
		typ.Nullable = true
		return typ
	}
	kinds := map[string]template.Kind{"any": template.Any, "string": template.String, "number": template.Number, "integer": template.Integer,
		"bool": template.Bool, "list": template.List, "object": template.Object, "bytes": template.Bytes}
	if k, ok := kinds[s]; ok {
		return template.Type{Kind: k}
	}
	word, rest, _ := strings.Cut(s, "(")
	inner := strings.TrimSuffix(rest, ")")
	switch word {
	case "list":
		elem := parseType(t, inner)
		return template.Type{Kind: template.List, Elem: &elem}
	case "enum":
		return template.Type{Kind: template.Enum, Values: strings.Fields(strings.ReplaceAll(inner, `\0`, "\x00"))}
	case "texts":
		return template.Type{Kind: template.String, Values: strings.Split(inner, "|")}
	case "tuple":
		tuple := []template.Type{}
		if inner == "" {
			return template.Type{Kind: template.List, Tuple: tuple}
		}
		depth, from := 0, 0
		for i := 0; i <= len(inner); i++ {
			switch {
			case i == len(inner) || inner[i] == ';' && depth == 0:
				tuple = append(tuple, parseType(t, strings.TrimSpace(inner[from:i])))
				from = i + 1
			case inner[i] == '(':
				depth++
			case inner[i] == ')':
				depth--
			}
		}
		return template.Type{Kind: template.List, Tuple: tuple}
	case "known":
		return template.Type{Kind: template.String, Known: true, Constant: decode(t, inner)}
	}
	t.Fatalf("no type %q", s)
	return template.Type{}
}

func decode(t testing.TB, text string) any {
	t.Helper()
	v, err := value.Decode([]byte(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v
}

// show prints an argument with its Go type where JSON has no difference.
func show(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	switch v.(type) {
	case nil, string, int, float64, bool:
		return string(b)
	case []byte:
		return fmt.Sprintf("bytes(%q)", v)
	}
	return fmt.Sprintf("%T %s", v, b)
}
