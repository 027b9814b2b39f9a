package definition

import (
	"errors"
	"fmt"
	"strings"

	"hatchel/hcl"
	"hatchel/hcl/diag"
	"hatchel/hcl/eval"
	"hatchel/hcl/schema"
)

// Use is what a block says of the tool that it calls. The fields are those that errors blame; see hcl.Blame.
type Use struct {
	Connection string // the name of the connection
	Call       string // the name of the tool
	CallField  any

	// Arguments are decoded with KeepMembers, so that an error has the place of the member.
	Arguments      *hcl.Expr
	ArgumentsField any

	IdempotencyArgument      string // "" for none
	IdempotencyArgumentField any
}

// Pinned is a pinned tool that a block uses.
type Pinned struct {
	Definition
	Input  *schema.Foreign
	Output *schema.Foreign // nil if the tool has no outputSchema
	Sent   *schema.Type    // of the arguments that the block can send, for Compare
}

// Check finds the pinned tool of a block and checks its arguments. The error joins all mistakes, each placed at the
// argument or the member that it is about. A mistake is what certainly can fail; what cannot be proved is left to
// Input.Check, which each call needs before its arguments are sent. The tool is returned beside an error unless it does
// not exist or its schemas cannot be enforced.
func (f File) Check(u Use) (*Pinned, error) {
	d, ok := f.Lookup(u.Call)
	if !ok {
		names := f.Names()
		return nil, hcl.Blame(u.CallField, "The definitions of %q have no tool %q.%s", u.Connection, u.Call,
			diag.SuggestOr(u.Call, names, diag.ListAre(names)))
	}
	p := &Pinned{Definition: d}
	var err error
	if p.Input, err = schema.ReadForeign(d.InputSchema); err != nil {
		return nil, hcl.Blame(u.CallField, "The inputSchema of %s cannot be enforced: %s.", d.Name, err)
	}
	if d.OutputSchema != "" {
		if p.Output, err = schema.ReadForeign(d.OutputSchema); err != nil {
			return nil, hcl.Blame(u.CallField, "The outputSchema of %s cannot be enforced: %s.", d.Name, err)
		}
	}
	c := checker{Use: u, Pinned: p}
	c.checkIdempotency()
	c.checkArguments()
	p.Sent = sentType(u.Arguments)
	return p, errors.Join(c.mistakes...)
}

// Contradiction returns what is wrong with a block that claims more safety than the server, as a sentence, or "".
// ReadOnly and destructive are what the block says; nil for nothing.
func (d Definition) Contradiction(readOnly, destructive *bool) string {
	h := d.Hints()
	claims := func(said *bool, value bool) bool { return said != nil && *said == value }
	switch {
	case claims(readOnly, true) && claims(h.ReadOnly, false):
		return fmt.Sprintf("read_only = true contradicts the pinned definition of %s, which says that it changes "+
			"something.", d.Name)
	case claims(readOnly, true) && claims(h.Destructive, true) && !claims(h.ReadOnly, true):
		return fmt.Sprintf("read_only = true contradicts the pinned definition of %s, which says that it is "+
			"destructive.", d.Name)
	case claims(destructive, false) && claims(h.Destructive, true) && !claims(h.ReadOnly, true):
		return fmt.Sprintf("destructive = false contradicts the pinned definition of %s, which says that it is "+
			"destructive.", d.Name)
	}
	return ""
}

// checker checks one use.
type checker struct {
	Use
	*Pinned
	mistakes []error
}

func (c *checker) fail(field any, format string, args ...any) {
	c.mistakes = append(c.mistakes, hcl.Blame(field, format, args...))
}

func (c *checker) checkIdempotency() {
	name := c.IdempotencyArgument
	if name == "" {
		return
	}
	m, ok := c.Input.Type().Lookup(name)
	switch {
	case !c.Input.Declares(name):
		c.unknown(c.IdempotencyArgumentField, name)
	case ok && m.Type.Kind != schema.String && (m.Type.Kind != schema.Any || m.Type.OneOf != nil):
		c.fail(c.IdempotencyArgumentField, "An idempotency key is a string, and %s of %s is %s.", name, c.Name, m.Type)
	}
	if hasMember(c.Arguments, name) {
		c.fail(c.IdempotencyArgumentField, "%s is also a member of arguments. Leave it out there: it receives the "+
			"idempotency key of the call.", name)
	}
}

func hasMember(e *hcl.Expr, name string) bool {
	if e == nil {
		return false
	}
	_, ok := e.Type().Lookup(name)
	return ok
}

func (c *checker) unknown(place any, name string) {
	names := c.Input.Names()
	c.fail(place, "%s of %q has no argument %q.%s", c.Name, c.Connection, name,
		diag.SuggestOr(name, names, diag.ListHas(names)))
}

