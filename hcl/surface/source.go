package surface

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	hclv2 "github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl"
	"hatchel/hcl/eval"
	"hatchel/hcl/syntax"
	"hatchel/hcl/value"
)

// source is the syntax of a configuration and what the load has recorded of it. It is read for what the author wrote,
// such as the name of a variable instead of its value.
type source struct {
	kinds     hcl.Kinds
	files     map[string][]byte
	blocks    map[string]*hclsyntax.Block // by first line, such as "tool pay"
	locals    map[string]hclsyntax.Expression
	variables map[string]hclsyntax.Expression    // defaults; nil for none
	code      map[*hcl.Backend]map[string]string // as hcl.Config has it
	secrets   map[string]bool
	reads     map[string]*eval.Reads        // by file
	layouts   map[place]func(string) string // of the texts whose white space has no meaning, see hcl.Effect
	cache     *formCache
	loop      map[string]string // the marks of the variables of loops around an expression, by name
	depth     int               // how many these loops are
	inline    bool              // constant words are part of the texts around them, see constantWord
	types     map[string]any    // takes the schemas of types of a step, by path; nil elsewhere
}

// readSource reads the blocks of some files of a configuration, and all its values.
func readSource(c *hcl.Config, names []string, parallel func(int, func(int))) *source {
	lists := slices.Clone(c.ValueReads)
	for _, s := range c.Settings {
		lists = append(lists, s.Reads...)
	}
	for _, operations := range operationsOf(c) {
		for _, op := range operations {
			lists = append(lists, op.Reads)
		}
	}
	s := &source{kinds: c.Kinds, files: c.Sources, blocks: map[string]*hclsyntax.Block{},
		locals:    map[string]hclsyntax.Expression{},
		variables: map[string]hclsyntax.Expression{}, secrets: map[string]bool{}, reads: eval.JoinReads(lists),
		code:  c.Code,
		cache: &formCache{forms: map[hclsyntax.Expression]string{}}}
	for _, b := range c.Values {
		s.declare(b)
	}
	bodies := make([]*hclsyntax.Body, len(names))
	parallel(len(names), func(i int) { bodies[i], _ = syntax.Parse(names[i], c.Sources[names[i]]) })
	for _, body := range bodies {
		for _, b := range body.Blocks {
			s.blocks[strings.Join(append([]string{b.Type}, b.Labels...), " ")] = b
		}
	}
	return s
}

// declare adds the values that a block declares.
func (s *source) declare(b *hclsyntax.Block) {
	switch b.Type {
	case "locals":
		for name, a := range b.Body.Attributes {
			s.locals[name] = a.Expr
		}
	case "variable":
		var value hclsyntax.Expression
		if a := b.Body.Attributes["default"]; a != nil {
			value = a.Expr
		}
		s.variables[b.Labels[0]] = value
	case "secret":
		s.secrets[b.Labels[0]] = true
	}
}

// withLocals returns the source as a block with locals of its own reads it.
func (s *source) withLocals(own map[string]hclsyntax.Expression) *source {
	if len(own) == 0 {
		return s
	}
	out := *s
	out.locals = maps.Clone(s.locals)
	maps.Copy(out.locals, own)
	return &out
}

// attribute returns the expression of an argument of a block; nil for none.
func attribute(b *hclsyntax.Block, name string) hclsyntax.Expression {
	if b == nil {
		return nil
	}
	if a := b.Body.Attributes[name]; a != nil {
		return a.Expr
	}
	return nil
}

// text returns the bytes of a range.
func (s *source) text(r hclv2.Range) string {
	src := s.files[r.Filename]
	if r.Start.Byte > r.End.Byte || r.End.Byte > len(src) {
		return ""
	}
	return string(src[r.Start.Byte:r.End.Byte])
}

