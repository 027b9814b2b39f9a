package schema

import (
	"errors"
	"fmt"
	"strings"
	"sync"

	"hatchel/hcl/value"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// library is a schema that the JSON Schema library checks. It is safe for concurrent use.
type library struct {
	doc  any
	idle sync.Pool // of *librarySchema
}

// librarySchema is a compiled schema, which one validation uses at a time: the library has no argument for the time of
// a validation, so that the patterns of the schema and its extension read it here.
type librarySchema struct {
	*jsonschema.Schema
	time *checkTime
}

// libraryTimeOver is the panic that ends a validation of the library, which cannot be ended otherwise.
type libraryTimeOver struct{}

// take accounts for n elements, and ends the validation when the time is over.
func (s *librarySchema) take(n int) {
	if !s.time.take(n) {
		panic(libraryTimeOver{})
	}
}

// libraryPattern is a pattern of a schema that the library checks.
type libraryPattern struct {
	*Pattern
	schema *librarySchema
}

func (p libraryPattern) MatchString(s string) bool {
	matches := p.schema.time.matches(p.Pattern, s)
	p.schema.take(1)
	return matches
}

// Validate is called by the library for each schema that it has applied to a value, as an extension of the schema.
func (s *librarySchema) Validate(_ *jsonschema.ValidatorContext, v any) {
	switch v := v.(type) {
	case string:
		s.take(1 + len(v)/64)
	case []any:
		s.take(1 + len(v)/64)
	case map[string]any:
		s.take(1 + len(v)/64)
	default:
		s.take(1)
	}
}

// compileLibrary compiles a raw schema. Its error is a sentence for an author.
func compileLibrary(doc any) (*library, error) {
	l := &library{doc: doc}
	compiled, err := l.compile()
	if err == nil {
		l.idle.Put(compiled)
		return l, nil
	}
	switch err := err.(type) {
	case *jsonschema.SchemaValidationError:
		if cause, ok := errors.AsType[*jsonschema.ValidationError](err.Err); ok {
			if list := libraryViolations(cause, false); len(list) > 0 {
				return nil, errors.New(list[0].String())
			}
		}
	case *jsonschema.LoadURLError:
		return nil, fmt.Errorf("it refers to %s, and other documents are not loaded",
			strings.TrimPrefix(err.URL, libraryBase))
	case *jsonschema.AnchorNotFoundError, *jsonschema.JSONPointerNotFoundError:
		return nil, errors.New("a $ref in it refers to nothing")
	}
	if err == errNotJSON {
		return nil, err
	}
	return nil, errors.New("it is not a valid JSON Schema 2020-12")
}

// compile returns a schema for one validation at a time.
func (l *library) compile() (*librarySchema, error) {
	s := &librarySchema{time: &checkTime{limit: Unlimited}}
	c := newLibraryCompiler()
	c.UseRegexpEngine(func(source string) (jsonschema.Regexp, error) {
		p, err := NewPattern(source)
		return libraryPattern{p, s}, err
	})
	for _, format := range formatTests() {
		c.RegisterFormat(format)
	}
	c.RegisterVocabulary(&jsonschema.Vocabulary{
		URL:     "hatchel:time",
		Compile: func(*jsonschema.CompilerContext, map[string]any) (jsonschema.SchemaExt, error) { return s, nil },
	})
	c.AssertVocabs()
	var err error
	s.Schema, err = compileResource(c, l.doc)
	return s, err
}

var errNotJSON = errors.New("it is not JSON")

func newLibraryCompiler() *jsonschema.Compiler {
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.AssertFormat()
	c.UseLoader(noLoader{})
	return c
}

// libraryBase is the URL of the folder that a schema is in. References in a schema are relative to it.
const libraryBase = "hatchel:///"

func compileResource(c *jsonschema.Compiler, doc any) (*jsonschema.Schema, error) {
	const name = libraryBase + "schema"
	if err := c.AddResource(name, doc); err != nil {
		return nil, errNotJSON
	}
	return c.Compile(name)
}

// validate validates a value. Its violations do not count when the time is over.
func (l *library) validate(v any, time *checkTime, sensitive bool) []Violation {
	v, err := value.ResolveAll(v)
	if err != nil {
		return singleViolation("could not be read")
	}
	s, _ := l.idle.Get().(*librarySchema)
	if s == nil {
		if s, err = l.compile(); err != nil {
			panic("schema: " + err.Error()) // it was compiled before
		}
	}
	s.time = time
	err = s.run(v)
	s.time = nil
	l.idle.Put(s)
	if failure, ok := errors.AsType[*jsonschema.ValidationError](err); ok {
		return sortByPath(libraryViolations(failure, sensitive))
	}
	if time.isOver() {
		return singleViolation("was not checked")
	}
	return nil
}

func (s *librarySchema) run(v any) (err error) {
	defer func() {
		if p := recover(); p != nil && p != any(libraryTimeOver{}) {
			panic(p)
		}
	}()
	return s.Schema.Validate(v)
}
