package hcl_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"hatchel/adapters/all"
	. "hatchel/hcl"
)

// pathNames are names of members that look like other traversals when they are joined by dots.
var pathNames = []string{"a", "b", "c", "a.b", "b.c", "a.b.c", ".", ".a", "a.", "a]", `a"`, "a'b", "a[0]", "0", "[0]", "*",
	"a b", "a-b", "é", `a\`, `a\.b`, "a\x00b", "\x00", "\x001", "a\x001b", "\x0020", "a\x01b", "a?.b", "$a", "{a}"}

// pathStep is a step of a traversal: a member, or an element if name is empty.
type pathStep struct {
	name  string
	index int
}

func randomSteps(r *rand.Rand, names []string) (steps []pathStep) {
	for range 1 + r.IntN(3) {
		s := pathStep{name: names[r.IntN(len(names))]}
		if r.IntN(6) == 0 {
			s = pathStep{index: r.IntN(3)}
		}
		steps = append(steps, s)
	}
	return steps
}

// pathType returns the type of a value that has each of the paths, which end with texts that may be null; "" if there
// is none.
func pathType(optional bool, paths ...[]pathStep) string {
	members, elements := map[string][][]pathStep{}, [][]pathStep(nil)
	for _, p := range paths {
		switch {
		case len(p) == 0 && len(paths) > 1 && slices.ContainsFunc(paths, func(p []pathStep) bool { return len(p) > 0 }):
			return ""
		case len(p) == 0:
			return "string"
		case p[0].name == "":
			elements = append(elements, p[1:])
		default:
			members[p[0].name] = append(members[p[0].name], p[1:])
		}
	}
	wrap := func(wrapper, inner string) string {
		if inner == "string" || optional && inner != "" {
			return wrapper + "(" + inner + ")"
		}
		return inner
	}
	if elements != nil {
		inner := wrap("nullable", pathType(optional, elements...))
		if inner == "" || len(members) > 0 {
			return ""
		}
		return "list(" + inner + ")"
	}
	var all []string
	for name, rest := range members {
		inner := wrap("optional", pathType(optional, rest...))
		if inner == "" {
			return ""
		}
		all = append(all, hclText(name)+" = "+inner)
	}
	return "object({ " + strings.Join(all, ", ") + " })"
}

func hclText(s string) string {
	s = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\x00", `\u0000`, "\x01", `\u0001`).Replace(s)
	return `"` + s + `"`
}

var plainNames = []string{"a", "b", "c", "é"}

// writePath writes a traversal in HCL, or in a program, where each step may be optional.
func writePath(r *rand.Rand, steps []pathStep, program, optional bool) string {
	text := "input.x"
	for _, s := range steps {
		plain := s.name != "" && slices.Contains(plainNames, s.name) && r.IntN(2) == 0
		var step string
		switch {
		case s.name == "":
			step = "[" + strconv.Itoa(s.index) + "]"
		case plain:
			step = "." + s.name
		case program: // within the quotes of HCL
			quoted := hclText(strings.NewReplacer(`\`, `\\`, `'`, `\'`, "\x00", `\u0000`, "\x01", `\u0001`).Replace(s.name))
			step = "['" + quoted[1:len(quoted)-1] + "']"
		default:
			step = "[" + hclText(s.name) + "]"
		}
		if program && optional {
			step = "?." + strings.TrimPrefix(step, ".")
		}
		text += step
	}
	return text
}

// A value is known not to be null where this value was checked, in both languages, and not where another one was whose
// traversal only looks similar.
func TestACheckIsOfTheMemberThatItNames(t *testing.T) {
	r := rand.New(rand.NewPCG(25, 8))
	files, same := fstest.MapFS{}, map[string]bool{}
	for len(files) < 1000 {
		names := pathNames
		if r.IntN(2) == 0 {
			names = []string{"a", "b", "a.b", "a\x00b", "a\x001b"}
		}
		checked, used := randomSteps(r, names), randomSteps(r, names)
		if r.IntN(4) == 0 {
			used = checked
		}
		optional := r.IntN(2) == 0
		of := pathType(optional, checked, used)
		if of == "" {
			continue
		}
		inHCL, inProgram := writePath(r, used, false, false), writePath(r, used, true, false)
		var conditions []string // of HCL, where a step cannot be optional
		for i := range checked {
			if i == len(checked)-1 || optional {
				conditions = append(conditions, writePath(r, checked[:i+1], false, false)+" != null")
			}
		}
		condition, program := strings.Join(conditions, " && "), writePath(r, checked, true, optional)+" != null"
		for _, body := range []string{
			`text = ` + condition + ` ? "${upper(` + inHCL + `)}" : "none"`,
			`text = "%{if ` + condition + `}${upper(` + inHCL + `)}%{endif}"`,
			`result = "` + program + ` ? upper(` + inProgram + `) : 'none'"`,
			`result = "` + program + ` && upper(` + inProgram + `) == 'A'"`,
			"check {\n that = \"" + program + "\"\n message = \"none\"\n }\n text = \"${upper(" + inHCL + ")}\"",
		} {
			name := fmt.Sprintf("t%d", len(files))
			files[name+".hcl"] = &fstest.MapFile{Data: fmt.Appendf(nil,
				"tool %q {\n description = \"Answers.\"\n input \"x\" { type = %s }\n %s\n}\n", name, of, body)}
			same[name+".hcl"] = slices.Equal(checked, used)
		}
	}
	_, diags := Load(files, all.Set().Kinds(), Options{})
	refused := map[string]bool{}
	for _, d := range diags {
		if d.Severity == Error && d.Summary != "Value may be null" {
			t.Fatalf("%s: %s\n%s", d.Summary, d.Detail, files[d.Subject.File].Data)
		}
		refused[d.Subject.File] = true
	}
	for name, file := range files {
		if refused[name] == same[name] {
			t.Errorf("refused = %t:\n%s", refused[name], file.Data)
		}
	}
}
