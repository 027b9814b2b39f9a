package mutation

import (
	"context"
	"encoding/json"
	"errors"
	"hash/fnv"
	"math/rand/v2"
	"regexp"
	"strings"

	"hatchel/cmd/hatchel/test"
	"hatchel/hcl"
	"hatchel/hcl/schema"
	"hatchel/hcl/value"
	"hatchel/runtime"
	"hatchel/runtime/call"
	"hatchel/runtime/edge/mcp"
)

// callsOfFixture is how many calls of a fixture are planned.
const callsOfFixture = 200

// plannedCall is one call whose plan is compared.
type plannedCall struct {
	tool      string
	caller    *mcp.Caller
	arguments []byte
}

// plannedCalls returns the calls of a fixture, the same ones in every run. Their arguments are of the types of both
// sides; some are refused.
func plannedCalls(before *side) (calls []plannedCall) {
	if len(before.config.Tools) == 0 {
		return nil
	}
	seed := fnv.New64()
	seed.Write([]byte(before.name))
	g := &generator{rand.New(rand.NewPCG(seed.Sum64(), 1)), constants(before)}
	callers := callersOf(g, before)
	for i := range callsOfFixture {
		t := before.config.Tools[i%len(before.config.Tools)]
		arguments := g.arguments(t.Input)
		text, err := json.Marshal(arguments)
		if err != nil {
			continue // a value that JSON cannot have
		}
		calls = append(calls, plannedCall{t.Name, callers[g.IntN(len(callers))], text})
	}
	return calls
}

// claimsRead are the claims that the text of a configuration reads.
var claimsRead = regexp.MustCompile(`\bcaller\.claims\.(\w+)`)

// callersOf returns callers with the subjects, groups and values of claims that a fixture names.
func callersOf(g *generator, s *side) []*mcp.Caller {
	var names []string
	for _, file := range s.configs() {
		for _, read := range claimsRead.FindAllStringSubmatch(s.files[file], -1) {
			names = append(names, read[1])
		}
	}
	callers := []*mcp.Caller{{}}
	for range 8 {
		i := &mcp.Identity{Subject: g.word(), Groups: []string{g.word(), g.word()}, Scopes: g.words[:min(len(g.words), 40)]}
		callers = append(callers, &mcp.Caller{Subject: g.word(), Revision: mcp.Revision20260728, Identity: i})
		claims := map[string]string{}
		for _, name := range names {
			if g.IntN(2) == 0 {
				claims[name] = g.word()
			}
		}
		if names != nil {
			i.Claims, _ = json.Marshal(claims) // texts
		}
	}
	return callers
}

// generator makes arguments.
type generator struct {
	*rand.Rand
	words []string // texts of the configuration
}

// constants returns the texts that the configuration names, so that calls reach what depends on them.
func constants(s *side) (words []string) {
	for _, name := range s.configs() {
		for _, word := range strings.FieldsFunc(s.files[name], func(r rune) bool { return strings.ContainsRune("\"'\n", r) }) {
			if len(word) < 30 && !strings.ContainsAny(word, "{}=") {
				words = append(words, strings.TrimSpace(word))
			}
		}
	}
	return append(words, "x", "ann", "")
}

func (g *generator) word() string { return g.words[g.IntN(len(g.words))] }

// arguments returns arguments of a call: the smallest ones with some members replaced.
func (g *generator) arguments(t *schema.Type) map[string]any {
	out := test.Arguments(t, func([]string) string { return "" })
	if out == nil {
		out = map[string]any{}
	}
	for _, m := range t.Members {
		if _, required := out[m.Name]; required && g.IntN(3) == 0 || !required && g.IntN(2) == 0 {
			continue
		}
		out[m.Name] = g.value(m.Type, 0)
	}
	return out
}

// value returns a value of a type, often.
func (g *generator) value(t *schema.Type, depth int) any {
	switch {
	case depth > 5 || t.Nullable && g.IntN(4) == 0:
		return nil
	case len(t.Enum) > 0:
		return t.Enum[g.IntN(len(t.Enum))].Value
	}
	switch t.Kind {
	case schema.String:
		if t.Pattern != nil || t.Format != "" || g.IntN(3) == 0 {
			if v := test.Arguments(schema.ObjectOf(&schema.Member{Name: "x", Type: t}), nil)["x"]; v != nil {
				return v
			}
		}
		text := g.word()
		if t.MaxLength != nil && len(text) > *t.MaxLength {
			text = text[:*t.MaxLength]
		}
		return text
	case schema.Number, schema.Integer:
		n := []int{-1, 0, 1, 2, 7, 99, 100, 101, 1000, 5001, 1_000_000}[g.IntN(11)]
		if low, ok := value.Int(t.Min); ok && n < low {
			n = low
		}
		if high, ok := value.Int(t.Max); ok && n > high {
			n = high
		}
		return n
	case schema.Bool:
		return g.IntN(2) == 0
	case schema.List, schema.Set:
		list := []any{}
		for range g.IntN(3) {
			list = append(list, g.value(t.Elem, depth+1))
		}
		return list
	case schema.Map:
		return map[string]any{g.word(): g.value(t.Elem, depth+1)}
	case schema.Object:
		return g.arguments(t)
	}
	return g.word()
}

// plan returns what each call would send, or why it is refused.
func plan(dir string, config *hcl.Config, calls []plannedCall) ([]string, error) {
	ctx := context.Background()
	mocks := test.NewMocks(test.Setup{Kinds: config.Kinds, Dir: dir})
	g, diags := runtime.Compile(ctx, config, runtime.Build{Set: set, Dir: dir, Inspect: true, Mocks: mocks})
	if g == nil {
		return nil, errors.New(diags[0].Summary + ": " + diags[0].Detail)
	}
	defer g.Close()
	plans := make([]string, len(calls))
	for i, c := range calls {
		program, ok := g.Program(c.tool)
		if !ok {
			plans[i] = "there is no such tool"
			continue
		}
		plans[i] = planOne(ctx, program, c)
	}
	return plans, nil
}

func planOne(ctx context.Context, program *call.Program, c plannedCall) string {
	text, err := program.Plan(ctx, c.caller, c.arguments)
	if err != nil {
		return "refused: " + err.Error()
	}
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, "(only when ") { // as it is written
			lines[i] = "(only when …)"
		}
	}
	text = strings.Join(lines, "\n")
	if !strings.Contains(text, " on ") {
		return text
	}
	return strings.Join(strings.Fields(text), " ") // white space between the words of a statement means nothing
}
