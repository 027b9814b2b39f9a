package mcpshell

import (
	"errors"
	"math"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"hatchel/cmd/hatchel/importer"
	"hatchel/hcl/schema"
)

// rules are what constraints say of one parameter and its type can say, too.
type rules struct {
	enum      []string
	pattern   string
	minLength int // 0 for none
	maxLength int // -1 for none
	min, max  *float64
	integer   bool // every constraint reads it as an integer
	guarded   bool // a constraint allows that it is absent
}

// shellSign matches texts that mean something to a shell only. A bound value is never read by a shell, so constraints
// without them are void.
var shellSign = regexp.MustCompile("^[;&|`$<>(){}\\\\\\s'\"!#*?\\[\\]]+$")

// signClass matches a pattern that finds signs of a shell.
var signClass = regexp.MustCompile(`^(?:\.\*)?\[((?:\\.|[^\]\\])+)\](?:\.\*)?$`)

// isVoid reports whether a constraint only keeps signs of a shell away.
func (n *node) isVoid() bool {
	if n.op == "||" { // filter == '' || !filter.contains(';')
		return n.args[0].op == "==" && n.args[1].isVoid()
	}
	if n.op != "!" || len(n.args[0].args) != 2 {
		return false
	}
	call := n.args[0]
	if call.args[0].op != "name" || call.args[1].op != "text" {
		return false
	}
	switch text := call.args[1].text; call.op {
	case "contains()":
		return shellSign.MatchString(text)
	case "matches()":
		m := signClass.FindStringSubmatch(text)
		return m != nil && shellSign.MatchString(m[1])
	}
	return false
}

// subject returns the parameter that an expression reads, and whether it reads its size or its integer part.
func (n *node) subject() (name, of string) {
	switch {
	case n.op == "name":
		return n.text, ""
	case (n.op == "size()" || n.op == "int()") && len(n.args) == 1 && n.args[0].op == "name":
		return n.args[0].text, n.op
	}
	return "", ""
}

// lift adds a constraint to the rules of its parameter. It reports false if the type cannot say it.
func (n *node) lift(params map[string]*parameter) bool {
	if n.op == "||" {
		name, _ := n.args[0].subjectOf("==")
		p := params[name]
		if p == nil || p.Required || p.Default != nil || !isZero(n.args[0].args[1]) {
			return n.liftEnum(params)
		}
		saved := p.rules
		for _, part := range n.args[1].conjuncts() {
			if about, _ := part.about(); about != name || !part.lift(params) {
				p.rules = saved
				return false
			}
		}
		p.rules.guarded = true
		return true
	}
	return n.liftText(params) || n.liftBound(params) || n.liftEnum(params)
}

// about returns the parameter that a constraint is about.
func (n *node) about() (name, of string) {
	if n.op == "exists()" && len(n.args) == 3 && len(n.args[2].args) == 2 {
		for _, side := range n.args[2].args {
			if side.op == "name" && side.text != n.args[1].text {
				return side.text, ""
			}
		}
	}
	if len(n.args) == 0 {
		return "", ""
	}
	return n.args[0].subject()
}

func (n *node) subjectOf(op string) (name, of string) {
	if n.op != op || len(n.args) != 2 {
		return "", ""
	}
	return n.args[0].subject()
}

func isZero(n *node) bool {
	v, err := strconv.ParseFloat(n.text, 64)
	return n.op == "text" && n.text == "" || n.op == "number" && err == nil && v == 0
}

// liftText lifts x.matches('…').
func (n *node) liftText(params map[string]*parameter) bool {
	if n.op != "matches()" || len(n.args) != 2 || n.args[1].op != "text" {
		return false
	}
	name, of := n.args[0].subject()
	p := params[name]
	if p == nil || of != "" || p.kind != "string" || p.rules.pattern != "" || importer.Hidden(n.args[1].text) {
		return false
	}
	if _, err := schema.NewPattern(n.args[1].text); err != nil {
		return false
	}
	p.rules.pattern = n.args[1].text
	return true
}

