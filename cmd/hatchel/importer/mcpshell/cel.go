package mcpshell

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// node is one node of a constraint: an expression in the Common Expression Language.
type node struct {
	op   string // an operator, "name", "text", "number", "list", or the name of a function or method with "()"
	text string // of a name, a text or a number
	args []*node
}

// celToken matches the tokens of a constraint.
var celToken = regexp.MustCompile(`^(?:\s+|[rR]?'(?:[^'\\]|\\.)*'|[rR]?"(?:[^"\\]|\\.)*"|[0-9]+(?:\.[0-9]+)?|` +
	`[A-Za-z_][A-Za-z0-9_]*|&&|\|\||[=!<>]=|[-+*/%!<>()\[\],.?:])`)

// maxTokens bounds the tokens of a constraint, and so its depth.
const maxTokens = 500

var errConstraint = errors.New("it cannot be read")

// parseConstraint reads a constraint.
func parseConstraint(src string) (*node, error) {
	p := new(celParser)
	for rest := src; rest != ""; {
		token := celToken.FindString(rest)
		if token == "" || len(p.tokens) > maxTokens {
			return nil, errConstraint
		}
		if rest = rest[len(token):]; strings.TrimSpace(token) != "" {
			p.tokens = append(p.tokens, token)
		}
	}
	n := p.binary(0)
	if p.failed || len(p.tokens) > 0 {
		return nil, errConstraint
	}
	return n, nil
}

type celParser struct {
	tokens []string
	failed bool
}

func (p *celParser) peek() string {
	if len(p.tokens) == 0 {
		return ""
	}
	return p.tokens[0]
}

// take removes a token, and reports whether it was the next one.
func (p *celParser) take(token string) bool {
	if p.peek() != token {
		return false
	}
	p.tokens = p.tokens[1:]
	return true
}

// levels are the binary operators, those that bind least first.
var levels = [][]string{{"||"}, {"&&"}, {"==", "!=", "<=", ">=", "<", ">", "in"}, {"+", "-"}, {"*", "/", "%"}}

func (p *celParser) binary(level int) *node {
	if level == len(levels) {
		return p.unary()
	}
	left := p.binary(level + 1)
	for !p.failed {
		op := ""
		for _, o := range levels[level] {
			if p.take(o) {
				op = o
				break
			}
		}
		if op == "" {
			break
		}
		left = &node{op: op, args: []*node{left, p.binary(level + 1)}}
	}
	return left
}

func (p *celParser) unary() *node {
	for _, op := range []string{"!", "-"} {
		if p.take(op) {
			return &node{op: op, args: []*node{p.unary()}}
		}
	}
	n := p.primary()
	for p.take(".") {
		name := p.peek()
		if !p.take(name) || !p.take("(") {
			p.failed = true
			return n
		}
		n = &node{op: name + "()", args: append([]*node{n}, p.list(")")...)}
	}
	return n
}

// list reads expressions up to a closing token.
func (p *celParser) list(end string) (all []*node) {
	for !p.take(end) {
		if p.failed || len(p.tokens) == 0 || len(all) > 0 && !p.take(",") {
			p.failed = true
			return nil
		}
		all = append(all, p.binary(0))
	}
	return all
}

func (p *celParser) primary() *node {
	token := p.peek()
	if token == "" {
		p.failed = true
		return &node{}
	}
	p.tokens = p.tokens[1:]
	switch c := token[0]; {
	case token == "(":
		n := p.binary(0)
		p.failed = p.failed || !p.take(")")
		return n
	case token == "[":
		return &node{op: "list", args: p.list("]")}
	case c >= '0' && c <= '9':
		return &node{op: "number", text: token}
	case strings.HasSuffix(token, "'"), strings.HasSuffix(token, `"`):
		text, err := unquote(token)
		p.failed = p.failed || err != nil
		return &node{op: "text", text: text}
	case c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z':
		if p.take("(") {
			return &node{op: token + "()", args: p.list(")")}
		}
		return &node{op: "name", text: token}
	}
	p.failed = true
	return &node{}
}

var escape = regexp.MustCompile(`\\.`)

// unquote returns the text of a literal.
func unquote(token string) (string, error) {
	if token[0]|0x20 == 'r' {
		return token[2 : len(token)-1], nil
	}
	inner := token[1 : len(token)-1]
	if token[0] == '\'' {
		inner = strings.NewReplacer(`\'`, "'", `"`, `\"`, `\\`, `\\`).Replace(inner)
	}
	// escapes that the language of constraints has and Go has not
	inner = strings.NewReplacer(`\\`, `\\`, "\\`", "`", `\?`, "?", `\'`, "'").Replace(inner)
	// an escape that neither has, such as \s, is one of a pattern, as in the examples of MCPShell
	inner = escape.ReplaceAllStringFunc(inner, func(e string) string {
		if strings.Contains(`\"abfnrtvxuU01234567`, e[1:]) {
			return e
		}
		return `\` + e
	})
	return strconv.Unquote(`"` + inner + `"`)
}

// conjuncts returns the parts of an expression that must all be true.
func (n *node) conjuncts() []*node {
	if n.op == "&&" {
		return append(n.args[0].conjuncts(), n.args[1].conjuncts()...)
	}
	return []*node{n}
}

// program writes an expression of the language in quotes. ref returns that for a parameter.
func (n *node) program(ref func(name string) (string, error), variables ...string) (string, error) {
	var parts []string
	predicate := n.op == "exists()" || n.op == "all()"
	for i, a := range n.args {
		below := variables
		if predicate && i == 1 {
			continue
		}
		if predicate && i == 2 {
			if n.args[1].op != "name" || len(variables) > 0 {
				return "", errConstraint
			}
			below = []string{n.args[1].text}
		}
		part, err := a.program(ref, below...)
		if err != nil {
			return "", err
		}
		parts = append(parts, part)
	}
	binary := map[string]string{"contains()": "contains", "startsWith()": "startsWith", "endsWith()": "endsWith",
		"matches()": "matches", "&&": "and", "||": "or"}
	switch op := n.op; {
	case op == "name" && (n.text == "true" || n.text == "false"):
		return n.text, nil
	case op == "name":
		for _, v := range variables {
			if v == n.text {
				return "#", nil
			}
		}
		return ref(n.text)
	case op == "text":
		return strconv.Quote(n.text), nil
	case op == "number":
		return n.text, nil
	case op == "list":
		return "[" + strings.Join(parts, ", ") + "]", nil
	case op == "size()" && len(parts) == 1:
		return "len(" + parts[0] + ")", nil
	case op == "int()" && len(parts) == 1:
		return "int(" + parts[0] + ")", nil
	case op == "double()" && len(parts) == 1:
		return "float(" + parts[0] + ")", nil
	case predicate && len(parts) == 2:
		return map[string]string{"exists()": "any", "all()": "all"}[op] + "(" + parts[0] + ", " + parts[1] + ")", nil
	case op == "!":
		return "not (" + parts[0] + ")", nil
	case op == "-":
		if len(parts) == 1 {
			return "-" + parts[0], nil
		}
	case strings.HasSuffix(op, "()") && binary[op] == "" || len(parts) != 2:
		return "", fmt.Errorf("it uses %s", strings.TrimSuffix(op, "()"))
	}
	op := n.op
	if word := binary[op]; word != "" {
		op = word
	}
	return "(" + parts[0] + " " + op + " " + parts[1] + ")", nil
}