// checkArguments checks the arguments that are written member by member, or else by their type.
func (c *checker) checkArguments() {
	if c.Arguments == nil {
		c.checkRequired(nil, false)
		return
	}
	members := c.Arguments.Members
	if members == nil {
		c.checkValue(c.Arguments.Range, c.Arguments, false, c.Input.Type(), "arguments")
		return
	}
	given, open := map[string]bool{}, false
	for _, m := range members {
		if m.Name == "" {
			open = true
			continue
		}
		given[m.Name] = true
		if !c.Input.Declares(m.Name) {
			c.unknown(m.Key, m.Name)
			continue
		}
		to, ok := c.Input.Type().Lookup(m.Name)
		if !ok {
			continue
		}
		if m.LeftOut && m.Value.Typed.NullReason != "" && !to.Optional {
			c.fail(m.Value.Range, "%s, and %s requires the argument %q. Give it a default, or write coalesce(…).",
				eval.NullSentence(m.Value.Typed), c.Name, m.Name)
			continue
		}
		c.checkValue(m.Value.Range, m.Value, m.LeftOut, to.Type, "The argument "+quote(m.Name))
	}
	c.checkRequired(given, open)
}

// checkRequired reports the required arguments that are not given.
func (c *checker) checkRequired(given map[string]bool, open bool) {
	if open {
		return
	}
	for _, m := range c.Input.Type().Members {
		if !m.Optional && !given[m.Name] && m.Name != c.IdempotencyArgument {
			c.fail(c.ArgumentsField, "%s of %q needs the argument %q.", c.Name, c.Connection,
				diag.OneOf([]string{m.Name}, m.Name))
		}
	}
}

// ended returns the end of a sentence with its mark.
func ended(text string) string {
	if strings.HasSuffix(text, "?") {
		return text
	}
	return text + "."
}

func quote(name string) string { return fmt.Sprintf("%q", name) }

// checkValue compares the value of an expression with a type. Subject is what a sentence calls a value without a path.
func (c *checker) checkValue(at diag.Range, e *hcl.Expr, leftOut bool, to *schema.Type, subject string) {
	if e.Typed.Known {
		c.checkConstant(at, e, to, subject)
		return
	}
	if e.Members != nil && to.Kind == schema.Object && to.OneOf == nil {
		c.checkMembers(at, e, to, subject)
		return
	}
	from := e.Typed.Type.NotNull()
	if e.Typed.NullReason != "" && !(leftOut && !e.Typed.Type.Nullable) {
		from = from.AsNullable()
	}
	path, isInput := "", strings.HasPrefix(e.Typed.Path, "input.")
	if e.Typed.Path != "" {
		path = eval.ShowPath(e.Typed.Path)
	}
	for _, m := range schema.Misfits(from, to, isInput) {
		of := subject + strings.TrimSuffix(" at "+m.Path, " at ")
		if path != "" {
			of = path + m.Path
		}
		write := ""
		if m.Write != "" && isInput {
			write = " Write " + m.Write + "."
		}
		c.fail(at, "%s %s%s", of, ended(m.Text), write)
	}
}

// checkMembers checks an object that is written within the arguments.
func (c *checker) checkMembers(at diag.Range, e *hcl.Expr, to *schema.Type, subject string) {
	given, open := map[string]bool{}, false
	for _, m := range e.Members {
		open = open || m.Name == ""
		given[m.Name] = true
		member, ok := to.Lookup(m.Name)
		switch {
		case m.Name == "":
		case ok && m.LeftOut && m.Value.Typed.NullReason != "" && !member.Optional:
			c.fail(m.Value.Range, "%s, and %s requires the member %q here.", eval.NullSentence(m.Value.Typed), c.Name,
				m.Name)
		case ok:
			c.checkValue(m.Value.Range, m.Value, m.LeftOut, member.Type, "The member "+quote(m.Name))
		case !to.Open:
			c.fail(m.Key, "%s has no member %q in the pinned schema.%s", subject, m.Name,
				diag.SuggestOr(m.Name, to.MemberNames(), diag.ListHas(to.MemberNames())))
		}
	}
	for _, m := range to.Members {
		if !m.Optional && !given[m.Name] && !open {
			c.fail(at, "%s has no member %q, and the pinned schema requires it.", subject, m.Name)
		}
	}
}

// checkConstant checks a value that is known at load. A sensitive one is not shown.
func (c *checker) checkConstant(at diag.Range, e *hcl.Expr, to *schema.Type, subject string) {
	t := *to
	t.Sensitive = t.Sensitive || e.Typed.Sensitive
	_, violations, _ := t.Compile().Check(e.Typed.Value, schema.Unlimited)
	for _, v := range violations {
		of := subject
		if v.Path != "" {
			of += " at " + v.Path
		}
		c.fail(at, "%s %s", of, ended(v.Message))
	}
}

// sentType returns the type of the arguments that a block can send.
func sentType(e *hcl.Expr) *schema.Type {
	if e == nil {
		return schema.ObjectOf()
	}
	if e.Members == nil {
		return e.Type()
	}
	t := schema.ObjectOf()
	for _, m := range e.Members {
		if m.Name == "" {
			return &schema.Type{Kind: schema.Object, Open: true}
		}
		nullable := m.Value.Typed.NullReason != ""
		of := m.Value.Type()
		if m.LeftOut && !m.Value.Typed.Type.Nullable {
			of = of.NotNull()
		}
		t.Members = append(t.Members, &schema.Member{Name: m.Name, Type: of, Optional: m.LeftOut && nullable})
	}
	return t
}
