// Package mock declares what a backend brings for the tests of tools: the arguments of its mock blocks and of their
// replies, the questions that it asks in place of its system, and how a question is compared with a mock. It asks
// nothing itself.
package mock

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"hatchel/hcl/diag"
	"hatchel/hcl/eval"
	"hatchel/hcl/schema"
)

// Kind is what tests write in place of a kind of backend. Functions that are nil do nothing.
type Kind struct {
	Doc    string
	Choice string // names Request in a message
	// Missing is the detail about a mock without any argument, where one of the Details is enough. If it is empty, a
	// mock has one of the Request.
	Missing string
	Request []Argument // of which a mock has at most one
	Details []Argument // what else is asked
	Answers []Argument // of which a reply has at most one
	// Besides are the arguments that a reply may have with any answer.
	Besides []Argument
	After   *After // nil if the backend cannot be queried when a call is over

	// Check returns what is wrong with a mock as a whole.
	Check func(m *Mock) []Problem
	// Anywhere reports whether a mock without a connection answers for the backends of all connections. text is the
	// beginning of its Request, as far as it is a literal.
	Anywhere func(text string) bool
	// Effect returns the verb and the beginning of the source of the hcl.Effect that a mock answers for; no verb for
	// all effects.
	Effect func(request map[string]any) (verb, source string)
	// Output returns the type of what one reply becomes, in the output of a block; by default the output.
	Output func(output *schema.Type) *schema.Type
	// Fails reports whether a reply is a failure, whose body has no declared type.
	Fails func(reply map[string]any) bool

	// Taped is the type of a reply on a tape.
	Taped *schema.Type
	// CheckTaped checks a reply on a tape, which is of the type Taped.
	CheckTaped func(reply map[string]any) error
	// Unquoted returns a reply on a tape without texts that may quote values of a system whose answers are masked.
	Unquoted func(reply map[string]any) map[string]any
	// Naming are the members of a request on a tape that name it in a message.
	Naming []string
}

// After is a query of a backend, when the call is over.
type After struct {
	Doc       string // what it is
	Missing   string // what is missing without it, and how it is written
	Of        string // documents the connection
	Arguments []Argument

	NoStandIn string // that no mock is a system; %q is the connection
	Unused    string // that nothing has been asked of the mock that is a system; %q is the connection
}

// Argument is an argument that a test computes.
type Argument struct {
	Name, Doc string
	Type      *schema.Type
	Check     func(v any) string // returns what is wrong with a value of the type, in a sentence; empty for nothing

	// Member is the member of the output of the backend that a reply sets.
	Member string
	// Declared is the argument of the backend that declares the type of the member; empty for none.
	Declared string
	// Absent says of a backend without the member why no reply sets it; empty for a member that is always there.
	Absent string

	Lines bool // a tape has a text of several lines as a list of them
	Code  bool // a text of several lines is written as a heredoc, and blank lines mean nothing in it
	Local bool // a text may name files of this machine, and * stands for any text
	// Added says that earlier versions have written tapes without it: a tape that does not have it compares nothing.
	Added bool
}

// Types of arguments.
var (
	Any     = eval.AnyType
	Text    = eval.StringType
	Integer = eval.IntegerType
	Bool    = eval.BoolType
	Texts   = schema.ListOf(eval.StringType)
	List    = schema.ListOf(eval.AnyType.AsNullable())
	Map     = &schema.Type{Kind: schema.Map, Elem: eval.AnyType.AsNullable()}
	Names   = &schema.Type{Kind: schema.Map, Elem: eval.StringType}
	Rows    = schema.ListOf(Map)
)

// TypeDocs document the types of arguments.
var TypeDocs = map[*schema.Type]string{
	Any: "value", Text: "template", Integer: "integer", Bool: "bool", Texts: "list of strings",
	List: "list of values", Map: "map of values", Names: "map of strings", Rows: "list of rows",
}

// Taped returns the type of replies on tapes, which have some of these members.
func Taped(types map[string]*schema.Type) *schema.Type {
	out := schema.ObjectOf()
	for _, name := range slices.Sorted(maps.Keys(types)) {
		out.Members = append(out.Members, &schema.Member{Name: name, Type: types[name], Optional: true})
	}
	return out
}

// Delay is the argument of replies that come late.
func Delay(doc string) Argument {
	return Argument{Name: "delay", Doc: doc, Type: Text, Check: func(v any) string {
		d, err := time.ParseDuration(v.(string))
		return wrong(err == nil && d >= 0, "delay is a duration such as \"2s\", not %q.", v)
	}}
}

// Between returns an integer from low to high.
func Between(name, doc string, low, high int) Argument {
	return Argument{Name: name, Doc: doc, Type: Integer, Check: func(v any) string {
		n, _ := v.(int)
		return wrong(n >= low && n <= high, "%s is a number from %d to %d, not %d.", name, low, high, n)
	}}
}

func wrong(ok bool, format string, args ...any) string {
	if ok {
		return ""
	}
	return fmt.Sprintf(format, args...)
}

// Problem is what is wrong with a mock.
type Problem struct {
	Argument        string // that is wrong
	Summary, Detail string
}

// Mock is a mock block of a test, for one element of its each. Request and the Replies have the arguments that are set,
// by their names, as values of the language.
type Mock struct {
	Kind       string // of the backend
	Connection string // empty for none
	Request    map[string]any
	Replies    []map[string]any // one after the other, and the last one again
	Times      int              // how often it answers; 0 for any number
	Tape       string           // the file that has requests and replies in place of these; empty for none
	Range      diag.Range
}

// Asked are the arguments of what is asked, in the order in which they are written.
func (k *Kind) Asked() []Argument { return slices.Concat(k.Request, k.Details) }

// Replied are the arguments of a reply, in the order in which they are written.
func (k *Kind) Replied() []Argument { return slices.Concat(k.Answers, k.Besides) }

// Question is what a backend asks in place of its system.
type Question struct {
	Kind, Connection string
	Name             string         // what is asked, in a sentence
	Sent             map[string]any // as conditions read it; kind and connection are added
	Secrets          []string       // texts of it that must not be shown
	ReadOnly         bool           // it changes nothing
	Mocked           bool           // the system is never asked, because mocks answer what belongs together with this
	StandIn          *Mock          // the mock that is a system itself, which answers; nil for the mocks of the test
	Raw              any            // what is asked, as the backend has it

	// Match compares the question with a mock. With whole, a part of a text is not enough: a mock of the whole text
	// answers before one of a part.
	Match func(c *Matcher, m *Mock, whole bool)
	// Taped returns what is asked as a tape has it, with its secrets.
	Taped func() map[string]any
	// Suggest returns the mock that answers the question, to be completed by the author of the test. A type in place of
	// a value stands for a value of the type.
	Suggest func() *Mock
}

// Reply is the answer of a mock.
type Reply struct {
	*Mock
	Args  map[string]any // of the reply block, or of the tape
	Taped bool
}

// Text returns a text of the reply; empty if it has none.
func (r *Reply) Text(name string) string {
	text, _ := r.Args[name].(string)
	return text
}

// OneLine returns a text with each run of spaces and line breaks as one space.
func OneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