// at parses the expression in a range.
func (s *source) at(r hcl.Range) hclsyntax.Expression {
	src := s.files[r.File]
	if r.End.Byte > len(src) || r.Start.Byte >= r.End.Byte {
		return nil
	}
	text := src[r.Start.Byte:r.End.Byte]
	start := hclv2.Pos{Line: r.Start.Line, Column: r.Start.Column, Byte: r.Start.Byte}
	e, diags := hclsyntax.ParseExpression(text, r.File, start)
	if diags.HasErrors() && strings.HasPrefix(string(text), "<<") { // the end of a heredoc is a line of its own
		e, diags = hclsyntax.ParseExpression(append(slices.Clone(text), '\n'), r.File, start)
	}
	if diags.HasErrors() {
		return nil
	}
	return e
}

// visitReads calls visit with the path of each read in a part of a file, and of those in the values of the locals and
// the defaults of the variables that it reads.
func (s *source) visitReads(r hclv2.Range, visit func(path []string)) {
	s.visitRanges(r, func(hclv2.Range) {}, visit)
}

// visitRanges is visitReads that also calls enter with the part itself, and with those values.
func (s *source) visitRanges(r hclv2.Range, enter func(hclv2.Range), visit func(path []string)) {
	seen := map[hclsyntax.Expression]bool{}
	var walk func(r hclv2.Range)
	follow := func(e hclsyntax.Expression) {
		if e != nil && !seen[e] {
			seen[e] = true
			walk(e.Range())
		}
	}
	walk = func(r hclv2.Range) {
		enter(r)
		for _, read := range s.reads[r.Filename].In(r.Start.Byte, r.End.Byte) {
			path := eval.SplitPath(read.Path)
			visit(path)
			switch {
			case path[0] == "local" && len(path) > 1:
				e, _ := s.localAt(path[1:])
				follow(e)
			case path[0] == "local":
				for _, e := range s.locals {
					follow(e)
				}
			}
		}
	}
	walk(r)
}

// unread are the arguments and blocks of an operation whose files are shown with their texts and types alone.
var unread = []string{"title", "description", "input", "argument"}

// filesOf returns a line for each file that the arguments of a block read by a function, such as
// "FILE terms.txt sha256:…".
func (s *source) filesOf(block *hclsyntax.Block) (lines []string) {
	enter := func(r hclv2.Range) {
		for _, f := range s.reads[r.Filename].FilesIn(r.Start.Byte, r.End.Byte) {
			lines = append(lines, "FILE "+f.Name+" "+f.Digest)
		}
	}
	for name, a := range block.Body.Attributes {
		if !slices.Contains(unread, name) {
			s.visitRanges(a.SrcRange, enter, func([]string) {})
		}
	}
	for _, nested := range block.Body.Blocks {
		if !slices.Contains(unread, nested.Type) && nested.Type != "locals" { // their readers are followed
			lines = append(lines, s.filesOf(nested)...)
		}
	}
	return lines
}

// readsOf returns what a part of a file reads, sorted: values of the call and of the caller, secrets and variables.
func (s *source) readsOf(r hclv2.Range) (paths []string) {
	s.visitReads(r, func(path []string) {
		if path[0] != "local" {
			paths = append(paths, showPath(path))
		}
	})
	slices.Sort(paths)
	return slices.Compact(paths)
}

func showPath(path []string) string {
	text := path[0]
	for _, name := range path[1:] {
		text += memberStep(name)
	}
	return text
}

// secretsIn returns the secrets that a part of a file reads, sorted, as in "secret.token".
func (s *source) secretsIn(r hclv2.Range) (names []string) {
	s.visitReads(r, func(path []string) {
		switch {
		case path[0] != "secret":
		case len(path) > 1:
			names = append(names, "secret."+path[1])
		default: // any of them
			for name := range s.secrets {
				names = append(names, "secret."+name)
			}
		}
	})
	slices.Sort(names)
	return slices.Compact(names)
}

