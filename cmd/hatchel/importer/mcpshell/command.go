package mcpshell

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"text/template/parse"

	"hatchel/cmd/hatchel/importer"
)

// piece is a part of a template: text, the value of a parameter, a variable of the environment, or a condition.
type piece struct {
	text      string
	param     *parameter
	env       string
	condition *condition
	then, els []piece
}

// condition is the test of an if, in templates and in a shell.
type condition struct{ hcl, shell string }

// readTemplate reads a template of a command.
func (t *tool) readTemplate(src string) ([]piece, error) {
	tree := parse.New("command")
	tree.Mode = parse.SkipFuncCheck
	if _, err := tree.Parse(src, "{{", "}}", map[string]*parse.Tree{}); err != nil {
		return nil, errors.New("its template cannot be read")
	}
	return t.pieces(tree.Root)
}

func (t *tool) pieces(list *parse.ListNode) (out []piece, err error) {
	if list == nil {
		return nil, nil
	}
	for _, n := range list.Nodes {
		switch n := n.(type) {
		case *parse.TextNode:
			out = append(out, piece{text: string(n.Text)})
		case *parse.ActionNode:
			p, err := t.value(n)
			if err != nil {
				return nil, err
			}
			out = append(out, p)
		case *parse.IfNode:
			p := piece{}
			if p.condition, err = t.condition(n.Pipe); err != nil {
				return nil, err
			}
			if p.then, err = t.pieces(n.List); err == nil {
				p.els, err = t.pieces(n.ElseList)
			}
			if err != nil {
				return nil, err
			}
			out = append(out, p)
		case *parse.CommentNode:
		default:
			return nil, fmt.Errorf("its template has %.60s", n)
		}
	}
	return out, nil
}

// quoting are the functions that quote a value for a shell. A bound value needs none.
var quoting = map[string]bool{"quote": true, "squote": true, "toString": true, "trim": true}

// value reads {{ .name }} and {{ env "NAME" }}.
func (t *tool) value(n *parse.ActionNode) (piece, error) {
	refused := fmt.Errorf("its template has %.60s", n)
	if len(n.Pipe.Decl) > 0 || len(n.Pipe.Cmds) == 0 {
		return piece{}, refused
	}
	first := n.Pipe.Cmds[0].Args
	for _, more := range n.Pipe.Cmds[1:] {
		if id, ok := more.Args[0].(*parse.IdentifierNode); !ok || len(more.Args) != 1 || !quoting[id.Ident] {
			return piece{}, refused
		}
	}
	if len(first) == 2 {
		function, isFunction := first[0].(*parse.IdentifierNode)
		name, isText := first[1].(*parse.StringNode)
		switch {
		case !isFunction:
		case isText && function.Ident == "env" && envName.MatchString(name.Text):
			t.inherit(name.Text)
			return piece{env: name.Text}, nil
		case quoting[function.Ident]:
			first = first[1:]
		}
	}
	if p := t.field(first); p != nil {
		p.used = true
		return piece{param: p}, nil
	}
	return piece{}, refused
}

var envName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// field returns the parameter that is the only argument.
func (t *tool) field(args []parse.Node) *parameter {
	if len(args) != 1 {
		return nil
	}
	f, ok := args[0].(*parse.FieldNode)
	if !ok || len(f.Ident) != 1 {
		return nil
	}
	return t.params[f.Ident[0]]
}

