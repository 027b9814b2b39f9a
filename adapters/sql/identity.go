package sql

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"hatchel/adapters"
	"hatchel/hcl"
	"hatchel/hcl/eval"
	"hatchel/hcl/template/sqltext"
	"hatchel/hcl/value"
	"hatchel/internal/cut"
)

// identity is as whom a transaction runs. The zero identity is the login of the connection, and of the first instance.
type identity struct {
	instance string   // a key of instances; empty without instances
	role     string   // empty without role
	values   []string // of the names in session, in their order; nil leaves them as they are
}

// phrase says in a message as whom and on which instance something was done; empty for the login of the connection.
func (as identity) phrase(connection string) string {
	text := ""
	if as.role != "" {
		text = " as " + as.role
	}
	if as.instance != "" {
		text += " on " + hcl.InstanceName(connection, as.instance)
	}
	return text
}

// identifier computes the identities of the calls of a connection. A nil identifier has the zero identity alone.
type identifier struct {
	connection string
	session    []hcl.Entry
	role       *hcl.Expr
	roles      []string // all that role can be
	instance   *hcl.Expr
	instances  []string
	dialect    sqltext.Dialect
}

// newIdentifier returns the identifier of a connection, or nil if its block has none of the arguments.
func newIdentifier(c *serverConnection, connection string) *identifier {
	if c.Session == nil && c.Role == nil && c.Instances == nil {
		return nil
	}
	i := &identifier{connection: connection, session: c.Session.Entries(), role: c.Role, instance: c.Instance}
	i.instances, i.dialect = c.Instances.Names(), c.dialect
	if c.Role != nil {
		i.roles = c.Role.Texts()
	}
	return i
}

// names returns the names of session.
func (i *identifier) names() (names []string) {
	if i == nil {
		return nil
	}
	for _, e := range i.session {
		names = append(names, e.Name)
	}
	return names
}

// identityOf returns as whom a call runs. Its error is a Fault: nothing was sent.
func (i *identifier) identityOf(f *hcl.Frame) (as identity, err error) {
	if i == nil {
		return identity{}, nil
	}
	if i.instance != nil {
		if as.instance, err = i.instanceOf(f); err != nil {
			return identity{}, err
		}
	}
	if i.role != nil {
		as.role, err = i.text(f, i.role, fmt.Sprintf("chooses the role of the connection %q", i.connection))
		if err != nil {
			return identity{}, err
		}
		if !slices.Contains(i.roles, as.role) {
			return identity{}, i.fault(f, fmt.Sprintf("%q is no role of the connection %q", as.role, i.connection))
		}
	}
	if len(i.session) == 0 {
		return as, nil
	}
	as.values = make([]string, len(i.session))
	for n := range i.session {
		entry := &i.session[n]
		v, err := evaluate(f, &entry.Value)
		if err != nil {
			return identity{}, i.uncomputed(f, err, i.sends(entry))
		}
		if b, ok := v.(bool); ok && i.dialect == sqltext.MySQL { // it reads the text true as 0
			v = 0
			if b {
				v = 1
			}
		}
		var problem valueProblem
		if as.values[n], problem = sessionText(v); problem != "" {
			return identity{}, i.refuse(f, &entry.Value, v, problem, i.sends(entry))
		}
	}
	return as, nil
}

// sends says what the connection does with a value of session.
func (i *identifier) sends(e *hcl.Entry) string {
	return fmt.Sprintf("the connection %q sends as %s", i.connection, e.Name)
}

// instanceOf returns the key of the instance that a call uses.
func (i *identifier) instanceOf(f *hcl.Frame) (string, error) {
	key, err := i.text(f, i.instance, fmt.Sprintf("chooses the instance of the connection %q", i.connection))
	if err == nil && !slices.Contains(i.instances, key) {
		err = i.unknown(f, i.instance, key)
	}
	if err != nil {
		return "", err
	}
	return key, nil
}

// identities returns each identity that can be probed: without values of session.
func (i *identifier) identities() (all []identity) {
	if i == nil {
		return []identity{{}}
	}
	instances, roles := i.instances, i.roles
	if len(instances) == 0 {
		instances = []string{""}
	}
	if len(roles) == 0 {
		roles = []string{""}
	}
	for _, instance := range instances {
		for _, role := range roles {
			all = append(all, identity{instance: instance, role: role})
		}
	}
	return all
}

// text computes a text of the identity; purpose says what the connection does with it.
func (i *identifier) text(f *hcl.Frame, e *hcl.Expr, purpose string) (string, error) {
	v, err := evaluate(f, e)
	if err != nil {
		return "", i.uncomputed(f, err, purpose)
	}
	text, problem := sessionText(v)
	if problem != "" {
		return "", i.refuse(f, e, v, problem, purpose)
	}
	return text, nil
}

// evaluate computes a value for a call. What a caller does not have is null.
func evaluate(f *hcl.Frame, e *hcl.Expr) (any, error) {
	v, err := e.Eval(f)
	if err == nil {
		return value.Resolve(v)
	}
	if name, _ := callerPart(e.Typed.Path); name != "" {
		return nil, nil
	}
	return nil, err
}

// maxSessionValue is the maximum size in bytes of a value of an identity.
const maxSessionValue = 1 << 10

// valueProblem is why a value cannot be a part of an identity, as the end of a sentence about it; empty for none.
type valueProblem string

const (
	isMissing valueProblem = "is missing"
	isEmpty   valueProblem = "is empty"
	hasNUL    valueProblem = "has a NUL character, which no text of a database can have"
)