// liftBound lifts comparisons of a number, or of the size of a text.
func (n *node) liftBound(params map[string]*parameter) bool {
	if len(n.args) != 2 || n.args[1].op != "number" || !strings.Contains("<= >=", n.op) {
		return false
	}
	name, of := n.args[0].subject()
	p := params[name]
	v, err := strconv.ParseFloat(n.args[1].text, 64)
	if p == nil || err != nil || of == "size()" != (p.kind == "string") || p.kind == "bool" {
		return false
	}
	whole := of != "" || p.kind == "integer"
	switch {
	case n.op == "<" && whole:
		v = math.Ceil(v) - 1
	case n.op == ">" && whole:
		v = math.Floor(v) + 1
	case n.op == "<", n.op == ">", whole && v != math.Trunc(v):
		return false
	}
	if math.Abs(v) > 1<<31 {
		return false
	}
	r := &p.rules
	switch {
	case of == "size()" && n.op[0] == '<':
		r.maxLength = int(v)
	case of == "size()":
		r.minLength = int(v)
	case n.op[0] == '<':
		r.max = &v
	default:
		r.min = &v
	}
	r.integer = r.integer || of == "int()"
	return true
}

// liftEnum lifts ['a', 'b'].exists(v, v == x), x in ['a', 'b'], and x == 'a' || x == 'b'.
func (n *node) liftEnum(params map[string]*parameter) bool {
	var name string
	var values []*node
	switch {
	case n.op == "exists()" && len(n.args) == 3 && n.args[0].op == "list" && n.args[2].op == "==":
		name, _ = n.about()
		values = n.args[0].args
	case n.op == "in" && n.args[1].op == "list":
		name, _ = n.args[0].subject()
		values = n.args[1].args
	case n.op == "||":
		for _, side := range n.disjuncts() {
			about, of := side.subjectOf("==")
			if about == "" || of != "" || name != "" && about != name {
				return false
			}
			name, values = about, append(values, side.args[1])
		}
	default:
		return false
	}
	p := params[name]
	if p == nil || p.kind != "string" || p.rules.enum != nil || len(values) == 0 {
		return false
	}
	var enum []string
	for _, v := range values {
		if v.op != "text" || importer.Hidden(v.text) || v.text == "" && (p.Required || p.Default != nil) {
			return false
		}
		if v.text == "" {
			p.rules.guarded = true
			continue
		}
		enum = append(enum, v.text)
	}
	p.rules.enum = enum
	return enum != nil
}

func (n *node) disjuncts() []*node {
	if n.op == "||" {
		return append(n.args[0].disjuncts(), n.args[1].disjuncts()...)
	}
	return []*node{n}
}

// refusesAbsence reports whether the value of an absent parameter would break the rules.
func (p *parameter) refusesAbsence() bool {
	r := p.rules
	if r.guarded {
		return false
	}
	if p.kind == "string" {
		return r.enum != nil || r.minLength > 0 || !r.matches("")
	}
	return r.min != nil && *r.min > 0 || r.max != nil && *r.max < 0
}

// matches reports whether a text fulfils the rules for texts.
func (r *rules) matches(text string) bool {
	if r.pattern != "" {
		if p, err := schema.NewPattern(r.pattern); err != nil || !p.MatchString(text) {
			return false
		}
	}
	n := utf8.RuneCountInString(text)
	return n >= r.minLength && (r.maxLength < 0 || n <= r.maxLength)
}

// keywords returns the keywords of the type. An enumeration has the values that fulfil the other rules.
func (r *rules) keywords() (words []string, err error) {
	add := func(name, value string) { words = append(words, name+" = "+value) }
	if r.enum != nil {
		var values []string
		for _, v := range r.enum {
			if r.matches(v) {
				values = append(values, importer.Quote(v))
			}
		}
		if values == nil {
			return nil, errors.New("its constraints allow no value")
		}
		add("enum", "["+strings.Join(values, ", ")+"]")
		return words, nil
	}
	if r.minLength > 0 {
		add("min_length", strconv.Itoa(r.minLength))
	}
	if r.maxLength >= 0 {
		add("max_length", strconv.Itoa(r.maxLength))
	}
	if r.pattern != "" {
		add("pattern", importer.Quote(r.pattern))
	}
	if r.min != nil {
		add("min", strconv.FormatFloat(*r.min, 'f', -1, 64))
	}
	if r.max != nil {
		add("max", strconv.FormatFloat(*r.max, 'f', -1, 64))
	}
	return words, nil
}