// condition reads .name, not .name, eq .name "…" and ne .name "…".
func (t *tool) condition(pipe *parse.PipeNode) (*condition, error) {
	refused := fmt.Errorf("its template has the condition %.60s", pipe)
	if len(pipe.Decl) > 0 || len(pipe.Cmds) != 1 {
		return nil, refused
	}
	args := pipe.Cmds[0].Args
	if p := t.field(args); p != nil {
		return p.isSet(), nil
	}
	function, ok := args[0].(*parse.IdentifierNode)
	if !ok || len(args) < 2 {
		return nil, refused
	}
	p := t.field(args[1:2])
	switch {
	case p == nil:
		return nil, refused
	case function.Ident == "not" && len(args) == 2:
		c := p.isSet()
		return &condition{"!(" + c.hcl + ")", "! " + c.shell}, nil
	case len(args) != 3 || function.Ident != "eq" && function.Ident != "ne":
		return nil, refused
	}
	text, ok := args[2].(*parse.StringNode)
	if !ok || p.kind != "string" || strings.ContainsAny(text.Text, "'\n") || !importer.TemplateHolds(text.Text) {
		return nil, refused
	}
	p.used = true
	op := map[string][2]string{"eq": {"==", "="}, "ne": {"!=", "!="}}[function.Ident]
	return &condition{
		p.ref() + " " + op[0] + " " + importer.Quote(text.Text),
		"[ \"" + p.interpolation() + "\" " + op[1] + " '" + importer.Template(text.Text) + "' ]",
	}, nil
}

// isSet is true when a parameter has a value that is neither empty, nor zero, nor false.
func (p *parameter) isSet() *condition {
	p.used = true
	switch {
	case p.kind == "bool":
		return &condition{p.ref(), "[ \"" + p.interpolation() + "\" = true ]"}
	case p.kind != "string" && p.nullable():
		return &condition{p.ref() + " != null && " + p.ref() + " != 0", "[ \"" + p.interpolation() + "\" != 0 ]"}
	case p.kind != "string":
		return &condition{p.ref() + " != 0", "[ \"" + p.interpolation() + "\" != 0 ]"}
	case p.nullable():
		return &condition{p.ref() + " != null && " + p.ref() + ` != ""`, "[ -n \"" + p.interpolation() + "\" ]"}
	}
	return &condition{p.ref() + ` != ""`, "[ -n \"" + p.interpolation() + "\" ]"}
}

// ref is the parameter in a template of the language.
func (p *parameter) ref() string { return "input." + p.input }

// interpolation is the parameter in a script. What is absent is empty there, and zero if it is a number.
func (p *parameter) interpolation() string {
	switch {
	case p.nullable() && p.kind != "string":
		return "${" + p.ref() + " == null ? 0 : " + p.ref() + "}"
	case p.nullable():
		return "${" + p.ref() + ` == null ? "" : ` + p.ref() + "}"
	}
	return "${" + p.ref() + "}"
}

// script writes a template as a script. Its conditions must surround whole lines.
func script(pieces []piece) (string, error) {
	var out strings.Builder
	for i, p := range pieces {
		switch {
		case p.param != nil:
			out.WriteString(p.param.interpolation())
		case p.env != "":
			out.WriteString("$" + p.env)
		case p.condition == nil:
			if !importer.TemplateHolds(p.text) || importer.Hidden(p.text) {
				return "", errors.New("its command has characters that a reviewer cannot see, or $${")
			}
			out.WriteString(importer.Template(p.text))
		default:
			before := strings.TrimRight(out.String(), " \t")
			after := ""
			if i+1 < len(pieces) {
				after = strings.TrimLeft(pieces[i+1].text, " \t\r")
			}
			begins := before == "" || strings.HasSuffix(before, "\n") && !strings.HasSuffix(before, "\\\n")
			if !begins || i+1 < len(pieces) && !strings.HasPrefix(after, "\n") {
				return "", errors.New("its template has a condition within a command")
			}
			then, err := script(p.then)
			if err != nil {
				return "", err
			}
			els, err := script(p.els)
			if err != nil {
				return "", err
			}
			if strings.TrimSpace(then) == "" {
				then = ":"
			}
			out.WriteString("if " + p.condition.shell + "; then\n" + strings.Trim(then, "\n") + "\n")
			if strings.TrimSpace(els) != "" {
				out.WriteString("else\n" + strings.Trim(els, "\n") + "\n")
			}
			out.WriteString("fi")
		}
	}
	return out.String(), nil
}