// sessionText returns a value as the text of an identity.
func sessionText(v any) (text string, problem valueProblem) {
	switch kind := value.Kind(v); kind {
	case "null":
		return "", isMissing
	case "string", "number", "bool":
	default:
		return "", valueProblem("is " + article(kind) + ", and a string, a number or a bool is needed")
	}
	text, ok := v.(string)
	if !ok {
		var err error
		if text, err = value.Text(v); err != nil {
			return "", valueProblem("cannot be written as text: " + err.Error())
		}
	}
	switch {
	case text == "":
		return "", isEmpty
	case len(text) > maxSessionValue:
		return "", valueProblem(fmt.Sprintf("has %d bytes, and the maximum is %d", len(text), maxSessionValue))
	case strings.IndexByte(text, 0) >= 0:
		return "", hasNUL
	}
	return text, ""
}

// article returns the kind of a value with its article.
func article(kind string) string {
	switch kind {
	case "object":
		return "an object"
	case "bytes":
		return kind
	}
	return "a " + kind
}

// refuse returns the fault of a value that cannot be a part of the identity.
func (i *identifier) refuse(f *hcl.Frame, e *hcl.Expr, v any, problem valueProblem, purpose string) error {
	const sentence = "%s, which %s, %s"
	name, member := callerPart(e.Typed.Path)
	switch {
	case problem == isMissing && name != "":
		return i.lacks(f, name, member, purpose)
	case problem == isMissing:
		return i.fault(f, fmt.Sprintf("the value that %s is missing", purpose))
	case name != "":
		what := "the caller's " + strings.TrimSpace(name+" "+member)
		return i.fault(f, fmt.Sprintf(sentence, what, purpose, problem))
	}
	return i.fault(f, fmt.Sprintf("the value that %s %s", purpose, problem))
}

// uncomputed returns the fault of a value that cannot be computed.
func (i *identifier) uncomputed(f *hcl.Frame, err error, purpose string) error {
	if missing := new(eval.MissingMemberError); errors.As(err, &missing) {
		for part, name := range map[string]string{"caller.claims": "claim", "caller.headers": "header"} {
			if missing.What == part {
				return i.lacks(f, name, strconv.Quote(missing.Name), purpose)
			}
		}
	}
	return i.fault(f, fmt.Sprintf("the value that %s cannot be computed: %s", purpose, err))
}

// lacks returns the fault of a caller who does not have what the identity needs.
func (i *identifier) lacks(f *hcl.Frame, name, member, purpose string) error {
	message := fmt.Sprintf("the caller has no %s, which %s", strings.TrimSpace(name+" "+member), purpose)
	return i.faultWithFlag(f, message, callerFlag(name, member))
}

// callerFlag returns the flag that supplies a part of the caller, as callerPart names it.
func callerFlag(name, member string) string {
	member = strings.Trim(member, `"`)
	switch {
	case name == "subject":
		return "--subject VALUE"
	case name == "groups":
		return "--group VALUE"
	case name != "claim" && name != "header" || strings.Contains(member, "."):
		return anyClaim
	}
	return "--" + name + " " + member + "=VALUE"
}

// unknown returns the fault of an instance that the connection does not have.
func (i *identifier) unknown(f *hcl.Frame, e *hcl.Expr, instance string) error {
	shown := cut.Runes(adapters.Sanitize(instance, nil), maxShownIdentity)
	what := "the instance"
	if name, _ := callerPart(e.Typed.Path); name != "" {
		path := eval.SplitPath(e.Typed.Path)
		what = "the caller's " + path[len(path)-1]
	}
	return i.fault(f, fmt.Sprintf("%s %q is not one of %q: %s", what, shown, i.connection,
		strings.Join(i.instances, ", ")))
}

// maxShownIdentity is the maximum number of characters of a caller's value in a message.
const maxShownIdentity = 60

// callerPart returns what the path of an expression reads of the caller, such as `claim` and `"tenant"`; empty for
// another path, and for an element of a list. A claim within another one is "org.id".
func callerPart(of string) (name, member string) {
	path := eval.SplitPath(of)
	switch {
	case len(path) < 2 || path[0] != "caller" || eval.HasIndex(of):
		return "", ""
	case len(path) == 2:
		return path[1], ""
	case path[1] == "claims" || path[1] == "headers":
		return strings.TrimSuffix(path[1], "s"), strconv.Quote(strings.Join(path[2:], "."))
	}
	return "", ""
}

// needsCaller begins the hint for a call that nobody makes; a flag follows.
const needsCaller = "This call has no caller. Over HTTP, callers are known as auth declares it. For your own client " +
	"over stdio, and for one call, supply it: "

// anyClaim is the end of the hint where it is not known what the call needs.
const anyClaim = "--claim NAME=VALUE"

// fault returns the fault of a call whose identity is not complete.
func (i *identifier) fault(f *hcl.Frame, message string) error {
	return i.faultWithFlag(f, message, anyClaim)
}

// faultWithFlag returns such a fault. Its hint for a call that nobody makes has a flag that says who does.
func (i *identifier) faultWithFlag(f *hcl.Frame, message, flag string) error {
	fault := &adapters.Fault{Message: message, NotSent: true, SaysNotSent: true}
	caller := f.ReadCaller()
	claims, _ := value.Resolve(caller["claims"])
	if m, _ := claims.(map[string]any); len(m) == 0 && caller["subject"] == nil {
		fault.Hint = needsCaller + flag
	}
	return fault
}