// callerIn returns what a part of a file reads of the caller, sorted, as in "caller.subject".
func (s *source) callerIn(r hclv2.Range) (members []string) {
	s.visitReads(r, func(path []string) {
		if path[0] == "caller" {
			members = append(members, showPath(path))
		}
	})
	slices.Sort(members)
	return slices.Compact(members)
}

// condition returns the logical form of a condition; nil for none.
func (s *source) condition(c *hcl.Condition) *eval.Formula { return c.Form(s.programValue) }

// message returns a template as people read it: its text, and ${…} for what it computes.
func (s *source) message(e hclsyntax.Expression) string {
	if e == nil {
		return ""
	}
	template, ok := s.follow(e).(*hclsyntax.TemplateExpr)
	if !ok {
		return "${" + s.form(e) + "}"
	}
	var b strings.Builder
	for _, p := range s.templateParts(template.Parts) {
		if constant, ok := quotedText(p.text); ok && !p.isText {
			p = templatePart{true, constant}
		}
		if p.isText {
			p.text = escapeTemplate(p.text)
		}
		b.WriteString(p.text)
	}
	return b.String()
}

// quotedText returns the text of a ${…} whose value is a constant text.
func quotedText(value string) (text string, ok bool) {
	value, ok = strings.CutPrefix(strings.TrimSuffix(value, "}"), "${")
	ok = ok && json.Unmarshal([]byte(value), &text) == nil
	return text, ok && !strings.Contains(text, "${") && !strings.Contains(text, "%{")
}

// arguments adds the arguments of a block to out, each in its normal form, by its path, such as "headers.X-Name" or
// "retry.attempts". Members of objects have a path each. Skip are the names of arguments and blocks to leave out.
func (s *source) arguments(out map[string]string, at string, block *hclsyntax.Block, skip ...string) {
	for name, a := range block.Body.Attributes {
		if !slices.Contains(skip, name) {
			s.argument(out, at+name, a.Expr)
		}
	}
	count := map[string]int{}
	for _, nested := range block.Body.Blocks {
		if slices.Contains(skip, nested.Type) {
			continue
		}
		path := at + header(nested)
		if count[path]++; count[path] > 1 { // the order of blocks has a meaning
			path += "#" + strconv.Itoa(count[path])
		}
		known := len(out)
		s.arguments(out, path+".", nested)
		if len(out) == known { // nothing but defaults
			out[path] = ""
		}
	}
}

// header returns the type and the labels of a block.
func header(b *hclsyntax.Block) string {
	return strings.Join(append([]string{b.Type}, b.Labels...), " ")
}

// argument adds an argument, or the members of one that is written as an object. One that has its default is the same
// as none.
func (s *source) argument(out map[string]string, at string, e hclsyntax.Expression) {
	if s.reads[e.Range().Filename].IsDefault(e.Range().Start.Byte) {
		return
	}
	if t := s.reads[e.Range().Filename].TypeAt(e.Range().Start.Byte); t != nil && s.types != nil {
		s.types[at] = decodeSchema(t)
		out[at] = "type " + strings.Join(t.MemberNames(), ", ") // the order of fields counts
		return
	}
	object, ok := s.follow(e).(*hclsyntax.ObjectConsExpr)
	if ok {
		names := make([]string, len(object.Items))
		for i, item := range object.Items {
			name, constant := s.memberName(item.KeyExpr)
			ok = ok && constant && !slices.Contains(names, name)
			names[i] = name
		}
		if ok && len(names) > 0 {
			for i, item := range object.Items {
				s.argument(out, at+"."+pathName(names[i]), item.ValueExpr)
			}
			return
		}
	}
	out[at] = clip(s.form(e), maxForm)
}

// pathName returns the name of a member as a path of arguments has it: in quotes if it could be read as several.
func pathName(name string) string {
	if strings.ContainsAny(name, `."`) {
		return string(value.AppendCanonicalString(nil, name))
	}
	return name
}
